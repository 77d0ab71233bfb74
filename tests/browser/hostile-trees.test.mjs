// `shardscope check` on trees that somebody made to hurt it: seeded; `make trees` runs 200 of them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { COMMAND, home } from './packed.mjs';

const TREES = Number(process.env.SHARDSCOPE_TREES ?? 12);
const SEED = 20_261;
/** A tree that takes longer hangs; what is aimed at is two seconds of a processor, which are printed. */
const HANGS_MS = 60_000;

const GOOD = 'torchrun pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 \\\n'
  + '  --micro-batch-size 1 --global-batch-size 8 --bf16\n';

/** Mulberry32, a generator of 32 bits of state. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Texts that were slow, or that print what a terminal or a job's log obeys. */
const TEXTS = [
  (size) => `source${'\t'.repeat(size)}${'a'.repeat(size)}!`,
  (size) => `. ${'a/'.repeat(size)}.sh`,
  (size) => `extends: ${'a'.repeat(size)}`,
  (size) => `extends:${'\n'.repeat(size)}x`,
  (size) => `defaults:\n${'- a.yaml\n'.repeat(size / 8)}`,
  (size) => `defaults: [${'a.yaml,'.repeat(size / 8)}]`,
  (size) => `${'source b.sh\n'.repeat(size / 8)}`,
  (size) => '['.repeat(size),
  (size) => `{"model_type":"${'x'.repeat(size)}"}`,
  (size) => `${'&a '.repeat(size / 4)}: *a`,
  (size) => `a: &a [x]\n${Array.from({ length: Math.min(size, 40) }, (_, at) => `b${at}: &b${at} [*a,*a,*a,*a]\n`).join('')}`,
  (size) => `${GOOD}${' --unheard-of\u001b[31m\u202e::error::x'.repeat(size / 40)}`,
  (size) => `${GOOD.trimEnd()} --::error::${'y'.repeat(size)} 7\n##[error]z`,
  (size) => `${'$('.repeat(size / 2)}`,
  (size) => `${'A=${A}${A}\n'.repeat(size / 12)}`,
  (size) => `for i in ${'1 '.repeat(size / 2)}; do torchrun pretrain_gpt.py --num-layers $i; done`,
  () => Buffer.from([0xff, 0xfe, 0, 0xd8, 0, 0x0a]),
  () => '',
];

/** Names that a log or a terminal would obey. */
const NAMES = ['a\n::error::b.sh', '::error::c.sh', ' ::warning::d.sh', '##[error]e.sh', '\u001b[2Jf.sh', '\u202eg.sh', '-h.sh', 'i%0A::error::.sh'];

