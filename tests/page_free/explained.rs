//! The arithmetic that the drawer prints: every formula of every figure, computed with the values that stand beside it,
//! gives the value that it explains; what no formula gives says how it comes about.

use crate::common::random::{Random, random_run};
use shardscope::core::explain::{Derivation, Provenance, Term};
use shardscope::core::memory::Component;
use shardscope::core::memory::methods::uneven::split;
use shardscope::core::report::{Evaluation, Figure, by_rank, evaluate, explain};
use shardscope::core::run::presets::{MODELS, PUBLISHED};
use shardscope::core::run::registry::{FIELDS, Field, Slot};
use shardscope::core::run::{Based, Method, Objective, OneOf, Run, Schedule};
use shardscope::core::time::{KernelClass, KernelPass};
use shardscope::core::traffic::Traffic;
use shardscope::io::link;
use std::collections::BTreeMap;

/// Random runs whose explanations are recomputed.
const RUNS: usize = 300;

/// Every figure that the page explains.
pub(super) fn figures(evaluation: &Evaluation) -> Vec<Figure> {
    let ranks = 0..evaluation.report.memory.per_stage.len();
    let mut all = vec![
        Figure::Capacity,
        Figure::Step,
        Figure::Compute,
        Figure::Bubble,
        Figure::Mfu,
        Figure::Tokens,
        Figure::Exposed,
    ];
    all.extend((0..evaluation.report.overlap.len()).map(Figure::Overlap));
    if evaluation.scenario.chunks == 1 && evaluation.scenario.layout.pp > 1 {
        all.push(Figure::Rule);
    }
    all.extend((0..evaluation.report.memory.phases.len()).map(Figure::Phase));
    // Ranks in the middle are alike: both ends, the ones beside them and the fullest stand for all.
    let last = ranks.end.saturating_sub(1);
    let peak = evaluation.report.memory.peak_stage;
    let chosen = ranks.filter(|rank| [0, 1, last.saturating_sub(1), last, peak].contains(rank));
    for rank in chosen {
        all.push(Figure::Memory(rank));
        all.push(Figure::InFlight(rank));
        all.extend(Component::ALL.map(|component| Figure::Component(rank, component)));
        all.extend(Method::ALL.iter().map(|(method, _)| Figure::Method(*method, rank)));
    }
    all
}

/// The figure as the report has it.
fn reported(evaluation: &Evaluation, figure: Figure) -> Option<f64> {
    let report = &evaluation.report;
    let rank = |rank: usize| report.memory.per_stage.get(rank);
    Some(match figure {
        Figure::Memory(of) => rank(of)?.total.0,
        // One without bytes opens the total.
        Figure::Component(of, component) => {
            let bytes = rank(of)?.components()[component as usize].1.0;
            if bytes > 0.0 { bytes } else { return None }
        }
        Figure::Capacity => report.memory.capacity_bytes.0,
        Figure::Step => report.step.time_s.0,
        Figure::Compute => report.step.compute_s.0,
        Figure::Bubble => report.pipeline.bubble_fraction,
        Figure::Mfu => report.step.mfu,
        Figure::Tokens => report.step.tokens_per_s_per_gpu,
        Figure::Exposed => report.step.exposed_comm_s.0,
        Figure::Overlap(row) if report.overlap.get(row)?.traffic == Traffic::Pp => report.overlap.get(row)?.comm_s.0,
        Figure::Overlap(row) => report.overlap.get(row)?.exposed_s.0,
        Figure::Phase(at) => report.memory.phases.get(at)?.memory.total.0,
        Figure::Rule => split(&evaluation.scenario)[0] as f64,
        Figure::InFlight(_) | Figure::Method(..) => return None,
    })
}

/// Terms counted, and those that do not add up.
#[derive(Default)]
struct Tally {
    runs: usize,
    figures: usize,
    formulas: usize,
    given: usize,
    marked: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn run(&mut self, name: &str, run: &Run) {
        let evaluation = evaluate(run).unwrap_or_else(|issues| panic!("{name}: {issues:?}"));
        self.runs += 1;
        for figure in figures(&evaluation) {
            let Some(term) = explain(&evaluation, figure) else {
                panic!("{name}: no {figure:?}");
            };
            self.figures += 1;
            if let Some(said) = reported(&evaluation, figure) {
                let gap = (term.value - said).abs();
                if gap > said.abs() * 1e-9 {
                    let at = figure.id();
                    self.wrong.push(format!("{name}, {at}: {} is reported as {said}", term.value));
                }
            }
            self.term(&format!("{name}, {}", figure.id()), &term);
        }
    }

