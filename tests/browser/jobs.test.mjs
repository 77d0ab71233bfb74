// What people come for, in as few clicks as it may take: every press of a mouse button is counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, calculator, eventually, figures, fragment, input, matches, more, still } from './calculator.mjs';
import { settled } from './tour.mjs';

const site = calculator();

/** A page with a counter of clicks; a list that the keyboard changes is one click that opens it. */
async function start(link) {
  const { page, problems } = await site.open(link);
  await page.evaluate(() => {
    globalThis.clicks = 0;
    addEventListener('click', (event) => { if (event.isTrusted) globalThis.clicks += 1; }, true);
  });
  const clicks = () => page.evaluate(() => globalThis.clicks);
  return { page, problems, clicks };
}

/** Types into a field that has the focus after a click. */
async function type(page, locator, text) {
  await locator.click();
  await locator.fill(text);
}

/** The fields of the sentence, each a click. */
const inSentence = (page) => {
  const sentence = page.getByRole('region', { name: 'The run in a sentence' });
  return {
    async choose(name, id) {
      await sentence.getByRole('combobox', { name }).click();
      await sentence.getByRole('combobox', { name }).selectOption(id);
    },
    fill: (name, text) => type(page, sentence.getByRole('textbox', { name }), text),
  };
};

test('70B on 64 H100 at 32k: fits in three clicks, and so does what is proposed', async () => {
  const { page, clicks, problems } = await start('');
  const { choose, fill } = inSentence(page);
  await choose('Model preset', 'llama-3.1-70b');
  await fill('GPUs', '64');
  await fill('Sequence', '32k');
  await eventually(() => figures(page), (text) => /Fits/.test(text));
  await eventually(() => page.locator('.better').innerText(), (text) => /layouts searched/.test(text));
  const verdicts = () => page.locator('.cards-frame > .suggestions > .suggestion .act').allInnerTexts();
  await eventually(verdicts, (all) => all.every((text) => /fits/.test(text)));
  assert.ok(await clicks() <= 3, `${await clicks()} clicks`);
  assert.deepEqual(problems, []);
});

test('the best layout of 405B on 2,048 GPUs and why, in two clicks', async () => {
  const { page, clicks } = await start('');
  const { choose, fill } = inSentence(page);
  await choose('Model preset', 'llama-3.1-405b');
  await fill('GPUs', '2048');
  // The layout that is chosen is the fastest that the search knows: no card takes less time beyond what can be told apart.
  await eventually(() => page.locator('body').innerText(), (text) => /chosen for you/.test(text));
  await eventually(() => figures(page), (text) => /Fits/.test(text));
  // Beside a notice the count has no room: 126 layers on 128 stages need a release of Megatron Core.
  await eventually(() => page.locator('.better .caption').textContent(), (text) => /layouts searched/.test(text));
  await becomes(() => page.locator('.suggestion', { hasText: 'Less time' }).count(), 0);
  assert.ok(await clicks() <= 2, `${await clicks()} clicks`);
});

test('QLoRA of 70B on one 48 GB card is offered after three clicks, and fits', async () => {
  const { page, clicks } = await start('');
  const { choose, fill } = inSentence(page);
  await choose('Model preset', 'llama-3.1-70b');
  await fill('GPUs', '1');
  await choose('GPU preset', 'l40s');
  const offer = page.locator('.unfit .fix', { hasText: 'Train QLoRA' });
  await offer.first().waitFor();
  assert.ok(await clicks() <= 3, `${await clicks()} clicks`);
  await settled(page);
  const tight = /tight|may run out/.test(await offer.first().innerText());
  await offer.first().click();
  await eventually(() => figures(page), (text) => (tight ? /Tight|May run out/ : /Fits/).test(text) && /of 44\.4/.test(text));
});

