// The accuracy panel: nothing is fetched before it is asked for, every published run is computed in this browser, a row
// opens as the page's own run; and the folds of the overlap panel.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, PHONE } from './browser.mjs';
import { serve } from './server.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

async function open(t, fragment = '', options = {}) {
  const server = await serve(options.server);
  t.after(() => server.close());
  return browser.open(server.url + fragment, options.page);
}

const compute = (page) => page.locator('#accuracy').getByRole('button', { name: 'Compute them all' });

test('the published runs are computed when asked for, and the page stays at hand', async (t) => {
  const { page, problems } = await open(t);
  const fetched = [];
  page.on('request', (request) => fetched.push(new URL(request.url()).pathname));
  assert.deepEqual(fetched.filter((path) => path.endsWith('.csv')), []);
  await page.evaluate(() => {
    globalThis.longest = 0;
    let last = performance.now();
    const tick = () => {
      const now = performance.now();
      globalThis.longest = Math.max(globalThis.longest, now - last);
      last = now;
      setTimeout(tick, 0);
    };
    tick();
  });
  await compute(page).click();
  await page.locator('#accuracy h3', { hasText: 'Worst misses first' }).waitFor({ timeout: 120_000 });
  assert.equal(fetched.filter((path) => path.endsWith('.csv')).length, 5);
  assert.ok(await page.evaluate(() => globalThis.longest) < 500);
  const errors = page.locator('#accuracy [aria-label="Error by source"]');
  // Tables 3 and 4 of Fujii 2024 have 145 runs that did not run out of memory.
  const count = async (name) => Number(await errors.locator('tr', { hasText: name }).locator('td').nth(2).textContent());
  assert.equal(await count('table 3') + await count('table 4'), 145);
  // 232 outcomes, none that ran out of memory was called Fits.
  const verdicts = page.locator('#accuracy [aria-label="Verdicts"] tbody tr');
  const runs = await verdicts.locator('td:nth-child(2)').allTextContents();
  assert.equal(runs.map(Number).reduce((a, b) => a + b), 232);
  assert.equal(await verdicts.nth(0).locator('td').nth(2).textContent(), '0');
  assert.equal(await page.locator('#accuracy figure svg').count(), 2);
  await page.getByText('measured was 1.448').waitFor();
  assert.deepEqual(problems, []);
});

test('a published run opens as the run of the page', async (t) => {
  const { page } = await open(t);
  await compute(page).click();
  const row = page.locator('#accuracy button', { hasText: /^tp \d+ cp/ }).first();
  await row.waitFor({ state: 'attached', timeout: 120_000 });
  const tp = /tp (\d+)/.exec(await row.textContent())[1];
  await row.evaluate((button) => button.click());
  await page.waitForFunction((tp) => location.hash.includes('loader_ns') && (tp === '2' || location.hash.includes(`&tp=${tp}`)), tp);
});

test('tables that cannot be read are said to be missing', async (t) => {
  const { page } = await open(t);
  await page.route('**/data/*.csv', (route) => route.fulfill({ status: 404, body: '' }));
  await compute(page).click();
  await page.getByText('could not be read').waitFor();
  // It can be tried again.
  await compute(page).waitFor();
});

test('on a phone nothing of it is wider than the screen', async (t) => {
  const { page } = await open(t, '', { page: PHONE });
  await compute(page).click();
  await page.locator('#accuracy h3', { hasText: 'Worst misses first' }).waitFor({ timeout: 120_000 });
  await page.locator('summary', { hasText: 'Ranks by node' }).click();
  await page.locator('.mesh').waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
});

test('each overlap row opens its own formula with the playbook beside it', async (t) => {
  const { page, problems } = await open(t);
  await page.getByRole('button', { name: 'TP activations' }).click();
  const drawer = page.locator('aside.detail');
  await drawer.locator('.formula', { hasText: '16 n T h m (t - 1)/t' }).waitFor();
  await drawer.getByText(/^printed: /).waitFor();
  await page.locator('summary', { hasText: 'A sequence cut by' }).click();
  // The lecture's 65.536 GB.
  await page.getByText('65.54 GB').waitFor();
  assert.deepEqual(problems, []);
});

test('a measured step and a token budget are said in words', async (t) => {
  const { page } = await open(t, '#v=1&measured_step_s=7&tokens_total=15000000000000&price_per_gpu_hour=2');
  await page.getByText(/every part is multiplied by/).waitFor();
  await page.locator('.budget', { hasText: 'GPU-hours' }).waitFor();
});
