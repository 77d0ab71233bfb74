//! The Ultra-Scale Playbook's four overlap ratios: communication over the compute it hides behind, as printed and in
//! bytes.
//!
//! The playbook counts elements, not bytes, so each ratio is multiplied by the bytes of an element; in the
//! data-parallel ratio it keeps a `num_params` that cancels. F is the peak in FLOP/s, B the bandwidth in bytes a
//! second. Source: Ultra-Scale Playbook, appendix A3.

use super::kind::Traffic;
use crate::explain::symbols::{
    BF16_PEAK, HIDDEN, MICROBATCH_TOKENS, NEXT_LAYERS, ONE_WAY, SENT_ELEMENT, SHARING, TENSOR,
};
use crate::explain::{Quantity, Term, Unit, Written, written};
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

/// The ratio of `traffic` with `element` bytes an element over a wire of bandwidth `b`; `next_layers` are those of the
/// next pipeline stage. None for rows that the playbook has no formula for.
fn ratio<Q: Quantity>(
    scenario: &Scenario,
    traffic: Traffic,
    element: f64,
    b: BytesPerSecond,
    next_layers: f64,
) -> Option<Q> {
    let per_byte = SENT_ELEMENT.of::<Q>(element) * BF16_PEAK.of::<Q>(scenario.gpu.bf16.0);
    let (h, b) = (HIDDEN.of::<Q>(scenario.model.hidden), ONE_WAY.of::<Q>(b.0));
    let less_one = |size: Q| size - Q::number(1.0);
    Some(match traffic {
        Traffic::Dp | Traffic::Zero3 => {
            let (n, tokens) = (SHARING.signed("n").of::<Q>(scenario.zero.shard), scenario.tokens_per_rank());
            per_byte * less_one(n) / (n * MICROBATCH_TOKENS.of::<Q>(tokens) * b * 2.0)
        }
        Traffic::Tp => per_byte * less_one(TENSOR.of::<Q>(scenario.layout.tp)) / (h * b * 2.0),
        Traffic::Pp => per_byte / (h * NEXT_LAYERS.of::<Q>(next_layers.max(1.0)) * b * 32.0),
        Traffic::Cp | Traffic::Ep => return None,
    })
}

/// The playbook's ratio for `traffic` over a wire of bandwidth `b`; `elements` are the parameters of a GPU,
/// `next_layers` those of the next pipeline stage. None for rows that the playbook has no formula for.
pub fn playbook_ratio(
    scenario: &Scenario,
    traffic: Traffic,
    b: BytesPerSecond,
    elements: f64,
    next_layers: f64,
) -> Option<PlaybookRatio> {
    let of = |element| ratio::<f64>(scenario, traffic, element, b, next_layers);
    let kept = if traffic == Traffic::Dp { elements } else { 1.0 };
    Some(PlaybookRatio { printed: of(1.0)? * kept, corrected: of(element(scenario, traffic))? })
}

/// The corrected ratio of `traffic` as a formula; notes name the differences to the printed form.
pub(crate) fn playbook_term(scenario: &Scenario, traffic: Traffic, b: BytesPerSecond) -> Option<Term> {
    let layers = scenario.model.layers as f64 / scenario.stage_layers.len() as f64;
    let name = "the playbook's ratio, corrected to bytes";
    let element = element(scenario, traffic);
    let term = written(|| Some(ratio::<Written>(scenario, traffic, element, b, layers)?.term("Q", name, Unit::Ratio)))?
        .from(&PLAYBOOK, "appendix A3")
        .note(
            "at the data-sheet peaks of compute and of the group's links, for all of the compute; whether the \
            messages hide is R's to say",
        )
        .note("the playbook counts elements: its printed form has no e");
    Some(if traffic == Traffic::Dp {
        term.note("the printed form keeps num_params in the numerator, which cancels")
    } else {
        term
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use crate::units::BytesPerSecond;

    /// The playbook's appendix A3 in bytes: on H100 over NVLink (2198 FLOP a byte) TP 8 at h 8192 gives 1.88 in bytes;
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

    /// The printed form counts elements, whatever their bytes: it stays as it is where gradients take none.
    #[test]
    fn the_printed_ratio_does_not_depend_on_the_bytes_of_an_element() {
        let printed = |grads: &str| {
            let set = [("precision", "bf16".to_owned()), ("precision.grads", grads.to_owned())];
            let scenario = Scenario::new(&Run::default().with_texts(&set).unwrap()).unwrap();
            playbook_ratio(&scenario, Traffic::Dp, BytesPerSecond(450e9), 1e9, 1.0).unwrap().printed
        };
        assert!(printed("0").is_finite());
        assert!((printed("0") / printed("4") - 1.0).abs() < 1e-12);
    }
}
