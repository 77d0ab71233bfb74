#!/usr/bin/env node
// Writes the JavaScript package into the folder pkg beside the page: after every trunk build, by a hook in Trunk.toml.
//
// For browsers it is the page's own module under an address that no hash changes. What `npm pack` takes of the folder:
// package.json, the guide, and in node/ the command, a copy of the module, which no page loads, and the tables of published runs. tools/build adds what
// `shardscope mcp` hands out: fields.json, sources.html, limits.html.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { KEYWORDS, places } from './metadata.mjs';

const dist = process.env.TRUNK_STAGING_DIR;
const pkg = `${dist}/pkg`;
const source = (path) => new URL(`../${path}`, import.meta.url);

// wasm-bindgen does not know the name that trunk gives the WebAssembly.
const page = readdirSync(dist).find((name) => /^shardscope-page-[0-9a-f]+\.js$/.test(name));
const wasm = page.replace(/\.js$/, '_bg.wasm');
const code = readFileSync(`${dist}/${page}`, 'utf8');
const loading = (file) => code.replace("'shardscope-page_bg.wasm'", `'${file}'`);
writeFileSync(`${dist}/${page}`, loading(wasm));

mkdirSync(`${pkg}/node`, { recursive: true });
writeFileSync(`${pkg}/shardscope.js`, `import begin, { ready } from '../${page}';
export * from '../${page}';
/** Loads the calculator, whole. */
export default async (options) => {
  const exported = await begin(options);
  await ready();
  return exported;
};
`);
copyFileSync(source('src/web/javascript/api.d.ts'), `${pkg}/shardscope.d.ts`);

writeFileSync(`${pkg}/node/calculator.js`, loading('calculator.wasm'));
copyFileSync(`${dist}/${wasm}`, `${pkg}/node/calculator.wasm`);
for (const file of readdirSync(source('tools/npm')).filter((name) => name.endsWith('.js'))) copyFileSync(source(`tools/npm/${file}`), `${pkg}/node/${file}`);
mkdirSync(`${pkg}/node/data`, { recursive: true });
for (const file of readdirSync(source('public/data')).filter((name) => name.endsWith('.csv'))) copyFileSync(source(`public/data/${file}`), `${pkg}/node/data/${file}`);
copyFileSync(source('tools/npm/GUIDE.md'), `${pkg}/GUIDE.md`);
copyFileSync(source('tools/npm/README.md'), `${pkg}/README.md`);
copyFileSync(source('LICENSE'), `${pkg}/LICENSE`);
const said = (key) => new RegExp(`^${key} = "(.*)"$`, 'm').exec(readFileSync(source('Cargo.toml'), 'utf8'))[1];
writeFileSync(`${pkg}/package.json`, `${JSON.stringify({
  name: 'shardscope',
  version: said('version'),
  description: said('description'),
  license: said('license'),
  ...places(),
  keywords: KEYWORDS,
  type: 'module',
  engines: { node: '>=20' },
  bin: { shardscope: 'node/command.js' },
  exports: { types: './shardscope.d.ts', default: './node/index.js' },
  types: './shardscope.d.ts',
  files: ['node', 'shardscope.d.ts', 'README.md', 'GUIDE.md', 'licences.txt'],
}, null, 2)}\n`);
