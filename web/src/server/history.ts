// A flow over many runs, and what steps cost: what the server answers.

import type { Cost } from './types.ts';
import { count, several } from '../text.ts';

export interface Reading {
  runs: number;
  more: boolean;
  journals: number;
  cut: boolean;
  unreadable: number;
  entries: number;
}

export interface StepCost {
  flow: string;
  step: string;
  model?: string;
  runs: number;
  calls: number;
  failed: number;
  reused: number;
  tokens: { input: number; output: number; cached: number; unknown_calls: number };
  cost: Cost;
  cost_per_call?: Cost;
  call_ms?: number;
  dearest?: { run: string; key: string; cost: Cost };
}

export interface FlowCost {
  flow: string;
  runs: number;
  failed: number;
  cost: Cost;
}

export interface CostReport {
  flows: FlowCost[];
  steps: StepCost[];
  read: Reading;
}

export interface HistoryRun {
  run: string;
  status: string;
  started: string;
  duration_ms?: number;
  calls: number;
  cost: Cost;
  version: string;
  error?: string;
}

export interface FlowVersion {
  version: string;
  first: string;
  last: string;
  last_run: string;
  runs: number;
  ended: number;
  failed: number;
  cost: Cost;
  cost_per_run?: Cost;
  run_ms?: number;
}

export interface PromptVersion {
  version?: string;
  first: string;
  last: string;
  last_run: string;
  used: StepCost;
}

export interface FlowHistory {
  flow: string;
  runs: HistoryRun[];
  versions: FlowVersion[];
  prompts: { step: string; versions: PromptVersion[] }[];
  steps: StepCost[];
  read: Reading;
}

/** How many runs the numbers are of. */
export function readText({ runs, more, journals, cut, unreadable }: Reading): string {
  const said = [more ? `The numbers are of the newest ${several(runs, 'run')}; there are older ones.` : `The numbers are of ${runs === 1 ? 'the only run' : `all ${several(runs, 'run')}`} in this time.`];
  const rest = runs - journals - unreadable;
  if (rest > 0 || cut) said.push(`What steps cost was read of the newest ${several(journals, 'run')}${cut ? ', of the last of them only its beginning' : ''}.`);
  if (unreadable > 0) said.push(`${count(unreadable)} ${unreadable === 1 ? 'has' : 'have'} no journal any more, so ${unreadable === 1 ? 'its' : 'their'} steps are missing.`);
  return said.join(' ');
}

/** The value of each run in millionths of a dollar, or in milliseconds; null: it has none, or none is known. */
export const costOf = (run: HistoryRun): number | null => (run.cost.usd === undefined ? null : Math.round(run.cost.usd * 1e6));

/** A round number that is not less: 1, 2 or 5 times a power of ten. */
export function roundUp(most: number): number {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const lead = most / power;
  return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}
