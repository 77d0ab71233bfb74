//! The arithmetic that the drawer prints: every formula of every figure, computed with the values that stand beside it,
//! gives the value that it explains; what no formula gives says how it comes about.

use shardscope::core::explain::{Derivation, Provenance, Term};
use shardscope::core::memory::Component;
use shardscope::core::memory::methods::uneven::split;
use shardscope::core::report::{Evaluation, Figure, evaluate, explain, schedule_ids, with_schedule};
use shardscope::core::run::presets::{MODELS, PUBLISHED};
use shardscope::core::run::{
    Based, CpComm, CrossEntropy, Method, Module, MoeDispatch, OneOf, Optimizer, Recompute, Reduction, Run, Schedule,
};
use shardscope::core::traffic::Traffic;
use std::collections::BTreeMap;

/// Every figure that the page can be asked about.
fn figures(evaluation: &Evaluation) -> Vec<Figure> {
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

/// What the report says of a figure.
fn reported(evaluation: &Evaluation, figure: Figure) -> Option<f64> {
    let report = &evaluation.report;
    let rank = |rank: usize| report.memory.per_stage.get(rank);
    Some(match figure {
        Figure::Memory(of) => rank(of)?.total.0,
        Figure::Component(of, Component::Activations) => rank(of)?.activations.0,
        Figure::Component(of, component) if report.memory.method == Method::Detailed.id() => {
            let at = Component::ALL.iter().position(|other| *other == component)?;
            rank(of)?.components()[at].1.0
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
        Figure::Component(..) | Figure::InFlight(_) | Figure::Method(..) => return None,
    })
}

/// What was met on the way.
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
            Derivation::Marked(mark, _) => *self.marked.entry(mark.word()).or_default() += 1,
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
        let shown: Vec<_> = self.wrong.iter().take(20).collect();
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

/// DeepSeek-V3 as small as it goes with all of its parts.
fn deepseek() -> Run {
    Run {
        gpu: Based::preset("h800-sxm-80gb"),
        gpus: 256,
        tp: 1,
        pp: 8,
        ep: 32,
        seq_len: 4096,
        global_batch: 1024,
        ..model("deepseek-v3")
    }
}

fn mixtral() -> Run {
    Run { tp: 1, ep: 8, ..model("mixtral-8x7b") }
}

#[test]
fn every_zero_stage_and_shard_group() {
    let mut runs = Vec::new();
    for zero in 0..4 {
        for (name, run) in [("llama", Run::default()), ("mixtral", mixtral()), ("deepseek", deepseek())] {
            for pp in [1, 4] {
                for hsdp_shard in [None, Some(2)] {
                    let run = Run { zero, pp, hsdp_shard: hsdp_shard.filter(|_| zero > 0), ..run.clone() };
                    if evaluate(&run).is_ok() {
                        runs.push((format!("{name} zero={zero} pp={pp} {hsdp_shard:?}"), run.clone()));
                    }
                    for zero2_reduce in [Reduction::Group, Reduction::Step] {
                        let run =
                            Run { zero2_reduce, schedule: Schedule::Interleaved, virtual_stages: 2, ..run.clone() };
                        if zero == 2 && evaluate(&run).is_ok() {
                            runs.push((format!("{name} {zero2_reduce:?} pp={pp} {hsdp_shard:?}"), run));
                        }
                    }
                }
            }
        }
    }
    assert!(tally(runs).runs >= 30);
}

#[test]
fn every_schedule() {
    let mut runs = Vec::new();
    for id in schedule_ids() {
        for run in [Run::default(), mixtral()] {
            let run = run.with_texts(&with_schedule(&run, id)).unwrap();
            if evaluate(&run).is_ok() {
                runs.push((format!("{id} {:?}", run.model.base), run));
            }
        }
    }
    assert!(tally(runs).runs >= 20);
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

#[test]
fn every_recomputation_attention_and_exchange() {
    let modules = |list: &[Module]| Recompute::Modules(list.to_vec());
    let mut runs = Vec::new();
    for recompute in [
        Recompute::None,
        Recompute::Selective,
        Recompute::Full,
        Recompute::Layers(2),
        modules(&[Module::Norm, Module::Mlp, Module::CoreAttn]),
        modules(&[Module::MoeAct, Module::MlaUp]),
    ] {
        for (name, base) in [("llama", Run::default()), ("gpt", model("gpt-3-175b")), ("deepseek", deepseek())] {
            for (zero, flash_attention, fused_swiglu) in [(1, true, true), (1, false, true), (3, true, false)] {
                let run = Run {
                    recompute: recompute.clone(),
                    flash_attention: Some(flash_attention),
                    fused_swiglu: Some(fused_swiglu),
                    zero,
                    ..base.clone()
                };
                if evaluate(&run).is_ok() {
                    runs.push((format!("{name} {recompute:?} zero={zero} {flash_attention}"), run));
                }
            }
        }
    }
    for cp_comm in [CpComm::Ring, CpComm::AllGather, CpComm::Ulysses] {
        let full = Run { precision: Based::preset("fp32"), ..model("gpt-3-175b") };
        for base in [Run::default(), deepseek(), full] {
            for sequence_parallel in [true, false] {
                let run = Run { cp: 2, cp_comm, sequence_parallel, recompute: Recompute::Full, ..base.clone() };
                if evaluate(&run).is_ok() {
                    runs.push((format!("cp {cp_comm:?} {sequence_parallel}"), run));
                }
            }
        }
    }
    assert!(tally(runs).runs >= 40);
}

/// Eight key-value heads over sixteen tensor-parallel ranks: parameters, blocks and messages of heads held twice.
#[test]
fn every_exchange_of_copied_key_value_heads() {
    let mut runs = Vec::new();
    for cp_comm in [CpComm::Ring, CpComm::AllGather, CpComm::Ulysses] {
        for zero in 0..4 {
            let run = Run {
                gpus: 256,
                gpus_per_node: Some(16),
                tp: 16,
                cp: 2,
                cp_comm,
                zero,
                dummy_wgrad: Some(true),
                ..model("llama-3.1-70b")
            };
            runs.push((format!("{cp_comm:?} zero={zero}"), run));
        }
    }
    assert_eq!(tally(runs).runs, 12);
}

#[test]
fn every_precision_optimizer_and_loss() {
    let mut runs = Vec::new();
    for precision in ["bf16", "bf16-fp32-grads", "fp32", "fsdp-mixed", "deepseek-fp8"] {
        for optimizer in [Optimizer::Adam, Optimizer::Sgd, Optimizer::Muon, Optimizer::Adam8Bit, Optimizer::Adafactor] {
            for zero in [0, 1, 3] {
                let run = Run { precision: Based::preset(precision), optimizer, zero, ..mixtral() };
                runs.push((format!("{precision} {optimizer:?} zero={zero}"), run));
            }
        }
    }
    for cross_entropy in
        [CrossEntropy::Megatron, CrossEntropy::MegatronFused, CrossEntropy::TeFused, CrossEntropy::Chunked]
    {
        let run = Run {
            cross_entropy: Some(cross_entropy),
            dummy_wgrad: Some(true),
            measured_step_s: Some(7.0),
            loader_ns: Some(2.0),
            moe_imbalance: 1.5,
            ..deepseek()
        };
        runs.push((format!("{cross_entropy:?}"), run));
    }
    for (moe_dispatch, low) in
        [(MoeDispatch::PerNode, false), (MoeDispatch::PerNode, true), (MoeDispatch::AllToAll, true)]
    {
        let run = Run { moe_dispatch: Some(moe_dispatch), fp8_dispatch: Some(low), fp8_activations: low, ..deepseek() };
        runs.push((format!("{moe_dispatch:?}, low precision {low}"), run));
    }
    let lengths = Run { microbatch_lengths: Some((0..32).map(|index| 4096 + 256 * index).collect()), ..Run::default() };
    runs.push(("unequal micro-batches".to_owned(), lengths));
    assert_eq!(tally(runs).runs, 83);
}

/// What a person found false by hand: no divisor of the shards, one of two copies, no layers and nothing in flight.
#[test]
fn every_phase_of_reinforcement_learning() {
    let base = Run { gpus: 8, tp: 1, pp: 1, zero: 3, global_batch: 8, ..Run::default() };
    let mut runs = Vec::new();
    for (framework, more) in [
        ("verl", "stack=fsdp2 precision=fsdp-mixed phases.critic=policy phases.reward=policy"),
        ("nemo-rl", "stack=fsdp2 precision=fsdp-mixed phases.offload=true phases.reference=true"),
        ("trl", "stack=hf-trainer precision=bf16 adapter.method=qlora phases.sleep=off"),
        ("openrlhf", "zero=1 tp=2 phases.placement=colocated phases.critic=policy phases.rollout_gib=30"),
        ("openrlhf", "stack=deepspeed precision=bf16 offload.optimizer=cpu host_memory_gib=4096"),
        ("verl", "phases.placement=engine-apart phases.rollout_tp=2 memory_method=fujii-4d"),
    ] {
        let pairs = more.split(' ').map(|pair| pair.split_once('=').unwrap());
        let pairs = pairs.chain([("phases.framework", framework)]);
        let set: Vec<_> = pairs.map(|(key, text)| (key, text.to_owned())).collect();
        runs.push((more.to_owned(), base.with_texts(&set).unwrap()));
    }
    tally(runs);
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
    assert!(tensors.iter().all(|formula| formula == "b n i"), "{tensors:?}");
    let stashed = Run { schedule: Schedule::Pipedream2bw, ..Run::default() };
    let weights = texts(&evaluate(&stashed).unwrap(), Component::Weights);
    assert!(weights.iter().all(|formula| formula == "P w c"), "{weights:?}");
}

#[test]
fn all_kinds_of_marks_are_used() {
    let tally = tally(vec![("default".to_owned(), Run { cp: 2, ..Run::default() })]);
    for mark in Provenance::ALL {
        assert!(tally.marked.contains_key(mark.word()), "{mark:?}");
    }
    // Most of what is shown is computed from what stands beside it.
    assert!(tally.formulas > 2 * tally.marked.values().sum::<usize>());
}
