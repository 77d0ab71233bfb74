//! The view of the search over layouts: its progress, the list of the fastest layouts with the reasons of their order,
//! a comparison of pinned layouts, maps, curves over sizes, questions with one answer, and the playbook's recipe. Every
//! button has a `PlanCommand`.

mod compare;
mod controls;
mod curves;
mod map;
mod neighbours;
mod pareto;
mod question;
pub(crate) mod rows;

pub use controls::PlanView;

use crate::node::action::PlanFold;
use crate::prelude::*;
use crate::words;
use controls::fold;
use shardscope_core::search::{Axes, PlanRequest, SearchProgress, measured_step, nothing_found, recipe};

/// The panel in two parts: the progress of the search, and its results.
pub fn panel(view: &PlanView) -> [Node; 2] {
    let body = match view.result.progress {
        Some(progress) => body(view, progress),
        None => intro(),
    };
    [progress(view), body]
}

/// The other panel: questions with one answer, and curves over other sizes.
pub fn scaling(view: &PlanView) -> Node {
    Node::from_iter([question::buttons(view), curves::sweeps(view)])
}

fn intro() -> Node {
    let words = "Searches every layout that divides these GPUs, this batch and this model: TP, PP, CP, EP, ZeRO, \
        micro-batch, schedule, split and recomputation. It runs beside the page and can be stopped.";
    muted(words)
}

fn progress(view: &PlanView) -> Node {
    let (result, over) = (view.result, view.result.done || view.query.stopped);
    let words = if let Some(progress) = result.progress {
        let (evaluated, feasible, reported) = (progress.evaluated, progress.feasible, progress.reported);
        let listed = result.rows.len();
        let counts = if progress.is_over() {
            // What is looked at is computed in full or decided by bounds: the two sum to it.
            match evaluated.saturating_sub(reported) {
                0 => t!(
                    "{evaluated} layouts looked at, all computed in full. Memory rules out all but {feasible}; \
                        {listed} are listed.",
                    evaluated,
                    feasible,
                    listed
                ),
                others => t!(
                    "{evaluated} layouts looked at: {reported} computed in full, {others} decided by bounds of memory \
                        and step. Memory rules out all but {feasible}; {listed} are listed.",
                    evaluated,
                    reported,
                    others,
                    feasible,
                    listed
                ),
            }
        } else {
            t!("{evaluated} layouts looked at, {reported} computed in full so far.", evaluated, reported)
        };
        let stopped = view.query.stopped.then(|| t!("Stopped."));
        let limit = progress.stopped.map(|share| {
            t!(
                "The search ended at its limit of work, with {share} of the layouts looked at, evenly spread: others \
                    may be faster.",
                share = show_percent(share)
            )
        });
        Message::joined(" ", std::iter::once(counts).chain(stopped).chain(limit))
    } else if view.query.stopped {
        t!("Stopped.")
    } else if over {
        return Node::none();
    } else {
        t!("Searching.")
    };
    let line = el("p", &[("class", "muted"), ("role", "status")], &[text(&words)]);
    if over {
        return line;
    }
    let done = format!("{}%", (result.share * 100.0).floor());
    let bar = el("b", &[("style", &percent("width", result.share))], &[]);
    let ratio = el(
        "div",
        &[("class", "ratio"), ("role", "progressbar"), ("aria-label", "Search"), ("aria-valuetext", &done)],
        &[bar],
    )
    .label("Search")
    .say("aria-valuetext", verbatim(done))
    // The key keeps the focus on other parts when this one appears or disappears above them.
    .keyed("progress");
    Node::from_iter([ratio, line])
}

