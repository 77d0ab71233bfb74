//! Sequence and context parallelism: a sequence cut over ranks, and how attention still meets all of it.

mod lengths;
mod masks;
mod ring;

use super::matrices::{ACTIVATIONS, Matrix, Part, Product};
use crate::learn::prelude::*;
use ring::{scenario, settings};
use shardscope_core::source::{DEEPSPEED, KORTHIKANTI_2022, LECTURE, MEGATRON, PLAYBOOK};
use shardscope_core::traffic::{SequenceCut, sequence_cuts};
use shardscope_core::units::GIB;

const T: Slider = TENSOR.over(&[2, 4, 8], 2);
const C: Slider = slider("c", "context-parallel ranks", &[2, 4, 8], 1);
const STEP: Slider = slider("j", "step of the ring", &[1, 2, 3, 4, 5, 6, 7, 8], 1);
const P: Slider = slider("P", "ranks of a sequence", &[4, 8, 16], 1);
const REPLICAS: Slider = slider("d", "data-parallel replicas", &[4, 8, 16, 64], 1);
const BATCHES: Slider = slider("m", "micro-batches of a replica", &[2, 4, 8, 32], 1);
const MEDIAN: Slider = slider("L", "median tokens of a sample", &[400, 1000, 4000], 1);
const LONG: Slider = SEQUENCE.over(&[8192, 32_768, 131_072, 1_048_576], 2);

pub(super) const LESSON: Lesson = Lesson {
    id: "sequence",
    title: "Sequence and context parallelism",
    about: "ring attention, causal and zig-zag masks",
    steps: &[
        LessonStep {
            id: "outside",
            title: "What tensor parallelism leaves whole",
            sliders: &[T, SEQUENCE],
            live: outside,
            source: (&KORTHIKANTI_2022, "section 4.2.2"),
            on_run: (Gauge::Held(Component::Activations), &[("sequence_parallel", "false")]),
        },
        LessonStep {
            id: "tokens",
            title: "Longer sequences: cut the tokens",
            sliders: &[C.over(&[1, 2, 4, 8, 16], 0)],
            live: context,
            source: (&PLAYBOOK, "context parallelism"),
            on_run: (Gauge::Held(Component::Activations), &[("cp", "2")]),
        },
        LessonStep {
            id: "ulysses",
            title: "Ulysses: exchange tokens for heads",
            sliders: &[P, LONG],
            live: ulysses,
            source: (&DEEPSPEED, "Ulysses"),
            on_run: (Gauge::Exposed(Traffic::Cp), &[("cp", "2"), ("cp_comm", "ulysses")]),
        },
        LessonStep {
            id: "ring",
            title: "Ring attention: pass keys and values on",
            sliders: &[C, STEP, LONG],
            live: ring::ring,
            source: (&PLAYBOOK, "ring attention"),
            on_run: (Gauge::Sent(Traffic::Cp), &[("cp", "2"), ("cp_comm", "ring")]),
        },
        LessonStep {
            id: "causal",
            title: "Causal masks: some ranks wait",
            sliders: &[C],
            live: masks::plain,
            source: (&PLAYBOOK, "ring attention; causal masks"),
            on_run: (Gauge::Step, &[("cp", "2")]),
        },
        LessonStep {
            id: "zig-zag",
            title: "Zig-zag: an early and a late piece",
            sliders: &[C],
            live: masks::zigzag,
            source: (&PLAYBOOK, "zig-zag ring attention"),
            on_run: (Gauge::Step, &[("cp", "2")]),
        },
        LessonStep {
            id: "compared",
            title: "Which cut sends how much",
            sliders: &[P.over(&[8, 32, 128], 0), LONG],
            live: compared,
            source: (&LECTURE, "sequence parallelism"),
            on_run: (Gauge::Sent(Traffic::Cp), &[("cp", "2")]),
        },
        LessonStep {
            id: "lengths",
            title: "Samples of unequal length",
            sliders: &[REPLICAS, BATCHES, MEDIAN],
            live: lengths::lengths,
            source: (&MEGATRON, "hybrid_cp_schedule.py: samples dealt to ranks by their work"),
            on_run: (
                Gauge::Rate,
                &[("lengths.base", "log-normal"), ("lengths.median", "1000"), ("lengths.sigma", "1.2")],
            ),
        },
    ],
};

fn gb(bytes: Bytes) -> String {
    format!("{} GB", significant(bytes.gb(), 3))
}

/// Bytes that a layer of the original transformer keeps outside its blocks for `tokens` of `width`: norms, dropout
/// masks and the inputs of blocks, `10 s b h`. Source: Korthikanti 2022, equation 3.
fn kept_outside(tokens: f64, width: f64) -> Bytes {
    Bytes(10.0 * tokens * width)
}

