//! A row for each calculator: error, share in its range and coverage by class, then verdicts.

use super::board::{Board, DROPPED, Tool};
use super::scatter::left_out;
use crate::look::{Look, Slice};
use crate::node::action::BoardAction;
use crate::prelude::*;
use shardscope_core::scoreboard::{Column, ColumnScore, Outcomes};
use shardscope_core::units::show_whole_percent;

/// Errors up to this are good, those up to the next fair.
const GOOD: (f64, f64) = (0.1, 0.2);

/// The table; a press on a cell shows its runs.
pub fn table(board: &Board, look: &Look) -> Node {
    let questions = &board.questions;
    let count = |column: Column| {
        let is_asked = |column: Column| match column {
            Column::Peaks => questions.iter().filter(|question| question.peak_gib.is_some()).count(),
            step => questions.iter().filter(|question| question.step_s.is_some() && question.column == step).count(),
        };
        is_asked(column)
    };
    let ran_out = questions.iter().filter(|question| question.ran_out == Some(true)).count();
    let head =
        |name: &'static str, words: Message| el("th", &[("scope", "col")], &[text(name), leaf("small", "", words)]);
    let mut heads = vec![leaf("th", "", "Calculator")];
    heads.extend(Column::ALL.map(|column| {
        let (runs, name) = (count(column), Slice::Column(column).choice().label);
        head(
            name,
            match column {
                Column::Peaks => t!("mean error of the peak, {runs} runs", runs),
                _ => t!("mean error of the step, {runs} runs", runs),
            },
        )
    }));
    heads.push(head("Verdicts", t!("called \"fits\" but ran out, {runs} runs", runs = ran_out)));
    let chosen = board.tool(look).map(|tool| tool.id.as_str());
    let rows = board.tools.iter().enumerate().map(|(at, tool)| {
        let mut cells = vec![name(tool)];
        let is_chosen = |slice: Slice| chosen == Some(tool.id.as_str()) && look.slice == slice;
        cells.extend(tool.score.columns.iter().map(|score| {
            let slice = Slice::Column(score.column);
            cell(tool, slice, is_chosen(slice), error(score))
        }));
        cells.push(cell(tool, Slice::Verdicts, is_chosen(Slice::Verdicts), outcomes(&tool.score.outcomes)));
        let class = if at == 0 || tool.id == DROPPED { "ours" } else { "" };
        el("tr", &[("class", class)], &cells).keyed(&tool.id)
    });
    let rows: Node = rows.collect();
    let table = scrolled("Errors by calculator", grid("board-table", heads.into_iter().collect(), rows));
    let words = board.tool(look).and_then(|tool| left_out(tool, look.slice));
    let beside = words.map(|words| {
        muted(t!(
            "Column heads count all that is asked. Chart, {class}: {words}",
            class = look.slice.choice().label,
            words
        ))
    });
    Node::from_iter([table, beside.unwrap_or_default()])
}

fn name(tool: &Tool) -> Node {
    let about = &tool.about;
    let short: String = about.version.chars().take(7).collect();
    let title = [text(verbatim(&about.name))];
    let named = if about.url.starts_with("https://") {
        let link = [("href", about.url.as_str()), ("target", "_blank"), ("rel", "noopener")];
        el("a", &link, &title)
    } else {
        el("span", &[], &title)
    };
    let beside = if about.url.is_empty() { verbatim("") } else { verbatim(format!(" · {short}")) };
    let kind = el("small", &[], &[text(listed(&about.kind)), text(beside)]);
    el("th", &[("scope", "row"), ("translate", "no")], &[named, kind])
}

/// Kinds and notes of the listed rows.
const LISTED: [&str; 14] = [
    "this page",
    "simulator",
    "analytical model",
    "its theoretical memory",
    "its memory estimators",
    "formulas",
    "rule of thumb",
    "steps from all settings of a row, by constants fitted to what was published before it",
    "no step time; no context parallelism",
    "no step time; bf16 with fp32 gradients",
    "states alone, without activations; ZeRO-2 and ZeRO-3; no step time",
    "models by their shapes, clusters by its presets of a GPU; some of these runs may be among those that its authors \
        calibrated it to",
    "16 bytes a parameter over TP, PP and EP, with ZeRO-3 over all GPUs; no activations",
    "steps on B200 alone, the one machine with NVLink that it ships, measured at the shapes of its own runs",
];

/// The kind or the note of a row: a text of the page where it is a listed one, else as its file has it.
pub fn listed(words: &str) -> Message {
    let listed = LISTED.iter().find(|listed| **listed == words);
    listed.map_or_else(|| verbatim(words), |words| Message::plain(words))
}

