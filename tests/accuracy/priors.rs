//! Priors of the protocol of errors follow from benchmarks that hold no training step (`tests/data/kernel_rates.csv`).

use crate::common::Row;
use crate::common::table;
use shardscope::core::accuracy::origin::{GRACE, PRODUCT_PRIORS, ProductPrior, STREAMED};
use shardscope::core::run::presets::{self, GpuFamily};
use shardscope::core::time::Products;

/// The GPU of a row, where products were measured at its full clock.
const NAMES: [(&str, &str); 16] = [
    ("A100 SXM", "A100"),
    ("H100 SXM", "H100"),
    ("H100 SXM (H200 the same)", "H100"),
    ("H200 SXM", "H100"),
    ("L20", "Ada"),
    ("RTX 4090", "Ada"),
    ("B200", "B200"),
    ("B200 SXM", "B200"),
    ("B300 SXM", "B300"),
    ("GB200", "Gb200"),
    ("GB200 SXM", "Gb200"),
    ("MI300X", "Mi300"),
    ("MI325X (1000 W)", "Mi325"),
    ("MI355X", "Mi350"),
    ("H200", "H100"),
    ("A100 SXM 80", "A100"),
];

/// Benchmarks that are no products, by a word of their kernel, and what they are ground of.
const PLACES: [(&str, &str); 14] = [
    ("Flash", "attention, families.rs"),
    ("FMHA", "attention, families.rs"),
    ("BabelStream", "rate of the memory, STREAMED"),
    ("nvbandwidth", "copies between host and device, the GPUs' presets"),
    ("CCL", "links between GPUs, the GPUs' presets"),
    ("HybridEP", "exchange of tokens"),
    ("DeepEP", "exchange of tokens"),
    ("CPU time of a Linear", "time of a host's call, GRACE"),
    ("cuLaunchKernel", "time of a host's call"),
    ("Triton kernel from Python", "time of a host's call"),
    ("inductor", "time of a host's call"),
    ("OpOverload", "time of a host's call"),
    ("eager operator", "time of a host's call"),
    ("typical attained", "sustained products over the best shape"),
];

/// GPUs whose products no prior follows from, by the beginning of their name.
const NO_PRIOR: [&str; 6] = ["GH200", "A100 PCIe", "H200 NVL", "RTX 5090", "RTX PRO 6000", "MI300X at 1005 MHz"];

/// Formats whose products no prior follows from: scaled by blocks, not by tensors.
const BY_BLOCKS: [&str; 2] = ["fp8 128x128 blocks", "fp8 blockwise"];

/// True for a benchmark of products.
fn is_product(row: &Row) -> bool {
    row["unit"] == "TFLOP/s" && !PLACES.iter().any(|(word, _)| row["kernel"].contains(word))
}

fn products(format: &str) -> Option<Products> {
    match format {
        "bf16" | "fp16" => Some(Products::Plain),
        "fp8" | "fp8 e4m3" | "mxfp8" => Some(Products::Fp8),
        "fp4" | "nvfp4" | "mxfp4" => Some(Products::Fp4),
        _ => None,
    }
}

/// Rate of the data sheet of a GPU that the prior is for, TFLOP/s.
fn sheet(prior: &ProductPrior) -> f64 {
    let of_family = presets::GPUS.iter().filter(|gpu| gpu.family == prior.gpu);
    // Of MI350X and MI355X the latter was measured.
    let gpu = of_family.max_by(|a, b| a.gpu.bf16.0.total_cmp(&b.gpu.bf16.0)).unwrap().gpu;
    let rate = match prior.products {
        Products::Plain => gpu.bf16,
        Products::Fp8 => gpu.fp8,
        Products::Fp4 => gpu.fp4,
    };
    rate.0 / 1e12
}

