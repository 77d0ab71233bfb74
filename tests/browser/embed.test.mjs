// One panel, or one step of a lesson, in someone's page: nothing but that, its height told to the page around it, its Run set by messages.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { EMBED } from './browser.mjs';
import { alike, becomes, calculator, eventually, figures, isDrawn, matches, still, until } from './calculator.mjs';
import { serve } from './server.mjs';
import { settled } from './tour.mjs';

const HEAR = `<!DOCTYPE html><link rel="icon" href="data:,">
  <script>addEventListener('message', (event) => { (globalThis.heard ??= []).push(event.data); });</script>`;
const host = (page, sandbox = '') => `${HEAR}
  <iframe ${sandbox} src="/index.html#v=1&tp=4&${page}" width="600" height="400"></iframe>`;
const PANELS = ['memory', 'timeline', 'overlap', 'strip'];
const LESSON = 'lesson&view.lesson=pipelines.4';
const site = calculator({
  cors: true,
  pages: Object.fromEntries([
    ...[...PANELS, 'all', LESSON].map((panel) => [`/host-${panel}.html`, host(`view.embed=${panel}`)]),
    ['/sandboxed.html', host('view.embed=timeline', 'sandbox="allow-scripts"')],
    ['/sandboxed-memory.html', host('view.embed=memory', 'sandbox="allow-scripts"')],
    ['/element.html', `${HEAR}<script type="module" src="/embed.js"></script>
      <shardscope-embed run="tp=4&amp;gpus=128" panel="strip" theme="dark"></shardscope-embed>`],
    ['/step.html', `${HEAR}<script type="module" src="/embed.js"></script>
      <shardscope-embed panel="lesson" lesson="pipelines.4"></shardscope-embed>`],
    ['/ticked.html', `${HEAR}<script type="module" src="/embed.js"></script>
      <shardscope-embed run="v=1&amp;pp=4&amp;view.ticked=1f1b,zb-h1" panel="schedules"></shardscope-embed>`],
    ['/chinese.html', `${HEAR}<script type="module" src="/embed.js"></script>
      <shardscope-embed run="tp=4" panel="strip" lang="zh"></shardscope-embed>`],
    ['/object.html', `${HEAR}<script type="module" src="/embed.js"></script>
      <shardscope-embed run='{"tp":4,"gpus":128}' panel="strip"></shardscope-embed>`],
  ]),
});

const TITLES = { memory: '#memory-title', timeline: '#timeline-title', overlap: '#overlap-title', strip: '.strip' };

/** The panels that are seen. */
async function seen(page) {
  const shown = await Promise.all(PANELS.map((panel) => page.locator(TITLES[panel]).count()));
  return PANELS.filter((_, at) => shown[at] > 0);
}

/** The frame in a page, once it runs. */
async function framed(page) {
  await eventually(() => page.evaluate(() => globalThis.heard?.some((data) => data?.px > 0)), Boolean);
  return page.frames()[1];
}

/** A host with a frame: ask(message) resolves to the answer. */
async function hosted(path) {
  const { page, problems } = await site.open(path, { started: false });
  const frame = await framed(page);
  let last = 0;
  const ask = async (message) => {
    const id = last += 1;
    await page.evaluate((said) => { document.querySelector('iframe').contentWindow.postMessage(said, '*'); }, { ...message, id });
    return eventually(() => page.evaluate((at) => heard.find((data) => data.id === at), id), Boolean);
  };
  return { page, frame, problems, ask };
}

for (const panel of [...PANELS, 'all']) {
  test(`view.embed=${panel} shows ${panel === 'all' ? 'every panel' : 'one panel'} without inputs`, async () => {
    const { page, problems } = await site.open(`#v=1&view.embed=${panel}`, EMBED);
    await becomes(() => seen(page), panel === 'all' ? PANELS : [panel]);
    assert.equal(await page.locator(':is([data-field], input, textarea, header.bar, .inputs, .detail):visible').count(), 0);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'as wide as its frame');
    assert.deepEqual(problems, []);
  });
}