fn outside(dials: &Dials) -> Live {
    let (t, s) = (dials.get("t"), dials.get("s"));
    let bar = |name: &'static str, more| Bar::memory(name, &format!("{}{more}", settings(t, 1, s)));
    let bars: Vec<Bar> =
        [bar("tensor parallel", "&sequence_parallel=false"), bar("with sequence parallel", "&sequence_parallel=true")]
            .into_iter()
            .flatten()
            .collect();
    let kept = |at: usize| bars.get(at).map_or(0.0, |bar| bar.part(3));
    let h = scenario(1, s).map_or(0, |it| it.model.hidden);
    let whole = kept_outside(s as f64, h as f64);
    let (tokens, width, ranks) = (64.0 * 32_768.0, 4096.0, 8.0);
    let example = kept_outside(tokens, width);
    let note = t!(
        "The lecture's example, {b} sequences of {s} tokens over {t} ranks: {whole} whole, {cut} cut.",
        b = 64_u8,
        s = 32_768_u32,
        t = 8_u8,
        whole = gb(example),
        cut = gb(Bytes(example.0 / ranks))
    );
    let values = format!("10 · {s} · 1 · {h} / {t} = {}", gb(Bytes(whole.0 / t as f64)));
    Live::of([
        t!(
            "Tensor parallelism divides weights and the inside of attention and FFN. Norms, dropout and the inputs of \
                blocks stay whole: every rank keeps them for all {s} tokens.",
            s
        ),
        t!(
            "Outside the blocks no token needs another, so each of {t} ranks keeps its part. Activations fall from \
                {before} to {after}, and nothing more is sent.",
            t,
            before = gib(kept(0)),
            after = gib(kept(1))
        ),
    ])
    .below("the activations with sequence parallelism", kept(1), 2.0 * GIB, gib)
    .formula("A = 10 s b h / t", values)
    .note(t!("Per layer of the original transformer."))
    .compared(note)
    .memory(&bars)
}

fn context(dials: &Dials) -> Live {
    let c = dials.get("c");
    let bars: Vec<Bar> = [8192_u64, 16_384, 32_768, 65_536, 131_072, 262_144]
        .into_iter()
        .filter_map(|s| Bar::memory(t!("{s} tokens", s), &settings(8, c, s)))
        .collect();
    let longest = bars.last();
    let values = t!("{s} / {c} = {each} tokens per rank", s = 262_144_u32, c, each = 262_144 / c);
    Live::of([
        t!("Activations grow with the sequence, and tensor parallelism ends at the node. Context parallelism cuts \
                the tokens for the whole model: norms and matrix products see each token alone."),
        t!(
            "With {cut}, {s} tokens need {need} per GPU. Only attention needs other tokens: their keys and values. \
                The next steps bring them.",
            cut = verbatim(format!("TP 8 · CP {c}")),
            s = 262_144_u32,
            need = gib(longest.map_or(0.0, Bar::total))
        ),
    ])
    .below("the memory of the longest sequence", longest.map_or(0.0, Bar::total), usable(), gib)
    .worded("n = s b / c", values)
    .memory(&bars)
}

/// TP + SP, Ulysses and ring attention for `tokens` of the scenario's model.
fn cuts(scenario: &Scenario, tokens: u64, ranks: u64) -> [SequenceCut; 3] {
    let model = &scenario.model;
    let share = model.kv_heads as f64 / model.heads as f64;
    let element = scenario.precision.computes.activation();
    let (tokens, width) = (tokens as f64, model.hidden as f64);
    sequence_cuts(tokens, width, ranks, element, share, model.heads)
}

fn ulysses(dials: &Dials) -> Live {
    let (p, s) = (dials.get("P"), dials.get("s"));
    let cut = |name, own: &dyn Fn(u64, u64) -> bool, kept: bool| {
        Matrix::new(name, ACTIVATIONS, (p, p), &|tokens, heads| match own(tokens, heads) {
            true if kept || tokens == heads => Part::Own,
            true => Part::Received,
            false => Part::Other,
        })
    };
    let product = Product {
        name: t!("tokens downwards, heads across"),
        matrices: vec![
            cut("Q K V", &|tokens, _| tokens == 0, true),
            cut("Q K V", &|_, heads| heads == 0, false),
            cut("O", &|tokens, _| tokens == 0, false),
        ],
        signs: &["→", "→"],
    };
    let live = |text| Live::of(text).products(&[product]);
    let Some(it) = scenario(2, s) else {
        return live(Vec::new());
    };
    let [tp, ulysses, _] = cuts(&it, s, p);
    let (heads, groups) = (it.model.heads, it.model.kv_heads);
    let text = vec![
        t!("A head needs all tokens. So before attention the ranks trade: each gives away its tokens of other heads \
                and receives all tokens of its own heads. After attention they trade back."),
        t!(
            "In this all-to-all a rank sends {bytes} per layer; TP + SP sends {whole}. There can be no more ranks \
                than heads, {heads} here.",
            bytes = show_bytes(ulysses.sent),
            whole = show_bytes(tp.sent),
            heads
        ),
    ];
    let (a, k) = (heads, groups);
    let values =
        format!("8 · {s} · {} · (1 + {k}/{a}) · {} / {p}² = {}", it.model.hidden, p - 1, show_bytes(ulysses.sent));
    live(text)
        .below("what a rank sends for a layer", ulysses.sent.0, 50e6, |bytes| show_bytes(Bytes(bytes)))
        .formula("V = 8 N d (1 + k/a) (P − 1) / P²", values)
}

