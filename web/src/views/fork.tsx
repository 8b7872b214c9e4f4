// A new run made of this one: first what it would keep, what would run again and what that costs at most, then the button. The run that
// one looks at never changes.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ask, newRequestKey, NoAnswer } from '../server/api.ts';
import { address, go } from '../server/route.ts';
import type { ForkPreview, RunSummary } from '../server/types.ts';
import { brief } from '../text.ts';
import { Failed } from './common.tsx';
import { ForkSteps, shortCost } from './kept.tsx';
import { DollarLimit, dollarsOf } from './limit.tsx';

interface ForkProps {
  run: string;
  /** The step from which on everything runs again; none: only what failed. */
  from: string | null;
  close: () => void;
}

export function ForkPanel({ run, from, close }: ForkProps) {
  const preview = useSignal<ForkPreview | null>(null);
  const failed = useSignal<unknown>(null);
  const busy = useSignal(false);
  const key = useRef(newRequestKey());
  const heading = useRef<HTMLHeadingElement>(null);
  const path = `/runs/${encodeURIComponent(run)}/fork`;
  const limit = useSignal('');
  const body = from === null ? {} : { from };
  const most = dollarsOf(limit.value);
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
          <ForkSteps found={found} />
          {found.up_to_date && <p>Nothing would run again: everything is kept.</p>}
        </>
      )}
      <Failed why={failed.value} what="There is no such run." />
      {found && !found.up_to_date && (
        <DollarLimit text={limit} changed={() => (key.current = newRequestKey())} />
      )}
      <p class="buttons">
        <button type="button" class="button primary" disabled={busy.value || !found || Number.isNaN(most ?? 0)} onClick={() => void start()}>
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
