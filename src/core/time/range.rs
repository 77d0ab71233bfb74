//! Width of a step's range: how far a run of a publisher that nobody here has seen lies from the prediction.
//!
//! The variance of the logarithm of measured over predicted is a sum of parts: between publishers, within one, by the
//! next release of the software, by a GPU and format of which no run is published, by settings that the Run leaves
//! open and, of a step that waits for launches, by their host: `σ² = b² (1 + 1/k) + w² + r² + (g s)² + u² + (0.3
//! h)²`. The range is from `e^(-1.34 σ)` to `e^(1.34 σ)` times the prediction. `tests/time/origin.rs` holds it to
//! runs that were predicted before they were known.

use super::families::family;
use crate::maths::exp;
use crate::run::presets::{GpuFamily, Peers};
use crate::run::{Format, Scenario};
use crate::source::{Cited, PUBLISHED_RUNS, TRANSFORMER_ENGINE};
use crate::statics::named;
use serde::Serialize;

/// Format of the layers' products, as far as published runs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Products {
    /// 16 bits and more.
    Plain,
    /// fp8 of any recipe.
    Fp8,
    /// NVFP4.
    Fp4,
}

impl Products {
    /// Format of `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        match scenario.precision.computes {
            Format::Fp8 => Self::Fp8,
            Format::Fp4 => Self::Fp4,
            Format::Fp32 | Format::Fp16 | Format::Bf16 => Self::Plain,
        }
    }
}

/// Standard deviations within which four of five values of a normal distribution lie.
pub const FOUR_OF_FIVE: f64 = 1.2816;

/// Standard deviations within which four of five values lie, where the deviation is estimated from 19 groups of runs:
/// the 90 % point of Student's t with 18 degrees of freedom, 1.33, and 1.34 with the groups' own uncertain middle.
pub const REACH: f64 = 1.34;

/// Publishers and classes of runs, each left out of the fit whole: the groups whose means differ by [`BETWEEN`].
pub const GROUPS: f64 = 19.0;

/// Deviation between publishers: of the means of `GROUPS` groups of runs of one publisher and class, each predicted
/// by constants fitted without its publisher.
pub const BETWEEN: Cited<f64> = Cited::new(
    0.094,
    &PUBLISHED_RUNS,
    "means of 19 groups of one publisher and class, each left out of the fit whole: -0.12 (AnswerAI) to +0.27 \
        (SimuMax)",
);

/// Deviation of the rate of products on a GPU and in a format of which no run is known, centred on its data sheet.
pub const UNSEEN: Cited<f64> =
    Cited::new(0.35, &PUBLISHED_RUNS, "first runs of 22 pairs of GPU and format, predicted by the data sheet alone");

/// Deviation of the time of launches on another machine and release. A Linear's forward call takes 13.5 µs on a Xeon
/// and 33 to 37 on Grace, up to 100 in the software of 2025; where the CPU and the release are known 30 % remain.
pub const OTHER_HOST: Cited<f64> =
    Cited::new(0.3, &TRANSFORMER_ENGINE, "issue 2053: 13.5 to 100 µs a call, by CPU and release; 30 % within either");

/// Error of the difference between two layouts of one run, a logarithm that four of five differences are not missed by
/// in the wrong direction: from it on, "takes less time" is right four times of five. Of dense models, and of those
/// with routed experts. What both layouts share of an error does not count (`tests/time/differences.rs`).
pub const BETWEEN_LAYOUTS: [Cited<f64>; 2] = [
    Cited::new(0.076, &PUBLISHED_RUNS, "pairs of layouts of one dense model on the same GPUs in one document"),
    Cited::new(
        0.089,
        &PUBLISHED_RUNS,
        "the same in proportion to the deviation within a publisher: nine pairs with experts are too few",
    ),
];

named! {
    /// Runs whose errors are alike: by format of the products, kind of layers and use.
    pub enum StepClass: id {
        /// Dense layers, products in 16 bits and more.
        Plain = "bf16",
        /// Dense layers, products in fp8 and NVFP4.
        Low = "low",
        /// Routed experts.
        Experts = "experts",
        /// Layers of Mamba-2 beside attention.
        Hybrids = "hybrids",
        /// Fine-tuning: adapters beside a frozen base, or programs that only tune.
        Tuned = "tuned",
    }
}

