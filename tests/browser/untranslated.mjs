// What is still English in a Chinese page: words that are neither names nor units, code nor formulas.

/** Names and terms that Chinese engineers write in Latin letters too. */
const NAMES = new Set(`
  Shardscope Llama Mistral Qwen Gemma Mixtral DeepSeek Megatron Core Bridge NVIDIA Rubin DGX Lockwood Moore Threads Triton PyTorch torchtitan nanotron
  Nanotron InternEvo InternLM SimuMax Trainy BLOOM MPT llm-foundry llm foundry Fujii He Narayanan Korthikanti Ultra-Scale Ultra Scale Playbook
  Hugging Face Fudan TeraPipe GPipe Chimera Hanayo DualPipe DualPipeV PipeDream Seq1F1B Eager eager Half Min V-Half V-Min sail-sg sail
  FlashAttention FlashAttention-2 Transformer Engine SwiGLU RMSNorm LayerNorm Dropout dropout Adam Adafactor Lion Muon Ulysses DeepSpeed
  DeepEP HSDP FSDP ZeRO ring zig-zag zig zag softmax logits logit token tokens rank ranks Ctrl Perfetto Chrome Trace trace wiki
  config.json CUDA Graph NVLink SXM PCIe Hopper GiB MiB KiB TiB TFLOP FLOPs FLOP Gb GB TB PFLOP bytes
  all-gather all-to-all all gather to reduce-scatter scatter reduce ZB-V Zero Bubble auto embed markdown Markdown naive base
  Schedule1F1B ScheduleDualPipeV ring-attention MoE MLA SUMMA Simple max true false gpus etp public/data lamb qqq mistral ministral yi mixtral aquila gemma phi llama deepseek dgxc Engineering fujii uneven-pp
  Gemma Rubin Lockwood Kimi Coder Large Moonlight Moonshot Zhipu Meta Alibaba Primus
`.split(/\s+/).filter(Boolean));

/** The words of `text` that are English: not in the list above, no code, no formula, no short symbol. */
export function english(text) {
  const words = text.replace(/--[\w-]+/g, '').match(/[A-Za-z][\w.'’/+=-]*/g) ?? [];
  return words.filter((word) => {
    const bare = word.replace(/['’.=/+-]+$/, '');
    if (NAMES.has(bare) || NAMES.has(word) || bare.split(/[-/]/).every((part) => NAMES.has(part) || !/[a-z]{2}/.test(part))) return false;
    // Code (a.b, a_b, a=1), versions and sizes (bf16, 8x7B), abbreviations: not English words.
    return /^[A-Za-z][a-z]{2,}(?:[-'’/][a-z]+)*$/.test(bare);
  });
}
