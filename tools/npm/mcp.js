// `shardscope mcp`: a server of the Model Context Protocol (JSON-RPC 2.0, a message a line) over standard input and output.
// Its tools are the verbs of the command (tools.js): same requests, same answers. They are called in a worker (call.js), so that a
// call can be cancelled while it computes.
import { readFileSync } from 'node:fs';
import { stdin } from 'node:process';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { lines, print } from './lines.js';
import { inert } from './shown.js';
import { TOOLS } from './tools.js';

/** Versions of the protocol that are spoken, the newest first. */
const PROTOCOLS = ['2025-06-18', '2025-03-26', '2024-11-05'];

/** Versions whose messages may come in lists: JSON-RPC's batches, which the newest one took away. */
const BATCHED = PROTOCOLS.slice(1);
/** Bytes of a line, messages of a batch, and calls that wait, at most. */
const MAX_LINE = 1 << 24;
const MAX_BATCH = 32;
const MAX_WAITING = 256;

/** Codes of JSON-RPC's errors, and the protocol's own of a resource that there is not. */
const CODE = { parse: -32700, request: -32600, method: -32601, params: -32602, internal: -32603, resource: -32002 };

class Fault extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

const file = (name) => readFileSync(new URL(name, import.meta.url), 'utf8');
const { version } = JSON.parse(file('../package.json'));

/** Resources: the address of each, its name, its type, its text. */
const RESOURCES = [
  ['shardscope://fields', 'Fields of a Run', 'application/json', 'fields.json'],
  ['shardscope://sources', 'Sources of every constant and preset', 'text/html', 'sources.html'],
  ['shardscope://limits', 'What it does not model', 'text/html', 'limits.html'],
  ['shardscope://guide', 'Guide of the command, its requests and answers', 'text/markdown', '../GUIDE.md'],
];

/** A name that came from outside, quoted, of 80 characters at most. */
const short = (name) => JSON.stringify(name.length > 80 ? `${[...name.slice(0, 160)].slice(0, 79).join('')}…` : name);

const isObject = (given) => typeof given === 'object' && given !== null && !Array.isArray(given);

/** Calls of tools, one at a time and in their order, in a worker that a cancelled call ends. */
class Calls {
  /** Where the links of the answers lead. */
  constructor(page) {
    this.page = page;
    this.waiting = [];
  }

  /** The answer to a call; undefined where it is cancelled. */
  ask(id, name, request) {
    if (this.waiting.length >= MAX_WAITING) throw new Fault(CODE.request, `more than ${MAX_WAITING} calls wait`);
    return new Promise((resolve, reject) => {
      this.waiting.push({ id, name, request, resolve, reject });
      if (this.waiting.length === 1) this.next();
    });
  }

  /** Asks the worker for the first call that waits. */
  next() {
    const [first] = this.waiting;
    if (!first) return;
    this.worker ??= this.begun();
    this.worker.postMessage({ name: first.name, request: first.request, page: this.page });
  }

  begun() {
    const worker = new Worker(new URL('call.js', import.meta.url));
    const end = (settle) => {
      if (this.worker !== worker) return;
      settle(this.waiting.shift());
      this.next();
    };
    worker.on('message', ({ result, fault }) => end((call) => (fault ? call?.reject(new Fault(CODE.internal, fault)) : call?.resolve(result))));
    worker.on('error', ({ message }) => {
      const { worker: ours } = this;
      if (ours === worker) this.worker = undefined;
      const call = ours === worker ? this.waiting.shift() : undefined;
      call?.reject(new Fault(CODE.internal, message));
      this.next();
    });
    return worker;
  }

  /** Ends the call of this id, which gets no answer; an id that does not wait is nothing. */
  cancel(id) {
    const at = this.waiting.findIndex((call) => call.id === id);
    if (at < 0) return;
    const [call] = this.waiting.splice(at, 1);
    call.resolve(undefined);
    if (at > 0) return;
    this.close();
    this.next();
  }

  close() {
    const { worker } = this;
    this.worker = undefined;
    worker?.terminate();
  }
}

function call({ name, arguments: request = {} }, { calls }, id) {
  if (typeof name !== 'string') throw new Fault(CODE.params, '`name` takes a text');
  if (!Object.hasOwn(TOOLS, name)) throw new Fault(CODE.params, `no such tool: ${short(name)}`);
  if (!isObject(request)) throw new Fault(CODE.params, '`arguments` takes an object');
  return calls.ask(id, name, request);
}

