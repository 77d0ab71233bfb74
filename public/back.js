// The back room's worker: answers [number, [name, ...question]] with [number, answer], by the JavaScript package.
import * as pkg from './pkg/shardscope.js';

await pkg.default();
onmessage = ({ data: [number, [name, ...question]] }) => postMessage([number, pkg[name](...question)]);
postMessage('open');
