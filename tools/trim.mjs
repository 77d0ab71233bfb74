// Makes what trunk wrote quicker to load: node tools/trim.mjs dist
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const dist = process.argv[2];

// The JavaScript of wasm-bindgen without comments and indentation, a tenth of it, compressed. Trunk's own minifier fails on
// that code; whole comment lines and leading blanks are safe to drop.
for (const name of readdirSync(dist).filter((name) => name.endsWith('.js'))) {
  const code = readFileSync(`${dist}/${name}`, 'utf8')
    .replace(/^\s*\/\*\*[\s\S]*?\*\/\s*$/gm, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/^\s+/gm, '');
  writeFileSync(`${dist}/${name}`, code);
}

// The style without comments and blanks: the same.
for (const name of readdirSync(dist).filter((name) => name.endsWith('.css'))) {
  const style = readFileSync(`${dist}/${name}`, 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s*\n\s*/g, '\n');
  writeFileSync(`${dist}/${name}`, style);
}

// Preloads before the style and the first script: behind a script they wait until it has arrived, a round trip later.
const html = readFileSync(`${dist}/index.html`, 'utf8');
const preloads = [...html.matchAll(/<link rel="(?:module)?preload"[^>]*>/g)].map(([link]) => link);
const rest = preloads.reduce((text, link) => text.replace(link, ''), html);
const style = '<link rel="stylesheet"';
if (preloads.length < 2 || !rest.includes(style)) throw new Error('the page has no preloads or no style');
writeFileSync(`${dist}/index.html`, rest.replace(style, `${preloads.join('\n')}\n${style}`));
