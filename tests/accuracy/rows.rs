//! The rows that the page shows, computed as the page computes them: by simulation, from the files beside it.

use shardscope::core::accuracy::{Bench, FILES, Measurement, SOURCES, SourceUse, read, verdict_bands};
use shardscope::core::memory::Verdict;
use shardscope::core::memory::verdict::chance;
use shardscope::core::report::evaluate;
use shardscope::core::run::{Method, Run};
use shardscope::core::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::OnceLock;

/// All rows, computed once for all tests.
fn bench() -> &'static Bench {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    BENCH.get_or_init(computed)
}

fn computed() -> Bench {
    let mut bench = Bench::default();
    for (file, _) in FILES {
        let path = format!("{}/public/data/{file}", env!("CARGO_MANIFEST_DIR"));
        bench.add(read(file, &fs::read_to_string(path).unwrap()));
    }
    while bench.advance() {}
    bench
}

#[test]
fn every_published_row_that_says_enough_is_computed() {
    let bench = bench();
    let count = |name: &str| {
        let rows = bench.rows.iter();
        rows.filter(|row| row.source().name.contains(name)).count()
    };
    assert_eq!((count("table 3") + count("table 4")), 232);
    let held =
        bench.rows.iter().filter(|row| row.source().file == "throughput.csv" && row.source().kind == SourceUse::Fitted);
    assert_eq!(held.count(), 362);
    assert_eq!((count("SimuMax peaks"), count("functional tests")), (19, 6));
    let reserved = count("torchtitan, Llama on") + count("129721") + count("Trainy");
    assert_eq!(reserved, 21);
    for source in SOURCES {
        assert!(count(source.name) > 0, "{}", source.name);
    }
    let out_of_memory = bench.rows.iter().filter(|row| row.measured == Measurement::RanOut);
    assert_eq!(bench.facts.len(), bench.rows.len() - out_of_memory.count());
    assert!(bench.facts.iter().all(|fact| fact.predicted > 0.0));
}

/// The page says that no step with tensor parallelism over PCIe sets what of it hides: among the published steps of
/// sources that constants were fitted to there is none.
#[test]
fn no_step_that_constants_were_fitted_to_has_tensor_parallelism_over_pcie() {
    let over_pcie = bench().rows.iter().filter(|row| {
        let is_step = matches!(row.measured, Measurement::Step(_));
        is_step && row.run.tp > 1 && row.run.gpu.resolve().is_ok_and(|gpu| gpu.is_on_pcie())
    });
    let over_pcie: Vec<_> = over_pcie.map(|row| (row.label.as_str(), row.source().kind)).collect();
    println!("{over_pcie:?}");
    assert!(over_pcie.iter().all(|(_, kind)| *kind != SourceUse::Fitted), "{over_pcie:?}");
}

/// The bounds that `tests/time/throughput.rs` holds the same runs to, as the page counts them.
#[test]
fn the_page_s_errors_are_within_the_bounds_of_the_published_tables() {
    let errors = bench().errors();
    let mut fujii = (0.0, 0);
    let mut held = (0.0, 0);
    for error in &errors {
        println!(
            "{}: {} rows, mean {:.1} %, bias {:+.1} %, worst {:.1} %",
            error.source.name,
            error.count,
            error.mean * 100.0,
            error.bias * 100.0,
            error.worst * 100.0
        );
        let all = match error.source.file {
            "fujii_measured.csv" => &mut fujii,
            "throughput.csv" if error.source.kind == SourceUse::Fitted => &mut held,
            _ => continue,
        };
        all.0 += error.mean * error.count as f64;
        all.1 += error.count;
    }
    assert_eq!((fujii.1, held.1), (145, 362));
    assert!(fujii.0 / 145.0 <= 0.06, "{}", fujii.0 / 145.0);
    assert!(held.0 / 362.0 <= 0.15, "{}", held.0 / 362.0);
}

#[test]
fn the_bands_counted_here_are_those_that_the_verdict_shows() {
    let counted = verdict_bands(&bench().verdicts);
    for counted in counted {
        // The band of tight ones is of both words.
        let sides = if counted.verdict == Verdict::Tight { &[false, true][..] } else { &[false] };
        let shown = sides.iter().map(|above| chance(Method::Detailed, counted.verdict, *above));
        let shown = shown.fold((0, 0), |sum, one| (sum.0 + one.like, sum.1 + one.ran_out));
        assert_eq!(shown, (counted.runs as u64, counted.ran_out as u64));
    }
}

/// Uneven-pipeline note: 28388.7 ms against 19607.1 ms is 1.448; equal layers cannot give more than 22/18.
#[test]
fn the_uneven_pipeline_on_h20_is_shown_as_the_miss_it_is() {
    let bench = bench();
    let h20: Vec<_> =
        bench.facts.iter().filter(|fact| bench.rows[fact.row].source().name.starts_with("Uneven")).collect();
    let [even, uneven] = h20[..] else {
        panic!("two rows");
    };
    let measured = even.measured / uneven.measured;
    assert_eq!(format!("{measured:.3}"), "1.448");
    let predicted = even.predicted / uneven.predicted;
    assert!(predicted > 1.1 && predicted < 22.0 / 18.0, "{predicted}");
}

/// In each group of tables 3 and 4 with the same GPUs, the choice costs at most 1.5 % on average and 5 % at worst.
#[test]
fn the_layout_that_the_page_calls_fastest_nearly_was() {
    let (mean, worst, groups) = bench().choice_loss().unwrap();
    println!("{groups} groups: mean {mean:.4}, worst {worst:.4}");
    assert!(mean <= 0.015 && worst <= 0.05, "{mean} {worst}");
}

