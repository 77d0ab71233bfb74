//! Every paper, document and data sheet that a number here comes from, once.

/// Something published that can be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name on the page: "Fujii 2024".
    pub short: &'static str,
    /// Authors, title, year or the document's own name.
    pub title: &'static str,
    /// Its place: a URL, or words to search for.
    pub locator: &'static str,
}

/// A value tied to the place it was taken from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cited<T> {
    /// The value, in the unit its user documents.
    pub value: T,
    pub source: &'static Source,
    /// Section, table, equation or page within it.
    pub place: &'static str,
    /// True if it was fitted to whole training runs rather than measured by itself.
    pub fitted: bool,
}

impl<T> Cited<T> {
    /// `value`, from `place` in `source`.
    pub const fn new(value: T, source: &'static Source, place: &'static str) -> Self {
        Self { value, source, place, fitted: false }
    }
    /// `value`, fitted to the training runs of `source`; `place` says which.
    pub const fn fitted(value: T, source: &'static Source, place: &'static str) -> Self {
        Self { value, source, place, fitted: true }
    }
}

macro_rules! sources {
    ($($name:ident = $short:literal, $title:literal, $locator:literal;)*) => {
        $(
            #[doc = $title]
            #[allow(clippy::doc_markdown)] // titles as they are printed
            pub static $name: Source = Source { short: $short, title: $title, locator: $locator };
        )*
        /// All of them, for the sources page and the tests.
        pub static ALL: &[&Source] = &[$(&$name),*];
    };
}

