// A question, answered where it stands. The card stays until the server has the answer.

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { Ticks } from '../parts/status.tsx';
import { ask, may, newRequestKey, NoAnswer, Problem } from '../server/api.ts';
import { address } from '../server/route.ts';
import { tellUser } from '../server/notices.ts';
import type { Question, RunSummary } from '../server/types.ts';
import { brief, inline, moment, visible } from '../text.ts';
import { givenBy } from '../parts/call.tsx';
import { Failed, useNow } from './common.tsx';

interface QuestionProps {
  run: string;
  question: Question;
  /** The answer is in the store. */
  done: (run: RunSummary) => void;
  /** Somebody else was faster: what is shown here is old. */
  late: () => void;
}

const DECISIONS = [
  ['retry', 'Call it again'],
  ['done', 'It was done'],
  ['fail', 'Let it fail'],
] as const;

export function QuestionCard({ run, question, done, late }: QuestionProps) {
  const failed = useSignal<unknown>(null);
  const busy = useSignal<string | null>(null);
  const given = useSignal<string | null>(null);
  const sent = useRef({ body: '', key: '' });
  const isDecision = question.sort !== 'human';

  const answer = async (value: string, result?: string) => {
    if (busy.value !== null) return;
    const body = { step: question.key, value, ...(result === undefined ? {} : { result }) };
    const text = JSON.stringify(body);
    if (sent.current.body !== text) sent.current = { body: text, key: newRequestKey() };
    busy.value = value;
    failed.value = null;
    try {
      const summary = await ask<RunSummary>(`/runs/${encodeURIComponent(question.run ?? run)}/answers`, {
        method: 'POST',
        body,
        headers: { 'idempotency-key': sent.current.key },
      });
      given.value = value;
      done(summary);
    } catch (why) {
      failed.value = why;
      if (!(why instanceof NoAnswer)) sent.current = { body: '', key: '' };
      if (why instanceof Problem && why.body.status === 409) {
        // The question is gone in a moment, and with it this card.
        tellUser(`Your answer “${brief(value, 80)}” to ${inline(question.step)} did not count: ${why.body.detail}.`);
        late();
      }
    }
    busy.value = null;
  };

  const isOpen = question.answered === undefined && !question.late && given.value === null;
  return (
    <article class="question" aria-label={`Question of ${inline(question.step)}`}>
      <h3>
        {inline(question.step)}
        {question.answer_by && isOpen && <Deadline question={question} />}
      </h3>
      <p class="asked" dir="auto">
        {question.prompt ? visible(question.prompt.slice(0, 20_000)) : <Ticks text={brief(question.question, 2_000)} />}
      </p>
      {question.called_with && (
        <p class="muted">
          It was called with <code>{brief(question.called_with, 600)}</code>
        </p>
      )}
      {question.sort === 'run' && question.run && (
        <p>
          <a href={address(['runs', question.run])}>Show the run that waits</a>
        </p>
      )}
      {question.answered !== undefined && (
        <p class="given">
          Answered with <b dir="auto">{brief(question.answered, 300)}</b> {question.given_by && givenBy(question.given_by, '')}. The run goes on with it.
        </p>
      )}
      {given.value !== null && question.answered === undefined && (
        <p class="given">
          Your answer <b dir="auto">{brief(given.value, 300)}</b> is stored. The run goes on with it.
        </p>
      )}
      {question.late && <p class="given">Its time has ended. It cannot be answered any more.</p>}
      {isOpen && !may('answer') && <p class="muted">Your key may not answer: it needs the scope <code>answer</code>.</p>}
      {isOpen && may('answer') && question.sort !== 'run' && (isDecision ? <Decision busy={busy.value} answer={answer} /> : <Answer question={question} busy={busy.value} answer={answer} />)}
      <Failed why={failed.value} what={failed.value instanceof Problem && failed.value.body.status === 409 ? 'Your answer did not count.' : 'The answer did not arrive.'} />
    </article>
  );
}

