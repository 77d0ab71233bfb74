//! The answer: does it fit, how long is a step, what does it yield and cost, each with its range. Every figure has four
//! rows of fixed height: name, figure, range, caption.

use super::issues::Instead;
use super::ranged::{AS_FAR, Part, RangedTime, behind, digits, parted, published_outside, range, value};
use super::rl::questions;
use crate::node::figure::Scope;
use crate::prelude::*;
use crate::words;
use shardscope_core::issue::Issue;
use shardscope_core::memory::verdict::Chance;
use shardscope_core::report::Memory;
use shardscope_core::rl::predict;
use shardscope_core::run::presets::published;
use shardscope_core::units::{count_to, group, seconds_like, show_off};

/// The key figures of `run` and its report but that of the budget; each opens its formula. Of reinforcement learning
/// they are of a whole step, with what is generated.
pub fn strip(run: &Run, report: &Report, unit: MemoryUnit) -> Node {
    strip_with(run, report, memory(run, &report.memory, unit, None))
}

/// [`strip`] of the Run that is shown in place of one that cannot be evaluated: its verdict says whose it is.
pub fn strip_instead(instead: &Instead, report: &Report, unit: MemoryUnit) -> Node {
    let (run, whose) = match instead {
        Instead::Nothing => return Node::none(),
        Instead::Last(run) => (run, t!("Last run that worked: fullest GPU")),
        Instead::Proposal(run, _) => (run, t!("In the proposed layout: fullest GPU")),
    };
    strip_with(run, report, memory(run, &report.memory, unit, Some(whose)))
}

/// The key figures beside that of the memory.
fn strip_with(run: &Run, report: &Report, memory: Node) -> Node {
    if run.rl.algorithm.is_some() {
        return strip_of_rl(run, report, memory);
    }
    let step = &report.step;
    let ranged = RangedTime::from(step);
    let wide = ranged.is_wide();
    let tokens = |seconds: Seconds| {
        let rate = step.tokens_per_s_per_gpu * (step.time_s / seconds);
        let rate = if wide || rate >= 1e5 { count_to(rate, digits(wide)) } else { group(&format!("{rate:.0}")) };
        (rate.replace(' ', ""), t!("per GPU"))
    };
    let mfu = |seconds: Seconds| {
        let share = step.mfu * (step.time_s / seconds);
        if wide { (significant(100.0 * share, 2), verbatim("%")) } else { parted(&show_percent(share)) }
    };
    let peak = t!("MFU, {precision} peak", precision = step.peak.precision);
    // A published run fitted, whatever is estimated.
    let ran = published(run).is_some();
    let time =
        if report.memory.verdict == Verdict::Oom && !ran { t!("Step time, if it fitted") } else { t!("Step time") };
    let published_step = published_outside(run, step);
    // What follows from the step is as far off as it.
    let as_far = |mut cells: Vec<Node>| {
        if published_step.is_some() {
            cells[3] = leaf("span", "range outside", AS_FAR);
        }
        cells
    };
    let figure = |name, field, figure, show: &dyn Fn(Seconds) -> Part, inverse| {
        ask("key", figure, &as_far(cells(leaf("span", "name", name), field, ranged, show, inverse)))
    };
    let seconds = |seconds: Seconds| parted(&seconds_like(seconds, step.time_s, digits(wide)));
    Node::from_iter([
        memory,
        match published_step {
            None => figure(time, "step.time_s", Figure::Step, &seconds, false),
            Some(theirs) => {
                let mut cells = cells(leaf("span", "name", time), "step.time_s", ranged, &seconds, false);
                let off = show_off(step.time_s / theirs - 1.0, 0);
                let theirs = show_seconds(theirs);
                cells[3] = leaf("span", "range outside", t!("Published {theirs}: {off}", theirs, off));
                ask("key", Figure::Step, &cells)
            }
        },
        figure(peak, "step.mfu", Figure::Mfu, &mfu, true),
        figure(t!("Tokens per second"), "step.tokens_per_s_per_gpu", Figure::Tokens, &tokens, true),
    ])
}

