// The page of a real server in a real browser: `TREFOIL=path node test/server.mjs`. A provider on this machine answers. `FROM_DISK=1`
// takes the page from the working tree, so that the server needs not be built again.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { startProvider } from './server/provider.mjs';
import { startServer, startWay } from './server/serving.mjs';
import { openTab, WAIT } from './server/tab.mjs';
import { ARGS, chromium as path } from './support.mjs';

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
let browser;
let provider;
let server;

/** Answers at once, unless a test says otherwise. */
const plain = (prompt) => ({ parts: ['Otters ', 'sleep ', 'afloat.'], pause: 0, prompt });

before(async () => {
  provider = await startProvider(plain);
  server = await startServer({ provider: provider.url });
  browser = await chromium.launch({ executablePath: path(), args: ARGS, timeout: WAIT });
});
after(async () => {
  await browser?.close();
  await server?.stop();
  provider?.stop();
});

const open = (t, view = '', { url = server.url, ...options } = {}) => openTab(t, browser, url, view, options);

/** Says how models answer from now on, until the test is over. */
function answers(t, how) {
  provider.answer = how;
  t.after(() => (provider.answer = plain));
}

const status = (tab) => tab.locator('.title > .word').first();
const ended = async (run, statuses = ['completed', 'failed', 'cancelled', 'waiting']) => {
  for (let i = 0; i < 300; i++) {
    const { json } = await server.api(`/runs/${run}`);
    if (statuses.includes(json.status)) return json;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`run ${run} goes on`);
};

test('without a run, the list says what to do', async (t) => {
  const tab = await open(t);
  await tab.getByRole('heading', { name: 'No run yet' }).waitFor();
  await tab.getByRole('link', { name: 'Start one' }).click();
  await tab.getByRole('heading', { name: 'Start a run' }).waitFor();
});

test('a form is made of the schema, says what is wrong at its field, and starts the run once', async (t) => {
  const tab = await open(t, '#/start/form', { allow: /status of 400/ });
  const button = tab.getByRole('button', { name: 'Start form' });
  await tab.locator('#field-title').fill('Otters');
  await tab.locator('#field-points').fill('many');
  await tab.locator('#field-tone').selectOption('warm');
  await tab.locator('#field-short').selectOption('yes');
  await tab.locator('#field-notes').fill('["a"');
  await button.click();
  assert.match(await tab.locator('#field-points-about').innerText(), /no number/);
  assert.match(await tab.locator('#field-notes-about').innerText(), /no JSON/);
  await tab.locator('#field-points').fill('11');
  await tab.locator('#field-notes').fill('["a"]');
  await button.click();
  // What only the server knows is said at the field, too.
  await tab.locator('.field.wrong #field-points').waitFor();
  assert.match(await tab.locator('#field-points-about').innerText(), /11 is greater than the maximum of 10/);
  assert.equal(await tab.evaluate(() => document.activeElement?.id), 'field-points');
  await tab.locator('#field-points').fill('7');
  await button.click();
  await tab.locator('.app').waitFor();
  const run = tab.url().match(/#\/runs\/([^/]+)/)?.[1];
  const { json } = await server.api(`/runs/${run}/trace`);
  assert.deepEqual(json.input, { title: 'Otters', points: 7, tone: 'warm', short: true, notes: ['a'] });
  assert.equal((await server.api('/runs?flow=form')).json.runs.length, 1);
  // The same again, from what was entered in this tab.
  await tab.goto(`${server.url}#/start/form`);
  await tab.getByRole('button', { name: /Otters/ }).click();
  assert.equal(await tab.locator('#field-points').inputValue(), '7');
});

test('runs are filtered in the address, and the one that waits comes first', async (t) => {
  const ask = await server.run('approval', { task: 'News' }, { labels: { team: 'desk' }, wait_seconds: 20 });
  for (const topic of ['bees', 'ants']) await ended(await server.run('story', { topic }));
  const tab = await open(t);
  const first = tab.locator('table.runs').first();
  assert.match(await first.innerText(), /waiting\s+approval/);
  await tab.locator('.menu .count', { hasText: '1' }).waitFor();
  await tab.getByLabel('Flow', { exact: true }).selectOption('story');
  await tab.waitForFunction(() => document.querySelectorAll('table.runs tbody tr').length === 2);
  assert.match(tab.url(), /flow=story/);
  await tab.getByLabel('Label, as KEY:VALUE').fill('team:desk');
  await tab.getByRole('heading', { name: 'No run fits the filters' }).waitFor();
  await tab.reload();
  await tab.getByRole('heading', { name: 'No run fits the filters' }).waitFor();
  await tab.getByRole('link', { name: 'Show all runs' }).click();
  await tab.getByRole('link', { name: 'team: desk' }).first().click();
  await tab.waitForFunction(() => document.querySelectorAll('table.runs tbody tr').length === 1);
  await tab.goBack();
  await tab.waitForFunction(() => document.querySelectorAll('table.runs tbody tr').length > 2);
  await tab.locator(`a[href="#/runs/${ask}"]`).click();
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('waiting'));
});

