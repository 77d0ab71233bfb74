// `shardscope check` and the action around it, in a git repository of their own.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LONG, ROOT, command, home, packed } from './packed.mjs';

const repository = join(home, 'repository');
mkdirSync(join(repository, 'runs'), { recursive: true });
const git = (...args) => execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.org', ...args], { cwd: repository, stdio: 'pipe' });
const write = (name, text) => writeFileSync(join(repository, name), text);

const megatron = (layers, hidden, heads, recompute = '') => `torchrun pretrain_gpt.py --num-layers ${layers} --hidden-size ${hidden} \\
  --num-attention-heads ${heads} --seq-length 2048 --micro-batch-size 1 --global-batch-size 8 --tensor-model-parallel-size 1 \\
  --pipeline-model-parallel-size 1 --bf16 --use-flash-attn ${recompute}\n`;
// The weights alone of GPT-3 175B are 326 GiB, on GPUs of 80.
const SMALL = megatron(24, 2048, 16);
const LARGE = megatron(96, 12288, 96);
write('small.sh', SMALL);
write('large.sh', LARGE);
write('runs/slower.sh', SMALL);
git('init', '--quiet', '--initial-branch=main');
git('add', '.');
git('commit', '--quiet', '--message', 'runs');
// A full recomputation is a forward more, so a third more work.
write('runs/slower.sh', megatron(24, 2048, 16, '--recompute-granularity full --recompute-method uniform --recompute-num-layers 1'));
write('new.sh', SMALL);
write('prose.md', 'what is this?\n');

const RUN = '{"gpus":8,"gpu":"h100-sxm-80gb"}';
const check = (...args) => command(['check', '--run', RUN, ...args], '', { cwd: repository });
const json = (...args) => {
  const { stdout, status } = check('--json', ...args);
  return { ...JSON.parse(stdout), status };
};

test('a run that fits passes, one whose weights alone are too large fails', () => {
  const { files: [small, large], status, failed } = json('small.sh', 'large.sh');
  assert.deepEqual([small.verdict, small.failed, large.verdict, large.failed], ['fits', [], 'oom', ['oom']]);
  assert.deepEqual([status, failed], [1, true]);
  assert.ok(large.need_low_bytes <= large.need_bytes && large.need_bytes <= large.need_high_bytes);
  assert.ok(large.need_low_bytes > 175e9 * 2);
  assert.equal(json('small.sh').status, 0);
});

test('--fail-on says which files fail', () => {
  const status = (...args) => json(...args).status;
  assert.equal(status('--fail-on', 'none', 'large.sh'), 0);
  assert.equal(status('--fail-on', 'slower=5%', '--base', 'main', 'large.sh'), 0);
  // What is out of memory is worse than tight.
  assert.equal(status('--fail-on', 'tight', 'large.sh'), 1);
  assert.equal(status('--fail-on', 'slower=5%', '--base', 'main', 'runs/slower.sh'), 1);
  assert.equal(status('--fail-on', 'oom,slower=60%', '--base', 'main', 'runs/slower.sh'), 0);
});

test('--base tells what changed', () => {
  const { files: [slower, same, fresh] } = json('--base', 'main', 'runs/slower.sh', 'small.sh', 'new.sh');
  assert.deepEqual(slower.changed, [{ key: 'recompute', before: null, after: 'full' }]);
  assert.ok(slower.slower > 0.1 && slower.slower < 0.45, `${slower.slower}`);
  assert.ok(slower.need_bytes < slower.base.need_bytes);
  assert.deepEqual([same.changed, same.slower], [[], 0]);
  assert.deepEqual([fresh.base.new, fresh.failed], [true, []]);
  const { stdout } = check('--base', 'main', 'runs/slower.sh');
  assert.match(stdout, /^runs\/slower\.sh: fits: needs .* GiB \(.* to .*\) of .*, step .* s \(.* to .*\)$/m);
  assert.match(stdout, /^ {2}recompute: default -> "full"$/m);
});

test('a file stands over those that it names, now and at the base, and its name may say the GPU', () => {
  const base = readFileSync(join(ROOT, 'tests/data/launch/nemo_rl_base.yaml'), 'utf8');
  const recipe = readFileSync(join(ROOT, 'tests/data/launch/nemo_rl_recipe.yaml'), 'utf8');
  write('nemo_rl_base.yaml', base);
  mkdirSync(join(repository, 'a/b'), { recursive: true });
  write('a/b/recipe_b200.yaml', recipe);
  git('add', 'nemo_rl_base.yaml', 'a');
  git('commit', '--quiet', '--message', 'recipes');
  write('nemo_rl_base.yaml', base.replace('train_global_batch_size: 512', 'train_global_batch_size: 1024'));
  const { files: [over] } = json('--base', 'HEAD', 'a/b/recipe_b200.yaml');
  assert.deepEqual(over.changed, [{ key: 'global_batch', before: 512, after: 1024 }]);
  assert.deepEqual([over.run.gpu, over.run.gpus], ['b200-sxm', 32]);
  assert.ok(!over.assumed.some((line) => line.includes('is not here')), over.assumed.join('\n'));
});

