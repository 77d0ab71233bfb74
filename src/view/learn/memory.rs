//! Memory of a GPU: what must be there, what a micro-batch leaves behind, and what recomputation gives back.

use super::bars::part;
use super::tensors;
use crate::learn::prelude::*;
use shardscope_core::memory::methods::he::CHECKPOINTED;
use shardscope_core::run::Optimizer;
use shardscope_core::run::precision::{POLICIES, PrecisionPolicy};
use shardscope_core::source::{FP8_LM, FUJII_2024, KORTHIKANTI_2022, MEGATRON, PLAYBOOK};
use shardscope_core::units::GIB;

const N: Slider = slider("N", "billions of parameters", &[1, 3, 8, 70, 405], 2);
const B: Slider = slider("b", "sequences of a micro-batch", &[1, 2, 4], 0);

pub(super) const LESSON: Lesson = Lesson {
    id: "memory",
    title: "Memory of a GPU",
    about: "weights, gradients, optimizer states, activations",
    steps: &[
        LessonStep {
            id: "states",
            title: "States: bytes per parameter",
            sliders: &[N],
            live: states,
            source: (&FUJII_2024, "section 3"),
            on_run: (Gauge::Held(Component::Optimizer), &[("precision.moment1", "2"), ("precision.moment2", "2")]),
        },
        LessonStep {
            id: "precisions",
            title: "Precisions: which bytes can go",
            sliders: &[N],
            live: precisions,
            source: (&FP8_LM, "section 3"),
            on_run: (Gauge::Peak, &[("precision", "bf16")]),
        },
        LessonStep {
            id: "activations",
            title: "Activations: what a layer keeps",
            sliders: &[SEQUENCE, B.over(&[1, 2, 4], 2)],
            live: activations,
            source: (&KORTHIKANTI_2022, "section 4"),
            on_run: (Gauge::Held(Component::Activations), &[("micro_batch", "2")]),
        },
        LessonStep {
            id: "layer",
            title: "A layer with its tensors",
            sliders: &[TENSOR],
            live: tensors::layer,
            source: (&KORTHIKANTI_2022, "section 4, table 2"),
            on_run: (Gauge::Held(Component::Activations), &[("tp", "8")]),
        },
        LessonStep {
            id: "scores",
            title: "Attention scores: the square",
            sliders: &[SEQUENCE],
            live: scores,
            source: (&KORTHIKANTI_2022, "section 4.1"),
            on_run: (Gauge::Held(Component::Activations), &[("flash_attention", "false")]),
        },
        LessonStep {
            id: "recomputation",
            title: "Recomputation: time for memory",
            sliders: &[SEQUENCE],
            live: recompute,
            source: (&KORTHIKANTI_2022, "section 5"),
            on_run: (Gauge::Held(Component::Activations), &[("recompute", "full")]),
        },
        LessonStep {
            id: "logits",
            title: "Logits: a number per word",
            sliders: &[SEQUENCE, TENSOR],
            live: logits,
            source: (&MEGATRON, "vocab-parallel cross entropy"),
            on_run: (Gauge::Held(Component::Buffers), &[("cross_entropy", "megatron")]),
        },
        LessonStep {
            id: "fit",
            title: "Does it fit?",
            sliders: &[SEQUENCE.over(&[2048, 4096, 8192, 16_384, 32_768], 3), TENSOR],
            live: fits,
            source: (&PLAYBOOK, "memory"),
            on_run: (Gauge::Peak, &[("pp", "1")]),
        },
    ],
};

/// Weights, gradients and optimizer states of `parameters` under a policy.
fn held(policy: &PrecisionPolicy, parameters: f64) -> Bar {
    let bytes = policy.bytes;
    let optimizer = bytes.optimizer(Optimizer::Adam);
    let each = [bytes.weights, bytes.gradients(), optimizer];
    let name = Message::from(policy.choice.label);
    Bar::new(name, each.map(|each| each * parameters))
}

fn policies(dials: &Dials, ids: &[&str]) -> Vec<Bar> {
    let parameters = dials.get("N") as f64 * 1e9;
    let named = ids.iter().filter_map(|id| POLICIES.iter().find(|policy| policy.choice.id == *id));
    named.map(|policy| held(policy, parameters)).collect()
}

