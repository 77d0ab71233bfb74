// What people expect of any page and Rust need not do: a drawer that takes the focus and gives it back, Escape.

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

// Left and right arrows turn the steps of a lesson, where they move nothing else.
addEventListener('keydown', ({ key, target, altKey, ctrlKey, metaKey, shiftKey }) => {
  const turn = { ArrowLeft: 'back', ArrowRight: 'next' }[key];
  if (!turn || altKey || ctrlKey || metaKey || shiftKey || target.closest?.('input, textarea, select, dialog, [role=region]')) return;
  document.querySelector(`.lesson-head .${turn}`)?.click();
});

// Enter in the search goes to the first setting found.
addEventListener('keydown', ({ key, target }) => {
  if (key !== 'Enter' || !target.matches?.('.find') || !target.value.trim()) return;
  document.querySelector('.field :is(input, select)')?.focus();
});

// Pictures leave by a module of their own, fetched at the first press.
addEventListener('save-picture', async ({ target, detail }) => {
  (await import('./save.js')).save(target, detail);
});
