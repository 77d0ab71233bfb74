// The back room's worker: answers [number, question] with [number, HTML or numbers], by the JavaScript package.
import init, { answer } from './pkg/shardscope.js';

await init();
onmessage = ({ data: [number, question] }) => postMessage([number, answer(...question)]);
postMessage('open');
