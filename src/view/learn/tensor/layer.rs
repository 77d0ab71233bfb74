//! Exchanges of the ranks of a layer, with the whole sequence between its blocks or with parts of it.

use super::passes::Piece;
use crate::learn::prelude::*;
use shardscope_core::traffic::microbatch_traffic;

/// The pieces of a layer over `t` ranks: `f` is exchanged where a block begins, `g` where it ends; norms and dropout
/// between the blocks are cut over `between` ranks.
fn pieces(t: u64, f: [&'static str; 2], g: [&'static str; 2], between: u64) -> Vec<Piece> {
    let block = |name| {
        [Piece::Between("norm", between), Piece::Exchange("f", f), Piece::Block(name, t), Piece::Exchange("g", g)]
    };
    let dropout = || Piece::Between("dropout", between);
    let [attention, ffn] = [block("attention"), block("FFN")];
    let mut pieces: Vec<Piece> = attention.into_iter().chain([dropout()]).collect();
    pieces.extend(ffn.into_iter().chain([dropout()]));
    pieces
}

/// With the bytes of a layer, and how they come about.
fn sent(live: Live, dials: &Dials, more: &str) -> Live {
    let (t, s) = (dials.get("t"), dials.get("s"));
    let values = scenario(t, s, more).map_or_else(Message::default, |it| {
        let product = format!("16 · {s} · 1 · {} · {}/{t}", it.model.hidden, t - 1);
        let bytes = show_bytes(Bytes(layer_bytes(&it)));
        t!("{product} = {bytes} per layer", product, bytes)
    });
    let bytes = scenario(t, s, more).map_or(0.0, |it| layer_bytes(&it));
    live.worded("V = 16 s b h (t − 1) / t", values)
        .below("what a layer sends", bytes, 200e6, |bytes| show_bytes(Bytes(bytes)))
}

pub(super) fn f_and_g(dials: &Dials) -> Live {
    let t = dials.get("t");
    let pieces = pieces(t, ["", "all-reduce"], ["all-reduce", ""], 1);
    let text = vec![
        t!("Call the place before a block f and the place behind it g. Forward, every rank has the whole input at f \
                and sends nothing; at g an all-reduce adds up partial sums."),
        t!(
            "Backward it is the other way round. So a layer has {count} all-reduces, and compute waits for each.",
            count = exchanges(&pieces)
        ),
    ];
    let note = t!(
        "Bytes that a rank sends for a micro-batch of {b}, forward and backward, in {format}.",
        b = 1_u8,
        format = "bf16"
    );
    let compared = t!(
        "The lecture counts the same: a layer sends 8 Φ numbers. But it calls Φ the parameters; it is the activations \
            between blocks, s b h numbers."
    );
    sent(Live::of(text), dials, "&sequence_parallel=false").note(note).compared(compared).layer(&pieces)
}

/// Number of exchanges of a layer, forward and backward.
fn exchanges(pieces: &[Piece]) -> usize {
    let exchanges_in = |piece: &Piece| match piece {
        Piece::Exchange(_, both) => both.iter().filter(|words| !words.is_empty()).count(),
        Piece::Block(..) | Piece::Between(..) => 0,
    };
    pieces.iter().map(exchanges_in).sum()
}

/// Bytes per token and hidden unit that a rank keeps of the original transformer's FFN with its norm: with tensor
/// parallelism alone `5 + 16/t`, with sequence parallelism `21/t`. Source: lecture, sequence parallelism.
fn ffn(t: f64) -> [f64; 2] {
    [5.0 + 16.0 / t, 21.0 / t]
}

