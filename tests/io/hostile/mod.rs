//! Any pasted, typed or linked input: nothing panics, nothing shown is NaN or infinite, a refusal names its
//! field, and what is taken can be written down and read back.
//!
//! `SHARDSCOPE_CASES=1000000 make fuzz` tries as many inputs as it says (through the entries
//! that `SHARDSCOPE_ENTRY` names in part, if it is set); `make test` a short round of the same.

mod inputs;

use inputs::{files, json_runs, links, mutated, orders, panels, pasted, plans, schedules};
use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde::Serialize;
use shardscope::core::advice::report_value;
use shardscope::core::calibrate::Observation;
use shardscope::core::issue::Issue;
use shardscope::core::pipeline::{self, torch_csv};
use shardscope::core::report::{Evaluation, evaluate, work};
use shardscope::core::run::registry::field;
use shardscope::core::run::{Run, Schedule, Value};
use shardscope::core::search::PlanRequest;
use shardscope::core::units::MemoryUnit;
use shardscope::io::export::{FORMATS, Stamp, export};
use shardscope::io::import::{self, summary::summary};
use shardscope::io::link::{decode, encode, encode_with};
use shardscope::io::logs;
use shardscope::view::panel::Panel;
use shardscope::web::dialogs::page::{content, named};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A way into the calculator, what is put through it, and what it does with it: true where it answers, false where it
/// refuses, or what is wrong with what it says.
struct Entry {
    name: &'static str,
    inputs: fn() -> BoxedStrategy<String>,
    ask: fn(&str) -> Result<bool, String>,
}

/// Every way in. A new importer is a line here, with a few files that it reads as seeds.
#[rustfmt::skip] // a table: one entry a line
static ENTRIES: &[Entry] = &[
    Entry { name: "link", inputs: links, ask: link },
    Entry { name: "JSON run", inputs: json_runs, ask: json_run },
    Entry { name: "config.json", inputs: || mutated(pasted::configs()), ask: |text| imported(text, any_format) },
    Entry { name: "export", inputs: || mutated(files(exports())), ask: |text| imported(text, any_format) },
    Entry { name: "launch file", inputs: || mutated(files(launch_files())), ask: |text| imported(text, any_format) },
    Entry { name: "log", inputs: || mutated(log_lines()), ask: log },
    Entry { name: "own order", inputs: orders, ask: own_order },
    Entry { name: "schedule request", inputs: schedules, ask: schedule_request },
    Entry { name: "plan request", inputs: plans, ask: plan_request },
    Entry { name: "panels", inputs: panels, ask: every_panel },
];

/// Inputs over all entries where nothing else is asked for: some seconds' worth.
const SHORT: u32 = 2800;

/// Ops of a run that is simulated here; sizes above are the business of `sizes_*` below.
const FEW_OPS: u64 = 3000;

#[test]
fn no_input_breaks_an_entry() {
    let asked = std::env::var("SHARDSCOPE_CASES").ok();
    let cases: u32 = asked.map_or(SHORT, |cases| cases.parse().unwrap());
    let share = cases.div_ceil(u32::try_from(ENTRIES.len()).unwrap());
    let only = std::env::var("SHARDSCOPE_ENTRY").unwrap_or_default();
    let broken: Vec<String> = std::thread::scope(|scope| {
        let rounds: Vec<_> = ENTRIES
            .iter()
            .filter(|entry| entry.name.contains(&only))
            .map(|entry| scope.spawn(move || round(entry, share)))
            .collect();
        rounds.into_iter().filter_map(|round| round.join().unwrap().err()).collect()
    });
    assert!(broken.is_empty(), "\n{}", broken.join("\n\n"));
    let entries = ENTRIES.iter().filter(|entry| entry.name.contains(&only));
    println!("hostile: {} inputs in all", share as usize * entries.count());
}

