// What a first visit costs beside its bytes (tools/size.mjs): how often it asks, and that nothing jumps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DESKTOP, PHONE } from './browser.mjs';
import { calculator, eventually } from './calculator.mjs';

const site = calculator({ offline: true });

/** Files of a first visit: document, style, guard, language, icon, the page's script, its snippet and WebAssembly; then worker, package
 * and its WebAssembly for the panels in view; then manners, the copy for later and its worker. */
const MOST_REQUESTS = 14;
/** Sum of all shifts until the panels have arrived: their room is kept. Chromium calls 0.1 good. */
const MOST_SHIFT = 0.01;

test(`a first visit asks for at most ${MOST_REQUESTS} files, the first picture for eight`, async () => {
  const { page, problems } = await site.open();
  const loaded = await page.evaluate(() => performance.getEntriesByType('resource')
    .filter((entry) => entry.startTime < globalThis.shardscopeStarted)
    .map((entry) => new URL(entry.name).pathname));
  await page.locator('aside.detail').getByText('=').first().waitFor();
  const all = await page.evaluate(() => performance.getEntriesByType('resource').map((entry) => new URL(entry.name).pathname));
  const once = (paths) => [...new Set(paths)];
  assert.deepEqual(all.length, once(all).length, `asked for twice: ${all}`);
  assert.ok(once(loaded).length + 1 <= 8, `before the start: ${loaded}`);
  assert.ok(once(all).length + 1 <= MOST_REQUESTS, `${all}`);
  assert.deepEqual(problems, []);
});

for (const [name, options] of [['desktop', DESKTOP], ['phone', PHONE]]) {
  test(`nothing jumps on a ${name}`, async () => {
    for (const link of ['', '#v=1&tp=7', '#v=1&model=llama-3.1-405b&gpus=16384&tp=8&pp=16&global_batch=2048']) {
      const { page } = await site.open(link, options);
      if (!link.includes('tp=7')) await eventually(() => page.locator('section[aria-labelledby="memory-title"]').innerText(), (text) => /rank 0/i.test(text));
      await page.waitForTimeout(300);
      const shifts = await page.evaluate(() => new Promise((seen) => {
        const all = [];
        new PerformanceObserver((list) => {
          all.push(...list.getEntries().map((entry) => [entry.value, entry.sources.map(({ node }) => node?.className ?? '').join()]));
        }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => seen(all), 100);
      }));
      const sum = shifts.reduce((total, [value]) => total + value, 0);
      assert.ok(sum <= MOST_SHIFT, `${link}: ${sum.toFixed(4)} ${JSON.stringify(shifts)}`);
      await page.context().close();
    }
  });
}
