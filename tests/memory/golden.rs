//! Peaks of Megatron-LM's own functional tests (`public/data/megatron_golden.csv`): every flag is read by the importer
//! that users have, the peak of the last rank is predicted, and the rows are the same that the accuracy panel shows.

use shardscope::core::accuracy::{Bench, Measurement, read};
use shardscope::core::run::Run;
use shardscope::core::run::registry::field;
use shardscope::core::table::Table;
use shardscope::io::import;
use shardscope::io::link::decode;
use std::collections::BTreeMap;

const FILE: &str = "megatron_golden.csv";

fn text() -> String {
    let path = format!("{}/public/data/{FILE}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The Run that a row's flags mean on its GPUs; Transformer Engine's choice of an attention kernel stands in
/// `attention`.
fn meaning(cell: &dyn Fn(&str) -> String) -> Run {
    let pairs = [
        ("stack.base", "megatron-2025".to_owned()),
        ("stack.attention", cell("attention")),
        ("gpu", cell("gpu_type")),
        ("gpus", cell("gpus")),
    ];
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value));
    let (present, issues) = Run::from_pairs(&pairs);
    assert!(issues.is_empty(), "{issues:?}");
    let gpus = cell("gpus");
    let script = format!("torchrun --nnodes 1 --nproc-per-node {gpus} pretrain_gpt.py {}", cell("flags"));
    import::read(&script, &present).unwrap().run
}

#[test]
fn the_importer_reads_the_flags_as_the_runs_that_are_shown() {
    let text = text();
    let table = Table::read(&text);
    let mut wrong = Vec::new();
    for line in table.lines() {
        if !line.text("left_out").is_empty() {
            continue;
        }
        let run = meaning(&|column| line.text(column).to_owned());
        let pairs = run.changed_texts().into_iter();
        let pairs: Vec<String> = pairs
            .filter(|(key, _)| !matches!(&**key, "stack" | "stack.base"))
            .map(|(key, text)| format!("{key}={text}"))
            .collect();
        let read = format!("stack.base=megatron-2025&{}", pairs.join("&"));
        if read != line.text("run") {
            wrong.push(format!("{}|{}|{}\t{read}", line.text("case"), line.text("gpu_type"), line.text("gpus")));
        }
    }
    assert!(wrong.is_empty(), "RUNS\n{}", wrong.join("\n"));
}

/// The value behind an argument of a script; none where it is not given.
fn given<'a>(flags: &'a str, name: &str) -> Option<&'a str> {
    let mut words = flags.split_whitespace();
    words.by_ref().find(|word| *word == name)?;
    words.next()
}

/// Megatron-LM `arguments.py`: what these arguments mean stands in their names, and sizes that are left out are 1. Held
/// to the column `run` without the importer.
#[test]
fn the_runs_have_the_sizes_of_their_flags() {
    const ONES: [(&str, &str); 5] = [
        ("tp", "--tensor-model-parallel-size"),
        ("pp", "--pipeline-model-parallel-size"),
        ("cp", "--context-parallel-size"),
        ("ep", "--expert-model-parallel-size"),
        ("micro_batch", "--micro-batch-size"),
    ];
    const SIZES: [(&str, &str); 9] = [
        ("model.layers", "--num-layers"),
        ("model.hidden", "--hidden-size"),
        ("model.heads", "--num-attention-heads"),
        ("model.ffn", "--ffn-hidden-size"),
        ("model.head_dim", "--kv-channels"),
        ("model.moe.experts", "--num-experts"),
        ("model.moe.top_k", "--moe-router-topk"),
        ("seq_len", "--seq-length"),
        ("global_batch", "--global-batch-size"),
    ];
    let text = text();
    let mut held = 0;
    for line in Table::read(&text).lines().filter(|line| line.text("left_out").is_empty()) {
        let (flags, run) = (line.text("flags"), decode(line.text("run")).run.resolved());
        let model = run.model.resolve().unwrap();
        let stated = |key: &str| match key {
            "model.layers" => model.layers.to_string(),
            "model.hidden" => model.hidden.to_string(),
            "model.heads" => model.heads.to_string(),
            "model.ffn" => model.ffn.to_string(),
            "model.head_dim" => model.head_dim.to_string(),
            "model.moe.experts" => model.moe.unwrap().experts.to_string(),
            "model.moe.top_k" => model.moe.unwrap().top_k.to_string(),
            key => field(key).unwrap().text(&run).unwrap(),
        };
        let ones = ONES.map(|(key, flag)| (key, Some(given(flags, flag).unwrap_or("1"))));
        let sizes = SIZES.map(|(key, flag)| (key, given(flags, flag)));
        for (key, value) in ones.into_iter().chain(sizes) {
            let Some(value) = value else { continue };
            assert_eq!(stated(key), value, "{key} of {} on {}", line.text("case"), line.text("gpu_type"));
            held += 1;
        }
        assert_eq!(model.tied_embeddings, !flags.contains("--untie-embeddings-and-output-weights"), "{flags}");
        assert_eq!(model.gated_ffn, flags.contains("--swiglu"), "{flags}");
        assert_eq!(run.zero > 0, flags.contains("--use-distributed-optimizer") || flags.contains("fsdp"), "{flags}");
    }
    assert!(held > 1_000, "{held}");
}

