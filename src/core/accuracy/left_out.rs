//! The protocol of honest error: runs are left out, all constants that they could have moved are fitted again without
//! them, and only then are they predicted.
//!
//! Fits are those of `fitting.rs`. `tests/time/left_out/` holds the constants and the effects of the code to this
//! protocol. It knows of a run what its recipe's file says, and may know others of its publisher: what the page says of
//! runs that nobody here has seen comes from `origin.rs`.

use super::fitting::{Constants, FittedRow};
use super::{Evidence, Measurement};
use crate::maths::ln;
use crate::report::{evaluate, evaluate_scenario};
use crate::run::presets::Peers;
use crate::run::{Constant, EpOverlap, Fitted, Multiplier, PRIORS, Run, Scenario};
use crate::time::{Products, StepClass};
use std::collections::BTreeSet;

/// Factor by which a constant is moved to see its slope.
const NUDGE: f64 = 1.05;
/// Rounds of a fit.
const ROUNDS: usize = 12;
/// Rate of products in training over that of products alone, as it was taken before any published run was seen, with
/// the width of its logarithm: SimuMax's shapes against its steps.
const REACHED: (f64, f64) = (0.92, 0.05);

/// A published step time.
#[derive(Clone, Debug)]
pub struct LeftOutRow {
    /// Index of its evidence in the list that the table was made of.
    pub evidence: usize,
    /// The class that its range comes from.
    pub class: StepClass,
    /// By a program that only fine-tunes.
    pub eager: bool,
    /// Routed experts, and no fine-tuning.
    pub experts: bool,
    /// Routed experts and layers of Mamba-2.
    pub hybrid: bool,
    pub source: &'static str,
    /// Preset and shape of the model.
    pub model: String,
    pub gpu: String,
    /// The document, with its release.
    pub release: String,
    /// Weight in a fit: less where settings are in doubt, or other runs are alike.
    pub weight: f64,
    /// Logarithm of predicted over measured.
    pub error: f64,
    /// Seconds, predicted by the constants of the code.
    pub predicted: f64,
    /// Slopes of the step's logarithm, by the place of the constant.
    pub slopes: Vec<(usize, f64)>,
}

/// Rows with their slopes.
#[derive(Clone, Debug, Default)]
pub struct LeftOutTable {
    pub rows: Vec<LeftOutRow>,
    /// The constants that move them.
    pub constants: Constants,
}

/// True for the step of a run of fine-tuning, whose constants and ranges are its own.
pub fn is_tuned(row: &Evidence) -> bool {
    matches!(row.measured, Measurement::Step(_))
        && Scenario::new(&row.run).is_ok_and(|scenario| StepClass::of(&scenario) == StepClass::Tuned)
}

fn seconds(scenario: Scenario) -> Option<f64> {
    Some(evaluate_scenario(scenario).ok()?.report.step.time_s.0)
}

/// Slopes of a dense row: products by software and by GPU and format, memory, links, host.
fn dense_slopes(row: &Evidence, scenario: &Scenario, predicted: f64, constants: &mut Constants) -> Vec<(usize, f64)> {
    let slope = |kind: Multiplier| {
        let mut run = row.run.clone();
        let mut means = run.profile.factors().0;
        means[kind as usize] *= NUDGE;
        run.profile.means = Some(means.to_vec());
        evaluate(&run).map_or(0.0, |moved| ln(moved.report.step.time_s.0 / predicted) / ln(NUDGE))
    };
    let products = slope(Multiplier::Gemm);
    let gemm = row.run.stack.preset_row().software.gemm;
    // Faster products take less time: the prior's share over the code's, as a time.
    let software = constants.place(format!("products, software {gemm}"), ln(gemm / REACHED.0), REACHED.1);
    let format = Products::of(scenario);
    let gpu = row.run.gpu.base.unwrap_or("");
    let family = constants.place(format!("products, {gpu} {format:?}"), 0.0, 0.10);
    let mut slopes = vec![(software, products), (family, products)];
    let others = [
        (Multiplier::Elementwise, 0.05),
        (Multiplier::NodeLinks, 0.10),
        (Multiplier::Network, 0.15),
        (Multiplier::Host, 0.2),
    ];
    for (kind, width) in others {
        slopes.push((constants.place(kind.name().to_owned(), 0.0, width), slope(kind)));
    }
    slopes
}

/// Slopes of a row with routed experts, or of one that is `tuned`: their constants of [`PRIORS`].
pub(super) fn fitted_slopes(scenario: &Scenario, tuned: bool, constants: &mut Constants) -> Vec<(usize, f64)> {
    let overlaps = scenario.software.ep_overlap != EpOverlap::None;
    let blackwell = scenario.gpu.computes_in_fp4();
    let acts = |constant| match constant {
        Constant::ProductsHopper => !blackwell,
        Constant::ProductsBlackwell => blackwell,
        Constant::HostOverlapped => overlaps,
        _ => true,
    };
    let slope = |at: usize| {
        let moved = |factor: f64| {
            let mut scenario = scenario.clone();
            scenario.fitted.0[at] *= factor;
            seconds(scenario)
        };
        let (up, down) = (moved(NUDGE), moved(1.0 / NUDGE));
        up.zip(down).map_or(0.0, |(up, down)| ln(up / down) / (2.0 * ln(NUDGE)))
    };
    let mut slopes = Vec::new();
    for (at, prior) in PRIORS.iter().enumerate().filter(|(_, prior)| prior.constant.is_tuned() == tuned) {
        let away = ln(prior.mean / prior.fitted.value);
        let place = constants.place(prior.name.to_owned(), away, prior.width);
        slopes.push((place, if acts(prior.constant) { slope(at) } else { 0.0 }));
    }
    slopes
}

