// Cutting messages at their sources.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pieces } from '../../src/spans.ts';
import type { Span } from '../../src/trace.ts';
import { message } from '../fixtures/traces.ts';

const span = (start: number, end: number): Span => ({ start, end, from: 'step' });
const cut = (text: string, spans: Span[]) => pieces(text, spans).map((p) => [p.text, p.span ? `${p.span.start}-${p.span.end}` : '']);

test('spans count characters, not the units that texts are stored in', () => {
  const { content, spans } = message('user', [['𝔘𝔫𝔦 '], ['é漢👩‍👩‍👧', { from: 'input' }], [' end']]);
  assert.deepEqual(
    pieces(content, spans).map((p) => [p.text, p.span?.from]),
    [
      ['𝔘𝔫𝔦 ', 'literal'],
      ['é漢👩‍👩‍👧', 'input'],
      [' end', 'literal'],
    ],
  );
});

test('together the pieces are the text, whatever the spans are', () => {
  let state = 1;
  const next = (n: number) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state % n;
  };
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({ length: next(12) }, () => ['a', '𝔘', 'é', '\n', '漢'][next(5)]).join('');
    const spans = Array.from({ length: next(5) }, () => span(next(20) - 3, next(20) - 3));
    const got = pieces(text, spans);
    assert.equal(got.map((p) => p.text).join(''), text, JSON.stringify({ text, spans }));
    assert.ok(got.every((p) => p.text !== ''));
    assert.ok(got.every((p) => !/^[\udc00-\udfff]/.test(p.text)), 'no character is cut in two');
  }
});

test('what no span covers has no source', () => {
  assert.deepEqual(cut('abcdef', [span(1, 2), span(4, 5)]), [['a', ''], ['b', '1-2'], ['cd', ''], ['e', '4-5'], ['f', '']]);
  assert.deepEqual(cut('abc', []), [['abc', '']]);
  assert.deepEqual(cut('', [span(0, 3)]), []);
});

test('spans that overlap or are out of order are cut to what is left', () => {
  assert.deepEqual(cut('abcdef', [span(0, 4), span(2, 6)]), [['abcd', '0-4'], ['ef', '2-6']]);
  assert.deepEqual(cut('abcdef', [span(3, 6), span(0, 2)]), [['abc', ''], ['def', '3-6']]);
  assert.deepEqual(cut('abc', [span(1, 99)]), [['a', ''], ['bc', '1-99']]);
});

test('a megabyte with ten thousand spans is cut in one walk', () => {
  const text = 'x'.repeat(1_000_000);
  const spans = Array.from({ length: 10_000 }, (_, i) => span(i * 100, i * 100 + 50));
  const began = performance.now();
  assert.equal(pieces(text, spans).length, 20_000);
  // Once through takes milliseconds; once for each span would take minutes.
  assert.ok(performance.now() - began < 20_000);
});
