// Makes a built page work without the network: node tools/offline/write.mjs dist
//
// Writes dist/offline.js (the worker beside this file, with every file of this build and its hash), and the build's name
// into the page, which registers the worker only where there is one: `trunk serve` has none.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { relative, sep } from 'node:path';

const dist = process.argv[2];
const worker = readFileSync(new URL('worker.js', import.meta.url), 'utf8');
const { version } = /^version = "(?<version>[^"]+)"/m.exec(readFileSync(new URL('../../Cargo.toml', import.meta.url), 'utf8')).groups;

const sha = (bytes) => createHash('sha256').update(bytes).digest('hex');
/** The worker itself, the documents, and what only programs outside of the browser read. */
const LEFT_OUT = /^(offline\.js$|social\.png$|llms\.txt$|single\/|docs\/|pkg\/(node\/|package\.json$|licences\.txt$))/;
const names = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(dist, `${entry.parentPath}${sep}${entry.name}`).split(sep).join('/'))
  .filter((name) => !LEFT_OUT.test(name))
  .sort();

/** Hashes by address: the page's own is the folder. */
const hashes = () => Object.fromEntries(
  names.map((name) => [name === 'index.html' ? '' : name, sha(readFileSync(`${dist}/${name}`))]),
);

const page = readFileSync(`${dist}/index.html`, 'utf8').replace(/ data-build="[^"]*"/, '');
writeFileSync(`${dist}/index.html`, page);
const build = `${version}-${sha(JSON.stringify(hashes())).slice(0, 12)}`;
const guard = 'src="guard.js"';
if (!page.includes(guard)) throw new Error('the page has no guard.js, which registers the worker');
writeFileSync(`${dist}/index.html`, page.replace(guard, `${guard} data-build="${build}"`));
const list = JSON.stringify(hashes(), null, 1);
writeFileSync(`${dist}/offline.js`, `const BUILD = '${build}';\nconst FILES = ${list};\n${worker}`);
