// The plan: searched beside the page, stopped, filtered, compared, mapped, swept; every button also without a mouse and
// without a worker.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alike, becomes, calculator, eventually, figures, fragment, matches, tab, until } from './calculator.mjs';
import { settled } from './tour.mjs';

const SMALL = '#v=1&gpus=8&pp=1&global_batch=64';
/** Takes long enough to be stopped. */
const LARGE = '#v=1&model=deepseek-v3&gpus=2048&tp=1&pp=16&ep=64&global_batch=15360';

const site = calculator({
  cors: true,
  pages: {
    '/sandboxed.html': `<!DOCTYPE html><link rel="icon" href="data:,">
      <iframe sandbox="allow-scripts" src="/index.html${LARGE}" width="1000" height="800"></iframe>`,
  },
});

const panel = (page) => page.locator('section[aria-labelledby="plan-title"]');
const rows = (page) => panel(page).getByRole('region', { name: 'Ranked layouts' }).locator('tbody tr');
const chip = (page, word) => panel(page).locator(`[data-action="plan ${word}"]`);
const pressed = (page, word) => eventually(
  () => chip(page, word).getAttribute('aria-pressed'),
  (state) => state === 'true',
);
const idle = (page) => panel(page).locator('[aria-busy=false]').waitFor();
const button = (page) => panel(page).locator('.panel-head button:not(.toggle-link)');

/** A page whose layouts are searched: it does so by itself. */
async function planned(link = SMALL) {
  const { page, problems } = await site.open(link);
  await tab(page, 'Layouts');
  await chip(page, 'filter:fits').waitFor();
  await settled(page);
  return { page, problems };
}

/** Opens what other sizes would cost: the second view of a tab. */
async function scaling(page) {
  await tab(page, 'Costs and scaling');
  const section = page.locator('section[aria-labelledby="costs-title"]');
  await section.getByRole('button', { name: 'scaling', exact: true }).click();
  const action = (word) => section.locator(`[data-action="plan ${word}"]`);
  return { section, action, idle: () => section.locator('[aria-busy=false]').waitFor() };
}

/** The filters that are folded. */
const unfolded = (page) => chip(page, 'toggle:filters').click();

test('layouts are searched by themselves: the run once at its rank, the first the fastest, one the simplest', async () => {
  const { page, problems } = await planned();
  await becomes(() => rows(page).count(), 9);
  await becomes(() => rows(page).getByText('your run').count(), 1);
  await chip(page, 'toggle:rows').click();
  await eventually(() => rows(page).count(), (count) => count === 20);
  await becomes(() => panel(page).getByText('simplest', { exact: true }).count(), 1);
  await matches(() => panel(page).getByRole('status').first().innerText(), /layouts looked at/);
  // The reason is in a row's detail.
  await rows(page).nth(1).locator('summary').click();
  await matches(() => rows(page).nth(1).locator('details p').innerText(), /saves|As fast|They may be equal/);
  assert.deepEqual(problems, []);
});

test('a search shows its progress and can be stopped and gone on with', async () => {
  const { page, problems } = await site.open(LARGE);
  await tab(page, 'Layouts');
  await panel(page).getByRole('progressbar').waitFor();
  await button(page).click();
  await panel(page).getByRole('status').filter({ hasText: 'Stopped.' }).waitFor();
  const said = () => panel(page).getByRole('status').first().innerText();
  const before = await said();
  await becomes(() => panel(page).getByRole('progressbar').count(), 0);
  await button(page).click();
  await eventually(said, (now) => now !== before);
  assert.deepEqual(problems, []);
});

test('a row is used by the run and the link, and the search stays', async () => {
  const { page, problems } = await planned();
  const before = await figures(page);
  const row = rows(page).filter({ has: page.locator('[data-action=load]') }).nth(3);
  const step = (await row.locator('td').nth(2).innerText()).split('\n')[0];
  await row.locator('[data-action=load]').click();
  await eventually(() => figures(page), (now) => now !== before);
  await eventually(() => rows(page).filter({ hasText: 'your run' }).innerText(), (own) => own.includes(step));
  const narrow = (text) => text.replace(/\s+/g, '');
  // The main figure has two digits of the row's three.
  const main = narrow(step.replace(/[\d.]+/, (digits) => Number(digits).toPrecision(2)));
  await eventually(() => figures(page), (now) => narrow(now).includes(main));
  await becomes(() => rows(page).count(), 9);
  await matches(() => fragment(page), /gpus=8/);
  assert.deepEqual(problems, []);
});

test('chips filter the rows, and show all again', async () => {
  const { page } = await planned();
  await unfolded(page);
  await chip(page, 'filter:ZeRO=3').click();
  await pressed(page, 'filter:ZeRO=3');
  const names = () => rows(page).locator('summary').allInnerTexts();
  await eventually(names, (all) => all.length > 0 && all.every((name) => name.includes('ZeRO-3')));
  await chip(page, 'filter:max-TP=1').click();
  await eventually(names, (all) => all.length > 0 && all.every((name) => !/(^|\s)TP \d/.test(name)));
  await chip(page, 'filter:none').click();
  await eventually(names, (all) => all.some((name) => !name.includes('ZeRO-3')));
});

