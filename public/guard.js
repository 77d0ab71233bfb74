// The notice where the calculator cannot start or has stopped: its words are in index.html, each with its data-when. No style
// sheet takes part: it may be what is missing.
const find = (id) => document.getElementById(id);
const { build } = document.currentScript.dataset;

// The language: what the link asks for, else what was chosen here before, else the browser's. Simplified Chinese is no help
// to who reads Traditional.
let chosen;
try {
  chosen = localStorage['shardscope.language'];
} catch { /* a frame without storage */ }
const inLink = /[#?&]view\.lang=(\w+)/.exec(location.hash || location.search)?.[1];
const browsers = /^zh(?!.*(TW|HK|MO|Hant))/.test(navigator.language) ? 'zh' : 'en';
if ((inLink ?? chosen ?? browsers) === 'zh') document.documentElement.lang = 'zh-CN';

// The first screen stands in the page (tools/first.mjs) as the program shows it where no link and no language asks for
// another; until then it is inert.
const root = document.documentElement;
if (root.lang === 'en' && !location.hash && !location.search) {
  root.dataset.first = '';
  let theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  try {
    theme = localStorage['shardscope.theme'] ?? theme;
  } catch { /* a frame without storage */ }
  root.dataset.theme = theme;
} else {
  addEventListener('DOMContentLoaded', () => find('first')?.remove());
}

// A link says at once what it holds, until the calculator reads it: on a slow line that takes seconds.
const count = (value) => value.replace(/\B(?=(\d{3})+$)/g, '\u202f');
/** An id nearly as the calculator writes its name, which it knows only once it is there: "llama-3.1-70b", "Llama 3.1 70B". */
const named = (id) => id.split('-').map((word) => (
  /^[a-z]{4}/.test(word) ? word[0].toUpperCase() + word.slice(1) : word.toUpperCase()
)).join(' ');
const PIECES = [
  ['model', named],
  ['gpus', (value) => `${count(value)} GPUs`],
  ['gpu', named],
  ...['tp', 'pp', 'cp', 'ep'].map((key) => [key, (value) => `${key.toUpperCase()} ${value}`]),
  ['zero', (value) => `ZeRO-${value}`],
  ['schedule', named],
  ['seq_len', (value) => `${count(value)} ${root.lang === 'en' ? 'tokens' : '词元'}`],
];
addEventListener('DOMContentLoaded', () => {
  const held = new URLSearchParams(location.hash.slice(1) || location.search);
  const sentence = document.querySelector('#skeleton > .top .sentence');
  if (!sentence) return;
  for (const [key, words] of PIECES) {
    const value = held.get(key);
    // What is not a plain word is left to the calculator, which says what is wrong with it.
    if (!/^[\w.-]{1,40}$/.test(value ?? '')) continue;
    const piece = document.createElement('span');
    piece.className = 'piece';
    piece.textContent = words(value);
    sentence.append(piece);
  }
});

/** What the page's own policy allows scripts: a policy of its host has to allow as much. */
const policy = () => document.querySelector('meta[http-equiv=Content-Security-Policy]')?.content
  .split('; ').find((rule) => rule.startsWith('script-src '))
  ?? "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'";

function stop(when, what) {
  const { dataset, children } = document.body;
  // A file that a policy forbids is missing as well.
  if (dataset.stopped && !(when === 'policy' && dataset.stopped === 'missing')) return;
  dataset.stopped = when;
  for (const child of children) child.hidden = child.id !== 'crash';
  for (const words of find('crash').querySelectorAll('[data-when]')) words.hidden = words.dataset.when !== when;
  for (const words of find('crash').querySelectorAll('[lang]')) words.hidden = words.lang !== document.documentElement.lang;
  find('crash-policy').textContent = policy();
  find('crash-link').href = find('crash-link').textContent = location.href;
  find('crash-report').value = [what, build, location.href, navigator.userAgent].join('\n');
}

/** A module with a table of references to JavaScript values, as the calculator has one: browsers from 2022 on take it. */
const PROBE = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 4, 4, 1, 0x6f, 0, 1);
const isOld = () => !globalThis.WebAssembly?.validate(PROBE);

function failed({ target, message, error, reason }) {
  // A picture or an optional script that is missing stops nothing; where the page is not built (`make serve`), a style sheet.
  if (target.rel || target.dataset?.optional !== undefined) return;
  const what = `${message || reason || target.src || 'a module'} ${(error || reason || '').name || ''}`;
  if (/panicked at|RuntimeError/.test(what)) stop('fault', what);
  else if (!find('skeleton')) return;
  else if (isOld()) stop('old', what);
  else if (/Content Security Policy|by CSP/.test(what)) stop('policy', what);
  // The origin of a frame in a sandbox is no one's.
  else if (origin === 'null') stop('sandbox', what);
  else stop('missing', what);
}

// A policy that the host sends may forbid what the page's own allows. What an extension puts into the page is not
// the page's.
document.addEventListener('securitypolicyviolation', (violation) => {
  const { target, disposition, effectiveDirective, blockedURI } = violation;
  if (disposition !== 'enforce' || !/^(script|connect)-src/.test(effectiveDirective) || !find('skeleton')) return;
  const isLoader = blockedURI === 'inline' && target.matches?.('script[type=module]:not([src])');
  if (isLoader || blockedURI === 'wasm-eval' || /\.(js|wasm)$/.test(blockedURI)) {
    const say = () => stop('policy', `${effectiveDirective} forbids ${blockedURI}`);
    if (document.readyState === 'loading') addEventListener('DOMContentLoaded', say);
    else say();
  }
});
// Once a newer build begins, no page of the older one stays, one that is still being loaded neither.
try {
  const { serviceWorker } = navigator;
  if (build && top === self && serviceWorker.controller) serviceWorker.oncontrollerchange = () => location.reload();
} catch { /* Where workers are refused there is no copy. */ }
addEventListener('error', failed, true);
addEventListener('unhandledrejection', failed);
addEventListener('load', () => {
  // A damaged file in the browser's cache would stay there.
  find('crash-reload').onclick = async () => {
    const files = performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.startsWith('http'));
    await Promise.all(files.map((file) => fetch(file, { cache: 'reload' }).catch(() => {})));
    location.reload();
  };
  find('crash-copy').onclick = () => {
    find('crash-report').select();
    const chinese = document.documentElement.lang === 'zh-CN';
    const [copied, refused] = chinese ? ['已复制', '请选中后复制'] : ['Copied', 'Select and copy'];
    find('crash-copy').textContent = document.execCommand('copy') ? copied : refused;
  };
  // Only what `make build` wrote has a copy to keep.
  if (build && top === self) import('./lazy/update.js').catch(() => {});
});
