// What people are asked, over all runs, and answered here.

import { useSignal } from '@preact/signals';
import { ask } from '../server/api.ts';
import { useRepeated } from '../server/repeat.ts';
import { address } from '../server/route.ts';
import type { ListedQuestion } from '../server/types.ts';
import { brief, count } from '../text.ts';
import { Empty, Failed } from './common.tsx';
import type { ViewProps } from './list.ts';
import { QuestionCard } from './question.tsx';

const PAUSE = 3_000;

const idOf = (one: ListedQuestion): string => `${one.run} ${one.key}`;

export function QuestionsView({ route }: ViewProps) {
  const label = route.query.get('label');
  const flow = route.query.get('flow');
  const questions = useSignal<ListedQuestion[] | null>(null);
  const more = useSignal(false);
  const failed = useSignal<unknown>(null);
  /** Answered here: they stay until somebody leaves, so that it is seen what came of them. */
  const answered = useSignal<ListedQuestion[]>([]);
  const load = async (signal?: AbortSignal) => {
    const query = new URLSearchParams({ limit: '100' });
    if (label) query.set('label', label);
    if (flow) query.set('flow', flow);
    try {
      const list = await ask<{ questions: ListedQuestion[]; next?: string }>(`/questions?${query}`, signal ? { signal } : {});
      questions.value = list.questions;
      more.value = list.next !== undefined;
      failed.value = null;
    } catch (why) {
      if (!signal?.aborted) failed.value = why;
    }
  };
  useRepeated(load, PAUSE, [label, flow]);
  const open = questions.value ?? [];
  const known = new Set(open.map(idOf));
  const all = [...open, ...answered.value.filter((one) => !known.has(idOf(one)))];
  const waiting = open.filter((one) => one.answered === undefined && !one.late).length;
  return (
    <main class="page narrow">
      <h1>
        {questions.value === null ? 'Questions' : waiting === 0 ? 'No open question' : waiting === 1 ? 'One open question' : `${count(waiting)} open questions`}
        {label && <span class="muted"> with {brief(label, 60)}</span>}
      </h1>
      <Failed why={failed.value} what="The list is not up to date." />
      {questions.value?.length === 0 && all.length === 0 && (
        <Empty title="Nobody is asked anything">A run that asks a person appears here, until it is answered.</Empty>
      )}
      <div class="questions">
        {all.map((one) => (
          <div key={idOf(one)}>
            <p class="of">
              <a href={address(['runs', one.run])}>
                <b>{brief(one.flow, 80)}</b> <code>{brief(one.run, 8)}</code>
              </a>
              {Object.entries(one.labels ?? {})
                .filter(([name]) => !name.startsWith('trefoil.'))
                .map(([name, value]) => (
                  <a key={name} class="tag" href={address(['questions'], { label: `${name}:${value}` })}>
                    {brief(name, 30)}: {brief(value, 40)}
                  </a>
                ))}
            </p>
            <QuestionCard
              run={one.run}
              question={one}
              done={() => {
                answered.value = [...answered.value, one];
                void load();
              }}
              late={() => void load()}
            />
          </div>
        ))}
      </div>
      {more.value && <p class="muted">There are more. They appear as these are answered.</p>}
    </main>
  );
}
