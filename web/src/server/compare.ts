// Two runs side by side, as the server compares them: what made the difference, and what followed.

import type { Usage } from '../trace.ts';
import { count, duration, money, several } from '../text.ts';
import type { WordPart } from '../words.ts';

export interface Reason {
  what: string;
  text?: string;
  source?: string;
  words?: WordPart[];
  before?: unknown;
  now?: unknown;
}

export interface ValueDiff {
  path: string;
  before?: unknown;
  now?: unknown;
  words: WordPart[] | null;
}

export interface FileDiff {
  path: string;
  change: 'added' | 'removed' | 'changed';
  words: WordPart[];
}

export interface RunSide {
  run: string;
  flow: string;
  status: string;
  error: string | null;
  calls: number;
  usage: Usage | null;
  duration_ms: number;
}

export interface StepSide {
  key: string;
  sort: string;
  answer: string | null;
  error: string | null;
  kept: { run: string; key?: string | null } | null;
  usage: Usage | null;
  duration_ms: number | null;
}

export interface StepDiff {
  same: boolean;
  a: StepSide | null;
  b: StepSide | null;
  request: Reason[];
  answer: WordPart[] | null;
}

export interface Comparison {
  a: RunSide;
  b: RunSide;
  input: ValueDiff[];
  models: ValueDiff[];
  files: FileDiff[];
  steps: StepDiff[];
  output: WordPart[] | null;
}

export const keyOf = (step: StepDiff): string => step.b?.key ?? step.a?.key ?? '';

/** Whether two texts that were compared differ. */
export const differs = (words: WordPart[] | null): boolean => (words ?? []).some((part) => part !== null && !('same' in part));

/** What made the difference, in one sentence. */
export function verdict(of: Comparison): string {
  const causes: string[] = [];
  const names = (all: string[], most = 3) => `${all.slice(0, most).join(', ')}${all.length > most ? ` and ${all.length - most} more` : ''}`;
  if (of.input.length > 0) {
    const paths = of.input.map((one) => (one.path === '' ? '' : `\`${one.path}\``)).filter(Boolean);
    causes.push(paths.length > 0 ? `the input differs in ${names(paths)}${became(of.input)}` : `the input differs${became(of.input)}`);
  }
  if (of.files.length > 0) causes.push(`${of.files.length === 1 ? 'the file' : 'the files'} ${names(of.files.map((file) => `\`${file.path}\``))} ${of.files.length === 1 ? 'differs' : 'differ'}`);
  if (of.models.length > 0) causes.push('other models answered');
  const first = of.steps.find((step) => !step.same);
  if (causes.length > 0) {
    const said = causes.join(', and ');
    return `${said.charAt(0).toUpperCase()}${said.slice(1)}.${first ? '' : ' Every step is the same nevertheless.'}`;
  }
  if (!first) return differs(of.output) ? 'Every step is the same, and the results differ.' : 'Nothing differs.';
  const key = `\`${keyOf(first)}\``;
  if (!first.a) return `What went in is the same. Only the second run has ${key}.`;
  if (!first.b) return `What went in is the same. Only the first run has ${key}.`;
  if (first.request.length > 0) return `What went in is the same. ${key} is the first step that was asked something else: ${first.request[0]!.what}.`;
  return `What went in is the same. ${key} was asked the same, and ended differently.`;
}

/** A single short value is said at once. */
function became(all: ValueDiff[]): string {
  const [one, another] = all;
  const isShort = (value: unknown) => typeof value !== 'object' && value !== undefined && String(value).length <= 60 && !String(value).includes('\n');
  if (!one || another || !isShort(one.before) || !isShort(one.now)) return '';
  return `: “${String(one.before)}” became “${String(one.now)}”`;
}

