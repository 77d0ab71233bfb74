//! What exported files say of the run that they are made from: that it does not fit, what they leave out, what they
//! would train instead.

use crate::common::random::{Random, random_run};
use shardscope::core::advice::fit::shown;
use shardscope::core::report::report;
use shardscope::core::run::registry::{FIELDS, plain};
use shardscope::core::run::{Based, Run, Value};
use shardscope::io::dialect::DIALECTS;
use shardscope::io::export::menu::menu;
use shardscope::io::export::{FORMATS, Stamp, export};
use shardscope::io::import::read;
use shardscope::io::link::{decode, encode};
use shardscope::io::pasted::{PastedKind, pasted};
use shardscope::view::node::markup::Node;

/// Qwen2.5-72B on the page as it opens: far above the memory of its GPUs.
fn unfit() -> Run {
    Run { model: Based::preset("qwen-2.5-72b"), ..Run::default() }
}

/// Formats with a place for words: an order is cells alone, and the JSON has the verdict as a field.
fn worded() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.id).filter(|id| !["order", "order-table", "json"].contains(id))
}

fn dialog(run: &Run, id: &str) -> String {
    let node: Node = menu(run, id, &Stamp::default());
    node.to_html()
}

/// The figures are those of the report, in GiB of 2^30 bytes with one decimal.
#[test]
fn a_run_that_does_not_fit_says_so_in_every_file_and_dialog() {
    let run = unfit();
    let memory = report(&run).unwrap().memory;
    let gib = |bytes: f64| format!("{:.1}", bytes / f64::from(1 << 30));
    let (need, capacity) = (gib(memory.peak_bytes.0), gib(memory.capacity_bytes.0));
    let sentence = format!("Out of memory on this page: needs {need} of {capacity} GiB.");
    for id in worded() {
        let text = export(&run, id, &Stamp::default()).unwrap();
        assert!(text.lines().take(12).any(|line| line.contains(&sentence)), "{id}: {sentence}\n{text}");
        let html = dialog(&run, id);
        assert!(html.contains("Out of memory on this page"), "{id}: {html}");
        let fits = export(&Run::default(), id, &Stamp::default()).unwrap();
        assert!(!fits.contains("Out of memory"), "{id}: {fits}");
    }
    assert!(!dialog(&Run::default(), "csv").contains("Out of memory"));
}

/// The sentence is an estimate of this page: no paste takes a file with it for the message of an allocator.
#[test]
fn a_file_that_says_that_it_does_not_fit_is_still_a_file_of_settings() {
    let run = unfit();
    for id in DIALECTS.iter().map(|dialect| dialect.id).filter(|id| *id != "peft") {
        let text = export(&run, id, &Stamp::default()).unwrap();
        assert_eq!(pasted(&text), Some(PastedKind::Settings), "{id}: {text}");
    }
}

/// What another program would train is not written: the formats that are named are those that write it.
#[test]
fn settings_that_would_train_something_else_are_refused() {
    let link = "v=1&model=llama-3.1-70b&gpu=l40s&gpus=1&tp=1&pp=1&recompute=full&adapter.method=";
    for method in ["lora", "qlora", "dora"] {
        let run = decode(&format!("{link}{method}")).run;
        let is_file = |id: &str| !["deepspeed", "accelerate", "peft"].contains(&id);
        let (mut written, mut refused) = (Vec::new(), Vec::new());
        for dialect in DIALECTS.iter().filter(|dialect| is_file(dialect.id)) {
            match export(&run, dialect.id, &Stamp::default()) {
                Ok(text) => {
                    let back = read(&bare(&text), &Run { gpus: 1, ..Run::default() }).unwrap().run;
                    assert_eq!(back.adapter.method, run.adapter.method, "{}: {text}", dialect.id);
                    written.push(dialect.name);
                }
                Err(issues) => refused.push((dialect.id, issues[0].message.to_string())),
            }
        }
        assert!(written.contains(&"axolotl") && !written.contains(&"Megatron-LM"), "{method}: {written:?}");
        assert!(refused.iter().any(|(id, _)| *id == "megatron"), "{refused:?}");
        for (id, words) in refused {
            assert!(words.ends_with(&written.join(", ")), "{words}; written: {written:?}");
            let html = dialog(&run, id);
            assert!(html.contains("would train something else") && !html.contains("Save"), "{html}");
        }
    }
    // Pairs of answers: the command of TRL names the objective, a script of Megatron-LM pretrains.
    let pairs = decode("v=1&model=llama-3.1-8b&gpus=8&tp=1&pp=1&stack=hf-trainer&objective=dpo").run;
    assert!(export(&pairs, "megatron", &Stamp::default()).is_err());
    assert!(export(&pairs, "trl", &Stamp::default()).unwrap().contains("trl dpo --config"));
}

