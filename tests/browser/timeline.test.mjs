// The pipeline panel: every schedule, two on one axis, an order of one's own, files, any size.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { becomes, calculator, eventually, matches, tab } from './calculator.mjs';
import { settled } from './tour.mjs';

const PANEL = 'section[aria-labelledby=pipeline-title]';
/** 64 ranks, 4096 micro-batches: 524 thousand ops, 786 thousand where the backward is cut in two. */
const HUGE = '#v=1&model.base=llama-3.1-8b&model.layers=128&gpus=64&tp=1&pp=64&global_batch=4096';

const site = calculator();

async function open(fragment, options) {
  const opened = await site.open(fragment, options);
  await tab(opened.page, 'Pipeline');
  return { ...opened, panel: opened.page.locator(PANEL) };
}

/** Colours that a canvas shows, by how many pixels of it. */
function colours(canvas) {
  return canvas.evaluate((element) => {
    // A copy: Chromium warns of canvases that are read again and again.
    const copy = document.createElement('canvas');
    [copy.width, copy.height] = [element.width, element.height];
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(element, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    const found = {};
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] === 255) {
        const key = `${data[at]},${data[at + 1]},${data[at + 2]}`;
        found[key] = (found[key] ?? 0) + 1;
      }
    }
    return found;
  });
}

test('a second schedule lies on the same axis, and the link holds it', async () => {
  const { page, problems, panel } = await open();
  await eventually(() => panel.locator('.surface:visible').count(), (count) => count === 1);
  await becomes(() => panel.locator('#compare').inputValue(), '', 'nothing is compared at first');
  await panel.locator('#compare').selectOption('gpipe');
  await page.waitForFunction(() => document.querySelectorAll('[aria-labelledby=pipeline-title] .surface canvas').length === 2);
  await becomes(() => panel.locator('.surface:visible').count(), 2);
  await matches(() => panel.locator('.against').innerText(), /GPipe .* 1F1B .*more activations.*32.* instead of 4/s);
  await page.waitForFunction(() => location.hash.includes('view.compare=gpipe'));
  const again = await open(await page.evaluate(() => location.hash));
  await becomes(() => again.panel.locator('#compare').inputValue(), 'gpipe');
  await eventually(() => again.panel.locator('.surface:visible').count(), (count) => count === 2);
  assert.deepEqual(problems, []);
});

test('the critical path is drawn and told', async () => {
  const { panel, problems } = await open('#v=1&schedule=gpipe');
  await panel.locator('#critical').click();
  await becomes(() => panel.locator('#critical').getAttribute('aria-pressed'), 'true');
  await matches(() => panel.locator('.path-note').innerText(), /transfers between ranks/);
  await matches(() => panel.locator('.critical path').first().getAttribute('d'), /^M[\d.]+ [\d.]+L/);
  assert.deepEqual(problems, []);
});

test('the keyboard steps through ops and says what they wait for', async () => {
  const { page, panel } = await open();
  const surface = panel.locator('.surface').first();
  // Keys find ops once the picture is there.
  await settled(page);
  await surface.focus();
  await page.keyboard.press('.');
  await matches(() => surface.locator('.tip').innerText(), /rank 0: forward of micro-batch 0 on stage 0.*starts with the step/s);
  await page.keyboard.press('ArrowDown');
  await matches(() => surface.locator('.tip').innerText(), /waits for rank 0: forward of micro-batch 0/);
  await page.keyboard.press('f');
  await panel.locator('.minimap').waitFor({ state: 'visible' });
  await page.keyboard.press('0');
  await panel.locator('.minimap').waitFor({ state: 'hidden' });
});

test('an order of one\'s own is simulated, and a dead-lock says where', async () => {
  const { page, panel, problems } = await open('#v=1&gpus=2&tp=1&pp=2&global_batch=2&schedule=custom');
  const order = panel.locator('#own-order');
  // PyTorch's CSV: B is the whole backward, sends and receives follow from the order.
  await order.fill('0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1');
  await page.waitForFunction(() => /order=0F0%2C0F1|order=0F0,0F1/.test(location.hash));
  await matches(() => page.evaluate(() => decodeURIComponent(location.hash)), /order=0F0,0F1,0BW0,0BW1\|1F0,1BW0,1F1,1BW1/);
  await becomes(() => panel.locator('.stale').count(), 0);
  await order.fill('0F0,0BW0,0F1,0BW1\n1F1,1F0,1BW0,1BW1');
  await panel.getByText('rank 1 is stuck at its op 0, 1F1').waitFor();
  assert.deepEqual(problems, []);
});

