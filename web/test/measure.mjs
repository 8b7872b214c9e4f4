// Measures the server's page in a browser: `node test/measure.mjs [STEPS]`. What answers is made up here, so that only the page is measured.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { chromium } from 'playwright-core';
import { ARGS, chromium as path } from './support.mjs';

const STEPS = Number(process.argv[2] ?? 10_000);
const file = (name) => readFileSync(new URL(`../../crates/trefoil-view/src/trace/page/served/${name}`, import.meta.url));
const text = 'The otter sleeps afloat, hand in hand with another one. '.repeat(12);
const usage = { input_tokens: 200, output_tokens: 40, cost_micro: 120 };

const step = (i, done) => ({
  key: `grade[${i}]/grader`, parent: 'grade', label: 'grader', kind: 'agent', file: 'flow.yaml', line: 9, column: 5,
  status: done ? 'done' : 'running', started_ms: i * 3, duration_ms: done ? 900 + (i % 7) * 100 : null, node: 'n1', frame: null,
  item: { number: i + 1, total: STEPS, value: `essay ${i}` }, notes: [],
  calls: [{
    key: `grade[${i}]/grader`, effect: 'model', agent: 'grader', model: 'openai:gpt-5.4', started_ms: i * 3, duration_ms: done ? 900 : null,
    messages: [{ role: 'user', content: `Grade ${text}`, spans: [{ start: 0, end: 6, from: 'literal', file: 'flow.yaml', line: 12, column: 5 }, { start: 6, end: 6 + text.length, from: 'item', path: 'item' }] }],
    ...(done ? { answer: `B. ${text}`, usage } : {}),
  }],
});
const head = (status, steps) => ({
  version: 2, run: 'r', flow: 'grades', dialect: 'sirenspec', status, started_at: '2026-01-01T00:00:00.000Z', duration_ms: STEPS * 3 + 1000,
  engine: { name: 'trefoil', version: '0' }, program: '0', sources: [], answers_from: 'openai', placeholder: false, calls: STEPS, usage, warnings: [], steps,
});
const graph = { title: 'grades', width: 300, height: 300, nodes: [{ id: 'n0', label: 'grades', kind: 'start', x: 20, y: 20, width: 90, height: 30 }, { id: 'n1', label: 'grader', kind: 'agent', x: 20, y: 120, width: 90, height: 40 }], edges: [], frames: [] };
const outer = (status) => ({ key: 'grade', parent: null, label: 'grade', kind: 'map', status, started_ms: 0, duration_ms: status === 'done' ? STEPS * 3 + 900 : null, items: { total: STEPS, failed: 0 }, calls: [], notes: [], node: null, frame: null });
const summary = (status) => ({ run: 'r', flow: 'grades', status, started: '2026-01-01T00:00:00.000Z', calls: STEPS, tokens: { input: 1, output: 1, cached: 0, unknown_calls: 0 }, cost: { usd: 1, completeness: 'known', text: '$1.00' }, entries: 1 });
const PART = 1_000;
const part = (from, more) => JSON.stringify({ ...head('completed', [outer('done'), ...Array.from({ length: Math.min(PART, STEPS - from) }, (_, i) => step(from + i, true))]), ...more });
const first = part(0, { input: 'x', graph, duration_ms: null });
const rest = Array.from({ length: Math.ceil(STEPS / PART) - 1 }, (_, i) => part((i + 1) * PART, {}));
const STREAMED = 1_000;

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://x');
  const json = (body) => (response.writeHead(200, { 'content-type': 'application/json' }), response.end(typeof body === 'string' ? body : JSON.stringify(body)));
  if (pathname === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end(file('index.html'));
  if (pathname.startsWith('/assets/')) return response.writeHead(200, { 'content-type': pathname.endsWith('js') ? 'text/javascript' : 'text/css' }).end(file(pathname.slice(8)));
  if (pathname === '/api/v1/me') return json({ name: 'local', needs_key: false, scopes: ['read', 'run', 'answer', 'admin'], all_runs: true });
  if (pathname === '/api/v1/questions') return json({ questions: [] });
  if (pathname === '/api/v1/runs/ended') return json(summary('completed'));
  if (pathname === '/api/v1/runs/ended/trace') {
    // As a server reads it: what it has after a moment, then the rest.
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const frame = (id, name, body) => response.write(`id: ${id}\nevent: ${name}\ndata: ${body}\n\n`);
    frame(1, 'trace', first);
    for (const [i, part] of rest.entries()) {
      await new Promise((done) => setTimeout(done, 100));
      frame(i + 2, 'changes', part);
    }
    return response.end();
  }
  if (pathname === '/api/v1/runs/going') return json(summary('running'));
  if (pathname === '/api/v1/runs/going/trace') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let id = 0;
    const frame = (name, body) => response.write(`id: ${++id}\nevent: ${name}\ndata: ${JSON.stringify(body)}\n\n`);
    frame('trace', { ...head('running', [outer('running')]), input: 'x', graph });
    for (let i = 0; i < STREAMED; i += 25) {
      await new Promise((done) => setTimeout(done, 250));
      frame('changes', head('running', [outer('running'), ...Array.from({ length: 25 }, (_, j) => step(i + j, false)), ...Array.from({ length: i ? 25 : 0 }, (_, j) => step(i - 25 + j, true))]));
    }
    frame('changes', head('completed', [outer('done')]));
    return response.end();
  }
  response.writeHead(404).end('{}');
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const url = `http://127.0.0.1:${server.address().port}/`;
const browser = await chromium.launch({ executablePath: path(), args: ARGS });
const say = (what, value) => console.log(`${what.padEnd(64)} ${value}`);
const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];

async function times(view, ready) {
  const all = [];
  let elements = 0;
  for (let i = 0; i < 5; i++) {
    const tab = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    await tab.addInitScript((selector) => {
      const look = () => (document.querySelector(selector) ? requestAnimationFrame(() => setTimeout(() => (window.painted = performance.now()))) : requestAnimationFrame(look));
      addEventListener('DOMContentLoaded', look);
    }, ready);
    await tab.goto(`${url}${view}`);
    await tab.waitForFunction(() => window.painted, null, { timeout: 120_000 });
    all.push(await tab.evaluate(() => Math.round(window.painted)));
    elements = await tab.evaluate(() => document.querySelectorAll('*').length);
    await tab.close();
  }
  return [median(all), elements];
}

const [menu] = await times('#/questions', '.empty');
say('from the address to a view that can be used, ms', menu);
const [paint, elements] = await times('#/runs/ended', '.all .row');
say(`a run of ${STEPS} steps (${((first.length + rest.join('').length) / 1e6).toFixed(1)} MB) to its first paint, ms`, paint);
say('elements in the page', elements);
const [read] = await times('#/runs/ended', '.actions:not(:has(.live)) .space');
say('the same until all of it is there, ms', read);

const tab = await browser.newPage({ viewport: { width: 1400, height: 900 } });
await tab.goto(`${url}#/runs/going`);
await tab.waitForSelector('.all .row');
const frames = await tab.evaluate(
  () =>
    new Promise((done) => {
      const gaps = [];
      let last = performance.now();
      const tick = (now) => {
        gaps.push(now - last);
        last = now;
        if (document.querySelector('.title')?.textContent?.includes('completed')) done(gaps);
        else requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    }),
);
say(`frames while a fan-out of ${STREAMED} items streams: all, over 50 ms`, `${frames.length}, ${frames.filter((gap) => gap > 50).length}`);
say('the longest of them, ms', Math.round(Math.max(...frames)));
await browser.close();
server.close();
