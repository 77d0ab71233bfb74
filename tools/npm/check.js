// `shardscope check FILE...`: the verdict, need and step time of settings files, for pull requests: what `import` reads of each,
// and what changed since `--base REF` of git.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { answerLine, decodeLink, encodeLink, report } from './index.js';
import { print } from './lines.js';

/** The exit status where a file fails, and where the command is called wrongly. */
const FAILED = 1;
const WRONG_CALL = 2;

const USAGE = 'usage: shardscope check FILE... [--base REF] [--fail-on oom|tight|slower=5%|none] [--format text|json|github] [--json] '
  + '[--run RUN] [--page ADDRESS]';

const VERDICTS = { fits: 'fits', tight: 'tight', oom: 'out of memory' };
const gib = (bytes) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
const s = (seconds) => `${Number(seconds.toPrecision(3))} s`;
const percent = (share) => `${Math.abs(share * 100).toFixed(1)} % ${share < 0 ? 'less' : 'more'}`;
const sentence = ({ field, message }) => (field ? `${field}: ${message}` : message);

/** Options of the command line; throws where they are none. */
function options(args) {
  const { values, positionals: files } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      base: { type: 'string' }, format: { type: 'string', default: 'text' }, json: { type: 'boolean', default: false },
      'fail-on': { type: 'string', multiple: true, default: ['oom'] }, run: { type: 'string', default: '{}' }, page: { type: 'string', default: '' },
    },
  });
  const format = values.json ? 'json' : values.format;
  if (!Object.hasOwn(FORMATS, format)) throw new Error(`no such format: ${format}`);
  if (files.length === 0) throw new Error('names no file');
  const limits = { oom: false, tight: false, slower: null };
  for (const word of values['fail-on'].flatMap((words) => words.split(','))) {
    const slower = /^slower=(\d+(?:\.\d+)?)%?$/.exec(word);
    if (slower) limits.slower = Number(slower[1]) / 100;
    else if (word === 'oom' || word === 'tight') limits[word] = true;
    else if (word !== 'none') throw new Error(`--fail-on takes oom, tight, slower=5% or none, not "${word}"`);
  }
  const anything = limits.oom || limits.tight || limits.slower !== null;
  if (limits.slower !== null && values.base === undefined) throw new Error('--fail-on slower needs --base');
  return { files, format, limits, anything, base: values.base, run: runOf(values.run), page: values.page };
}

/** The Run of `--run`, as JSON or as a link. */
function runOf(text) {
  if (text.trim().startsWith('{')) return JSON.parse(text);
  const { run, notices } = decodeLink(text);
  if (notices.length > 0) throw new Error(`--run: ${sentence(notices[0])}`);
  return run;
}

/** The run that a text means, and its figures; errors where it has none. */
function judged(text, run) {
  const read = answerLine('import', JSON.stringify({ text, run }));
  if (read.errors.length > 0) return read;
  const { errors, memory, step, warnings } = report(read.run);
  if (errors.length > 0) return { ...read, errors };
  const { verdict, need_bytes, need_low_bytes, need_high_bytes, capacity_bytes, chance } = memory;
  const { time_s, low_s, high_s, tokens_per_s_per_gpu } = step;
  return {
    ...read, warnings, verdict, need_bytes, need_low_bytes, need_high_bytes, capacity_bytes, chance, time_s, low_s, high_s, tokens_per_s_per_gpu,
  };
}

/** Settings of a Run by their dotted keys. */
function flat(run, prefix = '') {
  return Object.entries(run).flatMap(([key, value]) => (
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? flat(value, `${prefix}${key}.`) : [[`${prefix}${key}`.replace(/\.base$/, ''), value]]));
}

/** Settings that differ; null where one has its default. */
function changes(before, after) {
  const [old, now] = [before, after].map((run) => new Map(flat(run)));
  const keys = [...new Set([...old.keys(), ...now.keys()])];
  const differ = keys.filter((key) => JSON.stringify(old.get(key)) !== JSON.stringify(now.get(key)));
  return differ.map((key) => ({ key, before: old.get(key) ?? null, after: now.get(key) ?? null }));
}