fn product(bytes: f64, dials: &Dials) -> String {
    let (n, each) = (dials.get("N"), significant(bytes, 3));
    format!("{each} · {n} · 10⁹ = {}", gib(bytes * n as f64 * 1e9))
}

fn states(dials: &Dials) -> Live {
    let bars = policies(dials, &["bf16-fp32-grads"]);
    let total: f64 = bars.iter().map(Bar::total).sum();
    let each = total / (dials.get("N") as f64 * 1e9);
    // The master copy and two averages, each in four bytes.
    let optimizer = bars[0].values[2] / total * each;
    let note = t!(
        "Of them {bytes} bytes are the optimizer's, {numbers} numbers per weight: {numbers} h² for a matrix of \
            h × h. The playbook's appendix prints {printed} h².",
        bytes = number(optimizer, 3),
        numbers = number(optimizer / 4.0, 3),
        printed = 6_u8
    );
    Live::of([
        t!(
            "Training holds more than the weights. Adam keeps two averages per parameter, and mixed precision keeps \
                the weights a second time in {high}, because small updates vanish in {low}.",
            high = "fp32",
            low = "bf16"
        ),
        t!(
            "With gradients in {high} that makes {each} bytes per parameter. Only {weights} of them are the weights \
                that compute. None of it depends on the batch.",
            high = "fp32",
            each = number(each, 3),
            weights = number(bars[0].values[0] / total * each, 3)
        ),
    ])
    .below("weights, gradients and optimizer states", total, usable(), gib)
    .formula("M = bytes · N", product(each, dials))
    .compared(note)
    .memory(&bars)
}

fn precisions(dials: &Dials) -> Live {
    let bars = policies(dials, &["playbook-20", "bf16-fp32-grads", "bf16", "deepseek-fp8", "fp8-lm"]);
    let totals: Vec<f64> = bars.iter().map(Bar::total).collect();
    let parameters = dials.get("N") as f64 * 1e9;
    let (most, least) = (totals[0] / parameters, totals[totals.len() - 1] / parameters);
    Live::of([
        t!(
            "Each of these numbers can take fewer bytes: gradients in half precision, moments in half precision or \
                eight bits. Recipes in use range from {most} to {least} bytes per parameter.",
            most = number(most, 3),
            least = number(least, 3)
        ),
        t!("The cost is the accuracy of the update, so large runs keep master weights in full precision. Sharding, \
                in a later lesson, saves more and changes no number."),
    ])
    .below("the states of the first recipe", totals[0], usable(), gib)
    .formula("M = bytes · N", product(least, dials))
    .memory(&bars)
}

const MODEL: &str = "llama-3.1-8b";

/// Attention that writes its scores.
const STORED: &str = "&flash_attention=false";

/// The model on one GPU of eight copies.
fn settings(s: u64, more: &str) -> String {
    format!("model={MODEL}&gpus=8&tp=1&pp=1&global_batch=64&seq_len={s}{more}")
}

/// In words: the parts of the bars of this model beside the part that a step is about.
fn whole_gpu() -> Message {
    t!("The bars are one of 8 GPUs with a copy of the model each, the optimizer's states sharded over them (ZeRO-1).")
}

/// The layer that the formula is of, and the factor of the bars' model, from `kept` bytes on one GPU with all layers.
fn original_layer(kept: f64, tokens: u64) -> Message {
    let units = model(MODEL).map_or(1.0, |model| (model.hidden * model.layers) as f64 * tokens as f64);
    t!(
        "Per layer, for the original transformer. {model} keeps {factor} s b h: no dropout and fewer keys and values, \
            but a gated FFN.",
        model = verbatim("Llama 3.1 8B"),
        factor = number(kept / units, 2)
    )
}

/// Why the ratio of the bars is not that of the formula.
fn without_dropout(formula: f64, bars: f64) -> Message {
    t!(
        "Of the {all} bytes of a score {dropped} are those of a dropout, which {model} does not have: with the {kept} \
            of the softmax the ratio is {left}. The bars, with what a GPU keeps beside its layers, have {bars}.",
        all = number(SCORES, 2),
        dropped = number(SCORES - SOFTMAX, 2),
        model = verbatim("Llama 3.1 8B"),
        kept = number(SOFTMAX, 2),
        left = three(formula * SOFTMAX / SCORES),
        bars = three(bars)
    )
}

