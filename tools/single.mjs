// Writes what `make build` made as one HTML file that needs no server: node tools/single.mjs [dist]
//
// It goes to dist/single/shardscope.html: style and scripts inline, WebAssembly packed (gzip, base64), the tables beside
// them. The worker is made of a blob. Its policy allows this very script and nothing from anywhere.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const dist = process.argv[2] ?? 'dist';
const read = (path) => readFileSync(`${dist}/${path}`, 'utf8');
const packed = (path) => gzipSync(readFileSync(`${dist}/${path}`), { level: 9 }).toString('base64');
const named = (pattern) => readdirSync(dist).find((name) => pattern.test(name)) ?? fail(`no ${pattern} in ${dist}`);

function fail(why) {
  throw new Error(`single: ${why}`);
}

/** `text` with `old` replaced, which has to be there. */
function swap(text, old, by) {
  if (typeof old === 'string' ? !text.includes(old) : !old.test(text)) fail(`found no ${old}`);
  return text.replace(old, () => by);
}

/** A module as a function of `needs` that returns what it exports. */
function lazy(code, needs = '') {
  const names = [];
  const body = code
    .replace(/^export \{([^}]*)\};?$/gm, (_, list) => {
      names.push(...list.split(',').map((item) => item.trim().split(' as ')).map(([own, as = own]) => `${as}: ${own}`));
      return '';
    })
    .replace(/^export ((?:async )?function|class|const) (\w+)/gm, (_, kind, name) => {
      names.push(name);
      return `${kind} ${name}`;
    });
  const left = /^import .*$/m.exec(body);
  if (left) fail(`does not know what to do with ${left[0]}`);
  return `(${needs}) => {\n${body}\nreturn { ${names.join(', ')} };\n}`;
}

/** What wasm-bindgen wrote for the whole program, as in the package for Node, as a function of `wasmFile`, which gives the
 * WebAssembly. In a blob, which the page's worker is made of, a module has no address. */
const makePage = lazy(
  swap(read('pkg/node/calculator.js'), /new URL\([^)]*import\.meta\.url\)/, 'wasmFile()').replaceAll('import.meta.url', "'https://shardscope.invalid/'"),
  'wasmFile',
);
const worker = swap(read('worker.js'), 'await import(url)', 'makePage(() => undefined)');
/** What the page loads when it is needed: a function each. */
const modules = readdirSync(`${dist}/lazy`).map((name) => `lazy/${name}`).map((name) => `'${name}': async ${lazy(read(name))},`);

const script = `
const file = (name) => document.getElementById(name).textContent;
const unpack = (text) => {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(plain, { headers: { 'Content-Type': 'application/wasm' } });
};
// The tables are in this file; nothing else is ever fetched.
globalThis.fetch = async (name) => (document.getElementById(name) ? new Response(file(name)) : Response.error());

const modules = {
${modules.join('\n')}
};
const makePage = ${makePage};
// From disk, browsers start no worker that is a module.
globalThis.Worker = class extends globalThis.Worker {
  constructor() {
    const code = ['const makePage = ' + makePage + ';\\n', file('worker.js')];
    super(URL.createObjectURL(new Blob(code, { type: 'text/javascript' })));
  }
};
const page = makePage(() => unpack(file('page.wasm')));
if (parent !== self) (await modules['lazy/embed_protocol.js']()).begin(page.answerHost);
addEventListener('save-picture', async ({ target, detail }) => (await modules['lazy/save.js']()).save(target, detail));
const wasm = await page.default();
await page.mount();
dispatchEvent(new CustomEvent('TrunkApplicationStarted', { detail: { wasm } }));
`;
const guard = read('guard.js');
// The pages beside the calculator and its element are not in this file.
const style = `${/<style>([\s\S]*?)<\/style>/.exec(read('index.html'))[1]}
.footnote a, #share option[value=element] { display: none; }`;

const blocks = [
  ['page.wasm', packed('pkg/node/calculator.wasm')],
  ['worker.js', worker],
  ['locales/zh.json', read('locales/zh.json')],
  ...readdirSync(`${dist}/data`, { recursive: true }).filter((name) => /\.(csv|jsonl)$/.test(name))
    .map((name) => [`data/${name}`, read(`data/${name}`)]),
];
for (const [name, text] of [...blocks, ['the script', script], ['the guard', guard]]) {
  if (/<\/script|<!--/i.test(text)) fail(`${name} cannot stand in a script element`);
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(guard)} ${hash(script)} 'wasm-unsafe-eval'`,
  'worker-src blob:',
  `style-src ${hash(style)}`,
  "style-src-attr 'unsafe-inline'",
  'img-src data: blob:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const icon = `data:image/svg+xml;base64,${Buffer.from(read('icon.svg')).toString('base64')}`;
let html = read('index.html')
  .replace(/<meta http-equiv="Content-Security-Policy"[^>]*>\n?/, '')
  .replace(/<script type="module">[\s\S]*?<\/script>\n?/g, '')
  .replace(/<link rel="(modulepreload|preload)"[^>]*>/g, '')
  .replace(/\n{3,}/g, '\n');
html = swap(html, /<meta charset=[^>]*>/, `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`);
html = swap(html, /<style>[\s\S]*?<\/style>/, `<style>${style}</style>`);
html = swap(html, /<script src="guard.js"[^>]*>/, `<script>${guard}`);
html = swap(html, 'href="./"', 'href="?"');
html = swap(html, 'href="icon.svg"', `href="${icon}"`);
const data = blocks.map(([name, text]) => `<script type="text/plain" id="${name}">${text}</script>`).join('\n');
html = swap(html, '</body>', `${data}\n<script type="module">${script}</script>\n</body>`);

mkdirSync(`${dist}/single`, { recursive: true });
writeFileSync(`${dist}/single/shardscope.html`, html);
console.log(`single: ${dist}/single/shardscope.html, ${(html.length / 1e6).toFixed(2)} MB`);