interface AnswerProps {
  question: Question;
  busy: string | null;
  answer: (value: string, result?: string) => void;
}

/** As many answers are buttons. */
const BUTTONS = 8;

function Answer({ question, busy, answer }: AnswerProps) {
  const text = useSignal('');
  const accepts = question.accepts ?? [];
  if (accepts.length > BUTTONS) {
    return (
      <form class="answer-form" onSubmit={(e) => (e.preventDefault(), text.value && answer(text.value))}>
        <select aria-label="Answer" onChange={(e) => (text.value = e.currentTarget.value)}>
          <option value="">Choose one</option>
          {accepts.map((one) => (
            <option key={one} value={one}>
              {brief(one, 120)}
            </option>
          ))}
        </select>
        <button type="submit" class="button primary" disabled={busy !== null || text.value === ''}>
          Answer
        </button>
      </form>
    );
  }
  if (accepts.length > 0) return <AnswerButtons words={accepts} busy={busy} answer={answer} />;
  return (
    <>
      {(question.choices?.length ?? 0) > 0 && <AnswerButtons words={question.choices ?? []} busy={busy} answer={answer} />}
      <form class="answer-form" onSubmit={(e) => (e.preventDefault(), text.value.trim() && answer(text.value))}>
        <textarea
          aria-label={question.choices?.length ? 'Another answer' : 'Answer'}
          placeholder={question.choices?.length ? 'Another answer' : 'Your answer'}
          rows={Math.min(12, text.value.split('\n').length + 1)}
          value={text.value}
          dir="auto"
          onInput={(e) => (text.value = e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) e.currentTarget.form?.requestSubmit();
          }}
        />
        <button type="submit" class="button primary" disabled={busy !== null || text.value.trim() === ''}>
          {busy === null ? 'Answer' : 'Sends…'}
        </button>
      </form>
    </>
  );
}

function AnswerButtons({ words, busy, answer }: { words: string[]; busy: string | null; answer: (value: string) => void }) {
  return (
    <p class="answers" role="group" aria-label="Answers">
      {words.map((word) => (
        <button key={word} type="button" class="button" disabled={busy !== null} onClick={() => answer(word)}>
          {busy === word ? 'Sends…' : brief(word, 80)}
        </button>
      ))}
    </p>
  );
}

/** Whether a call was done is not known: somebody has to decide. */
function Decision({ busy, answer }: Omit<AnswerProps, 'question'>) {
  const result = useSignal<string | null>(null);
  return (
    <>
      <p class="answers" role="group" aria-label="Decisions">
        {DECISIONS.map(([value, label]) => (
          <button
            key={value}
            type="button"
            class="button"
            disabled={busy !== null}
            aria-expanded={value === 'done' ? result.value !== null : undefined}
            onClick={() => (value === 'done' ? (result.value = result.value === null ? '' : null) : answer(value))}
          >
            {busy === value ? 'Sends…' : label}
          </button>
        ))}
      </p>
      {result.value !== null && (
        <form class="answer-form" onSubmit={(e) => (e.preventDefault(), answer('done', result.value || undefined))}>
          <textarea aria-label="Its result, as JSON or text" placeholder="Its result, as JSON or text" value={result.value} onInput={(e) => (result.value = e.currentTarget.value)} />
          <button type="submit" class="button primary" disabled={busy !== null}>
            It was done, with this result
          </button>
        </form>
      )}
    </>
  );
}

function Deadline({ question }: { question: Question }) {
  const now = useNow(15_000);
  const at = question.answer_by ?? '';
  const left = Math.round((Date.parse(at) - now) / 60_000);
  const text = left < 0 ? 'its time ends now' : left < 1 ? 'less than a minute left' : left < 120 ? `${left} min left` : `until ${moment(at)}`;
  return (
    <time class="deadline" dateTime={at} title={moment(at)}>
      {text}
      {question.otherwise !== undefined && `, then “${brief(question.otherwise, 40)}”`}
    </time>
  );
}