for (const panel of [...PANELS, 'all', LESSON]) {
  test(`view.embed=${panel} tells the page around it how high it is`, async () => {
    const { page } = await site.open(`host-${panel}.html`, { started: false });
    const heights = () => page.evaluate(() => (globalThis.heard ?? []).filter((data) => data?.type === 'shardscope:height'));
    const frame = await framed(page);
    // The content's own height, which a frame that is too high or too low does not change.
    const height = () => frame.evaluate(() => Math.ceil(document.body.getBoundingClientRect().height));
    // The last message is the height that the frame settles on.
    const [last, real] = await eventually(
      async () => [(await heights()).at(-1), await height()],
      ([message, now]) => message?.px === now,
    );
    assert.deepEqual([last.type, last.px], ['shardscope:height', real]);
    assert.equal((await heights()).filter((message) => message.first).length, 1, 'one start is told');
    assert.ok(Number.isInteger(real) && real > 20);
    assert.ok(await frame.evaluate(() => document.querySelector('#skeleton') === null), 'not the skeleton\'s');
  });
}

const LOW = [
  'view.embed=memory', 'model=llama-3.1-70b&tp=4&pp=16&view.embed=memory', 'view.embed=timeline', 'cp=2&view.embed=overlap',
  'tokens_total=15e12&price_per_gpu_hour=2&view.embed=whole', 'view.embed=cluster',
];
test('an embed of a comparison shows both runs and changes neither', async () => {
  const { page, problems } = await site.open('#v=1&tp=4&b.tp=2&view.embed=compare', EMBED);
  await page.locator('.compare-card').nth(1).waitFor();
  await becomes(() => page.locator('.compare-card').count(), 2);
  assert.equal(await page.getByRole('button', { name: /Use B|Swap|use this value/ }).count(), 0);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'as wide as its frame');
  assert.deepEqual(problems, []);
});

test('a frame of 600 x 400 shows what it promises without scrolling inside', async () => {
  for (const link of LOW) {
    const { page, problems } = await site.open(`#v=1&${link}`, EMBED);
    await page.locator('.results :is(.bar-row, canvas, .scroll-x, .whole-calendar, .cluster-map)').first().waitFor();
    const height = () => page.evaluate(() => Math.ceil(document.body.getBoundingClientRect().height));
    await eventually(height, (px) => px > 100 && px <= 400);
    await becomes(() => page.evaluate(() => document.documentElement.scrollWidth <= 600), true, link);
    assert.deepEqual(problems, []);
  }
  const { page } = await site.open('#v=1&view.embed=timeline', EMBED);
  await page.locator('.pipe .ranks', { hasText: 'rank 3' }).waitFor();
  await page.locator('.pipe .legend', { hasText: 'backward' }).waitFor();
  await page.locator('.embed-foot', { hasText: 'Fits' }).waitFor();
});

test('a step of a lesson stands alone, and its sliders move its figures', async () => {
  const { page, problems } = await site.open(`#v=1&view.embed=${LESSON}`, EMBED);
  await becomes(() => page.locator('h2').innerText(), 'Interleaving: smaller stages');
  assert.equal(await page.locator('nav, header.bar, .inputs, .page').count(), 0);
  await page.getByText('Explanation').click();
  const bubble = () => page.locator('.lesson-formula .values').innerText();
  const before = await eventually(bubble, Boolean);
  await page.locator('.slider', { hasText: 'stages per rank' }).locator('input').press('ArrowRight');
  await eventually(bubble, (after) => after !== before);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'as wide as its frame');
  const link = () => page.getByRole('link', { name: 'Open in Shardscope' }).getAttribute('href');
  await matches(link, /#v=1&view\.lesson=pipelines\.interleaving&view\.sliders=p\.4,m\.8,v\.4$/);
  assert.deepEqual(problems, []);
});

test('a low frame shows title, sliders and picture at once, where the link says that the sliders stand', async () => {
  const { page, problems } = await site.open(`#v=1&view.embed=${LESSON}&view.sliders=p.4,m.32,v.4`, EMBED);
  await page.locator('.lesson-frame .drawing').waitFor();
  await becomes(() => page.locator('.slider output').allInnerTexts(), ['4', '32', '4']);
  const bottoms = () => page.locator('.lesson-frame :is(h2, .sliders, .drawing)').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().bottom));
  await eventually(bottoms, (all) => all.length === 3 && Math.max(...all) <= 400);
  await page.evaluate(() => { location.hash = location.hash.replace('v.4', 'v.99'); });
  await page.locator('.lesson-frame .issue', { hasText: 'no 99' }).waitFor();
  assert.deepEqual(problems, []);
});

