// Two runs side by side: first what made the difference, then what it cost, then what followed, step by step.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Sign, Ticks, WORDS } from '../parts/status.tsx';
import { ask, Problem } from '../server/api.ts';
import { type Comparison, differs, figures, outcome, type RunSide, verdict } from '../server/compare.ts';
import { address } from '../server/route.ts';
import type { RunSummary } from '../server/types.ts';
import { brief, inline } from '../text.ts';
import { Ago, Empty, Failed, useNow } from './common.tsx';
import { ChangedFiles, ChangedValues } from './comparecauses.tsx';
import { CompareSteps } from './comparesteps.tsx';
import { CompareWith } from './comparewith.tsx';
import type { ViewProps } from './list.ts';
import { Words } from './words.tsx';

export function CompareView({ route }: ViewProps) {
  const [a, b] = [route.query.get('a'), route.query.get('b')];
  if (a && b) return <Compared key={`${a} ${b}`} a={a} b={b} />;
  const known = a ?? b;
  if (known) return <CompareWith run={known} isFirst={b === null} />;
  return (
    <Empty title="Two runs are compared">
      Choose both in <a href={address([], { compare: 'yes' })}>the list of runs</a>, or one in the view of the other.
    </Empty>
  );
}

const pathOf = (run: string): string => `/runs/${encodeURIComponent(run)}`;

function Compared({ a, b }: { a: string; b: string }) {
  const found = useSignal<Comparison | null>(null);
  const failed = useSignal<unknown>(null);
  const runs = useSignal<Record<string, RunSummary>>({});
  const now = useNow(30_000);
  useEffect(() => {
    const gone = new AbortController();
    const { signal } = gone;
    ask<Comparison>(`${pathOf(a)}/diff?with=${encodeURIComponent(b)}`, { signal }).then(
      (got) => (found.value = got),
      (why: unknown) => {
        if (!signal.aborted) failed.value = why;
      },
    );
    for (const run of [a, b]) {
      ask<RunSummary>(pathOf(run), { signal }).then(
        (got) => (runs.value = { ...runs.value, [run]: got }),
        // Why is said by the comparison.
        () => {},
      );
    }
    return () => gone.abort();
  }, []);
  const of = found.value;
  return (
    <main class="page compare">
      <h1>
        Compare two runs
        <span class="space" />
        <a class="button" href={address(['compare'], { a: b, b: a })}>
          Swap
        </a>
      </h1>
      <div class="sides">
        <Side name="first" run={a} side={of?.a ?? null} summary={runs.value[a] ?? null} now={now} />
        <Side name="second" run={b} side={of?.b ?? null} summary={runs.value[b] ?? null} now={now} />
      </div>
      {failed.value !== null && <NoComparison why={failed.value} runs={[a, b]} summaries={runs.value} />}
      {!of && failed.value === null && <p class="loading" role="status">Reads both runs…</p>}
      {of && <Found of={of} />}
    </main>
  );
}

interface SideProps {
  name: string;
  run: string;
  side: RunSide | null;
  summary: RunSummary | null;
  now: number;
}

function Side({ name, run, side, summary, now }: SideProps) {
  const status = side?.status ?? summary?.status ?? '';
  return (
    <section class="side" aria-label={`The ${name} run`}>
      <p class="which muted">{name}</p>
      <p>
        {status && <Sign status={status} />}
        <a href={address(['runs', run])}>
          <b>{brief(side?.flow ?? summary?.flow ?? 'run', 80)}</b> <code>{brief(run, 8)}</code>
        </a>
      </p>
      <p class="facts">
        {status && <span class={`word s-${status}`}>{WORDS[status] ?? inline(status)}</span>}
        {side?.error && (
          <span>
            <span class="code">{brief(side.error, 60)}</span>
          </span>
        )}
        {summary && (
          <span>
            <Ago at={summary.started} now={now} />
          </span>
        )}
        {summary?.base && <span class="muted">made of {brief(summary.base, 8)}</span>}
      </p>
    </section>
  );
}

/** Why there is none, and what to do. */
function NoComparison({ why, runs, summaries }: { why: unknown; runs: string[]; summaries: Record<string, RunSummary> }) {
  const code = why instanceof Problem ? why.body.status : 0;
  const flow = runs.map((run) => summaries[run]?.flow).find(Boolean);
  return (
    <>
      <Failed why={why} what="The runs cannot be compared." />
      <p>
        {code === 410 && 'The store no longer has the prompts and answers of one of them; its list entry and its cost are what is left. '}
        {code === 404 && 'One of them does not exist, was deleted, or belongs to another key. '}
        <a href={address([], { flow, compare: 'yes' })}>Choose other runs</a>
      </p>
    </>
  );
}

function Found({ of }: { of: Comparison }) {
  const hasCause = of.input.length + of.files.length + of.models.length > 0;
  return (
    <>
      <section class="verdict" aria-label="What made the difference">
        <h2>
          <Ticks text={brief(verdict(of), 400)} />
        </h2>
        <p>What followed: {outcome(of)}.</p>
        {of.a.flow !== of.b.flow && <p class="muted">They are runs of two flows.</p>}
      </section>
      {hasCause && (
        <section class="block causes">
          <h2>What went in</h2>
          <ChangedValues title="Input" all={of.input} />
          <ChangedFiles all={of.files} />
          <ChangedValues title="Models" all={of.models} />
        </section>
      )}
      <Figures of={of} />
      <CompareSteps of={of} />
      <section class="block">
        <h2>Result</h2>
        {of.output === null ? (
          <p class="muted">{of.a.status === 'completed' || of.b.status === 'completed' ? 'Only one of the runs has a result.' : 'Neither run has a result.'}</p>
        ) : differs(of.output) ? (
          <Words parts={of.output} label="The difference between the results" />
        ) : (
          <p class="muted">Both results are the same.</p>
        )}
      </section>
    </>
  );
}

function Figures({ of }: { of: Comparison }) {
  return (
    <section class="block" aria-label="Cost and time">
      <table class="figures">
        <caption class="sr">What both runs used</caption>
        <thead>
          <tr>
            <td />
            <th scope="col">first</th>
            <th scope="col">second</th>
            <th scope="col">difference</th>
          </tr>
        </thead>
        <tbody>
          {figures(of).map((one) => (
            <tr key={one.name}>
              <th scope="row">{one.name}</th>
              <td>{one.a}</td>
              <td>{one.b}</td>
              <td class={one.more === null ? 'muted' : one.more ? 'more-of' : 'less-of'}>{one.change}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