test('a count of GPUs takes their kind with it: QLoRA of 70B on one 48 GB card in three clicks', async () => {
  const { page, clicks, problems } = await start('');
  const { choose, fill } = inSentence(page);
  await choose('Model preset', 'llama-3.1-70b');
  await fill('GPUs', '1 L40S');
  await eventually(() => fragment(page), (now) => /gpus=1(&|$)/.test(now) && now.includes('gpu=l40s'));
  await choose('What is trained', 'qlora');
  // The length and the batch of a fine-tuning, and software that has a quantised base, each said in the link.
  const brings = ['seq_len=512', 'global_batch=16', 'stack=hf-trainer'];
  await eventually(() => fragment(page), (now) => brings.every((one) => now.includes(one)));
  await eventually(() => figures(page), (text) => /(Fits|Tight)[^]*of 44\.4/.test(text));
  // The page says that it is QLoRA, and offers what fits on this card: a shorter sequence.
  const ways = page.locator('.suggestion, .unfit .fix');
  await eventually(() => ways.allInnerTexts(), (texts) => texts.some((text) => /QLoRA|tokens|sequence/.test(text)));
  assert.ok(await clicks() <= 3, `${await clicks()} clicks`);
  assert.deepEqual(problems, []);
});

test('DeepSeek-V3 on 2,048 H800 with DualPipe by hand: what overlap hides is drawn, in four clicks', async () => {
  const { page, clicks, problems } = await start('');
  const { choose, fill } = inSentence(page);
  await choose('Model preset', 'deepseek-v3');
  await fill('GPUs', '2048');
  await choose('GPU preset', 'h800-sxm-80gb');
  await eventually(() => fragment(page), (now) => now.includes('gpus=2048') && now.includes('gpu=h800-sxm-80gb'));
  await eventually(() => page.locator('body').innerText(), (text) => /chosen for you/.test(text));
  await choose('Schedule', 'dualpipe');
  await eventually(() => page.locator('.stale-note').count(), (count) => count === 0);
  // A schedule of pairs leads to what hides in a pair.
  await page.locator('.beside-picture svg').first().waitFor();
  // The layout that the schedule is given has pairs, and the picture says how many.
  await eventually(() => page.locator('.beside').innerText(), (text) => /of the passes run in pairs/.test(text));
  assert.ok(await clicks() <= 4, `${await clicks()} clicks`);
  // The software of the page has no DualPipe: the line says so, first or among the others.
  await matches(() => page.locator('.warned').innerText(), /Schedule: .* does not run DualPipe/);
  assert.deepEqual(problems, []);
});

test('torchtitan settings and the order of its pipeline, in three clicks', async () => {
  const { page, clicks } = await start('#v=1&stack=torchtitan');
  await page.locator('.footnote').getByRole('button', { name: 'Save' }).click();
  await page.locator('dialog[open]').getByRole('button', { name: 'torchtitan', exact: true }).click();
  const files = [];
  page.on('download', (file) => files.push(file.suggestedFilename()));
  await page.locator('dialog[open]').getByRole('button', { name: 'Save with the order' }).click();
  await eventually(() => files.length, (count) => count === 2);
  assert.deepEqual(files.sort(), ['shardscope.order.csv', 'shardscope.py']);
  assert.ok(await clicks() <= 3, `${await clicks()} clicks`);
});

test('a shared result on a phone in Chinese, in one click', async () => {
  const { page } = await site.open('#v=1&model=llama-3.1-70b&gpus=256&tp=8&pp=4', {
    viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true,
  });
  await page.locator('header.bar').getByRole('button', { name: '中文' }).tap();
  await eventually(() => page.locator('html').getAttribute('lang'), (lang) => lang.startsWith('zh'));
  await eventually(() => figures(page), (text) => /单步耗时/.test(text));
});

