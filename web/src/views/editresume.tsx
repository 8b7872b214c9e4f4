// A run of the edit: what it keeps, what runs again and what that costs at most, before the click.

import { useSignal } from '@preact/signals';
import type { EditStore } from '../server/edit.ts';
import { address, go } from '../server/route.ts';
import { several } from '../text.ts';
import { Failed } from './common.tsx';
import { ForkSteps, shortCost } from './kept.tsx';
import { DollarLimit, dollarsOf } from './limit.tsx';

export function EditResume({ store }: { store: EditStore }) {
  const busy = useSignal(false);
  const failed = useSignal<unknown>(null);
  const limit = useSignal('');
  const found = store.meaning.value?.fork;
  const most = dollarsOf(limit.value);
  const start = async () => {
    busy.value = true;
    failed.value = null;
    try {
      const started = await store.start(most === null ? {} : { max_cost: most });
      go(address(['runs', started.run]));
    } catch (why) {
      failed.value = why;
      busy.value = false;
    }
  };
  if (!found) return null;
  const isOld = store.mistake.value !== null || store.asks.value;
  return (
    <section class="block fork edit-resume" aria-label="A run of this edit">
      <div class="block-head">
        <h2>Go on with this edit</h2>
        <span class="muted">{several(found.kept, 'call')} kept</span>
      </div>
      <ForkSteps found={found} />
      {found.up_to_date && <p>The edit changes no request: a run of it would keep everything.</p>}
      <Failed why={failed.value} what="There is no such run." />
      <p class="buttons">
        <button type="button" class="button primary" disabled={busy.value || isOld || Number.isNaN(most ?? 0)} onClick={() => void start()}>
          {busy.value ? 'Starts…' : `Resume with this edit (${shortCost(found, most)})`}
        </button>
        <DollarLimit text={limit} />
        <span class="muted">A new run; the earlier one stays as it is.</span>
      </p>
    </section>
  );
}
