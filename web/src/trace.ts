// The trace as the page receives it: version 2 of the JSON that `docs/json.md` describes. Everything but the skeleton may be
// missing, and every text is a stranger's.

/** How a step went. */
export type Status = 'done' | 'failed' | 'skipped' | 'stopped' | 'running' | 'cancelled' | 'interrupted' | 'waiting';
/** How the run stands, in the words of every list of runs. */
export type RunStatus = 'completed' | 'failed' | 'cancelled' | 'waiting' | 'interrupted' | 'pending' | 'running';

export interface Place {
  file?: string | null;
  line?: number | null;
  column?: number | null;
}

/** What a retry policy goes by. */
export type Cause = 'network' | 'guardrail' | 'timeout' | { status: number };

export interface Failure {
  code?: string;
  message?: string;
  key?: string | null;
  location?: Place | null;
  cause?: Cause | null;
  help?: string | null;
  retry_after_ms?: number | null;
  interpolation?: { expression?: string; namespace?: string; reason?: string } | null;
  /** The failure of a called run from which this one comes. */
  called?: (Failure & { run?: string; flow?: string }) | null;
}

export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  cached_tokens?: number;
  written_tokens?: number;
  unknown_calls?: number;
  cost_micro?: number;
  unpriced_calls?: number;
}

export type From =
  | 'literal'
  | 'const'
  | 'input'
  | 'step'
  | 'env'
  | 'secret'
  | 'item'
  | 'index'
  | 'failure'
  | 'run'
  | 'several'
  | 'other';

/** Where a part of a message came from. `start` and `end` count Unicode scalar values. */
export interface Span extends Place {
  start: number;
  end: number;
  from: From;
  path?: string | null;
  member?: string | null;
  step?: string | null;
  steps?: string[] | null;
  name?: string | null;
  via?: (Place & { path?: string })[] | null;
  end_line?: number | null;
  end_column?: number | null;
}

export interface Message {
  role: string;
  content: string;
  spans?: Span[] | null;
  calls?: { id: string; name: string; arguments: unknown }[] | null;
  answers?: string | null;
}

/** Who gave an answer. An empty name is not known. */
export interface Receipt {
  name: string;
  origin: string;
  at: string;
}

export interface Call {
  key?: string | null;
  effect?: string;
  agent?: string | null;
  model?: string | null;
  answered_by?: string | null;
  /** The fallback model that was called last, and those that did not answer before it. */
  instead?: string | null;
  before?: { model: string; why: string; usage?: Usage | null }[] | null;
  parameters?: Record<string, unknown> | null;
  messages?: Message[] | null;
  detail?: unknown;
  answer?: unknown;
  partial?: string | null;
  /** What has arrived of an answer that is not complete. */
  arriving?: string | null;
  finish?: string | null;
  request_id?: string | null;
  error?: Failure | null;
  usage?: Usage | null;
  reused_from?: { run: string; key?: string | null; usage?: Usage | null } | null;
  /** Who answered the question, or decided about an unknown outcome. */
  given_by?: Receipt | null;
  started_ms?: number;
  duration_ms?: number | null;
}

export interface Step extends Place {
  key: string;
  parent?: string | null;
  label: string;
  kind: string;
  status: Status;
  started_ms: number;
  duration_ms?: number | null;
  output?: unknown;
  error?: Failure | null;
  handled_as?: string | null;
  reason?: string | null;
  /** The item of a fan-out that it is done for; numbers begin at 1. */
  item?: { number: number; total: number; value?: unknown } | null;
  items?: { total?: number; failed?: number } | null;
  tries?: number | null;
  /** All that was to be called in it has results of earlier runs. */
  kept?: boolean | null;
  node?: string | null;
  frame?: string | null;
  calls?: Call[] | null;
  notes?: { at_ms: number; text: string }[] | null;
}

export interface GraphNode extends Place {
  id: string;
  label: string;
  kind: string;
  notes?: string[] | null;
  optional?: boolean | null;
  x: number;
  y: number;
  width: number;
  height: number;
  frame?: string | null;
}

export interface GraphFrame {
  id: string;
  label: string;
  note?: string | null;
  x: number;
  y: number;
  width: number;
  height: number;
  frame?: string | null;
  title_x?: number | null;
  title_y?: number | null;
  /** The title in lines that fit the frame, and whether each is the name itself or the note below it. */
  title_lines?: [string, boolean][] | null;
}

export interface GraphEdge {
  from: string;
  to: string;
  label?: string | null;
  line?: 'then' | 'again' | 'failure' | null;
  points: [number, number][];
  label_at?: [number, number] | null;
}

export interface Graph {
  title?: string;
  width: number;
  height: number;
  nodes: GraphNode[];
  frames?: GraphFrame[] | null;
  edges?: GraphEdge[] | null;
}

export interface Trace {
  version: number;
  run?: string;
  flow?: string;
  dialect?: string;
  status?: RunStatus;
  started_at?: string | null;
  duration_ms?: number | null;
  engine?: { name?: string; version?: string } | null;
  program?: string | null;
  sources?: { file: string; sha256?: string }[] | null;
  answers_from?: string | null;
  placeholder?: boolean | null;
  input?: unknown;
  effective_input?: unknown;
  output?: unknown;
  error?: Failure | null;
  usage?: Usage | null;
  calls?: number | null;
  steps?: Step[] | null;
  warnings?: string[] | null;
  /** The run whose results it reuses. */
  base?: string | null;
  /** Of the fan-outs in which items failed, and the run went on. */
  items?: { total?: number; failed?: number } | null;
  /** What it waits for, and the commands that answer and continue it. */
  waiting?: { key?: string; question?: string; called_with?: string }[] | null;
  stopped?: { text?: string } | null;
  next?: { command: string; purpose: string }[] | null;
  graph?: Graph | null;
}

/** What all calls of a step have used; null if there are none that can use anything. */
export function spentBy(calls: Call[]): Usage | null {
  const used = calls.flatMap((call) => call.usage ?? []);
  if (used.length === 0) return null;
  const sum = (name: keyof Usage) => used.reduce((all, one) => all + (one[name] ?? 0), 0);
  const names = ['input_tokens', 'output_tokens', 'cached_tokens', 'unknown_calls', 'cost_micro', 'unpriced_calls'] as const;
  return Object.fromEntries(names.map((name) => [name, sum(name)]));
}

/** Whether a provider answered a call with a status alone: it used nothing. */
export const turnedAway = (call: Call): boolean => !call.usage && typeof call.error?.cause === 'object' && call.error.cause !== null;
