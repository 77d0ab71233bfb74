// The door to the back room: the JavaScript package in a worker, or in the page itself where workers are refused (a
// sandboxed frame).
let room;

const inWorker = () => new Promise((opened, refused) => {
  const worker = new Worker(new URL('back.js', import.meta.url), { type: 'module' });
  const waiting = new Map();
  let last = 0;
  worker.onerror = refused;
  worker.onmessage = ({ data }) => {
    if (data === 'open') return opened((...call) => new Promise((answer) => {
      waiting.set(++last, answer);
      worker.postMessage([last, call]);
    }));
    waiting.get(data[0])(data[1]);
    waiting.delete(data[0]);
  };
});

const inPage = async () => {
  const pkg = await import('./pkg/shardscope.js');
  await pkg.default();
  return (name, ...question) => pkg[name](...question);
};

/** What the function `name` of the package says: see pkg/shardscope.d.ts. */
export async function ask(name, ...question) {
  room ??= inWorker().catch(inPage);
  return (await room)(name, ...question);
}

/** A panel as HTML text: for the page. */
export const panel = (...question) => ask('panel', ...question);
