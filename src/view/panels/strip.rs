//! The answer: does it fit, how long is a step, what does it yield and cost, each with its range.

use super::words;
use crate::core::memory::Verdict;
use crate::core::memory::verdict::Chance;
use crate::core::message::{Message, verbatim};
use crate::core::report::{Figure, Memory, Report};
use crate::core::run::Run;
use crate::core::t;
use crate::core::time::Step;
use crate::core::units::{Bytes, MemoryUnit, Seconds, group, show_count, show_percent, show_seconds, significant};
use crate::view::node::markup::{Action, Node, aside, ask, el, leaf, percent, text};

/// Tokens of the budget where the Run has none.
const TOKENS: f64 = 1e12;

/// The key figures of `run`; each opens its formula.
#[must_use]
pub fn strip(run: &Run, report: &Report, unit: MemoryUnit) -> Node {
    let step = &report.step;
    let tokens = |seconds: Seconds| {
        let rate = step.tokens_per_s_per_gpu * (step.time_s / seconds);
        group(&format!("{rate:.0}"))
    };
    let mfu = |seconds: Seconds| show_percent(step.mfu * (step.time_s / seconds));
    let peak = t!("MFU, {precision} peak", precision = step.peak.precision);
    let time = match report.memory.verdict {
        Verdict::Oom => t!("Step time, if it fitted"),
        _ => t!("Step time"),
    };
    [
        memory(&report.memory, unit),
        figure(time, step, Figure::Step, show_seconds, false),
        figure(peak, step, Figure::Mfu, mfu, true),
        figure(t!("Tokens/s/GPU"), step, Figure::Tokens, tokens, true),
        budget(run, step),
    ]
    .into_iter()
    .collect()
}

/// The fullest GPU: verdict, peak, and the range of its need on a bar that ends at the capacity.
fn memory(memory: &Memory, unit: MemoryUnit) -> Node {
    let (class, mark) = match memory.verdict {
        Verdict::Fits => ("key verdict fits", "✓"),
        Verdict::Tight => ("key verdict tight", "▲"),
        Verdict::Oom => ("key verdict oom", "✕"),
    };
    let capacity = memory.capacity_bytes;
    let peak = t!("{peak} of {capacity}", peak = unit.number(memory.peak_bytes), capacity = unit.show(capacity));
    let value =
        [leaf("span", "mark", mark), leaf("span", "word", words::verdict(memory.verdict)), text(" "), aside(&peak)];
    let most = capacity.max(memory.need_high_bytes).0;
    let at = |bytes: Bytes| bytes.0 / most;
    let bar = [
        el("i", &[("style", &percent("width", at(memory.peak_bytes).min(1.0)))], &[]),
        bracket(at(memory.need_low_bytes), at(memory.need_high_bytes)),
        el("b", &[("style", &percent("left", at(capacity)))], &[]),
    ];
    let Chance { like, ran_out } = memory.chance;
    let likely = if memory.verdict == Verdict::Tight && like > 0 {
        t!("{ran_out} of {like} measured runs like this ran out", ran_out, like)
    } else {
        t!("{low} to {high} likely", low = unit.number(memory.need_low_bytes), high = unit.show(memory.need_high_bytes))
    };
    let name = match memory.peak_phase() {
        Some(phase) => t!("Memory of the fullest phase: {phase}", phase = phase.name),
        None => t!("Memory of the fullest GPU, rank {rank}", rank = memory.peak_stage),
    };
    let mut cells = vec![
        leaf("span", "name", name),
        el("span", &[("class", "value")], &value),
        el("span", &[("class", "capacity-bar")], &bar),
        leaf("span", "range", likely),
    ];
    let host = memory.host.as_ref().and_then(|host| words::host(host, unit));
    cells.extend(host.map(|host| leaf("span", "range", host)));
    ask(class, Figure::Memory(memory.peak_stage), &cells).title(words::known(memory))
}

/// A range as a bracket from one share of its track to another.
fn bracket(low: f64, high: f64) -> Node {
    let place = format!("{};{}", percent("left", low), percent("width", high - low));
    el("u", &[("style", &place)], &[])
}

/// A figure that follows from the step's time with its range; its track is from half to one and a half times the figure.
fn figure(name: Message, step: &Step, of: Figure, show: impl Fn(Seconds) -> String, inverse: bool) -> Node {
    let (low, high) = (step.low_s, step.high_s);
    let ratio = |seconds: Seconds| {
        let ratio = seconds / step.time_s;
        if inverse { 1.0 / ratio } else { ratio }
    };
    let (from, to) = if inverse { (high, low) } else { (low, high) };
    let (track, caption) = if low < high {
        let place = |seconds| (ratio(seconds) - 0.5).clamp(0.0, 1.0);
        let marks = [bracket(place(from), place(to)), el("b", &[], &[])];
        let caption = range(&show(from), &show(to));
        (el("span", &[("class", "whisker")], &marks), caption)
    } else {
        (el("span", &[("class", "whisker")], &[]), t!("as measured"))
    };
    let cells = [
        leaf("span", "name", name),
        leaf("span", "value", verbatim(show(step.time_s))),
        track,
        leaf("span", "range", caption),
    ];
    ask("key", of, &cells)
}

