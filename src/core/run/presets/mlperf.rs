//! Runs of MLPerf Training whose configuration is published: their time to train, and their step where the log has it.
//!
//! One table (`tests/data/mlperf_training.csv` has all submissions): of those that the configuration does not tell apart one stands here,
//! the maker's of the GPU where there is one.

use super::published::{Measured, PublishedRun, row};
use crate::source::MLPERF;

const OPEN: &str = "micro-batches of one sequence where none is named, nothing recomputed, CUDA graphs where the configuration is named after them; fp8 by the tensor, delayed scaling in rounds of 2024; attention in bf16, which some submissions ran in fp8";

macro_rules! llama {
    ($sizes:literal) => {
        concat!("model=llama-3.1-405b&seq_len=8192&", $sizes)
    };
}

macro_rules! llama_8b {
    ($sizes:literal) => {
        concat!("model=llama-3.1-8b&seq_len=8192&", $sizes)
    };
}

macro_rules! gpt {
    ($sizes:literal) => {
        concat!("model=gpt-3-175b&seq_len=2048&", $sizes)
    };
}

macro_rules! lora {
    ($sizes:literal) => {
        concat!(
            "model=llama-2-70b&adapter.method=lora&adapter.rank=16&adapter.targets=q_proj,k_proj,v_proj,o_proj&seq_len=8192&",
            $sizes
        )
    };
}

