// The page as it is shipped: it starts anywhere, and talks to nobody.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, PHONE } from './browser.mjs';
import { becomes, eventually, figures, matches, more, still, until } from './calculator.mjs';
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
  await becomes(() => page.locator('h1:visible').count(), 1);
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

test('the theme button turns dark to light, and the next visit remembers', async (t) => {
  const server = await site(t);
  const { page, problems } = await browser.open(server.url, { colorScheme: 'dark' });
  const theme = (of) => of.locator('html').getAttribute('data-theme');
  const paper = (of) => of.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await becomes(() => theme(page), 'dark');
  const dark = await paper(page);
  await page.getByRole('button', { name: 'Light or dark' }).click();
  await eventually(() => theme(page), (now) => now === 'light');
  await eventually(() => paper(page), (now) => now !== dark);
  await page.reload();
  await eventually(() => theme(page), (now) => now === 'light');
  assert.deepEqual(problems, []);
});

test('memory is shown in GiB or GB', async (t) => {
  const server = await site(t);
  const { page } = await browser.open(server.url);
  const numbers = async () => /([\d.]+) ?of ([\d.]+) (GiB|GB)/.exec(await figures(page))?.slice(1) ?? [];
  const [used, usable, unit] = await eventually(numbers, ([, , now]) => now);
  assert.equal(unit, 'GiB');
  await more(page, 'Memory in');
  const [shown, most] = await eventually(numbers, ([, , now]) => now === 'GB');
  assert.ok(Math.abs(most / usable - 2 ** 30 / 1e9) < 0.002);
  assert.ok(Math.abs(shown / used - 2 ** 30 / 1e9) < 0.004);
  await eventually(() => page.title(), (title) => / GB /.test(title));
});

test('a figure that is clicked says where it comes from', async (t) => {
  const server = await site(t);
  const { page } = await browser.open(server.url);
  const about = page.getByRole('complementary', { name: 'About a number' });
  await page.locator('.strip .key', { hasText: 'MFU' }).click();
  await about.locator('.term').first().waitFor();
  const text = await matches(() => about.innerText(), /=/);
  assert.doesNotMatch(text, /NaN|inf/);
});

test('nothing is cut off or wider than the phone, on any of its tabs', async (t) => {
  const server = await site(t);
  for (const link of ['', '#v=1&tp=7', '#v=1&model=llama-3.1-405b&gpus=16384&tp=8&pp=16&global_batch=2048']) {
    const { page, problems } = await browser.open(server.url + link, PHONE);
    const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    assert.ok(await fits(), `results of ${link}`);
    await page.getByRole('button', { name: 'Inputs' }).click();
    await page.locator('[data-field="tp"]').waitFor();
    assert.ok(await fits(), `inputs of ${link}`);
    await more(page, 'Share');
    await page.getByRole('dialog').waitFor();
    assert.ok(await fits(), `share of ${link}`);
    assert.deepEqual(problems, []);
  }
});

test('nothing is wider than the window, from phone to desktop, and Compare and Share are in reach', async (t) => {
  const server = await site(t);
  for (const width of [360, 600, 768, 820, 900, 901, 1080, 1081, 1180, 1361]) {
    const { page } = await browser.open(server.url, { viewport: { width, height: 1024 } });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}`);
    const reach = async (button, what) => {
      const within = (box) => box && box.x >= 0 && box.x + box.width <= width && box.height < 60;
      await until(() => button.boundingBox(), (box) => assert.ok(within(box), `${what} at ${width}`));
    };
    const header = page.locator('header.bar');
    const menu = header.locator('.menu.more');
    // Up to these widths the header may have no room for it: it then stands in the menu.
    for (const [name, narrow] of [['Compare', 1120], ['Share', 760]]) {
      const button = header.getByRole('button', { name, exact: true }).filter({ visible: true });
      if (await button.count() === 0) {
        assert.ok(width <= narrow, `${name} at ${width} without the menu`);
        await reach(menu.locator('summary'), 'the menu');
        await menu.locator('summary').click();
      }
      await reach(button.first(), name);
    }
    await page.context().close();
  }
});

test('the key figures stand in one row of columns, whatever the verdict is', async (t) => {
  const server = await site(t);
  for (const width of [1440, 1280, 1180]) {
    const places = [];
    for (const link of ['#v=1', '#v=1&model=llama-3.1-405b&gpus=16384&tp=8&pp=16&global_batch=2048']) {
      const { page } = await browser.open(server.url + link, { viewport: { width, height: 900 } });
      const names = await still(() => page.locator('.strip .name').evaluateAll((all) => all.map((name) => {
        const { left, top } = name.getBoundingClientRect();
        return [Math.round(left), Math.round(top)];
      })));
      assert.equal(new Set(names.map(([, top]) => top)).size, 1, `one row at ${width} of ${link}`);
      places.push(names);
      await page.context().close();
    }
    assert.deepEqual(places[0], places[1], `${width}`);
  }
});

test('the key figures never run under the column beside them', async (t) => {
  const server = await site(t);
  for (const viewport of [{ width: 1440, height: 900 }, { width: 1181, height: 800 }, { width: 901, height: 800 }, { width: 721, height: 800 }]) {
    const { page } = await browser.open(`${server.url}#v=1&model=deepseek-v3&gpus=2048&tp=1&pp=16&ep=64`, { viewport });
    const over = () => page.locator('.strip').evaluate((strip) => {
      const edge = strip.getBoundingClientRect().right;
      return [...strip.children].filter((key) => key.getBoundingClientRect().right > edge).map((key) => key.innerText);
    });
    await becomes(over, [], `${viewport.width}`);
  }
});
