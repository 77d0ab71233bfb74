//! The published runs most like a given one, by GPU, software, precision, kind and size. The errors of their
//! predictions show what error to expect of the given run.

use crate::maths::log2;
use crate::run::{Format, Run};

/// Adds to the distance of two runs if one is a mixture of experts and the other is not. This weight and the others
/// below are choices: no data set them, and no prediction depends on them.
const KIND: f64 = 4.0;
/// Adds to the distance of runs on different GPUs.
const GPU: f64 = 2.0;
/// Adds to the distance of runs of different models.
const MODEL: f64 = 1.0;
/// Adds to the distance of runs of different software.
const STACK: f64 = 1.0;
/// Adds to the distance of runs with different formats or recipes of their products.
const PRECISION: f64 = 1.0;
/// Adds to the distance for each doubling of the number of parameters.
const PARAMETERS: f64 = 0.5;
/// Adds to the distance for each doubling of the number of GPUs and of the sequence length.
const SIZE: f64 = 0.25;

/// Features of a run that the distance compares.
#[derive(Clone, Debug, PartialEq)]
struct Traits {
    /// True for a mixture of experts.
    experts: bool,
    /// Presets of model, GPU and software.
    model: Option<&'static str>,
    gpu: Option<&'static str>,
    stack: Option<&'static str>,
    /// Format of the products, and the recipe of quantised ones. The formats of gradients and optimizer states do not
    /// count.
    products: (Format, Option<&'static str>),
    parameters: f64,
    gpus: f64,
    seq_len: f64,
}

impl Traits {
    fn of(run: &Run) -> Option<Self> {
        let (model, precision) = (run.model.resolve().ok()?, run.precision.resolve().ok()?);
        Some(Self {
            experts: model.moe.is_some(),
            model: run.model.base,
            gpu: run.gpu.base,
            stack: run.stack.base,
            products: (precision.computes, precision.recipe.and(run.precision.base)),
            parameters: model.elements().total() as f64,
            gpus: run.gpus as f64,
            seq_len: run.seq_len as f64,
        })
    }

    fn distance(&self, other: &Self) -> f64 {
        let weigh = |differs: bool, weight: f64| if differs { weight } else { 0.0 };
        let doublings = |a: f64, b: f64| log2(a / b).abs();
        weigh(self.experts != other.experts, KIND)
            + weigh(self.gpu != other.gpu, GPU)
            + weigh(self.model != other.model, MODEL)
            + weigh(self.stack != other.stack, STACK)
            + weigh(self.products != other.products, PRECISION)
            + PARAMETERS * doublings(self.parameters, other.parameters)
            + SIZE * doublings(self.gpus, other.gpus)
            + SIZE * doublings(self.seq_len, other.seq_len)
    }
}

/// Indices of the `count` runs in `runs` with the least distance to `run`, the nearest first.
pub fn nearest_of<'a>(runs: impl Iterator<Item = &'a Run>, run: &Run, count: usize) -> Vec<usize> {
    let Some(own) = Traits::of(run) else {
        return Vec::new();
    };
    let distance = |(at, other): (usize, &Run)| Some((own.distance(&Traits::of(other)?), at));
    let mut nearest: Vec<(f64, usize)> = runs.enumerate().filter_map(distance).collect();
    nearest.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    nearest.truncate(count);
    nearest.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Based;

    fn traits(edit: impl Fn(&mut Run)) -> Traits {
        let mut run = Run::default();
        edit(&mut run);
        Traits::of(&run).unwrap()
    }

    #[test]
    fn a_run_is_nearest_to_itself_and_another_kind_is_furthest() {
        let default = traits(|_| ());
        assert_eq!(default.distance(&default), 0.0);
        let larger = default.distance(&traits(|run| run.gpus = 128));
        let gpu = default.distance(&traits(|run| run.gpu = Based::preset("a100-sxm-80gb")));
        let experts = default.distance(&traits(|run| run.model = Based::preset("mixtral-8x7b")));
        assert!(0.0 < larger && larger < gpu && gpu < experts);
    }
}
