// Saves or copies the text beside a button, or saves a picture of a panel: its own <svg>, or one that the calculator
// draws for the purpose. Loaded at the first press on a [data-save] button: data-save is the file's name, data-kind what is done
// (text, copy, svg or png), data-picture what the calculator draws where the page shows the picture as something else
// than SVG.

import { answer } from '../pkg/shardscope.js';

/** Properties that a file cannot leave to the page's style sheet. */
const STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-opacity', 'stroke-width', 'stroke-dasharray', 'font-size',
  'font-style', 'font-weight', 'text-anchor', 'opacity', 'visibility', 'display'];
const MARGIN = 12;
/** Pixels of a PNG for each of the picture's. */
const SCALE = 2;
const NAMESPACE = 'http://www.w3.org/2000/svg';

/** A copy of `svg` that looks the same alone, on paper of its own. */
function alone(svg) {
  const inner = svg.cloneNode(true);
  const copies = inner.querySelectorAll('*');
  svg.querySelectorAll('*').forEach((element, at) => {
    const style = getComputedStyle(element);
    copies[at].setAttribute('style', STYLES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(';'));
    copies[at].removeAttribute('class');
  });
  const { width, height } = svg.getBoundingClientRect();
  // What stands beside the picture, such as names, belongs to it.
  const box = svg.getBBox();
  const [left, top] = [Math.max(0, -box.x), Math.max(0, -box.y)];
  const right = Math.max(0, box.x + box.width - width);
  const below = Math.max(0, box.y + box.height - height);
  const outer = document.createElementNS(NAMESPACE, 'svg');
  const set = (element, values) => Object.entries(values).forEach(([key, value]) => element.setAttribute(key, value));
  const size = { width: width + left + right + 2 * MARGIN, height: height + top + below + 2 * MARGIN };
  set(outer, { xmlns: NAMESPACE, ...size, 'font-family': 'system-ui, sans-serif' });
  const paper = document.createElementNS(NAMESPACE, 'rect');
  set(paper, { width: '100%', height: '100%', fill: getComputedStyle(document.body).backgroundColor });
  inner.removeAttribute('class');
  const { fontSize, fill } = getComputedStyle(svg);
  inner.setAttribute('style', `overflow:visible;font-size:${fontSize};fill:${fill}`);
  set(inner, { x: MARGIN + left, y: MARGIN + top, width, height });
  outer.append(paper, inner);
  return { text: new XMLSerializer().serializeToString(outer), ...size };
}

function offer(name, href) {
  const link = Object.assign(document.createElement('a'), { href, download: name });
  link.click();
}

async function png(name, { text, width, height }) {
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement('canvas'), { width: width * SCALE, height: height * SCALE });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  offer(name, canvas.toDataURL('image/png'));
}

/** The nearest picture to `button`, going outwards. */
function nearest(button) {
  for (let around = button.parentElement; around; around = around.parentElement) {
    const svg = around.querySelector('svg:not(.critical)');
    if (svg) return svg;
  }
  return null;
}

function offerText(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  offer(name, address);
  setTimeout(() => URL.revokeObjectURL(address));
}

/** Copies the text of the <pre> beside `button`, and says so on it. */
async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Select and copy';
  }
}

/** Saves what `button` names. */
export async function save(button) {
  const { save: name, kind, picture, unit } = button.dataset;
  if (kind === 'copy' || kind === 'text') {
    const text = button.parentElement.querySelector('pre').textContent;
    if (kind === 'copy') await copy(button, text);
    else offerText(name, text, 'text/plain');
    return;
  }
  const theme = document.documentElement.dataset.theme ?? 'light';
  const around = button.closest('section, dialog') ?? document.body;
  let drawn;
  if (picture) {
    const width = Math.round(Math.max(640, around.clientWidth - 96));
    const { link } = button.closest('[data-link]')?.dataset ?? {};
    const text = answer('picture', `${picture}:${theme}:${width}`, unit ?? '', link ?? location.hash, '');
    const size = /^<svg[^>]*?width="([\d.]+)"[^>]*?height="([\d.]+)"/.exec(text);
    if (!size) return;
    drawn = { text, width: Number(size[1]), height: Number(size[2]) };
  } else {
    const svg = nearest(button);
    if (!svg) return;
    drawn = alone(svg);
  }
  const file = `shardscope-${name}.${kind}`;
  if (kind === 'png') {
    await png(file, drawn);
  } else {
    offerText(file, drawn.text, 'image/svg+xml');
  }
}