/// GiB with two decimals, where the mark lies within a tenth of what there is.
fn finely(bytes: f64) -> String {
    format!("{:.2} GiB", bytes / GIB)
}

fn three(value: f64) -> String {
    number(value, 3)
}

fn of(name: impl Into<Message>, s: u64, more: &str) -> Option<Bar> {
    Bar::memory(name, &settings(s, more))
}

/// Bytes of activations that a layer of Korthikanti's model keeps for a token, in units of `h`, without scores; and
/// those of scores, in units of `a s`.
const KORTHIKANTI: f64 = 34.0;
const SCORES: f64 = 5.0;
/// Those of `SCORES` that stay without a dropout on them: the softmax's output. The others are its mask, 1, and what it
/// gives, 2. Source: Korthikanti 2022, section 4.1.
const SOFTMAX: f64 = 2.0;

/// Activations of Llama 3 405B as Pengfei He's blog counts them, for 16 sequences of 131,072 tokens, in TB: without
/// stored scores, with them, and as the blog prints it, with `s` where its formula has `s²`.
fn blog() -> [f64; 3] {
    let Some(model) = model("llama-3.1-405b") else {
        return [0.0; 3];
    };
    let (s, b, layers) = (131_072.0, 16.0, model.layers as f64);
    let flash = KORTHIKANTI * s * b * model.hidden as f64 * layers;
    let scores = |s2: f64| SCORES * model.heads as f64 * b * s2 * layers;
    [flash, flash + scores(s * s), flash + scores(s)].map(|bytes| bytes / 1e12)
}

fn activations(dials: &Dials) -> Live {
    let (s, b) = (dials.get("s"), dials.get("b"));
    let bars: Vec<Bar> = [1, 2, 4]
        .into_iter()
        .filter(|each| *each <= b)
        .filter_map(|each| of(t!("micro-batch {each}", each), s, &format!("&micro_batch={each}")))
        .collect();
    let kept = bars.last().map_or(0.0, |bar| bar.part(3));
    let (hidden, share) =
        model(MODEL).map_or((0, 0.0), |model| (model.hidden, model.kv_heads as f64 / model.heads as f64));
    let compared = t!(
        "Keys keep {bytes} here, as values do: the line for them in Pengfei He's blog lacks the bytes per number once.",
        bytes = show_bytes(Bytes(2.0 * (s * b * hidden) as f64 * share))
    );
    Live::of([
        t!(
            "The backward pass needs what the forward pass computed: the inputs of norms and matrices, queries, keys, \
                values, both halves of the gated FFN. A layer of the original transformer keeps {bytes} bytes per \
                token and hidden unit.",
            bytes = number(KORTHIKANTI, 2)
        ),
        t!(
            "So activations grow with tokens. {model} keeps {kept} for {sequences}.",
            model = verbatim("Llama 3.1 8B"),
            kept = gib(kept),
            sequences = counts::sequences(b, s)
        ),
    ])
    .below("the activations", kept, 20.0 * GIB, gib)
    .formula("A = 34 s b h", format!("34 · {s} · {b} · {hidden} = {}", gib(KORTHIKANTI * (s * b * hidden) as f64)))
    .note(Message::joined(" ", [original_layer(kept, s * b), whole_gpu()]))
    .compared(compared)
    .memory(&bars)
}

