// Files that a settings file names as what it stands over. Each letter is looked at a bounded number of times: the text is not trusted.

/** The word of letters, digits, `_`, `.`, `/` and `-` that ends `text`. */
function lastWord(text) {
  let from = text.length;
  while (from > 0 && /[\w./-]/.test(text[from - 1])) from -= 1;
  return text.slice(from);
}

/** The script that a line of a shell sources; undefined where it is another line. */
function sourced(line) {
  const trimmed = line.trim();
  if (!/^(?:source|\.)[ \t]/.test(trimmed)) return undefined;
  const word = lastWord(trimmed.replace(/["']$/, ''));
  if (!/\w\.sh$/.test(word)) return undefined;
  let from = 0;
  while (word[from] === '/') from += 1;
  return word.slice(from);
}

/** The names of YAML files in a line, each up to its last `.yaml` or `.yml`. */
const yamlIn = (line) => line.split(/[\s"'[\],]/).flatMap((word) => {
  let from = 0;
  while (word[from] === '-') from += 1;
  const name = word.slice(from);
  const end = Math.max(name.lastIndexOf('.yaml') + 5, name.lastIndexOf('.yml') + 4);
  return end > 5 && name.slice(0, end).length > 5 ? [name.slice(0, end)] : [];
});

/** `defaults` and `extends` of YAML, first of all such entries that name a file: a value, or a list on the lines below. */
function listed(lines) {
  for (let at = 0; at < lines.length; at += 1) {
    const entry = /^(?:defaults|extends):/.exec(lines[at]);
    if (!entry) continue;
    const value = lines[at].slice(entry[0].length);
    const names = yamlIn(value);
    if (names.length === 0 && value.trim() !== '') continue;
    for (let next = at + 1; next < lines.length; next += 1) {
      const item = lines[next].trimStart();
      if (item !== '' && !item.startsWith('- ')) break;
      names.push(...yamlIn(item));
    }
    if (names.length > 0) return names;
  }
  return [];
}

/** Files that a text names as what it stands over: scripts that it sources, `defaults` and `extends` of YAML. */
export function basesOf(text) {
  const lines = text.split(/\r?\n/);
  return [...lines.map(sourced).filter((name) => name !== undefined), ...listed(lines)];
}
