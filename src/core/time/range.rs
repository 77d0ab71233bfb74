//! Distance of published runs from the prediction, by class: software, precision, dense or routed.
//!
//! A range holds four of five runs of its class when what products reach is refitted without the runs' source
//! (`tests/time/classes.rs` prints and holds it), measured over predicted; never less than 10 % on either side, since sources
//! of one class differ by more than the rows of one, and releases of one framework by 4 %.

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
    /// Measured over predicted, the fast end.
    pub low: f64,
    /// The slow end.
    pub high: f64,
    /// Number of runs.
    pub runs: u32,
    /// Name of the class.
    pub of: &'static str,
}

/// Megatron-LM of 2025 and 2026, which share fitted constants.
const MEGATRON_NOW: &[Peers] = &[Peers::Megatron2025, Peers::Megatron2026];

const fn class(
    software: &'static [Peers],
    products: Option<Products>,
    experts: bool,
    (low, high): (f64, f64),
    runs: u32,
    of: &'static str,
) -> Range {
    Range { software, products, experts, low, high, runs, of }
}

/// Classes of ten runs or more, then what stands for the others: all runs of a kind.
#[rustfmt::skip]
pub static RANGES: &[Range] = &[
    class(&[Peers::Megatron2024], Some(Products::Plain), false, (0.88, 1.2), 230, "published dense runs of Megatron-LM of 2024 in bf16"),
    class(&[Peers::Megatron2021], Some(Products::Plain), false, (0.9, 1.18), 98, "published dense runs of Megatron-LM of 2021 in 16 bits"),
    class(MEGATRON_NOW, Some(Products::Plain), false, (0.9, 1.15), 31, "published dense runs of NVIDIA's stacks since 2025 in bf16"),
    class(MEGATRON_NOW, Some(Products::Fp8), false, (0.85, 1.18), 79, "published dense runs of NVIDIA's stacks since 2025 in fp8"),
    class(MEGATRON_NOW, Some(Products::Fp4), false, (0.85, 1.17), 13, "published dense runs of NVIDIA's stacks since 2025 in NVFP4"),
    class(&[Peers::Megatron2025], Some(Products::Fp8), true, (0.78, 1.37), 12, "published runs with experts of NeMo and Megatron-LM of 2025 in fp8"),
    class(&[Peers::Megatron2026], Some(Products::Fp8), true, (0.86, 1.22), 82, "published runs with experts of Megatron-LM of 2026 in fp8"),
    class(&[Peers::Megatron2024], Some(Products::Plain), true, (0.9, 1.15), 12, "published runs with experts of Megatron-LM of 2024 in bf16"),
    class(&[Peers::Fsdp], Some(Products::Plain), false, (0.9, 1.16), 107, "published dense runs of PyTorch FSDP in bf16"),
    class(&[], None, false, (0.85, 1.3), 566, "published dense runs"),
    class(&[], None, true, (0.84, 1.3), 130, "published runs with routed experts"),
];

/// The class of `scenario`, or all runs of its kind where fewer than ten of it are published.
#[must_use]
pub fn range(scenario: &Scenario) -> Range {
    let (products, experts) = (Products::of(scenario), scenario.model.moe.is_some());
    let peers = scenario.software.peers;
    let fits = |row: &&Range| {
        row.experts == experts
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
        RangeOf { runs: self.runs, of: self.of, of_its_class: self.products.is_some() }
    }
}
