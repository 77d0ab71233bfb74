// Lines in and out of the command.
import { stdout } from 'node:process';

/**
 * The lines of a stream of bytes. Only a line feed ends one: JSON texts may hold the other separators of JavaScript. A line of more
 * than `most` bytes is undefined, and not kept.
 */
export async function* lines(input, { fatal = true, most = Infinity } = {}) {
  const text = new TextDecoder('utf-8', { fatal, ignoreBOM: true });
  let [parts, bytes] = [[], 0];
  const add = (part) => {
    bytes += part.length;
    if (bytes > most) parts = [];
    else parts.push(part);
  };
  const taken = () => {
    const line = bytes > most ? undefined : text.decode(Buffer.concat(parts));
    [parts, bytes] = [[], 0];
    return line;
  };
  for await (let chunk of input) {
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n')) {
      add(chunk.subarray(0, end));
      yield taken();
      chunk = chunk.subarray(end + 1);
    }
    add(chunk);
  }
  yield taken();
}

/** Resolves when it is written: a reader that waits for each answer gets it, and one that is gone ends the command. */
export const print = (text) => new Promise((written) => { stdout.write(`${text}\n`, written); });