test('the playhead goes where the slider is put, and plays on from there', async () => {
  const { page } = await start('');
  const slider = page.getByRole('slider', { name: 'Instant of the step' });
  await slider.fill('500');
  await page.evaluate(() => {
    globalThis.place = () => {
      const [own, all] = ['.play .head', '.play'].map((one) => document.querySelector(one).getBoundingClientRect());
      return (own.left - all.left) / all.width;
    };
  });
  const place = () => page.evaluate(() => globalThis.place());
  await eventually(place, (share) => Math.abs(share - 0.5) < 0.02);
  await page.locator('.play-button').click();
  // Stopped, it stands where it came to: at the same part of another run's step, whose instant it says. It is stopped in
  // the frame that sees it: a moment later it may have begun anew.
  await page.evaluate(() => new Promise((stopped) => {
    const look = () => {
      if (globalThis.place() < 0.52) return requestAnimationFrame(look);
      document.querySelector('.play-button').click();
      return stopped();
    };
    look();
  }));
  const said = () => page.locator('b.played').innerText();
  const [stood, before] = await still(async () => [await place(), await said()]);
  assert.ok(stood > 0.52, `${stood}`);
  await input(page, 'pp').fill('2');
  await eventually(said, (now) => now !== before);
  await eventually(place, (now) => Math.abs(now - stood) < 0.01);
});

test('two schedules in one embed, in four clicks', async () => {
  const { page, clicks } = await start('');
  await page.locator('.views').getByText('Schedules', { exact: true }).click();
  await page.locator('.card', { hasText: 'ZB-V' }).first().locator('.tick').click();
  await page.getByRole('button', { name: 'Embed', exact: true }).click();
  const dialog = page.locator('dialog[open]');
  await eventually(() => dialog.locator('textarea').inputValue(), (text) => /view\.embed=schedules/.test(text) && /view\.ticked=1f1b,zb-v/.test(text));
  await dialog.getByRole('button', { name: 'Copy' }).click();
  assert.ok(await clicks() <= 4, `${await clicks()} clicks`);
});

test('the cheapest of three kinds of GPUs for 7B on 300 B tokens, in three clicks', async () => {
  const { page, clicks, problems } = await start('');
  const search = page.getByPlaceholder(/70B on 8 H100/);
  await type(page, search, 'cheapest way to train 7B on 300 B tokens');
  await search.press('Enter');
  await type(page, page.getByRole('textbox', { name: 'several at once' }), 'H100 2.5, A100 1.5, H200 3.2');
  await page.keyboard.press('Enter');
  await eventually(() => fragment(page), (now) => now.includes('prices.h200-sxm-141gb=3.2'));
  const said = () => page.locator('.kinds .lead').innerText();
  await matches(said, /Of 3 kinds with a price.* is the cheapest for 300 B tokens/);
  assert.ok(await clicks() <= 3, `${await clicks()} clicks`);
  assert.deepEqual(problems, []);
});

test('dollars for 8B on 15 T tokens, in three clicks at most', async () => {
  const { page, clicks } = await start('');
  await type(page, input(page, 'tokens_total'), '15T');
  await eventually(() => figures(page), (text) => /\$1\.0M/.test(text));
  assert.ok(await clicks() <= 3, `${await clicks()} clicks`);
});

test('256 H100 and a 70B: does tp 8 pp 4 fit, in three clicks', async () => {
  const { page, clicks, problems } = await start('#v=1&tp=8&pp=4');
  const sentence = page.getByRole('region', { name: 'The run in a sentence' });
  await sentence.getByRole('combobox', { name: 'Model preset' }).click();
  await sentence.getByRole('combobox', { name: 'Model preset' }).selectOption('llama-3.1-70b');
  await type(page, sentence.getByRole('textbox', { name: 'GPUs' }), '256');
  await eventually(() => figures(page), (text) => /Fits 43\.\d\s*of 79\.2 GiB/.test(text));
  assert.ok(await clicks() <= 3, `${await clicks()} clicks`);
  assert.deepEqual(problems, []);
});

