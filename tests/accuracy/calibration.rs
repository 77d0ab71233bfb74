//! Calibration by a person's own runs, on runs that others published: k of a source are fitted, the rest is predicted.
//!
//! The protocol: one source is one cluster and its software; rows are drawn at
//! random, the mean error of those not drawn is printed for the fit and for the median scale, and so is how many of
//! them the 80 % range holds. `SHARDSCOPE_DRAWS=200` is the whole protocol (`make bench` prints it); without it some
//! rows and draws stand for all.
use shardscope::core::accuracy::{FILES, Measurement};
use shardscope::core::calibrate::{
    Components, Datum, MeasuredPeak, MemoryKind, NOISE, Observation, Posterior, RunStanding, TIGHT, WIDE, fit,
    leave_one_out, mixture, posterior, spread,
};
use shardscope::core::report::{FOUR_OF_FIVE, evaluate};
use shardscope::core::run::{Based, MULTIPLIERS, Multiplier, Recompute, Run, Scenario, Vector};
use shardscope::core::time::{Step, range};
use shardscope::io::link::{decode, encode};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The sources of the protocol: where the name begins.
const SOURCES: [(&str, bool); 12] = [
    ("Fujii 2024, table 3", false),
    ("Fujii 2024, table 4", false),
    ("llm-foundry, MPT on A100", false),
    ("llm-foundry, MPT on H100", false),
    ("SimuMax, Llama on B200", false),
    ("BLOOM candidates", false),
    ("InternEvo", false),
    ("NVIDIA dgxc, Llama 3.1 405B", false),
    ("NVIDIA dgxc, Llama 3.1 70B", false),
    ("NVIDIA dgxc, Llama 3.1 8B", false),
    ("Megatron-Bridge, DeepSeek-V3", true),
    ("Megatron-Bridge, Qwen3-235B", true),
];
/// Rows of a source without `SHARDSCOPE_DRAWS`.
const FEW_ROWS: usize = 8;
/// Runs that are fitted.
const KS: [usize; 6] = [0, 1, 2, 3, 5, 10];

struct Row {
    components: Components,
    log_seconds: f64,
    run: Run,
}

impl Row {
    fn datum(&self) -> Datum<'_> {
        Datum { components: &self.components, log_seconds: self.log_seconds, sigma: NOISE }
    }
    fn error(&self, log: f64) -> f64 {
        ((log - self.log_seconds).exp() - 1.0).abs()
    }
}

fn draws() -> Option<usize> {
    std::env::var("SHARDSCOPE_DRAWS").ok()?.parse().ok()
}

/// The runs of each source, with what they took.
fn runs() -> &'static [Vec<(Run, f64)>] {
    static RUNS: OnceLock<Vec<Vec<(Run, f64)>>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let mut all = BTreeMap::new();
        for row in FILES.iter().flat_map(|(file, _)| crate::common::evidence(file)) {
            let name = row.source().name;
            let source = SOURCES.iter().position(|(begin, _)| name.starts_with(begin));
            if let (Some(source), Measurement::Step(seconds)) = (source, row.measured) {
                let of: &mut Vec<_> = all.entry(source).or_default();
                of.push((row.run, seconds));
            }
        }
        all.into_values().collect()
    })
}

/// The rows of a source, their components computed once.
fn source(index: usize) -> &'static [Row] {
    static ROWS: [OnceLock<Vec<Row>>; SOURCES.len()] = [const { OnceLock::new() }; SOURCES.len()];
    ROWS[index].get_or_init(|| {
        let runs = &runs()[index];
        let step = match draws() {
            Some(_) => 1,
            None => runs.len().div_ceil(FEW_ROWS),
        };
        let row = |(run, seconds): &(Run, f64)| Row {
            components: Components::of(run, &[0.0; MULTIPLIERS]).unwrap(),
            log_seconds: seconds.ln(),
            run: run.clone(),
        };
        runs.iter().step_by(step).map(row).collect()
    })
}

/// A generator of the same numbers every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    fn normal(&mut self) -> f64 {
        (-2.0 * self.next().max(1e-12).ln()).sqrt() * (std::f64::consts::TAU * self.next()).cos()
    }
    /// `count` of `0..of`, in random order.
    fn choose(&mut self, count: usize, of: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..of).collect();
        for at in 0..count.min(of) {
            let other = at + usize::try_from(self.0 >> 20).unwrap() % (of - at);
            self.next();
            all.swap(at, other);
        }
        all.truncate(count);
        all
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Method {
    Scale,
    Tight,
    Mixture,
}

