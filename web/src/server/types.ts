// What the API answers, as far as the page uses it: `/api/v1/openapi.json` describes all of it.

import type { Receipt, RunStatus } from '../trace.ts';

export interface Cost {
  usd?: number;
  completeness: 'known' | 'partial' | 'unknown';
  text: string;
  unpriced_calls?: number;
}

export interface RunSummary {
  run: string;
  flow: string;
  status: RunStatus;
  started: string;
  ended?: string;
  calls: number;
  tokens: { input: number; output: number; cached: number; unknown_calls: number };
  cost: Cost;
  error?: { code: string; message: string };
  items?: { total: number; failed: number };
  parent?: string;
  base?: string;
  wake_at?: string;
  labels?: Record<string, string>;
}

export interface RunList {
  runs: RunSummary[];
  next?: string;
}

/** Something that a run waits for. */
export interface Question {
  key: string;
  step: string;
  sort: 'human' | 'tool' | 'command' | 'run';
  question: string;
  run?: string;
  prompt?: string;
  called_with?: string;
  accepts?: string[];
  choices?: string[];
  answer_by?: string;
  otherwise?: string;
  answered?: string;
  given_by?: Receipt;
  late?: true;
}

export interface ListedQuestion extends Question {
  run: string;
  flow: string;
  labels?: Record<string, string>;
}

/** What a run stopped before, because somebody has to allow it. */
export interface StoppedBefore {
  step?: string | null;
  code: string;
  message: string;
  text: string;
  rerun?: string[];
  raise?: { calls?: number | null; cost_micro?: number | null };
}

export interface RunDetail extends RunSummary {
  result?: unknown;
  waiting?: Question[];
  stopped?: StoppedBefore;
}

export interface FlowSummary {
  name: string;
  dialect: string;
  description?: string;
  target: string;
  root: boolean;
  state: 'ready' | 'stale' | 'blocked';
  blocked_by?: string;
}

export interface Finding {
  rule: string;
  severity: string;
  message: string;
  file?: string | null;
  line?: number | null;
  column?: number | null;
  help?: string | null;
}

export interface FlowList {
  flows: FlowSummary[];
  broken: { target: string; findings: Finding[] }[];
}

/** A JSON Schema, as far as a form understands it. */
export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  items?: Schema;
}

export interface FlowDetail extends FlowSummary {
  input_schema: Schema;
  output_schema?: Schema;
}

export interface Amount {
  micro: number | null;
  text: string;
}

export interface PlanCost {
  at_most: Amount | null;
  no_maximum: string[];
  expected: (Amount & { runs?: number }) | null;
  assumed?: Amount | null;
  unpriced: string[];
  unlimited: string[];
}

export interface PlanStep {
  name: string;
  kind: string;
  file?: string | null;
  line?: number | null;
  notes: string[];
  model?: string | null;
  at_most?: { at_most: number | null; text: string } | null;
  steps: PlanStep[];
}

export interface Plan {
  steps: PlanStep[];
  models: { model: string; calls: { at_most: number | null; text: string } }[];
  calls: Record<string, { at_most: number | null; text: string }>;
  cost: PlanCost;
  limits: string[];
  obstacles: { message: string; help?: string | null; file?: string | null; line?: number | null }[];
}

export interface StepPreview {
  key: string;
  decision: 'kept' | 'new' | 'again' | 'stopped' | 'unused' | 'later';
  reasons?: { what?: string }[];
}

export interface ForkPreview {
  kept: number;
  steps: StepPreview[];
  later: StepPreview[];
  unused: StepPreview[];
  error?: string;
  up_to_date: boolean;
  cost: PlanCost;
}

/** A file with which a run started, and what has become of it. */
export interface EditedFile {
  path: string;
  text: string;
  entry: boolean;
  on_disk: 'same' | 'changed' | 'gone' | 'elsewhere';
  disk_path?: string;
  version?: string;
  current_text?: string;
}

export interface FlowChecks {
  flow: string;
  findings?: Finding[];
  edit?: Finding[];
}
