// The memory panel: parts, the step, methods, advice, and a model from its config.json.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { becomes, calculator, eventually, matches, until } from './calculator.mjs';

const site = calculator();
const panel = (page) => page.locator('section[aria-labelledby="memory-title"]');
const fold = (page, name) => panel(page).locator('summary', { hasText: name });
const strip = (page) => page.locator('.strip .verdict').innerText();

test('every part of a bar names its parts and opens its formula', async () => {
  const { page, problems } = await site.open();
  const part = panel(page).locator('.segment.c-activations').first();
  await part.hover();
  await matches(() => part.locator('.tip').innerText(), /input of QKV/);
  await part.click();
  await page.locator('.detail h2', { hasText: 'Activations of rank 0' }).waitFor();
  // The arrow keys walk on from the part that has the focus.
  await panel(page).locator('.segment.c-weights').first().focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await matches(() => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? ''), /^gradients of rank 1: /);
  assert.deepEqual(problems, []);
});

test('the table behind the bars adds up, in GiB', async () => {
  const { page } = await site.open();
  await panel(page).locator('.fold > summary').first().click();
  const table = panel(page).getByRole('region', { name: 'Memory table' });
  await table.waitFor();
  const rows = table.locator('tbody tr');
  await becomes(() => rows.count(), 4);
  for (const row of await rows.all()) {
    await until(() => row.locator('td').allInnerTexts(), (texts) => {
      const cells = texts.slice(1, 8).map(Number);
      const sum = cells.slice(0, 6).reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - cells[6]) < 0.35, `${sum} ${cells[6]}`);
    });
  }
  await panel(page).getByRole('region', { name: 'Named parts' }).getByText('fragmentation').waitFor();
});

test('over the step: drawn, the fullest instant in words, any stage', async () => {
  const { page, problems } = await site.open();
  await panel(page).getByRole('button', { name: 'over the step' }).click();
  await panel(page).getByText('4 micro-batches × 8 layers').first().waitFor();
  await eventually(() => panel(page).locator('.over-time svg polygon, .over-time svg rect').count(), (count) => count > 6);
  await panel(page).getByRole('combobox', { name: 'Pipeline rank' }).selectOption('3');
  await panel(page).getByText('1 micro-batch × 8 layers').first().waitFor();
  assert.deepEqual(problems, []);
});

test('a method is chosen from the table of methods', async () => {
  const { page } = await site.open();
  await panel(page).getByRole('button', { name: 'every method' }).click();
  await panel(page).locator('.choose').first().waitFor();
  await becomes(() => panel(page).locator('.choose').count(), 5);
  await panel(page).getByRole('button', { name: 'Fujii 4D' }).click();
  await page.waitForFunction(() => location.hash.includes('memory_method=fujii-4d'));
  await page.locator('.strip .verdict', { hasText: 'of 80.0 GiB' }).waitFor();
  await panel(page).locator('.choose[aria-pressed=true]', { hasText: 'Fujii 4D' }).waitFor();
  await panel(page).getByText('6 slips of the source').click();
  await panel(page).getByText('37.48 GiB').waitFor();
});

test('what does not fit comes with changes, and one click makes it fit', async () => {
  const { page, problems } = await site.open('#v=1&micro_batch=4');
  await matches(() => strip(page), /Out of memory/);
  await panel(page).getByRole('button', { name: 'what takes less' }).click();
  const suggestions = panel(page).locator('#fit .fix');
  await suggestions.first().waitFor();
  await eventually(() => suggestions.count(), (count) => count >= 3);
  await suggestions.first().click();
  await page.waitForFunction(() => document.querySelector('.strip .verdict').innerText.includes('Fits'));
  assert.deepEqual(problems, []);
});

test('the way to narrow a surprise down has a figure at each step', async () => {
  const { page } = await site.open('#v=1&micro_batch=2');
  await panel(page).getByRole('button', { name: 'fits but ran out' }).click();
  const rows = panel(page).getByRole('region', { name: 'Narrowing it down' }).locator('tbody tr');
  await rows.first().waitFor();
  const peaks = () => rows.locator('td:nth-child(3)').allInnerTexts();
  await eventually(peaks, (all) => all.length >= 5 && all.every((peak) => Number(peak) > 0));
});

test('on a phone nothing of the open panel is wider than it', async () => {
  const { page, problems } = await site.open('#v=1&model=llama-3.1-70b', PHONE);
  for (const name of ['every method', 'fits but ran out', 'over the step', 'what takes less']) await panel(page).getByRole('button', { name }).click();
  await panel(page).locator('#fit .fix').first().waitFor();
  await becomes(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  assert.deepEqual(problems, []);
});
