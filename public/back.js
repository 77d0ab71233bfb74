// The back room's worker: answers [number, [name, ...question]] with [number, answer], by the JavaScript package.
import * as pkg from './pkg/shardscope.js';

await pkg.default();
onmessage = async ({ data: [number, [name, ...question]] }) => postMessage([number, await pkg[name](...question)]);
postMessage('open');
