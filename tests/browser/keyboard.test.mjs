// The calculator without a mouse: its main job from a fresh load with Tab, Enter, arrows and letters alone. At every stop
// the focus is seen, it is never trapped, and it comes back from what opened.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LAPTOP, PHONE } from './browser.mjs';
import {
  becomes, calculator, drawn, eventually, figures, figuresChange, fragment, input, matches, picture, said, surface, tab, until,
} from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();

/** What has the focus: how it is seen, and what lies over its middle. */
const focused = (page) => page.evaluate(() => {
  const element = document.activeElement;
  if (element === document.body) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const top = document.elementFromPoint(
    Math.min(Math.max(box.left + box.width / 2, 0), innerWidth - 1),
    Math.min(Math.max(box.top + Math.min(box.height / 2, 40), 0), innerHeight - 1),
  );
  const bar = top?.closest('.top, .tabbar');
  return {
    name: `${element.localName}.${element.className} ${element.getAttribute('aria-label') ?? element.textContent.slice(0, 40)}`,
    outlined: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2,
    onScreen: box.bottom > 0 && box.top < innerHeight && box.width > 0 && box.height > 0,
    under: bar && !bar.contains(element) ? bar.className : '',
  };
});

/** The stop after the next press of `key`: seen, and not under a bar that stays. */
async function stop(page, key = 'Tab') {
  await page.keyboard.press(key);
  const stopped = await until(() => focused(page), (seen) => {
    if (!seen) return;
    assert.ok(seen.outlined, `the focus is seen on ${seen.name}`);
    assert.ok(seen.onScreen, `${seen.name} is on the screen`);
    assert.equal(seen.under, '', `${seen.name} is not hidden under a bar`);
  });
  return stopped?.name;
}

/** Presses Tab until `target` has the focus. */
async function to(page, target, key = 'Tab') {
  const is = () => target.evaluate((element) => element === document.activeElement);
  for (let stops = 0; stops < 400; stops += 1) {
    await stop(page, key);
    if (await is()) return;
  }
  assert.fail(`Tab does not reach ${target}`);
}

test('the main job: choose, mend, ask, look, compare, plan, share', async () => {
  const { page, problems } = await site.open('', LAPTOP);
  await settled(page);
  const before = await figures(page);

  // Another model.
  await to(page, page.getByRole('combobox', { name: 'Model preset' }));
  await page.keyboard.press('ArrowDown');
  await eventually(() => fragment(page), (now) => now.includes('model='));
  await figuresChange(page, before);

  // More tensor parallel than was chosen for the model, by arrow; then a size that cannot be, and the way out of it.
  await settled(page);
  const chosen = await input(page, 'tp').inputValue();
  await to(page, input(page, 'tp'));
  await page.keyboard.press('ArrowUp');
  await eventually(() => input(page, 'tp').inputValue(), (now) => now === `${2 * chosen}`);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('7');
  await eventually(() => said(page, 'tp').first().innerText(), (text) => text.includes('TP 7'));
  await becomes(() => input(page, 'tp').getAttribute('aria-invalid'), 'true');
  const described = () => input(page, 'tp').evaluate((element) => element.getAttribute('aria-describedby').split(' ')
    .map((id) => document.getElementById(id)?.innerText).join(' '));
  await matches(described, /TP 7/, 'the field is described by what is wrong with it');
  const fix = page.locator('[data-field="tp"] [data-action^="apply "]').first();
  await to(page, fix);
  await page.keyboard.press('Enter');
  await eventually(() => input(page, 'tp').getAttribute('aria-invalid'), (now) => now === 'false');

  // Where a figure comes from: the drawer takes the focus, Escape gives it back.
  const key = page.locator('.strip [data-action^="explain "]').nth(1);
  const figure = await key.getAttribute('data-action');
  const drawer = page.getByRole('complementary', { name: 'About a number' });
  await to(page, key);
  await page.keyboard.press('Enter');
  await drawer.locator('.term').waitFor();
  await eventually(() => page.evaluate(() => document.activeElement.className), (now) => now.includes('close-sheet'));
  await page.keyboard.press('Escape');
  await eventually(() => drawer.isVisible(), (shown) => !shown);
  await becomes(() => page.evaluate(() => document.activeElement.dataset.action), figure);

  // The timeline: zoom, step to an op, read it, let it go.
  await to(page, surface(page));
  const whole = await picture(page);
  await page.keyboard.press('w');
  await eventually(() => drawn(page), (now) => now !== whole);
  await page.keyboard.press('.');
  await eventually(() => page.locator('.surface .tip').first().innerText(), (text) => /micro-batch 0/.test(text));
  await page.keyboard.press('Escape');
  await eventually(() => page.locator('.surface .tip').count(), (tips) => tips === 0);
  await page.keyboard.press('0');
  await eventually(() => drawn(page), (now) => now === whole);

  // All schedules, sorted; the pressed head keeps the focus. And back to the run.
  await to(page, page.locator('header.bar').getByRole('button', { name: 'Schedules', exact: true }));
  await page.keyboard.press('Enter');
  const head = page.locator('.gallery-head [data-action="sort peak"]');
  await head.waitFor();
  await to(page, head);
  const cards = () => page.locator('.card').allInnerTexts();
  await settled(page);
  const unsorted = await cards();
  await page.keyboard.press('Enter');
  await eventually(cards, (now) => now.length > 0 && now.join() !== unsorted.join());
  await matches(() => page.evaluate(() => document.activeElement.dataset.action ?? ''), /^sort /);
  await to(page, page.locator('header.bar').getByRole('button', { name: 'Run', exact: true }));
  await page.keyboard.press('Enter');

  // A layout of those that were found is used.
  const row = page.locator('.suggestion [data-action=load]').first();
  await row.waitFor();
  await settled(page);
  const run = await fragment(page);
  await to(page, row);
  await page.keyboard.press('Enter');
  await eventually(() => fragment(page), (now) => now !== run);

  // Share: on past the last stop and round to the header, never trapped.
  const share = page.locator('header.bar').getByRole('button', { name: 'Share' });
  await to(page, share);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Share this run' });
  await dialog.waitFor();
  const copy = dialog.getByRole('button', { name: /cop/i }).first();
  await to(page, copy);
  await page.keyboard.press('Enter');
  await eventually(() => copy.innerText(), (now) => /Copied|Select and copy/.test(now));
  await page.keyboard.press('Escape');
  await eventually(() => dialog.isVisible(), (shown) => !shown);
  await becomes(() => share.evaluate((element) => element === document.activeElement), true, 'the focus is back at Share');
  assert.deepEqual(problems, []);
});

