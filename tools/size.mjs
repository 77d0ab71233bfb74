// What a visitor downloads: brotli sizes of dist/, and the budget for the page's wasm and JavaScript.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

const BUDGET_KB = 250;
/** What the browser itself fetches once the page has started, and what other pages fetch. */
const LATER = ['offline.js', 'embed.js'];

const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const kb = (bytes) => (bytes / 1000).toFixed(1).padStart(9);

/** Prints the files of a folder that end in one of `ends`, and returns the sum of their compressed sizes. */
function measure(folder, ends) {
  let sum = 0;
  for (const name of readdirSync(join(dist, folder)).sort()) {
    if (!ends.some((end) => name.endsWith(end)) || LATER.includes(name)) continue;
    const bytes = readFileSync(join(dist, folder, name));
    // The compressor's default quality is its best, 11.
    const small = brotliCompressSync(bytes).length;
    sum += small;
    console.log(`${join(folder, basename(name)).padEnd(48)}${kb(bytes.length)}${kb(small)}`);
  }
  return sum;
}

console.log(`${'kB'.padEnd(48)}${'raw'.padStart(9)}${'brotli'.padStart(9)}`);
measure('.', ['.html', '.css']);
const page = measure('.', ['.wasm', '.js']);
measure('lazy', ['.js']);
measure('pkg', ['.wasm', '.js']);
console.log(`${'page at first sight, wasm + JavaScript'.padEnd(57)}${kb(page)}  of ${BUDGET_KB}`);
if (page > BUDGET_KB * 1000) {
  console.error('size: the page is over its budget');
  process.exit(1);
}