fn fitted(method: Method, data: &[Datum], start: &Vector) -> Posterior {
    match method {
        Method::Tight => posterior(data, start, &TIGHT),
        _ => mixture(data, start),
    }
}

/// Mean error over the rows not drawn, and how many of them the range holds, over `draws` draws of `k` rows.
fn protocol(rows: &[Row], method: Method, unknown: bool, k: usize, draws: usize) -> (f64, f64) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (k as u64 + 1));
    let (mut error, mut held, mut count) = (0.0, 0.0, 0.0);
    for _ in 0..draws {
        let chosen = random.choose(k, rows.len());
        let start: Vector = std::array::from_fn(|at| if unknown { WIDE[at] * random.normal() } else { 0.0 });
        let data: Vec<Datum> = chosen.iter().map(|at| rows[*at].datum()).collect();
        let found = fitted(method, &data, &start);
        let mut scales: Vec<f64> =
            data.iter().map(|datum| datum.log_seconds - datum.components.log_seconds(&start).0).collect();
        scales.sort_by(f64::total_cmp);
        let median = if scales.is_empty() {
            0.0
        } else {
            f64::midpoint(scales[(scales.len() - 1) / 2], scales[scales.len() / 2])
        };
        let within = range(&Scenario::new(&rows[0].run).unwrap()).within.min(NOISE);
        let noise =
            if unknown || method != Method::Mixture { NOISE } else { spread(&data, &leave_one_out(&data), within) };
        for (at, row) in rows.iter().enumerate() {
            if chosen.contains(&at) {
                continue;
            }
            let (log, variance) = match method {
                Method::Scale => (row.components.log_seconds(&start).0 + median, 0.0),
                _ => found.predict(&row.components),
            };
            error += row.error(log);
            let sd = (variance + noise * noise).sqrt();
            held += f64::from(u8::from((row.log_seconds - log).abs() <= FOUR_OF_FIVE * sd));
            count += 1.0;
        }
    }
    (100.0 * error / count, 100.0 * held / count)
}

/// A line of the protocol: mean error and held share of every source at each k.
fn line(method: Method, unknown: bool, draws: usize) -> Vec<[(f64, f64); KS.len()]> {
    let one = |index: usize| {
        KS.map(|k| {
            let once = if k == 0 && !unknown { 1 } else { draws };
            let k = k.min(source(index).len() - 1);
            protocol(source(index), method, unknown, k, once)
        })
    };
    (0..SOURCES.len()).map(one).collect()
}

/// The aims of the whole protocol, printed beside the baseline. From a start that nobody fitted they are 8.1 % for
/// table 3 and 4.8 % for table 4 after five runs. Table 3 meets its aim; table 4 comes to 5.4 %, and to 5.3 % with the
/// wide prior alone, for three reasons that no prior changes:
/// - the start is further from the truth here than with constant shares: 20.3 % before any run against 15.2 %; the
///   model's loader couples by a sixth power, so that a slow draw of it takes over the step. With shares held constant
///   table 4 begins at 16.9 % and comes to 5.1 % after five runs;
/// - the constants were fitted again since: all 60 rows fitted leave 3.95 % (3.8 % there), none 4.4 % (4.0 % there);
/// - σ from 0.05 to 0.10 and other draws change it by 0.1 % at most. The median over draws is 4.9 %.
///
/// Asserted is what constants gain over the median scale of the same draws.
#[test]
fn the_whole_protocol_meets_its_aims() {
    let Some(draws) = draws() else { return };
    let mut lines = Vec::new();
    for (name, method, unknown) in [
        ("shipped, scale", Method::Scale, false),
        ("shipped, tight", Method::Tight, false),
        ("shipped, mixture", Method::Mixture, false),
        ("unknown, scale", Method::Scale, true),
        ("unknown, mixture", Method::Mixture, true),
    ] {
        println!("{name}: mean error % (80 % range holds %) at k = {KS:?}");
        let line = line(method, unknown, draws);
        for (index, cells) in line.iter().enumerate() {
            let cells: Vec<String> = cells.iter().map(|(error, held)| format!("{error:5.1} ({held:3.0})")).collect();
            let cells = cells.join(" ");
            let rows = source(index).len();
            println!("  {:<32} {rows:>3} rows {cells}", SOURCES[index].0);
        }
        let mean = |at: usize| line.iter().map(|cells| cells[at].0).sum::<f64>() / 12.0;
        println!("  mean {:.1?}", [0, 1, 2, 3, 4, 5].map(mean));
        lines.push((mean(1), mean(4), line));
    }
    let [_, (_, _, tight), (at_1, at_5, mixture), (_, _, scale), (_, _, unknown)] = &lines[..] else {
        panic!("five lines");
    };
    assert!(*at_1 <= 10.3 && *at_5 <= 7.4, "{at_1} {at_5}");
    for table in [0, 1] {
        let none = tight[table][0].0;
        for (error, _) in tight[table] {
            assert!(error <= none + 0.5, "tight, table {}: {error} {none}", table + 3);
        }
        assert!(unknown[table][4].0 <= 0.85 * scale[table][4].0);
    }
    for experts in [false, true] {
        for at in 1..KS.len() {
            let (mut held, mut count) = (0.0, 0.0);
            for (index, cells) in mixture.iter().enumerate() {
                if SOURCES[index].1 == experts {
                    let rows = source(index).len() as f64;
                    held += cells[at].1 * rows;
                    count += rows;
                }
            }
            let share = held / count;
            println!("experts {experts}, k {}: {share:.0} % held", KS[at]);
            assert!((70.0..=90.0).contains(&share), "{share}");
        }
    }
}