/// DeepSeek-V3 and Mixtral have experts. nanotron's `LlamaConfig` and `Qwen2Config` have none, and torchtune no builder
/// of either: no file of theirs stands for them, and the formats that are named have the model.
#[test]
fn settings_that_would_launch_another_model_are_refused() {
    for (model, layout) in [
        ("deepseek-v3", "gpus=2048&tp=1&pp=16&ep=64&global_batch=15360"),
        ("mixtral-8x7b", "gpus=64&tp=1&pp=1&ep=8&zero=1"),
    ] {
        let run = decode(&format!("v=1&model={model}&{layout}&stack=nanotron")).run;
        for id in ["nanotron", "torchtune"] {
            let issues = export(&run, id, &Stamp::default()).unwrap_err();
            let words = issues[0].message.to_string();
            assert_eq!(issues[0].field, "model", "{words}");
            assert!(words.contains("would train something else") && words.contains("Megatron-LM"), "{words}");
            let (_, formats) = words.split_once("formats that say it: ").unwrap();
            for dialect in DIALECTS.iter().filter(|dialect| formats.contains(dialect.name)) {
                let text = export(&run, dialect.id, &Stamp::default()).unwrap();
                let back = read(&bare(&text), &Run::default()).unwrap().run;
                assert_eq!(back.model.resolve(), run.model.resolve(), "{}: {text}", dialect.name);
            }
            let html = dialog(&run, id);
            assert!(html.contains("would train something else") && !html.contains("Save"), "{html}");
        }
    }
    // A dense model of its own sizes is one of nanotron's.
    let own = decode("v=1&model=llama-3.1-8b&model.layers=24&gpus=8&tp=1&pp=1&stack=nanotron").run;
    assert!(export(&own, "nanotron", &Stamp::default()).is_ok());
}

/// No program's settings name a GPU: one answer for every GPU, also for the one that the page opens with.
#[test]
fn every_gpu_is_said_to_be_none_of_the_settings() {
    for gpu in ["h100-sxm-80gb", "h200-sxm-141gb", "a100-sxm-80gb", "l40s", "b200-sxm"] {
        let run = decode(&format!("v=1&gpu={gpu}&gpus=8&tp=1&pp=1&adapter.method=lora&stack=hf-trainer")).run;
        for id in ["axolotl", "llama-factory", "trl", "deepspeed", "accelerate", "torchtune", "peft"] {
            let text = export(&run, id, &Stamp::default()).unwrap();
            let lines: Vec<&str> = text.lines().filter(|line| line.contains("  GPU: ")).collect();
            assert_eq!(lines.len(), 1, "{gpu} {id}: {text}");
            assert!(text.contains("Not expressible in ") && !text.contains("All settings map"), "{text}");
            let is_default = run.gpu == Run::default().gpu;
            assert_eq!(lines[0].contains("(left at the calculator's default)"), is_default, "{gpu} {id}: {text}");
        }
    }
}

/// The text without its comments: the settings alone.
fn bare(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).flat_map(|line| [line, "\n"]).collect()
}

/// Precision and GPUs of a fine-tuning: PEFT's adapters have fp32 gradients whatever the frozen base would have, and
/// the command says one process.
#[test]
fn the_account_of_a_fine_tuning_has_no_loss_that_is_none() {
    let link = "v=1&model=llama-3.1-70b&gpu=l40s&gpus=1&tp=1&pp=1&adapter.method=qlora&recompute=full&zero=0\
        &seq_len=256&stack=hf-trainer";
    let run = decode(link).run;
    let text = export(&run, "trl", &Stamp::default()).unwrap();
    for label in ["GPUs:", "Global batch:", "Precision:"] {
        assert!(!text.contains(&format!("  {label}")), "{label} {text}");
    }
    assert!(text.contains("--num_processes 1"), "{text}");
    let bf16 = decode(&format!("{link}&precision=bf16")).run;
    let figures = |run: &Run| report(run).map(|report| (report.memory.peak_bytes, report.step.time_s)).unwrap();
    assert_eq!(figures(&run), figures(&bf16));
}

