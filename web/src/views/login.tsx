// Where the server asks for a key. It stays in the memory of this page: closing or reloading it forgets the key.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { logIn, Problem } from '../server/api.ts';
import { Failed } from './common.tsx';

export function Login({ why }: { why: string }) {
  const failed = useSignal<unknown>(null);
  const busy = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const enter = async (e: Event) => {
    e.preventDefault();
    const given = field.current?.value.trim() ?? '';
    if (!given || busy.value) return;
    busy.value = true;
    failed.value = null;
    try {
      await logIn(given);
    } catch (error) {
      failed.value = error;
      if (error instanceof Problem) field.current?.select();
    }
    busy.value = false;
  };
  return (
    <main class="page narrow">
      <form class="login" onSubmit={enter} autocomplete="off">
        <h1>Key</h1>
        <p>{why} It is kept in the memory of this page only, until you close or reload it.</p>
        <label>
          <span>Key</span>
          <input ref={field} type="password" name="key" autocomplete="off" spellcheck={false} required />
        </label>
        <Failed why={failed.value} />
        <button type="submit" class="button primary" disabled={busy.value}>
          {busy.value ? 'Asks the server…' : 'Enter'}
        </button>
        <p class="muted">
          The operator makes one with <code>trefoil keys add NAME --scope read,run,answer</code>.
        </p>
      </form>
    </main>
  );
}
