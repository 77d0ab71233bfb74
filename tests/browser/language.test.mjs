// The page in Simplified Chinese: no English sentence in its panels, both languages from one button, links and stored
// choices, and English where the catalogue cannot be had. (Whether every text has a row: tests/page_free/translations.rs.)
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DESKTOP } from './browser.mjs';
import { alike, becomes, calculator, eventually, figures, fragment, input, matches } from './calculator.mjs';
import { openAll, RUNS, settled, texts } from './tour.mjs';

const site = calculator();
const catalogue = JSON.parse(readFileSync(new URL('../../locales/zh.json', import.meta.url), 'utf8'));
const language = (page) => page.locator('html').getAttribute('lang');
const languageIs = (page, wanted) => eventually(() => language(page), (now) => now === wanted);
const turn = async (page) => {
  const menu = page.locator('header.bar .menu.more');
  if (!(await menu.evaluate((one) => one.open))) await menu.locator('summary').click();
  await menu.locator('button[translate=no]').click();
};
/** Three English words in a row: a sentence, not a name. */
const SENTENCE = /\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b/;
const english = (all) => all.filter((text) => (catalogue[text] ?? text) !== text || SENTENCE.test(text));

for (const name of ['default', 'moe', 'error', 'full']) {
  test(`no English sentence is left: ${name}`, async () => {
    const { page, problems } = await site.open(`${RUNS[name]}&view.lang=zh`);
    await languageIs(page, 'zh-CN');
    await settled(page);
    await openAll(page);
    assert.deepEqual(english(await texts(page)), []);
    assert.deepEqual(problems, []);
  });
}

test('no English sentence is left: the cluster', async () => {
  for (const run of [RUNS.default, RUNS.moe]) {
    const { page } = await site.open(`${run}&view.lang=zh&view.open=cluster`);
    await languageIs(page, 'zh-CN');
    await settled(page);
    await openAll(page);
    assert.deepEqual(english(await texts(page)), []);
  }
});

test('the button turns to Chinese and back, and what changed meanwhile is right in both', async () => {
  const { page: plain } = await site.open('#v=1&tp=4');
  await settled(plain);
  const { page } = await site.open('#v=1&tp=2');
  await turn(page);
  await languageIs(page, 'zh-CN');
  await matches(() => page.locator('[data-field="tp"] label').innerText(), /TP 张量/);
  await input(page, 'tp').fill('4');
  await input(page, 'tp').blur();
  await settled(page);
  const numbers = async (of) => (await figures(of)).match(/[\d.]+/g);
  await alike(() => numbers(page), () => numbers(plain));
  await turn(page);
  await languageIs(page, 'en');
  await settled(page);
  await alike(() => figures(page), () => figures(plain));
});

test('the choice lasts; a link that asks for a language wins and keeps asking', async () => {
  const { page } = await site.open('#v=1');
  await turn(page);
  await languageIs(page, 'zh-CN');
  assert.equal(await fragment(page), '#v=1', 'the address is the run alone');
  await page.reload();
  await languageIs(page, 'zh-CN');
  await page.goto(`${site.url}?again#v=1&view.lang=en`);
  await languageIs(page, 'en');
  await turn(page);
  await eventually(() => fragment(page), (now) => now === '#v=1&view.lang=zh');
});

test('a browser that speaks Simplified Chinese is answered in it, others in English', async () => {
  for (const [locale, wanted] of [['zh-CN', 'zh-CN'], ['zh-TW', 'en'], ['en-GB', 'en']]) {
    const { page } = await site.open('#v=1', { ...DESKTOP, locale });
    await settled(page);
    await becomes(() => language(page), wanted, locale);
  }
});

test('without its catalogue the page starts in English', async () => {
  const { page } = await site.open('', { started: false });
  await page.route('**/locales/zh.json', (route) => route.abort());
  await page.goto(`${site.url}?lost#v=1&view.lang=zh`);
  await page.locator('.strip .verdict').waitFor();
  await languageIs(page, 'en');
  await matches(() => page.locator('[data-field="tp"] label').innerText(), /TP tensor/);
});