/// A range whose unit is said once, where both ends have the same.
fn range(low: &str, high: &str) -> Message {
    t!("{low} to {high}", low = without_unit(low, high).to_owned(), high = high.to_owned())
}

/// `low` without its unit, where `high` has the same.
#[must_use]
pub(crate) fn without_unit<'a>(low: &'a str, high: &str) -> &'a str {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => number,
        _ => low,
    }
}

/// Time of the token budget, of a trillion tokens where the Run has none: a press goes to the budget.
fn budget(run: &Run, step: &Step) -> Node {
    let tokens = run.tokens_total.unwrap_or(TOKENS);
    let days = tokens / step.tokens_per_s / 86_400.0;
    let hours = days * 24.0 * run.gpus as f64;
    let count = show_count(tokens);
    let time = t!("{days} days, {hours} GPU-h", hours = show_count(hours), days = significant(days, 3));
    let (name, title, value, caption) = if let Some(price) = run.price_per_gpu_hour {
        let title =
            t!("{tokens} tokens at {price} per GPU-hour", tokens = count.clone(), price = significant(price, 3));
        let name = t!("Cost of {tokens} tokens", tokens = count);
        (name, title, verbatim(show_count(hours * price)), time)
    } else {
        let name = t!("GPU-hours for {tokens} tokens", tokens = count);
        let days = t!("{days} days", days = significant(days, 3));
        (name.clone(), name, verbatim(show_count(hours)), days)
    };
    let marks = el("span", &[("class", "whisker")], &[]);
    let cells = [leaf("span", "name", name), leaf("span", "value", value), marks, leaf("span", "range", caption)];
    el("button", &[("class", "key")], &cells).title(title).on(Action::Focus("tokens_total"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::report;
    use crate::core::run::{CrossEntropy, OneOf, Recompute, Run};
    use crate::view::panels::issues::list;

    /// Every verdict's own words stand in the strip; a tight run never reads as if it fitted.
    #[test]
    fn a_tight_run_says_its_share_and_how_many_like_it_ran_out() {
        let run = Run { seq_len: 28_672, ..Run::default() };
        let report = report(&run).unwrap();
        assert_eq!(report.memory.verdict, Verdict::Tight);
        let html = strip(&run, &report, MemoryUnit::Gib).to_html();
        let Chance { like, ran_out } = report.memory.chance;
        let words = format!("{ran_out} of {like} measured runs like this ran out");
        assert!(html.contains(&words), "{html}");
        assert!(html.contains("May not fit") && !html.contains("Fits"));
    }

    #[test]
    fn every_key_figure_says_where_it_comes_from() {
        let run = Run::default();
        let view = strip(&run, &report(&run).unwrap(), MemoryUnit::Gib);
        assert_eq!(view.actions().len(), 5);
        let html = view.to_html();
        assert!(html.contains("Fits") && html.contains("of 79.2 GiB"), "{html}");
        assert!(html.contains("bf16 peak"));
    }

    /// Llama 3.1 8B on one GPU a replica: at 10 bytes a logit and 128,256 words (survey, section 2.6) the loss of long
    /// sequences is what runs out. It is said exactly where a fused kernel makes the whole report fit.
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
                assert!(html.contains(&format!("use cross_entropy={}", kernel.id())));
            }
        }
        assert!((1..64).contains(&counted), "{counted}");
    }

    /// 10¹² tokens at T tokens a second: 1e12/T/3600 hours on each of 64 GPUs, and a price is per GPU-hour.
    #[test]
    fn a_budget_is_of_a_trillion_tokens_unless_the_run_says() {
        let mut run = Run::default();
        let report = report(&run).unwrap();
        let hours = |tokens: f64| tokens / report.step.tokens_per_s / 3600.0 * 64.0;
        let html = strip(&run, &report, MemoryUnit::Gib).to_html();
        assert!(html.contains(&show_count(hours(1e12))), "{html}");
        (run.tokens_total, run.price_per_gpu_hour) = (Some(15e12), Some(2.0));
        let html = strip(&run, &report, MemoryUnit::Gib).to_html();
        assert!(html.contains(&show_count(hours(15e12) * 2.0)), "{html}");
    }
}
