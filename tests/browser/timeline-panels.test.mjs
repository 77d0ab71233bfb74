// What opens under the timeline, and pictures as files: gradients, unequal samples, splits of the layers.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { becomes, calculator, fragment, matches, tab } from './calculator.mjs';

const site = calculator();

/** Opens the view of the pipeline that is called `words`, and waits for what it shows. */
async function open(words, link = '', options = {}) {
  const { page, problems } = await site.open(link, options);
  await tab(page, 'Pipeline');
  const fold = page.locator('section[aria-labelledby=pipeline-title]');
  const view = fold.getByRole('button', { name: words, exact: true });
  await view.click();
  await becomes(() => view.getAttribute('aria-pressed'), 'true');
  await fold.locator('svg.drawing:visible').first().waitFor();
  return { page, problems, fold };
}

/** What the button of `action` in the menu "Save" of `place` writes. A closed menu holds no buttons. */
async function file(page, place, action) {
  const menu = place.locator('details.menu.save').first();
  if (!await menu.evaluate((it) => it.open)) await menu.locator('summary').first().click();
  const waits = page.waitForEvent('download');
  await menu.locator(`[data-action="${action}"]`).click();
  const download = await waits;
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

/** Width and height of a PNG. */
const size = (png) => [png.readUInt32BE(16), png.readUInt32BE(20)];

test('gradients leave eagerly, or when they are told to', async () => {
  const { page, problems, fold } = await open('gradients');
  const pressed = () => fold.locator('.toggle-link[aria-pressed=true]').first().innerText();
  await becomes(pressed, 'eagerly, bucket by bucket');
  const hidden = fold.locator('svg.drawing rect[style*="fill-opacity"]');
  await becomes(() => hidden.count(), 4);
  await fold.locator('[data-action="choose end"]').focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('[data-action="choose end"][aria-pressed=true]'));
  await becomes(() => hidden.count(), 0);
  // The keyboard stays where it was, in what was drawn anew.
  await page.waitForFunction(() => document.activeElement?.dataset.action === 'choose end');
  await matches(() => fold.innerText(), /The step waits .* when they leave eagerly/);
  await becomes(() => fold.locator('tbody tr').count(), 4);
  await fold.getByRole('button', { name: 'exposed communication' }).click();
  // The drawer no longer explains the fullest GPU.
  await page.waitForFunction(() => !/Memory of/.test(document.querySelector('.detail .term')?.textContent ?? 'Memory of'));
  assert.deepEqual(problems, []);
});

test('even and uneven layers share an axis', async () => {
  const { problems, fold } = await open('even and uneven layers');
  const said = () => fold.locator('svg').first().textContent();
  await matches(said, /8\/8\/8\/8 layers/);
  await matches(said, /as fast as even/);
  assert.deepEqual(problems, []);
});

test('the warning about a long stage mends it', async () => {
  const { page, problems } = await site.open();
  // The line beside the suggestions names the field; it opens the sheet that has it, with the warning and what mends it.
  await page.locator('.note-line').getByRole('button', { name: 'Layers by stage', exact: true }).click();
  await page.locator('.sheet [data-field="stage_layers"] .issue').getByRole('button', { name: /Set Layers by stage to/ }).first().click();
  await page.waitForFunction(() => location.hash.includes('stage_layers='));
  await matches(() => fragment(page), /stage_layers=\d+/);
  assert.deepEqual(problems, []);
});

test('every picture leaves as SVG and as PNG, as it looks', async () => {
  const { page, problems, fold } = await open('gradients', '#v=1&view.theme=dark', { colorScheme: 'dark' });
  const drawn = await file(page, fold, 'save gradients.svg');
  assert.equal(drawn.name, 'shardscope-gradients.svg');
  const svg = drawn.bytes.toString();
  assert.match(svg, /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  // The dark theme's colours stand in the file, which has no style sheet.
  assert.match(svg, /fill: ?rgb\(238, 147, 16\)/);
  assert.doesNotMatch(svg, /var\(/);
  const png = await file(page, fold, 'save gradients.png');
  assert.deepEqual([...png.bytes.subarray(1, 4)], [...Buffer.from('PNG')]);
  const [width, height] = size(png.bytes);
  assert.ok(width > 1000 && height > 200, `${width} x ${height}`);
  // Bars of HTML are drawn for the purpose.
  for (const name of ['memory', 'overlap', 'step']) {
    const bars = await file(page, page.locator('header.bar'), `save ${name}.svg`);
    assert.match(bars.bytes.toString(), /^<svg [^]*Llama 3.1 8B on 64 GPUs/, name);
    const [across] = size((await file(page, page.locator('header.bar'), `save ${name}.png`)).bytes);
    assert.ok(across > 1000, `${name}: ${across}`);
  }
  assert.deepEqual(problems, []);
});

test('the panels fit a phone', async () => {
  const samples = '#v=1&lengths.base=log-normal&lengths.median=1000&lengths.sigma=1.2';
  for (const [words, link] of [['gradients', ''], ['unequal samples', samples], ['even and uneven layers', '']]) {
    const { page } = await open(words, link, PHONE);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), words);
    await page.context().close();
  }
});
