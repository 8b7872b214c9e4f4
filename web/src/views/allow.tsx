// A run that stopped before something that somebody has to allow: what that is, and the button that allows it.

import { useSignal } from '@preact/signals';
import { Ticks } from '../parts/status.tsx';
import { may } from '../server/api.ts';
import type { StoppedBefore } from '../server/types.ts';
import { brief, inline, several } from '../text.ts';
import { Twice } from './common.tsx';

interface AllowProps {
  stopped: StoppedBefore;
  busy: boolean;
  resume: (allowed: Record<string, unknown>) => void;
}

export function AllowPanel({ stopped, busy, resume }: AllowProps) {
  const { raise, rerun } = stopped;
  return (
    <div class="stopped" dir="auto">
      <p>
        <b>Waiting:</b> <Ticks text={brief(stopped.text, 700)} />
      </p>
      {may('run') && rerun && rerun.length > 0 && (
        <p class="buttons">
          <Twice
            label={`Run ${rerun.length === 1 ? inline(rerun[0]!) : several(rerun.length, 'step')} again`}
            sure="What it did before may be done twice. Run it again?"
            act={() => resume({ rerun })}
            busy={busy}
          />
        </p>
      )}
      {may('run') && raise?.calls != null && <Raise unit="model calls" value={raise.calls} step={1} busy={busy} raise={(max_calls) => resume({ max_calls })} />}
      {may('run') && raise?.cost_micro != null && <Raise unit="dollars" value={raise.cost_micro / 1e6} step="any" busy={busy} raise={(max_cost) => resume({ max_cost })} />}
    </div>
  );
}

/** A run that failed at a limit: it goes on with another one. */
export function RaiseLimit({ busy, resume }: Omit<AllowProps, 'stopped'>) {
  const unit = useSignal<'max_calls' | 'max_cost'>('max_cost');
  const most = useSignal('');
  const value = Number(most.value);
  return (
    <form class="stopped buttons" onSubmit={(e) => (e.preventDefault(), value > 0 && resume({ [unit.value]: value }))}>
      <b>It reached a limit.</b>
      <label class="limit">
        At most <input type="text" inputMode="decimal" value={most.value} onInput={(e) => (most.value = e.currentTarget.value)} />
      </label>
      <select aria-label="Of what" value={unit.value} onChange={(e) => (unit.value = e.currentTarget.value as 'max_calls' | 'max_cost')}>
        <option value="max_cost">dollars</option>
        <option value="max_calls">model calls</option>
      </select>
      <button type="submit" class="button primary" disabled={busy || !(value > 0)}>
        Raise the limit and go on
      </button>
      <span class="muted">In all, with what it has used already.</span>
    </form>
  );
}

interface RaiseProps {
  unit: string;
  /** A limit that would be enough for what is known to be needed. */
  value: number;
  step: number | 'any';
  busy: boolean;
  raise: (to: number) => void;
}

function Raise({ unit, value, step, busy, raise }: RaiseProps) {
  const to = useSignal(value);
  return (
    <form class="buttons" onSubmit={(e) => (e.preventDefault(), to.value > 0 && raise(to.value))}>
      <label class="limit">
        At most <input type="number" min="0" step={step} value={to.value} onInput={(e) => (to.value = Number(e.currentTarget.value))} /> {unit}
      </label>
      <button type="submit" class="button primary" disabled={busy || !(to.value > 0)}>
        Raise the limit and go on
      </button>
    </form>
  );
}
