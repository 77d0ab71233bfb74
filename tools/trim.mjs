// Makes what trunk wrote quicker to load: node tools/trim.mjs dist
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

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

// The style without comments and blanks, a tenth of it, compressed, in the page itself: the first figures do not wait for a
// second answer of the server (40 ms earlier on a line of 40 ms).
const [sheet] = readdirSync(dist).filter((name) => /^main-.*\.css$/.test(name));
const style = readFileSync(`${dist}/${sheet}`, 'utf8')
  .replace(/\/\*[\s\S]*?\*\//g, '')
  .replace(/\s*\n\s*/g, '\n');
rmSync(`${dist}/${sheet}`);

// Preloads before the style and the first script: what is large is asked for with the first bytes of the page.
const html = readFileSync(`${dist}/index.html`, 'utf8');
const preloads = [...html.matchAll(/<link rel="(?:module)?preload"[^>]*>/g)].map(([link]) => link);
const rest = preloads.reduce((text, link) => text.replace(link, ''), html);
const linked = /<link rel="stylesheet"[^>]*>/;
if (preloads.length < 2 || !linked.test(rest)) throw new Error('the page has no preloads or no style');
writeFileSync(`${dist}/index.html`, rest.replace(linked, () => `${preloads.join('\n')}\n<style>${style}</style>`));
