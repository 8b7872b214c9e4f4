// One step, run alone: its limit first, then the button, then what it answers.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { CallView } from '../parts/call.tsx';
import { may } from '../server/api.ts';
import type { EditStore } from '../server/edit.ts';
import { isEnd } from '../server/ends.ts';
import { address } from '../server/route.ts';
import { RunStore } from '../server/run.ts';
import type { StepDetail } from '../source/types.ts';
import { brief, several } from '../text.ts';
import { CostText, Failed } from './common.tsx';

export function StepTry({ store, step }: { store: EditStore; step: string }) {
  const busy = useSignal(false);
  const failed = useSignal<unknown>(null);
  const run = useSignal<string | null>(store.tried.peek()?.step === step ? store.tried.peek()!.run : null);
  const calls = useSignal(1);
  useEffect(() => {
    void store.before.peek()?.step(step).then((detail) => {
      const made = (detail?.step.calls ?? []).filter((call) => (call.effect ?? 'model') === 'model').length;
      calls.value = Math.max(1, made);
    });
  }, [step]);
  if (!may('run')) return null;
  const start = async () => {
    busy.value = true;
    failed.value = null;
    try {
      run.value = (await store.try(step, { max_calls: calls.value })).run;
    } catch (why) {
      failed.value = why;
    }
    busy.value = false;
  };
  return (
    <div class="try">
      <p class="buttons">
        <button type="button" class="button" disabled={busy.value || store.mistake.value !== null || calls.value < 1} onClick={() => void start()}>
          {busy.value ? 'Starts…' : `Try this step (at most ${several(calls.value, 'model call')})`}
        </button>
        <label class="limit">
          Model calls at most <input type="number" min="1" value={calls.value} onInput={(e) => (calls.value = Math.max(0, Math.floor(Number(e.currentTarget.value))))} />
        </label>
      </p>
      <Failed why={failed.value} what="The step was not tried." />
      {run.value && <Tried key={run.value} store={store} run={run.value} step={step} />}
    </div>
  );
}

/** What the step does, while it does it. */
function Tried({ store, run, step }: { store: EditStore; run: string; step: string }) {
  const own = useSignal<RunStore | null>(null);
  const detail = useSignal<StepDetail | null>(null);
  useEffect(() => {
    const made = new RunStore(run, () => {});
    own.value = made;
    void made.watch();
    return () => made.close();
  }, [run]);
  const state = own.value?.state.value;
  const revision = state?.revision.value;
  const summary = own.value?.detail.value;
  const ended = isEnd(state?.overview.status ?? '');
  useEffect(() => {
    void state?.source.step(step).then((found) => (detail.value = found));
  }, [state, revision, ended]);
  useEffect(() => {
    if (ended && store.tried.peek()?.run !== run) store.hasTried(run, step);
  }, [ended]);
  const call = detail.value?.step.calls?.at(-1);
  const error = state?.overview.error;
  const isStopped = error && error.code !== 'CANCELLED';
  return (
    <section class="tried" aria-label="What the step answered">
      <p class="facts" role="status">
        <b>{ended ? 'Tried' : 'Runs alone'}</b>
        <a href={address(['runs', run])}>run {brief(run, 8)}</a>
        {summary && <CostText cost={summary.cost} />}
        <span class="muted">{ended ? 'Kept: a run of this edit, from here, does not pay for it again.' : ''}</span>
      </p>
      {isStopped && (
        <p class="fault" dir="auto">
          {brief(error.message ?? error.code ?? '', 400)}
        </p>
      )}
      {call && <CallView call={{ ...call, messages: [] }} number={1} of={1} names={detail.value!.mentioned} label={detail.value!.step.label} said={null} />}
    </section>
  );
}