/// The tight widths against half and twice of them: how probable they make the sources that the constants were fitted
/// to, without the two tables that they are judged by.
#[test]
fn the_tight_widths_are_the_most_probable_of_their_halves_and_doubles() {
    if draws().is_none() {
        return;
    }
    let of = |scale: f64| -> f64 {
        let widths = TIGHT.map(|width| width * scale);
        let evidence = |index: usize| {
            let data: Vec<Datum> = source(index).iter().map(Row::datum).collect();
            posterior(&data, &[0.0; MULTIPLIERS], &widths).evidence
        };
        [2, 3, 4, 5].map(evidence).iter().sum()
    };
    let [half, own, twice] = [0.5, 1.0, 2.0].map(of);
    println!("logarithm of the evidence, half, own and twice the widths: {half:.2} {own:.2} {twice:.2}");
    assert!(own >= half && own >= twice);
}

/// dgxc is one recipe scaled out: learned from one run, as far as it is not met before. Below 3 % a run scatters by as
/// much as there is to learn from it.
#[test]
fn one_run_teaches_a_source_of_one_recipe() {
    for index in [7, 9] {
        let of = |k| protocol(source(index), Method::Mixture, false, k, 20).0;
        let (before, after) = (of(0), of(1));
        println!("{}: {before:.1} % before, {after:.1} % after a run", SOURCES[index].0);
        assert!(after < 0.7 * before || before < 5.0 && after <= before.max(3.0));
    }
}

/// From a start that was not fitted, five runs and constants predict better than five runs and a median scale.
#[test]
fn constants_beat_a_scale_where_nothing_was_fitted() {
    for index in [0, 6] {
        let of = |method| protocol(source(index), method, true, 5, 20).0;
        let (scale, constants) = (of(Method::Scale), of(Method::Mixture));
        println!("{}: scale {scale:.1} %, constants {constants:.1} %", SOURCES[index].0);
        assert!(constants < scale);
    }
}

/// The fit of the page takes its components where it arrives: there they say what the exact model says.
#[test]
fn a_fit_ends_where_its_components_are_exact() {
    for rows in [source(0), source(6)] {
        let observations: Vec<Observation> =
            rows.iter().take(3).map(|row| Observation::step("", row.run.clone(), row.log_seconds.exp())).collect();
        let fit = fit(&observations).unwrap();
        for (standing, row) in fit.standings.iter().zip(rows) {
            let mut run = row.run.clone();
            run.profile = fit.profile(None, None);
            let exact = evaluate(&run).unwrap().report.step.time_s.0;
            // The profile of a link has three digits.
            assert!((standing.after_s / exact - 1.0).abs() < 0.01);
        }
    }
}

/// Latencies, launches, kernels, links, loader and the end of a step: twice of everything is twice the step.
#[test]
fn the_multiplier_of_everything_stretches_every_step_by_itself() {
    for runs in runs() {
        let mut run = runs[0].0.clone();
        let alone = evaluate(&run).unwrap().report;
        let mut means = [1.0; MULTIPLIERS];
        means[Multiplier::All as usize] = 2.0;
        run.profile.means = Some(means.to_vec());
        let twice = evaluate(&run).unwrap().report;
        let ratio = twice.step.time_s.0 / alone.step.time_s.0;
        assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");
        assert_eq!(twice.memory, alone.memory);
    }
}