const SENT: Scale = Scale { parts: &[("sent by one GPU for a layer", Ink::Exposed)], unit: ("GB", 1e9) };

fn compared(dials: &Dials) -> Live {
    let (p, s) = (dials.get("P"), dials.get("s"));
    let Some(it) = scenario(2, s) else {
        return Live::default();
    };
    let each = cuts(&it, s, p);
    let bars = each.map(|cut| Bar::new(cut.name, [cut.sent.0]));
    let [tp, ulysses, ring] = each.map(|cut| gb(cut.sent));
    let [lecture_tp, lecture_ulysses, lecture_ring] = sequence_cuts(1e6, 4096.0, 128, 2.0, 1.0, 32);
    let note = t!(
        "The lecture, for a million tokens over {ranks} ranks, each head with its own keys: {tp} against {ulysses}. \
            The ring it calls much higher, because it adds up all GPUs, {all}; one GPU sends {one}. And {ranks} ranks \
            are more than the heads of such a model.",
        ranks = 128_u8,
        tp = gb(lecture_tp.printed),
        ulysses = gb(lecture_ulysses.printed),
        all = gb(lecture_ring.printed),
        one = gb(lecture_ring.sent)
    );
    let values = format!(
        "12 · {s} · {} · {}/{} · {}/{p} = {}",
        it.model.hidden,
        it.model.kv_heads,
        it.model.heads,
        p - 1,
        gb(each[2].sent)
    );
    Live::of([
        t!(
            "For {s} tokens over {p} ranks a GPU sends {tp} per layer with TP + SP, {ulysses} with Ulysses, {ring} \
                with a ring.",
            s,
            p,
            tp,
            ulysses,
            ring
        ),
        t!(
            "Bytes do not decide alone: Ulysses waits for its exchanges and ends at {heads} ranks, a ring sends while \
                attention computes. So use TP + SP inside a node, then either.",
            heads = it.model.heads
        ),
    ])
    .below("what a rank sends with a ring", each[2].sent.0, 1e8, |bytes| gb(Bytes(bytes)))
    .formula("V(ring) = 12 N d (k / a) (P − 1) / P", values)
    .compared(note)
    .bars(&SENT, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fudan lecture: 85.9 GB a block whole and 10.7 GB cut; 65.536 GB against 0.512 GB. Its ring, of all GPUs: 2097
    /// GB; of one GPU `12 N d (P - 1)/P`, 48.8 GB.
    #[test]
    fn the_lectures_numbers_are_in_the_notes() {
        let note = |step: &LessonStep| (step.live)(&Dials::new(step.sliders, &[])).compared.to_string();
        let outside = note(&LESSON.steps[0]);
        assert!(outside.contains("85.9 GB whole, 10.7 GB cut"), "{outside}");
        let compared = note(&LESSON.steps[6]);
        for figure in ["65.5 GB against 0.512 GB", "2100 GB", "48.8 GB"] {
            assert!(compared.contains(figure), "{compared}");
        }
    }

    /// `8 N d (1 + k/a)(P - 1)/P²` and `12 N d (k/a)(P - 1)/P` bytes are what the calculator counts for a run.
    #[test]
    fn formulas_are_the_calculators() {
        use shardscope_core::traffic::microbatch_traffic;
        for (comm, at) in [("ulysses", 1), ("ring", 2)] {
            let link = format!("{}&cp_comm={comm}", settings(1, 8, 32_768));
            let it = run(&link).unwrap().scenario;
            let sent = microbatch_traffic(&it, 0).cp.0 / it.model.layers as f64;
            let cut = cuts(&it, 32_768, 8)[at];
            assert!((cut.sent.0 / sent - 1.0).abs() < 1e-9, "{comm}");
        }
    }
}
