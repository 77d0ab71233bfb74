// The package's WebAssembly answers as the native program does, to the last digit: the requests of tests/io/identity.rs, which
// tools/python/tests asks of the Python package.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { answerLine } from '../../dist/pkg/node/index.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('500 requests get the answers of the native program, to the last digit', () => {
  // The test takes the program that is there.
  execFileSync('cargo', ['build', '--locked', '--quiet', '--example', 'headless'], { cwd: ROOT });
  execFileSync('cargo', ['test', '--locked', '--quiet', '--test', 'io', 'identity'], { cwd: ROOT });
  const file = join(process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target'), 'tmp/identity.jsonl');
  const asked = readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.ok(asked.length >= 500);
  // As JavaScript writes both: 1.0 is 1 there.
  const differ = asked.filter(({ verb, line, answer }) => JSON.stringify(answerLine(verb, line)) !== JSON.stringify(JSON.parse(answer)));
  assert.deepEqual(differ.map(({ verb, line }) => `${verb} ${line.slice(0, 200)}`), []);
});
