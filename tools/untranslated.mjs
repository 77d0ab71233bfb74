#!/usr/bin/env node
// What the Chinese page still says in English, as rows ready for public/strings/zh.json: node tools/untranslated.mjs
//
// The page of dist/ is opened in many states and everything in it read. Numbers are holes; names that vary have to be made
// holes by hand.
import { readFileSync } from 'node:fs';
import { launch } from '../tests/browser/browser.mjs';
import { serve } from '../tests/browser/server.mjs';
import { compute, openAll, PAGES, panels, RUNS, texts } from '../tests/browser/tour.mjs';
import { english } from '../tests/browser/untranslated.mjs';
import { dictionary } from '../public/lazy/tongue.js';

const table = JSON.parse(readFileSync(new URL('../public/strings/zh.json', import.meta.url), 'utf8'));
const { say } = dictionary(table);
const missing = new Map();

function check(all) {
  for (const text of all) {
    const left = english(say(text));
    if (left.length > 0) missing.set(text.replace(/[−+-]?\d[\d.,]*(?: \d{3})*/g, '{}'), [left, say(text)]);
  }
}

const server = await serve();
const browser = await launch();
for (const [name, link] of Object.entries(RUNS)) {
  const { page } = await browser.open(server.url + link);
  const note = async () => check(await texts(page));
  await note();
  await openAll(page);
  if (name === 'default') await compute(page);
  await note();
  await panels(page, link);
  await note();
}
for (const file of PAGES) {
  const { page } = await browser.open(server.url + file, { started: false });
  check(await texts(page));
}
await browser.close();
await server.close();

for (const [text, [left, said]] of missing) console.log(`${JSON.stringify(text)}: "",\t// ${left.slice(0, 6).join(' ')} | ${said.slice(0, 160)}`);
console.error(`${missing.size} texts, ${Object.keys(table).length} rows in the table`);
