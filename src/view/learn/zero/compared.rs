//! ZeRO-3 and a pipeline: both divide a model's layers over ranks, one sends weights, the other activations.

use crate::learn::prelude::*;
use shardscope_core::traffic::microbatch_traffic;

const SENT: Scale =
    Scale { parts: &[("weights and gradients", Ink::Memory(0)), ("activations", Ink::Memory(3))], unit: ("GB", 1e9) };

/// Bytes that a GPU sends in a step of `batch` sequences, Llama 3.1 70B over `ranks`: with ZeRO-3 in micro-batches of
/// `each` sequences, and in the middle of a pipeline.
fn sent(ranks: u64, batch: u64, each: u64) -> Option<[f64; 2]> {
    let common = format!("model=llama-3.1-70b&gpus={ranks}&tp=1&seq_len=4096&global_batch={batch}");
    let rows = run(&format!("{common}&micro_batch={each}&zero=3&pp=1"))?.report.overlap;
    let weights = rows.iter().filter(|row| [Traffic::Zero3, Traffic::Dp].contains(&row.traffic));
    let pipeline = run(&format!("{common}&micro_batch=1&zero=0&pp={ranks}"))?.scenario;
    let middle = usize::try_from(ranks / 2).ok()?;
    let activations = microbatch_traffic(&pipeline, middle).pp.0 * batch as f64;
    Some([weights.map(|row| row.bytes_per_gpu.0).sum(), activations])
}

pub(super) fn compared(dials: &Dials) -> Live {
    let (ranks, batch) = (dials.get("n"), dials.get("B"));
    let each = dials.get("b").min(batch / ranks);
    let Some([weights, activations]) = sent(ranks, batch, each) else {
        return Live::default();
    };
    let bars = [Bar::new("ZeRO-3", [weights, 0.0]), Bar::new("pipeline", [0.0, activations])];
    let ratio = weights / activations;
    let live = Live::of([
        t!("Both keep a part of the model on each rank. With ZeRO-3 every rank runs all layers and gathers their \
                weights; in a pipeline a rank runs its own layers and passes activations on."),
        t!(
            "In micro-batches of {each} ZeRO-3 sends {ratio} times as much. It pays with few micro-batches, a \
                pipeline with many: its idle time shrinks with them.",
            each,
            ratio = number(ratio, 3)
        ),
    ])
    .below("what ZeRO-3 sends over what a pipeline sends", ratio, 20.0, three)
    .formula(
        "ratio = bytes(weights, gradients) / bytes(activations)",
        format!("{} GB / {} GB = {}", three(weights / 1e9), three(activations / 1e9), three(ratio)),
    )
    .note(t!(
        "{model}, {tokens} tokens a sequence; only what is sent, whether it fits or not.",
        model = verbatim("Llama 3.1 70B"),
        tokens = 4096_u32
    ))
    .bars(&SENT, &bars, None);
    Live { table: Node::from_iter([words(), live.table]), ..live }
}

fn three(value: f64) -> String {
    number(value, 3)
}

/// The playbook's comparison, row by row.
fn words() -> Node {
    let rows = [
        ["a rank computes", "all layers, one after the other", "its own layers"],
        ["it keeps", "a part of every layer", "its layers whole"],
        ["it sends", "weights and gradients", "activations and their gradients"],
        ["with more micro-batches", "sends more", "idles less"],
        ["hides behind", "large micro-batches, long sequences", "many micro-batches"],
        ["needs", "memory for gathered layers", "a schedule, balanced stages"],
    ];
    let cells = |row: [&'static str; 3]| (false, row.map(text).to_vec());
    let label = "ZeRO-3 and a pipeline";
    fold(label, table(label, &["", "ZeRO-3", "pipeline"], &rows.map(cells)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ZeRO, section 7.2.2, and Narayanan 2021, section 3.2: a step with one micro-batch a rank gathers the weights
    /// twice and scatters gradients once, in bytes of bf16 and fp32 `8 P (n − 1)/n`; a rank in the middle of a
    /// pipeline sends `b s h` numbers forward and as many backward for each of `B` micro-batches.
    #[test]
    fn bytes_are_those_of_the_papers() {
        let (n, batch) = (8, 8);
        let [weights, activations] = sent(n, batch, 1).unwrap();
        let parameters = 70.553_706_496e9;
        let expected = 8.0 * parameters * (n as f64 - 1.0) / n as f64;
        assert!((weights / expected - 1.0).abs() < 0.02, "{weights:e} {expected:e}");
        let expected = 2.0 * 2.0 * 4096.0 * 8192.0 * batch as f64;
        assert!((activations / expected - 1.0).abs() < 1e-9, "{activations:e} {expected:e}");
    }
}
