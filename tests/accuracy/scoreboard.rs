//! The scoreboard: questions without answers, scores with closed forms, and our own row.

use shardscope::core::accuracy::record::{Protocol, Recipe, fnv, recorded_of};
use shardscope::core::accuracy::{BandCount, Evidence, FILES, MeasuredQuantity, Measurement, SourceUse, nearest_of};
use shardscope::core::memory::Verdict;
use shardscope::core::message::verbatim;
use shardscope::core::report::{Report, evaluate};
use shardscope::core::run::presets::all_published;
use shardscope::core::run::registry::FIELDS;
use shardscope::core::run::{Run, RunLength, Value};
use shardscope::core::scoreboard::{
    AskedQuantity, Column, OutcomesByUse, Predicted, Question, ROWS, Score, is_ours, predictions, questions,
};
use shardscope::core::time::StepClass;
use shardscope::core::units::{Seconds, show_seconds};
use shardscope::io::scoreboard::{Predictions, questions_text, read, unknown};
use shardscope::view::look::{Look, Slice};
use shardscope::view::node::action::BoardAction;
use shardscope::view::node::markup::Action;
use shardscope::view::panels::published::from_scoreboard;
use shardscope::view::scoreboard::{Board, Tool, left_out, list, listed, points, table, verdicts};
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::sync::OnceLock;

fn rows() -> &'static [Evidence] {
    static ROWS: OnceLock<Vec<Evidence>> = OnceLock::new();
    ROWS.get_or_init(|| FILES.iter().flat_map(|(file, _)| crate::common::evidence(file)).collect())
}

fn asked() -> &'static [Question] {
    static ASKED: OnceLock<Vec<Question>> = OnceLock::new();
    ASKED.get_or_init(|| questions(rows()))
}

/// Each run as it was measured.
fn answers() -> Vec<Predicted> {
    let answer = |question: &Question| Predicted {
        id: question.id.clone(),
        step_s: question.step_s,
        low_s: question.step_s,
        high_s: question.step_s,
        peak_gib: question.peak_gib.map(|(_, gib)| gib),
        verdict: question.ran_out.map(|ran_out| if ran_out { Verdict::Oom } else { Verdict::Fits }),
        fitted: Vec::new(),
    };
    asked().iter().map(answer).collect()
}

#[test]
fn every_line_that_measures_something_is_asked_once() {
    let ids: BTreeSet<&str> = asked().iter().map(|question| question.id.as_str()).collect();
    assert_eq!(ids.len(), asked().len());
    let lines: BTreeSet<&str> = rows().iter().map(|row| row.id.as_str()).collect();
    let steady = |id: &&&str| {
        rows().iter().filter(|row| row.id == **id).all(|row| row.source().quantity == MeasuredQuantity::Steady)
    };
    assert_eq!(lines.len() - lines.iter().filter(steady).count(), ids.len());
    // No figure is lost: one step and one peak a line at most.
    let steps = rows().iter().filter(|row| matches!(row.measured, Measurement::Step(_))).count();
    assert_eq!(asked().iter().filter(|question| question.step_s.is_some()).count(), steps);
    let peaks = rows()
        .iter()
        .filter(|row| {
            row.source().quantity != MeasuredQuantity::Steady && matches!(row.measured, Measurement::Memory(_))
        })
        .count();
    assert_eq!(asked().iter().filter(|question| question.peak_gib.is_some()).count(), peaks);
}

/// A tool that was asked older questions is said to be in `docs/scoreboard.md`.
#[test]
fn other_tools_answered_the_present_questions_or_are_said_not_to() {
    let now = format!("{:08x}", fnv(questions_text(asked()).bytes()));
    let text = |path: &str| read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let told = text("docs/scoreboard.md");
    for file in ROWS.iter().filter(|file| **file != "shardscope.jsonl") {
        let about = read(&text(&format!("public/data/scoreboard/{file}"))).about;
        assert_eq!(about.questions.len(), 8, "{file}");
        let adapter = file.trim_end_matches(".jsonl");
        let line = told.lines().find(|line| line.contains(&format!(" {adapter}.")) && line.starts_with('|')).unwrap();
        assert_eq!(about.questions != now, line.contains("older questions"), "{file}: asked {}", about.questions);
    }
}

