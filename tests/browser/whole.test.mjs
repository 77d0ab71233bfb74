// The whole run: figures with their range from the worker, formulas, bad input, a future in the link, the inverse questions, widths.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMBED, PHONE } from './browser.mjs';
import { becomes, calculator, eventually, fragment, matches, still } from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();
const RUN = '#v=1&stack=megatron-2025&model=llama-3.1-405b&gpus=16384&tp=8&pp=16&cp=2&schedule=interleaved-1f1b&virtual_stages=4&global_batch=2048'
  + '&tokens_total=15.6T&price_per_gpu_hour=2&grid_kg_per_kwh=0.37';
const LINK = `${RUN}&view.open=whole`;
const NARROW = { ...PHONE, viewport: { width: 320, height: 700 } };
const figures = (page) => page.locator('.whole-strip .key .value').allInnerTexts();
/** Waits until the range is of the figures. */
const ranged = (page) => page.locator('.whole-strip[aria-busy=false] .whisker u').first().waitFor();

test('each figure has its range and opens its formula, and Escape gives the focus back', async () => {
  const { page, problems } = await site.open(LINK);
  await ranged(page);
  await becomes(async () => (await figures(page)).length, 7);
  for (const figure of await page.locator('.whole-strip .key').all()) {
    await figure.click();
    await page.locator('main.whole .detail .formula').first().waitFor();
    await page.keyboard.press('Escape');
    await eventually(() => figure.evaluate((one) => one === document.activeElement), Boolean);
  }
  assert.deepEqual(problems, []);
});

test('a run without a budget shows that of Run, said to be assumed, and the link holds what is typed', async () => {
  const { page, problems } = await site.open('#v=1&view.open=whole');
  await ranged(page);
  const strip = () => page.locator('.whole-strip').innerText();
  await matches(strip, /1 T tokens, assumed[^]*\$2\.00 per GPU-hour, assumed/);
  assert.doesNotMatch(await fragment(page), /tokens_total|price/);
  await page.locator('.whole-input', { hasText: 'Tokens' }).locator('input').first().fill('15 T');
  await page.locator('.whole-input', { hasText: 'Price' }).locator('input').first().fill('€1.80');
  await eventually(strip, (text) => text.includes('15 T tokens\n') && text.includes('€1.80 per GPU-hour\n'));
  await eventually(() => fragment(page), (link) => /tokens_total=15/.test(link) && /price_per_gpu_hour=1\.8/.test(link));
  assert.deepEqual(problems, []);
});

test('bad input is said at its field, and the last figures stay', async () => {
  const { page, problems } = await site.open(LINK);
  await ranged(page);
  const before = await still(() => figures(page));
  for (const [label, text] of [['Price', '-1'], ['Checkpoint storage', '0'], ['Tokens', 'many']]) {
    const input = page.locator('.whole-five:not(.more) .whole-input', { hasText: label });
    const typed = input.locator('input');
    const old = await typed.inputValue();
    await typed.fill(text);
    await input.locator('.issue.error').waitFor();
    assert.equal(await typed.inputValue(), text);
    await settled(page);
    assert.deepEqual(await figures(page), before);
    await typed.fill(old);
    await eventually(() => input.locator('.issue.error').count(), (count) => count === 0);
  }
  assert.deepEqual(problems, []);
});

test('a doubtful value is taken, and the doubt is said at its field', async () => {
  const { page, problems } = await site.open(LINK);
  await ranged(page);
  await page.locator('.whole-inputs summary').click();
  const input = page.locator('.whole-five.more .whole-input', { hasText: 'Grid factor' });
  await input.locator('input').fill('370');
  await input.locator('.issue.warning', { hasText: 'is it in grams?' }).waitFor();
  assert.equal(await page.locator('.whole-inputs .issue.error').count(), 0);
  await eventually(() => figures(page), (all) => all.at(-1).includes('Mt'));
  await input.locator('input').fill('0.37');
  await eventually(() => input.locator('.issue').count(), (count) => count === 0);
  assert.deepEqual(problems, []);
});

test('a published whole run has what was published beside it, until it is changed', async () => {
  const { page, problems } = await site.open('#v=1&view.open=whole');
  await page.locator('header.bar').getByRole('button', { name: 'Published runs' }).click();
  await page.getByRole('button', { name: 'TinyLlama 1.1B, 3 T tokens' }).click();
  const checked = page.locator('.whole-checked');
  await eventually(() => checked.innerText(), (text) => /days 90\.0, here [\d.]+ \([+−]\d+\s%\)/.test(text));
  await page.locator('.whole-input', { hasText: 'Tokens' }).locator('input').first().fill('2 T');
  await eventually(() => checked.innerText(), (text) => text === '');
  assert.deepEqual(problems, []);
});

test('the link holds another future, and the same link shows the same one', async () => {
  const { page } = await site.open(LINK);
  await ranged(page);
  const words = (shown) => shown.locator('.whole-future p.note').innerText();
  const first = await still(() => words(page));
  await page.getByRole('button', { name: 'another future' }).click();
  await eventually(() => words(page), (seen) => seen !== first);
  const second = await still(() => words(page));
  await eventually(() => fragment(page), (link) => link.includes('view.future=1'));
  const { page: other } = await site.open(await fragment(page));
  await ranged(other);
  await becomes(() => words(other), second);
});

test('models come one by one, the search can be stopped, and a date names its GPUs', async () => {
  const { page, problems } = await site.open('#v=1&gpus=64&tokens_total=1e11&view.open=whole');
  await ranged(page);
  await page.getByRole('button', { name: 'Search all models' }).click();
  await page.locator('.whole-inverse .tokens-bar').first().waitFor();
  await page.locator('.whole-inverse').getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Search all models' }).waitFor();
  await page.getByRole('button', { name: 'Find the fewest GPUs' }).click();
  await page.locator('.whole-inverse b', { hasText: 'nine of ten' }).waitFor();
  assert.deepEqual(problems, []);
});

for (const [name, context, link] of [
  ['desk', { viewport: { width: 1440, height: 900 } }, LINK],
  ['laptop', { viewport: { width: 1180, height: 800 } }, LINK],
  ['phone', PHONE, LINK],
  ['narrow phone', NARROW, LINK],
  ['frame', EMBED, `${RUN}&view.embed=whole`],
  ['frame without a budget', EMBED, '#v=1&view.embed=whole'],
]) {
  test(`nothing is cut and nothing scrolls sideways: ${name}`, async () => {
    const { page, problems } = await site.open(link, context);
    await ranged(page);
    const fits = () => page.evaluate(() => ({
      wide: Math.max(document.documentElement.scrollWidth - document.documentElement.clientWidth, 0),
      cut: [...document.querySelectorAll('.whole-strip .key > *, .whole-input p, .waterfall .track')]
        .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent),
    }));
    if (name.startsWith('frame')) await becomes(() => page.locator('.assumed').isVisible(), name.includes('without'));
    await becomes(fits, { wide: 0, cut: [] });
    assert.deepEqual(problems, []);
  });
}
