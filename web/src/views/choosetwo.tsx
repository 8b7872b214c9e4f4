// Two runs of the list are chosen, to be compared.

import type { Signal } from '@preact/signals';
import { address } from '../server/route.ts';
import type { RunSummary } from '../server/types.ts';
import { brief } from '../text.ts';

/** The chosen runs; none: nobody chooses. */
export type Chosen = Signal<RunSummary[] | null>;

export function ChooseTwo({ chosen }: { chosen: Chosen }) {
  const runs = chosen.value;
  if (runs === null) {
    return (
      <p class="choose">
        <button type="button" class="button" onClick={() => (chosen.value = [])}>
          Compare two…
        </button>
      </p>
    );
  }
  const [a, b] = [...runs].sort((one, other) => one.started.localeCompare(other.started));
  return (
    <p class="choose" role="group" aria-label="Compare two runs">
      {a && b ? (
        <a class="button primary" href={address(['compare'], { a: a.run, b: b.run })}>
          Compare <code>{brief(a.run, 8)}</code> and <code>{brief(b.run, 8)}</code>
        </a>
      ) : (
        <span role="status">{runs.length === 0 ? 'Choose two runs.' : 'Choose one more.'}</span>
      )}
      <button type="button" class="button" onClick={() => (chosen.value = null)}>
        Cancel
      </button>
    </p>
  );
}

/** Chooses a run or takes it back. Of three, the first is taken back. */
export function Pick({ run, chosen }: { run: RunSummary; chosen: Chosen }) {
  const runs = chosen.value;
  if (runs === null) return null;
  const isChosen = runs.some((one) => one.run === run.run);
  return (
    <input
      type="checkbox"
      class="pick"
      aria-label={`Compare run ${brief(run.run, 8)} of ${brief(run.flow, 60)}`}
      checked={isChosen}
      onChange={() => (chosen.value = isChosen ? runs.filter((one) => one.run !== run.run) : [...runs, run].slice(-2))}
    />
  );
}
