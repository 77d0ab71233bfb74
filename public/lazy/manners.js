// What people expect of any page and Rust need not do: a way past the inputs, a drawer that takes the focus and gives it
// back, Escape, the other language, what the form's words mean.

// Past the inputs. A button and not a link: the address is the run's.
const results = document.querySelector('body > :not(#skeleton) #results');
if (results) {
  const skip = document.createElement('button');
  skip.className = 'skip';
  skip.textContent = 'Skip to the results';
  skip.onclick = () => results.focus();
  document.body.prepend(skip);
}

// The form's words, once the page has time: a panel alone has no form.
if (document.querySelector('.inputs .field')) {
  const idle = globalThis.requestIdleCallback ?? setTimeout;
  idle(() => import('./words.js').catch(() => {}));
}

const drawer = document.querySelector('.detail');
const closer = drawer?.querySelector('.close-sheet');
/** Where the drawer is a drawer, not a column. */
const isDrawer = () => closer?.checkVisibility() ?? false;
/** The button of the figure that was asked about. */
let asked;

addEventListener('click', ({ target }) => {
  const figure = target.closest?.('[data-action^="explain "]');
  if (figure) {
    asked = figure;
    // The page opens it in answer to the same click.
    requestAnimationFrame(() => { if (isDrawer()) closer.focus(); });
  } else if (closer?.contains(target)) {
    asked?.focus();
  }
});

addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || event.defaultPrevented || document.querySelector('dialog[open]')) return;
  const menu = event.target.closest?.('details.menu[open]');
  if (menu) {
    menu.open = false;
    menu.querySelector('summary').focus();
  } else if (isDrawer()) {
    closer.click();
  }
});

// Enter in the search goes to the first setting found.
addEventListener('keydown', ({ key, target }) => {
  if (key !== 'Enter' || !target.matches?.('.find') || !target.value.trim()) return;
  document.querySelector('.field :is(input, select)')?.focus();
});

// The other language: a button in the header; a panel alone has none. Each is named in its own.
const IN_LINK = /([#?&]view\.lang=)(\w+)/;
const LANGUAGES = { en: ['EN', 'English'], zh: ['中文', '简体中文'] };
const spoken = () => document.documentElement.lang.slice(0, 2);
const other = () => (spoken() === 'zh' ? 'en' : 'zh');

const button = document.createElement('button');
button.className = 'quiet';
button.translate = false;
const show = () => {
  [button.textContent, button.title] = LANGUAGES[other()];
  button.lang = other();
};
const turn = async (to) => {
  if (to === spoken() || !Object.hasOwn(LANGUAGES, to)) return;
  const { speak } = await import('./tongue.js');
  await speak(to);
};
button.onclick = () => {
  const to = other();
  try {
    localStorage['shardscope.language'] = to;
  } catch { /* a frame without storage: for this visit */ }
  // A link that asks for a language asks for the other one now.
  if (IN_LINK.test(location.hash)) location.replace(location.hash.replace(IN_LINK, `$1${to}`));
  turn(to);
};
addEventListener('hashchange', () => turn(IN_LINK.exec(location.hash)?.[2] ?? spoken()));
new MutationObserver(show).observe(document.documentElement, { attributeFilter: ['lang'] });
show();
document.querySelector('body > :not(#skeleton) header.bar .spring')?.after(button);

// Pictures leave by a module of their own, fetched at the first press.
addEventListener('save-picture', async ({ target, detail }) => {
  (await import('./save.js')).save(target, detail);
});
