//! The protocol of runs that nobody here has seen: each is predicted by constants that were fitted to what was
//! published before it (rolling origin), or to what other publishers printed.
//!
//! All constants are free. Their priors come from tables that hold no training step: rates of products alone, the
//! stream of memory, links. A fit is a handful of weighted least squares over the slopes of all rows. Runs before the
//! first fifty are not scored.

use super::fitting::{Constants, FittedRow};
use super::left_out::fitted_slopes;
use super::{Evidence, Measurement};
use crate::maths::{exp, ln};
use crate::report::{evaluate, evaluate_plain};
use crate::run::presets::GpuFamily;
use crate::run::{Multiplier, Run, Scenario};
use crate::sort::sort_by;
use crate::table::Table;
use crate::time::{Products, REACH, RangePart, StepClass, UNSEEN, family};
use std::collections::{BTreeMap, BTreeSet};

/// Date and publisher of the rows.
const ORIGINS: &str = include_str!("../../../public/data/origins.csv");

/// Rows that have to be known before others are scored.
const FIRST: usize = 50;
/// Factor by which a constant is moved to see its slope.
const NUDGE: f64 = 1.05;
/// Rounds of a fit.
const ROUNDS: usize = 8;

/// Date, in years, and publisher of a row of `file`; none where no line of the table is of it.
pub fn origin_of(file: &str, source: &str) -> Option<(f64, String)> {
    let table = Table::read(ORIGINS);
    let of = |line: &crate::table::Line| file.starts_with(line.text("file")) && source.contains(line.text("contains"));
    let line = table.lines().find(of)?;
    Some((line.number("date")?, line.text("publisher").to_owned()))
}

/// Share of the data sheet's rate that products of a GPU and format sustain, by benchmarks of products alone, and the
/// width of its logarithm: 4 to 8 % where several benchmarks agree, 10 to 12 % where they do not, 20 % without a
/// benchmark.
#[derive(Clone, Copy, Debug)]
pub struct ProductPrior {
    /// The family whose rates it is for.
    pub gpu: GpuFamily,
    pub products: Products,
    pub share: f64,
    pub width: f64,
}

const fn prior(gpu: GpuFamily, products: Products, share: f64, width: f64) -> ProductPrior {
    ProductPrior { gpu, products, share, width }
}

use GpuFamily::{A100, Ada, B200, B300, Gb200, Gb300, H20, H100, H100At500W, Mi300, Mi325, Mi350};
use Products::{Fp4, Fp8, Plain};

/// The priors; `tests/accuracy/priors.rs` holds them to the benchmarks of `tests/data/kernel_rates.csv`. Parts without
/// a benchmark follow from a part with one by the root of their powers, or have 20 %.
pub static PRODUCT_PRIORS: &[ProductPrior] = &[
    prior(A100, Plain, 0.82, 0.04),
    prior(H100, Plain, 0.74, 0.06),
    prior(H100, Fp8, 0.66, 0.04),
    prior(H100At500W, Plain, 0.625, 0.12),
    prior(H100At500W, Fp8, 0.56, 0.12),
    prior(Ada, Plain, 0.9, 0.12),
    prior(Ada, Fp8, 0.8, 0.2),
    prior(H20, Plain, 0.85, 0.2),
    prior(B200, Plain, 0.60, 0.12),
    prior(B200, Fp8, 0.58, 0.10),
    prior(B200, Fp4, 0.60, 0.06),
    prior(B300, Plain, 0.60, 0.12),
    prior(B300, Fp8, 0.58, 0.10),
    prior(B300, Fp4, 0.49, 0.20),
    prior(Gb200, Plain, 0.60, 0.10),
    prior(Gb200, Fp8, 0.57, 0.04),
    prior(Gb200, Fp4, 0.70, 0.10),
    prior(Gb300, Plain, 0.65, 0.12),
    prior(Gb300, Fp8, 0.62, 0.12),
    prior(Gb300, Fp4, 0.60, 0.20),
    prior(Mi300, Plain, 0.47, 0.08),
    prior(Mi300, Fp8, 0.47, 0.20),
    prior(Mi325, Plain, 0.55, 0.08),
    prior(Mi325, Fp8, 0.55, 0.20),
    prior(Mi350, Plain, 0.57, 0.12),
    prior(Mi350, Fp8, 0.57, 0.20),
];

/// Rate of a product in training over its rate alone, by SimuMax's shapes against its operators, and the width of its
/// logarithm.
const REACHED: (f64, f64) = (0.92, 0.08);
/// Share of the data sheet's memory rate by stream benchmarks (H100 0.89, H200 0.86, A100 0.83: 0.86).
pub const STREAMED: f64 = 0.86;
/// [`STREAMED`] over the share that elementwise kernels reach in the time model.
const STREAM: f64 = STREAMED / 0.85;
/// Host time of a call on Grace over that on x86, and the width of its logarithm.
pub const GRACE: (f64, f64) = (2.2, 0.3);

