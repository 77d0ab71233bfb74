// Diagnose: files of public projects are dropped and diagnosed, nothing of them is sent; a message that was pasted has its causes;
// the second tab is Calibrate, at the address that it had.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculator } from './calculator.mjs';

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
  await says(page, 'This is no whole step of the run on the page');
  assert.match(await view(page).getByRole('region', { name: 'Kernels by class' }).innerText(), /all reduce/);
  assert.deepEqual(sent, []);
  assert.deepEqual(problems, []);
});

test('a message that was pasted is explained, and the second tab calibrates', async () => {
  const { page, problems } = await site.open('#v=1&gpus=8&view.open=diagnose');
  const message = 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 388.00 MiB. GPU 0 has a total capacity of 9.68 GiB of which '
    + '95.75 MiB is free. Including non-PyTorch memory, this process has 9.54 GiB memory in use. Of the allocated memory 6.61 GiB is '
    + 'allocated by PyTorch, and 2.57 GiB is reserved by PyTorch but unallocated.';
  await view(page).getByLabel('Or paste a log or a message').fill(message);
  await says(page, 'Reserved memory that is not used');
  await view(page).getByRole('button', { name: 'Fitted to your runs' }).click();
  await view(page).getByLabel('A log, or saved runs').waitFor();
  await page.waitForFunction(() => location.hash.includes('view.open=calibrate'));
  assert.deepEqual(problems, []);
});
