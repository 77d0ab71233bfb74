//! Fine-tuning runs to start from: what people ask for, in settings that fit.

use super::published::read;
use crate::run::Run;

/// A run to start from.
#[derive(Clone, Copy, Debug)]
pub struct TunedRun {
    /// Never changes.
    pub id: &'static str,
    pub name: &'static str,
    /// Its settings, as links have them: those that all share, and its own.
    pub settings: &'static [&'static str],
}

impl TunedRun {
    pub fn run(&self) -> Run {
        read(self.settings).0
    }
}

/// Settings that all of them share: no pipeline, no tensor parallelism, layers recomputed from their inputs.
const ONE_STAGE: &str = "tp=1&pp=1&sequence_parallel=false&recompute=full";

/// All of them, the smallest machine first.
pub static TUNED: &[TunedRun] = &[
    TunedRun {
        id: "qlora-8b-4090",
        name: "1 x RTX 4090: Qwen 3 8B, QLoRA",
        settings: &[
            ONE_STAGE,
            "stack=hf-trainer&model=qwen-3-8b&gpu=rtx-4090&gpus=1&zero=0&seq_len=2048&global_batch=16&precision=bf16&\
            adapter.method=qlora&adapter.rank=16",
        ],
    },
    TunedRun {
        id: "lora-8b-4090",
        name: "1 x RTX 4090: Llama 3.1 8B, LoRA",
        settings: &[
            ONE_STAGE,
            "stack=torchtune&model=llama-3.1-8b&gpu=rtx-4090&gpus=1&zero=0&seq_len=2048&global_batch=16&\
            precision=bf16-pure&adapter.method=lora&cross_entropy=chunked",
        ],
    },
    TunedRun {
        id: "qlora-70b-2-4090",
        name: "2 x RTX 4090: Llama 3.1 70B, QLoRA, base on the host",
        settings: &[
            ONE_STAGE,
            "stack=hf-trainer&model=llama-3.1-70b&gpu=rtx-4090&gpus=2&host_memory_gib=128&zero=3&seq_len=1024&\
            global_batch=16&precision=bf16&adapter.method=qlora&adapter.rank=16&offload.parameters=cpu",
        ],
    },
    TunedRun {
        id: "qlora-32b-5090",
        name: "1 x RTX 5090: Qwen 3 32B, QLoRA",
        settings: &[
            ONE_STAGE,
            "stack=hf-fused&model=qwen-3-32b&gpu=rtx-5090&gpus=1&zero=0&seq_len=2048&global_batch=16&precision=bf16&\
            adapter.method=qlora&adapter.rank=16",
        ],
    },
    TunedRun {
        id: "qlora-70b-h100",
        name: "1 x H100: Llama 3.1 70B, QLoRA, 8k",
        settings: &[
            ONE_STAGE,
            "stack=hf-fused&model=llama-3.1-70b&gpu=h100-sxm-80gb&gpus=1&zero=0&seq_len=8192&global_batch=16&\
            precision=bf16&adapter.method=qlora&adapter.rank=16",
        ],
    },
    TunedRun {
        id: "full-8b-8-h100",
        name: "8 x H100: Llama 3.1 8B, all weights, FSDP2",
        settings: &[
            ONE_STAGE,
            "stack=hf-trainer&model=llama-3.1-8b&gpu=h100-sxm-80gb&gpus=8&zero=3&seq_len=4096&micro_batch=2&\
            global_batch=64&precision=fsdp-mixed",
        ],
    },
    TunedRun {
        id: "full-32b-8-h100",
        name: "8 x H100: Qwen 3 32B, all weights, FSDP2 in bf16",
        settings: &[
            ONE_STAGE,
            "stack=torchtune&model=qwen-3-32b&gpu=h100-sxm-80gb&gpus=8&zero=3&seq_len=4096&global_batch=64&\
            precision=bf16-pure",
        ],
    },
    TunedRun {
        id: "full-70b-8-h100",
        name: "8 x H100: Llama 3.1 70B, all weights, states on the host",
        settings: &[
            ONE_STAGE,
            "stack=deepspeed&model=llama-3.1-70b&gpu=h100-sxm-80gb&gpus=8&host_memory_gib=2048&zero=3&seq_len=4096&\
            global_batch=64&precision=bf16&offload.optimizer=cpu",
        ],
    },
];
