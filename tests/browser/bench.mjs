// `make bench`: how quick the page feels here, for reading. Medians of several runs; nothing is decided by them.
import { readFileSync, writeFileSync } from 'node:fs';
import { launch } from './browser.mjs';
import { frames } from './frames.mjs';
import { dropMade, makeTrace } from './made_trace.mjs';
import { serve } from './server.mjs';

const RUNS = 5;
/** 64 pipeline ranks, 1024 micro-batches of each. */
const LARGE = '#v=1&model=llama-3.1-405b&gpus=1024&tp=8&pp=64&global_batch=2048';

/** 64 ranks, 4096 micro-batches. */
const HUGE = '#v=1&model.base=llama-3.1-8b&model.layers=128&gpus=64&tp=1&pp=64&global_batch=4096';

/** The whole run of Llama 3.1 405B. */
const WHOLE = '#v=1&model=llama-3.1-405b&gpus=16384&tp=8&pp=16&cp=2&schedule=interleaved-1f1b&virtual_stages=4&global_batch=2048&tokens_total=15.6T&view.open=whole';

/** The same loop as in benches/reports.rs, about: milliseconds, against which machines can be compared. */
function reference() {
  const times = Array.from({ length: 9 }, () => {
    const began = performance.now();
    let [state, sum] = [1, 0];
    for (let step = 0; step < 1_000_000; step += 1) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      sum += Math.sqrt(state >>> 8) / (1 + sum);
    }
    return sum > 0 ? performance.now() - began : NaN;
  });
  return times.sort((a, b) => a - b)[4];
}

const HISTORY = new URL('../../benches/history.csv', import.meta.url);
const commit = process.env.SHARDSCOPE_COMMIT;
const fixed = reference();
const kept = readFileSync(HISTORY, 'utf8').trimEnd().split('\n');
const now = [];

/** How far milliseconds are, as a ratio to the fixed loop, from what was kept last; keeps them. */
function change(name, ms) {
  const ratio = ms / fixed;
  const before = kept.findLast((line) => line.includes(`,"browser: ${name}",`))?.split(',').at(-1);
  if (commit) now.push(`${commit},"browser: ${name}",${ratio.toFixed(4)}`);
  return (before ? `${((ratio / before - 1) * 100).toFixed(0)} %` : '').padStart(9);
}

function report(name, times) {
  const sorted = [...times].sort((a, b) => a - b);
  const ms = (t) => t.toFixed(1).padStart(8);
  const median = sorted[sorted.length >> 1];
  console.log(`${name.padEnd(36)}${ms(median)}${ms(sorted[0])}${ms(sorted.at(-1))}${change(name, median)}`);
}

const server = await serve({
  compress: true,
  pages: { '/blank.html': '<!DOCTYPE html><link rel="icon" href="data:,">', '/host.html': `<!DOCTYPE html><link rel="icon" href="data:,"><script type="module">
    import init, * as shardscope from './pkg/shardscope.js';
    await init();
    globalThis.shardscope = shardscope;
  </script>` },
});
const browser = await launch();
console.log(`${'milliseconds'.padEnd(36)}  median     min     max   change`);

/** The network that the design's targets are for. */
const SLOW = { offline: false, latency: 40, downloadThroughput: 10e6 / 8, uploadThroughput: 10e6 / 8 };
for (const [network, conditions] of [['local', undefined], ['10 Mbit/s + 40 ms', SLOW]]) {
  const times = { first: [], live: [], all: [] };
  for (let run = 0; run <= RUNS; run += 1) {
    const { page } = await browser.open(`${server.origin}/blank.html`, { started: false });
    if (conditions) {
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Network.enable');
      await devtools.send('Network.emulateNetworkConditions', conditions);
    }
    await page.addInitScript(watchPanels);
    await page.goto(server.url);
    await page.waitForFunction(() => globalThis.seen?.all);
    const seen = await page.evaluate(() => globalThis.seen);
    // The first one also waits for the server's compressor.
    if (run > 0) for (const [name, list] of Object.entries(times)) list.push(seen[name]);
    await page.context().close();
  }
  report(`first figures painted, ${network}`, times.first);
  report(`live, ${network}`, times.live);
  report(`all panels, ${network}`, times.all);
}

/** Runs in the page: notes when the first key figure is painted, when the program has taken over, and when the last panel of the
 * default run is there. */
