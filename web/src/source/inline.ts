// A trace that is embedded in the page.

import { places } from '../keys.ts';
import { cause, count, shown, tokens } from '../text.ts';
import type { Graph, Status, Step, Trace } from '../trace.ts';
import { type Branch, open as isOpen, openAtFirst, parts, type Tree, tree } from './tree.ts';
import type { NodeState, Overview, Row, StepDetail, StepName, TraceSource, View } from './types.ts';

/** The rows of one view. */
interface Listed {
  rows: Branch[];
  index: Map<Branch, number>;
  matches: number;
  hit: Set<Branch> | null;
}

const FIRST = 100;

export class InlineSource implements TraceSource {
  readonly #trace: Trace;
  readonly #steps: Step[];
  readonly #ends: number;
  readonly #tree: Tree;
  #listed: { view: View; listed: Listed } | null = null;
  #words = new Map<Step, string>();
  #runs: Map<string, string[]> | null = null;
  #readers: Map<string, Set<string>> | null = null;
  #states = new Map<number | null, ReadonlyMap<string, NodeState>>();

  constructor(trace: Trace) {
    this.#trace = trace;
    this.#steps = (trace.steps ?? []).filter((s) => s && typeof s.key === 'string');
    let ends = trace.duration_ms ?? 0;
    for (const step of this.#steps) {
      ends = Math.max(ends, (step.started_ms ?? 0) + (step.duration_ms ?? 0));
      for (const call of step.calls ?? []) ends = Math.max(ends, (call.started_ms ?? 0) + (call.duration_ms ?? 0));
    }
    this.#ends = ends;
    this.#tree = tree(this.#steps, ends);
  }

