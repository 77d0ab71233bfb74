//! The runs of the chosen row and class: those most like the page's first, then the worst misses.

use super::board::{Board, Tool, sign};
use crate::look::{Look, ScoredLine, Slice};
use crate::node::action::BoardAction;
use crate::node::markup::document;
use crate::prelude::*;
use shardscope_core::accuracy::nearest_of;
use shardscope_core::scoreboard::{Column, Judged, Miss, Question};
use shardscope_core::sort::sort_by;
use shardscope_core::units::show_off;
use std::sync::Arc;

/// Runs most like the page's, and worst misses, that are shown without a fold.
const FIRST: (usize, usize) = (8, 8);
/// Runs in the fold: what is further down is in the file.
const MORE: usize = 200;

pub fn list(board: &Board, look: &Look, run: &Run) -> Node {
    let Some(tool) = board.tool(look) else {
        return Node::none();
    };
    let lines: Vec<Line> = if look.slice == Slice::Verdicts {
        tool.score.verdicts.iter().map(Line::Verdict).collect()
    } else {
        tool.score.misses.iter().filter(|miss| look.slice.has(miss.column)).map(Line::Figure).collect()
    };
    let near = nearest_of(lines.iter().map(|line| &board.questions[line.question()].run), run, FIRST.0);
    let mut order: Vec<usize> = (0..lines.len()).filter(|at| !near.contains(at)).collect();
    sort_by(&mut order, |a, b| lines[*b].wrong().total_cmp(&lines[*a].wrong()).then(a.cmp(b)));
    let (worst, rest) = order.split_at(order.len().min(FIRST.1));
    let rows = |places: &[usize]| -> Vec<(bool, Vec<Node>)> {
        places.iter().map(|at| (false, lines[*at].cells(board, tool).to_vec())).collect()
    };
    let head = ["run", "source", "class", "measured", "predicted", "error", ""];
    let rows_table = table("Runs", &head, &rows(&[near.as_slice(), worst].concat()));
    let rest = &rest[..rest.len().min(MORE)];
    let more = if rest.is_empty() {
        Node::none()
    } else {
        fold(t!("{count} more, the worst first", count = rest.len()), table("More runs", &head, &rows(rest)))
    };
    let beside = t!("{name}: most like your run first, then the worst misses", name = verbatim(&tool.about.name));
    let parts = [title("Runs"), muted(beside), rows_table, more, footnote(rule(look, is_ours(board, tool)))];
    el("section", &[("class", "board-list")], &parts)
}

/// By which constants a step of this page's row is predicted.
const UNSEEN: &str = "constants that had not seen it";

/// True of this page's row.
fn is_ours(board: &Board, tool: &Tool) -> bool {
    board.tools.first().is_some_and(|first| first.id == tool.id)
}

/// Why the run that opens has other figures than its line; nothing of verdicts.
fn rule(look: &Look, is_ours: bool) -> Message {
    let peaks = t!(
        "A peak here is what PyTorch allocated or reserved, as its line says; in the run that opens fragmentation, \
            the CUDA context, libraries and communicators are counted beside it."
    );
    let steps =
        t!("A step here is predicted by constants that had not seen it: fitted to what was published before. The run \
            that opens is computed by the constants of today, which were fitted to later runs as well.");
    match look.slice {
        slice if slice.has(Column::Peaks) => peaks,
        Slice::Steps | Slice::Column(_) if is_ours => steps,
        _ => Message::default(),
    }
}

/// The published steps that the row predicts of runs most like `run`, the nearest first.
pub fn nearest<'a>(board: &Board, tool: &'a Tool, run: &Run, count: usize) -> Vec<&'a Miss> {
    let misses: Vec<&Miss> = tool.score.misses.iter().filter(|miss| Slice::Steps.has(miss.column)).collect();
    let near = nearest_of(misses.iter().map(|miss| &board.questions[miss.fact.row].run), run, count);
    near.into_iter().map(|at| misses[at]).collect()
}

/// These runs, each beside the error of its class.
pub fn alike(board: &Board, tool: &Tool, near: &[&Miss]) -> Node {
    let rows = near.iter().map(|miss| {
        let question = &board.questions[miss.fact.row];
        let name = load("link", &question.opened(), t!("Open this run"), &[text(verbatim(&question.name))]);
        let name =
            el("span", &[("class", "wrap"), ("translate", "no")], &[name, text(verbatim(" ")), source(question)]);
        let [_, _, class, measured, _, error, _] = Line::Figure(miss).cells(board, tool);
        // The note below says of all what they are.
        let predicted = figure("predicted", text(verbatim(show_seconds(Seconds(miss.fact.predicted)))));
        let mean = tool.score.column(miss.column).mean.unwrap_or(0.0);
        let of_class = el("span", &[], &[class, aside(verbatim(format!(" {}", show_percent(mean))))]);
        (false, vec![name, measured, predicted, error, of_class])
    });
    let head = ["run (opens it)", "measured", "predicted", "error", "mean error of its class, predicted the same way"];
    let rows: Vec<_> = rows.collect();
    let inside = near.iter().filter(|miss| miss.inside == Some(true)).count();
    let words = t!(
        "Same GPU, software, precision, kind and size first. Each is predicted from all settings of its row, by \
            constants fitted to what was published before it; {inside} of {count} were measured inside the predicted \
            range.",
        inside,
        count = near.len()
    );
    Node::from_iter([table("Published runs most like yours", &head, &rows), footnote(words)])
}

