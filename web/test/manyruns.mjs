// Two runs compared, a flow over many runs, costs, and how values are read, in a real browser with a real server:
// `TREFOIL=path node test/manyruns.mjs`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { startProvider } from './server/provider.mjs';
import { startServer } from './server/serving.mjs';
import { openTab, WAIT } from './server/tab.mjs';
import { ARGS, chromium as path, here } from './support.mjs';

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const STORY = readFileSync(here('flows/story.yaml'), 'utf8');
const NOTES = '# Otters\n\nThey **hold hands**, [here](https://example.org/x) and [there](javascript:alert(1)).\n\n![a raft](https://example.org/raft.png)\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n<img src=x onerror="window.harmed=1">\n\n```js\nlet a = 1;\n```\n';
const RAFTS = JSON.stringify({ title: 'Rafts', rafts: Array.from({ length: 350 }, (_, i) => ({ place: `Bay ${i}`, note: 'two\nlines' })), none: null, many: 12 });
let browser;
let provider;
let server;
const runs = {};

before(async () => {
  provider = await startProvider((prompt) => {
    if (prompt.includes('bad')) return { status: 400, message: 'the model refuses this text' };
    if (prompt.includes('notes')) return { parts: [NOTES] };
    if (prompt.includes('rafts')) return { parts: [RAFTS] };
    if (prompt.includes('A story')) return { parts: [`${prompt.replace('A story about ', '')} live near the water.`] };
    return { parts: ['Corrected.'] };
  });
  server = await startServer({ provider: provider.url });
  const story = (topic) => server.run('story', { topic }, { wait_seconds: 30 });
  runs.river = await story('river otters');
  runs.sea = await story('sea otters');
  runs.bad = await story('bad weather');
  runs.notes = await story('notes');
  runs.rafts = await story('rafts');
  runs.grades = await server.run('grades', { message: JSON.stringify(Array.from({ length: 12 }, (_, i) => `essay ${i}`)) }, { wait_seconds: 30 });
  const files = { 'story.yaml': STORY.replace('Correct the text.', 'Correct the text, briefly.') };
  const fork = await server.api(`/runs/${runs.sea}/fork`, { body: { files } });
  runs.edited = fork.json.run;
  for (let i = 0; i < 200; i++) {
    if ((await server.api(`/runs/${runs.edited}`)).json.status === 'completed') break;
    await new Promise((done) => setTimeout(done, 50));
  }
  browser = await chromium.launch({ executablePath: path(), args: ARGS, timeout: WAIT });
});
after(async () => {
  await browser?.close();
  await server?.stop();
  provider?.stop();
});

const open = (t, view, options) => openTab(t, browser, server.url, view, options);
const compare = (a, b) => `#/compare?a=${a}&b=${b}`;

test('which input made the difference between two runs is said first, then what followed', async (t) => {
  const tab = await open(t, compare(runs.river, runs.sea));
  const verdict = tab.locator('.verdict');
  await verdict.waitFor();
  assert.match(await verdict.innerText(), /The input differs in topic: “river otters” became “sea otters”\.[\s\S]*2 of 2 calls differ|1 of 2 calls differs/);
  const input = tab.getByRole('group', { name: 'The difference in topic' });
  assert.equal(await input.locator('del').innerText().then((text) => text.replace(/\s*\[gone:\s*|\s*\]\s*/g, '')), 'river');
  assert.equal(await input.locator('ins').innerText().then((text) => text.replace(/\s*\[new:\s*|\s*\]\s*/g, '')), 'sea');
  // By more than colour, and said.
  const look = (tag) => input.locator(tag).evaluate((e) => getComputedStyle(e).textDecorationLine);
  assert.deepEqual([await look('del'), await look('ins')], ['line-through', 'underline']);
  assert.match(await input.evaluate((e) => e.textContent), /\[gone: river\].*\[new: sea\]/);
  const first = tab.locator('.step-diff').first();
  assert.match(await first.innerText(), /writer[\s\S]*was asked something else[\s\S]*here it began/);
  assert.match(await tab.locator('.figures').innerText(), /Cost\s+\$\S+\s+\$\S+\s+the same/);
  await tab.getByRole('link', { name: 'Swap' }).click();
  await tab.getByText('“sea otters” became “river otters”').waitFor();
});

