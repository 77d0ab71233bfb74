// Diagnose: files of public projects are dropped and diagnosed, nothing of them is sent; examples open with their own
// run; the link holds parts and causes, which an embed shows; the second tab is Calibrate, at the address that it had.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { becomes, calculator, fragment, matches } from './calculator.mjs';
import { dropMade, makeTrace } from './made_trace.mjs';

const site = calculator();
const TRACE = 'tests/data/traces/hta_ddp_args_a100_rank0of2.json.gz';
const view = (page) => page.locator('main.diagnose');
const says = (page, hasText) => view(page).filter({ hasText }).waitFor();

test('a packed trace has its parts and causes, and nothing of it is sent', async () => {
  const { page, problems } = await site.open('#v=1&gpus=8&view.open=diagnose');
  await says(page, 'What is read');
  const sent = [];
  // The page's own parts may arrive; nothing has a body, nothing goes elsewhere.
  const own = new URL('/', page.url()).href;
  page.on('request', (request) => {
    if (request.method() !== 'GET' || request.postData() || !request.url().startsWith(own)) sent.push(request.url());
  });
  await page.locator('#evidence').setInputFiles(TRACE);
  await says(page, 'Parts add up to 220 ms, nothing is left over.');
  await says(page, 'The CPU launches kernels late');
  await says(page, 'Not a step of this run');
  await matches(() => view(page).getByRole('region', { name: 'Kernels by class' }).innerText(), /all reduce/);
  // The timeline comes nearer and goes back.
  const shown = view(page).locator('#lanes .head .small');
  const whole = await shown.innerText();
  await view(page).getByRole('button', { name: 'Zoom in' }).click();
  await page.waitForFunction((before) => document.querySelector('#lanes .head .small').innerText !== before, whole);
  await view(page).locator('#lanes').getByRole('button', { name: 'all' }).click();
  await page.waitForFunction((before) => document.querySelector('#lanes .head .small').innerText === before, whole);
  assert.deepEqual(sent, []);
  assert.deepEqual(problems, []);
});

test('a large trace is read beside the page, and a stop ends that', async () => {
  const { page, problems } = await site.open('#v=1&gpus=8&view.open=diagnose');
  await says(page, 'What is read');
  await page.evaluate(makeTrace, { megabytes: 60, steps: 3 });
  await page.evaluate(dropMade);
  await view(page).getByRole('button', { name: 'Stop' }).click();
  await view(page).getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  await says(page, 'What is read');
  await page.evaluate(makeTrace, { megabytes: 6, steps: 3 });
  await page.evaluate(dropMade);
  await says(page, 'Parts add up to 2.00 s, nothing is left over.');
  await view(page).getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  // 55,000 kernels are diagnosed by a worker, and again for another run.
  await page.evaluate(makeTrace, { megabytes: 40, steps: 0 });
  await page.evaluate(dropMade);
  await says(page, /Parts add up to 39\.\d s, nothing is left over/);
  await view(page).getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  await view(page).getByRole('button', { name: 'Zoom in' }).waitFor();
  await view(page).locator('.board-drop').waitFor({ state: 'hidden' });
  await page.evaluate(() => { location.hash = location.hash.replace('gpus=8', 'gpus=16'); });
  await says(page, 'The run on the page was changed since the files were read: GPUs 16');
  await says(page, /Parts add up to 39\.\d s, nothing is left over/);
  assert.deepEqual(problems, []);
});

test('a snapshot and a log of reinforcement learning are read', async () => {
  const { page, problems } = await site.open('#v=1&gpus=8&view.open=diagnose');
  await page.locator('#evidence').setInputFiles('tests/data/traces/snapshot_one.pickle');
  await says(page, 'peak of allocated memory: 0.02312 GiB');
  await view(page).getByRole('button', { name: 'Start again' }).click();
  const step = (at) => `step:${at} - timing_s/gen:74.0 - timing_s/update_actor:14.3 - timing_s/update_weights:2.5 - timing_s/step:96.5\n`;
  await view(page).getByLabel('Or paste a log or a message').fill([1, 2, 3].map(step).join(''));
  await says(page, 'A step of reinforcement learning: generation 74.0 s, updates 14.3 s, new weights 2.50 s.');
  assert.deepEqual(problems, []);
});

