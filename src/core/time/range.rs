//! Distance of published runs from the prediction, by class: software, precision, dense or routed.
//!
//! A range is where four of five runs of a new group lie, measured over predicted: each group of published runs is left
//! out, all constants that it could have moved are fitted again without it, and errors between and within the groups
//! make the interval (`tests/time/left_out.rs` computes, prints and holds it).

use crate::run::presets::Peers;
use crate::run::{Format, Scenario};
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
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        match scenario.precision.computes {
            Format::Fp8 => Self::Fp8,
            Format::Fp4 => Self::Fp4,
            Format::Fp32 | Format::Fp16 | Format::Bf16 => Self::Plain,
        }
    }
}

/// Interval of measured over predicted that holds four of five runs of a class of software, products and layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Software of the runs; none: any.
    pub software: &'static [Peers],
    /// Format of their products; none: any.
    pub products: Option<Products>,
    /// Routed experts.
    pub experts: bool,
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
    /// Number of runs.
    pub runs: u32,
    /// Name of the class.
    pub of: &'static str,
}

/// Runs that have more in common than their class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// One document.
    Source,
    /// One model.
    Model,
    /// One model on one GPU.
    ModelAndGpu,
}

impl Apart {
    /// Its name: "each model left out of the fit".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Model => "model",
            Self::ModelAndGpu => "model and GPU",
        }
    }
}

/// Megatron-LM of 2025 and 2026, which share fitted constants.
const MEGATRON_NOW: &[Peers] = &[Peers::Megatron2025, Peers::Megatron2026];

/// Models with experts that published runs of Megatron-LM name.
const ROUTED: &[&str] = &[
    "qwen-3-235b-a22b",
    "qwen-3-30b-a3b",
    "deepseek-v3",
    "gpt-oss-120b",
    "kimi-k2",
    "nemotron-3-nano",
    "nemotron-3-super",
    "nemotron-3-ultra",
];

const fn class(
    software: &'static [Peers],
    products: Option<Products>,
    apart: Apart,
    (fitted, left_out): (f64, f64),
    (low, high): (f64, f64),
    runs: u32,
    of: &'static str,
) -> Range {
    Range { software, products, experts: false, models: &[], apart, fitted, left_out, low, high, runs, of }
}

use Apart::{Model, ModelAndGpu, Source};

/// Classes of ten runs or more, then what stands for the others: all runs of a kind.
#[rustfmt::skip]
pub static RANGES: &[Range] = &[
    class(&[Peers::Megatron2024], Some(Products::Plain), Source, (0.066, 0.07), (0.889, 1.175), 230, "published dense runs of Megatron-LM of 2024 in bf16"),
    class(&[Peers::Megatron2021], Some(Products::Plain), ModelAndGpu, (0.055, 0.055), (0.92, 1.065), 122, "published dense runs of Megatron-LM of 2021 in 16 bits"),
    class(MEGATRON_NOW, Some(Products::Plain), ModelAndGpu, (0.028, 0.031), (0.953, 1.043), 57, "published dense runs of NVIDIA's stacks since 2025 in bf16"),
    class(MEGATRON_NOW, Some(Products::Fp8), ModelAndGpu, (0.039, 0.042), (0.931, 1.079), 135, "published dense runs of NVIDIA's stacks since 2025 in fp8"),
    class(MEGATRON_NOW, Some(Products::Fp4), ModelAndGpu, (0.048, 0.056), (0.874, 1.053), 14, "published dense runs of NVIDIA's stacks since 2025 in NVFP4"),
    Range { experts: true, models: ROUTED, ..class(MEGATRON_NOW, None, ModelAndGpu, (0.083, 0.098), (0.859, 1.148), 191, "published runs with experts of NVIDIA's stacks since 2025") },
    class(&[Peers::Fsdp], Some(Products::Plain), ModelAndGpu, (0.035, 0.037), (0.945, 1.12), 216, "published dense runs of PyTorch FSDP in bf16"),
    class(&[], None, Source, (0.049, 0.051), (0.921, 1.135), 799, "published dense runs"),
    Range { experts: true, ..class(&[], None, Model, (0.081, 0.104), (0.844, 1.171), 206, "published runs with routed experts") },
];

/// The class of `scenario`, or all runs of its kind where fewer than ten of it are published.
#[must_use]
pub fn range(scenario: &Scenario) -> Range {
    let (products, experts) = (Products::of(scenario), scenario.model.moe.is_some());
    let peers = scenario.software.peers;
    let model = scenario.run.model.base.unwrap_or("");
    let fits = |row: &&Range| {
        row.experts == experts
            && (row.models.is_empty() || row.models.contains(&model))
            && row.products.is_none_or(|of| of == products)
            && (row.software.is_empty() || peers.is_some_and(|peers| row.software.contains(&peers)))
    };
    // The last two rows stand for every Run.
    *RANGES.iter().find(fits).unwrap_or(&RANGES[RANGES.len() - 1])
}

/// Published runs behind the range of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RangeOf {
    /// Runs.
    pub runs: u32,
    /// Name of their class.
    pub of: &'static str,
    /// They share the Run's software, precision and kind of layers.
    pub of_its_class: bool,
}

impl Range {
    /// Its text in the report.
    #[must_use]
    pub fn behind(&self) -> RangeOf {
        RangeOf { runs: self.runs, of: self.of, of_its_class: !self.software.is_empty() }
    }
}