/// Puts `cases` inputs through an entry; the smallest that breaks it, and how.
fn round(entry: &Entry, cases: u32) -> Result<(), String> {
    let (answered, refused) = (AtomicU32::new(0), AtomicU32::new(0));
    let config = Config { cases, max_shrink_iters: 2000, failure_persistence: None, ..Config::default() };
    // The short round is the same each time; a long one looks elsewhere every time.
    let mut runner = if cases <= SHORT {
        let same = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        TestRunner::new_with_rng(config, same)
    } else {
        TestRunner::new(config)
    };
    let found = runner.run(&(entry.inputs)(), |text| {
        let good = (entry.ask)(&text).map_err(TestCaseError::fail)?;
        if good { &answered } else { &refused }.fetch_add(1, Relaxed);
        Ok(())
    });
    let (answered, refused) = (answered.into_inner(), refused.into_inner());
    println!("hostile: {:<18}{cases:>9} inputs, {answered} answered, {refused} refused", entry.name);
    match found {
        Ok(()) if answered == 0 => Err(format!("{}: nothing was ever answered", entry.name)),
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, text)) => Err(format!("{}: {why}\n{text:?}", entry.name)),
        Err(TestError::Abort(why)) => Err(format!("{}: {why}", entry.name)),
    }
}

/// An image of fewer patches than are merged into a token.
const FEW_PATCHES: &str = "v=1&model.base=llama-3.1-8b&model.vision.base=llama-4&model.vision.patch=189\
    &model.vision.image_sizes=448x448:3";

/// A model's file that lists nothing of its layers.
const LISTS: &str = "{\"model_type\":\"llama\",\"hidden_size\":4096,\"num_hidden_layers\":32,\
    \"num_attention_heads\":32,\"intermediate_size\":14336,\"vocab_size\":128256,\"LIST\":[]}";

/// A launch of a model with latent attention over selected keys, of which `argument` has 2^53 + 1 of what it counts.
fn too_wide(argument: &str, others: &str) -> String {
    format!(
        "torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --bf16 --seq-length 8192 \
         --micro-batch-size 1 --global-batch-size 8 --num-layers 4 --hidden-size 1024 --ffn-hidden-size 4096 \
         --num-attention-heads 8 --vocab-size 32000 --multi-latent-attention --kv-lora-rank 512 \
         --experimental-attention-variant dsa {others} {argument} 9007199254740993"
    )
}