/// The table of `all`, with `remove` applied to every run and `still` to the constants of those with experts; rows
/// without a step are passed over.
pub fn assembled<'a>(
    all: impl Iterator<Item = &'a Evidence>,
    remove: impl Fn(&mut Run),
    still: &dyn Fn(&mut Fitted),
) -> LeftOutTable {
    let mut constants = Constants::default();
    let mut alike: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for (evidence, row) in all.enumerate() {
        let Measurement::Step(measured) = row.measured else { continue };
        let mut row = row.clone();
        remove(&mut row.run);
        let Ok(mut scenario) = Scenario::new(&row.run) else { continue };
        still(&mut scenario.fitted);
        let Some(predicted) = seconds(scenario.clone()) else { continue };
        let class = StepClass::of(&scenario);
        let tuned = class == StepClass::Tuned;
        let experts = scenario.model.moe.is_some() && !tuned;
        let slopes = if experts || tuned {
            fitted_slopes(&scenario, tuned, &mut constants)
        } else {
            dense_slopes(&row, &scenario, predicted, &mut constants)
        };
        let base = row.run.model.base.unwrap_or("");
        let model = format!("{base} {} {}", scenario.model.layers, scenario.model.hidden);
        let (gpu, graphs) = (row.run.gpu.base.unwrap_or(""), scenario.software.graphs);
        let (precision, overlap) = (row.run.precision.base, scenario.software.ep_overlap);
        alike
            .push(format!("{model} {gpu} {graphs:?} {precision:?} {} {} {overlap:?}", row.run.micro_batch, row.run.pp));
        rows.push(LeftOutRow {
            evidence,
            class,
            eager: scenario.software.peers == Some(Peers::Tuners),
            experts,
            hybrid: scenario.model.mamba.is_some(),
            source: row.source().name,
            model,
            gpu: gpu.to_owned(),
            release: row.origin.clone(),
            weight: if row.matched < 1.0 { 0.25 } else { 1.0 },
            error: ln(predicted / measured),
            predicted,
            slopes,
        });
    }
    let count = |name: &String| alike.iter().filter(|other| *other == name).count() as f64;
    for (row, name) in rows.iter_mut().zip(&alike) {
        row.weight /= count(name).sqrt();
    }
    LeftOutTable { rows, constants }
}

impl LeftOutRow {
    /// Move of the step's logarithm by `moves` of the constants.
    pub fn moves(&self, moves: &[f64]) -> f64 {
        self.slopes.iter().map(|(at, slope)| slope * moves[*at]).sum()
    }
    /// The logarithm of predicted over measured with constants `moves` from those of the code.
    pub fn moved(&self, moves: &[f64]) -> f64 {
        self.fitted().moved(moves)
    }
    fn fitted(&self) -> FittedRow<'_> {
        FittedRow { error: self.error, weight: self.weight, slopes: &self.slopes }
    }
}

impl LeftOutTable {
    /// Moves of the logarithms of all constants that fit the rows of one kind that `used` accepts.
    pub fn fit(&self, experts: bool, used: impl Fn(&LeftOutRow) -> bool) -> Vec<f64> {
        let rows = self.rows.iter().filter(|row| row.experts == experts && used(row));
        let rows: Vec<FittedRow> = rows.map(LeftOutRow::fitted).collect();
        self.constants.fit(&rows, vec![0.0; self.constants.names.len()], ROUNDS)
    }

    /// Moves of the logarithm of each row's step by a fit to the rows of its kind that differ from it in all names that
    /// `parts` gives: what agrees with a row in one of them is left out.
    pub fn left_out(&self, parts: &[Key]) -> Vec<f64> {
        let names = |row: &LeftOutRow| parts.iter().map(|part| part(row)).collect::<Vec<String>>();
        let mut moved = vec![0.0; self.rows.len()];
        for experts in [false, true] {
            let kind: Vec<usize> = (0..self.rows.len()).filter(|at| self.rows[*at].experts == experts).collect();
            let groups: BTreeSet<Vec<String>> = kind.iter().map(|at| names(&self.rows[*at])).collect();
            for group in groups {
                let apart = |row: &LeftOutRow| names(row).iter().zip(&group).all(|(one, other)| one != other);
                let moves = self.fit(experts, apart);
                for at in kind.iter().filter(|at| names(&self.rows[**at]) == group) {
                    moved[*at] = self.rows[*at].moves(&moves);
                }
            }
        }
        moved
    }
}

/// The key that groups rows, by the name of the grouping.
pub type Key = fn(&LeftOutRow) -> String;

/// Groups that are left out one by one.
pub const GROUPINGS: [(&str, Key); 4] = [
    ("source", |row| row.source.to_owned()),
    ("release", |row| row.release.clone()),
    ("model", |row| row.model.clone()),
    ("model and GPU", |row| format!("{} {}", row.model, row.gpu)),
];