test('older runs are loaded from where the list ends', async (t) => {
  for (let i = 0; i < 55; i++) await server.run('story', { topic: `page ${i}` }, { labels: { many: 'yes' } });
  const tab = await open(t, '#/?label=many%3Ayes');
  await tab.waitForFunction(() => document.querySelectorAll('table.runs tbody tr').length === 50);
  await tab.getByRole('button', { name: 'Show older runs' }).click();
  await tab.waitForFunction(() => document.querySelectorAll('table.runs tbody tr').length === 55);
});

test('a run is watched to its end: text as it arrives, the open step stays open', async (t) => {
  answers(t, (prompt) => ({ parts: prompt.includes('A story') ? ['Once ', 'upon ', 'a ', 'time ', 'there ', 'was ', 'an ', 'otter.'] : ['Corrected.'], pause: 250 }));
  const run = await server.run('story', { topic: 'otters' });
  const tab = await open(t, `#/runs/${run}`);
  await tab.locator('.all .row a.label', { hasText: 'writer' }).click();
  const text = tab.locator('.arriving .text');
  await text.waitFor();
  const early = await text.innerText();
  await tab.waitForFunction((was) => (document.querySelector('.arriving .text')?.textContent ?? '').length > was.length, early);
  assert.ok('Once upon a time there was an otter.'.startsWith(early.trim()), early);
  await tab.evaluate(() => (document.querySelector('.detail').dataset.mark = 'same'));
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('completed'));
  assert.match(await tab.locator('.detail h2').innerText(), /^writer/);
  assert.equal(await tab.locator('.detail').getAttribute('data-mark'), 'same');
  assert.match(await tab.locator('.answer .text').innerText(), /Once upon a time there was an otter\./);
  // Where the text of a prompt comes from is known of a run that was watched, too.
  await tab.locator('.all .row a.label', { hasText: 'editor' }).click();
  await tab.locator('a.part.p-step').first().waitFor();
  assert.equal(await tab.locator('.live').count(), 0);
  // A run that has ended is not asked for again.
  const asked = [];
  tab.on('request', (r) => r.url().includes(run) && asked.push(r.url()));
  await tab.waitForTimeout(2_500);
  assert.deepEqual(asked, []);
});

test('a question is answered in the run, and a second answer says who was first', async (t) => {
  const run = await server.run('approval', { task: 'Otters <b>hold</b> hands' }, { wait_seconds: 20 });
  const tab = await open(t, `#/runs/${run}`);
  const other = await open(t, `#/runs/${run}`, { allow: /status of 409/ });
  await tab.locator('.question').waitFor();
  assert.match(await tab.locator('.asked').innerText(), /Publish this\? Otters <b>hold<\/b> hands/);
  // The other browser has not heard of the answer when somebody answers there.
  await other.locator('.question').waitFor();
  await other.route('**/api/v1/runs/*/trace', (route) => route.abort());
  let late = null;
  await other.route('**/answers', async (route) => {
    late = route;
  });
  await other.getByRole('button', { name: 'no', exact: true }).click();
  await tab.getByRole('button', { name: 'yes', exact: true }).click();
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('completed'));
  await tab.locator('.all .row a.label', { hasText: 'PUBLISH' }).waitFor();
  assert.equal(await tab.locator('.question').count(), 0);
  await late.continue();
  await other.locator('.problem', { hasText: /RUN_ENDED|ALREADY_ANSWERED/ }).or(other.locator('.title', { hasText: 'completed' })).first().waitFor();
  const { json } = await server.api(`/runs/${run}/trace`);
  assert.equal(json.steps.find((step) => step.key.startsWith('ASK')).output.response ?? json.steps.find((step) => step.key.startsWith('ASK')).calls.at(-1).answer, 'yes');
});

