// A tour of the page: everything that opens is opened, and every text that a person may read is written down.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { eventually } from './calculator.mjs';

/** Runs that between them show most of what the page can say. */
export const RUNS = {
  default: '#v=1',
  moe: '#v=1&model=deepseek-v3&gpus=2048&tp=1&pp=16&ep=64&zero=1&schedule=dualpipe&global_batch=15360',
  error: '#v=1&tp=7&gpus=60&wings=2&seq_len=4q',
  full: '#v=1&model=llama-3.1-70b&gpus=64&tp=8&pp=4&cp=2&schedule=zb-h1&recompute=selective&memory_method=fujii',
  own: '#v=1&pp=4&schedule=custom',
  compared: '#v=1&b.pp=2&b.global_batch=512',
};

/** The pages beside the calculator. */
export const PAGES = ['sources.html', 'limits.html', 'sources.zh.html', 'limits.zh.html'];

/** The panels that the package answers with, by name. */
export const PANELS = [
  ...readFileSync(new URL('../../src/web/panels/registry.rs', import.meta.url), 'utf8').matchAll(/entry\(\s*"([\w-]+)"/g),
].map(([, name]) => name).filter((name) => !['csv', 'trace', 'svg'].includes(name));
assert.ok(PANELS.length >= 20, 'the panels are listed in another form');

/** Waits until no work is under way (browser.mjs counts the worker's) and the document has been still for a moment. */
export const settled = (page) => page.evaluate(() => new Promise((still) => {
  const watch = new MutationObserver(() => again());
  let timer;
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (globalThis.unanswered > 0 || document.querySelector('[aria-busy=true]')) return again();
      watch.disconnect();
      return still();
    }, 150);
  };
  watch.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  again();
}));

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

/** Presses what is slow: the plan and the accuracy, and waits for them. */
export async function compute(page) {
  await page.locator('[aria-labelledby="plan-title"] .panel-head button').click();
  await page.locator('#accuracy button').first().click();
  await eventually(() => page.locator('.plan table tbody tr').count(), (rows) => rows > 0);
  await eventually(() => page.locator('#accuracy table').count(), (tables) => tables > 1);
  await settled(page);
}

/** What people bring in: one of each kind, and what is none. */
const BROUGHT = [
  '#v=1&tp=4',
  '{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":128256}',
  'pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --tensor-model-parallel-size 2 --recompute-granularity full --optimizer lamb',
  '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nseq_len = 8192\n[parallelism]\ntensor_parallel_degree = 2\n[activation_checkpoint]\nmode = "full"',
  '{"train_micro_batch_size_per_gpu":1,"gradient_accumulation_steps":8,"zero_optimization":{"stage":2},"bf16":{"enabled":true},"optimizer":{"type":"Adam"}}',
  'parallelism:\n  dp: 8\n  tp: 2\n  pp: 1\ntokens:\n  micro_batch_size: 1\n  sequence_length: 4096\n  batch_accumulation_per_replica: 4\n',
  'qqq', '{"model_type":"qqq"}',
];

/** Puts into the page what all panels show of `link`, figures included, one after the other. */
export const panels = (page, link) => page.evaluate(async ([link, names, brought]) => {
  const { default: init, answer } = await import(new URL('pkg/shardscope.js', document.baseURI).href);
  await init();
  const box = document.createElement('div');
  box.id = 'tour';
  const put = (name, of) => {
    const one = document.createElement('div');
    one.innerHTML = answer(name, of, 'GiB', link, '');
    box.append(one);
    return one;
  };
  for (const name of names) {
    // A panel that offers a choice is asked for each.
    const choices = [...put(name, '').querySelectorAll('[data-action^="choose "]')].map((button) => button.dataset.action.slice(7));
    for (const of of new Set(choices)) put(name, of);
  }
  // The dialog: what opens it, and what opens from there.
  const opens = (of) => [...of.querySelectorAll('[data-action^="open "]')].map((button) => button.dataset.action.slice(5));
  const pages = new Set(opens(document).filter((of) => of !== 'import'));
  for (const of of pages) opens(put('room', of)).forEach((next) => pages.add(next));
  for (const text of brought) put('room', `import ${text}`);
  const asked = [...document.querySelectorAll('[data-action^="explain "]'), ...box.querySelectorAll('[data-action^="explain "]')];
  for (const id of new Set(asked.map((button) => button.dataset.action.slice(8)))) put('about', id);
  document.body.append(box);
  await Promise.resolve();
}, [link.replace('#', ''), PANELS, BROUGHT]);

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