function watchPanels() {
  const filled = ['.bar-row', '.surface canvas', '.waterfall'];
  globalThis.seen = {};
  const look = () => {
    const { seen } = globalThis;
    if (document.querySelector('#results .strip .key .value')) seen.first ??= performance.now();
    const live = document.querySelector('#results') && !document.getElementById('skeleton');
    if (live) seen.live ??= performance.now();
    seen.all ??= live && filled.every((selector) => document.querySelector(selector)) ? performance.now() : undefined;
    if (!seen.all) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

// From an edit to the end of the frame that shows its figures; what the main thread does until then; how often it lays
// out and recalculates styles.
const EDITS = 40;
console.log(`\n${'an edit'.padEnd(36)}  p50 ms  p95 ms       aim   main p95 (aim 12)    layouts  styles (aim 1)   change`);
for (const [name, link, slowed, aim, edited] of [
  ['default run', '', 1, '33 / 45'],
  ['default run, CPU slowed 4 times', '', 4, '80 / 140'],
  ['pp 64, m 1024', LARGE, 1, '25 / 50'],
  ['pp 64, m 1024, CPU slowed 4 times', LARGE, 4, '60 / 120'],
  ['whole run, 405B on 16384', WHOLE, 1, '50', { selector: '.whole-input input', strip: '.whole-strip', texts: ['31.2T', '15.6T'] }],
]) {
  const { page } = await browser.open(server.url + link);
  if (edited) await page.locator(`${edited.strip}[aria-busy=false] .whisker u`).first().waitFor();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  if (slowed > 1) await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowed });
  const all = { paint: [], main: [], layouts: [], styles: [] };
  for (let edit = 0; edit < EDITS; edit += 1) {
    const before = await metrics(devtools);
    const paint = await page.evaluate(toPaint, { odd: edit % 2, ...edited });
    const after = await metrics(devtools);
    const spent = (names) => names.reduce((sum, key) => sum + after[key] - before[key], 0);
    all.paint.push(paint);
    all.main.push(1000 * spent(['ScriptDuration', 'RecalcStyleDuration', 'LayoutDuration']));
    all.layouts.push(spent(['LayoutCount']));
    all.styles.push(spent(['RecalcStyleCount']));
    // What follows the figures: explanations, fixes, what else would fit.
    await page.waitForFunction(() => globalThis.unanswered === 0);
    await page.waitForTimeout(200);
  }
  const at = (key, percent) => all[key].sort((a, b) => a - b)[Math.floor(EDITS * percent / 100)];
  const cell = (value, width) => value.toFixed(value < 10 && Number.isInteger(value) ? 0 : 1).padStart(width);
  console.log(`${name.padEnd(36)}${cell(at('paint', 50), 8)}${cell(at('paint', 95), 8)}${aim.padStart(10)}`
    + `${cell(at('main', 95), 20)}${cell(at('layouts', 50), 11)}${cell(at('styles', 50), 16)}`
    + change(`${name}, p95`, at('paint', 95)));
  await page.context().close();
}

