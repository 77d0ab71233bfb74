// Typing into the form: what is right is shown at once, what is wrong is said at the field and stays as typed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DESKTOP, PHONE } from './browser.mjs';
import {
  addressIs, becomes, calculator, drawn, eventually, figures, figuresChange, fragment, input, matches, picture, said,
  staleIs, surface, unlabelled, until,
} from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();

/** What is said, at the head of the column, of a setting that is not in it. */
const saidElsewhere = (page, key) => page.locator(`.elsewhere li:has([data-action="focus ${key}"]) .issue`);

/** The sheet `name` of settings that are not in the column, opened. */
async function sheet(page, name) {
  const opened = page.getByRole('region', { name, exact: true });
  if (!(await opened.isVisible())) await page.locator('button.group', { hasText: name }).click();
  await opened.waitFor();
  return opened;
}

/** Types `text` into `key`, and checks how the page treats a wrong value; `of` finds what is said of it. */
async function isRefused(page, key, text, message, of = said) {
  const [before, seen] = [await figures(page), await picture(page)];
  await input(page, key).fill(text);
  await matches(async () => (await of(page, key).allInnerTexts()).join('\n'), message);
  await becomes(() => input(page, key).getAttribute('aria-invalid'), 'true');
  assert.equal(await input(page, key).inputValue(), text);
  await input(page, key).blur();
  assert.equal(await input(page, key).inputValue(), text, 'stays when the field is left');
  await settled(page);
  assert.equal(unlabelled(await figures(page)), unlabelled(before));
  assert.ok(await drawn(page) === seen, 'the picture stays');
}

test('a value that cannot work says why, and the last good picture stays', async () => {
  const { page, problems } = await site.open();
  await isRefused(page, 'tp', '7', /do not divide by TP 7/);
  await staleIs(page, true);
  await input(page, 'tp').fill('4');
  await staleIs(page, false);
  await eventually(() => said(page, 'tp').count(), (count) => count === 0);
  assert.deepEqual(problems, []);
});

test('text that is no number says so', async () => {
  const { page, problems } = await site.open();
  await isRefused(page, 'tp', 'abc', /Enter a whole number of at least 1/);
  await addressIs(page, '#v=1');
  assert.deepEqual(problems, []);
});

test('an empty field asks for a value', async () => {
  const { page, problems } = await site.open();
  await isRefused(page, 'pp', '', /Enter a value/);
  assert.deepEqual(problems, []);
});

test('a cluster beyond counting is refused', async () => {
  const { page, problems } = await site.open();
  await isRefused(page, 'gpus', '1000000000000000', /Enter a whole number of at most/, saidElsewhere);
  await isRefused(page, 'gpus', '9'.repeat(400), /Enter a whole number of at/, saidElsewhere);
  assert.deepEqual(problems, []);
});

test('a text that is refused stays refused while another field changes, until it is taken back', async () => {
  const { page, problems } = await site.open();
  const sentence = page.getByRole('region', { name: 'The run in a sentence' });
  const gpus = sentence.getByRole('textbox', { name: 'GPUs' });
  await gpus.fill('1.5');
  await staleIs(page, true);
  await sentence.getByRole('textbox', { name: 'Sequence' }).fill('4096');
  await addressIs(page, '#v=1&seq_len=4096');
  await becomes(() => gpus.getAttribute('aria-invalid'), 'true');
  await staleIs(page, true);
  await sentence.getByRole('textbox', { name: 'Sequence' }).blur();
  await page.keyboard.press('Control+z');
  await eventually(() => gpus.inputValue(), (text) => text === '64');
  await staleIs(page, false);
  assert.deepEqual(problems, []);
});

test('only the latest text is spoken of', async () => {
  const { page } = await site.open();
  await isRefused(page, 'tp', '7', /do not divide by TP 7/);
  await isRefused(page, 'tp', 'abc', /Enter a whole number/);
  assert.equal(await said(page, 'tp').count(), 1);
});

test('one click mends a value', async () => {
  const { page, problems } = await site.open('#v=1&pp=2');
  const before = await figures(page);
  await input(page, 'tp').fill('7');
  await page.locator('[data-field="tp"] .fix').click();
  await addressIs(page, '#v=1&tp=8&pp=2');
  await becomes(() => input(page, 'tp').inputValue(), '8');
  await becomes(() => said(page, 'tp').count(), 0);
  await staleIs(page, false);
  await figuresChange(page, before);
  assert.deepEqual(problems, []);
});

/** The field whose input has the focus. */
const focusedField = (page) => page.evaluate(() => document.activeElement.closest('[data-field]')?.dataset.field);