sources! {
    FUJII_2024 = "Fujii 2024",
        "Fujii et al., Accelerating Large Language Model Training with 4D Parallelism and Memory Consumption \
            Estimator, 2024",
        "https://arxiv.org/abs/2411.06465";
    KORTHIKANTI_2022 = "Korthikanti 2022",
        "Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, 2022",
        "https://arxiv.org/abs/2205.05198";
    NARAYANAN_2021 = "Narayanan 2021",
        "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, 2021",
        "https://arxiv.org/abs/2104.04473";
    HE_BLOG = "Pengfei He's blog",
        "Pengfei He, Memory of LLM training and its parallel variants (blog)",
        "memory of LLM training, Pengfei He";
    UNEVEN_PP = "NVIDIA's note on uneven PP",
        "NVIDIA technical note: uneven pipeline parallelism for vision-language models (Qwen2-VL on H20)",
        "uneven pipeline parallelism, Qwen2-VL, H20";
    PLAYBOOK = "Ultra-Scale Playbook",
        "Nanotron team, The Ultra-Scale Playbook: Training LLMs on GPU Clusters, 2025",
        "https://huggingface.co/spaces/nanotron/ultrascale-playbook";
    LECTURE = "Fudan lecture",
        "Model Parallelism in LLM Training (Fudan University lecture, 2026)",
        "Model Parallelism in LLM Training, Fudan";
    GPIPE = "GPipe",
        "Huang et al., GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism, 2019",
        "https://arxiv.org/abs/1811.06965";
    PIPEDREAM = "PipeDream",
        "Narayanan et al., PipeDream: Generalized Pipeline Parallelism for DNN Training, 2019",
        "https://arxiv.org/abs/1806.03377";
    BREADTH_FIRST = "Lamy-Poirier 2022",
        "Lamy-Poirier, Breadth-First Pipeline Parallelism, 2022",
        "https://arxiv.org/abs/2211.05953";
    PIPEDREAM_2BW = "PipeDream-2BW",
        "Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, 2020",
        "https://arxiv.org/abs/2006.09503";
    CHIMERA = "Chimera",
        "Li and Hoefler, Chimera: Efficiently Training Large-Scale Neural Networks with Bidirectional Pipelines, 2021",
        "https://arxiv.org/abs/2107.06925";
    HANAYO = "Hanayo",
        "Liu et al., Hanayo: Harnessing Wave-like Pipeline Parallelism for Enhanced Large Model Training Efficiency, \
            2023",
        "https://arxiv.org/abs/2308.15762";
    JOB_SHOP = "Job shop",
        "Carlier and Pinson, An Algorithm for Solving the Job-Shop Problem, Management Science, 1989",
        "https://doi.org/10.1287/mnsc.35.2.164";
    ZERO_BUBBLE = "Zero Bubble",
        "Qi et al., Zero Bubble Pipeline Parallelism, 2023",
        "https://arxiv.org/abs/2401.10241";
    CONTROLLABLE = "Controllable memory",
        "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
        "https://arxiv.org/abs/2405.15362";
    TORCH_PIPELINING = "PyTorch pipelining",
        "PyTorch, torch.distributed.pipelining schedules",
        "https://docs.pytorch.org/docs/stable/distributed.pipelining.html";
    DUALPIPE = "DualPipe",
        "DeepSeek, DualPipe: a bidirectional pipeline parallelism algorithm",
        "https://github.com/deepseek-ai/DualPipe";
    PP_VISUALIZATION = "PP-Schedule-Visualization",
        "Victarry, PP-Schedule-Visualization: strategies and formulas",
        "https://github.com/Victarry/PP-Schedule-Visualization";
    SEQ1F1B = "Seq1F1B",
        "Sun et al., Seq1F1B: Efficient Sequence-Level Pipeline Parallelism for Large Language Model Training, 2024",
        "https://arxiv.org/abs/2406.03488";
    TERAPIPE = "TeraPipe",
        "Li et al., TeraPipe: Token-Level Pipeline Parallelism for Training Large-Scale Language Models, 2021",
        "https://arxiv.org/abs/2102.07988";
    MEGATRON = "Megatron-LM",
        "NVIDIA, Megatron-LM and Megatron Core",
        "https://github.com/NVIDIA/Megatron-LM";
    SIMUMAX = "SimuMax",
        "Moore Threads, SimuMax: published peaks of Megatron-LM on B200",
        "https://github.com/MooreThreads/SimuMax";
    LLAMA_3 = "Llama 3",
        "Llama team, The Llama 3 Herd of Models, 2024",
        "https://arxiv.org/abs/2407.21783";
    LLAMA_2 = "Llama 2",
        "Touvron et al., Llama 2: Open Foundation and Fine-Tuned Chat Models, 2023",
        "https://arxiv.org/abs/2307.09288";
    MISTRAL_7B = "Mistral 7B",
        "Jiang et al., Mistral 7B, 2023",
        "https://arxiv.org/abs/2310.06825";
    QWEN_25 = "Qwen 2.5",
        "Qwen team, Qwen2.5 Technical Report, 2024",
        "https://arxiv.org/abs/2412.15115";
    QWEN_2_VL = "Qwen2-VL",
        "Wang et al., Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any Resolution, 2024",
        "https://arxiv.org/abs/2409.12191";
    MIXTRAL = "Mixtral",
        "Jiang et al., Mixtral of Experts, 2024",
        "https://arxiv.org/abs/2401.04088";
    DEEPSEEK_V3 = "DeepSeek-V3",
        "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024",
        "https://arxiv.org/abs/2412.19437";
    DEEPEP = "DeepEP",
        "DeepSeek-AI, DeepEP: an expert-parallel communication library (README)",
        "https://github.com/deepseek-ai/DeepEP";
    DEEPGEMM = "DeepGEMM",
        "DeepSeek-AI, DeepGEMM: matrix products in fp8 (README)",
        "https://github.com/deepseek-ai/DeepGEMM";
    NANOTRON = "nanotron",
        "Hugging Face, nanotron",
        "https://github.com/huggingface/nanotron";
    PALM = "PaLM",
        "Chowdhery et al., PaLM: Scaling Language Modeling with Pathways, 2022",
        "https://arxiv.org/abs/2204.02311";
    TORCHTITAN = "torchtitan",
        "PyTorch, torchtitan (benchmarks, footnotes on hardware)",
        "https://github.com/pytorch/torchtitan";
    NEMO = "NeMo",
        "NVIDIA, NeMo Framework 2: recipes and performance summaries",
        "https://github.com/NVIDIA/NeMo";
    MEGATRON_BRIDGE = "Megatron-Bridge",
        "NVIDIA, Megatron-Bridge: recipes and performance summaries",
        "https://github.com/NVIDIA-NeMo/Megatron-Bridge";
    LLM_FOUNDRY = "llm-foundry",
        "MosaicML, llm-foundry: scripts/train/benchmarking",
        "https://github.com/mosaicml/llm-foundry";
    DEEPSPEED = "DeepSpeed",
        "Microsoft, DeepSpeed",
        "https://github.com/deepspeedai/DeepSpeed";
    TRANSFORMER_ENGINE = "Transformer Engine",
        "NVIDIA, Transformer Engine",
        "https://github.com/NVIDIA/TransformerEngine";
    ZERO = "ZeRO",
        "Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020",
        "https://arxiv.org/abs/1910.02054";
    ZERO_PLUS_PLUS = "ZeRO++",
        "Wang et al., ZeRO++: Extremely Efficient Collective Communication for Giant Model Training, 2023",
        "https://arxiv.org/abs/2306.10209";
    FP8_LM = "FP8-LM",
        "Peng et al., FP8-LM: Training FP8 Large Language Models, 2023",
        "https://arxiv.org/abs/2310.18313";
    GPT_3 = "GPT-3",
        "Brown et al., Language Models are Few-Shot Learners, 2020",
        "https://arxiv.org/abs/2005.14165";
    GPT_2 = "GPT-2",
        "Radford et al., Language Models are Unsupervised Multitask Learners, 2019",
        "https://openai.com/index/better-language-models/";
    STAS = "ML Engineering",
        "Bekman, Machine Learning Engineering: compute/accelerator and network",
        "https://github.com/stas00/ml-engineering";
    TORCH_OOM = "PyTorch OOM",
        "\"GiB total capacity\" as PyTorch's out-of-memory message prints it",
        "torch.cuda.OutOfMemoryError, total capacity";
    TSUBAME = "TSUBAME 4.0",
        "TSUBAME 4.0 hardware: H100 SXM5 94 GB, 2.4 TB/s, four a node",
        "TSUBAME4 hardware specifications";
    FLASH_2 = "FlashAttention-2",
        "Dao, FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning, 2023",
        "https://arxiv.org/abs/2307.08691";
    CUDNN_BENCHMARK = "cuDNN benchmark",
        "NVIDIA, cuDNN frontend: benchmark/sdpa_benchmark_training, results by model and GPU",
        "https://github.com/NVIDIA/cudnn-frontend";
    FLASH_3 = "FlashAttention-3",
        "Shah et al., FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision, 2024",
        "https://arxiv.org/abs/2407.08608";
    FLASH_4 = "FlashAttention-4",
        "Dao-AILab, flash-attention: pull requests 2280 and 2605, FlashAttention-4 on B200",
        "https://github.com/Dao-AILab/flash-attention/pull/2280";
    AZURE_GUIDE = "Azure benchmarks",
        "Microsoft, AI benchmarking guide: results on A100, H100, H200 and GB200 virtual machines",
        "https://github.com/Azure/AI-benchmarking-guide";
    FLYDSL = "FlyDSL",
        "AMD, FlyDSL pull request 225: attention kernels beside those of AITER on MI325X, MI350X and MI355X",
        "https://github.com/ROCm/FlyDSL/pull/225";
    PRIMUS_TURBO = "Primus-Turbo",
        "AMD, Primus-Turbo, pull requests 274 and 284: MXFP8 and grouped products by its kernels and by hipBLASLt on \
            MI355X",
        "https://github.com/AMD-AGI/Primus-Turbo/pulls";
    NCCL = "NCCL",
        "NVIDIA, NCCL: tuning model (src/graph/tuning.cc) and nccl-tests PERFORMANCE.md",
        "https://github.com/NVIDIA/nccl";
    PUBLISHED_RUNS = "Published runs",
        "The published training runs that the accuracy panel computes: tables 3 and 4 of Fujii 2024, throughput \
            tables of frameworks and papers, NVIDIA's benchmark summaries",
        "data/fujii_measured.csv and data/throughput.csv beside the page";
    LOCKWOOD = "Lockwood",
        "Glenn K. Lockwood's notes on processors: B300",
        "https://www.glennklockwood.com/garden/processors/B300";
    MAXTEXT = "MaxText",
        "Google, MaxText: configurations of models (src/maxtext/configs/models, commit e591f30)",
        "https://github.com/AI-Hypercomputer/maxtext";
    QWEN_3 = "Qwen 3",
        "Qwen team, Qwen3 Technical Report, 2025",
        "https://arxiv.org/abs/2505.09388";
    CLUSTER_SIMULATOR = "LLM cluster simulator",
        "Zhebrak, LLM cluster simulator: architectures.ts (commit 1db1341)",
        "https://github.com/zhebrak/llm-cluster-simulator";
    AUTOMODEL = "NeMo Automodel",
        "NVIDIA, NeMo Automodel: model definitions (commit 36044ad)",
        "https://github.com/NVIDIA-NeMo/Automodel";
    PRIMUS = "Primus",
        "AMD, Primus: Megatron configurations of models (commit fd1eeab)",
        "https://github.com/AMD-AGI/Primus";
    GPT_OSS = "gpt-oss",
        "OpenAI, gpt-oss-120b and gpt-oss-20b Model Card, 2025, and its reference code",
        "https://arxiv.org/abs/2508.10925";
    TRANSFORMERS = "transformers",
        "Hugging Face, transformers: configurations of models",
        "https://github.com/huggingface/transformers";
    KIMI_K2 = "Kimi K2",
        "Kimi team, Kimi K2: Open Agentic Intelligence, 2025",
        "https://arxiv.org/abs/2507.20534";
    PEFT = "PEFT",
        "Hugging Face, PEFT: parameter-efficient fine-tuning (commit 5d602fd)",
        "https://github.com/huggingface/peft";
    BITSANDBYTES = "bitsandbytes",
        "bitsandbytes: 8-bit optimizers and 4-bit linears (commit 95f9af3)",
        "https://github.com/bitsandbytes-foundation/bitsandbytes";
    FMS_ACCELERATION = "fms-acceleration",
        "IBM, fms-acceleration: scripts/benchmarks/refs (commit 876e2ed)",
        "https://github.com/foundation-model-stack/fms-acceleration";
    TORCHAO = "torchao",
        "PyTorch, torchao: torchao/optim (commit 36027d8)",
        "https://github.com/pytorch/ao";
    TORCHTUNE = "torchtune",
        "PyTorch, torchtune: recipes and README (commit bd2a0fc)",
        "https://github.com/pytorch/torchtune";
    NANOCHAT = "nanochat",
        "Karpathy, nanochat issue 60: dense bf16 peaks with fp32 accumulation, from NVIDIA's whitepapers; memory, \
            links and lower precisions as sellers print them",
        "https://github.com/karpathy/nanochat/issues/60";
    CUDA_NOTES = "CUDA-Learn-Notes",
        "DefTruth and contributors, CUDA-Learn-Notes: kernels/hgemm, cuBLAS on L20 and RTX 4090",
        "https://github.com/DefTruth/CUDA-Learn-Notes";
    YOUNG_1974 = "Young 1974",
        "Young, A first order approximation to the optimum checkpoint interval, 1974",
        "https://doi.org/10.1145/361147.361115";
    DALY_2006 = "Daly 2006",
        "Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, 2006",
        "Future Generation Computer Systems 22(3), 303-312";
    KOKOLIS_2025 = "Kokolis 2025",
        "Kokolis et al., Revisiting Reliability in Large-Scale Machine Learning Research Clusters, 2025",
        "https://arxiv.org/abs/2410.21680";
    MEGASCALE = "MegaScale",
        "Jiang et al., MegaScale: Scaling Large Language Model Training to More Than 10,000 GPUs, 2024",
        "https://arxiv.org/abs/2402.15627";
    MLPERF = "MLPerf Training",
        "MLCommons, MLPerf Training results v4.0 to v5.1 with their logs of time and power",
        "https://github.com/mlcommons/training_results_v5.0";
    BIGSCIENCE = "BLOOM chronicles",
        "BigScience, BLOOM 176B: chronicles and launch scripts of the training (commit 9e64edec2)",
        "https://github.com/bigscience-workshop/bigscience";
    METASEQ = "OPT chronicles",
        "Meta AI, metaseq: chronicles of OPT-175B (commit f7ffa5fd6)",
        "https://github.com/facebookresearch/metaseq";
    EPOCH = "Epoch AI",
        "Epoch AI, trends in the cost of training: table of systems (commit 263c40a15)",
        "https://github.com/epoch-research/training-cost-trends";
    H20_SHEET = "H20 data",
        "H20 96 GB figures as vendors print them (148 TFLOP/s bf16, 4.0 TB/s)",
        "H20 96GB specification";
    V100_SHEET = "V100",
        "NVIDIA, Programming Tensor Cores in CUDA 9 (125 TFLOP/s), and Tesla V100 data sheet (900 GB/s, 300 W)",
        "https://developer.nvidia.com/blog/programming-tensor-cores-cuda-9/";
    T4_SHEET = "T4",
        "NVIDIA, T4 tensor core GPU data sheet: 65 TFLOP/s fp16, 16 GB, 320 GB/s, 70 W",
        "NVIDIA T4 datasheet";
    A10_SHEET = "A10",
        "NVIDIA, A10 tensor core GPU data sheet: 125 TFLOP/s bf16, 24 GB, 600 GB/s, 150 W",
        "NVIDIA A10 datasheet";
    A40_SHEET = "A40",
        "NVIDIA, A40 data sheet: 149.7 TFLOP/s bf16, 48 GB, 696 GB/s, 300 W",
        "NVIDIA A40 datasheet";
    A6000_SHEET = "RTX A6000",
        "NVIDIA, RTX A6000 data sheet: 309.7 TFLOP/s with sparsity (154.8 dense, also in nanochat issue 60), 48 GB, \
            768 GB/s, 300 W",
        "NVIDIA RTX A6000 datasheet";
    A800_REPORTS = "A800",
        "Articles on the export variant: an A100 with NVLink cut from 600 to 400 GB/s both ways",
        "A800 SXM4 80GB specification";
    GA102 = "GA102",
        "NVIDIA, Ampere GA102 GPU Architecture whitepaper, appendix: GeForce RTX 3090 and 3080",
        "NVIDIA Ampere GA102 GPU Architecture whitepaper";
    GH200_SHEET = "GH200",
        "NVIDIA, GH200 Grace Hopper Superchip data sheet: 96 GB HBM3 at 4 TB/s, NVLink-C2C 900 GB/s both ways",
        "NVIDIA GH200 Grace Hopper Superchip datasheet";
    L40_SHEET = "L40",
        "NVIDIA, L40 data sheet: 181.05 TFLOP/s bf16, 362 fp8, 48 GB, 864 GB/s, 300 W",
        "NVIDIA L40 datasheet";
    RTX_6000_ADA = "RTX 6000 Ada",
        "NVIDIA, Ada GPU Architecture whitepaper, appendix, and RTX 6000 Ada data sheet (1457 TFLOP/s fp8 with \
            sparsity, 960 GB/s, 300 W)",
        "NVIDIA RTX 6000 Ada Generation datasheet";
    RTX_PRO_6000 = "RTX PRO 6000",
        "NVIDIA, RTX Blackwell PRO GPU Architecture whitepaper, appendix: RTX PRO 6000 workstation edition",
        "NVIDIA RTX Blackwell PRO GPU Architecture whitepaper";
    RUBIN_ANNOUNCED = "Rubin, announced",
        "NVIDIA, Vera Rubin NVL72 as announced in 2026, preliminary: 35 PFLOP/s NVFP4 for training, 17.5 fp8, 4 bf16, \
            288 GB, 22 TB/s, NVLink 6 at 3.6 TB/s both ways",
        "NVIDIA Vera Rubin NVL72 preliminary specifications";
    MI455X_ANNOUNCED = "MI455X, announced",
        "AMD, Instinct MI455X and Helios as announced in 2026: 40 PFLOP/s fp4, 20 fp8, 432 GB, 19.6 TB/s, 3.6 TB/s \
            both ways in the rack, 300 GB/s out of it",
        "AMD Instinct MI455X Helios";
    ZERO_OFFLOAD = "ZeRO-Offload",
        "Ren et al., ZeRO-Offload: Democratizing Billion-Scale Model Training, 2021",
        "https://arxiv.org/abs/2101.06840";
    SLIME = "slime",
        "THUDM, slime: issue 1139, GLM-4.5-Air on 32 H100 with Adam on the host",
        "https://github.com/THUDM/slime/issues/1139";
    MARKIDIS_2018 = "Markidis 2018",
        "Markidis et al., NVIDIA Tensor Core Programmability, Performance and Precision, 2018",
        "https://arxiv.org/abs/1803.04014";
    GPU_FLOPS_BENCH = "gpu-flops-bench",
        "xzwgit, gpu-flops-bench: best cuBLASLt products of RTX 5090 and RTX PRO 6000",
        "https://github.com/xzwgit/gpu-flops-bench";
    NEMO_RL = "NeMo-RL",
        "NVIDIA, NeMo-RL: measured steps of reinforcement learning (commit 7ea279ab)",
        "https://github.com/NVIDIA-NeMo/RL";
    VERL = "verl",
        "verl: asynchronous trainers and how they divide the GPUs (commit 1dda039b)",
        "https://github.com/verl-project/verl";
    AREAL = "AReaL",
        "AReaL: how many responses may be started ahead (commit 4aef98d8)",
        "https://github.com/inclusionAI/AReaL";
    TRACELENS = "TraceLens",
        "AMD, TraceLens: traces of PyTorch's profiler with tables of their kernels (commit 171dd747)",
        "https://github.com/AMD-AGI/TraceLens";
    TRL = "TRL",
        "Hugging Face, TRL: trainers of preferences (commit f2cd577)",
        "https://github.com/huggingface/trl";
    TRL_COLOCATED = "vLLM beside TRL",
        "Hugging Face, NO GPU left behind: Unlocking Efficiency with Co-located vLLM in TRL, 2025",
        "https://huggingface.co/blog/vllm-colocate";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_can_be_looked_up_and_stands_once() {
        for (index, source) in ALL.iter().enumerate() {
            assert!(!source.short.is_empty() && !source.locator.is_empty());
            assert!(ALL[..index].iter().all(|other| other.short != source.short), "{} stands twice", source.short);
        }
    }
}
