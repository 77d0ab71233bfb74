//! Surroundings of the table: title, files to take, verdicts of the chosen row, how a row is added.

use super::board::{Board, Tool, sign};
use super::table;
use crate::node::action::Save;
use crate::prelude::*;
use shardscope_core::accuracy::BandCount;
use shardscope_core::scoreboard::OutcomesByUse;
use shardscope_core::units::thousands;

const BIBTEX: &str = "@misc{shardscope-scoreboard,\n  title = {Scoreboard of training calculators},\n  author = \
    {{Shardscope contributors}},\n  \
     year = {2026},\n  note = {Shardscope VERSION, docs/scoreboard.md}\n}\n";

/// The head of the view, with what can be saved.
pub fn head(board: &Board) -> Node {
    let words = t!(
        "{runs} published runs. Smaller is better. What a tool cannot read counts as not covered; runs that a tool \
            was fitted to are left out of its row.",
        runs = thousands(board.questions.len() as u64)
    );
    let save = |label: &'static str, name: &str, content: String| {
        let save = Save::Text { name: name.to_owned(), text: content.into() };
        leaf("button", "quiet", label).on(Action::Save(save))
    };
    let bibtex = BIBTEX.replace("VERSION", env!("CARGO_PKG_VERSION"));
    let kinds = [
        save("Table as CSV", "scoreboard.csv", table::csv(board)),
        save("BibTeX", "scoreboard.bib", bibtex),
        leaf("button", "quiet", "Questions, runs.jsonl").on(PanelAction::Questions),
    ];
    let menu = [leaf("summary", "", "Save"), el("div", &[], &kinds)];
    let buttons = [
        leaf("button", "", "Submit a file").on(PanelAction::Predictions),
        el("details", &[("class", "menu save")], &menu).keyed("save"),
    ];
    let words = el("div", &[], &[name(), muted(words)]);
    el("div", &[("class", "board-head")], &[words, el("div", &[("class", "board-save")], &buttons)])
}

/// Title of the view.
pub fn name() -> Node {
    title("Scoreboard: how wrong is each calculator?")
}

/// Verdicts of a row, by what became of the runs: of those that set this page's rule, of the others, and of all.
pub fn verdicts(board: &Board, tool: &Tool) -> Node {
    let rate = |band: &BandCount| {
        let share = band.ran_out as f64 / band.runs.max(1) as f64;
        let bar = el("i", &[("style", &format!("width:{:.1}%", 100.0 * share))], &[]);
        let bar = el("span", &[("class", "cover out")], &[bar]);
        el("span", &[("class", "rate")], &[text(verbatim(show_percent(share))), bar])
    };
    let OutcomesByUse { setters, others, all } = tool.score.by_use(&board.questions);
    let rows = setters.into_iter().zip(others).zip(all).map(|((setters, others), all)| (setters, others, all));
    let of = |band: &BandCount| {
        let BandCount { runs, ran_out, .. } = *band;
        text(t!("{ran_out} of {runs}", ran_out, runs))
    };
    let table = Rows::of(rows)
        .column("verdict", |(.., all)| sign(all.verdict))
        .column("ran out, Fujii et al.", |(setters, ..)| of(setters))
        .column("other runs", |(_, others, _)| of(others))
        .column("all", |(.., all)| of(all))
        .column("share", |(.., all)| rate(all))
        .table("Verdicts");
    let is_ours = board.tools.first().is_some_and(|first| first.id == tool.id);
    let judges = is_ours.then(|| {
        t!(
            "The {runs} runs of Fujii et al. set the rule of this page's verdict. Here each of their two tables is \
                judged by constants fitted to the other; how much wider the band is than those runs need was chosen \
                with all of them in view. To the other runs no constant of the rule was fitted. The counts beside a \
                verdict on Run are of the same {runs} runs by the rule that all of them set: it had seen them, so \
                that its counts differ from these. There a tight run whose estimate is above the memory is called \
                \"May run out\".",
            runs = setters.iter().map(|band| band.runs).sum::<usize>()
        )
    });
    let words =
        t!("All runs whose source prints a peak of memory or which of them ran out, without those that the tool was \
            fitted to. Runs of which a source prints the speed alone ran too, and are not asked: what was done to \
            make them fit is not printed. This page says of some of them that they do not fit, as of Llama 3 405B on \
            8192 GPUs.");
    Node::from_iter([title("Verdicts"), table, muted(Message::joined(" ", std::iter::once(words).chain(judges)))])
}

/// Steps to add a row; the page itself takes the file, below.
pub fn submit() -> Node {
    let step = |head: &'static str, words: &'static str, parts: &[Node]| {
        let begin = [leaf("b", "", head), text(verbatim(" ")), text(words), text(verbatim(" "))];
        el("li", &[], &[begin.as_slice(), parts].concat())
    };
    let take = leaf("button", "link", "runs.jsonl").on(PanelAction::Questions);
    let code = leaf("code", "", verbatim("{\"id\":\"fj04dfa9f7\",\"step_s\":347.6,\"verdict\":\"fits\"}"));
    let send = "Drop the file here to score it in this browser, or open a pull request to have the row listed.";
    let steps = [
        step("Take the questions.", "One run a line, without answers:", &[take]),
        step("Predict.", "One line a run; leave out what the tool cannot do.", &[code]),
        step("Send it.", send, &[]),
    ];
    Node::from_iter([title("How to submit"), el("ol", &[("class", "board-how")], &steps)])
}