/// Inputs that no generator makes: the very large, and known hostile ones, each with its entry. The short ones are also
/// seeds and spikes above.
fn hostile_inputs() -> Vec<(&'static str, String)> {
    let many = |text: &str, times| text.repeat(times);
    let lines = |line: &str| many(line, 60_000);
    vec![
        ("link", "#v=1&tokens_total=1e400&price_per_gpu_hour=-0&seq_len=".into()),
        ("link", "#v=1&tp=%00&pp=%FF&%00=%FF&gpus=%E2%80%AE46&cp=\u{200f}1".into()),
        ("link", "#v=1&tp=4&tp=x&tp=8&v=1&v=x&b.v=1&b.v=&b.b.tp=2&b.=&b.view.page=x".into()),
        (
            "link",
            "#v=1&b.tp=7&b.model.layers=&b.model=&b.gpu.base=x&b.stage_layers=,&b.schedule_options.order=%7C".into(),
        ),
        (
            "link",
            "#v=1&view.=&view.embed=%00&view.theme=<&view.compare=__proto__&view.page=import &view.lang=toString"
                .into(),
        ),
        ("link", format!("#v=1&stage_layers={}", many(",", 1_000_000))),
        ("link", format!("#v=1&stage_layers={}", many("1,", 1_000_000))),
        ("link", format!("#v=1&tp={}", many("9", 1_000_000))),
        ("link", format!("#v=1&overlap.dp=0.{}", many("3", 1_000_000))),
        ("link", format!("#v=1&gpus={}", many("2*", 500_000))),
        ("link", format!("#v=1&{}", many("&=&", 500_000))),
        ("link", format!("#v=1&{}", many("b.x=1&", 500_000))),
        ("JSON run", format!("{{{}\"tp\":2}}", many("\"x\":1,", 200_000))),
        ("JSON run", format!("{{\"model\":{}1{}}}", many("{\"base\":", 120), many("}", 120))),
        ("JSON run", format!("{{\"stage_layers\":[{}1]}}", many("1,", 1_000_000))),
        ("JSON run", "{\"gpus\":1e999}".into()),
        (
            "config.json",
            r#"{"architectures":["LlamaForCausalLM"],"hidden_size":64,"intermediate_size":64,"num_attention_heads":0,
            "num_hidden_layers":2,"vocab_size":64}"#
                .into(),
        ),
        (
            "config.json",
            r#"{"model_type":" ","hidden_size":64,"intermediate_size":64,"num_attention_heads":4,"num_hidden_layers":2,
            "vocab_size":64}"#
                .into(),
        ),
        (
            "launch file",
            "torchrun x --tensor-model-parallel-size 2 --recompute-granularity selective --recompute-modules mla_u_proj"
                .into(),
        ),
        ("export", many("[", 300_000)),
        ("export", many("{\"a\":", 60_000)),
        ("export", format!("parallelism:\n  tp: {}a: 1", many("- ", 150_000))),
        ("export", format!("parallelism:\n{}a: 1", many("- ", 190_000))),
        ("export", (0..800).fold("parallelism:\n".to_owned(), |text, at| format!("{text}{}a:\n", many(" ", at)))),
        ("export", format!("[parallelism]\na = [\n{}", lines("1,\n"))),
        ("export", format!("[parallelism]\n{}", lines("a=1\n"))),
        ("export", format!("V='$V --x'\n{} --tensor-model-parallel-size 2", lines("$V "))),
        ("export", format!("A=aaaaaaaa\n{} --tensor-model-parallel-size $A", many("A=$A$A$A$A\n", 1000))),
        ("export", format!("--tensor-model-parallel-size {}", lines("1 "))),
        ("export", format!("{}--tensor-model-parallel-size 2", many("'\\\"", 90_000))),
        ("config.json", format!("{{\"model_type\":\"llama\",\"layer_types\":[{}1]}}", many("1,", 150_000))),
        ("panels", FEW_PATCHES.into()),
        // A quote became a dot and a space, which sources a file in a script.
        ("config.json", "{\"model_type\":\"llama\",`. rope_theta\":500000.0,\"vocab_size\":128256}".into()),
        ("config.json", LISTS.replace("LIST", "layer_types")),
        ("config.json", LISTS.replace("LIST", "compress_ratios")),
        ("launch file", many("---\nx: null\nx.y: 1\n", 15_000)),
        ("launch file", format!("{}policy:\n  dtensor_cfg:\n    tensor_parallel_size: 2\n", many("---\n", 90_000))),
        ("launch file", format!("{}--tensor-model-parallel-size 2", many("case $X in\n a)\n", 20_000))),
        ("launch file", format!("X={} --tensor-model-parallel-size $X", many("$((1+", 30))),
        // Found at random: the count stands in no argument, so its message names the field of the GPUs.
        ("launch file", "NGPU=18014398509481984 MODULE=qwen3 CONFIG=qwen3_30b_a3b ./run_train.sh --metrics.log_freq 1".into()),
        // Likewise: the width of an indexer's head was multiplied before anything looked at its size.
        ("launch file", too_wide("--dsa-indexer-head-dim", "--dsa-indexer-n-heads 4 --dsa-indexer-topk 8")),
        ("launch file", too_wide("--dsa-indexer-n-heads", "--dsa-indexer-head-dim 4 --dsa-indexer-topk 8")),
        ("launch file", format!("{}--tensor-model-parallel-size 2", many("if true; then ", 20_000))),
        ("launch file", format!("{}--tensor-model-parallel-size 2", many("f() { ", 20_000))),
        ("launch file", format!("{} torchrun x --tensor-model-parallel-size 2", many("x\n", 190_000))),
        ("launch file", format!("{}torchrun x --tensor-model-parallel-size 2", many("\n", 1_000_000))),
        ("launch file", "torchrun x --tensor-model-parallel-size \"2\n--seq-length 4096".into()),
        ("launch file", "while true; do torchrun x --tensor-model-parallel-size 2; done".into()),
        ("launch file", "f() { f; torchrun x --tensor-model-parallel-size 2; f; }; f".into()),
        (
            "launch file",
            format!("{}torchrun x --tensor-model-parallel-size 2", many("if [ $A ]; then B=1; fi\n", 9000)),
        ),
        ("launch file", format!("X=9\n{} --num-layers $X --tensor-model-parallel-size 2", many("X=$((X*X))\n", 500))),
        (
            "launch file",
            format!("{{\"model_type\":\"hunyuan_v1_moe\",\"moe_topk\":[{}8]}}\n---\na: 1", many("8,", 90_000)),
        ),
        (
            "log",
            "10/17/2025 16:31:56 [INFO|DP=0|PP=0|TP=0]: iteration: 327281 / 378950 | consumed_tokens: 85.8G \
             | elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec: 22.8K | tokens_per_sec_per_gpu: 11.4K | global_batch_size: 9999999G \
             | lm_loss: 2.38 | lr: 1e-05 | model_tflops_per_gpu: 38.3 | hardware_tflops_per_gpu: 38.3 | grad_norm: 1.25"
                .into(),
        ),
        ("own order", many("0F0,", 500_000)),
        ("own order", many("|\n", 500_000)),
        ("own order", many("(", 1_000_000)),
        ("own order", (0..20_000).map(|at| format!("0F{at}")).collect::<Vec<_>>().join(",")),
        ("schedule request", format!("{{\"schedule\":\"custom\",\"order\":[{}[]]}}", many("[],", 300_000))),
        (
            "plan request",
            format!("{{\"space\":{{\"tp\":[{}1]}},\"pin\":[{}\"tp\"]}}", many("1,", 100_000), many("\"tp\",", 1000)),
        ),
    ]
}

