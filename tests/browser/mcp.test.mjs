// `shardscope mcp` under the official client of the Model Context Protocol, and under input that no client sends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv-provider.js';
import { COMMAND, ROOT, about, command, folder } from './packed.mjs';

const client = new Client({ name: 'test', version: '0' });
const PAGE = 'https://calculator.example/';
before(async () => {
  const begun = performance.now();
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [COMMAND, 'mcp', '--page', PAGE] }));
  // For reading: a loaded machine decides nothing.
  console.log(`mcp: ready ${(performance.now() - begun).toFixed(0)} ms after its start`);
});
after(() => client.close());

/** Message J of tests/data/traces/oom_messages.txt. */
const OOM = 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 720.00 MiB. GPU 0 has a total capacity of 184.31 GiB of '
  + 'which 443.94 MiB is free. Of the allocated memory 171.63 GiB is allocated by PyTorch, and 2.00 GiB is reserved by PyTorch but '
  + 'unallocated.';

/** A request of each tool, and the verb that answers the same on a line. */
const CALLS = [
  ['report', { gpus: 64, tp: 2, pp: 4 }],
  ['report', { model: { base: 'llama-3.1-8b', layers: 40 }, gpus: 64 }],
  ['plan', { run: { gpus: 8, global_batch: 64 }, top: 2 }],
  ['schedule', { schedule: '1f1b', pp: 4, microbatches: 8, ops: false }],
  ['certify', { gpus: 32, tp: 1, pp: 4 }],
  ['import', { text: '--tensor-model-parallel-size 4 --unheard-of 7', run: { gpus: 8 } }],
  ['export', { run: { gpus: 64, tp: 4 }, format: 'megatron' }],
  ['log', { text: 'nothing that is a log', run: { gpus: 8 } }],
  ['diagnose', { files: [{ name: 'oom.txt', text: OOM }], run: { gpus: 8 } }],
  ['calibrate', { runs: [{ run: { gpus: 8, global_batch: 32 }, step_s: 4.9 }], name: 'our H100' }],
  ['whole_run', { model: 'llama-3.1-70b', gpus: 256, tp: 8, tokens_total: 1e12, failures: 'vetted' }],
  ['rl', { rl: { algorithm: 'grpo', prompts: 64, samples: 8, prompt_tokens: 99, response_tokens: { mean: 900 }, response_limit: 4096 } }],
  ['scoreboard', { ask: 'origin' }],
];

test('the client and the server agree on a version, and every tool has a schema of the registry', async () => {
  assert.equal(client.getServerVersion().version, about.version);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name).sort(), [...new Set(CALLS.map(([name]) => name))].sort());
  const [{ inputSchema }] = tools;
  assert.equal(inputSchema.properties.tp.type, 'integer');
  assert.deepEqual([inputSchema.properties.zero.minimum, inputSchema.properties.zero.maximum], [0, 3]);
  const [preset, parts] = inputSchema.properties.model.anyOf;
  assert.ok(preset.enum.includes('llama-3.1-70b') && parts.properties.base && parts.properties.moe.properties.experts);
});

for (const [name, request] of CALLS) {
  test(`${name} answers as the command does`, async () => {
    const verb = name.replace('_', '-');
    const answer = await client.callTool({ name, arguments: request });
    // The command of the scoreboard takes words and writes files.
    const written = request.ask && { errors: [], text: command([verb, request.ask]).stdout };
    const line = written ?? JSON.parse(command([verb], JSON.stringify(request)).stdout);
    assert.deepEqual(answer.structuredContent, line);
    assert.deepEqual(JSON.parse(answer.content[0].text), line);
    // What is no log is an error, all else has an answer.
    assert.equal(answer.isError, name === 'log', answer.content[0].text);
  });
}