/// The key figures of a step of reinforcement learning; where settings are missing, buttons that lead to them.
fn strip_of_rl(run: &Run, report: &Report, memory: Node) -> Node {
    let step = match predict(run) {
        Ok(step) => step,
        Err(issues) => return Node::from_iter([memory, asked(&issues)]),
    };
    let ranged = RangedTime::from(&step);
    let name = match (run.rl.prompts, run.rl.samples) {
        _ if report.memory.verdict == Verdict::Oom => t!("Step time, if it fitted"),
        (Some(prompts), Some(samples)) => t!("Step, {prompts} prompts × {samples}", prompts, samples),
        _ => t!("Step time"),
    };
    let seconds = |seconds: Seconds| parted(&seconds_like(seconds, step.step_s, digits(ranged.is_wide())));
    let rate = |seconds: Seconds| {
        let rate = step.tokens_per_s_per_gpu * (step.step_s / seconds);
        (count_to(rate, digits(ranged.is_wide())).replace(' ', ""), t!("tokens/s"))
    };
    let share = (significant(100.0 * (step.generation_s / step.step_s), 2), verbatim("%"));
    let of_share = t!(
        "{generation}; training {training}",
        generation = show_seconds(step.generation_s),
        training = show_seconds(step.training_s)
    );
    let share = [
        leaf("span", "name", "Generation"),
        value(&share, "rl.generation_share", &Scope::run()),
        el("span", &[("class", "whisker")], &[]),
        leaf("span", "range", of_share),
    ];
    let key = |cells: &[Node]| el("div", &[("class", "key")], cells);
    Node::from_iter([
        memory,
        key(&cells(leaf("span", "name", name), "rl.step_s", ranged, &seconds, false)),
        key(&share),
        key(&cells(leaf("span", "name", "Generated per GPU"), "rl.tokens_per_s_per_gpu", ranged, &rate, true)),
    ])
}

/// In place of the figures of a step: what it is not predicted without, each a way to its field.
fn asked(issues: &[Issue]) -> Node {
    let words = leaf("span", "name", "A step of reinforcement learning is predicted once these are set:");
    let list: Vec<Node> = questions(issues).into_iter().flat_map(|question| [question, text(" ")]).collect();
    el("div", &[("class", "key asked")], &[words, el("span", &[("class", "fields")], &list)])
}

/// The fullest GPU: verdict, peak, and the range of its need on a bar that ends at the capacity; of a run that is known
/// to have run, what the verdict leaves out. `of`: whose it is, where it is not of the Run as entered.
fn memory(run: &Run, memory: &Memory, unit: MemoryUnit, of: Option<Message>) -> Node {
    let peak = memory.peak();
    let (class, mark, word) = words::verdict_of(run, &peak);
    let (capacity, whose) = (memory.capacity_bytes, Scope::run());
    let value = [
        leaf("span", "mark", mark),
        leaf("span", "word", word),
        text(" "),
        strong(verbatim(unit.number(memory.peak_bytes))).reports("memory.peak_bytes", &Scope::run()),
        behind(&t!("of {capacity}", capacity = whose.says("memory.capacity_bytes", unit.show(capacity)))),
    ];
    let bar = capacity_bar(memory, unit);
    let Chance { like, ran_out } = memory.chance;
    let [low, high] = likely_need(memory, unit);
    let usable = whose.says("memory.capacity_bytes", unit.number(capacity));
    let ran = published(run).and_then(|_| words::ran_briefly(memory));
    let likely = ran.unwrap_or_else(|| match memory.verdict {
        // The top of the range and the limit, as they are printed.
        Verdict::Fits if unit.printed(memory.need_high_bytes) == unit.printed(capacity) => {
            t!("{low} to {high} likely, just within {usable}", low, high, usable)
        }
        Verdict::Fits => t!("{low} to {high} likely, all below {usable}", low, high, usable),
        Verdict::Tight if like > 0 => {
            t!("{low} to {high}; {ran_out} of {like} measured runs as tight ran out", low, high, ran_out, like)
        }
        Verdict::Tight => t!("{low} to {high} likely", low, high),
        Verdict::Oom => {
            t!(
                "{missing} missing; {low} to {high} likely",
                missing = whose.says("memory.missing_bytes", peak.missing_words(unit)),
                low,
                high
            )
        }
    });
    let name = of.unwrap_or_else(|| match memory.peak_phase() {
        Some(phase) => t!("Memory of the fullest phase: {phase}", phase = phase.name),
        None => t!("Memory of the fullest GPU, rank {rank}", rank = memory.peak_stage),
    });
    // That it cannot run stands before what it would need.
    let likely = match words::why_unable(run) {
        Some(why) => t!("{why}; {likely}", why, likely),
        None => likely,
    };
    let mut cells = vec![
        leaf("span", "name", name),
        el("span", &[("class", "value")], &value),
        el("span", &[("class", "capacity-bar")], &bar),
        leaf("span", "range", likely),
    ];
    let host = memory.host.as_ref().and_then(|host| words::host(run, host, unit));
    cells.extend(host.map(|host| leaf("span", "range", host)));
    let long = if memory.may_run_out() { " above" } else { "" };
    ask(&format!("key verdict {class}{long}"), Figure::Memory(memory.peak_stage), &cells)
        .title(words::known(run, memory))
}