test('the timeline leaves as CSV, SVG, PNG and trace', async () => {
  const { page, panel, problems } = await open();
  const menu = page.locator('header .menu.save');
  const file = async (what) => {
    const waits = page.waitForEvent('download');
    // A press in the menu closes it.
    await becomes(() => menu.getAttribute('open'), null);
    await menu.locator('summary').click();
    await menu.locator(`[data-action="timeline ${what}"]`).click();
    const download = await waits;
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  };
  const csv = await file('csv');
  assert.equal(csv.name, 'shardscope-llama-3-1-8b-64-1f1b.csv');
  assert.equal(csv.bytes.toString().trim().split('\n').length, 1 + 4 * 32 * 2);
  const svg = (await file('svg')).bytes.toString();
  assert.match(svg, /^<svg /);
  assert.match(svg, /Llama 3.1 8B on 64 GPUs, 1F1B/);
  assert.deepEqual([...(await file('png')).bytes.subarray(1, 4)], [...Buffer.from('PNG')]);
  const trace = JSON.parse((await file('trace')).bytes.toString());
  assert.equal(trace.traceEvents.filter((event) => event.ph === 'X').length, 4 * 32 * 2);
  assert.equal(trace.traceEvents.filter((event) => event.ph === 's').length, 6 * 32);
  assert.deepEqual(problems, []);
});

test('layers are balanced at a press', async () => {
  const { page, panel } = await open();
  await panel.getByRole('button', { name: 'balance the layers' }).click();
  await page.waitForFunction(() => location.hash.includes('stage_layers='));
  await matches(() => panel.locator('.uneven').innerText(), /against an even split/);
  await panel.getByRole('button', { name: 'split evenly' }).click();
  await page.waitForFunction(() => !location.hash.includes('stage_layers='));
});

test('64 ranks and 4096 micro-batches stay whole while one zooms', async () => {
  const { page, panel, problems } = await open(HUGE);
  const surface = panel.locator('.surface').first();
  const inked = async () => {
    const found = await colours(surface.locator('canvas'));
    return (found['12,62,129'] ?? 0) > 0 && (found['224,112,5'] ?? 0) > 0;
  };
  // The worker simulates it, after the page has started.
  await eventually(inked, (seen) => seen);
  const box = await surface.boundingBox();
  for (let step = 0; step < 8; step += 1) {
    await surface.dispatchEvent('wheel', { ctrlKey: true, deltaY: -500, clientX: box.x + 200, clientY: box.y + 100 });
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  await panel.locator('.minimap').waitFor({ state: 'visible' });
  // And when near.
  await eventually(inked, (seen) => seen);
  assert.deepEqual(problems, []);
});

test('a playhead that moves changes texts alone: no node is put in, which has all that :has names styled again', async () => {
  const { page, problems } = await site.open();
  const number = page.locator('.pipe b.played');
  await settled(page);
  const before = await number.innerText();
  await page.locator('.pipe').evaluate((pipe) => {
    globalThis.put = [];
    const watch = new MutationObserver((records) => records.forEach(({ target }) => globalThis.put.push(target.className)));
    watch.observe(pipe.querySelector('.panel-head'), { childList: true, subtree: true });
  });
  const seen = new Set([before]);
  await eventually(() => number.innerText(), (now) => seen.add(now).size > 5);
  assert.deepEqual(await page.evaluate(() => globalThis.put), []);
  assert.deepEqual(problems, []);
});

test('typing into a long step does not wait for its simulation', async () => {
  const { page, panel } = await open();
  await page.evaluate((fragment) => { location.hash = fragment; }, `${HUGE}&view.tab=pipeline`);
  // The last picture stays, greyed, until typing settles.
  await panel.locator('.stale').waitFor();
  await matches(() => panel.locator('.ranks').first().innerText(), /rank 3/);
  await panel.getByText('rank 62').first().waitFor();
  await becomes(() => panel.locator('.stale').count(), 0);
});

test('fits a phone, comparison included', async () => {
  const { page } = await open('#v=1&view.compare=zb-v', PHONE);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
});
