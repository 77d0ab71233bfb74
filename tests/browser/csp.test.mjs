// A whole session under the page's Content-Security-Policy: nothing of the page breaks it, no request leaves the origin.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { becomes, calculator, closeDialog, eventually, input, matches, more, tab } from './calculator.mjs';
import { DIST, serve } from './server.mjs';
import { settled, TABS } from './tour.mjs';

const site = calculator({ offline: true, pages: { '/blank.html': '<!DOCTYPE html><link rel="icon" href="data:,">' } });
const CONFIG = JSON.stringify({
  model_type: 'llama', hidden_size: 4096, intermediate_size: 14336, num_attention_heads: 32, num_hidden_layers: 32,
  num_key_value_heads: 8, vocab_size: 128256, tie_word_embeddings: false,
});

test('the policy allows the page its own files, WebAssembly and nothing else', () => {
  const page = readFileSync(`${DIST}index.html`, 'utf8');
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)[1];
  const rules = Object.fromEntries(policy.split('; ').map((rule) => [rule.split(' ')[0], rule.split(' ').slice(1)]));
  assert.deepEqual(rules['default-src'], ["'self'"]);
  assert.deepEqual(rules['object-src'], ["'none'"]);
  assert.deepEqual(rules['script-src'].slice(0, 2), ["'self'", "'wasm-unsafe-eval'"]);
  for (const source of rules['script-src'].slice(2)) assert.match(source, /^'sha256-[\w+/=]+'$/);
  assert.ok(!/https?:|\*|'unsafe-eval'|script-src[^;]*'unsafe-inline'/.test(policy), policy);
});

