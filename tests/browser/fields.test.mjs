// Typing into the form: what is right is shown at once, what is wrong is said at the field and stays as typed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addressIs, calculator, drawn, eventually, figures, figuresChange, input, said, staleIs, surface,
} from './calculator.mjs';

const site = calculator();

/** Types `text` into `key`, and holds the page to the manners of a wrong value. */
async function isRefused(page, key, text, message) {
  const [before, picture] = [await figures(page), await drawn(page)];
  await input(page, key).fill(text);
  await eventually(async () => (await said(page, key).allInnerTexts()).join('\n'), (seen) => message.test(seen));
  assert.equal(await input(page, key).getAttribute('aria-invalid'), 'true');
  assert.equal(await input(page, key).inputValue(), text);
  await input(page, key).blur();
  assert.equal(await input(page, key).inputValue(), text, 'stays when the field is left');
  assert.equal((await figures(page)).replace('the last run that made sense ', ''), before);
  assert.equal(await drawn(page), picture);
}

test('a value that cannot work says why, and the last good picture stays', async () => {
  const { page, problems } = await site.open();
  await isRefused(page, 'tp', '7', /do not divide by tp=7/);
  await staleIs(page, true);
  await input(page, 'tp').fill('4');
  await staleIs(page, false);
  await eventually(() => said(page, 'tp').count(), (count) => count === 0);
  assert.deepEqual(problems, []);
});

test('text that is no number says so', async () => {
  const { page, problems } = await site.open();
  await isRefused(page, 'tp', 'abc', /"abc" is not a whole number/);
  await addressIs(page, '');
  assert.deepEqual(problems, []);
});

test('an empty field asks for a value', async () => {
  const { page, problems } = await site.open();
  await isRefused(page, 'pp', '', /needs a value/);
  assert.deepEqual(problems, []);
});

test('a cluster beyond counting is refused', async () => {
  const { page, problems } = await site.open();
  await isRefused(page, 'gpus', '1000000000000000', /is not a whole number from 1 to/);
  await isRefused(page, 'gpus', '9'.repeat(400), /is not a whole number from 1 to/);
  assert.deepEqual(problems, []);
});

test('only the latest text is spoken of', async () => {
  const { page } = await site.open();
  await isRefused(page, 'tp', '7', /do not divide by tp=7/);
  await isRefused(page, 'tp', 'abc', /"abc"/);
  assert.equal(await said(page, 'tp').count(), 1);
});

test('one click mends a value', async () => {
  const { page, problems } = await site.open('#v=1&pp=2');
  const before = await figures(page);
  await input(page, 'tp').fill('7');
  await page.locator('[data-field="tp"] .fix').click();
  await addressIs(page, '#v=1&tp=8&pp=2');
  assert.equal(await input(page, 'tp').inputValue(), '8');
  assert.equal(await said(page, 'tp').count(), 0);
  await staleIs(page, false);
  await figuresChange(page, before);
  assert.deepEqual(problems, []);
});

test('one click in the list of what to know does the same, and the name leads to the field', async () => {
  const { page } = await site.open('#v=1&tp=7');
  const line = page.locator('.issues li', { hasText: 'tp=7' });
  await line.getByRole('button', { name: 'Tensor parallel' }).click();
  assert.equal(await page.evaluate(() => document.activeElement.closest('[data-field]')?.dataset.field), 'tp');
  await line.locator('.fix').click();
  await addressIs(page, '#v=1&tp=8');
});

test('names in the list lead to choices of the form too', async () => {
  const { page } = await site.open('#v=1&gpu=foo');
  await page.locator('.issues li', { hasText: 'foo' }).getByRole('button', { name: 'GPU' }).click();
  assert.equal(await page.evaluate(() => document.activeElement.closest('[data-field]')?.dataset.field), 'gpu');
});

test('no two elements share an id', async () => {
  const { page } = await site.open();
  const ids = await page.evaluate(() => [...document.querySelectorAll('[id]')].map((element) => element.id));
  assert.deepEqual(ids.filter((id, at) => ids.indexOf(id) !== at), []);
});

test('a changed field can be put back', async () => {
  const { page } = await site.open('#v=1&tp=4');
  await page.locator('[data-field="tp"]').getByRole('button', { name: 'Back to the default' }).click();
  await addressIs(page, '#v=1');
  assert.equal(await input(page, 'tp').inputValue(), '2');
});

test('arrows step through values that work', async () => {
  const { page } = await site.open();
  const tp = input(page, 'tp');
  await tp.focus();
  await page.keyboard.press('ArrowUp');
  await addressIs(page, '#v=1&tp=4');
  await page.keyboard.press('ArrowUp');
  await addressIs(page, '#v=1&tp=8');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await addressIs(page, '#v=1&tp=1');
  assert.equal(await tp.inputValue(), '1');
  assert.equal(await page.locator('.issue.error').count(), 0);
});

test('slash goes to the search, which finds any setting', async () => {
  const { page } = await site.open();
  await surface(page).focus();
  await page.keyboard.press('/');
  const find = page.getByLabel('Find a setting');
  assert.ok(await find.evaluate((element) => element === document.activeElement));
  assert.equal(await find.inputValue(), '');
  const fields = () => page.locator('.field:visible').evaluateAll((rows) => rows.map((row) => row.dataset.field));
  await page.keyboard.type('loader');
  assert.deepEqual(await eventually(fields, (keys) => keys.length === 1), ['loader_ns']);
  await page.keyboard.press('Escape');
  await eventually(fields, (keys) => keys.includes('tp'));
});
