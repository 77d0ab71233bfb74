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
for (let i = 2; i + 1 < process.argv.length; i += 2) SHOTS.push([process.argv[i], process.argv[i + 1], DESKTOP]);

const server = await serve();
const browser = await launch();
await mkdir(OUT, { recursive: true });
for (const [name, fragment, options] of SHOTS) {
  for (const colorScheme of ['light', 'dark']) {
    const { page, problems } = await browser.open(server.url + fragment, { ...options, colorScheme });
    // The drawer comes after the first paint.
    if (!fragment.includes('view.embed')) await page.locator('.detail .term').waitFor({ state: 'attached' });
    const path = `${OUT}${name}-${colorScheme}.png`;
    await page.screenshot({ path });
    console.log(path);
    for (const problem of problems) console.log(`  ${problem}`);
    await page.context().close();
  }
}
await browser.close();
await server.close();
