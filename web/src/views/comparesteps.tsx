// The steps of two runs, aligned: those that differ are open, those that are the same are folded.

import { useSignal } from '@preact/signals';
import { LongText } from '../parts/longtext.tsx';
import { Sign, Ticks } from '../parts/status.tsx';
import { type Comparison, decision, groupSteps, keyOf, type Reason, type StepDiff, type StepSide } from '../server/compare.ts';
import { address } from '../server/route.ts';
import { brief, cost, count, duration, inline, several, visible } from '../text.ts';
import { BeforeNow } from './comparecauses.tsx';
import { Words } from './words.tsx';

/** As many steps that differ as are shown at once. */
const PAGE = 40;

export function CompareSteps({ of }: { of: Comparison }) {
  const most = useSignal(PAGE);
  const groups = groupSteps(of.steps);
  const changed = of.steps.filter((step) => !step.same).length;
  const shown = groups.slice(0, most.value);
  const first = of.steps.find((step) => !step.same);
  return (
    <section class="block">
      <h2>
        Steps{' '}
        <span class="muted">
          {count(changed)} of {several(of.steps.length, 'call')} {changed === 1 ? 'differs' : 'differ'}
        </span>
      </h2>
      {of.steps.length === 0 && <p class="muted">Neither run has called anything.</p>}
      <ol class="step-diffs">
        {shown.map((group) =>
          'step' in group ? (
            <ChangedStep key={`c ${keyOf(group.step)}`} step={group.step} of={of} isFirst={group.step === first} />
          ) : (
            <SameSteps key={`s ${keyOf(group.same[0]!)}`} all={group.same} of={of} />
          ),
        )}
      </ol>
      {groups.length > shown.length && (
        <p class="more">
          <button type="button" onClick={() => (most.value += PAGE * 5)}>
            Show more of {several(groups.length - shown.length, 'other')}
          </button>
        </p>
      )}
    </section>
  );
}

function SameSteps({ all, of }: { all: StepDiff[]; of: Comparison }) {
  const most = useSignal(0);
  const kept = all.filter((step) => step.b?.kept).length;
  return (
    <li class="same-steps">
      <button type="button" class="fold" aria-expanded={most.value > 0} onClick={() => (most.value = most.value > 0 ? 0 : PAGE)}>
        <svg viewBox="0 0 10 10" aria-hidden="true">
          <path d={most.value > 0 ? 'M2 3.5l3 3 3-3' : 'M3.5 2l3 3-3 3'} />
        </svg>
        <span>
          {several(all.length, 'step')} {all.length === 1 ? 'is' : 'are'} the same
          {kept > 0 && <span class="muted">, {kept === all.length ? 'kept and not paid again' : `${count(kept)} of them kept`}</span>}
        </span>
      </button>
      {most.value > 0 && (
        <ul>
          {all.slice(0, most.value).map((step) => (
            <li key={keyOf(step)}>
              <Sign status={step.b?.error ? 'failed' : step.b?.answer == null ? 'running' : 'done'} />
              <StepName step={step} of={of} />
              <span class="muted">
                {step.b?.kept ? 'kept' : 'the same'}
                {step.b?.error && `, failed with ${inline(step.b.error)}`}
              </span>
            </li>
          ))}
          {all.length > most.value && (
            <li>
              <button type="button" class="quiet" onClick={() => (most.value += PAGE * 5)}>
                {several(all.length - most.value, 'more')}
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

/** The key, which leads to the step in the run that has it. */
function StepName({ step, of }: { step: StepDiff; of: Comparison }) {
  const { a, b } = step;
  const run = b ? of.b.run : of.a.run;
  const key = keyOf(step);
  return (
    <>
      <a href={address(['runs', run, 'steps', key])}>
        <b>{brief(key, 120)}</b>
      </a>
      {a && b && a.key !== b.key && (
        <span class="muted">
          in the first run{' '}
          <a href={address(['runs', of.a.run, 'steps', a.key])}>{brief(a.key, 120)}</a>
        </span>
      )}
    </>
  );
}

function ChangedStep({ step, of, isFirst }: { step: StepDiff; of: Comparison; isFirst: boolean }) {
  const { a, b } = step;
  const only = a && b ? null : (a ?? b);
  const answers = step.answer;
  return (
    <li class={`step-diff${isFirst ? ' first' : ''}`}>
      <p class="step-line">
        <Sign status={b ? (b.error ? 'failed' : b.answer === null ? 'running' : 'done') : 'skipped'} />
        <StepName step={step} of={of} />
        <span class="word">{decision(step)}</span>
        {isFirst && <span class="word began">here it began</span>}
      </p>
      <p class="facts">
        {a && <Used name="first run" run={of.a.run} side={a} />}
        {b && <Used name="second run" run={of.b.run} side={b} />}
      </p>
      <Reasons all={step.request} />
      {answers && (
        <div class="part-diff">
          <h4>Answer</h4>
          <Words parts={answers} label={`The difference between the answers of ${inline(keyOf(step))}`} />
        </div>
      )}
      {a && b && (a.error !== b.error || (a.answer === null) !== (b.answer === null)) && (
        <p class="ended">
          {ending(b)}; in the first run, it {ending(a)}.
        </p>
      )}
      {only?.error && <p class="ended">It {ending(only)}.</p>}
      {only?.answer != null && (
        <div class="part-diff">
          <h4>Answer</h4>
          <LongText text={visible(only.answer)} label={`The answer of ${inline(only.key)}`} />
        </div>
      )}
    </li>
  );
}

const ending = (side: StepSide): string => (side.error ? `failed with ${brief(side.error, 60)}` : side.answer === null ? 'has not ended' : 'answered');

function Reasons({ all }: { all: Reason[] }) {
  return (
    <>
      {all.slice(0, 30).map((reason, i) => (
        <div key={i} class="part-diff">
          <h4 dir="auto">
            <Ticks text={brief(capital(reason.what), 300)} />
          </h4>
          {reason.words ? (
            <Words parts={reason.words} label={`Where ${inline(reason.what)}`} />
          ) : (
            ('before' in reason || 'now' in reason) && !reason.source && <BeforeNow before={reason.before ?? undefined} now={reason.now ?? undefined} />
          )}
        </div>
      ))}
    </>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

interface UsedProps {
  name: string;
  run: string;
  side: StepSide;
}

/** What a step used in one of the runs, and the way to it. */
function Used({ name, run, side }: UsedProps) {
  const { usage } = side;
  const money = usage ? cost(usage.cost_micro ?? 0, usage.unpriced_calls ?? 0) : '';
  const tokens = usage && (usage.unknown_calls ?? 0) === 0 ? several((usage.input_tokens ?? 0) + (usage.output_tokens ?? 0), 'token') : '';
  const used = [money, tokens, side.duration_ms == null ? '' : duration(side.duration_ms)].filter(Boolean);
  return (
    <span>
      <a href={address(['runs', run, 'steps', side.key])}>
        <span class="sr">{inline(side.key)} in the </span>
        {name}
      </a>{' '}
      <span class="muted">{side.kept ? 'kept, nothing used' : used.join(', ')}</span>
    </span>
  );
}
