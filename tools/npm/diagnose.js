// `shardscope diagnose [--run RUN] FILE...`: files are read piece by piece, so that their size does not matter.
import { openAsBlob } from 'node:fs';
import { stdout } from 'node:process';
import { decodeLink, diagnose, ready } from './index.js';
import { inert } from './shown.js';

/** The exit status: 0, 1 where no file could be read, 2 for a wrong call. */
export async function diagnosed(options) {
  const files = [...options];
  let run = {};
  const at = files.indexOf('--run');
  if (at >= 0) {
    const [, text = ''] = files.splice(at, 2);
    try {
      run = text.trimStart().startsWith('{') ? JSON.parse(text) : decodeLink(text).run;
    } catch (error) {
      console.error(`shardscope: --run: ${inert(error.message)}`);
      return 2;
    }
  }
  if (files.length === 0) {
    console.error('usage: shardscope diagnose [--run RUN] FILE...');
    return 2;
  }
  await ready();
  let blobs;
  try {
    blobs = await Promise.all(files.map((file) => openAsBlob(file)));
  } catch (error) {
    console.error(`shardscope: ${inert(error.message)}`);
    return 1;
  }
  const answer = await diagnose(blobs, run);
  stdout.write(`${JSON.stringify(answer)}\n`);
  return answer.errors.length > 0 ? 1 : 0;
}
