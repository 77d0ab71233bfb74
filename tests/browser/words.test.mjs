// The words of the field explain themselves: under a setting that has the focus, and where a text uses them, in both
// languages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alike, becomes, calculator, eventually, input, matches, until } from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();
/** Stops the playhead, if it has not stopped yet: settled() waits for a still page. */
const still = (page) => page.evaluate(() => {
  if (!document.querySelector('.play.paused')) document.querySelector('.play-button').click();
});
const hint = (page, key) => page.locator(`[data-field="${key}"] .hint`);
const TENSOR = /Ranks that share every matrix of a layer; they exchange activations twice a layer and pass\./;

test('a setting that gets the focus says what its term means, and where that is written', async () => {
  const { page, problems } = await site.open();
  assert.equal(await hint(page, 'tp').isVisible(), false);
  await input(page, 'tp').focus();
  await matches(() => hint(page, 'tp').innerText(), TENSOR);
  await matches(() => hint(page, 'tp').innerText(), /Narayanan 2021, section 2\.3/);
  // The next setting is one Tab away.
  await page.keyboard.press('Tab');
  await becomes(() => page.evaluate(() => document.activeElement.closest('.field')?.dataset.field), 'pp');
  await eventually(() => hint(page, 'pp').innerText(), (text) => /Ranks that hold different layers/.test(text));
  await hint(page, 'tp').waitFor({ state: 'hidden' });
  // Without a pointer's hurry it is the label's tooltip, too.
  await page.locator('[data-field="zero"] label').hover();
  await eventually(() => page.locator('[data-field="zero"] label').getAttribute('title'), (title) => /shard instead of copying/.test(title ?? ''));
  assert.deepEqual(problems, []);
});

test('a screen reader hears hint, meaning and what is wrong, of every kind of setting', async () => {
  const { page } = await site.open();
  const described = (key) => page.evaluate((of) => {
    const control = document.querySelector(`[data-field="${of}"] :is(input, select)`);
    return (control.getAttribute('aria-describedby') ?? '').split(' ').map((id) => document.getElementById(id)?.textContent).join(' ');
  }, key);
  for (const [key, means] of [['tp', TENSOR], ['schedule', /works through forwards and backwards/], ['sequence_parallel', /Norms and dropouts cut/]]) {
    if (key === 'sequence_parallel') await page.getByRole('button', { name: /^More of the layout/ }).click();
    await page.locator(`[data-field="${key}"] :is(input, select)`).focus();
    await eventually(() => described(key), (text) => means.test(text));
  }
  await input(page, 'tp').fill('7');
  await eventually(() => described('tp'), (text) => TENSOR.test(text) && /TP 7/.test(text));
});

test('a setting whose name is no word of the field has its hint alone', async () => {
  const { page } = await site.open('#v=1&price_per_gpu_hour=2');
  await still(page);
  await page.getByRole('button', { name: /^Batch and budget/ }).click();
  await page.locator('.sheet [data-field="price_per_gpu_hour"] input').focus();
  await settled(page);
  await becomes(async () => (await page.locator('.sheet [data-field="price_per_gpu_hour"] .hint').innerText()).trim(), 'in any currency');
});

test('in Chinese a setting says it in Chinese, and words keep their meaning within sentences', async () => {
  const { page, problems } = await site.open('#v=1&pp=4&view.lang=zh');
  await still(page);
  await input(page, 'tp').focus();
  await eventually(() => hint(page, 'tp').innerText(), (text) => /共同切分每层各矩阵的 rank/.test(text) && /Narayanan 2021/.test(text));
  await page.locator('[data-action^="explain "]').first().click();
  const words = page.locator('.detail abbr');
  await eventually(() => words.count(), (count) => count > 0);
  await until(() => words.first().evaluate((one) => [one.textContent, one.title, one.tabIndex]), ([word, title, stop]) => {
    assert.match(word, /\p{Script=Han}|ZeRO/u);
    assert.match(title, /\p{Script=Han}/u);
    assert.equal(stop, 0);
  });
  // And English comes back, letter by letter.
  const { page: plain } = await site.open('#v=1&pp=4');
  await still(plain);
  await plain.locator('[data-action^="explain "]').first().click();
  await settled(plain);
  await page.locator('header.bar button[translate=no]').first().evaluate((button) => button.click());
  await eventually(() => page.locator('html').getAttribute('lang'), (lang) => lang === 'en');
  await settled(page);
  await alike(() => page.locator('.detail .term').innerHTML(), () => plain.locator('.detail .term').innerHTML());
  assert.deepEqual(problems, []);
});

test('a figure that was wrong becomes the text of an issue with its link; nothing is sent', async () => {
  const { page, problems } = await site.open('#v=1&model=llama-3.1-70b&gpus=128&tp=8&pp=8', { viewport: { width: 1200, height: 900 } });
  const requests = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.locator('.waterfall [data-action="explain step"]').first().click();
  const drawer = page.locator('aside.detail');
  await drawer.locator('summary', { hasText: 'This was wrong' }).click();
  const form = drawer.locator('.wrong pre');
  await form.waitFor();
  const parts = ['### Link', 'model=llama-3.1-70b', '### Measured value', 'step time'];
  await eventually(() => form.innerText(), (text) => parts.every((part) => text.includes(part)));
  // Cost and days of the key figures have it as well.
  for (const [at, of] of [[0, 'cost of a whole run'], [1, 'days of a whole run']]) {
    // The open drawer covers them.
    await page.keyboard.press('Escape');
    await page.locator('.strip .cost button').nth(at).click();
    await drawer.locator('summary', { hasText: 'This was wrong' }).click();
    await eventually(() => form.innerText(), (said) => said.includes(`### Figure\n\n${of}`));
  }
  assert.deepEqual(requests.filter((url) => !url.startsWith(new URL('/', page.url()).href)), []);
  assert.deepEqual(problems, []);
});
