#!/usr/bin/env node
// Writes the JavaScript package into the folder pkg beside the page: after every trunk build, by a hook in Trunk.toml.
//
// The package is the page's own module under an address that no hash changes.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';

const dist = process.env.TRUNK_STAGING_DIR;
const glue = readdirSync(dist).find((name) => /^shardscope-page-[0-9a-f]+\.js$/.test(name));
const wasm = glue.replace(/\.js$/, '_bg.wasm');

// wasm-bindgen does not know the name that trunk gives the WebAssembly.
const code = readFileSync(`${dist}/${glue}`, 'utf8');
writeFileSync(`${dist}/${glue}`, code.replace("'shardscope-page_bg.wasm'", `'${wasm}'`));

mkdirSync(`${dist}/pkg`, { recursive: true });
writeFileSync(`${dist}/pkg/shardscope.js`, `export * from '../${glue}';\nexport { default } from '../${glue}';\n`);
const types = readFileSync(new URL('../src/web/api.d.ts', import.meta.url), 'utf8');
writeFileSync(`${dist}/pkg/shardscope.d.ts`, types);
