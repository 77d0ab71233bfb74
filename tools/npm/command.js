#!/usr/bin/env node
// The command `shardscope`: one request a line in, one answer a line out. src/io/request.rs reads and answers the lines,
// for this command and for examples/headless.rs. `check`, `mcp` and the files of `scoreboard` are in files of
// their own.
import { readFileSync } from 'node:fs';
import { argv, exit, stdin, stdout } from 'node:process';
import { lines, print } from './lines.js';
import { inert } from './shown.js';

/** The exit status where input or output fails, and where the command is called wrongly. */
const FAILED = 1;
const WRONG_CALL = 2;

stdout.on('error', () => exit(FAILED));
/** The calculator, loaded where a verb needs it. */
const calculator = () => import('./index.js');
const [verb = '', ...more] = argv.slice(2);
if (verb === '--help' || verb === '-h') {
  await print(readFileSync(new URL('../GUIDE.md', import.meta.url), 'utf8').trimEnd());
} else if (verb === '--version') {
  const { version } = await calculator();
  await print(version());
} else if (verb === 'check') {
  const { check } = await import('./check.js');
  process.exitCode = await check(more);
} else if (verb === 'mcp') {
  const { serve } = await import('./mcp.js');
  process.exitCode = await serve(more);
} else if (verb === 'scoreboard' && more.length > 0) {
  const { scoreboard } = await import('./scoreboard.js');
  process.exitCode = await scoreboard(more);
} else if (verb === 'diagnose' && more.length > 0) {
  const { diagnosed } = await import('./diagnose.js');
  process.exitCode = await diagnosed(more);
} else {
  const { answerLine } = await calculator();
  if (more.length > 0 || answerLine(verb, '{') === undefined) {
    console.error('usage: shardscope report|schedule|plan|certify|import|export|calibrate|log|whole-run|rl|diagnose, one request a line on standard input; '
      + 'shardscope diagnose [--run RUN] FILE...; shardscope check FILE...; shardscope scoreboard questions|predictions|origin|score FILE; shardscope mcp; shardscope --help');
    exit(WRONG_CALL);
  }
  try {
    for await (const line of lines(stdin)) if (line.trim()) await print(JSON.stringify(answerLine(verb, line)));
  } catch (error) {
    console.error(`shardscope: ${inert(error.message)}`);
    exit(FAILED);
  }
}