fn scores(dials: &Dials) -> Live {
    let s = dials.get("s");
    let bars: Vec<Bar> = [("FlashAttention", "&flash_attention=true"), ("scores stored", "&flash_attention=false")]
        .into_iter()
        .filter_map(|(name, more)| of(name, s, more))
        .collect();
    let share = model(MODEL).map_or(0.0, |model| SCORES * model.heads as f64 * s as f64 / model.hidden as f64);
    let ratio = part(&bars, 1, 3) / part(&bars, 0, 3) - 1.0;
    let [flash, square, printed] = blog().map(|tb| significant(tb, 4));
    let note = t!(
        "Pengfei He's blog prints {printed} TB for all activations of Llama 3 405B, sequences of {s} tokens: that has \
            s where its formula has s², which gives {square} TB. Without stored scores it is {flash} TB.",
        printed,
        s = 131_072_u32,
        square,
        flash
    );
    Live::of([
        t!("Attention compares every token with every other: twice the tokens, four times the scores. Written to \
                memory they soon are most of what a layer keeps."),
        t!("FlashAttention never writes them. It computes them in tiles, and again in the backward pass: one more \
                matrix product per tile, which takes less time than reading scores back."),
    ])
    .below("the ratio of scores to the rest", ratio, 3.0, three)
    .note(Message::joined(" ", [without_dropout(share / KORTHIKANTI, ratio), whole_gpu()]))
    .formula(
        "scores / rest = 5 a s / (34 h)",
        format!("{} / 34 = {}", number(share, 3), number(share / KORTHIKANTI, 3)),
    )
    .compared(note)
    .memory(&bars)
}

fn recompute(dials: &Dials) -> Live {
    let s = dials.get("s");
    let kinds = [("none", ""), ("selective", "&recompute=selective"), ("full", "&recompute=full")];
    let bars: Vec<Bar> = kinds.into_iter().filter_map(|(name, more)| of(name, s, &format!("{STORED}{more}"))).collect();
    let step = |more: &str| {
        run(&settings(s, &format!("{STORED}{more}"))).map_or(0.0, |evaluation| evaluation.report.step.time_s.0)
    };
    let [none, selective, full] = ["", "&recompute=selective", "&recompute=full"].map(step);
    let input = 2.0;
    let (hidden, layers) = model(MODEL).map_or((0, 0), |model| (model.hidden, model.layers));
    let note = t!(
        "Pengfei He's blog divides activations by {factor}, keeping the input of the FFN's norm. A layer's own input \
            alone is {input} of {kept} bytes per token and hidden unit: divided by {all}.",
        factor = number(CHECKPOINTED, 3),
        input = number(input, 3),
        kept = number(KORTHIKANTI, 3),
        all = number(KORTHIKANTI / input, 3)
    );
    Live::of([
        t!(
            "What is not kept can be computed again. Full recomputation keeps the input of each layer and repeats its \
                forward pass before its backward pass: a step takes {full}, not {none}: {more} longer.",
            full = show_seconds(Seconds(full)),
            none = show_seconds(Seconds(none)),
            more = show_percent(full / none - 1.0)
        ),
        t!(
            "Selective recomputation repeats only attention, whose stored scores are most of the bytes: {selective} \
                longer. FlashAttention does the same inside its kernel.",
            selective = show_percent(selective / none - 1.0)
        ),
    ])
    .below("activations with full recomputation", part(&bars, 2, 3), GIB, finely)
    .note(t!("Here attention stores its scores, as in the second bar of the step before: FlashAttention is off."))
    .compared(note)
    .worded(
        "A = 2 s b h per layer",
        t!(
            "2 · {s} · 1 · {hidden} = {each}; in {layers} layers {kept} instead of {all}",
            s = verbatim(s.to_string()),
            hidden = verbatim(hidden.to_string()),
            each = show_bytes(Bytes(input * (s * hidden) as f64)),
            layers,
            kept = gib(part(&bars, 2, 3)),
            all = gib(part(&bars, 0, 3))
        ),
    )
    .memory(&bars)
}

fn logits(dials: &Dials) -> Live {
    let (s, t) = (dials.get("s"), dials.get("t"));
    let kinds = [("megatron", "unfused"), ("megatron-fused", "fused"), ("te-fused", "Transformer Engine")];
    let bar = |(id, name): (&str, &'static str)| {
        let link = format!("model={MODEL}&gpus=8&tp={t}&pp=1&global_batch=64&seq_len={s}&cross_entropy={id}");
        Bar::memory(name, &link)
    };
    let bars: Vec<Bar> = kinds.into_iter().filter_map(bar).collect();
    let vocabulary = model(MODEL).map_or(0, |model| model.vocab);
    let each = (s * vocabulary / t) as f64;
    let note = t!(
        "The formula counts what the unfused loss holds at most. The bars are of the moment when the GPU holds most in \
            all; a part of these bytes is freed by then."
    );
    Live::of([
        t!(
            "The last stage turns each token into one number per word of the vocabulary: {s} tokens times \
                {vocabulary} words. The loss needs these logits in full precision, and its gradient has the same size.",
            s,
            vocabulary
        ),
        t!(
            "Fused kernels write the gradient over the logits and skip copies. Tensor parallelism divides the \
                vocabulary, here by {t}.",
            t
        ),
    ])
    .below("buffers of the unfused loss", part(&bars, 0, 4), 3.0 * GIB, gib)
    .formula("L = 10 s b V / t", format!("10 · {s} · {vocabulary} / {t} = {}", gib(10.0 * each)))
    .note(note)
    .memory(&bars)
}

