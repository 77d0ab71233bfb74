// Puts the page in parts in place of the page that trunk wrote whole: node tools/split.mjs dist
//
// The rows of `parts!` (`src/web/late.rs`) name the functions of each part. They are compiled into one program with its relocations kept,
// wasm-split-cli takes them apart, and each part is loaded into the memory of the first. Trunk cannot: its hook comes after
// wasm-bindgen, which drops the relocations. The JavaScript package for Node and the single file stay whole.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const dist = process.argv[2];
const NAME = 'shardscope-page';
const run = (command, ...given) => execFileSync(command, given, { stdio: ['ignore', 'ignore', 'inherit'] });
const target = process.env.CARGO_TARGET_DIR ?? 'target';
const work = mkdtempSync(join(tmpdir(), 'parts-'));

run('cargo', 'rustc', '--locked', '--quiet', '--profile', 'page', '--target', 'wasm32-unknown-unknown', '--features', 'ui,split',
  '--bin', NAME, '--', '-C', 'link-arg=--emit-relocs');
run('wasm-split-cli', '--target', 'web', '--out-name', NAME, `${target}/wasm32-unknown-unknown/page/${NAME}.wasm`, work);
run('wasm-bindgen', '--target', 'web', '--no-typescript', '--keep-lld-exports', '--out-dir', work, '--out-name', NAME,
  join(work, `${NAME}.wasm`));
rmSync(join(work, `${NAME}.wasm`));

// The parts are what a visitor downloads: -Oz. Trunk's whole module, of the Node package and the single file, has -O1 in
// index.html: 2.5 % larger, 0.2 % when compressed, in less than half the time. Features and parameters are the same.
const FEATURES = ['bulk-memory', 'reference-types', 'sign-ext', 'nontrapping-float-to-int', 'mutable-globals', 'multivalue']
  .map((feature) => `--enable-${feature}`);
const [, flags] = /data-wasm-opt-params="([^"]*)"/.exec(readFileSync('index.html', 'utf8'));
const parts = readdirSync(work).filter((name) => name.endsWith('.wasm'));
for (const name of parts) run('wasm-opt', '-Oz', '--quiet', ...flags.split(' '), ...FEATURES, join(work, name), '-o', join(work, name));

// The files name each other, so one hash stands for all of them.
const files = readdirSync(work).filter((name) => /\.(wasm|js)$/.test(name)).sort();
const whole = createHash('sha256');
for (const name of files) whole.update(readFileSync(join(work, name)));
const hash = whole.digest('hex').slice(0, 16);
const named = (name) => (name.startsWith(NAME) ? name.replace(NAME, `${NAME}-${hash}`)
  : `shardscope-${name.replace(/^_+/, '').replace(/\.(js|wasm)$/, `-${hash}.$1`)}`);

const old = readdirSync(dist).filter((name) => name.startsWith(`${NAME}-`));
const [before] = old[0].match(/^shardscope-page-[0-9a-f]+/);
for (const name of old) rmSync(`${dist}/${name}`);
for (const name of files) {
  const bytes = readFileSync(join(work, name));
  // The glue's own key of an import is the name in the WebAssembly, and stays.
  const text = () => String(bytes).replace(/(from |new URL\()(["'])(\.\/)?([\w.-]+)\2/g, (all, before, quote, _, other) => (
    files.includes(other) ? `${before}${quote}./${named(other)}${quote}` : all));
  writeFileSync(`${dist}/${named(name)}`, name.endsWith('.js') ? text() : bytes);
}
rmSync(work, { recursive: true });

const link = files.find((name) => name.includes('wasm_split'));
for (const path of ['index.html', 'pkg/shardscope.js']) {
  const text = readFileSync(`${dist}/${path}`, 'utf8').replaceAll(before, `${NAME}-${hash}`);
  const preload = (found) => `${found}<link rel="modulepreload" href="./${named(link)}">`;
  writeFileSync(`${dist}/${path}`, text.replace(/<link rel="modulepreload"[^>]*>/, preload));
}
