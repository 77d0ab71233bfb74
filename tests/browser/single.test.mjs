// The whole calculator as one file: opened from disk, and as someone's attachment in a sandboxed frame.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { addressIs, alike, eventually, figures, figuresChange, input, isDrawn, tab } from './calculator.mjs';
import { launch } from './browser.mjs';
import { serve } from './server.mjs';

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));
let browser;
let server;
let folder;
/** The file, alone in a folder. */
let file;

before(async () => {
  execFileSync('node', [fileURLToPath(new URL('../../tools/single.mjs', import.meta.url)), DIST]);
  folder = mkdtempSync(join(tmpdir(), 'shardscope-'));
  copyFileSync(join(DIST, 'single/shardscope.html'), join(folder, 'shardscope.html'));
  file = pathToFileURL(join(folder, 'shardscope.html')).href;
  [browser, server] = await Promise.all([launch(), serve()]);
});
after(async () => {
  await Promise.all([browser.close(), server.close()]);
  rmSync(folder, { recursive: true });
});

test('from disk it says what the served page says, and the address holds the run', async () => {
  const { page, problems } = await browser.open(`${file}#v=1&tp=4`);
  const { page: served } = await browser.open(`${server.url}#v=1&tp=4`);
  await alike(() => figures(page), () => figures(served));
  const before = await figures(page);
  await input(page, 'pp').fill('2');
  await figuresChange(page, before);
  await addressIs(page, '#v=1&tp=4&pp=2');
  assert.deepEqual(problems, []);
});

test('from disk long work goes to a worker', async () => {
  const { page, problems } = await browser.open(file);
  await page.locator('.bar-row').first().waitFor();
  await page.locator('header.bar').getByRole('button', { name: 'Schedules', exact: true }).click();
  await page.locator('.card svg').first().waitFor();
  // One for simulations, one for searches.
  await eventually(() => page.workers().length, (workers) => workers >= 1);
  await page.locator('header.bar').getByRole('button', { name: 'Run', exact: true }).click();
  await tab(page, 'Layouts');
  await page.locator('.plan table').first().waitFor();
  assert.deepEqual(problems, []);
});

test('from disk the accuracy tables are there', async () => {
  const { page, problems } = await browser.open(file);
  await tab(page, 'Accuracy');
  await page.locator('#accuracy table').first().waitFor();
  assert.deepEqual(problems, []);
});

test('from disk the timeline is drawn', async () => {
  const { page, problems } = await browser.open(file);
  await eventually(() => isDrawn(page), Boolean);
  assert.deepEqual(problems, []);
});

test('in a sandboxed frame it shows one panel and answers', async () => {
  const host = join(folder, 'host.html');
  writeFileSync(host, `<!DOCTYPE html><script>
    addEventListener('message', (event) => { (globalThis.heard ??= []).push(event.data); });
  </script><iframe sandbox="allow-scripts" src="shardscope.html#v=1&tp=4&view.embed=memory" width="600" height="400"></iframe>`);
  const { page, problems } = await browser.open(pathToFileURL(host).href, { started: false });
  const heard = (type) => eventually(() => page.evaluate((wanted) => globalThis.heard?.find((data) => data.type === wanted), type), Boolean);
  await heard('shardscope:height');
  await page.frames()[1].locator('.bar-row').first().waitFor();
  await page.evaluate(() => document.querySelector('iframe').contentWindow.postMessage({ type: 'shardscope:set', run: { tp: 8 } }, '*'));
  assert.deepEqual((await heard('shardscope:run')).run, { tp: 8 });
  assert.deepEqual(problems, []);
});

test('nothing in it leads anywhere', async () => {
  const { page } = await browser.open(file);
  const policy = await page.locator('meta[http-equiv]').getAttribute('content');
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /https?:|\*|'unsafe-inline' /);
  const addresses = await page.evaluate(() => [...document.querySelectorAll('[src], link[href]')].map((element) => element.src ?? element.href));
  assert.deepEqual(addresses.filter((address) => !address.startsWith('data:')), []);
});
