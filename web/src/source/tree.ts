// The steps as a tree. A step's parent is in the trace; the iterations and items in between belong to no step, and become
// groups where they hold more than one step.

import { between, hasMarks, places } from '../keys.ts';
import { brief } from '../text.ts';
import { type Status, type Step, turnedAway } from '../trace.ts';
import type { Parts } from './types.ts';

export interface Branch {
  id: string;
  step: Step | null;
  label: string;
  places: string;
  parent: Branch | null;
  children: Branch[];
  level: number;
  status: Status;
  start: number;
  end: number;
  known: number;
  unknown: number;
  calls: number;
}

/** Ids of groups begin so. A mark that begins a key is no step's. */
export const GROUP = '~group:';

/** Follows the key in the id of a step that failed and started over. */
const BEFORE = '~before:';

/** More parts than this are closed until somebody opens them. */
const MANY = 12;

/** Not over. */
export const open = (status: Status): boolean => status === 'running' || status === 'waiting';

const WORST: Status[] = ['failed', 'waiting', 'cancelled', 'stopped', 'interrupted', 'running', 'done', 'skipped'];

export const worse = (a: Status, b: Status): Status => (WORST.indexOf(a) <= WORST.indexOf(b) ? a : b);

export interface Tree {
  roots: Branch[];
  byId: Map<string, Branch>;
  /** In the order of the list. */
  all: Branch[];
}

export function tree(steps: readonly Step[], ends: number): Tree {
  const byId = new Map<string, Branch>();
  const roots: Branch[] = [];
  for (const step of steps) {
    const begun = step.started_ms ?? 0;
    const branch: Branch = {
      id: step.key,
      step,
      label: step.label,
      places: '',
      parent: null,
      children: [],
      level: 1,
      status: step.status,
      start: begun,
      end: step.duration_ms == null ? (open(step.status) ? ends : begun) : begun + step.duration_ms,
      ...spent(step),
    };
    const parent = step.parent ? byId.get(step.parent) : undefined;
    // A parent that is missing, or that would close a circle, counts as no parent.
    branch.parent = parent && step.key.startsWith(parent.id) && step.key !== parent.id ? parent : null;
    // A step that started over after a failure is the one that its key names; the failed one stays in the list.
    const before = byId.get(step.key);
    if (before) {
      before.id = `${step.key}${BEFORE}${byId.size}`;
      byId.set(before.id, before);
    }
    byId.set(step.key, branch);
  }
  for (const branch of byId.values()) (branch.parent?.children ?? roots).push(branch);
  const parents = [...byId.values()].filter((b) => b.children.length > 0);
  const top = group(roots, null, byId);
  for (const branch of parents) branch.children = group(branch.children, branch, byId);
  const all = order(top);
  // From the leaves up: what was spent under a step was spent in it.
  for (let i = all.length - 1; i >= 0; i--) {
    const { parent, known, unknown, calls } = all[i]!;
    if (parent) {
      parent.known += known;
      parent.unknown += unknown;
      parent.calls += calls;
    }
  }
  return { roots: top, byId, all };
}

function spent(step: Step): { known: number; unknown: number; calls: number } {
  let known = 0;
  let unknown = 0;
  let calls = 0;
  for (const call of step.calls ?? []) {
    if ((call.effect ?? 'model') !== 'model') continue;
    // A call that was turned away used nothing.
    if (turnedAway(call)) continue;
    calls += 1;
    known += (call.usage?.input_tokens ?? 0) + (call.usage?.output_tokens ?? 0);
    unknown += call.usage ? (call.usage.unknown_calls ?? 0) : 1;
  }
  return { known, unknown, calls };
}

/** `item 2 Lima`: what a key says about an item, and its value where that is a word or a number. */
function named(places: string, step: Step | null): string {
  const value = step?.item?.value;
  const told = places.includes('item') && (typeof value === 'string' || typeof value === 'number');
  return told ? `${places} ${brief(String(value), 24)}` : places;
}

/** Puts the parts of one pass or item into one group, where any pass or item has several. */
function group(children: Branch[], parent: Branch | null, byId: Map<string, Branch>): Branch[] {
  const middles = new Map<string, Branch[]>();
  const middleOf = new Map<Branch, string>();
  for (const child of children) {
    const { middle, own } = between(child.id, parent?.step?.key ?? null);
    // An item of a fan-out comes before the slash: `each[3]/writer` in `each`, and `[3]/writer` is what is left.
    child.places = named(places(middle ? `${middle}/${own}` : own), child.step);
    if (!hasMarks(middle)) continue;
    middleOf.set(child, middle);
    const same = middles.get(middle);
    if (same) same.push(child);
    else middles.set(middle, [child]);
  }
  if (![...middles.values()].some((same) => same.length > 1)) return children;
  const out: Branch[] = [];
  const made = new Set<string>();
  for (const child of children) {
    const middle = middleOf.get(child);
    if (middle === undefined) {
      out.push(child);
      continue;
    }
    if (made.has(middle)) continue;
    made.add(middle);
    const members = middles.get(middle) ?? [];
    const label = named(places(middle, true), members[0]?.step ?? null) || middle;
    const branch: Branch = {
      id: `${GROUP}${parent?.id ?? ''}/${middle}`,
      step: null,
      label,
      places: '',
      parent,
      children: members,
      level: 1,
      status: members.map((m) => m.status).reduce(worse),
      start: members.reduce((least, m) => Math.min(least, m.start), Infinity),
      end: members.reduce((most, m) => Math.max(most, m.end), 0),
      known: 0,
      unknown: 0,
      calls: 0,
    };
    for (const member of members) {
      member.parent = branch;
      member.places = places(between(member.id, parent?.step?.key ?? null).own);
    }
    byId.set(branch.id, branch);
    out.push(branch);
  }
  return out;
}

/** Depth first, without recursion: a stranger's trace may be as deep as it likes. */
function order(roots: Branch[]): Branch[] {
  const all: Branch[] = [];
  const stack = roots.toReversed();
  for (let next = stack.pop(); next; next = stack.pop()) {
    next.level = (next.parent?.level ?? 0) + 1;
    all.push(next);
    for (let i = next.children.length - 1; i >= 0; i--) stack.push(next.children[i]!);
  }
  return all;
}

/** Whether a branch is open as long as nobody says otherwise. */
export function openAtFirst(branch: Branch): boolean {
  if (branch.children.length > MANY) return false;
  const beside = branch.parent?.children.length ?? 0;
  return !(branch.step === null && beside > MANY);
}

/** The direct parts of a branch, from three on. */
export function parts(branch: Branch): Parts | null {
  const { children } = branch;
  if (children.length < 3) return null;
  const times = children.filter((c) => c.status !== 'skipped').map((c) => c.end - c.start);
  times.sort((a, b) => a - b);
  const items = branch.step?.items;
  return {
    total: Math.max(items?.total ?? 0, children.length),
    failed: items?.failed ?? children.filter((c) => c.status === 'failed').length,
    min: times[0] ?? 0,
    median: times[times.length >> 1] ?? 0,
    max: times[times.length - 1] ?? 0,
    spans: children.map((c) => [c.start, c.end, c.status]),
  };
}
