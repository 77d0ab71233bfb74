// The cluster view: one GPU selected for all views, keys, the order of the axes, a step played, the table of ranks, a phone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { addressIs, becomes, calculator, eventually, matches } from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();
const OPEN = '#v=1&view.open=cluster';
const frame = (page) => page.locator('.cluster-frame');
const status = (page) => page.locator('#cluster-gpu').innerText();
const rank = (page) => page.locator('.bar-row.chosen:visible .who').innerText();

/** Presses the GPU whose number is drawn, once the picture stands still: that of a hovered GPU is drawn over it. */
const press = async (page, gpu) => {
  await page.locator('.cluster-map').waitFor();
  await settled(page);
  await page.locator('.cluster-map text', { hasText: new RegExp(`^${gpu}$`) }).first().click({ force: true });
};

test('a pressed GPU is selected in the picture, the memory bars, the timeline and the address', async () => {
  const { page, problems } = await site.open();
  await page.getByRole('button', { name: 'Cluster', exact: true }).click();
  await addressIs(page, '#v=1&view.open=cluster');
  await press(page, 21);
  await addressIs(page, '#v=1&view.open=cluster&view.gpu=21');
  await matches(() => status(page), /^GPU 21: node 2, place 5 · TP 1 · DP 2 · PP 1\. DP is on 4 of 8 rails\. PP stays on rail 5\.$/);
  await becomes(() => rank(page), 'rank 1');
  await becomes(() => page.locator('main.cluster .ranks [aria-pressed=true]').innerText(), 'rank 1');
  // The other view keeps it, and what is selected there is selected here.
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await becomes(() => rank(page), 'rank 1');
  await page.locator('section[aria-labelledby="timeline-title"] .ranks button', { hasText: 'rank 3' }).click();
  await addressIs(page, '#v=1&view.gpu=53');
  await page.goBack();
  await page.locator('main.cluster').waitFor();
  assert.deepEqual(problems, []);
});

test('arrow keys walk over GPUs and stages; the table of ranks can be copied', async () => {
  const { page } = await site.open(`${OPEN}&view.gpu=21`);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await frame(page).focus();
  for (const [key, gpu] of [['ArrowRight', 22], ['ArrowDown', 38], ['ArrowUp', 22], ['End', 63], ['Home', 0]]) {
    await page.keyboard.press(key);
    await eventually(() => status(page), (text) => text.startsWith(`GPU ${gpu}:`));
  }
  await page.getByRole('button', { name: 'Copy the rank table' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).split('\n');
  assert.equal(lines.length, 65);
  assert.equal(lines[0], 'rank\tnode\ttp\tcp\tdp\tpp\tep\tetp\texpert_dp');
  assert.match(lines[39], /^38\t4\t0\t0\t3\t2\t/);
});

test('another order of the axes keeps the pipeline in its node', async () => {
  const { page } = await site.open(OPEN);
  const legend = page.locator('main.cluster .legend').first();
  const pp = legend.locator(':scope > span', { hasText: /^PP/ });
  await pp.filter({ hasText: 'over network' }).waitFor();
  await page.locator('main.cluster [data-action^="apply rank_order"]').click();
  await pp.filter({ hasText: 'over node link' }).waitFor();
  await addressIs(page, '#v=1&rank_order=tp-cp-ep-pp-dp&view.open=cluster');
});

test('the busiest links are named and colour the picture; experts have data-parallel traffic of their own', async () => {
  const { page, problems } = await site.open(`${OPEN}&model=mixtral-8x7b&tp=1&pp=2&ep=8`);
  await page.getByText(/Busiest network cards: PP rank [01], \d/).waitFor();
  await page.locator('main.cluster .legend b', { hasText: 'expert DP' }).waitFor();
  await page.getByRole('button', { name: 'network load' }).click();
  await page.locator('.cluster-map.loaded').waitFor();
  await page.locator('main.cluster .legend .ramp').waitFor();
  assert.deepEqual(problems, []);
});

test('a step is played over picture and timeline, and a block says what it waited for', async () => {
  const { page, problems } = await site.open(`${OPEN}&view.gpu=21`);
  await page.getByRole('button', { name: 'Play the step' }).click();
  await page.locator('main.cluster .clock').waitFor();
  await page.locator('.cluster-map.playing').waitFor();
  await page.getByRole('button', { name: 'Show the PP ranks' }).click();
  await page.locator('.cluster-map:not(.playing)').waitFor();
  await becomes(() => page.locator('.clock').count(), 0);
  const surface = page.locator('main.cluster .surface');
  await settled(page);
  await surface.focus();
  await page.keyboard.press('.');
  await page.locator('.cluster-waits', { hasText: 'Waited for PP rank 0' }).waitFor();
  // A line straight down has no area.
  await page.locator('.cluster-map .link.g-pp.lit').waitFor({ state: 'attached' });
  assert.deepEqual(problems, []);
});

for (const [gpus, sizes] of [[16_384, 'tp=8&pp=16&global_batch=2048'], [1_000_064, 'tp=8&pp=16&global_batch=15626']]) {
  test(`${gpus} GPUs are drawn whole, and nothing is wider than a phone`, async () => {
    const { page, problems } = await site.open(`#v=1&model=llama-3.1-405b&gpus=${gpus}&${sizes}&view.open=cluster&view.gpu=${gpus - 1}`, PHONE);
    await page.locator('.cluster-map').waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.ok(await page.locator('.cluster-map *').count() < 4000);
    await matches(() => status(page), /PP 15\. DP stays on rail 7\. PP stays on rail 7\.$/);
    assert.deepEqual(problems, []);
  });
}

test('the picture alone in a frame', async () => {
  const { page, problems } = await site.open('#v=1&view.embed=cluster&view.gpu=9');
  await page.locator('.cluster-map').waitFor();
  await matches(() => status(page), /^GPU 9: node 1/);
  await matches(() => page.locator('.embed-foot a').getAttribute('href'), /#v=1&view\.open=cluster&view\.gpu=9$/);
  assert.deepEqual(problems, []);
});
