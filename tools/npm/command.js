#!/usr/bin/env node
// The command `shardscope`: one request a line in, one answer a line out. src/io/request.rs reads and answers the lines,
// for this command and for examples/headless.rs.
import { readFileSync } from 'node:fs';
import { argv, exit, stdin, stdout } from 'node:process';
import { answerLine, version } from './index.js';

/** The exit status where input or output fails, and where the command is called wrongly. */
const FAILED = 1;
const WRONG_CALL = 2;

/** The lines of a stream of bytes. Only a line feed ends one: JSON texts may hold the other separators of JavaScript. */
async function* lines(input) {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let parts = [];
  for await (let chunk of input) {
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n')) {
      yield text.decode(Buffer.concat([...parts, chunk.subarray(0, end)]));
      parts = [];
      chunk = chunk.subarray(end + 1);
    }
    parts.push(chunk);
  }
  yield text.decode(Buffer.concat(parts));
}

/** Resolves when it is written: a reader that waits for each answer gets it, and one that is gone ends the command. */
const print = (text) => new Promise((written) => { stdout.write(`${text}\n`, written); });

stdout.on('error', () => exit(FAILED));
const [verb = '', ...more] = argv.slice(2);
if (verb === '--help' || verb === '-h') {
  await print(readFileSync(new URL('../GUIDE.md', import.meta.url), 'utf8').trimEnd());
} else if (verb === '--version') {
  await print(version());
} else if (more.length > 0 || answerLine(verb, '{') === undefined) {
  console.error('usage: shardscope report|schedule|plan|certify|import|export|calibrate|log|whole-run, one request a line on standard input; shardscope --help');
  exit(WRONG_CALL);
} else {
  try {
    for await (const line of lines(stdin)) if (line.trim()) await print(JSON.stringify(answerLine(verb, line)));
  } catch (error) {
    console.error(`shardscope: ${error.message}`);
    exit(FAILED);
  }
}
