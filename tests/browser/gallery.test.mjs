// The gallery of schedules: four compared in four clicks, by mouse and keyboard, on a phone, in a frame, by its link.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMBED, PHONE } from './browser.mjs';
import { addressIs, becomes, calculator, eventually, fragment, matches, still, until } from './calculator.mjs';

const site = calculator();
const LINK = '#v=1&view.open=schedules';
const card = (page, variant) => page.locator(`.card[data-variant="${variant}"] .tick`);
const lanes = (page) => page.locator('.lane:visible h3').allInnerTexts();
/** Waits until every schedule has its figures and its picture. */
const drawn = (page) => page.waitForFunction(() => {
  const cards = document.querySelectorAll('.card');
  return cards.length > 20 && [...cards].every((one) => one.querySelector('.sketch svg'));
});

test('four schedules are compared in four clicks from the run, and the link holds them', async () => {
  const { page, problems } = await site.open();
  await page.evaluate(() => {
    globalThis.clicks = 0;
    addEventListener('click', (event) => { if (event.isTrusted) globalThis.clicks += 1; }, true);
  });
  await page.getByRole('button', { name: 'Schedules', exact: true }).click();
  for (const variant of ['interleaved-1f1b.4', 'zb-v', 'dualpipe']) await card(page, variant).click();
  const names = ['A  1F1B', 'B  Interleaved 1F1B, v = 4', 'C  ZB-V', 'D  DualPipe'];
  await eventually(() => lanes(page), (seen) => seen.join() === names.join());
  assert.ok(await page.evaluate(() => globalThis.clicks) <= 4);
  await addressIs(page, `${LINK}&view.ticked=1f1b,interleaved-1f1b.4,zb-v,dualpipe`);
  // What is shared is what is compared.
  await page.locator('header').getByRole('button', { name: 'Share', exact: true }).click();
  await matches(() => page.locator('#share-link').inputValue(), /view\.ticked=1f1b,interleaved-1f1b\.4,zb-v,dualpipe/);
  await matches(() => page.locator('#share .share-picture').textContent(), /A  1F1B: step[^]*B  Interleaved 1F1B[^]*C  ZB-V[^]*D  DualPipe/);
  await page.locator('#share').getByRole('button', { name: 'Close' }).click();
  // A fifth has no place; the way back is the browser's.
  await page.locator('.card .tick:disabled').first().waitFor();
  const { page: other } = await site.open(await fragment(page));
  await eventually(() => lanes(other), (seen) => seen.join() === names.join());
  await page.goBack();
  await page.locator('#skeleton').waitFor({ state: 'detached' });
  assert.deepEqual(problems, []);
});

test('one cursor and one window for all timelines, by keyboard too', async () => {
  const { page, problems } = await site.open(`${LINK}&view.ticked=1f1b,zb-v`);
  const surfaces = page.locator('.lane:visible .surface');
  await eventually(() => surfaces.count(), (count) => count === 2);
  await surfaces.first().hover();
  await eventually(() => page.locator('.lane:visible .clock').count(), (count) => count === 2);
  const places = () => page.locator('.lane:visible .clock').evaluateAll((all) => all.map((one) => one.style.left));
  await until(places, ([first, second]) => assert.equal(first, second));
  await eventually(() => page.locator('.lane-figures .now:visible').allInnerTexts(), (all) => all.length === 2 && all.every((text) => /GiB/.test(text)));
  const axis = () => page.locator('.stack-axis').innerText();
  const before = await axis();
  await surfaces.first().focus();
  await page.keyboard.press('w');
  await eventually(axis, (now) => now !== before);
  const download = page.waitForEvent('download');
  await page.getByText('Save picture').click();
  await page.locator('.compared').getByRole('button', { name: 'SVG' }).click();
  assert.match((await download).suggestedFilename(), /schedules\.svg$/);
  // The instant under the cursor stays when the view changes.
  await surfaces.first().hover();
  await page.getByRole('button', { name: 'Cluster', exact: true }).click();
  await page.locator('.cluster-map.playing').waitFor();
  await page.locator('main.cluster .clock').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.locator('section[aria-labelledby="timeline-title"] .clock').first().waitFor({ state: 'attached' });
  assert.deepEqual(problems, []);
});

