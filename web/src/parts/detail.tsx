// One step in full: why it failed, what was sent and where that came from, what came back, what it cost.

import { useSignal } from '@preact/signals';
import { Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { StepDetail, StepName } from '../source/types.ts';
import { link, type State } from '../state.ts';
import { brief, count, duration, inline, place, several, shown, visible } from '../text.ts';
import type { Call, Failure, Usage } from '../trace.ts';
import { Copy, LongText } from './longtext.tsx';
import { named, type Names, Prompt } from './prompt.tsx';
import { RunDetail } from './run.tsx';
import { failureLine, handled, Sign, Ticks, WORDS } from './status.tsx';

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
  }, [detail, selection]);
  useEffect(() => {
    if (entered.current === enter) return;
    entered.current = enter;
    heading.current?.focus({ preventScroll: true });
  }, [detail, enter]);
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
            This run has no step with the key <code>{brief(missing, 200)}</code>. <a href="#run">Show the run</a>
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
  const failedAnyway = step.status === 'failed' && step.handled_as && step.handled_as !== 'fail';
  return (
    <>
      <nav class="crumbs" aria-label="Around this step">
        <a href="#run">run</a>
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
              {step.duration_ms == null ? 'not over' : duration(step.duration_ms)} <span class="muted">from {duration(step.started_ms)}</span>
            </span>
          )}
          {(step.tries ?? 1) > 1 && <span>{several(step.tries ?? 1, 'try', 'tries')}</span>}
          {place(step) && <span class="place">{place(step)}</span>}
        </p>
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
          <div class="block-head">
            <h3>Result</h3>
            <Copy text={() => shown(step.output)} what="the result" />
          </div>
          <LongText text={shown(step.output)} label="Result" />
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
          <Names_ names={detail.readers} />
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
  return output === answer || JSON.stringify(output) === JSON.stringify(answer);
}

