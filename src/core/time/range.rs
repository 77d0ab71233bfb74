//! How far published runs of a Run's class lie from what is predicted: software, precision, dense or routed.
//!
//! A range holds four of five runs of its class when what products reach is refitted without the runs' source
//! (`tests/time/classes.rs` prints and holds it), measured over predicted; never less than 10 % on either side, since sources
//! of one class differ by more than the rows of one, and releases of one framework by 4 %.

use crate::run::{Format, Scenario};
use serde::Serialize;

/// What the products of the layers compute in, as far as published runs differ.
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
    /// Those of `scenario`.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        match scenario.precision.computes {
            Format::Fp8 => Self::Fp8,
            Format::Fp4 => Self::Fp4,
            Format::Fp32 | Format::Fp16 | Format::Bf16 => Self::Plain,
        }
    }
}

/// Runs that have software, products and kind of layers in common, and where four of five of them lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Ids of the stacks; none: any.
    pub stacks: &'static [&'static str],
    /// What their products compute in; none: anything.
    pub products: Option<Products>,
    /// Whether they have routed experts.
    pub experts: bool,
    /// Measured over predicted, the fast end.
    pub low: f64,
    /// The slow end.
    pub high: f64,
    /// How many there are.
    pub runs: u32,
    /// What they are called.
    pub of: &'static str,
}

/// NVIDIA's stacks that share fitted constants.
const MEGATRON_NOW: &[&str] = &["megatron-2025", "megatron-2026"];
/// PyTorch's own sharding.
const FSDP: &[&str] = &["composer-2023", "fsdp2", "torchtitan", "torchtitan-eager"];

const fn class(
    stacks: &'static [&'static str],
    products: Option<Products>,
    experts: bool,
    (low, high): (f64, f64),
    runs: u32,
    of: &'static str,
) -> Range {
    Range { stacks, products, experts, low, high, runs, of }
}

/// Classes of ten runs or more, then what stands for the others: all runs of a kind.
#[rustfmt::skip]
pub static RANGES: &[Range] = &[
    class(&["megatron-2024"], Some(Products::Plain), false, (0.88, 1.2), 230, "published dense runs of Megatron-LM of 2024 in bf16"),
    class(&["megatron-2021"], Some(Products::Plain), false, (0.9, 1.18), 98, "published dense runs of Megatron-LM of 2021 in 16 bits"),
    class(MEGATRON_NOW, Some(Products::Plain), false, (0.9, 1.15), 31, "published dense runs of NVIDIA's stacks since 2025 in bf16"),
    class(MEGATRON_NOW, Some(Products::Fp8), false, (0.85, 1.18), 79, "published dense runs of NVIDIA's stacks since 2025 in fp8"),
    class(MEGATRON_NOW, Some(Products::Fp4), false, (0.85, 1.17), 13, "published dense runs of NVIDIA's stacks since 2025 in NVFP4"),
    class(&["megatron-2025"], Some(Products::Fp8), true, (0.78, 1.37), 12, "published runs with experts of NeMo and Megatron-LM of 2025 in fp8"),
    class(&["megatron-2026"], Some(Products::Fp8), true, (0.86, 1.22), 82, "published runs with experts of Megatron-LM of 2026 in fp8"),
    class(&["megatron-2024"], Some(Products::Plain), true, (0.9, 1.15), 12, "published runs with experts of Megatron-LM of 2024 in bf16"),
    class(FSDP, Some(Products::Plain), false, (0.9, 1.16), 107, "published dense runs of PyTorch FSDP in bf16"),
    class(&[], None, false, (0.85, 1.3), 566, "published dense runs"),
    class(&[], None, true, (0.84, 1.3), 130, "published runs with routed experts"),
];

/// The class of `scenario`, or all runs of its kind where fewer than ten of it are published.
#[must_use]
pub fn range(scenario: &Scenario) -> Range {
    let (products, experts) = (Products::of(scenario), scenario.model.moe.is_some());
    let stack = scenario.run.stack.preset_row().choice.id;
    let fits = |row: &&Range| {
        row.experts == experts
            && row.products.is_none_or(|of| of == products)
            && (row.stacks.is_empty() || row.stacks.contains(&stack))
    };
    // The last two rows stand for every Run.
    *RANGES.iter().find(fits).unwrap_or(&RANGES[RANGES.len() - 1])
}

/// How many published runs stand behind the range of a step, and whether they are of the Run's class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RangeOf {
    /// Runs.
    pub runs: u32,
    /// What they have in common.
    pub of: &'static str,
    /// Whether they have the Run's software, precision and kind of layers.
    pub of_its_class: bool,
}

impl Range {
    /// Its text in the report.
    #[must_use]
    pub fn behind(&self) -> RangeOf {
        RangeOf { runs: self.runs, of: self.of, of_its_class: self.products.is_some() }
    }
}
