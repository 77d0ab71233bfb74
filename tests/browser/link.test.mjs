// The address bar holds the whole state, and gives it back.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  addressIs, alike, becomes, calculator, eventually, figures, figuresChange, fragment, input, matches, said, tab,
} from './calculator.mjs';

const site = calculator();

test('changing a field changes the figures and the address bar', async () => {
  const { page, problems } = await site.open();
  const first = await figures(page);
  await input(page, 'tp').fill('4');
  await addressIs(page, '#v=1&tp=4');
  const second = await figuresChange(page, first);
  await page.locator('[data-field="schedule"] select').selectOption('gpipe');
  await addressIs(page, '#v=1&tp=4&schedule=gpipe');
  await figuresChange(page, second);
  assert.deepEqual(problems, []);
});

test('the link opens the same figures in a new page', async () => {
  const { page } = await site.open();
  const first = await figures(page);
  await input(page, 'pp').fill('2');
  await input(page, 'micro_batch').fill('2');
  await addressIs(page, '#v=1&pp=2&micro_batch=2');
  await figuresChange(page, first);
  const { page: other, problems } = await site.open(await fragment(page));
  await alike(() => figures(other), () => figures(page));
  await becomes(() => input(other, 'pp').inputValue(), '2');
  await alike(() => other.title(), () => page.title());
  assert.deepEqual(problems, []);
});

test('the page without an address starts with the software of today, which its link says', async () => {
  const { page } = await site.open('');
  assert.equal(await fragment(page), '');
  await input(page, 'tp').fill('4');
  await addressIs(page, '#v=1&tp=4&stack=megatron-2025');
  await input(page, 'tp').fill('2');
  await addressIs(page, '#v=1&stack=megatron-2025');
  const here = await figures(page);
  await page.evaluate(() => { location.hash = '#v=1'; });
  await figuresChange(page, here);
});

test('another address in the same page shows its run', async () => {
  const { page } = await site.open('#v=1&tp=4');
  const before = await figures(page);
  await page.evaluate(() => { location.hash = '#v=1&tp=8'; });
  await figuresChange(page, before);
  await becomes(() => input(page, 'tp').inputValue(), '8');
});

test('a broken link says what it left out, and shows the rest', async () => {
  const { page, problems } = await site.open('#v=1&tp=abc&nonsense=3&gpu=foo&pp=2&%zz=%ff');
  const notices = async () => (await page.locator('.issues li').allInnerTexts()).join('\n');
  for (const words of [/Enter a whole number of at least 1/, /"foo" is not known/, /nonsense/]) await matches(notices, words);
  await becomes(() => input(page, 'pp').inputValue(), '2');
  await becomes(() => input(page, 'tp').inputValue(), '2');
  await matches(() => figures(page), /of [\d.]+ GiB/);
  assert.deepEqual(problems, []);
});

test('a link of nothing but bad values, put over the run it means, is told at the field until that is mended', async () => {
  const { page, problems } = await site.open();
  const usual = await figures(page);
  const put = (link) => page.evaluate((link) => { location.hash = link; }, link);
  const heard = async (key, words) => {
    await eventually(async () => (await said(page, key).allInnerTexts()).join(' '), (text) => words.test(text));
    await becomes(() => figures(page), usual);
  };
  await put('#v=1&tp=abc');
  await heard('tp', /the default is used.*Enter a whole number of at least 1/);
  await put('#v=1&price_per_gpu_hour=-1&tp=4&tp=x');
  // The price is edited in the answer, where there is no room for words: they stand above it, and at its field in the sheet.
  const notice = page.locator('.link-notice');
  await eventually(() => notice.innerText(), (text) => /Price\s+▲ .*Enter a number from 0/.test(text));
  await page.locator('button.group', { hasText: 'Batch and budget' }).click();
  await heard('price_per_gpu_hour', /the default is used/);
  await heard('tp', /the default is used.*Enter a whole number of at least 1/);
  await becomes(() => input(page, 'tp').inputValue(), '2');
  await input(page, 'tp').fill('4');
  await eventually(() => said(page, 'tp').count(), (count) => count === 0);
  await page.locator('.field[data-field="price_per_gpu_hour"]').waitFor();
  await put('#v=1');
  await eventually(() => said(page, 'price_per_gpu_hour').count(), (count) => count === 0);
  await becomes(() => notice.innerText(), '');
  assert.deepEqual(problems, []);
});

