// A tour of the page: everything that opens is opened, and every text that a person may read is written down.
import { eventually } from './calculator.mjs';

/** Tabs of the panels; the last one computes the published runs. */
export const TABS = ['Memory', 'Overlap', 'Layouts', 'Pipeline', 'Costs and scaling', 'Accuracy'];

/** Runs that between them show most of what the page can say. */
export const RUNS = {
  default: '#v=1',
  moe: '#v=1&model=deepseek-v3&gpus=2048&tp=1&pp=16&ep=64&zero=1&schedule=dualpipe&global_batch=15360',
  error: '#v=1&tp=7&gpus=8&wings=2&seq_len=4q',
  full: '#v=1&model=llama-3.1-70b&gpus=64&tp=8&pp=4&cp=2&schedule=zb-h1&recompute=selective&memory_method=fujii',
  own: '#v=1&pp=4&schedule=custom',
  compared: '#v=1&b.pp=2&b.global_batch=512',
};

/** The pages beside the calculator. */
export const PAGES = ['sources.html', 'limits.html', 'sources.zh.html', 'limits.zh.html'];

/** How long the document has to be still, milliseconds: longer than the pause before layouts are searched. */
const STILL_MS = 400;

/** Waits until no work is under way (browser.mjs counts the worker's), no part of the page is awaited, and the document
 * has been still for a moment. */
export const settled = (page) => page.evaluate((moment) => new Promise((still) => {
  const awaited = () => [...document.querySelectorAll('p.muted[role=status]')].some((words) => (
    ['Loading…', '正在加载…'].includes(words.textContent) && words.checkVisibility()));
  // The playhead of the first screen never stands still.
  const changes = (records) => records.some(({ target }) => !(target instanceof Element ? target : target.parentElement)?.closest('.play, .played'));
  const watch = new MutationObserver((records) => { if (changes(records)) again(); });
  let timer;
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (globalThis.unanswered > 0 || document.querySelector('[aria-busy=true]') || awaited()) return again();
      watch.disconnect();
      return still();
    }, moment);
  };
  watch.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  again();
}), STILL_MS);

/** Opens every fold, again while new ones appear. */
export async function openAll(page) {
  for (let round = 0; round < 6; round += 1) {
    const opened = await page.evaluate(() => {
      const closed = [
        ...document.querySelectorAll('details:not([open]) > summary'),
        ...document.querySelectorAll('button[aria-expanded=false]'),
      ].filter((button) => button.checkVisibility());
      closed.forEach((button) => button.click());
      return closed.length;
    });
    if (opened === 0) break;
    await settled(page);
  }
}

/** Waits for what is slow: the plan, and the accuracy, which begins when it is seen. */
export async function compute(page) {
  for (const one of await page.getByRole('tab').all()) await one.click();
  await eventually(() => page.locator('.plan table tbody tr').count(), (rows) => rows > 0);
  await eventually(() => page.locator('#accuracy table').count(), (tables) => tables > 0);
  await settled(page);
}

/** Every text and every attribute that is read, once. */
export const texts = (page) => page.evaluate(() => {
  // A sentence is said as a whole.
  for (const word of document.querySelectorAll('abbr')) {
    const sentence = word.parentNode;
    word.replaceWith(word.textContent);
    sentence.normalize();
  }
  const seen = new Set();
  const put = (text) => { if (/[A-Za-z]{2}/.test(text)) seen.add(text.replace(/\s+/g, ' ').trim()); };
  const nodes = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) {
      if (!node.parentElement.closest('script,style,code,pre,noscript,textarea,span[lang=en],[translate=no]')) put(node.data);
    } else if (!node.closest('[translate=no]')) {
      for (const name of ['title', 'aria-label', 'placeholder', 'alt']) put(node.getAttribute(name) ?? '');
    }
  }
  return [...seen];
});
