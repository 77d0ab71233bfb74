// What the tests of the page say often: a browser and dist/ for one file, fields by their key, and waiting for a
// condition instead of a time.
import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { inspect } from 'node:util';
import { launch, LIMIT_MS } from './browser.mjs';
import { serve } from './server.mjs';

/**
 * A browser and a server for the tests of one file, `options` as for serve():
 *
 *   const site = calculator();
 *   test('...', async () => { const { page, problems } = await site.open('#v=1&tp=4'); ... });
 */
export function calculator(options) {
  const site = {};
  const pages = [];
  before(async () => {
    const [browser, server] = await Promise.all([launch(), serve(options)]);
    Object.assign(site, {
      url: server.url,
      origin: server.origin,
      async open(path = '#v=1', context) {
        const opened = await browser.open(new URL(path, server.url).href, context);
        pages.push(opened.page);
        return opened;
      },
      close: () => Promise.all([browser.close(), server.close()]),
    });
  });
  // Tabs that stay open take time from the next test's.
  afterEach(() => Promise.all(pages.splice(0).map((page) => page.context().close())));
  after(() => site.close?.());
  return site;
}

const pause = () => new Promise((again) => { setTimeout(again, 20); });

/** Reads again until `accept` takes what was read, and returns that. */
export async function eventually(read, accept) {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const seen = await read();
    if (accept(seen)) return seen;
    if (Date.now() > end) assert.fail(`waited in vain; the last seen was ${inspect(seen)}`);
    await pause();
  }
}

/** Reads again until `check`, which asserts, lets it pass, and returns what was read; the failure is that of the last. */
export async function until(read, check) {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const seen = await read();
    try {
      check(seen);
      return seen;
    } catch (fault) {
      if (Date.now() > end) throw fault;
    }
    await pause();
  }
}

/** Waits until what is read equals `wanted`. */
export const becomes = (read, wanted, what) => until(read, (seen) => assert.deepEqual(seen, wanted, what));
/** Waits until the text that is read matches `words`. */
export const matches = (read, words, what) => until(read, (seen) => assert.match(seen, words, what));
/** Waits until both reads are the same. */
export const alike = (read, other, what) => until(
  () => Promise.all([read(), other()]),
  ([seen, wanted]) => assert.deepEqual(seen, wanted, what),
);

/** Reads until that has been the same for a moment, and returns it. */
export async function still(read) {
  let [last, since] = [undefined, 0];
  return eventually(read, (seen) => {
    const now = JSON.stringify(seen);
    if (now !== last) [last, since] = [now, Date.now()];
    return Date.now() - since >= 300;
  });
}

/** The text input of a field. */
export const input = (page, key) => page.locator(`[data-field="${key}"] input`);
/** What is said right under a field. */
export const said = (page, key) => page.locator(`[data-field="${key}"] .issue`);
/** Whose memory stands first: that of the run, of the last one that worked, or of a proposal. */
const OF = /^(Memory of the fullest GPU(, rank \d+)?|(Last run that worked|In the proposed layout): fullest GPU) /;
/** The key figures as text, once they are seen: another view hides them, which changes how they read. */
export const figures = async (page) => (await page.locator('.strip:visible').innerText()).replace(/\s+/g, ' ').trim();
/** The same without whose memory stands first. */
export const unlabelled = (text) => text.replace(OF, '');
/** The fragment in the address bar. */
export const fragment = (page) => page.evaluate(() => location.hash);

/** Waits for the address bar. */
export const addressIs = (page, wanted) => eventually(() => fragment(page), (seen) => seen === wanted);
/** Waits for other key figures than `before`. */
export const figuresChange = (page, before) => eventually(() => figures(page), (seen) => seen !== before);
/** Waits until the page says that what was typed cannot run, or no longer says so. */
export const staleIs = (page, stale) => eventually(
  () => page.locator('.stale-note').isVisible(),
  (seen) => seen === stale,
);

/** The timeline's canvas with what lies over it: takes focus, keys, wheel and pointer. (The next is the other schedule's.) */
export const surface = (page) => page.locator('section[aria-labelledby="timeline-title"] .surface').first();
/** What it shows as a picture, to be compared. */
export const drawn = (page) => surface(page).locator('canvas').first().evaluate((canvas) => canvas.toDataURL());
/** True once it has a picture. (Chromium warns of pixels that are read again and again.) */
export const isDrawn = (page) => surface(page).locator('canvas').first().evaluate((canvas) => {
  const { width, height } = canvas;
  return canvas.toDataURL() !== Object.assign(document.createElement('canvas'), { width, height }).toDataURL();
});
/** The picture once it is there and moves no more: blocks move to their places in another timeline. */
export const picture = async (page) => {
  await eventually(() => isDrawn(page), Boolean);
  return still(() => drawn(page));
};

/** Opens a sheet of settings, the model's: to be evaluated in the page. */
export function unfold() {
  document.querySelector('button.group[aria-expanded=false]')?.click();
}

/** Opens a tab of the panels below the first screen. */
export const tab = (page, name) => page.getByRole('tab', { name, exact: true }).click();

/** Closes the dialog that is open, and waits until the page has heard of it: the event comes later. */
export const closeDialog = (page) => page.evaluate(() => new Promise((closed) => {
  const dialog = document.querySelector('dialog[open]');
  dialog.addEventListener('close', closed, { once: true });
  dialog.close();
}));

/** Presses what is rarely used: it stands in a menu of the header. */
export async function more(page, name) {
  const menu = page.locator('header.bar .menu.more');
  if (!(await menu.evaluate((one) => one.open))) await menu.locator('summary').click();
  await menu.getByRole('button', { name }).click();
}
