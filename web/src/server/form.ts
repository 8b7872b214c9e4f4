// A form made of a JSON Schema: one field for each property, and what its text means as JSON.

import type { ProblemBody } from './api.ts';
import type { Schema } from './types.ts';

export type FieldKind = 'text' | 'number' | 'boolean' | 'choice' | 'json' | 'any';

export interface Field {
  name: string;
  kind: FieldKind;
  required: boolean;
  schema: Schema;
  /** The values of a choice, as JSON. */
  options: string[];
}

/** What somebody has typed: a text for each field, and for `any`, whether it is JSON. */
export interface Entered {
  texts: Record<string, string>;
  json: Record<string, boolean>;
}

/** Where the input has no properties: one field for all of it. */
export const WHOLE = '';

export function fieldsOf(schema: Schema): Field[] {
  const properties = Object.entries(schema.properties ?? {});
  const required = new Set(schema.required ?? []);
  if (properties.length === 0) return [{ name: WHOLE, kind: 'any', required: false, schema, options: [] }];
  return properties.map(([name, of]) => ({
    name,
    kind: kindOf(of),
    required: required.has(name),
    schema: of,
    options: (of.enum ?? []).map((value) => JSON.stringify(value)),
  }));
}

function kindOf(schema: Schema): FieldKind {
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return 'choice';
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type) => type && type !== 'null');
  if (types.length !== 1) return 'any';
  switch (types[0]) {
    case 'string':
      return 'text';
    case 'number':
    case 'integer':
      return 'number';
    case 'boolean':
      return 'boolean';
    default:
      return 'json';
  }
}

export function emptyEntry(fields: Field[]): Entered {
  const texts: Record<string, string> = {};
  for (const field of fields) {
    const { default: given } = field.schema;
    texts[field.name] = given === undefined || given === null ? '' : field.kind === 'text' && typeof given === 'string' ? given : JSON.stringify(given);
  }
  return { texts, json: {} };
}

/** The input that was entered, or what is wrong with each field. */
export function readEntry(fields: Field[], entered: Entered): { input: unknown } | { faults: Record<string, string> } {
  const faults: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  for (const field of fields) {
    const text = entered.texts[field.name] ?? '';
    try {
      const value = valueOf(field, text, entered.json[field.name] ?? false);
      if (value !== undefined) values[field.name] = value;
      else if (field.required) faults[field.name] = 'this is needed';
    } catch (why) {
      faults[field.name] = why instanceof Error ? why.message : String(why);
    }
  }
  if (Object.keys(faults).length > 0) return { faults };
  return { input: fields.length === 1 && fields[0]?.name === WHOLE ? (values[WHOLE] ?? null) : values };
}

function valueOf({ kind, required }: Field, text: string, asJson: boolean): unknown {
  switch (kind) {
    case 'text':
      return text === '' && !required ? undefined : text;
    case 'any':
      if (text === '') return undefined;
      return asJson ? parsed(text) : text;
    case 'number': {
      if (text.trim() === '') return undefined;
      const number = Number(text);
      if (!Number.isFinite(number)) throw new Error('this is no number');
      return number;
    }
    default:
      return text.trim() === '' ? undefined : parsed(text);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (why) {
    throw new Error(`this is no JSON: ${why instanceof Error ? why.message : ''}`);
  }
}

/** What the server says about each field: its findings name the property in backticks. The rest is for the form as a whole. */
export function faultsOf(fields: Field[], problem: ProblemBody): { faults: Record<string, string>; rest: boolean } {
  const faults: Record<string, string> = {};
  let rest = false;
  for (const { message } of problem.errors ?? []) {
    const found = fields.find(({ name }) => name !== WHOLE && new RegExp(`input property \`${escape(name)}\``).test(message));
    if (found) faults[found.name] ??= message;
    else rest = true;
  }
  return { faults, rest: rest || Object.keys(faults).length === 0 };
}

const escape = (name: string): string => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** What was entered last for a flow, in this tab of the browser only. */
export const lastEntries = {
  read(flow: string): Entered[] {
    try {
      const all = JSON.parse(sessionStorage.getItem(`trefoil.input.${flow}`) ?? '[]') as unknown;
      return Array.isArray(all) ? (all as Entered[]).filter((one) => one && typeof one.texts === 'object') : [];
    } catch {
      return [];
    }
  },
  add(flow: string, entered: Entered) {
    const same = JSON.stringify(entered);
    const all = [entered, ...this.read(flow).filter((one) => JSON.stringify(one) !== same)].slice(0, 5);
    try {
      sessionStorage.setItem(`trefoil.input.${flow}`, JSON.stringify(all));
    } catch {
      // Too large, or not allowed: then it is not offered.
    }
  },
};
