//! The answer at a glance: does it fit, how long is a step, where does the time go.

use super::issues::line;
use super::words;
use crate::core::memory::Verdict;
use crate::core::message::{Message, verbatim};
use crate::core::report::{Figure, Report};
use crate::core::t;
use crate::core::units::{MemoryUnit, group, show_percent, show_seconds};
use crate::view::node::markup::{Node, ask, leaf, text};

/// The key figures; each opens its formula.
#[must_use]
pub fn strip(report: &Report, unit: MemoryUnit) -> Node {
    let (memory, step) = (&report.memory, &report.step);
    let (class, mark) = match memory.verdict {
        Verdict::Fits => ("key verdict fits", "✓"),
        Verdict::Tight => ("key verdict tight", "≈"),
        Verdict::Oom => ("key verdict oom", "✕"),
    };
    let peak = t!(
        "{peak} of {capacity}",
        peak = unit.number(memory.peak_bytes),
        capacity = unit.show(memory.capacity_bytes)
    );
    let verdict = ask(
        class,
        Figure::Memory(memory.peak_stage),
        &[
            leaf("span", "name", words::fullest(&memory.peak())),
            value(&[
                leaf("span", "mark", mark),
                leaf("span", "word", words::verdict(memory.verdict)),
                text(" "),
                leaf("small", "", &peak),
            ]),
        ],
    );
    let range = t!(
        "{low} to {high}",
        low = show_seconds(step.low_s).trim_end_matches(" s").to_owned(),
        high = show_seconds(step.high_s)
    );
    let exposed = if step.time_s.0 > 0.0 {
        step.exposed_comm_s / step.time_s
    } else {
        0.0
    };
    let tokens = group(&format!("{:.0}", step.tokens_per_s_per_gpu));
    [
        verdict,
        key(
            "Step",
            &show_seconds(step.time_s),
            range,
            Figure::Step,
            "key",
        ),
        key(
            "Tokens/s/GPU",
            &tokens,
            Message::default(),
            Figure::Tokens,
            "key",
        ),
        key(
            "MFU",
            &show_percent(step.mfu),
            t!("{precision} peak", precision = step.peak.precision),
            Figure::Mfu,
            "key",
        ),
        key(
            "Bubble",
            &show_percent(report.pipeline.bubble_fraction),
            Message::default(),
            Figure::Bubble,
            "key",
        ),
        key(
            "Exposed",
            &show_percent(exposed),
            Message::default(),
            Figure::Exposed,
            "key phone-skip",
        ),
    ]
    .into_iter()
    .chain(logits(report))
    .collect()
}

/// That the logits are what does not fit, with the loss kernel that mends it.
fn logits(report: &Report) -> Option<Node> {
    let mut warnings = report.warnings.iter();
    warnings
        .find(|issue| issue.field == "cross_entropy")
        .map(line)
}

fn key(name: &'static str, figure: &str, range: Message, of: Figure, class: &str) -> Node {
    let mut parts = vec![text(verbatim(figure))];
    if !range.is_empty() {
        parts.extend([text(" "), leaf("small", "range", range)]);
    }
    ask(class, of, &[leaf("span", "name", name), value(&parts)])
}

fn value(parts: &[Node]) -> Node {
    crate::view::node::markup::el("span", &[("class", "value")], parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::verdict::Chance;
    use crate::core::report::report;
    use crate::core::run::{CrossEntropy, OneOf, Recompute, Run};

    /// Every verdict's own words stand in the strip; a tight run never reads as if it fitted.
    #[test]
    fn a_tight_run_says_its_share_and_how_many_like_it_ran_out() {
        let run = Run {
            seq_len: 28_672,
            ..Run::default()
        };
        let report = report(&run).unwrap();
        assert_eq!(report.memory.verdict, Verdict::Tight);
        let html = strip(&report, MemoryUnit::Gib).to_html();
        let Chance { like, ran_out } = report.memory.chance;
        let share = show_percent(report.memory.need_bytes / report.memory.capacity_bytes);
        let words = format!(
            "rank {}: {share} of usable; of {like} measured runs like this, {ran_out} ran out",
            report.memory.peak_stage
        );
        assert!(html.contains(&words), "{html}");
        assert!(html.contains("May not fit") && !html.contains("Fits"));
    }

    #[test]
    fn every_key_figure_says_where_it_comes_from() {
        let view = strip(&report(&Run::default()).unwrap(), MemoryUnit::Gib);
        assert_eq!(view.actions().len(), 6);
        let html = view.to_html();
        assert!(
            html.contains("Fits") && html.contains("of 79.2 GiB"),
            "{html}"
        );
        assert!(html.contains("bf16 peak"));
    }

    /// Llama 3.1 8B on one GPU a replica: at 10 bytes a logit and 128,256 words (survey, section 2.6) the loss of long
    /// sequences is what runs out. It is said exactly where a fused kernel makes the whole report fit.
    #[test]
    fn the_strip_says_where_the_logits_are_what_does_not_fit() {
        let mut counted = 0;
        for thousands in 1..=64 {
            let run = Run {
                tp: 1,
                pp: 1,
                recompute: Recompute::Full,
                seq_len: 1024 * thousands,
                ..Run::default()
            };
            let with = |cross_entropy| {
                let run = Run {
                    cross_entropy: Some(cross_entropy),
                    ..run.clone()
                };
                report(&run).unwrap()
            };
            let fits = |kernel| with(kernel).memory.verdict == Verdict::Fits;
            let unfused = with(CrossEntropy::Megatron);
            let closest = [CrossEntropy::MegatronFused, CrossEntropy::TeFused]
                .into_iter()
                .find(|kernel| fits(*kernel));
            let wanted = closest.filter(|_| unfused.memory.verdict != Verdict::Fits);
            let view = strip(&unfused, MemoryUnit::Gib);
            let html = view.to_html();
            assert_eq!(html.contains("the logits are what"), wanted.is_some());
            if let Some(kernel) = wanted {
                counted += 1;
                assert!(html.contains(&format!("use cross_entropy={}", kernel.id())));
            }
        }
        assert!((1..64).contains(&counted), "{counted}");
    }
}
