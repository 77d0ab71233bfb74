// What a screen reader meets, and whether colours can be told apart: axe-core finds nothing to say, on the page with
// everything open, its dialogs, and the panels alone, light and dark, in both languages, on a desk and on a phone. Names
// and structure do not depend on the theme, nor contrast on the language: each theme is seen in one language.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { DESKTOP, EMBED, PHONE } from './browser.mjs';
import { calculator, closeDialog } from './calculator.mjs';
import { compute, openAll, PAGES, RUNS, settled } from './tour.mjs';

const site = calculator();
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The paper of a page that has a frame in it. */
const PAPER = { light: '#ffffff', dark: '#0f1317' };

/** Rules by theme: structure does not depend on it, colours do, and sizes on the language. */
const RULES = {
  light: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  dark: { type: 'rule', values: ['color-contrast', 'target-size', 'html-has-lang', 'html-lang-valid', 'valid-lang'] },
};

/** Faults that axe finds: rule, place and reason. */
async function faults(page, within, runOnly) {
  await page.evaluate(AXE);
  return page.evaluate(async ([within, runOnly]) => {
    const { violations } = await globalThis.axe.run(within ?? document, { resultTypes: ['violations'], runOnly });
    // A part of a bar is as wide as its bytes: the table under the bars opens the same figures (WCAG 2.5.8, equivalent).
    const toScale = ({ id, target }) => id === 'target-size' && document.querySelector(target).matches('.segment');
    return violations.flatMap(({ id, nodes }) => nodes.filter(({ target }) => !toScale({ id, target })).map(
      ({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary.replace(/\s+/g, ' ')}`,
    ));
  }, [within, runOnly]);
}

/** A menu, or the bar that stays, over a button leaves less of it to press: the menus are read, then closed. */
function closeMenus(page) {
  return page.evaluate(() => {
    for (const menu of document.querySelectorAll('.menu[open]')) menu.open = false;
    scrollTo(0, 0);
  });
}

for (const [theme, language] of [['light', 'en'], ['dark', 'zh']]) {
  const view = `&view.theme=${theme}&view.lang=${language}`;
  const found = (page, within = null) => faults(page, within, RULES[theme]);

  test(`the page with everything open, ${theme}, ${language}`, async () => {
    const { page } = await site.open(`${RUNS.default}${view}`);
    await compute(page);
    await openAll(page);
    assert.deepEqual(await found(page, 'header'), [], 'menus');
    await closeMenus(page);
    assert.deepEqual(await found(page), []);
  });

  test(`the gallery of schedules, ${theme}, ${language}`, async () => {
    const { page } = await site.open(`#v=1&view.open=schedules&view.ticked=1f1b,zb-v,pipedream${view}`);
    await page.locator('.card .sketch svg').first().waitFor();
    await settled(page);
    await openAll(page);
    assert.deepEqual(await found(page), []);
  });

  test(`the whole run, ${theme}, ${language}`, async () => {
    const { page } = await site.open(`#v=1&tokens_total=15e12&price_per_gpu_hour=2&grid_kg_per_kwh=0.4&view.open=whole${view}`);
    await page.locator('.whole-strip[aria-busy=false] .whisker u').first().waitFor();
    await page.locator('.whole-inputs summary').click();
    await page.locator('.whole-strip .key').first().click();
    await settled(page);
    assert.deepEqual(await found(page), []);
  });

  test(`the scoreboard, ${theme}, ${language}`, async () => {
    const { page } = await site.open(`#v=1&view.open=scoreboard${view}`);
    await page.locator('.board-table tbody tr').first().waitFor();
    await page.locator('main.board > div:last-child summary').click();
    await settled(page);
    assert.deepEqual(await found(page), []);
  });

  test(`a run that cannot be, ${theme}, ${language}`, async () => {
    const { page } = await site.open(`${RUNS.error}${view}`);
    await settled(page);
    assert.deepEqual(await found(page), []);
  });

  test(`the dialogs, ${theme}, ${language}`, async () => {
    const { page } = await site.open(`${RUNS.default}${view}`);
    const opened = async (what, open) => {
      await open();
      await page.locator('dialog[open]').waitFor();
      await settled(page);
      assert.deepEqual(await found(page, 'dialog[open]'), [], what);
      await closeDialog(page);
    };
    await opened('share', () => page.locator('header .main').last().click());
    for (const what of ['published', 'methods', 'glossary', 'export markdown', 'import']) {
      await opened(what, async () => {
        await page.evaluate((what) => document.querySelector(`[data-action="open ${what}"]`).click(), what);
        await page.locator('dialog[open]').waitFor();
        if (what === 'import') await page.locator('dialog[open] textarea').fill('--num-layers 32 --bf16 --lr 1e-4');
      });
    }
  });

  test(`the runs that were measured, ${theme}, ${language}`, async () => {
    const { page } = await site.open(`#v=1&view.open=calibrate${view}`);
    await page.locator('#diagnose textarea:visible').fill('iteration 3/ 9 | elapsed time per iteration (ms): 9000.0 |');
    await page.locator('#diagnose [data-action="keep-run"]').click();
    await page.locator('#diagnose .taken').waitFor();
    await settled(page);
    assert.deepEqual(await found(page), []);
  });

  test(`two runs beside each other, and a fault, ${theme}, ${language}`, async () => {
    const { page } = await site.open(`${RUNS.compared}${view}`);
    await openAll(page);
    assert.deepEqual(await found(page), [], 'compared');
    await page.evaluate(() => { reportError('panicked at a place'); });
    await page.locator('#crash').waitFor();
    await settled(page);
    assert.deepEqual(await found(page), [], 'a fault');
  });

  test(`the cluster, ${theme}, ${language}`, async () => {
    for (const size of [DESKTOP, PHONE]) {
      const { page } = await site.open(`${RUNS.moe}${view}&view.open=cluster&view.gpu=700`, size);
      await settled(page);
      await openAll(page);
      await closeMenus(page);
      assert.deepEqual(await found(page), []);
    }
  });

  test(`a phone, ${theme}, ${language}`, async () => {
    const { page } = await site.open(`${RUNS.moe}${view}`, PHONE);
    await settled(page);
    assert.deepEqual(await found(page), [], 'results');
    await page.locator('.strip .key').first().click();
    await settled(page);
    assert.deepEqual(await found(page), [], 'about a number');
    await page.locator('.detail .close-sheet').click();
    await page.locator('.tabbar button').first().click();
    await openAll(page);
    assert.deepEqual(await found(page), [], 'inputs');
  });

  test(`the pages beside the calculator, ${theme}, ${language}`, async () => {
    const locale = language === 'zh' ? 'zh-CN' : 'en';
    for (const file of PAGES) {
      const { page } = await site.open(file, { ...DESKTOP, locale, colorScheme: theme, started: false });
      await settled(page);
      assert.deepEqual(await found(page), [], file);
    }
  });

  test(`every panel alone, ${theme}, ${language}`, async () => {
    for (const panel of ['memory', 'timeline', 'overlap', 'strip', 'cluster', 'all', 'lesson']) {
      const { page } = await site.open(`${RUNS.moe}${view}&view.embed=${panel}`, EMBED);
      // The lessons arrive with a late part.
      await page.locator('main:visible').first().waitFor();
      await settled(page);
      await openAll(page);
      // A frame that is told its theme shows through to the paper of the page around it.
      await page.evaluate((paper) => { document.documentElement.style.background = paper; }, PAPER[theme]);
      assert.deepEqual(await found(page), [], panel);
    }
  });
  }
