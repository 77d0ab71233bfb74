// `make shots`: the page at the design's sizes, light and dark, into tests/browser/shots/.
// More addresses to picture: node tests/browser/screenshots.mjs NAME '#v=1&tp=4' ...
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { DESKTOP, EMBED, launch, PHONE } from './browser.mjs';
import { serve } from './server.mjs';

const OUT = fileURLToPath(new URL('./shots/', import.meta.url));
const SHOTS = [
  ['desktop', '', DESKTOP],
  ['phone', '', PHONE],
  ['embed', '#v=1&view.embed=timeline', EMBED],
];
/** Pictures of the page that the project itself shows: where they stand, the size of the window. */
const KEPT = [
  ['public/social.png', { viewport: { width: 1200, height: 630 } }],
  ['docs/screenshot.png', { viewport: { width: 1440, height: 900 } }],
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
for (const [place, options] of KEPT) {
  const { page } = await browser.open(`${server.url}#v=1&model=llama-3.1-70b&gpus=256&tp=4&pp=8`, options);
  await page.locator('.suggestion').first().waitFor();
  const path = fileURLToPath(new URL(`../../${place}`, import.meta.url));
  await page.screenshot({ path });
  console.log(path);
  await page.context().close();
}
await browser.close();
await server.close();
