// The page in Simplified Chinese: nothing that it says stays English, English comes back, the choice lasts, and figures,
// links and what people typed are the same in both languages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DESKTOP, EMBED } from './browser.mjs';
import { calculator, eventually, figures, fragment, input } from './calculator.mjs';
import { compute, openAll, PAGES, panels, RUNS, settled, texts } from './tour.mjs';
import { english } from './untranslated.mjs';

const site = calculator({
  cors: true,
  pages: { '/sandboxed.html': `<!DOCTYPE html><link rel="icon" href="data:,">
    <iframe sandbox="allow-scripts" src="/index.html#v=1&view.embed=strip&view.lang=zh" width="600" height="400"></iframe>` },
});
const language = (page) => page.locator('html').getAttribute('lang');
const languageIs = (page, wanted) => eventually(() => language(page), (now) => now === wanted);
const other = (page) => page.locator('header.bar button[translate=no]');

for (const [name, link] of Object.entries(RUNS)) {
  test(`nothing is left English: ${name}`, async () => {
    const { page, problems } = await site.open(`${link}&view.lang=zh`);
    await languageIs(page, 'zh-CN');
    const left = async () => (await texts(page)).filter((text) => english(text).length > 0);
    assert.deepEqual(await left(), [], 'as it opens');
    if (name === 'default') await compute(page);
    await openAll(page);
    assert.deepEqual(await left(), [], 'everything open');
    await panels(page, link);
    assert.deepEqual(await left(), [], 'every panel and every figure');
    assert.deepEqual(problems, []);
  });
}

test('nothing is left English: the pages beside the calculator', async () => {
  for (const file of PAGES) {
    const { page, problems } = await site.open(file, { ...DESKTOP, locale: 'zh-CN', started: false });
    await languageIs(page, 'zh-CN');
    assert.deepEqual((await texts(page)).filter((text) => english(text).length > 0), [], file);
    assert.deepEqual(problems, []);
  }
});

test('nothing is left English: panels alone', async () => {
  const { page } = await site.open(`${RUNS.moe}&view.lang=zh&view.embed=all`, EMBED);
  await languageIs(page, 'zh-CN');
  await openAll(page);
  assert.deepEqual((await texts(page)).filter((text) => english(text).length > 0), []);
});

test('English comes back as it was, and what changed meanwhile too', async () => {
  const { page: plain } = await site.open('#v=1&tp=4');
  // Its word, which the other page's has had too.
  await input(plain, 'tp').focus();
  await plain.locator('[data-field="tp"] .means').waitFor();
  const { page } = await site.open('#v=1&tp=2');
  await settled(plain);
  await other(page).click();
  await languageIs(page, 'zh-CN');
  await input(page, 'tp').fill('4');
  await input(page, 'tp').blur();
  await settled(page);
  assert.match(await page.locator('[data-field="tp"]').innerText(), /张量并行/);
  await other(page).click();
  await languageIs(page, 'en');
  await settled(page);
  const [before, after] = [await texts(plain), await texts(page)];
  // The form notes which fields were touched in its own words; all else is the same, letter by letter.
  assert.deepEqual(after.filter((text) => !before.includes(text)), []);
});

test('the figures are the same in both languages', async () => {
  const numbers = async (page) => (await figures(page)).match(/[\d.]+/g);
  for (const link of [RUNS.default, RUNS.moe]) {
    const { page } = await site.open(link);
    const { page: chinese } = await site.open(`${link}&view.lang=zh`);
    const [first, second] = [await numbers(page), await numbers(chinese)];
    assert.deepEqual(second, first);
    assert.equal(await input(chinese, 'tp').inputValue(), await input(page, 'tp').inputValue());
  }
});

test('the choice lasts, and a link that asks for a language wins', async () => {
  const { page } = await site.open('#v=1');
  assert.equal(await language(page), 'en');
  await other(page).click();
  await languageIs(page, 'zh-CN');
  assert.equal(await fragment(page), '#v=1', 'the address is the run alone');
  await page.reload();
  await languageIs(page, 'zh-CN');
  await page.goto(`${site.url}?again#v=1&view.lang=en`);
  await languageIs(page, 'en');
});

test('a link keeps the language that it asks for, whatever else changes', async () => {
  const { page } = await site.open('#v=1&view.lang=zh');
  await languageIs(page, 'zh-CN');
  await input(page, 'tp').fill('4');
  await eventually(() => fragment(page), (now) => now === '#v=1&tp=4&view.lang=zh');
  await other(page).click();
  await languageIs(page, 'en');
  await eventually(() => fragment(page), (now) => now === '#v=1&tp=4&view.lang=en');
  await input(page, 'tp').fill('2');
  await eventually(() => fragment(page), (now) => now === '#v=1&view.lang=en');
});

test('a browser that speaks Simplified Chinese is answered in it, others in English', async () => {
  for (const [locale, wanted] of [['zh-CN', 'zh-CN'], ['zh-TW', 'en'], ['ar', 'en'], ['en-GB', 'en']]) {
    const { page } = await site.open('#v=1', { ...DESKTOP, locale });
    await settled(page);
    assert.equal(await language(page), wanted, locale);
  }
});

test('a sandboxed frame without storage speaks it too, without a button', async () => {
  const { page, problems } = await site.open('sandboxed.html', { started: false });
  const frame = page.frames()[1];
  await frame.waitForFunction(() => globalThis.shardscopeStarted);
  await eventually(() => frame.locator('.strip').innerText(), (text) => text.includes('步时'));
  assert.equal(await frame.locator('button[translate=no]').count(), 0);
  assert.deepEqual(problems, []);
});

test('English is never seen: not at the start, and not for a moment later', async () => {
  const { page } = await site.open('#v=1&view.lang=zh');
  await languageIs(page, 'zh-CN');
  assert.equal(await page.evaluate(() => document.documentElement.style.visibility), '');
  // What is written in a task is Chinese at its end, before it can be painted.
  const seen = await page.evaluate(async () => {
    const said = [];
    const box = document.createElement('p');
    document.body.append(box);
    for (const text of ['Close', 'Results', 'Share']) {
      box.textContent = text;
      await Promise.resolve();
      said.push(box.textContent);
    }
    return said;
  });
  assert.deepEqual(seen, ['关闭', '结果', '分享']);
});
