// What runs cost over all flows: by flow, and which step costs most.

import { Ticks } from '../parts/status.tsx';
import type { CostReport } from '../server/history.ts';
import { address } from '../server/route.ts';
import { brief, count, several } from '../text.ts';
import { CostText, Empty, Failed } from './common.tsx';
import { CostTable, ReadLine } from './costtable.tsx';
import type { ViewProps } from './list.ts';
import { useSince } from './since.tsx';

export function CostsView({ route }: ViewProps) {
  const { found, failed, chooser, words } = useSince<CostReport>(route, ['costs'], '/costs', '7d');
  const first = found?.steps.find((step) => (step.cost.usd ?? 0) > 0);
  const whole = found?.steps.reduce((sum, step) => sum + (step.cost.usd ?? 0), 0) ?? 0;
  const part = first && whole > 0 ? Math.round(((first.cost.usd ?? 0) / whole) * 100) : 0;
  return (
    <main class="page">
      <h1>
        Costs
        <span class="space" />
        {chooser}
      </h1>
      <Failed why={failed} what="The costs cannot be read." />
      {!found && !failed && <p class="loading" role="status">Reads the runs…</p>}
      {found && found.read.runs === 0 && (
        <Empty title={`No run in ${words}`}>
          {route.query.get('since') === '30d' ? <a href="#/">Show all runs</a> : <a href={address(['costs'], { since: '30d' })}>Look at the last 30 days</a>}
        </Empty>
      )}
      {found && found.read.runs > 0 && (
        <>
          {first && (
            <section class="verdict" aria-label="The most expensive step">
              <h2>
                <Ticks text={`\`${brief(first.step, 80)}\` of \`${brief(first.flow, 60)}\` cost most in ${words}: ${first.cost.text}, ${part}% of what steps cost.`} />
              </h2>
              <p>
                {several(first.calls, 'call')} in {several(first.runs, 'run')}
                {first.cost_per_call && `, ${first.cost_per_call.text} each on average`}.
                {first.dearest && (
                  <>
                    {' '}
                    <a href={address(['runs', first.dearest.run, 'steps', first.dearest.key])}>Look at the dearest call</a>
                  </>
                )}
              </p>
            </section>
          )}
          <section class="block">
            <h2>By step</h2>
            {found.steps.length === 0 ? <p class="muted">No run has called a model.</p> : <CostTable steps={found.steps} withFlow />}
          </section>
          <section class="block">
            <h2>By flow</h2>
            <table class="numbers short">
              <thead>
                <tr>
                  <th scope="col">Flow</th>
                  <th scope="col">Cost</th>
                  <th scope="col">Runs</th>
                  <th scope="col">Failed</th>
                </tr>
              </thead>
              <tbody>
                {found.flows.map((flow) => (
                  <tr key={flow.flow}>
                    <th scope="row">
                      <a href={address(['flows', flow.flow, 'history'], { since: route.query.get('since') })}>{brief(flow.flow, 80)}</a>
                    </th>
                    <td>
                      <CostText cost={flow.cost} />
                    </td>
                    <td>{count(flow.runs)}</td>
                    <td class={flow.failed > 0 ? 's-failed word' : 'muted'}>{count(flow.failed)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
          <ReadLine read={found.read} />
        </>
      )}
    </main>
  );
}
