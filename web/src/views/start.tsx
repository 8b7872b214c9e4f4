// Starts a run: choose a flow, fill in its input.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ask, newRequestKey, NoAnswer, Problem } from '../server/api.ts';
import { emptyEntry, type Entered, type Field, faultsOf, fieldsOf, lastEntries, readEntry } from '../server/form.ts';
import { address, go } from '../server/route.ts';
import type { FlowDetail, FlowList, FlowSummary, RunSummary } from '../server/types.ts';
import { brief } from '../text.ts';
import { Empty, Failed } from './common.tsx';
import { FieldInput } from './field.tsx';
import type { ViewProps } from './list.ts';

export function StartView({ route }: ViewProps) {
  const name = route.path[1];
  const flows = useSignal<FlowSummary[] | null>(null);
  const flow = useSignal<FlowDetail | null>(null);
  const failed = useSignal<unknown>(null);
  useEffect(() => {
    const load = async () => {
      flows.value = (await ask<FlowList>('/flows')).flows;
      if (name) flow.value = await ask<FlowDetail>(`/flows/${encodeURIComponent(name)}`);
    };
    load().catch((why: unknown) => (failed.value = why));
  }, []);
  return (
    <main class="page narrow">
      <h1>Start a run</h1>
      <Failed why={failed.value} />
      {flows.value?.length === 0 && <Empty title="No flow is served">Put a manifest into the folder of the server; it appears here at once.</Empty>}
      {(flows.value?.length ?? 0) > 0 && (
        <label class="field">
          <span class="name">Flow</span>
          <select aria-label="Flow" onChange={(e) => go(address(['start', e.currentTarget.value]))}>
            {!name && <option value="">Choose one</option>}
            {flows.value?.map((one) => (
              <option key={one.name} value={one.name} selected={one.name === name} disabled={one.state === 'blocked'}>
                {one.name}
                {one.state === 'blocked' ? ' (cannot run now)' : ''}
              </option>
            ))}
          </select>
        </label>
      )}
      {flow.value && <StartForm flow={flow.value} />}
    </main>
  );
}

function StartForm({ flow }: { flow: FlowDetail }) {
  const fields = useRef(fieldsOf(flow.input_schema)).current;
  const earlier = useRef(lastEntries.read(flow.name)).current;
  const entered = useSignal<Entered>(emptyEntry(fields));
  const faults = useSignal<Record<string, string>>({});
  const failed = useSignal<unknown>(null);
  const busy = useSignal(false);
  const limit = useRef<HTMLInputElement>(null);
  const form = useRef<HTMLFormElement>(null);
  /** The same key as long as it is the same request: sent again, it starts once. */
  const sent = useRef({ body: '', key: '' });

  const start = async (e: Event) => {
    e.preventDefault();
    if (busy.value) return;
    const read = readEntry(fields, entered.value);
    failed.value = null;
    faults.value = 'faults' in read ? read.faults : {};
    if ('faults' in read) return showFirst();
    const most = limit.current?.value.trim();
    const body = { flow: flow.name, input: read.input, ...(most ? { max_cost: Number(most) } : {}) };
    const text = JSON.stringify(body);
    if (sent.current.body !== text) sent.current = { body: text, key: newRequestKey() };
    busy.value = true;
    try {
      const run = await ask<RunSummary>('/runs', { method: 'POST', body, headers: { 'idempotency-key': sent.current.key } });
      lastEntries.add(flow.name, entered.value);
      go(address(['runs', run.run]));
    } catch (why) {
      // After no answer, the same request may have started the run: it keeps its key.
      if (!(why instanceof NoAnswer)) sent.current = { body: '', key: '' };
      if (why instanceof Problem) {
        const said = faultsOf(fields, why.body);
        faults.value = said.faults;
        failed.value = said.rest ? why : null;
        if (!said.rest) showFirst();
      } else failed.value = why;
    }
    busy.value = false;
  };
  const showFirst = () => setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  const set = (field: Field, text: string, json?: boolean) => {
    const { texts, json: kinds } = entered.value;
    entered.value = { texts: { ...texts, [field.name]: text }, json: json === undefined ? kinds : { ...kinds, [field.name]: json } };
  };

  return (
    <form class="start" ref={form} onSubmit={start} noValidate>
      {flow.description && (
        <p class="muted" dir="auto">
          {brief(flow.description, 400)}
        </p>
      )}
      {earlier.length > 0 && (
        <p class="earlier">
          <span class="muted">Earlier inputs of this tab:</span>
          {earlier.map((one, i) => (
            <button key={i} type="button" class="button" onClick={() => (entered.value = one)}>
              {brief(Object.values(one.texts).filter(Boolean).join(' · '), 40) || 'empty'}
            </button>
          ))}
        </p>
      )}
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          text={entered.value.texts[field.name] ?? ''}
          isJson={entered.value.json[field.name] ?? false}
          fault={faults.value[field.name] ?? null}
          set={(text, json) => set(field, text, json)}
        />
      ))}
      <label class="field limit">
        <span class="name">
          Limit in dollars <span class="muted">optional</span>
        </span>
        <input ref={limit} type="number" min="0" step="any" placeholder="no limit of its own" />
      </label>
      <Failed why={failed.value} what="The run did not start." />
      <p>
        <button type="submit" class="button primary" disabled={busy.value}>
          {busy.value ? 'Starts…' : `Start ${brief(flow.name, 40)}`}
        </button>
      </p>
    </form>
  );
}