/// All of them.
#[rustfmt::skip]
pub static MLPERF_RUNS: &[PublishedRun] = &[
    row("mlperf-v5-0-405b-gb200-1536", "Llama 3.1 405B on 1536 GB200", (&MLPERF, "v5.0, IBM+CoreWeave+NVIDIA/carina_ngpu1536_ngc25.04_nemo"),
        llama!("gpu=gb200&stack=megatron-2025&gpus=1536&tp=4&pp=8&cp=2&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=1152&precision=fp8-current"), &[Measured::ToTrain { minutes: 36.397, samples: 276_480.0, evaluations: 6.0, set: 5760.0 }, Measured::Step(8.4995)], OPEN),
    row("mlperf-v5-0-405b-gb200-2496", "Llama 3.1 405B on 2496 GB200", (&MLPERF, "v5.0, IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo"),
        llama!("gpu=gb200&stack=megatron-2025&gpus=2496&tp=4&pp=8&cp=2&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=1248&precision=fp8-current"), &[Measured::ToTrain { minutes: 26.99, samples: 323_232.0, evaluations: 7.0, set: 5760.0 }, Measured::Step(5.8232)], OPEN),
    row("mlperf-v5-0-405b-h100-8192", "Llama 3.1 405B on 8192 H100", (&MLPERF, "v5.0, NVIDIA/eos-dfw_n1024_ngc25.01_nemo"),
        llama!("gpu=h100-sxm-80gb&stack=megatron-2025&gpus=8192&tp=8&pp=8&cp=2&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=1536&precision=fp8-current"), &[Measured::ToTrain { minutes: 19.638, samples: 322_560.0, evaluations: 7.0, set: 5760.0 }, Measured::Step(5.1807)], OPEN),
    row("mlperf-v5-0-405b-h100-2432", "Llama 3.1 405B on 2432 H100", (&MLPERF, "v5.0, NVIDIA/eos-dfw_n304_ngc25.01_nemo"),
        llama!("gpu=h100-sxm-80gb&stack=megatron-2025&gpus=2432&tp=8&pp=8&cp=2&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=1216&precision=fp8-current"), &[Measured::ToTrain { minutes: 60.414, samples: 323_456.0, evaluations: 7.0, set: 5760.0 }, Measured::Step(12.7118)], OPEN),
    row("mlperf-v5-0-405b-h100-512", "Llama 3.1 405B on 512 H100", (&MLPERF, "v5.0, NVIDIA/eos-dfw_n64_ngc25.01_nemo"),
        llama!("gpu=h100-sxm-80gb&stack=megatron-2025&gpus=512&tp=8&pp=8&cp=2&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=1152&precision=fp8-current"), &[Measured::ToTrain { minutes: 230.676, samples: 276_480.0, evaluations: 6.0, set: 5760.0 }, Measured::Step(55.143)], OPEN),
    row("mlperf-v5-0-405b-h200-1024", "Llama 3.1 405B on 1024 H200", (&MLPERF, "v5.0, Nebius/nebius_soperator_8xH200_n128_ngc25.01_nemo"),
        llama!("gpu=h200-sxm-141gb&stack=megatron-2025&gpus=1024&tp=4&pp=8&cp=2&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=1152&precision=fp8-current"), &[Measured::ToTrain { minutes: 106.711, samples: 276_480.0, evaluations: 6.0, set: 5760.0 }, Measured::Step(25.3561)], OPEN),
    row("mlperf-v5-1-405b-gb200-5120", "Llama 3.1 405B on 5120 GB200", (&MLPERF, "v5.1, NVIDIA/hsg_ngpu5120_ngc25.09_nemo"),
        llama!("gpu=gb200&stack=megatron-2025&gpus=5120&tp=4&pp=8&cp=2&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=1280&precision=nvfp4&cuda_graphs=true"), &[Measured::ToTrain { minutes: 9.995, samples: 326_400.0, evaluations: 2.0, set: 5760.0 }, Measured::Step(2.2279)], OPEN),
    row("mlperf-v5-1-405b-gb300-512", "Llama 3.1 405B on 512 GB300", (&MLPERF, "v5.1, NVIDIA/theia_ngpu512_ngc25.09_nemo"),
        llama!("gpu=gb300&stack=megatron-2025&gpus=512&tp=2&pp=8&cp=2&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=1152&precision=nvfp4&cuda_graphs=true"), &[Measured::ToTrain { minutes: 64.605, samples: 331_776.0, evaluations: 4.0, set: 5760.0 }, Measured::Step(13.1447)], OPEN),
    row("mlperf-v5-1-405b-b200-256", "Llama 3.1 405B on 256 B200", (&MLPERF, "v5.1, University-of-Florida/hpg.dgxb200x8.n32"),
        llama!("gpu=b200-sxm&stack=megatron-2025&gpus=256&tp=4&pp=8&cp=2&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=576&precision=fp8-current&cuda_graphs=true"), &[Measured::ToTrain { minutes: 241.255, samples: 294_912.0, evaluations: 3.0, set: 5760.0 }, Measured::Step(27.6456)], OPEN),
    row("mlperf-v5-1-405b-b200-448", "Llama 3.1 405B on 448 B200", (&MLPERF, "v5.1, University-of-Florida/hpg.dgxb200x8.n56"),
        llama!("gpu=b200-sxm&stack=megatron-2025&gpus=448&tp=4&pp=8&cp=2&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=1008&precision=fp8-current&cuda_graphs=true"), &[Measured::ToTrain { minutes: 143.909, samples: 306_432.0, evaluations: 2.0, set: 5760.0 }, Measured::Step(27.9791)], OPEN),
    row("mlperf-v5-1-8b-mi355x-8", "Llama 3.1 8B on 8 MI355X", (&MLPERF, "v5.1, AMD/MI355X_EPYC_9575F_pytorch"),
        llama_8b!("gpu=mi355x&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=1&micro_batch=2&global_batch=32&precision=fp8-current"), &[Measured::ToTrain { minutes: 99.32, samples: 178_144.0, evaluations: 14.5, set: 1024.0 }, Measured::Step(1.0428)], OPEN),
    row("mlperf-v5-1-8b-b300-8", "Llama 3.1 8B on 8 B300", (&MLPERF, "v5.1, Dell/1xXE9780x8B300-SXM-270GB"),
        llama_8b!("gpu=b300-sxm&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=1&micro_batch=2&global_batch=16&precision=fp8-current"), &[Measured::ToTrain { minutes: 93.428, samples: 159_744.0, evaluations: 13.0, set: 1024.0 }, Measured::Step(0.548)], OPEN),
    row("mlperf-v5-1-8b-b200-16", "Llama 3.1 8B on 16 B200", (&MLPERF, "v5.1, Dell/2xXE9680Lx8B200-SXM-180GB"),
        llama_8b!("gpu=b200-sxm&stack=megatron-2025&gpus=16&tp=1&pp=1&cp=1&micro_batch=2&global_batch=32&precision=fp8-current"), &[Measured::ToTrain { minutes: 61.372, samples: 196_608.0, evaluations: 8.0, set: 1024.0 }, Measured::Step(0.5818)], OPEN),
    row("mlperf-v5-1-8b-gb300-72", "Llama 3.1 8B on 72 GB300", (&MLPERF, "v5.1, Lambda/gb300_n18_ngc25.04_nemo"),
        llama_8b!("gpu=gb300&stack=megatron-2025&gpus=72&tp=1&pp=1&cp=2&micro_batch=1&global_batch=36&precision=fp8-current"), &[Measured::ToTrain { minutes: 14.234, samples: 184_680.0, evaluations: 15.0, set: 1024.0 }, Measured::Step(0.1612)], OPEN),
    row("mlperf-v5-1-8b-gb200-512", "Llama 3.1 8B on 512 GB200", (&MLPERF, "v5.1, NVIDIA/tyche_ngpu512_ngc25.09_nemo"),
        llama_8b!("gpu=gb200&stack=megatron-2025&gpus=512&tp=2&pp=1&cp=4&micro_batch=1&global_batch=64&precision=fp8-current"), &[Measured::ToTrain { minutes: 5.308, samples: 221_184.0, evaluations: 18.0, set: 1024.0 }, Measured::Step(0.0889)], OPEN),
    row("mlperf-v5-1-8b-gb200-72", "Llama 3.1 8B on 72 GB200", (&MLPERF, "v5.1, NVIDIA/tyche_ngpu72_ngc25.09_nemo"),
        llama_8b!("gpu=gb200&stack=megatron-2025&gpus=72&tp=1&pp=1&cp=2&micro_batch=1&global_batch=36&precision=fp8-current"), &[Measured::ToTrain { minutes: 14.969, samples: 184_680.0, evaluations: 15.0, set: 1024.0 }, Measured::Step(0.1709)], OPEN),
    row("mlperf-v5-1-8b-gb200-8", "Llama 3.1 8B on 8 GB200", (&MLPERF, "v5.1, NVIDIA/tyche_ngpu8_ngc25.09_nemo"),
        llama_8b!("gpu=gb200&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=1&micro_batch=2&global_batch=16&precision=nvfp4"), &[Measured::ToTrain { minutes: 80.161, samples: 184_320.0, evaluations: 15.0, set: 1024.0 }, Measured::Step(0.4055)], OPEN),
    row("mlperf-v5-1-8b-b200-64", "Llama 3.1 8B on 64 B200", (&MLPERF, "v5.1, University-of-Florida/hpg.dgxb200x8.n8"),
        llama_8b!("gpu=b200-sxm&stack=megatron-2025&gpus=64&tp=1&pp=1&cp=2&micro_batch=1&global_batch=32&precision=fp8-current"), &[Measured::ToTrain { minutes: 17.432, samples: 172_032.0, evaluations: 14.0, set: 1024.0 }, Measured::Step(0.1895)], OPEN),
    row("mlperf-v4-0-gpt3-h100-11616", "GPT-3 175B on 11616 H100", (&MLPERF, "v4.0, NVIDIA/eos-dfw_n1452_ngc24.04_nemo"),
        gpt!("gpu=h100-sxm-80gb&stack=nemo-2024&gpus=11616&tp=4&pp=6&cp=1&schedule=interleaved-1f1b&virtual_stages=8&micro_batch=1&global_batch=2904&precision=fp8-delayed&cuda_graphs=true"), &[Measured::ToTrain { minutes: 3.444, samples: 601_128.0, evaluations: 23.0, set: 0.0 }], OPEN),
    row("mlperf-v4-0-gpt3-h100-512", "GPT-3 175B on 512 H100", (&MLPERF, "v4.0, NVIDIA/eos_n64_ngc24.04_nemo"),
        gpt!("gpu=h100-sxm-80gb&stack=nemo-2024&gpus=512&tp=4&pp=8&cp=1&schedule=interleaved-1f1b&virtual_stages=4&micro_batch=2&global_batch=2304&precision=fp8-delayed"), &[Measured::ToTrain { minutes: 50.728, samples: 582_912.0, evaluations: 23.0, set: 0.0 }], OPEN),
    row("mlperf-v4-1-gpt3-b200-64", "GPT-3 175B on 64 B200", (&MLPERF, "v4.1, NVIDIA/b200_n8_preview_nemo"),
        gpt!("gpu=b200-sxm&stack=nemo-2024&gpus=64&tp=4&pp=8&cp=1&schedule=interleaved-1f1b&virtual_stages=6&micro_batch=2&global_batch=2048&precision=fp8-delayed&cuda_graphs=true"), &[Measured::ToTrain { minutes: 193.738, samples: 589_824.0, evaluations: 24.0, set: 0.0 }], OPEN),
    row("mlperf-v4-1-gpt3-h100-512", "GPT-3 175B on 512 H100", (&MLPERF, "v4.1, NVIDIA/eos_n64_ngc24.09_nemo"),
        gpt!("gpu=h100-sxm-80gb&stack=nemo-2024&gpus=512&tp=4&pp=8&cp=1&schedule=interleaved-1f1b&virtual_stages=6&micro_batch=2&global_batch=2048&precision=fp8-delayed"), &[Measured::ToTrain { minutes: 49.795, samples: 589_824.0, evaluations: 24.0, set: 0.0 }], OPEN),
    row("mlperf-v4-0-lora-h100-8", "Llama 2 70B LoRA on 8 H100", (&MLPERF, "v4.0, NVIDIA/eos_ngc24.04_nemo"),
        lora!("gpu=h100-sxm-80gb&stack=nemo-2024&gpus=8&tp=4&pp=1&cp=1&micro_batch=1&global_batch=8&precision=fp8-delayed"), &[Measured::ToTrain { minutes: 27.158, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(3.7123)], OPEN),
    row("mlperf-v4-0-lora-l40s-64", "Llama 2 70B LoRA on 64 L40S", (&MLPERF, "v4.0, NVIDIA/l40s_n16_ngc24.04_nemo"),
        lora!("gpu=l40s&stack=nemo-2024&gpus=64&tp=4&pp=1&cp=2&micro_batch=1&global_batch=8&precision=fp8-delayed"), &[Measured::ToTrain { minutes: 21.486, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(2.9423)], OPEN),
    row("mlperf-v4-1-lora-h200-8", "Llama 2 70B LoRA on 8 H200", (&MLPERF, "v4.1, ASUSTeK/ESC_N8_E11"),
        lora!("gpu=h200-sxm-141gb&stack=nemo-2024&gpus=8&tp=2&pp=1&cp=1&micro_batch=1&global_batch=8&precision=fp8-delayed"), &[Measured::ToTrain { minutes: 24.517, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(3.4261)], OPEN),
    row("mlperf-v4-1-lora-h100-64", "Llama 2 70B LoRA on 64 H100", (&MLPERF, "v4.1, Dell/8xXE9680x8H100-SXM-80GB"),
        lora!("gpu=h100-sxm-80gb&stack=nemo-2024&gpus=64&tp=4&pp=1&cp=2&micro_batch=1&global_batch=8&precision=fp8-delayed"), &[Measured::ToTrain { minutes: 4.932, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(0.55249)], OPEN),
    row("mlperf-v4-1-lora-h200-8-tp1cp2", "Llama 2 70B LoRA on 8 H200", (&MLPERF, "v4.1, Lenovo/SR685aV3-8xH200_SXM_141GB_700W"),
        lora!("gpu=h200-sxm-141gb&stack=nemo-2024&gpus=8&tp=1&pp=1&cp=2&micro_batch=1&global_batch=8&precision=fp8-delayed"), &[Measured::ToTrain { minutes: 22.349, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(3.1044)], OPEN),
    row("mlperf-v4-1-lora-h100-1024", "Llama 2 70B LoRA on 1024 H100", (&MLPERF, "v4.1, NVIDIA/eos_n128_ngc24.09_nemo"),
        lora!("gpu=h100-sxm-80gb&stack=nemo-2024&gpus=1024&tp=4&pp=1&cp=2&micro_batch=1&global_batch=128&precision=fp8-delayed"), &[Measured::ToTrain { minutes: 1.173, samples: 11_136.0, evaluations: 11.0, set: 173.0 }, Measured::Step(0.54508)], OPEN),
    row("mlperf-v5-0-lora-mi300x-8", "Llama 2 70B LoRA on 8 MI300X", (&MLPERF, "v5.0, AMD/MI300X_EPYC_9575F_pytorch"),
        lora!("gpu=mi300x&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=1&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 28.268, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(3.9467)], OPEN),
    row("mlperf-v5-0-lora-h200-8", "Llama 2 70B LoRA on 8 H200", (&MLPERF, "v5.0, Dell/1xXE9680Lx8H200-SXM-141GB"),
        lora!("gpu=h200-sxm-141gb&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=2&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 22.756, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(3.1496)], OPEN),
    row("mlperf-v5-0-lora-b200-8", "Llama 2 70B LoRA on 8 B200", (&MLPERF, "v5.0, GigaComputing/G893-SD1_pytorch"),
        lora!("gpu=b200-sxm&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=1&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 10.899, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(1.5197)], OPEN),
    row("mlperf-v5-0-lora-h200-8-tp2cp1", "Llama 2 70B LoRA on 8 H200", (&MLPERF, "v5.0, HPE/HPE-Cray-XD670-H200-SXM5-141GB_n1_24.09"),
        lora!("gpu=h200-sxm-141gb&stack=megatron-2025&gpus=8&tp=2&pp=1&cp=1&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 24.882, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(3.4813)], OPEN),
    row("mlperf-v5-0-lora-h200-32", "Llama 2 70B LoRA on 32 H200", (&MLPERF, "v5.0, HPE/HPE-Cray-XD670-H200-SXM5-141GB_n4_24.09"),
        lora!("gpu=h200-sxm-141gb&stack=megatron-2025&gpus=32&tp=2&pp=1&cp=1&micro_batch=1&global_batch=16&precision=fp8-current"), &[Measured::ToTrain { minutes: 8.432, samples: 3840.0, evaluations: 7.0, set: 173.0 }, Measured::Step(1.8104)], OPEN),
    row("mlperf-v5-0-lora-mi300x-16", "Llama 2 70B LoRA on 16 MI300X", (&MLPERF, "v5.0, MangoBoost/MI300X-LLMBoost-GPUBoost-2node"),
        lora!("gpu=mi300x&stack=megatron-2025&gpus=16&tp=1&pp=1&cp=2&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 15.82, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(2.1103)], OPEN),
    row("mlperf-v5-0-lora-gb200-144", "Llama 2 70B LoRA on 144 GB200", (&MLPERF, "v5.0, NVIDIA/tyche_ngpu144_ngc25.04_nemo"),
        lora!("gpu=gb200&stack=megatron-2025&gpus=144&tp=1&pp=1&cp=8&micro_batch=1&global_batch=18&precision=fp8-current"), &[Measured::ToTrain { minutes: 1.142, samples: 4347.0, evaluations: 7.5, set: 173.0 }, Measured::Step(0.244)], OPEN),
    row("mlperf-v5-0-lora-gb200-512", "Llama 2 70B LoRA on 512 GB200", (&MLPERF, "v5.0, NVIDIA/tyche_ngpu512_ngc25.04_nemo"),
        lora!("gpu=gb200&stack=megatron-2025&gpus=512&tp=1&pp=1&cp=8&micro_batch=1&global_batch=64&precision=fp8-current"), &[Measured::ToTrain { minutes: 0.56, samples: 7296.0, evaluations: 9.0, set: 173.0 }, Measured::Step(0.2577)], OPEN),
    row("mlperf-v5-0-lora-gb200-72", "Llama 2 70B LoRA on 72 GB200", (&MLPERF, "v5.0, NVIDIA/tyche_ngpu72_ngc25.04_nemo"),
        lora!("gpu=gb200&stack=megatron-2025&gpus=72&tp=1&pp=1&cp=8&micro_batch=1&global_batch=9&precision=fp8-current"), &[Measured::ToTrain { minutes: 1.73, samples: 3402.0, evaluations: 6.0, set: 173.0 }, Measured::Step(0.2386)], OPEN),
    row("mlperf-v5-0-lora-gb200-4", "Llama 2 70B LoRA on 4 GB200", (&MLPERF, "v5.0, Oracle/1xBM.GPU.GB200.4"),
        lora!("gpu=gb200&stack=megatron-2025&gpus=4&tp=1&pp=1&cp=2&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 21.373, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(2.9749)], OPEN),
    row("mlperf-v5-0-lora-h200-512", "Llama 2 70B LoRA on 512 H200", (&MLPERF, "v5.0, Oracle/64xBM.GPU.H200.8"),
        lora!("gpu=h200-sxm-141gb&stack=megatron-2025&gpus=512&tp=4&pp=1&cp=2&micro_batch=1&global_batch=64&precision=fp8-current"), &[Measured::ToTrain { minutes: 1.942, samples: 7296.0, evaluations: 9.0, set: 173.0 }, Measured::Step(0.79219)], OPEN),
    row("mlperf-v5-0-lora-h100-64", "Llama 2 70B LoRA on 64 H100", (&MLPERF, "v5.0, SCITIX/scitix_n8_ngc24.09_nemo"),
        lora!("gpu=h100-sxm-80gb&stack=megatron-2025&gpus=64&tp=4&pp=1&cp=2&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 4.405, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(0.54787)], OPEN),
    row("mlperf-v5-1-lora-mi325x-8", "Llama 2 70B LoRA on 8 MI325X", (&MLPERF, "v5.1, AMD/MI325X_EPYC_9575F_pytorch_llama2_70b"),
        lora!("gpu=mi325x&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=1&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 20.329, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(2.8209)], OPEN),
    row("mlperf-v5-1-lora-h100-128", "Llama 2 70B LoRA on 128 H100", (&MLPERF, "v5.1, Cisco/hpf_n16"),
        lora!("gpu=h100-sxm-80gb&stack=megatron-2025&gpus=128&tp=4&pp=1&cp=2&micro_batch=1&global_batch=16&precision=fp8-current"), &[Measured::ToTrain { minutes: 2.91, samples: 4032.0, evaluations: 6.5, set: 173.0 }, Measured::Step(0.54413)], OPEN),
    row("mlperf-v5-1-lora-h200-8", "Llama 2 70B LoRA on 8 H200", (&MLPERF, "v5.1, Dell/1xXE9680Lx8H200-SXM-141GB"),
        lora!("gpu=h200-sxm-141gb&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=1&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 22.699, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(3.1468)], OPEN),
    row("mlperf-v5-1-lora-mi355x-8", "Llama 2 70B LoRA on 8 MI355X", (&MLPERF, "v5.1, Dell/XE9785L_8xMI355X"),
        lora!("gpu=mi355x&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=1&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 9.914, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(1.3724)], OPEN),
    row("mlperf-v5-1-lora-h200-16", "Llama 2 70B LoRA on 16 H200", (&MLPERF, "v5.1, Krai/Cray-XD670-H200-SXM5-141GB_n2_v5.0"),
        lora!("gpu=h200-sxm-141gb&stack=megatron-2025&gpus=16&tp=2&pp=1&cp=1&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 12.013, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(1.6674)], OPEN),
    row("mlperf-v5-1-lora-h200-64", "Llama 2 70B LoRA on 64 H200", (&MLPERF, "v5.1, Krai/Cray-XD670-H200-SXM5-141GB_n8_v5.0"),
        lora!("gpu=h200-sxm-141gb&stack=megatron-2025&gpus=64&tp=4&pp=1&cp=1&micro_batch=1&global_batch=16&precision=fp8-current"), &[Measured::ToTrain { minutes: 4.19, samples: 3840.0, evaluations: 7.0, set: 173.0 }, Measured::Step(0.883)], OPEN),
    row("mlperf-v5-1-lora-gb300-72", "Llama 2 70B LoRA on 72 GB300", (&MLPERF, "v5.1, NVIDIA/theia_ngpu72_ngc25.09_nemo"),
        lora!("gpu=gb300&stack=megatron-2025&gpus=72&tp=1&pp=1&cp=8&micro_batch=1&global_batch=9&precision=fp8-current"), &[Measured::ToTrain { minutes: 1.277, samples: 3483.0, evaluations: 6.0, set: 173.0 }, Measured::Step(0.1723)], OPEN),
    row("mlperf-v5-1-lora-gb300-8", "Llama 2 70B LoRA on 8 GB300", (&MLPERF, "v5.1, NVIDIA/theia_ngpu8_ngc25.09_nemo"),
        lora!("gpu=gb300&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=1&micro_batch=1&global_batch=8&precision=nvfp4"), &[Measured::ToTrain { minutes: 5.725, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(0.7474)], OPEN),
    row("mlperf-v5-1-lora-b300-8", "Llama 2 70B LoRA on 8 B300", (&MLPERF, "v5.1, Supermicro/AS-8126GS-NB3RT"),
        lora!("gpu=b300-sxm&stack=megatron-2025&gpus=8&tp=1&pp=1&cp=1&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 9.148, samples: 3072.0, evaluations: 5.0, set: 173.0 }, Measured::Step(1.2652)], OPEN),
    row("mlperf-v5-1-lora-b200-128", "Llama 2 70B LoRA on 128 B200", (&MLPERF, "v5.1, University-of-Florida/hpg.dgxb200x8.n16"),
        lora!("gpu=b200-sxm&stack=megatron-2025&gpus=128&tp=1&pp=1&cp=8&micro_batch=1&global_batch=16&precision=fp8-current"), &[Measured::ToTrain { minutes: 1.92, samples: 6912.0, evaluations: 14.0, set: 173.0 }, Measured::Step(0.2104)], OPEN),
    row("mlperf-v5-1-lora-b200-16", "Llama 2 70B LoRA on 16 B200", (&MLPERF, "v5.1, University-of-Florida/hpg.dgxb200x8.n2"),
        lora!("gpu=b200-sxm&stack=megatron-2025&gpus=16&tp=1&pp=1&cp=1&micro_batch=1&global_batch=16&precision=fp8-current"), &[Measured::ToTrain { minutes: 5.997, samples: 3840.0, evaluations: 6.0, set: 173.0 }, Measured::Step(1.3236)], OPEN),
    row("mlperf-v5-1-lora-b200-32", "Llama 2 70B LoRA on 32 B200", (&MLPERF, "v5.1, University-of-Florida/hpg.dgxb200x8.n4"),
        lora!("gpu=b200-sxm&stack=megatron-2025&gpus=32&tp=1&pp=1&cp=4&micro_batch=1&global_batch=8&precision=fp8-current"), &[Measured::ToTrain { minutes: 3.535, samples: 3840.0, evaluations: 7.0, set: 173.0 }, Measured::Step(0.3793)], OPEN),
];
