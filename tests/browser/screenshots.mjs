// `make shots`: the page at the design's sizes, light and dark, into tests/browser/shots/.
// More addresses to picture: node tests/browser/screenshots.mjs NAME '#v=1&tp=4' ...
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { crc32, deflateSync } from 'node:zlib';
import { DESKTOP, EMBED, launch, PHONE } from './browser.mjs';
import { serve } from './server.mjs';
import { settled } from './tour.mjs';

const OUT = fileURLToPath(new URL('./shots/', import.meta.url));
const SHOTS = [
  ['desktop', '', DESKTOP],
  ['phone', '', PHONE],
  ['embed', '#v=1&view.embed=timeline', EMBED],
];
/** The answer and the timeline of the page under a title, for pages that show a link by its picture. */
const SOCIAL = `
  .sentence, .views, header.bar > :not(.logo, h1), .inputs, .tabbar, .play, .pipe .seg, .pipe .legend, .pipe .panel-head { display: none !important; }
  .results > :not(.strip-frame, section:has(.pipe-grid)), .rank-memory { display: none !important; }
  .top, .results, .strip-frame, .results > section { border: 0 !important; }
  main.page { display: block; }
  header.bar { height: 72px; padding: 24px 52px 0; zoom: 1.3; }
  .results { --pad: 52px; }
  .results::before { content: "Does it fit, how long is a step,\\A where does the time go?"; display: block; padding: 22px 52px 0; white-space: pre; font-size: 44px; line-height: 54px; font-weight: 600; letter-spacing: -.015em; }
  .pipe-grid { grid-template-columns: minmax(0, 1fr) !important; zoom: 1.35; }
`;
/** Pictures of the page that the project itself shows: where they stand, the size of the window, the style of their own. */
const KEPT = [
  ['public/social.png', { viewport: { width: 1200, height: 630 } }, SOCIAL],
];
/** The moving picture of README.md: runs, one after the other, each for so many milliseconds. */
const MOVING = { place: 'docs/tour.webp', size: { width: 1280, height: 720 }, quality: 0.8 };
const FRAMES = [
  ['model=llama-3.1-70b&gpus=256&tp=4&pp=8', 2400],
  ['model=llama-3.1-70b&gpus=256&tp=2&pp=4', 1800],
  ['model=llama-3.1-70b&gpus=256&tp=2&pp=4&recompute=full', 1800],
  ['model=llama-3.1-70b&gpus=256&tp=4&pp=8&schedule=gpipe', 1800],
  ['model=llama-3.1-70b&gpus=256&tp=4&pp=8&schedule=zb-h1', 1800],
  ['model=llama-3.1-70b&gpus=256&tp=4&pp=8&gpu=b200-sxm', 1800],
  ['model=deepseek-v3&gpus=2048&tp=1&pp=16&ep=64&schedule=dualpipe&seq_len=4096&global_batch=15360&recompute=full', 2400],
];
for (let i = 2; i + 1 < process.argv.length; i += 2) SHOTS.push([process.argv[i], process.argv[i + 1], DESKTOP]);

const server = await serve();
const browser = await launch();
await mkdir(OUT, { recursive: true });
for (const [name, fragment, options] of SHOTS) {
  for (const colorScheme of ['light', 'dark']) {
    const { page, problems } = await browser.open(server.url + fragment, { ...options, colorScheme });
    // The cards come after the search.
    if (!fragment.includes('view.embed')) await page.locator('.plan, .suggestion').first().waitFor({ state: 'attached' });
    const path = `${OUT}${name}-${colorScheme}.png`;
    await page.screenshot({ path });
    console.log(path);
    for (const problem of problems) console.log(`  ${problem}`);
    await page.context().close();
  }
}
for (const [place, options, style] of KEPT) {
  const { page } = await browser.open(`${server.url}#v=1&model=llama-3.1-70b&gpus=256&tp=4&pp=8`, { ...options, reducedMotion: 'reduce', bypassCSP: true });
  await page.locator('.suggestion').first().waitFor();
  if (style) await page.addStyleTag({ content: style });
  await page.waitForTimeout(500);
  const path = fileURLToPath(new URL(`../../${place}`, import.meta.url));
  const picture = await page.screenshot();
  const blank = await page.context().newPage();
  await writeFile(path, indexed(await blank.evaluate(palette, picture.toString('base64'))));
  console.log(path);
  await page.context().close();
}
{
  const { place, size, quality } = MOVING;
  const open = { viewport: size, reducedMotion: 'reduce', colorScheme: 'light', bypassCSP: true };
  const { page } = await browser.open(`${server.url}#v=1&${FRAMES[0][0]}`, open);
  const blank = await page.context().newPage();
  const frames = [];
  for (const [run, duration] of FRAMES) {
    await page.evaluate((hash) => { location.hash = hash; }, `v=1&${run}`);
    await settled(page);
    const picture = await page.screenshot();
    frames.push({ duration, bytes: Buffer.from(await blank.evaluate(webp, [picture.toString('base64'), quality]), 'base64') });
  }
  const path = fileURLToPath(new URL(`../../${place}`, import.meta.url));
  await writeFile(path, moving(size, frames));
  console.log(path);
  await page.context().close();
}
await browser.close();
await server.close();

