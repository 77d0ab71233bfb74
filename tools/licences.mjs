// Collects the licences of everything that the page is built from: node tools/licences.mjs > dist/licences.txt
//
// The crates are those that cargo links for the page; their texts come from their own packages. Nothing of npm is shipped.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ask = ['metadata', '--locked', '--format-version', '1', '--features', 'ui', '--filter-platform', 'wasm32-unknown-unknown'];
const { packages, resolve } = JSON.parse(execFileSync('cargo', ask, { encoding: 'utf8', maxBuffer: 1 << 28 }));
const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));

/** Everything that is linked, found from the page on. */
const linked = new Set();
const follow = (id) => {
  if (linked.has(id)) return;
  linked.add(id);
  nodes.get(id).deps.filter((dep) => dep.dep_kinds.some(({ kind }) => kind === null)).forEach((dep) => follow(dep.pkg));
};
follow(resolve.root);

const crates = packages.filter(({ id }) => linked.has(id)).sort((a, b) => (a.name < b.name ? -1 : 1));
const texts = new Map();
for (const crate of crates) {
  const folder = dirname(crate.manifest_path);
  for (const file of readdirSync(folder).filter((name) => /^(licen[cs]e|copying|unlicense|notice)/i.test(name)).sort()) {
    const text = readFileSync(join(folder, file), 'utf8').replace(/\r/g, '').trim();
    texts.set(text, [...(texts.get(text) ?? []), crate.name]);
  }
}

const line = '-'.repeat(80);
console.log(`Shardscope is built from ${crates.length - 1} crates. Their licences, and the texts that they came with:\n`);
for (const { name, version, license, repository } of crates) {
  console.log(`${`${name} ${version}`.padEnd(36)}${(license ?? 'see its text').padEnd(32)}${repository ?? ''}`);
}
for (const [text, names] of texts) console.log(`\n${line}\n${[...new Set(names)].join(', ')}\n${line}\n${text}`);
