// `shardscope mcp`: a server of the Model Context Protocol (JSON-RPC 2.0, a message a line) over standard input and output.
// Its tools are the verbs of the command: same requests, same answers. Their schemas come from fields.json, which
// examples/pages.rs writes from the registry of settings.
import { readFileSync } from 'node:fs';
import { stdin } from 'node:process';
import { parseArgs } from 'node:util';
import { answerLine, decodeLink, encodeLink, version } from './index.js';
import { lines, print } from './lines.js';

/** Versions of the protocol that are spoken, the newest first. */
const PROTOCOLS = ['2025-06-18', '2025-03-26', '2024-11-05'];

/** Codes of JSON-RPC's errors, and the protocol's own of a resource that there is not. */
const CODE = { parse: -32700, request: -32600, method: -32601, params: -32602, internal: -32603, resource: -32002 };

class Fault extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

const file = (name) => readFileSync(new URL(name, import.meta.url), 'utf8');
const { fields, formats } = JSON.parse(file('fields.json'));

/** The JSON schema of a setting's value. */
const TYPES = {
  count: ({ range: [minimum, maximum] }) => ({ type: 'integer', minimum, maximum }),
  number: ({ range: [minimum, maximum] }) => ({ type: 'number', minimum, maximum }),
  toggle: () => ({ type: 'boolean' }),
  choice: ({ choices }) => ({ type: 'string', enum: choices }),
  counts: () => ({ type: 'array', items: { type: 'integer', minimum: 0 } }),
  numbers: ({ length, range: [minimum, maximum] }) => (
    { type: 'array', items: { type: 'number', minimum, maximum }, minItems: length, maxItems: length }),
  set: ({ choices }) => ({ type: 'array', items: { type: 'string', enum: choices } }),
  text: () => ({ type: 'string' }),
};

/** What a person reads of a setting, beside its type. */
const about = (field) => ({
  description: `${field.label}: ${field.hint}${field.unit && ` (${field.unit})`}`,
  ...(field.default === null ? {} : { default: field.default }),
});
const value = (field) => ({ ...TYPES[field.kind](field), ...about(field) });

/** The JSON schema of the settings `within`, whose dotted keys are objects from `depth` on; some have a value and parts. */
function schemaOf(within, depth = 0) {
  const groups = new Map();
  for (const field of within) {
    const name = field.key.split('.')[depth];
    groups.set(name, [...(groups.get(name) ?? []), field]);
  }
  const properties = {};
  for (const [name, group] of groups) {
    const isWhole = (field) => field.key.split('.').length === depth + 1;
    const whole = group.find(isWhole);
    const parts = group.filter((field) => !isWhole(field));
    const held = schemaOf(parts, depth + 1);
    if (whole?.based) held.properties = { base: TYPES[whole.kind](whole), ...held.properties };
    if (parts.length === 0) properties[name] = value(whole);
    else properties[name] = whole ? { anyOf: [TYPES[whole.kind](whole), held], ...about(whole) } : held;
  }
  return { type: 'object', properties };
}

const RUN = { type: 'object', description: 'a Run: the fields that the tool `report` takes; every one has a default' };
const TEXT = { type: 'string', description: 'the text itself, not a path' };
const object = (properties, required = []) => ({ type: 'object', properties, required });
const seconds = (of) => ({
  anyOf: [{ type: 'number', minimum: 0 }, { type: 'array', items: { type: 'number', minimum: 0 } }],
  description: `seconds of ${of} of a chunk, one number or a list by stage`,
});
const limit = { anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'integer' } }] };
const fieldOf = (key) => fields.find((field) => field.key === key);

/** Arguments of `report`: the Run itself, or a link in its place. */
function reportArguments() {
  const run = schemaOf(fields);
  const link = { type: 'string', description: 'a link of the page, or its fragment, in place of all other fields: v=1&tp=4' };
  return { ...run, properties: { link, ...run.properties } };
}

