// One field of a form that was made of a schema.

import { useRef } from 'preact/hooks';
import { Ticks } from '../parts/status.tsx';
import { type Field, WHOLE } from '../server/form.ts';
import { brief, shown } from '../text.ts';

interface FieldProps {
  field: Field;
  text: string;
  isJson: boolean;
  fault: string | null;
  set: (text: string, json?: boolean) => void;
}

export function FieldInput({ field, text, isJson, fault, set }: FieldProps) {
  const { name, kind, required } = field;
  const id = `field-${name}`;
  const common = { id, 'aria-invalid': fault !== null, 'aria-describedby': `${id}-about`, 'aria-required': required };
  const type = (e: { currentTarget: { value: string } }) => set(e.currentTarget.value);
  const isLong = kind === 'text' || kind === 'json' || kind === 'any';
  return (
    <div class={`field${fault === null ? '' : ' wrong'}`}>
      <div class="field-head">
        <label class="name" for={id}>
          {name === WHOLE ? 'Input' : name} {!required && <span class="muted">optional</span>}
        </label>
        {kind === 'json' && <span class="muted">JSON</span>}
        {kind === 'any' && (
          <label class="as-json">
            <input type="checkbox" checked={isJson} onChange={(e) => set(text, e.currentTarget.checked)} /> as JSON
          </label>
        )}
        {isLong && <FromFile name={name} set={set} />}
      </div>
      {kind === 'choice' ? (
        <select {...common} onChange={type}>
          <option value="" selected={text === ''}>
            {required ? 'Choose one' : 'none'}
          </option>
          {field.options.map((option) => (
            <option key={option} value={option} selected={option === text}>
              {brief(shown(JSON.parse(option)), 80)}
            </option>
          ))}
        </select>
      ) : kind === 'boolean' ? (
        <select {...common} onChange={type}>
          {['', 'true', 'false'].map((option) => (
            <option key={option} value={option} selected={option === text}>
              {option === '' ? (required ? 'Choose one' : 'none') : option === 'true' ? 'yes' : 'no'}
            </option>
          ))}
        </select>
      ) : kind === 'number' ? (
        <input {...common} type="text" inputMode="decimal" value={text} onInput={type} />
      ) : (
        <textarea {...common} class={kind === 'json' || isJson ? 'mono' : ''} rows={rowsOf(text)} value={text} dir="auto" spellcheck={kind === 'text'} onInput={type} />
      )}
      <p id={`${id}-about`} class={fault === null ? 'muted' : 'fault'} dir="auto">
        {fault !== null ? <Ticks text={brief(fault, 400)} /> : <Ticks text={brief(about(field), 300)} />}
      </p>
    </div>
  );
}

const rowsOf = (text: string): number => Math.max(2, Math.min(16, text.slice(0, 4_000).split('\n').length + 1));

function about({ kind, schema }: Field): string {
  const bounds = kind === 'number' && (schema.minimum !== undefined || schema.maximum !== undefined);
  const range = bounds ? `from ${schema.minimum ?? '…'} to ${schema.maximum ?? '…'}` : '';
  return [schema.description ?? '', range].filter(Boolean).join(', ');
}

/** Takes the text of a file. */
function FromFile({ name, set }: { name: string; set: (text: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={field}
        type="file"
        hidden
        onChange={async (e) => {
          const file = e.currentTarget.files?.[0];
          if (file) set(await file.text());
        }}
      />
      <button type="button" class="quiet" aria-label={`Take ${name || 'the input'} from a file`} onClick={() => field.current?.click()}>
        From a file
      </button>
    </>
  );
}
