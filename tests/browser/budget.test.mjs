// A first visit: how many files it asks for, and that nothing jumps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DESKTOP, PHONE } from './browser.mjs';
import { calculator, eventually, tab } from './calculator.mjs';
import { TABS, settled } from './tour.mjs';

const site = calculator({ pages: { '/blank.html': '<!DOCTYPE html><link rel="icon" href="data:,">' } });

/** Files of a first visit without the offline copy: document, style, guard, the module's JavaScript and WebAssembly, what
 * loads its parts; then the part of the tabs, the worker, its part, and four pieces that these share with other parts. */
const MAX_REQUESTS = 13;
/** Sum of all shifts until the panels have arrived: their space is reserved. Chromium calls 0.1 good. */
const MAX_SHIFT = 0.01;

test(`a first visit asks for at most ${MAX_REQUESTS} files until every panel is filled`, async () => {
  const { page, problems } = await site.open('blank.html', { started: false });
  const files = new Set();
  page.context().on('response', (response) => files.add(new URL(response.url()).pathname));
  await page.goto(site.url);
  await page.locator('#skeleton').waitFor({ state: 'detached' });
  await page.locator('.key.verdict').click();
  await page.locator('aside.detail').getByText('=').first().waitFor();
  await page.keyboard.press('Escape');
  // The published runs are fetched when their tab is opened.
  for (const name of TABS.filter((one) => one !== 'Accuracy')) await tab(page, name);
  await page.waitForLoadState('networkidle');
  await settled(page);
  assert.ok(files.size <= MAX_REQUESTS, `${[...files]}`);
  assert.deepEqual(problems, []);
});

for (const [name, options] of [['desktop', DESKTOP], ['phone', PHONE]]) {
  test(`nothing jumps on a ${name}`, async () => {
    for (const link of ['', '#v=1&tp=7', '#v=1&model=llama-3.1-405b&gpus=16384&tp=8&pp=16&global_batch=2048']) {
      const { page } = await site.open(link, options);
      if (!link.includes('tp=7')) await eventually(() => page.locator('section[aria-labelledby="memory-title"]').innerText(), (text) => /rank 0/i.test(text));
      // What the search brings counts, however fast the machine is.
      if (!link.includes('tp=7')) await eventually(() => page.locator('.cards-frame').innerText(), (text) => !/Looking/.test(text));
      await page.waitForTimeout(300);
      const shifts = await page.evaluate(() => new Promise((seen) => {
        const all = [];
        new PerformanceObserver((list) => {
          all.push(...list.getEntries().map((entry) => [entry.value, entry.sources.map(({ node }) => node?.className ?? '').join()]));
        }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => seen(all), 100);
      }));
      const sum = shifts.reduce((total, [value]) => total + value, 0);
      assert.ok(sum <= MAX_SHIFT, `${link}: ${sum.toFixed(4)} ${JSON.stringify(shifts)}`);
      await page.context().close();
    }
  });
}