test('an edit is compared with the run that it was made of: the file, what was kept, and what the prompt became', async (t) => {
  const tab = await open(t, `#/runs/${runs.edited}`);
  await tab.getByRole('link', { name: 'What it changed' }).click();
  await tab.locator('.verdict', { hasText: 'The file story.yaml differs.' }).waitFor();
  const file = tab.getByRole('group', { name: 'The difference in story.yaml' });
  assert.match(await file.locator('ins').evaluate((e) => e.textContent), /, briefly/);
  await file.getByRole('button', { name: /lines the same/ }).first().click();
  assert.match(await file.evaluate((e) => e.textContent), /id: story[\s\S]*kind: sequential/);
  const same = tab.locator('.same-steps');
  assert.match(await same.innerText(), /1 step is the same, kept and not paid again/);
  await same.getByRole('button').press('Enter');
  await same.getByRole('link', { name: 'writer' }).waitFor();
  await tab.locator('.step-diff', { hasText: 'editor' }).getByRole('link', { name: /second run/ }).click();
  await tab.locator('.detail h2', { hasText: 'editor' }).waitFor();
  assert.match(tab.url(), new RegExp(`#/runs/${runs.edited}/steps/editor`));
});

test('a run that failed is compared, too: the step that ended otherwise, and that only one of them has', async (t) => {
  const tab = await open(t, compare(runs.river, runs.bad));
  await tab.locator('.verdict', { hasText: 'the first run was completed, the second failed' }).waitFor();
  assert.match(await tab.locator('.step-diff').nth(0).innerText(), /writer[\s\S]*Failed with \w+; in the first run, it answered/);
  assert.match(await tab.locator('.step-diff').nth(1).innerText(), /editor\s+only in the first run/);
});

test('two runs are chosen in the list by keyboard, and a run offers those that it was made of', async (t) => {
  const tab = await open(t, '#/?flow=story');
  await tab.getByRole('button', { name: 'Compare two…' }).click();
  await tab.getByRole('status').filter({ hasText: 'Choose two runs.' }).waitFor();
  for (const run of [runs.sea, runs.river]) {
    const box = tab.getByRole('checkbox', { name: new RegExp(`run ${run.slice(0, 7)}`) });
    await box.focus();
    await box.press('Space');
  }
  await tab.getByRole('link', { name: /^Compare/ }).press('Enter');
  // The older one is the first, whichever was chosen first.
  await tab.getByText('“river otters” became “sea otters”').waitFor();
  await tab.goto(`${server.url}#/runs/${runs.edited}`);
  await tab.getByRole('link', { name: 'Compare with…' }).click();
  await tab.locator('.choices a', { hasText: 'it was made of this run' }).click();
  await tab.locator('.verdict', { hasText: 'story.yaml' }).waitFor();
  assert.match(tab.url(), new RegExp(`a=${runs.sea}&b=${runs.edited}`));
});

test('where there is nothing to compare, it is said what to do', async (t) => {
  const tab = await open(t, compare(runs.river, 'none'), { allow: /status of 4(04|10)/ });
  await tab.locator('.problem', { hasText: 'RUN_NOT_FOUND' }).waitFor();
  await tab.getByRole('link', { name: 'Choose other runs' }).click();
  await tab.getByText('Choose two runs.').waitFor();
  await tab.goto(`${server.url}#/compare`);
  await tab.getByRole('heading', { name: 'Two runs are compared' }).waitFor();
  await tab.goto(`${server.url}#/compare?b=${runs.grades}`);
  await tab.getByRole('heading', { name: 'There is no other run of this flow' }).waitFor();
  const gone = { status: 410, code: 'CONTENT_REMOVED', detail: 'the content of the run was removed' };
  await tab.route('**/diff?with=*', (route) => route.fulfill({ status: 410, contentType: 'application/problem+json', body: JSON.stringify(gone) }));
  await tab.goto(`${server.url}${compare(runs.sea, runs.river)}`);
  await tab.getByText('no longer has the prompts and answers').waitFor();
});

test('the most expensive step of the week is the first thing that the costs say', async (t) => {
  const tab = await open(t, '#/');
  await tab.getByRole('link', { name: 'Costs' }).click();
  assert.match(await tab.locator('.verdict').innerText(), /grade\/grader of grades cost most in the last week: \$[\d.]+, \d+% of what steps cost\./);
  await tab.getByRole('link', { name: 'Look at the dearest call' }).click();
  await tab.locator('.detail h2', { hasText: 'grader' }).waitFor();
  await tab.goBack();
  await tab.getByLabel('Since').selectOption('30d');
  await tab.locator('.verdict', { hasText: 'the last 30 days' }).waitFor();
  assert.match(tab.url(), /since=30d/);
  const story = tab.locator('table.numbers.short tr', { hasText: 'story' });
  assert.match(await story.innerText(), /story\s+\$[\d.]+\s+6\s+1/);
  await story.getByRole('link').click();
  await tab.getByRole('heading', { name: /story/ }).first().waitFor();
  assert.match(await tab.locator('.read').innerText(), /all 6 runs in this time/);
});

