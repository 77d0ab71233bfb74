// What a person sees when the calculator cannot start, or stops: plain words, the link, a report, a way on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, calculator, eventually, figures, matches, more } from './calculator.mjs';

const site = calculator({ pages: { '/blank.html': '<!DOCTYPE html><link rel="icon" href="data:,">' } });
const LINK = '#v=1&tp=4';

/** A page of its own whose context is prepared before it loads; not waited for. */
async function broken(prepare, options) {
  const { page } = await site.open('blank.html', { started: false, ...options });
  await prepare(page);
  await page.goto(`${site.url}${LINK}`);
  return page;
}

const panel = (page) => page.locator('#crash');

/** The panel says `words`, holds the run's link, and hides the rest. */
async function says(page, words) {
  await panel(page).waitFor();
  await matches(() => panel(page).innerText(), words);
  await becomes(() => page.locator('#crash-link').getAttribute('href'), `${site.url}${LINK}`);
  await becomes(() => page.locator('#skeleton:visible').count(), 0);
  return eventually(() => page.locator('#crash-report').inputValue(), (report) => report.includes(LINK) && report.includes('Chrome/'));
}

test('a page without WebAssembly says so', async () => {
  const page = await broken((page) => page.addInitScript(() => { delete globalThis.WebAssembly; }));
  await says(page, /cannot run the calculator[\s\S]*WebAssembly/);
});

/** A module with a section that no browser knows. */
const damaged = (route) => route.fulfill({
  contentType: 'application/wasm',
  body: Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 0x7f, 1, 0]),
});

test('a browser too old for the code says so', async () => {
  const page = await broken(async (page) => {
    await page.addInitScript(() => { WebAssembly.validate = () => false; });
    await page.route('**/*_bg.wasm', damaged);
  });
  const report = await says(page, /cannot run the calculator/);
  assert.match(report, /CompileError/);
});

test('without its optional files the page works', async () => {
  const page = await broken(async (page) => {
    await page.addInitScript(() => { localStorage['shardscope.language'] = 'zh'; });
    await page.route(/(lazy\/\w+\.js|locales\/zh\.json|data\/\w+\.csv|icon\.svg)$/, (route) => route.abort());
  });
  await page.locator('#skeleton').waitFor({ state: 'detached' });
  assert.equal(await panel(page).isVisible(), false);
});

for (const [what, pattern, fault] of [
  ['the WebAssembly is not fetched', '**/*_bg.wasm', (route) => route.abort()],
  ['the WebAssembly is damaged', '**/*_bg.wasm', damaged],
  ['the WebAssembly is not there', '**/*_bg.wasm', (route) => route.fulfill({ status: 404, body: '' })],
  ['the script is not fetched', '**/shardscope-page-*.js', (route) => route.abort()],
]) {
  test(`where ${what}, that is said, and a reload mends it`, async () => {
    const page = await broken((page) => page.route(pattern, fault));
    await says(page, /did not arrive/);
    await page.unroute(pattern);
    await page.getByRole('button', { name: 'Reload' }).click();
    await eventually(() => page.locator('[data-field="tp"] input').inputValue().catch(() => ''), (tp) => tp === '4');
  });
}

test('a part that does not arrive says so where it is needed, and can be tried again', async () => {
  const { page } = await site.open(LINK);
  const missing = [/shardscope-(?!page)[^/]*\.wasm$/, (route) => route.abort()];
  await page.route(...missing);
  await more(page, 'Import');
  await page.locator('#dialog textarea').first().fill('v=1&pp=2');
  const said = page.locator('.missing');
  await page.locator('#dialog .missing', { hasText: 'did not arrive' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Cluster', exact: true }).click();
  await said.filter({ visible: true }).waitFor();
  assert.equal(await panel(page).isVisible(), false);
  await page.unroute(...missing);
  await said.filter({ visible: true }).getByRole('button').click();
  await page.locator('.cluster-map').waitFor();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await more(page, 'Import');
  await page.locator('#dialog .missing button').click();
  await page.locator('#dialog').getByText('Read as a link.').waitFor();
});

test('where a host forbids the style the figures stand, and nothing says that the calculator stopped', async () => {
  const page = await broken((page) => page.route('**/', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, headers: { ...answer.headers(), 'content-security-policy': "style-src 'self'" } });
  }));
  await eventually(() => figures(page), (text) => /GiB/.test(text));
  assert.equal(await page.evaluate(() => document.styleSheets.length), 0);
  assert.doesNotMatch(await page.locator('body').innerText(), /calculator stopped|did not arrive|cannot run the calculator/);
  await page.evaluate(() => { reportError('panicked at a place'); });
  await panel(page).waitFor();
  const words = await matches(() => page.locator('body').innerText(), /The calculator stopped/);
  assert.doesNotMatch(words, /did not arrive|计算器已停止|GiB/);
});