    fn term(&mut self, at: &str, term: &Term) {
        let at = format!("{at} > {}", term.symbol);
        if !term.value.is_finite() {
            self.wrong.push(format!("{at}: {} is {}", term.name, term.value));
        }
        match &term.derivation {
            Derivation::Given => {
                self.given += 1;
                if !term.parts.is_empty() {
                    self.wrong.push(format!("{at}: {} has parts and no formula", term.name));
                }
            }
            Derivation::Marked(mark, piece) => {
                *self.marked.entry(mark.word()).or_default() += 1;
                // A piece is one of many: it has symbols, and is no number.
                if piece.as_ref().is_some_and(|piece| piece.symbols().is_empty()) {
                    self.wrong.push(format!("{at}: the formula of a piece of {} is a number", term.name));
                }
            }
            Derivation::Formula(formula) => {
                self.formulas += 1;
                let largest = term.parts.iter().map(|part| part.value.abs());
                let largest = largest.fold(term.value.abs(), f64::max);
                // A difference of two large numbers keeps their rounding.
                let rounding = if formula.text().contains('-') { largest * 1e-12 } else { 0.0 };
                let slack = term.value.abs() * 1e-6 + rounding;
                match term.computed() {
                    Some(value) if (value - term.value).abs() <= slack => {}
                    other => self.wrong.push(format!(
                        "{at}: {} is {}, {} gives {other:?}",
                        term.name,
                        term.value,
                        formula.text()
                    )),
                }
            }
        }
        for part in &term.parts {
            self.term(&at, part);
        }
    }

    fn nothing_is_wrong(&self) {
        eprintln!(
            "{} runs, {} figures, {} formulas, {} inputs, marked {:?}",
            self.runs, self.figures, self.formulas, self.given, self.marked
        );
        // One example of each place.
        let place =
            |wrong: &&String| wrong.split_once(", ").map(|(_, place)| place.replace(|c: char| c.is_ascii_digit(), ""));
        let mut places = std::collections::BTreeSet::new();
        let shown: Vec<_> = self.wrong.iter().filter(|wrong| places.insert(place(wrong))).take(40).collect();
        assert!(self.wrong.is_empty(), "{} wrong: {shown:#?}", self.wrong.len());
    }
}

fn tally(runs: Vec<(String, Run)>) -> Tally {
    let mut tally = Tally::default();
    for (name, run) in runs {
        tally.run(&name, &run);
    }
    tally.nothing_is_wrong();
    tally
}

fn model(id: &'static str) -> Run {
    Run { model: Based::preset(id), ..Run::default() }
}

/// A text for `field` among those that its kind of value allows; none for lists and free text.
fn any_value(field: &Field, random: &mut Random) -> Option<String> {
    Some(match &field.slot {
        Slot::Choice { options, .. } => random.one(&options()).id.to_owned(),
        Slot::Toggle => random.one(&["true", "false"]).to_owned(),
        Slot::Count { range, .. } => random.one(&[1, 2, 3, 4, 8, 16, 64]).clamp(range.0, range.1).to_string(),
        Slot::Number { range, .. } => random.one(&[0.5_f64, 1.0, 1.5, 2.0]).clamp(range.0, range.1).to_string(),
        _ => return None,
    })
}

/// Runs as people set them, a few fields of each at any value they may have; those that make sense.
fn random_runs(seed: u64, count: usize) -> Vec<(String, Run)> {
    let mut random = Random::new(seed);
    let mut runs = Vec::new();
    while runs.len() < count {
        let mut run = random_run(&mut random);
        for _ in 0..random.one(&[0, 1, 2, 4, 8]) {
            let fields: Vec<&Field> = FIELDS.iter().collect();
            let field = random.one(&fields);
            let value = any_value(field, &mut random).and_then(|text| field.parse(&text).ok());
            // A part that this model has not.
            let _ = value.map(|value| field.set(&mut run, &value));
        }
        if evaluate(&run).is_ok() {
            runs.push((link::encode(&run), run));
        }
    }
    runs
}

/// Every figure of every run, whatever is set: no list of cases that a new effect could be missing from.
#[test]
fn every_explanation_of_random_runs_adds_up() {
    let tally = tally(random_runs(1, RUNS));
    for mark in Provenance::ALL {
        assert!(tally.marked.contains_key(mark.word()), "{mark:?}");
    }
    // Most of what is shown is computed from what stands beside it.
    assert!(tally.formulas > 2 * tally.marked.values().sum::<usize>());
}

#[test]
fn every_preset_and_every_published_run() {
    let mut runs: Vec<_> = PUBLISHED.iter().map(|published| (published.id.to_owned(), published.run())).collect();
    for preset in MODELS {
        let run = Run { tp: 1, pp: 1, ..model(preset.choice.id) };
        if evaluate(&run).is_ok() {
            runs.push((preset.choice.id.to_owned(), run));
        }
    }
    assert!(tally(runs).runs >= PUBLISHED.len());
}

