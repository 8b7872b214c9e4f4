// Numbers of the runs of some time, which is in the address.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { ask } from '../server/api.ts';
import { address, go, type Route } from '../server/route.ts';
import { SPANS } from '../server/runs.ts';

/** How long: the name in the address, and the words for it. */
const ALL = 'all';
const CHOICES: [string, string][] = [...Object.entries(SPANS).map(([id, [words]]): [string, string] => [id, words]), [ALL, 'all time']];

interface Since<T> {
  found: T | null;
  failed: unknown;
  chooser: ComponentChildren;
  /** `the last week`. */
  words: string;
}

/** Asks once, and again when another time is chosen or somebody wants it: reading many journals is no small thing. */
export function useSince<T>(route: Route, path: string[], asked: string, first: string): Since<T> {
  const found = useSignal<T | null>(null);
  const failed = useSignal<unknown>(null);
  const again = useSignal(0);
  const since = CHOICES.some(([id]) => id === route.query.get('since')) ? route.query.get('since')! : first;
  useEffect(() => {
    const gone = new AbortController();
    const span = SPANS[since]?.[1];
    const query = span === undefined ? '' : `?since=${encodeURIComponent(new Date(Date.now() - span).toISOString())}`;
    failed.value = null;
    ask<T>(`${asked}${query}`, { signal: gone.signal }).then(
      (got) => (found.value = got),
      (why: unknown) => {
        if (!gone.signal.aborted) failed.value = why;
      },
    );
    return () => gone.abort();
  }, [since, asked, again.value]);
  const chooser = (
    <span class="since">
      <select aria-label="Since" onChange={(e) => go(address(path, { ...Object.fromEntries(route.query), since: e.currentTarget.value }))}>
        {CHOICES.map(([id, words]) => (
          <option key={id} value={id} selected={id === since}>
            {words}
          </option>
        ))}
      </select>
      <button type="button" class="button" onClick={() => (again.value += 1)}>
        Refresh
      </button>
    </span>
  );
  return { found: found.value, failed: failed.value, chooser, words: CHOICES.find(([id]) => id === since)?.[1] ?? '' };
}
