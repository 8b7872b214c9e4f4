// A new run made of this one: first what it would keep, what would run again and what that costs at most, then the button. The run that
// one looks at never changes.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { link } from '../links.ts';
import { Ticks } from '../parts/status.tsx';
import { ask, newRequestKey, NoAnswer } from '../server/api.ts';
import { address, go } from '../server/route.ts';
import type { ForkPreview, RunSummary, StepPreview } from '../server/types.ts';
import { brief, inline, money, several } from '../text.ts';
import { atMost, Failed } from './common.tsx';

interface ForkProps {
  run: string;
  /** The step from which on everything runs again; none: only what failed. */
  from: string | null;
  close: () => void;
}

/** What becomes of calls: how it is said of one, and of several. */
const HEADINGS: [string, StepPreview['decision'][], string, string][] = [
  ['again', ['again', 'stopped'], 'runs again', 'run again'],
  ['new', ['new'], 'runs for the first time', 'run for the first time'],
  ['later', ['later'], 'depends on what runs before it', 'depend on what runs before them'],
  ['kept', ['kept'], 'is kept and not paid again', 'are kept and not paid again'],
  ['unused', ['unused'], 'is not used any more', 'are not used any more'],
];

export function ForkPanel({ run, from, close }: ForkProps) {
  const preview = useSignal<ForkPreview | null>(null);
  const failed = useSignal<unknown>(null);
  const busy = useSignal(false);
  const key = useRef(newRequestKey());
  const heading = useRef<HTMLHeadingElement>(null);
  const path = `/runs/${encodeURIComponent(run)}/fork`;
  const limit = useSignal('');
  const body = from === null ? {} : { from };
  const most = Number(limit.value) > 0 ? Number(limit.value) : null;
  useEffect(() => {
    const gone = new AbortController();
    ask<ForkPreview>(path, { method: 'POST', body: { ...body, dry_run: true }, signal: gone.signal }).then(
      (got) => (preview.value = got),
      (why: unknown) => {
        if (!gone.signal.aborted) failed.value = why;
      },
    );
    heading.current?.focus({ preventScroll: true });
    return () => gone.abort();
  }, []);
  const start = async () => {
    busy.value = true;
    failed.value = null;
    try {
      const asked = most === null ? body : { ...body, max_cost: most };
      const started = await ask<RunSummary>(path, { method: 'POST', body: asked, headers: { 'idempotency-key': key.current } });
      go(address(['runs', started.run]));
    } catch (why) {
      failed.value = why;
      if (!(why instanceof NoAnswer)) key.current = newRequestKey();
      busy.value = false;
    }
  };
  const found = preview.value;
  return (
    <section class="fork" aria-label="A new run from this one" onKeyDown={(e) => e.key === 'Escape' && close()}>
      <h3 ref={heading} tabIndex={-1}>
        {from === null ? 'A new run that keeps what is done' : `A new run from ${brief(from, 60)} on`}
      </h3>
      {!found && !failed.value && <p class="muted">Asks the server what it would do…</p>}
      {found && (
        <>
          <dl class="preview">
            {HEADINGS.map(([name, decisions, one, many]) => {
              const steps = stepsOf(found, decisions);
              return <Decided key={name} name={name} says={steps.length === 1 ? one : many} steps={steps} />;
            })}
            <div class="money">
              <dt>costs</dt>
              <dd>
                <b>
                  <Ticks text={atMost(found.cost)} />
                </b>
                {found.cost.expected && <span class="muted">, {found.cost.expected.text} on average so far</span>}
              </dd>
            </div>
          </dl>
          {found.error && (
            <p class="fault" dir="auto">
              It would fail: {brief(found.error, 400)}
            </p>
          )}
          {found.up_to_date && <p>Nothing would run again: everything is kept.</p>}
        </>
      )}
      <Failed why={failed.value} what="There is no such run." />
      {found && !found.up_to_date && (
        <label class="limit">
          Limit in dollars{' '}
          <input
            type="number"
            min="0"
            step="any"
            placeholder="none"
            value={limit.value}
            onInput={(e) => {
              limit.value = e.currentTarget.value;
              key.current = newRequestKey();
            }}
          />
        </label>
      )}
      <p class="buttons">
        <button type="button" class="button primary" disabled={busy.value || !found} onClick={() => void start()}>
          {busy.value ? 'Starts…' : found ? `Start the new run (${shortCost(found, most)})` : 'Start the new run'}
        </button>
        <button type="button" class="button" onClick={close}>
          Close
        </button>
        <span class="muted">This run stays as it is.</span>
      </p>
    </section>
  );
}

/** What the button says. A limit counts where it is below what is known, or nothing is. */
function shortCost({ cost, up_to_date }: ForkPreview, limit: number | null): string {
  if (up_to_date) return 'costs nothing';
  const known = cost.at_most && cost.unpriced.length === 0 ? cost.at_most : null;
  if (limit !== null && (known?.micro == null || limit * 1e6 < known.micro)) return `at most ${money(limit * 1e6)}`;
  return known ? `at most ${known.text}` : 'no maximum';
}

const stepsOf = (preview: ForkPreview, decisions: string[]): StepPreview[] =>
  [...preview.steps, ...preview.later, ...preview.unused].filter((step) => decisions.includes(step.decision));

function Decided({ name, says, steps }: { name: string; says: string; steps: StepPreview[] }) {
  const all = useSignal(false);
  if (steps.length === 0) return null;
  const shown = all.value ? steps.slice(0, 500) : steps.slice(0, 6);
  return (
    <div class={`d-${name}`}>
      <dt>{several(steps.length, 'call')}</dt>
      <dd>
        {says}
        <ul>
          {shown.map((step) => (
            <li key={step.key}>
              {name === 'new' ? <span>{inline(step.key)}</span> : <a href={link(step.key)}>{inline(step.key)}</a>}
              {(step.reasons?.length ?? 0) > 0 && <span class="muted"> <Ticks text={brief(reasonText(step), 160)} /></span>}
            </li>
          ))}
          {steps.length > shown.length && (
            <li>
              <button type="button" class="quiet" onClick={() => (all.value = true)}>
                {several(steps.length - shown.length, 'more')}
              </button>
            </li>
          )}
        </ul>
      </dd>
    </div>
  );
}

const reasonText = (step: StepPreview): string => (step.reasons ?? []).map((one) => one.what ?? '').filter(Boolean).join('; ');