/** Tools: the verb of each, its description, the schema of its arguments, and the Run that the link of its answer shows. */
const TOOLS = {
  report: {
    says: 'Memory by pipeline rank with its verdict (fits, tight, oom), pipeline, communication and step time with their ranges of a '
      + 'training run. Read memory.verdict, memory.need_bytes against capacity_bytes, step.time_s, step.mfu first.',
    schema: reportArguments,
    shows: (request) => (typeof request.link === 'string' ? decodeLink(request.link).run : request),
  },
  plan: {
    says: 'The best layouts of a run by step time, found by a search with true bounds; takes seconds. Each row holds a whole report: ask '
      + 'for few. Where complete is false, the search stopped at its limit of work and other layouts may be faster.',
    schema: () => object({
      run: RUN,
      top: { type: 'integer', minimum: 1, description: 'rows, 20 by default' },
      pin: { type: 'array', items: { type: 'string' }, description: 'fields that stay as the run has them' },
      space: { type: 'object', description: 'the only values that are tried: {"tp":[1,2,4]}' },
      work: { type: 'integer', minimum: 1, description: 'units of work after which the search stops; 16,000,000 by default' },
    }),
    shows: (request, answer) => answer.best?.[answer.recommended ?? 0]?.run,
  },
  schedule: {
    says: 'Order and times of one pipeline schedule under given durations, without a model. "ops": false leaves the list of operations out.',
    schema: () => object({
      schedule: TYPES.choice(fieldOf('schedule')),
      pp: TYPES.count(fieldOf('pp')),
      microbatches: { type: 'integer', minimum: 1 },
      virtual_stages: TYPES.count(fieldOf('virtual_stages')),
      forward_s: seconds('the forward'),
      backward_input_s: seconds('the backward of the inputs'),
      backward_weight_s: seconds('the backward of the weights'),
      memory_limit: { ...limit, description: 'stage-micro-batches that a rank holds at most, a number or a list by rank' },
      ops: { type: 'boolean' },
      certificate: { type: 'boolean', description: 'adds the distance from the best order under the same memory' },
    }, ['schedule']),
  },
  certify: {
    says: 'Distance of the pipeline order of a run from the best order of the same stages under the same memory.',
    schema: () => RUN,
    shows: (request) => request,
  },
  import: {
    says: 'Run that settings of another program mean (Megatron-LM, Megatron-Bridge, NeMo Automodel, NeMo-RL, verl, slime, Primus, ms-swift, '
      + 'MLPerf, torchtitan, DeepSpeed, axolotl, LLaMA-Factory, Trainer, Accelerate, torchtune, llm-foundry, Nanotron, a config.json, a link), '
      + 'with every entry accounted for. A file over another one, or over a config.json: both in one text, the other first, with a line of '
      + 'three dashes between.',
    schema: () => object({ text: TEXT, run: { ...RUN, description: `what the text leaves out; ${RUN.description}` } }, ['text']),
    shows: (request, answer) => answer.run,
  },
  export: {
    says: 'A run as settings of another program, or as a report for people.',
    schema: () => object({ run: RUN, format: { type: 'string', enum: formats } }, ['format']),
    shows: (request) => request.run ?? {},
  },
  log: {
    says: 'Measurements in a training log, a benchmark\'s output, a trace or a memory snapshot, as an observation for `calibrate`.',
    schema: () => object({ text: TEXT, run: { ...RUN, description: `what the log leaves out; ${RUN.description}` } }, ['text']),
    shows: (request, answer) => answer.observation?.run,
  },
  calibrate: {
    says: 'Lessons of measured runs about a cluster and its software, as a profile that `report` and `plan` take, and the run to measure next.',
    schema: () => object({
      runs: {
        type: 'array',
        items: object({
          name: { type: 'string' }, run: RUN, step_s: { type: 'number', description: 'seconds, the median of the steady steps' },
          sigma: { type: 'number' }, allocated_gib: { type: 'number' }, reserved_gib: { type: 'number' }, device_gib: { type: 'number' },
        }),
      },
      name: { type: 'string' },
      question: { ...RUN, description: 'the run to be predicted' },
      gpus: { type: 'integer', description: 'GPUs that the next measured run may take' },
    }, ['runs']),
    shows: (request, { profile }) => ({ ...request.question, profile }),
  },
  whole_run: {
    verb: 'whole-run',
    says: 'Calendar, losses, GPU-hours, cost and energy of a run with `tokens_total` (its fields are the arguments); of {run, days} the tokens '
      + 'that train in that time; of {run, tokens, by_days} the smallest number of GPUs.',
    schema: () => ({
      ...object({ run: RUN, days: { type: 'number' }, tokens: { type: 'number' }, by_days: { type: 'number' }, tokens_total: value(fieldOf('tokens_total')) }),
      description: 'a Run, or {run, days}, or {run, tokens, by_days}',
    }),
    shows: (request) => request.run ?? request,
  },
};

