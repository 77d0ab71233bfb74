//! Published runs: what was measured of them beside what the calculator predicts.

use super::changes::{SettingChange, changes};
use crate::look::ScoredLine;
use crate::panels::whole::WholeRunAnswer;
use crate::prelude::*;
use crate::words;
use shardscope_core::run::presets::{MLPERF_RUNS, Measured, PUBLISHED, PublishedRun, WHOLE_RUNS, published};
use shardscope_core::units::{group, show_off};
use shardscope_core::whole_run::time_to_train;
use std::mem::discriminant;

/// A measured figure: its name, what was published, what is predicted, and the relative error; none where the run has
/// no such figure.
fn figure(measured: Measured, evaluation: &Evaluation) -> Option<(Message, String, String, f64)> {
    let step = &evaluation.report.step;
    let whole = || WholeRunAnswer::new(evaluation).ok().map(|answer| answer.figures);
    let rate = |value: f64| format!("{} TFLOP/s", significant(value, 3));
    let grouped = |count: f64| group(&format!("{count:.0}"));
    let (name, theirs, ours, show): (_, f64, f64, fn(f64) -> String) = match measured {
        Measured::Step(theirs) => ("step", theirs, step.time_s.0, |s| show_seconds(Seconds(s))),
        Measured::Tflops(theirs) => ("model rate per GPU", theirs, step.tflops_per_gpu, rate),
        Measured::HardwareTflops(theirs) => {
            let again = if step.mfu > 0.0 { step.hfu / step.mfu } else { 1.0 };
            ("hardware rate per GPU", theirs, step.tflops_per_gpu * again, rate)
        }
        Measured::Mfu(theirs) => ("MFU", theirs, step.mfu, show_percent),
        Measured::Hfu(theirs) => ("HFU", theirs, step.hfu, show_percent),
        Measured::Tokens(theirs) => ("tokens/s/GPU", theirs, step.tokens_per_s_per_gpu, grouped),
        Measured::GpuHours(theirs) => ("GPU-hours", theirs, step.gpu_hours.unwrap_or(0.0), grouped),
        Measured::Days(theirs) => ("days", theirs, whole()?.days, |days| significant(days, 3)),
        Measured::JobHours(theirs) => {
            let hours = whole()?.days * 24.0 * evaluation.scenario.run.gpus as f64;
            ("GPU-hours of the whole run", theirs, hours, |hours| show_count(hours))
        }
        Measured::Interruptions(theirs, days) => {
            let whole = whole()?;
            ("interruptions", theirs, whole.interruptions * days / whole.days, grouped)
        }
        Measured::HoursToInterrupt(theirs) => {
            ("hours to an interruption", theirs, whole()?.mtti_s?.0 / 3600.0, |hours| significant(hours, 3))
        }
        Measured::Productive(theirs) => ("productive share", theirs, whole()?.productive, show_percent),
        Measured::ToTrain { minutes, samples, evaluations, set } => {
            let ours = time_to_train(evaluation, samples, evaluations, set);
            ("time to train, with its evaluations", 60.0 * minutes, ours.0, |s| show_seconds(Seconds(s)))
        }
    };
    // A count says of how long it is: the whole run has more.
    let name = match measured {
        Measured::Interruptions(_, days) => t!("interruptions in {days} days", days),
        _ => Message::plain(name),
    };
    Some((name, show(theirs), show(ours), ours / theirs - 1.0))
}

fn off(share: f64) -> String {
    show_off(share, 0)
}

