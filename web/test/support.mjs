// What the tests need: sources bundled for node, and pages with a trace in them, as Rust makes them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

export const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Bundles a TypeScript file for node and loads it. */
export async function load(path) {
  const out = here('../.out');
  mkdirSync(out, { recursive: true });
  const file = join(out, `${path.replaceAll('/', '-')}.mjs`);
  await build({ entryPoints: [here(path)], outfile: file, bundle: true, platform: 'node', format: 'esm', target: 'node20', jsx: 'automatic', jsxImportSource: 'preact', logLevel: 'error' });
  return import(pathToFileURL(file).href);
}

/** A trace in the page. `crates/trefoil` does the same; its own tests hold it to this. */
export function page(template, trace) {
  const json = JSON.stringify(trace).replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
  const title = String(trace?.flow).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return template.replace('<!--title-->', () => title).replace('<!--trace-->', () => json);
}

const written = [];
process.on('exit', () => written.forEach((dir) => rmSync(dir, { recursive: true, force: true })));

/** Writes a page and gives its address. It is gone when the tests are over. */
export function write(name, html) {
  const dir = mkdtempSync(join(tmpdir(), 'trefoil-page-'));
  written.push(dir);
  const file = join(dir, `${name}.html`);
  writeFileSync(file, html);
  return pathToFileURL(file).href;
}

export const chromium = () => process.env.CHROMIUM ?? '/usr/bin/chromium';
export const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