/** Resources: the address of each, its name, its type, its text. */
const RESOURCES = [
  ['shardscope://fields', 'Fields of a Run', 'application/json', 'fields.json'],
  ['shardscope://sources', 'Sources of every constant and preset', 'text/html', 'sources.html'],
  ['shardscope://limits', 'What it does not model', 'text/html', 'limits.html'],
  ['shardscope://guide', 'Guide of the command, its requests and answers', 'text/markdown', '../GUIDE.md'],
];

const isObject = (given) => typeof given === 'object' && given !== null && !Array.isArray(given);

function call({ name, arguments: request = {} }, page) {
  if (!Object.hasOwn(TOOLS, name)) throw new Fault(CODE.params, `no such tool: ${name}`);
  if (!isObject(request)) throw new Fault(CODE.params, '`arguments` takes an object');
  const { verb = name, shows } = TOOLS[name];
  const link = name === 'report' && typeof request.link === 'string' && Object.keys(request).length === 1;
  const answer = answerLine(verb, link ? request.link : JSON.stringify(request));
  const failed = answer.errors.length > 0;
  const content = [{ type: 'text', text: JSON.stringify(answer) }];
  const run = failed ? undefined : shows?.(request, answer);
  const fragment = run && encodeLink(run).fragment;
  if (fragment) content.push({ type: 'text', text: `The page with this run: ${page}#${fragment}` });
  return { content, structuredContent: answer, isError: failed };
}

/** Answers of the server by method. */
const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: PROTOCOLS.includes(protocolVersion) ? protocolVersion : PROTOCOLS[0],
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: 'shardscope', title: 'Shardscope', version: version() },
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
    const found = RESOURCES.find(([known]) => known === uri);
    if (!found) throw new Fault(CODE.resource, 'no such resource', { uri });
    const [, , mimeType, name] = found;
    return { contents: [{ uri, mimeType, text: file(name) }] };
  },
};

/** The answer to one message; undefined where it wants none. */
function answered(message, page) {
  const id = isObject(message) && ['string', 'number'].includes(typeof message.id) ? message.id : null;
  const refuse = ({ code = CODE.internal, message: text, data }) => ({ jsonrpc: '2.0', id, error: { code, message: text, data } });
  if (!isObject(message) || message.jsonrpc !== '2.0') return refuse(new Fault(CODE.request, 'no message of JSON-RPC 2.0'));
  const { method, params = {} } = message;
  // An answer to a request that was never made, or a notification.
  if (method === undefined && ('result' in message || 'error' in message)) return undefined;
  if (typeof method === 'string' && !('id' in message)) return undefined;
  if (typeof method !== 'string' || id === null) return refuse(new Fault(CODE.request, 'a request has a method and an id'));
  if (!Object.hasOwn(METHODS, method)) return refuse(new Fault(CODE.method, `no such method: ${method}`));
  if (!isObject(params)) return refuse(new Fault(CODE.params, '`params` takes an object'));
  try {
    return { jsonrpc: '2.0', id, result: METHODS[method](params, page) };
  } catch (error) {
    return refuse(error);
  }
}

/** The answer to a line; of a batch (protocol 2025-03-26) the list of them. */
function reply(line, page) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return { jsonrpc: '2.0', id: null, error: { code: CODE.parse, message: 'not JSON' } };
  }
  if (!Array.isArray(message) || message.length === 0) return answered(message, page);
  const answers = message.map((one) => answered(one, page)).filter(Boolean);
  return answers.length > 0 ? answers : undefined;
}

/** Serves until the input ends: the exit status. `--page ADDRESS` is where the links of the answers lead. */
export async function serve(args) {
  let page;
  try {
    ({ values: { page = '' } } = parseArgs({ args, options: { page: { type: 'string' } } }));
  } catch (error) {
    console.error(`shardscope mcp: ${error.message}`);
    return 2;
  }
  for await (const line of lines(stdin, { fatal: false })) {
    const answer = line.trim() ? reply(line, page) : undefined;
    if (answer) await print(JSON.stringify(answer));
  }
  return 0;
}
