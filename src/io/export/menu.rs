//! The page's export dialog: the formats to choose from, and the chosen one as text.

use super::formats::{FORMATS, as_ordered, export, with_order};
use super::stamp::Stamp;
use shardscope_core::message::Message;
use shardscope_core::report::{Evaluation, evaluate};
use shardscope_core::run::{OneOf, Run};
use shardscope_core::t;
use shardscope_core::units::MemoryUnit;
use shardscope_view::node::action::{Dialog, Save};
use shardscope_view::node::markup::{Action, Node, copied, el, faint, inline, leaf, text, title};
use shardscope_view::panels::issues::line;
use shardscope_view::words::runs_out;

/// The form whose program reads the order of its pipeline from a file of its own.
const ORDERED: &str = "torchtitan";
/// The form that is this file.
const ORDER: &str = "order";

/// Why a form has nothing to say of `run`; none where it has.
fn without(run: &Run, id: &str) -> Option<&'static str> {
    match id {
        "rl" if run.rl.algorithm.is_none() => Some("for a run with an RL algorithm"),
        "peft" if run.adapter.method.is_none() => Some("for a run that trains an adapter"),
        _ => None,
    }
}

/// What torchtitan's settings say beside the order of `evaluation`, where it has no schedule of its name.
fn beside_the_order(evaluation: &Evaluation) -> Option<Message> {
    let run = &evaluation.scenario.run;
    if run.pp == 1 {
        return None;
    }
    let schedule = run.schedule.choice().label;
    match as_ordered(evaluation) {
        Some(ordered) if ordered.schedule == run.schedule => None,
        Some(_) => Some(t!(
            "torchtitan has no schedule {schedule}: its settings, saved with the order, name PipelineScheduleSingle \
                and this file.",
            schedule
        )),
        None => Some(t!("torchtitan does not run the order of {schedule}.", schedule)),
    }
}

