//! A report for a wiki or a review, as Markdown tables.

use super::Stamp;
use super::stamp::out_of_memory;
use shardscope_core::advice::balance;
use shardscope_core::advice::fit::shown;
use shardscope_core::report::Evaluation;
use shardscope_core::run::OneOf;
use shardscope_core::run::registry::field;
use shardscope_core::units::{
    MemoryUnit, Seconds, group, number, scientific, show_bytes, show_count, show_percent, show_seconds, significant,
};
use shardscope_view::node::figure::Scope;
use shardscope_view::panels::budget::{money, sign};
use shardscope_view::panels::step::by_profile;
use shardscope_view::panels::uneven;
use shardscope_view::panels::waterfall::parts;
use shardscope_view::words;

/// Settings that are said even where they are the default.
const ALWAYS: [&str; 12] = [
    "stack",
    "gpus",
    "tp",
    "pp",
    "cp",
    "zero",
    "schedule",
    "seq_len",
    "micro_batch",
    "global_batch",
    "precision",
    "recompute",
];

/// The run, memory by stage, the step, communication and notes.
pub(crate) fn markdown(evaluation: &Evaluation, stamp: &Stamp) -> String {
    let report = &evaluation.report;
    let run = &evaluation.scenario.run;
    let answer = format!(
        "# {} on {} × {}\n\n**{}**: {} Step {} ({} to {}), MFU {}.\n\n",
        run.model.title(),
        run.gpus,
        run.gpu.title(),
        words::verdict_of(run, &report.memory.peak()).2,
        words::memory(&report.memory, MemoryUnit::Gib, &Scope::run()),
        show_seconds(report.step.time_s),
        show_seconds(report.step.low_s),
        show_seconds(report.step.high_s),
        show_percent(report.step.mfu),
    );
    let unfit = out_of_memory(evaluation).map_or_else(String::new, |words| format!("{words}\n\n"));
    let warnings = report.warnings.iter();
    let warnings = warnings.map(|issue| cells(&[&issue.field, &issue.message.to_string()]));
    let (made, link) = (stamp.made(), stamp.link(run));
    let profile = by_profile(evaluation).map_or_else(String::new, |words| format!("{words}\n\n"));
    [
        answer,
        unfit,
        profile,
        settings(evaluation),
        step(evaluation),
        memory(evaluation),
        splits(evaluation),
        communication(evaluation),
        super::whole::table(evaluation).map_or_else(String::new, |rows| section("Whole run", &["", "", ""], rows)),
        super::rl::table(evaluation).map_or_else(String::new, |rows| {
            section("Step of reinforcement learning", &["phase", "GPUs", "time"], rows)
        }),
        section("To know", &["setting", ""], warnings.collect()),
        format!("{made}: an estimate of training. [The whole run]({link})\n"),
    ]
    .concat()
}

fn settings(evaluation: &Evaluation) -> String {
    let (scenario, report) = (&evaluation.scenario, &evaluation.report);
    let run = &scenario.run;
    let total = show_count(report.parameters.total as f64);
    let active = show_count(report.parameters.active as f64);
    let parameters = if report.parameters.active == report.parameters.total {
        format!("{total} parameters")
    } else {
        format!("{total} parameters, {active} active")
    };
    let usable = format!("{} usable", MemoryUnit::Gib.show(scenario.gpu.usable));
    let (dp, microbatches) = (report.layout.dp, report.layout.microbatches);
    let mut rows = vec![
        cells(&["Model", &run.model.title().to_string(), &parameters]),
        cells(&["GPU", &run.gpu.title().to_string(), &usable]),
        cells(&["Data parallel", &dp.to_string(), "dp"]),
        cells(&["Micro-batches", &microbatches.to_string(), "a step and rank"]),
    ];
    let mut settings: Vec<(String, String)> = Vec::new();
    for key in ALWAYS {
        let text = field(key).and_then(|field| field.text(run));
        settings.extend(text.map(|text| (key.to_owned(), text)));
    }
    let changed = run.changed_texts().into_iter();
    settings.extend(changed.filter(|(key, _)| {
        let named = field(key).is_some_and(|field| ["model", "gpu"].contains(&field.key));
        !named && !ALWAYS.contains(&&**key)
    }));
    for (key, value) in settings {
        let field = field(&key);
        let label = field.map_or("", |field| field.label);
        let value = field.map_or_else(|| value.clone(), |field| shown(field, &value).to_string());
        rows.push(cells(&[label, &value, &format!("`{key}`")]));
    }
    section("Run", &["setting", "value", "note"], rows)
}

