// One step in full: why it failed, what was sent and where that came from, what came back, what it cost.

import { Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { StepDetail } from '../source/types.ts';
import { link, runLink } from '../links.ts';
import type { State } from '../state.ts';
import { brief, count, duration, inline, place, several, visible } from '../text.ts';
import { type Call, spentBy } from '../trace.ts';
import { CallView, UsageLine } from './call.tsx';
import { FailureBox } from './failure.tsx';
import { Copy } from './longtext.tsx';
import { NameList, named } from './names.tsx';
import { RunDetail } from './run.tsx';
import { failureLine, Sign, Ticks, WORDS } from './status.tsx';
import { ValueView } from './value.tsx';

export function Detail({ state }: { state: State }) {
  const scroller = useRef<HTMLElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const entered = useRef(state.enter.peek());
  const detail = state.detail.value;
  const missing = state.missing.value;
  const selection = state.selection.value;
  const enter = state.enter.value;
  useEffect(() => {
    scroller.current?.scrollTo(0, 0);
  }, [detail?.step.key, selection]);
  useEffect(() => {
    if (entered.current === enter) return;
    entered.current = enter;
    heading.current?.focus({ preventScroll: true });
  }, [detail?.step.key, enter]);
  return (
    <section class="panel detail" aria-label="Detail" ref={scroller}>
      {'run' in selection ? (
        <RunDetail state={state} heading={heading} />
      ) : missing !== null ? (
        <>
          <h2 ref={heading} tabIndex={-1}>
            No such step
          </h2>
          <p>
            This run has no step with the key <code>{brief(missing, 200)}</code>. <a href={runLink()}>Show the run</a>
          </p>
        </>
      ) : detail ? (
        <StepView key={detail.step.key} detail={detail} state={state} heading={heading} />
      ) : null}
    </section>
  );
}

interface ViewProps {
  detail: StepDetail;
  state: State;
  heading: { current: HTMLHeadingElement | null };
}

function StepView({ detail, state, heading }: ViewProps) {
  const { step, name, parents, runs } = detail;
  const calls = step.calls ?? [];
  const spent = spentBy(calls);
  const failedAnyway = step.status === 'failed' && step.handled_as && step.handled_as !== 'fail';
  return (
    <>
      <nav class="crumbs" aria-label="Around this step">
        <a href={runLink()}>run</a>
        {parents.map((p) => (
          <Fragment key={p.key}>
            <span aria-hidden="true">/</span>
            {p.kind === 'group' ? <span>{inline(p.label)}</span> : <a href={link(p.key)}>{inline(p.label)}</a>}
          </Fragment>
        ))}
        <Runs runs={runs} state={state} />
      </nav>
      <header class="step-head">
        <h2 ref={heading} tabIndex={-1}>
          <Sign status={step.status} handled={Boolean(failedAnyway)} />
          {inline(step.label) || '(no name)'}
          {name.places && <span class="places">{name.places}</span>}
        </h2>
        <button type="button" class="quiet zoom-to" onClick={() => zoomTo(state, detail)}>
          Zoom to its time
        </button>
        <p class="facts">
          <span class={`word s-${step.status}`}>{WORDS[step.status] ?? inline(step.status)}</span>
          <span>{inline(step.kind).replaceAll('_', ' ')}</span>
          {step.status !== 'skipped' && (
            <span>
              {step.duration_ms == null ? 'not finished' : duration(step.duration_ms)} <span class="muted">from {duration(step.started_ms)}</span>
            </span>
          )}
          {(step.tries ?? 1) > 1 && <span>{several(step.tries ?? 1, 'try', 'tries')}</span>}
          {spent && <UsageLine usage={spent} />}
          {place(step) && <span class="place">{place(step)}</span>}
        </p>
        {state.additions?.step(detail)}
      </header>
      {step.reason && (
        <p class="note">
          <b>Skipped:</b> <Ticks text={visible(step.reason)} />
        </p>
      )}
      {step.error && <FailureBox error={step.error} handledAs={step.handled_as ?? null} />}
      <PartsOf detail={detail} />
      {calls.map((call, i) => (
        <CallView
          key={i}
          call={call}
          number={i + 1}
          of={calls.length}
          names={detail.mentioned}
          label={step.label}
          said={step.error ? `${step.error.code} ${step.error.message}` : null}
        />
      ))}
      {step.output !== undefined && step.output !== null && !sameAsAnswer(step.output, calls) && (
        <section class="block">
          <ValueView value={step.output} label="Result" headClass="block-head" head={<h3>Result</h3>} />
        </section>
      )}
      {(step.notes?.length ?? 0) > 0 && (
        <section class="block">
          <h3>Notes</h3>
          <ul class="notes">
            {step.notes?.slice(0, 200).map((note, i) => (
              <li key={i}>
                <span class="muted">{duration(note.at_ms)}</span> <Ticks text={visible(note.text)} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {detail.readers.length > 0 && (
        <section class="block">
          <h3>Read by</h3>
          <NameList names={detail.readers} />
        </section>
      )}
      <p class="key muted">
        key <code>{inline(step.key)}</code>
        <Copy text={() => step.key} what="the key" />
      </p>
    </>
  );
}

/** The other runs of the same place: passes of a loop, items of a fan-out. */
function Runs({ runs, state }: { runs: StepDetail['runs']; state: State }) {
  if (runs.keys.length < 2) return null;
  const { keys, index } = runs;
  const go = (to: number) => {
    const key = keys[to];
    if (key !== undefined) state.select(key, true);
  };
  const nextFailed = async () => {
    for (let i = 1; i <= keys.length; i++) {
      const at = (index + i) % keys.length;
      const key = keys[at];
      if (key !== undefined && (await state.source.step(key))?.step.status === 'failed') return go(at);
    }
  };
  return (
    <span class="runs">
      <button type="button" aria-label="Previous run of this step" disabled={index <= 0} onClick={() => go(index - 1)}>
        ‹
      </button>
      <span>
        run {count(index + 1)} of {count(keys.length)}
      </span>
      <button type="button" aria-label="Next run of this step" disabled={index >= keys.length - 1} onClick={() => go(index + 1)}>
        ›
      </button>
      {runs.failed > 0 && (
        <button type="button" class="bad" onClick={nextFailed}>
          {count(runs.failed)} failed ›
        </button>
      )}
    </span>
  );
}

function zoomTo(state: State, { step }: StepDetail) {
  const start = step.started_ms;
  const end = start + Math.max(1, step.duration_ms ?? 1);
  const air = Math.max(1, (end - start) * 0.08);
  const [from, to] = state.whole();
  state.axis.value = [Math.max(from, start - air), Math.min(Math.max(to, end), end + air)];
  state.tab.value = 'steps';
}

/** Where a step made one call and gave its answer on, once is enough. */
function sameAsAnswer(output: unknown, calls: Call[]): boolean {
  const answer = calls[calls.length - 1]?.answer;
  if (answer === undefined || answer === null) return false;
  const text = JSON.stringify(output);
  if (output === answer || text === JSON.stringify(answer) || text === JSON.stringify({ output: answer })) return true;
  if (typeof answer !== 'string') return false;
  try {
    return text === JSON.stringify(JSON.parse(answer));
  } catch {
    return false;
  }
}

function PartsOf({ detail }: { detail: StepDetail }) {
  const { parts, failures, step } = detail;
  const total = step.items?.total ?? parts?.total;
  if (total === undefined) return null;
  const failed = step.items?.failed ?? parts?.failed ?? 0;
  return (
    <section class="block">
      <h3>{several(total, step.items ? 'item' : 'part')}</h3>
      <p class="facts">
        <span>{count(total - failed)} went well</span>
        {failed > 0 && <span class="s-failed word">{count(failed)} failed</span>}
        {parts && (
          <span>
            {duration(parts.min)} least, {duration(parts.median)} median, {duration(parts.max)} most
          </span>
        )}
      </p>
      {failures.length > 0 && (
        <ul class="failures">
          {failures.map(({ name, error }) => (
            <li key={name.key}>
              <Sign status="failed" />
              <a href={link(name.key)}>{named(name, name.key)}</a>
              <span class="muted">
                <Ticks text={brief(failureLine(error), 160)} />
              </span>
            </li>
          ))}
          {failed > failures.length && <li class="muted">and {count(failed - failures.length)} more</li>}
        </ul>
      )}
    </section>
  );
}