test('an answer links to its run in the page, and the link gives the same answer', async () => {
  const first = await client.callTool({ name: 'report', arguments: { gpus: 128, tp: 4 } });
  const [link] = first.content[1].text.match(/https:.*/);
  assert.ok(link.startsWith(`${PAGE}#v=1&`), link);
  const again = await client.callTool({ name: 'report', arguments: { link: link.slice(PAGE.length) } });
  assert.deepEqual(again.structuredContent, first.structuredContent);
});

test('every run that is read of a launch file is one by the schema, and what is refused by type is none', async () => {
  const { tools: [{ inputSchema }] } = await client.listTools();
  const valid = new AjvJsonSchemaValidator().getValidator(inputSchema);
  const launch = join(ROOT, 'tests/data/launch');
  let read = 0;
  for (const file of readdirSync(launch)) {
    const { structuredContent: { run } } = await client.callTool({ name: 'import', arguments: { text: readFileSync(join(launch, file), 'utf8') } });
    if (!run) continue;
    read += 1;
    const said = valid(run);
    assert.ok(said.valid, `${file}: ${said.errorMessage}`);
  }
  assert.ok(read > 30, `${read} files`);
  for (const wrong of [{ tp: 'x' }, { zero: 4 }, { model: 'no-such-model' }]) {
    assert.ok(!valid(wrong).valid, JSON.stringify(wrong));
    assert.ok((await client.callTool({ name: 'report', arguments: wrong })).isError, JSON.stringify(wrong));
  }
});

test('the resources are the field list, the sources, the limits and the guide', async () => {
  const { resources } = await client.listResources();
  const texts = {};
  for (const { uri } of resources) texts[uri] = (await client.readResource({ uri })).contents[0].text;
  assert.deepEqual(Object.keys(texts).map((uri) => uri.replace('shardscope://', '')), ['fields', 'sources', 'limits', 'guide']);
  const { fields } = JSON.parse(texts['shardscope://fields']);
  assert.ok(fields.some(({ key, kind, choices }) => key === 'schedule' && kind === 'choice' && choices.includes('1f1b')));
  assert.match(texts['shardscope://sources'], /arxiv\.org/);
  assert.match(texts['shardscope://limits'], /does not model/);
  assert.equal(texts['shardscope://guide'], readFileSync(join(folder, 'GUIDE.md'), 'utf8'));
});

test('bad requests are refused, and the next one is answered', async () => {
  await assert.rejects(client.callTool({ name: 'constructor', arguments: {} }), { code: -32602 });
  await assert.rejects(client.readResource({ uri: 'file:///etc/passwd' }), { code: -32002 });
  const refused = await client.callTool({ name: 'report', arguments: { tp: 7, nonsense: 1 } });
  assert.ok(refused.isError);
  assert.equal(refused.structuredContent.errors[0].field, 'nonsense');
  assert.deepEqual((await client.callTool({ name: 'report', arguments: {} })).structuredContent.errors, []);
});

/** Answers to lines of a connection of their own, and the exit status at its end. */
async function raw(input) {
  const child = spawn(process.execPath, [COMMAND, 'mcp'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (part) => { text += part; });
  child.stdin.end(input);
  const status = await new Promise((ended) => { child.once('close', ended); });
  return { status, answers: text.split('\n').filter(Boolean).map((line) => JSON.parse(line)) };
}

test('the codes are JSON-RPC\'s, notifications get no answer, and no line ends the server', async () => {
  const ask = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const lines = [
    ['{', -32700], ['7', -32600], ['[]', -32600], ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600], [ask(null, 'ping'), -32600],
    [ask(1, 'nope'), -32601], [ask(1, 'constructor'), -32601], [ask(1, 'ping', [1]), -32602],
    [ask(1, 'tools/call', { name: 'report', arguments: [1] }), -32602], [ask(1, 'tools/call', { name: 7 }), -32602],
    [ask(1, 'tools/call', { name: ['report'] }), -32602], [ask(1, 'tools/call', { name: { toString: null } }), -32602],
    [ask(1, 'resources/read', { uri: { toString: null } }), -32602],
    ['['.repeat(1e5), -32700], [`"${'\\ud800'}"`, -32600],
    ['{"jsonrpc":"2.0","method":"notifications/initialized"}'], ['{"jsonrpc":"2.0","id":1,"result":{}}'], [''],
    [ask('last', 'ping'), undefined, 'last'],
  ];
  const input = Buffer.concat([Buffer.from([0xff, 0x0a]), Buffer.from(lines.map(([line]) => line).join('\n'))]);
  const { status, answers } = await raw(input);
  assert.equal(status, 0);
  const codes = lines.filter(([, code, id]) => code ?? id).map(([, code]) => code);
  assert.deepEqual(answers.map(({ error }) => error?.code), [-32700, ...codes]);
  assert.equal(answers.at(-1).id, 'last');
});

