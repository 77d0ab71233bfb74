// Saves a picture of a panel as SVG or PNG: the <svg> nearest to the pressed button, or one that the calculator drew for
// the purpose. Loaded at the first press: in Rust it would be part of every visit.

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
  // A picture with a view box of its own size is whole by itself, however small it is shown.
  const natural = svg.hasAttribute('viewBox') && svg.hasAttribute('width') ? svg.viewBox.baseVal : null;
  const { width, height } = natural ?? svg.getBoundingClientRect();
  const margin = natural ? 0 : MARGIN;
  // What stands beside the picture, such as names, belongs to it.
  const box = natural ? { x: 0, y: 0, width, height } : svg.getBBox();
  const [left, top] = [Math.max(0, -box.x), Math.max(0, -box.y)];
  const right = Math.max(0, box.x + box.width - width);
  const below = Math.max(0, box.y + box.height - height);
  const outer = document.createElementNS(NAMESPACE, 'svg');
  const set = (element, values) => Object.entries(values).forEach(([key, value]) => element.setAttribute(key, value));
  const size = { width: width + left + right + 2 * margin, height: height + top + below + 2 * margin };
  set(outer, { xmlns: NAMESPACE, ...size, 'font-family': 'system-ui, sans-serif' });
  const paper = document.createElementNS(NAMESPACE, 'rect');
  set(paper, { width: '100%', height: '100%', fill: getComputedStyle(document.body).backgroundColor });
  inner.removeAttribute('class');
  const { fontSize, fill } = getComputedStyle(svg);
  inner.setAttribute('style', `overflow:visible;font-size:${fontSize};fill:${fill}`);
  set(inner, { x: margin + left, y: margin + top, width, height });
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

/** Saves the picture `name`, as `end` says; `svg` is its text where the page shows it as something else. */
export async function save(button, { name, end, svg }) {
  let drawn;
  if (svg) {
    const size = /^<svg[^>]*?width="([\d.]+)"[^>]*?height="([\d.]+)"/.exec(svg);
    if (!size) return;
    drawn = { text: svg, width: Number(size[1]), height: Number(size[2]) };
  } else {
    const shown = nearest(button);
    if (!shown) return;
    drawn = alone(shown);
  }
  const file = `shardscope-${name}.${end}`;
  if (end === 'png') await png(file, drawn);
  else offerText(file, drawn.text, 'image/svg+xml');
}
