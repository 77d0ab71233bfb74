// The table of the other language, public/strings/zh.json, by itself: no row is dead, none stands in another's way, and
// every hole is filled. (Whether the page is complete in it: tongue.test.mjs.)
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dictionary } from '../../public/lazy/tongue.js';
import { english } from './untranslated.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const table = JSON.parse(readFileSync(`${root}public/strings/zh.json`, 'utf8'));
const HOLES = /\{([#.]?)\}/g;
/** An example of what a row is for. */
const example = (row, name = 'xyzzy') => {
  let at = 0;
  return row.replace(HOLES, (_, kind) => (kind === '#' ? `${7 + at++}.5` : `${name}${at++}`));
};

/** The texts of the sources: Rust's literals, the page's own HTML and JavaScript. */
function sources() {
  const rust = readdirSync(`${root}src`, { recursive: true }).filter((file) => file.endsWith('.rs'));
  const texts = new Set();
  for (const file of rust) {
    const code = readFileSync(`${root}src/${file}`, 'utf8').replace(/^\s*\/\/.*$/gm, '').replace(/'"'/g, '');
    for (const [, literal] of code.matchAll(/"((?:[^"\\]|\\[^])*)"/g)) {
      texts.add(literal.replace(/\\\n\s*/g, '').replace(/\\"/g, '"'));
    }
  }
  for (const file of ['index.html', 'public/lazy/manners.js', 'public/guard.js']) {
    for (const [text] of readFileSync(root + file, 'utf8').matchAll(/(?<=>)[^<>]+(?=<)|(?<=')[^'\n]+(?=')/g)) texts.add(text);
  }
  return texts;
}

/** Words in a row: what stands before and after a hole is not. */
const runs = (text) => text.split(/\{[^{}]*\}/).map((run) => run.toLowerCase().match(/[a-z][a-z'’-]*/g) ?? []);
const pairs = (run) => run.slice(1).map((word, at) => `${run[at]} ${word}`);

test('every row says what the sources say', () => {
  const words = new Set();
  const together = new Set();
  for (const text of sources()) {
    for (const run of runs(text)) {
      run.forEach((word) => words.add(word));
      pairs(run).forEach((pair) => together.add(pair));
    }
  }
  // Some texts are put together from several literals, so that a pair of words stands in none.
  const dead = Object.keys(table).filter((row) => {
    const all = runs(row).flatMap(pairs);
    return !runs(row).flat().every((word) => words.has(word))
      || all.filter((pair) => together.has(pair)).length < all.length / 2;
  });
  assert.deepEqual(dead, []);
});

test('no pattern takes what another is for', () => {
  const { row } = dictionary(table);
  const taken = Object.keys(table)
    .map((own) => [own, row(example(own))?.english])
    .filter(([own, found]) => own !== found);
  assert.deepEqual(taken, []);
});

test('every hole is filled, each once', () => {
  for (const [row, other] of Object.entries(table)) {
    const holes = row.match(HOLES)?.length ?? 0;
    const filled = [...other.matchAll(/\{(\d*)\}/g)].map(([, number], at) => (number ? Number(number) : at + 1));
    assert.deepEqual(filled.toSorted((a, b) => a - b), Array.from({ length: holes }, (_, at) => at + 1), row);
  }
});

test('what is said in Chinese is Chinese', () => {
  const left = Object.entries(table).filter(([, other]) => english(other.replace(/\{\d*\}/g, '')).length > 0);
  assert.deepEqual(left, []);
});

test('a quantity keeps its unit, and sentences and lists are taken apart', () => {
  const { say } = dictionary({
    '{#} of {#}': '{} / {}',
    '{}: {#} late': '{2} 晚于 {1}',
    'weights': '权重',
    'gradients': '梯度',
    'Leaves out: {}.': '不含：{}。',
    'It fits.': '放得下。',
    'Start': '开始',
  });
  assert.equal(say('1.5 GiB of 79.2 GiB'), '1.5 GiB / 79.2 GiB');
  assert.equal(say('weights: 3 late'), '3 晚于 权重');
  assert.equal(say('⚠ Leaves out: weights; gradients.'), '⚠ 不含：权重；梯度。');
  assert.equal(say('It fits. Start'), '放得下。 开始');
  assert.equal(say(' Weights '), ' 权重 ');
  assert.equal(say('nothing known of this; weights'), 'nothing known of this; weights');
});
