// zhebrak/llm-cluster-simulator: node llm-cluster-simulator.mjs PATH < runs.jsonl > predictions.jsonl
//
// PATH is a checkout; `npm install --no-save esbuild` bundles its sources, which are TypeScript. Readings: a model is given by its
// shapes, a cluster by its preset of the GPU, with as many GPUs a node as the run has, InfiniBand as it chooses; ZeRO-1 with
// tensor or pipeline parallelism is `zero1-tp-pp`, ZeRO-3 `fsdp-tp-pp`, ZeRO-0 `ddp-tp-pp`; recomputation of some modules is
// "selective"; fp8 of any recipe is fp8, NVFP4 fp4. An H100 of 94 or 96 GB is its H100 with the
// run's memory. What the framework reserves is no part of the peak. Hybrids, vision towers, offloading and GPUs that it does not
// have are left out.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { fnv } from './fnv.mjs';

const [path] = process.argv.slice(2);
const bundled = join(tmpdir(), `llm-cluster-simulator-${process.pid}.mjs`);
const contents = ['simulation/engine', 'hardware/topology', 'models/primitives'].map((name) => `export * from './src/core/${name}.ts';`).join('\n');
const { outputFiles: [{ text }] } = await build({ stdin: { contents, resolveDir: path, loader: 'ts' }, bundle: true, format: 'esm', platform: 'node', write: false });
writeFileSync(bundled, text);
const { getSimulationMetrics, createMultiNodeCluster, buildModelSpec } = await import(bundled);
rmSync(bundled);

const GPUS = { 'a100-sxm-40gb': 'a100-40gb', 'a100-sxm-80gb': 'a100-80gb', 'h100-sxm-80gb': 'h100-sxm', 'h100-sxm-94gb': 'h100-sxm', 'h100-sxm-96gb': 'h100-sxm',
  'h800-sxm-80gb': 'h800-sxm', 'h200-sxm-141gb': 'h200-sxm', 'b200-sxm': 'b200', gb200: 'gb200', 'mi300x': 'mi300x', 'rtx-4090': 'rtx-4090' };

/** Throws where `condition` does not hold: the run is left out. */
const need = (condition, reason) => { if (!condition) throw new Error(reason); };

function spec({ model, seq_len }) {
  const { moe, mla } = model;
  need(!model.mamba && !model.vision, 'hybrid model or vision tower');
  return buildModelSpec({
    name: model.base ?? 'model', numLayers: model.layers, hiddenSize: model.hidden, intermediateSize: model.ffn, numAttentionHeads: model.heads,
    numKvHeads: model.kv_heads, headDim: model.head_dim, vocabSize: model.vocab, maxSeqLength: seq_len,
    attentionType: mla ? 'mla' : model.kv_heads === model.heads ? 'mha' : model.kv_heads === 1 ? 'mqa' : 'gqa',
    normType: model.norm, activation: model.gated_ffn ? 'silu' : 'gelu', gatedMLP: Boolean(model.gated_ffn), useBias: model.biases === 'all',
    tiedEmbeddings: Boolean(model.tied_embeddings), useRotaryEmbed: !model.learned_positions,
    ...(mla && { kvLoraRank: mla.kv_lora_rank, qLoraRank: mla.q_lora_rank, qkNopeHeadDim: mla.qk_nope_head_dim, qkRopeHeadDim: mla.qk_rope_head_dim, vHeadDim: mla.v_head_dim }),
    ...(moe && { numExperts: moe.experts, numActiveExperts: moe.top_k, expertIntermediateSize: moe.expert_ffn, numSharedExperts: moe.shared_experts ?? 0, firstKDenseLayers: moe.dense_layers ?? 0 }),
  }, seq_len);
}

/** GiB of the presets that stand for a GPU of other memory. */
const STANDS_IN = { 'h100-sxm-94gb': 80, 'h100-sxm-96gb': 80 };

function predict({ run }) {
  const gpu = GPUS[run.gpu.base];
  need(gpu, 'GPU');
  need(!run.offload && run.zero !== 2, 'offload or ZeRO-2');
  const perNode = Math.min(run.gpus_per_node, run.gpus);
  const cluster = createMultiNodeCluster(gpu, perNode, Math.ceil(run.gpus / perNode));
  const [tp, pp, ep, cp] = [run.tp, run.pp, run.ep, run.cp];
  const strategyType = tp * pp * ep === 1 ? ['ddp', 'zero-1', 'zero-1', 'zero-3'][run.zero] : `${['ddp', 'zero1', 'zero1', 'fsdp'][run.zero]}-tp-pp`;
  const { base } = run.precision;
  const metrics = getSimulationMetrics({
    clusterConfig: cluster, modelSpec: spec(run), globalBatchSize: run.global_batch, microBatchSize: run.micro_batch, sequenceLength: run.seq_len, strategyType,
    strategyConfig: { tp, pp, ep, cp, cpImplementation: run.cp_comm === 'all-gather' ? 'all-gather' : 'ring', sequenceParallel: Boolean(run.sequence_parallel),
      pipelineSchedule: run.virtual_stages > 1 ? 'interleaved-1f1b' : '1f1b', interleavedStages: run.virtual_stages },
    activationCheckpointing: run.recompute !== 'none', checkpointingGranularity: run.recompute === 'full' ? 'full' : 'selective',
    flashAttention: Boolean(run.flash_attention), mixedPrecision: base === 'nvfp4' ? 'fp4' : base.includes('fp8') ? 'fp8' : 'bf16',
    ...(run.adapter && { finetuningMethod: run.adapter.method, loraRank: run.adapter.rank }),
  });
  const { total, reserved } = metrics.memoryPerGPU;
  const peak_gib = (total - reserved) / 2 ** 30;
  const share = (STANDS_IN[run.gpu.base] ?? run.gpu.memory_gib) / run.gpu.memory_gib;
  need(Number.isFinite(metrics.stepTimeMs) && metrics.stepTimeMs > 0, 'no step time');
  return { step_s: metrics.stepTimeMs / 1000, peak_gib, verdict: metrics.memoryUtilization * share <= 1 ? 'fits' : 'oom' };
}

const short = (value) => (typeof value === 'number' ? Number(value.toPrecision(4)) : value);
const version = execFileSync('git', ['-C', path, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
const asked = readFileSync(0);
console.log(JSON.stringify({ scoreboard: 1, name: 'llm-cluster-simulator', kind: 'simulator', url: 'https://github.com/zhebrak/llm-cluster-simulator', version, questions: fnv(asked),
  note: 'models by their shapes, clusters by its presets of a GPU; some of these runs may be among those that its authors calibrated it to' }));
const reasons = {};
for (const line of asked.toString().trim().split('\n')) {
  const question = JSON.parse(line);
  try {
    const found = Object.entries(predict(question)).map(([key, value]) => [key, short(value)]);
    console.log(JSON.stringify({ id: question.id, ...Object.fromEntries(found) }));
  } catch ({ message }) {
    reasons[message] = (reasons[message] ?? 0) + 1;
  }
}
for (const [reason, count] of Object.entries(reasons)) console.error(`${String(count).padStart(5)} left out: ${reason}`);
