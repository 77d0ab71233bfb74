// What `npm pack dist/pkg` gives, unpacked on its own: the command answers as the native program does, and as the guide says.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { COMMAND, LONG, ROOT, about, command, folder, home, packed } from './packed.mjs';

execFileSync('cargo', ['build', '--locked', '--quiet', '--example', 'headless'], { cwd: ROOT });
const NATIVE = join(process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target'), 'debug/examples/headless');

const native = (args, input = '') => spawnSync(NATIVE, args, { ...LONG, input });
const answers = ({ stdout, status, stderr }) => {
  assert.equal(status, 0, stderr);
  return stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
};

const MEGATRON = '--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --unheard-of 7';
const BAD = ['{', '[]', '7', '"text"', '{"tp":7}', '{"nonsense":1}', '{"tp":1e400}', `${'['.repeat(1e5)}`];
const LINES = {
  report: ['{}', '{"model":"llama-3.1-70b","gpus":256,"tp":8}', 'v=1&tp=4&from_a_newer_version=1', 'v=1&tp=x', '#v=1&gpus=128',
    '{"gpus":64,"schedule":"dualpipe","pp":4}', '  {"gpus":8,"pp":1}\r'],
  schedule: ['{"schedule":"1f1b","pp":4,"microbatches":8}', '{"schedule":"custom","order":"0F0 0B0"}', '{"schedule":"zb-h1","ops":false}'],
  certify: ['{"gpus":32,"tp":1,"pp":4}', '{"gpus":32,"tp":1,"pp":4,"schedule":"pipedream"}', '{"tq":1}'],
  plan: ['{"run":{"gpus":8,"global_batch":64},"top":3}', '{"run":{"gpus":8},"top":2,"pin":["zero"],"space":{"tp":[1,2]}}', '{"run":{"tq":1}}'],
  import: [JSON.stringify({ text: MEGATRON, run: { gpus: 8 } }), '{"text":"v=1&tp=4"}', '{"text":7}', '{"text":"what is this?"}',
    JSON.stringify({ text: '{"hidden_size":4096,\u2028"num_hidden_layers":40}' })],
  export: [...['megatron', 'torchtitan', 'deepspeed', 'nanotron', 'markdown', 'json', 'csv', 'nonsense']
    .map((format) => JSON.stringify({ run: { gpus: 64, tp: 4 }, format })), '{"run":{"tp":7},"format":"csv"}', '{"format":5}',
    '{"rum":{"tp":2},"format":"csv"}'],
  rl: ['{"rl":{"algorithm":"grpo","prompts":64,"samples":8,"prompt_tokens":99,"response_tokens":{"mean":900},"response_limit":4096}}',
    '{"rl":{"algorithm":"grpo"}}', '{"run":{},"convergence":true}'],
  calibrate: ['{"runs":[{"run":{"gpus":8,"global_batch":32},"step_s":4.9}],"name":"our H100"}', '{"runs":7}'],
};

for (const [verb, lines] of Object.entries(LINES)) {
  test(`${verb} answers as the native program does, line by line, bad requests too`, () => {
    const input = `${[...lines, '', ...BAD].join('\n')}\n`;
    const [ours, theirs] = [answers(command([verb], input)), answers(native([verb], input))];
    assert.equal(ours.length, lines.length + BAD.length);
    ours.forEach((answer, at) => assert.deepEqual(answer, theirs[at], [...lines, ...BAD][at].slice(0, 200)));
    assert.deepEqual(ours[0].errors, []);
    assert.ok(ours[lines.length].errors[0].message.length > 0);
  });
}

test('a schedule has the textbook\'s makespan, a report the layout that its sizes divide into', () => {
  // (m + p - 1)(t_F + t_B), with a forward of 1 and a whole backward of 2.
  const [schedule] = answers(command(['schedule'], '{"schedule":"1f1b","pp":4,"microbatches":8}'));
  assert.equal(schedule.makespan_s, (8 + 4 - 1) * 3);
  const [report] = answers(command(['report'], '{"gpus":64,"tp":2,"pp":4}'));
  assert.equal(report.layout.dp, 64 / 2 / 4);
});

test('a run that went out as Megatron-LM\'s arguments comes back', () => {
  const run = { gpus: 8, tp: 4, pp: 2 };
  const [{ text }] = answers(command(['export'], JSON.stringify({ run, format: 'megatron' })));
  const [back] = answers(command(['import'], JSON.stringify({ text, run: { gpus: 8 } })));
  assert.equal(back.run.tp, 4);
  assert.equal(back.run.pp, 2);
});

test('exit codes are the native program\'s', () => {
  const calls = [[['report'], ''], [[], ''], [['nonsense'], '{}\n'], [['report'], Buffer.from([0x7b, 0x7d, 0x0a, 0xff, 0x0a])]];
  for (const [args, input] of calls) {
    const [ours, theirs] = [command(args, input), native(args, input)];
    assert.equal(ours.status, theirs.status, `${args} ${input}: ${ours.stderr}`);
    assert.equal(ours.stdout.split('\n').length, theirs.stdout.split('\n').length);
  }
  assert.equal(command(['report', 'runs.jsonl']).status, 2, 'a file name would wait for input that never comes');
});

test('every line is answered while the input stays open', async () => {
  const child = spawn(process.execPath, [COMMAND, 'report'], { stdio: ['pipe', 'pipe', 'inherit'] });
  for (const gpus of [64, 128]) {
    // In two pieces, the second with the end of the line.
    child.stdin.write('{"gpus":');
    child.stdin.write(`${gpus},"tp":2,"pp":4}\n`);
    let text = '';
    while (!text.endsWith('\n')) text += await new Promise((read) => { child.stdout.once('data', read); });
    assert.equal(JSON.parse(text).layout.dp, gpus / 8);
  }
  child.stdin.end();
  assert.equal(await new Promise((ended) => { child.once('exit', ended); }), 0);
});

test('a reader that goes away ends the command', () => {
  const many = join(home, 'many.jsonl');
  writeFileSync(many, '{"gpus":8}\n'.repeat(20_000));
  const { status, stdout } = spawnSync('bash', ['-c', `'${process.execPath}' '${COMMAND}' report <'${many}' | head -n 1`], LONG);
  assert.equal(status, 0);
  assert.deepEqual(JSON.parse(stdout).errors, []);
});

test('the guide is the help, and every command line in it is answered without errors', () => {
  const guide = readFileSync(join(folder, 'GUIDE.md'), 'utf8');
  assert.equal(command(['--help']).stdout.trim(), guide.trim());
  assert.equal(command(['--version']).stdout.trim(), about.version);
  const examples = [...guide.matchAll(/^ {4}(?:echo|node -p) .*\| shardscope (\w+)$/gm)];
  const verbs = new Set(examples.map(([, verb]) => verb));
  // A log and a message are texts, not lines.
  writeFileSync(join(home, 'oom.txt'), 'CUDA out of memory. Tried to allocate 720.00 MiB. GPU 0 has a total capacity of 184.31 GiB\n');
  assert.deepEqual([...verbs].filter((verb) => verb !== 'log' && verb !== 'diagnose'), Object.keys(LINES));
  writeFileSync(join(home, 'train.sh'), MEGATRON);
  writeFileSync(join(home, 'train.log'), Array.from({ length: 20 }, (_, at) => (
    ` [2026-03-02 11:22:${10 + at}.123456] iteration ${String(at + 1).padStart(8)}/      20 | consumed samples: ${64 * (at + 1)}`
    + ' | elapsed time per iteration (ms): 1234.5 | learning rate: 3.000000E-05 | global batch size:    64 | lm loss: 1.1E+01'
    + ' | loss scale: 1.0 | grad norm: 2.5 | number of skipped iterations:   0 |\n')).join(''));
  for (const [line] of examples) {
    const run = line.replace('| shardscope', `| '${process.execPath}' '${COMMAND}'`);
    const [{ errors, fastest }] = answers(spawnSync('bash', ['-c', run], { ...LONG, cwd: home }));
    assert.deepEqual(errors, [], line);
    assert.notEqual(fastest, null, `${line}: none of its layouts is one to use`);
  }
});

test('questions and scores of the scoreboard are the native program\'s', () => {
  const [ours, theirs] = [command(['scoreboard', 'questions']), native(['scoreboard', 'questions'])];
  assert.equal(ours.status, 0, ours.stderr);
  assert.deepEqual(ours.stdout, theirs.stdout);
  const runs = ours.stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.ok(runs.length > 1000 && runs.every(({ asks, run }) => asks.length > 0 && run.gpus > 0));
  const file = join(home, 'predictions.jsonl');
  writeFileSync(file, runs.map(({ id }) => `${JSON.stringify({ id, step_s: 1, verdict: 'oom' })}\n`).join(''));
  const [mine, its] = [command(['scoreboard', 'score', file]), native(['scoreboard', 'score', file])].map((answer) => answers(answer)[0]);
  assert.deepEqual(mine, its);
  assert.equal(mine.outcomes.false_oom, mine.outcomes.ran);
  assert.equal(command(['scoreboard', 'nonsense']).status, native(['scoreboard', 'nonsense']).status);
});

test('a program imports the package by its name, without an init', () => {
  writeFileSync(join(home, 'program.mjs'), `import { report, plan, version } from 'shardscope';
    const { best } = await plan({ run: { gpus: 8 }, top: 1 });
    console.log(JSON.stringify([report({ gpus: 64, tp: 2, pp: 4 }).layout.dp, best.length, version()]));`);
  const told = execFileSync(process.execPath, ['program.mjs'], { cwd: home, encoding: 'utf8' });
  assert.deepEqual(JSON.parse(told), [8, 1, about.version]);
});

test('the tarball holds what works alone, and the licences', () => {
  const names = packed.files.map(({ path }) => path).sort();
  const node = ['bases.js', 'calculator.js', 'calculator.wasm', 'call.js', 'check.js', 'command.js', 'diagnose.js', 'fields.json', 'index.js', 'limits.html',
    'lines.js', 'mcp.js', 'requests.js', 'scoreboard.js', 'shown.js', 'sources.html', 'tools.js'].map((name) => `node/${name}`);
  const tables = readdirSync(join(ROOT, 'public/data')).filter((name) => name.endsWith('.csv')).map((name) => `node/data/${name}`);
  assert.deepEqual(names, ['GUIDE.md', 'LICENSE', 'README.md', 'licences.txt', ...[...node, ...tables].sort(), 'package.json', 'shardscope.d.ts']);
  assert.deepEqual([about.dependencies, about.scripts], [undefined, undefined]);
  const module = join(folder, 'node/calculator.wasm');
  assert.ok(statSync(module).size > 1e5);
  const offline = readFileSync(join(ROOT, 'dist/offline.js'), 'utf8');
  assert.doesNotMatch(offline, /"pkg\/(node|package)/, 'the page keeps no copy of the command');
});
