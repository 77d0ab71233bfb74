// Writes the documents of this repository as pages beside the calculator: node tools/docs.mjs dist
//
// The Markdown files are the only text; here stand their order, the frame around them and the search. Links between
// documents lead to their pages. What is not among them (sources, tests) is named without a link, or with one where
// owner.json has the repository's address.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marked } from 'marked';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** The documents by section, in the order of the navigation: file, name of the page, title. */
export const SECTIONS = [
  ['Start', [['docs/start.md', 'index', 'Start in five minutes']]],
  ['Use it', [
    ['docs/embedding.md', 'embedding', 'Embedding, links, JavaScript'],
    ['docs/hosting.md', 'hosting', 'Hosting'],
    ['tools/npm/GUIDE.md', 'command', 'Command and MCP'],
    ['tools/python/README.md', 'python', 'Python'],
    ['docs/coverage.md', 'coverage', 'What it reads'],
    ['docs/scoreboard.md', 'scoreboard', 'Scoreboard'],
  ]],
  ['Methods', [
    ['docs/methods/README.md', 'methods', 'Methods and sources'],
    ['docs/methods/memory.md', 'memory', 'Memory'],
    ['docs/methods/time.md', 'time', 'Step time'],
    ['docs/methods/communication.md', 'communication', 'Communication and overlap'],
    ['docs/methods/effects.md', 'effects', 'Effects that were tried'],
    ['docs/methods/schedules.md', 'schedules', 'Pipeline schedules'],
    ['docs/methods/certificates.md', 'certificates', 'Certificates'],
    ['docs/methods/experts.md', 'experts', 'Routed experts'],
    ['docs/methods/fine-tuning.md', 'fine-tuning', 'Fine-tuning, offloading'],
    ['docs/methods/reinforcement-learning.md', 'reinforcement-learning', 'Reinforcement learning'],
    ['docs/methods/diagnosis.md', 'diagnosis', 'Diagnosis'],
    ['docs/methods/search.md', 'search-of-layouts', 'Search of layouts'],
    ['docs/methods/whole-run.md', 'whole-run', 'The whole run'],
    ['docs/methods/calibration.md', 'calibration', 'Fitting to your runs'],
  ]],
  ['Change it', [
    ['docs/architecture.md', 'architecture', 'Architecture'],
    ['CONTRIBUTING.md', 'contributing', 'Contributing'],
    ['CHANGELOG.md', 'changelog', 'What is new'],
    ['docs/history.md', 'history', 'History'],
  ]],
];

const PAGES = new Map(SECTIONS.flatMap(([, pages]) => pages).map(([file, name, title]) => [file, { name, title }]));

const STYLE = `
:root{--bg:#fff;--line:#d5dae0;--text:#14181d;--muted:#59616b;--accent:#1a5fb0;--code:#f3f5f7}
@media(prefers-color-scheme:dark){:root{--bg:#0f1317;--line:#2b323a;--text:#e8ecf0;--muted:#9aa4af;--accent:#67b6fe;--code:#1a2026}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--text);font:15px/1.6 system-ui,sans-serif}
.frame{display:grid;grid-template-columns:220px minmax(0,1fr);gap:40px;max-width:1180px;margin:0 auto;padding:24px}
nav h2{font-size:13px;font-weight:600;color:var(--muted);margin:20px 0 4px}nav ul{list-style:none;margin:0;padding:0}
nav a{display:block;padding:3px 0;color:inherit;text-decoration:none}nav a:hover{color:var(--accent)}
nav a[aria-current]{color:var(--accent);font-weight:600}main{min-width:0}a{color:var(--accent)}
h1{font-size:24px;margin:0 0 16px}h2{font-size:18px;margin:32px 0 8px}h3{font-size:15px;margin:24px 0 8px}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:14px}td,th{padding:6px 16px 6px 0;border-bottom:1px solid var(--line);
text-align:left;vertical-align:top}th{color:var(--muted);font-weight:400}code{background:var(--code);border-radius:3px;padding:1px 4px;
font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}pre{background:var(--code);padding:12px;border-radius:6px;overflow-x:auto}
pre code{padding:0;overflow-wrap:normal}input{font:inherit;width:100%;padding:6px 8px;border:1px solid var(--line);border-radius:6px;
background:var(--bg);color:inherit}img{max-width:100%}
@media(max-width:720px){.frame{grid-template-columns:minmax(0,1fr);gap:16px;padding:16px}nav ul{columns:2}nav{order:2}}
`;

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]);
/** A heading's anchor, as forges make it. */
export const anchor = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-');

/** Where a link of `file` leads on the site; none where it leads to no page. */
export function target(href, file, repository) {
  if (/^[a-z]+:/i.test(href) || href.startsWith('#')) return href;
  const [path, hash] = href.split('#');
  const leads = relative(ROOT, resolve(ROOT, dirname(file), path)).replaceAll('\\', '/');
  const page = PAGES.get(leads);
  if (page) return `${page.name}.html${hash ? `#${hash}` : ''}`;
  return repository ? `${repository}/blob/main/${leads}` : undefined;
}