/// A published step with what it takes to predict it anew.
#[derive(Clone, Debug)]
pub struct Dated {
    /// Index of its evidence.
    pub evidence: usize,
    pub class: StepClass,
    /// In years.
    pub date: f64,
    pub publisher: String,
    /// GPU and format.
    pub products: String,
    /// Seconds, by the constants of the code.
    pub predicted: f64,
    /// Logarithm of predicted over measured, by the constants of the code.
    pub error: f64,
    /// Variances of the range that do not depend on what was known: without new ground.
    pub variance: f64,
    /// Variance of products of which nothing is known.
    pub unseen: f64,
    /// Weight in a fit.
    pub weight: f64,
    /// Constants, by their index, with the slope of the logarithm of the step by that of each.
    pub slopes: Vec<(usize, f64)>,
}

/// All published steps, in the order of their dates.
#[derive(Clone, Debug, Default)]
pub struct DatedSteps {
    pub rows: Vec<Dated>,
    pub constants: Constants,
}

/// A prediction of a row by constants that did not see it.
#[derive(Clone, Copy, Debug)]
pub struct Unseen {
    /// Index in [`DatedSteps::rows`].
    pub row: usize,
    /// Logarithm of predicted over measured.
    pub error: f64,
    /// Deviation of its range.
    pub deviation: f64,
}

/// Errors of runs of one class, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    pub runs: usize,
    /// Mean of |predicted/measured − 1|.
    pub mean: f64,
    pub median: f64,
    /// Four of five are nearer.
    pub four_of_five: f64,
    /// Share inside the range.
    pub held: f64,
    /// Mean width of the range, in logarithms.
    pub width: f64,
    /// Width and ten times the distance from a range that misses, in logarithms: smaller is better.
    pub score: f64,
    /// First and last date, in years.
    pub from: f64,
    pub to: f64,
}

fn seconds(run: &Run) -> Option<f64> {
    Some(evaluate_plain(run).ok()?.report.step.time_s.0)
}

/// Place of the constant of the products of `scenario`, and the name of its GPU and format.
fn products(scenario: &Scenario, constants: &mut Constants) -> (usize, String) {
    let (row, format) = (family(scenario), Products::of(scenario));
    let is = |prior: &&ProductPrior| row.gpus.contains(&prior.gpu) && prior.products == format;
    let code = match format {
        Products::Plain => row.gemm,
        Products::Fp8 => row.gemm_fp8,
        Products::Fp4 => row.gemm_fp4,
    };
    let prior = PRODUCT_PRIORS.iter().find(is);
    let part = match row.gpus.first() {
        Some(gpu) => format!("{gpu:?}"),
        None => scenario.run.gpu.base.unwrap_or("").to_owned(),
    };
    let name = format!("{part} {format:?}");
    // Faster products take less time: the share of the code over the prior's.
    let (away, width) = prior.map_or((0.0, 0.2), |prior| (ln(code / prior.share), prior.width));
    (constants.place(format!("products, {name}"), away, width), name)
}

/// Slopes of the logarithm of a step of `seconds` by the constants.
fn slopes(scenario: &Scenario, base: f64, constants: &mut Constants) -> (Vec<(usize, f64)>, String, f64) {
    let run = &scenario.run;
    let slope = |kind: Multiplier| {
        let mut moved = run.clone();
        let mut means = moved.profile.factors().0;
        means[kind as usize] *= NUDGE;
        moved.profile.means = Some(means.to_vec());
        seconds(&moved).map_or(0.0, |moved| ln(moved / base) / ln(NUDGE))
    };
    let of_products = slope(Multiplier::Gemm);
    let (place, name) = products(scenario, constants);
    let gemm = scenario.software.gemm;
    let software = constants.place(format!("products, software {gemm}"), ln(gemm / REACHED.0), REACHED.1);
    let grace = matches!(run.gpu.family(), Some(Gb200 | Gb300));
    let host = if grace { ("host on Grace", ln(GRACE.0), GRACE.1) } else { ("host on x86", 0.0, 0.5) };
    let class = format!("class {}", StepClass::of(scenario).id());
    let mut list = vec![(place, of_products), (software, of_products)];
    for (kind, (name, away, width)) in [
        (Multiplier::Elementwise, ("elementwise", -ln(STREAM), 0.10)),
        (Multiplier::NodeLinks, ("links", 0.0, 0.15)),
        (Multiplier::Network, ("network", 0.0, 0.25)),
        (Multiplier::Host, host),
    ] {
        list.push((constants.place(name.to_owned(), away, width), slope(kind)));
    }
    list.push((constants.place(class, 0.0, 0.08), 1.0));
    let tuned = StepClass::of(scenario) == StepClass::Tuned;
    if tuned || scenario.model.moe.is_some() {
        list.extend(fitted_slopes(scenario, tuned, constants));
    }
    list.retain(|(_, slope)| *slope != 0.0);
    (list, name, of_products)
}

