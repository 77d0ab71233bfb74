// Sizes that nobody has: refused with a message that names them, or worked on; the tab answers all the while.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { LIMIT_MS } from './browser.mjs';
import { calculator, eventually, figures, input, said, tab } from './calculator.mjs';

const site = calculator();

/** Fails where the page does not answer: the tab is frozen. */
async function answers(page) {
  const late = new Promise((_, reject) => { setTimeout(() => reject(new Error('the tab is frozen')), LIMIT_MS).unref(); });
  await Promise.race([page.evaluate(() => new Promise(requestAnimationFrame)), late]);
}

for (const [what, key, value, words] of [
  ['10^15 GPUs', 'gpus', '1000000000000000', /a whole number of at most/],
  ['10^12 GPUs', 'gpus', '1000000000000', /./],
  ['a million micro-batches', 'global_batch', '8000000', /simulated here/],
  ['a sequence of 10^12 tokens', 'seq_len', '1000000000000', /./],
  ['65536 stages', 'pp', '65536', /layers are fewer|at most 4096|Set PP to/],
]) {
  test(`${what}: said with the field's name, and the tab answers`, async () => {
    const { page, problems } = await site.open();
    await input(page, key).fill(value);
    await answers(page);
    // A setting of the sentence has no line of its own: it is named above the column.
    const link = page.locator('.elsewhere li', { has: page.locator('.field-link') });
    const messages = async () => (await link.allInnerTexts()).join(' ');
    if (words.source !== '.') await eventually(async () => `${await messages()} ${(await said(page, key).allInnerTexts()).join(' ')}`, (text) => words.test(text));
    await answers(page);
    assert.doesNotMatch(await figures(page), /NaN|inf/);
    assert.deepEqual(problems, []);
  });
}

test('the largest schedules that are simulated leave the tab alive', async () => {
  const layers = 'v=1&model.base=llama-3.1-8b&model.layers=1024&tp=1';
  for (const link of [`${layers}&gpus=64&pp=64&global_batch=4096&schedule=zb-h1`, `${layers}&gpus=128&pp=128&global_batch=2048&schedule=v-half`]) {
    const { page } = await site.open();
    const before = await figures(page);
    await page.evaluate((link) => { location.hash = link; }, link);
    await page.waitForTimeout(500);
    await answers(page);
    await eventually(() => figures(page), (now) => now !== before);
    await page.context().close();
  }
});

const MEGABYTES = 50;

test(`${MEGABYTES} MB pasted into the own order are refused, and the tab answers`, async () => {
  const { page } = await site.open('#v=1&schedule=custom');
  await tab(page, 'Pipeline');
  const order = page.locator('#own-order');
  await order.waitFor();
  // As a paste does: what the box lets through.
  await order.evaluate((box, size) => {
    const text = '0F0,0BW0,'.repeat((size * 1e6) / 9);
    box.focus();
    document.execCommand('insertText', false, text);
  }, MEGABYTES);
  await answers(page);
  await page.locator('.own-order .issue.error').first().waitFor();
  assert.ok((await order.inputValue()).length <= 2e6);
});

test(`${MEGABYTES} MB as a file to bring in are refused, and the tab answers`, async () => {
  const { page } = await site.open();
  await page.evaluate(() => document.querySelector('[data-action="open import"]').click());
  const file = join(mkdtempSync(join(tmpdir(), 'shardscope-')), 'config.json');
  writeFileSync(file, Buffer.alloc(MEGABYTES * 1e6, '[1,2\n'));
  await page.getByLabel('Choose the file').setInputFiles(file);
  await answers(page);
  await page.getByText('longer than 400 kB or nested too deep').waitFor();
  rmSync(dirname(file), { recursive: true });
});

test('a text that nests without end is refused, and the tab answers', async () => {
  const { page } = await site.open();
  await page.evaluate(() => document.querySelector('[data-action="open import"]').click());
  await page.getByLabel('What to bring in').fill('['.repeat(2000));
  await page.getByText('longer than 400 kB or nested too deep').waitFor();
  await answers(page);
});

test('a link of two megabytes is read as far as it makes sense', async () => {
  const { page, problems } = await site.open();
  await page.evaluate(() => { location.hash = `v=1&tp=4&nonsense=${'x'.repeat(1.9e6)}`; });
  await eventually(() => input(page, 'tp').inputValue(), (value) => value === '4');
  await answers(page);
  await page.evaluate(() => { location.hash = `v=1&pp=2&${'y=1&'.repeat(4e5)}`; });
  await eventually(() => input(page, 'pp').inputValue(), (value) => value === '2');
  await answers(page);
  assert.deepEqual(problems, []);
});
