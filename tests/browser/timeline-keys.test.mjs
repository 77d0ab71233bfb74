// The timeline under keys, wheel and pointer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, calculator, drawn, eventually, matches, picture, still, surface as surfaceOf } from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();

const changes = (page, before) => eventually(() => drawn(page), (picture) => picture !== before);
const tip = (page) => surfaceOf(page).locator('.tip');

/** A page whose timeline is drawn, and its first picture. */
async function timeline(fragment = '') {
  const { page, problems } = await site.open(fragment);
  const surface = surfaceOf(page);
  await surface.scrollIntoViewIfNeeded();
  await settled(page);
  return { page, problems, surface, first: await picture(page) };
}

test('keys zoom in, pan, and fit again', async () => {
  const { page, problems, surface, first } = await timeline();
  await surface.focus();
  await page.keyboard.press('w');
  const zoomed = await changes(page, first);
  await page.keyboard.press('ArrowRight');
  const panned = await changes(page, zoomed);
  await page.keyboard.press('ArrowLeft');
  await eventually(() => drawn(page), (now) => now === zoomed);
  await page.keyboard.press('s');
  await changes(page, panned);
  await page.keyboard.press('0');
  await eventually(() => drawn(page), (now) => now === first);
  assert.deepEqual(problems, []);
});

test('keys step through the ops and tell each', async () => {
  const { page, problems, surface } = await timeline();
  await surface.focus();
  await page.keyboard.press('.');
  for (const words of [/micro-batch 0/, /rank 0/, /forward/]) await matches(() => tip(page).innerText(), words);
  const first = await still(() => tip(page).innerText());
  await page.keyboard.press('.');
  await eventually(() => tip(page).innerText(), (text) => /micro-batch 1/.test(text));
  await page.keyboard.press(',');
  await becomes(() => tip(page).innerText(), first);
  await page.keyboard.press('ArrowDown');
  await eventually(() => tip(page).innerText(), (text) => /rank 1/.test(text));
  await page.keyboard.press('Escape');
  await eventually(() => tip(page).count(), (count) => count === 0);
  assert.deepEqual(problems, []);
});

test('a pointer on a block tells what it is', async () => {
  const { page, surface } = await timeline();
  // The lens beside the pointer says it.
  const words = surface.locator('.lens .lens-words');
  await surface.hover({ position: { x: 3, y: 8 } });
  const text = async () => (await words.allInnerTexts()).join();
  for (const part of [/rank 0/, /micro-batch 0/, / to /]) await matches(text, part);
  await page.mouse.move(1, 1);
  await eventually(() => words.isVisible(), (seen) => !seen);
});

test('a wheel zooms, and scrolls the page where nothing is left to zoom out', async () => {
  const { page, surface } = await timeline();
  await surface.hover({ position: { x: 200, y: 20 } });
  const scrolled = () => page.evaluate(() => scrollY);
  const before = await scrolled();
  const whole = await picture(page);
  await page.mouse.wheel(0, -300);
  await changes(page, whole);
  const zoomed = await picture(page);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -300);
  await eventually(() => drawn(page), (now) => now !== zoomed);
  await page.keyboard.up('Control');
  assert.equal(await scrolled(), before, 'zooming does not scroll');
  assert.equal(await page.evaluate(() => visualViewport.scale), 1, 'nor does it zoom the page');
  await page.mouse.wheel(0, 3000);
  await eventually(() => drawn(page), (now) => now === whole);
  assert.equal(await scrolled(), before, 'zooming out does not scroll');
  await page.mouse.wheel(0, 120);
  await eventually(scrolled, (now) => now > before);
  // Scrolling does not zoom.
  await eventually(() => drawn(page), (now) => now === whole);
});

test('dragging pans', async () => {
  const { page, surface, first } = await timeline();
  await surface.focus();
  await page.keyboard.press('w');
  await changes(page, first);
  const zoomed = await picture(page);
  const box = await surface.boundingBox();
  await page.mouse.move(box.x + 300, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 150, box.y + 20, { steps: 4 });
  await page.mouse.up();
  await changes(page, zoomed);
});

test('another theme draws in other colours', async () => {
  const { page, first } = await timeline();
  await page.getByRole('button', { name: 'Light or dark' }).click();
  await changes(page, first);
});
