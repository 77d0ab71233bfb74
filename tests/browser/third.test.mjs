// What new users tried first, as far as it needs a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { becomes, calculator, eventually, figures, fragment, input, matches, picture, still, surface, until } from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();
const DESKTOP = { viewport: { width: 1440, height: 900 } };

/** Elements of the answer whose text is wider than they are. */
const cut = (page) => page.locator('.strip .value').evaluateAll((all) => all
  .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText));

test('no figure of the answer is cut, with a wide face and a narrow one, at any width', async () => {
  const large = '#v=1&model=deepseek-v3&gpus=16384&tp=8&pp=16&ep=64&seq_len=131072&global_batch=65536&tokens_total=15e12&price_per_gpu_hour=98';
  for (const width of [320, 390, 760, 1000, 1180, 1280, 1440, 1920]) {
    for (const link of ['', large]) {
      const { page } = await site.open(link, { viewport: { width, height: 900 } });
      for (const face of ['DejaVu Sans', 'Liberation Sans Narrow, Arial Narrow, sans-serif']) {
        await page.evaluate((font) => document.body.style.setProperty('font-family', font, 'important'), face);
        await becomes(() => cut(page), [], `${width} px, ${face}, ${link}`);
        const over = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        await until(over, (wide) => assert.ok(wide <= 0, `${wide} px over ${width}`));
      }
      await page.context().close();
    }
  }
});

test('the pill that says where the layout is from reads whole, beside long names, and names that are cut have a title', async () => {
  const long = '#v=1&model=deepseek-v3&gpus=2048&gpu=h800-sxm-80gb&pp=16&cp=2&ep=64&schedule=interleaved-overlap&virtual_stages=2&global_batch=15360';
  for (const width of [1040, 1280, 1366, 1440, 1600]) {
    for (const link of ['', long]) {
      const { page } = await site.open(link, { viewport: { width, height: 900 } });
      const found = () => page.evaluate(() => {
        const box = (one) => one.getBoundingClientRect();
        const button = document.querySelector('.whose button');
        button.textContent = 'choose for me: 38 % less time';
        const parts = [...document.querySelectorAll('.whose, .whose > *, .sentence .piece')].filter((one) => box(one).width > 0);
        const ends = parts.map((one) => box(one)).every(({ left, right }) => left >= 0 && right <= innerWidth);
        const pill = parts.filter((one) => one.closest('.whose'));
        const shown = (one) => one.scrollWidth <= one.clientWidth + 1 || getComputedStyle(one).overflowX === 'visible';
        const names = [...document.querySelectorAll('.sentence select')];
        const titles = names.every((one) => one.title.startsWith(one.selectedOptions[0].text));
        return { ends, whole: pill.every(shown), titles };
      });
      await becomes(found, { ends: true, whole: true, titles: true }, `${width} px, ${link}`);
      await page.context().close();
    }
  }
});

test('answer, timeline and waterfall stand above the fold, and three cards have their place', async () => {
  const { page } = await site.open('', DESKTOP);
  await settled(page);
  const ends = await page.evaluate(() => ['.strip', '.pipe', '.water', '#better-title']
    .map((one) => document.querySelector(one).getBoundingClientRect().bottom));
  assert.ok(ends.every((end) => end < 900), ends.join());
  assert.ok(await page.locator('.cards-frame').evaluate((frame) => frame.getBoundingClientRect().height >= 160));
});

test('tokens, price and currency are edited in the answer', async () => {
  const { page } = await site.open('', DESKTOP);
  await input(page, 'price_per_gpu_hour').fill('€1.80');
  await input(page, 'tokens_total').fill('15T');
  await eventually(() => fragment(page), (now) => /price_per_gpu_hour=1\.8/.test(now) && /tokens_total=15/.test(now) && /currency=/.test(now));
  await page.keyboard.press('Tab');
  await matches(() => page.locator('.cost').innerText(), /€[\d.]+[kM]?/);
  await becomes(() => input(page, 'tokens_total').inputValue(), '15 T');
});

test('the drawer is closed until a figure is asked, opens short, and Escape closes it', async () => {
  const { page } = await site.open('', DESKTOP);
  const drawer = page.locator('aside.detail');
  assert.equal(await drawer.isVisible(), false);
  await page.locator('.key.verdict').click();
  await drawer.locator('.formula').first().waitFor();
  await settled(page);
  assert.equal(await drawer.locator('details[open]').count(), 0);
  assert.ok(await drawer.locator('.term > .term-fold:visible').count() <= 5);
  await page.keyboard.press('Escape');
  await eventually(() => drawer.isVisible(), (shown) => !shown);
});