test('no step of a lesson scrolls in a low frame, and its words are one press away', async () => {
  const { page, problems } = await site.open('#v=1&view.embed=lesson&view.lesson=layout.recipe', EMBED);
  // Every lesson with its steps, as the calculator lists them.
  const ids = readFileSync(new URL('../../src/view/steps.rs', import.meta.url), 'utf8');
  const steps = [...ids.matchAll(/^ {4}\(\s*"([a-z]+)",\s*&\[([^\]]*)\],?\s*\),$/gm)]
    .flatMap(([, lesson, list]) => [...list.matchAll(/\("([a-z0-9-]+)", \d+\)/g)].map(([, step]) => `${lesson}.${step}`));
  assert.ok(steps.length >= 60, `${steps.length}`);
  let title = '';
  for (const step of steps) {
    await page.evaluate((id) => { location.hash = location.hash.replace(/view\.lesson=[a-z0-9.-]+/, `view.lesson=${id}`); }, step);
    // No two steps have one title.
    const before = title;
    title = await eventually(() => page.locator('.lesson-frame h2').innerText(), (now) => now !== before);
    const size = () => page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]);
    await until(size, ([width, height]) => assert.ok(width <= 600 && height <= 400, `${step}: ${width} x ${height}`));
  }
  const words = page.locator('.lesson-frame .lesson-formula');
  assert.equal(await words.isVisible(), false);
  await page.getByText('Explanation').click();
  await words.waitFor();
  assert.deepEqual(problems, []);
});

test('a picture of pipelines is covered from the moment on that its slider says, and its button moves it', async () => {
  const { page, problems } = await site.open('#v=1&view.lesson=pipelines.gpipe');
  const slider = page.locator('.scrub input');
  await slider.fill('500');
  const curtain = page.locator('.lesson-figure.covered .curtain');
  await curtain.waitFor();
  const boxes = () => Promise.all([curtain, page.locator('.lesson-figure .scrubbed .drawing')].map((one) => one.boundingBox()));
  await eventually(boxes, ([cover, drawing]) => cover && drawing && Math.abs((cover.x - drawing.x) / drawing.width - 0.5) < 0.01);
  await matches(() => page.locator('.moment').innerText(), /GPipe at .*: \d of 4 ranks work/);
  await page.locator('.scrub button').click();
  await page.waitForFunction(() => Number(document.querySelector('.scrub input').value) > 520);
  await page.locator('.scrub button').click();
  assert.deepEqual(problems, []);
  await page.context().close();
});

test('an answered challenge stays marked when lessons are left, and on the next visit', async () => {
  const { page, problems } = await site.open('#v=1&view.lesson=pipelines.interleaving&view.sliders=p.4,m.32,v.2');
  const marked = page.locator('.lessons .steps .done', { hasText: 'Interleaving' });
  await marked.waitFor();
  await page.locator('nav.views button[data-view=run]').click();
  await page.locator('.strip .key').first().waitFor();
  await page.locator('nav.views button[data-view^=learn]').click();
  await page.locator('.lessons .lesson', { hasText: 'How pipelines fill up' }).click();
  await marked.waitFor();
  // The address follows a moment later.
  await page.waitForFunction(() => location.hash.includes('view.lesson=pipelines'));
  await page.reload();
  await marked.waitFor();
  assert.deepEqual(problems, []);
});

test('arrow keys turn the steps of a lesson, and the address says which and where its sliders stand', async () => {
  const { page, problems } = await site.open('#v=1&view.lesson=pipelines.4');
  await page.locator('.lesson-head h1', { hasText: 'Interleaving' }).waitFor();
  await page.locator('.slider', { hasText: 'ranks' }).locator('input').first().press('ArrowRight');
  await page.waitForFunction(() => location.hash.includes('view.sliders=p.8,m.8,v.2'));
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('ArrowRight');
  await page.locator('.lesson-head h1', { hasText: 'ZB-H1' }).waitFor();
  // The ranks that were chosen stay.
  await page.waitForFunction(() => location.hash.endsWith('view.lesson=pipelines.zb-h1&view.sliders=p.8'));
  await page.keyboard.press('ArrowLeft');
  await page.locator('.lesson-head h1', { hasText: 'Interleaving' }).waitFor();
  assert.deepEqual(problems, []);
});

