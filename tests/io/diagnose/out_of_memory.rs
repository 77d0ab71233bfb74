//! Messages of an allocator beside the run on the page: the rank that is compared.

use crate::common::run_with;
use shardscope::core::diagnose::{Diagnosis, MemoryFound};
use shardscope::core::memory::StageMemory;
use shardscope::core::run::Run;
use shardscope::io::evidence::{diagnose, read};

/// Frames of Megatron-LM's loss, which converts the logits to fp32 (`megatron/core/tensor_parallel/cross_entropy.py`).
const LOSS: &str = "  File \"megatron/core/models/gpt/gpt_model.py\", line 249, in forward\n    loss = \
    self.compute_language_model_loss(labels, logits)\n  File \"megatron/core/tensor_parallel/cross_entropy.py\", line \
    38, in calculate_logits_max\n    vocab_parallel_logits = vocab_parallel_logits.float()\n";

/// A message of PyTorch's: asked for, free, in use, allocated, and reserved but unallocated, GiB.
fn message([asked, free, used, allocated, unused]: [&str; 5]) -> String {
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked} GiB. GPU 3 has a total capacity of \
         79.11 GiB of which {free} GiB is free. Including non-PyTorch memory, this process has {used} GiB memory in \
         use. Of the allocated memory {allocated} GiB is allocated by PyTorch, and {unused} GiB is reserved by \
         PyTorch but unallocated.\n"
    )
}

/// 8,192 tokens of 64,128 words in fp32.
const ONE: [&str; 5] = ["1.96", "1.20", "77.91", "66.10", "9.80"];

fn found(text: &str, run: &Run) -> (Diagnosis, MemoryFound) {
    let diagnosis = diagnose(&[&read(text.as_bytes(), run)], run).unwrap();
    let memory = diagnosis.memory.clone().unwrap();
    (diagnosis, memory)
}

fn ranks(run: &Run) -> Vec<StageMemory> {
    shardscope::core::report::report(run).unwrap().memory.per_stage
}

/// 64 H100 with four pipeline ranks of Llama 3.1 8B: the last alone computes logits, the first is the fullest. A
/// message about logits, by size or by frames, is of the last; one that names a rank is of that rank.
#[test]
fn logits_are_compared_with_a_rank_that_has_logits() {
    let run = run_with(&[("stack.base", "megatron-2025")]);
    let ranks = ranks(&run);
    let [first, last] = [&ranks[0], &ranks[3]].map(|rank| rank.total.0);
    assert!(first > 1.05 * last, "{first} {last}");
    let compared = |text: &str| {
        let (diagnosis, memory) = found(text, &run);
        let read: Vec<String> = diagnosis.read.iter().map(ToString::to_string).collect();
        (memory.need.unwrap()[1], read.join(" "))
    };
    let by_size = message(ONE);
    // No tensor of the run has 0.31 GiB.
    let by_frames = format!("{LOSS}{}", message(["0.31", "0.20", "77.91", "66.10", "9.80"]));
    for text in [&by_size, &by_frames, &format!("{LOSS}{by_size}")] {
        let (need, read) = compared(text);
        assert!((need / last - 1.0).abs() < 1e-9, "{need} {last} {text}");
        assert!(read.contains("pipeline rank 3"), "{read}");
    }
    let (need, read) = compared(&message(["0.31", "0.20", "77.91", "66.10", "9.80"]));
    assert!((need / first - 1.0).abs() < 1e-9 && read.contains("the fullest rank"), "{need} {first} {read}");
    let (need, read) = compared(&format!("[rank0]: {}", message(ONE)));
    assert!((need / first - 1.0).abs() < 1e-9 && read.contains("rank 0 of the run"), "{need} {first} {read}");
}
