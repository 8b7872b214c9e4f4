// Cuts a message at the places where its text comes from somewhere else.

import type { Span } from './trace.ts';

export interface Piece {
  text: string;
  /** Nothing: the trace does not say. */
  span: Span | null;
}

/**
 * The pieces of a text, in order, which together are the text. Spans count Unicode scalar values, and texts here UTF-16
 * units, so that both are walked side by side, once. A span that is out of order or reaches beyond the end is cut to what
 * is left; what no span covers has no source.
 */
export function pieces(text: string, spans: readonly Span[] | null | undefined): Piece[] {
  const out: Piece[] = [];
  let units = 0;
  let scalars = 0;
  /** The UTF-16 offset of a scalar that is not before the last one asked for. */
  const offset = (scalar: number): number => {
    while (scalars < scalar && units < text.length) {
      const code = text.codePointAt(units) ?? 0;
      units += code > 0xffff ? 2 : 1;
      scalars += 1;
    }
    return units;
  };
  let end = 0;
  const take = (to: number, span: Span | null) => {
    if (to > end) out.push({ text: text.slice(end, to), span });
    end = Math.max(end, to);
  };
  for (const span of spans ?? []) {
    if (!(span.start >= 0) || !(span.end > span.start) || span.end <= scalars) continue;
    take(offset(Math.max(span.start, scalars)), null);
    take(offset(span.end), span);
  }
  take(text.length, null);
  return out;
}

/** What a source is called, and how it is marked in the text. */
export const SOURCES: Record<string, { name: string; mark: string; says: string }> = {
  literal: { name: 'manifest', mark: 'literal', says: 'text of the manifest' },
  const: { name: 'format', mark: 'literal', says: 'text that the format adds' },
  input: { name: 'input', mark: 'input', says: 'the run’s input' },
  step: { name: 'step', mark: 'step', says: 'the result of a step' },
  several: { name: 'several steps', mark: 'step', says: 'combined from several steps' },
  item: { name: 'item', mark: 'item', says: 'the item of this pass' },
  index: { name: 'index', mark: 'item', says: 'the number of this pass' },
  env: { name: 'environment', mark: 'env', says: 'an environment variable; its value is not in the trace' },
  secret: { name: 'secret', mark: 'env', says: 'a secret; its value is not in the trace' },
  failure: { name: 'failure', mark: 'failure', says: 'text of an error' },
  run: { name: 'run', mark: 'run', says: 'data about the run' },
  other: { name: 'changed or unknown', mark: 'other', says: 'changed before use, or unknown' },
};

export const source = (span: Span | null) => SOURCES[span?.from ?? 'other'] ?? SOURCES['other']!;