/** Files that a file names as what it stands over: `defaults` and `extends` of YAML, what a script sources. */
function basesOf(text) {
  const sourced = [...text.matchAll(/^[ \t]*(?:source|\.)[ \t]+.*?([\w./-]*\w\.sh)["']?[ \t]*$/gm)].map(([, name]) => name.replace(/^\/+/, ''));
  const [, listed = ''] = /^(?:defaults|extends):((?:[^\n]*\.ya?ml.*\n?|\s*\n)(?:[ \t]*- .*\n?)*)/m.exec(text) ?? [];
  return [...sourced, ...[...listed.matchAll(/[^\s"'[\],-][^\s"'[\],]*\.ya?ml/g)].map(([name]) => name)];
}

/** The text of `file` as `read` gives it, behind those that it stands over, each once; a line of three dashes between them. */
function whole(file, read, seen = new Set()) {
  const text = seen.has(file) ? undefined : read(file);
  seen.add(file);
  if (text === undefined) return undefined;
  const below = basesOf(text).map((name) => whole(join(dirname(file), name), read, seen));
  return [...below.filter((base) => base !== undefined), text].join('\n---\n');
}

/** The text of a file here; undefined where there is none. */
function textHere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** The text of a file at a commit; undefined where that has none. */
function textAt(commit, file) {
  const show = spawnSync('git', ['show', `${commit}:./${basename(file)}`], { cwd: dirname(file), encoding: 'utf8', maxBuffer: 1 << 26 });
  return show.status === 0 ? show.stdout : undefined;
}

/** The commit that `--base` names in the repository of `file`. */
function commitOf(ref, file) {
  try {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
    return execFileSync('git', args, { cwd: dirname(file), encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    throw new Error(`git knows no commit ${ref} beside ${file}`);
  }
}

/** The text with the file's name in a comment behind it: names of files often say the GPU that the text leaves out. */
const named = (text, file) => (text.trimStart().startsWith('{') ? text : `${text}\n# ${file}\n`);

/** What is said of one file. */
function judge(file, { base, run, page, limits, anything }) {
  try {
    readFileSync(file);
  } catch (error) {
    return { file, errors: [{ field: '', message: `cannot be read: ${error.code}` }], failed: ['unreadable'] };
  }
  const now = { file, ...judged(named(whole(file, textHere), file), run) };
  if (now.errors.length > 0) return { ...now, failed: anything ? ['invalid'] : [] };
  now.link = `${page}#${encodeLink(now.run).fragment}`;
  if (base !== undefined) {
    const commit = commitOf(base, file);
    const before = whole(file, (name) => textAt(commit, name));
    now.base = { ref: base, ...(before === undefined ? { errors: [], new: true } : judged(named(before, file), run)) };
    if (now.base.run) now.changed = changes(now.base.run, now.run);
    if (now.base.time_s) now.slower = now.time_s / now.base.time_s - 1;
  }
  const { verdict, slower = 0 } = now;
  now.failed = [
    ...(verdict === 'oom' && (limits.oom || limits.tight) ? ['oom'] : []),
    ...(verdict === 'tight' && limits.tight ? ['tight'] : []),
    ...(limits.slower !== null && slower > limits.slower ? ['slower'] : []),
  ];
  return now;
}

/** The answer of a file in one line. */
function summary({ errors, verdict, need_bytes, need_low_bytes, need_high_bytes, capacity_bytes, time_s, low_s, high_s }) {
  if (errors.length > 0) return errors.map(sentence).join('; ');
  return `${VERDICTS[verdict]}: needs ${gib(need_bytes)} (${gib(need_low_bytes)} to ${gib(need_high_bytes)}) of ${gib(capacity_bytes)}, `
    + `step ${s(time_s)} (${s(low_s)} to ${s(high_s)})`;
}

/** What changed since the base, line by line. */
function since({ base, changed = [], slower, need_bytes }) {
  if (!base) return [];
  if (base.new) return [`not in ${base.ref}`];
  if (base.errors.length > 0) return [`in ${base.ref}: ${summary(base)}`];
  return [
    `in ${base.ref}: ${summary(base)}`,
    `now ${percent(need_bytes / base.need_bytes - 1)} memory, ${percent(slower)} time a step`,
    ...changed.map(({ key, before, after }) => `${key}: ${[before, after].map((value) => (value === null ? 'default' : JSON.stringify(value))).join(' -> ')}`),
  ];
}

/** What the figures rest on, where they can be doubted: the entries that were not read, and what stands in for what is missing. */
const grounds = ({ format, used = [], assumed = [], ignored = [], unread = [], warnings = [] }) => (format === undefined ? [] : [
  `read as ${format}: ${used.length} entries used, ${ignored.length} ignored${ignored.length > 0 ? ` (${ignored.join(', ')})` : ''}`,
  ...unread.map((one) => `may matter and not read: ${one.name}${one.line === null ? '' : ` (line ${one.line})`}: ${one.why}; could change: ${one.could_change}`),
  ...assumed.map((line) => `assumed: ${line}`),
  ...warnings.map((issue) => `warning: ${sentence(issue)}`),
]);

/** As GitHub's commands take a message, and a property of one. */
const message = (text) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text) => message(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

function annotation(one) {
  const doubtful = one.errors.length > 0 || one.verdict !== 'fits';
  const level = one.failed.length > 0 ? 'error' : (doubtful && 'warning') || 'notice';
  const title = one.errors.length > 0 ? 'cannot be checked' : VERDICTS[one.verdict];
  const lines = [summary(one), ...since(one), ...grounds(one)];
  return `::${level} file=${property(one.file)},title=${property(`Shardscope: ${title}`)}::${message(lines.join('\n'))}`;
}

const FORMATS = {
  text: (files) => files.map((one) => [
    `${one.file}: ${summary(one)}`,
    ...[...since(one), ...grounds(one), ...(one.link ? [one.link] : []), ...(one.failed.length > 0 ? [`FAILS: ${one.failed.join(', ')}`] : [])]
      .map((line) => `  ${line}`),
  ].join('\n')).join('\n'),
  json: (files) => JSON.stringify({ files, failed: files.some(({ failed }) => failed.length > 0) }, null, 2),
  github: (files) => files.map(annotation).join('\n'),
};

/** Checks the files that the arguments name: the exit status. */
export async function check(args) {
  let read;
  let files;
  try {
    read = options(args);
    files = read.files.map((file) => judge(file, read));
  } catch (error) {
    console.error(`shardscope check: ${error.message}\n${USAGE}`);
    return WRONG_CALL;
  }
  await print(FORMATS[read.format](files));
  return files.some(({ failed }) => failed.length > 0) ? FAILED : 0;
}
