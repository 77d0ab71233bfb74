// Collects the licences of everything that the page is built from: node tools/licences.mjs > dist/licences.txt
//
// The crates are those that cargo links for the page; their texts come from their own packages. Nothing of npm is shipped.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

/** Rust's standard library, which is linked too: its release, the crates within that the target has, and the notices beside the compiler. */
const TARGET = 'wasm32-unknown-unknown';
const rustc = (...ask) => execFileSync('rustc', ask, { encoding: 'utf8' }).trim();
const [, release] = rustc('--version').split(' ');
const within = new Set(readdirSync(rustc('--print', 'target-libdir', '--target', TARGET))
  .flatMap((file) => /^lib(.+)-[0-9a-f]+\.rlib$/.exec(file)?.[1] ?? []));
const notices = join(rustc('--print', 'sysroot'), 'share/doc/rust/COPYRIGHT-library.html');
const plain = (html) => html.replace(/<[^>]*>/g, '').replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(code))
  .replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
const libraries = [];
if (existsSync(notices)) {
  const [own, ...others] = readFileSync(notices, 'utf8').split('<h3>');
  const files = own.slice(own.indexOf('id="in-tree-files"')).split('<b>File/Directory:</b>').slice(1);
  const about = files.map((file) => plain(file).split('\n').map((words) => words.trim()).filter(Boolean).join('\n'));
  texts.set(`Copyright notices of its files:\n\n${about.join('\n\n')}`, ["Rust's standard library"]);
  for (const other of others) {
    const [, name, version] = /(\S+)-(\d[^<\s]*)<\/h3>/.exec(other) ?? [];
    if (!name || !within.has(name.replaceAll('-', '_'))) continue;
    libraries.push({ name, version, license: plain(/<b>License:<\/b>([^\n]*)/.exec(other)?.[1] ?? '').trim() });
    for (const [, text] of other.matchAll(/<pre>([^]*?)<\/pre>/g)) {
      const said = plain(text).trim();
      texts.set(said, [...(texts.get(said) ?? []), name]);
    }
  }
} else {
  // A compiler without its documents: what they begin with.
  const said = 'Copyright: The Rust Project Developers (see https://thanks.rust-lang.org). Dual-licensed under Apache 2.0 and MIT terms,\n'
    + 'at your option. The notices of the crates within it are in COPYRIGHT-library.html of the release of Rust named above.';
  texts.set(said, ["Rust's standard library"]);
}

const line = '-'.repeat(80);
console.log(`Shardscope is built from ${crates.length - 1} crates and Rust's standard library. Their licences, and the texts that they came with:\n`);
crates.push({ name: "Rust's standard library", version: release, license: 'MIT OR Apache-2.0', repository: 'https://github.com/rust-lang/rust' });
crates.push(...libraries.map((library) => ({ ...library, repository: `within Rust's standard library ${release}` })));
for (const { name, version, license, repository } of crates) {
  console.log(`${`${name} ${version}`.padEnd(36)}${(license ?? 'see its text').padEnd(32)}${repository ?? ''}`);
}
for (const [text, names] of texts) console.log(`\n${line}\n${[...new Set(names)].join(', ')}\n${line}\n${text}`);
