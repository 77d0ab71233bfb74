// Lines in and out of the command.
import { stdout } from 'node:process';

/** The lines of a stream of bytes. Only a line feed ends one: JSON texts may hold the other separators of JavaScript. */
export async function* lines(input, { fatal = true } = {}) {
  const text = new TextDecoder('utf-8', { fatal, ignoreBOM: true });
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
export const print = (text) => new Promise((written) => { stdout.write(`${text}\n`, written); });