test('the best layout and why, in two clicks', async () => {
  const { page, clicks } = await start('#v=1&model=llama-3.1-70b&gpus=256&tp=8&pp=4&seq_len=4096');
  const card = page.locator('.suggestion').first();
  await eventually(() => card.innerText(), (text) => /% less/.test(text) && /fits, [\d.]+ GiB/.test(text));
  // The cause is said.
  await eventually(() => card.locator('.why').innerText(), (text) => text.length > 20);
  await card.getByRole('button', { name: 'Use' }).click();
  assert.ok(await clicks() <= 2, `${await clicks()} clicks`);
});

/** The two ways to a dialog of files: by the menus of the header, and by the line at the foot, where none has to be opened. */
const WAYS = [
  {
    of: 'the header', most: 6, load: (page) => more(page, 'Import'), async save(page) {
      await page.locator('header .menu.save > summary').click();
      await page.locator('header').getByRole('button', { name: 'Export: settings, tables, report…' }).click();
    },
  },
  {
    of: 'the foot', most: 4,
    load: (page) => page.locator('.footnote').getByRole('button', { name: 'Import' }).click(),
    save: (page) => page.locator('.footnote').getByRole('button', { name: 'Save' }).click(),
  },
];

for (const { of, most, load, save } of WAYS) test(`a config.json to Megatron-LM flags, by ${of}, in ${most} clicks`, async () => {
  const { page, clicks, problems } = await start('');
  await load(page);
  const dialog = page.locator('dialog[open]');
  await dialog.locator('textarea').fill('{"model_type":"qwen2","hidden_size":5120,"intermediate_size":27648,"num_attention_heads":40,"num_hidden_layers":64,"num_key_value_heads":8,"vocab_size":152064}');
  await dialog.locator('[data-action=import]').first().click();
  await eventually(() => fragment(page), (now) => now.includes('layers=64'));
  await save(page);
  await page.locator('dialog[open]').getByRole('button', { name: /Megatron/ }).first().click();
  await eventually(() => page.locator('dialog[open] pre').first().innerText(), (text) => text.includes('--num-layers 64'));
  assert.ok(await clicks() <= most, `${await clicks()} clicks`);
  assert.deepEqual(problems, []);
});

test('what fills stage 0 and what makes it fit, in two clicks', async () => {
  const { page, clicks } = await start('#v=1&seq_len=65536');
  await eventually(() => figures(page), (text) => text.includes('Out of memory'));
  const card = page.locator('.suggestion').first();
  await eventually(() => card.innerText(), (text) => /fits/.test(text));
  await page.locator('.bar-row .segment.c-activations').first().click();
  await eventually(() => page.locator('aside.detail').innerText(), (text) => /activations/.test(text));
  await card.getByRole('button', { name: 'Use' }).click();
  await eventually(() => figures(page), (text) => !text.includes('Out of memory'));
  assert.ok(await clicks() <= 2, `${await clicks()} clicks`);
});