test('a first link that cannot work shows another layout of it greyed, by its name, and takes it with one click', async () => {
  const { page: plain } = await site.open();
  const usual = await figures(plain);
  const bars = (of) => of.locator('[aria-labelledby="memory-title"] .bars:not(.thin) .bar-row').allInnerTexts();
  for (const link of ['#v=1&tp=7', '#v=1&schedule=zb-v&stage_layers=1,2', '#v=1&schedule=custom']) {
    const { page, problems } = await site.open(link);
    const note = () => page.locator('.stale-note').innerText();
    await eventually(note, (text) => /This cannot run. The grey figures are of another layout of it, a proposal: Llama 3.1 8B/.test(text));
    await matches(() => figures(page), /GiB/);
    assert.notEqual(await figures(page), usual, 'never another run\'s answer');
    await eventually(() => bars(page), (rows) => rows.length > 0);
    await tab(page, 'Overlap');
    await page.locator('[aria-labelledby="overlap-title"] table, [aria-labelledby="overlap-title"] .row, [aria-labelledby="overlap-title"] svg').first().waitFor();
    await alike(() => page.locator('section.stale').count(), () => page.locator('section.stale-able').count(), link);
    // The layouts beside the proposal are none of this run's: no card stands there, no row can be pressed.
    assert.equal(await page.locator('.better :is(.suggestion, .main)').count(), 0, link);
    await tab(page, 'Layouts');
    await becomes(() => page.locator('.plan').evaluate((plan) => plan.closest('[inert]') !== null), true, link);
    await page.locator('.stale-note').getByRole('button', { name: 'Use this layout' }).click();
    await eventually(() => page.locator('.stale-note').count(), (count) => count === 0);
    await eventually(() => page.locator('.whose').innerText(), (text) => text.startsWith('Layout: yours'));
    assert.deepEqual(problems, [], link);
    await page.context().close();
  }
});

test('the pill says where the layout is from, and choosing it says so', async () => {
  for (const [link, words] of [
    ['', "Layout: the example's"],
    ['#v=1', 'Layout: the default'],
    ['#v=1&tp=4', 'Layout: from the link'],
  ]) {
    const { page, problems } = await site.open(link);
    const pill = () => page.locator('.whose').innerText();
    await eventually(pill, (text) => text.startsWith(words));
    await eventually(pill, (text) => /choose for me: \d+\s%\sless\stime/.test(text));
    await page.locator('.whose').getByRole('button').click();
    await eventually(pill, (text) => text.startsWith('✦ Layout: chosen for you'));
    // No card shows a shorter step than what was chosen.
    await eventually(() => page.locator('.better .caption').innerText(), (text) => /layouts searched/.test(text));
    await eventually(() => page.locator('.better').innerText(), (text) => !/Less time/.test(text));
    await page.locator('.whose').getByRole('button', { name: 'undo' }).click();
    await eventually(pill, (text) => text.startsWith(words));
    assert.deepEqual(problems, [], link);
    await page.context().close();
  }
});

