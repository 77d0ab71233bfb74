// The worker of `shardscope mcp`: calls of tools, one after the other.
import { parentPort } from 'node:worker_threads';
import { answerLine, decodeLink, encodeLink } from './index.js';
import { tables } from './scoreboard.js';
import { TOOLS } from './tools.js';

/** The result of a call: the answer as structured content and as text, and a link to its run below `page`. */
function called(name, request, page) {
  const { verb = name, shows } = TOOLS[name];
  const link = name === 'report' && typeof request.link === 'string' && Object.keys(request).length === 1;
  const asked = verb === 'scoreboard' ? { tables: tables(), ...request } : request;
  const answer = answerLine(verb, link ? request.link : JSON.stringify(asked));
  const failed = answer.errors.length > 0;
  const content = [{ type: 'text', text: JSON.stringify(answer) }];
  const run = failed ? undefined : shows?.(request, answer, (text) => decodeLink(text).run);
  const fragment = run && encodeLink(run).fragment;
  if (fragment) content.push({ type: 'text', text: `The page with this run: ${page}#${fragment}` });
  return { content, structuredContent: answer, isError: failed };
}

parentPort.on('message', ({ name, request, page }) => {
  try {
    parentPort.postMessage({ result: called(name, request, page) });
  } catch (error) {
    parentPort.postMessage({ fault: error.message });
  }
});