fn body(view: &PlanView, progress: SearchProgress) -> Node {
    // Those of the search: a filter names a schedule by its place among them.
    let axes = Axes::able(&view.query.run).ok().filter(|_| progress.is_over());
    let measured = view.query.run.measured_step_s.map(|_| {
        let factor = view.own.and_then(|own| own.report.step.rescaled_by);
        measured_step(factor)
    });
    let found = nothing_found(progress, view.result.best.as_slice()).map(|issue| match progress.evaluated {
        0 => words::none_divides(&view.query.run),
        _ => issue.message,
    });
    let warnings = measured.map(|issue| issue.message).into_iter().chain(found);
    let mut parts: Vec<Node> = warnings.map(|words| leaf("p", "issue warning", words)).collect();
    parts.push(neighbours::neighbours(view));
    if let Some(axes) = &axes {
        parts.push(rows::chips(view, axes));
    }
    parts.push(rows::rows(view, progress.is_over()));
    parts.push(compare::pinned(view));
    if let Some(axes) = &axes {
        let pictures = [pareto::pareto(view), map::map(view, axes)];
        parts.push(el("div", &[("class", "two")], &pictures));
    }
    if progress.is_over() {
        parts.push(walk(view));
    }
    parts.into_iter().collect()
}

fn walk(view: &PlanView) -> Node {
    let summary = "The playbook's recipe with this run's numbers";
    fold(view, PlanFold::Recipe, summary, || {
        let question = PlanRequest::question(&view.query.run);
        let walk = recipe::walk(&question, view.result.best.as_deref());
        let steps = walk.steps.iter();
        let items: Node =
            steps.map(|step| bullet(t!("{step}: {text}", step = step.title, text = &step.text))).collect();
        let end = paragraph(&walk.end);
        Node::from_iter([el("ol", &[], &[items]), end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::action::Press;
    use shardscope_core::pipeline::SCHEDULES;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::Schedule;
    use shardscope_core::run::presets::STACKS;
    use shardscope_core::search::answers::PlanQuestion;
    use shardscope_core::search::filter::LayoutAxis;
    use shardscope_core::search::map::MapAxes;
    use shardscope_core::search::session::{Asked, Extra, PlanSession, RowOrder};
    use shardscope_core::search::session::{PlanCommand, PlanQuery, PlanResult};
    use shardscope_core::search::sweep::Grown;

    /// Both parts as HTML with these folds open, and the Runs that their buttons load.
    fn shown(query: &PlanQuery, result: &PlanResult, folds: &[PlanFold]) -> (String, usize) {
        let view = PlanView { folds, ..view(query, result) };
        let panel: Node = panel(&view).into_iter().chain([scaling(&view)]).collect();
        let actions = panel.actions().into_iter();
        let loads = actions.filter(|action| matches!(action, Action::Load(_)));
        (panel.to_html(), loads.count())
    }

    fn view<'a>(query: &'a PlanQuery, result: &'a PlanResult) -> PlanView<'a> {
        PlanView { query, result, own: None, folds: &PlanFold::OPEN, unit: MemoryUnit::Gib }
    }

    fn finished(commands: &[PlanCommand]) -> (PlanQuery, PlanResult) {
        let run = Run { gpus: 8, global_batch: 16, ..Run::default() };
        let mut query = PlanQuery::new(&run);
        let mut session = PlanSession::new(query.clone()).unwrap();
        for command in commands {
            query.apply(*command);
            session.set(&query);
            while !session.step(100_000) {}
        }
        (query, session.result(true))
    }

    #[test]
    fn the_answer_says_its_rows_and_how_to_load_them() {
        let (query, mut result) = finished(&[PlanCommand::Search, PlanCommand::Want(Extra::Map, false)]);
        let (html, loads) = shown(&query, &result, &[PlanFold::Pareto, PlanFold::Rows]);
        assert_eq!(loads, result.rows.len());
        assert!(html.contains("simplest") && !html.contains("progressbar"));
        assert!(!html.contains("NaN") && !html.contains("inf "));
        result.done = false;
        let [under_way, _] = panel(&view(&query, &result));
        assert!(under_way.to_html().contains("progressbar"));
    }

    #[test]
    fn every_fold_shows_its_content() {
        let (query, result) = finished(&[
            PlanCommand::Search,
            PlanCommand::Sweep(Grown::GlobalBatch),
            PlanCommand::Ask(Asked::Sweep(PlanQuestion::FewestGpus)),
            PlanCommand::Map(MapAxes::Fields(LayoutAxis::Schedule, LayoutAxis::Pp)),
        ]);
        let folds = [&PlanFold::OPEN[..], &[PlanFold::Recipe, PlanFold::SweepTable]].concat();
        let (html, _) = shown(&query, &result, &folds);
        for part in ["usable memory", "Map of layouts", "Step time, s", "Fit in memory", "train this"] {
            assert!(html.contains(part), "{part}");
        }
        assert!(!html.contains("NaN"));
    }

    /// A run that is one of the ranked layouts stands there, once, and no press on it leads to itself; so does one that
    /// differs in settings without effect.
    #[test]
    fn the_run_stands_once_among_the_rows() {
        let (query, result) = finished(&[PlanCommand::Search]);
        let single = result.rows.iter().position(|row| row.run.pp == 1).unwrap();
        let own = result.rows[single].run.clone();
        let idle = Run { schedule: Schedule::ZbV, virtual_stages: 2, ..own.clone() };
        let elsewhere = Run { micro_batch: own.micro_batch * 2, zero: 3, ..own.clone() };
        for (own, ranked) in [(own, true), (idle, true), (elsewhere, false)] {
            let own = evaluate(&own).unwrap();
            let view = PlanView { own: Some(&own), folds: &[PlanFold::Rows], ..view(&query, &result) };
            let [_, body] = panel(&view);
            let html = body.to_html();
            assert_eq!(html.matches(">your run<").count(), 1);
            assert_eq!(html.matches(">Use<").count(), result.rows.len() - usize::from(ranked));
        }
    }

    /// Rows of the list differ in what they say: 8 B parameters on 64 GPUs have splits that differ in one stage.
    #[test]
    fn no_two_rows_read_the_same() {
        for set in [&[][..], &[("model", "deepseek-v3"), ("gpus", "256"), ("global_batch", "1024"), ("pp", "8")][..]] {
            let set: Vec<_> = set.iter().map(|(key, text)| (*key, (*text).to_owned())).collect();
            let mut query = PlanQuery::new(&Run::default().with_texts(&set).unwrap());
            query.apply(PlanCommand::Search);
            let mut session = PlanSession::new(query.clone()).unwrap();
            while !session.step(1_000_000) {}
            let result = session.result(true);
            let names: Vec<String> =
                result.rows.iter().map(|row| rows::short(&row.run, row.figures.dp)).map(said).collect();
            for (at, name) in names.iter().enumerate() {
                assert!(!names[..at].contains(name), "{name}");
            }
            assert!(names.len() > 9, "{names:?}");
        }
    }

    /// The layouts of a search are those that were computed in full and those that bounds decide: in a small search all
    /// are computed, and as many as fit are listed or more than that fit.
    #[test]
    fn the_counts_of_a_search_sum_to_what_it_looked_at() {
        let lora = [("adapter.method", "lora"), ("stack", "hf-trainer"), ("gpus", "4"), ("tp", "1"), ("pp", "1")];
        for (set, is_small) in [(&lora[..], true), (&[][..], false)] {
            let mut query = PlanQuery::new(&Run::default().with_texts(set).unwrap());
            query.apply(PlanCommand::Search);
            let mut session = PlanSession::new(query.clone()).unwrap();
            while !session.step(1_000_000) {}
            let result = session.result(true);
            let words = progress(&view(&query, &result)).to_html();
            let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
            let text = words.split('>').nth(1).unwrap().split('<').next().unwrap();
            let counts: Vec<u64> =
                text.split([':', ',', '.', ';']).filter_map(|part| digits(part).parse().ok()).collect();
            let (evaluated, rest) = counts.split_first().unwrap();
            let is_whole = if let [reported, others, ..] = rest
                && !is_small
            {
                reported + others == *evaluated
            } else {
                is_small
            };
            assert!(is_whole, "{text}");
            let [.., feasible, listed] = counts[..] else { panic!("{text}") };
            assert!(listed <= feasible && feasible <= *evaluated, "{text}");
            assert_eq!(listed, result.rows.len() as u64);
        }
    }

    fn said(lines: [Message; 2]) -> String {
        lines.map(|line| line.to_string()).join(" / ")
    }

    /// Every order shows rows with the run above them, and orders by what it says.
    #[test]
    fn rows_stand_in_the_order_that_was_chosen() {
        let (query, result) = finished(&[PlanCommand::Search, PlanCommand::Order(RowOrder::Cheapest)]);
        let (html, _) = shown(&query, &result, &[PlanFold::Pareto, PlanFold::Map, PlanFold::Rows]);
        // Eight billion parameters fit on some of 1, 2, 4 and 8 GPUs, and on one with 80 GB do not.
        let rows = result.cheapest.as_ref().unwrap().cheapest();
        let rates = rows.iter().map(|one| -one.figures.tokens_per_s_per_gpu);
        assert!((1..4).contains(&rows.len()) && rates.is_sorted());
        assert_eq!(html.matches(">Compare<").count(), rows.len());
        assert!(html.contains("GPU-hours") && html.contains("8 GPUs"), "{html}");
        let (query, result) = finished(&[PlanCommand::Search, PlanCommand::Order(RowOrder::Leanest)]);
        let peaks: Vec<f64> = result.layouts.front.iter().map(|one| one.figures.peak.bytes.0).collect();
        assert!(peaks.len() > 3 && peaks.is_sorted());
        let first = MemoryUnit::Gib.number(result.layouts.front[0].figures.peak.bytes);
        let (html, _) = shown(&query, &result, &PlanFold::OPEN);
        let row = html.split("<tr").nth(2).unwrap();
        assert!(row.contains(&first), "{first}: {row}");
    }

    /// The filters name what the search looked at: of schedules those that the software runs, as the cards of Schedules
    /// have it, each at its place in the search.
    #[test]
    fn filters_offer_what_the_software_runs() {
        let (mut presses, mut names) = (0, 0);
        for stack in STACKS.iter().filter(|stack| stack.abilities().pipeline) {
            let run = Run { gpus: 8, global_batch: 16, ..Run::default() }.with_texts(&[("stack", stack.choice.id)]);
            let mut query = PlanQuery::search(&run.unwrap());
            query.apply(PlanCommand::Want(Extra::Map, false));
            let mut session = PlanSession::new(query.clone()).unwrap();
            while !session.step(100_000) {}
            let result = session.result(true);
            let view = PlanView { folds: &[PlanFold::Filters], ..view(&query, &result) };
            let axes = Axes::able(&query.run).unwrap();
            let panel: Node = panel(&view).into_iter().collect();
            for press in panel.presses() {
                let Press::Panel(PanelAction::Plan(PlanCommand::Filter(axis, value))) = press else { continue };
                assert!(axis.values(&axes).contains(value), "{}: {axis:?} {value}", stack.choice.id);
                presses += usize::from(*axis == LayoutAxis::Schedule);
            }
            let html = panel.to_html();
            for row in SCHEDULES {
                let is_offered = html.contains(&format!(">{}</button>", row.kind.choice().label));
                assert!(!is_offered || row.is_run_by(stack), "{}: {:?}", stack.choice.id, row.kind);
                names += usize::from(is_offered);
            }
        }
        assert!(presses > 0 && names > 0, "{presses} {names}");
    }

    #[test]
    fn two_pinned_rows_are_compared() {
        let (mut query, result) = finished(&[PlanCommand::Search]);
        for row in [0, 2] {
            query.apply(PlanCommand::Pin(result.rows[row].place));
        }
        let mut session = PlanSession::new(query.clone()).unwrap();
        while !session.step(100_000) {}
        let (html, _) = shown(&query, &session.result(true), &PlanFold::OPEN);
        let table = html.split("<table class=\"pinned\">").nth(1).unwrap();
        let (head, rows) = table.split_once("</thead>").unwrap();
        assert!(head.contains("Pinned") && head.contains(">use A<") && head.contains(">use B<"));
        assert_eq!(head.matches("<th").count(), 1 + 1 + 2, "{head}");
        // The first is the one that the search puts first: the second takes longer, and says by how much.
        let step = rows.split("<tr>").find(|row| row.contains(">step time<"));
        let step = step.unwrap();
        assert!(step.contains("(+") && step.contains("%)"), "{step}");
    }

    #[test]
    fn an_empty_session_offers_the_questions() {
        let (query, result) = finished(&[]);
        let [head, _] = panel(&view(&query, &result));
        assert_eq!(head, Node::none());
        let asks = |press: &&&Press| matches!(press, Press::Panel(PanelAction::Plan(PlanCommand::Ask(_))));
        assert_eq!(scaling(&view(&query, &result)).presses().iter().filter(asks).count(), 3);
    }
}
