// Nothing that a link can hold makes the page, or an embed of it, wider than its window; from a narrow phone to a desktop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, calculator, eventually, matches, unfold, until } from './calculator.mjs';
import { settled } from './tour.mjs';

const WIDTHS = [320, 390, 768, 1080, 1440];
const LONG = 'x'.repeat(500);
const LINKS = {
  'a denormal budget': 'tokens_total=1e-320',
  'a budget of 10^300': 'tokens_total=1e300&price_per_gpu_hour=1e300',
  'a GPU of no speed': 'gpu.bf16_tflops=1e-300',
  'a GPU beyond speed': 'gpu.bf16_tflops=1e300',
  'a key of 500 parts': `${Array(500).fill('part').join('.')}=1`,
  'a key of 500 letters': `${LONG}=1`,
  'a value of 500 letters': `model=${LONG}&schedule=${LONG}&tp=${LONG}`,
  'a name of 500 letters': `name=${LONG}`,
  'a profile with a name of 500 letters': `profile.name=${LONG}`,
  'a name of 500 letters without a space, in a model': `model.base=${LONG}&model.name=${LONG}`,
  'an order of 500 letters': `schedule=custom&schedule_options.order=${LONG}`,
  '2^40 tokens': `seq_len=${2 ** 40}`,
  '2^40 tokens that run': `seq_len=${2 ** 40}&cp=64&gpus=65536&recompute=full`,
  'many layers': `stage_layers=${Array(64).fill(1).join(',')}&pp=64&gpus=64&tp=1&model.layers=64&global_batch=64`,
};
const EMBEDS = ['memory', 'timeline', 'overlap', 'strip', 'all'];
const site = calculator();

/** Pixels that the document is wider than its window, and what is widest. */
const over = (page) => page.evaluate(() => {
  const { scrollWidth } = document.documentElement;
  if (scrollWidth <= innerWidth) return null;
  const ends = [...document.querySelectorAll('body *')].map((one) => [one.getBoundingClientRect().right, one]);
  const [, widest] = ends.reduce((most, one) => (one[0] >= most[0] ? one : most));
  return `${scrollWidth} px of ${innerWidth}: ${widest.tagName}.${widest.className}`;
});

/** What `page` shows is as wide as its window, at every width. */
async function fits(page, what) {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
    await becomes(() => over(page), null, what);
  }
}

/** Also with all inputs shown: below some width they are a tab of their own. */
async function withInputs(page) {
  const inputs = page.getByRole('button', { name: 'Inputs', exact: true });
  await page.setViewportSize({ width: 390, height: 900 });
  await inputs.click();
  await page.evaluate(unfold);
  await fits(page, 'inputs');
}

for (const [what, link] of Object.entries(LINKS)) {
  test(`${what} widens nothing`, async () => {
    const { page } = await site.open(`#v=1&${link}`);
    await fits(page, 'results');
    await withInputs(page);
    await page.context().close();
  });
}

const LARGE = 'model=llama-3.1-405b&gpus=2048&tp=8&pp=16&global_batch=2048';
const VIEWS = {
  'a comparison': 'b.pp=2&b.global_batch=512',
  'a comparison of large runs': `${LARGE}&b.model=deepseek-v3&b.gpus=2048&b.pp=16&b.ep=64`,
  'the schedules': 'view.open=schedules',
  'the scoreboard': 'view.open=scoreboard',
  'the whole run': 'view.open=whole',
  'the cluster': `${LARGE}&view.open=cluster`,
};
for (const [what, link] of Object.entries(VIEWS)) {
  test(`${what} is as wide as its window`, async () => {
    const { page } = await site.open(`#v=1&${link}`);
    await settled(page);
    await fits(page, what);
  });
}

test('no figure of the answer is cut, nor its range', async () => {
  for (const link of ['', `${LARGE}&stack=megatron-2025`, 'tokens_total=15e12&price_per_gpu_hour=12.34']) {
    const { page } = await site.open(`#v=1&${link}`);
    for (const width of [...WIDTHS, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      const cut = () => page.evaluate(() => [...document.querySelectorAll('.strip :is(.name, .range, .value)')]
        .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.scrollWidth > one.clientWidth + 1)
        .map((one) => one.textContent));
      await becomes(cut, [], `${link} at ${width}`);
      // The range of the cost is seen at every width.
      await matches(() => page.locator('.cost .range > span').first().innerText(), / to /);
      const below = () => page.locator('.cost .range > span').first().evaluate((one) => {
        const [range, row] = [one, one.parentElement].map((of) => of.getBoundingClientRect().bottom);
        return range - row;
      });
      await until(below, (px) => assert.ok(px < 2, `${px} at ${width}`));
    }
    await page.context().close();
  }
});

