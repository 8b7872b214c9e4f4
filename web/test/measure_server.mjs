// Measures the page with a real server: `TREFOIL=path node test/measure_server.mjs [ITEMS]`. Figures are for whoever runs it.
import { mkdtempSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { startProvider } from './server/provider.mjs';
import { startServer } from './server/serving.mjs';
import { ARGS, chromium as path, here } from './support.mjs';

const ITEMS = Number(process.argv[2] ?? 10_000);
const folder = mkdtempSync(join(tmpdir(), 'trefoil-measure-'));
cpSync(here('flows'), folder, { recursive: true });
const BOXES = [60, 300, 3_000];
for (const n of BOXES) writeFileSync(join(folder, `chain${n}.yaml`), chain(n));
const provider = await startProvider(() => ({ parts: ['B'], pause: 0 }));
const server = await startServer({ provider: provider.url, folder });
const browser = await chromium.launch({ executablePath: path(), args: ARGS });
const say = (what, value) => console.log(`${what.padEnd(64)} ${value}`);
const at = (all, part) => all.toSorted((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * part))];
const ms = (n) => `${Math.round(n)} ms`;

/** A flow of so many agents, one after the other. */
function chain(n) {
  const steps = Array.from({ length: n }, (_, i) => `  - agent:
      id: s${i}
      kind: llm
      inputSchema: { topic: string }
      model: { provider: openai, name: gpt-5.4 }
      instruction: Write.
      prompt: "{{topic}}"
    input: { topic: "{{${i ? `s${i - 1}` : 'topic'}}}" }`);
  return `id: chain${n}\nkind: sequential\ninputSchema:\n  topic: string\nsteps:\n${steps.join('\n')}\noutput:\n  text: "{{s${n - 1}}}"\n`;
}

async function graphs() {
  for (const n of BOXES) {
    const tab = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    const began = performance.now();
    await tab.goto(`${server.url}#/flows/chain${n}`);
    await tab.locator('.flow-graph .node').nth(3).waitFor({ timeout: 120_000 });
    say(`graph of ${n} boxes: from the address to the first box`, ms(performance.now() - began));
    await tab.locator('.plan li').nth(3).waitFor({ timeout: 120_000 });
    const clicks = await tab.evaluate(async () => {
      const took = [];
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      for (const node of [...document.querySelectorAll('.flow-graph .node.k-agent')].slice(0, 8)) {
        const began = performance.now();
        node.dispatchEvent(new MouseEvent('click', { bubbles: true }));
        await frame();
        took.push(performance.now() - began);
      }
      return took;
    });
    say(`graph of ${n} boxes: click to paint, median and most`, `${ms(at(clicks, 0.5))}, ${ms(Math.max(...clicks))}`);
    say(`graph of ${n} boxes: elements`, await tab.evaluate(() => document.querySelectorAll('*').length));
    await tab.close();
  }
}

async function largeRun() {
  const items = Array.from({ length: ITEMS }, (_, i) => `essay ${i}`);
  const began = performance.now();
  const run = await server.run('grades', { message: JSON.stringify(items) }, { max_calls: ITEMS });
  let status = '';
  while (!['completed', 'failed', 'cancelled'].includes(status)) {
    await new Promise((done) => setTimeout(done, 500));
    status = (await server.api(`/runs/${run}`)).json.status;
  }
  say(`a run of ${ITEMS} items, ${status}`, ms(performance.now() - began));
  const { json } = await server.api(`/runs/${run}`);
  say('its end', JSON.stringify(json.error ?? json.items));
  return run;
}

async function small(n, pause) {
  const took = [];
  for (let i = 0; i < n; i++) {
    const began = performance.now();
    await fetch(`${server.url}api/v1/me`).then((r) => r.text());
    took.push(performance.now() - began);
    await new Promise((done) => setTimeout(done, pause));
  }
  return took;
}

try {
  await graphs();
  const run = await largeRun();
  const alone = await small(300, 5);
  say('a small request alone: median and p99', `${at(alone, 0.5).toFixed(1)} ms, ${at(alone, 0.99).toFixed(1)} ms`);
  const tab = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await tab.addInitScript(() => {
    globalThis.slow = [];
    new PerformanceObserver((list) => globalThis.slow.push(...list.getEntries().map((one) => one.duration))).observe({ type: 'longtask', buffered: true });
  });
  const began = performance.now();
  const beside = small(400, 10);
  await tab.goto(`${server.url}#/runs/${run}`);
  await tab.locator('.all .row').first().waitFor({ timeout: 300_000 });
  say('that run opened: first row', ms(performance.now() - began));
  await tab.waitForFunction((n) => document.querySelector('.all .row')?.textContent?.includes(n), ITEMS.toLocaleString('en-GB'), { timeout: 300_000 }).catch(() => {});
  say('that run opened: all of it is there', ms(performance.now() - began));
  const took = await beside;
  say('a small request beside it: median and p99', `${at(took, 0.5).toFixed(1)} ms, ${at(took, 0.99).toFixed(1)} ms`);
  say('elements', await tab.evaluate(() => document.querySelectorAll('*').length));
  const slow = await tab.evaluate(() => globalThis.slow);
  say('long tasks of the page: how many, and the longest', `${slow.length}, ${ms(Math.max(0, ...slow))}`);
} finally {
  await browser.close();
  await server.stop();
  provider.stop();
  rmSync(folder, { recursive: true, force: true });
}