/// What a predicted figure is, where the run that opens shows another.
fn why(question: &Question, miss: &Miss, is_ours: bool) -> Node {
    match question.peak_is().filter(|_| miss.column == Column::Peaks) {
        Some(peak_is) => aside(peak_is),
        None if is_ours => aside(UNSEEN),
        None => Node::none(),
    }
}

/// A figure or a verdict of a run.
enum Line<'a> {
    Figure(&'a Miss),
    Verdict(&'a Judged),
}

impl Line<'_> {
    fn question(&self) -> usize {
        match self {
            Self::Figure(miss) => miss.fact.row,
            Self::Verdict(judged) => judged.question,
        }
    }

    /// Larger is worse.
    fn wrong(&self) -> f64 {
        match self {
            Self::Figure(miss) => miss.fact.ratio().ln().abs(),
            Self::Verdict(Judged { verdict: Verdict::Fits, ran_out: true, .. }) => 3.0,
            Self::Verdict(Judged { verdict: Verdict::Oom, ran_out: false, .. }) => 2.0,
            Self::Verdict(judged) => f64::from(judged.verdict == Verdict::Tight),
        }
    }

    fn cells(&self, board: &Board, tool: &Tool) -> [Node; 7] {
        let question = &board.questions[self.question()];
        let is_ours = is_ours(board, tool);
        let [class, measured, predicted, error] = match self {
            Self::Figure(miss) => {
                let show = |value: f64| match miss.column {
                    Column::Peaks => verbatim(format!("{} GiB", significant(value, 3))),
                    _ => verbatim(show_seconds(Seconds(value))),
                };
                let class = match miss.fact.error() {
                    error if error <= 0.1 => "ok",
                    error if error <= 0.25 => "warn",
                    _ => "error",
                };
                let predicted = [text(show(miss.fact.predicted)), text(verbatim(" ")), why(question, miss, is_ours)];
                [
                    text(Slice::Column(miss.column).choice().label),
                    figure("measured", text(show(miss.fact.measured))),
                    figure("predicted", Node::from_iter(predicted)),
                    leaf("b", class, verbatim(show_off(miss.fact.ratio() - 1.0, 1))),
                ]
            }
            Self::Verdict(judged) => {
                let (class, words): (_, Message) = match (judged.verdict, judged.ran_out) {
                    (Verdict::Fits, true) => ("error", "false fit".into()),
                    (Verdict::Oom, false) => ("error", "false alarm".into()),
                    (Verdict::Tight, _) => ("warn", "undecided".into()),
                    _ => ("ok", "right".into()),
                };
                let became = if judged.ran_out { "ran out" } else { "ran" };
                [text("Verdicts"), text(became), sign(judged.verdict), leaf("b", class, words)]
            }
        };
        let scored = match self {
            Self::Figure(miss) => Some(ScoredLine {
                run: question.opened(),
                tool: tool.about.name.clone(),
                is_ours,
                predicted: miss.fact.predicted,
                peak_is: question.peak_is().filter(|_| miss.column == Column::Peaks),
            }),
            Self::Verdict(_) => None,
        };
        let open = Action::Board(BoardAction::Open(Arc::new(question.opened()), scored.map(Arc::new)));
        let open = leaf("button", "", "Open this run").on(open);
        let name = leaf("span", "wrap", verbatim(&question.name));
        [name, source(question), class, measured, predicted, error, open]
    }
}

/// A figure, on a phone with its name.
fn figure(name: &'static str, value: Node) -> Node {
    el("span", &[], &[leaf("small", "phone-only", name), value])
}

/// The document, as a link where it is a file of a repository or has an address.
fn source(question: &Question) -> Node {
    let place = question.document();
    let name = document(verbatim(question.source.name), address(place).as_deref());
    el("span", &[("class", "wrap")], &[name.title(verbatim(place))])
}

/// Address of `owner/repository@commit:path`, or the document itself where it is one.
fn address(document: &str) -> Option<String> {
    let document = document.split_whitespace().next()?;
    if document.starts_with("https://") {
        return Some(document.trim_end_matches([',', ';']).to_owned());
    }
    let (place, path) = document.split_once(':')?;
    let (repository, commit) = place.split_once('@').unwrap_or((place, "HEAD"));
    let is_plain =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) && !text.is_empty();
    let (owner, name) = repository.split_once('/')?;
    let is_named = is_plain(owner) && is_plain(name) && is_plain(commit) && !path.is_empty();
    is_named.then(|| format!("https://github.com/{repository}/blob/{commit}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_repositories_and_addresses_are_links_and_names_are_not() {
        assert_eq!(
            address("NVIDIA/NeMo@9c5c5e9709:docs/performance_summary.md [NeMo 24.07]").as_deref(),
            Some("https://github.com/NVIDIA/NeMo/blob/9c5c5e9709/docs/performance_summary.md")
        );
        assert_eq!(
            address("https://arxiv.org/abs/2411.06465, table 3").as_deref(),
            Some("https://arxiv.org/abs/2411.06465")
        );
        for name in ["Fujii 2024, table 3 (A100 40 GB)", "", "javascript:alert(1)", "a/b/c:d"] {
            assert_eq!(address(name), None, "{name}");
        }
    }
}