/** Chromium's counters of the page. */
async function metrics(devtools) {
  const { metrics: list } = await devtools.send('Performance.getMetrics');
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

/** Runs in the page: changes the micro-batch, or the input of `selector` to one of `texts`; resolves to the milliseconds until the
 * frame with the figures of `strip` is painted. */
async function toPaint({ odd, selector = '#f-micro_batch', strip = '#results .strip', texts }) {
  const input = document.querySelector(selector);
  const task = () => new Promise((resolve) => { setTimeout(resolve); });
  await new Promise(requestAnimationFrame);
  await task();
  const shown = new Promise((resolve) => {
    new MutationObserver((_, observer) => { observer.disconnect(); resolve(); })
      .observe(document.querySelector(strip), { subtree: true, childList: true, characterData: true });
  });
  const began = performance.now();
  input.value = texts?.[odd] ?? String(Number(input.value) * (odd ? 0.5 : 2));
  input.dispatchEvent(new Event('input', { bubbles: true }));
  await shown;
  await new Promise(requestAnimationFrame);
  // A task after the frame's callbacks runs once its style, layout and paint are done.
  await task();
  return performance.now() - began;
}

// Zoom, pan and hover of the largest timeline.
const { page: huge } = await browser.open(server.url + HUGE);
await huge.waitForFunction(() => globalThis.unanswered === 0);
await huge.waitForTimeout(500);
console.log(`\n${'work of a frame, p 64, m 4096 (aim 8)'.padEnd(36)}  p50 ms  p95 ms   change`);
for (const [kind, times] of Object.entries(await huge.evaluate(frames))) {
  const at = (share) => times.sort((a, b) => a - b)[Math.floor(share * times.length)];
  const cell = (share) => at(share).toFixed(1).padStart(8);
  console.log(`${kind.padEnd(36)}${cell(0.5)}${cell(0.95)}${change(`frame, ${kind}, p95`, at(0.95))}`);
}
await huge.context().close();
console.log();

// From a press on "Schedules" until every schedule has its figures and its picture. The worker is there already.
const GALLERY = '#v=1&model=llama-3.1-405b&gpus=1024&tp=8&pp=16&global_batch=512';
const times = [];
for (let run = 0; run <= RUNS; run += 1) {
  const { page: gallery } = await browser.open(`${server.url}${GALLERY}`);
  await gallery.waitForFunction(() => globalThis.unanswered === 0);
  const time = await gallery.evaluate(() => new Promise((done) => {
    const began = performance.now();
    document.querySelector('.views [data-view=schedules]').click();
    const look = () => {
      const cards = [...document.querySelectorAll('.card')];
      const all = cards.length > 0 && cards.every((card) => card.querySelector('.sketch svg'));
      if (all) done(performance.now() - began);
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }));
  if (run > 0) times.push(time);
  await gallery.context().close();
}
report('all schedules, p 16, m 64 (aim 300)', times);

// Reports per second through the JavaScript package, objects in and out.
const LAYOUTS = [
  ['Llama 3.1 8B, 64 GPUs (the default)', ''],
  ['Llama 3.1 405B, 16384 GPUs', 'model=llama-3.1-405b&gpus=16384&tp=8&pp=16&global_batch=2048'],
  ['DeepSeek-V3, DualPipe',
    'model=deepseek-v3&gpus=2048&tp=1&pp=16&ep=64&schedule=dualpipe&seq_len=4096&global_batch=15360'],
];
const { page: host } = await browser.open(`${server.origin}/host.html`, { started: false });
await host.waitForFunction(() => globalThis.shardscope);
console.log(`\n${'in the browser'.padEnd(48)}${'reports/s'.padStart(12)}`);
for (const [name, link] of LAYOUTS) {
  const rate = await host.evaluate((text) => {
    const { run } = shardscope.decodeLink(text);
    if (shardscope.report(run).errors.length > 0) return NaN;
    const began = performance.now();
    let calls = 0;
    while (performance.now() - began < 1000) {
      shardscope.report(run);
      calls += 1;
    }
    return calls / (performance.now() - began) * 1000;
  }, link);
  console.log(`${name.padEnd(48)}${(Number.isNaN(rate) ? 'refused' : rate.toFixed(0)).padStart(12)}`
    + change(`report, ${name}`, 1000 / rate));
}

// The search, through the JavaScript package: in slices, so that the page around it stays alive.
console.log(`\n${'plan in the browser'.padEnd(48)}${'layouts/s'.padStart(12)}${'s'.padStart(8)}`);
for (const [name, run] of [
  ['Llama 3.1 8B on 64 H100', {}],
  ['Llama 3.1 405B on 16384 H100', { model: 'llama-3.1-405b', gpus: 16384, global_batch: 2048 }],
  ['DeepSeek-V3 on 2048 H100', { model: 'deepseek-v3', gpus: 2048, global_batch: 15360 }],
]) {
  const [evaluated, seconds] = await host.evaluate(async (run) => {
    const began = performance.now();
    const answer = await shardscope.plan({ run });
    return [answer.evaluated, (performance.now() - began) / 1000];
  }, run);
  console.log(`${name.padEnd(48)}${(evaluated / seconds).toFixed(0).padStart(12)}${seconds.toFixed(2).padStart(8)}`
    + change(`plan, ${name}`, 1000 * seconds));
}
// The issue's size: p = 64, m = 4096, 524 thousand ops with the whole backward, 786 thousand with B and W apart.
console.log(`\n${'simulated in the browser, p = 64, m = 4096'.padEnd(48)}${'ms'.padStart(12)}`);
for (const [schedule, ops] of [['1f1b', 524_288], ['zb-h1', 786_432]]) {
  const request = {
    schedule, pp: 64, microbatches: 4096, ops: false,
    forward_s: 1, backward_input_s: 1.1, backward_weight_s: 0.9,
  };
  const times = await host.evaluate((asked) => Array.from({ length: 3 }, () => {
    const began = performance.now();
    const { errors } = shardscope.schedule(asked);
    return errors.length > 0 ? NaN : performance.now() - began;
  }), request);
  const best = Math.min(...times);
  console.log(`${`${schedule}, ${ops} ops, order and timeline`.padEnd(48)}${best.toFixed(0).padStart(12)}`);
}

// The best order of uneven stages, alone and with the certificate of it; the search and its proof run in the worker of the page.
console.log(`\n${'best order in the browser, p = 8, m = 32'.padEnd(48)}`
  + `${'order, ms'.padStart(12)}${'proven, ms'.padStart(12)}${'gap, %'.padStart(8)}`);
for (const memoryLimit of [4, 6, 8, 16]) {
  const asked = {
    schedule: 'optimal', pp: 8, microbatches: 32, ops: false, memory_limit: memoryLimit, p2p_s: 0.1,
    forward_s: [0.7, 1.1, 0.9, 1.3, 1, 0.8, 1.2, 1.6],
    backward_input_s: [0.9, 1.2, 1, 1.5, 1.2, 0.8, 1.6, 2],
    backward_weight_s: [0.5, 0.9, 0.7, 1.1, 0.7, 0.8, 0.8, 1.2],
  };
  const [order, proven] = await host.evaluate((asked) => [false, true].map((certificate) => {
    const began = performance.now();
    const answer = shardscope.schedule({ ...asked, certificate });
    const ms = answer.errors.length > 0 ? NaN : performance.now() - began;
    return { ms, gap: answer.certificate?.gap ?? NaN };
  }), asked);
  console.log(`${`at most ${memoryLimit} micro-batches on a rank`.padEnd(48)}${order.ms.toFixed(0).padStart(12)}`
    + `${proven.ms.toFixed(0).padStart(12)}${(100 * proven.gap).toFixed(2).padStart(8)}`);
}

// What the worker does when a run is kept: 20 runs, a tenth slower than the model says, one of them a half.
const fits = await host.evaluate(() => {
  const runs = Array.from({ length: 20 }, (_, at) => {
    const gpus = 8 << at % 4;
    const run = { gpus, tp: 1 << Math.floor(at / 4) % 3, pp: 1, seq_len: 4096 << Math.floor(at / 12), global_batch: 4 * gpus };
    return { run, step_s: shardscope.report(run).step.time_s * (at === 7 ? 1.5 : 1.1) };
  });
  return Array.from({ length: 5 }, () => {
    const began = performance.now();
    const { errors } = shardscope.calibrate({ runs, question: {} });
    return errors.length > 0 ? NaN : performance.now() - began;
  });
});
console.log();
report('20 measured runs fitted (aim 300)', fits);

// A trace that is dropped on Diagnose: from the drop to its diagnosis, and the most memory that page and worker took for it.
console.log(`\n${'trace dropped on Diagnose (aim 400 MB)'.padEnd(48)}${'s'.padStart(8)}${'aim'.padStart(6)}${'MB'.padStart(8)}${'frame, ms'.padStart(12)}`);
for (const [megabytes, steps, aim] of [[100, 10, 6], [1000, 10, 60], [1000, 0, 60]]) {
  const { page } = await browser.open(`${server.url}#v=1&gpus=8&view.open=diagnose`);
  await page.locator('main.diagnose .board-drop').waitFor();
  const session = await page.context().browser().newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const renderers = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
  const size = await page.evaluate(makeTrace, { megabytes, steps });
  const devtools = await page.context().newCDPSession(page);
  // What making it left behind is no memory of reading it.
  await devtools.send('HeapProfiler.collectGarbage');
  await page.waitForTimeout(1000);
  const most = memory(renderers);
  await page.evaluate(dropMade);
  await page.evaluate(() => {
    globalThis.longest = 0;
    let before = performance.now();
    const look = (now) => { globalThis.longest = Math.max(globalThis.longest, now - before); before = now; requestAnimationFrame(look); };
    requestAnimationFrame(look);
  });
  await page.locator('main.diagnose', { hasText: 'Parts add up to' }).waitFor({ timeout: 600_000 });
  const [seconds, frame] = await page.evaluate(() => [(performance.now() - globalThis.dropped) / 1000, globalThis.longest]);
  const name = `${(size / 1e6).toFixed(0)} MB, ${steps > 0 ? `${steps} steps` : 'no step marked'}`;
  console.log(`${name.padEnd(48)}${seconds.toFixed(1).padStart(8)}${String(aim).padStart(6)}${most().padStart(8)}${frame.toFixed(0).padStart(12)}`);
  await page.context().close();
}

/** The most memory of processes beyond what they have now, MB, once it is asked; nothing where the system does not tell. */
function memory(processes) {
  const read = (field) => processes.map((id) => {
    const [, kib] = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${id}/status`, 'utf8'));
    return Number(kib) * 1024 / 1e6;
  });
  try {
    // The peak begins anew.
    for (const id of processes) writeFileSync(`/proc/${id}/clear_refs`, '5');
    const before = read('VmRSS');
    return () => Math.max(...read('VmHWM').map((most, at) => most - before[at])).toFixed(0);
  } catch {
    return () => '';
  }
}
await browser.close();
await server.close();
if (commit) {
  const others = kept.filter((line) => !line.startsWith(`${commit},"browser: `));
  writeFileSync(HISTORY, `${[...others, ...now].join('\n')}\n`);
}
