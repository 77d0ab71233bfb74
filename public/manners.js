// What a keyboard and a screen reader expect of any page and Rust need not do: a way past the inputs, a drawer that takes
// the focus and gives it back, Escape.

// Past the inputs. A button and not a link: the address is the run's.
const results = document.querySelector('body > :not(#skeleton) #results');
if (results) {
  const skip = document.createElement('button');
  skip.className = 'skip';
  skip.textContent = 'Skip to the results';
  skip.onclick = () => results.focus();
  document.body.prepend(skip);
}

const drawer = document.querySelector('.detail');
const closer = drawer?.querySelector('.close-sheet');
/** Where the drawer is a drawer, not a column. */
const isDrawer = () => closer?.checkVisibility() ?? false;
/** The figure that was asked about, by its id: its button may be drawn anew meanwhile. */
let asked;

addEventListener('click', ({ target }) => {
  const figure = target.closest?.('[data-ask]');
  if (figure) {
    asked = figure.dataset.ask;
    // The page opens it in answer to the same click.
    requestAnimationFrame(() => { if (isDrawer()) closer.focus(); });
  } else if (closer?.contains(target)) {
    document.querySelector(`[data-ask="${CSS.escape(asked ?? '')}"]`)?.focus();
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
