// Texts that come from files and arguments, as they may be printed on a terminal or in the log of a job that reads commands.

/** Controls, separators of lines, and marks that turn the direction of writing. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const NAMES = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** `text` with everything that is not seen as an escape. */
export const visible = (text) => text.replace(UNSEEN, (letter) => NAMES[letter] ?? `\\u{${letter.codePointAt(0).toString(16)}}`);

/** The same, and nothing in it is a command of a job's log (`::error::`, `##[error]`). */
export const inert = (text) => visible(text).replaceAll('::', ':\\u{3a}').replaceAll('##[', '#\\u{23}[');

/** JSON that means the same, whose texts hold nothing that is unseen or a command. */
export const inertJson = (json) => json
  .replace(UNSEEN, (letter) => (letter === '\n' ? letter : [...Array(letter.length).keys()]
    .map((at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')))
  .replaceAll('::', ':\\u003a').replaceAll('##[', '#\\u0023[');
