//! Distance of published runs from the prediction, by class: software, precision, dense or routed.
//!
//! A range is where four of five runs of a further group lie, measured over predicted: each group of published runs is
//! left out, all constants that it could have moved are fitted again without it, and its distance from the middle of
//! the other groups is counted in their deviations (`tests/time/left_out/` computes, prints and holds it).

use crate::maths::ln;
use crate::run::presets::{GpuFamily, Peers};
use crate::run::{Format, Scenario};
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
    /// Range of `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        match scenario.precision.computes {
            Format::Fp8 => Self::Fp8,
            Format::Fp4 => Self::Fp4,
            Format::Fp32 | Format::Fp16 | Format::Bf16 => Self::Plain,
        }
    }
}

/// Four of five lie within so many standard deviations of a normal distribution.
pub const FOUR_OF_FIVE: f64 = 1.2816;

/// Interval of measured over predicted that holds four of five runs of a class of software, products and layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Software of the runs; none: any.
    pub software: &'static [Peers],
    /// Formats of their products; none: any.
    pub products: &'static [Products],
    /// Routed experts.
    pub experts: bool,
    /// Fine-tuning, of models with experts and without: adapters beside a frozen base, or by programs that only tune.
    pub tuned: bool,
    /// Presets of the models; none: any.
    pub models: &'static [&'static str],
    /// Groups of runs that were left out, one by one.
    pub apart: Apart,
    /// Mean error of the runs, as fitted.
    pub fitted: f64,
    /// The same with their group left out of the fit.
    pub left_out: f64,
    /// Measured over predicted, the fast end.
    pub low: f64,
    /// The slow end.
    pub high: f64,
    /// Share of the runs inside the range that the other groups cut.
    pub held: f64,
    /// Deviation of a run within its group, a standard deviation of its logarithm.
    pub within: f64,
    /// Number of runs.
    pub runs: u32,
    /// Name of the class.
    pub of: &'static str,
}

named! {
    /// Runs that have more in common than their class.
    pub enum Apart: words {
        /// One document.
        Source = "source",
        /// One model.
        Model = "model",
        /// One model on one GPU.
        ModelAndGpu = "model and GPU",
    }
}

/// Megatron-LM of 2025 and 2026, which share fitted constants.
const MEGATRON_NOW: &[Peers] = &[Peers::Megatron2025, Peers::Megatron2026];

/// Models with experts that published runs of Megatron-LM name. Not gpt-oss, whose experts have biases: its steps come
/// out 14 % fast, so that its range is that of all experts.
const ROUTED: &[&str] = &[
    "qwen-3-235b-a22b",
    "qwen-3-30b-a3b",
    "deepseek-v3",
    "kimi-k2",
    "nemotron-3-nano",
    "nemotron-3-super",
    "nemotron-3-ultra",
];

const fn class(
    software: &'static [Peers],
    products: &'static [Products],
    apart: Apart,
    [fitted, left_out, low, high, held, within]: [f64; 6],
    runs: u32,
    of: &'static str,
) -> Range {
    Range {
        software,
        products,
        experts: false,
        tuned: false,
        models: &[],
        apart,
        fitted,
        left_out,
        low,
        high,
        held,
        within,
        runs,
        of,
    }
}

/// Formats of fewer than 16 bits.
const LOW: &[Products] = &[Products::Fp8, Products::Fp4];

use Apart::{Model, ModelAndGpu, Source};
use Products::Plain;

/// Factor, either way, of a GPU of which no data sheet is out: large products reach 0.47 to 0.76 of the bf16 peak of
/// the data-centre parts since 2023 (`FAMILIES`), a factor 1.27 around their middle, and announced peaks moved by a fifth
/// before (B300's fp4: 12.6 and 15 PFLOP/s).
const ANNOUNCED: f64 = 1.5;

