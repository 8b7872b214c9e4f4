// With which run to compare one: the run that it was made of, those that were made of it, and the last runs of its flow.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Sign, WORDS } from '../parts/status.tsx';
import { ask } from '../server/api.ts';
import { address } from '../server/route.ts';
import type { RunList, RunSummary } from '../server/types.ts';
import { brief, inline } from '../text.ts';
import { Ago, CostText, Empty, Failed, lasted, useNow } from './common.tsx';

/** Runs that are offered. */
const MOST = 30;

/** `isFirst`: whether the run is the first of both, or the second. */
export function CompareWith({ run, isFirst }: { run: string; isFirst: boolean }) {
  const own = useSignal<RunSummary | null>(null);
  const others = useSignal<RunSummary[] | null>(null);
  const failed = useSignal<unknown>(null);
  const now = useNow(5_000);
  useEffect(() => {
    const gone = new AbortController();
    const { signal } = gone;
    const read = async () => {
      const found = await ask<RunSummary>(`/runs/${encodeURIComponent(run)}`, { signal });
      own.value = found;
      const list = await ask<RunList>(`/runs?limit=${MOST + 1}&flow=${encodeURIComponent(found.flow)}`, { signal });
      others.value = list.runs.filter((other) => other.run !== run).slice(0, MOST);
    };
    read().catch((why: unknown) => {
      if (!signal.aborted) failed.value = why;
    });
    return () => gone.abort();
  }, [run]);
  const base = own.value?.base;
  const related = (others.value ?? []).filter((other) => other.run === base || other.base === run);
  const rest = (others.value ?? []).filter((other) => !related.includes(other));
  const to = (other: string, started?: string) => {
    // The older run is the first, unless somebody said otherwise.
    const isOlder = started !== undefined && own.value !== null && started < own.value.started;
    const [a, b] = !isFirst || isOlder ? [other, run] : [run, other];
    return address(['compare'], { a, b });
  };
  const hasBase = base !== undefined && !related.some((other) => other.run === base);
  return (
    <main class="page narrow compare-with">
      <h1>
        Compare <code>{brief(run, 8)}</code> {own.value && <span class="muted">a run of {brief(own.value.flow, 60)}</span>}
      </h1>
      <Failed why={failed.value} />
      {failed.value !== null && (
        <p>
          <a href="#/">Show the runs</a>
        </p>
      )}
      {(related.length > 0 || hasBase) && (
        <>
          <h2>Made of each other</h2>
          <ul class="choices">
            {hasBase && (
              <li>
                <a href={to(base!, '')}>
                  the run that it was made of <code>{brief(base!, 8)}</code>
                </a>
              </li>
            )}
            {related.map((other) => (
              <Choice key={other.run} run={other} now={now} to={to(other.run, other.started)} says={other.run === base ? 'it was made of this run' : 'was made of it'} />
            ))}
          </ul>
        </>
      )}
      {rest.length > 0 && (
        <>
          <h2>Last runs of {brief(own.value?.flow ?? '', 60)}</h2>
          <ul class="choices">
            {rest.map((other) => (
              <Choice key={other.run} run={other} now={now} to={to(other.run, other.started)} />
            ))}
          </ul>
        </>
      )}
      {others.value?.length === 0 && !hasBase && (
        <Empty title="There is no other run of this flow">
          Start it again, with another input or after an edit, and compare both. <a href={address(['runs', run])}>Show the run</a>
        </Empty>
      )}
    </main>
  );
}

function Choice({ run, now, to, says }: { run: RunSummary; now: number; to: string; says?: string }) {
  return (
    <li>
      <a href={to}>
        <Sign status={run.status} />
        <code>{brief(run.run, 8)}</code> <span class={`word s-${run.status}`}>{WORDS[run.status] ?? inline(run.status)}</span>
        {says && <b>{says}</b>}
        <span class="space" />
        <span class="muted">
          <Ago at={run.started} now={now} />
        </span>
        <span class="muted">{lasted(run, now)}</span>
        <span>
          <CostText cost={run.cost} />
        </span>
      </a>
    </li>
  );
}
