// A moment of a run in its address: `?event=N` is the moment of an event, as `trefoil runs events` numbers them, and `?at=MS` that of
// the time bar, so that what somebody sees can be linked to.

import { effect } from '@preact/signals';
import { momentAt } from '../moments.ts';
import type { State } from '../state.ts';
import { ask } from './api.ts';
import { readRoute } from './route.ts';

/** How long the bar must stand still before the address follows it. */
const STILL = 300;

/** Sets the time bar to what the address names. */
export async function readMoment(state: State, path: string, query: URLSearchParams, signal: AbortSignal): Promise<void> {
  const event = query.get('event');
  const at = query.get('at');
  let ms = at !== null && /^\d+$/.test(at) ? Number(at) : null;
  if (event !== null && /^\d+$/.test(event)) {
    const before = Number(event) - 1;
    const list = await ask<{ events: { at_ms?: number }[] }>(`${path}/events?limit=1${before >= 0 ? `&after=${before}` : ''}`, { signal });
    ms = list.events[0]?.at_ms ?? null;
  }
  if (ms === null) return;
  const moment = momentAt(state.moments, ms);
  state.moment.value = moment === null || moment >= state.moments.length - 1 ? null : moment;
  if (state.graph) state.tab.value = 'graph';
}

/** Keeps the moment of the time bar in the address, without places in the history. Returns what ends that. */
export function writeMoment(state: State): () => void {
  let timer = 0;
  let before = state.moment.peek();
  const stop = effect(() => {
    const moment = state.moment.value;
    const ms = state.at.value;
    if (moment === before) return;
    before = moment;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const { query } = readRoute(location.hash);
      query.delete('event');
      query.delete('at');
      if (ms !== null) query.set('at', String(Math.round(ms)));
      const rest = query.toString();
      history.replaceState(null, '', `${location.hash.split('?')[0]}${rest ? `?${rest}` : ''}`);
    }, STILL) as unknown as number;
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}
