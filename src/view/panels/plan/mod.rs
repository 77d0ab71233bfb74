//! The plan: how far the search is, the ranked layouts and why each beats the next, what of them is
//! compared, maps, curves, answers, and the playbook's walk. Every button carries a [`PlanCommand`].

mod compare;
mod curves;
mod map;
mod pareto;
mod question;
mod rows;

use crate::core::message::Message;
use crate::core::search::session::{Fold, PlanCommand, PlanSession};
use crate::core::search::{Request, measured, recipe};
use crate::core::t;
use crate::core::units::MemoryUnit;
use crate::view::node::markup::{Action, Node, el, leaf, percent, text};

/// What the panel's parts are made from.
struct View<'a> {
    session: &'a PlanSession,
    unit: MemoryUnit,
}

/// The panel: how far the work is, and everything else.
#[must_use]
pub fn panel(session: &PlanSession, over: bool, unit: MemoryUnit) -> [Node; 2] {
    let view = View { session, unit };
    let head = progress(&view, over);
    let body = match &session.request {
        Some(request) => body(&view, request),
        None => Node::from_iter([intro(), question::buttons(&view)]),
    };
    [head, body]
}

fn intro() -> Node {
    let words = "Searches every layout that divides these GPUs, this batch and this model: TP, PP, CP, EP, ZeRO, micro-batch, schedule, split and recomputation. It runs beside the page and can be stopped.";
    leaf("p", "muted", words)
}

fn progress(view: &View, over: bool) -> Node {
    let session = view.session;
    let words = if let Some(request) = &session.request {
        let progress = request.search.progress();
        let counts = t!(
            "{evaluated} layouts looked at, {feasible} count as feasible, {reported} reported in full.",
            evaluated = progress.evaluated,
            feasible = progress.feasible,
            reported = progress.reported
        );
        let stopped = session.is_stopped().then(|| t!("Stopped."));
        Message::joined(" ", std::iter::once(counts).chain(stopped))
    } else if over {
        return Node::none();
    } else {
        t!("Searching.")
    };
    let line = el(
        "p",
        &[("class", "muted"), ("role", "status")],
        &[text(&words)],
    );
    if over {
        return line;
    }
    let done = format!("{}%", (session.share() * 100.0).floor());
    let bar = el("b", &[("style", &percent("width", session.share()))], &[]);
    let ratio = el(
        "div",
        &[
            ("class", "ratio"),
            ("role", "progressbar"),
            ("aria-label", "Search"),
            ("aria-valuetext", &done),
        ],
        &[bar],
    )
    .label("Search")
    .say("aria-valuetext", done);
    [ratio, line].into_iter().collect()
}

fn body(view: &View, request: &Request) -> Node {
    let (space, done) = (request.search.space(), request.search.progress().done);
    let mut parts: Vec<Node> = measured(&view.session.run)
        .iter()
        .map(|issue| leaf("p", "issue warning", &issue.message))
        .collect();
    if done {
        let plan = request.plan();
        let warnings = plan.warnings.iter();
        parts.extend(warnings.map(|issue| leaf("p", "issue warning", &issue.message)));
        parts.push(rows::chips(view, space));
    }
    parts.push(rows::rows(view, done));
    parts.push(compare::pinned(view));
    parts.push(question::buttons(view));
    if done {
        parts.push(rows::why(view));
        parts.push(pareto::pareto(view));
        parts.push(map::map(view, space));
    }
    parts.push(curves::sweeps(view));
    if done {
        parts.push(walk(view, request));
    }
    parts.into_iter().collect()
}

/// A button for a command.
fn button(
    class: &str,
    command: PlanCommand,
    pressed: Option<bool>,
    label: impl Into<Message>,
) -> Node {
    let pressed = match pressed {
        Some(true) => "true",
        Some(false) => "false",
        None => "",
    };
    let attributes = [("class", class), ("aria-pressed", pressed)];
    el("button", &attributes, &[text(label)]).on(Action::Plan(command))
}

