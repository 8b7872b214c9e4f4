// The editor of a run's files, in a real browser with a real server: `TREFOIL=path node test/editing.mjs`.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { startProvider } from './server/provider.mjs';
import { startServer } from './server/serving.mjs';
import { openTab, WAIT } from './server/tab.mjs';
import { ARGS, chromium as path, here } from './support.mjs';

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
/** Of what a server does not do that a test does not want. */
let browser;
let provider;
let server;
let folder;
const file = () => join(folder, 'story.yaml');
const BEGUN = readFileSync(here('flows/story.yaml'), 'utf8');

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'trefoil-flows-'));
  cpSync(here('flows'), folder, { recursive: true });
  provider = await startProvider((prompt) => ({ parts: [`Answer to <${prompt}>.`], pause: 0 }));
  server = await startServer({ provider: provider.url, folder, args: ['--edit'] });
  // The page that comes from the working tree has no address that the browser could compare with that of a socket.
  browser = await chromium.launch({ executablePath: path(), args: [...ARGS, '--disable-features=LocalNetworkAccessChecks'], timeout: WAIT });
});
after(async () => {
  await browser?.close();
  await server?.stop();
  provider?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A run of the flow as the tests begin with it: the server may still have what a test before has saved. */
async function startStory() {
  for (let i = 0; ; i++) {
    const run = await server.run('story', { topic: 'otters' }, { wait_seconds: 20 });
    const { json } = await server.api(`/runs/${run}/files`);
    if (json.files[0].text === BEGUN) return run;
    assert.ok(i < 100, 'the server does not read the file again');
    await new Promise((done) => setTimeout(done, 200));
  }
}
const open = (t, view, options) => openTab(t, browser, server.url, view, options);
const openEditor = async (t, run, options) => {
  const tab = await open(t, `#/edit/${run}`, options);
  await editor(tab).waitFor();
  return tab;
};
const editor = (tab) => tab.getByRole('textbox', { name: 'Text of story.yaml' });
const prompts = (tab) => tab.locator('.prompts');

/** Replaces a text in the editor as somebody would: finds it, selects it, types. */
async function change(tab, from, to) {
  const line = editor(tab).locator('.cm-line', { hasText: from }).first();
  await line.click();
  await tab.keyboard.press('End');
  const text = await line.textContent();
  await tab.keyboard.press('Shift+Home');
  await tab.keyboard.press('Shift+Home');
  // Pasted, not typed: brackets and quotes would be closed once more.
  await tab.keyboard.insertText(text.replace(from, to));
}

const trace = async (run) => (await server.api(`/runs/${run}/trace`)).text;
const promptOf = (text, step) => JSON.parse(text).steps.find((one) => one.key === step).calls.at(-1).messages.at(-1).content;
const ended = async (run) => {
  for (let i = 0; i < 600; i++) {
    const { json } = await server.api(`/runs/${run}`);
    if (['completed', 'failed', 'cancelled'].includes(json.status)) return json;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`run ${run} goes on`);
};

test('an edit shows its prompt, what it costs, and goes on as a new run', async (t) => {
  const run = await startStory();
  const earlier = await trace(run);
  const tab = await openEditor(t, run);
  await prompts(tab).getByText('as in the run').waitFor();
  await change(tab, 'A story about', 'A sad story about');
  await prompts(tab).getByText('A sad story about').waitFor();
  await prompts(tab).getByText('changed by the edit').waitFor();
  assert.equal(await prompts(tab).getByRole('group', { name: /^user message/ }).textContent(), 'A sad story about otters');
  const resume = tab.getByRole('region', { name: 'A run of this edit' });
  await resume.getByText('runs again').waitFor();
  const calls = provider.calls;
  assert.equal(await resume.locator('.d-again li').first().locator('a').textContent(), 'writer');
  await tab.getByRole('button', { name: /Resume with this edit/ }).click();
  await tab.waitForURL((url) => url.hash.startsWith('#/runs/') && !url.hash.includes(run));
  const begun = new URL(tab.url()).hash.split('/')[2];
  await ended(begun);
  assert.equal(promptOf(await trace(begun), 'writer'), 'A sad story about otters');
  assert.equal(provider.calls, calls + 2);
  assert.equal(await trace(run), earlier, 'the run that one looks at changes');
  assert.equal(readFileSync(file(), 'utf8'), BEGUN, 'a run of an edit writes no file');
});

test('what is typed fast arrives as it is typed', async (t) => {
  const run = await startStory();
  const tab = await openEditor(t, run, { allow: /422|inline/ });
  await editor(tab).locator('.cm-line', { hasText: 'instruction: Write a story.' }).click();
  await tab.keyboard.press('End');
  await tab.keyboard.type(' Make it short, and let nobody die in it.', { delay: 0 });
  await editor(tab).locator('.cm-line', { hasText: 'instruction: Write a story. Make it short, and let nobody die in it.' }).waitFor();
  for (let i = 0; i < 12; i++) await tab.keyboard.press('Backspace');
  const left = '      instruction: Write a story. Make it short, and let nobody die in it.'.slice(0, -12);
  await tab.waitForFunction((text) => [...document.querySelector('.editor').shadowRoot.querySelectorAll('.cm-line')].some((line) => line.textContent === text), left);
  assert.equal(await editor(tab).locator('.cm-line').first().textContent(), BEGUN.split('\n')[0]);
});

test('an edit of an edit is saved into the file that was edited first', async (t) => {
  t.after(() => writeFileSync(file(), BEGUN));
  const run = await startStory();
  const files = { 'story.yaml': BEGUN.replace('A story about', 'A tale about') };
  const { json } = await server.api(`/runs/${run}/fork`, { body: { files } });
  await ended(json.run);
  const tab = await openEditor(t, json.run);
  await tab.getByText('The file in the folder is another one.').waitFor();
  await tab.getByRole('button', { name: 'Keep mine' }).click();
  await tab.getByRole('button', { name: 'Keep mine' }).click();
  await tab.getByRole('button', { name: 'Save', exact: true }).click();
  await tab.getByText('Saved. The check').waitFor();
  assert.match(readFileSync(file(), 'utf8'), /A tale about/);
});

test('one step is tried alone, within its limit, and its answer is not paid again', async (t) => {
  const run = await startStory();
  const tab = await openEditor(t, run);
  await change(tab, 'A story about', 'Two stories about');
  await prompts(tab).getByText('Two stories about').waitFor();
  const calls = provider.calls;
  await tab.getByRole('button', { name: 'Try this step (at most 1 model call)' }).click();
  await tab.getByText('Answer to <Two stories about otters>.').first().waitFor();
  await tab.getByText('Kept: a run of this edit, from here, does not pay for it again.').waitFor();
  assert.equal(provider.calls, calls + 1);
  // The second step has the new answer in its prompt, before anybody has paid for that.
  await tab.getByRole('combobox', { name: 'Step' }).selectOption('editor');
  await prompts(tab).getByText('Answer to <Two stories about otters>.').first().waitFor();
  const resume = tab.getByRole('region', { name: 'A run of this edit' });
  await resume.getByText('is kept and not paid again').waitFor();
  await tab.getByRole('button', { name: /Resume with this edit/ }).click();
  await tab.waitForURL((url) => url.hash.startsWith('#/runs/'));
  await ended(new URL(tab.url()).hash.split('/')[2]);
  assert.equal(provider.calls, calls + 2);
});

test('a text with a mistake says so, and what it means stays that of the text before', async (t) => {
  const run = await startStory();
  // Chromium gives text that replaces a coloured line that line's colour as an attribute, which the policy of the page does not allow.
  const tab = await openEditor(t, run, { allow: /422|inline/ });
  await prompts(tab).getByText('A story about').waitFor();
  await change(tab, 'kind: sequential', 'kind: [');
  await tab.getByText('The text is not accepted').waitFor();
  await prompts(tab).getByText('A story about').waitFor();
  assert.ok(await tab.getByRole('button', { name: /Resume with this edit/ }).isDisabled());
  await tab.getByRole('button', { name: 'Take edits back' }).click();
  await tab.getByRole('button', { name: 'Take edits back' }).click();
  await tab.getByText('The text is not accepted').waitFor({ state: 'detached' });
});

test('a file is saved where the server allows it, and never over a change from elsewhere', async (t) => {
  t.after(() => writeFileSync(file(), BEGUN));
  const run = await startStory();
  const tab = await openEditor(t, run, { allow: /409|dialog/ });
  tab.on('dialog', (dialog) => void dialog.accept());
  await change(tab, 'Write a story.', 'Write a good story.');
  await tab.keyboard.press('Control+s');
  await tab.getByText('Saved. The check').waitFor();
  assert.match(readFileSync(file(), 'utf8'), /Write a good story\./);
  const elsewhere = BEGUN.replace('Write a story.', 'Write what somebody else wants.');
  writeFileSync(file(), elsewhere);
  await change(tab, 'Write a good story.', 'Write a bad story.');
  await tab.getByRole('button', { name: 'Save', exact: true }).click();
  await tab.getByText('The file in the folder is another one.').waitFor();
  assert.ok(await tab.getByRole('button', { name: 'Save', exact: true }).isDisabled(), 'a second click must not write over it');
  await tab.keyboard.press('Control+s');
  assert.equal(readFileSync(file(), 'utf8'), elsewhere);
  await tab.getByText('Show the text in the folder').click();
  await tab.locator('.changed-file').getByText('Write what somebody else wants.').waitFor();
  await tab.getByRole('button', { name: 'Use the text in the folder' }).click();
  await tab.getByRole('button', { name: 'Use the text in the folder' }).click();
  await editor(tab).getByText('Write what somebody else wants.').waitFor();
  await tab.getByText('The file in the folder is another one.').waitFor({ state: 'detached' });
  // An earlier run is opened: what is in the folder now is not written over by its text.
  await tab.reload();
  await editor(tab).waitFor();
  await tab.getByText('The file in the folder is another one.').waitFor();
  assert.ok(await tab.getByRole('button', { name: 'Save', exact: true }).isDisabled());
});

test('the editor is usable with a screen reader, by keyboard, and on a narrow screen', async (t) => {
  const run = await startStory();
  for (const [scheme, size] of [['light', { width: 1400, height: 900 }], ['dark', { width: 360, height: 740 }]]) {
    const tab = await openEditor(t, run, { scheme, size });
    await prompts(tab).getByText('as in the run').waitFor();
    await tab.evaluate(axe);
    const { violations } = await tab.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`), []);
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= size.width, `${wide} wide on ${size.width}`);
  }
});

test('the text is checked, completed and explained while one types', async (t) => {
  const run = await startStory();
  const tab = await openEditor(t, run, { allow: /422|inline/ });
  await tab.getByText('Checked while you type').waitFor();
  await change(tab, 'A story about {{topic}}', 'A story about {{topik}}');
  await tab.locator('.cm-lintRange-error, .cm-lintRange-warning').first().waitFor();
  await tab.locator('.cm-lintRange-error, .cm-lintRange-warning').first().hover();
  await tab.locator('.cm-tooltip .cm-diagnostic').getByText('topik').first().waitFor();
  await tab.keyboard.press('Escape');
  await change(tab, '{{topik}}', '{{');
  await tab.keyboard.press('Control+Space');
  await tab.getByRole('option', { name: /topic/ }).first().waitFor();
  await tab.keyboard.press('Escape');
  await tab.getByRole('button', { name: 'Take edits back' }).click();
  await tab.getByRole('button', { name: 'Take edits back' }).click();
  await editor(tab).getByText('maxRetries').first().hover();
  await tab.locator('.cm-tooltip .about').first().waitFor();
});

test('a key that may only read sees the prompts, and can neither run nor save', async (t) => {
  const run = await startStory();
  const reading = server.addKey('reader', 'read', ['--all-runs']);
  const tab = await open(t, `#/edit/${run}`, { extraHTTPHeaders: { authorization: `Bearer ${reading}` } });
  await editor(tab).waitFor();
  await prompts(tab).getByText('A story about').waitFor();
  await tab.getByText('does not allow runs of edited files').waitFor();
  assert.equal(await tab.getByRole('button', { name: /Resume with this edit|Try this step/ }).count(), 0);
});
