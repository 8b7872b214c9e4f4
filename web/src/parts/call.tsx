// One call of a step: what was sent, what came back, what it cost.

import { useSignal } from '@preact/signals';
import { brief, cost, count, duration, inline, several } from '../text.ts';
import { type Call, type Receipt, turnedAway, type Usage } from '../trace.ts';
import { FailureBox } from './failure.tsx';
import { Copy, LongText } from './longtext.tsx';
import type { Names } from './names.tsx';
import { Prompt } from './prompt.tsx';
import { Sign } from './status.tsx';
import { ValueView } from './value.tsx';

interface CallProps {
  call: Call;
  number: number;
  of: number;
  names: Names;
  /** What stands above already. */
  label: string;
  said: string | null;
}

export function CallView({ call, number, of, names, label, said }: CallProps) {
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
          {call.instead && <span class="word">instead: {inline(call.instead)}</span>}
          {call.reused_from ? (
            <ReusedLine from={call.reused_from} />
          ) : (
            <>
              <span>{call.duration_ms == null ? (call.arriving ? 'answers now' : 'not answered') : duration(call.duration_ms)}</span>
              {effect === 'model' && call.duration_ms != null && !turnedAway(call) && <UsageLine usage={call.usage ?? null} />}
            </>
          )}
          {call.given_by && <span class="word">{givenBy(call.given_by, effect === 'human' ? 'answered' : 'decided')}</span>}
          {call.finish && <span class={call.finish === 'stop' ? '' : 'word s-stopped'}>finish: {inline(call.finish)}</span>}
        </p>
      </div>
      {open.value && (
        <>
          {call.error && !(number === of && said === `${call.error.code} ${call.error.message}`) && <FailureBox error={call.error} />}
          <Before all={call.before ?? []} />
          <Parameters parameters={call.parameters ?? null} requestId={call.request_id ?? null} />
          {(call.messages ?? []).map((message, i) => (
            <Prompt key={i} message={message} names={names} id={`${number}-${i}`} />
          ))}
          {call.detail !== undefined && call.detail !== null && (
            <div class="message">
              <ValueView value={call.detail} label="Request" headClass="message-head" head={<b class="role">{effect === 'human' ? 'question' : 'sent'}</b>} />
            </div>
          )}
          {call.answer !== undefined && call.answer !== null && (
            <div class="message answer">
              <ValueView value={call.answer} label="Answer" headClass="message-head" head={<b class="role">answer</b>} />
            </div>
          )}
          {call.arriving && (
            <div class="message answer arriving">
              <div class="message-head">
                <b class="role">answer</b>
                <span class="legend muted">as it arrives</span>
              </div>
              <LongText text={call.arriving} label="Answer, as it arrives" />
            </div>
          )}
          {call.partial && (
            <div class="message answer partial">
              <div class="message-head">
                <b class="role">partial answer</b>
                <span class="legend muted">the text received before the call ended</span>
                <Copy text={() => call.partial ?? ''} what="the partial answer" />
              </div>
              <LongText text={call.partial} label="Partial answer" />
            </div>
          )}
        </>
      )}
    </section>
  );
}

/** `answered by ada, 2026-03-01 09:05:00Z, from terminal` */
export function givenBy({ name, origin, at }: Receipt, verb: string): string {
  const when = at.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
  const from = origin === 'given before the run' ? `, ${origin}` : origin ? `, from ${inline(origin)}` : '';
  return `${verb} ${name ? `by ${inline(name)}, ` : ''}${inline(when)}${from}`;
}

/** Nothing was called. */
function ReusedLine({ from }: { from: NonNullable<Call['reused_from']> }) {
  const saved = from.usage ? (from.usage.input_tokens ?? 0) + (from.usage.output_tokens ?? 0) : 0;
  return (
    <span class="word">
      kept from run {inline(from.run)}
      {from.key && `, ${inline(from.key)}`}
      {saved > 0 && ` (saved ${count(saved)} tokens)`}
    </span>
  );
}

/** The models that did not answer. */
function Before({ all }: { all: NonNullable<Call['before']> }) {
  if (all.length === 0) return null;
  return (
    <dl class="parameters">
      {all.slice(0, 8).map((before, i) => (
        <div key={i}>
          <dt>before</dt>
          <dd>
            {inline(before.model)} did not answer: {brief(before.why, 300)}
            {before.usage && (
              <>
                {' '}
                (<UsageLine usage={before.usage} />)
              </>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function UsageLine({ usage }: { usage: Usage | null }) {
  if (!usage) return <span title="not reported by the provider">? tokens</span>;
  const cached = usage.cached_tokens ? ` (${count(usage.cached_tokens)} cached)` : '';
  const unknown = usage.unknown_calls ? ` + ? of ${several(usage.unknown_calls, 'call')}` : '';
  const money = cost(usage.cost_micro ?? 0, usage.unpriced_calls ?? 0);
  return (
    <span>
      {count(usage.input_tokens ?? 0)} tokens in{cached}, {count(usage.output_tokens ?? 0)} out{unknown}
      {money && `, ${money}`}
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