/** What there is beside texts; each returns the names to check. */
const SHAPES = {
  fifo: (put) => { execFileSync('mkfifo', [put('pipe.sh')]); return ['pipe.sh']; },
  link_to_device: (put) => { symlinkSync('/dev/zero', put('zero.sh')); return ['zero.sh']; },
  sourced_device: (put) => { symlinkSync('/dev/zero', put('null.sh')); writeFileSync(put('over.sh'), `source null.sh\n${GOOD}`); return ['over.sh']; },
  gigabyte: (put) => { writeFileSync(put('large.sh'), ''); truncateSync(put('large.sh'), 2 ** 30); return ['large.sh']; },
  chain: (put) => {
    for (let at = 0; at <= 3_001; at += 1) writeFileSync(put(`chain/c${at}.sh`), `source c${at + 1}.sh\n${GOOD}`);
    return ['chain/c0.sh'];
  },
  links: (put) => {
    symlinkSync('.', put('d'));
    symlinkSync('.', put('e'));
    const spellings = ['', 'd/', 'e/', 'd/e/', 'e/d/'];
    const names = Array.from({ length: 12 }, (_, at) => `n${at}.sh`);
    for (const name of names) {
      writeFileSync(put(name), `${names.flatMap((other) => spellings.map((way) => `source ${way}${other}\n`)).slice(0, 20).join('')}${GOOD}`);
    }
    return names;
  },
  loop: (put) => { symlinkSync('loop.sh', put('loop.sh')); return ['loop.sh']; },
  folder: (put) => { mkdirSync(put('folder.sh')); return ['folder.sh']; },
  // A bare repository among the files, whose settings name a program.
  repository: (put) => {
    for (const folder of ['bare/objects', 'bare/refs']) mkdirSync(put(folder), { recursive: true });
    writeFileSync(put('bare/HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(put('bare/config'), '[core]\n\tbare = true\n\tfsmonitor = touch ran-a-program\n');
    writeFileSync(put('bare/run.sh'), GOOD);
    return ['bare/run.sh'];
  },
};

/** Makes a tree in a repository of its own; the names to check, `good.sh` first. */
function tree(seed) {
  const pick = random(seed);
  const folder = mkdtempSync(join(home, 'tree-'));
  const put = (name) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    return join(folder, name);
  };
  const git = (...args) => execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.org', ...args], { cwd: folder, stdio: 'ignore' });
  git('init', '--quiet', '--initial-branch=main');
  writeFileSync(put('good.sh'), GOOD);
  git('add', '.');
  git('commit', '--quiet', '--message', 'good');
  const names = ['good.sh'];
  for (let at = 0; at < 3; at += 1) {
    const name = NAMES[pick(NAMES.length)];
    const size = 8 << pick(16);
    writeFileSync(put(name), TEXTS[pick(TEXTS.length)](size));
    if (!names.includes(name)) names.push(name);
  }
  const shapes = Object.keys(SHAPES);
  // Each shape at least once, in turn.
  const shape = shapes[seed % shapes.length];
  names.push(...SHAPES[shape](put));
  return { folder, names, shape };
}

test(`each of ${TREES} hostile trees gets a verdict or a message for each file, and prints no command`, () => {
  let slowest = { ms: 0 };
  for (let at = 0; at < TREES; at += 1) {
    const { folder, names, shape } = tree(SEED + at);
    for (const format of ['text', 'json', 'github']) {
      // Processor time, which other programs on the machine do not change.
      const { status, stdout, stderr: said, error } = spawnSync('bash', [
        '-c', 'TIMEFORMAT="cpu %U %S"; time "$@"', 'time',
        process.execPath, COMMAND, 'check', '--run', '{"gpus":8}', '--base', 'main', '--format', format, '--', ...names,
      ], { cwd: folder, encoding: 'utf8', timeout: HANGS_MS, maxBuffer: 1 << 28 });
      const [, stderr, user, system] = /^([^]*?)cpu (\S+) (\S+)\n$/.exec(said) ?? [];
      const ms = (Number(user) + Number(system)) * 1_000;
      const label = `tree ${at} (${shape}), ${format}`;
      assert.equal(error, undefined, label);
      assert.equal(status, 1, `${label}: ${stderr}`);
      assert.equal(stderr, '', label);
      if (ms > slowest.ms) slowest = { ms, label };
      // Nothing that a terminal obeys, nothing that turns the direction of writing.
      assert.doesNotMatch(stdout, /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/, label);
      assert.ok(!stdout.includes('##['), label);
      const commands = stdout.split('\n').filter((line) => line.trimStart().startsWith('::'));
      if (format === 'github') {
        assert.equal(commands.length, names.length, label);
        for (const line of commands) assert.match(line, /^::(?:error|warning|notice) file=[^:,]*,title=Shardscope%3A [^:]*::/, label);
      } else {
        assert.deepEqual(commands, [], label);
      }
      if (format === 'json') {
        const { files } = JSON.parse(stdout);
        assert.deepEqual(files.map(({ file }) => file), names, label);
        assert.ok(files.every(({ verdict, errors }) => (verdict === undefined) === (errors.length > 0)), label);
        assert.equal(files[0].verdict, 'fits', label);
      }
    }
    assert.ok(!execFileSync('find', [folder, '-name', 'ran-a-program'], { encoding: 'utf8' }), `tree ${at}: a program of the tree ran`);
    rmSync(folder, { recursive: true });
  }
  console.log(`check: ${TREES} hostile trees in three formats, the slowest ${(slowest.ms / 1000).toFixed(2)} s of a processor: ${slowest.label}`);
});
