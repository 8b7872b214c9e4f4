// One flow over many runs: cost, time and failures, by version of the flow, and which version of which prompt ran when.

import { useSignal } from '@preact/signals';
import { Sign, WORDS } from '../parts/status.tsx';
import { may } from '../server/api.ts';
import { costOf, type FlowHistory, type FlowVersion, type HistoryRun, type PromptVersion } from '../server/history.ts';
import { address } from '../server/route.ts';
import { brief, count, duration, inline, money, several } from '../text.ts';
import { Ago, CostText, Empty, Failed, useNow } from './common.tsx';
import { RunChart } from './chart.tsx';
import { CostTable, ReadLine } from './costtable.tsx';
import type { ViewProps } from './list.ts';
import { useSince } from './since.tsx';

export function HistoryView({ route }: ViewProps) {
  const name = route.path[1] ?? '';
  const { found, failed, chooser, words } = useSince<FlowHistory>(route, ['flows', name, 'history'], `/flows/${encodeURIComponent(name)}/history`, '30d');
  const now = useNow(30_000);
  return (
    <main class="page history">
      <h1>
        <a href={address(['flows', name])}>{brief(name, 80)}</a> <span class="muted">over many runs</span>
        <span class="space" />
        {chooser}
      </h1>
      <Failed why={failed} what="The history cannot be read." />
      {!found && !failed && <p class="loading" role="status">Reads the runs…</p>}
      {found && found.runs.length === 0 && (
        <Empty title={words === 'all time' ? 'No run of this flow yet' : `No run of this flow in ${words}`}>
          {words === 'all time' ? may('run') && <a href={address(['start', name])}>Start one</a> : <a href={address(['flows', name, 'history'], { since: 'all' })}>Look at all time</a>}
        </Empty>
      )}
      {found && found.runs.length > 0 && <Found of={found} now={now} />}
    </main>
  );
}

function Found({ of, now }: { of: FlowHistory; now: number }) {
  const failures = of.runs.filter((run) => run.status === 'failed').length;
  return (
    <>
      <p class="facts tally-of">
        <span>{several(of.runs.length, 'run')}</span>
        <span class={failures > 0 ? 'word s-failed' : 'muted'}>{failures === 0 ? 'none failed' : `${count(failures)} failed (${Math.round((failures / of.runs.length) * 100)}%)`}</span>
        <span>{several(of.versions.length, 'version')}</span>
      </p>
      <section class="charts" aria-label="Runs in time">
        <RunChart title="Cost" runs={of.runs} value={costOf} shown={money} />
        <RunChart title="Time" runs={of.runs} value={(run) => run.duration_ms ?? null} shown={duration} />
        <p class="legend">
          <span>
            <i class="l-done" /> completed
          </span>
          <span>
            <i class="l-failed" /> failed, with a mark below
          </span>
          <span>
            <i class="l-version" /> another version begins
          </span>
        </p>
      </section>
      <RunsBehind runs={of.runs} now={now} />
      <Versions all={of.versions} now={now} />
      <Prompts of={of} now={now} />
      <section class="block">
        <h2>What steps cost</h2>
        {of.steps.length === 0 ? <p class="muted">No run has called a model.</p> : <CostTable steps={of.steps} withFlow={false} />}
      </section>
      <ReadLine read={of.read} />
    </>
  );
}