test('the first stop leads past the inputs', async () => {
  const { page } = await site.open('');
  await page.locator('.skip', { hasText: 'Skip to the results' }).waitFor({ state: 'attached' });
  assert.equal(await stop(page), 'button.skip Skip to the results');
  const run = await fragment(page);
  await page.keyboard.press('Enter');
  const within = () => page.evaluate(() => document.getElementById('results').contains(document.activeElement));
  await becomes(within, true);
  const next = await stop(page);
  await becomes(within, true, next);
  assert.equal(await fragment(page), run, 'the address is still the run');
});

test('back with Shift+Tab, from the last stop to the first', async () => {
  const { page } = await site.open('', LAPTOP);
  // What begins when it is seen is there before.
  await tab(page, 'Accuracy');
  await page.locator('#accuracy table').first().waitFor();
  await settled(page);
  await page.evaluate(() => scrollTo(0, 0));
  const seen = new Set();
  for (let stops = 0; stops < 700; stops += 1) {
    const name = await stop(page, 'Shift+Tab');
    if (!name) break;
    seen.add(name);
    if (name.startsWith('button.skip')) break;
  }
  assert.ok([...seen].some((name) => name.startsWith('button.skip')), 'the first stop is reached');
  assert.ok(seen.size > 40);
});

test('a field that selects its text does not take the focus back', async () => {
  const { page } = await site.open('', LAPTOP);
  await settled(page);
  // Faster than a person: the focus comes and goes within one task.
  const kept = () => page.evaluate(async () => {
    document.querySelector('.strip .cost input').focus();
    const next = document.querySelector('.skip');
    next.focus();
    await new Promise((later) => { setTimeout(later, 100); });
    return document.activeElement === next;
  });
  assert.ok(await kept());
});

test('a menu closes with Escape and keeps the focus', async () => {
  const { page } = await site.open('');
  await settled(page);
  const menu = page.locator('details.menu').first();
  await menu.locator('summary').focus();
  await page.keyboard.press('Enter');
  // What it holds is built when it opens.
  await menu.locator('button').first().waitFor();
  await page.keyboard.press('Tab');
  await becomes(() => menu.evaluate((element) => element.open && element.contains(document.activeElement)), true);
  await page.keyboard.press('Escape');
  await becomes(() => menu.evaluate((element) => !element.open && element.firstElementChild === document.activeElement), true);
});

test('Escape closes what lies on top, the drawer before the sheet, wherever the focus is', async () => {
  for (const size of [LAPTOP, PHONE]) {
    const { page, problems } = await site.open('', size);
    await settled(page);
    if (size === PHONE) await page.locator('.tabbar').getByRole('button', { name: 'Inputs' }).click();
    const opener = page.locator('.groups button.group').first();
    const sheet = page.locator('.sheet');
    await opener.click();
    await sheet.waitFor();
    const drawer = page.getByRole('complementary', { name: 'About a number' });
    await page.evaluate(() => document.querySelector('[data-action^="explain "]').click());
    await drawer.locator('.term').first().waitFor();
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('Escape');
    await eventually(() => drawer.isVisible(), (shown) => !shown);
    assert.ok(await sheet.isVisible(), 'the sheet stays');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('Escape');
    await eventually(() => sheet.count(), (sheets) => sheets === 0);
    await becomes(() => opener.evaluate((element) => element === document.activeElement), true, 'the focus is at its button');
    // From within it, too.
    await page.keyboard.press('Enter');
    await sheet.locator('input, select').first().focus();
    await page.keyboard.press('Escape');
    await eventually(() => sheet.count(), (sheets) => sheets === 0);
    assert.deepEqual(problems, []);
  }
});

test('nothing moves for who wants no motion', async () => {
  const { page } = await site.open('', { ...LAPTOP, reducedMotion: 'reduce' });
  await settled(page);
  await surface(page).focus();
  await page.keyboard.press('.');
  await page.locator('.surface .tip').waitFor();
  await becomes(() => page.evaluate(() => document.getAnimations().length), 0);
});

test('with a system\'s own few colours, data keeps its own and the focus is seen', async () => {
  const { page } = await site.open('', { ...LAPTOP, forcedColors: 'active' });
  await settled(page);
  const colours = () => page.locator('.bar-row').first().locator('.segment').evaluateAll(
    (parts) => new Set(parts.map((part) => getComputedStyle(part).backgroundColor)).size,
  );
  await eventually(colours, (count) => count >= 5);
  await stop(page);
});
