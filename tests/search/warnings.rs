//! Warnings that say what the figures beside them say.

use crate::common::random::{Random, random_run};
use crate::common::table;
use shardscope::core::advice::answer;
use shardscope::core::diagnose::remedies;
use shardscope::core::field::Slot;
use shardscope::core::issue::{Issue, Severity};
use shardscope::core::report::{Report, SplitOrigin, evaluate};
use shardscope::core::run::presets::{PUBLISHED, STACKS};
use shardscope::core::run::registry::{FIELDS, field};
use shardscope::core::run::{Run, Value};
use shardscope::core::search::better::Gain;
use shardscope::core::search::can_run;
use shardscope::core::search::session::{PlanQuery, PlanSession};
use shardscope::core::traffic::Traffic;
use shardscope::io::link::decode;
use std::collections::BTreeSet;

fn report(json: &str) -> Report {
    let value: Value = serde_json::from_str(json).unwrap();
    evaluate(&Run::from_value(&value).unwrap()).unwrap().report
}

/// A report that warns of communication in every micro-batch sends as many times what it sends in a step with one.
#[test]
fn a_warning_of_every_micro_batch_goes_with_as_much_traffic() {
    for stack in ["megatron-2025", "fsdp2", "torchtitan", "deepspeed"] {
        for zero in [2, 3] {
            let at = |batch: u64| {
                report(&format!(
                    r#"{{"stack":"{stack}","zero":{zero},"pp":4,"tp":2,"gpus":64,"global_batch":{batch}}}"#
                ))
            };
            let gradients = |report: &Report| {
                let rows = report.overlap.iter().filter(|row| row.traffic == Traffic::Dp);
                rows.map(|row| row.bytes_per_gpu.0).sum::<f64>()
            };
            let (few, many) = (at(64), at(256));
            let warns = many.warnings.iter().any(|issue| ["zero", "zero2_reduce"].contains(&issue.field.as_str()));
            assert_eq!(warns, gradients(&many) > 1.5 * gradients(&few), "{stack} ZeRO-{zero}");
        }
    }
}

/// PyTorch's `Schedule1F1B` wants m >= p: 4 micro-batches over 256 replicas, and both warnings of the batch offer it.
#[test]
fn two_warnings_of_one_field_offer_one_fix() {
    let run = decode("v=1&model=llama-3.1-405b&gpus=2048").run;
    let evaluation = evaluate(&run).unwrap();
    let batch = evaluation.warnings().iter().filter(|issue| issue.field == "global_batch");
    let fixes: Vec<_> = batch.map(|issue| issue.fix.clone().unwrap().set).collect();
    assert_eq!(fixes, [[("global_batch", "1024".to_owned())], [("global_batch", "1024".to_owned())]]);
}

/// One GPU is the wish of who enters one: the sizes follow, and more GPUs are the other way out.
#[test]
fn fewer_gpus_than_ranks_shrink_the_sizes() {
    for (link, sizes, gpus) in [
        ("gpus=1", vec![("tp", "1"), ("pp", "1")], "8"),
        ("gpus=64&tp=32&cp=2", vec![("pp", "1")], "256"),
        ("gpus=6&tp=2&pp=4&global_batch=48", vec![("pp", "1")], "8"),
    ] {
        let errors = evaluate(&decode(&format!("v=1&{link}")).run).unwrap_err();
        let issue = errors.iter().find(|issue| issue.field == "gpus").unwrap();
        let set: Vec<_> = issue.fix.as_ref().unwrap().set.iter().map(|(key, value)| (*key, value.as_str())).collect();
        assert_eq!(set, sizes, "{link}");
        assert_eq!(issue.or.as_ref().unwrap().set, [("gpus", gpus.to_owned())], "{link}");
    }
}

