// `make bench`: how quick the page feels here, for reading. Medians of several runs; nothing is decided by them.
import { launch } from './browser.mjs';
import { serve } from './server.mjs';

const RUNS = 5;

function report(name, times) {
  const sorted = [...times].sort((a, b) => a - b);
  const ms = (t) => t.toFixed(1).padStart(8);
  console.log(`${name.padEnd(36)}${ms(sorted[sorted.length >> 1])}${ms(sorted[0])}${ms(sorted.at(-1))}`);
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
console.log(`${'milliseconds'.padEnd(36)}  median     min     max`);

/** The network that the design's targets are for. */
const SLOW = { offline: false, latency: 40, downloadThroughput: 10e6 / 8, uploadThroughput: 10e6 / 8 };
for (const [network, conditions] of [['local', undefined], ['10 Mbit/s + 40 ms', SLOW]]) {
  const times = { first: [], all: [] };
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
  report(`first figure, ${network}`, times.first);
  report(`all panels, ${network}`, times.all);
}

/** Runs in the page: notes when the first key figure and when the last panel of the default run is there. */
function watchPanels() {
  const filled = ['.bar-row', 'aside.detail .term', '.surface canvas', '.waterfall'];
  globalThis.seen = {};
  const look = () => {
    const { seen } = globalThis;
    if (document.querySelector('#results .strip .key .value')) seen.first ??= performance.now();
    seen.all ??= filled.every((selector) => document.querySelector(selector)) ? performance.now() : undefined;
    if (!seen.all) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

// From an edit to the end of the frame that shows it.
const { page } = await browser.open(server.url);
const field = page.locator('input[inputmode="numeric"], input[inputmode="decimal"]').first();
if (await field.count() > 0) {
  report('edit to paint', await field.evaluate(async (input, runs) => {
    const frame = () => new Promise(requestAnimationFrame);
    const times = [];
    for (let run = 0; run < runs; run += 1) {
      await frame();
      const began = performance.now();
      input.value = run % 2 === 0 ? '2' : '4';
      input.dispatchEvent(new Event('input', { bubbles: true }));
      await frame();
      // A task after the frame's callbacks runs once its style, layout and paint are done.
      await new Promise((resolve) => { setTimeout(resolve); });
      times.push(performance.now() - began);
    }
    return times;
  }, 4 * RUNS));
} else {
  console.log('edit to paint: no numeric field on the page');
}

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
  console.log(`${name.padEnd(48)}${(Number.isNaN(rate) ? 'refused' : rate.toFixed(0)).padStart(12)}`);
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
  console.log(`${name.padEnd(48)}${(evaluated / seconds).toFixed(0).padStart(12)}${seconds.toFixed(2).padStart(8)}`);
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

// What the worker does when a run is kept: 20 runs, a tenth slower than the model says, one of them a half.
const fits = await host.evaluate(() => {
  const runs = Array.from({ length: 20 }, (_, at) => {
    const gpus = 8 << at % 4;
    const run = { gpus, tp: 1 << Math.floor(at / 4) % 3, seq_len: 4096 << Math.floor(at / 12), global_batch: 4 * gpus };
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
await browser.close();
await server.close();
