// What is given away beside the page: a release that keeps its numbers, and the licences of all that is linked.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('a release has checksums, stays as it is, and refuses another build of its number', (t) => {
  const releases = mkdtempSync(join(tmpdir(), 'releases-'));
  t.after(() => rmSync(releases, { recursive: true }));
  const release = () => spawnSync('tools/release', { cwd: ROOT, env: { ...process.env, RELEASES: releases }, encoding: 'utf8' });
  const first = release();
  assert.equal(first.status, 0, first.stderr);
  const versions = readdirSync(releases);
  assert.deepEqual(versions, [/^version = "(.*)"/m.exec(readFileSync(join(ROOT, 'Cargo.toml'), 'utf8'))[1]]);
  const folder = join(releases, versions[0]);
  execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: folder });
  const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8');
  for (const file of ['index.html', 'pkg/shardscope.js', 'embed.js', 'sources.html', 'limits.html', 'licences.txt', 'MADE_FROM.txt']) {
    assert.match(sums, new RegExp(`  ${file}$`, 'm'));
  }
  const again = release();
  assert.equal(again.status, 0, again.stderr);
  assert.match(again.stdout, /this very build/);
  // As if another build had been released under this number.
  appendFileSync(join(folder, 'index.html'), '<!-- another -->');
  const other = release();
  assert.equal(other.status, 1);
  assert.match(other.stderr, /raise the version/);
  assert.match(readFileSync(join(folder, 'index.html'), 'utf8'), /another/, 'nothing was written over');
});

test('the samples of docs/hosting.md name a type for every file', () => {
  const [, types] = /types \{([^}]*)\}/.exec(readFileSync(join(ROOT, 'docs/hosting.md'), 'utf8'));
  const named = new Map(types.split(';').flatMap((line) => {
    const [type, ...ends] = line.trim().split(/\s+/);
    return ends.map((end) => [end, type]);
  }));
  const ends = readdirSync(join(ROOT, 'dist'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'LICENSE').map((entry) => extname(entry.name).slice(1));
  assert.deepEqual([...new Set(ends)].filter((end) => !named.has(end)), []);
  assert.deepEqual([named.get('json'), named.get('txt')], ['application/json', 'text/plain']);
});

test('the licences name every crate that is linked', () => {
  const tree = ['tree', '--locked', '--features', 'ui', '--target', 'wasm32-unknown-unknown', '--edges', 'normal,no-proc-macro', '--prefix', 'none'];
  const linked = new Set(execFileSync('cargo', tree, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')
    .map((line) => /^(\S+) v(\S+)/.exec(line)).map(([, name, version]) => `${name} ${version}`));
  assert.ok(linked.size > 50, `${linked.size} crates`);
  const named = readFileSync(join(ROOT, 'dist/licences.txt'), 'utf8');
  assert.deepEqual([...linked].filter((crate) => !named.includes(`${crate} `)), []);
});

test('the licences hold the notices of Rust\'s standard library and of the allocator within it', () => {
  const named = readFileSync(join(ROOT, 'dist/licences.txt'), 'utf8');
  const [, release] = execFileSync('rustc', ['--version'], { encoding: 'utf8' }).split(' ');
  assert.ok(named.includes(`Rust's standard library ${release} `));
  assert.match(named, /The Rust Project Developers/);
  const files = join(execFileSync('rustc', ['--print', 'sysroot'], { encoding: 'utf8' }).trim(), 'share/doc/rust/COPYRIGHT-library.html');
  // Memory of a module is handed out by dlmalloc, a crate of the standard library's own.
  if (existsSync(files)) assert.match(named, /^dlmalloc \d/m);
});