test('the card of a question stays when the answer does not arrive, and the same answer counts once', async (t) => {
  const run = await server.run('approval', { task: 'More' }, { wait_seconds: 20 });
  const tab = await open(t, '#/questions', { allow: /Failed to load/ });
  const card = tab.locator('.questions > div', { has: tab.locator(`a[href="#/runs/${run}"]`) });
  await card.waitFor();
  await tab.route('**/answers', (route) => route.abort());
  await card.getByRole('button', { name: 'yes', exact: true }).click();
  await card.locator('.problem').waitFor();
  assert.match(await card.innerText(), /Nothing is lost/);
  await tab.unroute('**/answers');
  await card.getByRole('button', { name: 'yes', exact: true }).click();
  await card.locator('.given').waitFor();
  await ended(run, ['completed']);
});

test('a failed run leads with its failure, is resumed, and pays nothing twice', async (t) => {
  let broken = true;
  const seen = [];
  answers(t, (prompt) => {
    seen.push(prompt);
    return broken && !prompt.includes('A story') ? { status: 400, message: 'not today' } : { parts: ['done.'] };
  });
  const run = await server.run('story', { topic: 'repair' }, { wait_seconds: 30 });
  const tab = await open(t, `#/runs/${run}`);
  assert.match(await tab.locator('.lead').first().innerText(), /not today[\s\S]*in editor/);
  assert.match(await tab.locator('.detail h2').innerText(), /^editor/);
  broken = false;
  await tab.getByRole('button', { name: 'Resume' }).click();
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('completed'));
  assert.equal(seen.filter((prompt) => prompt.includes('A story')).length, 1);
  assert.equal(await tab.getByRole('button', { name: 'Resume' }).count(), 0);
});

test('a fork says before the click what is kept, what runs again and what it costs, and leaves the run as it is', async (t) => {
  const run = await server.run('story', { topic: 'fork' }, { wait_seconds: 30 });
  const [traceBefore, eventsBefore] = [(await server.api(`/runs/${run}/trace`)).text, (await server.api(`/runs/${run}/events`)).text];
  const called = provider.calls;
  const tab = await open(t, `#/runs/${run}/steps/editor`);
  await tab.getByRole('button', { name: 'Run again from here…' }).click();
  const panel = tab.locator('.fork');
  await panel.locator('.preview').waitFor();
  assert.match(await panel.locator('.d-kept').innerText(), /1 call\s+is kept and not paid again\s+writer/);
  assert.match(await panel.locator('.d-again').innerText(), /1 call\s+runs again\s+editor/);
  assert.match(await panel.locator('.money').innerText(), /costs\s+(at most \$|unknown|no maximum)/);
  await panel.getByLabel('Limit in dollars').fill('0.5');
  assert.equal(await panel.locator('.primary').innerText(), 'Start the new run (at most $0.50)');
  await panel.getByLabel('Limit in dollars').fill('');
  assert.equal(provider.calls, called, 'a preview calls nothing');
  await panel.getByRole('button', { name: /Start the new run/ }).click();
  await tab.waitForFunction((old) => !location.hash.includes(old), run);
  // The page may still show the end of the run before.
  await ended(new URL(tab.url()).hash.split('/')[2]);
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('completed'));
  assert.equal(provider.calls, called + 1);
  assert.match(await tab.locator('.actions').innerText(), new RegExp(`reuses ${run.slice(0, 6)}`));
  assert.equal((await server.api(`/runs/${run}/trace`)).text, traceBefore);
  assert.equal((await server.api(`/runs/${run}/events`)).text, eventsBefore);
});