/** Answers of the server by method. */
const METHODS = {
  initialize: ({ protocolVersion }, session) => ({
    protocolVersion: session.protocol = PROTOCOLS.includes(protocolVersion) ? protocolVersion : PROTOCOLS[0],
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: 'shardscope', title: 'Shardscope', version },
    instructions: 'Calculates memory, pipeline schedule, communication and step time of large-model training layouts on this machine. '
      + 'Quantities are bytes and seconds, by the names of their fields.',
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: Object.entries(TOOLS).map(([name, { says, schema }]) => (
      { name, description: says, inputSchema: schema(), annotations: { readOnlyHint: true, openWorldHint: false } })),
  }),
  'tools/call': call,
  'resources/list': () => ({ resources: RESOURCES.map(([uri, name, mimeType]) => ({ uri, name, mimeType })) }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/read': ({ uri }) => {
    if (typeof uri !== 'string') throw new Fault(CODE.params, '`uri` takes a text');
    const found = RESOURCES.find(([known]) => known === uri);
    if (!found) throw new Fault(CODE.resource, 'no such resource', { uri });
    const [, , mimeType, name] = found;
    return { contents: [{ uri, mimeType, text: file(name) }] };
  },
};

/** The answer to one message; undefined where it wants none. */
async function answered(message, session) {
  const id = isObject(message) && ['string', 'number'].includes(typeof message.id) ? message.id : null;
  const refuse = ({ code = CODE.internal, message: text, data }) => ({ jsonrpc: '2.0', id, error: { code, message: text, data } });
  if (!isObject(message) || message.jsonrpc !== '2.0') return refuse(new Fault(CODE.request, 'no message of JSON-RPC 2.0'));
  const { method, params = {} } = message;
  // An answer to a request that was never made, or a notification.
  if (method === undefined && ('result' in message || 'error' in message)) return undefined;
  if (typeof method === 'string' && !('id' in message)) {
    if (method === 'notifications/cancelled' && isObject(params)) session.calls.cancel(params.requestId);
    return undefined;
  }
  if (typeof method !== 'string' || id === null) return refuse(new Fault(CODE.request, 'a request has a method and an id'));
  if (!Object.hasOwn(METHODS, method)) return refuse(new Fault(CODE.method, `no such method: ${short(method)}`));
  if (!isObject(params)) return refuse(new Fault(CODE.params, '`params` takes an object'));
  try {
    const result = await METHODS[method](params, session, id);
    return result && { jsonrpc: '2.0', id, result };
  } catch (error) {
    return refuse(error);
  }
}

const refused = (code, message) => ({ jsonrpc: '2.0', id: null, error: { code, message } });

/** The answer to a line; of a batch the list of them, where the protocol that was agreed on has batches. */
async function reply(line, session) {
  if (line === undefined) return refused(CODE.request, `a line is longer than ${MAX_LINE} bytes`);
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return refused(CODE.parse, 'not JSON');
  }
  if (!Array.isArray(message)) return answered(message, session);
  if (!BATCHED.includes(session.protocol)) return refused(CODE.request, `protocol ${session.protocol} has no batches`);
  if (message.length === 0 || message.length > MAX_BATCH) return refused(CODE.request, `a batch has 1 to ${MAX_BATCH} messages`);
  const answers = (await Promise.all(message.map((one) => answered(one, session)))).filter(Boolean);
  return answers.length > 0 ? answers : undefined;
}

/** Serves until the input ends and all calls are answered: the exit status. `--page ADDRESS` is where the links of the answers lead. */
export async function serve(args) {
  let page;
  try {
    ({ values: { page = '' } } = parseArgs({ args, options: { page: { type: 'string' } } }));
  } catch (error) {
    console.error(`shardscope mcp: ${inert(error.message)}`);
    return 2;
  }
  const session = { protocol: PROTOCOLS[0], calls: new Calls(page) };
  const open = new Set();
  for await (const line of lines(stdin, { fatal: false, most: MAX_LINE })) {
    if (line?.trim() === '') continue;
    const answer = reply(line, session).then((said) => said && print(JSON.stringify(said)));
    open.add(answer);
    answer.finally(() => open.delete(answer));
    // A reader that is slow slows the input too; calls that wait do not, so that they can be cancelled.
    if (open.size > 2 * MAX_WAITING) await Promise.race(open);
  }
  await Promise.all(open);
  session.calls.close();
  return 0;
}