/// Both ends of the likely need, the unit behind the second.
pub(crate) fn likely_need(memory: &Memory, unit: MemoryUnit) -> [Message; 2] {
    let (low, high) = (unit.number(memory.need_low_bytes), unit.show(memory.need_high_bytes));
    [Scope::run().says("memory.need_low_bytes", low), Scope::run().says("memory.need_high_bytes", high)]
}

/// The need on a bar. Above the capacity it ends the bar, and what is beyond the capacity is a part of its own; else
/// the range of the need is on it, and the bar ends at the longer of capacity and range. The mark is the capacity.
fn capacity_bar(memory: &Memory, unit: MemoryUnit) -> Vec<Node> {
    let (capacity, peak) = (memory.capacity_bytes, memory.peak_bytes);
    let is_over = peak.0 > capacity.0;
    let most = if is_over { peak } else { capacity.max(memory.need_high_bytes) };
    let at = |bytes: Bytes| bytes / most;
    let limit = el("b", &[("style", &percent("left", at(capacity)))], &[]);
    let limit = limit
        .title(t!("usable: {capacity}", capacity = Scope::run().says("memory.capacity_bytes", unit.show(capacity))));
    if is_over {
        let beyond = bar_at("beyond", at(capacity), 1.0 - at(capacity));
        let missing = unit.beyond(peak, capacity);
        return vec![
            el("i", &[("style", &percent("width", at(capacity)))], &[]),
            beyond.title(t!("{missing} above what is usable", missing)),
            limit,
        ];
    }
    let [low, high] = likely_need(memory, unit);
    vec![
        el("i", &[("style", &percent("width", at(peak)))], &[]),
        bracket(at(memory.need_low_bytes), at(memory.need_high_bytes)).title(t!("{low} to {high} likely", low, high)),
        limit,
    ]
}

