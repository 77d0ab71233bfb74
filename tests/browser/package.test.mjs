// The JavaScript package: the shapes that its types say, and the very numbers that the page shows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculator, eventually, figures } from './calculator.mjs';

const site = calculator({
  pages: { '/host.html': `<!DOCTYPE html><link rel="icon" href="data:,"><script type="module">
    import init, * as shardscope from './pkg/shardscope.js';
    await init();
    globalThis.shardscope = shardscope;
  </script>` },
});

/** A page with the package: call(name, ...arguments) calls it there. */
async function host() {
  const { page, problems } = await site.open('host.html', { started: false });
  await page.waitForFunction(() => globalThis.shardscope);
  return { problems, call: (name, ...args) => page.evaluate(([name, args]) => shardscope[name](...args), [name, args]) };
}

const keys = (object) => Object.keys(object).sort();
const holds = (object, names) => names.split(' ').forEach((name) => assert.ok(name in object, `${name} is missing`));

test('report has the shape that its type says', async () => {
  const { call, problems } = await host();
  const report = await call('report', {});
  holds(report, 'errors warnings layout parameters memory pipeline overlap step');
  holds(report.layout, 'dp microbatches tokens_per_step');
  holds(report.parameters, 'total active per_stage');
  holds(report.memory, 'method per_stage peak_stage peak_bytes capacity_bytes verdict need_low_bytes need_high_bytes chance');
  holds(report.memory.per_stage[0], 'stage weights_bytes gradients_bytes optimizer_bytes activations_bytes '
    + 'buffers_bytes overhead_bytes total_bytes in_flight');
  holds(report.pipeline, 'schedule makespan_s ideal_s bubble_fraction bubble_over_ideal peak_in_flight');
  holds(report.overlap[0], 'name bytes_per_gpu comm_s compute_s ratio exposed_s');
  holds(report.step, 'time_s compute_s bubble_s exposed_comm_s optimizer_s model_flops tflops_per_gpu mfu hfu host_s '
    + 'tokens_per_s tokens_per_s_per_gpu low_s high_s');
  assert.deepEqual(report.errors, []);
  assert.deepEqual(report.layout, { dp: 8, microbatches: 32, tokens_per_step: 256 * 8192 });
  assert.equal(report.memory.per_stage.length, 4);
  assert.deepEqual(problems, []);
});

test('a Run that cannot work comes back as errors and nothing else', async () => {
  const { call, problems } = await host();
  const cases = [
    [{ tp: 7 }, 'tp'], [{ tp: 'x' }, 'tp'], [{ nonsense: 1 }, 'nonsense'], [{ dp: 8 }, 'dp'], [{ gpus: 1e15 }, 'gpus'],
    [{ tp: null, pp: [] }, 'pp'], [[], ''], ['text', ''], [7, ''],
  ];
  for (const [run, field] of cases) {
    const answer = await call('report', run);
    assert.deepEqual(keys(answer), ['errors'], JSON.stringify(run));
    assert.equal(answer.errors[0].field, field, JSON.stringify(run));
    assert.ok(answer.errors[0].message.length > 0);
  }
  assert.deepEqual(problems, []);
});

/** Hostile values by name, made in the page: none of them is one that a message could carry. */
function hostile() {
  const deep = (levels, key) => {
    let value = {};
    for (let level = 0; level < levels; level += 1) value = key ? { [key]: value } : [value];
    return value;
  };
  const throws = () => { throw new Error('hostile'); };
  const ring = { tp: 2 };
  ring.model = ring;
  const pair = {};
  Object.assign(pair, { model: pair, gpu: pair, run: pair });
  const list = [];
  list.push(list, list);
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  const calls = { get tp() { return globalThis.shardscope.report(calls).errors; } };
  const endless = new Proxy({}, { get: () => endless, ownKeys: () => ['model'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) });
  const huge = 'x'.repeat(100e6);
  return {
    'nested by name': deep(1e5, 'model'),
    'nested by an unknown name': deep(1e5, 'x'),
    'nested lists': deep(1e5),
    'nested below a field': { tp: deep(1e5), stage_layers: deep(1e5) },
    'within itself': ring,
    'within itself, many times': pair,
    'a list within itself': list,
    'an endless proxy': endless,
    'a proxy that throws': new Proxy({}, { ownKeys: throws, get: throws, has: throws }),
    'a list by a proxy that throws': new Proxy([1, 2], { get: throws }),
    'a revoked proxy': proxy,
    'a getter that throws': { get tp() { throw new Error('hostile'); } },
    'a getter that throws nothing': { get tp() { throw undefined; } },
    'a getter that calls back': calls,
    'a tag that throws': { get [Symbol.toStringTag]() { throw new Error('hostile'); } },
    'a tag of 100 MB': { [Symbol.toStringTag]: huge },
    'a text of 100 MB': { tp: huge, model: huge },
    'a key of 100 MB': { [huge]: 1 },
    'a list of 2^32 - 1 holes': { stage_layers: new Array(2 ** 32 - 1) },
    'ten million entries': { stage_layers: new Array(1e7).fill(1) },
    'a list that lies about its length': { stage_layers: new Proxy([], { get: (_, key) => (key === 'length' ? 1e400 : 1) }) },
    'a BigInt beyond all': { gpus: 10n ** 400n },
    'a negative BigInt': { gpus: -1n },
    'not a number': { gpus: NaN },
    infinite: { gpus: Infinity, price_per_gpu_hour: -Infinity },
    'a function': { tp: () => 4 },
    'a symbol': { tp: Symbol('tp') },
    'a date': { tp: new Date() },
    'a map': new Map([['tp', 4]]),
    'a set below': { stage_layers: new Set([1]) },
    bytes: { stage_layers: new Uint8Array(4) },
    'a boxed number': { tp: new Number(4) },
    'the window': globalThis,
    'a node': document.body,
    'a function alone': () => ({}),
    'a symbol alone': Symbol('run'),
    'a number alone': 7,
    'a text of 100 MB alone': huge,
    'lone surrogates': { model: '\ud800', '\udfff': 1 },
    'a prototype': JSON.parse('{"__proto__": {"tp": 4}}'),
    'true alone': true,
  };
}