fn fits(dials: &Dials) -> Live {
    let (s, t) = (dials.get("s"), dials.get("t"));
    let evaluation = run(&format!("model={MODEL}&gpus=8&tp={t}&pp=1&zero=1&global_batch=64&seq_len={s}"));
    let bars: Vec<Bar> = [1_u64, 2, 4, 8]
        .into_iter()
        .filter_map(|tp| {
            let link = format!("model={MODEL}&gpus=8&tp={tp}&pp=1&zero=1&global_batch=64&seq_len={s}");
            Bar::memory(verbatim(format!("TP {tp}")), &link)
        })
        .collect();
    let memory = evaluation.as_ref().map(|evaluation| &evaluation.report.memory);
    let (low, high) = memory.map_or((0.0, 0.0), |memory| (memory.need_low_bytes.0, memory.need_high_bytes.0));
    let peak = memory.map_or(0.0, |memory| memory.peak_bytes.0);
    Live::of([
        t!("Everything must fit at the worst moment of the step, together with the CUDA context, buffers of messages \
                and fragments of freed memory. No formula knows that to the byte."),
        t!(
            "So the calculator gives {need} for {model} with TP {t}, and a range that held for published runs: {low} \
                to {high}. Leave a margin.",
            need = gib(peak),
            model = verbatim("Llama 3.1 8B"),
            t,
            low = gib(low),
            high = gib(high)
        ),
    ])
    .below("the upper end of the range", high, usable(), gib)
    .formula("need = states + activations + buffers + overhead", gib(peak))
    .memory(&bars)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Korthikanti 2022, section 4.1, GPT-3: 5 a s / h = 80, so scores are 70 % of 34 + 80.
    #[test]
    fn the_papers_example_of_scores_comes_out() {
        let (a, s, h) = (96.0, 2048.0, 12_288.0);
        let scores = 5.0 * a * s / h;
        assert!((scores - 80.0_f64).abs() < 1e-9);
        assert!((scores / (KORTHIKANTI + scores) - 0.70).abs() < 0.005);
    }

    /// Korthikanti 2022, section 4.1: of 5 a s² b bytes 3 are of the dropout. Llama 3 has none, so the ratio of its
    /// bars is 2 / 5 of the formula's, at every length; and its layer has 34 s b h as well: norms and their outputs 8,
    /// queries and the attention's output 4, keys and values 1 (8 of 32 heads), three times the FFN's 3.5 h, 21.
    #[test]
    fn scores_without_dropout_are_those_of_the_bars() {
        let step = LESSON.steps.iter().find(|step| step.id == "scores").unwrap();
        for (at, s) in SEQUENCE.values.iter().enumerate() {
            let live = (step.live)(&Dials::new(step.sliders, &[at]));
            let goal = live.goal.unwrap();
            let left = 2.0 * 32.0 * *s as f64 / 4096.0 / 34.0;
            assert!((goal.now / left - 1.0).abs() < 0.01, "{s}: {} {left}", goal.now);
            let said = format!("the ratio is {}. The bars", number(left, 3));
            let note = live.note.to_string();
            assert!(note.contains(&said) && note.contains(&format!("have {}.", (goal.shown)(goal.now))), "{note}");
        }
        let step = LESSON.steps.iter().find(|step| step.id == "activations").unwrap();
        let note = (step.live)(&Dials::new(step.sliders, &[])).note.to_string();
        assert!(note.contains("keeps 34 s b h"), "{note}");
    }

    /// 2 · 8192 · 4096 bytes are 64 MiB a layer, 2 GiB in the 32 layers of Llama 3.1 8B.
    #[test]
    fn the_input_of_a_layer_is_not_that_of_all_layers() {
        let step = LESSON.steps.iter().find(|step| step.id == "recomputation").unwrap();
        let at = SEQUENCE.values.iter().position(|s| *s == 8192).unwrap();
        let values = (step.live)(&Dials::new(step.sliders, &[at])).formula.unwrap()[1].to_string();
        let each = show_bytes(Bytes(f64::from(64 << 20)));
        assert!(values.starts_with(&format!("2 · 8192 · 1 · 4096 = {each}; in 32 layers 2.0 GiB instead")), "{values}");
    }

    /// The blog: activations over a factor of about 9 with the pre-norm input of the FFN alone; Korthikanti 2022: 34 of
    /// which full recomputation keeps 2.
    #[test]
    fn the_blogs_factor_of_checkpoints_is_beside_full_recomputation() {
        let step = LESSON.steps.iter().find(|step| step.id == "recomputation").unwrap();
        let note = (step.live)(&Dials::new(step.sliders, &[])).compared.to_string();
        assert!(
            note.contains("activations by 9,")
                && note.ends_with("2 of 34 bytes per token and hidden unit: divided by 17."),
            "{note}"
        );
    }

    /// The blog's worked example: 147 366 233 505 792 bytes as printed, 22 313 351 535 132 672 by its formula, and
    /// 147 197 119 168 512 without stored scores.
    #[test]
    fn the_blogs_example_is_corrected() {
        let corrected = [147.197_119_168_512, 22_313.351_535_132_6, 147.366_233_505_792];
        for (ours, corrected) in blog().into_iter().zip(corrected) {
            assert!((ours / corrected - 1.0).abs() < 1e-12, "{ours} {corrected}");
        }
        let step = LESSON.steps.iter().find(|step| step.id == "scores").unwrap();
        let note = (step.live)(&Dials::new(step.sliders, &[])).compared.to_string();
        assert!(note.contains("prints 147.4 TB") && note.contains("147.2 TB"), "{note}");
    }

    /// Grouped queries, per layer: Q `k b s h`, K and V `k b s h kv/a` each; the blog's line has no k in its third
    /// term. With k = 2, a = 32 and h = 4096 each key-value head and value head less saves 2 · 128 bytes a token of
    /// every layer that is held, in the calculator too.
    #[test]
    fn keys_and_values_keep_the_bytes_per_number_that_the_blog_lacks() {
        let s = 8192;
        let kept = |heads| {
            let bar = of("", s, &format!("&model.kv_heads={heads}")).unwrap();
            bar.part(3)
        };
        let layers = 32.0;
        let saved = (kept(32) - kept(8)) / (layers * s as f64 * 24.0);
        assert!((saved / (2.0 * 2.0 * 128.0) - 1.0).abs() < 1e-9, "{saved}");
        let step = &LESSON.steps[2];
        let note = (step.live)(&Dials::new(step.sliders, &[2, 0])).compared.to_string();
        let keys = show_bytes(Bytes(2.0 * (s * 4096) as f64 * 8.0 / 32.0));
        assert!(note.contains(&format!("Keys keep {keys} here")), "{note}");
    }

    /// Playbook, appendix A2: `6 h²` is printed; two averages and a master copy in fp32 are 3 h² numbers, 12 h²
    /// bytes.
    #[test]
    fn adam_keeps_three_numbers_per_weight() {
        let step = &LESSON.steps[0];
        let note = (step.live)(&Dials::new(step.sliders, &[])).compared.to_string();
        assert!(note.starts_with("Of them 12 bytes are the optimizer's, 3 numbers"), "{note}");
    }

    /// Fujii 2024, section 3: 18 bytes a parameter; the playbook counts 20 with its fp32 accumulation; FP8-LM 9.
    #[test]
    fn bytes_per_parameter_are_those_of_the_sources() {
        let each = |id: &str| POLICIES.iter().find(|policy| policy.choice.id == id).unwrap().bytes.total();
        assert_eq!([each("bf16-fp32-grads"), each("playbook-20"), each("fp8-lm")], [18.0, 20.0, 9.0]);
    }
}