test('a flow over many runs shows cost, time and failures, its versions, and which prompt ran when', async (t) => {
  const tab = await open(t, '#/flows/story');
  await tab.getByRole('link', { name: 'Over many runs' }).click();
  await tab.locator('.chart').first().waitFor();
  assert.match(await tab.locator('.tally-of').innerText(), /6 runs[\s\S]*1 failed \(17%\)[\s\S]*2 versions/);
  const chart = tab.getByRole('slider', { name: /^Cost of each run/ });
  await chart.focus();
  await chart.press('Home');
  assert.match(await chart.getAttribute('aria-valuetext'), new RegExp(`completed.*run ${runs.river.slice(0, 7)}`));
  await chart.press('ArrowRight');
  await chart.press('ArrowRight');
  assert.match(await chart.getAttribute('aria-valuetext'), /failed/);
  await tab.getByText('The same as a table').click();
  assert.equal(await tab.locator('.behind tbody tr').count(), 6);
  const prompts = tab.getByRole('group', { name: /^Versions of prompts/ });
  const editor = prompts.locator('tbody tr', { hasText: 'editor' });
  assert.equal(await editor.count(), 2, 'the prompt that was edited has two versions');
  assert.equal(await prompts.locator('tbody tr', { hasText: 'writer' }).count(), 1);
  await editor.first().getByRole('link', { name: /compare/ }).click();
  await tab.locator('.verdict', { hasText: 'story.yaml' }).waitFor();
  await tab.goto(`${server.url}#/flows/story/history`);
  await chart.waitFor();
  await chart.focus();
  await chart.press('End');
  await chart.press('Enter');
  await tab.locator('.app').waitFor();
  assert.match(tab.url(), new RegExp(`#/runs/${runs.edited}`));
  await tab.goto(`${server.url}#/flows/form/history`);
  await tab.getByRole('heading', { name: /No run of this flow/ }).waitFor();
});

test('an answer is read as text or as Markdown, without HTML, and its links go nowhere else', async (t) => {
  const tab = await open(t, `#/runs/${runs.notes}/steps/writer`);
  await tab.locator('.answer .text', { hasText: '# Otters' }).waitFor();
  await tab.getByRole('group', { name: 'Answer as' }).getByRole('button', { name: 'Markdown' }).press('Enter');
  const answer = tab.getByRole('group', { name: 'Answer', exact: true });
  await answer.getByRole('heading', { name: 'Otters' }).waitFor();
  assert.equal(await answer.locator('strong').innerText(), 'hold hands');
  assert.deepEqual(await answer.locator('a').evaluateAll((all) => all.map((a) => [a.getAttribute('href'), a.rel])), [
    ['https://example.org/x', 'noreferrer noopener'],
    ['https://example.org/raft.png', 'noreferrer noopener'],
  ]);
  assert.match(await answer.innerText(), /there \(javascript:alert\(1\)\)[\s\S]*image: a raft[\s\S]*<img src=x onerror/);
  assert.equal(await answer.locator('img, script').count(), 0);
  assert.equal(await answer.locator('td').last().innerText(), '2');
  assert.equal(await tab.evaluate(() => 'harmed' in window), false);
});

