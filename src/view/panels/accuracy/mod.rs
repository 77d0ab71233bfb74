//! Predicted against measured: errors by source, verdicts, worst misses, constants, and what is not modelled.

mod layouts;
mod tables;

use super::limits::NOT_MODELLED;
use super::runs::standings;
use crate::look::Slice;
use crate::prelude::*;
use crate::scoreboard::{Board, Tool, alike, nearest, points};
use crate::views::View;
use layouts::layouts;
use shardscope_core::accuracy::record::{Protocol, Recipe, headline, recorded_of};
use shardscope_core::accuracy::{Bench, LEFT_OUT};
use shardscope_core::calibrate::{Observation, RunStanding};
use shardscope_core::scoreboard::{Column, Miss};
use tables::{bands, by_class, by_protocol, by_source, constants_table, misses, towers, uneven};

/// A person's own runs, and how each stands to the model.
#[derive(Clone, Copy, Default)]
pub struct Yours<'a> {
    pub runs: &'a [Observation],
    /// Their steps against the shipped constants and against the fit.
    pub standings: &'a [RunStanding],
}

/// How wrong the calculator is by how it was tested, and the slice of the scoreboard that is about `run`: this
/// calculator's row, the published runs most like it, and `yours`.
pub fn near(board: &Board, run: &Run, yours: Yours) -> Node {
    let Some(tool) = board.tools.first() else {
        return Node::none();
    };
    let like = nearest(board, tool, run, NEAREST);
    let measured = standings(yours.runs, yours.standings);
    let head = if measured == Node::none() { Node::none() } else { heading("Your runs") };
    let open = link_button("Add runs that you measured");
    let open = open.on(Action::Show(View::Diagnose(true)));
    let scoreboard = link_button("All calculators on the published runs").on(Action::Show(View::Scoreboard));
    let alike = [heading("Published runs most like yours"), alike(board, tool, &like)];
    let parts = [head, measured, alike.into_iter().collect(), open, text(verbatim(" ")), scoreboard];
    let beside = el("div", &[], &parts);
    let picture = picture(tool, Slice::Steps, "Step times: predicted over measured", &like, yours.standings);
    Node::from_iter([tested(), el("div", &[("class", "two")], &[picture, beside])])
}

fn picture(tool: &Tool, slice: Slice, title: &'static str, like: &[&Miss], yours: &[RunStanding]) -> Node {
    el("figure", &[("class", "chart")], &[heading(title), points(tool, slice, title, like, yours)])
}

/// All published runs, folded.
pub fn all(bench: &Bench, board: &Board) -> Node {
    let title = "Memory peaks: predicted over measured";
    let peaks = board.tools.first().map(|tool| picture(tool, Slice::Column(Column::Peaks), title, &[], &[]));
    let parts = [summary(bench), peaks.unwrap_or_default(), layouts(bench), details(bench)];
    fold("All runs, by source", parts.into_iter().collect::<Node>())
}

/// Runs that are shown as those most like the page's.
const NEAREST: usize = 5;

/// Rows shown without a fold.
const FIRST: usize = 20;

/// The errors of steps by how they were tested, and by class.
pub fn tested() -> Node {
    let tally = headline();
    let lead = t!(
        "On {runs} runs predicted by what was known before they were published: mean error {mean}, median {median}, \
            inside the range {held}.",
        mean = show_percent(tally.mean),
        median = show_percent(tally.median),
        held = show_percent(tally.held),
        runs = tally.runs
    );
    let aside = recorded_of(Protocol::Kept, Recipe::AsPrinted, None).unwrap_or_default();
    let aside = t!(
        "On {runs} held out, and looked at once when a part of the range was chosen: mean {mean}, median {median}, \
            inside {held}.",
        runs = aside.runs,
        mean = show_percent(aside.mean),
        median = show_percent(aside.median),
        held = show_percent(aside.held)
    );
    Node::from_iter([
        heading("How wrong, by how it was tested"),
        el("p", &[], &[strong(lead), text(" "), text(aside)]),
        by_protocol(),
        muted(
            "The range should hold 80 % of runs. The runs of the first four rows set its width, so more of those lie \
                inside. Fine-tuning with context parallelism and runs that nobody tuned are outside of its promise.",
        ),
        heading("Predicted before publication, by class"),
        by_class(),
        muted(
            "\"Predicted before\" and \"held out\" know what the tables of a publication print. \"All settings\" know \
                what other files of it tell, too: by these the scoreboard asks every calculator.",
        ),
    ])
}

/// Summary above the pictures.
fn summary(bench: &Bench) -> Node {
    let mut pieces = vec![el(
        "p",
        &[],
        &[text(t!(
            "{rows} published runs, computed just now in this page as it computes yours. {rows_2} further lines of \
                the same tables are other hardware or frameworks, or leave out what a run needs.",
            rows = bench.rows.len(),
            rows_2 = bench.lines.saturating_sub(bench.rows.len())
        ))],
    )];
    if let Some((mean, worst, groups)) = bench.choice_loss() {
        pieces.push(el(
            "p",
            &[],
            &[text(t!(
                "Choosing: in {groups} groups of layouts on the same GPUs (tables 3 and 4) the one predicted \
                fastest was {mean} slower than the fastest measured on average, {worst} at worst.",
                groups,
                mean = show_percent(mean),
                worst = show_percent(worst)
            ))],
        ));
    }
    pieces.push(heading("Error by source"));
    pieces.push(by_source(bench));
    pieces.push(muted(
        "Mean and worst of |predicted/measured - 1|; bias over 0: predicted too slow or too large. \
        Bold: a mean over 15 %.",
    ));
    let outcomes = t!("Verdicts against {verdicts} outcomes", verdicts = bench.verdicts.len());
    pieces.push(heading(&outcomes));
    pieces.push(bands(bench));
    pieces.push(muted("These runs set the rule of the verdict: it had seen them."));
    pieces.into_iter().collect()
}