/** What came of it, in one sentence. */
export function outcome(of: Comparison): string {
  const changed = of.steps.filter((step) => !step.same).length;
  const kept = of.steps.filter((step) => step.b?.kept).length;
  const said = [changed === 0 ? 'no call differs' : `${count(changed)} of ${several(of.steps.length, 'call')} ${changed === 1 ? 'differs' : 'differ'}`];
  if (kept > 0) said.push(`${count(kept)} ${kept === 1 ? 'was' : 'were'} kept`);
  if (of.a.status !== of.b.status) said.push(`the first run ${ended(of.a)}, the second ${ended(of.b)}`);
  else if (of.output) said.push(differs(of.output) ? 'the results differ' : 'the results are the same');
  return said.join(', ');
}

const ENDS: Record<string, string> = { completed: 'was completed', failed: 'failed', cancelled: 'was cancelled', waiting: 'waits', running: 'goes on', interrupted: 'was interrupted' };
const ended = (side: RunSide): string => ENDS[side.status] ?? side.status;

/** A step that differs, or steps in a row that are the same. */
export type StepGroup = { step: StepDiff } | { same: StepDiff[] };

export function groupSteps(steps: StepDiff[]): StepGroup[] {
  const groups: StepGroup[] = [];
  for (const step of steps) {
    const last = groups.at(-1);
    if (!step.same) groups.push({ step });
    else if (last && 'same' in last) last.same.push(step);
    else groups.push({ same: [step] });
  }
  return groups;
}

/** What became of a step, in a few words. */
export function decision(step: StepDiff): string {
  if (!step.a) return 'only in the second run';
  if (!step.b) return 'only in the first run';
  if (step.b.kept) return step.b.kept.run === '' ? 'kept' : 'kept, not paid again';
  if (step.same) return 'the same';
  if (step.request.length > 0) return 'was asked something else';
  return 'was asked the same';
}

export interface Figure {
  name: string;
  a: string;
  b: string;
  /** `+12 (+40%)`; empty where it is not known, or nothing. */
  change: string;
  /** Whether it became more, for a sign. */
  more: boolean | null;
}

const tokensIn = (usage: Usage | null): number => usage?.input_tokens ?? 0;
const tokensOut = (usage: Usage | null): number => usage?.output_tokens ?? 0;

/** Numbers of both, and how they differ. */
export function figures(of: Comparison): Figure[] {
  const { a, b } = of;
  const known = (side: RunSide) => (side.usage?.unpriced_calls ?? 0) === 0;
  const costOf = (side: RunSide) => {
    const micro = side.usage?.cost_micro ?? 0;
    return known(side) ? money(micro) : micro === 0 ? 'not known' : `${money(micro)} and more`;
  };
  const uncounted = (side: RunSide) => (side.usage?.unknown_calls ?? 0) > 0;
  const counted = (name: string, of: (usage: Usage | null) => number): Figure => {
    const shown = (side: RunSide) => `${count(of(side.usage))}${uncounted(side) ? ' + ?' : ''}`;
    const isKnown = !uncounted(a) && !uncounted(b);
    return { name, a: shown(a), b: shown(b), ...change(of(a.usage), of(b.usage), count, isKnown) };
  };
  return [
    { name: 'Cost', a: costOf(a), b: costOf(b), ...change(a.usage?.cost_micro ?? 0, b.usage?.cost_micro ?? 0, money, known(a) && known(b)) },
    { name: 'Time', a: duration(a.duration_ms), b: duration(b.duration_ms), ...change(a.duration_ms, b.duration_ms, duration, true) },
    { name: 'Model calls', a: count(a.calls), b: count(b.calls), ...change(a.calls, b.calls, count, true) },
    counted('Tokens in', tokensIn),
    counted('Tokens out', tokensOut),
  ];
}

function change(a: number, b: number, shown: (n: number) => string, isKnown: boolean): Pick<Figure, 'change' | 'more'> {
  if (!isKnown) return { change: 'not known', more: null };
  if (a === b) return { change: 'the same', more: null };
  const sign = b > a ? '+' : '−';
  const part = a === 0 ? '' : ` (${sign}${share(Math.abs(b - a) / a)})`;
  return { change: `${sign}${shown(Math.abs(b - a))}${part}`, more: b > a };
}

const share = (part: number): string => (part >= 10 ? `${count(Math.round(part))}×` : `${Math.max(1, Math.round(part * 100))}%`);