test('cancelling asks once, and so does deleting', async (t) => {
  answers(t, () => ({ parts: ['a', 'b', 'c'], pause: 20_000 }));
  const run = await server.run('story', { topic: 'cancel' });
  const tab = await open(t, `#/runs/${run}`, { allow: /status of 404/ });
  await tab.getByRole('button', { name: 'Cancel', exact: true }).click();
  await tab.getByRole('button', { name: 'No', exact: true }).click();
  assert.equal((await server.api(`/runs/${run}`)).json.status, 'running');
  await tab.getByRole('button', { name: 'Cancel', exact: true }).click();
  await tab.getByRole('group', { name: 'End this run for good?' }).getByRole('button', { name: 'Cancel', exact: true }).click();
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('cancelled'));
  await tab.getByRole('button', { name: 'Delete' }).click();
  await tab.getByRole('group', { name: /Delete this run/ }).getByRole('button', { name: 'Delete' }).click();
  await tab.locator('table.runs').first().waitFor();
  assert.equal((await server.api(`/runs/${run}`)).status, 404);
});

test('a cut of the network is shown, and caught up with', async (t) => {
  answers(t, (prompt) => ({ parts: Array.from({ length: prompt.includes('A story') ? 24 : 2 }, (_, i) => `w${i} `), pause: 150 }));
  const way = await startWay(server.port);
  t.after(() => way.stop());
  const run = await server.run('story', { topic: 'cut' });
  const tab = await open(t, `#/runs/${run}`, { url: way.url, allow: /Failed to load|ERR_/ });
  await tab.locator('.live').waitFor();
  await tab.locator('.all .row a.label', { hasText: 'writer' }).click();
  way.cut();
  await tab.locator('.lost').waitFor();
  await ended(run);
  const streams = [];
  tab.on('request', (r) => r.url().endsWith('/trace') && streams.push(r.headers()['last-event-id']));
  way.mend();
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('completed'));
  assert.equal(await tab.locator('.lost').count(), 0);
  assert.match(await tab.locator('.detail h2').innerText(), /^writer/);
  assert.match(await tab.locator('.detail .answer .text').innerText(), /w0 .* w23/);
  assert.ok(streams.length > 0 && streams.every((id) => Number(id) > 0), `taken up again, not from the beginning: ${streams}`);
});

test('a run whose server dies while it is watched goes on before the same eyes', async (t) => {
  answers(t, (prompt) => ({ parts: Array.from({ length: prompt.includes('A story') ? 2 : 12 }, (_, i) => `w${i} `), pause: 200 }));
  const run = await server.run('story', { topic: 'kill' });
  const tab = await open(t, `#/runs/${run}`, { allow: /Failed to load|ERR_/ });
  await tab.locator('.all .row a.label', { hasText: 'editor' }).waitFor();
  await server.kill();
  await tab.locator('.lost').waitFor();
  await server.start();
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('completed'));
  assert.equal(await tab.locator('.lost').count(), 0);
});

test('two browsers see the same run', async (t) => {
  answers(t, () => ({ parts: ['a ', 'b ', 'c '], pause: 200 }));
  const run = await server.run('story', { topic: 'two' });
  const tabs = await Promise.all([open(t, `#/runs/${run}`), open(t, `#/runs/${run}/run`)]);
  for (const tab of tabs) await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('completed'));
  for (const tab of tabs) assert.equal(await tab.locator('.all .row').count(), 2);
});

test('a fan-out is followed with few elements in the page', async (t) => {
  answers(t, () => ({ parts: ['B'], pause: 30 }));
  const items = Array.from({ length: 300 }, (_, i) => `essay ${i}`);
  const run = await server.run('grades', { message: JSON.stringify(items) });
  const tab = await open(t, `#/runs/${run}`);
  await tab.locator('.all .row').first().waitFor();
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('completed'));
  assert.ok((await tab.evaluate(() => document.querySelectorAll('*').length)) < 2_000);
  assert.match(await tab.locator('.all .row').first().innerText(), /300 parts/);
});

test('10,000 items are followed while they stream', { timeout: 400_000 }, async (t) => {
  answers(t, () => ({ parts: ['B'], pause: 0 }));
  const items = Array.from({ length: 10_000 }, (_, i) => `essay ${i}`);
  const run = await server.run('grades', { message: JSON.stringify(items) }, { max_calls: items.length });
  const tab = await open(t, `#/runs/${run}`);
  await tab.locator('.all .row').first().waitFor();
  await tab.waitForFunction(() => /completed|failed/.test(document.querySelector('.title')?.textContent ?? ''), null, { timeout: 300_000 });
  assert.match(await status(tab).innerText(), /completed/);
  await tab.waitForFunction(() => /10,000 parts/.test(document.querySelector('.all .row')?.textContent ?? ''), null, { timeout: 120_000 });
  assert.ok((await tab.evaluate(() => document.querySelectorAll('*').length)) < 2_000);
});

