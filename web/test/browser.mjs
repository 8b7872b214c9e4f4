// The page in a real browser, from disk: `node test/browser.mjs`. `--traces DIR` also opens every trace in a folder.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { TEMPLATE } from '../build.mjs';
import { ARGS, chromium as path, load, page, write } from './support.mjs';

const template = readFileSync(TEMPLATE, 'utf8');
const made = await load('fixtures/traces.ts');
const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const WAIT = Number(process.env.WAIT ?? 60_000);
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: path(), args: ARGS, timeout: WAIT });
});
after(() => browser?.close());

/** Opens a trace. Whatever the page asks of the network, complains of, or forbids itself is a failure of the test. */
async function open(t, trace, { hash = '', scheme = 'light', allow = null, size = { width: 1400, height: 900 }, ...options } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: size, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(WAIT);
  const tab = await context.newPage();
  const bad = [];
  const url = write('trace', page(template, trace));
  tab.on('request', (r) => r.url().split('#')[0] !== url && bad.push(`asked for ${r.url()}`));
  tab.on('console', (m) => bad.push(`${m.type()}: ${m.text()}`));
  tab.on('pageerror', (e) => bad.push(`error: ${e.message}`));
  tab.on('dialog', (d) => bad.push(`dialog: ${d.message()}`));
  await tab.addInitScript(() => {
    addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  await tab.goto(url + hash);
  await tab.waitForSelector('.detail h2, .broken, .broken-part', { state: 'attached' });
  t.after(async () => {
    await context.close();
    assert.deepEqual(allow ? bad.filter((b) => !allow.test(b)) : bad, []);
  });
  return tab;
}

const heading = (tab) => tab.locator('.detail h2');
const focused = (tab) => tab.evaluate(() => document.activeElement?.textContent?.trim() ?? '');

test('a failed run leads with its failure, and shows the step', async (t) => {
  const tab = await open(t, made.fanout());
  const lead = await tab.locator('.lead').innerText();
  for (const part of ['ANSWER_NOT_JSON', 'is not JSON', 'compile', 'grades.yaml:40:3', 'HTTP status 400', 'raise max_tokens']) {
    assert.ok(lead.includes(part), `${part} in ${lead}`);
  }
  assert.match(await heading(tab).innerText(), /^compile/);
});

test('a failure that comes from a called run says where that failed', async (t) => {
  const trace = made.fanout();
  const called = { run: '00c0ffee00c0ffee', flow: 'ship', code: 'MODEL_ERROR', message: 'no', key: 'main/pack', help: 'check the key' };
  trace.error = { ...trace.error, called: { ...called, location: { file: 'ship.yaml', line: 5, column: 6 } } };
  const lead = await (await open(t, trace)).locator('.lead').innerText();
  for (const part of ['MODEL_ERROR', 'main/pack of ship', '00c0ffee00c0ffee', 'ship.yaml:5:6', 'check the key']) {
    assert.ok(lead.includes(part), `${part} in ${lead}`);
  }
  assert.ok(!lead.includes('raise max_tokens'), lead);
});

test('from the list to a prompt to the step that wrote it, by keys only', async (t) => {
  const tab = await open(t, made.loop());
  const press = (key) => tab.keyboard.press(key);
  // To the list: past the graph and the tools, however many stops they are.
  for (let i = 0; i < 30 && !(await tab.evaluate(() => document.activeElement?.getAttribute('role') === 'row')); i++) await press('Tab');
  assert.match(await focused(tab), /improve/);
  for (let i = 0; i < 9; i++) await press('ArrowDown');
  await tab.waitForFunction(() => document.querySelector('.detail h2')?.textContent === 'reviewerpass 3');
  await press('Enter');
  await tab.waitForFunction(() => document.activeElement?.tagName === 'H2');
  // To the prompt: one stop for all of its parts.
  for (let i = 0; i < 20 && !(await tab.evaluate(() => document.activeElement?.matches('.part'))); i++) await press('Tab');
  assert.equal(await focused(tab), 'Judge this draft:');
  await press('ArrowRight');
  const card = tab.locator('.card');
  assert.match(await card.innerText(), /writer \(pass 3\)/);
  assert.match(await card.innerText(), /flow\.yaml:26:9/);
  const described = await tab.evaluate(() => document.getElementById(document.activeElement?.getAttribute('aria-describedby') ?? '')?.className);
  assert.equal(described, 'card');
  await press('Escape');
  assert.equal(await card.count(), 0);
  await press('Enter');
  await tab.waitForFunction(() => document.querySelector('.detail h2')?.textContent === 'writerpass 3');
  // The focus follows once the step is drawn.
  await tab.waitForFunction(() => document.activeElement?.tagName === 'H2' && document.activeElement.textContent.startsWith('writer'));
  // The list has gone along, and so does the way back.
  assert.match(await tab.locator('.row.selected').innerText(), /writer/);
  await tab.goBack();
  await tab.waitForFunction(() => document.querySelector('.detail h2')?.textContent === 'reviewerpass 3');
  await tab.goForward();
  await tab.waitForFunction(() => document.querySelector('.detail h2')?.textContent === 'writerpass 3');
});

test('the list opens and closes by keys, and says so', async (t) => {
  const tab = await open(t, made.loop());
  const row = tab.locator('.all .row').first();
  await row.focus();
  assert.equal(await row.getAttribute('aria-expanded'), 'true');
  await tab.keyboard.press('ArrowLeft');
  await tab.waitForFunction(() => document.querySelectorAll('.all .row').length === 2);
  assert.equal(await row.getAttribute('aria-expanded'), 'false');
  await tab.keyboard.press('ArrowRight');
  await tab.waitForFunction(() => document.querySelectorAll('.all .row').length === 11);
  await tab.keyboard.press('End');
  await tab.waitForFunction(() => document.activeElement?.textContent?.includes('publish'));
  await tab.keyboard.press('Home');
  await tab.waitForFunction(() => document.activeElement?.textContent?.includes('improve'));
});

test('pointing at a part says where it came from, and a click goes to the writer', async (t) => {
  const tab = await open(t, made.loop(), { hash: '#step=improve%402%2Fwriter' });
  const card = tab.locator('.card');
  const part = (text) => tab.locator('.part', { hasText: text });
  await part('bees').hover();
  await tab.waitForFunction(() => document.querySelector('.card')?.textContent?.includes('inputs.topic'));
  assert.match(await card.innerText(), /flow\.yaml:14:21/);
  await part('***').hover();
  await tab.waitForFunction(() => document.querySelector('.card')?.textContent?.includes('CLIENT'));
  assert.match(await card.innerText(), /never in a trace/);
  await part('Write about').hover();
  await tab.waitForFunction(() => document.querySelector('.card')?.textContent?.includes('flow.yaml:14:9'));
  await part('Shorter sentences').hover();
  await tab.waitForFunction(() => document.querySelector('.card')?.textContent?.includes('reviewer'));
  assert.match(await card.innerText(), /flow\.yaml:17:9/);
  // The card can be pointed at without going away.
  await card.hover();
  await tab.waitForTimeout(400);
  assert.equal(await card.count(), 1);
  await part('Shorter sentences').click();
  await tab.waitForFunction(() => document.querySelector('.detail h2')?.textContent === 'reviewer');
  assert.match(await tab.locator('.row.selected').innerText(), /reviewer/);
  assert.match(tab.url(), /#step=improve%401%2Freviewer$/);
});

test('sources differ by more than colour', async (t) => {
  const tab = await open(t, made.loop(), { hash: '#step=improve%402%2Fwriter' });
  const styles = await tab.evaluate(() =>
    Object.fromEntries(['p-input', 'p-step', 'p-env', 'p-literal'].map((c) => {
      const s = getComputedStyle(document.querySelector(`.prompt .${c}`));
      return [c, `${s.textDecorationLine} ${s.textDecorationStyle}`];
    })),
  );
  assert.equal(new Set(Object.values(styles)).size, 4, JSON.stringify(styles));
  assert.match(await tab.locator('.message >> nth=1').locator('.legend').innerText(), /manifest[\s\S]*input[\s\S]*environment[\s\S]*step/);
});

test('a try that failed, and what had arrived of it', async (t) => {
  const tab = await open(t, made.loop(), { hash: '#step=improve%402%2Freviewer' });
  const first = tab.locator('section.call').first();
  assert.match(await first.innerText(), /finish: length/);
  assert.match(await first.innerText(), /\? tokens/);
  await first.locator('.fold').click();
  assert.match(await first.innerText(), /\{"approved": fal/);
  assert.match(await first.innerText(), /MODEL_TRUNCATED/);
});

test('the graph goes to a step and its failed run, by pointer and by keys', async (t) => {
  const tab = await open(t, made.fanout());
  await tab.locator('[data-node=n3]').click();
  await tab.waitForFunction(() => document.querySelector('.detail h2')?.textContent === 'editoritem 17');
  assert.match(await tab.locator('.runs').innerText(), /run 17 of 200/);
  await tab.locator('.runs .bad').click();
  await tab.waitForFunction(() => document.querySelector('.detail h2')?.textContent === 'editoritem 34');
  await tab.locator('[data-node=n3]').focus();
  await tab.keyboard.press('ArrowDown');
  await tab.waitForFunction(() => document.activeElement?.getAttribute('data-node') === 'n4');
  await tab.keyboard.press('Enter');
  await tab.waitForFunction(() => document.querySelector('.detail h2')?.textContent?.startsWith('synthesis'));
  const before = await tab.locator('.canvas g').first().getAttribute('transform');
  await tab.locator('[data-node=n4]').focus();
  await tab.keyboard.press('+');
  await tab.waitForFunction((was) => document.querySelector('.canvas > svg > g')?.getAttribute('transform') !== was, before);
});

test('time instead of status, and the graph at another moment', async (t) => {
  const tab = await open(t, made.fanout());
  await tab.getByRole('button', { name: 'Time', exact: true }).click();
  assert.equal(await tab.locator('.node.h-7').count() > 0, true);
  const slider = tab.getByRole('slider', { name: 'Time in the run' });
  await slider.focus();
  await tab.keyboard.press('Home');
  await tab.keyboard.press('ArrowRight');
  await tab.waitForFunction(() => document.querySelector('[data-node=n5]')?.getAttribute('aria-label')?.includes('not run'));
  await tab.keyboard.press('End');
  await tab.waitForFunction(() => document.querySelector('[data-node=n5]')?.getAttribute('aria-label')?.includes('failed'));
});

test('a search shows what matches, and says how much', async (t) => {
  const tab = await open(t, made.fanout());
  await tab.getByRole('searchbox').fill('429 (item 34)');
  await tab.waitForFunction(() => document.querySelector('[role=status]')?.textContent === '1 step found');
  assert.match(await tab.locator('.all').innerText(), /editor/);
  await tab.getByRole('searchbox').press('Escape');
  await tab.waitForFunction(() => document.querySelector('[role=status]')?.textContent === 'all 603 steps');
  await tab.locator('.chips button', { hasText: 'failed' }).first().click();
  await tab.waitForFunction(() => document.querySelector('[role=status]')?.textContent === '12 steps found');
});

test('a link to a step in a closed fan-out opens it', async (t) => {
  const tab = await open(t, made.fanout(), { hash: `#step=${encodeURIComponent('grade[151]/synthesis')}` });
  await tab.waitForFunction(() => document.querySelector('.row.selected')?.textContent?.includes('synthesis'));
  assert.match(await heading(tab).innerText(), /synthesis\s+item 152/);
  const inSight = await tab.evaluate(() => {
    const row = document.querySelector('.row.selected').getBoundingClientRect();
    const list = document.querySelector('.scroll').getBoundingClientRect();
    return row.top >= list.top && row.bottom <= list.bottom;
  });
  assert.equal(inSight, true);
});

test('a link to no step says so', async (t) => {
  const tab = await open(t, made.loop(), { hash: '#step=nobody%25' });
  assert.match(await tab.locator('.detail').innerText(), /No such step[\s\S]*nobody%/);
});

test('ten thousand steps stay few elements, wherever one looks', async (t) => {
  const tab = await open(t, made.many(10_000));
  const elements = () => tab.evaluate(() => document.querySelectorAll('*').length);
  assert.ok((await elements()) < 2000, `${await elements()} elements`);
  await tab.evaluate(() => (document.querySelector('.scroll').scrollTop = 150_000));
  await tab.waitForFunction(() => [...document.querySelectorAll('.all .row')].some((r) => r.textContent.includes('step53')));
  await tab.locator('.all .row').first().focus();
  await tab.keyboard.press('End');
  await tab.waitForFunction(() => document.activeElement?.textContent?.includes('step9999'));
  assert.ok((await elements()) < 2000, `${await elements()} elements`);
  const paint = await tab.evaluate(() => performance.getEntriesByType('paint').find((p) => p.name === 'first-contentful-paint')?.startTime);
  t.diagnostic(`first paint of 10,000 steps: ${Math.round(paint)} ms`);
});

test('an answer of a person names who gave it, when and from where', async (t) => {
  const trace = made.loop();
  const given_by = { name: 'ada', origin: 'api 203.0.113.7', at: '2026-03-01T09:05:00.250Z' };
  trace.steps[0].calls = [{ effect: 'human', detail: 'Publish it?', answer: 'yes', given_by, started_ms: 0, duration_ms: 900 }];
  const tab = await open(t, trace, { hash: `#step=${encodeURIComponent(trace.steps[0].key)}` });
  assert.match(await tab.locator('.call .facts').first().innerText(), /answered by ada, 2026-03-01 09:05:00Z, from api 203\.0\.113\.7/);
});

test('hostile texts stay texts', async (t) => {
  const tab = await open(t, made.hostile());
  const look = async () => {
    assert.equal(await tab.evaluate(() => 'harmed' in window), false);
    assert.equal(await tab.locator('img, iframe, object, embed, form, base, link').count(), 0);
    assert.equal(await tab.locator('script').count(), 2);
    assert.equal(await tab.evaluate(() => [...document.querySelectorAll('a')].every((a) => a.getAttribute('href').startsWith('#'))), true);
    const text = await tab.evaluate(() => document.querySelector('#app').innerText);
    assert.equal(/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069\u200f]/.test(text), false);
    assert.ok(text.includes(made.HTML));
  };
  await look();
  for (const row of await tab.locator('.all .row').all()) {
    await row.click();
    // Of this row, not of the one before it: what that one showed is about to go.
    await tab.waitForFunction((one) => one.classList.contains('selected'), await row.elementHandle());
    for (const part of (await tab.locator('.part').all()).slice(0, 4)) await part.hover();
    await look();
  }
});

test('a megabyte of prompt is shown in part, and whole when asked', async (t) => {
  const tab = await open(t, made.hostile(), { hash: `#step=${encodeURIComponent(made.HTML)}` });
  const prompt = tab.locator('.message').nth(1);
  assert.ok((await prompt.innerText()).length < 20_000);
  await prompt.getByRole('button', { name: /Show all/ }).click();
  await tab.waitForFunction(() => document.querySelectorAll('.message')[1]?.textContent.length > 1_000_000);
});

test('the policy lets no other script run', async (t) => {
  // What the attempts make the browser say is not the page's.
  const tab = await open(t, made.loop(), { allow: /policy|Content Security|Trusted|Refused/i });
  const done = await tab.evaluate(async () => {
    const tried = (f) => {
      try {
        f();
        return 'let';
      } catch {
        return 'refused';
      }
    };
    const html = tried(() => (document.createElement('div').innerHTML = '<b>x</b>'));
    // What a test evaluates itself may do more than a page; later, it may not.
    const code = await new Promise((done) => setTimeout(() => done(tried(() => new Function('return 1')()))));
    const script = tried(() => {
      const s = document.createElement('script');
      s.textContent = 'window.harmed = 1';
      document.head.append(s);
    });
    const net = await fetch('https://example.invalid/').then(() => 'let', () => 'refused');
    return { html, code, script, net, harmed: 'harmed' in window };
  });
  assert.deepStrictEqual(done, { html: 'refused', code: 'refused', script: 'refused', net: 'refused', harmed: false });
});

for (const scheme of ['light', 'dark']) {
  for (const [name, make, hash] of [
    ['a loop', () => made.loop(), '#step=improve%402%2Fwriter'],
    ['a loop’s run', () => made.loop(), '#run'],
    ['a fan-out', () => made.fanout(), ''],
    ['sixty steps', () => made.sixty(), '#step=notify_39'],
  ]) {
    test(`no serious problem of accessibility: ${name}, ${scheme}`, async (t) => {
      const tab = await open(t, make(), { scheme, hash, bypassCSP: true });
      const part = tab.locator('a.part').first();
      if (await part.count()) await part.focus();
      await tab.evaluate(axe);
      const { violations } = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
      assert.deepEqual(serious.map((v) => `${v.id}: ${v.help} (${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')})`), []);
    });
  }
}

test('on a narrow screen nothing sticks out, and one part is seen at a time', async (t) => {
  const tab = await open(t, made.fanout(), { size: { width: 390, height: 844 } });
  for (const part of ['Steps', 'Graph', 'Detail']) {
    await tab.locator('.tabs button', { hasText: part }).click();
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${part}: ${wide}`);
  }
  await tab.locator('.tabs button', { hasText: 'Steps' }).click();
  await tab.locator('.all .row').first().click();
  await tab.waitForFunction(() => document.querySelector('.detail')?.getBoundingClientRect().width > 300);
  assert.match(await heading(tab).innerText(), /^list/);
});

test('a step that cannot be shown takes nothing else along', async (t) => {
  const trace = made.loop();
  trace.steps.find((s) => s.key === 'improve@1/writer').calls = [{ messages: [null] }];
  const tab = await open(t, trace, { hash: '#step=improve%401%2Fwriter' });
  assert.match(await tab.locator('.broken-part').innerText(), /This step cannot be shown here/);
  await tab.locator('.all .row a.label', { hasText: 'reviewer' }).first().click();
  await tab.waitForFunction(() => document.querySelector('.detail h2')?.textContent?.startsWith('reviewer'));
  assert.equal(await tab.locator('.broken-part').count(), 0);
});

test('without a trace the page says so', async (t) => {
  const tab = await open(t, null);
  assert.match(await tab.locator('.broken').innerText(), /contains no trace/);
  const old = await open(t, { version: 1, steps: [] });
  assert.match(await old.locator('.broken').innerText(), /version 1/);
});

test('placeholder answers are called that', async (t) => {
  const tab = await open(t, { ...made.loop(), placeholder: true });
  assert.match(await tab.locator('.banner').innerText(), /Placeholder answers/);
});

test('what a run waits for is shown with its call, and is not shown as a failure', async (t) => {
  const waits = {
    ...made.loop(),
    status: 'waiting',
    error: null,
    waiting: [{ key: 'pay', step: 'pay', sort: 'tool', question: '`pay`: did it finish?', called_with: '{"cents":5}' }],
    stopped: { step: 'SEND@1', code: 'REFUSED', message: 'not allowed', text: 'stopped before `SEND`: not allowed' },
    next: [{ command: 'trefoil runs answer r1 pay done', purpose: 'to answer' }],
  };
  const tab = await open(t, waits);
  const said = await tab.locator('section[aria-label="What can be done next"]').innerText();
  for (const part of ['did it finish?', 'It was called with {"cents":5}', 'Waiting: stopped before', 'trefoil runs answer r1 pay done']) {
    assert.ok(said.includes(part), said);
  }
  assert.equal(await tab.locator('section[aria-label="Why the run ended"]').count(), 0);
});

const at = process.argv.indexOf('--traces');
if (at > 0) {
  const dir = process.argv[at + 1];
  for (const file of readdirSync(dir).filter((f) => f.endsWith('.html') || f.endsWith('.json'))) {
    test(`a real trace: ${file}`, async (t) => {
      const text = readFileSync(join(dir, file), 'utf8');
      const trace = JSON.parse(file.endsWith('.json') ? text : text.match(/<script type="application\/json" id="trace">(.*?)<\/script/s)[1]);
      const tab = await open(t, trace);
      assert.equal(await tab.locator('.app').count(), 1);
      // Rows of passes and items open and close; those of steps show the step.
      const steps = await tab.locator('.all .row a.label').all();
      for (const step of steps.slice(0, 30)) await step.click();
    });
  }
}
