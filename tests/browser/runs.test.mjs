// Calibrate: a log is dropped, understood and kept, its fit becomes a profile of the plan and of the link; what is no log says
// so; a large file is stopped; a measured step is kept after an edit.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { becomes, calculator, eventually, figures, fragment, matches, more, tab } from './calculator.mjs';

const site = calculator();

const ARGUMENTS = {
  tensor_model_parallel_size: 2, pipeline_model_parallel_size: 1, context_parallel_size: 1, world_size: 8, micro_batch_size: 1,
  global_batch_size: 64, seq_length: 8192, num_layers: 32, hidden_size: 4096, ffn_hidden_size: 14336, num_attention_heads: 32,
  num_query_groups: 8, group_query_attention: 'True', padded_vocab_size: 128256, swiglu: 'True', normalization: 'RMSNorm',
  add_bias_linear: 'False', bf16: 'True', untie_embeddings_and_output_weights: 'True', sequence_parallel: 'True',
  use_distributed_optimizer: 'True', position_embedding_type: 'rope', hidden_dropout: '0.0', attention_dropout: '0.0',
};

/** A log of Megatron-LM on 8 GPUs: its arguments, then steps of `seconds`, the first ones slow. */
const log = (seconds) => [
  '------------------------ arguments ------------------------',
  ...Object.entries(ARGUMENTS).map(([name, value]) => `  ${name} ${'.'.repeat(47 - name.length)} ${value}`),
  '-------------------- end of arguments ---------------------',
  ...[6, 1.4, 1, 1.002, 0.998, 1, 1.001].map((slow, at) => ` [2026-03-02 11:22:0${at}] iteration ${at + 1}/ 50 | consumed samples: ${
    (at + 1) * 64} | elapsed time per iteration (ms): ${(seconds * slow * 1000).toFixed(1)} | learning rate: 3.0E-05 | global batch size: 64 | lm loss: 1.1E+01 |`),
].join('\n');

const runs = (page) => page.locator('#diagnose');
const press = (page, name) => runs(page).getByRole('button', { name, exact: true }).click();
const says = (page, hasText) => runs(page).filter({ hasText }).waitFor();
const fitted = (page) => runs(page).getByRole('region', { name: 'Fitted to your runs' }).waitFor();
const open = (page) => page.getByRole('button', { name: 'Calibrate' }).first().click();