/// Sustained products reach 0.72 of the best shape (AMD's own typical over maximum is 0.74 to 0.81) to all of it. Of a
/// GPU and format without a benchmark nothing is known to better than a tenth.
#[test]
fn the_priors_of_products_follow_from_benchmarks_of_products_alone() {
    let rows = table("kernel_rates.csv");
    let mut held = 0;
    for prior in PRODUCT_PRIORS {
        let name = format!("{:?}", prior.gpu);
        let best = rows
            .iter()
            .filter(|row| NAMES.contains(&(row["gpu"].as_str(), name.as_str())) && is_product(row))
            .filter(|row| products(&row["format"]) == Some(prior.products))
            .map(|row| row["value"].parse::<f64>().unwrap())
            .fold(0.0, f64::max);
        let rate = prior.share * sheet(prior);
        println!("{name} {:?}: {rate:.0} of {best:.0} TFLOP/s, ±{:.0} %", prior.products, prior.width * 100.0);
        // A card's fp8 on AMD's older software is no bound of the kernels of a training run, nor products of blocks
        // (MXFP8) one of those scaled by tensors, nor another card's of the family.
        let fp8_of_amd = prior.gpu.is_amd() && prior.products == Products::Fp8;
        let is_bound = best > 0.0 && !fp8_of_amd && prior.gpu != GpuFamily::Ada;
        if is_bound {
            held += 1;
            assert!((0.72..=1.0).contains(&(rate / best)), "{name} {:?}: {rate} of {best}", prior.products);
        } else {
            assert!(prior.width >= 0.1, "{name} {:?} has no benchmark", prior.products);
        }
    }
    assert!(held >= 14, "{held}");
}

/// Every row has one place: it is a product of a GPU that has a prior, or of one that has none, or another benchmark
/// that is ground of one thing.
#[test]
fn every_benchmark_has_one_place() {
    for row in table("kernel_rates.csv") {
        let (gpu, format) = (row["gpu"].as_str(), row["format"].as_str());
        let named = NAMES.iter().any(|(name, _)| *name == gpu) && products(format).is_some();
        let unnamed = NO_PRIOR.iter().any(|name| gpu.starts_with(name)) || BY_BLOCKS.contains(&format);
        let grounds: std::collections::BTreeSet<&str> =
            PLACES.iter().filter(|(word, _)| row["kernel"].contains(word)).map(|(_, ground)| *ground).collect();
        let places = grounds.len() + usize::from(is_product(&row) && named) + usize::from(is_product(&row) && unnamed);
        assert_eq!(places, 1, "{gpu}, {format}, {}: {grounds:?}", row["kernel"]);
    }
}

/// `McCalpin`'s STREAM add over the data sheet's rate, in the mean of three GPUs; a call of PyTorch on Grace over one
/// on x86.
#[test]
fn the_priors_of_memory_and_host_follow_from_their_benchmarks() {
    let rows = table("kernel_rates.csv");
    let value = |gpu: &str, kernel: &str| -> f64 {
        let row = rows.iter().find(|row| row["gpu"] == gpu && row["kernel"].starts_with(kernel)).unwrap();
        row["value"].parse().unwrap()
    };
    let sheet = |id: &str| presets::GPUS.iter().find(|gpu| gpu.choice.id == id).unwrap().gpu.hbm.0 / 1e12;
    let pairs = [("H100 SXM", "h100-sxm-80gb"), ("H200", "h200-sxm-141gb"), ("A100 SXM 80", "a100-sxm-80gb")];
    let shares = pairs.map(|(gpu, id)| value(gpu, "BabelStream add") / sheet(id));
    let mean = shares.iter().sum::<f64>() / 3.0;
    assert!((mean - STREAMED).abs() < 0.005, "{mean} {shares:?}");
    let call = |gpu: &str| value(gpu, "CPU time of a Linear forward call, torch");
    let x86 = call("H100 DGX (Xeon 8480C)");
    for grace in ["GB200 (Grace)", "GH200 (Grace)"] {
        let times = (call(grace) / x86 / GRACE.0).ln().abs();
        assert!(times < 2.0 * GRACE.1, "{grace}: {times}");
    }
}
