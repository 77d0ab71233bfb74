//! Why the range of a step is as wide as it is: its parts, and what would narrow each.

use crate::node::markup::bracket;
use crate::panels::step::held_less;
use crate::prelude::*;
use crate::views::View;
use shardscope_core::advice::tower_off;
use shardscope_core::run::registry::field;
use shardscope_core::time::{RangeOf, RangePart, Step, range};
use shardscope_core::units::{seconds_like, seconds_to, show_whole_percent};

/// Runs of one's own after which a range is shown.
const OWN: [u64; 2] = [1, 5];

/// Seconds of an end of a range of `step`, in its unit, without their last digit: a range is no surer.
fn coarse(seconds: Seconds, step: &Step) -> String {
    seconds_like(seconds, step.time_s, 2)
}

/// A range on the scale that the widest one fills, with its words.
fn line(name: Message, step: &Step, sd: f64, widest: f64, class: &str) -> Node {
    let (low, high) = step.ends(sd);
    let (least, most) = step.ends(widest);
    let place = |time: Seconds| (time - least) / (most - least);
    let marks = [bracket(place(low), place(high)), el("b", &[("style", &percent("left", place(step.time_s)))], &[])];
    let words = t!("{low_s} to {high_s}", low_s = coarse(low, step), high_s = coarse(high, step));
    let cells = [leaf("span", "", name), el("span", &[("class", "whisker")], &marks), leaf("span", "amount", words)];
    el("div", &[("class", class)], &cells)
}

/// The settings that are not stated, each with the way to its field; together they move the step by `seconds`.
fn not_stated(range: &RangeOf, seconds: Seconds) -> Node {
    let lead = text(t!("Not stated, moves it by {seconds}:", seconds = seconds_to(seconds, 2)));
    let fields = range.open.iter().filter_map(|open| field(open.field)).enumerate();
    let links = fields.flat_map(|(at, field)| {
        let apart = if at == 0 { " " } else { " · " };
        [text(verbatim(apart)), link_button(field.label).on(Action::Focus(field.key))]
    });
    el("p", &[], &[lead, links.collect()])
}

/// The range of the step with its parts, folded; nothing where a step was measured or a profile says it.
pub fn why_wide(evaluation: &Evaluation) -> Node {
    let step = &evaluation.report.step;
    let of = &step.range;
    if step.rescaled_by.is_some() || step.log_sd.is_some() || step.high_s.0 <= step.low_s.0 {
        return Node::none();
    }
    let sd = step.deviation();
    let without = |part: RangePart| sd * (1.0 - of.share(part)).max(0.0).sqrt();
    let class = range(&evaluation.scenario);
    let mut rows = vec![line(t!("Today"), step, sd, sd, "range-row")];
    let count = of.open.len();
    if count > 0 {
        let name = if count == 1 {
            t!("… if you stated 1 setting")
        } else {
            t!("… if you stated {count} settings", count)
        };
        rows.push(line(name, step, without(RangePart::Open), sd, "range-row"));
    }
    let gpu = evaluation.scenario.run.gpu.title();
    if of.new_ground {
        let name = t!("… if {precision} on {gpu} were known", precision = step.peak.precision, gpu = gpu.clone());
        rows.push(line(name, step, without(RangePart::NewGround), sd, "range-row"));
    }
    for runs in OWN {
        let name = if runs == 1 { t!("… with one run of yours") } else { t!("… with {runs} runs of yours", runs) };
        rows.push(line(name, step, class.deviation_after(runs).min(sd), sd, "range-row own"));
    }
    let mut words = vec![el(
        "p",
        &[],
        &[
            strong(t!("{low_s} to {high_s}", low_s = coarse(step.low_s, step), high_s = coarse(step.high_s, step))),
            text(t!(
                ": four of five {of} of publishers not seen before, tuned and in steady state.",
                of = Message::plain(of.of)
            )),
        ],
    )];
    words.extend(held_less(evaluation).map(muted));
    let tower = tower_off(evaluation);
    let is_off = tower.is_some();
    words.extend(tower.map(muted));
    let shares = of.parts.iter().filter(|part| part.share >= 0.005).map(|part| {
        t!("{name} {share}", name = Message::plain(part.name.words()), share = show_whole_percent(part.share))
    });
    words.push(muted(t!("Parts of its variance: {parts}.", parts = Message::joined(", ", shares))));
    if of.new_ground {
        let precision = step.peak.precision;
        words.push(muted(t!("New ground: no published run on {gpu} in {precision}.", gpu, precision)));
    }
    if count > 0 {
        let (low, high) = step.ends(without(RangePart::Open));
        words.push(not_stated(of, (step.high_s - step.low_s) - (high - low)));
    }
    let runs = link_button("Enter a run of yours").on(Action::Show(View::Diagnose(true)));
    words.push(el("p", &[], &[runs]));
    let body = [el("div", &[("class", "range-rows")], &rows), el("div", &[], &words)];
    let pill = match (is_off, of.new_ground) {
        (true, _) => leaf("span", "pill warn", "vision tower: may take far longer"),
        (false, true) => leaf("span", "pill warn", "wider: new ground"),
        (false, false) => Node::none(),
    };
    let content = el("div", &[("class", "two")], &body);
    el("div", &[("class", "range-why")], &[pill, fold("Why so wide?", content)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::Based;

    /// A range whose settings are open names them, and says what a run of one's own leaves of it.
    #[test]
    fn the_parts_of_a_range_are_named_with_what_narrows_each() {
        let run = Run {
            model: Based::preset("qwen-3-30b-a3b"),
            stack: Based::preset("megatron-2026"),
            gpu: Based::preset("mi300x"),
            tp: 1,
            pp: 1,
            ep: 8,
            micro_batch: 4,
            gpus: 8,
            ..Run::default()
        };
        let view = why_wide(&evaluate(&run).unwrap());
        let html = view.to_html();
        for words in ["Today", "wider: new ground", "with one run of yours", "Not stated, moves it by", "New ground"] {
            assert!(html.contains(words), "{words}: {html}");
        }
        assert!(view.actions().contains(&&Action::Focus("moe_balance")), "{html}");
        let measured = Run { measured_step_s: Some(10.0), ..run };
        assert_eq!(why_wide(&evaluate(&measured).unwrap()), Node::none());
    }
}
