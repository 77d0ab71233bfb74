//! The figures of two Runs beside each other: second minus first.

use super::bars::{apart as bytes_apart, differing};
use crate::node::figure::Scope;
use crate::prelude::*;
use crate::words;
use shardscope_core::report::Memory;
use shardscope_core::search::PlanRequest;
use shardscope_core::units::{group, show_off};

/// Gains and losses of one against the other, in a sentence; another where both are layouts of one run and no estimate
/// tells which step is shorter.
pub(crate) fn sentence([first, second]: [&Evaluation; 2], unit: MemoryUnit) -> Message {
    let [a, b] = [&first.report, &second.report];
    let [run, other] = [&first.scenario.run, &second.scenario.run];
    let one_run = PlanRequest::question(run) == PlanRequest::question(other);
    let untold = words::untold(run, b.step.time_s / a.step.time_s).filter(|_| one_run);
    let ratio = b.step.time_s / a.step.time_s - 1.0;
    let share = show_percent(ratio.abs());
    let time = match ratio {
        _ if ratio.abs() < SMALLEST_PRINTED => t!("takes the same time per step"),
        ..0.0 => t!("takes {share} less time per step", share),
        _ => t!("takes {share} more time per step", share),
    };
    // Steps of unequal batches are compared by what a token takes, first.
    let per_token = a.step.tokens_per_s / b.step.tokens_per_s - 1.0;
    let token = show_percent(per_token.abs());
    let per_token = match per_token {
        _ if per_token.abs() < SMALLEST_PRINTED => t!("takes as much time per token"),
        ..0.0 => t!("takes {token} less time per token", token),
        _ => t!("takes {token} more time per token", token),
    };
    let tokens = b.layout.tokens_per_step / a.layout.tokens_per_step;
    let time = if tokens == 1.0 {
        time
    } else {
        t!("{per_token} (a step has {n} times the tokens and {time})", per_token, n = significant(tokens, 3), time)
    };
    let bytes = unit.printed(b.memory.peak_bytes) - unit.printed(a.memory.peak_bytes);
    let memory = if bytes == 0.0 {
        t!("as much memory on its fullest GPU")
    } else {
        let bytes_apart = verbatim(format!("{:.1} {}", bytes.abs(), unit.name()));
        if bytes < 0.0 {
            t!("{bytes_apart} less memory on its fullest GPU", bytes_apart)
        } else {
            t!("{bytes_apart} more memory on its fullest GPU", bytes_apart)
        }
    };
    let [of_a, of_b] = [(run, a), (other, b)].map(|(run, report)| words::said_of_run(run, &report.memory));
    let fits = if of_a == of_b { words::said_of_both(run, &a.memory) } else { t!("B {b}, A {a}", b = of_b, a = of_a) };
    let both = t!("B {time} and {memory}; {fits}.", time, memory, fits);
    let gpus = gpu_time([a, b], [run.gpus, other.gpus]);
    Message::joined(" ", std::iter::once(both).chain(gpus).chain(untold).chain(apart([&a.memory, &b.memory], unit)))
}

/// What a token takes of the GPUs, where the two have other numbers of them: "B has 32 GPUs and A 64: 33.1 % less GPU
/// time per token."
fn gpu_time([a, b]: [&Report; 2], [of_a, of_b]: [u64; 2]) -> Option<Message> {
    if of_a == of_b {
        return None;
    }
    let change = a.step.tokens_per_s_per_gpu / b.step.tokens_per_s_per_gpu - 1.0;
    let share = show_percent(change.abs());
    Some(match change {
        _ if change.abs() < SMALLEST_PRINTED => {
            t!("B has {of_b} GPUs and A {of_a}: as much GPU time per token.", of_b, of_a)
        }
        ..0.0 => t!("B has {of_b} GPUs and A {of_a}: {share} less GPU time per token.", of_b, of_a, share),
        _ => t!("B has {of_b} GPUs and A {of_a}: {share} more GPU time per token.", of_b, of_a, share),
    })
}

