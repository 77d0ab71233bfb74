// What the terms of the form mean: the glossary's word for a label stands with the field's hint while the field has the
// focus, and is the label's tooltip.
import { answer } from '../pkg/shardscope.js';

let terms = new Map();
const read = (async () => {
  const box = document.createElement('template');
  box.innerHTML = answer('room', 'terms', '', '', '');
  terms = new Map([...box.content.children].map((term) => [term.dataset.term, term]));
})();

async function explain({ target }) {
  const field = target.closest?.('.field');
  const hint = field?.querySelector('.hint');
  if (!hint || hint.children.length > 0) return;
  // The first time only: afterwards a screen reader finds it with the field that it enters.
  if (terms.size === 0) await read;
  const term = terms.get(field.dataset.field);
  const label = field.querySelector('label');
  const control = document.getElementById(label.htmlFor);
  // Lists and switches have their hint as a tooltip alone.
  if (control && !control.hasAttribute('aria-describedby')) {
    control.setAttribute('aria-describedby', `${hint.id} ${hint.id.replace(/hint$/, 'issues')}`);
  }
  if (!term || hint.children.length > 0) return;
  const means = document.createElement('span');
  means.className = 'means';
  means.append(...term.cloneNode(true).childNodes);
  hint.append(means);
  label.title = term.firstChild.data;
}

addEventListener('focusin', explain);
addEventListener('pointerover', explain);
// Who was quicker than this module.
explain({ target: document.activeElement });