/// What the account says that the settings do is what an import of them reads on the same GPUs.
#[test]
fn what_an_account_says_that_settings_do_is_what_an_import_reads() {
    let mut random = Random::new(30_112_026);
    let (mut compared, mut wrong) = (0, Vec::new());
    for _ in 0..400 {
        let run = random_run(&mut random);
        for dialect in DIALECTS {
            let Ok(text) = export(&run, dialect.id, &Stamp::default()) else { continue };
            let said: Vec<(&str, &str)> = text
                .lines()
                .filter_map(|line| {
                    let (label, rest) = line.trim_start_matches([' ', '#', '"']).split_once(": ")?;
                    let (_, done) = rest.split_once("(left at the calculator's default; these settings do: ")?;
                    Some((label, done.trim_end_matches(['"', ',']).strip_suffix(')')?))
                })
                .collect();
            let settings = if dialect.file.ends_with("json") { without_comments(&text) } else { bare(&text) };
            let present = Run { gpus: run.gpus, gpus_per_node: run.gpus_per_node, ..Run::default() };
            let Ok(read) = read(&settings, &present) else { continue };
            // Settings of the run's own program are launched by its release, which they do not name.
            if !text.contains("  Software: ") && read.run.stack != run.stack {
                continue;
            }
            let back = read.run.resolved();
            for (label, done) in said {
                let is_read = FIELDS.iter().filter(|field| field.label == label).any(|field| {
                    plain(&field.get(&back)).is_some_and(|value| shown(field, &value).to_string() == done)
                });
                compared += 1;
                if !is_read {
                    wrong.push(format!("{}: {label}: {done}: {}", dialect.id, encode(&run)));
                }
            }
        }
    }
    assert!(compared > 200, "{compared}");
    assert!(wrong.is_empty(), "{} of {compared}: {}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}

/// JSON with its comments left out.
fn without_comments(text: &str) -> String {
    let Ok(Value::Map(entries)) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let entries = entries.into_iter().filter(|(key, _)| !key.contains("comment")).collect();
    serde_json::to_string(&Value::Map(entries)).unwrap()
}

/// DeepSpeed asserts a ZeRO stage of at most 2 beside `tensor_parallel` up to 0.19.3 (`runtime/engine.py`).
#[test]
fn tensor_parallelism_under_zero_3_names_the_release_that_takes_it() {
    for (sizes, needs) in [("tp=2&zero=3", true), ("tp=2&zero=2", false), ("tp=1&zero=3", false)] {
        let run = decode(&format!("v=1&model=llama-3.1-8b&gpus=64&pp=1&stack=deepspeed&{sizes}")).run;
        let text = export(&run, "deepspeed", &Stamp::default()).unwrap();
        assert_eq!(text.contains("needs DeepSpeed 0.19.4"), needs, "{sizes}: {text}");
    }
}

/// Megatron-LM: a layout of stages is an argument since core 0.13, the layers of the ends since 0.9
/// (`megatron/training/arguments.py`).
#[test]
fn stages_are_said_in_the_words_of_the_release() {
    let base = "v=1&model=llama-3.1-8b&gpus=64&tp=2&pp=4&stack=";
    for (stack, stages, says, needs) in [
        ("megatron-2024", "7,9,9,7", "--decoder-first-pipeline-num-layers 7", "needs Megatron Core 0.9"),
        ("megatron-2024", "8,8,9,7", "--pipeline-model-parallel-layout", "needs Megatron Core 0.13"),
        ("megatron-2025", "7,9,9,7", "--pipeline-model-parallel-layout", "needs Megatron Core 0.13"),
        ("megatron-2026", "7,9,9,7", "--pipeline-model-parallel-layout", ""),
        ("megatron-2024", "8,8,8,8", "--pipeline-model-parallel-size 4", ""),
    ] {
        let run = decode(&format!("{base}{stack}&stage_layers={stages}")).run;
        let text = export(&run, "megatron", &Stamp::default()).unwrap();
        assert!(text.contains(says), "{stack} {stages}: {text}");
        assert_eq!(text.contains("needs Megatron Core"), !needs.is_empty(), "{stack} {stages}: {text}");
        assert!(text.contains(needs), "{stack} {stages}: {text}");
        let layers = |run: &Run| shardscope::core::run::Scenario::new(run).unwrap().stage_layers;
        assert_eq!(layers(&read(&bare(&text), &Run::default()).unwrap().run), layers(&run), "{text}");
    }
}
