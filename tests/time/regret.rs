//! The regret of a chosen layout: of the layouts of one model, batch, length and GPUs that one document measured, the
//! one that the calculator predicts to be the fastest, over the one that was measured to be (`cargo test --test time
//! regret -- --nocapture`).

use crate::common::evidence;
use shardscope::core::accuracy::{DATED, Measurement, Prediction};
use shardscope::core::run::{Run, Scenario};
use shardscope::core::units::SMALLEST_PRINTED;
use std::collections::{BTreeMap, BTreeSet};

/// A published step.
struct Step {
    layout: String,
    measured: f64,
    predicted: f64,
}

/// The steps of one question: what is fastest for this model, batch and length on these GPUs?
type Question = Vec<Step>;

/// Degrees, micro-batch, chunks, recomputation and sharding: what a search chooses.
fn layout(run: &Run) -> String {
    format!(
        "tp {} pp {} cp {} ep {} etp {:?} b {} v {} {:?} zero {} {:?} {:?} {:?}",
        run.tp,
        run.pp,
        run.cp,
        run.ep,
        run.etp,
        run.micro_batch,
        run.virtual_stages,
        run.schedule,
        run.zero,
        run.recompute,
        run.sequence_parallel,
        run.stage_layers
    )
}

/// The questions of each source of `public/data` that measured two layouts at least.
fn questions() -> BTreeMap<&'static str, Vec<Question>> {
    let mut questions: BTreeMap<(&str, String), Question> = BTreeMap::new();
    for row in DATED.into_iter().flat_map(evidence) {
        let Measurement::Step(measured) = row.measured else { continue };
        let (run, model) = (&row.run, Scenario::new(&row.run).unwrap().model);
        let name = format!(
            "{} {:?} {} {} {:?} {:?} {} {} {} {:?} {:?} {:?}",
            row.origin,
            run.model.base,
            model.layers,
            model.hidden,
            run.adapter.method,
            run.gpu.base,
            run.gpus,
            run.seq_len,
            run.global_batch,
            run.precision.base,
            run.stack.base,
            run.loader_ns
        );
        let step = Step { layout: layout(run), measured, predicted: Prediction::of(&row).unwrap().value };
        questions.entry((row.source().name, name)).or_default().push(step);
    }
    let mut by_source: BTreeMap<&str, Vec<Question>> = BTreeMap::new();
    for ((source, _), steps) in questions {
        let layouts: BTreeSet<&str> = steps.iter().map(|step| step.layout.as_str()).collect();
        if layouts.len() > 1 {
            by_source.entry(source).or_default().push(steps);
        }
    }
    by_source
}

/// Seconds of the layout that is predicted to be the fastest over the fastest, less 1. Of layouts that are printed as
/// equally fast the slowest counts.
fn regret(steps: &Question) -> f64 {
    let least = |of: fn(&Step) -> f64| steps.iter().map(of).fold(f64::INFINITY, f64::min);
    let limit = least(|step| step.predicted) * (1.0 + SMALLEST_PRINTED);
    let chosen = steps.iter().filter(|step| step.predicted <= limit);
    chosen.map(|step| step.measured).fold(0.0, f64::max) / least(|step| step.measured) - 1.0
}

/// Percent, for the table in `docs/methods/search.md`.
struct SourceRegret {
    name: &'static str,
    questions: usize,
    steps: usize,
    mean: f64,
    worst: f64,
    /// Mean of all its layouts: what a choice without a prediction costs.
    drawn: f64,
}

fn by_source() -> Vec<SourceRegret> {
    let drawn = |steps: &Question| {
        let least = steps.iter().map(|step| step.measured).fold(f64::INFINITY, f64::min);
        steps.iter().map(|step| step.measured).sum::<f64>() / (least * steps.len() as f64) - 1.0
    };
    let of = |(name, questions): (&'static str, Vec<Question>)| {
        let percent = |sum: f64| 100.0 * sum / questions.len() as f64;
        SourceRegret {
            name,
            questions: questions.len(),
            steps: questions.iter().map(Vec::len).sum(),
            mean: percent(questions.iter().map(regret).sum()),
            worst: 100.0 * questions.iter().map(regret).fold(0.0, f64::max),
            drawn: percent(questions.iter().map(drawn).sum()),
        }
    };
    questions().into_iter().map(of).collect()
}

/// The most mean regret of a source, percent: the aim.
const AIM: f64 = 6.0;

/// Sources that miss it; `docs/methods/search.md` says why.
const MISS: [&str; 2] = ["BLOOM candidates, 176B to 203B on A100", "InternEvo, InternLM-7B on A100"];

/// The aim holds in each source but two, where the choice costs at most the aim more than a layout drawn at random.
/// Constants were fitted to several of them, and the layouts that ran out of memory are not among the choices.
#[test]
fn the_layout_that_is_predicted_to_be_fastest_is_nearly_so_in_each_source() {
    let sources = by_source();
    println!("| source | questions | steps | mean, % | worst, % | of any layout, % |");
    for SourceRegret { name, questions, steps, mean, worst, drawn } in &sources {
        println!("| {name} | {questions} | {steps} | {mean:.1} | {worst:.1} | {drawn:.1} |");
        if MISS.contains(name) {
            assert!(*mean > AIM, "{name} meets the aim, {mean}: it is no exception any more");
            assert!(*mean <= drawn + AIM, "{name}: {mean}, {drawn} drawn");
        } else {
            assert!(*mean <= AIM, "{name}: {mean}");
        }
    }
    assert!(MISS.iter().all(|name| sources.iter().any(|source| source.name == *name)));
    // Of all questions of the other sources none misses by more than 6 %.
    let rest = sources.iter().filter(|source| !MISS.contains(&source.name));
    assert!(rest.map(|source| source.worst).fold(0.0, f64::max) <= AIM);
}
