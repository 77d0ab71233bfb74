//! Measured gains of a vision tower on ranks of its own, beside what is computed.
//!
//! With m micro-batches and two stages a step of the baseline takes `F + (m + 1)(L + e)`, of the other
//! `F + (m + 1) L + e`: L the language model's passes of a stage, e the tower's, F what comes once a step. A gain
//! `g = m e/(F + (m + 1)(L + e))` at two numbers of micro-batches gives L/e and F/e.

use crate::report::evaluate;
use crate::run::Run;

/// Measured cells of one image size: tokens of a sequence, global batch, and the share of a step that a rank more for
/// the tower saved. Source: Megatron-Bridge 067f987, `tutorials/megatron_mimo/qwen35-vl-non-colocated-sft.md`, section
/// 4, RDR (768 x 768 pixels): Qwen3.5-VL 27B, TP 4, PP 2, DP 2 on 16 GPUs against 17.
const MEASURED: [(u64, u64, f64); 4] = [(2048, 32, 0.276), (2048, 64, 0.350), (4096, 32, 0.237), (4096, 64, 0.279)];

/// A measured cell with what is computed for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TowerCell {
    pub seq_len: u64,
    pub global_batch: u64,
    /// Share of the step that the tower's own rank saves, measured and computed.
    pub measured: f64,
    pub computed: f64,
}

/// What two cells of one sequence say of a micro-batch: passes of the tower over those of a stage of the language
/// model, measured and computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TowerShare {
    pub seq_len: u64,
    pub measured: f64,
    pub computed: f64,
    /// Computed passes of a stage of the language model, seconds.
    pub stage_s: f64,
}

/// Seconds of a step of the measured model, on H100: the tower on the first stage or on a rank of its own.
fn step_s(seq_len: u64, global_batch: u64, apart: bool) -> Option<f64> {
    let place = if apart { ("17", "own-ranks") } else { ("16", "first-stage") };
    let settings = [
        ("model", "qwen-3.5-27b"),
        ("model.vision.base", "qwen3.5"),
        ("model.vision.image_width", "768"),
        ("model.vision.image_height", "768"),
        ("model.vision.placement", place.1),
        ("stack", "megatron-2026"),
        ("gpu", "h100-sxm-80gb"),
        ("tp", "4"),
        ("pp", "2"),
        ("gpus", place.0),
    ];
    let mut texts: Vec<(&str, String)> = settings.map(|(key, text)| (key, text.to_owned())).to_vec();
    texts.extend([("seq_len", seq_len.to_string()), ("global_batch", global_batch.to_string())]);
    let run = Run::default().with_texts(&texts)?;
    Some(evaluate(&run).ok()?.report.step.time_s.0)
}

/// The measured cells, and what they say of each sequence.
pub fn tower_cells() -> Option<(Vec<TowerCell>, Vec<TowerShare>)> {
    let (mut cells, mut shares) = (Vec::new(), Vec::new());
    for pair in MEASURED.chunks(2) {
        let [(seq_len, few, gain_few), (_, many, gain_many)] = *pair else { return None };
        let steps = |apart| Some([step_s(seq_len, few, apart)?, step_s(seq_len, many, apart)?]);
        let (first, own) = (steps(false)?, steps(true)?);
        for (at, (batch, measured)) in [(few, gain_few), (many, gain_many)].into_iter().enumerate() {
            cells.push(TowerCell { seq_len, global_batch: batch, measured, computed: 1.0 - own[at] / first[at] });
        }
        // Two replicas, one sequence a micro-batch.
        let [m, n] = [few, many].map(|batch| batch as f64 / 2.0);
        // m/g = F/e + (m + 1)(L/e + 1).
        let both = (n / gain_many - m / gain_few) / (n - m);
        let stage_s = (own[1] - own[0]) / (n - m);
        let with_tower = (first[1] - first[0]) / (n - m);
        shares.push(TowerShare {
            seq_len,
            measured: 1.0 / (both - 1.0),
            computed: with_tower / stage_s - 1.0,
            stage_s,
        });
    }
    Some((cells, shares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    /// The cells are those of the table, and the sequences are padded to their length in both programs
    /// (Megatron-Bridge 067f987, `qwen3_vl_step.py:268`: with a pipeline; `finetune_qwen35_vl.py`,
    /// `--pad-to-seq-length`): twice the sequence makes a stage of the language model as much longer as computed, and
    /// the tower's passes, which no sequence changes, come out alike from both.
    #[test]
    fn measured_towers_take_several_times_what_is_computed() {
        let table = Table::read(include_str!("../../../tests/data/layouts/mimo_measured.csv"));
        let measured: Vec<_> = table
            .lines()
            .filter(|line| line.text("data").starts_with("RDR"))
            .map(|line| ["seq", "global_batch", "wall_less_percent"].map(|column| line.number(column).unwrap()))
            .collect();
        let (cells, shares) = tower_cells().unwrap();
        for (cell, [seq_len, batch, percent]) in cells.iter().zip(&measured) {
            println!("{cell:?}: error {:.2}", cell.computed / cell.measured - 1.0);
            assert_eq!((cell.seq_len as f64, cell.global_batch as f64), (*seq_len, *batch));
            assert!((cell.measured - percent / 100.0).abs() < 1e-9);
            assert!(cell.computed > 0.0 && cell.computed < cell.measured, "{cell:?}");
        }
        assert_eq!((cells.len(), measured.len()), (4, 4));
        let [short, long] = shares[..] else { panic!("{shares:?}") };
        println!("{short:?} {long:?}");
        let longer = (short.measured / long.measured) / (long.stage_s / short.stage_s);
        assert!((longer - 1.0).abs() < 0.1, "{longer}");
        // "roughly twice as fast" without images: Megatron-Bridge, `nemo-mbridge-perf-moe-vlm-training`.
        assert!((0.7..1.2).contains(&short.measured), "{short:?}");
        assert!(shares.iter().all(|share| share.measured > 4.0 * share.computed), "{shares:?}");
    }
}