impl StepClass {
    /// The class of `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        let tuned = scenario.adapter.is_some() || scenario.software.peers == Some(Peers::Tuners);
        match () {
            () if tuned => Self::Tuned,
            () if scenario.model.mamba.is_some() => Self::Hybrids,
            () if scenario.model.moe.is_some() => Self::Experts,
            () if Products::of(scenario) == Products::Plain => Self::Plain,
            () => Self::Low,
        }
    }
}

/// Deviations of the logarithm of a step, measured over predicted, of a class of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRange {
    pub class: StepClass,
    /// Between runs of one publisher, left out whole.
    pub within: f64,
    /// By the next release of the software: between pairs of one layout in two releases.
    pub release: f64,
    /// Published runs of the class.
    pub runs: u32,
    /// Name of the class.
    pub of: &'static str,
}

const fn class(class: StepClass, within: f64, release: f64, runs: u32, of: &'static str) -> StepRange {
    StepRange { class, within, release, runs, of }
}

/// The classes. The deviation by release is that of 444 pairs; that of fine-tuning is judgement, since too few of its
/// runs are published twice.
pub static RANGES: &[StepRange] = &[
    class(StepClass::Plain, 0.090, 0.027, 629, "published dense runs in 16 bits"),
    class(StepClass::Low, 0.083, 0.035, 203, "published dense runs in fp8 and NVFP4"),
    class(StepClass::Experts, 0.105, 0.160, 160, "published runs with routed experts"),
    class(StepClass::Hybrids, 0.059, 0.031, 52, "published runs of hybrids with Mamba layers"),
    class(StepClass::Tuned, 0.104, 0.06, 192, "published runs of fine-tuning"),
];

/// The deviations of the class of `scenario`.
pub fn range(scenario: &Scenario) -> StepRange {
    RANGES[StepClass::of(scenario) as usize]
}

/// GPUs and formats of which steps are published; a GPU stands for all that sustain its shares of their peaks.
pub const SEEN: &[(GpuFamily, &[Products])] = &[
    (GpuFamily::A100, &[Products::Plain]),
    (GpuFamily::H100, &[Products::Plain, Products::Fp8]),
    (GpuFamily::H100At500W, &[Products::Plain, Products::Fp8]),
    (GpuFamily::Ada, &[Products::Plain, Products::Fp8]),
    (GpuFamily::H20, &[Products::Plain]),
    (GpuFamily::B200, &[Products::Plain, Products::Fp8, Products::Fp4]),
    (GpuFamily::B300, &[Products::Plain, Products::Fp8, Products::Fp4]),
    (GpuFamily::Gb200, &[Products::Plain, Products::Fp8, Products::Fp4]),
    (GpuFamily::Gb300, &[Products::Plain, Products::Fp8, Products::Fp4]),
    (GpuFamily::Mi300, &[Products::Fp8]),
    (GpuFamily::Mi325, &[Products::Plain, Products::Fp8]),
    (GpuFamily::Mi350, &[Products::Plain, Products::Fp8]),
];

/// True if no step of the scenario's GPU in its format is published.
pub fn is_new_ground(scenario: &Scenario) -> bool {
    let (products, rates) = (Products::of(scenario), family(scenario).gpus);
    !SEEN.iter().any(|(gpu, formats)| rates.contains(gpu) && formats.contains(&products))
}

named! {
    /// Origin of a part of the range.
    #[derive(Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RangePart: words {
        /// Other machines, builds and ways to measure.
        Publishers = "other publishers",
        /// Runs of one publisher, each with its own shape.
        Runs = "runs of one publisher",
        /// The software's next release.
        Release = "the next release of the software",
        /// The GPU and format.
        NewGround = "a GPU and format of which no run is published",
        /// Settings that the Run does not state.
        Open = "settings that are not stated",
        /// Launches, of a step that waits for them.
        Host = "launches of another host",
        /// The slowest of several data loaders, in a step that they decide.
        Loaders = "waiting for the slowest data loader",
        /// Launches and messages of adapters between context-parallel ranks.
        FixedTimes = "fixed times of adapters with context parallelism",
        /// What a person's own runs left.
        OwnRuns = "what your runs leave open",
    }
}