/** A real trap: the calculator is asked for more memory than there is. */
async function trap(page) {
  await page.addInitScript(() => {
    addEventListener('TrunkApplicationStarted', ({ detail }) => { globalThis.exported = detail.wasm; });
  });
  await page.reload();
  await page.waitForFunction(() => globalThis.exported);
  await page.evaluate(() => {
    const { exported } = globalThis;
    setTimeout(() => { for (;;) exported.__wbindgen_malloc(0x7ffffff0, 4); });
  });
}

test('a fault shows its panel once; reload and defaults lead on', async () => {
  const { page } = await site.open(LINK);
  await trap(page);
  const report = await says(page, /The calculator stopped/);
  assert.match(report, /RuntimeError|panicked/);
  await becomes(() => page.locator('.strip:visible').count(), 0);
  await page.evaluate(() => { reportError('panicked at another place'); });
  assert.equal(await page.locator('#crash-report').inputValue(), report);
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Reload' }).click()]);
  await eventually(() => page.locator('[data-field="tp"] input').inputValue().catch(() => ''), (tp) => tp === '4');
  await trap(page);
  await page.getByRole('link', { name: 'Start from the defaults' }).click();
  await eventually(() => page.locator('[data-field="tp"] input').inputValue().catch(() => ''), (tp) => tp === '2');
  await becomes(() => page.url(), site.url);
});

test('a panic\'s own words are in the report', async () => {
  const { page } = await site.open(LINK);
  // As the page's panic hook says it.
  await page.evaluate(() => { reportError('panicked at src/somewhere.rs:1:1: a reason'); });
  assert.match(await says(page, /The calculator stopped/), /src\/somewhere\.rs:1:1: a reason/);
});

test('the report can be copied, or is selected where that is refused', async () => {
  for (const refuse of [false, true]) {
    const { page } = await site.open(LINK);
    await page.evaluate((refuse) => {
      if (refuse) document.execCommand = () => false;
      reportError('panicked at a place');
    }, refuse);
    const copy = panel(page).locator('#crash-copy');
    await copy.click();
    await becomes(() => copy.textContent(), refuse ? 'Select and copy' : 'Copied');
    const selected = () => page.locator('#crash-report').evaluate((box) => box.value.slice(box.selectionStart, box.selectionEnd));
    await matches(selected, /a place/);
  }
});

test('errors that are not the calculator\'s stop nothing', async () => {
  const { page } = await site.open(LINK);
  await page.evaluate(() => {
    reportError(new Error('an extension stumbled'));
    dispatchEvent(new ErrorEvent('error', { message: 'ResizeObserver loop completed with undelivered notifications.' }));
    Promise.reject(new Error('nobody listens'));
    document.body.append(Object.assign(new Image(), { src: 'nowhere.png' }));
  });
  await page.waitForTimeout(200);
  assert.equal(await panel(page).isVisible(), false);
});

test('a fault in the worker leaves the page alone, and the next job gets another worker', async () => {
  const { page } = await site.open('blank.html', { started: false });
  await page.route('**/worker.js', (route) => route.fulfill({
    contentType: 'text/javascript',
    body: `postMessage('open'); addEventListener('message', ({ data }) => { if (data.length) throw new WebAssembly.RuntimeError('unreachable'); });`,
  }));
  await page.goto(`${site.url}#v=1&model=llama-3.1-405b&gpus=16384&tp=8&pp=16&global_batch=262144`);
  await page.locator('.strip').getByText('ended with a fault').or(page.getByText('ended with a fault')).first().waitFor();
  assert.equal(await panel(page).isVisible(), false);
  await page.unroute('**/worker.js');
  await page.locator('header.bar').getByRole('button', { name: 'Schedules', exact: true }).click();
  await page.locator('.card').nth(3).waitFor();
  assert.equal(await panel(page).isVisible(), false);
});

test('without storage and clipboard the page works and says what to do', async () => {
  const { page } = await site.open('blank.html', { started: false });
  await page.addInitScript(() => {
    Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } });
    Object.defineProperty(navigator, 'clipboard', { value: { writeText: () => Promise.reject(new DOMException('denied', 'NotAllowedError')) } });
  });
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(site.url);
  await page.locator('#skeleton').waitFor({ state: 'detached' });
  const theme = () => page.locator('html').getAttribute('data-theme');
  const before = await theme();
  await page.getByRole('button', { name: 'Light or dark' }).click();
  await eventually(theme, (now) => now !== before);
  await page.getByRole('button', { name: 'Share' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).first().click();
  await page.getByRole('dialog').getByText('Select and copy').first().waitFor();
  await matches(() => figures(page), /GiB/);
  assert.deepEqual(faults, []);
});
