// Which runs: the address holds the filters, so that a list can be linked to.

import { useEffect, useRef } from 'preact/hooks';
import { address, go, replace } from '../server/route.ts';
import { type Filters, SPANS } from '../server/runs.ts';
import type { FlowSummary } from '../server/types.ts';

const STATUSES = ['running', 'waiting', 'completed', 'failed', 'cancelled', 'interrupted', 'pending'];

export function RunFilters({ filters, flows }: { filters: Filters; flows: FlowSummary[] }) {
  const set = (change: Filters) => go(address([], { ...filters, ...change }));
  /** Letter by letter, which are not places to come back to. */
  const type = (change: Filters) => replace(address([], { ...filters, ...change }));
  const names = new Set(flows.map((flow) => flow.name));
  if (filters.flow) names.add(filters.flow);
  return (
    <form class="filters" role="search" aria-label="Which runs" onSubmit={(e) => e.preventDefault()}>
      <Typed label="Search ids, flows, errors and labels" placeholder="Search runs" value={filters.text ?? ''} set={(text) => type({ text })} />
      <Choice label="Status" value={filters.status} all="any status" options={STATUSES.map((s) => [s, s])} set={(status) => set({ status })} />
      <Choice label="Flow" value={filters.flow} all="all flows" options={[...names].map((n) => [n, n])} set={(flow) => set({ flow })} />
      <Choice
        label="Since"
        value={filters.since}
        all="any time"
        options={Object.entries(SPANS).map(([id, [name]]) => [id, name])}
        set={(since) => set({ since })}
      />
      <Typed
        narrow
        label="Label, as KEY:VALUE"
        placeholder="KEY:VALUE"
        value={filters.label ?? ''}
        set={(label) => (label === '' || /^[^:]+:./.test(label)) && type({ label })}
      />
      {Object.keys(filters).length > 0 && (
        <a class="quiet" href="#/">
          Show all
        </a>
      )}
    </form>
  );
}

interface TypedProps {
  narrow?: boolean;
  label: string;
  placeholder: string;
  value: string;
  set: (text: string) => void;
}

/** A field whose text counts when somebody pauses. Until then, the list may be drawn again, and must not take letters away. */
function Typed({ narrow, label, placeholder, value, set }: TypedProps) {
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  const latest = useRef(set);
  latest.current = set;
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      ref={field}
      type="search"
      class={narrow ? 'label' : ''}
      aria-label={label}
      placeholder={placeholder}
      autocomplete="off"
      spellcheck={false}
      onInput={(e) => {
        const text = e.currentTarget.value.trim();
        clearTimeout(timer.current);
        timer.current = setTimeout(() => latest.current(text), 250) as unknown as number;
      }}
    />
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
