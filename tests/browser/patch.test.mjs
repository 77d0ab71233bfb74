// What an edit leaves alone: panels are patched in place, so what a reader holds of them stays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculator, eventually } from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();

/** Types into a field that does not have the focus. */
const edit = (page, key, value) => page.evaluate(([name, text]) => {
  const input = document.querySelector(`[data-field="${name}"] input`);
  input.value = text;
  input.dispatchEvent(new Event('input', { bubbles: true }));
}, [key, value]);

test('an edit keeps the open fold, the selected text, the scrolled table and the focus', async () => {
  const { page, problems } = await site.open('#v=1&model=llama-3.1-70b&gpus=128&tp=8&pp=8', { viewport: { width: 1200, height: 900 } });
  await page.locator('.waterfall [data-action="explain compute"]').first().click();
  const drawer = page.locator('aside.detail');
  await drawer.locator('h2', { hasText: /compute/i }).waitFor();
  await drawer.locator('summary', { hasText: 'With its values, notes, and to copy' }).click();
  await drawer.locator('summary', { hasText: 'As text' }).click();
  // A press elsewhere closes the drawer unless it is pinned.
  await drawer.getByRole('button', { name: 'pin', exact: true }).click();
  const memory = page.locator('[aria-labelledby="memory-title"]');
  await memory.locator('summary', { hasText: 'The same as a table' }).first().click();
  await memory.getByRole('region', { name: 'Memory table' }).waitFor();
  await page.evaluate(() => {
    const region = document.querySelector('[aria-label="Memory table"]');
    region.style.width = '200px';
    region.scrollLeft = 40;
    const bar = document.querySelectorAll('.bars .segment')[2];
    bar.focus();
    const words = document.querySelector('aside.detail details pre').firstChild;
    getSelection().setBaseAndExtent(words, 2, words, 12);
    Object.assign(globalThis, { kept: { region, bar, words } });
  });
  const state = () => page.evaluate(() => ({
    open: globalThis.kept.words.parentElement.closest('details').open,
    selected: [getSelection().toString(), getSelection().anchorNode === globalThis.kept.words],
    scrolled: [globalThis.kept.region.isConnected, globalThis.kept.region.scrollLeft],
    focus: [document.activeElement === globalThis.kept.bar, globalThis.kept.bar.isConnected],
  }));
  const before = await state();
  assert.deepEqual(before.focus, [true, true]);
  assert.equal(before.open, true);
  assert.equal(before.selected[0].length, 10);
  assert.equal(before.scrolled[1], 40);
  // Without ZeRO every rank holds all of its optimizer states; the compute stays.
  const label = await page.evaluate(() => globalThis.kept.bar.getAttribute('aria-label'));
  const total = () => page.locator('.bars .total').first().innerText();
  const shown = await total();
  await edit(page, 'zero', '0');
  await eventually(total, (now) => now !== shown);
  assert.notEqual(label, '');
  await settled(page);
  assert.deepEqual(await state(), before);
  assert.deepEqual(problems, []);
});

test('a press finds its action in a patched panel', async () => {
  const { page } = await site.open('#v=1');
  await edit(page, 'zero', '2');
  await page.locator('.menu.changes > summary').click();
  await page.locator('.changes [data-action="apply zero=1"]').click();
  await eventually(() => page.locator('[data-field="zero"] input').inputValue(), (now) => now === '1');
});