test('JSON is a tree that opens part by part, by keyboard, and of a long list only the beginning is there', async (t) => {
  const tab = await open(t, `#/runs/${runs.rafts}/steps/writer`);
  const answer = tab.getByRole('group', { name: 'Answer', exact: true });
  const rafts = answer.getByRole('button', { name: /rafts 350 items/ });
  await rafts.waitFor();
  assert.match(await answer.innerText(), /title:\s*Rafts[\s\S]*none:\s*null[\s\S]*many:\s*12/);
  assert.equal(await answer.locator('button[tabindex="0"]').count(), 1, 'one tab stop');
  await answer.locator('button').first().focus();
  await tab.keyboard.press('ArrowDown');
  await tab.keyboard.press('ArrowRight');
  assert.equal(await rafts.getAttribute('aria-expanded'), 'true');
  assert.equal(await answer.locator('ul ul > li').count(), 101);
  await tab.keyboard.press('ArrowRight');
  await tab.keyboard.press('ArrowRight');
  assert.match(await answer.innerText(), /note:\s*two\nlines/, 'a text is never escaped');
  await answer.getByRole('button', { name: '250 more' }).click();
  await answer.getByRole('button', { name: /^349/ }).waitFor();
  await tab.getByRole('group', { name: 'Answer as' }).getByRole('button', { name: 'Text' }).click();
  assert.match(await answer.innerText(), /^\{"title":"Rafts"/);
});

test('a value of 30 MB is opened without holding up the page', async (t) => {
  const tab = await open(t, `#/runs/${runs.river}/steps/writer`);
  await tab.locator('.answer .text').waitFor();
  const trace = JSON.parse((await server.api(`/runs/${runs.river}/trace`)).text);
  const value = { items: Array.from({ length: 400_000 }, (_, i) => ({ id: i, text: 'x'.repeat(70) })) };
  const step = trace.steps.find((one) => one.key === 'writer');
  [step.calls.at(-1).answer, step.output, trace.output] = [value, null, null];
  const body = `event: trace\nid: 9\ndata: ${JSON.stringify(trace)}\n\n`;
  assert.ok(body.length > 30_000_000);
  await tab.route('**/trace', (route) => route.fulfill({ status: 200, contentType: 'text/event-stream', body }));
  await tab.goto(`${server.url}#/flows`);
  await tab.goto(`${server.url}#/runs/${runs.river}/steps/writer`);
  const items = tab.getByRole('button', { name: /items 400,000 items/ });
  await items.waitFor();
  const took = await items.evaluate(async (button) => {
    const begun = performance.now();
    button.click();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - begun;
  });
  t.diagnostic(`a list of 400,000 items opened in ${Math.round(took)} ms`);
  assert.ok(took < 1_000, `${took} ms`);
  assert.ok((await tab.evaluate(() => document.querySelectorAll('*').length)) < 3_000);
});

test('an address names a moment: that of an event, and that of the time bar', async (t) => {
  const { json } = await server.api(`/runs/${runs.sea}/events?limit=100`);
  const event = json.events.find((one) => one.event === 'step_started' && one.key === 'editor');
  const tab = await open(t, `#/runs/${runs.sea}?event=${event.seq}`);
  const bar = tab.getByRole('slider', { name: 'Time in the run' });
  await bar.waitFor();
  await tab.waitForFunction(() => document.querySelector('.scrub output')?.textContent !== 'end');
  assert.match(await tab.locator('[data-node]', { hasText: 'editor' }).getAttribute('aria-label'), /running|done/);
  await bar.press('Home');
  await tab.waitForFunction(() => /\?at=0$/.test(location.hash));
  await tab.reload();
  await tab.waitForFunction(() => document.querySelector('.scrub output')?.textContent === '0 ms');
  await bar.press('End');
  await tab.waitForFunction(() => !location.hash.includes('at='));
});

test('`?` says what every sign means, and not while somebody writes', async (t) => {
  const tab = await open(t, '#/');
  await tab.getByLabel('Search ids, flows, errors and labels').press('?');
  assert.equal(await tab.locator('dialog[open]').count(), 0);
  await tab.locator('main').first().click({ position: { x: 3, y: 3 } });
  await tab.keyboard.press('?');
  const dialog = tab.getByRole('dialog', { name: 'Signs and keys' });
  await dialog.waitFor();
  assert.match(await dialog.innerText(), /waits for an answer[\s\S]*came with the input/);
  await tab.keyboard.press('Escape');
  assert.equal(await tab.locator('dialog[open]').count(), 0);
  await tab.getByRole('button', { name: 'What the signs mean' }).click();
  await dialog.getByRole('button', { name: 'Close' }).click();
});

const VIEWS = () => [compare(runs.river, runs.sea), compare(runs.sea, runs.edited), compare(runs.river, runs.bad), `#/compare?b=${runs.edited}`, '#/compare', '#/?compare=yes', '#/costs', '#/flows/story/history', '#/flows/story', `#/runs/${runs.notes}/steps/writer`, `#/runs/${runs.rafts}/steps/writer`];
const ready = async (tab, view) => {
  await tab.goto(`${server.url}${view}`);
  await tab.locator('main, .empty').first().waitFor();
  await tab.locator('.loading').waitFor({ state: 'detached' });
  await tab.waitForTimeout(400);
  // On a narrow screen, one part is seen at a time.
  const detail = tab.locator('.tabs button', { hasText: 'Detail' });
  if (await detail.isVisible()) await detail.click();
  const markdown = tab.getByRole('button', { name: 'Markdown' }).first();
  if (view.includes(runs.notes)) await markdown.click();
  if (view.includes('history')) await tab.getByText('The same as a table').click();
};

for (const scheme of ['light', 'dark']) {
  test(`no serious problem of accessibility, ${scheme}`, async (t) => {
    const tab = await open(t, '', { scheme, bypassCSP: true });
    for (const view of [...VIEWS(), 'signs']) {
      if (view === 'signs') {
        await ready(tab, '#/');
        await tab.getByRole('button', { name: 'What the signs mean' }).click();
      } else await ready(tab, view);
      await tab.evaluate(axe);
      const { violations } = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
      assert.deepEqual(serious.map((v) => `${view} ${v.id}: ${v.help} (${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')})`), []);
    }
  });
}

test('on a screen of 360 pixels nothing sticks out', async (t) => {
  const tab = await open(t, '', { size: { width: 360, height: 740 } });
  for (const view of VIEWS()) {
    await ready(tab, view);
    const wide = await tab.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector('.content').scrollWidth));
    assert.ok(wide <= 360, `${view}: ${wide}`);
  }
});