test('a wide table of the scoreboard scrolls at no width from a tablet on', async () => {
  const { page } = await site.open('#v=1&view.open=scoreboard');
  await page.locator('.board-table tbody tr').first().waitFor();
  for (const width of [768, 900, 1080, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    const region = page.locator('.board .scroll-x').first();
    const sizes = () => region.evaluate((one) => [one.scrollWidth, one.clientWidth]);
    await until(sizes, ([inner, outer]) => assert.ok(inner <= outer, `${inner} of ${outer} at ${width}`));
  }
});

test('no words of a lesson are smaller than eleven pixels on a phone', async () => {
  const { page } = await site.open('#v=1&view.lesson=pipelines.1f1b', { viewport: { width: 390, height: 800 } });
  for (const lesson of ['pipelines.1f1b', 'pipelines.zb-v', 'overlap.gradients', 'overlap.ring', 'layout.nodes']) {
    await page.evaluate((hash) => { location.hash = hash; }, `v=1&view.lesson=${lesson}`);
    await settled(page);
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 800 });
      const small = () => page.evaluate(() => [...document.querySelectorAll('#learn svg text')].filter((one) => {
        const { a, b } = one.getScreenCTM();
        const size = parseFloat(getComputedStyle(one).fontSize) * Math.hypot(a, b);
        return one.checkVisibility() && one.textContent.trim() && size < 10.9;
      }).map((one) => one.textContent));
      await becomes(small, [], `${lesson} at ${width}`);
    }
  }
});

test('no word of the page is smaller than eleven pixels on a phone', async () => {
  const views = [
    'tp=4&b.tp=2&view.embed=compare', 'tokens_total=15e12&view.embed=strip', 'tp=4&cp=2&view.tab=overlap',
    'tokens_total=15e12&view.open=whole',
  ];
  for (const width of [320, 390, 470]) for (const view of views) {
    const { page } = await site.open(`#v=1&${view}`, { viewport: { width, height: 844 } });
    await settled(page);
    const wrong = await page.evaluate(() => [...document.querySelectorAll('body *')].filter((one) => {
      const { left, right, height } = one.getBoundingClientRect();
      const words = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!words || height === 0 || !one.checkVisibility({ checkVisibilityCSS: true })) return false;
      const cut = one.matches('svg text') && !one.closest('.scroll-x') && (left < 0 || right > innerWidth);
      return cut || parseFloat(getComputedStyle(one).fontSize) < 11;
    }).map((one) => one.textContent));
    assert.deepEqual(wrong, [], `${view} at ${width}`);
  }
});

test('the tables of models and of kinds of GPUs are whole on a laptop', async () => {
  for (const view of ['tokens_total=15e12&view.open=whole&view.search=models', 'tokens_total=3e11&view.tab=costs']) {
    const { page } = await site.open(`#v=1&${view}`, { viewport: { width: 1440, height: 900 } });
    const region = page.locator(':is(.whole-inverse, .kinds) .scroll-x').first();
    await region.locator('tr').nth(3).waitFor();
    const [inside, room] = await region.evaluate((one) => [one.scrollWidth, one.clientWidth]);
    assert.ok(inside <= room, `${inside} of ${room}: ${view}`);
  }
});

test('no embed is widened', async () => {
  for (const link of Object.values(LINKS)) {
    for (const panel of EMBEDS) {
      const { page } = await site.open(`#v=1&${link}&view.embed=${panel}`);
      await fits(page, `${panel}: ${link.slice(0, 60)}`);
      await page.context().close();
    }
  }
});

test('the longest name and key of every choice widens nothing', async () => {
  const { page } = await site.open();
  await page.evaluate(unfold);
  const longest = await page.evaluate(() => [...document.querySelectorAll('[data-field]')].flatMap((field) => {
    const options = [...field.querySelectorAll('option')].filter((one) => one.value);
    if (options.length === 0) return [];
    const by = (length) => options.reduce((most, one) => (length(one) > length(most) ? one : most)).value;
    return [...new Set([by((one) => one.textContent.length), by((one) => one.value.length)])].map((value) => [field.dataset.field, value]);
  }));
  assert.ok(longest.length > 10, `${longest.length}`);
  for (const [key, value] of longest) {
    await page.evaluate((hash) => { location.hash = hash; }, `v=1&${key}=${encodeURIComponent(value)}`);
    await eventually(() => page.evaluate((of) => document.querySelector(`[data-field="${of}"] select`).value, key), (now) => now === value);
    await fits(page, `${key}=${value}`);
  }
});
