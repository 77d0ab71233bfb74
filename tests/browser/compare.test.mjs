// Two runs beside each other, steps back and forth, and what was changed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import {
  addressIs, becomes, calculator, eventually, figures, fragment, input, more, staleIs, unlabelled, until,
} from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();
const panel = (page) => page.locator('.compare-runs');
const has = (locator, wanted) => eventually(() => locator.innerText(), (text) => wanted.test(text));
const isOff = (button) => becomes(() => button.isDisabled(), true);
/** Waits for a row of the panel: what it is called, and what its cells then say. */
const rowIs = (page, [name, ...cells]) => becomes(
  () => panel(page).locator('tr', { has: page.getByRole('cell', { name, exact: true }) }).locator('td').allInnerTexts(),
  [name, ...cells],
);

test('the second run stays while the first is changed, and the link holds both', async () => {
  const { page, problems } = await site.open();
  assert.equal(await panel(page).isVisible(), false);
  await page.getByRole('button', { name: 'Compare' }).first().click();
  await has(panel(page), /set alike/);
  await addressIs(page, '#v=1&b.v=1');
  await input(page, 'pp').fill('2');
  await addressIs(page, '#v=1&pp=2&b.pp=4');
  await has(panel(page), /Pipeline parallel\s+2\s*→\s*4/);
  // dp = gpus / (tp pp cp)
  await panel(page).getByText('What they are made of').click();
  await rowIs(page, ['Data-parallel size', '16', '8', '−8', '−50.0\u00a0%']);
  const { page: other } = await site.open(await fragment(page));
  await has(panel(other), /Pipeline parallel\s+2\s*→\s*4/);
  assert.deepEqual(problems, []);
});

test('the comparison is shown from every view, and names the tensors that differ', async () => {
  for (const view of ['cluster', 'whole', 'schedules', 'scoreboard']) {
    const { page, problems } = await site.open(`#v=1&view.open=${view}`);
    await page.locator('header [data-action=compare]').first().click();
    await has(panel(page), /set alike/);
    await addressIs(page, '#v=1&b.v=1');
    assert.deepEqual(problems, []);
  }
  const { page, problems } = await site.open('#v=1&b.micro_batch=4');
  await has(panel(page), /among tensors, most in /);
  const tensors = panel(page).locator('table', { has: page.getByRole('columnheader', { name: 'tensor, GiB' }) });
  await eventually(() => tensors.locator('tbody tr').count(), (count) => count > 3);
  // The parts of either bar list their tensors, and open their formula.
  const part = panel(page).locator('.bars').nth(1).locator('.segment.c-activations').first();
  await part.hover();
  await part.locator('.tip').waitFor();
  await part.click();
  await has(page.locator('.detail'), /Of B, the run beside this one/);
  assert.deepEqual(problems, []);
});

test('swap, take, keep, close', async () => {
  const { page, problems } = await site.open('#v=1&tp=4&b.tp=2&b.pp=2');
  await has(panel(page), /Tensor parallel\s+4\s*→\s*2/);
  await panel(page).getByRole('button', { name: 'Swap', exact: true }).click();
  await addressIs(page, '#v=1&pp=2&b.tp=4&b.pp=4');
  await has(panel(page), /Tensor parallel\s+2\s*→\s*4/);
  await panel(page).locator('[data-action="apply tp=4"]').click();
  await addressIs(page, '#v=1&tp=4&pp=2&b.pp=4');
  await panel(page).getByRole('button', { name: 'Keep A as B' }).click();
  await addressIs(page, '#v=1&tp=4&pp=2&b.v=1');
  await panel(page).getByRole('button', { name: 'Close ×' }).click();
  await addressIs(page, '#v=1&tp=4&pp=2');
  await panel(page).waitFor({ state: 'hidden' });
  assert.deepEqual(problems, []);
});

test('both pictures are there, on common scales', async () => {
  const { page, problems } = await site.open('#v=1&b.global_batch=512');
  await panel(page).locator('figure svg').first().waitFor();
  // Four ranks of each, as long as their pipelines.
  const lanes = () => panel(page).evaluate((runs) => {
    const widths = (of) => [...runs.querySelectorAll(of)].map((one) => one.getBoundingClientRect().width);
    return { widths: widths('figure svg rect[style*="hatched"]'), whole: widths('figure svg')[0] };
  });
  await until(lanes, ({ widths, whole }) => {
    assert.equal(widths.length, 8);
    const [short, long] = [widths[0], widths[7]];
    assert.ok(Math.abs(long - whole) < 2 && short < 0.6 * whole, `${short} of ${long}`);
  });
  const edges = () => panel(page).locator('.capacity').evaluateAll((all) => all.map((edge) => Math.round(edge.getBoundingClientRect().left)));
  await until(edges, (seen) => {
    assert.equal(new Set(seen).size, 1);
    assert.equal(seen.length, 8);
  });
  assert.deepEqual(problems, []);
});

test('a second run that cannot work says why', async () => {
  const { page, problems } = await site.open('#v=1&b.tp=7');
  await has(panel(page), /B cannot work.*TP 7/s);
  assert.deepEqual(problems, []);
});

test('comparing fits a phone, from its menu', async () => {
  const { page } = await site.open('#v=1&tp=4&b.tp=2', PHONE);
  await panel(page).locator('figure svg').first().waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  const { page: fresh } = await site.open('', PHONE);
  await more(fresh, 'Compare');
  await has(panel(fresh), /set alike/);
});