#[test]
fn known_hostile_inputs_break_no_entry() {
    let broken: Vec<String> = hostile_inputs()
        .iter()
        .filter_map(|(name, text)| {
            let entry = ENTRIES.iter().find(|entry| entry.name == *name).unwrap();
            let why = (entry.ask)(text).err()?;
            Some(format!("{name}: {why:.3000}\n{text:.100}"))
        })
        .collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n\n"));
}

/// Settings of every file of the readers of programs, one at a time with a value that it cannot have: what is refused
/// says why, what is taken makes a Run that is sound.
#[test]
fn no_setting_of_a_launch_file_takes_what_it_cannot_have() {
    let bad =
        ["1e15", "-1", "0", "[1, [2, x]]", "{a: {b: 1}}", "\u{1F980}", "''", "0.5", "1073741824", "'8'", "yes", "~"];
    let mut broken = Vec::new();
    for (at, text) in launch_files().iter().enumerate() {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let ends = line.find(": ").map(|end| end + 2).or_else(|| line.find('=').map(|end| end + 1));
            let Some(end) = ends.filter(|_| !line.trim_start().starts_with('#')) else { continue };
            // Every third line with one of the values: all files together meet all.
            if number % 3 != at % 3 {
                continue;
            }
            let value = bad[(at + number) % bad.len()];
            let behind = if line.ends_with('\\') { " \\" } else { "" };
            let changed = format!("{}{value}{behind}", &line[..end]);
            let mut all = lines.clone();
            all[number] = &changed;
            if let Err(why) = imported(&all.join("\n"), any_format) {
                broken.push(format!("{changed}: {why:.500}"));
            }
        }
    }
    assert!(broken.is_empty(), "{} of them\n{}", broken.len(), broken.join("\n"));
}