/// Rows of each source that say too little, and the settings that they leave out.
fn left_out() -> Node {
    let line = |(source, n, why): (&str, usize, &'static str)| {
        let name = verbatim(source.trim_end_matches(['@', ':']));
        bullet(t!("{n} of {name}: {why}", n, name, why))
    };
    el("ul", &[], &[LEFT_OUT.into_iter().map(line).collect()])
}

/// Details below the pictures: worst misses first, the uneven pipeline, the constants, the rows left out.
fn details(bench: &Bench) -> Node {
    let facts = bench.worst_first();
    let (first, rest) = facts.split_at(facts.len().min(FIRST));
    Node::from_iter([
        heading("Worst misses first"),
        misses("Worst misses", bench, first),
        fold(t!("The other {rest} runs", rest = rest.len()), misses("The other runs", bench, rest)),
        uneven(bench),
        towers(),
        fold("How each constant was obtained", constants_table()),
        fold("Fine-tuning rows that are not computed", left_out()),
        fold("What is not modelled", list(NOT_MODELLED)),
    ])
}

fn list(items: &[&'static str]) -> Node {
    let items: Node = items.iter().map(bullet).collect();
    el("ul", &[("class", "plain")], &[items])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::accuracy::read;
    use shardscope_core::scoreboard::{About, Score, predictions, questions};

    fn bench() -> Bench {
        let mut bench = Bench::default();
        bench.add(read("uneven_pp_h20.csv", include_str!("../../../../public/data/uneven_pp_h20.csv")));
        let run = "stack=megatron-2024&model=llama-3.1-8b&gpu.base=a100-sxm-40gb&gpu.inter_gb_per_s=12.5&gpus=8\
            &seq_len=8192&global_batch=1024&loader_ns=2.75";
        let columns = "table,tp,cp,pp,micro_batch,gpus,tflops_per_gpu_or_oom,run";
        let (ran, out) = ("&tp=4&pp=2&micro_batch=1", "&tp=1&pp=1&micro_batch=4");
        let lines = format!("{columns}\n3,4,1,2,1,8,182.6,{run}{ran}\n3,1,1,1,4,8,OOM,{run}{out}\n");
        bench.add(read("fujii_measured.csv", &lines));
        while bench.advance() {}
        bench
    }

    #[test]
    fn a_miss_is_shown_as_plainly_as_a_hit() {
        let bench = bench();
        let html = details(&bench).to_html();
        let (miss, hit) = (html.find("10 and 18 layers"), html.find("tp 4 cp 1 pp 2 b 1 on 8"));
        assert!(miss.unwrap() < hit.unwrap());
        assert!(html.contains("measured was 1.448"), "{html}");
        assert!(summary(&bench).to_html().contains("Out of memory"));
    }

    /// This calculator's row of the published runs of `bench`.
    fn board(bench: &Bench) -> Board {
        let questions = questions(&bench.rows);
        let score = Score::new(&questions, &predictions(&bench.rows));
        Board { questions, tools: vec![Tool { id: String::new(), about: About::default(), score }] }
    }

    /// The note on uneven pipelines: a published run is most like itself, and stands first with what it was measured
    /// at.
    #[test]
    fn the_runs_most_like_one_begin_with_itself() {
        let bench = bench();
        let measured = &bench.rows.iter().find(|row| row.label.starts_with("14 and 14")).unwrap().run;
        let html = near(&board(&bench), measured, Yours::default()).to_html();
        let (first, second) = (html.find("14 and 14 layers"), html.find("10 and 18 layers"));
        assert!(first.unwrap() < second.unwrap());
        // Each mean of one class names the test that it is of: three tests, three heads.
        for head in ["its class, predicted the same way", "mean, predicted before", "mean, fitted"] {
            assert_eq!(html.matches(head).count(), 1, "{head}: {html}");
        }
    }

    /// A run of one's own stands beside the published ones: in the table, and in the picture with a mark of its own.
    #[test]
    fn own_runs_stand_beside_the_published_ones() {
        let run = Run::default();
        let seconds = evaluate(&run).unwrap().report.step.time_s.0;
        let runs = [Observation::step("our first", run.clone(), seconds * 1.25)];
        let fit = shardscope_core::calibrate::fit(&runs).unwrap();
        let yours = Yours { runs: &runs, standings: &fit.standings };
        let html = near(&board(&bench()), &run, yours).to_html();
        assert!(html.contains("our first") && html.contains("−20.0 %"), "{html}");
        assert_eq!(html.matches("stroke-width:2\"").count(), 1);
    }

    /// A row's button holds the whole Run.
    #[test]
    fn a_row_opens_the_run_that_was_computed() {
        let bench = bench();
        for row in &bench.rows {
            let (run, issues) = Run::from_pairs(&row.run.changed_texts());
            assert!(issues.is_empty());
            assert_eq!(run, row.run);
        }
    }
}
