// The list of runs that the address asks for, kept up to date.

import { signal } from '@preact/signals';
import { isEnd } from './ends.ts';
import { ask } from './api.ts';
import type { RunList, RunSummary } from './types.ts';

/** In one request. */
const PAGE = 50;
/** As many are asked for again. What is further down was loaded once. */
const MOST = 200;

/** The names of the filters, as they are in the address. */
export const FILTERS = ['status', 'flow', 'label', 'since', 'text'] as const;
export type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

export const SPANS: Record<string, [string, number]> = {
  '1h': ['the last hour', 3_600_000],
  '1d': ['the last day', 86_400_000],
  '7d': ['the last week', 604_800_000],
  '30d': ['the last 30 days', 2_592_000_000],
};

export function filtersOf(query: URLSearchParams): Filters {
  const all: Filters = {};
  for (const name of FILTERS) {
    const value = query.get(name);
    if (value) all[name] = value;
  }
  return all;
}

function toQuery(filters: Filters, more: Record<string, string>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) {
    if (name === 'since') query.set('since', new Date(Date.now() - (SPANS[value]?.[1] ?? 0)).toISOString());
    else query.set(name, value);
  }
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  return query.toString();
}

export class RunsStore {
  readonly runs = signal<RunSummary[] | null>(null);
  /** Those that wait, which come first. */
  readonly waiting = signal<RunSummary[]>([]);
  readonly next = signal<string | null>(null);
  readonly failed = signal<unknown>(null);
  readonly #filters: Filters;

  constructor(filters: Filters) {
    this.#filters = filters;
  }

  /** Whether any run of the list goes on. */
  get moves(): boolean {
    return (this.runs.peek() ?? []).some((run) => !isEnd(run.status));
  }

  async refresh(signal: AbortSignal) {
    const shown = this.runs.peek()?.length ?? 0;
    const limit = Math.min(MOST, Math.max(PAGE, shown));
    try {
      const waits = this.#filters.status === undefined;
      const [list, waiting] = await Promise.all([
        ask<RunList>(`/runs?${toQuery(this.#filters, { limit: String(limit) })}`, { signal }),
        waits ? ask<RunList>(`/runs?${toQuery({ ...this.#filters, status: 'waiting' }, { limit: '20' })}`, { signal }) : null,
      ]);
      const known = new Set(list.runs.map((run) => run.run));
      const rest = shown > limit ? (this.runs.peek() ?? []).filter((run) => !known.has(run.run)) : [];
      this.runs.value = [...list.runs, ...rest];
      this.waiting.value = waiting?.runs ?? [];
      if (rest.length === 0) this.next.value = list.next ?? null;
      this.failed.value = null;
    } catch (why) {
      if (!signal.aborted) this.failed.value = why;
    }
  }

  async more() {
    const after = this.next.peek();
    if (after === null) return;
    try {
      const list = await ask<RunList>(`/runs?${toQuery(this.#filters, { limit: String(PAGE), after })}`);
      const known = new Set((this.runs.peek() ?? []).map((run) => run.run));
      this.runs.value = [...(this.runs.peek() ?? []), ...list.runs.filter((run) => !known.has(run.run))];
      this.next.value = list.next ?? null;
    } catch (why) {
      this.failed.value = why;
    }
  }
}
