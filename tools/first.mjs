// Puts the first screen of a page without a link into index.html, as the program itself shows it: node tools/first.mjs dist
//
// The built page is opened in Chromium, at two sizes; what stands in the first screen of either is
// written into the skeleton, inert. `public/guard.js` shows it where the program would show the same, which then takes its
// place. Without a Chromium the skeleton stays as it is.
import { readFileSync, writeFileSync } from 'node:fs';
import { launch } from '../tests/browser/browser.mjs';
import { serve } from '../tests/browser/server.mjs';

const dist = process.argv[2];
/** A high desktop and a phone. */
const SIZES = [{ width: 1440, height: 1600 }, { width: 390, height: 844 }];

/** Runs before the page: workers that answer nothing, so that what a search finds later is not in the picture. */
function silent() {
  globalThis.Worker = class extends EventTarget {
    postMessage() {}
    terminate() {}
  };
}

/** Runs in the page: marks what is seen without scrolling, without the foot: it stands below a panel that has no height yet. */
async function mark() {
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  for (const element of document.body.querySelectorAll(':not(.footnote, .footnote *)')) {
    // What has no box of its own is as visible as what is in it.
    const shown = element.checkVisibility() || getComputedStyle(element).display === 'contents';
    if (shown && element.getBoundingClientRect().top < innerHeight) element.dataset.seen = '';
  }
}

/** Runs in the page: what is marked as HTML, with all that stands before it in its parent. */
function written() {
  // Nobody reads, presses or points at what is inert.
  const SPARED = /^(title|aria-(label|describedby|live)|tabindex|role|spellcheck|inputmode|maxlength|placeholder|data-(seen|action))$/;
  const pen = document.createElement('canvas').getContext('2d');
  /** The chosen option, and the one that makes the list as wide as it is. */
  const options = (list) => {
    pen.font = getComputedStyle(list).font;
    const width = (option) => pen.measureText(option.text).width;
    const widest = [...list.options].reduce((most, option) => (width(option) > width(most) ? option : most), list.options[0]);
    return [...new Set([list.selectedOptions[0], widest])].filter(Boolean).map((option) => {
      const group = option.parentElement.tagName === 'OPTGROUP' ? option.parentElement.cloneNode() : undefined;
      group?.append(new Option(option.text));
      return group ?? new Option(option.text);
    });
  };
  /** A canvas of the timeline as paths, a class a kind of block: it is painted before the program is there. */
  const still = (canvas) => {
    const { width } = canvas;
    const rows = document.querySelectorAll('.pipe .ranks > *').length;
    const high = parseFloat(document.querySelector('.pipe .paper').style.height);
    const root = getComputedStyle(document.documentElement);
    const kinds = { f: '--t-forward', b: '--t-backward', w: '--t-weight' };
    // One reading: Chromium warns of several.
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, Math.ceil(high));
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    for (const [name, value] of Object.entries({ class: 'still', viewBox: `0 0 ${width} ${high}`, height: high, preserveAspectRatio: 'none' })) svg.setAttribute(name, value);
    for (const [kind, variable] of Object.entries(kinds)) {
      const colour = parseInt(root.getPropertyValue(variable).trim().slice(1), 16);
      let d = '';
      for (let row = 0; row < rows; row += 1) {
        const [top, pitch] = [(row * high) / rows, high / rows];
        const first = Math.round(top + 2) * width;
        const at = (x) => 4 * (first + x);
        const is = (x) => x < width && data[at(x) + 3] === 255 && (data[at(x)] << 16 | data[at(x) + 1] << 8 | data[at(x) + 2]) === colour;
        for (let x = 0, from; x < width; x += 1) {
          if (!is(x)) continue;
          for (from = x; is(x);) x += 1;
          d += `M${from} ${+top.toFixed(1)}h${x - from}v${+(pitch - 1).toFixed(1)}h${from - x}z`;
        }
      }
      const path = document.createElementNS(svg.namespaceURI, 'path');
      path.setAttribute('class', kind);
      path.setAttribute('d', d);
      if (d) svg.append(path);
    }
    return svg;
  };
  const copied = (element) => {
    const copy = element.cloneNode(false);
    for (const { name } of [...copy.attributes]) if (SPARED.test(name)) copy.removeAttribute(name);
    if (element.tagName === 'INPUT') copy.setAttribute('value', element.value);
    if (element.tagName === 'SELECT') copy.append(...options(element));
    else if ('seen' in element.dataset) {
      const nodes = [...element.childNodes];
      const last = nodes.findLastIndex((node) => (node.dataset ? 'seen' in node.dataset : node.nodeType === Node.TEXT_NODE && node.data.trim()));
      for (const node of nodes.slice(0, last + 1)) {
        if (node.nodeType === Node.COMMENT_NODE) continue;
        // Two texts side by side stay two.
        if (node.nodeType === Node.TEXT_NODE && copy.lastChild?.nodeType === Node.TEXT_NODE) copy.append(new Comment());
        copy.append(node.dataset ? copied(node) : node.cloneNode());
        if (node.matches?.('.pipe canvas')) copy.append(still(node));
      }
    }
    return copy;
  };
  const parts = [...document.body.children].filter((part) => 'seen' in part.dataset && part.id !== 'crash' && part.id !== 'update');
  return parts.map((part) => copied(part).outerHTML).join('');
}

let browser;
try {
  browser = await launch();
} catch {
  console.log('first: no Chromium here, so the page keeps its skeleton without figures');
  process.exit();
}
// A page with an icon of its own: the browser would ask for one, which is not there.
const server = await serve({ dir: dist, pages: { '/blank.html': '<!DOCTYPE html><link rel="icon" href="data:,">' } });
const { page, problems } = await browser.open(`${server.url}blank.html`, { started: false, colorScheme: 'light' });
await page.addInitScript(silent);
await page.goto(server.url);
await page.waitForFunction(() => globalThis.shardscopeStarted);
for (const size of SIZES) {
  await page.setViewportSize(size);
  await page.evaluate(mark);
}
await page.setViewportSize(SIZES[0]);
await page.evaluate(() => new Promise(requestAnimationFrame));
const first = await page.evaluate(written);
// Parts that the page still fetches fail once the server is closed.
const faults = [...problems];
await browser.close();
await server.close();
if (faults.length > 0) throw new Error(`first: ${faults.join('; ')}`);

const html = readFileSync(`${dist}/index.html`, 'utf8');
const skeleton = '<div id="skeleton">';
if (!html.includes(skeleton)) throw new Error('first: the page has no skeleton');
writeFileSync(`${dist}/index.html`, html.replace(skeleton, () => `${skeleton}\n<div id="first" inert>${first}</div>`));
