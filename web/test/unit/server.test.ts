import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultsOf, fieldsOf, readEntry } from '../../src/server/form.ts';
import { type Frame, FrameParser } from '../../src/server/stream.ts';
import { together } from '../../src/server/costs.ts';

const entered = (texts: Record<string, string>, json: Record<string, boolean> = {}) => ({ texts, json });

test('frames are the same however a stream is cut', () => {
  const text = ': hello\n\nid: 3\nevent: trace\ndata: {"a": 1}\n\ndata: x\r\ndata: y\r\n\r\n:\n\nevent: end\ndata:z\n\n';
  for (let size = 1; size < text.length; size += 3) {
    const frames: Frame[] = [];
    const parser = new FrameParser((frame) => frames.push(frame));
    for (let i = 0; i < text.length; i += size) parser.push(text.slice(i, i + size));
    assert.deepEqual(frames, [
      { id: '3', event: 'trace', data: '{"a": 1}' },
      { id: null, event: 'message', data: 'x\ny' },
      { id: null, event: 'end', data: 'z' },
    ]);
  }
});

test('fields are what the schema says', () => {
  const kinds = (properties: object, required: string[] = []) => fieldsOf({ properties: properties as never, required }).map((f) => `${f.name} ${f.kind}${f.required ? '!' : ''}`);
  assert.deepEqual(
    kinds({ a: { type: 'string' }, b: { type: ['null', 'integer'] }, c: { type: 'boolean' }, d: { enum: ['x', 2] }, e: { type: 'array' }, f: {}, g: { type: ['string', 'number'] } }, ['a']),
    ['a text!', 'b number', 'c boolean', 'd choice', 'e json', 'f any', 'g any'],
  );
  assert.deepEqual(kinds({}), [' any']);
});

test('what is entered becomes the input, and what is wrong is said of its field', () => {
  const fields = fieldsOf({ properties: { t: { type: 'string' }, n: { type: 'number' }, b: { type: 'boolean' }, c: { enum: ['x', 2] }, j: { type: 'object' }, any: {} }, required: ['n'] });
  const read = (texts: Record<string, string>, json = {}) => readEntry(fields, entered(texts, json));
  assert.deepEqual(read({ t: 'a', n: '2.5', b: 'false', c: '2', j: '{"k": [1]}', any: '5' }), { input: { t: 'a', n: 2.5, b: false, c: 2, j: { k: [1] }, any: '5' } });
  assert.deepEqual(read({ n: '0', any: '5' }, { any: true }), { input: { n: 0, any: 5 } });
  const wrong = read({ n: 'two', j: '{' });
  assert.deepEqual(Object.keys('faults' in wrong ? wrong.faults : {}), ['n', 'j']);
  assert.deepEqual(read({}), { faults: { n: 'this is needed' } });
  const whole = fieldsOf({});
  assert.deepEqual(readEntry(whole, entered({ '': 'text' })), { input: 'text' });
  assert.deepEqual(readEntry(whole, entered({})), { input: null });
});

test('findings of the server are at the field that they name, the others at the form', () => {
  const fields = fieldsOf({ properties: { topic: {}, 'a.b': {} } });
  const said = (...messages: string[]) => faultsOf(fields, { status: 400, code: 'INPUT_INVALID', detail: 'no', errors: messages.map((message) => ({ rule: 'r', severity: 'error', message })) });
  assert.deepEqual(said('input property `topic` of agent `x` does not match'), { faults: { topic: 'input property `topic` of agent `x` does not match' }, rest: false });
  assert.deepEqual(Object.keys(said('agent `x` needs the input property `a.b`').faults), ['a.b']);
  assert.equal(said('input property `topic` of `x` is wrong', 'the weather').rest, true);
  assert.equal(said().rest, true);
});

test('what is not known of costs is never zero', () => {
  const run = (completeness: string, usd?: number) => ({ cost: { completeness, text: '', usd } }) as never;
  assert.equal(together([run('known', 1), run('known', 0.2)]), '$1.20');
  assert.equal(together([run('known', 1), run('partial', 0.2)]), '$1.20+');
  assert.equal(together([run('known', 1), run('unknown')]), '$1+');
  assert.equal(together([run('unknown'), run('known', 0)]), '-');
});
