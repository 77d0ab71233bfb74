//! Fine-tuning runs to start from: what people ask for, in settings that fit.

use super::published::linked;
use crate::run::Run;

/// A run to start from.
#[derive(Clone, Copy, Debug)]
pub struct TunedRun {
    /// Never changes.
    pub id: &'static str,
    pub name: &'static str,
    /// Its settings, as a link has them.
    pub link: &'static str,
}

impl TunedRun {
    pub fn run(&self) -> Run {
        linked(self.link)
    }
}

/// Settings that all of them share: no pipeline, no tensor parallelism, layers recomputed from their inputs.
macro_rules! tuned {
    ($id:literal, $name:literal, $link:literal) => {
        TunedRun { id: $id, name: $name, link: concat!($link, "&tp=1&pp=1&sequence_parallel=false&recompute=full") }
    };
}

/// All of them, the smallest machine first.
pub static TUNED: &[TunedRun] = &[
    tuned!(
        "qlora-8b-4090",
        "1 x RTX 4090: Qwen 3 8B, QLoRA",
        "stack=hf-trainer&model=qwen-3-8b&gpu=rtx-4090&gpus=1&zero=0&seq_len=2048&global_batch=16&precision=bf16&\
            adapter.method=qlora&adapter.rank=16"
    ),
    tuned!(
        "lora-8b-4090",
        "1 x RTX 4090: Llama 3.1 8B, LoRA",
        "stack=torchtune&model=llama-3.1-8b&gpu=rtx-4090&gpus=1&zero=0&seq_len=2048&global_batch=16&\
            precision=bf16-pure&adapter.method=lora&cross_entropy=chunked"
    ),
    tuned!(
        "qlora-70b-2-4090",
        "2 x RTX 4090: Llama 3.1 70B, QLoRA, base on the host",
        "stack=hf-trainer&model=llama-3.1-70b&gpu=rtx-4090&gpus=2&host_memory_gib=128&zero=3&seq_len=1024&\
            global_batch=16&precision=bf16&adapter.method=qlora&adapter.rank=16&offload.parameters=cpu"
    ),
    tuned!(
        "qlora-32b-5090",
        "1 x RTX 5090: Qwen 3 32B, QLoRA",
        "stack=hf-fused&model=qwen-3-32b&gpu=rtx-5090&gpus=1&zero=0&seq_len=2048&global_batch=16&precision=bf16&\
            adapter.method=qlora&adapter.rank=16"
    ),
    tuned!(
        "qlora-70b-h100",
        "1 x H100: Llama 3.1 70B, QLoRA, 8k",
        "stack=hf-fused&model=llama-3.1-70b&gpu=h100-sxm-80gb&gpus=1&zero=0&seq_len=8192&global_batch=16&\
            precision=bf16&adapter.method=qlora&adapter.rank=16"
    ),
    tuned!(
        "full-8b-8-h100",
        "8 x H100: Llama 3.1 8B, all weights, FSDP2",
        "stack=hf-trainer&model=llama-3.1-8b&gpu=h100-sxm-80gb&gpus=8&zero=3&seq_len=4096&micro_batch=2&\
            global_batch=64&precision=fsdp-mixed"
    ),
    tuned!(
        "full-32b-8-h100",
        "8 x H100: Qwen 3 32B, all weights, FSDP2 in bf16",
        "stack=torchtune&model=qwen-3-32b&gpu=h100-sxm-80gb&gpus=8&zero=3&seq_len=4096&global_batch=64&\
            precision=bf16-pure"
    ),
    tuned!(
        "full-70b-8-h100",
        "8 x H100: Llama 3.1 70B, all weights, states on the host",
        "stack=deepspeed&model=llama-3.1-70b&gpu=h100-sxm-80gb&gpus=8&host_memory_gib=2048&zero=3&seq_len=4096&\
            global_batch=64&precision=bf16&offload.optimizer=cpu"
    ),
];
