// Bundles the pages, which `crates/trefoil-view` embeds: the template of a trace page, with scripts and styles inside, and the page of a
// server, with its script and style beside it. The results are committed, so that building Trefoil needs no npm. `node build.mjs` writes
// them; `node build.mjs --check` fails where the committed ones differ.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const PAGE = '../crates/trefoil-view/src/trace/page/';
export const TEMPLATE = at(`${PAGE}page.html`);
const SERVED = ['index.html', 'app.js', 'app.css', 'editor.js'].map((name) => at(`${PAGE}served/${name}`));

const common = { bundle: true, minify: true, write: false, legalComments: 'none', charset: 'utf8', logLevel: 'error', absWorkingDir: at('.') };

const script = async (entry, more = {}) => {
  const code = await text(build({ ...common, entryPoints: [entry], format: 'iife', target: 'es2022', jsx: 'automatic', jsxImportSource: 'preact', ...more }));
  // Patterns look for the beginning of a comment, which must not stand in a script: the same character by its number.
  return code.replaceAll('<!--', '<\\x21--');
};
const style = (entry) => text(build({ ...common, entryPoints: [entry], target: ['chrome111', 'firefox113', 'safari16.4'] }));

/** What every page begins with. */
const head = (inside) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${inside}
</head>`;
const META = `<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">`;

/** The trace page with two markers: `<!--title-->` and `<!--trace-->`. */
export async function template() {
  const [code, look] = await Promise.all([script('src/main.tsx'), style('src/style/page.css')]);
  for (const [name, content] of [['script', code], ['style', look]]) {
    // What would end the element early, or begin a comment in it, would change what the browser hashes.
    if (/<!--|<\/?script|<\/style/i.test(content)) throw new Error(`the ${name} contains what would close its element`);
    needsNothing(name, content);
  }
  const policy = [
    "default-src 'none'",
    `script-src '${hash(code)}'`,
    `style-src '${hash(look)}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  return `${head(`<meta http-equiv="Content-Security-Policy" content="${policy}">
${META}
<title><!--title--></title>
<!-- Contains preact, @preact/signals and marked. ${notice()} -->
<style>${look}</style>`)}
<body>
<noscript>This page needs JavaScript. \`trefoil trace FILE\` shows the same run in a terminal.</noscript>
<div id="app"><p class="loading">Trefoil trace</p></div>
<script type="application/json" id="trace"><!--trace--></script>
<script>${code}</script>
</body>
</html>
`;
}

/** The page of a server: itself, its script, its style, and the editor, which the script loads when it is needed. The server sends its policy. */
export async function served() {
  const editor = await script('src/editor/main.ts', { format: 'esm', banner: { js: `/* Contains CodeMirror, Lezer and marked. ${notice(EDITOR_PARTS).replaceAll('*/', '* /')} */` } });
  const define = { EDITOR_FILE: JSON.stringify(`./editor.js?v=${version(editor)}`) };
  const [code, look] = await Promise.all([script('src/serve.tsx', { define }), style('src/style/served.css')]);
  needsNothing('script', code);
  needsNothing('style', look);
  const page = `${head(`${META}
<title>Trefoil</title>
<!-- Contains preact, @preact/signals and marked. ${notice()} -->
<link rel="icon" href="data:,">
<link rel="stylesheet" href="assets/app.css?v=${version(look)}">
<script defer src="assets/app.js?v=${version(code)}"></script>`)}
<body>
<noscript>This page needs JavaScript. \`trefoil runs list\` shows the same in a terminal.</noscript>
<div id="app"></div>
</body>
</html>
`;
  return [page, code, look, editor];
}

function needsNothing(name, content) {
  // Names of formats, and whom an error of the library asks to tell; nothing is loaded from there.
  if (/https?:\/\/(?!www\.w3\.org\/|github\.com\/markedjs\/)\w/.test(content)) throw new Error(`the ${name} names an address`);
}

const text = async (result) => (await result).outputFiles[0].text.trim();
// As the browser sees it: with line feeds only.
const hash = (content) => `sha256-${createHash('sha256').update(content.replaceAll('\r\n', '\n')).digest('base64')}`;
/** As the server computes it of a file. */
const version = (content) => createHash('sha256').update(content).digest('hex').slice(0, 16);
const EDITOR_PARTS = ['@codemirror/view', '@lezer/common', 'marked'];
const notice = (parts = ['preact', '@preact/signals', 'marked']) => {
  const licences = parts.map((name) => licence(name));
  // One text with several owners: say it once.
  const owners = [...new Set(licences.flatMap((l) => l.match(/^Copyright.*$/gm) ?? []))];
  const terms = licences[0].replace(/^Copyright.*\n/gm, '').replaceAll(/\n\s*\n+/g, '\n');
  return `${owners.join('\n')}\n${terms}`.replaceAll('--', '-');
};

/** The terms of a package; some have more in the same file. */
function licence(name) {
  const file = ['LICENSE', 'LICENSE.md'].map((one) => at(`node_modules/${name}/${one}`)).find((one) => existsSync(one));
  const all = readFileSync(file, 'utf8').trim();
  return all.slice(Math.max(0, all.indexOf('Copyright')));
}

const kilobytes = (n) => `${(n / 1024).toFixed(1)} KB`;
const committed = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const made = [[TEMPLATE, await template()], ...SERVED.map((file, i) => [file, i])];
  const parts = await served();
  for (const [file, content] of made.map(([file, content]) => [file, typeof content === 'number' ? parts[content] : content])) {
    const name = file.slice(at(PAGE).length);
    const size = `${kilobytes(Buffer.byteLength(content))}, ${kilobytes(gzipSync(content, { level: 9 }).length)} compressed`;
    if (process.argv.includes('--check')) {
      if (committed(file) !== content) {
        console.error(`the committed ${name} is not what the sources make: run \`npm ci && npm run build\` in web/ and commit the result`);
        process.exitCode = 1;
      } else console.log(`${name}: as committed, ${size}`);
    } else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      console.log(`${name}: ${size}`);
    }
  }
}
