// The back room's worker: answers [number, question] with [number, HTML], by the JavaScript package.
import init, { panel } from './pkg/shardscope.js';

await init();
onmessage = ({ data: [number, question] }) => postMessage([number, panel(...question)]);
postMessage('open');