/// Indices of the rows that print a run again: the same settings and the same figure, to the digit, in the same
/// document. Each run counts once in [`DatedSteps`].
pub fn twins(rows: &[Evidence]) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let name = |row: &Evidence| format!("{} {} {:?} {:?}", row.source, row.origin, row.measured, row.run);
    rows.iter().enumerate().filter(|(_, row)| !seen.insert(name(row))).map(|(at, _)| at).collect()
}

impl DatedSteps {
    /// The timeline of `rows`, with `edit` applied to every run.
    pub fn new(rows: &[Evidence], edit: impl Fn(&Evidence, &mut Run)) -> Self {
        let mut timeline = Self::default();
        let mut alike: Vec<String> = Vec::new();
        let twins = twins(rows);
        for (evidence, row) in rows.iter().enumerate() {
            let Measurement::Step(measured) = row.measured else { continue };
            if twins.contains(&evidence) {
                continue;
            }
            let Some((date, publisher)) = origin_of(row.source().file, &row.origin) else { continue };
            let mut run = row.run.clone();
            edit(row, &mut run);
            let Ok(evaluation) = evaluate(&run) else { continue };
            let (scenario, step) = (&evaluation.scenario, &evaluation.report.step);
            let base = step.time_s.0;
            let (slopes, products, of_products) = slopes(scenario, base, &mut timeline.constants);
            let whole = step.deviation().powi(2);
            let unseen = (UNSEEN.value * of_products).powi(2);
            alike.push(format!(
                "{:?} {} {} {products} {:?} {} {}",
                run.model.base,
                scenario.model.layers,
                scenario.model.hidden,
                scenario.software.graphs,
                run.micro_batch,
                run.pp
            ));
            timeline.rows.push(Dated {
                evidence,
                class: StepClass::of(scenario),
                date,
                publisher,
                products,
                predicted: base,
                error: ln(base / measured),
                variance: whole * (1.0 - step.range.share(RangePart::NewGround)),
                unseen,
                weight: if row.matched < 1.0 { 0.25 } else { 1.0 },
                slopes,
            });
        }
        let counts: Vec<f64> =
            alike.iter().map(|name| alike.iter().filter(|other| *other == name).count() as f64).collect();
        for (row, count) in timeline.rows.iter_mut().zip(counts) {
            row.weight /= count.sqrt();
        }
        timeline.rows.sort_by(|a, b| a.date.total_cmp(&b.date).then(a.evidence.cmp(&b.evidence)));
        timeline
    }

    /// Moves of the logarithms of the constants that fit the rows that `used` accepts.
    pub fn fit(&self, used: impl Fn(&Dated) -> bool) -> Vec<f64> {
        let rows: Vec<FittedRow> = self.rows.iter().filter(|row| used(row)).map(Dated::fitted).collect();
        self.constants.fit(&rows, self.constants.away.clone(), ROUNDS)
    }

    /// Predictions of the rows that `scored` accepts, by the moves `moves` of a fit to those that `known` accepts.
    fn predicted(
        &self,
        moves: &[f64],
        known: impl Fn(&Dated) -> bool,
        scored: impl Fn(&Dated) -> bool,
        found: &mut Vec<Unseen>,
    ) {
        let seen: Vec<&str> = self.rows.iter().filter(|row| known(row)).map(|row| row.products.as_str()).collect();
        for (at, row) in self.rows.iter().enumerate().filter(|(_, row)| scored(row)) {
            let unseen = if seen.contains(&row.products.as_str()) { 0.0 } else { row.unseen };
            let deviation = (row.variance + unseen).sqrt();
            found.push(Unseen { row: at, error: row.moved(moves), deviation });
        }
    }

    /// Rolling origin: the rows of each date by constants fitted to all before it.
    pub fn rolling(&self) -> Vec<Unseen> {
        let mut dates: Vec<f64> = self.rows.iter().map(|row| row.date).collect();
        dates.dedup();
        let mut found = Vec::new();
        for date in dates {
            let before = |row: &Dated| row.date < date;
            if self.rows.iter().filter(|row| before(row)).count() >= FIRST {
                self.predicted(&self.fit(before), before, |row| row.date.total_cmp(&date).is_eq(), &mut found);
            }
        }
        found
    }