/// A panel where `run` is a published one, unchanged: each of its figures beside ours.
pub fn beside(run: &Run) -> Node {
    let Some(known) = published(run) else {
        return Node::none();
    };
    let Ok(evaluation) = evaluate(run) else {
        return Node::none();
    };
    let mut rows: Vec<_> = known
        .measured
        .iter()
        .filter_map(|measured| figure(*measured, &evaluation))
        .map(|(name, theirs, ours, share)| {
            (false, vec![text(name), text(verbatim(&theirs)), text(verbatim(&ours)), text(verbatim(off(share)))])
        })
        .collect();
    let memory = &evaluation.report.memory;
    let verdict = t!(
        "{verdict} at {peak} of {capacity}",
        verdict = words::verdict_of(&evaluation.scenario.run, &memory.peak()).2,
        peak = MemoryUnit::Gib.number(memory.peak_bytes),
        capacity = MemoryUnit::Gib.show(memory.capacity_bytes)
    );
    let fits = memory.verdict == Verdict::Fits;
    let over = if fits { String::new() } else { off(memory.peak_bytes / memory.capacity_bytes - 1.0) };
    let cells = vec![text("memory"), text("it ran"), text(&verdict), text(verbatim(over))];
    rows.push((!fits, cells));
    let title = t!("{run}: published and computed", run = known.name);
    el(
        "section",
        &[("class", "published")],
        &[
            el("div", &[("class", "panel-head")], &[leaf("h2", "", &title)]),
            words::ran(memory).map_or_else(Node::none, |words| leaf("p", "ran", words)),
            table(&title, &["", "published", "computed", "off"], &rows),
            siblings(known, &evaluation),
            el(
                "p",
                &[("class", "muted")],
                &[
                    text("Source: "),
                    cited_at(known.source, known.place),
                    text(t!(". Not printed, and taken: {assumed}.", assumed = known.assumed_words())),
                ],
            ),
        ],
    )
    .label(title)
}

/// Published runs that differ from a run in one setting, with what that moves, each a button.
fn siblings(known: &PublishedRun, evaluation: &Evaluation) -> Node {
    let own = &evaluation.scenario.run;
    let others = PUBLISHED.iter().filter(|other| other.id != known.id).filter_map(|other| {
        let run = other.run();
        let mut changed = changes(&run, own);
        let change = changed.pop().filter(|_| changed.is_empty())?;
        Some((other, change, evaluate(&run).ok()?))
    });
    let line = |(other, change, found): (&PublishedRun, SettingChange, Evaluation)| {
        let bubble = |one: &Evaluation| show_percent(one.report.pipeline.bubble_fraction);
        let computed = t!(
            "computed, {there} of its pipeline's time is bubble, and {here} of this run's",
            there = bubble(&found),
            here = bubble(evaluation)
        );
        // The first figure that both sources print.
        let pairs = known.measured.iter().flat_map(|own| other.measured.iter().map(move |theirs| (own, theirs)));
        let same = pairs.filter(|(own, theirs)| discriminant(*own) == discriminant(*theirs));
        let printed = same.filter_map(|(own, theirs)| Some((figure(*own, evaluation)?, figure(*theirs, &found)?)));
        let printed = printed.take(1).map(|((name, own, ..), (_, theirs, ..))| {
            t!("published, its {figure} is {theirs}, and this run's {own}", figure = name, theirs, own)
        });
        let words = t!("{figures}.", figures = Message::joined("; ", std::iter::once(computed).chain(printed)));
        let name = load("link", &found.scenario.run, "", &[text(other.name)]);
        let one = t!("Differs in one setting, {field}, {value}:", field = change.field.label, value = &change.to);
        el("p", &[("class", "sibling")], &[text(one), text(" "), name, text(verbatim(": ")), text(words)])
    };
    others.map(line).collect()
}

