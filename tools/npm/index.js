// The package in Node: loads the WebAssembly beside it at once, so that no init() is needed.
import { readFileSync } from 'node:fs';
import { answerLine as calculatorLine, initSync } from './calculator.js';
import { importLine, initSync as initImporter } from './importer.js';

const module = (name) => ({ module: readFileSync(new URL(name, import.meta.url)) });
initSync(module('calculator.wasm'));
initImporter(module('importer.wasm'));

export * from './calculator.js';
export { default } from './calculator.js';
export { importText } from './importer.js';
export const answerLine = (verb, line) => (verb === 'import' ? importLine(line) : calculatorLine(verb, line));
