//! Three files to try: a trace that was made from a prediction, a public log with spikes, a made message of an
//! allocator.

use super::{EvidenceFile, read};
use shardscope_core::diagnose::example_trace;
use shardscope_core::issue::Issue;
use shardscope_core::run::Run;
use shardscope_core::statics::named;

named! {
    /// An example to try, by the name of its file.
    pub enum ExampleFile: name {
        Trace = "made-trace.rank0",
        Log = "nanochat.log",
        Memory = "oom.txt",
    }
}

/// Steps of nanochat on 8 H100, milliseconds (pull request 477 of karpathy/nanochat).
const NANOCHAT_MS: [f64; 7] = [682.98, 681.35, 1350.44, 667.30, 688.45, 1355.74, 682.99];

/// 3.91 GiB are 32,768 tokens of 32,064 words (128,256 over four tensor-parallel ranks) in fp32; the other sizes are
/// made up.
const MESSAGE: &str = "\
 iteration        0/    1000 | consumed samples:            0
[rank192]:   File \"megatron/core/models/gpt/gpt_model.py\", line 1, in compute_language_model_loss
[rank192]:   File \"megatron/core/tensor_parallel/cross_entropy.py\", line 1, in vocab_parallel_cross_entropy
[rank192]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of 79.19 \
GiB of which 2.13 GiB is free. Including non-PyTorch memory, this process has 77.06 GiB memory in use. Of the \
allocated memory 73.90 GiB is allocated by PyTorch, and 1.31 GiB is reserved by PyTorch but unallocated.
";

impl ExampleFile {
    /// The run that it opens with.
    pub fn run(self) -> Run {
        let set: &[(&'static str, &str)] = match self {
            Self::Trace => &[
                ("model.base", "llama-3.1-8b"),
                ("gpu.base", "h100-sxm-80gb"),
                ("gpus", "64"),
                ("tp", "1"),
                ("pp", "1"),
                ("seq_len", "8192"),
                ("micro_batch", "1"),
                ("global_batch", "512"),
                ("zero", "1"),
                ("recompute", "full"),
            ],
            // Depth 24 of its own models.
            Self::Log => &[
                ("gpu.base", "h100-sxm-80gb"),
                ("gpus", "8"),
                ("tp", "1"),
                ("pp", "1"),
                ("model.base", "gpt-2-xl"),
                ("model.layers", "24"),
                ("model.hidden", "1536"),
                ("model.heads", "12"),
                ("model.ffn", "6144"),
                ("model.vocab", "32768"),
                ("seq_len", "2048"),
                ("micro_batch", "16"),
                ("global_batch", "256"),
            ],
            Self::Memory => &[
                ("model.base", "llama-3.1-70b"),
                ("gpu.base", "h100-sxm-80gb"),
                ("gpus", "256"),
                ("tp", "4"),
                ("pp", "4"),
                ("seq_len", "8192"),
                ("micro_batch", "4"),
                ("global_batch", "512"),
                ("recompute.layers", "17"),
            ],
        };
        let set: Vec<(&'static str, String)> = set.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        Run::default().with_texts(&set).unwrap_or_default()
    }

    /// What it holds.
    ///
    /// # Errors
    /// As [`read`].
    pub fn evidence(self) -> Result<EvidenceFile, Vec<Issue>> {
        let run = self.run();
        match self {
            Self::Trace => Ok(EvidenceFile::Trace(Box::new(example_trace(&run)?), Vec::new())),
            Self::Log => read(log().as_bytes(), &run),
            Self::Memory => read(MESSAGE.as_bytes(), &run),
        }
    }
}

/// The published steps as lines of nanochat.
fn log() -> String {
    let lines = NANOCHAT_MS.iter().enumerate().map(|(at, ms)| {
        let (step, rate) = (at + 1, 524_288.0 / ms * 1e3);
        format!("step {step:05}/16704 (0.01%) | loss: 3.000000 | lrm: 1.00 | dt: {ms:.2}ms | tok/sec: {rate:.0}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::diagnose;
    use shardscope_core::diagnose::{CauseId, Comparison, Moment};

    /// Each opens, with a run that works and the cause that was put in or that its thread names.
    #[test]
    fn every_example_opens_with_its_cause() {
        for (example, first) in [
            (ExampleFile::Trace, CauseId::GradReduceLate),
            (ExampleFile::Log, CauseId::HostPause),
            (ExampleFile::Memory, CauseId::Logits),
        ] {
            let (run, file) = (example.run(), example.evidence());
            let found = diagnose(&[&file], &run).unwrap();
            assert_eq!(found.causes.first().map(|cause| cause.id), Some(first), "{example:?}: {:#?}", found.causes);
            match example {
                ExampleFile::Trace => assert_eq!(found.comparison, Comparison::Longer, "{}", found.verdict),
                ExampleFile::Log => assert!(found.predicted_s.is_some(), "{}", found.verdict),
                ExampleFile::Memory => {
                    let memory = found.memory.unwrap();
                    assert_eq!((memory.message.moment, memory.message.rank), (Some(Moment::Loss), Some(192)));
                    // 32,768 tokens of 32,064 words in fp32.
                    assert_eq!(memory.fingerprint.and_then(|what| what.tokens), Some(32_768.0));
                    // 3.91 were asked for, 2.13 free.
                    assert!((memory.short.unwrap() / f64::from(1u32 << 30) - 1.78).abs() < 0.01);
                }
            }
        }
    }
}
