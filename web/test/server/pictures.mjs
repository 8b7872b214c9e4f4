// Pictures of the server's page to look at: `TREFOIL=PATH node test/server/pictures.mjs DIR [NAME]`. No test: people judge them.
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { ARGS, chromium as path } from '../support.mjs';
import { startProvider } from './provider.mjs';
import { startServer } from './serving.mjs';

const [dir = '/tmp', only] = process.argv.slice(2);
const long = 'Otters hold hands while they sleep, so that they do not drift apart. '.repeat(6);
const provider = await startProvider((prompt) => {
  if (prompt.includes('bad')) return { status: 400, message: 'the model refuses this text' };
  if (prompt.includes('slow')) return { parts: long.split(/(?<= )/), pause: 400 };
  return { parts: [long] };
});
const server = await startServer({ provider: provider.url });
const grades = JSON.stringify(Array.from({ length: 60 }, (_, i) => (i % 9 === 4 ? `bad ${i}` : `essay ${i}`)));
const runs = {
  done: await server.run('story', { topic: 'otters' }, { wait_seconds: 30, labels: { team: 'desk' } }),
  failed: await server.run('story', { topic: 'bad weather' }, { wait_seconds: 30 }),
  fan: await server.run('grades', { message: grades }, { wait_seconds: 30 }),
  waits: await server.run('approval', { task: 'Otters in the news: they sleep hand in hand.' }, { wait_seconds: 30, labels: { person: 'ada' } }),
  slow: await server.run('story', { topic: 'slow water' }),
};
const views = [
  ['runs', '#/'],
  ['nothing', '#/?text=zzz'],
  ['done', `#/runs/${runs.done}/steps/editor`],
  ['fork', `#/runs/${runs.done}/steps/editor`],
  ['failed', `#/runs/${runs.failed}`],
  ['fan', `#/runs/${runs.fan}`],
  ['waits', `#/runs/${runs.waits}`],
  ['slow', `#/runs/${runs.slow}/steps/writer`],
  ['questions', '#/questions'],
  ['flows', '#/flows'],
  ['flow', '#/flows/story'],
  ['start', '#/start/form'],
  ['gone', '#/runs/none'],
];
const file = (name) => readFileSync(new URL(`../../../crates/trefoil-view/src/trace/page/served/${name}`, import.meta.url), 'utf8');
const browser = await chromium.launch({ executablePath: path(), args: ARGS });
for (const [scheme, width, height] of [['light', 1400, 900], ['dark', 1400, 900], ['light', 360, 740], ['dark', 360, 740]]) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } });
  await context.route(/:\d+\/(assets\/[a-z.]+.*)?$/, async (route) => {
    const name = new URL(route.request().url()).pathname.split('/').at(-1) || 'index.html';
    await route.fulfill({ response: await route.fetch(), body: file(name) });
  });
  const tab = await context.newPage();
  tab.on('pageerror', (e) => console.log(e.message));
  for (const [name, view] of views) {
    if (only && name !== only) continue;
    await tab.goto(`${server.url}?${name}${view}`);
    await tab.waitForTimeout(1_000);
    if (name === 'fork' || name === 'slow') {
      const part = tab.locator('.tabs button', { hasText: 'Detail' });
      if (await part.isVisible()) await part.click();
    }
    if (name === 'fork') {
      await tab.getByRole('button', { name: 'Run again from here…' }).click();
      await tab.locator('.preview').waitFor();
    }
    await tab.screenshot({ path: `${dir}/${name}-${scheme}-${width}.png` });
  }
  await context.close();
}
await browser.close();
await server.stop();
provider.stop();
