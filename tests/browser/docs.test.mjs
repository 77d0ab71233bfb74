// The documents as pages beside the calculator: every document is among them, every link leads somewhere, the search finds.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SECTIONS, anchor, forAssistants, render, target } from '../../tools/docs.mjs';
import { calculator, matches } from './calculator.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCS = join(ROOT, 'dist/docs');
const pages = SECTIONS.flatMap(([, listed]) => listed);
const site = calculator();

test('every document of the repository is a page', () => {
  const listed = new Set(pages.map(([file]) => file));
  for (const folder of ['docs', 'docs/methods']) {
    for (const name of readdirSync(join(ROOT, folder)).filter((entry) => entry.endsWith('.md'))) {
      assert.ok(listed.has(`${folder}/${name}`), `${folder}/${name} is not in SECTIONS of tools/docs.mjs`);
    }
  }
  for (const [file, name] of pages) assert.ok(existsSync(join(DOCS, `${name}.html`)), file);
});

test('every link of a page leads to a page, and to a heading where it names one', () => {
  let links = 0;
  for (const [file, name] of pages) {
    const html = readFileSync(join(DOCS, `${name}.html`), 'utf8');
    for (const [, href] of html.matchAll(/<a href="([^"]*)"/g)) {
      if (/^[a-z]+:/i.test(href)) continue;
      const [path, hash] = href.split('#');
      const leads = path === '' ? join(DOCS, `${name}.html`) : join(DOCS, path.endsWith('/') ? `${path}index.html` : path);
      assert.ok(existsSync(leads), `${file}: ${href}`);
      // What stands behind the calculator's `#` is a run, no heading.
      if (hash && path !== '../') assert.ok(readFileSync(leads, 'utf8').includes(`id="${hash}"`), `${file}: ${href}`);
      links += 1;
    }
  }
  assert.ok(links > 500);
});

test('links follow the documents, and name a file of the repository only where it has an address', () => {
  assert.equal(target('methods/memory.md', 'docs/start.md'), 'memory.html');
  assert.equal(target('../tools/npm/GUIDE.md#the-verbs', 'docs/start.md'), 'command.html#the-verbs');
  assert.equal(target('../src/core/lib.rs', 'docs/start.md'), undefined);
  assert.equal(target('../src/core/lib.rs', 'docs/start.md', 'https://forge.example/it'), 'https://forge.example/it/blob/main/src/core/lib.rs');
  assert.equal(anchor('Where it is known to be wrong'), 'where-it-is-known-to-be-wrong');
});

test('the list for assistants stands beside the page, and its links lead to pages or to the repository', () => {
  const links = (text) => [...text.matchAll(/\]\(([^)]*)\)/g)].map(([, href]) => href);
  const here = links(readFileSync(join(ROOT, 'dist/llms.txt'), 'utf8')).filter((href) => !/^[a-z]+:/i.test(href));
  assert.ok(here.length >= 6, `${here}`);
  for (const href of here) assert.ok(existsSync(join(ROOT, 'dist', href)), href);
  const all = links(forAssistants('https://forge.example/it'));
  assert.equal(all.length, links(readFileSync(join(ROOT, 'llms.txt'), 'utf8')).length);
  assert.ok(all.includes('https://forge.example/it/blob/main/SKILL.md'));
});

test('a tag in a document is shown and not run', () => {
  for (const [file] of pages) assert.doesNotMatch(render(file).html, /<(script|iframe|img onerror)/i, file);
});

test('the search finds the section, from any page, and takes what is typed as text', async () => {
  const { page, problems } = await site.open('#v=1');
  await page.goto(new URL('docs/index.html', page.url()).href);
  await page.locator('input[name=q]').fill('bytes a parameter');
  await page.locator('input[name=q]').press('Enter');
  await page.waitForURL(/search\.html\?q=/);
  const first = page.locator('#hits a').first();
  await matches(() => first.innerText(), /Memory · States, bytes a parameter/);
  await first.click();
  await page.waitForURL(/memory\.html#states-bytes-a-parameter/);
  await page.goto(new URL('search.html?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E', page.url()).href);
  assert.equal(await page.locator('#hits li').count(), 0);
  assert.equal(await page.locator('main img').count(), 0);
  assert.deepEqual(problems, []);
});
