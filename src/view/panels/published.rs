//! Published runs: what was measured of them beside what the calculator predicts.

use super::words;
use crate::core::memory::Verdict;
use crate::core::message::verbatim;
use crate::core::report::{Evaluation, evaluate};
use crate::core::run::Run;
use crate::core::run::presets::{Measured, PUBLISHED, published};
use crate::core::t;
use crate::core::units::{MemoryUnit, Seconds, group, show_off, show_percent, show_seconds, significant};
use crate::view::node::markup::{Node, cited_at, el, leaf, load, muted, table, text};

/// A measured figure: its name, what was published, what is predicted, and the relative error.
fn figure(measured: Measured, evaluation: &Evaluation) -> (&'static str, String, String, f64) {
    let step = &evaluation.report.step;
    let rate = |value: f64| format!("{} TFLOP/s", significant(value, 3));
    let (name, theirs, ours, show): (_, f64, f64, fn(f64) -> String) = match measured {
        Measured::Step(theirs) => ("step", theirs, step.time_s.0, |s| show_seconds(Seconds(s))),
        Measured::Tflops(theirs) => ("model rate per GPU", theirs, step.tflops_per_gpu, rate),
        Measured::HardwareTflops(theirs) => {
            let again = if step.mfu > 0.0 { step.hfu / step.mfu } else { 1.0 };
            ("hardware rate per GPU", theirs, step.tflops_per_gpu * again, rate)
        }
        Measured::Mfu(theirs) => ("MFU", theirs, step.mfu, show_percent),
        Measured::Hfu(theirs) => ("HFU", theirs, step.hfu, show_percent),
        Measured::Tokens(theirs) => {
            ("tokens/s/GPU", theirs, step.tokens_per_s_per_gpu, |tokens| group(&format!("{tokens:.0}")))
        }
        Measured::GpuHours(theirs) => {
            ("GPU-hours", theirs, step.gpu_hours.unwrap_or(0.0), |hours| group(&format!("{hours:.0}")))
        }
    };
    (name, show(theirs), show(ours), ours / theirs - 1.0)
}

fn off(share: f64) -> String {
    show_off(share, 0)
}

/// A panel where `run` is a published one, unchanged: its figures and ours.
#[must_use]
pub fn beside(run: &Run) -> Node {
    let Some(known) = published(run) else {
        return Node::none();
    };
    let Ok(evaluation) = evaluate(run) else {
        return Node::none();
    };
    let mut rows: Vec<_> = known
        .measured
        .iter()
        .map(|measured| {
            let (name, theirs, ours, share) = figure(*measured, &evaluation);
            (false, vec![text(name), text(verbatim(&theirs)), text(verbatim(&ours)), text(verbatim(off(share)))])
        })
        .collect();
    let memory = &evaluation.report.memory;
    let verdict = t!(
        "{verdict} at {peak} of {capacity}",
        verdict = words::verdict(memory.verdict),
        peak = MemoryUnit::Gib.number(memory.peak_bytes),
        capacity = MemoryUnit::Gib.show(memory.capacity_bytes)
    );
    let cells = vec![text("memory"), text("it ran"), text(&verdict), text("")];
    rows.push((memory.verdict == Verdict::Oom, cells));
    let title = t!("{run}: published and computed", run = known.name);
    el(
        "section",
        &[("class", "published")],
        &[
            el("div", &[("class", "panel-head")], &[leaf("h2", "", &title)]),
            table(&title, &["", "published", "computed", "off"], &rows),
            el(
                "p",
                &[("class", "muted")],
                &[
                    text("Source: "),
                    cited_at(known.source, known.place),
                    text(t!(". Not printed, and taken: {assumed}.", assumed = known.assumed)),
                ],
            ),
        ],
    )
    .label(title)
}

/// All published runs, each with the button that loads it.
#[must_use]
pub fn all(run: &Run) -> Node {
    let now = published(run).map(|known| known.id);
    let rows: Vec<_> = PUBLISHED
        .iter()
        .map(|known| {
            let run = known.run();
            let (what, theirs, ours, share) = match (known.measured.first(), evaluate(&run)) {
                (Some(measured), Ok(evaluation)) => figure(*measured, &evaluation),
                _ => ("", String::new(), String::new(), 0.0),
            };
            let cells = vec![
                load("link", &run, "", &[text(known.name)]),
                text(what),
                text(verbatim(&theirs)),
                text(verbatim(&ours)),
                text(verbatim(off(share))),
                cited_at(known.source, known.place),
            ];
            (now == Some(known.id), cells)
        })
        .collect();
    [
        leaf("h2", "", "Published runs"),
        muted("Each is loaded whole, with what its authors measured beside what is computed here. The accuracy panel has every measurement the calculator is tested against."),
        table("Published runs", &["", "figure", "published", "computed", "off", "source"], &rows),
    ]
    .into_iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::node::action::Action;

    #[test]
    fn a_published_run_shows_both_figures_and_its_source_until_it_is_changed() {
        for known in PUBLISHED {
            let mut run = known.run();
            let html = beside(&run).to_html();
            assert!(html.contains(known.place) && html.contains("published and computed"), "{}", known.id);
            run.micro_batch = 7;
            assert_eq!(beside(&run), Node::none());
        }
        let page = all(&Run::default());
        for (known, action) in PUBLISHED.iter().zip(page.actions()) {
            assert_eq!(*action, Action::Load(known.run().into()));
        }
        assert_eq!(page.actions().len(), PUBLISHED.len());
    }
}