test('the line below the answer leads to the field, which mends it', async () => {
  const { page } = await site.open('#v=1&tp=7');
  await page.locator('.note-line').getByRole('button', { name: 'Tensor parallel' }).click();
  await eventually(() => focusedField(page), (field) => field === 'tp');
  await page.locator('[data-field="tp"] .fix').first().click();
  await addressIs(page, '#v=1&tp=8');
});

test('names in what a link did not get lead to choices of the form too', async () => {
  const { page } = await site.open('#v=1&gpu=foo');
  await page.locator('.issues li', { hasText: 'foo' }).getByRole('button', { name: 'GPU' }).click();
  await eventually(() => focusedField(page), (field) => field === 'gpu');
});

test('the sentence is the form: a part of it is edited in place', async () => {
  const { page, problems } = await site.open();
  const sentence = page.getByRole('region', { name: 'The run in a sentence' });
  const batch = await sheet(page, 'Batch and budget');
  await sentence.getByRole('textbox', { name: 'Sequence' }).fill('16384');
  await addressIs(page, '#v=1&seq_len=16384');
  await becomes(() => batch.locator('[data-field="seq_len"] input').inputValue(), '16384');
  await sentence.getByRole('textbox', { name: 'Sequence' }).blur();
  await becomes(() => sentence.getByRole('textbox', { name: 'Sequence' }).inputValue(), '16k');
  await sentence.getByRole('textbox', { name: 'Sequence' }).fill('32k');
  await addressIs(page, '#v=1&seq_len=32768');
  await sentence.getByRole('textbox', { name: 'Sequence' }).fill('16k');
  await addressIs(page, '#v=1&seq_len=16384');
  await becomes(() => batch.locator('[data-field="seq_len"] input').inputValue(), '16384');
  const cluster = await sheet(page, 'Cluster and links');
  await sentence.getByRole('textbox', { name: 'GPUs' }).fill('sixty');
  for (const of of [saidElsewhere(page, 'gpus'), cluster.locator('[data-field="gpus"] .issue')]) {
    await eventually(() => of.innerText(), (text) => /whole number/.test(text));
  }
  await sentence.getByRole('textbox', { name: 'GPUs' }).fill('32*4');
  await addressIs(page, '#v=1&gpus=128&seq_len=16384');
  for (const of of [saidElsewhere(page, 'gpus'), cluster.locator('[data-field="gpus"] .issue')]) {
    await becomes(() => of.count(), 0);
  }
  assert.deepEqual(problems, []);
});

test('no two elements share an id', async () => {
  const { page } = await site.open();
  await settled(page);
  const ids = await page.evaluate(() => [...document.querySelectorAll('[id]')].map((element) => element.id));
  assert.deepEqual(ids.filter((id, at) => ids.indexOf(id) !== at), []);
});

test('a changed field can be put back', async () => {
  const { page } = await site.open('#v=1&tp=4');
  await page.locator('[data-field="tp"]').getByRole('button', { name: 'Back to the default' }).click();
  await addressIs(page, '#v=1');
  await becomes(() => input(page, 'tp').inputValue(), '2');
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
  await becomes(() => tp.inputValue(), '1');
  await becomes(() => page.locator('.issue.error').count(), 0);
});

test('steppers of cluster and batch walk round numbers that divide', async () => {
  const { page } = await site.open('#v=1&tp=16');
  await sheet(page, 'Batch and budget');
  await page.getByRole('button', { name: 'More Global batch' }).click();
  await addressIs(page, '#v=1&tp=16&global_batch=512');
  await sheet(page, 'Cluster and links');
  await page.getByRole('button', { name: 'Less GPUs', exact: true }).click();
  await settled(page);
  assert.equal(await said(page, 'gpus').count(), 0);
  assert.equal(await page.locator('.issue.error').count(), 0);
  await page.getByRole('button', { name: 'More GPUs', exact: true }).click();
  await addressIs(page, '#v=1&gpus=128&tp=16&global_batch=512');
});

for (const [name, options] of [['desktop', DESKTOP], ['phone', PHONE]]) {
  test(`on a ${name}, the focus moves no field`, async () => {
    const { page } = await site.open('', options);
    if (options === PHONE) await page.getByRole('button', { name: 'Inputs' }).click();
    await input(page, 'tp').waitFor();
    const tops = () => page.locator('.field').evaluateAll((fields) => fields.map((field) => field.offsetTop));
    const moveNone = async (keys) => {
      await settled(page);
      const before = await tops();
      for (const key of keys) {
        const field = page.locator(`.field[data-field="${key}"]`);
        await field.locator('input, select').focus();
        await field.locator('.hint').waitFor();
        assert.deepEqual(await tops(), before, key);
      }
    };
    await moveNone(['tp', 'pp', 'zero', 'micro_batch', 'recompute']);
    await sheet(page, 'Batch and budget');
    await moveNone(['tp', 'seq_len', 'global_batch', 'tokens_total']);
  });
}

