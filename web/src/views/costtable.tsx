// What steps cost, the most expensive first, as bars and numbers.

import { useSignal } from '@preact/signals';
import type { Reading, StepCost } from '../server/history.ts';
import { readText } from '../server/history.ts';
import { address } from '../server/route.ts';
import { brief, count, duration, inline, money, several } from '../text.ts';
import { CostText } from './common.tsx';

const PAGE = 20;

export function CostTable({ steps, withFlow }: { steps: StepCost[]; withFlow: boolean }) {
  const most = useSignal(PAGE);
  const top = Math.max(1e-9, ...steps.map((step) => step.cost.usd ?? 0));
  return (
    <>
      <div class="sideways" tabIndex={0} role="group" aria-label="Steps by cost, which can be scrolled">
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">Cost</th>
              <th scope="col">A call</th>
              <th scope="col">Calls</th>
              <th scope="col">Failed</th>
              <th scope="col">Tokens</th>
              <th scope="col">Time of a call</th>
              <th scope="col">Dearest call</th>
            </tr>
          </thead>
          <tbody>
            {steps.slice(0, most.value).map((step) => (
              <tr key={`${step.flow} ${step.step}`}>
                <th scope="row">
                  {withFlow && <a href={address(['flows', step.flow, 'history'])}>{brief(step.flow, 60)}</a>}
                  {withFlow && <span class="muted"> / </span>}
                  <b>{brief(step.step, 80)}</b>
                  {step.model && <span class="place muted"> {brief(step.model, 50)}</span>}
                  <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                    <rect width={Math.max(0.5, ((step.cost.usd ?? 0) / top) * 100)} height="4" />
                  </svg>
                </th>
                <td>
                  <CostText cost={step.cost} />
                </td>
                <td>{step.cost_per_call ? <CostText cost={step.cost_per_call} /> : ''}</td>
                <td>
                  {count(step.calls)}
                  {step.reused > 0 && <span class="muted" title={`${several(step.reused, 'result')} of earlier runs used instead`}> +{count(step.reused)} kept</span>}
                </td>
                <td class={step.failed > 0 ? 's-failed word' : 'muted'}>{count(step.failed)}</td>
                <td>{count(step.tokens.input + step.tokens.output)}{step.tokens.unknown_calls > 0 && '+'}</td>
                <td>{step.call_ms === undefined ? '' : duration(step.call_ms)}</td>
                <td>
                  {step.dearest && (
                    <a href={address(['runs', step.dearest.run, 'steps', step.dearest.key])} aria-label={`The dearest call of ${inline(step.step)}, ${step.dearest.cost.text}`}>
                      {money(Math.round((step.dearest.cost.usd ?? 0) * 1e6))}
                    </a>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {steps.length > most.value && (
        <p class="more">
          <button type="button" onClick={() => (most.value += PAGE * 5)}>
            {several(steps.length - most.value, 'more step')}
          </button>
        </p>
      )}
    </>
  );
}

/** How much the numbers are of. */
export function ReadLine({ read }: { read: Reading }) {
  return <p class="read muted">{readText(read)}</p>;
}
