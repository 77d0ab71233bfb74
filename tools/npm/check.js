// `shardscope check FILE...`: the verdict, need and step time of settings files, for pull requests: what `import` reads of each,
// and what changed since `--base REF` of git.
import { spawnSync } from 'node:child_process';
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { basesOf } from './bases.js';
import { answerLine, decodeLink, encodeLink, report } from './index.js';
import { print } from './lines.js';
import { inert, inertJson, visible } from './shown.js';

/** The exit status where a file fails, and where the command is called wrongly. */
const FAILED = 1;
const WRONG_CALL = 2;

const USAGE = 'usage: shardscope check FILE... [--base REF] [--fail-on oom|tight|slower=5%|none] [--format text|json|github] [--json] '
  + '[--run RUN] [--page ADDRESS] [--base-name NAME]';

/** Bytes of a file, and of all files that one stands over: what `import` reads of a text (`MAX_BYTES` of src/io/json.rs). */
const MAX_BYTES = 1 << 22;
/** Files that one file may name, directly and over others; published recipes name fewer than ten. */
const MAX_BASES = 100;
/** Milliseconds that git may take to read one file. */
const GIT_MS = 30_000;

/** A file that cannot be judged: the others are. */
class BadFile extends Error {}

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
      'base-name': { type: 'string' },
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
  const { base, page, 'base-name': baseName = base } = values;
  return { files, format, limits, anything, base, baseName, run: runOf(values.run), page };
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
  const { time_s, low_s, high_s, tokens_per_s_per_gpu, range: { may_be_equal } } = step;
  return {
    ...read, warnings, verdict, need_bytes, need_low_bytes, need_high_bytes, capacity_bytes, chance, time_s, low_s,
    high_s, tokens_per_s_per_gpu, may_be_equal,
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

/**
 * The text of `file`, behind those that it stands over, each once; a line of three dashes between them. `read` gives the text of
 * a file, `identity` what is the same for every spelling of its path; both give undefined where there is no such file.
 */
function whole(file, { read, identity }) {
  const seen = new Set();
  let [bytes, named] = [0, 0];
  const readNamed = (name) => {
    try {
      return read(name);
    } catch (error) {
      throw name === file ? error : new BadFile(`stands over ${name}, which ${error.message}`);
    }
  };
  const below = (name) => {
    named += 1;
    if (named > MAX_BASES + 1) throw new BadFile(`stands over more than ${MAX_BASES} files`);
    const itself = identity(name);
    if (itself === undefined || seen.has(itself)) return [];
    seen.add(itself);
    const text = readNamed(name);
    if (text === undefined) return [];
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_BYTES) throw new BadFile(`is more than ${MAX_BYTES} bytes with the files that it stands over`);
    return [...basesOf(text).flatMap((base) => below(join(dirname(name), base))), text];
  };
  const texts = below(file);
  return texts.length > 0 ? texts.join('\n---\n') : undefined;
}