/// Runs that were published as running and that are called out of memory all the same, by source, with what their
/// settings here lack.
const CALLED_OUT: [(&str, usize, &str); 7] = [
    ("Megatron-Bridge, Llama 3 70B", 3, "the printed micro-batch or pipeline is not the recipe's"),
    (
        "NVIDIA dgxc, PaxML GPT-3 on H100",
        5,
        "SAVE_QKV_OUT_PROJ keeps a layer's input, q, k, v and the projection's output alone; XLA's arena does not fragment",
    ),
    ("Automodel, DeepSeek-V3 on H100", 2, "the configuration recomputes layers since February 2026"),
    ("Automodel, Kimi K2 on H100", 1, "the configuration recomputes layers since February 2026"),
    ("NeMo 24.07 on H100", 2, "formats of parameters and states of these runs are not printed"),
    ("Megatron-Bridge, gpt-oss 120B", 1, "the printed micro-batch is not the recipe's"),
    ("MLPerf Training, LoRA of Llama 2 70B", 1, "8192 tokens a GPU on H200 in 2025, where 2024 needed two"),
];

/// The verdict is the memory's alone: it knows no step time. A run that is newly called out of memory has to be
/// explained.
#[test]
fn what_was_published_as_running_is_called_out_of_memory_only_where_it_is_named() {
    let (mut seen, mut out) = (BTreeSet::new(), BTreeMap::new());
    for row in bench().rows.iter().filter(|row| matches!(row.measured, Measurement::Step(_))) {
        if row.source().file.starts_with("fujii") || !seen.insert(row.id.as_str()) {
            continue;
        }
        if evaluate(&row.run).unwrap().report.memory.verdict == Verdict::Oom {
            *out.entry(row.source().name).or_insert(0) += 1;
        }
    }
    println!("{out:?} of {} runs", seen.len());
    for (source, count) in out {
        let named = CALLED_OUT.iter().find(|(name, ..)| *name == source);
        assert!(named.is_some_and(|(_, at_most, _)| count <= *at_most), "{source}: {count} runs");
    }
}

/// Names of GPUs as sources print them, by how they begin, and the presets of these GPUs; of two that fit the longer
/// one counts.
const PRINTED: [(&str, &str); 29] = [
    ("A100", "a100-sxm-80gb"),
    ("A100 40GB", "a100-sxm-40gb"),
    ("a100-sxm-40gb", "a100-sxm-40gb"),
    ("a100-sxm-80gb", "a100-sxm-80gb"),
    ("a100_40gb", "a100-sxm-40gb"),
    ("a100_80gb", "a100-sxm-80gb"),
    ("B200", "b200-sxm"),
    ("B300", "b300-sxm"),
    ("gb200", "gb200"),
    ("GB200", "gb200"),
    ("GB300", "gb300"),
    ("H100", "h100-sxm-80gb"),
    ("H100-96GB", "h100-sxm-96gb"),
    ("h100-sxm-80gb", "h100-sxm-80gb"),
    ("h100-sxm-94gb", "h100-sxm-94gb"),
    ("h100_80gb", "h100-sxm-80gb"),
    ("H200", "h200-sxm-141gb"),
    ("L40S", "l40s"),
    ("MI300X", "mi300x"),
    ("MI325X", "mi325x"),
    ("MI350X", "mi350x"),
    ("MI355X", "mi355x"),
    ("RTX 3090", "rtx-3090"),
    ("RTX 4090", "rtx-4090"),
    ("T4", "t4"),
    ("A10 ", "a10"),
    ("L4 ", "l4"),
    ("H20", "h20-sxm-96gb"),
    ("V100", "v100-sxm-32gb"),
];

/// A line that names its GPU, in a column or, as MLPerf's do, at the end of its name ("... on 8 H200"), opens a run on
/// that GPU: what is measured on one card says nothing of another.
#[test]
fn every_row_that_names_a_gpu_opens_a_run_on_it() {
    let mut named = 0;
    let mut others = Vec::new();
    for (file, _) in FILES {
        let text = fs::read_to_string(format!("{}/public/data/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        for line in Table::read(&text).lines().filter(|line| !line.text("run").is_empty()) {
            let at_end = || line.text("name").rsplit(' ').next().unwrap_or_default();
            let printed = [line.text("gpu_type"), line.text("gpu"), at_end()];
            let Some(printed) = printed.into_iter().find(|name| !name.is_empty()) else { continue };
            let fitting = PRINTED.iter().filter(|(name, _)| printed.starts_with(name));
            let (_, id) = fitting.max_by_key(|(name, _)| name.len()).unwrap_or_else(|| panic!("{file}: {printed}"));
            let pairs = line.text("run").split('&').filter_map(|pair| pair.split_once('='));
            let pairs: Vec<_> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            let (run, issues) = Run::from_pairs(&pairs);
            assert!(issues.is_empty(), "{file}: {issues:?}");
            named += 1;
            // A machine of 96 GB whose row says H100 alone is told by what its other rows say.
            let is_like = run.gpu.base == Some(*id) || (printed, run.gpu.base) == ("H100", Some("h100-sxm-96gb"));
            if !is_like {
                others.push(format!("{file}: {printed}, {:?}: {}", run.gpu.base, line.text("run")));
            }
        }
    }
    assert!(named > 1400, "{named}");
    assert!(others.is_empty(), "{} of {named}: {others:#?}", others.len());
}