/** The page of a document as HTML, and its text by heading, for the search. */
export function render(file, repository = '') {
  const markdown = readFileSync(join(ROOT, file), 'utf8');
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchor(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        const leads = target(href, file, repository);
        return leads === undefined ? words : `<a href="${escaped(leads)}">${words}</a>`;
      },
      // Tags of a document are shown, not run.
      html: ({ text }) => escaped(text),
    },
  });
  const sections = markdown.split(/^(?=#{1,3} )/m).map((part) => {
    const [line, ...rest] = part.split('\n');
    const heading = line.replace(/^#+ /, '');
    const words = rest.join(' ').replace(/[|`*#]|\]\([^)]*\)|\[/g, ' ').replace(/\s+/g, ' ').trim();
    return { heading: heading.replace(/`/g, ''), anchor: anchor(heading), text: words };
  });
  const html = marked.parse(markdown).replace(/<table>/g, '<div class="scroll" tabindex="0"><table>').replace(/<\/table>/g, '</table></div>');
  return { html, sections };
}

function frame(name, title, body, script = '') {
  const item = ([, page, label]) => `<li><a href="${page}.html"${page === name ? ' aria-current="page"' : ''}>${escaped(label)}</a></li>`;
  const sections = SECTIONS.map(([label, pages]) => `<h2>${label}</h2><ul>${pages.map(item).join('')}</ul>`).join('');
  const beside = '<h2>Beside</h2><ul><li><a href="../">The calculator</a></li><li><a href="../sources.html">Sources</a></li>'
    + '<li><a href="../sources.zh.html" lang="zh-CN">来源</a></li>'
    + '<li><a href="../#v=1&amp;view.page=glossary">Glossary</a></li>'
    + '<li><a href="../limits.html">What it does not model</a></li>'
    + '<li><a href="../limits.zh.html" lang="zh-CN">未建模的内容</a></li></ul>';
  return `<!doctype html>
<html lang="en" dir="ltr"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${escaped(title)} · Shardscope</title>
<link rel="icon" href="../icon.svg" type="image/svg+xml"><style>${STYLE}</style></head><body><div class="frame">
<nav aria-label="Documents"><form role="search"><input type="search" name="q" aria-label="Search the documents"
 placeholder="Search" maxlength="100"></form>${sections}${beside}</nav><main>${body}</main></div><script>${ASK}</script>${script}</body></html>
`;
}

/** The policy of the pages allows no form to be sent: the field leads to the search by itself. */
const ASK = `
document.querySelector('form[role=search]').addEventListener('submit', (event) => {
  event.preventDefault();
  location.href = 'search.html?q=' + encodeURIComponent(document.querySelector('input[name=q]').value);
});
`;

/** The search runs in the page: words of the address against the sections. */
const SEARCH = `
const index = JSON.parse(document.getElementById('index').textContent);
const asked = (new URLSearchParams(location.search).get('q') || '').slice(0, 100);
document.querySelector('input[name=q]').value = asked;
const words = asked.toLowerCase().split(/\\s+/).filter(Boolean);
const score = (part) => words.reduce((sum, word) => {
  const inHeading = part.heading.toLowerCase().includes(word), inText = part.text.toLowerCase().includes(word);
  return sum < 0 || !(inHeading || inText) ? -1 : sum + (inHeading ? 5 : 1);
}, 0);
const hits = words.length ? index.map((part) => [score(part), part]).filter(([points]) => points > 0).sort((a, b) => b[0] - a[0]).slice(0, 40) : [];
const list = document.getElementById('hits');
document.getElementById('count').textContent = words.length ? (hits.length ? hits.length + ' sections' : 'No section has all of these words.') : 'Type words into the field.';
for (const [, part] of hits) {
  const item = document.createElement('li'), link = document.createElement('a'), about = document.createElement('div');
  link.href = part.page + '.html#' + part.anchor;
  link.textContent = part.title + ' · ' + part.heading;
  const at = Math.max(0, part.text.toLowerCase().indexOf(words[0]) - 60);
  about.textContent = (at ? '…' : '') + part.text.slice(at, at + 200);
  item.append(link, about);
  list.append(item);
}
`;

/** llms.txt as it stands beside the page: its links lead to the pages of documents; what is no page is left out where
 * owner.json has no address of the repository. */
export function forAssistants(repository = '') {
  return readFileSync(join(ROOT, 'llms.txt'), 'utf8').split('\n').flatMap((line) => {
    const [, href] = /\]\(([^)]*)\)/.exec(line) ?? [];
    if (href === undefined) return [line];
    const leads = target(href, 'llms.txt', repository);
    if (leads === undefined) return [];
    return [line.replace(href, () => (/^[a-z]+:/i.test(leads) ? leads : `docs/${leads}`))];
  }).join('\n');
}

/** Writes all pages below `dist/docs`, and `dist/llms.txt`. */
export function write(dist) {
  const owner = JSON.parse(readFileSync(join(ROOT, 'owner.json'), 'utf8'));
  const folder = join(dist, 'docs');
  mkdirSync(folder, { recursive: true });
  const index = [];
  for (const [file, { name, title }] of PAGES) {
    const { html, sections } = render(file, owner.repository);
    index.push(...sections.filter(({ text }) => text).map((section) => ({ page: name, title, ...section })));
    writeFileSync(join(folder, `${name}.html`), frame(name, title, html));
  }
  const data = JSON.stringify(index).replaceAll('<', '\\u003c');
  const body = '<h1>Search</h1><p id="count" role="status"></p><ul id="hits"></ul>';
  const script = `<script type="application/json" id="index">${data}</script><script>${SEARCH}</script>`;
  writeFileSync(join(folder, 'search.html'), frame('search', 'Search', body, script));
  writeFileSync(join(dist, 'llms.txt'), forAssistants(owner.repository));
  return [...PAGES.values()].map(({ name }) => name).concat('search');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) write(process.argv[2]);
