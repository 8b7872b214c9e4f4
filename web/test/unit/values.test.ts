import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText, roundUp } from '../../src/server/history.ts';
import { childrenOf } from '../../src/parts/jsontree.tsx';
import { lex, LONGEST, looksMarkdown, safeAddress } from '../../src/parts/markdown.tsx';
import { formsOf, parsed } from '../../src/parts/value.tsx';
import { momentAt } from '../../src/moments.ts';
import { linksOf } from '../../src/links.ts';

test('a value is offered as what it is, and a text of JSON as a tree', () => {
  assert.deepEqual(formsOf({ a: 1 }), ['json', 'text']);
  assert.deepEqual(formsOf('{"a": 1}'), ['json', 'text']);
  assert.deepEqual(formsOf('{"a": 1'), ['text']);
  assert.deepEqual(formsOf('Just words, 2 * 3 * 4 and a_b_c.'), ['text']);
  assert.deepEqual(formsOf('# Title\n\nwords'), ['text', 'markdown']);
  assert.deepEqual(formsOf('a **bold** word'), ['text', 'markdown']);
  assert.deepEqual(formsOf(12), ['text']);
  assert.equal(parsed('"text"'), undefined);
  const long = `[${'1,'.repeat(400_000)}1]`;
  assert.deepEqual(formsOf(long), ['text', 'json'], 'a long text is not read before somebody asks');
  assert.equal(looksMarkdown('see [here](https://example.org)'), true);
});

test('a link goes only where a link may go', () => {
  for (const bad of ['javascript:alert(1)', ' JavaScript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '//evil.example', 'vbscript:x', 'java\nscript:alert(1)', '#/runs', 'http:']) assert.equal(safeAddress(bad), null, bad);
  assert.equal(safeAddress('https://example.org/a b'), 'https://example.org/a%20b');
  assert.equal(safeAddress('mailto:ada@example.org'), 'mailto:ada@example.org');
});

test('no text holds the page up when it is cut into tokens', () => {
  const n = LONGEST - 1;
  const hostile = ['['.repeat(n), '*'.repeat(n), '> '.repeat(n / 2), '![['.repeat(n / 3), '`'.repeat(n), `${'a '.repeat(n / 2)}*`, '_a'.repeat(n / 2), '- '.repeat(n / 2), '<'.repeat(n), '|'.repeat(n), '](x'.repeat(n / 3)];
  for (const text of hostile) {
    const begun = performance.now();
    lex(text);
    const took = performance.now() - begun;
    if (process.env.SHOW) console.error(JSON.stringify(text.slice(0, 8)), Math.round(took));
    assert.ok(took < 3_000, `${JSON.stringify(text.slice(0, 12))}…: ${took} ms`);
  }
  assert.equal(lex('x'.repeat(LONGEST + 1)), null);
});

test('of a long list only the beginning is listed', () => {
  const list = Array.from({ length: 1_000_000 }, (_, i) => i);
  const begun = performance.now();
  assert.deepEqual(childrenOf(list, 3), [['0', 0], ['1', 1], ['2', 2]]);
  assert.deepEqual(childrenOf({ a: 1, b: 2, c: 3 }, 2), [['a', 1], ['b', 2]]);
  assert.ok(performance.now() - begun < 200);
});

test('how many runs the numbers are of is said', () => {
  const read = { runs: 300, more: false, journals: 200, cut: false, unreadable: 0, entries: 10 };
  assert.equal(readText(read), 'The numbers are of all 300 runs in this time. What steps cost was read of the newest 200 runs.');
  assert.match(readText({ ...read, runs: 1000, more: true }), /newest 1,000 runs; there are older ones/);
  assert.equal(readText({ ...read, runs: 2, journals: 1, unreadable: 1 }), 'The numbers are of all 2 runs in this time. 1 has no journal any more, so its steps are missing.');
});

test('an axis ends at a round number', () => {
  assert.deepEqual([0, 3, 70, 1200, 4_500_000].map(roundUp), [1, 5, 100, 2000, 5_000_000]);
});

test('an event is the last moment that is not later, and a query is no part of a step', () => {
  assert.deepEqual([momentAt([0, 5, 9], 6), momentAt([0, 5, 9], 9), momentAt([3], 1)], [1, 2, null]);
  const links = linksOf('r1');
  assert.equal(links.isOpen('#/runs/r1?event=4'), true);
  assert.equal(links.written('#/runs/r1/steps/a%3Fb?at=3'), 'a%3Fb');
});
