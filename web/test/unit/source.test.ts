// The trace in the page as rows, steps and states.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InlineSource, union } from '../../src/source/inline.ts';
import type { View } from '../../src/source/types.ts';
import { spentBy, type Trace } from '../../src/trace.ts';
import { fanout, HTML, hostile, loop, many, sixty } from '../fixtures/traces.ts';

test('a step has used what all its calls have used', () => {
  assert.equal(spentBy([{ effect: 'tool' }, {}]), null);
  const spent = spentBy([{ usage: { input_tokens: 2, cost_micro: 5 } }, {}, { usage: { input_tokens: 3, output_tokens: 1, unpriced_calls: 1 } }]);
  assert.deepEqual([spent?.input_tokens, spent?.output_tokens, spent?.cost_micro, spent?.unpriced_calls], [5, 1, 5, 1]);
});

const plain: View = { words: '', status: null, toggled: new Set() };
const lines = async (source: InlineSource, view = plain) =>
  (await source.rows(view, 0, 10_000)).map((r) => `${'  '.repeat(r.level - 1)}${r.label}${r.places ? ` (${r.places})` : ''} ${r.status}${r.open === null ? '' : r.open ? ' -' : ' +'}`);

test('passes of a loop are groups', async () => {
  assert.deepEqual(await lines(new InlineSource(loop())), [
    'improve done -',
    '  pass 1 done -',
    '    writer done',
    '    reviewer done',
    '  pass 2 done -',
    '    writer done',
    '    reviewer done',
    '  pass 3 done -',
    '    writer done',
    '    reviewer done',
    'publish skipped',
  ]);
});

test('a large fan-out is one row that says how it went', async () => {
  const source = new InlineSource(fanout());
  assert.deepEqual(await lines(source), ['list done', 'grade done +', 'compile failed']);
  const grade = (await source.rows(plain, 1, 2))[0]!;
  assert.equal(grade.parts?.total, 200);
  assert.equal(grade.parts?.failed, 11);
  assert.ok(grade.parts!.min <= grade.parts!.median && grade.parts!.median <= grade.parts!.max);
  const open: View = { ...plain, toggled: new Set(['grade']) };
  assert.equal((await source.size(open)).rows, 203);
  assert.equal((await source.rows(open, 2, 3))[0]?.label, 'item 1');
});

test('a step that is hidden is revealed, with what is around it and without the filter that hides it', async () => {
  const source = new InlineSource(fanout());
  const key = 'grade[16]/editor';
  assert.equal(await source.rowOf(plain, key), null);
  const open = await source.reveal(plain, key);
  const row = await source.rowOf(open, key);
  assert.equal((await source.rows(open, row!, row! + 1))[0]?.key, key);
  const filtered: View = { ...plain, words: 'compile' };
  const revealed = await source.reveal(filtered, key);
  assert.equal(revealed.words, '');
  assert.notEqual(await source.rowOf(revealed, key), null);
});

test('a search finds the model that answered instead and those that did not answer', async () => {
  const trace = loop();
  const call = trace.steps!.find((step) => step.calls?.length)!.calls![0]!;
  call.instead = 'other:model';
  call.before = [{ model: 'first:model', why: 'the line was busy' }];
  const source = new InlineSource(trace);
  for (const words of ['other:model', 'first:model', 'was busy']) {
    assert.equal((await source.size({ ...plain, words })).matches, 1, words);
  }
});

test('a search finds names, prompts, answers and errors, with what is around them', async () => {
  const source = new InlineSource(fanout());
  assert.equal((await source.size({ ...plain, status: 'failed' })).matches, 12);
  assert.equal((await source.size({ ...plain, words: '429 (item 17)' })).matches, 1);
  const rows = await source.rows({ ...plain, words: '429 (item 17)' }, 0, 10);
  assert.deepEqual(rows.map((r) => [r.label, r.faint]), [['grade', true], ['item 17', true], ['editor', false]]);
  assert.equal((await source.size({ ...plain, words: 'no such thing' })).rows, 0);
});

