// What a visitor downloads: brotli sizes of the files of dist/, and of a first visit together. For reading: it decides nothing.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

/** Files that a first visit does not need. */
const LATER = /^(offline\.js|embed\.js|(sources|limits)(\.zh)?\.html|lazy\/.*|shardscope-(split|chunk).*\.wasm|single\/.*|pkg\/.*)$/;

const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const kb = (bytes) => (bytes / 1000).toFixed(1).padStart(9);
console.log(`${'kB'.padEnd(48)}${'raw'.padStart(9)}${'brotli'.padStart(9)}`);
let sum = 0;
for (const name of readdirSync(dist, { recursive: true }).sort()) {
  if (!/\.(wasm|js|css|html)$/.test(name) || /^(single|pkg\/node)/.test(name)) continue;
  const bytes = readFileSync(join(dist, name));
  const small = brotliCompressSync(bytes).length;
  const first = !LATER.test(name);
  if (first) sum += small;
  console.log(`${name.padEnd(48)}${kb(bytes.length)}${kb(small)}${first ? '' : '  on first use'}`);
}
console.log(`${'a first visit'.padEnd(57)}${kb(sum)}`);
