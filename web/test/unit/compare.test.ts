import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Comparison, figures, groupSteps, outcome, type StepDiff, verdict } from '../../src/server/compare.ts';
import { pieces, upTo } from '../../src/words.ts';

const side = (run: string, change = {}) => ({ run, flow: 'f', status: 'completed', error: null, calls: 2, usage: { input_tokens: 100, output_tokens: 10, cost_micro: 2_000_000 }, duration_ms: 1000, ...change });
const half = (key: string, change = {}) => ({ key, sort: 'model', answer: 'x', error: null, kept: null, usage: null, duration_ms: 5, ...change });
const step = (key: string, same: boolean, change: Partial<StepDiff> = {}): StepDiff => ({ same, a: half(key), b: half(key), request: [], answer: null, ...change });
const comparison = (change: Partial<Comparison> = {}): Comparison => ({ a: side('a'), b: side('b'), input: [], models: [], files: [], steps: [], output: [{ same: 'x' }], ...change });

test('the verdict names what went in first, then the first step that differs', () => {
  const input = [{ path: 'topic', before: 'river', now: 'sea', words: null }];
  assert.equal(verdict(comparison({ input, steps: [step('a', false)] })), 'The input differs in `topic`: “river” became “sea”.');
  const files = [{ path: 'story.yaml', change: 'changed' as const, words: [] }];
  assert.equal(verdict(comparison({ input, files, steps: [step('a', false)] })), 'The input differs in `topic`: “river” became “sea”, and the file `story.yaml` differs.');
  assert.match(verdict(comparison({ files })), /Every step is the same nevertheless/);
  assert.equal(verdict(comparison({ steps: [step('one', true), step('two', false)] })), 'What went in is the same. `two` was asked the same, and ended differently.');
  assert.match(verdict(comparison({ steps: [step('two', false, { request: [{ what: 'the model changed' }] })] })), /`two` is the first step that was asked something else: the model changed/);
  assert.match(verdict(comparison({ steps: [step('two', false, { a: null })] })), /Only the second run has `two`/);
  assert.equal(verdict(comparison()), 'Nothing differs.');
  const large = [{ path: 'text', before: 'x'.repeat(100), now: 'y', words: null }];
  assert.equal(verdict(comparison({ input: large, steps: [step('a', false)] })), 'The input differs in `text`.');
});

test('what followed is one sentence, also where one of the runs failed', () => {
  const kept = step('one', true, { b: half('one', { kept: { run: 'a' } }) });
  assert.equal(outcome(comparison({ steps: [kept, step('two', false)] })), '1 of 2 calls differs, 1 was kept, the results are the same');
  assert.equal(outcome(comparison({ b: side('b', { status: 'failed' }), steps: [] })), 'no call differs, the first run was completed, the second failed');
});

test('steps in a row that are the same are one group', () => {
  const groups = groupSteps([step('a', true), step('b', true), step('c', false), step('d', true)]);
  assert.deepEqual(groups.map((group) => ('same' in group ? group.same.length : group.step.b?.key)), [2, 'c', 1]);
});

test('a difference of costs is not known where a price is not, and never zero', () => {
  const known = figures(comparison({ b: side('b', { usage: { input_tokens: 150, output_tokens: 10, cost_micro: 3_000_000 } }) }));
  assert.deepEqual([known[0]!.change, known[0]!.more], ['+$1 (+50%)', true]);
  assert.deepEqual([known[3]!.change, known[4]!.change], ['+50 (+50%)', 'the same']);
  const unknown = figures(comparison({ b: side('b', { usage: { unpriced_calls: 2, cost_micro: 0 } }) }));
  assert.deepEqual([unknown[0]!.b, unknown[0]!.change, unknown[0]!.more], ['not known', 'not known', null]);
});

test('what is long and the same is folded around a change, and nothing is lost', () => {
  const line = (n: number) => `line ${n}\n`;
  const before = Array.from({ length: 40 }, (_, i) => line(i)).join('');
  const parts = [{ same: before }, { removed: 'old' }, { added: 'new' }, { same: before }];
  const all = pieces(parts);
  assert.deepEqual(all.map((piece) => piece.kind), ['fold', 'same', 'removed', 'added', 'same', 'fold']);
  assert.equal(all.map((piece) => piece.text).join(''), `${before}oldnew${before}`);
  assert.match(all[1]!.text, /line 38\nline 39\n$/);
  const short = pieces([{ same: 'one two ' }, { added: 'three' }]);
  assert.deepEqual(short.map((piece) => piece.kind), ['same', 'added']);
  const long = pieces([{ same: 'word '.repeat(500) }, { removed: 'x' }, { same: ' word'.repeat(500) }]);
  assert.equal(long.map((piece) => piece.text).join('').length, 2500 + 1 + 2500);
  assert.ok(long.filter((piece) => piece.kind === 'same').every((piece) => piece.text.length < 240), 'a line without an end is folded, too');
  assert.deepEqual(pieces([{ same: '' }, null]).map((piece) => piece.kind), ['fold']);
});

test('of a very long difference only the beginning is shown', () => {
  const { shown, rest } = upTo(pieces([{ removed: 'a'.repeat(10) }, { added: 'b'.repeat(10) }]), 15);
  assert.deepEqual([shown.map((piece) => piece.text.length), rest], [[10, 5], 5]);
  assert.equal(upTo(pieces([{ added: 'b' }]), 15).rest, 0);
});
