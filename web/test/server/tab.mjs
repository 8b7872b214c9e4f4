// A view of a server in a browser. Whatever the page forbids itself or complains of is a failure, but for what a test expects.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

export const WAIT = Number(process.env.WAIT ?? 60_000);

export async function openTab(t, browser, url, view = '', { scheme = 'light', size = { width: 1400, height: 900 }, allow = null, ...options } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: size, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(WAIT);
  const tab = await context.newPage();
  const bad = [];
  tab.on('request', (r) => !r.url().startsWith(url) && !r.url().startsWith('data:') && bad.push(`asked for ${r.url()}`));
  tab.on('console', (m) => bad.push(`${m.type()}: ${m.text()}`));
  tab.on('pageerror', (e) => bad.push(`error: ${e.message}`));
  tab.on('dialog', (d) => bad.push(`dialog: ${d.message()}`));
  await tab.addInitScript(() => {
    addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  if (process.env.FROM_DISK) await fromDisk(context);
  await tab.goto(`${url}${view}`);
  t.after(async () => {
    await context.close();
    assert.deepEqual(allow ? bad.filter((b) => !allow.test(b)) : bad, []);
  });
  return tab;
}

async function fromDisk(context) {
  const file = (name) => readFileSync(new URL(`../../../crates/trefoil-view/src/trace/page/served/${name}`, import.meta.url), 'utf8');
  await context.route(/:\d+\/(assets\/[a-z.]+.*)?$/, async (route) => {
    const name = new URL(route.request().url()).pathname.split('/').at(-1) || 'index.html';
    await route.fulfill({ response: await route.fetch(), body: file(name) });
  });
}
