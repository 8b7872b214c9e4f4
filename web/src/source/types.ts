// What the page asks of a trace. The components know only this, so that a server that hands out pages of a trace can replace
// the trace in the page. Everything that may be large is requested only for what is on the screen.

import type { Failure, Graph, Status, Step, Trace } from '../trace.ts';

/** How a run went, without its steps. */
export interface Overview extends Omit<Trace, 'steps' | 'graph'> {
  steps: number;
  /** Steps by status. */
  statuses: Partial<Record<Status, number>>;
  /** Of steps that are done although some of their items failed, what to say of each. */
  partial: string[];
  /** The end of the last step or call: what the time axis needs. */
  ends_ms: number;
  /** The step that the run failed at. */
  failed?: StepName;
}

/** A step as others mention it. */
export interface StepName {
  key: string;
  label: string;
  /** `pass 2, item 4`. */
  places: string;
  /** Done, although some of its items failed. */
  mixed: boolean;
  status: Status;
  kind: string;
}

/** Which rows there are. */
export interface View {
  /** Words that a row must contain, in its name, texts or errors. */
  words: string;
  /** Only steps that ended so. */
  status: Status | null;
  /** Rows that are open or closed against the source's own choice. */
  toggled: ReadonlySet<string>;
}

/** A line of the list: a step, or the steps of one pass or item. */
export interface Row extends StepName {
  /** Steps have a key of their own; groups do not. */
  group: boolean;
  /** From 1. */
  level: number;
  /** Among the rows beside it, from 1. */
  position: number;
  siblings: number;
  open: boolean | null;
  start: number;
  end: number;
  /** With results of earlier runs only. */
  kept: boolean;
  /** Not over. */
  open_ended: boolean;
  tokens: string;
  /** Start, end and fault of each call. */
  calls: [number, number, boolean][];
  /** Of what is beneath a closed row: start, end and status of the direct parts. */
  parts: Parts | null;
  /** A fan-out over an empty list. */
  empty: boolean;
  handled_as: string | null;
  /** Shown only because of what is beneath. */
  faint: boolean;
}

/** The direct parts of a fan-out or loop. */
export interface Parts {
  total: number;
  failed: number;
  min: number;
  median: number;
  max: number;
  spans: [number, number, Status][];
}

export interface StepDetail {
  step: Step;
  name: StepName;
  parents: StepName[];
  /** Every run of the same place in the manifest, this one among them. */
  runs: { keys: string[]; index: number; failed: number };
  parts: Parts | null;
  /** Its parts that failed, at most a hundred. */
  failures: { name: StepName; error: Failure | null }[];
  /** Steps whose prompts contain what this one wrote, at most a hundred. */
  readers: StepName[];
  /** The steps that its prompts mention. */
  mentioned: ReadonlyMap<string, StepName>;
}

/** How a node or frame of the graph stands at a moment. */
export interface NodeState {
  status: Status | 'idle';
  runs: number;
  failed: number;
  /** Milliseconds in which at least one of its runs was at work. */
  busy: number;
}

export interface TraceSource {
  /** Of a source that grows: the view in which what somebody has opened or closed is still so. */
  carry?(view: View): View;
  overview(): Promise<Overview>;
  graph(): Promise<Graph | null>;
  /** How many rows a view has, and how many steps matched. */
  size(view: View): Promise<{ rows: number; matches: number }>;
  rows(view: View, from: number, to: number): Promise<Row[]>;
  /** The place of a step in a view; none: it is not in it, or in something closed. */
  rowOf(view: View, key: string): Promise<number | null>;
  /** The view with everything open that a step is in. */
  reveal(view: View, key: string): Promise<View>;
  step(key: string): Promise<StepDetail | null>;
  /** The steps of a node of the graph, failed ones first named. */
  runsOf(node: string): Promise<string[]>;
  /** The moments at which anything began or ended. */
  moments(): Promise<number[]>;
  /** The graph's nodes and frames, as they stood then; none: at the end. */
  stateAt(ms: number | null): Promise<ReadonlyMap<string, NodeState>>;
}
