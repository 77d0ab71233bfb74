//! Experts: what routing saves, what the fullest expert costs, and what tokens on their way cost and hide.

use crate::learn::prelude::*;
use crate::learn::routed::tokens;
use shardscope_core::source::{DEEPSEEK_V3, MIXTRAL};

const K: Slider = slider("K", "experts per token", &[1, 2, 4, 8], 1);
const FULL: Slider = slider("x", "percent more in the fullest expert", &[0, 10, 25, 50, 100], 2);
const EP: Slider = slider("e", "expert-parallel ranks", &[2, 4, 8, 16, 32], 3);
const SHARE: Slider = slider("φ", "percent of the compute that may hide", &[0, 25, 50, 75, 100], 1);

pub(super) const LESSON: Lesson = Lesson {
    id: "experts",
    title: "Mixture of experts",
    about: "routing, capacity, all-to-all, overlap",
    steps: &[
        LessonStep {
            id: "routing",
            title: "Routing: few of many weights",
            sliders: &[K],
            live: routing,
            source: (&MIXTRAL, "section 2.1"),
            on_run: (Gauge::Active, &[("model.moe.top_k", "1")]),
        },
        LessonStep {
            id: "capacity",
            title: "The fullest expert decides",
            sliders: &[FULL],
            live: capacity,
            source: (&DEEPSEEK_V3, "section 2.1.2"),
            on_run: (Gauge::Step, &[("moe_imbalance", "1.5")]),
        },
        LessonStep {
            id: "exchange",
            title: "All-to-all: tokens travel to experts",
            sliders: &[EP],
            live: exchange,
            source: (&DEEPSEEK_V3, "section 3.2.2"),
            on_run: (Gauge::Exposed(Traffic::Ep), &[("ep", "4")]),
        },
        LessonStep {
            id: "overlap",
            title: "What overlap hides",
            sliders: &[EP, SHARE],
            live: overlap,
            source: (&DEEPSEEK_V3, "section 3.2.1"),
            on_run: (Gauge::Exposed(Traffic::Ep), &[("overlap.ep", "0.75")]),
        },
    ],
};

/// Experts of Mixtral, of a token, and tokens of a sequence.
const EXPERTS: u64 = 8;
const TOP_K: u64 = 2;
const TOKENS: u64 = 4096;

/// Mixtral 8x7B on 64 GPUs.
fn mixtral(more: &str) -> String {
    format!("model=mixtral-8x7b&gpus=64&tp=1&pp=4&ep=8&global_batch=512&seq_len=4096&stack=megatron-2025{more}")
}

const PARAMETERS: Scale = Scale { parts: &[("parameters", Ink::Memory(0))], unit: ("B", 1e9) };

fn routing(dials: &Dials) -> Live {
    let k = dials.get("K");
    let parameters_of = |k: u64| Some(run(&mixtral(&format!("&model.moe.top_k={k}")))?.report.parameters);
    let Some(parameters) = parameters_of(k) else {
        return Live::default();
    };
    let (all, active) = (parameters.total as f64, parameters.active as f64);
    let bars = [Bar::new("in memory", [all]), Bar::new("used by a token", [active])];
    Live::of([
        t!(
            "An FFN is replaced by {experts} experts, small FFNs of their own. A router, one matrix, scores them for \
                every token, and the token goes to the best {k}.",
            experts = 8_u8,
            k
        ),
        t!(
            "Memory holds all {all} parameters, but a token uses {active}: {share}. So a model has more weights for \
                the same compute. The cost: memory, and tokens that travel.",
            all = show_count(all),
            active = show_count(active),
            share = show_percent(active / all)
        ),
    ])
    .worded("y = Σ over the K best of gᵢ Eᵢ(x)", t!("{k} of {experts}", k, experts = 8_u8))
    .below("the share that a token uses", active / all, 0.2, show_percent)
    .bars(&PARAMETERS, &bars, None)
    .with_tokens(k, 1)
}

impl Live {
    /// With some tokens on their way to `k` experts each and back, over at most as many ranks as there are experts,
    /// before its picture.
    fn with_tokens(self, k: u64, ranks: u64) -> Self {
        let [picture, legend, table] = tokens(k, ranks);
        Self {
            picture: Node::from_iter([legend, picture, self.legend, self.picture]),
            table: Node::from_iter([table, self.table]),
            legend: Node::none(),
            ..self
        }
    }
}

const TIME: Scale = Scale { parts: &[("step time", Ink::Forward)], unit: ("s", 1.0) };

fn capacity(dials: &Dials) -> Live {
    let x = dials.get("x");
    let step_at = |x: u64| {
        run(&mixtral(&format!("&moe_imbalance={}", 1.0 + x as f64 / 100.0))).map_or(0.0, |it| it.report.step.time_s.0)
    };
    let bars: Vec<Bar> = FULL.values.iter().map(|x| Bar::new(verbatim(format!("+{x} %")), [step_at(*x)])).collect();
    let more = step_at(x) / step_at(0) - 1.0;
    Live::of([
        t!(
            "Routers do not spread tokens evenly. All ranks wait for the one with the fullest expert: with {x} % more \
                tokens there than the mean, the step takes {more} longer.",
            x,
            more = show_percent(more)
        ),
        t!("A capacity limits the tokens of an expert; the others skip the layer. A balancing loss, or a bias on the \
                scores, drops nothing."),
    ])
    .formula(
        "most tokens = (1 + x) K · tokens / E",
        format!(
            "{} · {TOP_K} · {TOKENS} / {EXPERTS} = {}",
            1.0 + x as f64 / 100.0,
            number((100 + x) as f64 / 100.0 * (TOP_K * TOKENS / EXPERTS) as f64, 5)
        ),
    )
    .note(t!("Of one sequence."))
    .below("the growth of the step time", more, 0.03, show_percent)
    .bars(&TIME, &bars, None)
}