/// A line beside a run that was opened from the scoreboard, until it is changed: the figure there, and why it differs.
pub fn from_scoreboard(scored: &ScoredLine, evaluation: &Evaluation) -> Node {
    if evaluation.scenario.run != scored.run {
        return Node::none();
    }
    let words = if let Some(peak_is) = scored.peak_is {
        t!(
            "The scoreboard has {predicted} of this run: {peak}. The peak here counts fragmentation, the CUDA context, \
                libraries and communicators beside it.",
            predicted = format!("{} GiB", significant(scored.predicted, 3)),
            peak = Message::plain(peak_is)
        )
    } else {
        let [there, here] = [scored.predicted, evaluation.report.step.time_s.0].map(|s| show_seconds(Seconds(s)));
        if there == here {
            return Node::none();
        }
        if scored.is_ours {
            t!(
                "The scoreboard has {there} a step of this run, by constants that had not seen it; {here} is \
                    computed by the constants of today.",
                there,
                here
            )
        } else {
            t!(
                "The scoreboard has {there} a step of this run, by {tool}; {here} is what this page computes.",
                there,
                tool = verbatim(&scored.tool),
                here
            )
        }
    };
    muted(words)
}

/// A line where `run` is a published whole run, unchanged: its figures and ours.
pub fn checked(run: &Run) -> Node {
    let known = published(run).filter(|known| WHOLE_RUNS.iter().any(|whole| whole.id == known.id));
    let Some((known, evaluation)) = known.and_then(|known| Some((known, evaluate(&known.run()).ok()?))) else {
        return Node::none();
    };
    let figures = known.measured.iter().filter_map(|measured| figure(*measured, &evaluation));
    let lines = figures.map(|(name, theirs, ours, share)| {
        t!(
            "{figure} {published}, here {computed} ({off})",
            figure = name,
            published = theirs,
            computed = ours,
            off = off(share)
        )
    });
    let words = t!("Published of this run: {figures}.", figures = Message::joined("; ", lines));
    el("p", &[("class", "muted")], &[text(words), text(" "), text("Source: "), cited_at(known.source, known.place)])
}

/// Relative error from which on a row says what its source leaves open.
const FAR: f64 = 0.25;

/// The rows of a run: its first measured figure, or `every` one.
fn rows(known: &PublishedRun, is_now: bool, every: bool) -> Vec<(bool, Vec<Node>)> {
    let run = known.run();
    let evaluation = evaluate(&run).ok();
    let few = if every { known.measured.len() } else { 1 };
    let figures = known.measured.iter().take(few);
    let line = |at: usize, measured: &Measured| {
        let found = evaluation.as_ref().and_then(|evaluation| figure(*measured, evaluation));
        let (what, theirs, ours, share) = found.unwrap_or((Message::default(), String::new(), String::new(), 0.0));
        let first = at == 0;
        // A figure that is far off is not left without what may be why.
        let open = if share.abs() > FAR && !known.assumed.is_empty() {
            let taken = t!("Not printed, and taken: {assumed}.", assumed = known.assumed_words());
            let parts = [leaf("summary", "", "what is open"), leaf("small", "wrap", taken)];
            el("details", &[("class", "open-points")], &parts).keyed(known.id)
        } else {
            Node::none()
        };
        let name =
            if first { Node::from_iter([load("link", &run, "", &[text(known.name)]), open]) } else { Node::none() };
        let source =
            if first { el("span", &[("class", "wrap")], &[cited_at(known.source, known.place)]) } else { Node::none() };
        let figures = [theirs, ours, off(share)].map(|figure| text(verbatim(figure)));
        (is_now, [vec![name, text(what)], figures.to_vec(), vec![source]].concat())
    };
    figures.enumerate().map(|(at, measured)| line(at, measured)).collect()
}