test('flows show their graph, their findings, their plan and their runs', async (t) => {
  const tab = await open(t, '#/flows');
  await tab.getByRole('link', { name: 'story' }).click();
  const box = tab.locator('.flow-graph .node', { hasText: 'editor' });
  await box.click();
  await tab.locator('.plan li.on', { hasText: 'editor' }).waitFor();
  await tab.locator('.plan li', { hasText: 'editor' }).waitFor();
  await tab.locator('table.runs tbody tr').first().waitFor();
  assert.match(await tab.locator('main').innerText(), /cost\s+(at most \$|unknown|no maximum)/);
});

test('where a key is needed, it stays in memory, and the page shows only what it may do', async (t) => {
  const keyed = await startServer({ provider: provider.url, args: ['--require-key'] });
  t.after(() => keyed.stop());
  const reader = keyed.addKey('reader', 'read');
  const writer = keyed.addKey('writer', 'read,run,answer');
  const { json } = await keyed.api('/runs', { body: { flow: 'approval', input: { task: 'x' }, wait_seconds: 20 }, key: writer });
  const tab = await open(t, `#/runs/${json.run}`, { url: keyed.url, allow: /status of 40[14]/ });
  const field = tab.getByLabel('Key', { exact: true });
  await field.fill('trefoil_000000000000_wrong');
  await tab.getByRole('button', { name: 'Enter' }).click();
  await tab.locator('.problem', { hasText: 'KEY_UNKNOWN' }).waitFor();
  await field.fill(reader);
  await tab.getByRole('button', { name: 'Enter' }).click();
  // It sees only its own runs, and starts none.
  await tab.getByRole('heading', { name: 'This run cannot be shown' }).waitFor();
  assert.equal(await tab.getByRole('link', { name: /^Start/ }).count(), 0);
  await tab.getByRole('button', { name: 'Forget' }).click();
  await field.fill(writer);
  await tab.getByRole('button', { name: 'Enter' }).click();
  await tab.getByRole('button', { name: 'yes', exact: true }).click();
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('completed'));
  const kept = await tab.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML]));
  for (const key of [reader, writer]) assert.ok(!kept.includes(key.split('_').at(-1)), 'the key is nowhere');
  await tab.reload();
  await field.waitFor();
});

test('a key that is revoked while somebody looks leads to the login, and another key goes on there', async (t) => {
  const keyed = await startServer({ provider: provider.url, args: ['--require-key'] });
  t.after(() => keyed.stop());
  const [first, admin] = [keyed.addKey('first', 'read,run,answer'), keyed.addKey('boss', 'admin')];
  const { json } = await keyed.api('/runs', { body: { flow: 'approval', input: { task: 'x' }, wait_seconds: 20 }, key: first });
  const tab = await open(t, `#/runs/${json.run}`, { url: keyed.url, allow: /status of 401|ERR_/ });
  await tab.getByLabel('Key', { exact: true }).fill(first);
  await tab.getByRole('button', { name: 'Enter' }).click();
  await tab.locator('.question').waitFor();
  keyed.revokeKey('first');
  await tab.getByText('The key is unknown or was revoked.').waitFor();
  await tab.getByLabel('Key', { exact: true }).fill(admin);
  await tab.getByRole('button', { name: 'Enter' }).click();
  await tab.locator('.question').waitFor();
});

test('data of runs is text, and nothing of the page may become more', async (t) => {
  const evil = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>\u202e';
  answers(t, () => ({ parts: [evil] }));
  const run = await server.run('story', { topic: evil }, { labels: { evil }, wait_seconds: 30 });
  const tab = await open(t, `#/runs/${run}/steps/editor`);
  await tab.locator('.answer .text').waitFor();
  assert.match(await tab.locator('.answer .text').innerText(), /<img src=x onerror/);
  await tab.goto(`${server.url}#/`);
  await tab.locator('.tag', { hasText: '<img' }).first().waitFor();
  const harmed = await tab.evaluate(() => ('harmed' in window) || document.querySelector('img') !== null);
  assert.equal(harmed, false);
});

