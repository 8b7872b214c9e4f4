// Small things that several views use.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Ticks } from '../parts/status.tsx';
import { describe, NoAnswer, Problem } from '../server/api.ts';
import type { Cost, Finding, PlanCost, RunSummary } from '../server/types.ts';
import { brief, count, duration, inline, moment, place } from '../text.ts';

/** A view without anything to show says what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h1>{title}</h1>
      <p>{children}</p>
    </div>
  );
}

/** Why something failed, where it was tried. */
export function Failed({ why, what }: { why: unknown; what?: string }) {
  if (why === null || why === undefined) return null;
  const problem = why instanceof Problem ? why.body : null;
  return (
    <div class="problem" role="alert">
      {what && <b>{what} </b>}
      {problem && <span class="code">{brief(problem.code, 60)}</span>}
      <span dir="auto">
        <Ticks text={brief(problem ? problem.detail : describe(why), 600)} />
      </span>
      {problem?.help && (
        <p class="help" dir="auto">
          <b>To do:</b> <Ticks text={brief(problem.help, 600)} />
        </p>
      )}
      {why instanceof NoAnswer && <p class="help">Nothing is lost: the same can be sent again.</p>}
      {problem?.errors?.length === 1 && place(problem.errors[0]!) && <span class="place"> {place(problem.errors[0]!)}</span>}
      {(problem?.errors?.length ?? 0) > 1 && <Findings all={problem?.errors ?? []} />}
    </div>
  );
}

export function Findings({ all }: { all: Finding[] }) {
  return (
    <ul class="findings">
      {all.slice(0, 100).map((one, i) => (
        <li key={i} class={`f-${one.severity === 'error' ? 'error' : 'other'}`}>
          <span class="word">{inline(one.severity)}</span>{' '}
          <span dir="auto">
            <Ticks text={brief(one.message, 600)} />
          </span>
          {place(one) && <span class="place"> {place(one)}</span>} <span class="muted">{inline(one.rule)}</span>
          {one.help && (
            <p class="help" dir="auto">
              <Ticks text={brief(one.help, 600)} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

/** How long ago, with the exact time on hover. */
export function Ago({ at, now }: { at: string; now: number }) {
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(Date.parse(at), now)}
    </time>
  );
}

export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (Number.isNaN(seconds)) return '';
  if (seconds < 60) return seconds < 5 ? 'now' : `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86_400);
  return days < 30 ? `${days} d ago` : new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
}

/** The time now, which moves while it is shown. */
export function useNow(every: number): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), every);
    return () => clearInterval(timer);
  }, []);
  return now.value;
}

/** `$1.20`, `$1.20+`, `-`: what is not known is never zero. */
export function CostText({ cost }: { cost: Cost }) {
  const calls = count(cost.unpriced_calls ?? 0);
  const says =
    cost.completeness === 'known' ? undefined : cost.completeness === 'partial' ? `at least this: ${calls} calls have no known price` : 'the price of no call is known';
  return (
    <span title={says}>
      {cost.completeness === 'unknown' ? '-' : cost.text}
      {cost.completeness !== 'known' && <span class="sr"> ({says})</span>}
    </span>
  );
}

/** What a run costs at most, in words. */
export function atMost(cost: PlanCost): string {
  if (cost.unpriced.length > 0) return `unknown: no price is known for ${cost.unpriced.map((m) => inline(m)).join(', ')}`;
  if (!cost.at_most) return `no maximum: ${cost.no_maximum.length > 0 ? brief(cost.no_maximum.map(String).join('; '), 200) : 'not every call has a bound'}`;
  return `at most ${cost.at_most.text}`;
}

export function lasted(run: RunSummary, now: number): string {
  const from = Date.parse(run.started);
  const to = run.ended ? Date.parse(run.ended) : now;
  return duration(Math.max(0, to - from));
}


/** A button that asks once before it acts. */
export function Twice({ label, sure, act, busy, danger }: { label: string; sure: string; act: () => void; busy?: boolean; danger?: boolean }) {
  const asks = useSignal(false);
  const yes = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (asks.value) yes.current?.focus();
  }, [asks.value]);
  if (!asks.value) {
    return (
      <button type="button" class="button" disabled={busy} onClick={() => (asks.value = true)}>
        {label}
      </button>
    );
  }
  return (
    <span class="twice" role="group" aria-label={sure}>
      <span>{sure}</span>
      <button
        type="button"
        class={`button ${danger ? 'danger' : 'primary'}`}
        disabled={busy}
        ref={yes}
        onClick={() => {
          asks.value = false;
          act();
        }}
      >
        {label}
      </button>
      <button type="button" class="button" onClick={() => (asks.value = false)} onKeyDown={(e) => e.key === 'Escape' && (asks.value = false)}>
        No
      </button>
    </span>
  );
}
