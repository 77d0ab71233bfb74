// How smoothly the timeline zooms and pans at 64 ranks x 4096 micro-batches: node tests/browser/frames.mjs [schedule]
// For reading; nothing is decided by it. A frame's work is everything from the event to the end of its painting.
import { launch } from './browser.mjs';
import { serve } from './server.mjs';

const schedule = process.argv[2] ?? '1f1b';
const HUGE = `#v=1&model.base=llama-3.1-8b&model.layers=128&gpus=64&tp=1&pp=64&global_batch=4096&schedule=${schedule}`;
const server = await serve();
const browser = await launch();
const { page, problems } = await browser.open(server.url + HUGE);
const started = await page.evaluate(() => globalThis.shardscopeStarted);
const times = await page.evaluate(async () => {
  const surface = document.querySelector('.surface');
  const frame = () => new Promise(requestAnimationFrame);
  const area = surface.getBoundingClientRect();
  const times = [];
  const one = async (act) => {
    await frame();
    // Frame callbacks run in the order they were asked for: this one, the page's, the one after.
    let began = 0;
    requestAnimationFrame(() => { began = performance.now(); });
    const acted = performance.now();
    act();
    await Promise.resolve();
    const handled = performance.now() - acted;
    await frame();
    // A task after the callbacks runs once style, layout and paint are done.
    await new Promise((resolve) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = resolve;
      channel.port2.postMessage(0);
    });
    times.push(handled + performance.now() - began);
  };
  const wheel = (deltaY, share) => surface.dispatchEvent(new WheelEvent('wheel', {
    ctrlKey: true, deltaY, clientX: area.left + area.width * share, clientY: area.top + 50, bubbles: true, cancelable: true,
  }));
  const key = (name) => surface.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
  for (let step = 0; step < 60; step += 1) await one(() => wheel(step < 45 ? -120 : 120, 0.37));
  for (let step = 0; step < 60; step += 1) await one(() => key(step % 20 < 10 ? 'd' : 'a'));
  key('0');
  for (let step = 0; step < 20; step += 1) await one(() => wheel(-30, 0.7));
  return times;
});
const sorted = [...times].sort((a, b) => a - b);
const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(1);
console.log(`${schedule}: page runs after ${started.toFixed(0)} ms; ${times.length} frames, ms: median ${at(0.5)}, 95th ${at(0.95)}, worst ${at(1)}`);
for (const problem of problems) console.log(problem);
await browser.close();
await server.close();
