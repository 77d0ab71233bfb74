// After one visit the page works without the network; a newer build waits, and no page gets files of two.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from './browser.mjs';
import { becomes, eventually, figures, matches, tab } from './calculator.mjs';
import { DIST, serve } from './server.mjs';

const WRITE = fileURLToPath(new URL('../../tools/offline/write.mjs', import.meta.url));
const PATH = '/some/sub/path/';
let browser;
let home;
before(async () => {
  browser = await launch();
  home = mkdtempSync(join(tmpdir(), 'shardscope-'));
});
after(() => {
  rmSync(home, { recursive: true });
  return browser.close();
});

/** A copy of dist/ as another build: `file` differs by the line `mark`. */
function build(name, file, mark) {
  const dir = join(home, name);
  cpSync(DIST, dir, { recursive: true });
  appendFileSync(join(dir, file), `\n${mark}\n`);
  execFileSync('node', [WRITE, dir]);
  return dir;
}

async function host(t, options = {}) {
  const server = await serve({ base: PATH, offline: true, ...options });
  t.after(() => server.close());
  return server;
}

/** Waits until this build's copy is whole. */
const kept = (page) => page.evaluate(() => navigator.serviceWorker.ready.then(() => true));
const started = (page) => page.waitForFunction(() => globalThis.shardscopeStarted);
const running = (page) => page.evaluate(() => document.querySelector('script[data-build]').dataset.build);

test('after one visit the page works without the network, tables included', async (t) => {
  const server = await host(t);
  const { page, problems } = await browser.open(server.url);
  const online = await figures(page);
  await kept(page);
  await page.context().setOffline(true);
  await server.close();
  await page.reload();
  // A worker that the first page was starting when the network left is no fault of the second.
  problems.length = 0;
  await started(page);
  await becomes(() => figures(page), online);
  await page.getByRole('button', { name: 'Cluster', exact: true }).click();
  await page.locator('.cluster-map').waitFor();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await tab(page, 'Accuracy');
  await page.locator('#accuracy h3').first().waitFor();
  // The page by its full name, and another run.
  await page.goto(`${server.url}index.html#v=1&tp=4`);
  await started(page);
  await becomes(() => page.locator('[data-field="tp"] input').inputValue(), '4');
  assert.deepEqual(problems, []);
});

test('every file that the page or its guide leads to is in the copy', () => {
  const copy = JSON.parse(/^const FILES = (\{[\s\S]*?\});$/m.exec(readFileSync(join(DIST, 'offline.js'), 'utf8'))[1]);
  for (const name of ['', 'licences.txt', 'pkg/shardscope.js', 'pkg/shardscope.d.ts', 'pkg/GUIDE.md', 'sources.html', 'limits.zh.html', 'locales/zh.json']) {
    assert.ok(Object.hasOwn(copy, name), name);
  }
});

test('a newer build waits until the reload that a person asks for; no page mixes the two', async (t) => {
  const old = build('old', 'pkg/shardscope.js', '// old');
  const next = build('next', 'pkg/shardscope.js', '// next');
  const site = join(home, 'site');
  renameSync(old, site);
  const server = await host(t, { dir: site });
  const { page, problems } = await browser.open(server.url);
  await kept(page);
  await page.reload();
  await started(page);
  const before = await running(page);
  const packageText = () => page.evaluate(() => fetch('pkg/shardscope.js').then((answer) => answer.text()));
  assert.match(await packageText(), /\/\/ old\s*$/);
  assert.equal(await page.locator('#update').isVisible(), false);

  rmSync(site, { recursive: true });
  renameSync(next, site);
  // Whatever the server has by now: this page's files stay those of its build.
  assert.match(await packageText(), /\/\/ old\s*$/);
  await page.reload();
  await started(page);
  await page.locator('#update').waitFor();
  assert.equal(await running(page), before);
  assert.match(await packageText(), /\/\/ old\s*$/);

  const other = await page.context().newPage();
  await other.goto(server.url);
  await other.waitForFunction(() => document.querySelector('.strip'));
  assert.equal(await running(other), before, 'another page beside it is of the same build');

  await page.locator('#update button').click();
  for (const one of [page, other]) {
    await eventually(() => running(one).catch(() => before), (build) => build !== before);
  }
  await started(page);
  await matches(packageText, /\/\/ next\s*$/);
  assert.equal(await page.locator('#update').isVisible(), false);
  await eventually(() => page.evaluate(() => caches.keys().then((names) => names.length)), (count) => count === 1);
  assert.deepEqual(problems, []);
});

test('a file of the copy that is damaged or deleted is fetched again and kept', async (t) => {
  const server = await host(t);
  const { page, problems } = await browser.open(server.url);
  await kept(page);
  await page.reload();
  await started(page);
  const wasm = await page.evaluate(async () => {
    const [name] = await caches.keys();
    const cache = await caches.open(name);
    const requests = await cache.keys();
    const of = (pattern) => requests.find(({ url }) => pattern.test(url));
    await cache.put(of(/page-.*_bg\.wasm$/), new Response('damaged', { headers: { 'Content-Type': 'application/wasm' } }));
    await cache.delete(of(/guard\.js$/));
    return of(/page-.*_bg\.wasm$/).url;
  });
  await page.reload();
  await started(page);
  // What was fetched again is put into the copy a moment later.
  await eventually(() => page.evaluate(async (url) => {
    const [whole, guard] = await Promise.all([url, new URL('guard.js', location.href).href].map((one) => caches.match(one)));
    return Boolean(guard) && (await whole.arrayBuffer()).byteLength > 1e6;
  }, wasm), Boolean);
  await page.context().setOffline(true);
  await server.close();
  await page.reload();
  await started(page);
  assert.ok(await page.evaluate(async (url) => (await (await fetch(url)).arrayBuffer()).byteLength > 1e6, wasm));
  assert.deepEqual(problems, []);
});

test('a build that arrives in part is not kept', async (t) => {
  const site = build('part', 'data/throughput.csv', '# as it was');
  appendFileSync(join(site, 'data/throughput.csv'), 'half a file of another build');
  const server = await host(t, { dir: site });
  const { page } = await browser.open(server.url);
  const state = () => page.evaluate(async () => {
    const registration = await navigator.serviceWorker.getRegistration();
    return { worker: Boolean(registration?.active), kept: (await caches.keys()).length };
  });
  // Registered, refused, and gone again; the page goes on from the network.
  await page.waitForTimeout(500);
  await eventually(state, ({ worker, kept }) => !worker && kept === 0);
  await matches(() => figures(page), /GiB/);
});

test('a page without the build\'s name (trunk serve) keeps nothing', async (t) => {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8').replace(/ data-build="[^"]*"/, '');
  const server = await host(t, { pages: { [PATH]: page } });
  const opened = await browser.open(server.url);
  assert.equal(await opened.page.evaluate(() => navigator.serviceWorker.getRegistration().then(Boolean)), false);
  assert.deepEqual(opened.problems, []);
});

test('where workers are refused the page goes on without', async (t) => {
  const server = await host(t);
  for (const refusal of [
    () => { navigator.serviceWorker.register = () => Promise.reject(new DOMException('denied', 'SecurityError')); },
    () => { Object.defineProperty(navigator, 'serviceWorker', { value: undefined }); },
  ]) {
    const { page } = await browser.open(`${server.url}icon.svg`, { started: false });
    await page.addInitScript(refusal);
    const faults = [];
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(server.url);
    await page.locator('#skeleton').waitFor({ state: 'detached' });
    await page.waitForTimeout(100);
    assert.deepEqual(faults, []);
    assert.equal(await page.locator('#crash').isVisible(), false);
  }
});