test('whatever is handed over comes back as errors: nothing throws, nothing is exhausted', async () => {
  const { page, problems } = await site.open('host.html', { started: false });
  await page.waitForFunction(() => globalThis.shardscope);
  const wrong = await page.evaluate(async (hostile) => {
    const { shardscope } = globalThis;
    const usual = JSON.stringify(shardscope.report({}));
    const wrong = [];
    const values = Object.entries(eval(`(${hostile})`)());
    for (const [what, value] of values) {
      const functions = {
        report: () => shardscope.report(value),
        schedule: () => shardscope.schedule(value),
        'schedule, below': () => shardscope.schedule({ schedule: '1f1b', pp: 2, microbatches: 2, order: value, stage_scale: value }),
        plan: () => shardscope.plan(value),
        'plan, below': () => shardscope.plan({ run: value, space: value }),
        encodeLink: () => shardscope.encodeLink(value),
        decodeLink: () => shardscope.decodeLink(value),
        'exportRun, the run': () => shardscope.exportRun(value, 'json'),
        'exportRun, the format': () => shardscope.exportRun({}, value),
        'exportRun, the stamp': () => shardscope.exportRun({}, 'json', { date: value }),
        'importText, the text': () => shardscope.importText(value),
        'importText, the run': () => shardscope.importText('v=1', value),
        'importText, what is given': () => shardscope.importText('v=1', undefined, value),
      };
      for (const [name, call] of Object.entries(functions)) {
        try {
          const { errors } = await call();
          const good = Array.isArray(errors) && errors.length > 0
            && errors.every(({ field, message }) => typeof field === 'string' && field.length < 1000 && message.length > 0 && message.length < 1000);
          if (!good) wrong.push(`${what}, ${name}: ${JSON.stringify(errors)?.slice(0, 200)}`);
        } catch (error) {
          wrong.push(`${what}, ${name} throws: ${error}`.slice(0, 200));
        }
      }
    }
    if (JSON.stringify(shardscope.report({})) !== usual) wrong.push('another report than before');
    return wrong;
  }, hostile.toString());
  assert.deepEqual(wrong, []);
  assert.deepEqual(problems, []);
});

test('what is wrong in an object is told by its dotted key, and what is absent is not wrong', async () => {
  const { page } = await site.open('host.html', { started: false });
  await page.waitForFunction(() => globalThis.shardscope);
  const said = await page.evaluate(() => {
    const { report, schedule, decodeLink, importText } = globalThis.shardscope;
    const field = ({ errors }) => errors.map((issue) => issue.field);
    return {
      function: field(report({ model: { layers: () => 4 } })),
      throws: field(report({ overlap: { get dp() { throw new Error('no'); } } })),
      list: field(report({ stage_layers: [8, Symbol('eight')] })),
      map: field(report({ schedule_options: new Map() })),
      absent: field(report({ tp: undefined, model: null })),
      count: report({ gpus: 128n }).layout.dp,
      nothing: [report(), report(null), schedule(undefined)].map((answer) => answer.errors.length),
      texts: [decodeLink(), decodeLink(null)].map((answer) => answer.errors.length),
      number: field(decodeLink(5)),
      import: field(importText(undefined)),
    };
  });
  assert.deepEqual(said, {
    function: ['model.layers'], throws: ['overlap.dp'], list: ['stage_layers'], map: ['schedule_options'], absent: [], count: 16,
    nothing: [0, 0, 0], texts: [0, 0], number: [''], import: [''],
  });
});

