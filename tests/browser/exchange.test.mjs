// A run brought in from other programs, taken out in every form, published runs, methods and the glossary.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { addressIs, alike, becomes, calculator, eventually, figures, fragment, matches, more } from './calculator.mjs';

const site = calculator({
  pages: { '/host.html': `<!DOCTYPE html><link rel="icon" href="data:,"><script type="module">
    import init, * as shardscope from './pkg/shardscope.js';
    await init();
    globalThis.shardscope = shardscope;
  </script>` },
});

const dialog = (page) => page.locator('#dialog');
const MEGATRON = `TP=4
torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size $TP \\
  --pipeline-model-parallel-size 2 --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \\
  --group-query-attention --num-query-groups 8 --vocab-size 128256 --swiglu --normalization RMSNorm --disable-bias-linear \\
  --untie-embeddings-and-output-weights --position-embedding-type rope --hidden-dropout 0 --seq-length 8192 \\
  --micro-batch-size 1 --global-batch-size 512 --bf16 --use-distributed-optimizer --sequence-parallel \\
  --overlap-grad-reduce --lr 1e-4`;

test('a launch script says what it changes, and becomes the run', async () => {
  const { page, problems } = await site.open();
  await more(page, 'Import');
  const text = dialog(page).getByRole('textbox');
  await text.fill('--tensor-model-parallel-size four');
  await dialog(page).locator('.issue.error').waitFor();
  await text.fill(MEGATRON);
  const changes = dialog(page).getByRole('region', { name: 'What changes' });
  await changes.waitFor();
  await becomes(() => changes.locator('tbody td:first-child').allInnerTexts(),
    ['GPUs', 'Tensor parallel TP', 'Pipeline parallel PP', 'Global batch', 'Software']);
  await dialog(page).getByRole('button', { name: 'Use this' }).click();
  // Neither --tp-comm-overlap nor --cross-entropy-loss-fusion stands in the script: Megatron-LM does neither by itself.
  await eventually(() => fragment(page), (seen) => (
    /^#v=1&gpus=32&tp=4&pp=2&global_batch=512&stack\.base=megatron-2025&stack\.tp_overlap=none&cross_entropy=megatron&overlap\.tp=[\d.]+$/.test(seen)
  ));
  await eventually(() => dialog(page).isVisible(), (open) => !open);
  assert.deepEqual(problems, []);
});

test('every form is taken out as text, and comes back as the same run', async () => {
  const { page, problems } = await site.open('#v=1&gpus=128&tp=4&zero=0&overlap.tp=0.5');
  const link = await fragment(page);
  await page.locator('header .menu.save > summary').click();
  await page.getByRole('button', { name: 'Export: settings, tables, report…' }).click();
  const taken = {};
  let last = '';
  for (const name of ['Markdown', 'JSON', 'Megatron-LM', 'torchtitan', 'DeepSpeed', 'Nanotron']) {
    await dialog(page).getByRole('button', { name, exact: true }).click();
    await dialog(page).locator(`[aria-pressed=true]:text-is("${name}")`).waitFor();
    // No two forms are the same text.
    last = await eventually(() => dialog(page).locator('pre').textContent(), (text) => text !== last && text.includes(`${site.url}${link}`));
    assert.match(last, /\d{4}-\d\d-\d\d/);
    taken[name] = last;
  }
  const saved = page.waitForEvent('download');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  const file = await saved;
  assert.equal(file.suggestedFilename(), 'shardscope.nanotron.yaml');
  assert.equal(await readFile(await file.path(), 'utf8'), taken.Nanotron);
  await dialog(page).getByRole('button', { name: 'Close' }).click();
  const { page: other } = await site.open();
  for (const [name, text] of Object.entries(taken)) {
    await other.evaluate(() => { location.hash = '#v=1'; });
    await addressIs(other, '#v=1');
    await more(other, 'Import');
    await dialog(other).getByRole('textbox').fill(text);
    await dialog(other).getByRole('button', { name: 'Use this' }).click();
    await addressIs(other, link);
    await alike(() => figures(other), () => figures(page), name);
  }
  assert.deepEqual(problems, []);
});

