// One flow: its graph, what the checks say of it, what it costs, what it takes, and its last runs.

import { useSignal } from '@preact/signals';
import { Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { LongText } from '../parts/longtext.tsx';
import { Ticks } from '../parts/status.tsx';
import { ask, may } from '../server/api.ts';
import { costOf, type HistoryRun } from '../server/history.ts';
import { useRepeated } from '../server/repeat.ts';
import { address } from '../server/route.ts';
import type { Finding, FlowDetail, Plan, PlanStep, RunList, RunSummary } from '../server/types.ts';
import { brief, duration, inline, money, place, shown } from '../text.ts';
import { RunChart } from './chart.tsx';
import { atMost, Empty, Failed, Findings, useNow } from './common.tsx';
import { FlowGraph } from './flowgraph.tsx';
import type { ViewProps } from './list.ts';
import { RunTable } from './runs.tsx';

/** Runs in the charts, and in the list below them. */
const CHART = 40;
const LIST = 10;

interface Checks {
  findings: Finding[];
  edit?: Finding[];
}

export function FlowView({ route }: ViewProps) {
  const name = route.path[1] ?? '';
  const path = `/flows/${encodeURIComponent(name)}`;
  const flow = useSignal<FlowDetail | null>(null);
  const checks = useSignal<Checks | null>(null);
  const plan = useSignal<Plan | null>(null);
  const chosen = useSignal<PlanStep | null>(null);
  const runs = useSignal<RunSummary[] | null>(null);
  const failed = useSignal<unknown>(null);
  const now = useNow(1_000);
  useEffect(() => {
    const fail = (why: unknown) => (failed.value = why);
    ask<Plan>(`${path}/plan`).then((got) => (plan.value = got), fail);
  }, []);
  useRepeated(
    async (signal) => {
      try {
        const [one, found, list] = await Promise.all([
          ask<FlowDetail>(path, { signal }),
          ask<Checks>(`${path}/checks`, { signal }),
          ask<RunList>(`/runs?limit=${CHART}&flow=${encodeURIComponent(name)}`, { signal }),
        ]);
        [flow.value, checks.value, runs.value, failed.value] = [one, found, list.runs, null];
      } catch (why) {
        if (!signal.aborted) failed.value = why;
      }
    },
    4_000,
    [],
  );
  const one = flow.value;
  return (
    <main class="page flow">
      <h1>
        {brief(name, 80)} {one && <span class="muted">{inline(one.dialect)}</span>}
        <span class="space" />
        <a class="button" href={address(['flows', name, 'history'])}>
          Over many runs
        </a>
        {runs.value?.[0] && (
          <a class="button" href={address(['edit', runs.value[0].run])} title="Edit the files, with the data of the last run">
            Edit…
          </a>
        )}
        {may('run') && one && one.state !== 'blocked' && (
          <a class="button primary" href={address(['start', name])}>
            Start
          </a>
        )}
      </h1>
      {one?.description && <p dir="auto">{brief(one.description, 600)}</p>}
      {one && <p class="place muted">{inline(one.target)}</p>}
      <Failed why={failed.value} />
      {one?.blocked_by && (
        <p class="fault" dir="auto">
          It cannot run now: <Ticks text={brief(one.blocked_by, 600)} />
        </p>
      )}
      <section class="block" aria-label="Graph">
        <h2>Graph</h2>
        <FlowGraph flow={name} choose={(file, line) => (chosen.value = planStep(plan.value?.steps ?? [], file, line))} />
      </section>
      {checks.value && <ChecksPart checks={checks.value} />}
      {plan.value && <PlanPart plan={plan.value} chosen={chosen.value} />}
      {one && (
        <section class="block">
          <h2>Input</h2>
          <LongText text={shown(one.input_schema)} label="Schema of the input" />
          {one.output_schema && (
            <>
              <h2>Result</h2>
              <LongText text={shown(one.output_schema)} label="Schema of the result" />
            </>
          )}
        </section>
      )}
      <section class="block">
        <h2>
          Last runs <a href={address([], { flow: name })}>all</a> <a href={address(['flows', name, 'history'])}>versions, prompts and costs of steps</a>
        </h2>
        {(runs.value?.length ?? 0) > 2 && <Trend runs={runs.value ?? []} />}
        {runs.value?.length === 0 && <Empty title="No run of this flow yet">{may('run') && <a href={address(['start', name])}>Start one</a>}</Empty>}
        {(runs.value?.length ?? 0) > 0 && <RunTable runs={(runs.value ?? []).slice(0, LIST)} now={now} label="Last runs" />}
      </section>
    </main>
  );
}

/** How the last runs went, at a glance. */
function Trend({ runs }: { runs: RunSummary[] }) {
  const bars = runs.map((run): HistoryRun => {
    const took = run.ended ? { duration_ms: Date.parse(run.ended) - Date.parse(run.started) } : {};
    return { run: run.run, status: run.status, started: run.started, calls: run.calls, cost: run.cost, version: '', ...took };
  });
  return (
    <div class="charts">
      <RunChart title="Cost" runs={bars} value={costOf} shown={money} />
      <RunChart title="Time" runs={bars} value={(run) => run.duration_ms ?? null} shown={duration} />
    </div>
  );
}

function ChecksPart({ checks }: { checks: Checks }) {
  return (
    <section class="block">
      <h2>Checks</h2>
      {checks.edit && (
        <>
          <p class="fault">The files as they are now do not load. The last version that did runs.</p>
          <Findings all={checks.edit} />
        </>
      )}
      {checks.findings.length > 0 ? <Findings all={checks.findings} /> : !checks.edit && <p class="muted">Nothing to report.</p>}
    </section>
  );
}

/** The step of the plan at a place, or the one around it. */
function planStep(steps: PlanStep[], file: string, line: number): PlanStep | null {
  let found: PlanStep | null = null;
  for (const step of steps) {
    const inner = planStep(step.steps, file, line);
    for (const one of [step, inner]) if (one?.file === file && (one.line ?? 0) <= line && (one.line ?? 0) >= (found?.line ?? 0)) found = one;
  }
  return found;
}

function PlanPart({ plan, chosen }: { plan: Plan; chosen: PlanStep | null }) {
  const { cost, calls } = plan;
  return (
    <section class="block">
      <h2>Plan</h2>
      <dl class="wide">
        <dt>cost</dt>
        <dd>
          <b>
            <Ticks text={atMost(cost)} />
          </b>
          {cost.expected && <span>, {cost.expected.text} on average so far</span>}
        </dd>
        <dt>calls</dt>
        <dd>
          {Object.entries(calls)
            .filter(([, n]) => n.text !== '0')
            .map(([kind, n]) => `${n.at_most === null ? '' : 'at most '}${n.text} ${kind}`)
            .join(', ') || 'none'}
        </dd>
        {plan.models.map((model) => (
          <Fragment key={model.model}>
            <dt>model</dt>
            <dd>
              {inline(model.model)} <span class="muted">×{model.calls.text}</span>
            </dd>
          </Fragment>
        ))}
        {plan.limits.map((limit) => (
          <Fragment key={limit}>
            <dt>limit</dt>
            <dd>{brief(limit, 200)}</dd>
          </Fragment>
        ))}
      </dl>
      {plan.obstacles.map((one, i) => (
        <p key={i} class="fault" dir="auto">
          <Ticks text={brief(one.message, 400)} /> <span class="place">{place(one)}</span> {one.help && <Ticks text={brief(one.help, 300)} />}
        </p>
      ))}
      <PlanSteps steps={plan.steps} chosen={chosen} />
    </section>
  );
}

function PlanSteps({ steps, chosen }: { steps: PlanStep[]; chosen: PlanStep | null }) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    row.current?.scrollIntoView({ block: 'center' });
    row.current?.focus({ preventScroll: true });
  }, [chosen]);
  return (
    <ol class="plan">
      {steps.slice(0, 200).map((step, i) => (
        <li key={i} {...(chosen === step ? { ref: row, class: 'on', tabIndex: -1 } : {})}>
          <b>{inline(step.name)}</b> <span class="muted">{inline(step.kind)}</span> {step.model && <span class="place">{inline(step.model)}</span>}{' '}
          {step.at_most && step.at_most.text !== '1' && <span class="muted">×{step.at_most.text}</span>} <span class="place muted">{place(step)}</span>
          {step.notes.map((note) => (
            <p key={note} class="muted" dir="auto">
              {brief(note, 200)}
            </p>
          ))}
          {step.steps.length > 0 && <PlanSteps steps={step.steps} chosen={chosen} />}
        </li>
      ))}
    </ol>
  );
}
