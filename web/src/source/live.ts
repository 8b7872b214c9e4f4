// A trace that grows: what a server sends of a run while it goes on is put into the trace so far.

import type { Step, Trace } from '../trace.ts';
import { InlineSource } from './inline.ts';
import type { StepDetail, TraceSource, View } from './types.ts';

/** A step that failed and starts over has the same key. */
const idOf = (step: Step): string => `${step.key}\n${step.started_ms}`;

export class LiveSource implements TraceSource {
  #trace: Trace;
  /** Made again when somebody asks, so that many changes at once cost no more than one. */
  #made: InlineSource | null = null;
  readonly #steps = new Map<string, Step>();
  /** The texts of the calls in progress, by their keys. */
  readonly #texts = new Map<string, string>();
  #before: InlineSource | null = null;
  /** When the last of it came. */
  #came = performance.now();

  constructor(trace: Trace) {
    this.#trace = trace;
    this.#take(trace.steps ?? []);
  }

  /** Takes in what has changed: a trace with only the steps that are not as they were, and without what never changes. */
  change(changes: Trace) {
    this.#take(changes.steps ?? []);
    const { input, effective_input, graph } = this.#trace;
    const kept = { input, effective_input, graph: graph ?? null };
    this.#trace = { ...kept, ...changes };
    this.#came = performance.now();
    this.#outdate();
  }

  /** Time has passed. Returns whether that is seen. */
  pass(): boolean {
    if (this.#trace.status !== 'running') return false;
    this.#outdate();
    return true;
  }

  /** Text of an answer has arrived. */
  hear({ key, text, first }: { key: string; text: string; first: boolean }) {
    this.#texts.set(key, first ? text : (this.#texts.get(key) ?? '') + text);
  }

  #take(steps: Step[]) {
    for (const step of steps) {
      if (!step || typeof step.key !== 'string') continue;
      this.#steps.set(idOf(step), step);
      for (const call of step.calls ?? []) if (call.key && call.duration_ms != null) this.#texts.delete(call.key);
    }
  }

  #outdate() {
    this.#before ??= this.#made;
    this.#made = null;
  }

  get #inner(): InlineSource {
    return (this.#made ??= this.#read());
  }

  #read(): InlineSource {
    const { duration_ms, status } = this.#trace;
    const passed = status === 'running' ? Math.round(performance.now() - this.#came) : 0;
    const lasts = status === 'running' ? (duration_ms ?? 0) + passed : (duration_ms ?? null);
    return new InlineSource({ ...this.#trace, duration_ms: lasts, steps: [...this.#steps.values()] });
  }

  carry(view: View): View {
    const before = this.#before;
    this.#before = null;
    if (!before || view.toggled.size === 0) return view;
    // What is open at first may be closed at first once it is long. Who opened or closed it meant what they saw.
    const toggled = new Set([...view.toggled].filter((id) => before.opensAtFirst(id) === this.#inner.opensAtFirst(id)));
    return toggled.size === view.toggled.size ? view : { ...view, toggled };
  }

  async step(key: string): Promise<StepDetail | null> {
    const detail = await this.#inner.step(key);
    if (!detail || this.#texts.size === 0) return detail;
    const calls = (detail.step.calls ?? []).map((call) => {
      const arriving = call.key && call.duration_ms == null ? this.#texts.get(call.key) : undefined;
      return arriving === undefined ? call : { ...call, arriving };
    });
    return { ...detail, step: { ...detail.step, calls } };
  }

  overview = () => this.#inner.overview();
  graph = () => this.#inner.graph();
  size = (view: View) => this.#inner.size(view);
  rows = (view: View, from: number, to: number) => this.#inner.rows(view, from, to);
  rowOf = (view: View, key: string) => this.#inner.rowOf(view, key);
  reveal = (view: View, key: string) => this.#inner.reveal(view, key);
  runsOf = (node: string) => this.#inner.runsOf(node);
  moments = () => this.#inner.moments();
  stateAt = (ms: number | null) => this.#inner.stateAt(ms);
}