test('the element shows a step, and another where its attribute says so', async () => {
  const { page, problems } = await site.open('step.html', { started: false });
  const frame = await framed(page);
  await frame.locator('h2', { hasText: 'Interleaving' }).waitFor();
  await page.evaluate(() => document.querySelector('shardscope-embed').setAttribute('lesson', 'zero.2'));
  await frame.locator('h2', { hasText: 'How fast a collective is' }).waitFor();
  assert.deepEqual(problems, []);
});

test('an unknown panel is shown as everything', async () => {
  const { page } = await site.open('#v=1&view.embed=nonsense', EMBED);
  await becomes(() => seen(page), PANELS);
});

test('the way out leads to the same run in the whole calculator', async () => {
  const { page } = await site.open('#v=1&tp=4&view.embed=strip');
  const link = await page.getByRole('link', { name: 'Open in Shardscope' }).getAttribute('href');
  const { page: whole } = await site.open(link);
  // Tokens and price are inputs there, words here.
  await whole.locator('.strip input').evaluateAll((all) => all.forEach((one) => one.replaceWith(one.value)));
  await alike(() => figures(whole), () => figures(page));
  await becomes(() => whole.locator('[data-field="tp"] input').inputValue(), '4');
});

test('view.theme wins over what the browser prefers, and lets the host\'s paper through', async () => {
  for (const [theme, colorScheme] of [['dark', 'light'], ['light', 'dark']]) {
    const { page } = await site.open(`#v=1&view.embed=strip&view.theme=${theme}`, { ...EMBED, colorScheme });
    await becomes(() => page.locator('html').getAttribute('data-theme'), theme);
    await becomes(() => page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgba(0, 0, 0, 0)');
  }
  const { page } = await site.open('#v=1&view.embed=strip', EMBED);
  await becomes(() => page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
});

test('a run that cannot work says why, over the default greyed', async () => {
  for (const panel of PANELS) {
    const { page, problems } = await site.open(`#v=1&tp=7&view.embed=${panel}`, EMBED);
    await matches(() => page.locator('.said').innerText(), /This cannot run.*(tp|TP|divi)/s);
    await page.locator('.stale').first().waitFor();
    // The picture is there, not a hole.
    if (panel === 'timeline') await eventually(() => isDrawn(page), Boolean);
    else await eventually(() => page.locator('.results').innerText(), (text) => /Fits|stage 0|rank 0|pp|DP gradients/i.test(text));
    assert.deepEqual(problems, []);
  }
  const { page } = await site.open('#v=1&tp=four&view.embed=strip', EMBED);
  await matches(() => page.locator('.said').innerText(), /Enter a whole number of at least 1/);
  const { page: fine } = await site.open('#v=1&tp=4&view.embed=strip', EMBED);
  assert.equal(await fine.locator('.said').isVisible(), false);
});

for (const path of ['host-strip.html', 'sandboxed.html']) {
  test(`${path}: ping, get, set`, async () => {
    const { page, frame, problems, ask } = await hosted(path);
    const pong = await ask({ type: 'shardscope:ping' });
    assert.equal(pong.type, 'shardscope:pong');
    assert.match(pong.version, /^\d+\.\d+\.\d+$/);
    const here = await ask({ type: 'shardscope:get' });
    assert.deepEqual([here.type, here.run, here.errors], ['shardscope:run', { tp: 4 }, []]);
    assert.equal(here.link, `${site.url}index.html#v=1&tp=4`);
    const before = await page.evaluate(() => [location.href, history.length]);
    const set = await ask({ type: 'shardscope:set', run: { tp: 1, gpus: 32 }, theme: 'dark' });
    assert.deepEqual([set.run, set.errors], [{ gpus: 32, tp: 1 }, []]);
    await eventually(() => frame.locator('.embed-foot').innerText(), (text) => text.includes('32 ×'));
    await becomes(() => frame.locator('html').getAttribute('data-theme'), 'dark');
    // What one says, the other reads.
    const again = await ask({ type: 'shardscope:set', link: here.link });
    assert.deepEqual([again.run, again.link], [here.run, here.link]);
    assert.deepEqual(await page.evaluate(() => [location.href, history.length]), before);
    assert.deepEqual(problems, []);
  });
}

test('what is not understood is said and changes nothing', async () => {
  const { page, frame, ask } = await hosted('host-strip.html');
  await settled(frame);
  const foot = await frame.locator('.embed-foot').innerText();
  for (const [message, said] of [
    [{ run: { tp: 'x' } }, /tp/], [{ run: { nonsense: 1 } }, /no such field/], [{ run: 'tp=2' }, /object/], [{ run: [1] }, /object/],
    [{ link: 7 }, /text/], [{ panel: 'cellar' }, /memory, timeline/], [{ theme: 'pink' }, /light, dark/],
    [{ lang: 'tlh' }, /en, zh/], [{ lesson: '7' }, /pipelines/], [{ sliders: 'p=8' }, /p\.8/], [{ run: `${'{"model":'.repeat(2000)}1${'}'.repeat(2000)}` }, /64 levels/],
  ]) {
    const answer = await ask({ type: 'shardscope:set', ...message });
    assert.match(JSON.stringify(answer.errors), said, JSON.stringify(message));
    assert.deepEqual(answer.run, { tp: 4 });
  }
  // A Run that is understood but cannot work is set, and says why.
  const bad = await ask({ type: 'shardscope:set', run: { tp: 7 } });
  assert.deepEqual([bad.run, bad.errors.length > 0], [{ tp: 7 }, true]);
  await frame.locator('.said').getByText('This cannot run').waitFor();
  await ask({ type: 'shardscope:set', run: { tp: 4 } });
  await becomes(() => frame.locator('.embed-foot').innerText(), foot);
  // Neither noise nor strangers are answered.
  const heard = await page.evaluate(async () => {
    const before = globalThis.heard.length;
    const to = document.querySelector('iframe').contentWindow;
    for (const said of [null, 7, 'shardscope:ping', {}, { type: 'constructor' }, { type: { x: 1 } }, { type: { toString: null } }, { type: ['shardscope:ping'] }]) to.postMessage(said, '*');
    const stranger = document.body.appendChild(document.createElement('iframe'));
    stranger.contentWindow.eval('globalThis.heard = []; onmessage = (event) => heard.push(event.data)');
    stranger.contentWindow.eval('parent.frames[0].postMessage({ type: "shardscope:ping" }, "*")');
    await new Promise((later) => { setTimeout(later, 300); });
    return [...globalThis.heard.slice(before), ...stranger.contentWindow.heard].filter((data) => data.type !== 'shardscope:height');
  });
  assert.deepEqual(heard, []);
});

test('a figure of a frame says where it comes from, below the panel, and the frame grows for it', async () => {
  const { page, frame, problems } = await hosted('host-strip.html');
  const height = () => page.evaluate(() => heard.filter((data) => data.type === 'shardscope:height').at(-1).px);
  await settled(frame);
  const before = await still(height);
  assert.equal(await frame.locator('.detail').isVisible(), false);
  await frame.locator('[data-action^="explain "]').first().click();
  await frame.locator('.detail .term .formula').first().waitFor();
  await eventually(height, (px) => px > before + 100);
  await frame.locator('.detail .close-sheet').click();
  await eventually(height, (px) => px === before);
  assert.deepEqual(problems, []);
});

test('the element is a frame as high as its content, and follows its attributes', async () => {
  const { page, problems } = await site.open('element.html', { started: false });
  const frame = await framed(page);
  await frame.waitForFunction(() => document.querySelector('.embed-foot')?.innerText.includes('128 ×'));
  await becomes(() => frame.locator('html').getAttribute('data-theme'), 'dark');
  await becomes(() => seen(frame), ['strip']);
  await eventually(
    async () => [await page.locator('shardscope-embed iframe').getAttribute('height'), await frame.evaluate(() => Math.ceil(document.body.getBoundingClientRect().height))],
    ([outer, inner]) => Number(outer) === inner,
  );
  await page.evaluate(() => {
    const element = document.querySelector('shardscope-embed');
    element.setAttribute('run', '{"gpus":32,"model":{"base":"llama-3.1-8b","layers":16}}');
    element.setAttribute('theme', 'light');
  });
  await frame.waitForFunction(() => document.querySelector('.embed-foot')?.innerText.includes('modified · 32 ×'));
  await eventually(() => frame.locator('html').getAttribute('data-theme'), (theme) => theme === 'light');
  await page.evaluate(() => document.querySelector('shardscope-embed').setAttribute('panel', 'overlap'));
  await frame.waitForFunction(() => document.querySelector('#overlap-title'));
  await matches(() => frame.locator('.embed-foot').innerText(), /32 ×/);
  await page.evaluate(() => document.querySelector('shardscope-embed').setAttribute('lang', 'zh'));
  await eventually(() => frame.locator('html').getAttribute('lang'), (lang) => lang === 'zh-CN');
  // get() is answered by an event.
  const detail = await page.evaluate(() => new Promise((answer) => {
    const element = document.querySelector('shardscope-embed');
    element.addEventListener('shardscope', (event) => answer(event.detail));
    element.get();
  }));
  assert.equal(detail.run.gpus, 32);
  assert.deepEqual(problems, []);
});

test('the element takes a Run as JSON, and is at most 2 kB', async () => {
  const { page, problems } = await site.open('object.html', { started: false });
  const frame = await framed(page);
  await frame.waitForFunction(() => document.querySelector('.embed-foot')?.innerText.includes('128 ×'));
  assert.ok(readFileSync(new URL('../../public/embed.js', import.meta.url)).length <= 2048);
  assert.deepEqual(problems, []);
});

test('the element speaks the language of its attribute', async () => {
  const { page, problems } = await site.open('chinese.html', { started: false });
  const frame = await framed(page);
  await eventually(() => frame.locator('html').getAttribute('lang'), (lang) => lang === 'zh-CN');
  await matches(() => frame.locator('.strip').innerText(), /单步耗时/);
  assert.deepEqual(problems, []);
});

test('a sandboxed frame draws and tells its height', async () => {
  const { page, problems } = await site.open('sandboxed.html', { started: false });
  const frame = await framed(page);
  await eventually(() => isDrawn(frame), Boolean);
  assert.deepEqual(problems, []);
});

test('a sandboxed frame whose server lets it load nothing says what is missing', async (t) => {
  const server = await serve({ pages: { '/sandboxed.html': host('view.embed=memory', 'sandbox="allow-scripts"') } });
  t.after(server.close);
  const { page } = await site.open(new URL('sandboxed.html', server.url).href, { started: false });
  const note = page.frameLocator('iframe').locator('#crash');
  await note.waitFor();
  await matches(() => note.innerText(), /Access-Control-Allow-Origin/);
  await matches(() => note.locator('a').first().getAttribute('href'), /view\.embed=memory$/);
});

test('a sandboxed frame computes in the page', async () => {
  const { page, problems } = await site.open('sandboxed-memory.html', { started: false });
  const frame = await framed(page);
  await frame.locator('.bar-row').first().waitFor();
  assert.deepEqual(problems, []);
});

test('the element shows the schedules that are ticked, with the key of their colours', async () => {
  const { page, problems } = await site.open('ticked.html', { started: false, ...EMBED });
  const frame = await framed(page);
  await eventually(() => frame.locator('.compared .lane:visible').count(), (lanes) => lanes === 2);
  await frame.locator('.compared .legend', { hasText: 'weight gradient' }).waitFor();
  const height = () => page.evaluate(() => {
    const element = document.querySelector('shardscope-embed');
    return element.shadowRoot.querySelector('iframe').height;
  });
  await eventually(height, (px) => px < 500);
  assert.deepEqual(problems, []);
});

const OF_405B = 'model=llama-3.1-405b&pp=64&tp=8&gpus=2048';
const FRAMED = [
  'whole', 'cluster', 'schedules', 'schedules&view.ticked=1f1b,zb-h1,dualpipe,zb-v',
  `schedules&view.ticked=1f1b,gpipe,zb-v,zb-h1&${OF_405B}`,
];
for (const panel of FRAMED) {
  test(`a frame of 600 x 400 holds ${panel}`, async () => {
    const { page } = await site.open(`#v=1&view.embed=${panel}`, EMBED);
    await page.locator('.embed-foot').waitFor();
    await settled(page);
    const [wide, high] = await page.evaluate(() => {
      const { scrollWidth, scrollHeight } = document.documentElement;
      return [scrollWidth, scrollHeight];
    });
    assert.ok(wide <= 600 && high <= 400, `${wide} x ${high}`);
  });
}
