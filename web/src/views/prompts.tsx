// The prompts that the edited files would send, with the data of the run.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { LongText } from '../parts/longtext.tsx';
import { Prompt } from '../parts/prompt.tsx';
import type { EditStore } from '../server/edit.ts';
import type { StepDetail } from '../source/types.ts';
import { count, inline } from '../text.ts';
import type { Call, Step } from '../trace.ts';

/** Of more steps than this, one is found in the run. */
const LISTED = 500;

interface PromptsProps {
  store: EditStore;
  step: string | null;
  choose: (step: string) => void;
  /** What can be done with the step. */
  children: (step: string) => ComponentChildren;
}

export function StepPrompts({ store, step, choose, children }: PromptsProps) {
  const meaning = store.meaning.value;
  const detail = useSignal<StepDetail | null>(null);
  const before = useSignal<StepDetail | null>(null);
  const all = (meaning?.trace.steps ?? []).filter(hasPrompt);
  const key = all.find((one) => one.key === step)?.key ?? all.find((one) => step !== null && one.key.startsWith(`${step}/`))?.key ?? all[0]?.key ?? null;
  useEffect(() => {
    let gone = false;
    if (!meaning || key === null) return;
    void Promise.all([meaning.prompts.step(key), store.before.peek()?.step(key) ?? null]).then(([now, then]) => {
      if (gone) return;
      detail.value = now;
      before.value = then;
    });
    return () => {
      gone = true;
    };
  }, [meaning, key]);
  if (!meaning) return store.mistake.value ? null : <p class="loading">Reads the prompts</p>;
  if (key === null) return <p class="note">No step of this run has sent a prompt.</p>;
  const shown = detail.value?.step.key === key ? detail.value : null;
  const calls = (shown?.step.calls ?? []).filter((call) => (call.messages?.length ?? 0) > 0);
  const last = calls[calls.length - 1];
  const earlier = before.value?.step.key === key ? (before.value.step.calls ?? [])[calls.length - 1] : undefined;
  return (
    <section class="block prompts">
      <div class="block-head">
        <h2>Prompt</h2>
        <select value={key} aria-label="Step" onChange={(e) => choose(e.currentTarget.value)}>
          {all.slice(0, LISTED).map((one) => (
            <option key={one.key} value={one.key}>
              {inline(one.key)}
            </option>
          ))}
        </select>
        <span class="muted" role="status">
          {store.asks.value ? 'reads…' : last && earlier && isOther(last, earlier) ? 'changed by the edit' : 'as in the run'}
        </span>
      </div>
      {calls.length > 1 && <p class="muted">The last of {count(calls.length)} calls.</p>}
      {last &&
        (last.messages ?? []).map((message, i) => {
          const was = earlier?.messages?.[i];
          const isSame = !was || was.content === message.content;
          return (
            <div key={i} class={isSame ? '' : 'other'}>
              <Prompt message={message} names={shown!.mentioned} id={`edit-${i}`} />
              {!isSame && (
                <details class="was">
                  <summary>Before the edit</summary>
                  <LongText text={was.content} label="Before the edit" />
                </details>
              )}
            </div>
          );
        })}
      {children(key)}
    </section>
  );
}

const hasPrompt = (step: Step): boolean => (step.calls ?? []).some((call) => (call.messages?.length ?? 0) > 0);

const isOther = (now: Call, then: Call): boolean => JSON.stringify(texts(now)) !== JSON.stringify(texts(then));
const texts = (call: Call): string[] => (call.messages ?? []).map((message) => `${message.role}\n${message.content}`);