test('nothing above the fold moves while someone types', async () => {
  const { page } = await start('');
  await eventually(() => page.locator('.cards-frame').innerText(), (text) => !/Looking/.test(text));
  await settled(page);
  const frame = () => page.locator('.cards-frame').evaluate((one) => one.getBoundingClientRect().height);
  const room = await frame();
  await page.evaluate(() => {
    globalThis.places = () => ['.strip', '.pipe', '.falls', '#better-title', '.cards-frame', '.tabs']
      .map((one) => Math.round(document.querySelector(one).getBoundingClientRect().top));
  });
  const places = () => page.evaluate(() => globalThis.places());
  const before = await still(places);
  const batch = input(page, 'global_batch');
  await batch.click();
  // In one go, so that what is read between two keys does not depend on the machine: every frame until the figures are
  // those of the text, and two more. Left out is a text of 2, 4 or 8: the schedule that is chosen for it is
  // "Interleaved 1F1B", with which the sentence takes a second line, and all below it stands 20 px lower.
  const texts = ['', '25', '256', '100', '512'];
  const typed = await batch.evaluate(async (field, texts) => {
    const seen = [];
    const shown = () => document.querySelector('.strip').innerText;
    for (const text of texts) {
      const [before, frames] = [shown(), []];
      field.value = text;
      field.dispatchEvent(new Event('input', { bubbles: true }));
      for (let more = 2, all = 0; more > 0 && all < 300; all += 1) {
        await new Promise(requestAnimationFrame);
        if (shown() !== before) more -= 1;
        frames.push(globalThis.places());
      }
      seen.push({ frames, follows: shown() !== before });
    }
    return seen;
  }, texts);
  texts.forEach((text, at) => {
    assert.ok(typed[at].follows, `the figures follow "${text}"`);
    typed[at].frames.forEach((frame, number) => assert.deepEqual(frame, before, `frame ${number} after "${text}"`));
  });
  await eventually(() => fragment(page), (now) => now.includes('global_batch=512'));
  await settled(page);
  assert.deepEqual(await places(), before, 'after the last was taken');
  // An error stands beside the heading, at once and after its pause.
  const gpus = page.getByRole('region', { name: 'The run in a sentence' }).getByRole('textbox', { name: 'GPUs' });
  for (const text of ['67', '64']) {
    await type(page, gpus, text);
    assert.deepEqual(await places(), before, `after ${text} GPUs`);
    await eventually(() => page.locator('.stale-note').count(), (count) => count === (text === '67' ? 1 : 0));
    assert.deepEqual(await places(), before, `${text} GPUs`);
  }
  await settled(page);
  assert.equal(await frame(), room);
});

test('no layout shift on load', async () => {
  const { page } = await site.open('');
  await eventually(() => page.locator('.cards-frame').innerText(), (text) => !/Looking/.test(text));
  const shift = await page.evaluate(() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => done(sum), 300);
  }));
  assert.ok(shift < 0.1, `${shift}`);
});

test('nothing scrolls sideways at any width, with the longest names and the largest numbers', async () => {
  const long = '#v=1&model=deepseek-v3&gpu=rtx-pro-6000&gpus=16384&tp=8&pp=16&cp=4&ep=64&schedule=interleaved-1f1b&virtual_stages=2'
    + '&seq_len=1048576&global_batch=65536&tokens_total=1e15&price_per_gpu_hour=123456&stack=megatron-2025';
  for (const width of [320, 390, 768, 1180, 1440, 1920]) {
    for (const link of ['', long]) {
      const { page } = await site.open(link, { viewport: { width, height: 900 } });
      await page.locator('.strip .key').first().waitFor();
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${over} px at ${width} of ${link}`);
      await page.context().close();
    }
  }
});

test('a run that no GPU here can hold, in a layout that cannot run, has the ways to make it fit, each to be taken', async () => {
  const { page, problems } = await site.open('#v=1&model=llama-3.1-70b&gpu=l40s&gpus=1');
  await page.locator('.strip-frame.stale').waitFor();
  const card = page.locator('.cards-frame .suggestion', { hasText: 'QLoRA' }).first();
  await card.getByRole('button', { name: 'Use' }).click();
  await eventually(() => page.locator('.strip-frame.stale').count(), (count) => count === 0);
  await eventually(() => page.locator('.strip').innerText(), (words) => /Fits/.test(words));
  assert.deepEqual(problems, []);
});

test('a link whose run cannot be evaluated offers no layouts of another run, and those of its own once it is mended', async () => {
  const { page, problems } = await site.open('#v=1&tp=3');
  const cards = page.locator('.cards-frame .suggestion');
  await page.locator('.strip-frame.stale').waitFor();
  const fix = page.locator('.cards-frame .fix, .note-line .fix, .sheet .fix, .issue .fix').first();
  await fix.waitFor();
  // The search of the run that stands in has had its time.
  await page.waitForTimeout(3000);
  assert.equal(await cards.count(), 0);
  await fix.click();
  await eventually(() => cards.count(), (count) => count > 0);
  assert.deepEqual(problems, []);
});