/** The text of a regular file; throws BadFile for anything else, without waiting for it. */
function textOf(file) {
  const refuse = (stat) => {
    if (!stat.isFile()) throw new BadFile('is not a regular file');
    if (stat.size > MAX_BYTES) throw new BadFile(`is larger than ${MAX_BYTES} bytes`);
  };
  let handle;
  try {
    refuse(statSync(file));
    // What the name means may have changed since: without waiting, and asked again.
    handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    refuse(fstatSync(handle));
    return readFileSync(handle, 'utf8');
  } catch (error) {
    throw error instanceof BadFile ? error : new BadFile(`cannot be read: ${error.code}`);
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** Files here. One that another names and that is not there is left out; one that is no file is a fault. */
const HERE = {
  identity: (file) => {
    try {
      return realpathSync(file);
    } catch {
      return undefined;
    }
  },
  read: textOf,
};

/** Git in the folder of `file`; folders that only look like a repository, as files of a tree may, are none. */
const git = (file, ...args) => spawnSync('git', ['-c', 'safe.bareRepository=explicit', ...args], {
  cwd: dirname(file), encoding: 'utf8', maxBuffer: MAX_BYTES, timeout: GIT_MS, stdio: ['ignore', 'pipe', 'ignore'],
});

/** Files at a commit. */
const at = (commit) => ({
  identity: (file) => {
    const folder = HERE.identity(dirname(file));
    return folder && join(folder, basename(file));
  },
  read: (file) => {
    const { status, stdout, error } = git(file, 'cat-file', 'blob', `${commit}:./${basename(file)}`);
    if (error?.code === 'ENOBUFS') throw new BadFile(`is larger than ${MAX_BYTES} bytes at the base`);
    if (error) throw new BadFile(`cannot be read at the base: ${error.code}`);
    return status === 0 ? stdout : undefined;
  },
});

/** The commit that `--base` names in the repository of `file`. */
function commitOf(ref, file) {
  const { status, stdout } = git(file, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`);
  return status === 0 ? stdout.trim() : undefined;
}

/** The text with the file's name in a comment behind it: names of files often say the GPU that the text leaves out. */
const named = (text, file) => (text.trimStart().startsWith('{') ? text : `${text}\n# ${file}\n`);

/** What is said of one file. */
function verdictOf(file, { base, baseName, run, page, limits, anything }) {
  // Where there is no such file, reading it says why.
  const text = whole(file, HERE) ?? textOf(file);
  const now = { file, ...judged(named(text, file), run) };
  if (now.errors.length > 0) return { ...now, failed: anything ? ['invalid'] : [] };
  now.link = `${page}#${encodeLink(now.run).fragment}`;
  if (base !== undefined) {
    const commit = commitOf(base, file);
    if (commit === undefined) throw new BadFile(`git knows no commit ${base} beside it`);
    const before = whole(file, at(commit));
    now.base = { ref: baseName, ...(before === undefined ? { errors: [], new: true } : judged(named(before, file), run)) };
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

/** What is said of one file; of one that cannot be judged, why. */
function judge(file, options) {
  try {
    return verdictOf(file, options);
  } catch (error) {
    const message = error instanceof BadFile ? error.message : `cannot be checked: ${error.message}`;
    return { file, errors: [{ field: '', message }], failed: ['unreadable'] };
  }
}

/** The answer of a file in one line. */
function summary({ errors, verdict, need_bytes, need_low_bytes, need_high_bytes, capacity_bytes, time_s, low_s, high_s }) {
  if (errors.length > 0) return errors.map(sentence).join('; ');
  return `${VERDICTS[verdict]}: needs ${gib(need_bytes)} (${gib(need_low_bytes)} to ${gib(need_high_bytes)}) of ${gib(capacity_bytes)}, `
    + `step ${s(time_s)} (${s(low_s)} to ${s(high_s)})`;
}

/** What changed since the base, line by line. */
function since({ base, changed = [], slower, need_bytes, may_be_equal = 0 }) {
  if (!base) return [];
  if (base.new) return [`not in ${base.ref}`];
  if (base.errors.length > 0) return [`in ${base.ref}: ${summary(base)}`];
  const untold = slower !== 0 && Math.abs(slower) < may_be_equal;
  const told = untold ? ' (may be equal: differences of layouts are not known that well)' : '';
  return [
    `in ${base.ref}: ${summary(base)}`,
    `now ${percent(need_bytes / base.need_bytes - 1)} memory, ${percent(slower)} time a step${told}`,
    ...changed.map(({ key, before, after }) => `${key}: ${[before, after].map((value) => (value === null ? 'default' : JSON.stringify(value))).join(' -> ')}`),
  ];
}

/** What the figures rest on, where they can be doubted: the entries that were not read, and what stands in for what is missing. */
const grounds = ({ format, used = [], assumed = [], ignored = [], unread = [], branches = [], warnings = [] }) => (format === undefined ? [] : [
  `read as ${format}: ${used.length} entries used, ${ignored.length} ignored${ignored.length > 0 ? ` (${ignored.join(', ')})` : ''}`,
  ...unread.map((one) => `may matter and not read: ${one.name}${one.line === null ? '' : ` (line ${one.line})`}: ${one.why}; could change: ${one.could_change}`),
  ...branches.filter((one) => !one.decided)
    .map((one) => `not decided by the text (line ${one.line}): ${one.condition}: read as ${one.taken ? 'true' : 'false'}`),
  ...assumed.map((line) => `assumed: ${line}`),
  ...warnings.map((issue) => `warning: ${sentence(issue)}`),
]);

/** As GitHub's commands take a message, and a property of one. */
const message = (text) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text) => message(visible(text)).replaceAll(':', '%3A').replaceAll(',', '%2C').replaceAll('##[', '#\\u{23}[');

function annotation(one) {
  const doubtful = one.errors.length > 0 || one.verdict !== 'fits';
  const level = one.failed.length > 0 ? 'error' : (doubtful && 'warning') || 'notice';
  const title = one.errors.length > 0 ? 'cannot be checked' : VERDICTS[one.verdict];
  const lines = [summary(one), ...since(one), ...grounds(one)];
  return `::${level} file=${property(one.file)},title=${property(`Shardscope: ${title}`)}::${message(lines.map(inert).join('\n'))}`;
}

const FORMATS = {
  text: (files) => files.map((one) => [
    `${one.file}: ${summary(one)}`,
    ...[...since(one), ...grounds(one), ...(one.link ? [one.link] : []), ...(one.failed.length > 0 ? [`FAILS: ${one.failed.join(', ')}`] : [])]
      .map((line) => `  ${line}`),
  ].map(inert).join('\n')).join('\n'),
  json: (files) => inertJson(JSON.stringify({ files, failed: files.some(({ failed }) => failed.length > 0) }, null, 2)),
  github: (files) => files.map(annotation).join('\n'),
};

/** Checks the files that the arguments name: the exit status. */
export async function check(args) {
  let read;
  try {
    read = options(args);
    const { base } = read;
    // Where one file's repository has it, the others are bad files.
    if (base !== undefined && read.files.every((file) => commitOf(base, file) === undefined)) {
      throw new Error(`git knows no commit ${base} beside ${read.files[0]}`);
    }
  } catch (error) {
    console.error(`shardscope check: ${inert(error.message)}\n${USAGE}`);
    return WRONG_CALL;
  }
  const files = read.files.map((file) => judge(file, read));
  await print(FORMATS[read.format](files));
  return files.some(({ failed }) => failed.length > 0) ? FAILED : 0;
}