/** Drops a file on the view. */
const drop = (page, name, text) => runs(page).evaluate((view, [name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  view.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
}, [name, text]);

test('a log of 8 GPUs narrows the plan for 256, and a link carries that to a colleague', async () => {
  const { page, problems } = await site.open('#v=1&gpus=256&global_batch=1024&stack=megatron-2025');
  const before = await figures(page);
  await open(page);
  await drop(page, 'train.log', log(7));
  await says(page, 'Read as a log of Megatron-LM.');
  await says(page, 'A step took 7.00 s: the median of 5 steps');
  const other = runs(page).getByRole('region', { name: 'Other than on this page' });
  await matches(() => other.innerText(), /GPUs[\s\S]*256[\s\S]*8/);
  await press(page, 'Keep this run');
  await fitted(page);
  await matches(() => runs(page).innerText(), /network[\s\S]*Not measured: try/);
  await matches(() => runs(page).innerText(), /The next run to try[\s\S]*torchrun/);
  await runs(page).getByLabel('Name of the profile').fill('our H100, NeMo 25.07');
  await press(page, 'Use the profile');
  const used = runs(page).getByRole('region', { name: 'Profiles' });
  await used.filter({ hasText: 'our H100, NeMo 25.07' }).waitFor();
  const link = await eventually(() => fragment(page), (seen) => seen.includes('profile.means='));
  const profile = link.slice(1).split('&').filter((pair) => pair.startsWith('profile.')).join('&');
  assert.ok(profile.length <= 300, profile);
  await page.getByRole('button', { name: 'Run', exact: true }).first().click();
  const after = await eventually(() => figures(page), (seen) => seen !== before);
  // The range of the step in the strip is the profile's, as a ratio of its ends.
  const width = (all) => {
    const [, low, high] = /Step time[^]*? ([\d.]+) to ([\d.]+) s/.exec(all);
    return high / low;
  };
  assert.ok(width(after) < width(before), `${before}\n${after}`);
  // So it is in every row of the plan, and in the layout that is suggested.
  await tab(page, 'Layouts');
  await page.locator('.layouts .range', { hasText: '–' }).nth(2).waitFor();

  const { page: colleague, problems: others } = await site.open(link.replace('&view.open=calibrate', ''));
  await becomes(() => figures(colleague), after);
  await colleague.locator('.waterfall', { hasText: 'profile “our H100, NeMo 25.07”' }).waitFor();
  await open(colleague);
  await matches(() => runs(colleague).getByRole('region', { name: 'Profiles' }).innerText(), /our H100, NeMo 25\.07[^]*runs fitted\s+1[^]*h100-sxm-80gb/);
  await press(colleague, 'Without the profile');
  assert.equal(await eventually(() => fragment(colleague), (seen) => !seen.includes('profile')), '#v=1&gpus=256&global_batch=1024&stack=megatron-2025&view.open=calibrate');

  await page.reload();
  await open(page);
  await fitted(page);
  const saved = page.waitForEvent('download');
  await press(page, 'Save the runs');
  const file = await readFile(await (await saved).path(), 'utf8');
  assert.equal(JSON.parse(file).runs[0].run.gpus, 8);
  await press(page, 'Remove');
  await says(page, 'No run is kept yet.');
  await drop(page, 'runs.json', file);
  await fitted(page);
  assert.deepEqual([...problems, ...others], []);
});

test('a profile of someone else is shown beside one\'s own before it is used', async () => {
  const { page, problems } = await site.open('#v=1&profile.means=1.1,1,1,1,1,1,1&profile.widths=0.05,0.05,0.1,0.15,0.2,0.15,0.03&profile.name=ours&profile.runs=3&view.page=runs');
  await runs(page).getByLabel('A log, or saved runs').fill('see #v=1&profile.means=0.9,1,1,2,1,1,1&profile.widths=0.05,0.05,0.1,0.15,0.2,0.15,0.03&profile.name=theirs&profile.runs=7');
  const both = runs(page).getByRole('region', { name: 'Profiles' });
  await both.filter({ hasText: 'theirs' }).waitFor();
  await matches(() => both.innerText(), /ours\s+theirs[^]*GEMM and attention\s+1\.10[^]*0\.900/);
  await matches(() => fragment(page), /profile\.name=ours/);
  await press(page, 'Use this profile');
  await eventually(() => fragment(page), (seen) => seen.includes('profile.name=theirs'));
  assert.deepEqual(problems, []);
});

test('on a phone the runs are opened from the bar below, and nothing widens the page', async () => {
  const { page, problems } = await site.open('#v=1', PHONE);
  await more(page, 'Calibrate');
  await drop(page, 'train.log', log(7));
  await press(page, 'Keep this run');
  await says(page, 'The next run to try');
  await becomes(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  assert.deepEqual(problems, []);
});

test('what is no log says why, and the run stays', async () => {
  const { page, problems } = await site.open('#v=1&tp=4&view.page=runs');
  await runs(page).getByLabel('A log, or saved runs').waitFor();
  const choose = (name, bytes) => runs(page).getByLabel('Choose the file').last().setInputFiles({
    name, mimeType: 'application/octet-stream', buffer: Buffer.from(bytes),
  });
  await choose('snap.pickle', [0x80, 4, 0x95, 1, 2, 3]);
  await says(page, 'a pickle that breaks off');
  await choose('train.log.gz', [0x1f, 0x8b, 8, 0]);
  await says(page, 'unpack it first');
  await runs(page).getByLabel('A log, or saved runs').fill('nothing that is known');
  await says(page, 'nothing in it is known');
  await runs(page).getByLabel('Step time (s)').fill('soon');
  await press(page, 'Keep it');
  await says(page, 'soon is no number');
  await runs(page).getByLabel('Step time (s)').fill('9.5');
  await press(page, 'Keep it');
  await says(page, '9.50 s');
  await matches(() => fragment(page), /^#v=1&tp=4&/);
  assert.deepEqual(problems, []);
});

test('a large file is read in pieces and can be stopped, one over the limit is refused by its size', async () => {
  const { page, problems } = await site.open('#v=1&view.page=runs');
  const large = (name, megabytes) => page.evaluate(([name, megabytes]) => {
    const piece = new Blob(['a line of a log that means nothing but is looked at, sixty four\n'.repeat(15_625)]);
    const data = new DataTransfer();
    data.items.add(new File(Array(megabytes).fill(piece), name));
    document.querySelector('#diagnose').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  }, [name, megabytes]);
  await page.locator('#diagnose').waitFor();
  await large('huge.log', 250);
  await says(page, '250 MB: at most 200 MB are read');
  await large('long.log', 190);
  await says(page, '% read');
  await press(page, 'Stop');
  await runs(page).getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  await drop(page, 'train.log', log(7));
  await says(page, 'Read as a log of Megatron-LM.');
  assert.deepEqual(problems, []);
});

test('after an edit the measured step is offered as a run of its own', async () => {
  const { page, problems } = await site.open('#v=1&measured_step_s=20');
  assert.equal(await page.locator('.measured-offer').innerText(), '');
  await page.locator('[data-field="tp"] input').fill('4');
  const offer = page.locator('.measured-offer', { hasText: 'The measured 20.0 s are of the run before this edit.' });
  await offer.getByRole('button', { name: 'Keep it as a run' }).click();
  await says(page, 'run 1');
  await fitted(page);
  assert.equal(await eventually(() => fragment(page), (seen) => !seen.includes('measured')), '#v=1&tp=4&view.open=calibrate');
  assert.deepEqual(problems, []);
});