fn link(text: &str) -> Result<bool, String> {
    let read = decode(text);
    issues(text, &read.notices)?;
    comes_back(&read.run)?;
    if let Some(second) = &read.view.second {
        comes_back(second)?;
        sound(text, second)?;
        let again = decode(&encode_with(&read.run, &read.view));
        same(&again.view, &read.view, "beside")?;
        same(&again.notices, &Vec::new(), "beside")?;
    }
    sound(text, &read.run).map(|evaluation| evaluation.is_some())
}

fn json_run(text: &str) -> Result<bool, String> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Ok(false);
    };
    match Run::from_value(&value) {
        Err(no) => refusal(text, &no),
        Ok(run) => {
            comes_back(&run)?;
            let Some(evaluation) = sound(text, &run)? else {
                return Ok(false);
            };
            let mut entry = report_value(&value).map_err(|_| "the entry refuses what is sound")?;
            // Made for an answer only.
            finite(text, &entry.uneven.take().map_or_else(Vec::new, |uneven| uneven.splits))?;
            let step = &mut entry.step;
            if let (Some(ranks), Some(kernels), Some(bubble)) =
                (step.by_rank.take(), step.kernels.take(), step.bubble.take())
            {
                finite(text, &(ranks, kernels, bubble))?;
            }
            same(&entry, &evaluation.report, "report")?;
            Ok(true)
        }
    }
}

/// A Run, and what is said of it before it is taken.
type Said = (Run, String);

/// A file of another program, read by `read` into the Run that the page would take.
fn imported(text: &str, read: fn(&str) -> Result<Said, Vec<Issue>>) -> Result<bool, String> {
    match read(text) {
        Err(no) => refusal(text, &no),
        Ok((run, said)) => {
            words(text, &said)?;
            comes_back(&run)?;
            sound(text, &run)?;
            Ok(true)
        }
    }
}

fn any_format(text: &str) -> Result<Said, Vec<Issue>> {
    let present = Run::default();
    let said = summary(text, &present, false).to_html();
    import::read(text, &present).map(|read| (read.run, said))
}

/// The known lines of logs, of two programs together, and the beginnings of a trace and of a snapshot.
fn log_lines() -> Vec<String> {
    let known: Value = serde_json::from_str(include_str!("../../data/log_patterns.json")).unwrap();
    let Value::Map(entries) = known else { panic!("an object of patterns") };
    let mut lines: Vec<String> = Vec::new();
    for (_, entry) in &entries {
        if let Some(Value::List(texts)) = entry.get("lines") {
            let texts = texts.iter().filter_map(|text| match text {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            });
            lines.extend(texts);
        }
    }
    lines.push(lines.join("\n"));
    lines.push(
        r#"{"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm","ts":1,"dur":2e3,"args":{"stream":7}}]}"#.to_owned(),
    );
    lines.push(r#"{"segments":[{"device":0,"total_size":1e10,"allocated_size":5e9}],"device_traces":[[{"action":"alloc","size":3e9}]]}"#.to_owned());
    lines
}

fn log(text: &str) -> Result<bool, String> {
    let reading = match logs::read(text, &Run::default()) {
        // A log has no fields to name.
        Err(no) if no.is_empty() => return Err("refused without a reason".to_owned()),
        Err(no) => return words(text, &no[0].message.to_string()).map(|()| false),
        Ok(reading) => reading,
    };
    for message in reading.notes.iter().chain(&reading.assumed) {
        words(text, &message.to_string())?;
    }
    for (what, how) in &reading.used {
        words(text, &format!("{what}: {how}"))?;
    }
    comes_back(&reading.run)?;
    let Some(observation) = reading.observation("log") else {
        return Ok(false);
    };
    match Observation::from_value(&observation.to_value()) {
        Ok(back) if back == observation => Ok(true),
        Ok(_) => Err("the observation comes back otherwise".to_owned()),
        Err(no) => refusal(text, &no),
    }
}

/// Settings that the calculator itself writes for other programs, of a dense and of a routed model.
fn exports() -> Vec<String> {
    let routed = decode("#v=1&model=mixtral-8x7b&ep=8&tp=1").run;
    let runs = [Run::default(), routed];
    let stamp = Stamp::default();
    let written = runs.iter().flat_map(|run| {
        let formats = FORMATS.iter();
        formats.filter_map(move |format| export(run, format.id, &stamp).ok())
    });
    written.collect()
}

/// Settings of other programs as their own examples have them.
fn launch_files() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/launch");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end != "txt")).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

fn own_order(text: &str) -> Result<bool, String> {
    let tokens = match torch_csv::to_tokens(text) {
        Err(bad) => return words(text, &bad.message().to_string()).map(|()| false),
        Ok(tokens) => tokens,
    };
    let again = torch_csv::to_tokens(&tokens).map_err(|bad| format!("not its own: {}", bad.message()))?;
    same(&again, &tokens, "tokens")?;
    let request = Value::Map(vec![
        ("schedule".to_owned(), Value::Text("custom".to_owned())),
        ("order".to_owned(), Value::Text(tokens.clone())),
    ]);
    let mut run = Run { schedule: Schedule::Custom, ..Run::default() };
    let order = Value::Text(tokens.replace('\n', "|"));
    if let Err(why) = run.assign("schedule_options.order", &order) {
        return words(text, &why.to_string()).map(|()| false);
    }
    comes_back(&run)?;
    sound(text, &run)?;
    answer(text, pipeline::request::answer(&request))
}

fn schedule_request(text: &str) -> Result<bool, String> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Ok(false);
    };
    let size = |key| match value.get(key) {
        Some(Value::Number(number)) => *number,
        _ => 8.0,
    };
    let factors = ["pp", "microbatches", "virtual_stages", "waves", "splits"];
    let ops = factors.map(size).iter().product::<f64>();
    // Between these it would only take long; far above it has to be refused at once.
    if ops > 3.0 * FEW_OPS as f64 && ops < 1e9 {
        return Ok(false);
    }
    answer(text, pipeline::request::answer(&value))
}

