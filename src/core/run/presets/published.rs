//! Published training runs: the run, as a link, and what its authors measured.
//!
//! Settings that a source does not print follow its software; `assumed` lists them.

use crate::issue::Issue;
use crate::message::Message;
use crate::run::Run;
use crate::source::{
    BIGSCIENCE, DEEPSEEK_V3, EPOCH, FUJII_2024, KORTHIKANTI_2022, LLAMA_2, LLAMA_3, METASEQ, NARAYANAN_2021, Source,
    UNEVEN_PP,
};
use crate::units::Seconds;

/// A figure that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// Seconds a step.
    Step(f64),
    /// Model TFLOP/s a GPU.
    Tflops(f64),
    /// TFLOP/s a GPU with what recomputation executes.
    HardwareTflops(f64),
    /// Model FLOP/s over the peak.
    Mfu(f64),
    /// FLOP/s with what recomputation executes, over the peak.
    Hfu(f64),
    /// Tokens a second and GPU.
    Tokens(f64),
    /// GPU-hours of the whole training, tokens over speed.
    GpuHours(f64),
    /// Days from the first step to the last token.
    Days(f64),
    /// GPU-hours from the first step to the last token.
    JobHours(f64),
    /// Interruptions, and the days in which they were counted.
    Interruptions(f64, f64),
    /// Hours of running between two interruptions.
    HoursToInterrupt(f64),
    /// Share of the calendar that trains.
    Productive(f64),
    /// Time to train of MLPerf.
    ToTrain {
        /// Minutes from the first sample to the target.
        minutes: f64,
        /// Sequences until then.
        samples: f64,
        /// Evaluations until then.
        evaluations: f64,
        /// Sequences of an evaluation.
        set: f64,
    },
}

/// A run that was published.
#[derive(Clone, Copy, Debug)]
pub struct PublishedRun {
    /// Never changes.
    pub id: &'static str,
    pub name: &'static str,
    pub source: &'static Source,
    /// Table or section there.
    pub place: &'static str,
    /// Its settings, as links have them: those that it shares with others, and its own.
    pub settings: &'static [&'static str],
    pub measured: &'static [Measured],
    /// Settings that the source leaves open, with the values that are taken.
    pub assumed: &'static [&'static str],
}

impl PublishedRun {
    /// What the source leaves open, in words; empty where it leaves nothing.
    pub fn assumed_words(&self) -> Message {
        Message::joined("; ", self.assumed.iter().copied().map(Message::from))
    }
    pub fn run(&self) -> Run {
        read(self.settings).0
    }
    /// The step that was measured.
    pub fn step(&self) -> Option<Seconds> {
        self.measured.iter().find_map(|figure| match figure {
            Measured::Step(seconds) => Some(Seconds(*seconds)),
            _ => None,
        })
    }
}

/// The Run of settings as links have them, and what of them cannot be read.
pub(super) fn read(settings: &[&str]) -> (Run, Vec<Issue>) {
    let pairs = settings.iter().flat_map(|some| some.split('&')).filter_map(|pair| pair.split_once('='));
    let pairs: Vec<_> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Run::from_pairs(&pairs)
}