/// Buttons with their commands and labels.
fn buttons(commands: &[(PlanCommand, &'static str)]) -> Node {
    let buttons = commands
        .iter()
        .map(|(command, label)| button("", *command, None, *label));
    buttons.collect()
}

/// A row of chips behind a name; each with its command and whether it is on.
fn chips_of(name: &'static str, chips: impl Iterator<Item = (PlanCommand, bool, Message)>) -> Node {
    let chips = chips.map(|(command, on, label)| button("toggle-link", command, Some(on), label));
    let inside: Node = std::iter::once(leaf("span", "muted", name))
        .chain(chips)
        .collect();
    el("p", &[("class", "chips")], &[inside])
}

/// A fold whose state the session keeps, so that it survives a redraw of the panel.
fn fold(view: &View, fold: Fold, summary: &'static str, inside: impl FnOnce() -> Node) -> Node {
    let open = view.session.is_open(fold);
    let head = leaf("summary", "", summary).on(Action::Plan(PlanCommand::Toggle(fold)));
    let content = if open { inside() } else { Node::none() };
    let state = if open { "open" } else { "" };
    el(
        "details",
        &[("class", "data-table"), ("open", state)],
        &[head, content],
    )
    .keyed(fold.name())
}

fn walk(view: &View, request: &Request) -> Node {
    let summary = "The playbook's recipe with this run's numbers";
    fold(view, Fold::Recipe, summary, || {
        let best = request.search.best().first();
        let walk = recipe::walk(view.session.question(), best.map(|best| &**best));
        let steps = walk.steps.iter();
        let items: Node = steps
            .map(|step| {
                leaf(
                    "li",
                    "",
                    t!("{step}: {text}", step = step.title, text = &step.text),
                )
            })
            .collect();
        let end = leaf("p", "", &walk.end);
        [el("ol", &[], &[items]), end].into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::run::Run;
    use crate::core::search::answers::Question;
    use crate::core::search::filter::Axis;
    use crate::core::search::map::Picture;
    use crate::core::search::sweep::Grown;

    /// Both parts as HTML, and the Runs that their buttons load.
    fn shown(session: &PlanSession, over: bool) -> (String, usize) {
        let panel = Node::from_iter(panel(session, over, MemoryUnit::Gib));
        let actions = panel.actions().into_iter();
        let loads = actions.filter(|action| matches!(action, Action::Load(_)));
        (panel.to_html(), loads.count())
    }

    fn finished(commands: &[PlanCommand]) -> (PlanSession, String) {
        let run = Run {
            gpus: 8,
            global_batch: 16,
            ..Run::default()
        };
        let mut session = PlanSession::new(&run).unwrap();
        for command in commands {
            session.apply(*command);
            while !session.step(100_000) {}
        }
        let (html, _) = shown(&session, true);
        (session, html)
    }

    #[test]
    fn the_answer_says_its_rows_and_how_to_load_them() {
        let (session, html) = finished(&[PlanCommand::Search]);
        assert_eq!(shown(&session, true).1, session.rows().len());
        assert!(html.contains("recommended") && !html.contains("progressbar"));
        assert!(!html.contains("NaN") && !html.contains("inf "));
        let [under_way, _] = panel(&session, false, MemoryUnit::Gib);
        assert!(under_way.to_html().contains("progressbar"));
    }

    #[test]
    fn every_fold_shows_its_content() {
        let (_, html) = finished(&[
            PlanCommand::Search,
            PlanCommand::Toggle(Fold::Pareto),
            PlanCommand::Toggle(Fold::Map),
            PlanCommand::Toggle(Fold::Recipe),
            PlanCommand::Sweep(Grown::GlobalBatch),
            PlanCommand::Toggle(Fold::SweepTable),
            PlanCommand::Ask(Question::FewestGpus),
            PlanCommand::Map(Picture::Fields(Axis::Schedule, Axis::Pp)),
        ]);
        for part in ["<svg", "Step time, s", "Fit in memory", "train this"] {
            assert!(html.contains(part), "{part}");
        }
        assert!(!html.contains("NaN"));
    }

    #[test]
    fn two_pinned_rows_are_compared() {
        let (mut session, _) = finished(&[PlanCommand::Search]);
        for row in [0, 2] {
            session.apply(PlanCommand::Pin(session.rows()[row].place));
        }
        let (html, _) = shown(&session, true);
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
        let (session, _) = finished(&[]);
        let [head, body] = panel(&session, true, MemoryUnit::Gib);
        assert_eq!(head, Node::none());
        let asks = |action: &&&Action| {
            matches!(
                action,
                Action::Plan(PlanCommand::Ask(_) | PlanCommand::AskMicroBatch)
            )
        };
        assert_eq!(body.actions().iter().filter(asks).count(), 4);
    }
}
