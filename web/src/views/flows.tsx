// The flows of the server.

import { useSignal } from '@preact/signals';
import { ask, may } from '../server/api.ts';
import { useRepeated } from '../server/repeat.ts';
import { address } from '../server/route.ts';
import type { FlowList } from '../server/types.ts';
import { brief, inline } from '../text.ts';
import { Empty, Failed, Findings } from './common.tsx';

const SAYS = { ready: '', stale: 'its files were edited and do not load: the last version runs', blocked: 'cannot run now' };

export function FlowsView() {
  const list = useSignal<FlowList | null>(null);
  const failed = useSignal<unknown>(null);
  useRepeated(
    async (signal) => {
      try {
        list.value = await ask<FlowList>('/flows', { signal });
        failed.value = null;
      } catch (why) {
        if (!signal.aborted) failed.value = why;
      }
    },
    5_000,
    [],
  );
  const { flows, broken } = list.value ?? { flows: [], broken: [] };
  return (
    <main class="page">
      <h1>Flows</h1>
      <Failed why={failed.value} what="The list is not up to date." />
      {list.value && flows.length === 0 && broken.length === 0 && <Empty title="No flow is served">Put a manifest into the folder of the server; it appears here at once.</Empty>}
      <ul class="cards">
        {flows.map((flow) => (
          <li key={flow.name} class={`card-of ${flow.state}`}>
            <h2>
              <a href={address(['flows', flow.name])}>{brief(flow.name, 80)}</a>
              <span class="muted">{inline(flow.dialect)}</span>
            </h2>
            {flow.description && <p dir="auto">{brief(flow.description, 240)}</p>}
            {flow.state !== 'ready' && (
              <p class="fault" dir="auto">
                {brief(flow.blocked_by ? `${SAYS.blocked}: ${flow.blocked_by}` : SAYS[flow.state], 300)}
              </p>
            )}
            <p class="buttons">
              {may('run') && flow.state !== 'blocked' && (
                <a class="button" href={address(['start', flow.name])}>
                  Start
                </a>
              )}
              <a class="button" href={address([], { flow: flow.name })}>
                Runs
              </a>
            </p>
          </li>
        ))}
      </ul>
      {broken.map((one) => (
        <section key={one.target} class="block">
          <h2>
            <span class="word s-failed">does not load</span> <span class="place">{brief(one.target, 200)}</span>
          </h2>
          <Findings all={one.findings} />
        </section>
      ))}
    </main>
  );
}
