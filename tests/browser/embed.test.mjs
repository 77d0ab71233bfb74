// One panel in someone's page: nothing but the panel, its height told to the page around it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMBED } from './browser.mjs';
import { calculator, eventually, figures, surface } from './calculator.mjs';

const host = (page, sandbox = '') => `<!DOCTYPE html><link rel="icon" href="data:,">
  <script>addEventListener('message', (event) => { (globalThis.heard ??= []).push(event.data); });</script>
  <iframe ${sandbox} src="/index.html#v=1&tp=4&${page}" width="600" height="400"></iframe>`;
const PANELS = ['memory', 'timeline', 'overlap', 'strip'];
const site = calculator({
  cors: true,
  pages: Object.fromEntries([
    ...[...PANELS, 'all'].map((panel) => [`/host-${panel}.html`, host(`view.embed=${panel}`)]),
    ['/sandboxed.html', host('view.embed=timeline', 'sandbox="allow-scripts"')],
  ]),
});

const TITLES = { memory: '#memory-title', timeline: '#timeline-title', overlap: '#overlap-title', strip: '.strip' };

/** The panels that are seen. */
async function seen(page) {
  const shown = await Promise.all(PANELS.map((panel) => page.locator(TITLES[panel]).count()));
  return PANELS.filter((_, at) => shown[at] > 0);
}

for (const panel of [...PANELS, 'all']) {
  test(`view.embed=${panel} shows ${panel === 'all' ? 'every panel' : 'one panel'} without inputs`, async () => {
    const { page, problems } = await site.open(`#v=1&view.embed=${panel}`, EMBED);
    assert.deepEqual(await seen(page), panel === 'all' ? PANELS : [panel]);
    assert.equal(await page.locator('[data-field], input, textarea, header.bar, .inputs, .detail').count(), 0);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'as wide as its frame');
    assert.deepEqual(problems, []);
  });

  test(`view.embed=${panel} tells the page around it how high it is`, async () => {
    const { page } = await site.open(`host-${panel}.html`, { started: false });
    const heights = () => page.evaluate(() => (globalThis.heard ?? []).filter((data) => data?.type === 'shardscope:height'));
    const frame = page.frames()[1];
    await frame.waitForFunction(() => globalThis.shardscopeStarted);
    const height = () => frame.evaluate(() => document.documentElement.scrollHeight);
    // The last message is the height that the frame settles on.
    const [last, real] = await eventually(
      async () => [(await heights()).at(-1), await height()],
      ([message, now]) => message?.px === now,
    );
    assert.deepEqual(last, { type: 'shardscope:height', px: real });
    assert.ok(Number.isInteger(real) && real > 20);
  });
}

test('an unknown panel is shown as everything', async () => {
  const { page } = await site.open('#v=1&view.embed=nonsense', EMBED);
  assert.deepEqual(await seen(page), PANELS);
});

test('the way out leads to the same run in the whole calculator', async () => {
  const { page } = await site.open('#v=1&tp=4&view.embed=strip');
  const link = await page.getByRole('link', { name: 'Open in Shardscope' }).getAttribute('href');
  const { page: whole } = await site.open(link);
  assert.equal(await figures(whole), await figures(page));
  assert.equal(await whole.locator('[data-field="tp"] input').inputValue(), '4');
});

test('view.theme wins over what the browser prefers', async () => {
  for (const [theme, colorScheme] of [['dark', 'light'], ['light', 'dark']]) {
    const { page } = await site.open(`#v=1&view.embed=strip&view.theme=${theme}`, { ...EMBED, colorScheme });
    assert.equal(await page.locator('html').getAttribute('data-theme'), theme);
  }
});

test('a sandboxed frame draws and tells its height', async () => {
  const { page, problems } = await site.open('sandboxed.html', { started: false });
  await eventually(() => page.evaluate(() => globalThis.heard?.some((data) => data.px > 0)), Boolean);
  const frame = page.frames()[1];
  await eventually(
    () => surface(frame).locator('canvas').first().evaluate((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.some((value) => value !== 0);
    }),
    Boolean,
  );
  assert.deepEqual(problems, []);
});
