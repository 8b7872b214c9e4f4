// Bundles the page: scripts and styles into one template, which `crates/trefoil` embeds. The template is committed, so that
// building Trefoil needs no npm. `node build.mjs` writes it; `node build.mjs --check` fails where the committed one differs.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
export const TEMPLATE = at('../crates/trefoil-view/src/trace/page/page.html');

const common = { bundle: true, minify: true, write: false, legalComments: 'none', charset: 'utf8', logLevel: 'error', absWorkingDir: at('.') };

/** The page with two markers: `<!--title-->` and `<!--trace-->`. */
export async function template() {
  const [script, style] = await Promise.all([
    text(build({ ...common, entryPoints: ['src/main.tsx'], format: 'iife', target: 'es2022', jsx: 'automatic', jsxImportSource: 'preact' })),
    text(build({ ...common, entryPoints: ['src/style/page.css'], target: ['chrome111', 'firefox113', 'safari16.4'] })),
  ]);
  for (const [name, content] of [['script', script], ['style', style]]) {
    // What would end the element early, or begin a comment in it, would change what the browser hashes.
    if (/<!--|<\/?script|<\/style/i.test(content)) throw new Error(`the ${name} contains what would close its element`);
    if (/https?:\/\/(?!www\.w3\.org\/)/.test(content)) throw new Error(`the ${name} names an address`);
  }
  const policy = [
    "default-src 'none'",
    `script-src '${hash(script)}'`,
    `style-src '${hash(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title><!--title--></title>
<!-- Contains preact and @preact/signals. ${notice()} -->
<style>${style}</style>
</head>
<body>
<noscript>This page needs JavaScript. \`trefoil trace FILE\` shows the same run in a terminal.</noscript>
<div id="app"><p class="loading">Trefoil trace</p></div>
<script type="application/json" id="trace"><!--trace--></script>
<script>${script}</script>
</body>
</html>
`;
}

const text = async (result) => (await result).outputFiles[0].text.trim();
// As the browser sees it: with line feeds only.
const hash = (content) => `sha256-${createHash('sha256').update(content.replaceAll('\r\n', '\n')).digest('base64')}`;
const notice = () => {
  const licences = ['preact', '@preact/signals'].map((name) => readFileSync(at(`node_modules/${name}/LICENSE`), 'utf8').trim());
  // One text with several owners: say it once.
  const owners = licences.flatMap((l) => l.match(/^Copyright.*$/gm) ?? []);
  const terms = licences[0].replace(/^Copyright.*\n/gm, '').replaceAll(/\n\s*\n+/g, '\n');
  return `${owners.join('\n')}\n${terms}`.replaceAll('--', '-');
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = await template();
  const size = `${(page.length / 1024).toFixed(1)} KB, ${(gzipSync(page, { level: 9 }).length / 1024).toFixed(1)} KB compressed`;
  if (process.argv.includes('--check')) {
    let committed = '';
    try {
      committed = readFileSync(TEMPLATE, 'utf8').replaceAll('\r\n', '\n');
    } catch {}
    if (committed !== page) {
      console.error('the committed page is not what the sources make: run `npm ci && npm run build` in web/ and commit the result');
      process.exit(1);
    }
    console.log(`page: as committed, ${size}`);
  } else {
    writeFileSync(TEMPLATE, page);
    console.log(`page: ${size}`);
  }
}