test('the first click below a focused field counts', async () => {
  const { page } = await site.open();
  await input(page, 'tp').click();
  await page.getByRole('button', { name: 'More Micro-batch' }).click();
  await addressIs(page, '#v=1&micro_batch=2');
  const batch = await sheet(page, 'Batch and budget');
  await batch.locator('[data-field="seq_len"] input').click();
  await batch.locator('[data-field="global_batch"]').getByRole('button', { name: 'More' }).click();
  await addressIs(page, '#v=1&micro_batch=2&global_batch=512');
});

for (const [what, link, text] of [['a link', '#v=1&tp=7', /do not divide by TP 7/], ['an empty field', '', /Enter a value/]]) {
  test(`what cannot run says so wherever one looks: ${what}`, async () => {
    const { page, problems } = await site.open(link);
    if (!link) await input(page, 'tp').fill('');
    const note = page.locator('.stale-note');
    await eventually(() => note.innerText(), (seen) => /Tensor parallel.*This cannot run/s.test(seen));
    await eventually(() => said(page, 'tp').first().innerText(), (seen) => text.test(seen));
    await eventually(() => page.title(), (title) => /^✕ cannot run · Llama 3.1 8B on 64 GPUs/.test(title));
    for (const place of ['.strip-frame', '.detail', '[aria-labelledby=memory-title]']) {
      await matches(() => page.locator(place).getAttribute('class'), /stale$|stale /, place);
    }
    if (link) await page.locator('[data-field="tp"] .fix').first().click();
    else await input(page, 'tp').fill('4');
    await eventually(() => page.title(), (title) => title.startsWith('Fits'));
    await note.waitFor({ state: 'hidden' });
    assert.deepEqual(problems, []);
  });
}

test('each view says of which run its figures are while the one entered cannot run', async () => {
  const { page, problems } = await site.open('#v=1');
  await page.locator('.suggestion').first().waitFor();
  await input(page, 'pp').fill('3');
  // A second edit in one visit: the figures are still those of the last run that could.
  await input(page, 'tp').fill('4');
  for (const [view, main] of [['Whole run', 'main.whole'], ['Cluster', 'main.cluster'], ['Schedules', 'main.gallery']]) {
    await page.getByRole('button', { name: view, exact: true }).first().click();
    const note = page.locator(`${main} > .halted .stale-note`);
    await eventually(() => note.innerText(), (seen) => /This cannot run.*last run that could/s.test(seen));
    // Answers to questions that nobody has asked yet are of no run.
    const fresh = page.locator(`${main} .stale-able:not(.stale, .stale *, .whole-inverse *)`);
    await becomes(() => fresh.count(), 0, view);
  }
  await until(() => page.locator('.opening').innerText(), (seen) => assert.doesNotMatch(seen, /this run/));
  assert.deepEqual(problems, []);
});

test('the hint of a field covers no result and not the field', async () => {
  for (const viewport of [{ width: 1440, height: 900 }, { width: 1180, height: 800 }]) {
    const { page } = await site.open('#v=1', { viewport });
    await page.locator('.suggestion').first().waitFor();
    const places = () => page.evaluate(() => {
      const of = (one) => one.getBoundingClientRect();
      const shown = document.querySelector('.field:focus-within .hint');
      if (!shown?.checkVisibility()) return 'no hint';
      const hint = of(shown);
      const over = (one) => {
        const { left, right, top, bottom } = of(one);
        return left < hint.right && right > hint.left && top < hint.bottom && bottom > hint.top;
      };
      const covered = document.querySelectorAll('.suggestion, .results section, .field:focus-within .field-row');
      return [...covered].filter(over).length;
    });
    for (const key of ['tp', 'pp', 'cp', 'zero', 'micro_batch']) {
      await input(page, key).focus();
      await becomes(places, 0, `${key} at ${viewport.width}`);
    }
    await page.context().close();
  }
});

test('a price that is not understood leaves everything but the cost as it is', async () => {
  const { page, problems } = await site.open();
  const price = page.locator('.strip [data-field="price_per_gpu_hour"] input');
  await price.fill('cheap');
  const note = page.locator('.stale-note');
  await eventually(() => note.innerText(), (seen) => /The cost is of the last valid value/.test(seen));
  await settled(page);
  assert.equal(await page.locator('.stale').count(), 0);
  assert.match(await page.title(), /^Fits/);
  await price.fill('3');
  await eventually(() => note.count(), (count) => count === 0);
  assert.deepEqual(problems, []);
});