/// The component and the tensor that differ most on the fullest GPUs: "Memory differs most in activations: +17.0 GiB;
/// among tensors, most in gradients of layers: +9.7 GiB."
fn apart([a, b]: [&Memory; 2], unit: MemoryUnit) -> Option<Message> {
    let (a, b) = (a.fullest()?, b.fullest()?);
    let pairs = a.components().into_iter().zip(b.components());
    let changes = pairs.map(|((name, before), (_, after))| (name, [before, after]));
    let size = |[before, after]: [Bytes; 2]| (after.0 - before.0).abs();
    let (component, [before, after]) = changes.max_by(|one, other| size(one.1).total_cmp(&size(other.1)))?;
    let shown = |before: Bytes, after: Bytes| format!("{} {}", bytes_apart(before, after, unit), unit.name());
    if unit.printed(before) == unit.printed(after) {
        return None;
    }
    let change = shown(before, after);
    // The first of the table of tensors, whichever component it is of.
    let tensor = differing([a, b]).into_iter().next();
    Some(match tensor.filter(|tensor| unit.printed(tensor.bytes[0]) != unit.printed(tensor.bytes[1])) {
        Some(tensor) => t!(
            "Memory differs most in {component}: {change}; among tensors, most in {of} of {tensor}: {part}.",
            component,
            change,
            tensor = tensor.name,
            of = tensor.component.name(),
            part = shown(tensor.bytes[0], tensor.bytes[1])
        ),
        None => t!("Memory differs most in {component}: {change}.", component, change),
    })
}

type TableRow = (bool, Vec<Node>);

/// Reports of both, each with whose it is.
struct Both<'a> {
    reports: [&'a Report; 2],
    scopes: [Scope; 2],
}

impl Both<'_> {
    fn pair(&self, figure: impl Fn(&Report) -> f64) -> [f64; 2] {
        self.reports.map(figure)
    }

    /// Two figures of `field` as they are shown, then what else the row has.
    fn cells(&self, name: Message, field: &str, shown: [String; 2], rest: [Message; 2]) -> TableRow {
        let own = shown.into_iter().zip(&self.scopes);
        let own = own.map(|(shown, scope)| inline(verbatim(shown)).reports(field, scope));
        (false, std::iter::once(text(name)).chain(own).chain(rest.map(text)).collect())
    }

    /// A figure of both: second minus first, and in percent of the first.
    fn row(&self, name: impl Into<Message>, field: &str, [a, b]: [f64; 2], show: &dyn Fn(f64) -> String) -> TableRow {
        let same = show(a) == show(b);
        let difference = if same { t!("same") } else { verbatim(format!("{}{}", sign(b - a), show((b - a).abs()))) };
        let share = if same || a == 0.0 { String::new() } else { show_off((b - a) / a, 1) };
        self.cells(name.into(), field, [show(a), show(b)], [difference, verbatim(share)])
    }

    /// Memory of both: the difference is that of the printed figures.
    fn memory(&self, name: impl Into<Message>, field: &str, pair: [f64; 2], unit: MemoryUnit) -> TableRow {
        let [a, b] = pair.map(Bytes);
        let same = unit.printed(a) == unit.printed(b);
        let share = if same || a.0 == 0.0 { String::new() } else { show_off((b.0 - a.0) / a.0, 1) };
        let difference =
            if same { t!("same") } else { verbatim(format!("{} {}", bytes_apart(a, b, unit), unit.name())) };
        self.cells(name.into(), field, [a, b].map(|bytes| unit.show(bytes)), [difference, verbatim(share)])
    }

    /// A share of something: its difference is in points.
    fn points(&self, name: &'static str, field: &str, [a, b]: [f64; 2]) -> TableRow {
        let shown = [a, b].map(show_percent);
        let difference = if shown[0] == shown[1] {
            t!("same")
        } else {
            // Of the shares as they are printed.
            let [one, other] = [a, b].map(|share| (share * 1000.0).round() / 10.0);
            t!("{difference} points", difference = format!("{}{:.1}", sign(other - one), (other - one).abs()))
        };
        self.cells(name.into(), field, shown, [difference, Message::default()])
    }
}

fn sign(difference: f64) -> &'static str {
    if difference < 0.0 { "−" } else { "+" }
}