/** In the browser: a PNG as WebP, both in base64. */
async function webp([base64, quality]) {
  const image = new Image();
  image.src = `data:image/png;base64,${base64}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  canvas.getContext('2d', { alpha: false }).drawImage(image, 0, 0);
  const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/webp', quality })).arrayBuffer());
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Pictures as one that moves, over and over: the container of WebP (RFC 9649, sections 2.7 and 2.8) around their chunks. */
function moving({ width, height }, frames) {
  const number = (value, bytes) => { const out = Buffer.alloc(bytes); out.writeUIntLE(value, 0, bytes); return out; };
  const chunk = (type, data) => Buffer.concat([Buffer.from(type, 'latin1'), number(data.length, 4), data, Buffer.alloc(data.length % 2)]);
  const size = Buffer.concat([number(width - 1, 3), number(height - 1, 3)]);
  const animated = 2;
  // The chunk with the picture, of those behind "RIFF", the size and "WEBP": a profile of colours stands beside it.
  const picture = (bytes) => {
    for (let at = 12; at < bytes.length;) {
      const end = at + 8 + bytes.readUInt32LE(at + 4);
      if (bytes.toString('latin1', at, at + 4) === 'VP8 ') return bytes.subarray(at, end + end % 2);
      at = end + end % 2;
    }
    throw new Error('the browser wrote no lossy WebP');
  };
  // Each is drawn over the last, without blending.
  const frame = ({ duration, bytes }) => chunk('ANMF', Buffer.concat([Buffer.alloc(6), size, number(duration, 3), number(2, 1), picture(bytes)]));
  const head = [chunk('VP8X', Buffer.concat([number(animated, 4), size])), chunk('ANIM', Buffer.alloc(6))];
  const body = Buffer.concat([Buffer.from('WEBP', 'latin1'), ...head, ...frames.map(frame)]);
  return Buffer.concat([Buffer.from('RIFF', 'latin1'), number(body.length, 4), body]);
}

/** In the browser: the 256 most frequent colours of a PNG, and the place of the nearest of them for every pixel. */
async function palette(base64) {
  const image = new Image();
  image.src = `data:image/png;base64,${base64}`;
  await image.decode();
  const { width, height } = image;
  const context = new OffscreenCanvas(width, height).getContext('2d');
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const colours = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([colour]) => colour);
  const parts = (colour) => [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
  const table = colours.map(parts);
  const apart = ([r, g, b], colour) => (r - colour[0]) ** 2 + (g - colour[1]) ** 2 + (b - colour[2]) ** 2;
  const nearest = new Map(colours.map((colour, at) => [colour, at]));
  for (const colour of counts.keys()) {
    if (nearest.has(colour)) continue;
    const distances = table.map((one) => apart(parts(colour), one));
    nearest.set(colour, distances.indexOf(Math.min(...distances)));
  }
  return { width, height, table, indices: Array.from(pixels, (pixel) => nearest.get(pixel)) };
}

/** A PNG with a palette: a fifth of the bytes of the browser's own. */
function indexed({ width, height, table, indices }) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, check]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // 8 bits a pixel, colours by their place in the palette.
  head.set([8, 3, 0, 0, 0], 8);
  const rows = Buffer.alloc((width + 1) * height);
  for (let row = 0; row < height; row += 1) rows.set(indices.slice(row * width, (row + 1) * width), row * (width + 1) + 1);
  const parts = [['IHDR', head], ['PLTE', Buffer.from(table.flat())], ['IDAT', deflateSync(rows, { level: 9 })], ['IEND', Buffer.alloc(0)]];
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), ...parts.map(([type, data]) => chunk(type, data))]);
}
