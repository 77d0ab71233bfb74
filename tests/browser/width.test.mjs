// Nothing that a link can hold makes the page, or an embed of it, wider than its window; from a narrow phone to a desktop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculator, unfold } from './calculator.mjs';

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

/** The widths at which what `page` shows is too wide. */
async function tooWide(page) {
  const found = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
    const wide = await over(page);
    if (wide) found.push(wide);
  }
  return found;
}

/** Also with all inputs shown: below some width they are a tab of their own. */
async function withInputs(page) {
  const inputs = page.getByRole('button', { name: 'Inputs', exact: true });
  await page.setViewportSize({ width: 390, height: 900 });
  if (await inputs.isVisible()) await inputs.click();
  await page.evaluate(unfold);
  return tooWide(page);
}

for (const [what, link] of Object.entries(LINKS)) {
  test(`${what} widens nothing`, async () => {
    const { page } = await site.open(`#v=1&${link}`);
    assert.deepEqual(await tooWide(page), []);
    assert.deepEqual(await withInputs(page), [], 'inputs');
    await page.context().close();
  });
}

test('no embed is widened', async () => {
  for (const link of Object.values(LINKS)) {
    for (const panel of EMBEDS) {
      const { page } = await site.open(`#v=1&${link}&view.embed=${panel}`);
      assert.deepEqual(await tooWide(page), [], `${panel}: ${link.slice(0, 60)}`);
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
    await page.evaluate(() => new Promise((done) => { setTimeout(done, 200); }));
    assert.deepEqual(await tooWide(page), [], `${key}=${value}`);
  }
});
