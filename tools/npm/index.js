// The package in Node: loads the WebAssembly beside it at once, so that no init() is needed.
import { readFileSync } from 'node:fs';
import { answerLine as calculatorLine, initSync } from './calculator.js';
import { calibrateLine, exportLine, importLine, logLine, initSync as initImporter } from './importer.js';

const module = (name) => ({ module: readFileSync(new URL(name, import.meta.url)) });
initSync(module('calculator.wasm'));
initImporter(module('importer.wasm'));

export * from './calculator.js';
export { default } from './calculator.js';
export { calibrate, exportRun, importText, readLog } from './importer.js';
const ofImporter = { import: importLine, export: exportLine, log: logLine, calibrate: calibrateLine };
export const answerLine = (verb, line) => (ofImporter[verb] ?? ((text) => calculatorLine(verb, text)))(line);