test('an example opens with its own run, and its link shows parts and causes elsewhere', async () => {
  const { page, problems } = await site.open('#v=1&view.open=diagnose');
  await view(page).getByRole('button', { name: 'Open' }).first().click();
  await says(page, 'Gradients are reduced while nothing else runs');
  await page.waitForFunction(() => location.hash.includes('view.diagnosis=longer'));
  const hash = await fragment(page);
  assert.ok(hash.length < 2600, `${hash.length}`);
  const linked = await site.open(hash);
  await says(linked.page, 'From a link: parts and causes');
  await says(linked.page, 'Gradients are reduced while nothing else runs');
  const framed = await site.open(hash.replace('view.open=diagnose', 'view.embed=diagnose'));
  await framed.page.locator('.embed').filter({ hasText: 'Exposed DP' }).waitFor();
  assert.deepEqual([...problems, ...linked.problems, ...framed.problems], []);
});

test('a file that is dropped on another view opens the diagnosis', async () => {
  const { page, problems } = await site.open('#v=1&gpus=8');
  const text = [1, 2, 3, 4].map((step) => `step ${step} MA ${step}.0 GB CA ${step + 1}.0 GB\n`).join('');
  const files = await page.evaluateHandle((words) => {
    const data = new DataTransfer();
    data.items.add(new File([words], 'memory.log'));
    return data;
  }, text);
  await page.locator('main.page').dispatchEvent('drop', { dataTransfer: files });
  await says(page, 'Memory grows step by step');
  assert.deepEqual(problems, []);
});

test('a text that is pasted onto the page is diagnosed or imported, and fields keep theirs', async () => {
  const { page, problems } = await site.open('#v=1&gpus=8');
  const paste = (selector, text) => page.locator(selector).first().evaluate((element, words) => {
    const data = new DataTransfer();
    data.setData('text/plain', words);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);
  await page.locator('.strip').first().waitFor();
  const script = 'torchrun pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --bf16 --seq-length 4096';
  await page.locator('.field input').first().focus();
  await paste('.field input', script);
  await page.locator('.field input').first().evaluate((input) => input.blur());
  assert.equal(await page.locator('dialog[open]').count(), 0);
  await paste('body', script);
  await page.getByLabel('What to bring in').waitFor();
  await becomes(() => page.getByLabel('What to bring in').inputValue(), script);
  await page.locator('#dialog').getByRole('button', { name: 'Close' }).click();
  await page.locator('#dialog').waitFor({ state: 'hidden' });
  const texts = await readFile('tests/data/traces/oom_messages.txt', 'utf8');
  const message = texts.split('====').find((one) => one.includes('trl#3436')).replace(/^.*#.*$/m, '').trim();
  await paste('body', message);
  await says(page, 'Reserved memory that is not used');
  await page.waitForFunction(() => location.hash.includes('view.open=diagnose'));
  assert.deepEqual(problems, []);
});

test('one press calibrates with a log that was read, once', async () => {
  const { page, problems } = await site.open('#v=1&view.open=diagnose');
  // A step that is inside the range of the run on the page: there is nothing to explain.
  const line = (at) => ` iteration ${at + 1}/ 500 | elapsed time per iteration (ms): 4900.1 |`;
  const lines = Array.from({ length: 12 }, (_, at) => line(at));
  await view(page).getByLabel('Or paste a log or a message').fill(lines.join('\n'));
  for (let times = 0; times < 2; times += 1) {
    await view(page).getByRole('button', { name: 'Calibrate with it' }).click();
    await page.waitForFunction(() => location.hash.includes('view.open=calibrate'));
    await view(page).getByRole('heading', { name: 'Runs that are kept' }).waitFor();
    await becomes(() => view(page).getByRole('button', { name: 'Remove' }).count(), 1);
    await view(page).getByRole('button', { name: 'Where is the rest?' }).click();
  }
  assert.deepEqual(problems, []);
});

test('a message that was pasted is explained, and the second tab calibrates', async () => {
  const { page, problems } = await site.open('#v=1&gpus=8&view.open=diagnose');
  const texts = await readFile('tests/data/traces/oom_messages.txt', 'utf8');
  const message = texts.split('====').find((one) => one.includes('trl#3436')).replace(/^.*#.*$/m, '').trim();
  await view(page).getByLabel('Or paste a log or a message').fill(message);
  await says(page, 'Reserved memory that is not used');
  await view(page).getByRole('button', { name: 'Fitted to your runs' }).click();
  await view(page).getByLabel('A log, or saved runs').waitFor();
  await page.waitForFunction(() => location.hash.includes('view.open=calibrate'));
  assert.deepEqual(problems, []);
});
