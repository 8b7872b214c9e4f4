// What a new run would keep of an earlier one, what would run again, and what that costs at most.

import { useSignal } from '@preact/signals';
import { link } from '../links.ts';
import { Ticks } from '../parts/status.tsx';
import type { ForkPreview, StepPreview } from '../server/types.ts';
import { brief, inline, money, several } from '../text.ts';
import { atMost } from './common.tsx';

/** What becomes of calls: how it is said of one, and of several. */
const HEADINGS: [string, StepPreview['decision'][], string, string][] = [
  ['again', ['again', 'stopped'], 'runs again', 'run again'],
  ['new', ['new'], 'runs for the first time', 'run for the first time'],
  ['later', ['later'], 'depends on what runs before it', 'depend on what runs before them'],
  ['kept', ['kept'], 'is kept and not paid again', 'are kept and not paid again'],
  ['unused', ['unused'], 'is not used any more', 'are not used any more'],
];

export function ForkSteps({ found }: { found: ForkPreview }) {
  return (
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
              <Ticks text={found.up_to_date ? 'nothing' : atMost(found.cost)} />
            </b>
            {!found.up_to_date && found.cost.expected && <span class="muted">, {found.cost.expected.text} on average so far</span>}
          </dd>
        </div>
      </dl>
      {found.error && (
        <p class="fault" dir="auto">
          It would fail: {brief(found.error, 400)}
        </p>
      )}
    </>
  );
}

/** What the button says. A limit counts where it is below what is known, or nothing is. */
export function shortCost({ cost, up_to_date }: ForkPreview, limit: number | null): string {
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
