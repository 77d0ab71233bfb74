// Writes the Content-Security-Policy into a built page: node tools/csp.mjs dist/index.html
//
// Trunk's loader is an inline script that names the hashed files, so its own hash is known only after the build.
// (Not a trunk hook: `trunk serve` adds a reload script, which this policy would stop.)
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

/** The sources for every inline element `tag` in `html`: a hash each. */
function hashes(html, tag) {
  const inline = new RegExp(`<${tag}(?![^>]*\\ssrc=)[^>]*>([\\s\\S]*?)</${tag}>`, 'g');
  return [...html.matchAll(inline)].map(
    ([, text]) => ` 'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  ).join('');
}

export function policy(html) {
  return [
    `default-src 'self'`,
    `script-src 'self' 'wasm-unsafe-eval'${hashes(html, 'script')}`,
    `style-src 'self'${hashes(html, 'style')}`,
    // Plotters measures text in an element that it gives a style attribute.
    `style-src-attr 'unsafe-inline'`,
    `img-src 'self' data: blob:`,
    `object-src 'none'`,
    `base-uri 'self'`,
    `form-action 'none'`,
  ].join('; ');
}

const file = process.argv[2];
const html = readFileSync(file, 'utf8');
const charset = /<meta charset=[^>]*>/i;
if (!charset.test(html)) throw new Error(`${file} has no <meta charset>, after which the policy goes`);
const meta = `<meta http-equiv="Content-Security-Policy" content="${policy(html)}">`;
writeFileSync(file, html.replace(charset, (found) => `${found}\n${meta}`));