test('a file that is dropped is read', async () => {
  const { page, problems } = await site.open('#v=1&view.page=import');
  await dialog(page).getByLabel('Choose the file').setInputFiles({
    name: 'config.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify({
      model_type: 'mixtral', hidden_size: 4096, intermediate_size: 14336, num_attention_heads: 32,
      num_hidden_layers: 32, num_key_value_heads: 8, num_local_experts: 8, num_experts_per_tok: 2, vocab_size: 32000,
      tie_word_embeddings: false, rope_theta: 5e5,
    })),
  });
  await dialog(page).locator('.summary', { hasText: '46.7 B parameters, 12.9 B active' }).waitFor();
  await dialog(page).getByRole('button', { name: 'Use this' }).click();
  // What the preset says otherwise is kept as an argument.
  await page.waitForFunction(() => location.hash.includes('model.base=mixtral-8x7b&model.arguments=--rotary-base%20500000'));
  assert.deepEqual(problems, []);
});

test('a published run shows its figures beside ours until it is changed', async () => {
  const { page, problems } = await site.open();
  await page.locator('header.bar').getByRole('button', { name: 'Published runs' }).click();
  await dialog(page).getByRole('button', { name: 'GPT-3 175B, 64 A100' }).click();
  const beside = page.getByRole('region', { name: /published and computed/ }).first();
  await beside.waitFor();
  await matches(() => beside.innerText(), /13\.8 s/);
  await page.locator('[data-field="global_batch"] input').fill('128');
  await eventually(() => page.locator('section.published').count(), (count) => count === 0);
  assert.deepEqual(problems, []);
});

test('methods and glossary open by link, and a formula is taken along', async () => {
  const { page, problems } = await site.open('#v=1&view.page=methods', PHONE);
  await dialog(page).getByRole('heading', { name: 'Methods', exact: true }).waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await matches(() => fragment(page), /view\.page=methods/);
  const { page: other } = await site.open('#v=1&view.page=glossary');
  await dialog(other).locator('dt', { hasText: 'micro-batch, micro-batches' }).waitFor();
  await dialog(other).getByRole('button', { name: 'Close' }).click();
  await other.locator('.key.verdict').click();
  await other.locator('.detail summary', { hasText: 'With its values, notes, and to copy' }).click();
  await other.locator('.detail summary', { hasText: 'As LaTeX' }).click();
  await matches(() => other.locator('.detail details[open] details[open] pre').textContent(), /\\begin\{aligned\}/);
  assert.deepEqual(problems, []);
});

test('the package brings in and takes out', async () => {
  const { page, problems } = await site.open('host.html', { started: false });
  await page.waitForFunction(() => globalThis.shardscope);
  const call = (name, ...args) => page.evaluate(([name, args]) => shardscope[name](...args), [name, args]);
  const run = { gpus: 128, tp: 4 };
  const { errors, text } = await call('exportRun', run, 'megatron', { date: '2026-11-21', address: 'https://wiki/x' });
  assert.deepEqual(errors, []);
  assert.match(text, /2026-11-21[\s\S]*https:\/\/wiki\/x#v=1&gpus=128&tp=4/);
  const back = await call('importText', text);
  assert.deepEqual(back.errors, []);
  assert.deepEqual(back.run, run);
  assert.equal((await call('exportRun', run, 'pdf')).errors[0].field, 'format');
  assert.equal((await call('importText', 'nothing known')).errors.length, 1);
  assert.equal((await call('importText', '{"tp":4}', { tp: 'x' })).errors[0].field, 'tp');
  assert.deepEqual(problems, []);
});

test('a config.json becomes a script of the run\'s software in four acts, in a layout chosen for its model', async () => {
  const { page, problems } = await site.open('');
  await more(page, 'Import');
  await dialog(page).getByLabel('Choose the file').setInputFiles({
    name: 'config.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify({
      model_type: 'llama', hidden_size: 8192, intermediate_size: 28672, num_attention_heads: 64, num_hidden_layers: 80,
      num_key_value_heads: 8, vocab_size: 128256, tie_word_embeddings: false, attention_bias: false, rope_theta: 5e5,
    })),
  });
  await dialog(page).getByRole('button', { name: 'Use and export' }).click();
  const script = () => dialog(page).locator('pre.file').textContent();
  await eventually(script, (text) => text.includes('--num-layers 80') && text.includes('--tensor-model-parallel-size'));
  await eventually(() => page.locator('.strip .verdict').innerText(), (text) => text.includes('Fits'));
  assert.deepEqual(problems, []);
});
