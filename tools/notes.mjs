// Whether the notes of the tables of settings lead to lines that exist: `node tools/notes.mjs CLONES [TABLE...]`, where CLONES has a
// clone of each program at OWNER/NAME. A note is `[OWNER/NAME ]PATH:LINE[ of COMMIT]`; what it leaves out, and the folder that its
// path is below, stand in the line `# notes:` of its table. Prints what is wrong of each table, and how many lines hold the name.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../src/io/dialect/settings/', import.meta.url));
const [clones, ...tables] = process.argv.slice(2);
const NOTE = /^(?:([\w-]+\/[\w.-]+) )?([\w.+/-]+\.[a-z]+):(\d+)(?: of ([\w.]+?)(?=[ ,:]|$))?/;

const files = new Map();
/** The lines of a file at a commit; none where there is no such file. */
function lines(repository, commit, path) {
  const key = `${repository} ${commit} ${path}`;
  if (!files.has(key)) {
    const show = (commit) => execFileSync('git', ['-C', join(clones, repository), 'show', `${commit}:${path}`],
      { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] }).split('\n');
    let found = null;
    for (const name of [commit, `v${commit}`, `origin/${commit}`]) {
      try { found = show(name); break; } catch { /* no such commit or file */ }
    }
    files.set(key, found);
  }
  return files.get(key);
}

const total = { notes: 0, exist: 0, hold: 0, left: 0 };
for (const file of readdirSync(folder).filter((name) => name.endsWith('.csv')).sort()) {
  const table = file.replace('.csv', '');
  if (tables.length > 0 && !tables.includes(table)) continue;
  const text = readFileSync(join(folder, file), 'utf8').replaceAll(',\n ', ',').replaceAll('\n ', ' ');
  const [, whose, commit, root] = text.match(/^# notes: (\S+) (\S+) ?(\S*)$/m) ?? [];
  const count = { notes: 0, exist: 0, hold: 0, left: 0 };
  for (const row of text.split('\n').filter((row) => row && !row.startsWith('#') && !row.startsWith('name,class'))) {
    const [name, , , ...rest] = row.split(',');
    const [, other, path, line, of] = rest.join(',').replaceAll('"', '').match(NOTE) ?? [];
    const repository = other ?? whose;
    if (!path || !repository) continue;
    count.notes += 1;
    if (!existsSync(join(clones, repository))) { count.left += 1; continue; }
    const whole = other || !root ? path : `${root}/${path}`;
    const found = lines(repository, of ?? commit, whole)?.[line - 1];
    if (!found?.trim()) { console.log(`${table}: ${name}: ${repository} ${of ?? commit} ${whole}:${line}`); continue; }
    count.exist += 1;
    const bare = (word) => word.replaceAll('-', '_').toLowerCase();
    const last = bare(name).replace(/^_+|\*$/g, '').replace(/^\$/, '').split('.').at(-1);
    if (bare(found).includes(last) || bare(found).includes(last.replace(/^(no|disable)_/, ''))) count.hold += 1;
  }
  console.log(`${table}: ${count.notes} notes, ${count.exist} lines exist, ${count.hold} hold the name, ${count.left} without a clone`);
  for (const key of Object.keys(total)) total[key] += count[key];
}
console.log(`all: ${total.notes} notes, ${total.exist} lines exist, ${total.hold} hold the name, ${total.left} without a clone`);
