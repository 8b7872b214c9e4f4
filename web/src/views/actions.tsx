// What can be done with a run: each as a button, where the key allows it and the run is in a state for it.

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { ask, may, newRequestKey, NoAnswer } from '../server/api.ts';
import { isEnd } from '../server/ends.ts';
import { address, go } from '../server/route.ts';
import type { RunStore } from '../server/run.ts';
import type { RunDetail, RunSummary } from '../server/types.ts';
import type { StepDetail } from '../source/types.ts';
import { brief, inline } from '../text.ts';
import { AllowPanel, RaiseLimit } from './allow.tsx';
import { CostText, Failed, Twice } from './common.tsx';
import { ForkPanel } from './fork.tsx';

export function RunActions({ store }: { store: RunStore }) {
  const failed = useSignal<unknown>(null);
  const busy = useSignal(false);
  const forks = useSignal(false);
  const resumeKey = useRef(newRequestKey());
  const asked = useRef('{}');
  const run = store.detail.value;
  if (!run) return null;
  const ended = isEnd(run.status);

  const act = async (call: () => Promise<Partial<RunDetail> | undefined>) => {
    busy.value = true;
    failed.value = null;
    try {
      await store.acted(await call());
    } catch (why) {
      failed.value = why;
      if (!(why instanceof NoAnswer)) void store.ask().catch(() => {});
    }
    busy.value = false;
  };
  const resume = (allowed: Record<string, unknown> = {}) =>
    act(async () => {
      const text = JSON.stringify(allowed);
      if (asked.current !== text) [asked.current, resumeKey.current] = [text, newRequestKey()];
      const summary = await ask<RunSummary>(`${store.path}/resume`, { method: 'POST', body: allowed, headers: { 'idempotency-key': resumeKey.current } });
      resumeKey.current = newRequestKey();
      return summary;
    });
  const cancel = () => act(() => ask<RunSummary>(`${store.path}/cancel`, { method: 'POST' }));
  const remove = async () => {
    busy.value = true;
    try {
      await ask<undefined>(store.path, { method: 'DELETE' });
      go('#/');
    } catch (why) {
      failed.value = why;
    }
    busy.value = false;
  };

  const canResume = run.status === 'failed' || run.status === 'interrupted' || (run.status === 'waiting' && run.stopped !== undefined);
  const canFork = run.status === 'completed' || run.status === 'failed' || run.status === 'cancelled';
  return (
    <>
      {run.stopped && !ended && <AllowPanel stopped={run.stopped} busy={busy.value} resume={(allowed) => void resume(allowed)} />}
      {run.status === 'failed' && run.error?.code === 'BUDGET_EXCEEDED' && may('run') && <RaiseLimit busy={busy.value} resume={(allowed) => void resume(allowed)} />}
      {run.status === 'cancelled' && run.labels?.try !== undefined && (
        <p class="note tried-run">
          One step was tried alone (<code>{inline(run.labels.try)}</code>): the run was ended after it, as wanted.
        </p>
      )}
      <div class="actions">
        {store.connection.value === 'live' && (
          <span class="live" title={ended ? 'More of it comes' : 'Changes are shown as they happen'}>
            <i aria-hidden="true" /> {ended ? 'reads the run' : 'live'}
          </span>
        )}
        <span class="cost">
          <span class="muted">cost</span> <CostText cost={run.cost} />
        </span>
        {run.base && (
          <span>
            <span class="muted">reuses</span> <a href={address(['runs', run.base])}>{brief(run.base, 8)}</a>
          </span>
        )}
        {run.parent && (
          <span>
            <span class="muted">called by</span> <a href={address(['runs', run.parent])}>{brief(run.parent, 8)}</a>
          </span>
        )}
        <a href={address(['flows', run.flow])}>Flow</a>
        {run.base && <a href={address(['compare'], { a: run.base, b: run.run })}>What it changed</a>}
        <a href={address(['compare'], { b: run.run })}>Compare with…</a>
        <span class="space" />
        {may('run') && canResume && (
          <button type="button" class="button primary" disabled={busy.value} title="What is done is kept and not paid again" onClick={() => void resume()}>
            {busy.value ? 'Resumes…' : 'Resume'}
          </button>
        )}
        {may('run') && canFork && (
          <button type="button" class="button" aria-expanded={forks.value} onClick={() => (forks.value = !forks.value)}>
            {(run.items?.failed ?? 0) > 0 ? 'Run failed items again…' : 'Run again…'}
          </button>
        )}
        {may('read') && (
          <a class="button" href={address(['edit', store.run])} title="Change the files of this run, and go on with them">
            Edit…
          </a>
        )}
        {may('run') && !ended && <Twice label="Cancel" sure="End this run for good?" act={() => void cancel()} busy={busy.value} danger />}
        {may('run') && ended && <Twice label="Delete" sure="Delete this run and what it has called?" act={() => void remove()} busy={busy.value} danger />}
      </div>
      <Failed why={failed.value} what="That did not work." />
      {forks.value && <ForkPanel run={store.run} from={null} close={() => (forks.value = false)} />}
    </>
  );
}

/** What can be done from a step on. */
export function StepActions({ store, detail }: { store: RunStore; detail: StepDetail }) {
  const open = useSignal<string | null>(null);
  const run = store.detail.value;
  const { key } = detail.step;
  if (!run || !may('run') || !isEnd(run.status) || detail.name.kind === 'group') return null;
  const isOpen = open.value === key;
  return (
    <>
      <p class="step-actions">
        <button type="button" class="button" aria-expanded={isOpen} onClick={() => (open.value = isOpen ? null : key)}>
          Run again from here…
        </button>
        <a class="button" href={address(['edit', store.run], { step: key, file: detail.step.file, line: detail.step.line ? String(detail.step.line) : null })}>
          Edit and try…
        </a>
      </p>
      {isOpen && <ForkPanel key={key} run={store.run} from={key} close={() => (open.value = null)} />}
    </>
  );
}
