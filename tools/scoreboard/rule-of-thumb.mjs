// The rule of thumb: 6 N D at 40 % of the peak, 16 bytes a parameter. node rule-of-thumb.mjs < runs.jsonl > predictions.jsonl
import { readFileSync } from 'node:fs';
import { fnv } from './fnv.mjs';

const asked = readFileSync(0);
console.log(JSON.stringify({ scoreboard: 1, name: '6 N D at 40 % MFU', kind: 'rule of thumb', questions: fnv(asked), note: '16 bytes a parameter over TP, PP and EP, with ZeRO-3 over all GPUs; no activations' }));
for (const line of asked.toString().trim().split('\n')) {
  const { id, run, derived } = JSON.parse(line);
  const { base } = run.precision;
  const tera = base === 'nvfp4' ? run.gpu.fp4_tflops : base.includes('fp8') ? run.gpu.fp8_tflops : run.gpu.bf16_tflops;
  const step_s = (6 * derived.active_parameters * run.global_batch * run.seq_len) / (0.4 * tera * 1e12 * run.gpus);
  const peak_gib = (16 * derived.parameters) / (run.zero === 3 ? run.gpus : run.tp * run.pp * run.ep) / 2 ** 30;
  const [step, peak] = [step_s, peak_gib].map((value) => Number(value.toPrecision(4)));
  console.log(JSON.stringify({ id, step_s: step, peak_gib: peak, verdict: peak_gib <= run.gpu.memory_gib ? 'fits' : 'oom' }));
}
