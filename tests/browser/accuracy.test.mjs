// The accuracy panel: nothing is fetched before it is nearly seen, every published run is computed in this browser, a row
// opens as the page's own run; and the folds of the overlap panel.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { becomes, calculator, eventually, matches, tab } from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();

const again = (page) => page.locator('#accuracy').getByRole('button', { name: 'Compute them all' });
/** Shows the panel, which begins by itself. */
const seen = (page) => tab(page, 'Accuracy');
/** Shows every table, once they are there. */
const all = (page) => page.locator('#accuracy summary', { hasText: 'All runs' }).click();

test('the published runs are computed when they are seen, those most alike first, and the page stays at hand', async () => {
  const { page, problems } = await site.open();
  const fetched = [];
  page.on('request', (request) => fetched.push(new URL(request.url()).pathname));
  assert.deepEqual(fetched.filter((path) => path.endsWith('.csv')), []);
  await page.evaluate(() => {
    globalThis.frames = 0;
    const frame = () => {
      globalThis.frames += 1;
      if (!document.querySelector('#accuracy h3')) requestAnimationFrame(frame);
    };
    frame();
  });
  await seen(page);
  const alike = page.getByRole('region', { name: 'Published runs most like yours' }).locator('tbody tr');
  await alike.first().waitFor();
  await becomes(() => alike.count(), 5);
  // Llama 3.1 8B on H100 in bf16 with Megatron-LM of 2024: table 4 of Fujii 2024 is nearest.
  await matches(() => alike.first().innerText(), /table 4|dgxc, Llama 3.1 8B/);
  await all(page);
  await becomes(() => fetched.filter((path) => path.endsWith('.csv')).length, 10);
  // Computed in the page's own thread, there would be one before and one after.
  assert.ok(await page.evaluate(() => globalThis.frames) > 3);
  const errors = page.locator('#accuracy [aria-label="Error by source"]');
  // Tables 3 and 4 of Fujii 2024 have 145 runs that did not run out of memory.
  const count = async (name) => Number(await errors.locator('tr', { hasText: name }).locator('td').nth(2).textContent());
  await becomes(async () => await count('table 3') + await count('table 4'), 145);
  // 232 outcomes, none that ran out of memory was called Fits.
  const verdicts = page.locator('#accuracy [aria-label="Verdicts"] tbody tr');
  const runs = () => verdicts.locator('td:nth-child(2)').allTextContents();
  await becomes(async () => (await runs()).map(Number).reduce((a, b) => a + b, 0), 232);
  await becomes(() => verdicts.nth(0).locator('td').nth(2).textContent(), '0');
  for (const name of [/^Step times: predicted/, /^Memory peaks: predicted/, /^Best layouts beside/]) {
    await page.locator('#accuracy figure').getByRole('img', { name }).first().waitFor({ state: 'attached' });
  }
  await page.getByText('measured was 1.448').waitFor();
  assert.deepEqual(problems, []);
});

test('a published run opens as the run of the page', async () => {
  const { page } = await site.open();
  await seen(page);
  // What a closed fold holds is made when it is opened.
  await all(page);
  await page.locator('#accuracy summary', { hasText: /^The other/ }).first().click();
  const row = page.locator('#accuracy button', { hasText: /^tp \d+ cp/ }).first();
  await row.waitFor({ state: 'attached' });
  const tp = /tp (\d+)/.exec(await row.textContent())[1];
  await row.evaluate((button) => button.click());
  await page.waitForFunction((tp) => location.hash.includes('loader_ns') && (tp === '2' || location.hash.includes(`&tp=${tp}`)), tp);
});

test('tables that cannot be read are said to be missing', async () => {
  const { page } = await site.open();
  await page.route('**/data/*.csv', (route) => route.fulfill({ status: 404, body: '' }));
  await seen(page);
  await page.getByText('could not be read').waitFor();
  // It can be tried again.
  await again(page).waitFor();
});

test('on a phone nothing of it is wider than the screen', async () => {
  const { page } = await site.open('', PHONE);
  await seen(page);
  await all(page);
  await settled(page);
  await becomes(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
});

test('each overlap row opens its own formula with the playbook beside it', async () => {
  const { page, problems } = await site.open();
  await tab(page, 'Overlap');
  const table = page.getByRole('region', { name: 'Overlap table' });
  await table.getByRole('button', { name: 'TP activations' }).click();
  const drawer = page.locator('aside.detail');
  const formula = drawer.locator('.formula', { hasText: 'b T h (4 P + Pe) (t - 1) m/t' });
  // What a closed fold holds is made when it is opened.
  const unfold = () => drawer.evaluate((one) => [...one.querySelectorAll('details:not([open]) > summary')]
    .filter((fold) => fold.checkVisibility()).forEach((fold) => fold.click()));
  await eventually(async () => {
    await unfold();
    return formula.isVisible();
  }, Boolean);
  await drawer.getByText(/^printed: /).waitFor({ state: 'attached' });
  await drawer.locator('.close-sheet').click();
  await page.getByRole('button', { name: 'a sequence cut' }).click();
  // The lecture's 65.536 GB.
  await page.getByText('65.54 GB').waitFor();
  assert.deepEqual(problems, []);
});

test('a measured step and a token budget are said in words', async () => {
  const { page } = await site.open('#v=1&measured_step_s=7&tokens_total=15000000000000&price_per_gpu_hour=2');
  await tab(page, 'Costs and scaling');
  await page.getByText(/every part is multiplied by/).waitFor();
  await page.locator('.budget', { hasText: 'GPU-hours' }).waitFor();
});