test('sorted, cut or whole, within another memory limit; the table has them all', async () => {
  const { page, problems } = await site.open(LINK);
  await drawn(page);
  const order = () => page.locator('.cards').first().locator('.card').evaluateAll((all) => all.map((one) => one.dataset.variant));
  const byStep = await order();
  await page.getByRole('button', { name: 'memory', exact: true }).click();
  await eventually(order, (now) => now.join() !== byStep.join());
  await page.getByRole('button', { name: 'whole step' }).click();
  await page.waitForFunction(() => !document.querySelector('.sketch .break') && document.querySelector('.sketch svg'));
  const held = () => card(page, 'zb-auto').locator('xpath=ancestor::li').locator('[role=img]').getAttribute('aria-label');
  const before = await held();
  await page.getByRole('slider').focus();
  for (let step = 0; step < 4; step += 1) await page.keyboard.press('ArrowRight');
  await eventually(held, (now) => now !== before);
  await eventually(() => fragment(page), (hash) => /view\.sort=peak&view\.axis=whole&view\.limit=8/.test(hash));
  await page.locator('.gallery summary', { hasText: 'Show as a table' }).first().click();
  const rows = page.locator('table.schedules tbody tr');
  await eventually(() => rows.count(), (count) => count >= 26);
  await page.locator('[data-action="sort bubble"]').last().click();
  await page.waitForSelector('th[aria-sort=ascending] [data-action="sort bubble"]');
  const bubbles = async () => (await page.locator('table.schedules tbody tr td:nth-child(3)').allInnerTexts()).map(parseFloat).filter((value) => !Number.isNaN(value));
  await until(bubbles, (all) => {
    assert.ok(all.length > 20, `${all.length} schedules`);
    assert.deepEqual(all, [...all].sort((a, b) => a - b));
  });
  // The head keeps the focus, so that the keyboard can go on.
  await page.waitForFunction(() => document.activeElement?.dataset.action === 'sort bubble');
  await page.keyboard.press('Enter');
  await page.waitForSelector('th[aria-sort=descending]');
  await page.locator('table.schedules').getByRole('button', { name: 'Interleaved 1F1B, v = 2' }).click();
  await page.waitForFunction(() => location.hash.includes('schedule=interleaved-1f1b&virtual_stages=2'));
  assert.deepEqual(problems, []);
});

test('stale weights stand apart, with their versions on the blocks', async () => {
  const { page } = await site.open(`${LINK}&view.ticked=pipedream`);
  await drawn(page);
  await becomes(() => page.locator('.cards').nth(1).locator('.card').count(), 2);
  await page.getByText('its backward takes the same version from the stash').waitFor();
});

test('fits a phone', async () => {
  const { page, problems } = await site.open(`${LINK}&view.ticked=1f1b,zb-v,dualpipe`, PHONE);
  await drawn(page);
  await eventually(() => lanes(page), (seen) => seen.length === 3);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.deepEqual(problems, []);
});

test('view.embed=schedules shows the gallery alone', async () => {
  const alone = async ({ page, problems }) => {
    assert.equal(await page.locator('header.bar, .inputs').count(), 0);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.deepEqual(problems, []);
  };
  const all = await site.open('#v=1&view.embed=schedules', EMBED);
  await drawn(all.page);
  await alone(all);
  // Of ticked schedules only the timelines.
  const ticked = await site.open('#v=1&view.embed=schedules&view.ticked=1f1b,zb-v', EMBED);
  await eventually(() => lanes(ticked.page), (seen) => seen.length === 2);
  assert.equal(await ticked.page.locator('.card').count(), 0);
  await alone(ticked);
});

test('pictures that are not drawn yet are asked for again, nearest first, where one scrolls to', async () => {
  const { page, problems } = await site.open();
  await page.evaluate(() => {
    globalThis.orders = [];
    const { postMessage } = Worker.prototype;
    globalThis.held = true;
    Worker.prototype.postMessage = function send(message, ...rest) {
      const job = message.length === 2 ? message[1] : [];
      // Its place in `Job`: pictures of schedules.
      if (job[0] === 3) {
        globalThis.orders.push([...job]);
        if (globalThis.held) return;
      }
      postMessage.call(this, message, ...rest);
    };
  });
  await page.getByRole('button', { name: 'Schedules', exact: true }).click();
  const orders = () => page.evaluate(() => globalThis.orders);
  await eventually(orders, (seen) => seen.length > 0);
  assert.equal(await page.locator('.sketch svg').count(), 0);
  const before = (await still(orders)).at(-1);
  await page.locator('.card').last().scrollIntoViewIfNeeded();
  // The same schedules in another order.
  const after = (await eventually(orders, (all) => all.at(-1).join() !== before.join())).at(-1);
  assert.deepEqual([...after].sort(), [...before].sort());
  await page.evaluate(() => { globalThis.held = false; });
  await page.locator('.card').first().scrollIntoViewIfNeeded();
  await drawn(page);
  assert.deepEqual(problems, []);
});