/// Key figures and their parts, of runs with these scopes.
pub fn figures(compared: [&Evaluation; 2], scopes: [Scope; 2], unit: MemoryUnit) -> [Vec<TableRow>; 2] {
    let reports = compared.map(|one| &one.report);
    let seconds = |seconds: f64| show_seconds(Seconds(seconds));
    let whole = |count: f64| group(&format!("{count:.0}"));
    let three = |figure: f64| significant(figure, 3);
    let both = Both { reports, scopes };
    let [one, other] = compared.map(|one| words::verdict_of(&one.scenario.run, &one.report.memory.peak()).2);
    let verdict = ["Verdict", one, other, "", ""];
    let a_token = |report: &Report| report.step.time_s.0 / report.layout.tokens_per_step;
    let [one, other] = both.pair(|r| r.layout.tokens_per_step);
    let step = if one == other { "Step" } else { "Step, which grows with the batch" };
    let per_token =
        (one != other).then(|| both.row("Time per token", "step.time_per_token_s", both.pair(a_token), &seconds));
    let mut headline = vec![
        (true, verdict.map(text).into()),
        both.memory("Memory", "memory.peak_bytes", both.pair(|r| r.memory.peak_bytes.0), unit),
        both.row(step, "step.time_s", both.pair(|r| r.step.time_s.0), &seconds),
        both.row("Tokens/s/GPU", "step.tokens_per_s_per_gpu", both.pair(|r| r.step.tokens_per_s_per_gpu), &whole),
        both.points("MFU", "step.mfu", both.pair(|r| r.step.mfu)),
        both.points("Bubble", "pipeline.bubble_fraction", both.pair(|r| r.pipeline.bubble_fraction)),
        both.points("Exposed", "step.exposed_share", both.pair(|r| r.step.exposed_comm_s / r.step.time_s)),
    ];
    headline.splice(1..1, per_token);
    // A figure that neither has is left out.
    let part = |name: Message, field: &str, pair: [f64; 2], show: &dyn Fn(f64) -> String| {
        (pair != [0.0, 0.0]).then(|| both.row(name, field, pair, show))
    };
    let capacity = both.pair(|r| r.memory.capacity_bytes.0);
    let sized =
        |name: Message, field: &str, pair: [f64; 2]| (pair != [0.0, 0.0]).then(|| both.memory(name, field, pair, unit));
    let span = both.points(
        "Bubble between a rank's first and last op, over its work",
        "pipeline.bubble_span",
        both.pair(|r| r.pipeline.bubble_span),
    );
    let mut parts = vec![sized(t!("Usable memory"), "memory.capacity_bytes", capacity)];
    for (index, component) in Component::ALL.into_iter().enumerate() {
        let bytes_of = |report: &Report| report.memory.fullest().map_or(0.0, |rank| rank.components()[index].1.0);
        let name = t!("Fullest GPU: {component}", component = component.name());
        let field = format!("fullest {}", component.name());
        parts.push(sized(name, &field, both.pair(bytes_of)));
    }
    parts.push(Some(span));
    let asked = |figure: fn(&Report) -> Option<f64>| both.pair(|report| figure(report).unwrap_or(0.0));
    let pair = |figure: fn(&Report) -> f64| both.pair(figure);
    parts.extend([
        part(t!("Step: compute"), "step.compute_s", pair(|r| r.step.compute_s.0), &seconds),
        part(t!("Step: bubble"), "step.bubble_s", pair(|r| r.step.bubble_s.0), &seconds),
        part(t!("Step: exposed communication"), "step.exposed_comm_s", pair(|r| r.step.exposed_comm_s.0), &seconds),
        part(t!("Step: optimizer"), "step.optimizer_s", pair(|r| r.step.optimizer_s.0), &seconds),
        part(t!("Step: data loader"), "step.host_s", pair(|r| r.step.host_s.0), &seconds),
        part(t!("TFLOP/s/GPU"), "step.tflops_per_gpu", pair(|r| r.step.tflops_per_gpu), &three),
        part(t!("Tokens/s"), "step.tokens_per_s", pair(|r| r.step.tokens_per_s), &whole),
        part(t!("Tokens a step"), "layout.tokens_per_step", pair(|r| r.layout.tokens_per_step), &whole),
        part(t!("Parameters"), "parameters.total", pair(|r| r.parameters.total as f64), &show_count),
        part(t!("Data-parallel size"), "layout.dp", pair(|r| r.layout.dp as f64), &whole),
        part(t!("Micro-batches a step"), "layout.microbatches", pair(|r| r.layout.microbatches as f64), &whole),
        part(t!("Days"), "step.days", asked(|r| r.step.days), &three),
        part(t!("GPU-hours"), "step.gpu_hours", asked(|r| r.step.gpu_hours), &whole),
        part(t!("Cost"), "step.cost", asked(|r| r.step.cost), &whole),
    ]);
    [headline, parts.into_iter().flatten().collect()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::Schedule;

    /// Twice the batch is twice the tokens a step: what leads is a token, and the step says what it grows with.
    #[test]
    fn unequal_batches_are_compared_by_a_token() {
        let own = Run::default();
        let double = Run { global_batch: 2 * own.global_batch, ..own.clone() };
        let [a, b] = [own, double].map(|run| evaluate(&run).unwrap());
        let words = sentence([&a, &b], MemoryUnit::Gib).to_string();
        let saved = show_percent(1.0 - a.report.step.tokens_per_s / b.report.step.tokens_per_s);
        let begins = format!("B takes {saved} less time per token (a step has 2.00 times the tokens and takes ");
        assert!(words.starts_with(&begins), "{words}");
        let rows = |compared| figures(compared, [Scope::run(), Scope::run()], MemoryUnit::Gib)[0].len();
        assert_eq!(rows([&a, &b]), rows([&a, &a]) + 1);
    }

    /// GPU time a token is GPUs times the time of a token: with half the GPUs, half of what the steps' times are apart.
    #[test]
    fn other_numbers_of_gpus_are_named_with_the_gpu_time_of_a_token() {
        let own = Run::default();
        let half = Run { gpus: own.gpus / 2, ..own.clone() };
        let [a, b] = [own.clone(), half].map(|run| evaluate(&run).unwrap());
        let ratio = b.report.step.time_s / a.report.step.time_s / 2.0;
        let share = show_percent(1.0 - ratio);
        let words = sentence([&a, &b], MemoryUnit::Gib).to_string();
        assert!(words.contains(&format!("B has 32 GPUs and A 64: {share} less GPU time per token.")), "{words}");
        assert!(!sentence([&a, &a], MemoryUnit::Gib).to_string().contains("GPU time"));
    }

    /// 20.2 and 10.9 are 9.3 apart, whatever digits were not printed.
    #[test]
    fn points_are_the_difference_of_the_printed_shares() {
        let report = evaluate(&Run::default()).unwrap().report;
        let both = Both { reports: [&report, &report], scopes: [Scope::run(), Scope::run()] };
        let (_, cells) = both.points("Bubble", "pipeline.bubble_fraction", [0.20249, 0.10851]);
        let html = Node::from_iter(cells).to_html();
        assert!(html.contains("20.2 %") && html.contains("10.9 %") && html.contains("−9.3 points"), "{html}");
    }

    /// Of two layouts of one run; another GPU is another run.
    #[test]
    fn layouts_that_no_estimate_tells_apart_may_be_equal() {
        let first = evaluate(&Run::default()).unwrap();
        let said = |run: &Run| {
            let second = evaluate(run).unwrap();
            (
                sentence([&first, &second], MemoryUnit::Gib).to_string(),
                second.report.step.time_s / first.report.step.time_s,
            )
        };
        let mut untold = 0;
        for schedule in [Schedule::OneFOneB, Schedule::Gpipe, Schedule::ZbH1, Schedule::Interleaved] {
            let virtual_stages = if schedule == Schedule::Interleaved { 2 } else { 1 };
            let (words, ratio) = said(&Run { schedule, virtual_stages, ..Run::default() });
            let inside = (ratio - 1.0).abs() >= SMALLEST_PRINTED
                && ratio.max(1.0 / ratio) <= 1.0 + first.report.step.range.may_be_equal;
            assert_eq!(words.contains("They may be equal"), inside, "{ratio}: {words}");
            untold += u32::from(inside);
        }
        assert!(untold > 0);
        let gpus = ["h200-sxm-141gb", "a100-sxm-80gb"].map(|gpu| {
            let mut run = Run::default();
            run.gpu.base = Some(gpu);
            said(&run).0
        });
        assert!(gpus.iter().all(|words| !words.contains("They may be equal")), "{gpus:?}");
    }
}