/// A cluster whose constants are known, because the runs are computed with them: the fit finds what the runs show.
#[test]
fn a_network_four_times_slower_is_found_by_runs_that_use_it() {
    let mut truth = [1.0; MULTIPLIERS];
    truth[Multiplier::Network as usize] = 4.0;
    let layout = |edit: &dyn Fn(&mut Run)| {
        let mut run = Run::default();
        edit(&mut run);
        run.profile.means = Some(truth.to_vec());
        let seconds = evaluate(&run).unwrap().report.step.time_s.0;
        run.profile.means = None;
        Observation::step("", run, seconds)
    };
    let observations = [
        layout(&|run| (run.tp, run.pp, run.gpus, run.global_batch) = (8, 1, 8, 32)),
        layout(&|run| (run.tp, run.pp, run.zero, run.global_batch) = (1, 1, 3, 64)),
        layout(&|run| (run.tp, run.pp, run.zero, run.global_batch) = (2, 1, 3, 64)),
        layout(&|run| (run.tp, run.pp, run.zero, run.gpus, run.global_batch) = (1, 1, 3, 128, 128)),
    ];
    let fit = fit(&observations).unwrap();
    let lesson = |kind: Multiplier| fit.lessons[kind as usize];
    assert!(lesson(Multiplier::Network).informed);
    assert!(lesson(Multiplier::Network).factor > 2.5, "{:?}", lesson(Multiplier::Network));
    assert!((0.9..1.1).contains(&lesson(Multiplier::Gemm).factor));
    assert!(!lesson(Multiplier::Loader).informed);
    assert!(fit.standings.iter().all(|run| !run.stands_out()));
    // And a prediction of another layout is nearer than without.
    let mut other = Run::default();
    (other.tp, other.pp, other.zero, other.gpus, other.global_batch) = (4, 1, 3, 256, 256);
    let seconds = |means: Option<Vec<f64>>| {
        let mut run = other.clone();
        run.profile.means = means;
        evaluate(&run).unwrap().report.step.time_s.0
    };
    let exact = seconds(Some(truth.to_vec()));
    let before = (seconds(None) / exact - 1.0).abs();
    let after = (seconds(fit.profile(None, None).means) / exact - 1.0).abs();
    assert!(after < 0.3 * before, "{before} {after}");
}

/// One of five runs 40 % slow stands out and is named; the others do not.
#[test]
fn the_run_with_a_slow_node_stands_out() {
    let observations: Vec<Observation> = [1.0, 1.02, 0.98, 1.4, 1.01]
        .iter()
        .zip([8, 16, 32, 64, 128])
        .map(|(slower, gpus)| {
            let run = Run { gpus, global_batch: 4 * gpus, ..Run::default() };
            let seconds = evaluate(&run).unwrap().report.step.time_s.0;
            Observation::step("", run, seconds * slower)
        })
        .collect();
    let fit = fit(&observations).unwrap();
    let out: Vec<bool> = fit.standings.iter().map(RunStanding::stands_out).collect();
    assert_eq!(out, [false, false, false, true, false]);
}

/// Runs on 8 and 16 GPUs that took `times` as long as the model says.
fn two(times: [f64; 2]) -> Vec<RunStanding> {
    let one = |(slower, gpus): (f64, u64)| {
        let run = Run { gpus, global_batch: 4 * gpus, ..Run::default() };
        let seconds = evaluate(&run).unwrap().report.step.time_s.0;
        Observation::step("", run, seconds * slower)
    };
    let observations: Vec<Observation> = times.into_iter().zip([8, 16]).map(one).collect();
    fit(&observations).unwrap().standings
}

/// Of two runs that disagree the one that the model does not know either is named; where the model lies between them,
/// both are, and which is wrong is left open.
#[test]
fn of_two_runs_that_disagree_the_odd_one_is_named_where_it_can_be_told() {
    let out = |times: [f64; 2]| two(times).iter().map(RunStanding::stands_out).collect::<Vec<_>>();
    assert_eq!(out([1.0, 1.8]), [false, true]);
    assert_eq!(out([1.75, 0.98]), [true, false]);
    assert_eq!(out([1.02, 0.97]), [false, false]);
    let both = two([1.45, 0.7]);
    assert!(both.iter().all(RunStanding::is_unclear), "{both:?}");
}

/// A run whose owner says no recomputation, and whose step is that of full: named as what would explain it.
#[test]
fn a_wrong_setting_is_named_as_what_would_explain_the_run() {
    let stated = Run::default();
    let real = Run { recompute: Recompute::Full, ..Run::default() };
    let memory = evaluate(&real).unwrap().report.memory;
    let allocated = memory.per_stage[memory.peak_stage].allocated().gib();
    let observation = Observation {
        step_s: None,
        peaks: vec![MeasuredPeak { kind: MemoryKind::Allocated, gib: allocated }],
        ..Observation::step("", stated, 1.0)
    };
    let fit = fit(&[observation]).unwrap();
    let of = &fit.memory.allocated[0];
    assert!(of.is_wrong() && fit.memory.runs == 0);
    assert!(of.suspects.iter().any(|suspect| (&*suspect.key, &*suspect.value) == ("recompute", "full")));
}

