// Numbers, times, and texts that must not be able to hide anything.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { between, places } from '../../src/keys.ts';
import { brief, bytes, cost, duration, money, place, readable, shown, tick, tokens, visible } from '../../src/text.ts';
import { BIDI } from '../fixtures/traces.ts';

test('nothing in a shown text is invisible or turns the reading direction', () => {
  const text = visible(BIDI);
  assert.equal(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/.test(text), false);
  assert.ok(text.includes('⟨U+202E⟩') && text.includes('⟨U+001B⟩'), text);
  assert.equal(visible('a\tb\nc\r\nd'), 'a\tb\nc\nd');
  assert.equal(visible('שלום عربى 漢字'), 'שלום عربى 漢字');
});

test('times', () => {
  const cases: [number | null, string][] = [[null, '?'], [0, '0 ms'], [999, '999 ms'], [1000, '1.00 s'], [9_999, '9.99 s'], [59_999, '59.9 s'], [187_000, '3 min 07 s'], [3_599_999, '59 min 59 s'], [7_500_000, '2 h 05 min']];
  for (const [ms, said] of cases) assert.equal(duration(ms), said);
  assert.deepEqual([0, 0.5, 250, 2500, 20_000, 180_000].map(tick), ['0', '0.5 ms', '250 ms', '2.5 s', '20 s', '3 min']);
});

test('tokens that nobody counted are not zero', () => {
  assert.equal(tokens(0, 0, 0), '');
  assert.equal(tokens(1200, 0, 2), '1,200');
  assert.equal(tokens(0, 2, 2), '?');
  assert.equal(tokens(300, 1, 2), '300 + ?');
});

test('places, sizes, values', () => {
  assert.equal(place({ file: 'a.yaml', line: 3, column: 9 }), 'a.yaml:3:9');
  assert.equal(place({ file: 'a.yaml' }), 'a.yaml');
  assert.equal(place(null), '');
  assert.equal(place({ file: '/home/me/work/flows/a.yaml', line: 3 }), '…/flows/a.yaml:3');
  assert.equal(place({ file: 'some/where/else/flows/a.yaml', line: 3 }), 'some/where/else/flows/a.yaml:3');
  assert.equal(bytes(1_400_000), '1.4 MB');
  assert.equal(shown({ a: [1] }), '{\n  "a": [\n    1\n  ]\n}');
  assert.equal(shown('as it is'), 'as it is');
  assert.equal(brief('one\ntwo   three', 9), 'one two …');
});

test('keys say pass and item', () => {
  assert.equal(places('improve@2/reviewer'), 'pass 2');
  assert.equal(places('improve@1/reviewer'), '');
  assert.equal(places('@1', true), 'pass 1');
  assert.equal(places('grade[0]/swrm@3[11]/x#2!4'), 'item 1, pass 3, item 12, attempt 2, try 4');
  assert.deepEqual(between('grade[3]/a/b', 'grade'), { middle: '[3]/a', own: 'b' });
  assert.deepEqual(between('@2/writer', null), { middle: '@2', own: 'writer' });
  assert.deepEqual(between('a/b', 'a'), { middle: '', own: 'b' });
});

test('money is shown short and never too low, and a price that nobody knows is not zero', () => {
  const all = [0, 1, 123, 1_234, 12_300, 12_345, 1_000_000, 12_345_678, 5_500_000];
  assert.equal(all.map(money).join(' '), '$0 $0.000001 $0.000123 $0.00124 $0.0123 $0.0124 $1 $12.35 $5.50');
  assert.equal(cost(0, 0), '');
  assert.equal(cost(0, 2), '$?');
  assert.equal(cost(12_300, 1), '$0.0123 + ?');
});

test('texts of several lines in a result can be read as such', () => {
  assert.equal(readable({ ok: true, text: 'one\ntwo\n', title: 'T' }), 'ok: true\ntext:\n  one\n  two\ntitle: T');
  assert.equal(readable({ n: 3 }), shown({ n: 3 }));
  assert.equal(readable('a\nb'), 'a\nb');
});