test('schedule has the shape that its type says, and the textbook\'s makespan', async () => {
  const { call } = await host();
  const reply = await call('schedule', { schedule: '1f1b', pp: 4, microbatches: 8 });
  holds(reply, 'errors makespan_s ideal_s bubble_fraction bubble_over_ideal bubble_span peak_in_flight weight_copies '
    + 'order ops');
  // (m + p - 1)(t_F + t_B), with a forward of 1 and a whole backward of 2.
  assert.equal(reply.makespan_s, (8 + 4 - 1) * 3);
  assert.equal(reply.bubble_over_ideal, 3 / 8);
  assert.deepEqual(reply.peak_in_flight, [4, 3, 2, 1]);
  assert.deepEqual(reply.order[3].slice(0, 4), ['3F0', '3BW0', '3F1', '3BW1']);
  assert.deepEqual(reply.ops[0], [0, 'F', 0, 0, 0, 1]);
  assert.ok(!('ops' in await call('schedule', { schedule: 'gpipe', pp: 2, microbatches: 2, ops: false })));
  assert.deepEqual(keys(await call('schedule', { schedule: 'nonsense' })), ['errors']);
});

test('plan has the shape that its type says, strictly by time', async () => {
  const { call, problems } = await host();
  const plan = await call('plan', { run: { gpus: 8, global_batch: 64 }, top: 5 });
  holds(plan, 'errors complete evaluated feasible best recommended');
  assert.deepEqual(plan.errors, []);
  assert.equal(plan.best.length, 5);
  const times = plan.best.map((row) => row.report.step.time_s);
  assert.deepEqual(times, [...times].sort((a, b) => a - b));
  for (const row of plan.best) {
    assert.equal(row.tie_with_first, row.report.step.time_s <= times[0] * (1 + row.report.step.range.may_be_equal));
    assert.deepEqual(await call('report', row.run), row.report);
  }
  assert.ok(plan.best[plan.recommended].tie_with_first);
  assert.deepEqual(keys(await call('plan', { run: { tq: 1 } })), ['errors']);
  assert.deepEqual(problems, []);
});

test('links are written and read back', async () => {
  const { call } = await host();
  assert.deepEqual(await call('encodeLink', {}), { errors: [], fragment: 'v=1' });
  const run = { model: { base: 'llama-3.1-8b', layers: 40 }, gpus: 128, tp: 4, stage_layers: [7, 9, 12, 12] };
  const { fragment } = await call('encodeLink', run);
  assert.equal(fragment, 'v=1&model.base=llama-3.1-8b&model.layers=40&gpus=128&tp=4&stage_layers=7,9,12,12');
  const read = await call('decodeLink', fragment);
  assert.deepEqual(read.errors, []);
  assert.deepEqual(read.notices, []);
  assert.equal((await call('encodeLink', read.run)).fragment, fragment);
  assert.deepEqual(await call('report', read.run), await call('report', run));
});

test('a broken link is read with notices', async () => {
  const { call } = await host();
  const { errors, run, notices } = await call('decodeLink', 'https://example.org/#v=1&tp=abc&nonsense=1&pp=2');
  assert.deepEqual(errors, []);
  assert.deepEqual(notices.map((notice) => notice.field).sort(), ['nonsense', 'tp']);
  assert.equal((await call('encodeLink', run)).fragment, 'v=1&pp=2');
});

test('the package and the page show the same numbers', async () => {
  const { call } = await host();
  for (const run of [{}, { tp: 4, zero: 3 }, { model: 'llama-3.1-70b', gpus: 256, tp: 8, schedule: 'gpipe' }]) {
    const report = await call('report', run);
    const { page } = await site.open(`#${(await call('encodeLink', run)).fragment}`);
    const text = await eventually(() => figures(page), (seen) => /GiB/.test(seen));
    const gib = (bytes) => (bytes / 2 ** 30).toFixed(1);
    assert.ok(text.includes(`${gib(report.memory.peak_bytes)} of ${gib(report.memory.capacity_bytes)} GiB`), text);
    assert.ok(text.includes(`rank ${report.memory.peak_stage}`), text);
    // The main figures have two digits, since their ranges are wider than a tenth.
    assert.ok(text.includes(`${(100 * report.step.mfu).toPrecision(2)} %`), text);
    const rate = Number(report.step.tokens_per_s_per_gpu.toPrecision(2));
    assert.ok(text.includes(rate < 1000 ? `${rate} per GPU` : `${(rate / 1000).toPrecision(2)}k`), text);
    await page.context().close();
  }
});
