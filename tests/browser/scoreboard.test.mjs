// The scoreboard: its table, a class that is picked, a file that is dropped, a run that is opened, frames and widths. Scores
// themselves: tests/accuracy/scoreboard.rs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DESKTOP, EMBED, PHONE } from './browser.mjs';
import { becomes, calculator, eventually, fragment, matches } from './calculator.mjs';

const site = calculator();
const LINK = '#v=1&view.open=scoreboard';
const ROWS = 7;
const NARROW = { ...PHONE, viewport: { width: 320, height: 700 } };
const table = (page) => page.locator('.board-table tbody tr');
/** Waits for the table. */
const scored = async (page) => {
  await eventually(() => table(page).count(), (count) => count >= ROWS);
  return page;
};
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
/** Questions as the page gives them. */
const questions = async (page) => {
  await page.locator('.board-save summary').click();
  // The menu's own button: it is not there before the menu has opened.
  const save = page.locator('.board-save details button', { hasText: 'runs.jsonl' });
  const [download] = await Promise.all([page.waitForEvent('download'), save.click()]);
  return readFileSync(await download.path(), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
};

test('the table is reached from the header, and a cell picks its runs, which the link holds', async () => {
  const { page, problems } = await site.open('#v=1');
  await page.locator('nav.views button[data-view=scoreboard]').click();
  await scored(page);
  await becomes(() => table(page).count(), ROWS);
  await matches(() => table(page).first().innerText(), /^Shardscope/);
  await page.locator('tr', { hasText: 'SimuMax' }).locator('button.board-cell').last().click();
  await eventually(() => fragment(page), (link) => link.includes('view.open=scoreboard&view.tool=simumax&view.runs=verdicts'));
  await page.locator('.board-filters button', { hasText: 'Routed experts' }).click();
  await eventually(() => page.locator('.board-list tbody tr td:nth-child(3)').allInnerTexts(), (classes) => (
    classes.length > 0 && classes.every((name) => name === 'Routed experts')));
  const { page: again } = await site.open(await fragment(page));
  await scored(again);
  await becomes(() => again.locator('.board-cell[aria-pressed=true]').count(), 1);
  assert.deepEqual(problems, []);
});

test('a newcomer takes the questions, writes predictions, drops them and sees the row beside ours', async (t) => {
  const { page, problems } = await site.open(LINK);
  await scored(page);
  const runs = await questions(page);
  assert.ok(runs.length > 1000 && runs.every(({ id, asks, run }) => id && asks.length > 0 && run.gpus > 0));
  const rule = ({ id, run, derived }) => ({
    id, step_s: (6 * derived.active_parameters * run.global_batch * run.seq_len) / (0.4e12 * run.gpu.bf16_tflops * run.gpus), verdict: 'fits',
  });
  const text = [...runs.map(rule), { id: 'nowhere', step_s: 1 }].map((line) => `${JSON.stringify(line)}\n`).join('');
  const sent = [];
  // The browser asks for the page's icon whenever it likes, on a slow machine only now.
  page.on('request', (request) => request.url().endsWith('/icon.svg') || sent.push(request.url()));
  await page.locator('.board-drop input').setInputFiles({ name: 'mine.jsonl', mimeType: 'text/plain', buffer: Buffer.from(`${text}nonsense\n`) });
  await eventually(() => table(page).count(), (count) => count === ROWS + 1);
  const notes = page.locator('.board-pair .issue');
  await notes.first().waitFor();
  t.diagnostic(await notes.first().innerText());
  const mine = () => table(page).nth(1).innerText();
  await matches(mine, /^mine\.jsonl/);
  await matches(mine, /100\s% covered/);
  await matches(mine, /does not cover/, 'peaks were left out');
  const out = Number(/ ([\d ]+) runs$/.exec((await page.locator('.board-table thead th').last().innerText()).trim())[1]);
  await matches(mine, new RegExp(`\\b${out} false fits`), 'every run that ran out was called "fits"');
  await matches(async () => (await notes.allInnerTexts()).join('\n'), /nothing was sent[^]*line \d+[^]*nowhere/);
  assert.deepEqual(sent, []);
  assert.deepEqual(problems, []);
});

test('a run of the list is opened as the page\'s own', async () => {
  const { page, problems } = await site.open(`${LINK}&view.runs=experts`);
  await scored(page);
  await page.locator('.board-list button', { hasText: 'Open this run' }).first().click();
  await page.locator('.strip .key').first().waitFor();
  await eventually(() => fragment(page), (link) => !link.includes('view.open') && link.length > 60);
  assert.deepEqual(problems, []);
});

test('a low frame shows title and table without a scroll bar', async () => {
  const { page } = await site.open('#v=1&view.embed=scoreboard', EMBED);
  await scored(page);
  await page.locator('.board h2', { hasText: 'Scoreboard' }).waitFor();
  await becomes(() => page.evaluate(() => document.documentElement.scrollHeight <= innerHeight), true);
});

test('a frame shows table and scatter, and nothing is wider than a phone, a desk or a frame', async () => {
  for (const [size, link] of [[NARROW, LINK], [PHONE, `${LINK}&view.lang=zh`], [DESKTOP, LINK], [EMBED, '#v=1&view.embed=scoreboard']]) {
    const { page, problems } = await site.open(link, size);
    await scored(page);
    await page.locator('.board .drawing').first().waitFor({ state: 'attached' });
    await eventually(() => overflow(page), (over) => over <= 0);
    // Tables have no need of a scroll bar of their own.
    const wide = () => page.locator('.board .scroll-x:has(.board-table), .board-list .scroll-x').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length);
    await becomes(wide, 0, link);
    assert.deepEqual(problems, []);
  }
});