test('a zoom stays after an edit', async () => {
  const { page } = await site.open('', DESKTOP);
  await page.getByRole('button', { name: 'fill', exact: true }).click();
  const place = () => page.locator('.pipe .play .axis').evaluate((axis) => axis.style.width);
  await eventually(place, (now) => now !== '100.000%');
  const zoomed = await still(place);
  await input(page, 'global_batch').fill('128');
  await eventually(() => fragment(page), (now) => now.includes('global_batch=128'));
  await settled(page);
  assert.equal(await place(), zoomed);
});

test('selection, open folds, focus and scroll stay after an edit', async () => {
  const { page } = await site.open('#v=1', DESKTOP);
  await settled(page);
  await page.locator('.pipe .ranks button').nth(2).click();
  await eventually(() => fragment(page), (now) => /view\.gpu=/.test(now));
  const fold = page.locator('details.fold', { hasText: 'The same as a table' }).first();
  await fold.locator('summary').click();
  await fold.locator('table').first().waitFor();
  await page.evaluate(() => scrollTo(0, 400));
  await input(page, 'micro_batch').focus();
  const held = () => page.evaluate(() => ({
    scroll: scrollY,
    focus: document.activeElement.closest('[data-field]')?.dataset.field,
    folds: document.querySelectorAll('details.fold[open]').length,
    rank: [...document.querySelectorAll('.pipe .ranks button')].findIndex((one) => one.ariaPressed === 'true'),
  }));
  const before = await still(held);
  assert.ok(before.scroll > 0 && before.folds > 0 && before.rank === 2, JSON.stringify(before));
  const figure = await figures(page);
  await page.keyboard.press('Control+a');
  await page.keyboard.type('2');
  await eventually(() => figures(page), (now) => now !== figure);
  await settled(page);
  assert.deepEqual(await held(), before);
});

test('a key is painted first, the figures follow in the next frame, and the panels below in one of their own', async () => {
  const { page } = await site.open('', DESKTOP);
  await settled(page);
  await page.locator('.bars .segment').first().waitFor();
  const seen = await input(page, 'global_batch').evaluate((field) => new Promise((done) => {
    const strip = document.querySelector('.strip');
    const bars = document.querySelector('.bars');
    const [figures, rows] = [strip.innerText, bars.outerHTML];
    const changed = (element, then) => new MutationObserver((_, observer) => { if (then()) observer.disconnect(); })
      .observe(element, { subtree: true, childList: true, characterData: true, attributes: true });
    field.focus();
    document.execCommand('selectAll');
    document.execCommand('insertText', false, '512');
    const atOnce = [field.value, strip.innerText === figures];
    // This callback runs in the frame that paints the key.
    requestAnimationFrame(() => {
      const painted = [field.value, strip.innerText === figures];
      changed(strip, () => strip.innerText !== figures && requestAnimationFrame(() => {
        // In the frame that paints the figures.
        const late = [field.value, bars.outerHTML === rows];
        changed(document.querySelector('#results'), () => {
          const follows = document.querySelector('.bars').outerHTML !== rows;
          if (follows) done({ atOnce, painted, late });
          return follows;
        });
      }));
    });
  }));
  assert.deepEqual(seen, { atOnce: ['512', true], painted: ['512', true], late: ['512', true] });
});

test('Use is within ten stops of a field, headings are landmarks, ? lists the keys', async () => {
  const { page } = await site.open('', DESKTOP);
  await page.locator('.suggestion [data-action=load]').first().waitFor();
  await input(page, 'tp').focus();
  const is = (selector) => page.evaluate((selector) => document.activeElement.matches(selector), selector);
  let stops = 0;
  for (; !(await is('.skip')) && stops < 10; stops += 1) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await until(() => is('[data-action=load]'), (there) => assert.ok(there, `${stops} stops`));
  await eventually(() => page.locator('h2:visible').count(), (count) => count >= 4);
  for (const region of ['Key figures', 'One step of this pipeline', 'Where the step goes', 'Layouts that do better']) {
    await becomes(() => page.getByRole('region', { name: region }).count(), 1, region);
  }
  await page.locator('h1:visible').click();
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('Keyboard').first().waitFor();
});