/// DeepSeek-V3 with its experts over `ep` ranks.
fn deepseek(ep: u64, more: &str) -> String {
    format!(
        "model=deepseek-v3&gpus=256&tp=1&pp=8&ep={ep}&global_batch=2048&seq_len=4096&stack=megatron-2025&\
            recompute=full{more}"
    )
}

/// Bytes, wire time, window and exposed time of the experts' messages in a step.
fn row(ep: u64, more: &str) -> Option<[f64; 4]> {
    let report = run(&deepseek(ep, more))?.report;
    let row = report.overlap.iter().find(|row| row.traffic == Traffic::Ep)?;
    Some([row.bytes_per_gpu.0, row.comm_s.0, row.compute_s.0, row.exposed_s.0])
}

const WIRE: Scale = Scale { parts: &[("time on the wire in a step", Ink::Exposed)], unit: ("s", 1.0) };

fn exchange(dials: &Dials) -> Live {
    let ep = dials.get("e");
    let row_of = |ep| row(ep, "").unwrap_or_default();
    let bars: Vec<Bar> = EP.values.iter().map(|ep| Bar::new(verbatim(format!("EP {ep}")), [row_of(*ep)[1]])).collect();
    let [bytes, wire, ..] = row_of(ep);
    let inside = row_of(8)[1];
    Live::of([
        t!("Experts stand on different ranks. An all-to-all sends every token to the ranks of its experts, another \
                brings the results back; the backward pass does both again."),
        t!(
            "With {cut} a GPU of {model} sends {bytes} in a step, in {wire}. Beyond the node, limit a token to few \
                nodes and send each one copy.",
            cut = verbatim(format!("EP {ep}")),
            model = verbatim("DeepSeek-V3"),
            bytes = show_bytes(shardscope_core::units::Bytes(bytes)),
            wire = show_seconds(Seconds(wire))
        ),
    ])
    .worded(
        "V = 4 · K · b s h · bytes · (e − 1) / e",
        t!("{bytes} in a step", bytes = show_bytes(shardscope_core::units::Bytes(bytes))),
    )
    .note(t!(
        "Forward and backward, all layers of a rank; as the calculator counts the copies that cross nodes. The tokens \
            in the picture are an example of eight experts, on at most eight ranks."
    ))
    .below("the ratio of the time on the wire to that of eight ranks", wire / inside.max(1e-9), 0.95, |ratio| {
        number(ratio, 3)
    })
    .bars(&WIRE, &bars, None)
    .with_tokens(TOP_K, ep)
}

const HIDDEN: Scale = Scale { parts: &[("hidden", Ink::Forward), ("exposed", Ink::Exposed)], unit: ("s", 1.0) };

fn overlap(dials: &Dials) -> Live {
    let (ep, percent) = (dials.get("e"), dials.get("φ"));
    let row_at = |percent: u64| row(ep, &format!("&overlap.ep={}", percent as f64 / 100.0)).unwrap_or_default();
    let bars: Vec<Bar> = SHARE
        .values
        .iter()
        .map(|percent| {
            let [_, wire, _, exposed] = row_at(*percent);
            Bar::new(verbatim(format!("{percent} %")), [(wire - exposed).max(0.0), exposed])
        })
        .collect();
    let [_, wire, _, exposed] = row_at(percent);
    Live::of([
        t!("Within one micro-batch nothing can hide these messages: the experts need the tokens. Beside a pass of \
                another micro-batch they can travel while it computes, as DualPipe does."),
        t!(
            "If {share} of the compute may hide them, {exposed} of {wire} stay exposed. Kernels that send take \
                multiprocessors, so hiding is not free.",
            share = verbatim(format!("{percent} %")),
            exposed = show_seconds(Seconds(exposed)),
            wire = show_seconds(Seconds(wire))
        ),
    ])
    .formula("E = W − min(W, φ C) + S", show_seconds(Seconds(exposed)))
    .below("the exposed share of the time on the wire", exposed / wire.max(1e-9), 0.4, show_percent)
    .bars(&HIDDEN, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mixtral, section 2.1 and table 1: 47 B parameters, 13 B active with two experts per token.
    #[test]
    fn two_of_eight_experts_use_thirteen_of_47_billion() {
        let parameters = run(&mixtral("&model.moe.top_k=2")).unwrap().report.parameters;
        assert!((parameters.total as f64 / 46.7e9 - 1.0).abs() < 0.01);
        assert!((parameters.active as f64 / 12.9e9 - 1.0).abs() < 0.02);
    }

    /// A larger share of compute never exposes more, and none exposes all of the wire.
    #[test]
    fn more_overlap_exposes_less() {
        let times = |share: &str| row(16, &format!("&overlap.ep={share}")).unwrap();
        let [_, wire, _, exposed] = times("0");
        assert!((exposed / wire - 1.0).abs() < 1e-9);
        assert!(times("0.5")[3] < exposed && times("1")[3] <= times("0.5")[3]);
    }
}