test('undo and redo, by button and key; what is typed in one go is one step', async () => {
  const { page, problems } = await site.open();
  const [undo, redo] = ['undo', 'redo'].map((name) => page.getByRole('button', { name }));
  assert.ok(await undo.isDisabled() && await redo.isDisabled());
  await input(page, 'global_batch').evaluate((field) => {
    for (const text of ['5', '51', '512']) {
      field.value = text;
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }
  });
  await addressIs(page, '#v=1&global_batch=512');
  await eventually(() => undo.isEnabled(), Boolean);
  // Edits half a second apart are steps of their own, on a machine of any speed.
  await page.waitForTimeout(600);
  await input(page, 'pp').fill('2');
  await addressIs(page, '#v=1&pp=2&global_batch=512');
  await page.waitForTimeout(600);
  // In a field the keys are the field's: what it takes back is an edit, and nothing to redo.
  await page.keyboard.press('Control+z');
  await addressIs(page, '#v=1&global_batch=512');
  await isOff(redo);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Control+z');
  await addressIs(page, '#v=1&pp=2&global_batch=512');
  await page.keyboard.press('Control+z');
  await addressIs(page, '#v=1&global_batch=512');
  await page.keyboard.press('Control+z');
  await addressIs(page, '#v=1');
  await isOff(undo);
  await page.keyboard.press('Control+Shift+Z');
  await addressIs(page, '#v=1&global_batch=512');
  for (const address of ['#v=1&pp=2&global_batch=512', '#v=1&global_batch=512']) {
    await page.keyboard.press('Control+y');
    await addressIs(page, address);
  }
  await isOff(redo);
  await undo.click();
  await addressIs(page, '#v=1&pp=2&global_batch=512');
  // A new change forgets what was undone.
  await input(page, 'tp').fill('4');
  await addressIs(page, '#v=1&tp=4&pp=2&global_batch=512');
  await isOff(redo);
  assert.deepEqual(problems, []);
});

test('undo, redo and Back walk over one history, a step each', async () => {
  const { page, problems } = await site.open();
  const [undo, redo] = ['undo', 'redo'].map((name) => page.getByRole('button', { name }));
  const back = () => page.evaluate(() => history.back());
  const edit = async (key, text, address) => {
    await page.evaluate(() => document.activeElement.blur());
    await page.waitForTimeout(600);
    await input(page, key).fill(text);
    await addressIs(page, address);
  };
  await edit('pp', '2', '#v=1&pp=2');
  await edit('tp', '4', '#v=1&tp=4&pp=2');
  await edit('global_batch', '512', '#v=1&tp=4&pp=2&global_batch=512');
  // Back is undo, and both can be taken back by redo.
  await back();
  await addressIs(page, '#v=1&tp=4&pp=2');
  await eventually(() => redo.isEnabled(), Boolean);
  await undo.click();
  await addressIs(page, '#v=1&pp=2');
  await redo.click();
  await redo.click();
  await addressIs(page, '#v=1&tp=4&pp=2&global_batch=512');
  await isOff(redo);
  // Two presses at once are two steps, and Back goes on from there.
  await page.evaluate(() => {
    const press = () => [...document.querySelectorAll('.history button')][0].click();
    press();
    press();
  });
  await addressIs(page, '#v=1&pp=2');
  await back();
  await addressIs(page, '#v=1');
  await isOff(undo);
  await page.evaluate(() => history.forward());
  await addressIs(page, '#v=1&pp=2');
  // A view is a step for Back; undo leads over it to the Run before, and stays in the view.
  await page.locator('.views [data-view=schedules]').click();
  await addressIs(page, '#v=1&pp=2&view.open=schedules');
  await page.keyboard.press('Control+z');
  await addressIs(page, '#v=1&view.open=schedules');
  await page.reload();
  await becomes(() => page.evaluate(() => document.querySelector('.history button:last-child')?.disabled), false);
  await page.keyboard.press('Control+y');
  await addressIs(page, '#v=1&pp=2&view.open=schedules');
  assert.deepEqual(problems, []);
});

test('what is changed is listed, each with a way back', async () => {
  const { page, problems } = await site.open('#v=1&model.base=llama-3.1-70b&model.layers=40&gpus=128&tp=8');
  const menu = page.locator('.menu.changes');
  // A press in the menu closes it.
  const open = async () => {
    await becomes(() => menu.getAttribute('open'), null);
    await menu.locator('> summary').click();
  };
  await open();
  const list = page.locator('ul.changes');
  await has(list, /80\s*→\s*40/);
  // The fifth is the software: a link that names none means another than the page opens with.
  await becomes(() => list.locator('li').count(), 5);
  await list.getByRole('button', { name: 'Tensor parallel: Back to 2' }).click();
  await addressIs(page, '#v=1&model.base=llama-3.1-70b&model.layers=40&gpus=128');
  await open();
  await list.getByRole('button', { name: /Layers: Back to 80/ }).click();
  await addressIs(page, '#v=1&model=llama-3.1-70b&gpus=128');
  await open();
  await page.getByRole('button', { name: 'Back to the run that the page opens with' }).click();
  await addressIs(page, '#v=1&stack=megatron-2025&view.layout=chosen');
  await open();
  await has(menu, /Nothing/);
  assert.deepEqual(problems, []);
});

test('text that cannot be read greys the picture until it is mended', async () => {
  const { page } = await site.open();
  const before = await figures(page);
  await staleIs(page, false);
  await input(page, 'tp').fill('abc');
  await staleIs(page, true);
  await settled(page);
  assert.equal(unlabelled(await figures(page)), unlabelled(before));
  await input(page, 'tp').fill('2');
  await staleIs(page, false);
  await input(page, 'tp').fill('abc');
  await staleIs(page, true);
  // Another run makes the text history.
  await page.evaluate(() => { location.hash = '#v=1&tp=4'; });
  await staleIs(page, false);
});
