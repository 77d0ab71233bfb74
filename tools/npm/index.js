// The package in Node: loads the WebAssembly beside it at once, so that no init() is needed.
import { readFileSync } from 'node:fs';
import { initSync } from './calculator.js';

initSync({ module: readFileSync(new URL('calculator.wasm', import.meta.url)) });

export * from './calculator.js';
export { default } from './calculator.js';