/// What settings as links have them say of `key`.
pub(super) fn said<'a>(settings: &[&'a str], key: &str) -> Option<&'a str> {
    let mut pairs = settings.iter().flat_map(|some| some.split('&')).filter_map(|pair| pair.split_once('='));
    pairs.rfind(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Settings that the three phases of Llama 3 share: a layer a stage, embedding and head on stages of their own, FSDP
/// that shards optimizer states and gradients and not the weights (section 3.3.2).
const LLAMA_3_PHASES: &str = "stack=megatron-2024&model=llama-3.1-405b&gpu=h100-sxm-80gb&tp=8&pp=16&zero=2&\
    zero2_reduce=group&cp_comm=all-gather&schedule=interleaved-1f1b&virtual_stages=8&stage_layers=0,\
    1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,\
    1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,\
    1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,\
    0";

/// Settings that the GPT models of Megatron-LM share.
const MEGATRON_GPT: &str = "model.vocab=51200&model.gated_ffn=false&model.tied_embeddings=true&model.norm=layernorm&\
    model.biases=all&model.dropout=true&model.learned_positions=2048&gpu.base=a100-sxm-80gb&gpu.inter_gb_per_s=25&\
    seq_len=2048&zero=0&stack=megatron-2021";

/// Qwen2-VL's size behind the vision tower that the note on uneven pipelines draws, on four H20.
const QWEN_2_VL: &str = "stack=megatron-2024&model.name=Qwen2-VL 7B&model.layers=28&model.hidden=3584&\
    model.ffn=18944&model.heads=28&model.vocab=152064&model.gated_ffn=false&model.norm=layernorm&\
    model.biases=all&model.vision.image_width=224&model.vision.image_height=224&model.vision.hidden=4096&\
    model.vision.ffn=16384&model.vision.layers=28&gpu=h20-sxm-96gb&gpus=4&tp=2&pp=2&seq_len=1024&micro_batch=1&\
    global_batch=32&precision=bf16";

const LLAMA_OPEN: &str = "Meta's own software, taken for Megatron-LM of 2024; micro-batches of one sequence in groups \
    of 16, where the paper leaves N open; gradients accumulate in fp32 over a group and FSDP shards them (section \
    3.3.2); every input of norm, SwiGLU and linear is kept, which with the 141 layers in flight of 32 micro-batches, \
    and with 16 ranks of context parallelism, is more than fits: what else was freed is not printed (a fused SwiGLU \
    that keeps no input of the down projection, as in xformers, would bring both below 79 GiB)";
const GPT_OPEN: &str = "fp32 gradients, as Megatron-LM keeps them; 200 Gb/s of network a GPU";
const FUJII_OPEN: &str = "the cluster's network a GPU, and a data loader that the measured steps do not contradict";
const VISION_OPEN: &str = "28 layers of Qwen2-VL's size behind a tower of width 4096, as the note draws them, and one \
    image of 224 x 224 a sample; the measured step uses about a tenth of the peak of four H20, so it has time that \
    the note does not describe (more images a sample, loading of data, kernels), and none is added here";

pub static PUBLISHED: &[PublishedRun] = &[
    PublishedRun {
        id: "llama-3-405b-8k-gpus",
        name: "Llama 3 405B, 8192 GPUs",
        source: &LLAMA_3,
        place: "table 4",
        settings: &[LLAMA_3_PHASES, "gpus=8192&seq_len=8192&global_batch=2048"],
        measured: &[Measured::Tflops(430.0), Measured::Mfu(0.43)],
        assumed: &[LLAMA_OPEN],
    },
    PublishedRun {
        id: "llama-3-405b-16k-gpus",
        name: "Llama 3 405B, 16 384 GPUs",
        source: &LLAMA_3,
        place: "table 4",
        settings: &[LLAMA_3_PHASES, "gpus=16384&seq_len=8192&global_batch=2048"],
        measured: &[Measured::Tflops(400.0), Measured::Mfu(0.41)],
        assumed: &[LLAMA_OPEN],
    },
    PublishedRun {
        id: "llama-3-405b-long",
        name: "Llama 3 405B, 131 072 tokens",
        source: &LLAMA_3,
        place: "table 4",
        settings: &[LLAMA_3_PHASES, "gpus=16384&cp=16&seq_len=131072&global_batch=128&attention_flops=full"],
        measured: &[Measured::Tflops(380.0), Measured::Mfu(0.38)],
        assumed: &["as at 8192 tokens; attention counted over the full square"],
    },
    PublishedRun {
        id: "deepseek-v3",
        name: "DeepSeek-V3, 2048 H800",
        source: &DEEPSEEK_V3,
        place: "sections 1, 3 and 4.2",
        settings: &[
            "model=deepseek-v3&gpu=h800-sxm-80gb&gpus=2048&tp=1&pp=16&ep=64&zero=1&schedule=dualpipe&seq_len=4096&\
                global_batch=15360&tokens_total=14.8T&precision.base=deepseek-fp8&precision.grads=0&\
                recompute.modules=norm,moe_act,mla_up&fp8_activations=true&stack=deepseek-v3",
        ],
        measured: &[Measured::Tokens(1543.2), Measured::GpuHours(2_664_000.0)],
        assumed: &[
            "micro-batches of one sequence; the all-to-all may hide behind all linears; gradients are kept once, \
            in fp32 (section 3.3.3); without the multi-token-prediction module; tokens a second from 180 K GPU-hours \
            a trillion tokens",
        ],
    },
    PublishedRun {
        id: "gpt-3-175b-korthikanti",
        name: "GPT-3 175B, 64 A100",
        source: &KORTHIKANTI_2022,
        place: "tables 3 and 5",
        settings: &[
            MEGATRON_GPT,
            "model.layers=96&model.hidden=12288&model.ffn=49152&model.heads=96&gpus=64&tp=8&pp=8&\
                schedule=interleaved-1f1b&virtual_stages=3&global_batch=64&recompute=selective&attention_flops=full&\
                overlap.dp=0.8&overlap.tp=0.3",
        ],
        measured: &[Measured::Step(13.75), Measured::Mfu(0.514), Measured::Hfu(0.528)],
        assumed: &[GPT_OPEN],
    },
    PublishedRun {
        id: "gpt-3-175b-full-recompute",
        name: "GPT-3 175B, full recomputation",
        source: &KORTHIKANTI_2022,
        place: "tables 3 and 5",
        settings: &[
            MEGATRON_GPT,
            "model.layers=96&model.hidden=12288&model.ffn=49152&model.heads=96&gpus=64&tp=8&pp=8&\
                sequence_parallel=false&schedule=interleaved-1f1b&virtual_stages=3&global_batch=64&recompute=full&\
                attention_flops=full&overlap.dp=0.8&overlap.tp=0.3",
        ],
        measured: &[Measured::Step(18.13)],
        assumed: &[GPT_OPEN],
    },
    PublishedRun {
        id: "megatron-530b",
        name: "Megatron 530B, 280 A100",
        source: &KORTHIKANTI_2022,
        place: "tables 3 and 5",
        settings: &[
            MEGATRON_GPT,
            "model.layers=105&model.hidden=20480&model.ffn=81920&model.heads=128&gpus=280&tp=8&pp=35&\
                schedule=interleaved-1f1b&virtual_stages=3&global_batch=280&recompute=selective&attention_flops=full&\
                overlap.dp=0.8&overlap.tp=0.3",
        ],
        measured: &[Measured::Step(37.83), Measured::Mfu(0.56), Measured::Hfu(0.57)],
        assumed: &[GPT_OPEN],
    },
    PublishedRun {
        id: "megatron-1t",
        name: "Megatron 1T, 512 A100",
        source: &KORTHIKANTI_2022,
        place: "tables 3 and 5",
        settings: &[
            MEGATRON_GPT,
            "model.layers=128&model.hidden=25600&model.ffn=102400&model.heads=160&gpus=512&tp=8&pp=64&\
                global_batch=512&recompute=selective&attention_flops=full&overlap.dp=0.8&overlap.tp=0.3",
        ],
        measured: &[Measured::Step(71.49), Measured::Mfu(0.563), Measured::Hfu(0.57)],
        assumed: &[GPT_OPEN],
    },
    PublishedRun {
        id: "megatron-1t-3072",
        name: "Megatron 1T, 3072 A100",
        source: &NARAYANAN_2021,
        place: "table 1",
        settings: &[
            MEGATRON_GPT,
            "model.layers=128&model.hidden=25600&model.ffn=102400&model.heads=160&gpus=3072&tp=8&pp=64&\
                sequence_parallel=false&global_batch=3072&recompute=full&attention_flops=full",
        ],
        measured: &[Measured::HardwareTflops(163.0), Measured::Hfu(0.52)],
        assumed: &["fp32 gradients; nothing overlaps, as in Megatron-LM of 2021"],
    },
    PublishedRun {
        id: "fujii-8b-a100",
        name: "Fujii: Llama 8B, 64 A100 40 GB",
        source: &FUJII_2024,
        place: "table 3",
        settings: &[
            "stack=megatron-2024&model=llama-3.1-8b&gpu.base=a100-sxm-40gb&gpu.inter_gb_per_s=12.5&gpus=64&tp=2&pp=2&\
                global_batch=1024&loader_ns=2.75",
        ],
        measured: &[Measured::Step(37.58)],
        assumed: &[FUJII_OPEN],
    },
    PublishedRun {
        id: "fujii-8b-h100",
        name: "Fujii: Llama 8B, 64 H100 94 GB",
        source: &FUJII_2024,
        place: "table 4",
        settings: &[
            "stack=megatron-2024&model=llama-3.1-8b&gpu.base=h100-sxm-94gb&gpu.inter_gb_per_s=25&gpus=64&tp=1&pp=1&\
                cp=2&global_batch=1024&loader_ns=3",
        ],
        measured: &[Measured::Step(15.70)],
        assumed: &[FUJII_OPEN],
    },
    PublishedRun {
        id: "qwen2-vl-even",
        name: "Qwen2-VL 7B on H20, 14 and 14 layers",
        source: &UNEVEN_PP,
        place: "table of steps",
        settings: &[QWEN_2_VL, "stage_layers=14,14"],
        measured: &[Measured::Step(28.3887)],
        assumed: &[VISION_OPEN],
    },
    PublishedRun {
        id: "qwen2-vl-uneven",
        name: "Qwen2-VL 7B on H20, 10 and 18 layers",
        source: &UNEVEN_PP,
        place: "table of steps",
        settings: &[QWEN_2_VL, "stage_layers=10,18"],
        measured: &[Measured::Step(19.6071)],
        assumed: &[VISION_OPEN],
    },
];

/// Runs that were published from the first step to the last token (`tests/data/whole_run.csv`).
pub static WHOLE_RUNS: &[PublishedRun] = &[
    PublishedRun {
        id: "whole-llama-3-405b",
        name: "Llama 3.1 405B, 15.6 T tokens",
        source: &LLAMA_3,
        place: "table 5, model card; days: Epoch AI",
        settings: &[LLAMA_3_PHASES, "gpus=16384&seq_len=8192&global_batch=2048&tokens_total=15.6T&failures=vetted"],
        measured: &[
            Measured::JobHours(30_840_000.0),
            Measured::Days(2142.0 / 24.0),
            Measured::Interruptions(419.0, 54.0),
        ],
        assumed: &["the run at 8192 tokens throughout, vetted nodes (the class holds this row), automatic restarts; \
            30.84 M GPU-hours on 16 384 GPUs are 78 days, the 89 of the table hold more than this job"],
    },
    PublishedRun {
        id: "whole-bloom",
        name: "BLOOM 176B, 366 B tokens",
        source: &BIGSCIENCE,
        place: "chronicles, launch script; days: Epoch AI",
        settings: &[
            "model.layers=70&model.hidden=14336&model.heads=112&model.kv_heads=112&model.ffn=57344&model.vocab=250880&\
                model.gated_ffn=false&model.biases=all&model.norm=layernorm&model.tied_embeddings=true",
            "gpu.base=a100-sxm-80gb&gpu.inter_gb_per_s=6.25&gpu.intra_gb_per_s=100&gpus=384&tp=4&pp=12&zero=1&\
                sequence_parallel=false&seq_len=2048&micro_batch=2&global_batch=2048&recompute=full&stage_layers=5,6,\
                6,6,6,6,6,6,6,6,6,5&stack=megatron-2021",
            "tokens_total=366e9&operation=manual&storage_gb_per_s=60&checkpoint_async=false&checkpoint_every_s=10550&\
                batch_ramp=192,16,9765625",
        ],
        measured: &[Measured::Step(105.5), Measured::Days(2808.0 / 24.0), Measured::Productive(0.93)],
        assumed: &[
            "nodes of an unknown class, a person is called; 93 % are those of 12 April to 4 July 2022, after the \
            ramp; rotary positions in place of ALiBi; links of Jean Zay as its model card has them: four 100 Gb/s \
            cards and four of twelve NVLinks",
        ],
    },
    PublishedRun {
        id: "whole-opt-175b",
        name: "OPT-175B, 300 B tokens",
        source: &METASEQ,
        place: "final_update; opt_baselines.py; rate and GPUs: arXiv 2205.01068, section 2.4; time to interrupt: \
            Lockwood",
        settings: &[
            "model.layers=96&model.hidden=12288&model.heads=96&model.kv_heads=96&model.ffn=49152&model.vocab=50272&\
                model.gated_ffn=false&model.biases=all&model.norm=layernorm&model.tied_embeddings=true&\
                model.learned_positions=2048&model.dropout=true",
            "gpu=a100-sxm-80gb&gpus=992&tp=8&pp=1&zero=3&overlap.dp=0.8&sequence_parallel=false&seq_len=2048&\
                micro_batch=8&global_batch=992&precision=fp16&recompute=full&attention_flops=full&stack=megatron-2021",
            "tokens_total=300e9&failures=shared&operation=manual",
        ],
        measured: &[Measured::HardwareTflops(147.0), Measured::Days(56.0), Measured::HoursToInterrupt(7.5)],
        assumed: &[
            "one micro-batch of 8 sequences a step, as the launcher divides 2 M tokens (992 GPUs and 4 hosts of \
            reserve are the 1,024 of the chronicles); layers of Megatron-LM under FSDP, whose messages overlap as \
            FSDP's do; weights are gathered again for the backward pass, where the launcher that was released keeps \
            them (a second a step less here; for that it shares the kept inputs of layers among tensor-parallel ranks, \
            which cannot be set); a person is called; the class of shared nodes holds this row; the 56 days also \
            hold rollbacks, holidays and a cluster that was deleted",
        ],
    },
    PublishedRun {
        id: "whole-falcon-40b",
        name: "Falcon-40B, 1 T tokens",
        source: &EPOCH,
        place: "Falcon-40B, two months; model card",
        settings: &[
            "model.layers=60&model.hidden=8192&model.heads=128&model.kv_heads=8&model.ffn=32768&model.vocab=65024&\
                model.gated_ffn=false&model.norm=layernorm&model.tied_embeddings=true",
            "gpu.base=a100-sxm-40gb&gpu.inter_gb_per_s=6.25&gpus=384&tp=8&pp=4&zero=1&seq_len=2048&micro_batch=1&\
                global_batch=1152&stack=megatron-2024&tokens_total=1e12&batch_ramp=96,96,48828125",
        ],
        measured: &[Measured::Days(1440.0 / 24.0)],
        assumed: &["TP 8, PP 4, DP 12, a batch of 1152 and a ramp over 100 B tokens as its model card has them; the \
            ramp's start of 96, micro-batches of one sequence, nothing recomputed; 50 Gb/s of network a GPU; nodes of \
            an unknown class"],
    },
    PublishedRun {
        id: "whole-llama-2-70b",
        name: "Llama 2 70B, 2 T tokens",
        source: &LLAMA_2,
        place: "table 2; model card",
        settings: &[
            "model.layers=80&model.hidden=8192&model.heads=64&model.kv_heads=8&model.ffn=28672&model.vocab=32000",
            "gpu=a100-sxm-80gb&gpus=1024&tp=8&pp=2&zero=1&seq_len=4096&micro_batch=1&global_batch=1024&\
                stack=megatron-2024&tokens_total=2e12&failures=shared",
        ],
        measured: &[Measured::JobHours(1_720_320.0)],
        assumed: &[
            "number of GPUs, layout and software, nothing recomputed; a batch of 4 M tokens as printed; Meta's \
            research cluster, whose nodes are shared",
        ],
    },
    PublishedRun {
        id: "whole-tinyllama",
        name: "TinyLlama 1.1B, 3 T tokens",
        source: &EPOCH,
        place: "TinyLlama-1.1B (3T token checkpoint), 90 days; README and pretrain/tinyllama.py",
        settings: &[
            "model.layers=22&model.hidden=2048&model.heads=32&model.kv_heads=4&model.ffn=5632&model.vocab=32000",
            "gpu=a100-sxm-40gb&gpus=16&tp=1&pp=1&zero=3&seq_len=2048&micro_batch=8&global_batch=1024&\
                precision=fsdp-mixed&fused_swiglu=true&stack=hf-fused&tokens_total=3e12",
        ],
        measured: &[Measured::Days(2160.0 / 24.0), Measured::Tokens(24_000.0)],
        assumed: &["its own loop under Lightning, taken for Hugging Face's with the same fused kernels: FSDP that \
            shards all, bf16-mixed, gradients summed whole over the eight micro-batches; nodes of an unknown class; \
            the 90 days are its 24 K tokens a second without a loss"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Scenario;

    /// "16 M tokens a batch" in all three phases; data parallel 64, 128 and 8 (Llama 3, table 4).
    #[test]
    fn the_phases_of_llama_3_have_the_batches_that_were_printed() {
        for (published, dp) in PUBLISHED.iter().zip([64, 128, 8]) {
            let scenario = Scenario::new(&published.run()).unwrap();
            assert_eq!(scenario.layout.dp, dp);
            assert_eq!(scenario.tokens_per_step(), f64::from(1 << 24));
        }
    }

    /// 22, 175, 530 and 1008 billion parameters, as the papers title them.
    #[test]
    fn the_models_of_megatron_have_the_sizes_of_their_names() {
        for (id, billions) in [("gpt-3-175b-korthikanti", 175.0), ("megatron-530b", 530.0), ("megatron-1t", 1008.0)] {
            let published = PUBLISHED.iter().find(|published| published.id == id).unwrap();
            let model = published.run().model.resolve().unwrap();
            let ours = model.elements().total() as f64 / 1e9;
            assert!((ours / billions - 1.0).abs() < 0.01, "{id}: {ours}");
        }
    }
}
