// How much work a frame of the timeline is while it is zoomed, panned and pointed at: from the event to the end of painting.

/** Runs in the page: milliseconds of each frame. */
export async function frames() {
  const surface = document.querySelector('.surface');
  const frame = () => new Promise(requestAnimationFrame);
  const area = surface.getBoundingClientRect();
  const times = { zoom: [], pan: [], hover: [] };
  const one = async (kind, act) => {
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
    times[kind].push(handled + performance.now() - began);
  };
  const wheel = (deltaY, share) => surface.dispatchEvent(new WheelEvent('wheel', {
    ctrlKey: true, deltaY, clientX: area.left + area.width * share, clientY: area.top + 50, bubbles: true, cancelable: true,
  }));
  const key = (name) => surface.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
  const point = (share) => surface.dispatchEvent(new PointerEvent('pointermove', {
    clientX: area.left + area.width * share, clientY: area.top + 20 + 40 * share, bubbles: true,
  }));
  for (let step = 0; step < 60; step += 1) await one('zoom', () => wheel(step < 45 ? -120 : 120, 0.37));
  for (let step = 0; step < 60; step += 1) await one('pan', () => key(step % 20 < 10 ? 'd' : 'a'));
  key('0');
  for (let step = 0; step < 20; step += 1) await one('zoom', () => wheel(-30, 0.7));
  for (let step = 0; step < 60; step += 1) await one('hover', () => point((step * 7 % 60) / 60));
  return times;
}
