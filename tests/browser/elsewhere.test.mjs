// The page where it is not a page on a screen read from left to right: on paper, in a right-to-left page, turned by a
// translator.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DESKTOP, EMBED } from './browser.mjs';
import { alike, becomes, calculator, eventually, figures, tab, until } from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator({
  pages: { '/rtl.html': `<!DOCTYPE html><html dir="rtl" lang="ar"><link rel="icon" href="data:,">
    <p>ذاكرة التدريب</p><iframe src="/index.html#v=1&view.embed=all" width="600" height="400"></iframe></html>` },
});

/** Where the numbers of the verdict stand, from the left. */
const numbers = (of) => of.evaluate(() => {
  const walker = document.createTreeWalker(document.querySelector('.verdict .value'), NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const { 0: number, index } of node.data.matchAll(/[\d.]+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + number.length);
      found.push([number, range.getBoundingClientRect().left]);
    }
  }
  return found.sort((a, b) => a[1] - b[1]).map(([number]) => number);
});

test('inside a right-to-left page it reads as anywhere', async () => {
  const { page: alone } = await site.open('#v=1&view.embed=all', EMBED);
  const { page, problems } = await site.open('rtl.html', { started: false });
  const frame = page.frames()[1];
  await frame.waitForFunction(() => globalThis.shardscopeStarted);
  await settled(frame);
  await alike(() => numbers(frame), () => numbers(alone));
  await alike(() => figures(frame), () => figures(alone));
  assert.deepEqual(problems, []);
});

test('turned from right to left by a translator, no figure and no picture is turned', async () => {
  const { page } = await site.open('#v=1', DESKTOP);
  await settled(page);
  const before = await numbers(page);
  const [first] = [await page.locator('.segment').first().boundingBox()];
  await page.evaluate(() => { document.documentElement.dir = 'rtl'; });
  await settled(page);
  assert.deepEqual(await numbers(page), before);
  const boxes = () => Promise.all(['.track', '.segment'].map((one) => page.locator(one).first().boundingBox()));
  await until(boxes, ([track, now]) => {
    assert.ok(now.x - track.x < 2, 'bars begin at the left');
    assert.ok(Math.abs(now.width - first.width) < 2);
  });
});

test('on paper: the run, its figures, what is open; light, without buttons, nothing cut off', async () => {
  const { page } = await site.open('#v=1', { viewport: { width: 794, height: 1123 }, colorScheme: 'dark' });
  await settled(page);
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await becomes(() => page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  await settled(page);
  assert.ok(await page.locator('[data-field="tp"] input').isVisible(), 'the run is on it');
  assert.ok(await page.locator('.strip').isVisible());
  // A setting is a line; the figures are two on a page as narrow as this: memory and cost, then the others. None is cut.
  const lines = (selector) => page.locator(selector).evaluateAll((all) => Math.max(...all.map((one) => one.getBoundingClientRect().height)));
  assert.ok(await lines('.field-row') < 24, 'settings in a line each');
  const tops = (selector) => page.locator(selector).evaluateAll((all) => [...new Set(all.map((one) => Math.round(one.getBoundingClientRect().top)))]);
  assert.equal((await tops('.strip .key:is(.verdict, .cost)')).length, 1, 'memory and cost in a line');
  assert.equal((await tops('.strip .key:not(.verdict, .cost)')).length, 1, 'the other figures in a line');
  assert.ok(await lines('.strip') < 240, 'key figures in two lines');
  const cut = await page.locator('.strip :is(.name, .value, .range)').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText));
  assert.deepEqual(cut, []);
  for (const screen of ['.stepper', '.find', '.tabs', '.panel-head button:not(.legend *)', '.play', '.suggestion button', 'header.bar button', '.tools', '.fix', 'dialog', '#accuracy', '.plan button:not(td *)']) {
    const shown = await page.locator(screen).evaluateAll((all) => all.filter((one) => one.checkVisibility()).length);
    assert.equal(shown, 0, screen);
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} px too wide`);
  // A browser prints it in few pages: nothing is as high as all of it folded out.
  const pdf = await page.pdf({ format: 'A4' });
  const pages = pdf.toString('latin1').match(/\/Type\s*\/Page\b(?!s)/g).length;
  assert.ok(pages >= 1 && pages <= 4, `${pages} pages`);
});

test('what was computed or opened is on the paper too', async () => {
  const { page } = await site.open('#v=1', { viewport: { width: 794, height: 1123 } });
  await page.locator('[aria-labelledby="memory-title"] details.fold > summary').first().click();
  // The panels are tabs: each that was opened is on the paper, not only the last.
  await tab(page, 'Layouts');
  await eventually(() => page.locator('.plan table tbody tr').count(), (rows) => rows > 0);
  await settled(page);
  await page.emulateMedia({ media: 'print' });
  await settled(page);
  await page.locator('[aria-labelledby="memory-title"] details.fold table').first().waitFor();
  await page.locator('.plan table').first().waitFor();
  assert.equal(await page.locator('[aria-labelledby="overlap-title"]').count(), 0, 'what nobody opened is not');
  const rows = await page.locator('.plan .rows tbody tr').evaluateAll((all) => all.map((row) => row.getBoundingClientRect().height));
  assert.ok(Math.max(...rows) < 60, `rows of two lines: ${rows}`);
  // A name can be unfolded on the screen; on paper it stands there.
  const names = page.locator('.plan .layouts tbody tr:not(:first-child) summary');
  assert.ok(await names.count() > 5);
  for (const name of await names.all()) assert.ok(await name.isVisible(), 'the name of a layout');
  assert.equal(await page.locator('.plan .chips, .plan [data-action^="plan pin:"]').evaluateAll((all) => all.filter((one) => one.checkVisibility()).length), 0);
});

test('on paper, what would make a run fit keeps its names', async () => {
  const { page } = await site.open('#v=1&model=llama-3.1-70b&gpus=8&tp=8&pp=1', { viewport: { width: 794, height: 1123 } });
  await page.getByRole('button', { name: 'what takes less', exact: true }).click();
  const first = page.locator('[aria-labelledby="memory-title"] td:first-child .fix').first();
  await first.waitFor();
  await page.emulateMedia({ media: 'print' });
  await settled(page);
  assert.ok(await first.isVisible());
});
