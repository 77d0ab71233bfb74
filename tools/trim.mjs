// Takes comments and indentation out of the JavaScript that wasm-bindgen writes: a tenth of it, compressed.
// Trunk's own minifier fails on that code; whole comment lines and leading blanks are safe to drop.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const dist = process.argv[2];
for (const name of readdirSync(dist).filter((name) => name.endsWith('.js'))) {
  const code = readFileSync(`${dist}/${name}`, 'utf8')
    .replace(/^\s*\/\*\*[\s\S]*?\*\/\s*$/gm, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/^\s+/gm, '');
  writeFileSync(`${dist}/${name}`, code);
}
