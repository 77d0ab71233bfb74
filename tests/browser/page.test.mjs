// The page as it is shipped: it starts anywhere, and talks to nobody.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, PHONE } from './browser.mjs';
import { serve } from './server.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** Serves dist/ for the length of one test. */
async function site(t, options) {
  const server = await serve(options);
  t.after(() => server.close());
  return server;
}

test('starts without an error or a request elsewhere', async (t) => {
  const server = await site(t);
  const { page, problems } = await browser.open(server.url);
  assert.equal(await page.locator('h1:visible').count(), 1);
  assert.deepEqual(problems, []);
});

test('starts on a phone, and nothing is wider than it', async (t) => {
  const server = await site(t);
  const { page, problems } = await browser.open(server.url, PHONE);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.deepEqual(problems, []);
});

test('starts below any path', async (t) => {
  const server = await site(t, { base: '/some/sub/path/' });
  const { problems } = await browser.open(server.url);
  assert.deepEqual(problems, []);
});

test('starts in a sandboxed frame of another page', async (t) => {
  const files = await site(t, { cors: true });
  const host = await site(t, {
    pages: { '/wiki.html': `<!DOCTYPE html><link rel="icon" href="data:,">
      <iframe sandbox="allow-scripts" src="${files.url}" width="600" height="400"></iframe>` },
  });
  const { page, problems } = await browser.open(`${host.origin}/wiki.html`, { started: false });
  const frame = page.frames()[1];
  await frame.waitForFunction(() => globalThis.shardscopeStarted);
  assert.equal(await frame.evaluate(() => origin), 'null');
  // Only the frame's own host was asked for anything.
  assert.deepEqual(problems.filter((line) => !line.startsWith(`leaves: ${files.origin}/`)), []);
});

test('stops scripts that are not its own', async (t) => {
  const server = await site(t);
  const { page } = await browser.open(server.url);
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.intruded = true';
    document.body.append(script);
    return globalThis.intruded === true;
  });
  assert.equal(ran, false);
});

test('the JavaScript package answers, and mounts nothing', async (t) => {
  const server = await site(t, {
    pages: { '/host.html': `<!DOCTYPE html><link rel="icon" href="data:,"><script type="module">
      import init, * as shardscope from './pkg/shardscope.js';
      await init();
      globalThis.answer = shardscope.version();
    </script>` },
  });
  const { page, problems } = await browser.open(`${server.origin}/host.html`, { started: false });
  await page.waitForFunction(() => globalThis.answer);
  assert.match(await page.evaluate(() => globalThis.answer), /^\d+\.\d+\.\d+$/);
  assert.equal(await page.evaluate(() => document.body.children.length), 0);
  assert.deepEqual(problems, []);
});