fn memory(evaluation: &Evaluation) -> String {
    let (memory, unit) = (&evaluation.report.memory, MemoryUnit::Gib);
    let rows = memory.per_stage.iter().map(|stage| {
        let mut row = vec![stage.stage.to_string()];
        row.extend(stage.components().map(|(_, bytes)| unit.number(bytes)));
        row.push(unit.number(stage.total));
        row.push(number(stage.in_flight, 3));
        row
    });
    let head =
        ["rank", "weights", "gradients", "optimizer", "activations", "buffers", "overhead", "total", "in flight"];
    let capacity = unit.number(memory.capacity_bytes);
    let title = format!("Memory by pipeline rank, GiB of {capacity}");
    section(&title, &head, rows.collect())
}

fn step(evaluation: &Evaluation) -> String {
    let (step, pipeline) = (&evaluation.report.step, &evaluation.report.pipeline);
    let parts = parts(step).map(|(row, time)| (row.0, time));
    let parts = parts.filter(|(_, time)| time.0 > 0.0);
    let part = |(name, time): (&str, Seconds)| cells(&[name, &show_seconds(time), &show_percent(time / step.time_s)]);
    let mut rows: Vec<_> = parts.map(part).collect();
    rows.push(cells(&["Step", &show_seconds(step.time_s), "100 %"]));
    let mut say = |name: &str, value: String, note: String| rows.push(vec![name.to_owned(), value, note]);
    let bubble = show_percent(pipeline.bubble_fraction);
    let once = match pipeline.fill_s.zip(pipeline.drain_s) {
        Some((fill, drain)) => format!(
            "; steady state: fill ({}) and drain ({}) happen once in a training",
            show_seconds(fill),
            show_seconds(drain)
        ),
        None => String::new(),
    };
    say("bubble", bubble, format!("idle over total{once}"));
    let span = show_percent(pipeline.bubble_span);
    let note = "on the worst rank: idle between its first and last op over its work, as the zero-bubble papers count";
    say("bubble in span", span, note.to_owned());
    let rate = significant(step.tflops_per_gpu, 3);
    say("model TFLOP/s per GPU", rate, String::new());
    let peak = format!(
        "of the {} peak, {} TFLOP/s; HFU {}",
        step.peak.precision,
        significant(step.peak.tflops, 4),
        show_percent(step.hfu)
    );
    say("MFU", show_percent(step.mfu), peak);
    for row in &step.mfu_by {
        let name = row.name.choice().label;
        let flops = format!("{} FLOPs per token", scientific(row.flops_per_token));
        say(&format!("MFU as {name} counts"), show_percent(row.mfu), flops);
    }
    let tokens = group(&format!("{:.0}", step.tokens_per_s_per_gpu));
    say("tokens/s/GPU", tokens, String::new());
    if let (Some(days), Some(hours)) = (step.days, step.gpu_hours) {
        let hours = format!("{} GPU-hours", show_count(hours));
        say("days", significant(days, 3), hours);
    }
    if let Some(cost) = step.cost {
        say("cost", money(&sign(&evaluation.scenario.run), cost), String::new());
    }
    section("Step", &["", "", ""], rows)
}

