// What a visitor downloads: brotli sizes of the files of dist/, and the budget of a first visit.
//
// tests/browser/budget.test.mjs holds what a browser really asks for to the same budget.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

/** Every WebAssembly, JavaScript, CSS and HTML byte until all panels of the default run are filled, compressed: 600 for the
 * page and 190 for what was added since (the runs of today 40, the first screen 20, schedules, cluster and lessons 60, measured
 * runs 40, fine-tuning 30). The JavaScript functions, the lessons, the published runs, and what reads and writes other programs'
 * settings are a second module, loaded on first use. */
export const BUDGET_KB = 790;
/** Compressed size; the compressor's default quality is its best, 11. */
export const compressed = (bytes) => brotliCompressSync(bytes).length;

/** Files that a first visit does not need. */
const LATER = /^(offline\.js|embed\.js|(sources|limits)(\.zh)?\.html|lazy\/(save|embed_protocol|update|api)\.js|shardscope-api-.*|single\/.*|pkg\/.*)$/;

if (argv[1] === fileURLToPath(import.meta.url)) {
  const dist = fileURLToPath(new URL('../dist/', import.meta.url));
  const kb = (bytes) => (bytes / 1000).toFixed(1).padStart(9);
  console.log(`${'kB'.padEnd(48)}${'raw'.padStart(9)}${'brotli'.padStart(9)}`);
  let sum = 0;
  for (const name of readdirSync(dist, { recursive: true }).sort()) {
    if (!/\.(wasm|js|css|html)$/.test(name) || /^(single|pkg\/node)/.test(name)) continue;
    const bytes = readFileSync(join(dist, name));
    const small = compressed(bytes);
    const first = !LATER.test(name);
    if (first) sum += small;
    console.log(`${name.padEnd(48)}${kb(bytes.length)}${kb(small)}${first ? '' : '  on first use'}`);
  }
  console.log(`${'a first visit'.padEnd(57)}${kb(sum)}  of ${BUDGET_KB}`);
  if (sum > BUDGET_KB * 1000) {
    console.error('size: a first visit is over its budget');
    exit(1);
  }
}