fn plan_request(text: &str) -> Result<bool, String> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Ok(false);
    };
    match PlanRequest::from_value(&value) {
        Err(no) => refusal(text, &no),
        Ok(mut request) => {
            issues(text, &request.warnings)?;
            request.search.step(20);
            let plan = serde_json::to_string(&request.plan()).map_err(|no| no.to_string())?;
            words(text, &plan)?;
            Ok(true)
        }
    }
}

/// A link, then the name of a page of the dialog: a line each. The number of letters chooses the panel.
fn every_panel(text: &str) -> Result<bool, String> {
    let (link, page) = text.split_once('\n').unwrap_or((text, ""));
    let run = decode(link).run;
    let Some(evaluation) = sound(link, &run)? else {
        return Ok(false);
    };
    let panel = Panel::ALL[text.len() % Panel::ALL.len()];
    let views = [
        panel.view(&evaluation, MemoryUnit::Gib),
        panel.view(&evaluation, MemoryUnit::Gb),
        content(named(page), &run, &Stamp::default()),
    ];
    for view in views {
        let html = view.to_html();
        words(text, &html).map_err(|why| format!("{panel:?} or {page}: {why}"))?;
        if html.contains("<script") {
            return Err(format!("{panel:?} or {page} shows markup from outside"));
        }
    }
    Ok(true)
}

/// The evaluation of a Run that is quick to simulate; none where it is refused or long.
fn sound(text: &str, run: &Run) -> Result<Option<Evaluation>, String> {
    // An order of one's own is as long as it was typed.
    if run.schedule != Schedule::Custom && work(run).is_some_and(|ops| ops > FEW_OPS) {
        return Ok(None);
    }
    match evaluate(run) {
        Err(no) => refusal(text, &no).map(|_| None),
        Ok(evaluation) => {
            issues(text, evaluation.warnings())?;
            finite(text, &evaluation.report)?;
            Ok(Some(evaluation))
        }
    }
}

