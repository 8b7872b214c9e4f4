// How addresses name a step and the run. A page of one run has them in short; a page of a server names the run, too.

export interface Links {
  run(): string;
  step(key: string): string;
  /** The key of the step that a fragment names, as it is written there; none: the run as a whole. */
  written(hash: string): string | null;
  /** Whether a fragment names neither: then what went wrong comes first. */
  isOpen(hash: string): boolean;
}

const BRIEF = '#step=';

/** Those of a page with one trace. */
const ownTrace: Links = {
  run: () => '#run',
  step: (key) => `${BRIEF}${encodeURIComponent(key)}`,
  written: (hash) => (hash.startsWith(BRIEF) ? hash.slice(BRIEF.length) : null),
  isOpen: (hash) => hash === '' || hash === '#',
};

/** Those of a run among others. */
export function linksOf(run: string): Links {
  const whole = `#/runs/${encodeURIComponent(run)}`;
  const begin = `${whole}/steps/`;
  return {
    run: () => `${whole}/run`,
    step: (key) => `${begin}${encodeURIComponent(key)}`,
    // A query names the moment, and not the step.
    written: (hash) => (hash.startsWith(begin) ? (hash.slice(begin.length).split('?')[0] ?? null) : null),
    isOpen: (hash) => hash.split('?')[0] === whole,
  };
}

let current = ownTrace;

/** From now on, links are those of this run. */
export function setLinks(links: Links) {
  current = links;
}

export const link = (key: string): string => current.step(key);
export const runLink = (): string => current.run();
export const isOpenLink = (hash: string): boolean => current.isOpen(hash);
export const stepIn = (hash: string): string | null => current.written(hash);
