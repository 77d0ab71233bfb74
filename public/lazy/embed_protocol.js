// Carries the messages of the page around this frame to the calculator and its replies back, and says how high the page is.
// src/io/frame.rs has the protocol; this is JavaScript because a message may arrive before the WebAssembly, and loaded in
// frames only.
//
//   (unasked, whenever it changes)                               { type: 'shardscope:height', px, first }
//
// Only the window around this one is heard, and only it is answered; an `id` in a question comes back in its answer.
// The Run is set by this frame's own address, which the calculator follows: no history entry, nothing of the host's.

/** What is asked before the calculator has started waits. */
const started = new Promise((done) => {
  if (!document.getElementById('skeleton')) done();
  addEventListener('TrunkApplicationStarted', done);
});
const QUESTION = /^shardscope:(ping|get|set)$/;
/** What a message holds and JSON does not. */
const plain = (_, value) => (typeof value === 'bigint' ? Number(value) : value);

/** Answers the page around this frame by `answerHost` of the calculator. */
export function begin(answerHost) {
  const answered = async (data) => {
    try {
      return JSON.parse(await answerHost(JSON.stringify(data, plain), location.href));
    } catch (error) {
      return { reply: { type: 'shardscope:run', errors: [{ field: '', message: `not done: ${error.message}` }] } };
    }
  };
  // One after the other: an answer is of the address that the message before has set.
  let before = started;
  addEventListener('message', ({ source, origin, data }) => {
    if (source !== parent || typeof data?.type !== 'string' || !QUESTION.test(data.type)) return;
    before = before.then(() => answer(origin, data)).catch(reportError);
  });
  const answer = async (origin, data) => {
    const { reply, fragment, reloads } = await answered(data);
    if (typeof fragment === 'string') {
      history.replaceState(null, '', `#${fragment}`);
      dispatchEvent(new Event('hashchange'));
    }
    if (data.id !== undefined) reply.id = data.id;
    parent.postMessage(reply, /^https?:/.test(origin) ? origin : '*');
    if (reloads) setTimeout(() => location.reload());
  };

  let told;
  new ResizeObserver(() => {
    const px = Math.ceil(document.body.getBoundingClientRect().height);
    if (px === told || document.getElementById('skeleton')) return;
    // The first one asks for all attributes: a message during a reload is lost.
    parent.postMessage({ type: 'shardscope:height', px, first: told === undefined }, '*');
    told = px;
  }).observe(document.body);
}