/// A part of the range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RangeShare {
    pub name: RangePart,
    /// Share of the variance; they sum to 1.
    pub share: f64,
}

/// A setting that the Run leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OpenField {
    /// Its key.
    pub field: &'static str,
    /// Seconds of the range, from end to end, that stating it takes away.
    pub seconds: f64,
}

/// The published runs behind the range of a step, and the parts of its width.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeOf {
    pub runs: u32,
    /// Name of their class.
    pub of: &'static str,
    /// Runs of the Run's software are among the published ones.
    pub of_its_class: bool,
    /// Parts of its variance; none for a measured step.
    pub parts: Vec<RangeShare>,
    /// Settings that are not stated and move the step, the largest first.
    pub open: Vec<OpenField>,
    /// No step of this GPU in this format is published.
    pub new_ground: bool,
    /// Share of the step within which another layout of this run may take as long: the error of their difference.
    pub may_be_equal: f64,
}

impl StepRange {
    /// Variance between publishers, with what their few groups leave uncertain.
    fn between() -> f64 {
        BETWEEN.value.powi(2) * (1.0 + 1.0 / GROUPS)
    }

    /// Variances that every Run of the class has.
    pub fn variances(self) -> [(RangePart, f64); 3] {
        [
            (RangePart::Publishers, Self::between()),
            (RangePart::Runs, self.within.powi(2)),
            (RangePart::Release, self.release.powi(2)),
        ]
    }

    /// Standard deviation of the logarithm of a step that leaves nothing open.
    pub fn deviation(self) -> f64 {
        self.variances().iter().map(|(_, variance)| variance).sum::<f64>().sqrt()
    }

    /// Standard deviation of the logarithm of a step of another layout, on a cluster and software of which `runs` were
    /// measured: their mean tells what the cluster and the release have in common,
    /// `1/(1/(b² (1 + 1/k) + r²) + n/w²) + w²`.
    pub fn deviation_after(self, runs: u64) -> f64 {
        let [(_, between), (_, within), (_, release)] = self.variances();
        let shared = 1.0 / (1.0 / (between + release) + runs as f64 / within);
        (shared + within).sqrt()
    }
}

impl RangeOf {
    /// The range `range` of `scenario`, with the variances in `more`.
    pub fn new(scenario: &Scenario, range: StepRange, more: &[(RangePart, f64)]) -> Self {
        let variances: Vec<(RangePart, f64)> = range.variances().into_iter().chain(more.iter().copied()).collect();
        let whole: f64 = variances.iter().map(|(_, variance)| variance).sum();
        let used = variances.into_iter().filter(|(_, variance)| *variance > 0.0);
        Self {
            runs: range.runs,
            of: range.of,
            of_its_class: scenario.software.peers.is_some(),
            parts: used.map(|(name, variance)| RangeShare { name, share: variance / whole }).collect(),
            open: Vec::new(),
            new_ground: is_new_ground(scenario),
            may_be_equal: exp(between_layouts(scenario.model.moe.is_some())) - 1.0,
        }
    }

    /// Share of the variance that `part` is.
    pub fn share(&self, part: RangePart) -> f64 {
        self.parts.iter().filter(|share| share.name == part).map(|share| share.share).sum()
    }
}

/// Error of the difference between two layouts of one run, as a logarithm; `routed`: of a model with experts.
pub fn between_layouts(routed: bool) -> f64 {
    BETWEEN_LAYOUTS[usize::from(routed)].value
}

/// Factors of the prediction at the ends of a range of deviation `sd`.
pub fn range_ends(sd: f64) -> (f64, f64) {
    (exp(-REACH * sd), exp(REACH * sd))
}