test('a session over every field, panel, dialog and export breaks no rule and asks nobody else', async () => {
  const { page, problems } = await site.open('blank.html', { started: false });
  const asked = [];
  page.context().on('request', (request) => asked.push(request.url()));
  await page.addInitScript(() => {
    globalThis.broken = [];
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
      globalThis.broken.push(`${violatedDirective}: ${blockedURI} in ${sourceFile}`);
    });
  });
  await page.goto(site.url);
  await page.locator('#skeleton').waitFor({ state: 'detached' });
  const quiet = async (when) => {
    assert.deepEqual(await page.evaluate(() => globalThis.broken), [], when);
    assert.deepEqual(problems, [], when);
  };

  // Every field of every section once: its value again, the next one of a list, the other of two.
  const fields = new Set();
  const sheets = page.locator('.groups button.group');
  await becomes(() => sheets.count(), 6);
  const listed = () => page.locator('[data-field]:visible').evaluateAll((all) => all.map((field) => field.dataset.field));
  let before = await listed();
  for (let at = 0; at < await sheets.count(); at += 1) {
    await sheets.nth(at).click();
    await page.locator('.sheet .field').first().waitFor();
    // The sheet before it stands until this one is there.
    const shown = await eventually(listed, (now) => now.join() !== before.join());
    before = shown;
    await page.evaluate(() => {
      for (const field of document.querySelectorAll('[data-field]')) {
        const control = field.querySelector('input, select');
        if (control?.type === 'checkbox') control.click();
        if (control?.tagName === 'SELECT') control.selectedIndex = (control.selectedIndex + 1) % control.options.length;
        for (const event of ['input', 'change']) control?.dispatchEvent(new Event(event, { bubbles: true }));
      }
    });
    for (const field of shown) fields.add(field);
  }
  assert.ok(fields.size > 180, `${fields.size} fields`);
  await page.locator('.sheet').getByRole('button', { name: 'Close' }).click();
  await quiet('fields');
  await page.evaluate(() => { location.hash = 'v=1'; });
  await eventually(() => input(page, 'tp').inputValue(), (value) => value === '2');

  // Every fold of every panel, the ones inside what they show included.
  const folds = page.locator('.results summary:visible');
  for (const name of TABS) {
    await tab(page, name);
    await settled(page);
    for (let at = 0; at < await folds.count() && at < 60; at += 1) {
      if (!await folds.nth(at).evaluate((fold) => fold.parentElement.open)) await folds.nth(at).click();
      await page.waitForTimeout(60);
    }
    await quiet(`folds of ${name}`);
  }

  // Every figure that can be asked about.
  await page.evaluate(() => { for (const figure of document.querySelectorAll('[data-action^="explain "]')) figure.click(); });
  await page.locator('aside.detail').getByText('=').first().waitFor();
  await page.getByRole('button', { name: 'Light or dark', exact: true }).click();
  await more(page, 'Memory in');
  await quiet('figures');

  await page.getByRole('button', { name: 'Share' }).first().click();
  await page.getByRole('dialog').getByRole('tab', { name: 'Picture' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Answer' }).click();
  await page.keyboard.press('Escape');
  // Every sheet that a button opens, and a model brought in.
  for (const of of await page.locator('[data-action^="open "]').evaluateAll((all) => all.map((button) => button.dataset.action.slice(5)))) {
    await page.evaluate((of) => document.querySelector(`[data-action="open ${of}"]`).click(), of);
    await page.locator('#dialog').waitFor();
    await page.waitForTimeout(100);
    await closeDialog(page);
  }
  await page.evaluate(() => document.querySelector('[data-action="open import"]').click());
  await page.getByLabel('What to bring in').fill(CONFIG);
  await page.locator('#dialog .summary', { hasText: '8.03 B parameters' }).waitFor();
  await page.locator('#dialog .summary [data-action=import]').first().click();
  if (await page.locator('#dialog').isVisible()) await closeDialog(page);
  await quiet('dialogs');

  // Every file that is offered.
  await page.evaluate(() => document.querySelector('[data-action="open export markdown"]').click());
  const formats = page.locator('#dialog button[data-action^="open export "]');
  await formats.first().waitFor();
  let saved = 0;
  for (let at = 0; at < await formats.count(); at += 1) {
    await formats.nth(at).evaluate((button) => button.click());
    await eventually(() => formats.nth(at).getAttribute('aria-pressed'), (pressed) => pressed === 'true');
    await settled(page);
    const save = page.locator('#dialog [data-action^="save "]').first();
    // A format that cannot say this run offers no file.
    if (await save.count() === 0) continue;
    saved += 1;
    const waits = page.waitForEvent('download');
    await save.evaluate((button) => button.click());
    assert.equal(await (await waits).failure(), null);
  }
  assert.ok(saved >= 4, `${saved} files`);
  await closeDialog(page);
  await quiet('files');

  await tab(page, 'Layouts');
  await page.locator('.plan table').first().waitFor();
  await quiet('plan');

  const foreign = asked.filter((url) => !/^(data|blob):/.test(url) && !url.startsWith(site.url));
  assert.deepEqual(foreign, []);
  assert.ok(asked.length > 5);
});

for (const [what, rules] of [
  ['without the hash of the loader', "script-src 'self' 'wasm-unsafe-eval'"],
  ['without WebAssembly', "script-src 'self' 'unsafe-inline'"],
]) {
  test(`a policy of the host ${what} is said to be what is missing`, async () => {
    const host = await serve({ headers: { 'Content-Security-Policy': rules } });
    const { page } = await site.open('blank.html', { started: false });
    await page.goto(host.url);
    await page.locator('#crash').waitFor();
    const said = await matches(() => page.locator('#crash').innerText(), /Content-Security-Policy/);
    // What has to be allowed is what the page's own policy allows.
    const needed = /script-src [^;"]*/.exec(readFileSync(`${DIST}index.html`, 'utf8'))[0];
    assert.ok(said.includes(needed), said);
    assert.equal(await page.locator('#skeleton:visible').count(), 0);
    await host.close();
  });
}

test('a policy that forbids what an extension puts into the page stops nothing', async () => {
  const { page } = await site.open('blank.html', { started: false });
  await page.addInitScript(() => addEventListener('DOMContentLoaded', () => {
    const foreign = document.createElement('script');
    foreign.textContent = 'globalThis.foreign = true';
    document.body.append(foreign);
  }));
  await page.goto(site.url);
  await page.locator('#skeleton').waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => globalThis.foreign), undefined);
  assert.equal(await page.locator('#crash').isVisible(), false);
});