/** The numbers of the charts. */
function RunsBehind({ runs, now }: { runs: HistoryRun[]; now: number }) {
  const most = useSignal(50);
  return (
    <details class="behind">
      <summary>The same as a table</summary>
      <div class="sideways" tabIndex={0} role="group" aria-label="Runs, which can be scrolled">
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">Run</th>
              <th scope="col">Status</th>
              <th scope="col">Started</th>
              <th scope="col">Cost</th>
              <th scope="col">Time</th>
              <th scope="col">Version</th>
            </tr>
          </thead>
          <tbody>
            {runs.slice(0, most.value).map((run) => (
              <tr key={run.run}>
                <th scope="row">
                  <a href={address(['runs', run.run])}>
                    <code>{brief(run.run, 8)}</code>
                  </a>
                </th>
                <td class="left-of">
                  <Sign status={run.status} /> {WORDS[run.status] ?? inline(run.status)} {run.error && <span class="muted">{brief(run.error, 40)}</span>}
                </td>
                <td>
                  <Ago at={run.started} now={now} />
                </td>
                <td>
                  <CostText cost={run.cost} />
                </td>
                <td>{run.duration_ms === undefined ? '' : duration(run.duration_ms)}</td>
                <td>
                  <code>{inline(run.version)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {runs.length > most.value && (
        <p class="more">
          <button type="button" onClick={() => (most.value += 200)}>
            {several(runs.length - most.value, 'more run')}
          </button>
        </p>
      )}
    </details>
  );
}

function Versions({ all, now }: { all: FlowVersion[]; now: number }) {
  return (
    <section class="block">
      <h2>
        Versions of the flow <span class="muted">a version is what its files make, without comments and layout</span>
      </h2>
      <div class="sideways" tabIndex={0} role="group" aria-label="Versions, which can be scrolled">
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">Version</th>
              <th scope="col">Runs</th>
              <th scope="col">Failed</th>
              <th scope="col">Cost of a run</th>
              <th scope="col">Time of a run</th>
              <th scope="col">First run</th>
              <th scope="col">Last run</th>
              <th scope="col">Changes</th>
            </tr>
          </thead>
          <tbody>
            {all.slice(0, 50).map((version, i) => (
              <tr key={version.version}>
                <th scope="row">
                  <code>{inline(version.version)}</code>
                  {i === 0 && <span class="muted"> newest</span>}
                </th>
                <td>{count(version.runs)}</td>
                <td class={version.failed > 0 ? 's-failed word' : 'muted'}>{count(version.failed)}</td>
                <td>{version.cost_per_run && <CostText cost={version.cost_per_run} />}</td>
                <td>{version.run_ms === undefined ? '' : duration(version.run_ms)}</td>
                <td>
                  <Ago at={version.first} now={now} />
                </td>
                <td>
                  <a href={address(['runs', version.last_run])}>
                    <Ago at={version.last} now={now} />
                  </a>
                </td>
                <td>
                  <Before older={all[i + 1]?.last_run} run={version.last_run} what={`version ${version.version}`} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {all.length > 50 && <p class="muted">and {count(all.length - 50)} older ones</p>}
    </section>
  );
}

/** To the comparison of the last run of a version with that of the one before it. */
function Before({ older, run, what }: { older: string | undefined; run: string; what: string }) {
  if (older === undefined || older === run) return null;
  return (
    <a href={address(['compare'], { a: older, b: run })}>
      compare<span class="sr"> {inline(what)} with the one before it</span>
    </a>
  );
}

function Prompts({ of, now }: { of: FlowHistory; now: number }) {
  if (of.prompts.length === 0) return null;
  // Those that changed come first.
  const sorted = [...of.prompts].sort((a, b) => b.versions.length - a.versions.length);
  return (
    <section class="block">
      <h2>
        Versions of prompts <span class="muted">with model and parameters</span>
      </h2>
      <div class="sideways" tabIndex={0} role="group" aria-label="Versions of prompts, which can be scrolled">
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">Prompt</th>
              <th scope="col">Version</th>
              <th scope="col">Runs</th>
              <th scope="col">Calls</th>
              <th scope="col">Failed</th>
              <th scope="col">Cost of a call</th>
              <th scope="col">Time of a call</th>
              <th scope="col">First</th>
              <th scope="col">Last</th>
              <th scope="col">Changes</th>
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, 100).flatMap(({ step, versions }) =>
              versions.slice(0, 20).map((version, i) => (
                <PromptRow key={`${step} ${version.version ?? ''}`} step={step} version={version} isFirst={i === 0} older={versions[i + 1]} now={now} />
              )),
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface PromptRowProps {
  step: string;
  version: PromptVersion;
  isFirst: boolean;
  older: PromptVersion | undefined;
  now: number;
}

function PromptRow({ step, version, isFirst, older, now }: PromptRowProps) {
  const { used } = version;
  return (
    <tr class={isFirst ? '' : 'same-of'}>
      <th scope="row">
        <b class={isFirst ? '' : 'sr'}>{brief(step, 80)}</b>
      </th>
      <td>{version.version === undefined ? <span title="Only the programs of the newest versions are read">not read</span> : <code>{inline(version.version)}</code>}</td>
      <td>{count(used.runs)}</td>
      <td>
        {count(used.calls)}
        {used.reused > 0 && <span class="muted"> +{count(used.reused)} kept</span>}
      </td>
      <td class={used.failed > 0 ? 's-failed word' : 'muted'}>{count(used.failed)}</td>
      <td>{used.cost_per_call && <CostText cost={used.cost_per_call} />}</td>
      <td>{used.call_ms === undefined ? '' : duration(used.call_ms)}</td>
      <td>
        <Ago at={version.first} now={now} />
      </td>
      <td>
        <a href={address(['runs', version.last_run])}>
          <Ago at={version.last} now={now} />
        </a>
      </td>
      <td>
        <Before older={older?.last_run} run={version.last_run} what={`the prompt of ${step}`} />
      </td>
    </tr>
  );
}
