//! Measured and computed gains of a vision tower that has a rank of its own instead of a place on the first stage.
//!
//! A step with m micro-batches on a pipeline of two stages takes
//! - `F + (m + 1)(L + e)` with the tower on the first stage,
//! - `F + (m + 1) L + e` with the tower on a rank of its own,
//!
//! where L is the time of a stage's language-model layers for one micro-batch (forward and backward), e that of the
//! tower, and F the time of everything that happens once a step. The share of the step that is saved,
//! `g = m e/(F + (m + 1)(L + e))`, measured for two numbers of micro-batches, gives L/e and F/e.

use crate::report::evaluate;
use crate::run::Run;

/// Measured cells of one image size: tokens of a sequence, global batch, and the share of the step that is saved by one
/// more rank, which holds the tower. Source: Megatron-Bridge 067f987,
/// `tutorials/megatron_mimo/qwen35-vl-non-colocated-sft.md`, section 4, RDR (768 x 768 pixels): Qwen3.5-VL 27B, TP 4,
/// PP 2, DP 2 on 16 GPUs against 17.
const MEASURED: [(u64, u64, f64); 4] = [(2048, 32, 0.276), (2048, 64, 0.350), (4096, 32, 0.237), (4096, 64, 0.279)];

/// A measured cell beside its computed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TowerCell {
    pub seq_len: u64,
    pub global_batch: u64,
    /// Share of the step that the tower's own rank saves, as measured.
    pub measured: f64,
    /// Share of the step that the tower's own rank saves, as computed.
    pub computed: f64,
}

/// The ratio e/L of the tower's time to that of a stage of the language model, for one micro-batch: it follows from two
/// cells of one sequence length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TowerShare {
    pub seq_len: u64,
    pub measured: f64,
    pub computed: f64,
    /// L as computed, seconds.
    pub stage_s: f64,
}

/// Computed seconds of a step of the measured model on H100, with the tower on a rank of its own (`own_rank`) or on the
/// first stage.
fn step_s(seq_len: u64, global_batch: u64, own_rank: bool) -> Option<f64> {
    let (gpus, placement) = if own_rank { ("17", "own-ranks") } else { ("16", "first-stage") };
    let settings = [
        ("model", "qwen-3.5-27b"),
        ("model.vision.base", "qwen3.5"),
        ("model.vision.image_width", "768"),
        ("model.vision.image_height", "768"),
        ("model.vision.placement", placement),
        ("stack", "megatron-2026"),
        ("gpu", "h100-sxm-80gb"),
        ("tp", "4"),
        ("pp", "2"),
        ("gpus", gpus),
    ];
    let mut texts: Vec<(&str, String)> = settings.map(|(key, text)| (key, text.to_owned())).to_vec();
    texts.extend([("seq_len", seq_len.to_string()), ("global_batch", global_batch.to_string())]);
    let run = Run::default().with_texts(&texts)?;
    Some(evaluate(&run).ok()?.report.step.time_s.0)
}

/// The cells, and the ratio e/L that follows from those of each sequence length.
pub fn tower_cells() -> Option<(Vec<TowerCell>, Vec<TowerShare>)> {
    let (mut cells, mut shares) = (Vec::new(), Vec::new());
    for pair in MEASURED.chunks(2) {
        let [(seq_len, few, gain_few), (_, many, gain_many)] = *pair else { return None };
        let steps = |own_rank| Some([step_s(seq_len, few, own_rank)?, step_s(seq_len, many, own_rank)?]);
        let (on_stage, on_own) = (steps(false)?, steps(true)?);
        for (at, (batch, measured)) in [(few, gain_few), (many, gain_many)].into_iter().enumerate() {
            cells.push(TowerCell { seq_len, global_batch: batch, measured, computed: 1.0 - on_own[at] / on_stage[at] });
        }
        // Two replicas, one sequence a micro-batch.
        let [m_few, m_many] = [few, many].map(|batch| batch as f64 / 2.0);
        let more = m_many - m_few;
        // m/g = F/e + (m + 1)(L/e + 1), so that the difference of two m/g, for one micro-batch, is L/e + 1.
        let stage_over_tower = (m_many / gain_many - m_few / gain_few) / more - 1.0;
        let stage_s = (on_own[1] - on_own[0]) / more;
        let stage_with_tower_s = (on_stage[1] - on_stage[0]) / more;
        shares.push(TowerShare {
            seq_len,
            measured: 1.0 / stage_over_tower,
            computed: stage_with_tower_s / stage_s - 1.0,
            stage_s,
        });
    }
    Some((cells, shares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    /// The cells are those of the table. Both programs pad every sequence to its full length (Megatron-Bridge 067f987,
    /// `qwen3_vl_step.py:268`, with a pipeline; `finetune_qwen35_vl.py`, `--pad-to-seq-length`). So L grows with the
    /// sequence length as computed, while e, which depends on the images alone, is the same for both lengths: the
    /// measured ratios of the two lengths differ as the two computed L do.
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