/// The rows of a figure that follows from the step's time; its track is from half to one and a half times the figure.
/// Its range is below it: beside it neither fits a phone.
fn cells(
    name: Node,
    field: &'static str,
    ranged: RangedTime,
    show: &dyn Fn(Seconds) -> Part,
    inverse: bool,
) -> Vec<Node> {
    let (track, caption) = range(ranged, show, inverse, (field, &Scope::run()));
    let value = value(&show(ranged.time), field, &Scope::run());
    vec![name, value, track, leaf("span", "range", caption)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::budget::{BudgetTime, budget, budget_name, own_budget};
    use crate::panels::issues::list;
    use shardscope_core::report::report;
    use shardscope_core::run::presets::PUBLISHED;
    use shardscope_core::run::{Algorithm, CrossEntropy, Recompute, RlParts};

    /// Above the capacity the bar is the need: its parts are the capacity and what is beyond it, and one mark is on it.
    #[test]
    fn what_is_beyond_the_capacity_is_drawn_in_proportion() {
        let widths = |run: &Run| {
            let memory = report(run).unwrap().memory;
            let html = Node::from_iter(capacity_bar(&memory, MemoryUnit::Gib)).to_html();
            let widths = html.split("width:").skip(1).map(|part| part.split('%').next().unwrap().parse().unwrap());
            (memory.capacity_bytes / memory.peak_bytes, widths.collect::<Vec<f64>>(), html)
        };
        let (share, parts, html) = widths(&Run { tp: 1, pp: 1, gpus: 8, global_batch: 8, zero: 0, ..Run::default() });
        assert!(share < 1.0 && parts.len() == 2 && !html.contains("<u"), "{html}");
        assert!((parts[0] / 100.0 - share).abs() < 1e-4 && (parts[0] + parts[1] - 100.0).abs() < 1e-2, "{parts:?}");
        let (share, parts, html) = widths(&Run::default());
        assert!(share > 1.0 && !html.contains("beyond") && parts[0] < 100.0, "{html}");
    }

    /// No figure is printed as below one that prints the same.
    #[test]
    fn a_need_that_prints_as_the_limit_is_not_called_below_it() {
        let run = Run::default();
        let mut report = report(&run).unwrap();
        for (beyond, words) in [(0.01, "just within"), (1.0, "all below")] {
            let memory = &mut report.memory;
            memory.need_high_bytes = memory.capacity_bytes - MemoryUnit::Gib.bytes(beyond);
            let shown = [memory.need_high_bytes, memory.capacity_bytes].map(|bytes| MemoryUnit::Gib.number(bytes));
            assert_eq!(shown[0] == shown[1], words == "just within", "{shown:?}");
            let html = strip(&run, &report, MemoryUnit::Gib).to_html();
            assert!(html.contains(words), "{html}");
        }
    }

    /// Every verdict's own words stand in the strip; a tight run never reads as if it fitted.
    #[test]
    fn a_tight_run_says_its_share_and_how_many_like_it_ran_out() {
        let run = Run { seq_len: 27_648, ..Run::default() };
        let report = report(&run).unwrap();
        assert_eq!(report.memory.verdict, Verdict::Tight);
        let html = strip(&run, &report, MemoryUnit::Gib).to_html();
        let Chance { like, ran_out } = report.memory.chance;
        let words = format!("{ran_out} of {like} measured runs as tight ran out");
        assert!(html.contains(&words), "{html}");
        assert!(html.contains("Tight") && !html.contains("Fits"));
    }

    /// Llama 3, table 4: 405B ran on 8,192 H100, where the estimate is above the memory. Beside the verdict it says so,
    /// and its step is none "if it fitted"; a run like it that nobody published has missing memory.
    #[test]
    fn a_published_run_says_beside_the_verdict_that_it_ran() {
        let mut run = PUBLISHED[0].run();
        let html = |run: &Run| strip(run, &report(run).unwrap(), MemoryUnit::Gib).to_html();
        let published = html(&run);
        assert!(published.contains("Out of memory") && published.contains("It ran; our estimate is"), "{published}");
        assert!(!published.contains("if it fitted"), "{published}");
        run.global_batch *= 2;
        let own = html(&run);
        assert!(own.contains("GiB missing; ") && own.contains("if it fitted") && !own.contains("It ran"), "{own}");
    }

    /// Not more digits than the range supports: three where it is narrower than a tenth of the figure, else two.
    #[test]
    fn a_figure_has_no_more_digits_than_its_range_supports() {
        let run = Run::default();
        let mut report = report(&run).unwrap();
        assert!(RangedTime::from(&report.step).is_wide());
        // Rounded once: 23.46 % is no 24 %, by way of 23.5 %.
        report.step.mfu = 0.2346;
        assert!(strip(&run, &report, MemoryUnit::Gib).to_html().contains(">23</b>"));
        let mut step = report.step;
        step.high_s = step.low_s + step.time_s * 0.09;
        assert!(!RangedTime::from(&step).is_wide());
    }

    #[test]
    fn every_key_figure_says_where_it_comes_from() {
        let run = Run::default();
        let view = strip(&run, &report(&run).unwrap(), MemoryUnit::Gib);
        assert_eq!(view.actions().len(), 4);
        let html = view.to_html();
        assert!(html.contains("Fits") && html.contains("of 79.2 GiB") && html.contains("all below 79.2"), "{html}");
        assert!(html.contains("bf16 peak"));
    }

    /// Llama 3.1 8B on one GPU a replica: at 10 bytes a logit and 128,256 words (docs/methods/memory.md) the loss of
    /// long sequences is what runs out. It is said exactly where a fused kernel makes the whole report fit.
    #[test]
    fn the_page_says_where_the_logits_are_what_does_not_fit() {
        let mut counted = 0;
        for thousands in 1..=64 {
            let run = Run { tp: 1, pp: 1, recompute: Recompute::Full, seq_len: 1024 * thousands, ..Run::default() };
            let with = |cross_entropy| {
                let run = Run { cross_entropy: Some(cross_entropy), ..run.clone() };
                report(&run).unwrap()
            };
            let fits = |kernel| with(kernel).memory.verdict == Verdict::Fits;
            let unfused = with(CrossEntropy::Megatron);
            let closest = [CrossEntropy::MegatronFused, CrossEntropy::TeFused].into_iter().find(|kernel| fits(*kernel));
            let wanted = closest.filter(|_| unfused.memory.verdict != Verdict::Fits);
            let html = list(&unfused.warnings).to_html();
            assert_eq!(html.contains("the logits are what"), wanted.is_some());
            if let Some(kernel) = wanted {
                counted += 1;
                assert!(html.contains("Set Loss kernel to") && html.contains(kernel.choice().label));
            }
        }
        assert!((1..64).contains(&counted), "{counted}");
    }

    /// A verdict under a sentence that cannot be evaluated says whose it is; the figures are those of that run.
    #[test]
    fn a_verdict_of_another_run_says_whose_it_is() {
        let run = Run::default();
        let evaluation = evaluate(&run).unwrap();
        let own = strip(&run, &evaluation.report, MemoryUnit::Gib);
        let peak = evaluation.report.memory.peak();
        for (instead, words) in [
            (Instead::Last(Box::new(run.clone())), "Last run that worked: fullest GPU"),
            (Instead::Proposal(Box::new(run.clone()), peak), "In the proposed layout: fullest GPU"),
        ] {
            let shown = strip_instead(&instead, &evaluation.report, MemoryUnit::Gib);
            assert!(shown.to_html().contains(words) && !own.to_html().contains(words));
            assert_eq!(shown.marked_figures(), own.marked_figures());
        }
        assert_eq!(strip_instead(&Instead::Nothing, &evaluation.report, MemoryUnit::Gib), Node::none());
    }

    /// What the software does not run is never green: the figure says first what it does not run. A layout that it
    /// runs, and a published run, say nothing of the kind.
    #[test]
    fn a_layout_that_the_software_does_not_run_is_not_said_to_fit() {
        let shown = |set: &[(&str, &str)]| {
            let run = Run::example().with_texts(set).unwrap();
            let report = evaluate(&run).unwrap().report;
            (strip(&run, &report, MemoryUnit::Gib).to_html(), report.memory.verdict)
        };
        let tuned = [("stack", "hf-trainer"), ("adapter.method", "lora"), ("gpus", "8"), ("seq_len", "512")];
        let (html, verdict) = shown(&[tuned.as_slice(), &[("tp", "2"), ("pp", "4")]].concat());
        assert_eq!(verdict, Verdict::Fits);
        // Before what it would need, and the range of that.
        assert!(html.contains("PEFT runs no pipeline; "), "{html}");
        assert!(html.contains("Would fit") && !html.contains("verdict fits"), "{html}");
        let (html, _) = shown(&[tuned.as_slice(), &[("tp", "1"), ("pp", "1")]].concat());
        assert!(html.contains("verdict fits") && !html.contains("runs no"), "{html}");
        for published in shardscope_core::run::presets::PUBLISHED {
            assert_eq!(words::why_unable(&published.run()), None, "{}", published.id);
        }
    }

    /// A step of reinforcement learning generates, scores and trains: the key figures are of all of it, and the price
    /// of 1,000 steps is 1,000 times the step on every GPU.
    #[test]
    fn figures_of_reinforcement_learning_are_of_the_whole_step() {
        let rl = crate::panels::rl::tests::asked();
        let run = Run { rl: RlParts { algorithm: Some(Algorithm::Grpo), ..rl }, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let step = predict(&run).unwrap();
        assert!(step.step_s.0 > 2.0 * step.training_s.0 && step.generation_s.0 > 0.0);
        let strip = strip(&run, &evaluation.report, MemoryUnit::Gib);
        let named: Vec<String> = strip.marked_figures().into_iter().map(|(field, _)| field).collect();
        assert_eq!(
            named,
            ["memory.peak_bytes", "rl.step_s", "rl.generation_share", "rl.tokens_per_s_per_gpu"],
            "no figure of the update alone"
        );
        let shown = seconds_like(step.step_s, step.step_s, 2);
        assert!(strip.to_html().contains(&format!(">{}<", shown.split(' ').next().unwrap())), "{}", strip.to_html());
        let hours = 1000.0 * step.step_s.0 / 3600.0 * 64.0;
        let cost = own_budget(&evaluation).to_html();
        assert!(cost.contains(&format!("${}", count_to(2.0 * hours, 2).replace(' ', ""))), "{cost}");
        assert_eq!(budget_name(&run).to_string(), "1000 steps at $2.00 per GPU-hour");
        assert!(!cost.contains("with losses"), "{cost}");
        // The engines' own GPUs are paid for as well.
        let split = RlParts { rollout_gpus: Some(32), staleness: Some(1.0), ..run.rl.clone() };
        let split = Run { rl: split, ..run.clone() };
        let budget = BudgetTime::of(&evaluate(&split).unwrap()).unwrap();
        let step = predict(&split).unwrap();
        assert!((budget.gpu_hours() / (1000.0 * step.step_s.0 / 3600.0 * 64.0) - 1.0).abs() < 1e-12);
    }

    /// While a step is not predicted no figure of the update stands in for it; what is missing leads to its field.
    #[test]
    fn missing_settings_of_reinforcement_learning_are_buttons_in_the_place_of_the_figures() {
        let rl = RlParts { algorithm: Some(Algorithm::Grpo), ..RlParts::default() };
        let run = Run { rl, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let strip = strip(&run, &evaluation.report, MemoryUnit::Gib);
        assert_eq!(strip.marked_figures().len(), 1, "the memory alone");
        let asked = predict(&run).unwrap_err();
        for issue in &asked {
            let lead = strip.actions().into_iter().any(|action| *action == Action::Focus(field_key(&issue.field)));
            assert!(lead, "{}", issue.field);
        }
        assert!(asked.len() >= 5 && own_budget(&evaluation).figures().is_empty());
    }

    fn field_key(name: &str) -> &'static str {
        shardscope_core::run::registry::field(name).unwrap().key
    }

    /// The widest figures that a field's range allows: units stay short of the column, numbers take a larger unit.
    #[test]
    fn no_figure_is_longer_than_its_column() {
        for tokens in [1.0, 1e6, 1e12, 1e18] {
            for (gpus, price) in [(8, 0.01), (64, 2.0), (65_536, 1e6)] {
                let run = Run {
                    gpus,
                    tokens_total: Some(tokens),
                    price_per_gpu_hour: Some(price),
                    global_batch: gpus * 4,
                    ..Run::default()
                };
                let report = report(&run).unwrap();
                let cost = budget(&evaluate(&run).unwrap(), &Scope::run());
                let mut figures = Node::from_iter([strip(&run, &report, MemoryUnit::Gib), cost]).marked_figures();
                // The line below the figures wraps.
                figures.retain(|(field, _)| field != "budget.gpu_hours");
                // Cost and days with losses are there where the run ends and losses change one of them.
                assert!((6..=8).contains(&figures.len()), "{}", figures.len());
                for (_, figure) in figures {
                    assert!(figure.chars().count() <= 7, "{figure}");
                }
            }
        }
    }
}
