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

/// 3.91 GiB are 32,768 tokens of 32,064 words (128,256 over four tensor-parallel ranks) in fp32; with them the
/// 73.90 GiB are the tensors that are predicted for the run that it opens with; the other sizes are made up.
const MESSAGE: &str = "\
 iteration        3/    1000 | consumed samples:           96
[rank3]:   File \"megatron/core/models/gpt/gpt_model.py\", line 1, in compute_language_model_loss
[rank3]:   File \"megatron/core/tensor_parallel/cross_entropy.py\", line 1, in vocab_parallel_cross_entropy
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 3 has a total capacity of 79.19 \
GiB of which 2.13 GiB is free. Including non-PyTorch memory, this process has 77.06 GiB memory in use. Of the \
allocated memory 73.90 GiB is allocated by PyTorch, and 1.05 GiB is reserved by PyTorch but unallocated.
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
            // Depth 24 of its own models: rotary positions, squared ReLU, no biases, a head of its own.
            Self::Log => &[
                ("gpu.base", "h100-sxm-80gb"),
                ("gpus", "8"),
                ("tp", "1"),
                ("pp", "1"),
                ("model.name", "nanochat, depth 24"),
                ("model.layers", "24"),
                ("model.hidden", "1536"),
                ("model.heads", "12"),
                ("model.ffn", "6144"),
                ("model.gated_ffn", "false"),
                ("model.vocab", "32768"),
                ("seq_len", "2048"),
                ("micro_batch", "16"),
                ("global_batch", "256"),
            ],
            Self::Memory => &[
                ("model.base", "llama-3.1-8b"),
                ("gpu.base", "h100-sxm-80gb"),
                ("gpus", "4"),
                ("tp", "4"),
                ("pp", "1"),
                ("seq_len", "8192"),
                ("micro_batch", "4"),
                ("global_batch", "32"),
                ("fused_swiglu", "false"),
                ("recompute.layers", "7"),
            ],
        };
        let set: Vec<(&'static str, String)> = set.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        let mut run = Run::default();
        if self == Self::Log {
            // No published model: all shapes are its own.
            run.model.base = None;
        }
        run.with_texts(&set).unwrap_or_default()
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
    use shardscope_core::diagnose::{
        CauseId, Comparison, Diagnosis, MeasuredPart, Moment, StepShare, TraceLanes, out_of_memory,
    };
    use shardscope_core::report::evaluate;

    fn found(example: ExampleFile) -> (Run, Diagnosis) {
        let run = example.run();
        let found = diagnose(&[&example.evidence()], &run).unwrap();
        (run, found)
    }

    /// The run of each is what its card says, and no default in place of a key that is refused.
    #[test]
    fn every_example_has_a_run_of_its_own() {
        for example in ExampleFile::ALL {
            assert_ne!(example.run(), Run::default(), "{example:?}");
        }
        assert_eq!(ExampleFile::Log.run().model.title().to_string(), "nanochat, depth 24");
    }

    /// Kernels by class, the table of parts and the predicted lane are one prediction.
    #[test]
    fn a_part_has_one_prediction() {
        let (run, found) = found(ExampleFile::Trace);
        for share in [StepShare::Products, StepShare::Attention, StepShare::Others, StepShare::Optimizer] {
            let own = found.kernels.iter().filter(|row| {
                !row.class.is_message() && StepShare::of(MeasuredPart::Compute(row.class), false) == share
            });
            let (measured, predicted) =
                own.fold((0, 0.0), |sums, row| (sums.0 + row.measured_ns, sums.1 + row.predicted_s.unwrap_or(0.0)));
            let part = found.parts.iter().find(|part| part.name == share).unwrap();
            assert_eq!(measured, part.measured_ns, "{share:?}");
            let off = predicted / part.predicted_s.unwrap() - 1.0;
            assert!(off.abs() < 1e-9, "{share:?}: {predicted} in the table of kernels, {:?}", part.predicted_s);
        }
        let lanes = TraceLanes::predicted(&evaluate(&run).unwrap(), 0);
        let drawn: i64 = lanes.messages.iter().map(|span| span.end - span.begin).sum();
        let part = found.parts.iter().find(|part| part.name == StepShare::ExposedDp).unwrap();
        assert!((drawn as f64 * 1e-9 - part.predicted_s.unwrap()).abs() < 1e-6, "{drawn} {part:?}");
    }

    /// A change that can be tried lowers what is predicted for the rank of the message.
    #[test]
    fn a_change_that_is_offered_changes_the_prediction() {
        let (run, found) = found(ExampleFile::Memory);
        let memory = found.memory.as_ref().unwrap();
        assert_eq!(memory.rank, Some(3));
        // The message is of its run: what was allocated, and what was asked for, are the tensors that are predicted.
        let (held, asked) = (memory.message.allocated.unwrap(), memory.message.asked.unwrap());
        let tensors = memory.predicted_tensors().unwrap()[1];
        assert!(((held + asked) / tensors - 1.0).abs() < 0.005, "{held} {asked} {tensors}");
        assert!(found.causes.iter().all(|cause| cause.id != CauseId::AnotherSetting), "{:#?}", found.causes);
        let need = memory.need.unwrap()[1];
        let offered: Vec<_> = found.causes.iter().filter(|cause| !cause.set.is_empty()).collect();
        assert!(!offered.is_empty(), "{:#?}", found.causes);
        for cause in offered {
            let changed = run.with_texts(&cause.set).unwrap();
            let after = out_of_memory(memory.message.clone(), Some(&changed));
            assert!(after.need.unwrap()[1] < 0.995 * need, "{cause:#?}");
        }
        assert!(!found.read.is_empty());
    }

    /// What a file does not state is as on the page, also once the page's run has changed.
    #[test]
    fn a_file_without_settings_follows_the_run() {
        for example in [ExampleFile::Log, ExampleFile::Memory] {
            let (run, before) = found(example);
            let changed = run.with_texts(&[("recompute", "full".to_owned()), ("micro_batch", "2".to_owned())]).unwrap();
            let texts = [log(), MESSAGE.to_owned()];
            let text = &texts[usize::from(example == ExampleFile::Memory)];
            let after = diagnose(&[&example.evidence()], &changed).unwrap();
            assert_eq!(after, diagnose(&[&read(text.as_bytes(), &changed)], &changed).unwrap(), "{example:?}");
            assert_ne!(after, before, "{example:?}");
        }
    }

    /// Two spikes have one distance: no period, and no irregular distances.
    #[test]
    fn the_spikes_of_a_log_are_beside_its_median_step() {
        let (_, found) = found(ExampleFile::Log);
        let words: String = found.causes.iter().map(|cause| cause.evidence.to_string()).collect();
        assert!(!words.contains("irregular") && words.contains("2 spikes"), "{words}");
        let verdict = found.verdict.to_string();
        assert!(!verdict.contains("nothing to explain"), "{verdict}");
        assert_eq!(verdict.contains("2 of 7 steps are spikes"), found.comparison == Comparison::Inside, "{verdict}");
        // The reader's count is of the same 7 steps: 3 count, the first 2 do not, nor do the 2 spikes.
        let read: Vec<String> = found.read.iter().map(ToString::to_string).collect();
        let counted = "the median of 3; left out: 2 at the start, 2 of more than 1.5 times the median";
        assert!(read.join(" ").contains(counted), "{read:?}");
    }

    /// What the log's reader calls its step is the step of the verdict, of the chart and of the bars.
    #[test]
    fn a_log_has_one_step() {
        let (_, found) = found(ExampleFile::Log);
        let series = found.series.as_ref().unwrap();
        let step = shardscope_core::units::show_seconds(shardscope_core::units::Seconds(series.median_s));
        let read: Vec<String> = found.read.iter().map(ToString::to_string).collect();
        let read = read.join("\n");
        assert!(read.contains(&format!("{step} a step")), "{step}: {read}");
        assert!(found.verdict.to_string().contains(&format!("A step takes {step}:")), "{step}: {}", found.verdict);
        assert!((found.window_ns as f64 * 1e-9 - series.median_s).abs() < 1e-8);
    }

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
                    assert_eq!((memory.message.moment, memory.message.rank), (Some(Moment::Loss), Some(3)));
                    // 32,768 tokens of 32,064 words in fp32.
                    assert_eq!(memory.fingerprint.and_then(|what| what.tokens), Some(32_768.0));
                    // 3.91 were asked for, 2.13 free.
                    assert!((memory.short.unwrap() / f64::from(1u32 << 30) - 1.78).abs() < 0.01);
                }
            }
        }
    }
}