test('what a link did not get stands before the verdict, with its digits in groups', async () => {
  const { page, problems } = await site.open('#v=1&gpus=1000000000000000');
  const notice = page.locator('.link-notice');
  await matches(() => notice.innerText(), /link asks.*GPUs.*a whole number of at most 1\u202f099/s);
  await matches(() => notice.innerText(), /default is used/);
  const boxes = () => Promise.all(['.link-notice', '.strip'].map((of) => page.locator(of).boundingBox()));
  await until(boxes, ([first, second]) => assert.ok(first.y + first.height <= second.y));
  assert.deepEqual(problems, []);
  const { page: fine } = await site.open('#v=1&gpus=128');
  assert.equal(await fine.locator('.link-notice').isVisible(), false);
});

test('sizes that follow are shown, and are none where nothing divides', async () => {
  const { page } = await site.open();
  const layout = await sheet(page, 'More of the layout');
  const sizes = () => layout.locator('.derived output').allInnerTexts();
  await becomes(sizes, ['8', '32']);
  await input(page, 'global_batch').fill('100');
  await becomes(sizes, ['8', '–']);
});

test('a number of GPUs that breaks the batch can be mended where it was typed', async () => {
  const { page } = await site.open();
  await input(page, 'gpus').fill('125000000');
  await page.locator('.elsewhere .issue.error').waitFor();
  assert.equal(await page.locator('.elsewhere').getAttribute('aria-live'), 'polite');
  await becomes(() => input(page, 'gpus').getAttribute('aria-invalid'), 'true');
  await page.locator('.elsewhere .fix', { hasText: 'Use 2048 GPUs' }).click();
  await addressIs(page, '#v=1&gpus=2048');
  await becomes(() => page.locator('.issue.error').count(), 0);
});

test('in its sheet, too, a number of GPUs that breaks the batch can be mended', async () => {
  const { page } = await site.open();
  const gpus = (await sheet(page, 'Cluster and links')).locator('[data-field="gpus"]');
  await gpus.locator('input').fill('125000000');
  await gpus.locator('.issue').first().waitFor();
  await becomes(() => gpus.locator('input').getAttribute('aria-invalid'), 'true');
  await gpus.locator('.fix', { hasText: 'Use 2048 GPUs' }).click();
  await addressIs(page, '#v=1&gpus=2048');
  await becomes(() => page.locator('.issue.error').count(), 0);
});

test('slash goes to the search, which finds any setting', async () => {
  const { page } = await site.open();
  await surface(page).focus();
  await page.keyboard.press('/');
  const find = page.getByLabel('Find a setting');
  await eventually(() => find.evaluate((element) => element === document.activeElement), Boolean);
  assert.equal(await find.inputValue(), '');
  const fields = () => page.locator('.field:visible').evaluateAll((rows) => rows.map((row) => row.dataset.field));
  await page.keyboard.type('loader_ns');
  await becomes(fields, ['loader_ns']);
  // Enter goes to the first one found.
  await page.keyboard.press('Enter');
  const focused = () => page.evaluate(() => document.activeElement.closest('[data-field]')?.dataset.field);
  await eventually(focused, (key) => key === 'loader_ns');
  // The field of that name, before the model, whose configuration has it.
  await find.fill('hidden_size');
  await eventually(fields, (keys) => keys[0] === 'model.hidden');
  await page.keyboard.press('Enter');
  await eventually(focused, (key) => key === 'model.hidden');
  await find.focus();
  await page.keyboard.press('Escape');
  await eventually(fields, (keys) => keys.includes('tp'));
});

test('a run that is typed in one line is set with one press, in a layout that is chosen', async () => {
  const { page, problems } = await site.open('#v=1');
  await page.getByLabel('Find a setting').fill('70B LoRA 8x H100 seq 4k');
  await page.getByRole('button', { name: /^Set Llama 3\.1 70B · LoRA · Sequence 4096 .*· 8 × H100 80 GB$/ }).waitFor();
  await page.keyboard.press('Enter');
  await eventually(() => page.locator('.whose').innerText(), (words) => /chosen for you/.test(words));
  const parts = ['model=llama-3.1-70b', 'adapter.method=lora', 'gpus=8', 'seq_len=4096'];
  await eventually(() => fragment(page), (address) => parts.every((part) => address.includes(part)));
  await eventually(() => page.locator('.strip').innerText(), (words) => /Fits/.test(words));
  assert.deepEqual(problems, []);
});