export function FailureBox({ error, handledAs }: { error: Failure; handledAs?: string | null }) {
  return (
    <section class="failure">
      <h3>
        <span class="code">{brief(error.code ?? 'FAILED', 60)}</span>
        {handledAs && handledAs !== 'fail' && <span class="muted"> {handled(handledAs)}</span>}
      </h3>
      <p class="what" dir="auto">
        <Ticks text={visible(failureLine(error))} />
      </p>
      <dl>
        {error.cause && (
          <>
            <dt>cause</dt>
            <dd dir="auto">
              <Ticks text={brief(error.cause, 2000)} />
            </dd>
          </>
        )}
        {error.interpolation?.expression && (
          <>
            <dt>in</dt>
            <dd>
              <code>{brief(error.interpolation.expression, 300)}</code>
              {error.interpolation.reason && ` ${inline(error.interpolation.reason)}`}
            </dd>
          </>
        )}
        {place(error.location) && (
          <>
            <dt>at</dt>
            <dd class="place">{place(error.location)}</dd>
          </>
        )}
        {error.retry_after_ms != null && (
          <>
            <dt>wait</dt>
            <dd>{duration(error.retry_after_ms)} were asked for</dd>
          </>
        )}
        {error.help && (
          <>
            <dt>to do</dt>
            <dd dir="auto">
              <b>
                <Ticks text={visible(error.help)} />
              </b>
            </dd>
          </>
        )}
      </dl>
    </section>
  );
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

function Names_({ names }: { names: StepName[] }) {
  return (
    <ul class="names">
      {names.map((name) => (
        <li key={name.key}>
          <a href={link(name.key)}>
            <Sign status={name.status} />
            <span class="sr">{WORDS[name.status]} </span>
            {named(name, name.key)}
          </a>
        </li>
      ))}
    </ul>
  );
}

interface CallProps {
  call: Call;
  number: number;
  of: number;
  names: Names;
  /** What stands above already. */
  label: string;
  said: string | null;
}

function CallView({ call, number, of, names, label, said }: CallProps) {
  // Earlier tries are folded: the last one is what counts.
  const open = useSignal(number === of);
  const effect = call.effect ?? 'model';
  const status = call.error ? 'failed' : call.duration_ms == null ? 'running' : 'done';
  const title = of > 1 ? `${effect} call ${number} of ${of}` : `${effect} call`;
  const agent = call.agent && call.agent !== label ? inline(call.agent) : null;
  return (
    <section class="block call">
      <div class="block-head">
        <h3>
          {of > 1 ? (
            <button type="button" class="fold" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <path d={open.value ? 'M2 3.5l3 3 3-3' : 'M3.5 2l3 3-3 3'} />
              </svg>
              <Sign status={status} />
              {title}
            </button>
          ) : (
            title
          )}
        </h3>
        <p class="facts">
          {agent && <span>{agent}</span>}
          {call.model && <span class="place">{inline(call.model)}</span>}
          {call.answered_by && call.answered_by !== call.model && <span class="muted">answered by {inline(call.answered_by)}</span>}
          <span>{call.duration_ms == null ? 'not answered' : duration(call.duration_ms)}</span>
          {effect === 'model' && <UsageLine usage={call.usage ?? null} />}
          {call.finish && <span class={call.finish === 'stop' ? '' : 'word s-stopped'}>finish: {inline(call.finish)}</span>}
        </p>
      </div>
      {open.value && (
        <>
          {call.error && !(number === of && said === `${call.error.code} ${call.error.message}`) && <FailureBox error={call.error} />}
          <Parameters parameters={call.parameters ?? null} requestId={call.request_id ?? null} />
          {(call.messages ?? []).map((message, i) => (
            <Prompt key={i} message={message} names={names} id={`${number}-${i}`} />
          ))}
          {call.detail !== undefined && call.detail !== null && (
            <div class="message">
              <div class="message-head">
                <b class="role">{effect === 'human' ? 'question' : 'sent'}</b>
                <Copy text={() => shown(call.detail)} what="what was sent" />
              </div>
              <LongText text={shown(call.detail)} label="What was sent" />
            </div>
          )}
          {call.answer !== undefined && call.answer !== null && (
            <div class="message answer">
              <div class="message-head">
                <b class="role">answer</b>
                <Copy text={() => shown(call.answer)} what="the answer" />
              </div>
              <LongText text={shown(call.answer)} label="Answer" />
            </div>
          )}
          {call.partial && (
            <div class="message answer partial">
              <div class="message-head">
                <b class="role">part of an answer</b>
                <span class="legend muted">what had arrived when the call ended</span>
                <Copy text={() => call.partial ?? ''} what="the part of an answer" />
              </div>
              <LongText text={call.partial} label="Part of an answer" />
            </div>
          )}
        </>
      )}
    </section>
  );
}

export function UsageLine({ usage }: { usage: Usage | null }) {
  if (!usage) return <span title="the provider did not say">? tokens</span>;
  const cached = usage.cached_tokens ? ` (${count(usage.cached_tokens)} cached)` : '';
  const unknown = usage.unknown_calls ? ` + ? of ${several(usage.unknown_calls, 'call')}` : '';
  return (
    <span>
      {count(usage.input_tokens ?? 0)} tokens in{cached}, {count(usage.output_tokens ?? 0)} out{unknown}
    </span>
  );
}

function Parameters({ parameters, requestId }: { parameters: Record<string, unknown> | null; requestId: string | null }) {
  const all = Object.entries(parameters ?? {});
  if (all.length === 0 && !requestId) return null;
  return (
    <dl class="parameters">
      {all.slice(0, 40).map(([key, value]) => (
        <div key={key}>
          <dt>{inline(key)}</dt>
          <dd>{brief(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 160)}</dd>
        </div>
      ))}
      {requestId && (
        <div>
          <dt>request</dt>
          <dd>{brief(requestId, 120)}</dd>
        </div>
      )}
    </dl>
  );
}
