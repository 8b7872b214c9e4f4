import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LiveSource } from '../../src/source/live.ts';
import type { Step, Trace } from '../../src/trace.ts';

const step = (key: string, more: Partial<Step> = {}): Step => ({ key, label: key, kind: 'agent', status: 'running', started_ms: 0, calls: [], notes: [], ...more });
const trace = (steps: Step[], more: Partial<Trace> = {}): Trace => ({ version: 2, flow: 'f', status: 'running', steps, ...more });
const view = { words: '', status: null, toggled: new Set<string>() };
const labels = async (source: LiveSource, of = view) => (await source.rows(of, 0, 100)).map((row) => `${row.label} ${row.status}`);

test('what changed takes the place of what was, and what is new comes last', async () => {
  const source = new LiveSource(trace([step('a')], { input: 'in' }));
  source.change(trace([step('a', { status: 'done', duration_ms: 5 }), step('b', { started_ms: 5 })]));
  assert.deepEqual(await labels(source), ['a done', 'b running']);
  assert.equal((await source.overview()).input, 'in', 'what never changes is kept');
  source.change(trace([step('b', { started_ms: 5, status: 'done', duration_ms: 1 })], { status: 'completed' }));
  assert.equal((await source.overview()).status, 'completed');
  assert.deepEqual(await labels(source), ['a done', 'b done']);
});

test('what a run waits for is gone when it waits no longer', async () => {
  const source = new LiveSource(trace([step('a')], { status: 'waiting', waiting: [{ key: 'a', question: '?' }] }));
  source.change(trace([step('a', { status: 'done', duration_ms: 1 })]));
  assert.equal((await source.overview()).waiting, undefined);
});

test('a step that failed and starts over does not take the place of the failed one', async () => {
  const source = new LiveSource(trace([step('a', { status: 'failed', duration_ms: 2 })]));
  source.change(trace([step('a', { started_ms: 9 })]));
  assert.deepEqual((await labels(source)).sort(), ['a failed', 'a running']);
  assert.equal((await source.step('a'))?.step.status, 'running');
});

test('text that arrives is that of its call until the answer is complete', async () => {
  const call = { key: 'a', effect: 'model', started_ms: 0 };
  const source = new LiveSource(trace([step('a', { calls: [call] })]));
  const arriving = async () => (await source.step('a'))?.step.calls?.[0]?.arriving;
  assert.equal(await arriving(), undefined);
  source.hear({ key: 'a', text: 'Once ', first: true });
  source.hear({ key: 'a', text: 'upon', first: false });
  assert.equal(await arriving(), 'Once upon');
  // A new connection begins with all of it.
  source.hear({ key: 'a', text: 'Once upon a', first: true });
  assert.equal(await arriving(), 'Once upon a');
  source.change(trace([step('a', { status: 'done', duration_ms: 3, calls: [{ ...call, duration_ms: 3, answer: 'Once upon a time' }] })]));
  assert.equal(await arriving(), undefined);
});

test('what somebody closed stays closed when there is more of it than is open at first', async () => {
  const items = (n: number) => Array.from({ length: n }, (_, i) => step(`each[${i}]/x`, { parent: 'each', label: 'x' }));
  const source = new LiveSource(trace([step('each', { kind: 'map' }), ...items(3)]));
  const closed = { ...view, toggled: new Set(['each']) };
  assert.equal((await source.rows(closed, 0, 100)).length, 1);
  source.change(trace(items(20)));
  const carried = source.carry(closed);
  assert.equal((await source.rows(carried, 0, 100)).length, 1);
  assert.equal(source.carry(carried), carried, 'asked again, nothing changes');
});