test('on a phone a tap opens the sheet only', async () => {
  const { page } = await site.open('', PHONE);
  await picture(page);
  await surface(page).tap({ position: { x: 100, y: 40 } });
  await page.locator('aside.detail .term').waitFor();
  assert.equal(await page.locator('.surface .tip:visible, .lens:visible').count(), 0);
  assert.doesNotMatch(await fragment(page), /view\.gpu/, 'nothing is selected');
});

test('the playhead moves without a script, and stands still for who wants no motion', async () => {
  for (const [reducedMotion, moves] of [['no-preference', true], ['reduce', false]]) {
    const { page } = await site.open('', { ...DESKTOP, reducedMotion });
    const running = () => page.evaluate(() => document.getAnimations().some((one) => one.animationName === 'cross'));
    await becomes(running, moves);
    if (!moves) continue;
    await page.getByRole('button', { name: 'Stop the playhead' }).click();
    await eventually(() => page.locator('.play').getAttribute('class'), (now) => now.includes('paused'));
  }
});

test('the playhead stops by itself after a minute, and moves again at a press', async () => {
  const { page } = await site.open('', DESKTOP);
  const later = () => page.evaluate(() => {
    const move = document.getAnimations().find((one) => one.animationName === 'cross');
    move.currentTime += 90_000;
  });
  const state = () => page.locator('.play').getAttribute('class');
  await page.getByRole('button', { name: 'Stop the playhead' }).waitFor();
  const moves = () => page.evaluate(() => document.getAnimations().some((one) => one.animationName === 'cross'));
  for (let turn = 0; turn < 2; turn += 1) {
    await eventually(moves, Boolean);
    await later();
    await eventually(state, (now) => now.includes('paused'));
    await page.getByRole('button', { name: 'Play the step' }).click();
    await eventually(state, (now) => !now.includes('paused'));
  }
});

test('Compare stands in place of the results, Share begins with the picture', async () => {
  const { page, problems } = await site.open('#v=1&b.pp=2', DESKTOP);
  const cards = page.locator('.compare-card');
  await eventually(() => cards.count(), (count) => count === 2);
  await eventually(() => cards.first().boundingBox(), (box) => box?.y < 300);
  await page.locator('.results > .strip-frame').waitFor({ state: 'hidden' });
  assert.doesNotMatch(await page.locator('.compare-runs').innerText(), /[{}]/);
  await page.getByRole('button', { name: 'Close ×' }).click();
  await page.locator('.results > .strip-frame').waitFor();
  await page.locator('header.bar button.main').click();
  await page.locator('#share .share-picture svg').first().waitFor();
  await page.locator('#share').getByRole('tab', { name: 'Picture' }).click();
  await page.locator('#share').getByRole('button', { name: 'Answer' }).click();
  await eventually(() => page.locator('#share .share-picture').innerText(), (text) => text.includes('GiB'));
  assert.deepEqual(problems, []);
});

test('frames of 600 x 400 show what they promise without scrolling', async () => {
  const eight = '&model=llama-3.1-70b&gpus=256&tp=4&pp=8';
  for (const panel of ['strip', 'waterfall', 'timeline', 'schedules&view.ticked=1f1b,zb-v,zb-h1,gpipe', `timeline${eight}`, `cluster${eight}`]) {
    const { page } = await site.open(`#v=1&view.embed=${panel}`, { viewport: { width: 600, height: 400 } });
    await settled(page);
    const over = await page.evaluate(() => [document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight]);
    assert.ok(over[0] <= 0 && over[1] <= 0, `${panel}: ${over}`);
    await page.context().close();
  }
});

test('frames of 390 x 400 hold the answer and the cluster, with what they are of', async () => {
  for (const panel of ['strip', 'cluster', 'timeline', 'whole']) {
    const { page } = await site.open(`#v=1&view.embed=${panel}`, { viewport: { width: 390, height: 400 } });
    await settled(page);
    const over = await page.evaluate(() => [document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight]);
    assert.ok(over[0] <= 0 && over[1] <= 0, `${panel}: ${over}`);
    const cut = await page.locator('.strip .name, .embed-foot h1').evaluateAll((all) => all
      .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow !== 'visible').map((one) => one.innerText));
    assert.deepEqual(cut, [], panel);
    await page.context().close();
  }
});
