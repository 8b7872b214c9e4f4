// How a step went, by shape as well as by colour.

import type { Failure } from '../trace.ts';

export const WORDS: Record<string, string> = {
  done: 'done',
  completed: 'completed',
  failed: 'failed',
  skipped: 'skipped',
  stopped: 'stopped',
  running: 'running',
  cancelled: 'cancelled',
  mixed: 'done, in part',
  idle: 'not run',
  waiting: 'waiting',
  interrupted: 'interrupted',
  pending: 'not started',
};

/** The line of each sign, in a square of 16. */
export const SHAPES: Record<string, string> = {
  done: 'M4.4 8.3l2.4 2.4 4.8-5.2',
  completed: 'M4.4 8.3l2.4 2.4 4.8-5.2',
  failed: 'M5.2 5.2l5.6 5.6M10.8 5.2l-5.6 5.6',
  skipped: 'M5 8h6',
  stopped: 'M5.6 5.6h4.8v4.8H5.6z',
  running: 'M8 4.6V8l2.4 1.6',
  cancelled: 'M4.6 11.4l6.8-6.8',
  mixed: 'M8 4.4v4.4M8 11.2v.4',
  idle: '',
  waiting: 'M6.2 6.4a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.8.6-.8 1.2M8 11.3v.3',
  interrupted: 'M5.6 5.6h4.8v4.8H5.6z',
  pending: '',
};

/** A small sign. It is hidden from screen readers: the word stands beside it or in the name of what it is in. */
export function Sign({ status, handled }: { status: string; handled?: boolean }) {
  return (
    <svg class={`sign s-${status}${handled ? ' handled' : ''}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      {status === 'failed' ? <rect x="1.5" y="1.5" width="13" height="13" rx="3.5" /> : <circle cx="8" cy="8" r="6.5" />}
      <path d={SHAPES[status] ?? ''} />
    </svg>
  );
}

/** A message with what stands in backticks set apart, as messages quote names. */
export function Ticks({ text }: { text: string }) {
  const parts = text.split(/`([^`\n]+)`/);
  return <>{parts.map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}

/** What became of a failure that did not end the run. */
export function handled(as: string): string {
  switch (as) {
    case 'skip':
      return 'the run went on without it';
    case 'default':
      return 'a default took its place';
    case 'fallback':
      return 'a fallback ran instead';
    case 'transition':
      return 'another state was entered';
    case 'retry':
      return 'it was tried again';
    case 'told':
      return 'the model was told';
    default:
      return `handled: ${as}`;
  }
}

export const failureLine = (error: Failure | null | undefined): string => error?.message ?? error?.code ?? 'failed';
