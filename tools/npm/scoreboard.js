// `shardscope scoreboard questions`, `predictions`, `origin` and `score FILE`: the files of the scoreboard, from the tables of
// published runs beside the command.
import { readFileSync, readdirSync } from 'node:fs';
import { answerLine } from './index.js';
import { print } from './lines.js';
import { inert } from './shown.js';

/** The exit status where a file cannot be read, and where the command is called wrongly. */
const FAILED = 1;
const WRONG_CALL = 2;

const folder = new URL('./data/', import.meta.url);
/** The tables of published runs, by name. */
export const tables = () => Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]));

/** Writes what is asked for; the exit status. */
export async function scoreboard([ask, file, ...more]) {
  const scores = ask === 'score' && file !== undefined;
  if (more.length > 0 || !(scores || (file === undefined && ['questions', 'predictions', 'origin'].includes(ask)))) {
    console.error('usage: shardscope scoreboard questions|predictions|origin|score FILE');
    return WRONG_CALL;
  }
  try {
    const asked = scores ? { predictions: readFileSync(file, 'utf8') } : { ask };
    const answer = answerLine('scoreboard', JSON.stringify({ tables: tables(), ...asked }));
    await print(answer.text?.trimEnd() ?? JSON.stringify(answer));
    return answer.errors.length > 0 ? FAILED : 0;
  } catch (error) {
    console.error(`shardscope: ${inert(error.message)}`);
    return FAILED;
  }
}
