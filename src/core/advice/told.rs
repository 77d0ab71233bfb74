//! Whether one of two layouts of a run is known to be faster: the one rule by which a gain is called one, or said to be
//! none that can be told.

use crate::maths::exp;
use crate::message::Message;
use crate::run::Run;
use crate::t;
use crate::time::between_layouts;
use crate::units::show_gain;

/// The error of a difference between two layouts of `run`, as a logarithm ([`between_layouts`],
/// `tests/time/differences.rs`).
fn deviation(run: &Run) -> f64 {
    between_layouts(run.model.resolve().is_ok_and(|model| model.moe.is_some()))
}

/// The smallest gain between layouts of `run` that is called one, as the share of the longer step that it saves, in
/// whole tenths of a percent: what is beyond the error of a difference also where a figure was rounded to a tenth. All
/// texts that name a limit of gains print this figure, and [`is_told`] decides by it.
pub fn least_told(run: &Run) -> f64 {
    (1000.0 * (1.0 - exp(-deviation(run))) + 0.5).ceil() / 1000.0
}

/// The share of the longer step from which on a gain rounds to [`least_told`] or more.
pub fn told_from(run: &Run) -> f64 {
    least_told(run) - 0.0005
}

/// True if `shorter`, a time of a layout of `run`, is a gain over `longer`, as both are printed.
pub fn is_told(run: &Run, shorter: f64, longer: f64) -> bool {
    shorter <= longer * (1.0 - told_from(run))
}

/// Share of a step that a layout of `run` saves at least, where `saved` is predicted: the predicted gain less the error
/// of the difference. Of the published pairs of layouts that the error is set by, 76 % kept it
/// (`tests/time/differences.rs`). Negative where `saved` is inside that error.
pub fn least_saved(run: &Run, saved: f64) -> f64 {
    1.0 - (1.0 - saved) * exp(deviation(run))
}

/// The sentence beside two times of layouts of `run` where no estimate tells which is shorter.
pub fn untold(run: &Run, shorter: f64, longer: f64) -> Message {
    t!(
        "They may be equal: the shorter takes {saved} % less, and gains below {least} % cannot be told apart.",
        saved = show_gain(1.0 - shorter / longer),
        least = show_gain(least_told(run))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 − e^(−0.076) is 7.32 %, 1 − e^(−0.089) 8.52 %: what rounds to less is not told, and the method says so.
    #[test]
    fn the_method_names_the_limits_of_gains() {
        let method = include_str!("../../../docs/methods/search.md");
        let [dense, routed] = ["llama-3.1-8b", "deepseek-v3"].map(|model| {
            let run = Run::default().with_texts(&[("model", model)]).unwrap();
            show_gain(least_told(&run))
        });
        assert_eq!((dense.as_str(), routed.as_str()), ("7.4", "8.6"));
        assert!(method.contains(&format!("below {dense} % for dense models and below {routed} % with experts")));
    }

    /// What is told is beyond the error of a difference, and is printed as no less than the limit that is printed
    /// beside it; what is not told is printed as less. So no two figures that differ by rounding alone decide.
    #[test]
    fn a_gain_is_told_exactly_where_it_is_printed_as_one() {
        for model in ["llama-3.1-8b", "deepseek-v3"] {
            let (run, issues) = Run::from_pairs(&[("model".to_owned(), model.to_owned())]);
            assert!(issues.is_empty());
            let printed = |share: f64| show_gain(share).parse::<f64>().unwrap();
            for step in 1..4_000 {
                let saved = f64::from(step) * 0.000_1 + 0.000_03;
                let told = is_told(&run, 1.0 - saved, 1.0);
                assert_eq!(told, printed(saved) >= printed(least_told(&run)), "{model} {saved}");
                assert!(!told || least_saved(&run, saved) > 0.0, "{model} {saved}");
            }
        }
    }
}
