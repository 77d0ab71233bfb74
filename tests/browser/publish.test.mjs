// What the workflows run to publish: the site with its older releases, and the metadata of the packages with an owner and without.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { places, server } from '../../tools/metadata.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const OWNER = { repository: 'https://github.com/someone/fork', homepage: 'https://someone.example/fork/' };

/** An archive of a release as tools/packages makes it: a page, its checksums, and the archive's own. */
function archive(folder, version) {
  const site = join(folder, version);
  mkdirSync(site, { recursive: true });
  const shell = (command, cwd) => execFileSync('bash', ['-ec', command], { cwd });
  writeFileSync(join(site, 'index.html'), `the page of ${version}`);
  shell('sha256sum index.html >SHA256SUMS', site);
  shell(`tar -C ${version} -czf shardscope-site-${version}.tar.gz . && sha256sum shardscope-site-${version}.tar.gz >shardscope-site-${version}.tar.gz.sha256`, folder);
}

test('the site has main at its root and every release below its version, and refuses an archive that was changed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'site-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [out, archives] = [join(folder, 'out'), join(folder, 'archives')];
  for (const version of ['1.0.0', '1.1.0']) archive(archives, version);
  const site = () => spawnSync('tools/site', [out, archives], { cwd: ROOT, encoding: 'utf8' });
  // The second time as the next push does it: what was there is made anew.
  for (const _ of [1, 2]) {
    const { status, stderr } = site();
    assert.equal(status, 0, stderr);
  }
  assert.equal(readFileSync(join(out, 'index.html'), 'utf8'), readFileSync(join(ROOT, 'dist/index.html'), 'utf8'));
  for (const version of ['1.0.0', '1.1.0']) {
    assert.equal(readFileSync(join(out, 'release', version, 'index.html'), 'utf8'), `the page of ${version}`);
  }
  writeFileSync(join(archives, 'shardscope-site-1.1.0.tar.gz'), 'another');
  const { status, stderr } = site();
  assert.deepEqual([status, stderr.includes('another checksum')], [1, true]);
  assert.ok(!existsSync(join(out, 'release/1.1.0')));
});

test('addresses are left out while owner.json is empty, and are the owner\'s where it has them', () => {
  const none = { repository: '', homepage: '' };
  assert.deepEqual([places(none), server(none)], [{}, undefined]);
  const { repository, homepage, bugs } = places(OWNER);
  assert.deepEqual([repository.url, homepage, bugs], ['git+https://github.com/someone/fork.git', OWNER.homepage, 'https://github.com/someone/fork/issues']);
  const made = server(OWNER);
  // The schema of the registry: a name of two parts, a description of 100 characters at most.
  assert.match(made.name, /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
  // It is looked for in the package that it names.
  assert.equal(places(OWNER).mcpName, made.name);
  assert.ok(made.description.length > 0 && made.description.length <= 100);
  // It ends where a part of the package's own does.
  const { description } = JSON.parse(readFileSync(join(ROOT, 'dist/pkg/package.json'), 'utf8'));
  assert.match(description.slice(made.description.length), /^(,|$)/);
  assert.deepEqual(made.packages.map(({ identifier, transport }) => [identifier, transport.type]), [['shardscope', 'stdio']]);
});
