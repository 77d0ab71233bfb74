//! The playbook's recipe with this run's numbers: fit in memory, reach the batch, optimise throughput; and whether the
//! walk ends where the search does.
//!
//! Source: Ultra-Scale Playbook, "Finding the Best Training Configuration". Its rules choose by model size and GPU
//! count; each rule is tried in its order, every step is a full report.

use super::fastest::serves;
use super::ranking::{Figures, FoundLayout};
use super::why::differences;
use crate::memory::Verdict;
use crate::message::{Message, verbatim};
use crate::model::Architecture;
use crate::pipeline::able::can_run;
use crate::report::{Report, plain_report as report};
use crate::run::{Recompute, Run, Schedule, ScheduleOptions};
use crate::t;
use serde::Serialize;

/// Sequences this long are cut by context parallelism before anything else is tried.
const LONG: u64 = 32_768;
/// Tokens that are left of a long sequence on a rank.
const SHORT: u64 = 16_384;
/// Micro-batches that the last step tries.
const MICRO_BATCHES: [u64; 4] = [1, 2, 4, 8];

/// One step of the walk.
#[derive(Clone, Debug, Serialize)]
pub struct WalkStep {
    /// Its purpose.
    pub title: &'static str,
    /// Its effect, with this run's numbers.
    pub text: Message,
    #[serde(skip)]
    pub run: Run,
    pub time_s: f64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Walk {
    /// Its steps; empty where no rule of the playbook fits in memory.
    pub steps: Vec<WalkStep>,
    /// Its end against the search.
    pub end: Message,
}

/// A layout with its report.
type Tried = (Run, Report);

/// `run` where its layout serves, as those of the search do; where the software `is_free`, where it fits.
fn tried(run: Run, is_free: bool) -> Option<Tried> {
    let report = report(&run).ok()?;
    let fits =
        if is_free { report.memory.overall() == Verdict::Fits } else { serves(&run, &Figures::from(&report).peak) };
    fits.then_some((run, report))
}

/// Walks the recipe for `run`; `best` is the search's first.
pub fn walk(run: &Run, best: Option<&FoundLayout>) -> Walk {
    let Some((rule, start)) = fit(run) else {
        return Walk { steps: Vec::new(), end: t!("No rule of the playbook fits in memory on these GPUs.") };
    };
    let mut steps = vec![memory_step(run, rule, &start), batch_step(&start)];
    let end = optimise(start, &mut steps);
    Walk { end: ending(&end, best), steps }
}

/// A rule of the first step, and the field it sets.
struct Rule {
    name: &'static str,
    tensor: bool,
    pipeline: bool,
    zero: u64,
    recompute: Recompute,
}

const fn rule(name: &'static str, tensor: bool, pipeline: bool, zero: u64) -> Rule {
    Rule { name, tensor, pipeline, zero, recompute: Recompute::None }
}

/// The playbook's rules for a model of `parameters` on `gpus`, in its order, then the same with full recomputation.
fn rules(parameters: u64, gpus: u64) -> Vec<Rule> {
    let list = || {
        if gpus >= 1024 {
            vec![
                rule("from 1024 GPUs: TP in the node, ZeRO-2 and PP", true, true, 2),
                rule("TP in the node with PP", true, true, 1),
            ]
        } else if gpus >= 512 {
            vec![rule("from 512 GPUs: ZeRO-3 with TP", true, false, 3), rule("ZeRO-3 with PP", false, true, 3)]
        } else if parameters < 10_000_000_000 {
            vec![
                rule("below 10 B parameters: TP in the node alone", true, false, 1),
                rule("below 10 B parameters: ZeRO-3 alone", false, false, 3),
            ]
        } else {
            vec![
                rule("10 B parameters and more: TP in the node with PP", true, true, 1),
                rule("10 B parameters and more: TP in the node with ZeRO-3", true, false, 3),
                rule("10 B parameters and more: ZeRO-3 alone", false, false, 3),
            ]
        }
    };
    let mut rules = list();
    rules.extend(list().into_iter().map(|rule| Rule { recompute: Recompute::Full, ..rule }));
    rules
}

/// The first rule whose layout serves, at the smallest pipeline that does; where the software runs none of them, the
/// first that fits in memory.
fn fit(run: &Run) -> Option<(&'static str, Tried)> {
    first_rule(run, false).or_else(|| first_rule(run, true))
}

/// The first rule that fits in memory, under whatever software where that `is_free`.
fn first_rule(run: &Run, is_free: bool) -> Option<(&'static str, Tried)> {
    let model = run.model.resolve().ok()?;
    let gpu = run.gpu.resolve().ok()?;
    let per_node = run.gpus_per_node.unwrap_or(gpu.per_node);
    let parameters = model.elements().total();
    rules(parameters, run.training_gpus()).into_iter().find_map(|rule| {
        let tp = if rule.tensor { per_node.min(8) } else { 1 };
        let pipelines: Vec<u64> = if rule.pipeline { super::sweep::doublings(1, model.layers) } else { vec![1] };
        let found = pipelines.into_iter().find_map(|pp| {
            let mut start = plain(run, &model, tp, pp);
            start.zero = rule.zero;
            start.recompute = rule.recompute.clone();
            tried(start, is_free)
        });
        found.map(|found| (rule.name, found))
    })
}

/// `run` cut by `tp` and `pp`, long sequences over CP, experts over EP, all else at its simplest.
fn plain(run: &Run, model: &Architecture, tp: u64, pp: u64) -> Run {
    let cp = if run.seq_len > LONG { (run.seq_len / SHORT).next_power_of_two() } else { 1 };
    let ranks = run.training_gpus() / pp.max(1);
    let experts = model.moe.map_or(1, |moe| moe.experts);
    let divides = |ep: &u64| experts.is_multiple_of(*ep) && ranks.is_multiple_of(*ep);
    let ep = (1..=experts.min(ranks).max(1)).rev().find(divides).unwrap_or(1);
    Run {
        tp,
        pp,
        cp,
        ep,
        etp: 1,
        micro_batch: 1,
        schedule: Schedule::OneFOneB,
        schedule_options: ScheduleOptions::default(),
        virtual_stages: 1,
        stage_layers: None,
        mtp_stage: None,
        hsdp_shard: None,
        sequence_parallel: true,
        measured_step_s: None,
        ..run.clone()
    }
}

fn sizes(run: &Run) -> Message {
    let mut sizes = format!("TP {}, PP {}, ZeRO-{}", run.tp, run.pp, run.zero);
    for (name, size) in [("CP", run.cp), ("EP", run.ep)] {
        if size > 1 {
            sizes = format!("{sizes}, {name} {size}");
        }
    }
    if run.recompute == Recompute::Full { t!("{sizes}, full recomputation", sizes) } else { verbatim(sizes) }
}

/// The first step of the walk for `asked`; what the playbook would have taken first, where the software has it not.
fn memory_step(asked: &Run, rule: &'static str, (run, report): &Tried) -> WalkStep {
    let memory = &report.memory;
    let software = run.stack.preset_row().choice.label;
    let refused = if can_run(run) {
        let first = first_rule(asked, true).filter(|(first, _)| *first != rule);
        first.map(|(first, _)| {
            t!("{software} does not run the layout of an earlier rule, \"{first}\".", software, first)
        })
    } else {
        Some(t!("{software} cannot run the layout of any playbook rule; these steps assume other software.", software))
    };
    let fits = t!(
        "By the rule \"{rule}\": {sizes} needs {need} of {capacity} GiB.",
        rule,
        sizes = sizes(run),
        need = format!("{:.1}", memory.peak_bytes.gib()),
        capacity = format!("{:.1}", memory.capacity_bytes.gib())
    );
    WalkStep {
        title: "Fit in memory",
        text: Message::joined(" ", std::iter::once(fits).chain(refused)),
        run: run.clone(),
        time_s: report.step.time_s.0,
    }
}

fn batch_step((run, report): &Tried) -> WalkStep {
    let layout = &report.layout;
    WalkStep {
        title: "Reach the batch",
        text: t!(
            "dp {dp} x micro-batch {micro_batch} x {steps} accumulation steps = {sequences} sequences, {tokens} M \
                tokens per step.",
            dp = layout.dp,
            micro_batch = run.micro_batch,
            steps = layout.microbatches,
            sequences = run.global_batch,
            tokens = format!("{:.2}", layout.tokens_per_step / 1e6)
        ),
        run: run.clone(),
        time_s: report.step.time_s.0,
    }
}

/// One axis after the other in the playbook's order: TP up to the node, ZeRO, PP, micro-batch; each at its fastest.
fn optimise(start: Tried, steps: &mut Vec<WalkStep>) -> Tried {
    type Set = fn(&mut Run, u64);
    let divisors = super::sweep::doublings(1, 64);
    let axes: [(&str, &str, Vec<u64>, Set); 4] = [
        ("TP", "Best TP", super::sweep::doublings(1, 8), |run, value| {
            run.tp = value;
        }),
        ("ZeRO", "Best ZeRO stage", vec![0, 1, 2, 3], |run, value| run.zero = value),
        ("PP", "Best PP", divisors, |run, value| run.pp = value),
        ("micro-batch", "Best micro-batch", MICRO_BATCHES.to_vec(), |run, value| {
            run.micro_batch = value;
        }),
    ];
    let is_free = !can_run(&start.0);
    let mut stay = Vec::new();
    let mut now = start;
    for (name, title, values, set) in axes {
        let before = now.clone();
        for value in values {
            let mut run = before.0.clone();
            set(&mut run, value);
            if let Some(next) = tried(run, is_free)
                && next.1.step.time_s < now.1.step.time_s
            {
                now = next;
            }
        }
        let (old, new) = (before.1.step.time_s, now.1.step.time_s);
        let change = differences(&now.0, &before.0);
        if change.is_empty() {
            stay.push(name);
            continue;
        }
        let text = t!(
            "{change}: {share} % less time, MFU {mfu} %.",
            change,
            share = format!("{:.1}", (1.0 - new / old) * 100.0),
            mfu = format!("{:.1}", now.1.step.mfu * 100.0)
        );
        steps.push(WalkStep { title, text, run: now.0.clone(), time_s: new.0 });
    }
    if !stay.is_empty() {
        let names = Message::joined(", ", stay.into_iter().map(Message::plain));
        let text = if is_free {
            t!("No other value that fits is faster: {names}.", names)
        } else {
            t!("No other value that fits and that this software can run is faster: {names}.", names)
        };
        steps.push(WalkStep { title: "As they are", text, run: now.0.clone(), time_s: now.1.step.time_s.0 });
    }
    now
}

/// Compares the end of the walk with the best layout of the search.
fn ending((run, report): &Tried, best: Option<&FoundLayout>) -> Message {
    let Some(best) = best else {
        return t!("The search found nothing that fits.");
    };
    let (walked, searched) = (report.step.time_s, best.figures.time_s);
    let less = (1.0 - searched / walked) * 100.0;
    let differs = differences(&best.run, run);
    if differs.is_empty() {
        return t!("The walk ends at the search's first layout.");
    }
    if less < 0.05 {
        return t!("The walk ends at a layout as fast as the search's first, which has {differs}.", differs);
    }
    t!(
        "The search's first layout takes {less} % less time, with {differs}: the walk moves along one axis at a time \
            and keeps to 1F1B, so it does not meet combinations that only win together.",
        less = format!("{less:.1}"),
        differs
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Based;
    use crate::search::PlanRequest;

    #[test]
    fn every_step_of_the_walk_fits_and_none_is_slower() {
        // The playbook's rules by size: below 10 B parameters one kind of parallelism, from there on two.
        let (small, large) = ("\"below 10 B parameters: ", "\"10 B parameters and more: ");
        for (model, gpus, rule) in
            [("llama-3.1-8b", 8, small), ("llama-3.1-70b", 128, large), ("mixtral-8x7b", 64, large)]
        {
            let run = Run { model: Based::preset(model), gpus, global_batch: 256, ..Run::default() };
            let mut request = PlanRequest::new(&run, &["schedule", "recompute"], 1).unwrap();
            request.search.finish();
            let best = request.search.best().first().map(|best| &**best);
            let walk = walk(&run, best);
            let first = walk.steps[0].text.to_string();
            assert!(first.contains(rule), "{model}: {first}");
            for pair in walk.steps.windows(2) {
                assert!(pair[1].time_s <= pair[0].time_s);
            }
            for step in &walk.steps {
                assert_eq!(report(&step.run).unwrap().memory.overall(), Verdict::Fits);
                // Llama 3.1 on Megatron-LM: its ZeRO stops at the optimizer's states under a pipeline.
                assert!(can_run(&step.run), "{model}: {:?}", step.run);
            }
            // The walk cannot beat a search of the same schedule, unless it recomputes.
            let end = walk.steps.last().unwrap();
            if end.run.recompute == Recompute::None {
                assert!(end.time_s >= best.unwrap().figures.time_s.0 * (1.0 - 1e-12));
            }
            assert!(!walk.end.is_empty());
        }
    }

    /// ZeRO-2 under a pipeline is the playbook's first rule from 1024 GPUs on; Megatron-LM shards gradients under no
    /// pipeline, so the walk begins with the next rule and says why.
    #[test]
    fn a_rule_that_the_software_refuses_is_named_and_not_walked() {
        let model = Based::preset("llama-3.1-405b");
        let run = Run { model, gpus: 2048, global_batch: 2048, ..Run::example() };
        let walk = walk(&run, None);
        assert!(walk.steps.iter().all(|step| can_run(&step.run)));
        let first = walk.steps[0].text.to_string();
        assert!(first.contains("does not run the layout of an earlier rule") && first.contains("ZeRO-2"), "{first}");
    }
}
