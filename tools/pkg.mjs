#!/usr/bin/env node
// Writes the JavaScript package into the folder pkg beside the page: after every trunk build, by a hook in Trunk.toml.
//
// For browsers it is the second module, without the page, under an address that no hash changes. What `npm pack` takes of
// the folder: package.json, the guide, and in node/ the command and a copy of the module, which no page loads.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';

const dist = process.env.TRUNK_STAGING_DIR;
const pkg = `${dist}/pkg`;
const source = (path) => new URL(`../${path}`, import.meta.url);

// wasm-bindgen does not know the name that trunk gives the WebAssembly.
const page = readdirSync(dist).find((name) => /^shardscope-page-[0-9a-f]+\.js$/.test(name));
const pageWasm = page.replace(/\.js$/, '_bg.wasm');
const pageCode = readFileSync(`${dist}/${page}`, 'utf8');
writeFileSync(`${dist}/${page}`, pageCode.replace("'shardscope-page_bg.wasm'", `'${pageWasm}'`));

// Trunk gives no hash to the second module.
const bytes = readFileSync(`${dist}/shardscope-api_bg.wasm`);
const api = `shardscope-api-${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.js`;
const apiWasm = api.replace(/\.js$/, '_bg.wasm');
const apiCode = readFileSync(`${dist}/shardscope-api.js`, 'utf8');
const namedApi = (file) => apiCode.replace("'shardscope-api_bg.wasm'", `'${file}'`);
renameSync(`${dist}/shardscope-api_bg.wasm`, `${dist}/${apiWasm}`);
renameSync(`${dist}/shardscope-api.js`, `${dist}/${api}`);
writeFileSync(`${dist}/${api}`, namedApi(apiWasm));

mkdirSync(`${pkg}/node`, { recursive: true });
// What the page asks of the second module.
writeFileSync(`${dist}/lazy/api.js`, `import init, { answerPage, readPiece } from '../${api}';
export const ask = async (question, piece) => {
  await init();
  return piece ? readPiece(question, piece) : answerPage(question);
};
`);
writeFileSync(`${pkg}/shardscope.js`, `export { default } from '../${api}';\nexport * from '../${api}';\n`);
copyFileSync(source('src/web/api.d.ts'), `${pkg}/shardscope.d.ts`);

writeFileSync(`${pkg}/node/calculator.js`, namedApi('calculator.wasm'));
copyFileSync(`${dist}/${apiWasm}`, `${pkg}/node/calculator.wasm`);
for (const file of ['command.js', 'index.js']) copyFileSync(source(`tools/npm/${file}`), `${pkg}/node/${file}`);
copyFileSync(source('tools/npm/GUIDE.md'), `${pkg}/GUIDE.md`);
copyFileSync(source('LICENSE'), `${pkg}/LICENSE`);
const said = (key) => new RegExp(`^${key} = "(.*)"$`, 'm').exec(readFileSync(source('Cargo.toml'), 'utf8'))[1];
writeFileSync(`${pkg}/package.json`, `${JSON.stringify({
  name: 'shardscope',
  version: said('version'),
  description: said('description'),
  license: said('license'),
  type: 'module',
  engines: { node: '>=20' },
  bin: { shardscope: 'node/command.js' },
  exports: { types: './shardscope.d.ts', default: './node/index.js' },
  types: './shardscope.d.ts',
  files: ['node', 'shardscope.d.ts', 'GUIDE.md', 'licences.txt'],
}, null, 2)}\n`);