/// Link and object of `run` mean `run`.
fn comes_back(run: &Run) -> Result<(), String> {
    let link = encode(run);
    let read = decode(&format!("https://example.org/x#{link}"));
    if !read.notices.is_empty() {
        return Err(format!("{link} is read with {:?}", read.notices));
    }
    same(&read.run, run, "link")?;
    same(&encode(&read.run), &link, "written again")?;
    let object = Run::from_value(&run.to_value()).map_err(|no| format!("object: {no:?}"))?;
    same(&object, run, "object")
}

fn same<T: PartialEq + std::fmt::Debug>(got: &T, wanted: &T, what: &str) -> Result<(), String> {
    if got == wanted {
        return Ok(());
    }
    Err(format!("{what}: {got:?} is not {wanted:?}"))
}

fn answer<T: Serialize>(text: &str, answer: Result<T, Vec<Issue>>) -> Result<bool, String> {
    match answer {
        Ok(answer) => finite(text, &answer).map(|()| true),
        Err(no) => refusal(text, &no),
    }
}

/// No number is NaN or infinite: JSON has neither, and writes null instead. Two figures are null where there is none:
/// the ratio of messages without compute beside them, and the speed of messages that take no time.
fn finite<T: Serialize>(text: &str, answer: &T) -> Result<(), String> {
    let json = serde_json::to_string(answer).map_err(|error| error.to_string())?;
    let json = json.replace("\"ratio\":null", "").replace("\"reached_bytes_per_s\":null", "");
    match json.find("null") {
        Some(at) => Err(format!("not finite: {}", &json[at.saturating_sub(80)..at])),
        None => words(text, &json),
    }
}

fn refusal(text: &str, no: &[Issue]) -> Result<bool, String> {
    if no.is_empty() {
        return Err("refused without a reason".to_owned());
    }
    issues(text, no).map(|()| false)
}

/// Every issue says something, and names a field that is one or that was asked for.
fn issues(text: &str, all: &[Issue]) -> Result<(), String> {
    for issue in all {
        let message = issue.message.to_string();
        words(text, &message)?;
        if message.is_empty() || message.len() > 2000 {
            return Err(format!("an unreadable message: {issue:?}"));
        }
        let asked = || text.contains(issue.field.as_str()) || text.contains('%');
        let object = text.trim_start().starts_with('{');
        // A text that is not read at all has no field to name.
        let unread = ["not JSON", "not read", "none of"].iter().any(|words| message.contains(words));
        let named = match issue.field.as_str() {
            // A key that is empty is told as it was written.
            "" => !object || unread || text.contains("\"\"") || text.contains('='),
            "v" | "microbatches" | "pp" | "order" | "stage_scale" => true,
            // What no field can be called is told in quotes and cut; one that is escaped takes up to ten letters a
            // character.
            key if key.starts_with('"') => key.len() <= 2 + 80 * 10,
            key => field(key).is_some() || asked() || key.contains('.') || object,
        };
        if !named {
            return Err(format!("names no field: {issue:?}"));
        }
        if let Some(fix) = &issue.fix {
            for (key, value) in &fix.set {
                // The schedule entry has names of its own.
                if let Some(field) = field(key)
                    && let Err(why) = field.parse(value)
                    && !value.is_empty()
                {
                    return Err(format!("a fix that cannot be set: {key}={value}: {why}"));
                }
            }
        }
    }
    Ok(())
}

/// Nothing shown is NaN or infinite, unless it was typed.
fn words(text: &str, shown: &str) -> Result<(), String> {
    let bad = |word: &str| matches!(word, "NaN" | "inf" | "Infinity") && !text.contains(word);
    let mut words = shown.split(|c: char| !c.is_alphanumeric());
    let Some(word) = words.find(|word| bad(word)) else {
        return Ok(());
    };
    let around = shown.split(word).next().unwrap_or_default();
    let before: Vec<char> = around.chars().rev().take(200).collect();
    let before: String = before.into_iter().rev().collect();
    Err(format!("shows {word} behind {before}"))
}
