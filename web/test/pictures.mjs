// Pictures to look at: `node test/pictures.mjs DIR`. No test: people judge them.
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { TEMPLATE } from '../build.mjs';
import { ARGS, chromium as path, load, page, write } from './support.mjs';

const dir = process.argv[2] ?? '/tmp';
const only = process.argv[3];
const template = readFileSync(TEMPLATE, 'utf8');
const made = await load('fixtures/traces.ts');
const browser = await chromium.launch({ executablePath: path(), args: ARGS });
const shots = [
  ['loop', made.loop(), '#step=improve%402%2Freviewer'],
  ['loop-run', made.loop(), '#run'],
  ['fanout', made.fanout(), ''],
  ['fanout-item', made.fanout(), '#step=grade%5B16%5D%2Feditor'],
  ['sixty', made.sixty(), '#step=notify_39'],
  ['heat', made.sixty(), ''],
  ['hostile', made.hostile(), ''],
];
for (const [name, trace, hash] of shots) {
  if (only && !name.startsWith(only)) continue;
  const url = write(name, page(template, trace));
  for (const scheme of ['light', 'dark']) {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 1400, height: 900 } });
    const tab = await context.newPage();
    tab.on('console', (m) => console.log(name, m.type(), m.text()));
    tab.on('pageerror', (e) => console.log(name, e.message));
    await tab.goto(url + hash);
    await tab.waitForSelector('.app');
    await tab.waitForTimeout(150);
    if (name === 'heat') {
      await tab.getByRole('button', { name: 'Time', exact: true }).click();
      await tab.getByRole('button', { name: 'Fit' }).click();
    }
    await tab.screenshot({ path: `${dir}/${name}-${scheme}.png` });
    if (name === 'loop' && scheme === 'light') {
      await tab.hover('.prompt a.part >> nth=0');
      await tab.waitForTimeout(200);
      await tab.screenshot({ path: `${dir}/${name}-hover.png` });
    }
    if ((scheme === 'light' && name !== 'heat') || name === 'loop') {
      await tab.setViewportSize({ width: 390, height: 844 });
      for (const part of ['Steps', 'Graph', 'Detail']) {
        const button = tab.locator('.tabs button', { hasText: part });
        if (!(await button.count())) continue;
        await button.click();
        await tab.waitForTimeout(120);
        await tab.screenshot({ path: `${dir}/${name}-${scheme}-small-${part}.png` });
      }
    }
    await context.close();
  }
}
await browser.close();