/// Every objective with every place of its reference, sharded under an eager program and cut under Megatron-LM.
#[test]
fn every_objective_adds_up() {
    let mut runs = Vec::new();
    for cut in [
        "stack=hf-trainer&precision=bf16&zero=3&tp=1&pp=1&gpus=16&recompute=full",
        "stack=megatron-2025&tp=2&pp=2&gpus=16",
    ] {
        for (objective, _) in Objective::ALL {
            for place in ["", "&objective.reference=offloaded", "&objective.reference=none"] {
                let id = objective.id();
                let text =
                    format!("v=1&objective.base={id}&objective.teacher=llama-2-7b{place}&host_memory_gib=2048&{cut}");
                let mut run = link::decode(&text).run;
                if *objective != Objective::Distillation {
                    run.objective.parts.teacher = None;
                }
                if evaluate(&run).is_ok() {
                    runs.push((text, run));
                }
            }
        }
    }
    assert!(tally(runs).runs >= 20);
}

/// The attention core in the drawer of compute, and the mean over ranks of the report's attention kernels; none of a
/// pipeline that never drains.
fn attention_core(evaluation: &Evaluation) -> Option<(Term, f64)> {
    let compute = explain(evaluation, Figure::Compute).unwrap();
    let core = compute.parts.into_iter().find(|part| part.symbol == "A")?;
    let kernels = by_rank(evaluation)?.kernels.into_iter();
    let of_class =
        kernels.filter(|kernel| kernel.class == KernelClass::Attention && kernel.pass != KernelPass::Recompute);
    let ranks = evaluation.report.memory.per_stage.len() as f64;
    Some((core, of_class.map(|kernel| kernel.seconds.0).sum::<f64>() / ranks))
}

/// Terms of a drawer, with those behind them.
fn terms(term: &Term) -> Vec<&Term> {
    std::iter::once(term).chain(term.parts.iter().flat_map(terms)).collect()
}

/// Unfused attention is explained by its own kernels: a flash kernel has tiles and writes no scores, and neither its
/// source nor its symbols stand in the drawer. What is shown is the time of the report's attention kernels.
#[test]
fn unfused_attention_is_explained_by_its_own_kernels_and_source() {
    let mut seen = [0, 0];
    for (link, run) in random_runs(2, 100) {
        let mut run = Run { measured_step_s: None, ..run };
        run.stack.parts.attention = None;
        for asked in [true, false] {
            let run = Run { flash_attention: Some(asked), ..run.clone() };
            // Kernels of multi-token prediction stand with the products in the report.
            let evaluation = evaluate(&run).ok().filter(|evaluation| evaluation.scenario.model.mtp_modules == 0);
            let Some((core, reported)) = evaluation.as_ref().and_then(attention_core) else { continue };
            for pass in terms(&core).into_iter().filter(|term| ["f", "g"].contains(&term.symbol)) {
                let has = |sign: &str| pass.formula().unwrap().symbols().iter().any(|symbol| symbol == sign);
                // No flash kernel runs in fp32, whatever is asked for.
                let fused = has("q");
                assert!(asked || !fused, "{link}: {}", pass.formula().unwrap().text());
                assert_eq!(has("m"), !fused, "{link}: {}", pass.formula().unwrap().text());
                let (_, cited) = pass.source.unwrap_or_else(|| panic!("{link}: {} has no source", pass.name));
                let own = if fused { "64 to 4 heads on A100" } else { "dot_product_attention.py" };
                assert!(cited.contains(own), "{link}: {cited}");
                seen[usize::from(fused)] += 1;
            }
            assert!((core.value / reported - 1.0).abs() < 1e-9, "{link}: {} and {reported}", core.value);
            let computed = core.computed().unwrap();
            assert!((computed / core.value - 1.0).abs() < 1e-9, "{link}: {computed} and {}", core.value);
        }
    }
    assert!(seen.iter().all(|passes| *passes > 80), "{seen:?}");
}

#[test]
fn the_weights_and_activations_name_every_factor() {
    let run = Run { zero: 3, ..Run::default() };
    let evaluation = evaluate(&run).unwrap();
    let texts = |evaluation: &Evaluation, component| -> Vec<String> {
        let term = explain(evaluation, Figure::Component(0, component)).unwrap();
        let parts = term.parts.iter();
        parts.map(|part| part.formula().unwrap().text().to_owned()).collect()
    };
    assert_eq!(texts(&evaluation, Component::Weights), ["P w/N", "P w/N"]);
    let tensors = texts(&evaluation, Component::Activations);
    assert!(tensors.iter().all(|formula| formula == "A_1 n i"), "{tensors:?}");
    let stashed = Run { schedule: Schedule::Pipedream2bw, ..Run::default() };
    let weights = texts(&evaluate(&stashed).unwrap(), Component::Weights);
    assert!(weights.iter().all(|formula| formula == "P w c"), "{weights:?}");
}
