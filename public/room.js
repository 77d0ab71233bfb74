// The door to the back room: the JavaScript package in a worker, or in the page itself where workers are refused (a
// sandboxed frame).
let room;

const inWorker = () => new Promise((opened, refused) => {
  const worker = new Worker(new URL('back.js', import.meta.url), { type: 'module' });
  const waiting = new Map();
  let last = 0;
  worker.onerror = refused;
  worker.onmessage = ({ data }) => {
    if (data === 'open') {
      // A fault ends this worker: what waits is told, the next question gets another.
      worker.onerror = (event) => {
        event.preventDefault();
        room = worker.terminate();
        waiting.forEach((answer) => answer());
      };
      return opened((...call) => new Promise((answer) => {
        waiting.set(++last, answer);
        worker.postMessage([last, call]);
      }));
    }
    waiting.get(data[0])(data[1]);
    waiting.delete(data[0]);
  };
});

const inPage = async () => {
  const pkg = await import('./pkg/shardscope.js');
  await pkg.default();
  // The page goes on between two answers: long work comes in slices.
  return async (name, ...question) => {
    await new Promise((turn) => { setTimeout(turn); });
    return pkg[name](...question);
  };
};

/** What the function `name` of the package says: see pkg/shardscope.d.ts. */
export async function ask(name, ...question) {
  room ??= inWorker().catch(inPage);
  return (await room)(name, ...question);
}

/** What the page asks: a panel as HTML text, a pipeline simulated. */
export const answer = (name, of, unit, link) => ask('answer', name, of, unit, link, location.href.split('#')[0]);

// Pictures and texts leave by a module of their own, fetched at the first press.
addEventListener('click', async ({ target }) => {
  const button = target.closest?.('[data-save][data-kind]');
  if (button) (await import('./lazy/save.js')).save(button, answer);
});

let held;
addEventListener('focusin', ({ target }) => { held = target; });
/** Gives what had the focus in the plan, before it was made again, the focus in the new one, without a jump of the page. */
export const keepFocus = () => requestAnimationFrame(() => {
  if (!held || held.isConnected || document.activeElement !== document.body) return;
  for (const name of ['data-plan', 'data-run']) {
    const value = held.getAttribute(name);
    const again = value && document.querySelector(`.plan [${name}=${CSS.escape(value)}]`);
    if (again) return again.focus({ preventScroll: true });
  }
});
