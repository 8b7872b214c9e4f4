// Texts for people: numbers, times, and strangers' texts made harmless to look at.

import type { Cause } from './trace.ts';

// Control characters, and those that steer the reading direction or cannot be seen at all.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** What should be a text, as one: a trace may come from another version. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : value == null ? '' : shown(value));

/** A text in which nothing is invisible or turns the reading direction: such characters are shown by name. */
export function visible(text: string): string {
  return textOf(text).replace(/\r\n/g, '\n').replace(UNSEEN, (c) => {
    return `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** The same in one line. */
export const inline = (text: string): string => visible(textOf(text).replace(/\s+/g, ' ').trim());

/** At most `length` characters of a text, in one line. */
export function brief(text: string, length: number): string {
  const line = inline(textOf(text).slice(0, length * 4));
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

const GROUPED = new Intl.NumberFormat('en-US');

/** `12,345`; `?` where it is not known. */
export const count = (n: number | null | undefined): string => (n == null ? '?' : GROUPED.format(n));

/** `3 steps`. */
export const several = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

/** `830 ms`, `4.21 s`, `3 min 07 s`, `2 h 05 min`. */
export function duration(ms: number | null | undefined): string {
  if (ms == null) return '?';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 10) / 100).toFixed(2)} s`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, '0')} min`;
}

/** A time on an axis: `0`, `250 ms`, `2.5 s`, `20 s`, `3 min`. */
export function tick(ms: number): string {
  if (ms === 0) return '0';
  if (ms < 1000) return `${Number(ms.toFixed(2))} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(3))} s`;
  return duration(ms).replace(' 00 s', '');
}

/** `1.4 MB`. */
export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)} kB`;
  return `${(n / 1_000_000).toFixed(1)} MB`;
}

/** `flow.yaml:12:9`; of a long absolute path the end, which tells files apart. The run's own view has the whole. */
export function place(at: { file?: string | null; line?: number | null; column?: number | null } | null | undefined): string {
  if (!at?.file) return '';
  const line = at.line == null ? '' : `:${at.line}${at.column == null ? '' : `:${at.column}`}`;
  const parts = at.file.split(/[\\/]/);
  const long = parts.length > 4 && /^([\\/]|[A-Za-z]:)/.test(at.file);
  return inline(long ? `…/${parts.slice(-2).join('/')}` : at.file) + line;
}

/** A value as text: a text as it is, anything else as JSON over several lines. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}

/** A value for reading: an object with texts of several lines as its names with these texts, anything else as `shown`. */
export function readable(value: unknown): string {
  const long = (one: unknown): one is string => typeof one === 'string' && one.trimEnd().includes('\n');
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.values(value).some(long)) return shown(value);
  const lines = Object.entries(value).map(([name, one]) =>
    long(one) ? `${name}:\n${one.trimEnd().replace(/^/gm, '  ')}` : `${name}: ${typeof one === 'string' ? one : JSON.stringify(one)}`,
  );
  return lines.join('\n');
}

/** `22 Nov 2026, 15:30:00`, in the reader's time zone. */
export function moment(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return inline(iso);
  return at.toLocaleString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** Whole tokens of a call or step: `120`, `120 + ?` where some are not known, `?` where none is, empty without calls. */
export function tokens(known: number, unknownCalls: number, calls: number): string {
  if (calls === 0) return '';
  if (unknownCalls === 0) return count(known);
  return unknownCalls >= calls && known === 0 ? '?' : `${count(known)} + ?`;
}

/** Millionths of a dollar, rounded up to three significant digits below a dollar and to cents above: `$0.0123`. */
export function money(micro: number): string {
  let step = 10_000;
  while (step > 1 && micro < step * 100) step /= 10;
  const [whole, part = ''] = ((Math.ceil(micro / step) * step) / 1e6).toFixed(6).split('.');
  const digits = part.replace(/0+$/, '');
  return digits === '' ? `$${whole}` : `$${whole}.${digits.padEnd(2, '0')}`;
}

/** What calls cost: `$0.0123`, `$0.0123 + ?` where the cost of some is not known, `$?` where that of none is, empty where nothing. */
export function cost(micro: number, unpricedCalls: number): string {
  if (unpricedCalls === 0) return micro === 0 ? '' : money(micro);
  return micro === 0 ? '$?' : `${money(micro)} + ?`;
}

const CAUSES: Record<string, string> = { network: 'no answer', guardrail: 'a guardrail', timeout: 'a time limit', arguments: 'the arguments' };

/** What a failure came from, in words; empty where nothing is known. */
export function cause(of: Cause | null | undefined): string {
  if (of == null) return '';
  if (typeof of === 'string') return CAUSES[of] ?? inline(of);
  return typeof of.status === 'number' ? `HTTP status ${of.status}` : brief(shown(of), 200);
}
