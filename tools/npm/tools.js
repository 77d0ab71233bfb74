// The tools of `shardscope mcp`: the verbs of the command, with schemas from fields.json, which examples/pages.rs writes from the
// registry of settings.
import { readFileSync } from 'node:fs';
import { schemaOf as interfaceSchema } from './requests.js';

const { fields, formats } = JSON.parse(readFileSync(new URL('fields.json', import.meta.url), 'utf8'));

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

const RUN = { type: 'object', description: 'a Run: the fields that the tool `report` takes; every one has a default; `layout: "auto"` chooses what is '
  + 'not given of its layout, where the tool reports, certifies, exports or dates a run' };
const object = (properties, required = []) => ({ type: 'object', properties, required });
const fieldOf = (key) => fields.find((field) => field.key === key);

/** The schema of a request by its interface in the package's types; a key that is a setting has the setting's limits. */
const request = (name) => interfaceSchema(`${name}Request`, {
  types: { Run: RUN, ExportFormat: { type: 'string', enum: formats } },
  settings: (key) => {
    const field = ['schedule', 'pp', 'virtual_stages'].includes(key) ? fieldOf(key) : null;
    return field ? TYPES[field.kind](field) : {};
  },
});

/** A Run with the layout that was chosen for it, as its link shows it. */
function inChosen({ layout, ...run }, { chosen }) {
  const { complete, ...fields } = chosen ?? {};
  return { ...run, ...fields };
}

/** Who chooses the layout, for the tools that take a Run. */
const LAYOUT = {
  type: 'string', enum: ['auto', 'as-given'], default: 'as-given',
  description: 'recommended: auto, unless the person gave a layout. Fields of the layout that are given stay (tp, pp, cp, ep, etp, zero, '
    + 'micro_batch, schedule, virtual_stages, recompute, sequence_parallel), the others are those of the fastest layout that fits here and '
    + 'that the named software can run; `chosen` of the answer names them. as-given: what is left out has its default, which nobody chose',
};

/** Arguments of `report`: the Run itself, or a link in its place. */
function reportArguments() {
  const run = schemaOf(fields);
  const link = { type: 'string', description: 'a link of the page, or its fragment, in place of all other fields: v=1&tp=4' };
  return { ...run, properties: { link, layout: LAYOUT, ...run.properties } };
}

/**
 * Tools: the verb of each, its description, the schema of its arguments, and the Run that the link of its answer shows; `runOf`
 * reads a link.
 */
export const TOOLS = {
  report: {
    says: 'Memory by pipeline rank with its verdict (fits, tight, oom), pipeline, communication and step time with their ranges of a '
      + 'training run. Read memory.verdict, memory.need_bytes against capacity_bytes, step.time_s, step.mfu first.',
    schema: reportArguments,
    shows: (request, answer, runOf) => inChosen(typeof request.link === 'string' ? runOf(request.link) : request, answer),
  },
  plan: {
    says: 'The best layouts of a run by step time, found by a search with true bounds; takes seconds. Each row holds a whole report: ask '
      + 'for few. Where complete is false, the search stopped at its limit of work and other layouts may be faster.',
    schema: () => request('Plan'),
    shows: (request, answer) => answer.best?.[answer.recommended ?? 0]?.run,
  },
  schedule: {
    says: 'Order and times of one pipeline schedule under given durations, without a model. "ops": false leaves the list of operations out.',
    schema: () => request('Schedule'),
  },
  certify: {
    says: 'Distance of the pipeline order of a run from the best order of the same stages under the same memory.',
    schema: () => RUN,
    shows: inChosen,
  },
  import: {
    says: 'Run that settings of another program mean (Megatron-LM, Megatron-Bridge, NeMo Automodel, NeMo-RL, verl, slime, Primus, ms-swift, '
      + 'MLPerf, torchtitan, DeepSpeed, axolotl, LLaMA-Factory, Trainer, Accelerate, torchtune, llm-foundry, Nanotron, a config.json, a link), '
      + 'with every entry accounted for. A file over another one, or over a config.json: both in one text, the other first, with a line of '
      + 'three dashes between.',
    schema: () => request('Import'),
    shows: (request, answer) => answer.run,
  },
  export: {
    says: 'A run as settings of another program, or as a report for people.',
    schema: () => request('Export'),
    shows: (request, answer) => inChosen({ ...request.run, layout: request.layout ?? request.run?.layout }, answer),
  },
  log: {
    says: 'Measurements in a training log, a benchmark\'s output, a trace or a memory snapshot, as an observation for `calibrate`.',
    schema: () => request('Log'),
    shows: (request, answer) => answer.observation?.run,
  },
  diagnose: {
    says: 'Where the rest of a measured step or of the memory is: traces of one rank or several, tables of profilers, a log, an '
      + 'out-of-memory message or a memory snapshot, as measured parts beside the predicted ones, and causes by their seconds or bytes.',
    schema: () => request('Diagnose'),
    shows: (request) => request.run,
  },
  calibrate: {
    says: 'Lessons of measured runs about a cluster and its software, as a profile that `report` and `plan` take, and the run to measure next.',
    schema: () => request('Calibrate'),
    shows: (request, { profile }) => ({ ...request.question, profile }),
  },
  whole_run: {
    verb: 'whole-run',
    says: 'Calendar, losses, GPU-hours, cost and energy of a run with `tokens_total` (its fields are the arguments); of {run, days} the tokens '
      + 'that train in that time; of {run, tokens, by_days} the smallest number of GPUs.',
    schema: () => {
      const { properties } = request('WholeRun');
      return { ...object({ ...properties, tokens_total: value(fieldOf('tokens_total')) }), description: 'a Run, or {run, days}, or {run, tokens, by_days}' };
    },
    shows: (request, answer) => inChosen(request.run ?? request, answer),
  },
  rl: {
    says: 'Step of reinforcement learning of a run with `rl.*` and `phases.framework`: seconds with their range, phases by group of GPUs, who '
      + 'waits, memory by phase, other splits of the GPUs. Not said: steps to a reward, sample efficiency, the time of tools.',
    schema: () => RUN,
    shows: (request) => request.run ?? request,
  },
  scoreboard: {
    says: 'How far tools are off that predict training runs, on published ones: ask "origin" for the errors of steps that this calculator '
      + 'predicted before they were known, "questions" for the runs (long), or give the text of a file of predictions for its score.',
    schema: () => request('Scoreboard'),
  },
};
