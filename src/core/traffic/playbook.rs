//! The Ultra-Scale Playbook's four overlap ratios: communication over the compute it hides behind, as printed and in
//! bytes.
//!
//! The playbook counts elements, not bytes, so each ratio is multiplied by the bytes of an element; in the data-parallel
//! ratio it keeps a `num_params` that cancels. F is the peak in FLOP/s, B the bandwidth in bytes a second.
//! Source: Ultra-Scale Playbook, appendix A3.

use super::kind::Traffic;
use crate::explain::{Term, Unit};
use crate::run::Scenario;
use crate::source::PLAYBOOK;
use crate::units::BytesPerSecond;

/// One of the ratios: at most 1 means that compute can hide the communication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaybookRatio {
    /// As the playbook prints it.
    pub printed: f64,
    /// In bytes, with the slip mended.
    pub corrected: f64,
}

/// Bytes an element of `traffic`.
fn element(scenario: &Scenario, traffic: Traffic) -> f64 {
    if traffic == Traffic::Dp { scenario.reduced_gradient() } else { scenario.precision.computes.activation() }
}

/// The playbook's ratio for `traffic` over a wire of bandwidth `b`; `elements` are the parameters of a GPU,
/// `next_layers` those of the next pipeline stage. None for rows that the playbook has no formula for.
#[must_use]
pub fn playbook_ratio(
    scenario: &Scenario,
    traffic: Traffic,
    b: BytesPerSecond,
    elements: f64,
    next_layers: f64,
) -> Option<PlaybookRatio> {
    let per_byte = scenario.gpu.bf16.0 / b.0;
    let h = scenario.model.hidden as f64;
    let (dp, tp) = (scenario.zero.shard as f64, scenario.layout.tp as f64);
    let ratio = match traffic {
        Traffic::Dp | Traffic::Zero3 => (dp - 1.0) / dp * per_byte / (2.0 * scenario.tokens_per_rank()),
        Traffic::Tp => (tp - 1.0) / (2.0 * h) * per_byte,
        Traffic::Pp => per_byte / (32.0 * h * next_layers.max(1.0)),
        Traffic::Cp | Traffic::Ep => return None,
    };
    Some(PlaybookRatio {
        printed: if traffic == Traffic::Dp { ratio * elements } else { ratio },
        corrected: ratio * element(scenario, traffic),
    })
}

/// The corrected `ratio` of `traffic` as a formula; notes name the differences to the printed form.
#[must_use]
pub(crate) fn playbook_term(scenario: &Scenario, traffic: Traffic, b: BytesPerSecond, ratio: f64) -> Term {
    let given = |symbol, name: &'static str, value| Term::given(symbol, name, value, Unit::Count);
    let layers = scenario.model.layers as f64 / scenario.stage_layers.len() as f64;
    let book = [
        given("n", "ranks that share them", scenario.zero.shard as f64),
        Term::given("T", "tokens per micro-batch", scenario.tokens_per_rank(), Unit::Tokens),
        given("t", "tensor parallel", scenario.layout.tp as f64),
        given("h", "hidden size", scenario.model.hidden as f64),
        Term::given("L", "layers of the next stage", layers.max(1.0), Unit::Ratio),
        Term::given("e", "bytes per element", element(scenario, traffic), Unit::Bytes),
        Term::given("F", "bf16 peak", scenario.gpu.bf16.0, Unit::FlopRate),
        Term::given("B", "bandwidth, one direction", b.0, Unit::Bandwidth),
    ];
    let formula = match traffic {
        Traffic::Tp => "e F (t - 1)/(2 h B)",
        Traffic::Pp => "e F/(32 h L B)",
        _ => "e F (n - 1)/(2 n T B)",
    };
    let term = Term::given("Q", "the playbook's ratio, corrected to bytes", ratio, Unit::Ratio)
        .over(formula, &book)
        .from(&PLAYBOOK, "appendix A3")
        .note("at the data-sheet peaks of compute and wire; at most 1: can be hidden")
        .note("the playbook counts elements: its printed form has no e");
    if traffic == Traffic::Dp {
        return term.note("the printed form keeps num_params in the numerator, which cancels");
    }
    term
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use crate::units::BytesPerSecond;

    /// Survey of the playbook's appendix A3: on H100 over NVLink (2198 FLOP a byte) TP 8 at h 8192 gives 1.88 in bytes;
    /// bf16 gradients hide from 2198 tokens a rank on, times (n - 1)/n.
    #[test]
    fn worked_numbers_of_the_ratios_are_met() {
        let run = Run {
            model: crate::run::Based::preset("llama-3.1-70b"),
            tp: 8,
            precision: crate::run::Based::preset("bf16"),
            ..Run::default()
        };
        let scenario = Scenario::new(&run).unwrap();
        let nvlink = BytesPerSecond(450e9);
        let tp = playbook_ratio(&scenario, Traffic::Tp, nvlink, 1.0, 1.0).unwrap();
        assert_eq!(format!("{:.2}", tp.corrected), "1.88");
        assert!((tp.printed * 2.0 - tp.corrected).abs() < 1e-12);
        let dp = playbook_ratio(&scenario, Traffic::Dp, nvlink, 1e9, 1.0).unwrap();
        let group = (scenario.zero.shard as f64 - 1.0) / scenario.zero.shard as f64;
        assert_eq!(format!("{:.0}", dp.corrected / group * 8192.0), "2198");
        assert!((dp.printed / dp.corrected - 1e9 / 2.0).abs() < 1e-3);
    }
}