/// The even split of the layers, that of NVIDIA's rule, the run's and the best, where these differ.
fn splits(evaluation: &Evaluation) -> String {
    let splits = balance(evaluation).map_or_else(Vec::new, |balance| balance.splits);
    if splits.len() < 2 {
        return String::new();
    }
    let rows = splits.iter().map(|split| {
        let memory = &split.evaluation.report.memory;
        cells(&[
            &uneven::called(split).to_string(),
            &uneven::short(&split.layers),
            &show_seconds(split.step_s()),
            &MemoryUnit::Gib.show(memory.peak_bytes),
            uneven::of_split(split),
        ])
    });
    let head = ["split", "layers", "step", "fullest GPU", ""];
    section("Layers by stage", &head, rows.collect())
}

/// What tells the figures of the table from those of the step.
const OF_WHOM: &str = "Exposed parts of the step are those of the average rank: uncovered wire time, and compute that \
    is slowed.";

fn communication(evaluation: &Evaluation) -> String {
    let rows = evaluation.report.overlap.iter().map(|row| {
        let shared: Vec<_> = row.shares_wire_with.iter().map(|traffic| traffic.id()).collect();
        vec![
            row.traffic.id().to_ascii_uppercase(),
            show_bytes(row.bytes_per_gpu),
            show_seconds(row.comm_s),
            show_seconds(row.compute_s),
            row.ratio.map_or_else(|| "–".to_owned(), |ratio| significant(ratio, 3)),
            show_seconds(row.not_hidden_s),
            show_seconds(row.slows_compute_s),
            shared.join(", ").to_ascii_uppercase(),
        ]
    });
    let head = [
        "",
        "sent per GPU",
        "on the wire",
        "compute beside it",
        "ratio",
        "uncovered",
        "slows compute",
        "shares a wire with",
    ];
    let table = section("Communication a step, of the busiest rank", &head, rows.collect());
    if table.is_empty() {
        return table;
    }
    // Where the step goes counts the same for another rank.
    format!("{table}{OF_WHOM}\n\n")
}

fn cells(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// A heading and a table; nothing where there are no rows.
fn section(title: &str, head: &[&str], mut rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    rows.insert(0, cells(head));
    let mut lines: Vec<String> = rows
        .iter()
        .map(|cells| {
            // Some wikis show the narrow no-break spaces between thousands as boxes.
            let line = cells.join("\u{1f}").replace('|', "\\|").replace('\u{202f}', " ");
            format!("| {} |\n", line.replace('\u{1f}', " | "))
        })
        .collect();
    lines.insert(1, format!("|{}\n", " --- |".repeat(head.len())));
    format!("## {title}\n\n{}\n", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::calibrate::fit_step;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::Run;

    #[test]
    fn a_report_by_a_profile_says_so_with_its_range() {
        let mut run = Run::default();
        let seconds = evaluate(&run).unwrap().report.step.time_s.0;
        run.profile = fit_step(&run, seconds * 1.1).unwrap();
        run.profile.name = Some("ours".to_owned());
        let evaluation = evaluate(&run).unwrap();
        let text = markdown(&evaluation, &Stamp::default());
        let high = show_seconds(evaluation.report.step.high_s);
        assert!(text.contains("profile “ours”") && text.contains(&high), "{text}");
        let json = crate::export::export(&run, "json", &Stamp::default()).unwrap();
        assert!(json.contains("\"log_sd\"") && json.contains("\"ours\""), "{json}");
    }

    #[test]
    fn every_row_of_a_table_has_as_many_cells_as_its_head() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let text = markdown(&evaluation, &Stamp::default());
        let mut width = 0;
        for line in text.lines() {
            let cells = line.replace("\\|", "").matches('|').count();
            if width > 0 && cells > 0 {
                assert_eq!(cells, width, "{line}");
            }
            width = cells;
        }
        let software = Run::default().stack.preset_row().choice.label;
        assert!(text.contains(&format!("| Software | {software} | `stack` |")), "{text}");
        for words in ["## Memory by pipeline rank, GiB of 79.2", "## Step", "tokens/s/GPU", "| DP |"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