/// The dialog with `id` chosen, the first form where it is none; the text bears `stamp`.
pub fn menu(run: &Run, id: &str, stamp: &Stamp) -> Node {
    let chosen = FORMATS.iter().find(|format| format.id == id).unwrap_or(&FORMATS[0]);
    let choices: Node = FORMATS
        .iter()
        .map(|format| {
            let pressed = (format.id == chosen.id).to_string();
            let open = Action::Open(Dialog::Export(format.id));
            match without(run, format.id) {
                Some(why) => el("button", &[("disabled", "")], &[text(format.label)]).title(why),
                None => el("button", &[("aria-pressed", &*pressed)], &[text(format.label)]).title(format.what).on(open),
            }
        })
        .collect();
    // A title is not seen before a mouse rests on it.
    let not_of_run = FORMATS.iter().filter_map(|format| Some((format.label, without(run, format.id)?)));
    let not_of_run =
        not_of_run.map(|(name, why)| t!("{name}: {why}.", name = Message::plain(name), why = Message::plain(why)));
    let not_of_run = Message::joined(" ", not_of_run);
    let not_of_run =
        if not_of_run.is_empty() { Node::none() } else { el("p", &[("class", "muted")], &[inline(not_of_run)]) };
    let evaluation = evaluate(run);
    let unfit = evaluation.as_ref().ok().and_then(|known| runs_out(&known.report.memory, MemoryUnit::Gib));
    let unfit = unfit.map(|words| el("p", &[("class", "issue error")], &[inline(words)])).unwrap_or_default();
    let beside = evaluation.as_ref().ok().filter(|_| chosen.id == ORDER).and_then(beside_the_order);
    let beside = beside.map(|words| el("p", &[("class", "muted")], &[inline(words)])).unwrap_or_default();
    let body = match evaluation.and_then(|_| export(run, chosen.id, stamp)) {
        Err(issues) => el("div", &[("class", "taken")], &issues.iter().map(line).collect::<Vec<_>>()),
        Ok(file) => {
            let name = |end: &str| format!("shardscope.{end}");
            let save = Save::Text { name: name(chosen.end), text: file.as_str().into() };
            let save = leaf("button", "main", "Save").on(Action::Save(save));
            let order = FORMATS.iter().find(|format| format.id == ORDER);
            let order = order.filter(|_| chosen.id == ORDERED);
            let both = order.and_then(|order| {
                let [settings, cells] = with_order(run, stamp).ok()??;
                let files =
                    vec![(name(chosen.end), settings.as_str().into()), (name(order.end), cells.as_str().into())];
                let both = leaf("button", "", "Save with the order").title(order.what);
                Some(both.on(Action::Save(Save::Texts(files))))
            });
            copied("main", &file, Node::from_iter([save, both.unwrap_or_default(), faint(chosen.what)]))
        }
    };
    [
        title("Export"),
        el("p", &[("class", "choices"), ("role", "group")], &[choices]).label("Form"),
        not_of_run,
        unfit,
        beside,
        body,
    ]
    .into_iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::Schedule;
    use shardscope_view::panels::answers::EXPORTS;

    /// What the search of the page calls the forms is what their buttons are called.
    #[test]
    fn the_search_knows_the_forms() {
        for (id, name, words) in EXPORTS {
            let form = FORMATS.iter().find(|form| form.id == id).unwrap();
            assert!(form.label == name && !words.is_empty(), "{id} {name}");
        }
    }

    #[test]
    fn every_form_can_be_chosen_copied_and_saved() {
        for format in FORMATS {
            let mut run = Run::default();
            let needs = without(&run, format.id);
            if let Some(needs) = needs {
                // A form that has nothing to say of the run cannot be chosen.
                let node = menu(&run, "json", &Stamp::default());
                assert!(!node.actions().contains(&&Action::Open(Dialog::Export(format.id))), "{}", format.id);
                // Why is read without a mouse.
                let said = format!("{}: {}.", format.label, needs);
                assert!(node.to_html().contains(&said), "{said}");
                run = run
                    .with_texts(&[("rl.algorithm", "grpo".to_owned()), ("adapter.method", "lora".to_owned())])
                    .unwrap();
            }
            let node = menu(&run, format.id, &Stamp::default());
            let actions = node.actions();
            let copies = |action: &&&Action| matches!(action, Action::Save(Save::Copy(text)) if !text.is_empty());
            assert_eq!(actions.iter().filter(copies).count(), 1, "{}", format.id);
            assert!(actions.contains(&&Action::Open(Dialog::Export(format.id))));
            assert!(node.to_html().contains(format.what), "{}", format.id);
        }
        // A pipeline's order is saved with the settings of the program that reads it.
        let both = |run: &Run, id: &str| {
            let node = menu(run, id, &Stamp::default());
            let saves = node.actions().into_iter().filter_map(|action| match action {
                Action::Save(Save::Texts(files)) => Some(files.clone()),
                _ => None,
            });
            saves.collect::<Vec<_>>()
        };
        let files = both(&Run::default(), ORDERED);
        let names: Vec<&str> = files.iter().flatten().map(|(name, _)| &**name).collect();
        // The module's name in the launch line of the file is that of the file.
        assert_eq!(names, ["shardscope.py", "shardscope.order.csv"]);
        assert!(files[0][0].1.contains("--module shardscope "), "{}", files[0][0].1);
        // torchtitan reads the order from the file that its settings name, whatever schedule they name beside it
        // (`_build_pipeline_schedule` of `distributed/pipeline_parallel.py`, pytorch/torchtitan at b5bcd76).
        let named = |settings: &str| {
            settings.contains("config.parallelism.pipeline_parallel_schedule_csv = \"shardscope.order.csv\"")
        };
        assert!(named(&files[0][0].1), "{}", files[0][0].1);
        // Where nothing is saved beside them, the settings name no file: torchtitan raises `FileNotFoundError`.
        assert!(!named(&export(&Run::default(), ORDERED, &Stamp::default()).unwrap()));
        let run = Run { schedule: Schedule::ZbV, ..Run::default() };
        let files = both(&run, ORDERED);
        assert!(named(&files[0][0].1) && files[0][0].1.contains("\"ZBVZeroBubble\""), "{}", files[0][0].1);
        // Read back, the two are the run: its schedule, with the order of the file.
        let settings: String =
            files[0][0].1.lines().filter(|line| !line.starts_with("# ")).fold(String::new(), |s, l| s + l + "\n");
        let back = crate::import::read(&settings, &Run::default()).unwrap();
        assert_eq!(back.run.schedule, run.schedule);
        // One that torchtitan has no name for, with one stage a rank: the class of single stages with the file. Every
        // form says the same of it.
        let zb_h1 = Run { schedule: Schedule::ZbH1, ..Run::default() };
        let files = both(&zb_h1, ORDERED);
        let settings = &files[0][0].1;
        assert!(named(settings) && settings.contains("pipeline_parallel_schedule = \"PipelineScheduleSingle\""));
        assert!(!settings.contains("Schedule: ") && files[0][1].1.starts_with("0F0,"), "{settings}");
        let alone = export(&zb_h1, ORDERED, &Stamp::default()).unwrap();
        assert!(alone.contains("  Schedule: ZB-H1") && alone.contains("runs the order of this schedule from a file"));
        let said = |run: &Run| menu(run, ORDER, &Stamp::default()).to_html();
        assert!(said(&zb_h1).contains("name PipelineScheduleSingle and this file"));
        // A rank of both directions holds stages that no class of torchtitan has; PipeDream updates within a step.
        for schedule in [Schedule::DualPipe, Schedule::Pipedream] {
            let run = Run { schedule, ..Run::default() };
            assert!(
                both(&run, ORDERED).is_empty() && said(&run).contains("torchtitan does not run the order of "),
                "{schedule:?}"
            );
        }
        assert!(!said(&Run::default()).contains("torchtitan has no schedule"));
        let files = both(&Run::default(), ORDERED);
        // PyTorch's reader takes every line for a rank: the first begins with an op of rank 0.
        assert!(files[0][1].1.starts_with("0F0,"), "{}", &files[0][1].1[..20]);
        assert!(both(&Run::default(), "megatron").is_empty());
        assert!(both(&Run { pp: 1, ..Run::default() }, ORDERED).is_empty());
        let run = Run { tp: 7, ..Run::default() };
        let html = menu(&run, "json", &Stamp::default()).to_html();
        assert!(html.contains("issue error"), "{html}");
    }
}
