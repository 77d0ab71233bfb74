//! The plan as HTML text: how far the search is, the ranked layouts and why each beats the next, what of them is
//! compared, maps, curves, answers, and the playbook's walk. Every button says in `data-plan` what the desk should do.

mod compare;
mod curves;
mod map;
mod pareto;
mod question;
mod rows;

use super::markup::{Html, el, leaf, percent, text};
use crate::core::run::Run;
use crate::core::search::desk::Desk;
use crate::core::search::{Request, measured, recipe};
use crate::core::units::{MemoryUnit, group};

/// How a layout is linked to: rooms above know how.
pub type Link = fn(&Run) -> String;

/// What the panel's parts are made from.
struct View<'a> {
    desk: &'a Desk,
    unit: MemoryUnit,
    link: Link,
}

/// The panel: how far the work is in the first line, alone so that it can change often; everything else after it.
/// `data-more` asks the page to come again.
#[must_use]
pub fn panel(desk: &Desk, over: bool, unit: MemoryUnit, link: Link) -> String {
    let view = View { desk, unit, link };
    let head = progress(&view, over).into_string();
    let body = match &desk.request {
        Some(request) => body(&view, request),
        None => Html::from_iter([intro(), question::buttons(&view)]),
    };
    format!("{head}\n{}", body.into_string())
}

fn intro() -> Html {
    let words = "Searches every layout that divides these GPUs, this batch and this model: TP, PP, CP, EP, ZeRO, micro-batch, schedule, split and recomputation. It runs beside the page and can be stopped.";
    leaf("p", "muted", words)
}

fn progress(view: &View, over: bool) -> Html {
    let desk = view.desk;
    let count = |count: u64| group(&count.to_string());
    let words = if let Some(request) = &desk.request {
        let progress = request.search.progress();
        let stopped = if desk.is_stopped() { " Stopped." } else { "" };
        format!(
            "{} layouts looked at, {} count as feasible, {} reported in full.{stopped}",
            count(progress.evaluated),
            count(progress.feasible),
            count(progress.reported)
        )
    } else if over {
        return Html::none();
    } else {
        "Searching.".to_owned()
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
            ("data-more", "1"),
        ],
        &[bar],
    );
    [ratio, line].into_iter().collect()
}

fn body(view: &View, request: &Request) -> Html {
    let (space, done) = (request.search.space(), request.search.progress().done);
    let mut parts: Vec<Html> = measured(&view.desk.run)
        .iter()
        .map(|issue| leaf("p", "issue warning", &issue.message.to_string()))
        .collect();
    if done {
        let plan = request.plan();
        let warnings = plan.warnings.iter();
        parts.extend(warnings.map(|issue| leaf("p", "issue warning", &issue.message.to_string())));
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
fn button(class: &str, word: &str, pressed: Option<bool>, label: &str) -> Html {
    let pressed = match pressed {
        Some(true) => "true",
        Some(false) => "false",
        None => "",
    };
    let attributes = [
        ("class", class),
        ("data-plan", word),
        ("aria-pressed", pressed),
    ];
    el("button", &attributes, &[text(label)])
}

/// A row of chips behind a name; each with its word and whether it is on.
fn chips_of(name: &str, chips: impl Iterator<Item = (String, bool, String)>) -> Html {
    let chips = chips.map(|(word, on, label)| button("toggle-link", &word, Some(on), &label));
    let inside: Html = std::iter::once(leaf("span", "muted", name))
        .chain(chips)
        .collect();
    el("p", &[("class", "chips")], &[inside])
}

/// A fold whose state the desk keeps, so that it stays as it is when the panel is made again.
fn fold(view: &View, name: &str, summary: &str, inside: impl FnOnce() -> Html) -> Html {
    let open = view.desk.is_open(name);
    let word = format!("open:{name}");
    let head = el("summary", &[("data-plan", &word)], &[text(summary)]);
    let content = if open { inside() } else { Html::none() };
    let state = if open { "open" } else { "" };
    el(
        "details",
        &[("class", "twin"), ("open", state)],
        &[head, content],
    )
}

fn walk(view: &View, request: &Request) -> Html {
    let summary = "The playbook's recipe with this run's numbers";
    fold(view, "recipe", summary, || {
        let best = request.search.best().first();
        let walk = recipe::walk(view.desk.question(), best.map(|best| &**best));
        let steps = walk.steps.iter();
        let items: Html = steps
            .map(|step| leaf("li", "", &format!("{}: {}", step.title, step.text)))
            .collect();
        let end = leaf("p", "", &walk.end);
        [el("ol", &[], &[items]), end].into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(run: &Run) -> String {
        format!("tp={}&pp={}", run.tp, run.pp)
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
        let html = panel(&desk, true, MemoryUnit::Gib, link);
        (desk, html)
    }

    #[test]
    fn the_answer_says_its_rows_and_how_to_load_them() {
        let (desk, html) = finished(&["search"]);
        assert_eq!(html.matches("data-run").count(), desk.rows().len());
        assert!(html.contains("recommended") && !html.contains("data-more"));
        assert!(!html.contains("NaN") && !html.contains("inf "));
        let under_way = panel(&desk, false, MemoryUnit::Gib, link);
        assert!(under_way.lines().next().unwrap().contains("data-more"));
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
        let html = panel(&desk, true, MemoryUnit::Gib, link);
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
        let (_, html) = finished(&[]);
        assert!(html.starts_with('\n'));
        assert_eq!(html.matches("data-plan=\"ask:").count(), 4);
    }
}
