//! Heads of keys and values under tensor parallelism: more ranks than heads keep copies of them.

use crate::learn::prelude::*;

const HELD: Scale =
    Scale { parts: &[("one copy", Ink::Memory(0)), ("further copies", Ink::Exposed)], unit: ("MB", 1e6) };
/// Bytes of a weight in bf16.
const BYTES: f64 = 2.0;
const RANKS: [u64; 6] = [1, 2, 4, 8, 16, 32];

/// Bytes of the projections of keys and values of a layer on all of `t` ranks: of one copy, and of further copies.
fn held((h, d, heads): (u64, u64, u64), t: u64) -> [f64; 2] {
    let head = BYTES * 2.0 * (h * d) as f64;
    [head * heads as f64, head * t.saturating_sub(heads) as f64]
}

pub(super) fn heads(dials: &Dials) -> Live {
    let (t, kv) = (dials.get("t"), dials.get("k"));
    let Some(model) = model("llama-3.1-70b") else {
        return Live::default();
    };
    let shape = (model.hidden, model.head_dim, kv);
    let bars: Vec<Bar> = RANKS.iter().map(|t| Bar::new(verbatim(format!("TP {t}")), held(shape, *t))).collect();
    let copies = (t as f64 / kv as f64).max(1.0);
    let (queries, each) = (model.heads, (kv as f64 / t as f64).max(1.0));
    Live::of([
        t!(
            "Attention is cut by heads. With grouped queries few heads have keys and values: here {kv} for {queries} \
                heads of queries. A head is not cut, so with {t} ranks each has {each}.",
            kv,
            queries,
            t,
            each = number(each, 3)
        ),
        t!(
            "With more ranks than heads some hold the same: {copies} of each, in weights, gradients, optimizer \
                states and the keys and values that a token keeps.",
            copies = counts::copies(copies)
        ),
    ])
    .below("the copies of each head", copies, 1.5, three)
    .formula("copies = max(1, t / k)", format!("max(1, {t} / {kv}) = {}", three(copies)))
    .note(t!(
        "Projections of keys and values of one layer of {model}, on all ranks together. Queries need the ranks to \
            divide their heads.",
        model = verbatim("Llama 3.1 70B")
    ))
    .compared(t!(
        "Megatron-LM cuts these projections evenly in such a case and gathers their results instead (attention.py, \
            num_query_groups below the ranks): no copies of weights, one more exchange a layer. The calculator counts \
            copies for every stack."
    ))
    .bars(&HELD, &bars, None)
}

fn three(value: f64) -> String {
    number(value, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of a rank of the calculator: Llama 3.1 70B has eight heads of keys and values of 128 in 80 layers of
    /// width 8192 (`config.json`). From TP 8 to TP 16 everything else is halved; a rank's head stays whole, so twice
    /// the weights of TP 16 exceed those of TP 8 by that head, with its norms, which every rank has.
    #[test]
    fn beyond_the_heads_a_rank_keeps_a_whole_one() {
        let weights = |tp: u64| {
            let settings = format!("model=llama-3.1-70b&gpus={tp}&tp={tp}&pp=1&zero=0");
            run(&settings).unwrap().report.memory.per_stage[0].weights.0
        };
        let head = 80.0 * 2.0 * 2.0 * 8192.0 * 128.0;
        let norms = 161.0 * 2.0 * 8192.0;
        let more = 2.0 * weights(16) - weights(8);
        assert!((more / (head + norms) - 1.0).abs() < 0.01, "{more:e} {:e}", head + norms);
        assert_eq!(held((8192, 128, 8), 16), [2.0 * 2.0 * 8.0 * 1_048_576.0; 2]);
        assert_eq!(held((8192, 128, 8), 8)[1], 0.0);
    }
}
