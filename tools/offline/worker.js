// The page without the network: all files of one build, kept whole or not at all. BUILD and FILES (path: SHA-256) are
// written above this line by tools/offline/write.mjs.
//
// A newer build is kept beside this one and waits: no page ever gets files of two. It begins when the last page of this
// one is gone, or when a person says so on the page, which then reloads.
const SCOPE = registration.scope;
const OURS = `shardscope ${SCOPE} `;
const KEPT = OURS + BUILD;
const address = (path) => new URL(path, SCOPE).href;

/** Whether `body` is the file of this build, whole. */
async function isWhole(path, body) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', body));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('') === FILES[path];
}

/** A file from the network, if it is of this build. */
async function fetched(path) {
  const answer = await fetch(address(path), { cache: 'no-cache' });
  const body = await answer.arrayBuffer();
  if (!await isWhole(path, body)) throw new Error(`${path} is of another build`);
  const headers = new Headers(answer.headers);
  for (const name of ['Content-Encoding', 'Content-Length']) headers.delete(name);
  return new Response(body, { headers });
}

async function keep() {
  const cache = await caches.open(KEPT);
  try {
    await Promise.all(Object.keys(FILES).map(async (path) => cache.put(address(path), await fetched(path))));
  } catch (error) {
    await caches.delete(KEPT);
    throw error;
  }
}

async function tidy() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(OURS) && name !== KEPT).map((name) => caches.delete(name)));
}

/** A file of the copy; one that was deleted or damaged is fetched again and kept. */
async function answer(path) {
  const cache = await caches.open(KEPT);
  const kept = await cache.match(address(path));
  if (kept && await isWhole(path, await kept.clone().arrayBuffer())) return kept;
  const again = await fetched(path);
  await cache.put(address(path), again.clone());
  return again;
}

addEventListener('install', (event) => event.waitUntil(keep()));
addEventListener('activate', (event) => event.waitUntil(tidy()));
addEventListener('message', ({ data }) => { if (data === 'begin') skipWaiting(); });
addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  const asked = url.split(/[?#]/)[0];
  if (method !== 'GET' || !asked.startsWith(SCOPE)) return;
  const name = asked.slice(SCOPE.length);
  const path = name === 'index.html' ? '' : name;
  if (Object.hasOwn(FILES, path)) event.respondWith(answer(path));
});