test('a step knows who reads what it wrote, its other runs, and the failures in it', async () => {
  const source = new InlineSource(loop());
  const writer = await source.step('improve@2/writer');
  assert.deepEqual(writer?.readers.map((r) => r.key), ['improve@2/reviewer']);
  assert.deepEqual(writer?.runs, { keys: ['improve@1/writer', 'improve@2/writer', 'improve@3/writer'], index: 1, failed: 0 });
  assert.deepEqual([...writer!.mentioned.keys()], ['improve@1/reviewer']);
  assert.deepEqual(writer?.parents.map((p) => p.label), ['improve', 'pass 2']);
  const grade = await new InlineSource(fanout()).step('grade');
  assert.equal(grade?.failures.length, 11);
  assert.equal(grade?.failures[0]?.name.key, 'grade[16]/editor');
  assert.equal(await source.step('nobody'), null);
});

test('a fan-out over an empty list says that it has no items', async () => {
  const trace = fanout(0);
  const source = new InlineSource(trace);
  const rows = await source.rows({ words: '', status: null, toggled: new Set() }, 0, 10);
  assert.deepEqual(rows.map((row) => [row.label, row.empty]), [['list', false], ['grade', true], ['compile', false]]);
});

test('the step that a run failed at is found, though its error names a call', async () => {
  const trace = fanout();
  assert.equal((await new InlineSource(trace).overview()).failed?.key, 'compile');
  trace.error!.key = 'grade[16]/editor!2';
  assert.equal((await new InlineSource(trace).overview()).failed?.key, 'grade[16]/editor');
  delete trace.error!.key;
  assert.equal((await new InlineSource(trace).overview()).failed?.key, 'compile');
});

test('the graph at a moment', async () => {
  const source = new InlineSource(fanout());
  const early = await source.stateAt(100);
  assert.equal(early.get('n1')?.status, 'running');
  assert.equal(early.get('n2'), undefined);
  const end = await source.stateAt(null);
  assert.deepEqual([end.get('n3')?.status, end.get('n3')?.runs, end.get('n3')?.failed], ['failed', 200, 11]);
  assert.equal(union([[0, 10], [5, 15], [20, 30], [22, 25]]), 25);
});

test('of a node with failures the first failed run is shown first', async () => {
  assert.equal((await new InlineSource(fanout()).runsOf('n3'))[0], 'grade[16]/editor');
});

test('ten thousand steps, and a chain as deep', async () => {
  const source = new InlineSource(many(10_000));
  assert.equal((await source.size(plain)).rows, 10_000);
  assert.equal((await source.rows(plain, 5000, 5040)).length, 40);
  const deep: Trace = { version: 2, steps: [] };
  let key = '';
  for (let i = 0; i < 5000; i++) {
    const parent = key || null;
    key = key ? `${key}/a` : 'a';
    deep.steps!.push({ key, parent, label: 'a', kind: 'agent', status: 'done', started_ms: 0, duration_ms: 1 });
  }
  assert.equal((await new InlineSource(deep).size(plain)).rows, 5000);
});

test('a trace that makes no sense is shown anyway', async () => {
  const source = new InlineSource(hostile());
  assert.equal((await source.rows(plain, 0, 100)).length, 7);
  assert.equal((await source.step('__proto__'))?.step.key, '__proto__');
  assert.equal((await source.step(HTML))?.step.label, HTML);
  assert.equal(await source.step('toString'), null);
  const nothing = new InlineSource({ version: 2 });
  assert.deepEqual(await nothing.rows(plain, 0, 10), []);
  assert.equal((await nothing.overview()).steps, 0);
  assert.equal((await new InlineSource(sixty()).graph())?.nodes.length, 62);
});

test('a step with results of earlier runs only is kept', async () => {
  const step = { label: 'a', kind: 'agent', status: 'done' as const, started_ms: 0, duration_ms: 120 };
  const trace: Trace = { version: 2, base: 'r1', items: { total: 2, failed: 1 }, steps: [{ ...step, key: 'a', kept: true }, { ...step, key: 'b' }] };
  const source = new InlineSource(trace);
  assert.deepEqual((await source.rows(plain, 0, 9)).map((row) => row.kept), [true, false]);
  const { base, items } = await source.overview();
  assert.deepEqual([base, items], ['r1', { total: 2, failed: 1 }]);
});
