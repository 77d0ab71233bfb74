// The page in another language. English stands where it is made; strings/zh.json says it in Chinese, by text or by pattern.
// What is not in it stays English. Texts are changed before they are painted, and kept, so that English comes back.
//
// A pattern has holes: {#} is a quantity (a number, with a unit perhaps), {.} a name without punctuation, {} anything. What
// fills them is translated too and goes into the holes of the translation, in order or by number: {2} the {1}.

/** Attributes that people read or hear. */
const ATTRIBUTES = ['title', 'aria-label', 'aria-valuetext', 'placeholder', 'alt', 'label'];
/** What is no language: code, formulas, what people typed. */
const ALONE = 'script,style,code,pre,textarea,[translate=no]';

const HOLE = /\{([#.]?)\}/;
const FILLS = {
  '#': '([-−+±≈]?\\d[\\d.,  ]*(?: ?(?:[%×]|[KMGTP]i?B(?:/s)?|[munµ]?s|min|h|d|[kMBT]))?)',
  '.': '([^,;:·()]+?)',
  '': '([^]+?)',
};
/** Where a text that no row knows is taken apart, and what joins the parts again: parts of a list (true: all of them known) and sentences ... */
const SEAMS = [[' · ', ' · '], ['; ', '；', true], [/(?<=[.!?…]) (?=[A-Z])/, ' ']];
/** ... and, after the patterns that are hardly more than holes, parts of a sentence. */
const FINE_SEAMS = [[': ', '：'], [', ', '、']];
/** A pattern that knows fewer letters is hardly more than holes. */
const WEAK = 3;

/** A lookup in `table`: English in, the other language out; what it does not know comes back as it is. */
export function dictionary(table) {
  const words = new Map();
  const strong = [];
  const weak = [];
  for (const [english, other] of Object.entries(table)) {
    // Odd pieces are holes.
    const pieces = english.split(HOLE);
    if (pieces.length === 1) {
      words.set(english, other);
      continue;
    }
    const source = pieces.map((piece, at) => (at % 2 ? FILLS[piece] : piece.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')));
    // How much it knows, and how narrow its holes are.
    const known = pieces.reduce((sum, piece, at) => sum + (at % 2 ? piece.length / 4 : piece.length), 0);
    const letters = pieces.filter((_, at) => at % 2 === 0).join('').match(/[A-Za-z]/g)?.length ?? 0;
    (letters < WEAK ? weak : strong).push({
      english, other, known, start: pieces[0], end: pieces.at(-1), is: new RegExp(`^${source.join('')}$`),
    });
  }
  // The pattern that knows most is asked first.
  for (const patterns of [strong, weak]) patterns.sort((a, b) => b.known - a.known);
  const seen = new Map();

  const matching = (patterns, text) => {
    for (const pattern of patterns) {
      if (!text.startsWith(pattern.start) || !text.endsWith(pattern.end)) continue;
      const match = pattern.is.exec(text);
      if (match) return { ...pattern, holes: match.slice(1) };
    }
    return undefined;
  };
  /** Which row says `text`, and what fills its holes; the weak ones only where nothing else can be done. */
  const row = (text) => (
    words.has(text) ? { english: text, other: words.get(text), holes: [] } : matching(strong, text)
  );
  const fill = ({ other, holes }) => {
    let next = 0;
    return other.replace(/\{(\d*|[#.])\}/g, (hole, number) => say(holes[number > 0 ? number - 1 : next++] ?? hole));
  };
  const apart = (seams, text) => {
    for (const [seam, joint, all] of seams) {
      const parts = text.split(seam);
      if (parts.length === 1) continue;
      const others = parts.map(say);
      const known = (other, at) => other !== parts[at] || (all && (words.has(other) || !/[a-z]{3}/.test(other)));
      if (all ? others.every(known) : others.some(known)) return others.join(joint);
    }
    return undefined;
  };

  const said = (text) => {
    // A heading is a name with a capital.
    const found = row(text) ?? row(text[0].toLowerCase() + text.slice(1));
    if (found) return fill(found);
    const parts = apart(SEAMS, text);
    if (parts) return parts;
    const hardly = matching(weak, text);
    return hardly ? fill(hardly) : apart(FINE_SEAMS, text) ?? text;
  };

  const say = (text) => {
    if (!/[A-Za-z]/.test(text)) return text;
    let other = seen.get(text);
    if (other === undefined) {
      if (seen.size > 20_000) seen.clear();
      // Blanks, marks and numbering stay around it.
      const [, before, core, after] = /^((?:[\s⚠✕ℹ–•≈]|\d+\. )*)([^]*?)(\s*)$/.exec(text);
      other = before + said(core.replace(/\s+/g, ' ')) + after;
      seen.set(text, other);
    }
    return other;
  };
  return { say, row: (text) => row(text) ?? matching(weak, text) };
}

/** English by the node or the element that shows something else, with what it shows. */
const texts = new WeakMap();
const attributes = new WeakMap();
let say = (text) => text;
let speaking = false;

function text(node) {
  if (ours.has(node) || node.parentElement?.closest(ALONE)) return;
  const kept = texts.get(node);
  const english = kept?.shown === node.data ? kept.english : node.data;
  const shown = say(english);
  texts.set(node, { english, shown });
  if (shown !== node.data) node.data = shown;
}

function attribute(element, name) {
  const now = element.getAttribute(name);
  if (!now || element.closest('[translate=no]')) return;
  const all = attributes.get(element) ?? {};
  const english = all[name]?.shown === now ? all[name].english : now;
  const shown = say(english);
  all[name] = { english, shown };
  attributes.set(element, all);
  if (shown !== now) element.setAttribute(name, shown);
}

/** Sentences whose words carry their meaning, by their element: as they came, and as they are shown. */
const sentences = new WeakMap();
/** What they are made of when shown, which is said already. */
const ours = new WeakSet();

/** Says such sentences as a whole, as only then they can be, and marks the words again where they now stand. */
function whole(root) {
  for (const element of new Set([...root.querySelectorAll('abbr')].map((word) => word.parentElement))) {
    if (sentences.get(element)?.shown[0] === element.firstChild) continue;
    const english = [...element.childNodes];
    const said = say(element.textContent);
    const marks = [];
    for (const word of english.filter((node) => node.localName === 'abbr')) {
      const name = say(word.textContent);
      const at = said.indexOf(name);
      if (at < 0 || marks.some((mark) => at < mark.at + mark.name.length && mark.at < at + name.length)) continue;
      const again = word.cloneNode();
      again.append(name);
      marks.push({ at, name, again });
    }
    const shown = [];
    let done = 0;
    for (const { at, name, again } of marks.sort((a, b) => a.at - b.at)) {
      shown.push(document.createTextNode(said.slice(done, at)), again);
      done = at + name.length;
    }
    shown.push(document.createTextNode(said.slice(done)));
    element.replaceChildren(...shown);
    for (const node of shown) ours.add(node.firstChild ?? node);
    element.dataset.whole = '';
    sentences.set(element, { english, shown });
  }
}

/** Puts back the sentences as they came. */
function restore(root) {
  for (const element of root.querySelectorAll('[data-whole]')) {
    const { english, shown } = sentences.get(element) ?? {};
    if (shown?.[0] === element.firstChild) element.replaceChildren(...english);
    delete element.dataset.whole;
    sentences.delete(element);
  }
}

function walk(root) {
  if (root.nodeType === Node.TEXT_NODE) return text(root);
  if (root.nodeType !== Node.ELEMENT_NODE) return undefined;
  if (speaking) whole(root);
  else restore(root);
  const nodes = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = root; node; node = nodes.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) text(node);
    else for (const name of ATTRIBUTES) if (node.hasAttribute(name)) attribute(node, name);
  }
  return undefined;
}

let watch;
function changed(changes) {
  for (const { type, target, attributeName, addedNodes } of changes) {
    if (type === 'characterData') text(target);
    else if (type === 'attributes') attribute(target, attributeName);
    else if (target.querySelector?.('abbr')) walk(target);
    else addedNodes.forEach(walk);
  }
  // What was just written needs no second look.
  watch.takeRecords();
}

/** Shows the page in `language`: 'zh', else English. */
export async function speak(language) {
  const table = language === 'zh' && await (await fetch(new URL('../strings/zh.json', import.meta.url))).json();
  speaking = Boolean(table);
  say = table ? dictionary(table).say : (english) => english;
  document.documentElement.lang = table ? 'zh-CN' : 'en';
  walk(document.documentElement);
  watch ??= new MutationObserver(changed);
  if (table) {
    watch.observe(document.documentElement, {
      subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ATTRIBUTES,
    });
  } else {
    watch.disconnect();
  }
}