    /// The rows of each publisher by constants fitted to those of all others.
    pub fn by_publisher(&self) -> Vec<Unseen> {
        let mut names: Vec<&str> = self.rows.iter().map(|row| row.publisher.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut found = Vec::new();
        for name in names {
            let others = |row: &Dated| row.publisher != name;
            self.predicted(&self.fit(others), others, |row| row.publisher == name, &mut found);
        }
        found
    }

    /// Publisher and release new at once: the rows of each date and publisher by constants fitted to what others had
    /// published before that date.
    pub fn new_to_all(&self) -> Vec<Unseen> {
        let groups: BTreeSet<(u64, &str)> =
            self.rows.iter().map(|row| (row.date.to_bits(), row.publisher.as_str())).collect();
        let mut found = Vec::new();
        for (date, name) in groups {
            let date = f64::from_bits(date);
            let before = |row: &Dated| row.date < date && row.publisher != name;
            if self.rows.iter().filter(|row| before(row)).count() >= FIRST {
                let is_own = |row: &Dated| row.date.total_cmp(&date).is_eq() && row.publisher == name;
                self.predicted(&self.fit(before), before, is_own, &mut found);
            }
        }
        found
    }

    /// Share inside the range of the mean group of rows of one publisher and class, and how many groups there are: a
    /// publisher of 200 rows counts as much as one of two, as the next publisher is one of them.
    pub fn held_by_group(&self, found: &[Unseen], class: Option<StepClass>) -> (f64, usize) {
        let mut groups: BTreeMap<(usize, &str), (u32, u32)> = BTreeMap::new();
        for one in found {
            let row = &self.rows[one.row];
            if class.is_none_or(|class| class == row.class) {
                let (held, runs) = groups.entry((row.class as usize, row.publisher.as_str())).or_default();
                *held += u32::from(one.error.abs() <= REACH * one.deviation);
                *runs += 1;
            }
        }
        let shares = groups.values().map(|(held, runs)| f64::from(*held) / f64::from(*runs));
        (shares.sum::<f64>() / groups.len().max(1) as f64, groups.len())
    }

    /// All rows by the constants of the code, which have seen them.
    pub fn as_shipped(&self) -> Vec<Unseen> {
        let mut found = Vec::new();
        let still = vec![0.0; self.constants.names.len()];
        self.predicted(&still, |_| true, |_| true, &mut found);
        found
    }

    /// Errors of those of `found` of `class`, of all without one.
    pub fn tally(&self, found: &[Unseen], class: Option<StepClass>) -> Tally {
        let of: Vec<&Unseen> =
            found.iter().filter(|one| class.is_none_or(|class| self.rows[one.row].class == class)).collect();
        let dates = || of.iter().map(|one| self.rows[one.row].date);
        let (from, to) = (dates().fold(f64::INFINITY, f64::min), dates().fold(0.0, f64::max));
        Tally { from, to, ..Tally::of(of.iter().map(|one| (one.error, one.deviation))) }
    }
}

impl Tally {
    /// The tally of runs, each given by its error (logarithm of predicted over measured) and the deviation of its
    /// range.
    pub fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let n = pairs.len().max(1) as f64;
        let mut errors: Vec<f64> = pairs.iter().map(|(error, _)| (exp(*error) - 1.0).abs()).collect();
        sort_by(&mut errors, f64::total_cmp);
        let inside = |(error, deviation): &(f64, f64)| error.abs() <= REACH * deviation;
        let width = |(_, deviation): &(f64, f64)| 2.0 * REACH * deviation;
        let beyond = |(error, deviation): &(f64, f64)| (error.abs() - REACH * deviation).max(0.0);
        Self {
            runs: pairs.len(),
            mean: errors.iter().sum::<f64>() / n,
            median: at_share(&errors, 0.5),
            four_of_five: at_share(&errors, 0.8),
            held: pairs.iter().filter(|pair| inside(pair)).count() as f64 / n,
            width: pairs.iter().map(width).sum::<f64>() / n,
            score: pairs.iter().map(|pair| width(pair) + 10.0 * beyond(pair)).sum::<f64>() / n,
            from: 0.0,
            to: 0.0,
        }
    }
}

/// The value that `share` of `sorted` lie below; of none, 0.
pub fn at_share(sorted: &[f64], share: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index
    let at = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

impl Dated {
    /// Logarithm of predicted over measured with constants `moves` from those of the code.
    pub fn moved(&self, moves: &[f64]) -> f64 {
        self.fitted().moved(moves)
    }
    fn fitted(&self) -> FittedRow<'_> {
        FittedRow { error: self.error, weight: self.weight, slopes: &self.slopes }
    }
}
