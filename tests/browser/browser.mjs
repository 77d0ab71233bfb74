// A browser for tests: the machine's Chromium, talking to no one but the page's own server.
//
//   const server = await serve();                                  // server.mjs
//   const browser = await launch();
//   const { page, problems } = await browser.open(server.url + '#v=1&tp=4', { viewport: PHONE });
//   ... page is Playwright's Page ...
//   assert.deepEqual(problems, []);                                // no error, no failed or foreign request
//   await browser.close();
//   await server.close();
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const ARGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Options of `open` for the widths that the design names. */
export const DESKTOP = { viewport: { width: 1440, height: 900 } };
export const LAPTOP = { viewport: { width: 1180, height: 800 } };
export const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
export const EMBED = { viewport: { width: 600, height: 400 } };

/** The one limit of every wait, on a machine under load: no test measures time. */
export const LIMIT_MS = 120_000;

/** Starts Chromium with a new profile; close() ends it. */
export async function launch() {
  const executablePath = execFileSync(fileURLToPath(new URL('../../tools/chromium', import.meta.url)), {
    encoding: 'utf8',
  }).trim();
  const browser = await chromium.launch({ executablePath, args: ARGS, timeout: LIMIT_MS });
  return { open: (url, options) => open(browser, url, options), close: () => browser.close() };
}

/**
 * Opens `url` in a tab of its own (own storage, own cache) and waits until the calculator runs.
 *
 * Options are Playwright's for a new context (viewport, colorScheme, reducedMotion, javaScriptEnabled, ...) and:
 * - `started`: false to come back once the document has loaded, for pages that hold the calculator in a frame
 *
 * Resolves to { page, problems }. `problems` is an array that keeps growing while the page lives: a line for every
 * console error or warning, uncaught error, failed request, answer of 400 and above, and request that leaves the origin
 * of `url` (frames included).
 */
async function open(browser, url, { started = true, ...options } = {}) {
  const context = await browser.newContext({ ...DESKTOP, ...options });
  context.setDefaultTimeout(LIMIT_MS);
  const page = await context.newPage();
  const problems = watch(page, new URL(url).origin);
  await page.addInitScript(count);
  await page.goto(url, { waitUntil: 'load' });
  if (started) {
    try {
      await page.waitForFunction(() => globalThis.shardscopeStarted);
    } catch {
      throw new Error(`the page did not start: ${problems.join('; ') || 'no error seen'}`);
    }
  }
  return { page, problems };
}

/** Runs in the page before its own scripts: when it started, and how many jobs its worker has not ended. */
function count() {
  // The loader in Trunk.toml fires this after mount().
  addEventListener('TrunkApplicationStarted', () => {
    globalThis.shardscopeStarted = performance.now();
  });
  globalThis.unanswered = 0;
  const { Worker } = globalThis;
  if (!Worker) return;
  globalThis.Worker = class extends Worker {
    #jobs = new Set();

    constructor(...source) {
      super(...source);
      this.addEventListener('message', ({ data }) => { if (data.length === 1) this.#ends(data[0]); });
      this.addEventListener('error', () => this.#jobs.forEach((job) => this.#ends(job)));
    }

    #ends(job) {
      if (this.#jobs.delete(job)) globalThis.unanswered -= 1;
    }

    postMessage(message, ...rest) {
      if (message.length === 1) this.#ends(message[0]);
      if (message.length === 2) {
        this.#jobs.add(message[0]);
        globalThis.unanswered += 1;
      }
      super.postMessage(message, ...rest);
    }

    terminate() {
      this.#jobs.forEach((job) => this.#ends(job));
      super.terminate();
    }
  };
}

function watch(page, origin) {
  const problems = [];
  page.on('console', (message) => {
    // Chromium warns when a slow start leaves a preloaded file waiting: timing, no fault.
    if (message.text().includes('was preloaded using link preload but not used')) return;
    if (message.type() === 'error' || message.type() === 'warning') {
      problems.push(`console ${message.type()}: ${message.text()}`);
    }
  });
  page.on('pageerror', (error) => problems.push(`uncaught: ${error.message}`));
  page.on('request', (request) => {
    const { protocol, origin: to } = new URL(request.url());
    if (protocol !== 'data:' && protocol !== 'blob:' && to !== origin) problems.push(`leaves: ${request.url()}`);
  });
  page.on('requestfailed', (request) => {
    const error = request.failure()?.errorText ?? '';
    // A reload aborts what the document before it was still loading.
    if (error !== 'net::ERR_ABORTED') problems.push(`failed: ${request.url()} ${error}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`);
  });
  return problems;
}
