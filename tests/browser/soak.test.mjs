// One tab, many random edits, links, plans and panels: no error, no leak, and figures that are the native engine's to
// the last digit; then presses anywhere, after which the tab holds as many nodes and listeners as before. `make test`
// makes a short round; `make soak` a thousand steps (SHARDSCOPE_SOAK, SHARDSCOPE_SEED).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { becomes, calculator, eventually, unfold } from './calculator.mjs';
import { settled } from './tour.mjs';

const STEPS = Number(process.env.SHARDSCOPE_SOAK ?? 40);
const SEED = Number(process.env.SHARDSCOPE_SEED ?? 8);
/** What the tab may hold more at the end than after a fifth of the steps: WebAssembly keeps what its largest question took. */
const MORE_MB = { heap: 4, page: 32 };
/** What the same runs, looked at once more, may take besides. */
const LEAK_MB = 2;

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LINKS = readFileSync(`${ROOT}tests/data/links.txt`, 'utf8').split('\n')
  .filter((line) => line && !line.startsWith('#')).map((line) => line.split('\t')[0].replace(/^[^#]*#?/, ''));

const site = calculator({ pages: { '/blank.html': '<!DOCTYPE html><link rel="icon" href="data:,">' } });

/** Numbers from 0 to 1 that are the same in every run of a seed. */
function dice(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What a step does, each with its share. All work on what the page has, whichever fields and panels these are. */
const ACTS = [
  [60, 'edit', (rolls) => {
    const all = [...document.querySelectorAll('[data-field]')].map((field) => field.querySelector('input, select'));
    const fields = all.filter((control) => control && control.type !== 'file');
    const control = fields[Math.floor(rolls[0] * fields.length)];
    const tell = (name) => control.dispatchEvent(new Event(name, { bubbles: true }));
    if (control.type === 'checkbox') return control.click();
    if (control.tagName === 'SELECT') {
      control.selectedIndex = Math.floor(rolls[1] * control.options.length);
    } else {
      const now = Number(control.value) || 4;
      const next = [now * 2, Math.ceil(now / 2), 1, 2, 4, 8, now + 1, '', 'x'];
      control.value = next[Math.floor(rolls[1] * next.length)];
      tell('input');
    }
    return tell('change');
  }],
  [15, 'link', (rolls, links) => {
    const sizes = ['tp=1', 'tp=4', 'pp=2', 'pp=8&gpus=128', 'zero=3', 'schedule=zb-h1', 'schedule=dualpipe', 'gpu=b200', 'cp=2', 'recompute=full'];
    location.hash = `${links[Math.floor(rolls[0] * links.length)]}&${sizes[Math.floor(rolls[1] * sizes.length)]}`;
  }],
  [10, 'fix', (rolls) => {
    const fixes = [...document.querySelectorAll('[data-action^="apply "], [data-action=load], [data-action^="explain "]')].filter((one) => one.offsetParent);
    fixes[Math.floor(rolls[0] * fixes.length)]?.click();
  }],
  [10, 'panel', (rolls) => {
    const folds = [...document.querySelectorAll('summary')].filter((one) => one.offsetParent);
    folds[Math.floor(rolls[0] * folds.length)]?.click();
  }],
  [8, 'undo', (rolls) => {
    const named = [...document.querySelectorAll('button')].filter((one) => /undo|redo/i.test(one.title + one.ariaLabel + one.textContent));
    if (named.length > 0 && rolls[1] < 0.5) return named[Math.floor(rolls[0] * named.length)].click();
    const key = { key: 'z', ctrlKey: true, shiftKey: rolls[0] < 0.3, bubbles: true, cancelable: true };
    return document.body.dispatchEvent(new KeyboardEvent('keydown', key));
  }],
  [4, 'plan', () => [...document.querySelectorAll('button')].find((one) => /^(Search again|Stop)$/.test(one.textContent))?.click()],
];
const SHARES = ACTS.reduce((sum, [share]) => sum + share, 0);

function act(roll) {
  let left = roll * SHARES;
  return ACTS.find(([share]) => (left -= share) < 0) ?? ACTS[0];
}

/** The native engine's reports of `links`. */
function native(links) {
  execFileSync('cargo', ['build', '--locked', '--quiet', '--example', 'headless'], { cwd: ROOT });
  const target = process.env.CARGO_TARGET_DIR ?? `${ROOT}target`;
  const lines = execFileSync(`${target}/debug/examples/headless`, ['report'], {
    input: links.map((link) => `${link}\n`).join(''), encoding: 'utf8', maxBuffer: 1 << 30,
  });
  return lines.trim().split('\n').map((line) => JSON.parse(line));
}

/** What the page shows once its address and its figures stand still: the address follows when typing settles. */
async function rest(page) {
  const read = () => page.evaluate(() => ({
    link: location.hash.slice(1),
    stale: document.querySelector('.strip-frame').classList.contains('stale'),
    figures: document.querySelector('.strip').innerText.replace(/\s+/g, ' '),
  }));
  let before = null;
  return eventually(read, (now) => {
    const still = JSON.stringify(now) === JSON.stringify(before?.now);
    if (!still) before = { now, since: Date.now() };
    return Date.now() - before.since >= 300;
  });
}

/** Megabytes of the tab after a collection: JavaScript, the page's WebAssembly. */
async function held(page, devtools) {
  for (let again = 0; again < 3; again += 1) await devtools.send('HeapProfiler.collectGarbage');
  const mb = (bytes) => Math.round(bytes / 1e5) / 10;
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  return {
    heap: mb(usedSize),
    page: mb(await page.evaluate(() => globalThis.exported.memory.buffer.byteLength)),
  };
}

test(`${STEPS} random steps in one tab: no error, no leak, and the native engine's figures`, async () => {
  const roll = dice(SEED);
  const { page, problems } = await site.open('blank.html', { started: false });
  await page.addInitScript(() => {
    addEventListener('TrunkApplicationStarted', ({ detail }) => { globalThis.exported = detail.wasm; });
  });
  await page.goto(`${site.url}#v=1`);
  await page.waitForFunction(() => globalThis.exported);
  await page.evaluate(unfold);
  const devtools = await page.context().newCDPSession(page);

  const seen = new Map();
  let before;
  for (let step = 0; step < STEPS; step += 1) {
    const [, name, run] = act(roll());
    await page.evaluate(`(${run})(${JSON.stringify([roll(), roll()])}, ${JSON.stringify(LINKS)})`);
    const shown = await rest(page);
    seen.set(shown.link, shown);
    // From a run that cannot be few edits lead back: half of them are left by a link.
    if (shown.stale && roll() < 0.5) await page.evaluate(() => { location.hash = 'v=1'; });
    assert.deepEqual(problems, [], `step ${step}, ${name}, of seed ${SEED}: ${shown.link}`);
    if (step === Math.floor(STEPS / 5)) before = await held(page, devtools);
  }

  // The same runs by the package and by the native engine.
  const links = [...seen.keys()].filter((link) => link.startsWith('v=1'));
  const reports = await page.evaluate(async (links) => {
    const pkg = await import(new URL('pkg/shardscope.js', document.baseURI).href);
    await pkg.default();
    return links.map((link) => JSON.stringify(pkg.report(pkg.decodeLink(link).run)));
  }, links);
  let equal = 0;
  let read = 0;
  for (const [at, report] of native(links).entries()) {
    assert.deepEqual(JSON.parse(reports[at]), report, links[at]);
    equal += 1;
    const { stale, figures } = seen.get(links[at]);
    if (stale || report.errors.length > 0) continue;
    // Two digits where the range is a tenth or wider, three where it is not.
    const wide = report.step.high_s - report.step.low_s >= 0.1 * report.step.time_s;
    const share = (value) => `${wide ? Number((100 * value).toPrecision(2)) : (100 * value).toFixed(1)} %`;
    const gib = (bytes) => (bytes / 2 ** 30).toFixed(1);
    for (const figure of [
      `${gib(report.memory.peak_bytes)} of ${gib(report.memory.capacity_bytes)} GiB`,
      share(report.step.mfu),
    ]) assert.ok(figures.includes(figure), `${figure} of ${links[at]} is not in ${figures}`);
    read += 1;
  }

  await page.evaluate(() => { location.hash = 'v=1'; });
  await page.waitForTimeout(500);
  const after = await held(page, devtools);

  // Memory that is there for the largest question is kept; the same questions once more must take no more of it.
  const again = links.slice(-Math.ceil(STEPS / 8));
  const round = async () => {
    for (const link of again) {
      await page.evaluate((link) => { location.hash = link; }, link);
      await rest(page);
    }
    return held(page, devtools);
  };
  const once = await round();
  const twice = await round();
  console.log(`soak: ${STEPS} steps of seed ${SEED}, ${equal} runs equal natively, ${read} read off the page`);
  console.log(`soak: MB after a fifth ${JSON.stringify(before)}, at the end ${JSON.stringify(after)}`);
  for (const [part, most] of Object.entries(MORE_MB)) {
    assert.ok(after[part] - before[part] <= most, `${part}: ${before[part]} MB became ${after[part]} MB`);
  }
  console.log(`soak: MB after ${again.length} of the runs once more ${JSON.stringify(once)}, and again ${JSON.stringify(twice)}`);
  for (const part of Object.keys(MORE_MB)) {
    assert.ok(twice[part] - once[part] <= LEAK_MB, `${part}: ${once[part]} MB became ${twice[part]} MB over the same runs`);
  }
  assert.deepEqual(problems, []);
  assert.ok(equal >= STEPS / 4 && read >= STEPS / 8, `only ${equal} runs were compared, ${read} read off the page`);
});

/** What may be more at the end than before: results of a search differ by the time it had. */
const MORE = 1.1;

/** What a visitor does besides: presses of anything that is seen, and turns to other views and tabs. */
const PRESSES = [
  ...ACTS,
  [60, 'press', (rolls) => {
    const dialog = document.querySelector('dialog[open]');
    const all = [...document.querySelectorAll('button, summary, [data-action]')];
    const seen = all.filter((one) => one.checkVisibility());
    const near = dialog && rolls[1] < 0.7 ? seen.filter((one) => dialog.contains(one)) : seen;
    near[Math.floor(rolls[0] * near.length)]?.click();
  }],
  [20, 'turn', (rolls) => {
    document.querySelectorAll('dialog[open]').forEach((dialog) => dialog.close());
    const ways = [...document.querySelectorAll('.views button, .results [role=tab]')];
    ways[Math.floor(rolls[0] * ways.length)].click();
  }],
];

/** The default run with everything closed, each tab at its first view. */
async function home(page) {
  const act = async (what) => {
    await page.evaluate(what);
    await settled(page);
  };
  await act(() => {
    document.querySelectorAll('dialog[open]').forEach((dialog) => dialog.close());
    location.hash = 'v=1';
  });
  await act(() => document.querySelector('.views [data-view=run]').click());
  for (const tab of (await page.locator('.results [role=tab]').all()).reverse()) {
    await tab.evaluate((one) => one.click());
    await settled(page);
    await act(() => { for (const fold of document.querySelectorAll('details[open] > summary')) fold.click(); });
    await act(() => {
      for (const views of document.querySelectorAll('.results .panel-head .seg')) {
        if (views.checkVisibility()) views.querySelector('button').click();
      }
    });
  }
  await act(() => {
    document.querySelector('.groups button.group[aria-expanded=true]')?.click();
    document.querySelector('.detail.open .close-sheet')?.click();
  });
}

/** What the browser counts after a collection, of the document and of what is held apart from it. */
async function counted(page, devtools) {
  for (let again = 0; again < 3; again += 1) await devtools.send('HeapProfiler.collectGarbage');
  const { nodes, jsEventListeners } = await devtools.send('Memory.getDOMCounters');
  return { nodes, listeners: jsEventListeners, workers: page.workers().length };
}

test(`${STEPS} presses anywhere in one tab: no error, and no more nodes and listeners than before`, async () => {
  const roll = dice(SEED + 1);
  const { page, problems } = await site.open();
  const devtools = await page.context().newCDPSession(page);
  // What is opened once stays: every tab, every view of one, every view of the page.
  for (const one of await page.locator('.results [role=tab]').all()) {
    await one.click();
    await settled(page);
    await page.evaluate(() => {
      const views = [...document.querySelectorAll('.results .panel-head .seg button')];
      views.filter((view) => view.checkVisibility()).forEach((view) => view.click());
    });
    await settled(page);
  }
  for (const view of await page.locator('.views button').all()) {
    await view.click();
    await settled(page);
  }
  await home(page);
  const before = await counted(page, devtools);
  const shares = PRESSES.reduce((sum, [share]) => sum + share, 0);
  let started = 0;
  page.on('worker', () => { started += 1; });
  for (let step = 0; step < STEPS; step += 1) {
    let left = roll() * shares;
    const [, name, run] = PRESSES.find(([share]) => (left -= share) < 0) ?? PRESSES[0];
    await page.evaluate(`(${run})(${JSON.stringify([roll(), roll()])}, ${JSON.stringify(LINKS)})`);
    await page.waitForTimeout(100);
    assert.deepEqual(problems, [], `step ${step}, ${name}, of seed ${SEED}: ${page.url()}`);
    if (roll() < 0.1) await page.evaluate(() => { location.hash = 'v=1'; });
  }
  await home(page);
  const after = await counted(page, devtools);
  const counts = `before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`;
  console.log(`soak: ${STEPS} presses: ${counts}, ${started} workers started`);
  for (const [what, count] of Object.entries(before)) {
    assert.ok(after[what] <= Math.max(count * MORE, 2), `${what}: ${count} became ${after[what]}`);
  }
});

test('sheets of settings that follow one another leave nothing of each other', async () => {
  const { page, problems } = await site.open('#v=1&global_batch=100');
  const devtools = await page.context().newCDPSession(page);
  const sheets = page.locator('.groups button.group');
  const turn = async (at) => {
    await sheets.nth(at).click();
    await eventually(() => sheets.nth(at).getAttribute('aria-expanded'), (open) => open === 'true');
  };
  for (let at = 0; at < await sheets.count(); at += 1) await turn(at);
  await turn(3);
  const before = await counted(page, devtools);
  for (let round = 0; round < 5; round += 1) for (const at of [0, 1, 2, 4, 5, 3]) await turn(at);
  const after = await counted(page, devtools);
  for (const [what, count] of Object.entries(before)) {
    assert.ok(after[what] <= count * MORE, `${what}: ${count} became ${after[what]}`);
  }
  // What is wrong with the batch is said at the batch alone, once, and what mends it is heard once.
  const said = page.locator('.sheet .issue.error');
  await becomes(() => said.count(), 1);
  await becomes(() => page.locator('.sheet [data-field=global_batch] .issue.error').count(), 1);
  await said.locator('.fix').first().click();
  await eventually(() => said.count(), (count) => count === 0);
  assert.deepEqual(problems, []);
});
