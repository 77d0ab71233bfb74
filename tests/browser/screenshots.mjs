// `make shots`: the page at the design's sizes, light and dark, into tests/browser/shots/.
// More addresses to picture: node tests/browser/screenshots.mjs NAME '#v=1&tp=4' ...
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { crc32, deflateSync } from 'node:zlib';
import { DESKTOP, EMBED, launch, PHONE } from './browser.mjs';
import { serve } from './server.mjs';

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
  ['docs/screenshot.png', { viewport: { width: 1600, height: 900 } }, ''],
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
await browser.close();
await server.close();

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
