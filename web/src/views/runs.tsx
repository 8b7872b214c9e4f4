// The runs: those that wait for somebody first, then the newest.

import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { Sign, Ticks, WORDS } from '../parts/status.tsx';
import { ask, may } from '../server/api.ts';
import { useRepeated } from '../server/repeat.ts';
import { address } from '../server/route.ts';
import { filtersOf, RunsStore } from '../server/runs.ts';
import type { FlowList, FlowSummary, RunSummary } from '../server/types.ts';
import { brief, count, inline, several } from '../text.ts';
import { isEnd } from '../server/ends.ts';
import { Ago, CostText, Empty, Failed, lasted, useNow } from './common.tsx';
import { type Chosen, ChooseTwo, Pick } from './choosetwo.tsx';
import { RunFilters } from './filters.tsx';
import type { ViewProps } from './list.ts';
import { Tally } from './tally.tsx';

const PAUSE = 2_000;

export function RunsView({ route }: ViewProps) {
  const filters = filtersOf(route.query);
  const asked = JSON.stringify(filters);
  const store = useMemo(() => new RunsStore(filters), [asked]);
  const flows = useSignal<FlowSummary[]>([]);
  const chosen: Chosen = useSignal<RunSummary[] | null>(route.query.get('compare') ? [] : null);
  const now = useNow(1_000);
  useRepeated((signal) => store.refresh(signal), PAUSE, [store]);
  useRepeated(async (signal) => (flows.value = (await ask<FlowList>('/flows', { signal })).flows), 60_000, []);
  const waiting = store.waiting.value;
  const first = new Set(waiting.map((run) => run.run));
  const runs = store.runs.value;
  const rest = (runs ?? []).filter((run) => !first.has(run.run));
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <main class="page">
      <h1 class="sr">Runs</h1>
      <RunFilters filters={filters} flows={flows.value} />
      <Failed why={store.failed.value} what="The list is not up to date." />
      {waiting.length > 0 && (
        <section class="waits" aria-label="Waiting for somebody">
          <h2>
            <Sign status="waiting" />
            {several(waiting.length, 'run')} {waiting.length === 1 ? 'waits' : 'wait'}
            <a class="button" href="#/questions">
              Answer
            </a>
          </h2>
          <RunTable runs={waiting} now={now} label="Runs that wait" chosen={chosen} />
        </section>
      )}
      <div class="list-head">
        <Tally runs={[...waiting, ...rest]} more={store.next.value !== null} query={route.query} />
        {(runs?.length ?? 0) > 1 && <ChooseTwo chosen={chosen} />}
      </div>
      {rest.length > 0 && <RunTable runs={rest} now={now} label="Runs" chosen={chosen} />}
      {runs !== null && rest.length === 0 && waiting.length === 0 && <NoRuns isFiltered={isFiltered} flows={flows.value} />}
      {store.next.value !== null && (
        <p class="more">
          <button type="button" class="button" onClick={() => void store.more()}>
            Show older runs
          </button>
        </p>
      )}
    </main>
  );
}

function NoRuns({ isFiltered, flows }: { isFiltered: boolean; flows: FlowSummary[] }) {
  if (isFiltered) {
    return (
      <Empty title="No run fits the filters">
        <a href="#/">Show all runs</a>
      </Empty>
    );
  }
  return (
    <Empty title="No run yet">
      {may('run') ? (
        <>
          <a href={flows.length === 1 ? address(['start', flows[0]!.name]) : '#/start'}>Start one</a> here, or with <code>trefoil run</code> on the same store.
        </>
      ) : (
        'Runs appear here as soon as they are started.'
      )}
    </Empty>
  );
}

interface TableProps {
  runs: RunSummary[];
  now: number;
  label: string;
  /** Where runs can be chosen. */
  chosen?: Chosen;
}

export function RunTable({ runs, now, label, chosen }: TableProps) {
  return (
    <table class="runs" role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {['Status', 'Flow', 'Started', 'Lasted', 'Calls', 'Tokens', 'Cost'].map((name) => (
            <th key={name} role="columnheader" scope="col" class={`c-${name.toLowerCase()}`}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {runs.map((run) => (
          <RunRow key={run.run} run={run} now={now} chosen={chosen} />
        ))}
      </tbody>
    </table>
  );
}

function RunRow({ run, now, chosen }: { run: RunSummary; now: number; chosen: Chosen | undefined }) {
  // One step that was tried alone ends its run: nobody has cancelled it.
  const isTried = run.status === 'cancelled' && run.labels?.['try'] !== undefined;
  const status = run.status === 'completed' && (run.items?.failed ?? 0) > 0 ? 'mixed' : isTried ? 'skipped' : run.status;
  const { tokens } = run;
  return (
    <tr role="row">
      <td role="cell" class="c-status">
        {chosen && <Pick run={run} chosen={chosen} />}
        <Sign status={status} />
        <span class={`word s-${status}`}>{isTried ? 'tried' : (WORDS[status] ?? inline(status))}</span>
      </td>
      <td role="cell" class="c-flow">
        <a href={address(['runs', run.run])}>
          <b>{brief(run.flow, 80)}</b> <code>{brief(run.run, 8)}</code>
        </a>
        {run.base && <span class="muted"> reuses {brief(run.base, 8)}</span>}
        {Object.entries(run.labels ?? {})
          .filter(([name]) => !name.startsWith('trefoil.'))
          .map(([name, value]) => (
            <a key={name} class="tag" href={address([], { label: `${name}:${value}` })} title="Show only runs with this label">
              {brief(name, 30)}: {brief(value, 40)}
            </a>
          ))}
        {run.error && (
          <span class="why" dir="auto" title={brief(run.error.message, 400)}>
            <Ticks text={brief(`${run.error.code}: ${run.error.message}`, 160)} />
          </span>
        )}
      </td>
      <td role="cell" class="c-started">
        <Ago at={run.started} now={now} />
      </td>
      <td role="cell" class="c-lasted">
        {run.status === 'waiting' ? '' : lasted(run, now)}
        {!isEnd(run.status) && <span class="sr"> so far</span>}
      </td>
      <td role="cell" class="c-calls" data-unit={run.calls === 1 ? 'call' : 'calls'}>
        {count(run.calls)}
      </td>
      <td role="cell" class="c-tokens" data-unit="tokens">
        {count(tokens.input + tokens.output)}
        {tokens.unknown_calls > 0 && <span title={`those of ${count(tokens.unknown_calls)} calls are not known`}>+</span>}
      </td>
      <td role="cell" class="c-cost">
        <CostText cost={run.cost} />
      </td>
    </tr>
  );
}
