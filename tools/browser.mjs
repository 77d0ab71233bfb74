// Runs the browser tests: node tools/browser.mjs [FILE...]
//
// A file that passed on the same page with the same helpers is not run again, as cargo does not compile again what did
// not change: the page is built from src/, so that any change of it runs them all. AGAIN=1 runs them in any case.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { run } from 'node:test';
import { tap } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
const PASSED = `${process.env.CARGO_TARGET_DIR ?? 'target'}/browser-passed.json`;
const TEST = /^tests\/browser\/.*\.test\.mjs$/;
const RUST = /^(src|tests)\/.*\.rs$/;

/** Hash of what all tests rest on: page as built, browser, Node, and every file but the Rust that the page is of. */
function ground() {
  const chromium = execFileSync('tools/chromium', { encoding: 'utf8' }).trim();
  const version = execFileSync(chromium, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const hash = createHash('sha256').update(process.version).update(version);
  const dist = readdirSync('dist', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map((entry) => `${entry.parentPath ?? entry.path}/${entry.name}`);
  const git = spawnSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { encoding: 'utf8' });
  // An archive without git's list has no such hash: all files run, each time.
  if (git.status !== 0) return String(Math.random());
  const other = (path) => !TEST.test(path) && !RUST.test(path) && existsSync(path);
  const paths = [...dist, ...git.stdout.split('\0').filter(Boolean).filter(other)].sort();
  for (const path of paths) hash.update(`${path}\0`).update(readFileSync(path)).update('\0');
  return hash.digest('hex');
}

const of = (path, base) => createHash('sha256').update(base).update(readFileSync(path)).digest('hex');

const named = process.argv.slice(2);
const all = readdirSync('tests/browser').map((name) => `tests/browser/${name}`).filter((path) => TEST.test(path));
const files = named.length > 0 ? named : all;
const base = ground();
const before = existsSync(PASSED) ? JSON.parse(readFileSync(PASSED, 'utf8')) : {};
const due = process.env.AGAIN ? files : files.filter((path) => before[path] !== of(path, base));
if (due.length < files.length) {
  const passed = `${files.length - due.length} of ${files.length} files`;
  console.log(`test: ${passed} passed on this very page before (AGAIN=1 runs them too)`);
}

const [passed, failed] = [new Set(), new Set()];
const isSure = (file) => passed.has(file) && !failed.has(file) && !failed.has(undefined);
const stream = run({ files: due.map((path) => `${root}${path}`), concurrency: 2 });
stream.on('test:pass', ({ file }) => passed.add(file));
stream.on('test:fail', ({ file }) => failed.add(file));
stream.on('end', () => {
  // A failure that names no file may be any one's.
  const sure = due.filter((path) => isSure(`${root}${path}`));
  const kept = Object.entries(before).filter(([path]) => !due.includes(path));
  mkdirSync(dirname(PASSED), { recursive: true });
  writeFileSync(PASSED, JSON.stringify(Object.fromEntries([...kept, ...sure.map((path) => [path, of(path, base)])])));
  if (failed.size > 0) process.exitCode = 1;
});
if (due.length > 0) stream.compose(tap).pipe(process.stdout);