/// Dense steps in bf16 on H100 of a run of Llama 3.1 8B with Megatron-LM: NVIDIA's own of this model are most like it.
#[test]
fn the_runs_most_like_the_default_are_of_its_model_on_its_gpu() {
    let score = Score::new(asked(), &answers());
    let steps: Vec<&Run> = score.misses.iter().map(|miss| &asked()[miss.fact.row].run).collect();
    let near = nearest_of(steps.iter().copied(), &Run::default(), 5);
    for at in near {
        let run = steps[at];
        assert_eq!((run.model.base, run.gpu.base), (Some("llama-3.1-8b"), Some("h100-sxm-80gb")));
    }
}

#[test]
fn the_published_answers_score_no_error_and_are_covered_whole() {
    let score = Score::new(asked(), &answers());
    for column in score.columns {
        assert!(column.asked > 10 && column.covered == column.asked, "{column:?}");
        assert_eq!((column.mean, column.median, column.coverage()), (Some(0.0), Some(0.0), 1.0));
        assert_eq!(column.inside, column.ranged);
    }
    let outcomes = score.outcomes;
    assert_eq!((outcomes.false_fits, outcomes.false_oom, outcomes.coverage()), (0, 0, 1.0));
    assert_eq!(outcomes.ran + outcomes.ran_out, asked().iter().filter(|question| question.ran_out.is_some()).count());
    // Fujii 2024, tables 3 and 4: 87 of 232 ran out.
    let fujii = asked().iter().filter(|question| question.id.starts_with("fj"));
    assert_eq!(fujii.filter(|question| question.ran_out == Some(true)).count(), 87);
}