/// Uneven-PP note, its second case: the rule gives 10 and 18 layers where the even split has 14 and 14.
#[test]
fn a_report_has_the_splits_of_its_layers() {
    let published = PUBLISHED.iter().find(|run| run.id == "qwen2-vl-even").unwrap();
    let found = answer(&published.run()).unwrap().uneven.unwrap();
    let of = |origin| found.splits.iter().find(|split| split.origins.contains(&origin)).unwrap();
    assert_eq!(of(SplitOrigin::Rule).stage_layers, [10, 18]);
    assert_eq!(of(SplitOrigin::Even).stage_layers, [14, 14]);
    assert_eq!(of(SplitOrigin::Even).against_even, 1.0);
    assert!(found.splits.iter().all(|split| of(SplitOrigin::Best).step_s.0 <= split.step_s.0 * 1.005));
    assert_eq!(found.measured.unwrap().steps_s, [28.3887, 19.6071]);
    assert!(answer(&decode("v=1&pp=1").run).unwrap().uneven.is_none());
}

/// Under 1F1B, 64 equal micro-batches over 4 ranks idle (p - 1)/(m + p - 1) = 4.5 % of the time; a long one among short
/// ones leaves gaps of its own, and is named as the cause.
#[test]
fn unequal_lengths_are_named_where_they_are_the_cause() {
    let lengths: Vec<String> = (0..64).map(|at| if at % 8 == 0 { "30000" } else { "600" }.to_owned()).collect();
    let run = format!(r#"{{"pp":4,"gpus":8,"global_batch":64,"microbatch_lengths":[{}]}}"#, lengths.join(","));
    let report = report(&run);
    assert!(report.pipeline.bubble_fraction > 0.2);
    let bubble = report.warnings.iter().filter(|issue| issue.message.to_string().contains("is bubble"));
    let fields: Vec<&str> = bubble.map(|issue| issue.field.as_str()).collect();
    assert_eq!(fields, ["microbatch_lengths"]);
}

/// 1e15 GPUs are more than any cluster: one error, about what was entered.
#[test]
fn too_many_gpus_are_one_error() {
    let value: Value = serde_json::from_str(r#"{"gpus":1e15}"#).unwrap();
    let issues = Run::from_value(&value).map_or_else(|issues| issues, |run| evaluate(&run).unwrap_err());
    assert_eq!(issues.iter().map(|issue| issue.field.as_str()).collect::<Vec<_>>(), ["gpus"]);
}

/// The default software is of 2023: GPUs of later years are warned of it, with software of their year. Of 48 runs of
/// MLPerf 4.1 to 5.1 on such GPUs, with nothing set but their layout, the median is more than 20 % slow by default,
/// less than 13 % with what is named.
#[test]
fn default_software_older_than_the_gpu_is_warned_of() {
    let warned = |link: &str| {
        let evaluation = evaluate(&decode(link).run).unwrap();
        let stack = evaluation.warnings().iter().find(|issue| issue.field == "stack");
        stack.map(|issue| issue.fix.clone().unwrap().set.remove(0).1)
    };
    let gpus = [
        ("H200-SXM", "h200-sxm-141gb"),
        ("B200", "b200-sxm"),
        ("GB200", "gb200"),
        ("B300", "b300-sxm"),
        ("GB300", "gb300"),
    ];
    for (_, gpu) in gpus {
        let newer = warned(&format!("v=1&gpu={gpu}")).unwrap();
        assert_eq!(warned(&format!("v=1&gpu={gpu}&stack={newer}")), None, "{gpu}");
    }
    for gpu in ["a100-sxm-80gb", "h100-sxm-80gb", "rtx-4090"] {
        assert_eq!(warned(&format!("v=1&gpu={gpu}")), None, "{gpu}");
    }
    let mut errors = [Vec::new(), Vec::new()];
    for row in table("mlperf_training.csv") {
        let find = |text: &str| gpus.iter().filter(|(name, _)| text.contains(name)).max_by_key(|(name, _)| name.len());
        let (Some((_, gpu)), false) = (find(&row["gpu"]), row["tp"].is_empty()) else { continue };
        let number = |key: &str| row[key].parse::<f64>().ok();
        let (batch, steps) = (number("global_batch").unwrap(), number("step_s"));
        let Some(measured) = steps.or_else(|| number("throughput").map(|rate| batch / rate)) else { continue };
        let model = match row["benchmark"].as_str() {
            "llama2_70b_lora" => {
                "llama-2-70b&adapter.method=lora&adapter.rank=16&adapter.targets=q_proj,k_proj,v_proj,o_proj"
            }
            "llama31_405b" => "llama-3.1-405b",
            "llama31_8b" => "llama-3.1-8b",
            _ => continue,
        };
        let or_one = |key: &str| if row[key].is_empty() { "1".to_owned() } else { row[key].clone() };
        let (chunks, precision) = (or_one("vpp"), if row["precision"] == "nvfp4" { "nvfp4" } else { "fp8-current" });
        let schedule = if chunks == "1" { "1f1b" } else { "interleaved-1f1b" };
        let link = format!(
            "v=1&model={model}&gpu={gpu}&gpus={}&tp={}&pp={}&cp={}&virtual_stages={chunks}&schedule={schedule}\
             &seq_len=8192&micro_batch={}&global_batch={batch}&precision={precision}",
            row["gpus"],
            row["tp"],
            row["pp"],
            row["cp"],
            or_one("micro_batch")
        );
        let newer = warned(&format!("v=1&gpu={gpu}")).unwrap();
        for (errors, link) in errors.iter_mut().zip([link.clone(), format!("{link}&stack={newer}")]) {
            errors.push(evaluate(&decode(&link).run).unwrap().report.step.time_s.0 / measured - 1.0);
        }
    }
    let [default, newer] = errors.map(|mut errors| {
        errors.sort_by(f64::total_cmp);
        (errors.len(), errors[errors.len() / 2])
    });
    assert!(default.0 == 48 && default.1 > 0.2 && newer.1.abs() < 0.13, "{default:?} {newer:?}");
}

/// NVIDIA/Megatron-LM issue 554: adapters are NeMo's. Software that trains none says so at the field, and the software
/// that is offered trains them.
#[test]
fn adapters_that_the_software_has_not_are_warned_of() {
    let warned = |run: &Run| {
        let warnings = evaluate(run).unwrap().warnings().to_vec();
        warnings.into_iter().find(|issue| issue.field == "adapter.method")
    };
    for stack in ["megatron-2021", "megatron-2024", "nanotron", "deepseek-v3"] {
        for (sizes, other) in [("gpus=8&tp=1&pp=1", "hf-trainer"), ("gpus=16&tp=2&pp=2", "megatron-2025")] {
            let link = format!("v=1&model=llama-3.1-8b&{sizes}&adapter.method=lora&stack={stack}");
            let run = decode(&link).run;
            let issue = warned(&run).unwrap_or_else(|| panic!("{link}"));
            let fix = issue.fix.unwrap();
            assert_eq!(fix.set, [("stack", other.to_owned())], "{link}");
            let mended = run.with_texts(&fix.set).unwrap();
            assert!(warned(&mended).is_none() && shardscope::core::search::can_run(&mended), "{link}");
        }
    }
    for stack in ["hf-trainer", "torchtune", "deepspeed", "fsdp2", "nemo-2024", "megatron-2025"] {
        let run = decode(&format!("v=1&gpus=8&tp=1&pp=1&adapter.method=lora&stack={stack}")).run;
        assert!(warned(&run).is_none(), "{stack}");
    }
}

/// What the page says that the software does not run has a warning with the run's own figures: no layout is silently
/// another program's.
#[test]
fn a_run_that_its_software_does_not_run_has_a_warning() {
    let stacks: Vec<&str> = STACKS.iter().map(|stack| stack.choice.id).collect();
    let mut random = Random::new(4902);
    let (mut tried, mut unable, mut silent) = (0, 0, Vec::new());
    while tried < 1500 {
        let run = random_run(&mut random).with_texts(&[("stack", random.one(&stacks))]).unwrap();
        let Ok(own) = evaluate(&run) else { continue };
        tried += 1;
        if can_run(&run) {
            continue;
        }
        unable += 1;
        // Of micro-batches, weight shards and GPUs the schedule's, the field's and the software's own warnings say it.
        let said = [
            "the figures assume software",
            "PyTorch raises",
            "Megatron-LM raises",
            "Megatron-LM refuses",
            "trains on AMD's GPUs",
        ];
        let words: Vec<String> = own.warnings().iter().map(|issue| issue.message.to_string()).collect();
        if !words.iter().any(|words| said.iter().any(|said| words.contains(said))) {
            silent.push(format!("{} {words:?}", serde_json::to_string(&run).unwrap()));
        }
    }
    assert!(unable > 300, "{unable}");
    assert!(silent.is_empty(), "{} of {unable}: {:.2000}", silent.len(), silent.join("\n"));
}

/// No sentence has the id of a choice whose name on the page differs. Ids without a hyphen are words and numbers of
/// sentences ("full", "ring", "2"), and settings that a link writes ("zero=1") are quoted as they are.
#[test]
fn no_message_has_the_id_of_a_choice_in_place_of_its_name() {
    let options = FIELDS.iter().flat_map(|field| match &field.slot {
        Slot::Choice { options, .. } | Slot::Set { options, .. } => options(),
        _ => Vec::new(),
    });
    let is_word = |id: &str| !id.contains('-');
    let ids: BTreeSet<&str> = options
        .filter(|option| !is_word(option.id) && !option.label.to_lowercase().contains(&option.id.to_lowercase()))
        .map(|option| option.id)
        .collect();
    assert!(ids.len() > 60, "{ids:?}");
    let all = |key: &str| match &field(key).unwrap().slot {
        Slot::Choice { options, .. } => options().into_iter().map(|option| option.id).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let [stacks, gpus, precisions] = ["stack", "gpu", "precision"].map(all);
    let kernels = ["", "flash-2", "flash-3", "flash-4", "cudnn"];
    let mut random = Random::new(81);
    let (mut said, mut found) = (0, BTreeSet::new());
    for _ in 0..1500 {
        let run = random_run(&mut random);
        let mut set = vec![("gpu", random.one(&gpus)), ("precision", random.one(&precisions))];
        if !random.once_in(3) {
            set.push(("stack", random.one(&stacks)));
        }
        let kernel = random.one(&kernels);
        if random.once_in(4) && !kernel.is_empty() {
            set.push(("stack.attention", kernel));
        }
        let Some(run) = run.with_texts(&set) else { continue };
        let issues = match evaluate(&run) {
            Ok(evaluation) => evaluation.warnings().to_vec(),
            Err(issues) => issues,
        };
        for issue in issues {
            said += 1;
            let words = issue.message.to_string();
            let tokens = words.split(|c: char| c.is_whitespace() || "():,;\"".contains(c));
            let raw = tokens.map(|token| token.trim_end_matches('.')).filter(|token| ids.contains(token));
            found.extend(raw.map(|id| format!("{id}: {words}")));
        }
    }
    assert!(said > 1500, "{said}");
    assert!(found.is_empty(), "{found:#?}");
}

/// Megatron-LM `arguments.py`: "Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is
/// enabled". Either way out silences the warning.
#[test]
fn userbuffers_need_sequence_parallelism() {
    let of = |run: &Run| {
        let evaluation = evaluate(run).unwrap();
        evaluation.warnings().iter().find(|issue| issue.message.to_string().contains("userbuffers")).cloned()
    };
    let decoded = |link: &str| decode(&format!("v=1&gpus=8&pp=1&{link}")).run;
    for link in ["tp=8", "tp=8&stack.tp_overlap=userbuffers", "tp=1&sequence_parallel=false&stack=megatron-2025"] {
        assert_eq!(of(&decoded(link)), None, "{link}");
    }
    for link in ["stack.base=megatron-2024&stack.tp_overlap=userbuffers", "stack=megatron-2025"] {
        let run = decoded(&format!("tp=8&sequence_parallel=false&{link}"));
        let issue = of(&run).unwrap();
        assert_eq!((issue.severity, issue.fixes().count()), (Severity::Warning, 2), "{link}: {issue:?}");
        for fix in issue.fixes() {
            assert_eq!(of(&run.with_texts(&fix.set).unwrap()), None, "{link}: {fix:?}");
        }
    }
}

/// Megatron-LM `arguments.py` stops where `--tp-comm-overlap` comes without sequence parallelism. Such a run has the
/// step of one that does not ask for the overlap, and no layout of a search and no card asks for it so.
#[test]
fn an_overlap_that_its_software_refuses_shortens_no_step() {
    let run = decode("v=1&gpus=8&pp=1&tp=8&sequence_parallel=false&stack=megatron-2025").run;
    let without = decode("v=1&gpus=8&pp=1&tp=8&sequence_parallel=false&stack.base=megatron-2025&stack.tp_overlap=none");
    let steps = [&run, &without.run].map(|run| evaluate(run).unwrap().report.step);
    assert_eq!(steps[0].time_s, steps[1].time_s);
    assert_eq!(steps[0].parts, steps[1].parts);
    let mut session = PlanSession::new(PlanQuery { extras: Vec::new(), ..PlanQuery::improve(&run) }).unwrap();
    while !session.step(1 << 20) {}
    let found = session.result(true);
    let layouts = found.rows.iter().map(|row| &row.run);
    // Cards of the run's own layout keep it.
    let cards = found.betters.list.iter().filter(|better| matches!(better.gain, Gain::Time | Gain::Equal));
    let mut seen = 0;
    for run in layouts.chain(cards.map(|better| &better.run)).filter(|run| run.tp > 1) {
        assert!(run.sequence_parallel, "{run:?}");
        seen += 1;
    }
    assert!(seen > 3, "{seen}");
}

/// A remedy of the diagnosis, applied, has no error and no warning that the run had not: field and words without
/// figures are compared.
#[test]
fn a_remedy_brings_no_new_warning() {
    let doubts = |run: &Run| -> Option<BTreeSet<(String, Vec<&'static str>)>> {
        let evaluation = evaluate(run).ok()?;
        let doubtful = evaluation.warnings().iter().filter(|issue| issue.severity > Severity::Notice);
        let words = |issue: &Issue| {
            let mut words = Vec::new();
            issue.words().templates(&mut |template| words.push(template));
            words
        };
        Some(doubtful.map(|issue| (issue.field.clone(), words(issue))).collect())
    };
    let stacks = ["megatron-2024", "megatron-2025", "torchtitan"];
    let mut random = Random::new(2026);
    let (mut runs, mut changes, mut new) = (0, 0, Vec::new());
    while runs < 200 {
        let Some(run) = random_run(&mut random).with_texts(&[("stack", random.one(&stacks))]) else { continue };
        let Some(before) = doubts(&run) else { continue };
        runs += 1;
        for remedy in remedies(&run).into_iter().filter(|remedy| !remedy.set.is_empty()) {
            changes += 1;
            let after = doubts(&run.with_texts(&remedy.set).unwrap());
            if after.is_none_or(|after| !after.is_subset(&before)) {
                new.push(format!("{:?} {}", remedy.set, serde_json::to_string(&run).unwrap()));
            }
        }
    }
    assert!(changes > 100, "{changes}");
    assert!(new.is_empty(), "{} of {changes}: {:.2000}", new.len(), new.join("\n"));
}

/// TP 8 without sequence parallelism, as a script of Megatron-LM that leaves it out: the overlap is offered with it,
/// and it stands among the remedies itself.
#[test]
fn sequence_parallelism_that_is_off_is_a_remedy() {
    let link = "v=1&model=llama-3.1-70b&gpus=64&tp=8&pp=4&sequence_parallel=false&zero=0&global_batch=128&\
        stack=megatron-2024&recompute=full&overlap.dp=0";
    let list = remedies(&decode(link).run);
    let turned_on =
        |set: &[(&str, String)]| set.iter().any(|(key, value)| *key == "sequence_parallel" && value == "true");
    let overlap = list.iter().find(|one| one.set.iter().any(|(key, _)| *key == "stack.tp_overlap")).unwrap();
    assert!(turned_on(&overlap.set), "{overlap:?}");
    let others = list.iter().filter(|one| turned_on(&one.set) && one.part != overlap.part);
    assert!(others.count() > 0, "{list:#?}");
}