test('layouts are shown by cost and by memory too', async () => {
  const { page, problems } = await planned();
  const hours = panel(page).getByRole('columnheader', { name: 'GPU-hours' });
  await chip(page, 'order:Cheapest').click();
  await hours.waitFor();
  await idle(page);
  await rows(page).nth(1).getByText(/\d GPUs/).waitFor();
  await chip(page, 'order:Leanest').click();
  await pressed(page, 'order:Leanest');
  await hours.waitFor({ state: 'detached' });
  await becomes(() => rows(page).count(), 10);
  assert.deepEqual(problems, []);
});

test('pinned rows stand side by side with differences', async () => {
  const { page } = await planned();
  for (const at of [0, 4]) {
    const row = rows(page).nth(at + 1);
    await row.locator('summary').click();
    const pin = row.locator('[data-action^="plan pin:"]');
    await pin.click();
    await eventually(() => pin.getAttribute('aria-pressed'), (state) => state === 'true');
  }
  const pinned = panel(page).getByRole('region', { name: 'Pinned layouts' });
  await eventually(() => pinned.locator('thead th').count(), (count) => count === 3);
  await matches(() => pinned.getByRole('row', { name: /^step time/ }).innerText(), /\+.*\(\+\d+\.\d\s%\)/);
  await chip(page, 'unpin').click();
  await pinned.waitFor({ state: 'detached' });
});

test('the map is open, changes its axes, and a cell loads', async () => {
  const { page, problems } = await planned();
  const map = panel(page).getByRole('region', { name: 'Map of layouts' });
  await map.waitFor();
  await idle(page);
  const fastest = () => rows(page).nth(1).locator('td').nth(2).innerText();
  const cells = () => map.locator('td button').allInnerTexts();
  const head = (text) => text.split('\n')[0];
  await until(async () => [await fastest(), await cells()], ([first, all]) => {
    assert.ok(all.map(head).includes(head(first)), `${first} of ${all.map(head)}`);
  });
  await chip(page, 'map:ZeRO,TP').click();
  await eventually(() => map.locator('thead th').allInnerTexts(), (heads) => heads.slice(1).join() === '0,1,2,3');
  await idle(page);
  await chip(page, 'map:layouts').click();
  await eventually(() => map.locator('thead th').allInnerTexts(), (heads) => heads.slice(1).join() === '2,4,8,16,32');
  await idle(page);
  const before = await fragment(page);
  await map.locator('td button').last().click();
  await eventually(() => fragment(page), (now) => now !== before);
  assert.deepEqual(problems, []);
});

test('a sweep draws its curves, and a table says the same', async () => {
  const { page, problems } = await planned();
  const { section, action, idle: still } = await scaling(page);
  await action('sweep:global_batch').click();
  await section.locator('.curves svg circle').first().waitFor();
  await still();
  await action('toggle:sweep-table').click();
  const table = section.getByRole('region', { name: 'How the cost grows' }).locator('tbody tr');
  await table.first().waitFor();
  await becomes(() => table.count(), 17);
  await alike(() => section.locator('.curves figure').first().locator('circle').count(), () => table.locator('[data-action=load]').count());
  assert.deepEqual(problems, []);
});

test('single questions are answered in a sentence that can be used', async () => {
  const { page, problems } = await planned();
  const { section, action, idle: still } = await scaling(page);
  const answer = section.locator('.answer');
  for (const [word, said] of [['ask:fewest', /fewest/], ['ask:micro-batch', /largest micro-batch/]]) {
    await action(word).click();
    await eventually(() => answer.innerText(), (text) => said.test(text));
    await still();
  }
  await action('ask:fewest').click();
  await answer.getByText('fewest').waitFor();
  const before = await fragment(page);
  await answer.locator('[data-action=load]').click();
  await eventually(() => fragment(page), (now) => now !== before);
  assert.deepEqual(problems, []);
});

test('the keyboard reaches every button and keeps its place', async () => {
  const { page } = await planned();
  await unfolded(page);
  await chip(page, 'filter:ZeRO=1').focus();
  await page.keyboard.press('Enter');
  await pressed(page, 'filter:ZeRO=1');
  await idle(page);
  await eventually(
    () => page.evaluate(() => document.activeElement.getAttribute('data-action')),
    (action) => action === 'plan filter:ZeRO=1',
  );
  await page.keyboard.press('Tab');
  await becomes(() => page.evaluate(() => document.activeElement.getAttribute('data-action')), 'plan filter:ZeRO=2');
});

test('a measured step is named as one layout\'s', async () => {
  const { page } = await planned(`${SMALL}&measured_step_s=20`);
  await panel(page).getByText(/times its own estimate/).waitFor();
});

test('a sandboxed frame searches in slices without a worker, and stops', async () => {
  const { page, problems } = await site.open('sandboxed.html', { started: false });
  const frame = page.frames()[1];
  await frame.waitForFunction(() => globalThis.shardscopeStarted);
  await tab(frame, 'Layouts');
  await panel(frame).getByRole('progressbar').waitFor();
  await button(frame).click();
  await frame.getByRole('status').filter({ hasText: 'Stopped.' }).waitFor();
  await button(frame).click();
  await eventually(() => rows(frame).count(), (count) => count === 10);
  await idle(frame);
  assert.deepEqual(problems, []);
});