/// The heads of the table count what is asked of everybody, a chart what one row answers: where the numbers differ both
/// say by how many and why, and the numbers add up. Counted here from the questions and the file's lines alone.
#[test]
fn a_chart_that_counts_fewer_than_the_table_says_why() {
    let number = |count: usize| count.to_string();
    for file in ROWS {
        let text = read_to_string(format!("{}/public/data/scoreboard/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let Predictions { about, lines, .. } = read(&text);
        let steps: BTreeSet<&str> =
            asked().iter().filter(|question| question.step_s.is_some()).map(|question| question.id.as_str()).collect();
        let ours: Vec<&Predicted> = lines.iter().filter(|line| steps.contains(line.id.as_str())).collect();
        let fitted = ours.iter().filter(|line| line.is_fitted(AskedQuantity::StepS)).count();
        let drawn = ours.iter().filter(|line| !line.is_fitted(AskedQuantity::StepS) && line.step_s.is_some()).count();
        let missing = steps.len() - fitted - drawn;
        let score = Score::new(asked(), &lines);
        let tool = Tool { id: "row".to_owned(), about, score };
        let board = Board { questions: asked().to_vec(), tools: vec![tool.clone()] };
        let look = Look { slice: Slice::Steps, ..Look::default() };
        let words = left_out(&tool, Slice::Steps).map_or_else(String::new, |words| words.to_string());
        assert_eq!(words.is_empty(), fitted + missing == 0, "{file}: {words}");
        for count in [steps.len(), fitted, missing].into_iter().filter(|count| *count > 0 && !words.is_empty()) {
            assert!(words.contains(&number(count)), "{file}: {count} {words}");
        }
        assert_eq!(words.contains("was fitted"), fitted > 0, "{file}: {words}");
        assert_eq!(words.contains("not covered"), missing > 0, "{file}: {words}");
        // The table says it as well as the chart, where there is one.
        assert!(table(&board, &look).to_html().contains(&words), "{file}");
        let chart = points(&tool, Slice::Steps, "steps", &[], &[]).to_html();
        assert!(drawn == 0 || chart.contains(&words) && chart.contains(&number(drawn)), "{file}: {drawn}");
    }
}

#[test]
fn nothing_predicted_is_no_coverage_and_no_error() {
    for empty in
        [Vec::new(), vec![Predicted { id: "no such run".to_owned(), step_s: Some(1.0), ..Predicted::default() }]]
    {
        let score = Score::new(asked(), &empty);
        assert!(score.columns.iter().all(|column| column.covered == 0 && column.mean.is_none()));
        assert_eq!((score.outcomes.false_fits, score.outcomes.coverage()), (0, 0.0));
        assert_eq!(unknown(asked(), &empty).is_some(), !empty.is_empty());
    }
}

#[test]
fn a_tenth_too_much_is_an_error_of_a_tenth_and_half_a_file_is_covered_by_half() {
    let mut lines = answers();
    for line in &mut lines {
        line.step_s = line.step_s.map(|step| step * 1.1);
        line.peak_gib = line.peak_gib.map(|peak| peak * 1.1);
        line.verdict = Some(Verdict::Fits);
    }
    let score = Score::new(asked(), &lines);
    for column in score.columns {
        assert!((column.mean.unwrap() - 0.1).abs() < 1e-9 && (column.median.unwrap() - 0.1).abs() < 1e-9);
    }
    assert_eq!(score.outcomes.false_fits, score.outcomes.ran_out);
    let half: Vec<Predicted> = lines.into_iter().step_by(2).collect();
    let score = Score::new(asked(), &half);
    assert!((score.outcomes.coverage() - 0.5).abs() < 0.01);
}

#[test]
fn what_a_tool_was_fitted_to_counts_neither_way() {
    let whole = Score::new(asked(), &answers());
    let mut lines = answers();
    let first = lines.iter().position(|line| line.step_s.is_some()).unwrap();
    lines[first].step_s = Some(1e6);
    lines[first].fitted = vec![AskedQuantity::StepS];
    let score = Score::new(asked(), &lines);
    let column = asked()[first].column;
    assert_eq!(score.column(column).asked + 1, whole.column(column).asked);
    assert_eq!((score.column(column).fitted, score.column(column).mean), (1, Some(0.0)));
}

#[test]
fn bad_lines_are_named_and_the_rest_is_scored() {
    let id = &asked()[0].id;
    let text = format!(
        "{{\"scoreboard\":1,\"name\":\"Tool\"}}\n\n{{\"id\":\"{id}\",\"step_s\":2.0,\"verdict\":\"fits\"}}\n{{\"id\":\"x\",\"step_s\":-1}}\nnonsense\n{{\"id\":\"{id}\"}}\n{{\"id\":\"y\",\"step_s\":1e999}}\n{{\"id\":\"z\",\"step_s\":1e308}}\n"
    );
    let file = read(&text);
    assert_eq!((file.about.name.as_str(), file.lines.len()), ("Tool", 1));
    let notes: Vec<String> = file.notes.iter().map(ToString::to_string).collect();
    assert_eq!(notes.len(), 5, "{notes:?}");
    for (note, line) in notes.iter().zip([4, 5, 6, 7, 8]) {
        assert!(note.starts_with(&format!("line {line}: ")), "{note}");
    }
    for text in ["", "{", "[]", "\u{feff}\n\n", &"x\n".repeat(100_000)] {
        let file = read(text);
        assert!(file.lines.is_empty() && file.notes.len() <= 20);
    }
}

/// A question has its run, which opens as it is, and nowhere the figure that is asked for.
#[test]
fn questions_hold_the_run_and_not_the_answer() {
    let text = questions_text(asked());
    assert!(text.len() < 4_000_000, "{}", text.len());
    let mut runs = 0;
    for (line, question) in text.lines().zip(asked()) {
        let value: Value = serde_json::from_str(line).unwrap();
        let run = Run::from_value(value.get("run").unwrap()).unwrap();
        assert_eq!((run.gpus, run.tp, run.seq_len), (question.run.gpus, question.run.tp, question.run.seq_len));
        assert_eq!(run.model.base, question.run.model.base);
        for answer in [question.step_s, question.peak_gib.map(|(_, gib)| gib)].into_iter().flatten() {
            let printed = format!("{answer}");
            assert!(printed.len() < 5 || !line.contains(&printed), "{}: {printed}", question.id);
        }
        assert!(!line.contains("loader_ns") && !line.contains("ran_out"), "{line}");
        runs += 1;
    }
    assert_eq!(runs, asked().len());
}

/// A question that is read again is the row's own run: the same report to the digit, but for what is this calculator's
/// alone and in no question.
#[test]
fn a_question_read_again_has_the_report_of_its_row() {
    let mut alike = 0;
    for question in asked() {
        let value = question.to_value();
        let read = Run::from_value(value.get("run").unwrap()).unwrap();
        let mut own = Run { length: RunLength::default(), ..question.run.resolved() };
        for field in FIELDS.iter().filter(|field| is_ours(field.key)) {
            field.unset(&mut own);
        }
        let (Ok(read), Ok(own)) = (evaluate(&read), evaluate(&own)) else {
            panic!("{}: one of the two does not evaluate", question.id);
        };
        // A question states what the row leaves open: its range is narrower.
        let figures = |report: &Report| {
            let mut step = serde_json::to_value(&report.step).unwrap();
            for of_range in ["low_s", "high_s", "range"] {
                step.as_object_mut().unwrap().remove(of_range);
            }
            (step, serde_json::to_value((&report.memory, &report.parameters)).unwrap())
        };
        assert_eq!(figures(&read.report), figures(&own.report), "{}", question.id);
        alike += 1;
    }
    assert!(alike > 1000);
}

/// A tool that knows no presets builds the network from its parts alone: what it lacks is said.
#[test]
fn a_question_says_what_its_network_lacks() {
    let mut lacking = [0; 3];
    for question in asked() {
        let Ok(model) = question.run.model.resolve() else { continue };
        let value = question.to_value();
        let said = value.get("run").and_then(|run| run.get("model")).unwrap();
        for (at, (key, has)) in
            [("gated_ffn", model.gated_ffn), ("dropout", model.dropout), ("tied_embeddings", model.tied_embeddings)]
                .into_iter()
                .enumerate()
        {
            assert_eq!(said.get(key), Some(&Value::Bool(has)), "{} {key}", question.id);
            lacking[at] += usize::from(!has);
        }
    }
    assert!(lacking.iter().all(|count| *count > 100), "{lacking:?}");
}

/// The files of the other rows answer the questions as they are, from the commit in their first line.
#[test]
fn every_listed_row_names_its_tool_and_answers_what_is_asked() {
    for name in ROWS {
        let path = format!("{}/public/data/scoreboard/{name}", env!("CARGO_MANIFEST_DIR"));
        let file = read(&std::fs::read_to_string(path).unwrap());
        let about = &file.about;
        assert!(file.notes.is_empty() && !about.name.is_empty() && !about.kind.is_empty(), "{name}: {:?}", file.notes);
        assert!(about.url.is_empty() || about.version.len() == 40, "{name} is of {}", about.version);
        for words in [&about.kind, &about.note] {
            assert_ne!(
                listed(words),
                verbatim(words),
                "{name}: LISTED of the view, from which it is translated, lacks it"
            );
        }
        let ids: BTreeSet<&str> = asked().iter().map(|question| question.id.as_str()).collect();
        let known = file.lines.iter().filter(|line| ids.contains(line.id.as_str())).count();
        assert!(20 * known >= 19 * file.lines.len() && known > 100, "{name}: {known} of {}", file.lines.len());
        let score = Score::new(asked(), &file.lines);
        let covered: usize = score.columns.iter().map(|column| column.covered).sum();
        assert!(covered > 0 && score.columns.iter().all(|column| column.covered <= column.asked), "{name}");
    }
}

/// Rows of our own that a constant was read off are marked; no other is.
#[test]
fn our_own_row_leaves_out_what_it_was_fitted_to_and_meets_its_aims() {
    let lines = predictions(rows());
    let path = format!("{}/public/data/scoreboard/shardscope.jsonl", env!("CARGO_MANIFEST_DIR"));
    let kept = read(&std::fs::read_to_string(path).unwrap_or_default());
    assert!(kept.notes.is_empty(), "{:?}", kept.notes);
    let [now, kept] = [lines, kept.lines].map(|lines| Score::new(asked(), &lines));
    let fitted = rows().iter().filter(|row| {
        row.source().kind == SourceUse::Fitted
            && matches!(row.source().quantity, MeasuredQuantity::Allocated | MeasuredQuantity::Reserved)
    });
    assert_eq!(now.column(Column::Peaks).fitted, fitted.count());
    for column in now.columns {
        let mean = column.mean.unwrap_or(f64::NAN);
        println!(
            "{:13} {:4} runs, {:5.1} % covered, mean {:.1} %, median {:.1} %, {} of {} in range, {} fitted",
            column.column.name(),
            column.asked,
            100.0 * column.coverage(),
            100.0 * mean,
            100.0 * column.median.unwrap_or(f64::NAN),
            column.inside,
            column.ranged,
            column.fitted
        );
        // The file may be some rows behind the tables, not more.
        let before = kept.column(column.column);
        let is_like = before.coverage() >= 0.95 && (mean - before.mean.unwrap_or(f64::NAN)).abs() < 0.015;
        assert!(is_like, "public/data/scoreboard/shardscope.jsonl is old: make scoreboard");
    }
    println!("{:?}", now.outcomes);
    println!("{:?}", now.bands);
    assert_eq!(now.outcomes.false_fits, 0);
    let OutcomesByUse { setters, others, all } = now.by_use(asked());
    let sum = |bands: [BandCount; 3]| bands.iter().fold((0, 0), |sum, band| (sum.0 + band.runs, sum.1 + band.ran_out));
    // Fujii 2024, tables 3 and 4: 232 outcomes, 87 of them OOM. No part is larger than its whole.
    assert_eq!(sum(setters), (232, 87));
    assert_eq!(sum(all).1, now.outcomes.ran_out_covered);
    for ((setters, others), all) in setters.iter().zip(others).zip(all) {
        assert_eq!((setters.runs + others.runs, setters.ran_out + others.ran_out), (all.runs, all.ran_out));
    }
    for (column, aim) in [(Column::Dense, 0.08), (Column::Low, 0.08), (Column::Experts, 0.12)] {
        let score = now.column(column);
        assert!(score.mean.unwrap() <= aim && score.coverage() >= 0.95, "{score:?}");
    }
}

/// A published run that this page says does not fit is none of those that the scoreboard counts verdicts of, and the
/// words beside the counts say why: of Llama 3 405B a rate is printed (table 4), and no memory.
#[test]
fn published_runs_that_are_called_out_of_memory_are_not_among_the_verdicts() {
    let out: Vec<_> = all_published()
        .map(|known| (known, known.run()))
        .filter(|(_, run)| evaluate(run).is_ok_and(|found| found.report.memory.verdict == Verdict::Oom))
        .collect();
    assert!(out.iter().any(|(known, _)| known.name == "Llama 3 405B, 8192 GPUs"), "{}", out.len());
    for (known, run) in &out {
        let same = |question: &&Question| question.id == known.id || question.run == *run;
        for question in asked().iter().filter(same) {
            assert_eq!(question.ran_out, None, "{}", known.id);
        }
    }
    // A verdict is asked of what has a peak, or of the tables and lines of outcomes.
    for question in asked().iter().filter(|question| question.ran_out == Some(false)) {
        assert!(question.peak_gib.is_some() || question.sets_the_rule(), "{}", question.id);
    }
    let board = board();
    let words = verdicts(&board, &board.tools[0]).to_html();
    assert!(words.contains("the speed alone") && words.contains("Llama 3 405B on 8192 GPUs"), "{words}");
}

/// The board with this calculator's row, and with that of a tool.
fn board() -> Board {
    let tool = |file: &str| {
        let path = format!("{}/public/data/scoreboard/{file}", env!("CARGO_MANIFEST_DIR"));
        let Predictions { about, lines, .. } = read(&read_to_string(path).unwrap());
        Tool { id: file.trim_end_matches(".jsonl").to_owned(), about, score: Score::new(asked(), &lines) }
    };
    Board { questions: asked().to_vec(), tools: ROWS[..2].iter().map(|file| tool(file)).collect() }
}

/// Every line of the list with a figure says at it what makes the figure of the run that opens another one, and the
/// run that was opened says it, too, wherever the two figures differ.
#[test]
fn a_line_and_the_run_that_it_opens_say_why_their_figures_differ() {
    let board = board();
    let (mut differ, mut peaks) = (0, 0);
    for column in Column::ALL {
        let look = Look { tool: "shardscope".to_owned(), slice: Slice::Column(column) };
        let list = list(&board, &look, &Run::default());
        let html = list.to_html();
        let reason = if column == Column::Peaks { "what PyTorch allocated or reserved" } else { "constants of today" };
        assert!(html.contains(reason), "{column:?}");
        for action in list.actions() {
            let Action::Board(BoardAction::Open(run, Some(scored))) = action else { continue };
            assert_eq!(**run, scored.run);
            let evaluation = evaluate(run).unwrap();
            let words = from_scoreboard(scored, &evaluation).to_html();
            let printed = |seconds: f64| show_seconds(Seconds(seconds));
            if column == Column::Peaks {
                peaks += 1;
                assert!(words.contains(" GiB of this run: ") && words.contains("fragmentation"), "{words}");
            } else if printed(scored.predicted) != printed(evaluation.report.step.time_s.0) {
                differ += 1;
                assert!(words.contains("constants that had not seen it"), "{words}");
            } else {
                assert!(words.is_empty(), "{words}");
            }
            // Another run is told nothing.
            assert!(from_scoreboard(scored, &evaluate(&Run::default()).unwrap()).to_html().is_empty());
        }
        let lines = html.matches("Open this run").count();
        let said =
            if column == Column::Peaks { "allocated, |reserved, " } else { "constants that had not seen it</small>" };
        let said: usize = said.split('|').map(|words| html.matches(words).count()).sum();
        assert!(lines > 0 && said >= lines, "{column:?}: {said} of {lines}");
    }
    assert!(differ > 100 && peaks > 20, "{differ} {peaks}");
}

/// A run of MLPerf opens from the scoreboard as the list of published runs opens it: with the tokens of its log.
#[test]
fn a_run_of_mlperf_opens_with_its_length() {
    let opened = asked().iter().filter(|question| question.id.starts_with("mlperf-"));
    let mut count = 0;
    for question in opened {
        count += 1;
        assert!(question.opened().tokens_total.is_some(), "{}", question.id);
    }
    assert!(count > 30, "{count}");
}

/// The scoreboard asks with all settings of a row; the accuracy panel has these errors in a column of its own, so that one
/// figure stands in both: routed experts and hybrids are one column of the scoreboard.
#[test]
fn the_row_of_this_page_is_the_record_of_runs_with_all_their_settings() {
    let text =
        read_to_string(format!("{}/public/data/scoreboard/shardscope.jsonl", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let score = Score::new(asked(), &read(&text).lines);
    let told = |class| recorded_of(Protocol::Origin, Recipe::AsRun, Some(class)).unwrap();
    let [routed, hybrids] = [told(StepClass::Experts), told(StepClass::Hybrids)];
    let runs = routed.runs + hybrids.runs;
    let mean = (routed.mean * routed.runs as f64 + hybrids.mean * hybrids.runs as f64) / runs as f64;
    let column = score.column(Column::Experts);
    assert_eq!(column.covered, runs);
    assert!((column.mean.unwrap() - mean).abs() < 2e-4, "{:?} {mean}", column.mean);
}
