//! Decode speeds that programs print, beside those of the engine of reinforcement learning.
//!
//! `tests/data/decode_rates.csv`: 282 speeds of TensorRT-LLM and `SGLang`. No engine of a training loop is among them:
//! they judge the form of an iteration. Its rates are fitted here to the speeds of all other models, then the model
//! that was left out is predicted; no speed judges rates that it set. The shipped rates are those of engines in a
//! training loop, and slower.
//!
//! Attention that is data parallel has no setting: such engines are predicted as tensor-parallel ones and stand in a
//! class of their own.

use shardscope::core::rl::{EngineModel, EngineRates};
use shardscope::core::run::{Based, CacheFormat, OneOf, RlParts, RolloutFormat, Run};
use std::collections::BTreeSet;

/// A printed speed, and the engine that reached it.
struct Speed {
    model: &'static str,
    class: &'static str,
    engine: EngineModel,
    /// Tokens of a prompt and of a response.
    input: f64,
    output: f64,
    /// Responses at once; none where all that fit are.
    batch: Option<f64>,
    /// Tokens of responses a second and GPU.
    measured: f64,
}

/// Share of a GPU's memory that a server takes.
const SHARE: f64 = 0.9;
/// Responses that TensorRT-LLM's benchmark decodes at once, at most: `max_batch_size` of its engines.
const MOST: f64 = 2048.0;

fn speeds() -> Vec<Speed> {
    let text: &'static str = include_str!("../data/decode_rates.csv");
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|line| {
        let cells: Vec<&'static str> = line.split(',').collect();
        let [kind, model, gpu, gpus, dp, weights, input, output, batch, measured] = cells[..] else { panic!("{line}") };
        let run = Run { model: Based::preset(model), gpu: Based::preset(gpu), ..Run::default() };
        let format = RolloutFormat::from_id(weights).unwrap();
        // TensorRT-LLM keeps keys and values in fp8 beside weights of 8 and 4 bits.
        let small = kind != "server" && kind != "one" && format != RolloutFormat::Bf16;
        let rl = RlParts {
            rollout_tp: Some(gpus.parse().unwrap()),
            rollout_precision: Some(format),
            cache_precision: small.then_some(CacheFormat::Fp8),
            ..RlParts::default()
        };
        let (shapes, gpu) = (run.model.resolve().unwrap(), run.gpu.resolve().unwrap());
        let class = match (kind, dp) {
            ("one", _) => "SGLang, one request",
            ("server", _) => "SGLang, server",
            ("batch", _) => "TensorRT-LLM 0.6",
            (_, "1") => "attention data parallel",
            _ => "TensorRT-LLM",
        };
        Speed {
            model,
            class,
            engine: EngineModel::new(&shapes, &gpu, 8, &rl, SHARE, MOST),
            input: input.parse().unwrap(),
            output: output.parse().unwrap(),
            batch: batch.parse().ok(),
            measured: measured.parse().unwrap(),
        }
    })
    .collect()
}

impl Speed {
    /// Predicted over measured: responses decode until their last token while others take the places of those that
    /// ended, and every prompt is read.
    fn ratio(&self, rates: EngineRates) -> f64 {
        let engine = self.engine.clone().at(rates);
        let fits = engine.capacity(self.input, self.output).max(1.0);
        let at_once = self.batch.unwrap_or(fits);
        let decode = self.output * engine.iteration(at_once, self.input + self.output / 2.0);
        let seconds = decode + at_once * engine.prefill(self.input).0;
        at_once * self.output / seconds / engine.tp / self.measured
    }
}

/// Mean of the logarithms' absolute values.
fn loss(speeds: &[&Speed], rates: EngineRates) -> f64 {
    speeds.iter().map(|speed| speed.ratio(rates).ln().abs()).sum::<f64>() / speeds.len() as f64
}

/// The rates that a search along each of them finds for `speeds`.
fn fitted(speeds: &[&Speed]) -> EngineRates {
    type Rate = fn(&mut EngineRates) -> &mut f64;
    let each: [Rate; 6] = [
        |rates| &mut rates.weight_reads,
        |rates| &mut rates.cache_reads,
        |rates| &mut rates.decode_peak,
        |rates| &mut rates.prefill_peak,
        |rates| &mut rates.layer_s,
        |rates| &mut rates.sequence_s,
    ];
    let mut best = (loss(speeds, EngineRates::default()), EngineRates::default());
    for step in [2.0, 1.4, 1.2, 1.1, 1.05] {
        for _ in 0..4 {
            for rate in each {
                for factor in [1.0 / step, step] {
                    let mut rates = best.1;
                    *rate(&mut rates) *= factor;
                    // No more than the hardware has.
                    let is_possible =
                        rates.weight_reads <= 0.95 && rates.cache_reads <= 0.95 && rates.decode_peak <= 0.9;
                    let loss = loss(speeds, rates);
                    if is_possible && rates.prefill_peak <= 0.9 && loss < best.0 {
                        best = (loss, rates);
                    }
                }
            }
        }
    }
    best.1
}

fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

/// Prints errors by class; returns all of them as logarithms of predicted over measured, with the class.
fn left_out(speeds: &[Speed]) -> Vec<(&'static str, &'static str, f64)> {
    let models: BTreeSet<&str> = speeds.iter().map(|speed| speed.model).collect();
    let mut found = Vec::new();
    for model in models {
        let others: Vec<&Speed> = speeds.iter().filter(|speed| speed.model != model).collect();
        let rates = fitted(&others);
        let own = speeds.iter().filter(|speed| speed.model == model);
        found.extend(own.map(|speed| (speed.class, model, speed.ratio(rates).ln())));
    }
    found
}

#[test]
fn speeds_of_a_model_follow_from_those_of_the_others() {
    let speeds = speeds();
    assert_eq!(speeds.len(), 282);
    let found = left_out(&speeds);
    let error = |of: &dyn Fn(&(&str, &str, f64)) -> bool| {
        let list: Vec<f64> = found.iter().filter(|one| of(one)).map(|one| (one.2.exp() - 1.0).abs()).collect();
        (list.len(), list.iter().filter(|error| **error < 0.25).count(), median(list))
    };
    for class in found.iter().map(|one| one.0).collect::<BTreeSet<_>>() {
        println!("{class}: {:?}", error(&|one| one.0 == class));
    }
    for model in found.iter().map(|one| one.1).collect::<BTreeSet<_>>() {
        let bias = median(found.iter().filter(|one| one.1 == model).map(|one| one.2.exp()).collect());
        println!("{model}: {:?}, predicted over measured {bias:.2}", error(&|one| one.1 == model));
    }
    let (all, near, median) = error(&|_| true);
    println!("all: {near} of {all} within 25 %, median {median:.2}");
    // Another program with the same form and seven rates has 29 % in the median of TensorRT-LLM's speeds.
    let (_, _, typical) = error(&|one| one.0 == "TensorRT-LLM");
    assert!(typical < 0.40, "{typical}");
    // A server at a concurrency that is not printed is slower than one whose places are all taken.
    let servers = found.iter().filter(|one| one.0 == "SGLang, server");
    assert!(self::median(servers.map(|one| one.2).collect()) > 0.0);
    let alone = found.iter().filter(|one| one.0 == "SGLang, one request");
    assert!(self::median(alone.map(|one| one.2.abs()).collect()) < 1.0);
    let shipped: Vec<f64> = speeds.iter().map(|speed| speed.ratio(EngineRates::default())).collect();
    println!("shipped rates: predicted over measured, median {:.2}", self::median(shipped));
    println!("{:?}", fitted(&speeds.iter().collect::<Vec<_>>()));
}
