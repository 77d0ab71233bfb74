// The calculator in someone's page: tells it how high it is, and answers it.
//
//   { type: 'shardscope:ping' }                                  { type: 'shardscope:pong', version }
//   { type: 'shardscope:get' }                                   { type: 'shardscope:run', run, link, errors }
//   { type: 'shardscope:set', run or link, panel, theme, lang, lesson, sliders }  the same, afterwards
//   (unasked, whenever it changes)                               { type: 'shardscope:height', px, first }
//
// Only the window around this one is heard, and only it is answered; an `id` in a question comes back in its answer.
// The Run is set by this frame's own address, which the calculator follows: no history entry, nothing of the host's.
import * as calculator from '../pkg/shardscope.js';

/** The page initialises the calculator: what is asked before that waits. */
const started = new Promise((done) => {
  if (!document.getElementById('skeleton')) done();
  addEventListener('TrunkApplicationStarted', done);
});
const ask = async (name, ...question) => {
  await started;
  return calculator[name](...question);
};

const CHOICES = {
  panel: ['memory', 'timeline', 'overlap', 'strip', 'schedules', 'cluster', 'lesson', 'all'],
  theme: ['light', 'dark'],
  lang: ['en', 'zh'],
  lesson: ['a lesson and a step, such as pipelines.4'],
  sliders: ['values of its sliders, such as p.8,m.16'],
};
const KEYS = { panel: 'view.embed', theme: 'view.theme', lang: 'view.lang', lesson: 'view.lesson', sliders: 'view.sliders' };
const FORMS = { lesson: /^[a-z]+(\.[1-9]\d*)?$/, sliders: /^(\p{L}\.\d+(,|$))+$/u };
const allows = (name, wanted) => FORMS[name]?.test(wanted) ?? CHOICES[name].includes(wanted);

const pairs = (link) => link.replace(/^[^#]*#/, '').split('&').filter(Boolean);
const isView = (pair) => pair.startsWith('view.');
const issue = (field, message) => ({ field, message });

/** The Run as it is, and what is wrong with it or with what was asked. */
async function present(errors = []) {
  const { run, notices } = await ask('decodeLink', location.hash);
  const [{ fragment }, report] = await Promise.all([ask('encodeLink', run), ask('report', run)]);
  const link = `${location.href.split('#')[0]}#${fragment}`;
  return { type: 'shardscope:run', run, link, errors: [...errors, ...report.errors], notices };
}

/** A Run as an attribute has it: JSON. What is none stays a text, and is refused. */
function parsed(run) {
  try {
    return typeof run === 'string' ? JSON.parse(run) : run;
  } catch {
    return run;
  }
}

/** Objects within each other, and entries in all, that a Run may have: src/io/json.rs, src/web/api/plain.rs. */
const MAX_DEPTH = 64;
const MAX_ENTRIES = 1 << 20;

/** Why a Run is not passed on, if it is not: a message to the worker that nests a thousand deep ends the call stack. */
function refused(run) {
  let left = MAX_ENTRIES;
  const deep = (value, depth) => typeof value === 'object' && value !== null
    && (depth === MAX_DEPTH || Object.values(value).some((inner) => { left -= 1; return left < 0 || deep(inner, depth + 1); }));
  if (typeof run !== 'object' || run === null) return 'run is an object of fields';
  if (!deep(run, 0)) return undefined;
  return left < 0 ? `more than ${MAX_ENTRIES} entries: not read` : `nested deeper than ${MAX_DEPTH} levels, or within itself`;
}

async function set({ run, link, ...choices }) {
  const now = pairs(location.hash);
  let said = now.filter((pair) => !isView(pair));
  if (run !== undefined) {
    run = parsed(run);
    const why = refused(run);
    if (why) return present([issue('', why)]);
    const { fragment, errors } = await ask('encodeLink', run);
    if (errors.length) return present(errors);
    said = pairs(fragment);
  } else if (link !== undefined) {
    if (typeof link !== 'string') return present([issue('', 'link is a text')]);
    said = pairs(link).filter((pair) => !isView(pair));
  }
  const view = new Map(now.filter(isView).map((pair) => pair.split('=')));
  const panel = view.get(KEYS.panel);
  // Sliders are those of one step.
  if (choices.lesson !== undefined && choices.lesson !== view.get(KEYS.lesson)) view.delete(KEYS.sliders);
  for (const [name, allowed] of Object.entries(CHOICES)) {
    const wanted = choices[name];
    if (wanted === undefined) continue;
    if (!allows(name, wanted)) return present([issue(name, `one of: ${allowed.join(', ')}`)]);
    view.set(KEYS[name], wanted);
  }
  history.replaceState(null, '', `#${[...said, ...[...view].map((pair) => pair.join('='))].join('&')}`);
  dispatchEvent(new Event('hashchange'));
  const answer = await present();
  // Another panel is another page.
  if (view.get(KEYS.panel) !== panel) setTimeout(() => location.reload());
  return answer;
}

const ANSWERS = new Map([
  ['shardscope:ping', async () => ({ type: 'shardscope:pong', version: await ask('version') })],
  ['shardscope:get', () => present()],
  ['shardscope:set', set],
]);

let before = Promise.resolve();
addEventListener('message', ({ source, origin, data }) => {
  const answer = source === parent && ANSWERS.get(data?.type);
  if (!answer) return;
  // One after the other, in the order asked.
  before = before.then(() => answer(data)).catch((error) => (
    { type: 'shardscope:run', errors: [issue('', `not done: ${error.message}`)] }
  )).then((reply) => {
    if (data.id !== undefined) reply.id = data.id;
    parent.postMessage(reply, /^https?:/.test(origin) ? origin : '*');
  });
});

let told;
new ResizeObserver(() => {
  const px = Math.ceil(document.body.getBoundingClientRect().height);
  if (px === told || document.getElementById('skeleton')) return;
  // The first one asks for all attributes: a message during a reload is lost.
  parent.postMessage({ type: 'shardscope:height', px, first: told === undefined }, '*');
  told = px;
}).observe(document.body);
