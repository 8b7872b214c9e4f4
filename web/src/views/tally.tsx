// What the runs of a list come to: how many stand how, what they cost together, how long they take.

import { WORDS } from '../parts/status.tsx';
import { isEnd } from '../server/ends.ts';
import { together } from '../server/costs.ts';
import { filtersOf } from '../server/runs.ts';
import { address } from '../server/route.ts';
import type { RunSummary } from '../server/types.ts';
import { count, duration, several } from '../text.ts';

interface TallyProps {
  runs: RunSummary[];
  /** Whether there are more that are not loaded. */
  more: boolean;
  query: URLSearchParams;
}

export function Tally({ runs, more, query }: TallyProps) {
  if (runs.length < 2) return null;
  const statuses = new Map<string, number>();
  for (const run of runs) statuses.set(run.status, (statuses.get(run.status) ?? 0) + 1);
  const times = runs.flatMap((run) => (isEnd(run.status) && run.ended ? [Date.parse(run.ended) - Date.parse(run.started)] : []));
  times.sort((a, b) => a - b);
  const filters = filtersOf(query);
  return (
    <p class="facts tally-of">
      <span class="muted">{more ? `the newest ${count(runs.length)}` : several(runs.length, 'run')}</span>
      {statuses.size > 1 &&
        [...statuses].map(([status, n]) => (
          <a key={status} class={`word s-${status}`} href={address([], { ...filters, status })}>
            {count(n)} {WORDS[status] ?? status}
          </a>
        ))}
      <span>{together(runs)}</span>
      {times.length > 1 && <span title="half of those that have ended took no longer">median {duration(times[times.length >> 1])}</span>}
    </p>
  );
}