pub(super) fn between(dials: &Dials) -> Live {
    let (t, s) = (dials.get("t"), dials.get("s"));
    let pieces = pieces(t, ["all-gather", "reduce-scatter"], ["reduce-scatter", "all-gather"], t);
    let bytes = |more| show_bytes(Bytes(scenario(t, s, more).map_or(0.0, |it| layer_bytes(&it))));
    let text = vec![
        t!(
            "Norm and dropout are not cut: each of {t} ranks computes them for every token. But an all-reduce is a \
                reduce-scatter and an all-gather. With norm and dropout between those two, a rank has only {share} of \
                the tokens there.",
            t,
            share = show_percent(1.0 / t as f64)
        ),
        t!(
            "The bytes stay the same: {before} before, {after} now. Memory shrinks, so large runs turn it on.",
            before = bytes("&sequence_parallel=false"),
            after = bytes("&sequence_parallel=true")
        ),
    ];
    let width = scenario(t, s, "").map_or(0.0, |it| it.model.hidden as f64);
    let [whole, cut] = ffn(t as f64).map(|each| show_bytes(Bytes(each * s as f64 * width)));
    let kept = t!(
        "By the lecture, a rank keeps {whole} of an FFN and its norm without and {cut} with it, {formula}.",
        whole,
        cut,
        formula = verbatim("5 b s h + 16 b s h / t → 21 b s h / t")
    );
    let gathered =
        t!("Megatron-LM keeps only a rank's part of the blocks' inputs and gathers them again in the backward pass, \
            behind compute; not counted here.");
    sent(Live::of(text), dials, "&sequence_parallel=true").note(gathered).compared(kept).layer(&pieces)
}

/// A Llama of 70 B on one group of `tp` ranks.
pub(super) fn settings(tp: u64, s: u64, more: &str) -> String {
    format!("model=llama-3.1-70b&gpus={tp}&tp={tp}&pp=1&global_batch=4&seq_len={s}{more}")
}

pub(super) fn scenario(tp: u64, s: u64, more: &str) -> Option<Scenario> {
    Some(*run(&settings(tp, s, more))?.scenario)
}

/// Bytes that a rank sends for one layer and micro-batch.
pub(super) fn layer_bytes(scenario: &Scenario) -> f64 {
    microbatch_traffic(scenario, 0).tp.0 / scenario.model.layers as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Korthikanti 2022, equations 2 and 4: with attention, `5 + 8/t` and `13/t`, a layer keeps `10 + 24/t` and `34/t`.
    /// At one rank nothing is cut.
    #[test]
    fn an_ffn_and_attention_keep_the_papers_sum() {
        for t in [1.0, 2.0, 8.0] {
            let [whole, cut] = ffn(t);
            assert!((whole + 5.0 + 8.0 / t - (10.0 + 24.0 / t)).abs() < 1e-12);
            assert!((cut + 13.0 / t - 34.0 / t).abs() < 1e-12);
        }
        let step = super::super::LESSON.steps.iter().find(|step| step.id == "between").unwrap();
        let note = (step.live)(&Dials::new(step.sliders, &[2, 1])).compared.to_string();
        // 7 and 21/8 of 4096 tokens of 8192.
        assert!(note.contains("keeps 224 MiB") && note.contains("and 84.0 MiB with"), "{note}");
    }

    /// Playbook, tensor parallelism: 4 exchanges a layer forward and 4 backward with sequence parallelism, `8 s b h
    /// (t - 1)/t` elements; without, 2 and 2 all-reduces that send twice as much each.
    #[test]
    fn a_layer_sends_the_same_with_and_without_sequence_parallelism() {
        for t in [2, 4, 8] {
            for more in ["&sequence_parallel=true", "&sequence_parallel=false"] {
                let it = scenario(t, 4096, more).unwrap();
                let elements = 8.0 * 4096.0 * 8192.0 * (t as f64 - 1.0) / t as f64;
                assert!((layer_bytes(&it) / (2.0 * elements) - 1.0).abs() < 1e-9);
            }
        }
        // The lecture, N = 10⁶ tokens of d = 4096 in fp16: 8 Φ = 65.536 GB a layer and GPU, so Φ = N d numbers,
        // activations, with no (t - 1)/t; Φ as the model's 70.6e9 parameters would be 17 times as much.
        let (d, t) = (8192.0, 8);
        let sent = |s: u64| layer_bytes(&scenario(t, s, "").unwrap()) * 8.0 / 7.0;
        assert!((sent(4096) / 4096.0 * 1e6 * (4096.0 / d) / 65.536e9 - 1.0).abs() < 1e-9);
        let parameters = scenario(t, 4096, "").unwrap().model.elements().total() as f64;
        assert!(2.0 * 8.0 * parameters > 10.0 * sent(32_768));
        let reduced = pieces(8, ["", "all-reduce"], ["all-reduce", ""], 1);
        let both = ["all-gather", "reduce-scatter"];
        assert_eq!((exchanges(&reduced), exchanges(&pieces(8, both, both, 8))), (4, 8));
    }
}