test('a link leaves its layout to the search, and the address then holds every field of it', async () => {
  const { page, problems } = await site.open('#v=1&stack=megatron-2025&pp=2&layout=auto');
  await eventually(() => page.locator('.whose').innerText(), (text) => text.startsWith('✦ Layout: chosen for you'));
  await eventually(() => page.evaluate(() => location.hash), (hash) => /[&]pp=2&/.test(hash) && /view.layout=chosen/.test(hash) && !/[&]layout=auto/.test(hash));
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('no link leaves the page blank', async () => {
  const { page: plain } = await site.open();
  const usual = await figures(plain);
  for (const link of ['#&&&===', '#%']) {
    const { page, problems } = await site.open(link);
    await becomes(() => figures(page), usual, link);
    assert.deepEqual(problems, [], link);
  }
  // A run that cannot be shows another layout of itself.
  const { page: other } = await site.open('#v=1&tp=7');
  await matches(() => figures(other), /of [\d.]+ GiB/);
  // In a page that runs: from another run's figures back to these.
  const { page, problems } = await site.open();
  for (const link of ['#v', '#v=99', '#\u{1F980}', `#v=1&${'x'.repeat(5000)}`]) {
    await page.evaluate(() => { location.hash = '#v=1&tp=4'; });
    await eventually(() => figures(page), (now) => now !== usual);
    await page.evaluate((link) => { location.hash = link; }, link);
    await eventually(() => figures(page), (now) => now === usual);
  }
  assert.deepEqual(problems, []);
});

test('the share dialog\'s link opens the same run', async () => {
  const { page } = await site.open('#v=1&model=llama-2-7b&gpus=16&tp=1');
  await page.getByRole('button', { name: 'Share' }).first().click();
  const dialog = page.getByRole('dialog');
  const wanted = `${site.url}#v=1&model=llama-2-7b&gpus=16&tp=1`;
  const link = await eventually(() => dialog.getByLabel('Link').inputValue(), (text) => text.startsWith(wanted));
  const { page: other } = await site.open(link);
  await alike(() => figures(other), () => figures(page));
  await dialog.getByRole('button', { name: 'Close' }).click();
  await eventually(() => dialog.isVisible(), (open) => !open);
});

test('a link carries the open tab, and the search for the largest model', async () => {
  const { page } = await site.open('#v=1');
  await page.getByRole('tab', { name: 'Costs and scaling' }).click();
  await addressIs(page, '#v=1&view.tab=costs');
  const { page: other } = await site.open(await fragment(page));
  await becomes(() => other.getByRole('tab', { name: 'Costs and scaling' }).getAttribute('aria-selected'), 'true');
  const { page: whole } = await site.open('#v=1&gpus=8&view.open=whole&view.search=models');
  await whole.locator('.whole-inverse .tokens-bar').first().waitFor();
});

test('the share dialog\'s frame shows the panel that was chosen', async () => {
  const { page } = await site.open('#v=1&tp=4');
  // The frame has as text what the page edits in place.
  const typed = await page.locator('.strip input').evaluateAll((all) => all.map((one) => one.value));
  const usual = await figures(page);
  await page.getByRole('button', { name: 'Share' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('tab', { name: 'Embed', exact: true }).click();
  await dialog.getByRole('button', { name: 'Answer' }).click();
  // A run without reinforcement learning has no frame of it, and nothing was diagnosed.
  for (const name of ['Reinforcement learning', 'Diagnosis']) {
    assert.equal(await dialog.getByRole('button', { name }).isVisible(), false);
  }
  const code = await eventually(
    () => dialog.getByLabel('Code').inputValue(),
    (text) => text.includes('view.embed=strip'),
  );
  const source = /src="([^"]*)"/.exec(code)[1].replaceAll('&amp;', '&');
  // What stands above the code is the frame itself.
  await becomes(() => dialog.locator('iframe').evaluate((frame) => frame.src), source);
  const { page: framed } = await site.open(source);
  await becomes(() => figures(framed), usual.replace('tokens at per', `${typed[0]} tokens at ${typed[1]} per`));
});

test('what the share dialog writes for a wiki speaks the language that was chosen, and no other', async () => {
  for (const [path, button, wiki, plain] of [
    ['#v=1&tp=4', false, undefined, undefined],
    ['#v=1&tp=4&view.lang=zh', false, 'zh', 'zh'],
    ['#v=1&tp=4', true, 'zh', undefined],
  ]) {
    const { page } = await site.open(path);
    if (button) await page.locator('header.bar button[translate=no]').first().evaluate((button) => button.click());
    if (button || plain) await becomes(() => page.locator('html').getAttribute('lang'), 'zh-CN');
    await page.locator('header.bar button.main').click();
    const dialog = page.locator('#share');
    const speaks = async (form, has, language, name) => {
      await dialog.getByRole('tab').nth(form).click();
      const code = await eventually(() => dialog.locator('textarea').inputValue(), (text) => text.includes(has));
      assert.equal(name.exec(code)?.[1], language, code);
    };
    const inLink = /view\.lang=(\w+)/;
    await speaks(0, '#v=1', plain, inLink);
    await speaks(2, '<iframe', wiki, inLink);
    await speaks(3, '<shardscope-embed', wiki, / lang="(\w+)"/);
    await speaks(4, '](', wiki, inLink);
  }
});

test('the share dialog\'s element and Markdown name the run and the panel', async () => {
  const { page } = await site.open('#v=1&tp=4&gpus=128');
  await page.getByRole('button', { name: 'Share' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('tab', { name: 'Picture' }).click();
  await dialog.getByRole('button', { name: 'Overlap' }).click();
  const code = async (form, has) => {
    await dialog.getByRole('tab', { name: form }).click();
    return eventually(() => dialog.getByLabel('Code').inputValue(), (text) => text.includes(has));
  };
  const element = await code('Embed as element', 'panel="overlap"');
  assert.ok(element.includes(`<script type="module" src="${site.url}embed.js">`), element);
  assert.match(element, /<shardscope-embed run="v=1&amp;gpus=128&amp;tp=4" panel="overlap">/);
  const markdown = await code('Markdown', '](');
  const [, name, link] = /^\[([^[\]]+)\]\(([^()\s]+)\)$/.exec(markdown);
  assert.match(name, /Llama 3.1 8B/);
  const { page: other } = await site.open(link);
  await becomes(() => input(other, 'gpus').inputValue(), '128');
});

test('the share dialog saves the picture it shows, and the run as a card for posts', async () => {
  const { page } = await site.open('#v=1&tp=4&gpus=128');
  await page.getByRole('button', { name: 'Share' }).first().click();
  const dialog = page.getByRole('dialog');
  for (const [tab, choose, file, holds] of [
    ['Picture', 'Memory', 'shardscope-memory.svg', /memory per GPU/],
    ['Social preview', undefined, 'shardscope-card.svg', /width="1200" height="630"[^]*Llama 3.1 8B/],
  ]) {
    await dialog.getByRole('tab', { name: tab }).click();
    if (choose) await dialog.getByRole('button', { name: choose }).click();
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Save as SVG' }).click();
    const saved = await download;
    assert.equal(saved.suggestedFilename(), file);
    assert.match(readFileSync(await saved.path(), 'utf8'), holds);
  }
});