test('annotations are commands of GitHub, one a file, of the level that the file has', () => {
  write('a,b:c%.sh', LARGE);
  const { stdout, status } = check('--format', 'github', 'small.sh', 'a,b:c%.sh', 'prose.md');
  assert.equal(status, 1);
  const [small, large, prose, ...more] = stdout.trimEnd().split('\n');
  assert.deepEqual(more, []);
  assert.match(small, /^::notice file=small\.sh,title=Shardscope%3A fits::fits: needs /);
  assert.match(large, /^::error file=a%2Cb%3Ac%25\.sh,title=Shardscope%3A out of memory::out of memory: needs .*%0Aread as settings of Megatron-LM/);
  // What is assumed stands beside the verdict.
  assert.match(large, /%0Aassumed: /);
  assert.match(prose, /^::error file=prose\.md,title=Shardscope%3A cannot be checked::this is none of what is read/);
  assert.match(check('--format', 'github', '--fail-on', 'none', 'large.sh').stdout, /^::warning file=large\.sh,/);
});

test('a wrong call is told from a file that fails', () => {
  const calls = [[], ['--fail-on', 'slow', 'small.sh'], ['--fail-on', 'slower=5%', 'small.sh'], ['--format', 'xml', 'small.sh'], ['--nonsense'],
    ['--base', 'no-such-branch', 'small.sh'], ['--base=--output=stolen', 'small.sh'], ['--run', '{', 'small.sh'], ['--run', 'tq=1', 'small.sh']];
  for (const args of calls) {
    const { status, stderr, stdout } = check(...args);
    assert.deepEqual([status, stdout], [2, ''], `${args}: ${stderr}`);
    assert.match(stderr, /^shardscope check: .+\nusage: /);
  }
  const missing = check('no-such-file.sh');
  assert.deepEqual([missing.status, missing.stderr], [1, '']);
  assert.match(missing.stdout, /no-such-file\.sh: cannot be read: ENOENT/);
});

const action = readFileSync(join(ROOT, 'tools/action/action.yml'), 'utf8');
const [, script] = /^ {6}run: \|\n((?: {8}.*\n|\n)+)/m.exec(action);
const SHA256 = createHash('sha256').update(readFileSync(join(home, packed.filename))).digest('hex');

/** What the action's own script does in `cwd`, with these inputs in place of the usual ones. */
function act(cwd, inputs = {}) {
  const runner = mkdtempSync(join(home, 'runner-'));
  const env = {
    ...process.env, RUNNER_TEMP: runner, GITHUB_WORKSPACE: cwd, PACKAGE: join(home, packed.filename), SHA256, FILES: 'small.sh runs/*.sh',
    BASE: 'main', FAIL_ON: 'oom,slower=5%', RUN, PAGE: '', npm_config_offline: 'true', npm_config_cache: join(home, 'cache'), ...inputs,
  };
  return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], { ...LONG, cwd, env });
}

test('the action installs the package and annotates the files', () => {
  for (const name of ['package', 'sha256', 'files', 'base', 'fail-on', 'run', 'page']) {
    assert.ok(action.includes(`${name.toUpperCase().replace('-', '_')}: \${{ inputs.${name} }}`), name);
  }
  const { status, stdout, stderr } = act(repository);
  assert.equal(status, 1, stderr);
  const levels = stdout.trimEnd().split('\n').map((line) => line.split(',')[0]);
  assert.deepEqual(levels, ['::notice file=small.sh', '::error file=runs/slower.sh'], stderr);
});

test('the action takes no package from the checkout, and none with another checksum', () => {
  copyFileSync(join(home, packed.filename), join(repository, 'mine.tgz'));
  symlinkSync(join(home, packed.filename), join(repository, 'linked.tgz'));
  const calls = [['mine.tgz', SHA256], ['linked.tgz', SHA256], [join(home, packed.filename), '0'.repeat(64)], [join(home, packed.filename), ''],
    ['http://127.0.0.1/package.tgz', SHA256]];
  for (const [PACKAGE, sum] of calls) {
    const { status, stdout, stderr } = act(repository, { PACKAGE, SHA256: sum });
    assert.deepEqual([status, stdout], [2, ''], PACKAGE);
    assert.match(stderr, /^shardscope: (?:the package|sha256)/);
  }
});

test('the action fetches a base that is missing, and names it as the user wrote it', () => {
  git('checkout', '--quiet', '-b', 'change');
  git('add', 'runs');
  git('commit', '--quiet', '--message', 'slower');
  const clone = join(home, 'clone');
  execFileSync('git', ['clone', '--quiet', '--depth=1', '--branch=change', `file://${repository}`, clone], { stdio: 'pipe' });
  const { status, stdout, stderr } = act(clone, { FILES: 'runs/slower.sh' });
  assert.equal(status, 1, stderr);
  assert.match(stdout, /%0Ain main: fits: /);
  assert.doesNotMatch(stdout, /FETCH_HEAD/);
});

test('every step that the guide and the workflows name is pinned by its commit', () => {
  const workflows = join(ROOT, '.github/workflows');
  const texts = [join(ROOT, 'tools/npm/GUIDE.md'), ...readdirSync(workflows).map((name) => join(workflows, name))].map((file) => readFileSync(file, 'utf8'));
  const used = texts.flatMap((text) => [...text.matchAll(/uses: (\S+)/g)].map(([, step]) => step)).filter((step) => !step.startsWith('./'));
  assert.ok(used.length > 5);
  assert.deepEqual(used.filter((step) => !/^[\w.-]+\/[\w./-]+@(?:[0-9a-f]{40}|COMMIT)$/.test(step)), []);
});