  async overview(): Promise<Overview> {
    const { steps: _, graph: __, ...rest } = this.#trace;
    const statuses: Partial<Record<Status, number>> = {};
    for (const step of this.#steps) statuses[step.status] = (statuses[step.status] ?? 0) + 1;
    const partial = this.#steps.filter(mixed).map((s) => `${s.label}: ${count(s.items?.failed)} of ${count(s.items?.total)} failed`);
    const overview: Overview = { ...rest, steps: this.#steps.length, statuses, partial, ends_ms: this.#ends };
    const failed = this.#failed();
    if (failed) overview.failed = name(failed);
    return overview;
  }

  /** Whether a row is open as long as nobody says otherwise. */
  opensAtFirst(id: string): boolean | null {
    const branch = this.#tree.byId.get(id);
    return branch ? openAtFirst(branch) : null;
  }

  async graph(): Promise<Graph | null> {
    const graph = this.#trace.graph;
    return graph && Array.isArray(graph.nodes) && graph.nodes.length > 0 ? graph : null;
  }

  async size(view: View): Promise<{ rows: number; matches: number }> {
    const { rows, matches } = this.#list(view);
    return { rows: rows.length, matches };
  }

  async rows(view: View, from: number, to: number): Promise<Row[]> {
    const { rows, hit } = this.#list(view);
    return rows.slice(Math.max(0, from), to).map((branch) => this.#row(branch, view, hit));
  }

  async rowOf(view: View, key: string): Promise<number | null> {
    const branch = this.#tree.byId.get(key);
    return (branch && this.#list(view).index.get(branch)) ?? null;
  }

  async reveal(view: View, key: string): Promise<View> {
    const branch = this.#tree.byId.get(key);
    if (!branch) return view;
    const filtered = view.words.trim() !== '' || view.status !== null;
    let { toggled } = view;
    for (let at = branch.parent; at; at = at.parent) {
      if (openAtFirst(at) !== toggled.has(at.id)) continue;
      const next = new Set(toggled);
      if (!next.delete(at.id)) next.add(at.id);
      toggled = next;
    }
    const open: View = { ...view, toggled };
    // What a filter hides is shown without the filter.
    return filtered && this.#list(open).index.get(branch) === undefined ? { words: '', status: null, toggled } : open;
  }

  async step(key: string): Promise<StepDetail | null> {
    const branch = this.#tree.byId.get(key);
    if (!branch?.step) return null;
    const { step } = branch;
    const parents: StepName[] = [];
    for (let at = branch.parent; at; at = at.parent) parents.unshift(name(at));
    const keys = this.#runsOf(runOf(step));
    const mentioned = new Map<string, StepName>();
    const mention = (other: string | null | undefined) => {
      const found = other ? this.#tree.byId.get(other) : undefined;
      if (found) mentioned.set(found.id, name(found));
    };
    for (const call of step.calls ?? [])
      for (const message of call.messages ?? [])
        for (const span of message?.spans ?? []) {
          mention(span.step);
          span.steps?.forEach(mention);
        }
    const failures = [];
    for (const child of branch.children) {
      if (child.status !== 'failed' || failures.length >= FIRST) continue;
      const at = firstFailed(child);
      failures.push({ name: name(at), error: at.step?.error ?? null });
    }
    return {
      step,
      name: name(branch),
      parents,
      runs: { keys, index: keys.indexOf(key), failed: keys.filter((k) => this.#tree.byId.get(k)?.status === 'failed').length },
      parts: parts(branch),
      failures,
      readers: [...(this.#readersOf().get(key) ?? [])].slice(0, FIRST).flatMap((k) => {
        const reader = this.#tree.byId.get(k);
        return reader ? [name(reader)] : [];
      }),
      mentioned,
    };
  }

  async runsOf(node: string): Promise<string[]> {
    const keys = this.#runsOf(`node:${node}`);
    const failed = keys.findIndex((k) => this.#tree.byId.get(k)?.status === 'failed');
    return failed > 0 ? [...keys.slice(failed), ...keys.slice(0, failed)] : keys;
  }

  async moments(): Promise<number[]> {
    const all = new Set<number>();
    for (const branch of this.#tree.all) all.add(branch.start).add(branch.end);
    return [...all].sort((a, b) => a - b);
  }

  async stateAt(ms: number | null): Promise<ReadonlyMap<string, NodeState>> {
    const known = this.#states.get(ms);
    if (known) return known;
    const states = new Map<string, NodeState>();
    const times = new Map<string, [number, number][]>();
    for (const step of this.#steps) {
      const branch = this.#tree.byId.get(step.key);
      if (!branch || (ms !== null && branch.start > ms)) continue;
      const over = ms === null || branch.end <= ms;
      const status: Status = over ? branch.status : 'running';
      const end = over ? branch.end : (ms ?? branch.end);
      for (const id of [step.node, step.frame]) {
        if (!id) continue;
        const state = states.get(id) ?? { status: 'idle', runs: 0, failed: 0, busy: 0 };
        state.status = state.status === 'idle' ? status : graver(state.status, status);
        state.runs += 1;
        if (status === 'failed') state.failed += 1;
        states.set(id, state);
        const spans = times.get(id);
        if (spans) spans.push([branch.start, end]);
        else times.set(id, [[branch.start, end]]);
      }
    }
    for (const [id, spans] of times) states.get(id)!.busy = union(spans);
    if (this.#states.size > 50) this.#states.clear();
    this.#states.set(ms, states);
    return states;
  }

  /** The step that the run failed at: the one its error names, else the first that failed without being dealt with. */
  #failed(): Branch | null {
    if (this.#trace.status !== 'failed') return null;
    const key = this.#trace.error?.key;
    // An error may name a call; the step around it is what there is to see.
    for (let at = key ?? ''; at; at = at.replace(/[/@[#!~][^/@[#!~]*$/, '')) {
      const found = this.#tree.byId.get(at);
      if (found) return found;
      if (!/[/@[#!~]/.test(at)) break;
    }
    const failed = this.#tree.all.filter((b) => b.step && b.status === 'failed');
    return failed.find((b) => !b.step?.handled_as || b.step.handled_as === 'fail') ?? failed[0] ?? null;
  }

  #runsOf(run: string): string[] {
    if (!this.#runs) {
      this.#runs = new Map();
      for (const step of this.#steps) {
        const same = this.#runs.get(runOf(step));
        if (same) same.push(step.key);
        else this.#runs.set(runOf(step), [step.key]);
      }
    }
    return this.#runs.get(run) ?? [];
  }

  #readersOf(): Map<string, Set<string>> {
    if (this.#readers) return this.#readers;
    const readers = new Map<string, Set<string>>();
    const add = (writer: string | null | undefined, reader: string) => {
      if (!writer || writer === reader) return;
      const all = readers.get(writer);
      if (all) all.add(reader);
      else readers.set(writer, new Set([reader]));
    };
    for (const step of this.#steps)
      for (const call of step.calls ?? [])
        for (const message of call.messages ?? [])
          for (const span of message?.spans ?? []) {
            add(span.step, step.key);
            span.steps?.forEach((writer) => add(writer, step.key));
          }
    this.#readers = readers;
    return readers;
  }

  #list(view: View): Listed {
    const last = this.#listed;
    if (last && last.view.words === view.words && last.view.status === view.status && last.view.toggled === view.toggled) {
      return last.listed;
    }
    const words = view.words.toLowerCase().split(/\s+/).filter(Boolean);
    const filtered = words.length > 0 || view.status !== null;
    let hit: Set<Branch> | null = null;
    let shownOnes: Set<Branch> | null = null;
    if (filtered) {
      hit = new Set();
      shownOnes = new Set();
      for (const branch of this.#tree.all) {
        if (!branch.step || !this.#matches(branch.step, words, view.status)) continue;
        hit.add(branch);
        for (let at: Branch | null = branch; at && !shownOnes.has(at); at = at.parent) shownOnes.add(at);
      }
    }
    const rows: Branch[] = [];
    const stack = this.#tree.roots.toReversed();
    for (let next = stack.pop(); next; next = stack.pop()) {
      if (shownOnes && !shownOnes.has(next)) continue;
      rows.push(next);
      if (next.children.length > 0 && this.#open(next, view, filtered)) {
        for (let i = next.children.length - 1; i >= 0; i--) stack.push(next.children[i]!);
      }
    }
    const listed: Listed = { rows, index: new Map(rows.map((b, i) => [b, i])), matches: hit?.size ?? this.#steps.length, hit };
    this.#listed = { view, listed };
    return listed;
  }

  /** A filter opens everything; then, as without one, what was toggled is the other way round. */
  #open(branch: Branch, view: View, filtered: boolean): boolean {
    return (filtered || openAtFirst(branch)) !== view.toggled.has(branch.id);
  }

  #matches(step: Step, words: string[], status: Status | null): boolean {
    if (status !== null && step.status !== status) return false;
    if (words.length === 0) return true;
    let text = this.#words.get(step);
    if (text === undefined) {
      text = said(step).toLowerCase();
      this.#words.set(step, text);
    }
    return words.every((word) => text.includes(word));
  }

  #row(branch: Branch, view: View, hit: Set<Branch> | null): Row {
    const { step, children, parent } = branch;
    const filtered = hit !== null;
    const open = children.length > 0 ? this.#open(branch, view, filtered) : null;
    const beside = parent?.children ?? this.#tree.roots;
    return {
      ...name(branch),
      // What is around it in the list has said the rest.
      places: branch.places,
      group: step === null,
      level: branch.level,
      position: position(beside, branch),
      siblings: beside.length,
      open,
      start: branch.start,
      end: branch.end,
      kept: step?.kept === true,
      open_ended: step !== null && step.duration_ms == null && isOpen(step.status),
      tokens: tokens(branch.known, branch.unknown, branch.calls),
      calls: (step?.calls ?? []).slice(0, FIRST).map((c) => {
        const start = c.started_ms ?? branch.start;
        return [start, c.duration_ms == null ? Math.max(start, branch.end) : start + c.duration_ms, c.error != null];
      }),
      parts: open === false ? parts(branch) : null,
      empty: step?.items?.total === 0,
      handled_as: step?.handled_as && step.handled_as !== 'fail' ? step.handled_as : null,
      faint: hit !== null && !hit.has(branch),
    };
  }
}

const positions = new WeakMap<Branch[], Map<Branch, number>>();

function position(beside: Branch[], branch: Branch): number {
  let known = positions.get(beside);
  if (!known) {
    known = new Map(beside.map((b, i) => [b, i + 1]));
    positions.set(beside, known);
  }
  return known.get(branch) ?? 1;
}

const mixed = (step: Step): boolean => step.status === 'done' && (step.items?.failed ?? 0) > 0;

/** A step as it is mentioned anywhere: with all that tells it from its twins. */
function name(branch: Branch): StepName {
  return {
    key: branch.id,
    label: branch.label,
    places: branch.step ? places(branch.id) : branch.places,
    mixed: branch.step !== null && mixed(branch.step),
    status: branch.status,
    kind: branch.step?.kind ?? 'group',
  };
}

/** The same place in the manifest: a node of the graph, or else what is left of the key without its numbers. */
function runOf(step: Step): string {
  return step.node ? `node:${step.node}` : `key:${step.key.replace(/@\d+|\[\d+\]|#\d+|!\d+/g, '')}`;
}

function firstFailed(branch: Branch): Branch {
  let at = branch;
  for (;;) {
    const next = at.children.find((c) => c.status === 'failed');
    if (!next) return at;
    at = next;
  }
}

/** All that a search looks through. */
function said(step: Step): string {
  const all = [step.key, step.label, step.kind, step.status, step.reason ?? '', step.file ?? '', places(step.key), typeof step.item?.value === 'string' ? step.item.value : ''];
  const error = (e: Step['error']) => e && all.push(e.code ?? '', e.message ?? '', cause(e.cause));
  error(step.error);
  if (step.output !== undefined) all.push(shown(step.output));
  for (const call of step.calls ?? []) {
    all.push(call.agent ?? '', call.model ?? '', call.answered_by ?? '', call.instead ?? '', call.finish ?? '', call.partial ?? '');
    for (const before of call.before ?? []) all.push(before?.model ?? '', before?.why ?? '');
    for (const message of call.messages ?? []) all.push(message?.content ?? '');
    if (call.answer !== undefined) all.push(shown(call.answer));
    if (call.detail !== undefined) all.push(shown(call.detail));
    error(call.error);
  }
  for (const note of step.notes ?? []) all.push(note.text);
  return all.join('\n');
}

const GRAVE: NodeState['status'][] = ['failed', 'waiting', 'running', 'cancelled', 'stopped', 'interrupted', 'done', 'skipped', 'idle'];
const graver = (a: NodeState['status'], b: NodeState['status']) => (GRAVE.indexOf(a) <= GRAVE.indexOf(b) ? a : b);

/** How much time spans cover together. */
export function union(spans: [number, number][]): number {
  spans.sort((a, b) => a[0] - b[0]);
  let covered = 0;
  let until = -Infinity;
  for (const [start, end] of spans) {
    if (end <= until) continue;
    covered += end - Math.max(start, until);
    until = end;
  }
  return covered;
}
