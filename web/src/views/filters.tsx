// Which runs: the address holds the filters, so that a list can be linked to.

import { useRef } from 'preact/hooks';
import { address, go, replace } from '../server/route.ts';
import { type Filters, SPANS } from '../server/runs.ts';
import type { FlowSummary } from '../server/types.ts';

const STATUSES = ['running', 'waiting', 'completed', 'failed', 'cancelled', 'interrupted', 'pending'];

export function RunFilters({ filters, flows }: { filters: Filters; flows: FlowSummary[] }) {
  const timer = useRef(0);
  const set = (change: Filters) => go(address([], { ...filters, ...change }));
  /** Letter by letter, which are not places to come back to. */
  const type = (change: Filters) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => replace(address([], { ...filters, ...change })), 250) as unknown as number;
  };
  const names = new Set(flows.map((flow) => flow.name));
  if (filters.flow) names.add(filters.flow);
  return (
    <form class="filters" role="search" aria-label="Which runs" onSubmit={(e) => e.preventDefault()}>
      <input
        type="search"
        aria-label="Search ids, flows, errors and labels"
        placeholder="Search runs"
        value={filters.text ?? ''}
        onInput={(e) => type({ text: e.currentTarget.value })}
      />
      <Choice label="Status" value={filters.status} all="any status" options={STATUSES.map((s) => [s, s])} set={(status) => set({ status })} />
      <Choice label="Flow" value={filters.flow} all="all flows" options={[...names].map((n) => [n, n])} set={(flow) => set({ flow })} />
      <Choice
        label="Since"
        value={filters.since}
        all="any time"
        options={Object.entries(SPANS).map(([id, [name]]) => [id, name])}
        set={(since) => set({ since })}
      />
      <input
        class="label"
        aria-label="Label, as KEY:VALUE"
        placeholder="KEY:VALUE"
        autocomplete="off"
        value={filters.label ?? ''}
        onInput={(e) => {
          const label = e.currentTarget.value.trim();
          if (label === '' || /^[^:]+:./.test(label)) type({ label });
        }}
      />
      {Object.keys(filters).length > 0 && (
        <a class="quiet" href="#/">
          Show all
        </a>
      )}
    </form>
  );
}

interface ChoiceProps {
  label: string;
  value: string | undefined;
  all: string;
  options: [string, string][];
  set: (value: string) => void;
}

function Choice({ label, value, all, options, set }: ChoiceProps) {
  return (
    <select aria-label={label} class={value ? 'set' : ''} onChange={(e) => set(e.currentTarget.value)}>
      <option value="" selected={!value}>
        {all}
      </option>
      {options.map(([id, name]) => (
        <option key={id} value={id} selected={id === value}>
          {name}
        </option>
      ))}
    </select>
  );
}