for (const scheme of ['light', 'dark']) {
  test(`no serious problem of accessibility in any view, ${scheme}`, async (t) => {
    const waits = await server.run('approval', { task: 'axe' }, { wait_seconds: 20 });
    const run = await server.run('story', { topic: 'axe' }, { wait_seconds: 30 });
    const tab = await open(t, '', { scheme, bypassCSP: true });
    for (const view of ['#/', '#/?text=zzz', `#/runs/${waits}`, `#/runs/${run}/steps/editor`, '#/questions', '#/flows', '#/flows/story', '#/start/form', '#/nothing']) {
      await tab.goto(`${server.url}${view}`);
      await tab.locator('main, .empty').first().waitFor();
      await tab.waitForTimeout(400);
      if (view.includes('editor')) {
        await tab.getByRole('button', { name: 'Run again from here…' }).click();
        await tab.locator('.preview').waitFor();
      }
      await tab.evaluate(axe);
      const { violations } = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
      assert.deepEqual(serious.map((v) => `${view} ${v.id}: ${v.help} (${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')})`), []);
    }
    await server.api(`/runs/${waits}/cancel`, { method: 'POST' });
  });
}

test('on a screen of 360 pixels nothing sticks out', async (t) => {
  const waits = await server.run('approval', { task: 'a long question without an end '.repeat(8) }, { wait_seconds: 20 });
  const run = await server.run('story', { topic: 'narrow' }, { wait_seconds: 30 });
  const tab = await open(t, '', { size: { width: 360, height: 740 } });
  for (const view of ['#/', `#/runs/${waits}`, `#/runs/${run}`, '#/questions', '#/flows', '#/flows/story', '#/start/form']) {
    await tab.goto(`${server.url}${view}`);
    await tab.locator('main, .empty').first().waitFor();
    await tab.waitForTimeout(300);
    const wide = await tab.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector('.content').scrollWidth));
    assert.ok(wide <= 360, `${view}: ${wide}`);
  }
  await server.api(`/runs/${waits}/cancel`, { method: 'POST' });
});

test('from the list to an answer by keys only', async (t) => {
  const run = await server.run('approval', { task: 'keys' }, { wait_seconds: 20 });
  const tab = await open(t, '#/?status=waiting');
  await tab.locator(`a[href="#/runs/${run}"]`).focus();
  await tab.keyboard.press('Enter');
  await tab.locator('.question').waitFor();
  for (let i = 0; i < 30 && !(await tab.evaluate(() => document.activeElement?.closest('.answers') !== null && document.activeElement?.closest('.answers') !== undefined)); i++) await tab.keyboard.press('Tab');
  await tab.keyboard.press('Enter');
  await tab.waitForFunction(() => document.querySelector('.title')?.textContent?.includes('completed'));
});

test('what is typed into a filter stays, although the list is drawn again all the time', async (t) => {
  const tab = await open(t, '#/?status=running');
  const field = tab.getByLabel('Search ids, flows, errors and labels');
  await field.pressSequentially('no such run at all', { delay: 120 });
  assert.equal(await field.inputValue(), 'no such run at all');
  await tab.waitForFunction(() => new URLSearchParams(location.hash.split('?')[1]).get('text') === 'no such run at all');
  assert.equal(await field.evaluate((e) => document.activeElement === e), true);
});

test('what asks before it acts does not take the keyboard back', async (t) => {
  answers(t, () => ({ parts: ['a', 'b'], pause: 20_000 }));
  const run = await server.run('story', { topic: 'twice' });
  const tab = await open(t, `#/runs/${run}`);
  await tab.locator('.live').waitFor();
  await tab.getByRole('button', { name: 'Cancel', exact: true }).click();
  await tab.waitForFunction(() => document.activeElement?.classList.contains('danger'));
  await tab.keyboard.press('Tab');
  // Over some redraws: the time of a run in progress moves every second.
  await tab.waitForTimeout(2_500);
  assert.equal(await tab.evaluate(() => document.activeElement?.textContent), 'No');
  await tab.keyboard.press('Enter');
  assert.equal((await server.api(`/runs/${run}`)).json.status, 'running');
  await server.api(`/runs/${run}/cancel`, { method: 'POST' });
});
