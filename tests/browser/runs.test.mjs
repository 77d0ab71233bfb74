// My runs: a log is pasted and understood, kept and fitted in the worker, and its profile becomes part of the link; what is
// no log says so, and nothing is lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculator, eventually, fragment } from './calculator.mjs';

const site = calculator();

/** A log of Megatron-LM: its first steps are slow, then 6 s each. */
const LOG = [41.2, 8.1, 6.0, 6.01, 5.99, 6.0].map((seconds, at) => ` [2026-03-02 11:22:0${at}] iteration ${at + 1}/ 50 | consumed samples: ${
  (at + 1) * 256} | elapsed time per iteration (ms): ${seconds * 1000} | learning rate: 3.0E-05 | global batch size: 256 | lm loss: 1.1E+01 |`).join('\n');

const open = async (page) => page.locator('#runs summary').first().click();
const area = (page) => page.locator('#runs textarea');
const press = (page, name) => page.locator('#runs').getByRole('button', { name, exact: true }).click();

test('a log becomes a run, its fit a profile of the link, and a reload keeps both', async () => {
  const { page, problems } = await site.open('#v=1');
  await open(page);
  await area(page).fill(LOG);
  await page.locator('#runs', { hasText: 'Read as a log of Megatron-LM.' }).waitFor();
  await page.locator('#runs', { hasText: 'A step took 6.00 s: the median of 4 steps' }).waitFor();
  await press(page, 'Keep this run');
  await page.locator('#runs', { hasText: 'What your runs taught' }).waitFor();
  assert.match(await page.locator('#runs').innerText(), /not informed by your runs/);
  await press(page, 'Use the profile');
  const link = await eventually(() => fragment(page), (text) => text.includes('profile.means='));
  assert.ok(link.length < 310, link);
  await page.reload();
  await open(page);
  await page.locator('#runs', { hasText: '1 runs are kept in this browser.' }).waitFor();
  await press(page, 'Without the profile');
  assert.equal(await eventually(() => fragment(page), (text) => !text.includes('profile')), '#v=1');
  assert.deepEqual(problems, []);
});

test('a pickle is refused with the conversion, and the run stays', async () => {
  const { page, problems } = await site.open('#v=1&tp=4');
  await open(page);
  await page.locator('#runs input[type=file]').setInputFiles({
    name: 'snap.pickle', mimeType: 'application/octet-stream', buffer: Buffer.from([0x80, 4, 0x95, 1, 2, 3]),
  });
  await page.locator('#runs', { hasText: 'json.dump' }).waitFor();
  await area(page).fill('nothing that is known');
  await page.locator('#runs', { hasText: 'nothing in it is known' }).waitFor();
  assert.equal(await fragment(page), '#v=1&tp=4');
  assert.deepEqual(problems, []);
});