test('an older version is spoken where it is asked for, of an unknown one the newest is offered', async () => {
  const ask = (protocolVersion) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion, capabilities: {} } });
  const { answers } = await raw(['2024-11-05', '2025-06-18', '1999-01-01'].map(ask).join('\n'));
  assert.deepEqual(answers.map(({ result }) => result.protocolVersion), ['2024-11-05', '2025-06-18', '2025-06-18']);
});

const request = (id, method, params) => ({ jsonrpc: '2.0', id, method, params });
const begins = (protocolVersion) => JSON.stringify(request('begin', 'initialize', { protocolVersion, capabilities: {} }));

test('a line of more than 16 MB is refused, and the next one is answered', async () => {
  const { status, answers } = await raw(`${'x'.repeat(2 ** 24 + 1)}\n${JSON.stringify(request(2, 'ping'))}\n`);
  assert.deepEqual([status, answers.map(({ id, error }) => [id, error?.code])], [0, [[null, -32600], [2, undefined]]]);
});

test('2025-06-18 has no batches; those of 2025-03-26 are bounded', async () => {
  const batch = (length) => JSON.stringify(Array.from({ length }, (_, id) => request(id, 'resources/read', { uri: 'shardscope://guide' })));
  const now = await raw([begins('2025-06-18'), batch(2)].join('\n'));
  assert.equal(now.answers.at(-1).error.code, -32600);
  const before = await raw([begins('2025-03-26'), batch(2), batch(10_000)].join('\n'));
  const [, two, many] = before.answers;
  assert.deepEqual(two.map(({ id, result }) => [id, result.contents.length]), [[0, 1], [1, 1]]);
  assert.equal(many.error.code, -32600);
});

test('a cancelled call ends, gets no answer, and the ones behind it are answered', async () => {
  // Some seconds of work, if nobody stopped it; a queue of two behind it, one of which is cancelled too.
  const long = request('long', 'tools/call', { name: 'plan', arguments: { run: { model: 'deepseek-v3', gpus: 2048 }, work: 1_000_000_000 } });
  const cancel = (requestId) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  const report = (id) => request(id, 'tools/call', { name: 'report', arguments: { gpus: 64, tp: 2, pp: 4 } });
  const lines = [long, report('next'), report('never'), request('alive', 'ping'), cancel('never'), cancel('long'), cancel('unknown'), cancel({})];
  const { status, answers } = await raw(lines.map((line) => JSON.stringify(line)).join('\n'));
  assert.equal(status, 0);
  assert.deepEqual(answers.map(({ id }) => id), ['alive', 'next']);
  assert.equal(answers[1].result.structuredContent.layout.dp, 64 / 2 / 4);
});

test('a name that nobody knows comes back quoted and cut', async () => {
  const name = `no\nsuch${'x'.repeat(1e6)}`;
  const { answers } = await raw([request(1, name), request(2, 'tools/call', { name })].map((line) => JSON.stringify(line)).join('\n'));
  for (const { error } of answers) assert.match(error.message, /^no such (?:method|tool): "no\\nsuchx{72}…"$/);
});