/// Reserved over allocated and what the driver shows beside it move the need of every other run.
#[test]
fn a_measured_process_of_two_gib_more_is_learned() {
    let run = Run::default();
    let memory = evaluate(&run).unwrap().report.memory;
    let need = memory.need_bytes.gib();
    let observation = Observation {
        step_s: None,
        peaks: vec![MeasuredPeak { kind: MemoryKind::Device, gib: need + 2.0 }],
        ..Observation::step("", run.clone(), 1.0)
    };
    let fit = fit(&[observation]).unwrap();
    assert!((1.5..2.0).contains(&fit.memory.overhead_gib), "{}", fit.memory.overhead_gib);
    let mut learned = run;
    learned.profile = fit.profile(None, None);
    let after = evaluate(&learned).unwrap().report.memory.need_bytes.gib();
    assert!((after - need - fit.memory.overhead_gib).abs() < 0.02);
}

/// A profile of one's own runs that are like the published ones narrows the range of every step, from the first run on;
/// one of runs that lie far apart widens it.
#[test]
fn a_profile_narrows_the_range_unless_its_own_runs_lie_apart() {
    let wide = |step: &Step| (step.high_s.0 / step.low_s.0).ln();
    for stack in ["megatron-2024", "megatron-2025", "fsdp2"] {
        let mut run = Run { gpus: 256, global_batch: 1024, ..Run::default() };
        run.stack = Based::preset(stack);
        let alone = evaluate(&run).unwrap().report.step;
        let with = |times: &[f64]| {
            let observations: Vec<Observation> = times
                .iter()
                .zip([8, 16, 32, 64, 128, 256])
                .map(|(slower, gpus)| {
                    let run = Run { gpus, global_batch: 4 * gpus, ..run.clone() };
                    let seconds = evaluate(&run).unwrap().report.step.time_s.0;
                    Observation::step("", run, seconds * slower)
                })
                .collect();
            let profile = fit(&observations).unwrap().profile(None, None);
            evaluate(&Run { profile, ..run.clone() }).unwrap().report.step
        };
        for times in [&[1.01][..], &[0.99, 1.02], &[1.03, 1.02, 1.04, 1.03, 1.03, 1.02]] {
            let step = with(times);
            assert!(wide(&step) <= wide(&alone) + 1e-9, "{stack} {times:?}: {} {}", wide(&step), wide(&alone));
            let narrower = wide(&step) < 0.95 * wide(&alone);
            assert!(narrower || times.len() < 3, "{stack} {times:?}: {} {}", wide(&step), wide(&alone));
        }
        let apart = with(&[0.7, 1.5, 0.8, 1.4, 0.75, 1.35]);
        assert!(wide(&apart) > wide(&alone), "{stack}: {} {}", wide(&apart), wide(&alone));
    }
}

/// A profile is at most 300 characters of a link, comes back whole, and narrows the range of every step.
#[test]
fn a_profile_travels_in_a_link_and_narrows_the_range() {
    let run = Run::default();
    let alone = evaluate(&run).unwrap().report.step;
    let observations: Vec<Observation> = [8, 16, 32, 64]
        .map(|gpus| {
            let run = Run { gpus, global_batch: 4 * gpus, ..Run::default() };
            let seconds = evaluate(&run).unwrap().report.step.time_s.0;
            Observation::step("", run, seconds * 1.1)
        })
        .to_vec();
    let fit = fit(&observations).unwrap();
    let mut with = run.clone();
    with.profile = fit.profile(Some("our H100, NeMo 25.07"), run.gpu.base);
    let link = encode(&with);
    assert!(link.len() - encode(&run).len() <= 300, "{} {link}", link.len());
    assert_eq!(decode(&link).run, with);
    assert_eq!(Run::from_value(&with.to_value()).unwrap(), with);
    let step = evaluate(&with).unwrap().report.step;
    assert!((step.time_s.0 / alone.time_s.0 - 1.1).abs() < 0.04);
    assert!(step.low_s.0 < step.time_s.0 && step.time_s.0 < step.high_s.0);
    let wide = |step: &Step| (step.high_s.0 / step.low_s.0).ln();
    assert!(wide(&step) < wide(&alone));
}