/// A share to the nearest percent; below one percent to a tenth.
fn covered_share(share: f64) -> String {
    if share > 0.0 && share < 0.01 { show_percent(share) } else { show_whole_percent(share) }
}

/// Contents of a cell: the figure with its class, words beside it, and the share that is covered.
struct Cell {
    class: &'static str,
    figure: Message,
    beside: Message,
    coverage: f64,
}

fn error(score: &ColumnScore) -> Option<Cell> {
    let mean = score.mean?;
    let class = match mean {
        mean if mean <= GOOD.0 => "ok",
        mean if mean <= GOOD.1 => "warn",
        _ => "error",
    };
    let beside = match score.ranged {
        0 => t!("no range"),
        ranged => t!("{share} in range", share = covered_share(score.inside as f64 / ranged as f64)),
    };
    Some(Cell { class, figure: verbatim(format!("{:.1} %", 100.0 * mean)), beside, coverage: score.coverage() })
}

fn outcomes(found: &Outcomes) -> Option<Cell> {
    (found.ran_covered + found.ran_out_covered > 0).then(|| Cell {
        class: if found.false_fits == 0 { "ok" } else { "error" },
        figure: t!("{count} false fits", count = found.false_fits),
        beside: t!(
            "of {runs}; {wrong} false alarms of {ran}",
            runs = found.ran_out_covered,
            wrong = found.false_oom,
            ran = found.ran_covered
        ),
        coverage: found.coverage(),
    })
}

fn cell(tool: &Tool, slice: Slice, is_chosen: bool, content: Option<Cell>) -> Node {
    let name = slice.choice().label;
    let Some(Cell { class, figure, beside, coverage }) = content else {
        return el("td", &[("class", "uncovered")], &[leaf("span", "muted", "does not cover")]).say("data-name", name);
    };
    let bar = el("i", &[("style", &format!("width:{:.1}%", 100.0 * coverage))], &[]);
    let parts = [
        el("span", &[("class", "figure")], &[leaf("b", class, figure), leaf("span", "muted", beside)]),
        el("span", &[("class", "cover")], &[bar]),
        leaf("span", "muted", t!("{share} covered", share = covered_share(coverage))),
    ];
    let pressed = if is_chosen { "true" } else { "false" };
    let pick = Action::Board(BoardAction::Pick(tool.id.clone(), slice));
    el("td", &[], &[el("button", &[("class", "board-cell"), ("aria-pressed", pressed)], &parts).on(pick)])
        .say("data-name", name)
}

/// Readings that adapters needed, and why a row is empty.
pub fn readings(board: &Board) -> Node {
    let note = |tool: &Tool| {
        let about = &tool.about;
        let words = t!(
            "{name}, {version}: {note}",
            name = verbatim(&about.name),
            version = verbatim(&about.version),
            note = listed(&about.note)
        );
        bullet(words)
    };
    let notes: Node = board.tools.iter().filter(|tool| !tool.about.note.is_empty()).map(note).collect();
    let rule = bullet(
        "Tables of throughput say nothing of memory, so no verdict is asked of them; memory between steps is no peak.",
    );
    fold("Versions and readings", el("ul", &[("class", "plain")], &[notes, rule]))
}

pub(super) fn csv(board: &Board) -> String {
    let head =
        "calculator,version,column,asked,covered,mean_error,median_error,with_range,inside_range,false_fits,false_oom";
    let lines = std::iter::once(head.to_owned()).chain(board.tools.iter().flat_map(lines));
    lines.map(|line| line + "\n").collect()
}

fn lines(tool: &Tool) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    let name = format!("\"{}\",{}", tool.about.name.replace('"', "'"), Look::row_named(&tool.about.version));
    let column = |score: &ColumnScore| {
        let ColumnScore { column, asked, covered, mean, median, ranged, inside, .. } = score;
        let (mean, median) = (number(*mean), number(*median));
        format!("{name},{},{asked},{covered},{mean},{median},{ranged},{inside},,", column.name())
    };
    let Outcomes { ran_out, ran_out_covered, false_fits, ran, ran_covered, false_oom, .. } = tool.score.outcomes;
    let (asked, covered) = (ran + ran_out, ran_covered + ran_out_covered);
    let verdicts = format!("{name},Verdicts,{asked},{covered},,,,,{false_fits},{false_oom}");
    tool.score.columns.iter().map(column).chain([verdicts]).collect()
}