/// Classes of ten runs and five groups or more, then what stands for the others: all runs of a kind.
pub static RANGES: &[Range] = &[
    class(
        &[Peers::Megatron2024],
        &[Plain],
        ModelAndGpu,
        [0.068, 0.071, 0.877, 1.142, 0.796, 0.073],
        230,
        "published dense runs of Megatron-LM of 2024 in bf16",
    ),
    class(
        &[Peers::Megatron2021],
        &[Plain],
        ModelAndGpu,
        [0.057, 0.058, 0.925, 1.135, 0.82, 0.083],
        122,
        "published dense runs of Megatron-LM of 2021 in 16 bits",
    ),
    class(
        MEGATRON_NOW,
        &[Plain],
        ModelAndGpu,
        [0.025, 0.027, 0.96, 1.075, 0.789, 0.013],
        57,
        "published dense runs of NVIDIA's stacks since 2025 in bf16",
    ),
    class(
        MEGATRON_NOW,
        LOW,
        ModelAndGpu,
        [0.04, 0.043, 0.939, 1.07, 0.823, 0.04],
        158,
        "published dense runs of NVIDIA's stacks since 2025 in fp8 and NVFP4",
    ),
    Range {
        experts: true,
        models: ROUTED,
        ..class(
            MEGATRON_NOW,
            &[],
            ModelAndGpu,
            [0.073, 0.082, 0.87, 1.112, 0.81, 0.056],
            163,
            "published runs with experts of NVIDIA's stacks since 2025",
        )
    },
    class(
        &[Peers::Fsdp],
        &[Plain],
        ModelAndGpu,
        [0.035, 0.037, 0.951, 1.065, 0.81, 0.032],
        216,
        "published dense runs of PyTorch FSDP in bf16",
    ),
    Range {
        tuned: true,
        ..class(
            &[Peers::Tuners],
            &[],
            Source,
            [0.074, 0.081, 0.896, 1.129, 0.784, 0.075],
            153,
            "published runs of programs that fine-tune",
        )
    },
    Range {
        tuned: true,
        ..class(
            &[],
            &[],
            ModelAndGpu,
            [0.108, 0.108, 0.811, 1.124, 0.769, 0.085],
            39,
            "published runs with adapters of programs that pretrain",
        )
    },
    class(&[], &[], Source, [0.049, 0.052, 0.936, 1.108, 0.814, 0.055], 808, "published dense runs"),
    Range {
        experts: true,
        ..class(&[], &[], Model, [0.077, 0.09, 0.869, 1.167, 0.826, 0.079], 207, "published runs with routed experts")
    },
];

/// The class of `scenario`, or all runs of its kind where fewer than ten of it are published.
pub fn range(scenario: &Scenario) -> Range {
    let (products, experts) = (Products::of(scenario), scenario.model.moe.is_some());
    let peers = scenario.software.peers;
    let model = scenario.run.model.base.unwrap_or("");
    let tuned = scenario.adapter.is_some() || peers == Some(Peers::Tuners);
    let fits = |row: &&Range| {
        row.tuned == tuned
            && (tuned || row.experts == experts)
            && (row.models.is_empty() || row.models.contains(&model))
            && (row.products.is_empty() || row.products.contains(&products))
            && (row.software.is_empty() || peers.is_some_and(|peers| row.software.contains(&peers)))
    };
    // The last two rows stand for every Run.
    let row = *RANGES.iter().find(fits).unwrap_or(&RANGES[RANGES.len() - 1]);
    let announced = scenario.run.gpu.family().is_some_and(GpuFamily::is_announced);
    if announced { Range { low: row.low / ANNOUNCED, high: row.high * ANNOUNCED, ..row } } else { row }
}

/// Published runs behind the range of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RangeOf {
    pub runs: u32,
    /// Name of their class.
    pub of: &'static str,
    /// They share the Run's software, precision and kind of layers.
    pub of_its_class: bool,
}

impl Range {
    /// Standard deviation of a logarithm of which the range holds four of five.
    pub fn deviation(&self) -> f64 {
        ln(self.high / self.low) / (2.0 * FOUR_OF_FIVE)
    }

    /// Its text in the report.
    pub fn behind(&self) -> RangeOf {
        RangeOf { runs: self.runs, of: self.of, of_its_class: self.tuned || !self.software.is_empty() }
    }
}