/// All published runs, each with the button that loads it.
pub fn all(run: &Run) -> Node {
    let now = published(run).map(|known| known.id);
    let lines = |runs: &[PublishedRun], every: bool| -> Vec<_> {
        runs.iter().flat_map(|known| rows(known, now == Some(known.id), every)).collect()
    };
    let head = ["", "figure", "published", "computed", "off", "source"];
    Node::from_iter([
        leaf("h2", "", "Published runs"),
        muted(
            "Each is loaded whole, with what its authors measured beside what is computed here. The accuracy panel \
                has every measurement the calculator is tested against.",
        ),
        table("Published runs", &head, &lines(PUBLISHED, false)),
        leaf("h3", "", "Whole runs, from the first step to the last token"),
        muted(
            "The step is predicted as everywhere; days and interruptions follow from it and from the class of nodes. \
                What a source leaves open is said where the run is loaded.",
        ),
        table("Whole runs", &head, &lines(WHOLE_RUNS, true)),
        leaf("h3", "", "MLPerf Training, from the first sample to the target"),
        muted("Samples and evaluations until the target are those of the log; the time of a step is predicted."),
        table("MLPerf Training", &head, &lines(&MLPERF_RUNS, false)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::presets::all_published;

    #[test]
    fn a_published_run_shows_both_figures_and_its_source_until_it_is_changed() {
        for known in all_published() {
            let mut run = known.run();
            let html = beside(&run).to_html();
            assert!(html.contains(known.place) && html.contains("published and computed"), "{}", known.id);
            run.micro_batch = 7;
            assert_eq!(beside(&run), Node::none());
        }
        // Every one of them ran: who is told otherwise is told by how much, and that is the report's figure.
        let mut told = 0;
        for known in PUBLISHED {
            let memory = evaluate(&known.run()).unwrap().report.memory;
            let html = beside(&known.run()).to_html();
            let is_said = html.contains("It ran as published; ");
            assert_eq!(is_said, memory.verdict != Verdict::Fits, "{}", known.id);
            let over = 100.0 * (memory.peak_bytes / memory.capacity_bytes - 1.0);
            if over > 0.0 && is_said {
                told += 1;
                let percent = html.split("our estimate is ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
                let percent: f64 = percent.parse().unwrap();
                assert!((percent - over).abs() < 0.51, "{}: {percent} of {over}", known.id);
            }
        }
        assert!(told > 0);
        let page = all(&Run::default());
        for (known, action) in all_published().zip(page.actions()) {
            assert_eq!(*action, Action::Load(known.run().into()));
        }
        assert_eq!(page.actions().len(), all_published().count());
    }

    /// MLPerf's log counts samples of the configuration's length: a run has as many tokens, so that its days follow
    /// from them. The figure of the panel differs by its evaluations alone, and says that it has them.
    #[test]
    fn a_run_of_mlperf_has_the_tokens_of_its_log_and_the_same_time_at_its_head() {
        use crate::panels::budget::BudgetTime;
        for known in MLPERF_RUNS.iter() {
            let (run, Some(Measured::ToTrain { samples, evaluations, set, .. })) =
                (known.run(), known.measured.first().copied())
            else {
                panic!("{}", known.id)
            };
            let tokens = run.tokens_total.unwrap_or(0.0);
            assert!((tokens / (samples * run.seq_len as f64) - 1.0).abs() < 1e-12, "{}: {tokens}", known.id);
            let evaluation = evaluate(&run).unwrap();
            let head = BudgetTime::of(&evaluation).unwrap().seconds;
            let alone = time_to_train(&evaluation, samples, 0.0, set).0;
            assert!((head / alone - 1.0).abs() < 1e-9, "{}: {head} of {alone}", known.id);
            let every = run.length.eval_every.unwrap() as f64;
            let counted = (samples / run.global_batch as f64 / every).floor();
            assert!((counted - evaluations).abs() <= 0.1 * evaluations + 1.0, "{}: {counted}", known.id);
            assert!(beside(&run).to_html().contains("time to train, with its evaluations"), "{}", known.id);
            // A link from before is of the same run.
            let before = Run { tokens_total: None, length: shardscope_core::run::RunLength::default(), ..run };
            assert_eq!(published(&before).map(|found| found.name), Some(known.name));
        }
    }

    /// What was taken is what the run has: no kernel of attention is taken where the configuration names one, and
    /// nothing is taken as recomputed or not where it says so.
    #[test]
    fn what_a_run_of_mlperf_takes_is_what_its_settings_do_not_say() {
        use shardscope_core::run::AttentionKernel;
        let mut in_fp8 = 0;
        for known in MLPERF_RUNS.iter() {
            let evaluation = evaluate(&known.run()).unwrap();
            let is_fp8 = evaluation.scenario.run.resolved().stack.parts.attention == Some(AttentionKernel::Fp8);
            in_fp8 += usize::from(is_fp8);
            assert!(!(is_fp8 && known.assumed.contains(&"attention in bf16")), "{}", known.id);
            let says = |key: &str| known.settings.iter().any(|settings| settings.contains(key));
            assert_eq!(known.assumed.contains(&"attention in bf16"), !says("stack.attention="), "{}", known.id);
            assert_eq!(known.assumed.contains(&"nothing recomputed"), !says("recompute"), "{}", known.id);
        }
        assert!(in_fp8 > 10, "{in_fp8}");
    }

    /// MLPerf Training 5.1, NVIDIA's folders `hsg_ngpu5120` and `theia_ngpu512`: `config_*_cg_fp4.sh`, as the results
    /// in `tests/data/mlperf_training.csv` have it, so nothing is said of fp8. In fp8 the scaling that is named is that
    /// of the run.
    #[test]
    fn what_a_run_of_mlperf_takes_of_fp8_is_of_a_run_in_fp8() {
        let mut seen = [0; 3];
        for known in MLPERF_RUNS.iter() {
            let precision = known.run().precision.base.unwrap_or_default();
            let words = known.assumed_words().to_string();
            let scaled = match precision {
                "fp8-delayed" => Some("delayed scaling"),
                "fp8-current" => Some("current scaling"),
                _ => None,
            };
            assert_eq!(words.contains("fp8"), scaled.is_some(), "{}: {words}", known.id);
            assert!(scaled.is_none_or(|scaled| words.contains(scaled)), "{}: {words}", known.id);
            assert_eq!(words.matches("scaling").count(), usize::from(scaled.is_some()), "{}: {words}", known.id);
            seen[scaled.map_or(2, |scaled| usize::from(scaled == "current scaling"))] += 1;
        }
        assert!(seen.iter().all(|count| *count > 3), "{seen:?}");
        let precision_of = |id: &str| MLPERF_RUNS.iter().find(|known| known.id == id).unwrap().run().precision.base;
        let printed = include_str!("../../../tests/data/mlperf_training.csv");
        for (id, folder) in [
            ("mlperf-v5-1-405b-gb200-5120", "NVIDIA/results/hsg_ngpu5120_ngc25.09_nemo/llama31_405b/"),
            ("mlperf-v5-1-405b-gb300-512", "NVIDIA/results/theia_ngpu512_ngc25.09_nemo/llama31_405b/"),
        ] {
            let line = printed.lines().find(|line| line.contains(folder)).unwrap();
            assert!(line.contains(",nvfp4,") && line.contains("_cg_fp4.sh") && precision_of(id) == Some("nvfp4"));
        }
    }

    /// A comparison has a figure for both of its runs, each with its name: Llama 3 printed 430 and 400 TFLOP/s a GPU
    /// (table 4), Korthikanti 13.75 and 18.13 s a step.
    #[test]
    fn runs_that_differ_in_one_setting_are_compared_by_figures_that_both_have() {
        let mut compared = Vec::new();
        for known in PUBLISHED {
            let html = siblings(known, &evaluate(&known.run()).unwrap()).to_html();
            for line in html.split("class=\"sibling\"").skip(1) {
                assert!(line.contains("published, its ") && !line.contains('–'), "{}: {line}", known.id);
                compared.push(line.to_owned());
            }
        }
        let has = |parts: [&str; 2]| compared.iter().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(has(["400 TFLOP/s", "430 TFLOP/s"]), "{compared:?}");
        assert!(has(["28.4 s", "19.6 s"]), "{compared:?}");
    }
}
