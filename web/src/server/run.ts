// A run while somebody looks at it: its trace, which grows, what it waits for, and the way to the server.

import { signal } from '@preact/signals';
import { LiveSource } from '../source/live.ts';
import { State } from '../state.ts';
import type { Trace } from '../trace.ts';
import { ask, NoAnswer, Problem } from './api.ts';
import { isEnd } from './ends.ts';
import { follow, type Frame } from './stream.ts';
import type { RunDetail } from './types.ts';

/** `live`: changes come as they happen. `lost`: they do not, and it is tried again. `over`: the run has ended, so there are none. */
export type Connection = 'opening' | 'live' | 'lost' | 'over';

/** How often the time of a run in progress moves on. */
const TICK = 1_000;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8_000;

/** When the browser has drawn what there is; soon, where nobody sees it. */
const drawn = (): Promise<void> =>
  new Promise((done) => (document.hidden ? setTimeout(done) : requestAnimationFrame(() => setTimeout(done))));

export class RunStore {
  readonly run: string;
  readonly state = signal<State | null>(null);
  readonly detail = signal<RunDetail | null>(null);
  readonly connection = signal<Connection>('opening');
  /** Why it cannot be shown at all. */
  readonly failed = signal<unknown>(null);
  #source: LiveSource | null = null;
  #after: string | null = null;
  /** Text that came before there was a trace to put it into. */
  readonly #early: { key: string; text: string; first: boolean }[] = [];
  #status = '';
  /** Whether the run has ended, and all of it is here. */
  #isWhole = false;
  #gone = new AbortController();
  #watches = false;
  /** What has come and is not shown yet. */
  #frames: Frame[] = [];
  #shows = false;
  #wake: (() => void) | null = null;
  #pending: Promise<void> = Promise.resolve();
  #prepare: (state: State) => void;
  /** Why the server ended the stream before the run did. */
  #cut: string | null = null;
  readonly #ticks: number;

  constructor(run: string, prepare: (state: State) => void) {
    this.run = run;
    this.#prepare = prepare;
    addEventListener('online', this.#again);
    this.#ticks = setInterval(() => {
      if (this.connection.peek() === 'live' && !document.hidden && this.#source?.pass()) void this.state.peek()?.refresh();
    }, TICK) as unknown as number;
  }

  get path(): string {
    return `/runs/${encodeURIComponent(this.run)}`;
  }

  /** Looks at the run: until it has ended, or nobody looks any more. */
  async watch() {
    if (this.#watches) return;
    this.#watches = true;
    let pause = FIRST_PAUSE;
    while (!this.#gone.signal.aborted) {
      try {
        await this.#look();
        if (this.#isWhole) {
          this.connection.value = 'over';
          break;
        }
        // The stream ended, and the run did not: the server is replaced.
        pause = FIRST_PAUSE;
      } catch (why) {
        if (this.#gone.signal.aborted) break;
        const status = why instanceof Problem ? why.body.status : 0;
        const isTemporary = why instanceof NoAnswer || status === 429 || status >= 500;
        if (!isTemporary) {
          if (status !== 401) this.failed.value = why;
          break;
        }
      }
      this.connection.value = 'lost';
      await this.#rest(pause * (0.75 + Math.random() / 2));
      pause = Math.min(LONGEST_PAUSE, pause * 2);
    }
    this.#watches = false;
  }

  /** Asks how the run stands, and what it waits for. */
  async ask() {
    this.detail.value = await ask<RunDetail>(this.path, { signal: this.#gone.signal });
  }

  /** Something was done with the run here. */
  async acted(now?: Partial<RunDetail>) {
    if (now && this.detail.peek()) this.detail.value = { ...this.detail.peek()!, ...now };
    await this.ask().catch(() => {});
    const status = this.detail.peek()?.status ?? '';
    if (!isEnd(status)) void this.watch();
    else if (this.#status !== status) void this.watch();
  }

  close() {
    this.#gone.abort();
    clearInterval(this.#ticks);
    this.#wake?.();
    removeEventListener('online', this.#again);
    this.state.peek()?.close();
  }

  readonly #again = () => this.#wake?.();

  async #rest(ms: number) {
    await new Promise<void>((done) => {
      const timer = setTimeout(done, ms);
      this.#wake = () => {
        clearTimeout(timer);
        done();
      };
    });
    this.#wake = null;
  }

  async #look() {
    this.#isWhole = false;
    await this.ask();
    // Of a run that has ended, too: what there is of a long one is shown while the rest is read.
    await follow(`${this.path}/trace`, this.#after, (frame) => this.#take(frame), this.#gone.signal);
    await this.#pending;
    if (this.#cut !== null) {
      const why = this.#cut;
      this.#cut = null;
      throw new NoAnswer(why);
    }
    if (!isEnd(this.detail.peek()?.status ?? '')) await this.ask();
  }

  #take(frame: Frame) {
    this.connection.value = 'live';
    this.#frames.push(frame);
    if (this.#frames.length > 1 || this.#shows) return;
    this.#shows = true;
    this.#pending = this.#show().catch((why: unknown) => {
      this.#frames = [];
      this.failed.value = why;
    }).finally(() => (this.#shows = false));
  }

  /** Shows what has come: all at once, and then lets the browser draw it. */
  async #show() {
    while (this.#frames.length > 0) {
      // What is there first is drawn first.
      const frames = this.#source ? this.#frames.splice(0) : this.#frames.splice(0, 1);
      const before = this.#source;
      let changes: 'none' | 'text' | 'trace' = 'none';
      for (const frame of frames) {
        const kind = await this.#put(frame);
        if (kind !== 'none' && changes !== 'trace') changes = kind;
      }
      if (before && changes === 'trace') await this.state.peek()?.refresh();
      else if (before && changes === 'text') await this.state.peek()?.refreshStep();
      await drawn();
    }
  }

  async #put(frame: Frame): Promise<'none' | 'text' | 'trace'> {
    const data: unknown = JSON.parse(frame.data);
    if (frame.event === 'stream_error') {
      this.#cut = (data as { detail?: string }).detail ?? 'the stream ended';
      return 'none';
    }
    if (frame.event === 'text') {
      const heard = data as { key: string; text: string; first: boolean };
      // What had arrived before somebody looked comes before the trace.
      if (this.#source) this.#source.hear(heard);
      else this.#early.push(heard);
      return 'text';
    }
    if (frame.id !== null) this.#after = frame.id;
    const trace = data as Trace;
    // Of a run that had ended and goes on, the whole trace comes again: what somebody looks at stays.
    if (this.#source) this.#source.change(trace);
    else await this.#open(trace);
    this.#note(trace);
    return 'trace';
  }

  async #open(trace: Trace) {
    this.#source = new LiveSource(trace);
    for (const heard of this.#early.splice(0)) this.#source.hear(heard);
    const state = await State.open(this.#source);
    this.#prepare(state);
    this.state.peek()?.close();
    this.state.value = state;
  }

  /** A question, or an end, is more than the trace says. */
  #note(trace: Trace) {
    const status = trace.status ?? '';
    this.#isWhole = isEnd(status) && trace.duration_ms != null;
    const asks = !isEnd(status) && (trace.steps ?? []).some((step) => step.kind === 'human' || step.status === 'waiting');
    if (status === this.#status && !asks) return;
    const isFirst = this.#status === '';
    const state = this.state.peek();
    if (state && !isFirst && status !== this.#status) state.said.value = `The run is ${status}`;
    this.#status = status;
    if (!isFirst || asks) void this.ask().catch(() => {});
  }
}
