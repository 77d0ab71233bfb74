// The first screen that stands in the document: the very figures and boxes that the program then shows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, calculator, still } from './calculator.mjs';

const site = calculator({ pages: { '/blank.html': '<!DOCTYPE html><link rel="icon" href="data:,">' } });
const WIDTHS = [[1440, 900], [1180, 800], [390, 844]];

/** Runs in the page: every element with its text of its own and its box, by its way from the body; a list for each of its kind. */
function drawn(within) {
  const roots = within ? [...document.querySelector(within).children] : [...document.body.children];
  const found = {};
  const walk = (element, way) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    const words = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join('').trim();
    const value = element.tagName === 'INPUT' ? element.value : element.tagName === 'SELECT' ? element.selectedOptions[0]?.text : words;
    // What stands in for the canvas, and what moves.
    if (element.matches('.play, .played')) return;
    if (element.checkVisibility()) found[way] = { value, box: [x, y + scrollY, width, height] };
    if (element.tagName === 'SELECT') return;
    [...element.children].filter((child) => !child.matches('.still')).forEach((child, at) => walk(child, `${way} > ${child.tagName.toLowerCase()}${child.className && typeof child.className === 'string' ? `.${child.className.split(' ')[0]}` : ''}:${at}`));
  };
  roots.forEach((root) => walk(root, root.tagName.toLowerCase() + (root.className ? `.${root.className}` : '')));
  return found;
}

/** Containers end where the first screen ends. */
const EXACT = /\.(strip|water|surface|legend)\b/;

for (const [width, height] of WIDTHS) {
  test(`at ${width} x ${height} the program shows the figures that stood there, at the same place`, async () => {
    const { page, problems } = await site.open('blank.html', { started: false, viewport: { width, height } });
    let release;
    const held = new Promise((go) => { release = go; });
    await page.route('**/*_bg.wasm', async (route) => {
      await held;
      await route.continue();
    });
    // A search that ends sooner or later says so.
    await page.route('**/worker.js', (route) => route.fulfill({ contentType: 'text/javascript', body: '' }));
    await page.goto(site.url, { waitUntil: 'commit' });
    await page.locator('#first .strip .value').first().waitFor();
    // All of the document has arrived.
    await page.waitForFunction(() => document.readyState !== 'loading');
    const before = await page.evaluate(drawn, '#first');
    assert.equal(await page.locator('#first').evaluate((first) => first.inert), true);
    assert.ok(Object.values(before).filter(({ value }) => /\d/.test(value ?? '')).length > 20, 'figures are painted before the program arrives');
    release();
    await page.waitForFunction(() => globalThis.shardscopeStarted);
    await becomes(() => page.locator('#first').count(), 0);
    // Not `settled`, which waits for the search: here that never answers.
    const after = await still(() => page.evaluate(drawn, ''));
    const wrong = [];
    for (const [way, { value, box }] of Object.entries(before)) {
      const now = after[way];
      if (!now) wrong.push(`${way} is not there any more`);
      else if (now.value !== value) wrong.push(`${way}: ${value} became ${now.value}`);
      else {
        // What ends with the first screen is less high there.
        const sides = EXACT.test(way) || value ? 4 : 3;
        const off = Math.max(...box.slice(0, sides).map((side, at) => Math.abs(side - now.box[at])));
        if (off > 0) wrong.push(`${way} moved by ${off} px`);
      }
    }
    assert.deepEqual(wrong, []);
    for (const kind of ['.strip', '.water', ...(width > 1000 ? ['.surface'] : [])]) {
      assert.ok(Object.keys(before).some((way) => way.includes(kind)), `${kind} is in the first screen`);
    }
    assert.deepEqual(problems, []);
  });
}

test('a page in another language, or with a link, starts without figures of another run', async () => {
  const { page } = await site.open('blank.html', { started: false, locale: 'zh-CN' });
  await page.route('**/*_bg.wasm', () => {});
  for (const [path, language] of [['', 'zh-CN'], ['#v=1&tp=4', 'en'], ['?v=1&tp=4', 'en']]) {
    await page.addInitScript((language) => { localStorage['shardscope.language'] = language === 'en' ? 'en' : 'zh'; }, language);
    await page.goto('about:blank');
    await page.goto(`${site.url}${path}`, { waitUntil: 'commit' });
    await page.locator('#skeleton > .page .strip').waitFor();
    await page.locator('#first').waitFor({ state: 'detached' });
  }
});

test('while the calculator loads, a link says what it holds', async () => {
  const { page } = await site.open('blank.html', { started: false });
  await page.route('**/*_bg.wasm', () => {});
  await page.goto(`${site.url}#v=1&model=llama-3.1-405b&gpus=2048&tp=8&pp=<b>x</b>&cp=2&schedule=zb-h1`, { waitUntil: 'commit' });
  const pieces = page.locator('#skeleton > .top .sentence .piece');
  await pieces.last().waitFor();
  await becomes(() => pieces.allTextContents(), ['Llama 3.1 405B', '2\u202f048 GPUs', 'TP 8', 'CP 2', 'ZB H1']);
});
