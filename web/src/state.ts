// What the page shows now: which step, which rows, which moment. The address holds the step, so that links, back and forward
// work. Everything that may be watched is a signal here; nothing else keeps state that outlives a component.

import { batch, computed, effect, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { isOpenLink, link, stepIn } from './links.ts';
import { several } from './text.ts';
import type { Graph, GraphNode } from './trace.ts';
import type { NodeState, Overview, StepDetail, TraceSource, View } from './source/types.ts';

/** What is looked at: a step, a group's rows, or the run as a whole. */
export type Selection = { step: string } | { run: true };

/** What a page of a server adds: a trace in a file has nobody to ask and nothing to do. */
export interface Additions {
  /** In place of the commands for a terminal. */
  next(): ComponentChildren;
  /** At the end of the head of a step. */
  step(detail: StepDetail): ComponentChildren;
}

export class State {
  readonly source: TraceSource;
  readonly #overview;
  readonly #graph;
  readonly #moments;
  additions: Additions | null = null;
  /** What is done when a box of the graph is chosen that no step of the run belongs to. */
  chosenNode: ((node: GraphNode) => void) | null = null;
  /** Grows whenever the source has something else to say. */
  readonly revision = signal(0);
  /** By how many rows the chosen one has moved on its own, so that the list can stay where it is. */
  readonly moved = signal({ rows: 0 });

  readonly selection = signal<Selection>({ run: true });
  /** The step that is shown in full; none while it is fetched, or where there is none of this key. */
  readonly detail = signal<StepDetail | null>(null);
  readonly missing = signal<string | null>(null);
  /** Why the chosen step cannot be shown: its part of the trace is not as it should be. */
  readonly broken = signal<string | null>(null);
  readonly view = signal<View>({ words: '', status: null, toggled: new Set() });
  readonly size = signal<{ rows: number; matches: number }>({ rows: 0, matches: 0 });
  /** Which row has the keyboard. */
  readonly cursor = signal(0);
  /** A row that is to be scrolled to; `focus` too, where somebody moves by keys. */
  readonly wanted = signal<{ row: number; focus: boolean } | null>(null);
  /** Part of the run's time that the bars show. */
  readonly axis = signal<[number, number]>([0, 1]);
  /** An index into the moments; none: the end. */
  readonly moment = signal<number | null>(null);
  readonly states = signal<ReadonlyMap<string, NodeState>>(new Map());
  readonly heat = signal(false);
  /** On narrow screens: which part is seen. */
  readonly tab = signal<'steps' | 'graph' | 'step'>('steps');
  /** Said to screen readers. */
  readonly said = signal('');
  /** Set when the heading of the detail should take the keyboard. */
  readonly enter = signal(0);

  readonly at = computed(() => {
    const moment = this.moment.value;
    return moment === null ? null : (this.#moments.value[moment] ?? null);
  });
  readonly key = computed(() => {
    const selection = this.selection.value;
    return 'step' in selection ? selection.step : null;
  });

  private constructor(source: TraceSource, overview: Overview, graph: Graph | null, moments: number[]) {
    this.source = source;
    this.#overview = signal(overview);
    this.#graph = signal(graph);
    this.#moments = signal(moments);
    this.axis.value = this.whole();
  }

  get overview(): Overview {
    return this.#overview.value;
  }
  get graph(): Graph | null {
    return this.#graph.value;
  }
  get moments(): number[] {
    return this.#moments.value;
  }

  static async open(source: TraceSource): Promise<State> {
    const [overview, graph, moments] = await Promise.all([source.overview(), source.graph(), source.moments()]);
    const state = new State(source, overview, graph, moments);
    await state.#start();
    return state;
  }

  /** The whole of the run's time. */
  whole(): [number, number] {
    return [0, Math.max(1, this.overview.ends_ms)];
  }

  async #start() {
    this.states.value = await this.source.stateAt(null);
    this.size.value = await this.source.size(this.view.value);
    this.#leads = this.overview.failed !== undefined;
    if (isOpenLink(location.hash) && this.overview.failed) await this.#show({ step: this.overview.failed.key });
    else await this.#read();
    addEventListener('hashchange', this.#browse);
    this.#stop = effect(() => {
      const at = this.at.value;
      void this.source.stateAt(at).then((states) => {
        if (this.at.peek() === at) this.states.value = states;
      });
    });
  }

  #stop = () => {};
  /** Whether the step that failed was shown unasked. */
  #leads = false;
  #byKeys = false;
  readonly #browse = () => {
      const browsed = this.#byKeys;
      this.#byKeys = false;
      void this.#read().then(() => {
        if (browsed) return;
        // Somebody followed a link: the keyboard goes along, to the heading that is there now.
        this.enter.value += 1;
        this.tab.value = 'step';
      });
  };

  /** Nobody looks at it any more. */
  close() {
    removeEventListener('hashchange', this.#browse);
    this.#stop();
  }

  /** The source has something else to say: what is chosen, open and in sight stays. */
  async refresh() {
    const key = this.key.peek();
    const view = this.source.carry?.(this.view.peek()) ?? this.view.peek();
    const [overview, graph, moments, states, size, detail, row] = await Promise.all([
      this.source.overview(),
      this.source.graph(),
      this.source.moments(),
      this.source.stateAt(this.at.peek()),
      this.source.size(view),
      key === null ? null : this.source.step(key),
      key === null ? null : this.source.rowOf(view, key),
    ]);
    if (this.key.peek() !== key) return;
    const [from, to] = this.axis.peek();
    const isWhole = from === 0 && to === this.whole()[1];
    batch(() => {
      this.#overview.value = overview;
      this.#graph.value ??= graph;
      this.#moments.value = moments;
      this.states.value = states;
      this.view.value = view;
      this.size.value = size;
      if (isWhole) this.axis.value = this.whole();
      if (detail) [this.detail.value, this.missing.value] = [detail, null];
      const rows = row === null ? 0 : row - this.cursor.peek();
      if (rows !== 0) {
        this.cursor.value += rows;
        this.moved.value = { rows };
      }
      this.revision.value += 1;
    });
    // It failed before these eyes, or was read so far only now.
    if (key === null && overview.failed && !this.#leads && isOpenLink(location.hash)) {
      this.#leads = true;
      await this.#show({ step: overview.failed.key });
    }
  }

  /** Only the chosen step has something else to say. */
  async refreshStep() {
    const key = this.key.peek();
    const detail = key === null ? null : await this.source.step(key);
    if (detail && this.key.peek() === key) this.detail.value = detail;
  }

  /** Shows a step; a link does the same. `browse`: without a place of its own in the history, and the keyboard stays. */
  select(key: string, browse = false) {
    const hash = link(key);
    if (location.hash === hash) {
      if (!browse) {
        this.enter.value += 1;
        this.tab.value = 'step';
      }
      return;
    }
    if (!browse) {
      location.hash = hash;
      return;
    }
    try {
      history.replaceState(null, '', hash);
      void this.#read();
    } catch {
      // A page without an origin may not touch its history.
      this.#byKeys = true;
      location.replace(hash);
    }
  }

  async #read() {
    const written = stepIn(location.hash);
    if (written === null) return this.#show({ run: true });
    let step = written;
    try {
      step = decodeURIComponent(written);
    } catch {
      // Not how links are written here: perhaps it is the key itself.
    }
    await this.#show({ step });
  }

  async #show(selection: Selection) {
    if (!('step' in selection)) {
      this.selection.value = selection;
      this.detail.value = null;
      this.missing.value = null;
      return;
    }
    const { step } = selection;
    this.selection.value = selection;
    this.broken.value = null;
    const [detail, view] = await Promise.all([
      this.source.step(step).catch((why: unknown) => {
        this.broken.value = String(why);
        return null;
      }),
      this.source.reveal(this.view.peek(), step),
    ]);
    const still = this.selection.peek();
    if (!('step' in still) || still.step !== step) return;
    this.detail.value = detail;
    this.missing.value = detail || this.broken.peek() !== null ? null : step;
    if (!detail) return;
    if (view !== this.view.peek()) await this.look(view);
    const row = await this.source.rowOf(this.view.peek(), step);
    if (row === null) return;
    this.cursor.value = row;
    if (this.wanted.peek()?.row !== row) this.wanted.value = { row, focus: false };
  }

  /** Other rows: a filter, or something opened or closed. */
  async look(view: View) {
    this.view.value = view;
    const size = await this.source.size(view);
    if (this.view.peek() !== view) return;
    this.size.value = size;
    this.cursor.value = Math.min(this.cursor.peek(), Math.max(0, size.rows - 1));
  }

  async filter(change: Partial<Pick<View, 'words' | 'status'>>) {
    await this.look({ ...this.view.peek(), ...change, toggled: new Set() });
    this.cursor.value = 0;
    this.wanted.value = { row: 0, focus: false };
    const { words, status } = this.view.peek();
    this.said.value = words || status ? `${several(this.size.peek().matches, 'step')} found` : `all ${several(this.overview.steps, 'step')}`;
  }

  async toggle(id: string) {
    const toggled = new Set(this.view.peek().toggled);
    if (!toggled.delete(id)) toggled.add(id);
    await this.look({ ...this.view.peek(), toggled });
  }
}