fn mean(errors: &[f64]) -> (f64, f64) {
    let count = errors.len().max(1) as f64;
    let sum = |of: fn(f64) -> f64| errors.iter().map(|error| of(*error)).sum::<f64>();
    (sum(f64::abs) / count, sum(|error| error) / count)
}

/// A large peak that is not met, and why. Once met to a tenth it has to go.
const MISS: (&str, &str) = (
    "moe/deepseek_proxy_fsdp_ep2_fsdp2 on gb200",
    "8.4 GiB more than its tensors in bf16: the case has fp8 linears without --bf16, so that weights, scores, residual \
     and what experts keep are fp32 (Megatron-LM d98e8a6 training/arguments.py:1194), which no precision here is; the \
     same model with --bf16 is met to 5 %",
);

/// Prints the count, the errors above 6 GiB and over all, the worst, and what is left out and why.
#[test]
fn golden_peaks_above_6_gib_are_met_to_3_percent_on_average() {
    let text = text();
    let (rows, lines) = read(FILE, &text);
    let mut bench = Bench::default();
    bench.add((rows, lines));
    while bench.advance() {}
    let (mut large, mut all) = (Vec::new(), Vec::new());
    let mut by_case: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for fact in &bench.facts {
        let row = &bench.rows[fact.row];
        let Measurement::Memory(measured) = row.measured else {
            panic!("{} is no peak", row.label);
        };
        let error = fact.predicted / measured - 1.0;
        all.push(error);
        by_case.entry(&row.label).or_default().push(error);
        if measured > 6.0 {
            println!("{}: {:.2} of {measured:.2} GiB ({:+.1} %)", row.label, fact.predicted, error * 100.0);
            if row.label == MISS.0 {
                println!("  {}", MISS.1);
                assert!(error.abs() > 0.1, "{} is no miss any more", MISS.0);
            } else {
                large.push(error);
            }
        }
    }
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let table = Table::read(&text);
    for line in table.lines().filter(|line| !line.text("left_out").is_empty()) {
        *reasons.entry(line.text("left_out").to_owned()).or_default() += 1;
    }
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let ((off, bias), (off_all, bias_all)) = (mean(&large), mean(&all));
    let worst = |errors: &[f64]| errors.iter().fold(0.0, |worst: f64, e| worst.max(e.abs()));
    println!("{} of {lines} rows; left out: {reasons:?}", all.len());
    println!(
        "above 6 GiB: {} rows, mean {}, bias {}, worst {}",
        large.len(),
        percent(off),
        percent(bias),
        percent(worst(&large))
    );
    println!("all: mean {}, bias {}, worst {}", percent(off_all), percent(bias_all), percent(worst(&all)));
    for (label, errors) in &by_case {
        println!("{label}: {}", percent(mean(errors).1));
    }
    assert_eq!(all.len() + reasons.values().sum::<usize>(), lines);
    assert!(off <= 0.03, "{off}");
    assert!(off_all <= 0.08, "{off_all}");
}
