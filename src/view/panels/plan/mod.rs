//! The plan: how far the search is, the ranked layouts and why each beats the next, what of them is
//! compared, maps, curves, answers, and the playbook's walk. Every button tells the desk what to do.

mod compare;
mod curves;
mod map;
mod pareto;
mod question;
mod rows;

use crate::core::message::Message;
use crate::core::search::desk::Desk;
use crate::core::search::{Request, measured, recipe};
use crate::core::t;
use crate::core::units::MemoryUnit;
use crate::view::node::markup::{Action, Node, el, leaf, percent, text};

/// What the panel's parts are made from.
struct View<'a> {
    desk: &'a Desk,
    unit: MemoryUnit,
}

/// The panel: how far the work is, and everything else.
#[must_use]
pub fn panel(desk: &Desk, over: bool, unit: MemoryUnit) -> [Node; 2] {
    let view = View { desk, unit };
    let head = progress(&view, over);
    let body = match &desk.request {
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
    let desk = view.desk;
    let words = if let Some(request) = &desk.request {
        let progress = request.search.progress();
        let counts = t!(
            "{evaluated} layouts looked at, {feasible} count as feasible, {reported} reported in full.",
            evaluated = progress.evaluated,
            feasible = progress.feasible,
            reported = progress.reported
        );
        let stopped = desk.is_stopped().then(|| t!("Stopped."));
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
    let done = format!("{}%", (desk.share() * 100.0).floor());
    let bar = el("b", &[("style", &percent("width", desk.share()))], &[]);
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
    let mut parts: Vec<Node> = measured(&view.desk.run)
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

/// A button that tells the desk something.
fn button(class: &str, word: &str, pressed: Option<bool>, label: impl Into<Message>) -> Node {
    let pressed = match pressed {
        Some(true) => "true",
        Some(false) => "false",
        None => "",
    };
    let attributes = [("class", class), ("aria-pressed", pressed)];
    el("button", &attributes, &[text(label)]).on(Action::Plan(word.to_owned()))
}

/// A row of chips behind a name; each with its word and whether it is on.
fn chips_of(name: &'static str, chips: impl Iterator<Item = (String, bool, Message)>) -> Node {
    let chips = chips.map(|(word, on, label)| button("toggle-link", &word, Some(on), label));
    let inside: Node = std::iter::once(leaf("span", "muted", name))
        .chain(chips)
        .collect();
    el("p", &[("class", "chips")], &[inside])
}

/// A fold whose state the desk keeps, so that it stays as it is when the panel is made again.
fn fold(view: &View, name: &str, summary: &'static str, inside: impl FnOnce() -> Node) -> Node {
    let open = view.desk.is_open(name);
    let word = format!("open:{name}");
    let head = leaf("summary", "", summary).on(Action::Plan(word));
    let content = if open { inside() } else { Node::none() };
    let state = if open { "open" } else { "" };
    el(
        "details",
        &[("class", "twin"), ("open", state)],
        &[head, content],
    )
    .keyed(name)
}

fn walk(view: &View, request: &Request) -> Node {
    let summary = "The playbook's recipe with this run's numbers";
    fold(view, "recipe", summary, || {
        let best = request.search.best().first();
        let walk = recipe::walk(view.desk.question(), best.map(|best| &**best));
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

    /// Both parts as HTML, and the Runs that their buttons load.
    fn shown(desk: &Desk, over: bool) -> (String, usize) {
        let panel = Node::from_iter(panel(desk, over, MemoryUnit::Gib));
        let actions = panel.actions().into_iter();
        let loads = actions.filter(|action| matches!(action, Action::Load(_)));
        (panel.to_html(), loads.count())
    }

    fn finished(words: &[&str]) -> (Desk, String) {
        let run = Run {
            gpus: 8,
            global_batch: 16,
            ..Run::default()
        };
        let mut desk = Desk::new(&run).unwrap();
        for (number, word) in words.iter().enumerate() {
            desk.hear(&format!("{number}|{word}"));
            while !desk.step(100_000) {}
        }
        let (html, _) = shown(&desk, true);
        (desk, html)
    }

    #[test]
    fn the_answer_says_its_rows_and_how_to_load_them() {
        let (desk, html) = finished(&["search"]);
        assert_eq!(shown(&desk, true).1, desk.rows().len());
        assert!(html.contains("recommended") && !html.contains("progressbar"));
        assert!(!html.contains("NaN") && !html.contains("inf "));
        let [under_way, _] = panel(&desk, false, MemoryUnit::Gib);
        assert!(under_way.to_html().contains("progressbar"));
    }

    #[test]
    fn every_fold_opens_and_says_something() {
        let mut words = vec!["search"];
        words.extend([
            "open:pareto",
            "open:map",
            "open:recipe",
            "sweep:global_batch",
        ]);
        words.extend(["open:sweep-table", "ask:fewest", "map:across=schedule"]);
        let (_, html) = finished(&words);
        for said in ["<svg", "Step time, s", "Fit in memory", "train this"] {
            assert!(html.contains(said), "{said}");
        }
        assert!(!html.contains("NaN"));
    }

    #[test]
    fn two_pinned_rows_are_compared() {
        let (mut desk, _) = finished(&["search"]);
        for (number, row) in [0, 2].into_iter().enumerate() {
            let place = crate::core::search::desk::place(desk.rows()[row].place);
            desk.hear(&format!("{}|pin:{place}", number + 10));
        }
        let (html, _) = shown(&desk, true);
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
    fn an_empty_desk_offers_what_can_be_asked() {
        let (desk, _) = finished(&[]);
        let [head, body] = panel(&desk, true, MemoryUnit::Gib);
        assert_eq!(head, Node::none());
        let asks =
            |action: &&&Action| matches!(action, Action::Plan(word) if word.starts_with("ask:"));
        assert_eq!(body.actions().iter().filter(asks).count(), 4);
    }
}
