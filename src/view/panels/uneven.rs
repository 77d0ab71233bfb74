//! Even against uneven layers, in words, with the button that balances them.

use crate::charts::figure::figure;
use crate::charts::strips::strips;
use crate::node::figure::Scope;
use crate::node::markup::document;
use crate::panels::budget::keeping_budget;
use crate::panels::names::{brief, sets};
use crate::prelude::*;
use crate::words::{needed, said_of, untold, verdict_of};
use shardscope_core::advice::{
    BalancedSplits, GainingPipeline, LayerSplit, TRIED_RANKS, balance, is_told, pipeline_that_gains, pipeline_to_split,
    tower_off,
};
use shardscope_core::pipeline::release::needed_release;
use shardscope_core::report::{Pair, SplitOrigin};
use shardscope_core::source::UNEVEN_PP;

/// Less than this is not worth a button.
const WORTH: f64 = 0.003;

fn list(split: &[u64]) -> String {
    let numbers: Vec<String> = split.iter().map(ToString::to_string).collect();
    numbers.join(",")
}

/// Layers by stage, shortened in the middle.
pub fn short(split: &[u64]) -> String {
    if split.len() <= 16 {
        return list(split).replace(',', "/");
    }
    let ends = |part: &[u64]| list(part).replace(',', "/");
    format!("{}/…/{}", ends(&split[..4]), ends(&split[split.len() - 4..]))
}

/// Measurement on GPUs of that name, and the reason why no model of equal layers reaches it where none does.
fn held_against(balance: &BalancedSplits, measured: &Pair, gpu: &Message) -> Message {
    let notes = t!(
        "Measured on {gpu}, {uneven} against {even}: {gain}×.",
        gpu,
        uneven = short(&measured.uneven),
        even = short(&measured.even),
        gain = significant(measured.gain, 4)
    );
    let notes = Message::joined(" ", [Some(notes), balance.far_off()].into_iter().flatten());
    let bound = measured.bound().map(|(all, longest)| {
        let most = all as f64 / longest as f64;
        (most, format!("{all}/{longest} = {}×", significant(most, 4)))
    });
    match bound {
        Some((most, bound)) if most < measured.gain => t!(
            "{measured} Layers of equal cost cannot give more than {bound}: the rest of the measured gain is not in \
                its layers.",
            measured = notes,
            bound
        ),
        _ => notes,
    }
}

fn name(origin: SplitOrigin) -> &'static str {
    match origin {
        SplitOrigin::Even => "even",
        SplitOrigin::Rule => "NVIDIA's rule",
        SplitOrigin::Own => "this run",
        SplitOrigin::Best => "best found",
    }
}

/// All that a split is called.
pub fn called(split: &LayerSplit) -> Message {
    let names = split.origins.iter().map(|origin| name(*origin).into());
    Message::joined(", ", names)
}

/// Gain over the even split.
fn speed(split: &LayerSplit, even: &LayerSplit) -> String {
    format!("{}×", significant(even.step_s() / split.step_s(), 4))
}

/// The even split, that of the note's rule, the run's and the best on one axis, and as a table.
pub fn picture(evaluation: &Evaluation, unit: MemoryUnit) -> Node {
    let balance = balance(evaluation);
    let Some((balance, even)) = balance.as_ref().and_then(|balance| Some((balance, balance.of(SplitOrigin::Even)?)))
    else {
        return of_one_stage(evaluation);
    };
    let drawn: Vec<_> = balance
        .splits
        .iter()
        .map(|split| {
            let (name, layers) = (called(split), short(&split.layers));
            let time = show_seconds(split.step_s());
            let words = match split.origins[0] {
                SplitOrigin::Even => t!("{name}: {layers} layers, a step of {time}", name, layers, time),
                _ => t!(
                    "{name}: {layers} layers, a step of {time}, {speed} as fast as even",
                    name,
                    layers,
                    time,
                    speed = speed(split, even)
                ),
            };
            (words, split.evaluation.timeline())
        })
        .collect();
    let is_own = |split: &LayerSplit| split.origins.contains(&SplitOrigin::Own);
    let names = |split: &LayerSplit| {
        let names = split.origins.iter().map(|origin| match origin {
            SplitOrigin::Rule => ask("link", Figure::Rule, &[text(name(*origin))]),
            _ => text(name(*origin)),
        });
        let comma = |at| if at > 0 { text(", ") } else { Node::none() };
        let names = names.enumerate().flat_map(|(at, name)| [comma(at), name]);
        // What any release of the software has needs no words.
        let needed = needed(&split.evaluation.scenario.run).map(|words| leaf("span", "tag", words));
        names.chain(needed.into_iter().flat_map(|tag| [text(" "), tag])).collect::<Node>()
    };
    let choose = |split: &LayerSplit| {
        let set = vec![("stage_layers", list(&split.layers))];
        if is_own(split) { Node::none() } else { apply("fix", set, "", "use") }
    };
    let table = Rows::of(&balance.splits)
        .column("split", |split| names(split))
        .figures("layers", |split| short(&split.layers))
        .figures("step", |split| show_seconds(split.step_s()))
        .figures("against even", |split| speed(split, even))
        .figures("ranks idle", |split| show_percent(split.evaluation.report.pipeline.bubble_fraction))
        .figures("fullest GPU", |split| unit.show(split.evaluation.report.memory.peak_bytes))
        .column("memory", |split| of_split(split))
        .column("", |split| choose(split))
        .marked(|split| is_own(split))
        .table("Splits of the layers");
    Node::from_iter([
        figure(
            "uneven",
            "Layers by stage: even and uneven",
            strips(&drawn).inline("The pipeline with each split of the layers, on one axis"),
        ),
        table,
        muted(outcome(balance, &evaluation.scenario.run.gpu.title())),
        gains_elsewhere(balance, evaluation),
    ])
}

/// The verdict on the run with `split`.
pub fn of_split(split: &LayerSplit) -> &'static str {
    verdict_of(&split.evaluation.scenario.run, &split.evaluation.report.memory.peak()).2
}

/// Of a layout in which no split is faster by what can be told: how long its ranks idle, which is all that a split
/// could save, and the pipeline in which one saves most, a press away. Nothing where a split is faster, or was
/// measured.
fn gains_elsewhere(balance: &BalancedSplits, evaluation: &Evaluation) -> Node {
    let run = &evaluation.scenario.run;
    let (Some(even), Some(best)) = (balance.of(SplitOrigin::Even), balance.of(SplitOrigin::Best)) else {
        return Node::none();
    };
    if balance.measured.is_some() || is_told(run, best.step_s().0, even.step_s().0) {
        return Node::none();
    }
    let idle = show_percent(evaluation.report.pipeline.bubble_fraction);
    let idle = Scope::run().says("pipeline.bubble_fraction", idle);
    let here = t!("No split of the layers is measurably faster here; ranks idle {idle} of the pipeline's time.", idle);
    match pipeline_that_gains(run) {
        Some(found) => with_pipeline(here, &found, evaluation),
        None => muted(here),
    }
}

/// Of a Run of one stage: the pipeline whose splits to look at, a press away, whether or not it gains what can be told.
fn of_one_stage(evaluation: &Evaluation) -> Node {
    let here = t!("One stage has nothing to balance.");
    if let Some(found) = pipeline_to_split(&evaluation.scenario.run) {
        return with_pipeline(here, &found, evaluation);
    }
    let ranks = Message::joined(", ", TRIED_RANKS.map(|ranks| verbatim(ranks.to_string())));
    let none = t!(
        "Of pipelines of {ranks} ranks in this layout none was found that divides it, fits and runs in its software.",
        ranks
    );
    muted(Message::joined(" ", [here, none]))
}

/// The words `here` of a layout in which no split gains, with the pipeline `found`, a press away.
fn with_pipeline(here: Message, found: &GainingPipeline, evaluation: &Evaluation) -> Node {
    let run = &evaluation.scenario.run;
    let (of_best, of_even) = (Scope::of(&found.run, Some(run)), Scope::of(&found.even, Some(run)));
    let own = Scope::run().says("step.time_s", show_seconds(evaluation.report.step.time_s));
    let (layout, layers) = (brief(&found.even, run), short(&found.layers));
    let time = of_best.says("step.time_s", show_seconds(found.best_s));
    let even = of_even.says("step.time_s", show_seconds(found.even_s));
    let there = if found.is_told() {
        t!(
            "In {layout} an uneven split is faster: layers {layers} take {time}, {less} less than the {even} of \
                equal stages. This layout takes {own}.",
            layout,
            layers,
            time,
            even,
            less = of_best.says("step.time_s, less than even", show_percent(1.0 - found.best_s / found.even_s)),
            own
        )
    } else if found.best_s == found.even_s {
        t!(
            "In {layout} the even split, {layers}, is the best found: {time}. This layout takes {own}.",
            layout,
            layers,
            time,
            own
        )
    } else {
        let best = t!(
            "In {layout} the best split found, {layers}, takes {time}, the even one {even}.",
            layout,
            layers,
            time,
            even
        );
        let untold = untold(run, found.best_s / found.even_s);
        Message::joined(" ", [Some(best), untold, Some(t!("This layout takes {own}.", own))].into_iter().flatten())
    };
    let taken = keeping_budget(run, found.run.clone());
    let take = load("", &taken, sets(&taken, run), &[text("Use")]);
    el("p", &[("class", "muted")], &[inline(here), text(" "), inline(there), text(" "), take])
}

/// The splits compared, in words.
fn outcome(balance: &BalancedSplits, gpu: &Message) -> Message {
    let has = |origin, other| balance.of(origin).is_some_and(|split| split.origins.contains(&other));
    if let Some(measured) = &balance.measured {
        held_against(balance, measured, gpu)
    } else if !has(SplitOrigin::Best, SplitOrigin::Even) {
        t!("Layers move from the stages that have more to do beside them: embedding, head and loss, vision tower.")
    } else if balance.of(SplitOrigin::Rule).is_none() || has(SplitOrigin::Rule, SplitOrigin::Even) {
        t!("The even split is the best there is: no stage works longer than it must.")
    } else {
        t!("No split is faster than the even one. The rule counts FLOPs of the vision tower and the layers; the \
                steps here also have embedding, head and loss, and kernels at the rates they reach.")
    }
}

/// The split of NVIDIA's rule beside the even and the best one, each with its step.
fn rule_beside(rule: &LayerSplit, even: &LayerSplit, best: &LayerSplit) -> Message {
    let step = |split: &LayerSplit| format!("{}: {}", short(&split.layers), show_seconds(split.step_s()));
    if even.layers == best.layers {
        return t!(
            "NVIDIA's rule gives {rule}; the even split, the best found, {even}",
            rule = step(rule),
            even = step(even)
        );
    }
    t!(
        "NVIDIA's rule gives {rule}; the even split {even}; the best found {best}",
        rule = step(rule),
        even = step(even),
        best = step(best)
    )
}

/// Predicted and measured gain of balancing; `gpu` is the name of this run's.
pub fn uneven(balance: &BalancedSplits, gpu: &Message) -> Node {
    let split_of = |origin| balance.of(origin);
    let (Some(own), Some(even), Some(best)) =
        (split_of(SplitOrigin::Own), split_of(SplitOrigin::Even), split_of(SplitOrigin::Best))
    else {
        return Node::none();
    };
    let mut notes = Vec::new();
    if own.layers != even.layers {
        let of_even = Scope::of(&even.evaluation.scenario.run, Some(&own.evaluation.scenario.run));
        let mut line = t!(
            "Layers {layers} against an even split: {time} instead of {even_time}, {speed} as fast.",
            layers = short(&own.layers),
            time = Scope::run().says("step.time_s", show_seconds(own.step_s())),
            even_time = of_even.says("step.time_s", show_seconds(even.step_s())),
            speed = speed(own, even)
        );
        if let Some(measured) = &balance.measured {
            line = Message::joined(" ", [line, held_against(balance, measured, gpu)]);
        }
        // What could not be told before the press cannot be told after it.
        let untold = untold(&own.evaluation.scenario.run, own.step_s() / even.step_s());
        notes.push(text(Message::joined(" ", std::iter::once(line).chain(untold))));
    }
    let gain = 1.0 - best.step_s() / own.step_s();
    if best.layers != own.layers && gain > WORTH {
        let (layers, gain) = (short(&best.layers), show_percent(gain));
        notes.push(text(" "));
        let [now, then] = [own, best].map(|split| split.evaluation.report.memory.peak());
        let [was, verdict] =
            [(own, &now), (best, &then)].map(|(split, peak)| said_of(&split.evaluation.scenario.run, peak));
        notes.push(text(if then.overall != Verdict::Fits && verdict == was {
            t!("With {layers} a step takes {gain} less time; the run {verdict}, as it is now.", layers, gain, verdict)
        } else {
            t!("With {layers} a step takes {gain} less time; the run {verdict}.", layers, gain, verdict)
        }));
        let release = |split: &LayerSplit| needed_release(&split.evaluation.scenario.run);
        let needs = release(best).filter(|_| release(own).is_none());
        let needs = needs.map(|needed| t!("{why}.", why = needed.words()));
        notes.extend(needs.into_iter().flat_map(|words| [text(" "), text(words)]));
        let untold = untold(&own.evaluation.scenario.run, best.step_s() / own.step_s());
        // What may be equal, or does not run, is not offered as a gain.
        let is_gain = untold.is_none() && then.overall != Verdict::Oom;
        let label = if is_gain { "balance the layers" } else { "try this split" };
        notes.extend(untold.into_iter().flat_map(|words| [text(" "), text(words)]));
        notes.push(text(" "));
        let set = vec![("stage_layers", list(&best.layers))];
        notes.push(apply("fix", set, "", label));
    }
    if own.layers != even.layers {
        let set = vec![("stage_layers", String::new())];
        notes.push(apply("fix", set, "", "split evenly"));
    }
    // Where the rule applies, its split is shown beside the other two, faster or not.
    if let Some(rule) = split_of(SplitOrigin::Rule).filter(|rule| rule.layers != even.layers || !notes.is_empty()) {
        notes.push(text(" "));
        notes.push(text(if rule.layers == even.layers && own.layers == even.layers {
            t!("NVIDIA's rule gives the even split")
        } else {
            rule_beside(rule, even, best)
        }));
        notes.push(text(" ("));
        notes.push(document(UNEVEN_PP.short, Some(UNEVEN_PP.locator)).title(verbatim(UNEVEN_PP.title)));
        notes.push(text(")."));
    }
    // Of a run whose own splits were measured this is said with them.
    let off = if balance.measured.is_none() { tower_off(&own.evaluation) } else { None };
    notes.extend(off.into_iter().flat_map(|words| [text(" "), text(words)]));
    Node::from_iter(notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::presets::PUBLISHED;

    /// Qwen2-VL 7B on H20 was published with 28.4 s for its even split: several times what is computed. A larger model
    /// of the kind says so beside its splits, a run without a tower does not.
    #[test]
    fn a_tower_says_that_such_steps_were_missed() {
        let words = |model: &str| {
            let edits = [("model", model), ("gpu", "h20-sxm-96gb"), ("tp", "8"), ("pp", "4")];
            let own = evaluate(&Run::default().with_texts(&edits).unwrap()).unwrap();
            uneven(&balance(&own).unwrap(), &"H20".into()).to_html()
        };
        assert!(words("qwen-2-vl-72b").contains("was measured at 28.4 s a step"), "{}", words("qwen-2-vl-72b"));
        assert!(!words("llama-3.1-8b").contains("vision tower"));
    }

    /// Where no split is faster by what can be told the page says how long ranks idle, as the report has it, and the
    /// press leads to a run whose uneven split gains beyond the limit over its even one.
    #[test]
    fn a_layout_in_which_no_split_gains_says_where_one_does() {
        for pp in ["1", "2"] {
            leads_to_a_split_that_gains(pp);
        }
    }

    fn leads_to_a_split_that_gains(pp: &str) {
        let set = [("model", "qwen-2-vl-72b"), ("gpu", "h20-sxm-96gb"), ("gpus", "64"), ("tp", "8"), ("pp", pp)];
        let own = evaluate(&Run::example().with_texts(&set).unwrap()).unwrap();
        let view = picture(&own, MemoryUnit::Gib);
        let html = view.to_html().replace("&#39;", "'");
        let idle = show_percent(own.report.pipeline.bubble_fraction);
        let idles = html.contains(&format!(" ranks idle {idle} of the pipeline's time"));
        assert!(if pp == "1" { html.contains("nothing to balance") } else { idles }, "{html}");
        // The table has the same share beside the run's own split.
        let cell = format!("<td>{idle}</td>");
        assert_eq!(pp != "1" && html.contains("ranks idle</th>"), html.contains(&cell), "{cell} {html}");
        let actions = view.actions();
        let loaded: Vec<&Run> = actions
            .iter()
            .filter_map(|action| if let Action::Load(run) = action { Some(&**run) } else { None })
            .collect();
        let [run] = loaded[..] else { panic!("{html}") };
        let after = evaluate(run).unwrap();
        let splits = balance(&after).unwrap();
        let [even, uneven] = [SplitOrigin::Even, SplitOrigin::Own].map(|origin| splits.of(origin).unwrap().step_s());
        assert!(is_told(run, uneven.0, even.0) && after.report.memory.overall() == Verdict::Fits);
        assert!(html.contains(&show_seconds(uneven)) && html.contains(&show_seconds(even)), "{html}");
        // There the sentence is not said.
        assert!(!picture(&after, MemoryUnit::Gib).to_html().contains("No split of the layers"));
    }

    /// A run of one stage in which no pipeline gains what can be told still leads to one: its two steps are those of
    /// its reports, and the words call neither faster.
    #[test]
    fn one_stage_leads_to_a_pipeline_where_none_gains() {
        let set = [("model", "llama-3.1-70b"), ("gpu", "h20-sxm-96gb"), ("gpus", "64"), ("tp", "8"), ("pp", "1")];
        let own = evaluate(&Run::example().with_texts(&set).unwrap()).unwrap();
        let view = picture(&own, MemoryUnit::Gib);
        let html = view.to_html();
        let actions = view.actions();
        let [Action::Load(run)] = actions[..] else { panic!("{html}") };
        let splits = balance(&evaluate(run).unwrap()).unwrap();
        let [even, best] = [SplitOrigin::Even, SplitOrigin::Own].map(|origin| splits.of(origin).unwrap().step_s());
        assert!(run.pp > 1 && !is_told(run, best.0, even.0), "{html}");
        assert!(best <= even && html.contains(&show_seconds(best)) && html.contains(&show_seconds(even)), "{html}");
        assert!(!html.contains("is faster") && html.contains("nothing to balance"), "{html}");
    }

    /// Stages that differ have arguments since Megatron Core 0.9 or 0.13 (`megatron/training/arguments.py`): the splits
    /// of software of 2024 say which, in the table and beside the press; the even one and torchtitan's need nothing.
    #[test]
    fn a_split_names_the_release_that_it_needs() {
        for (stack, zero, needs) in [("megatron-2024", "1", true), ("torchtitan", "2", false)] {
            let run = Run::default().with_texts(&[("stack", stack), ("zero", zero)]).unwrap();
            let own = evaluate(&run).unwrap();
            let splits = balance(&own).unwrap();
            let [even, best] = [SplitOrigin::Even, SplitOrigin::Best].map(|origin| splits.of(origin).unwrap());
            assert!(best.layers != even.layers && even.layers.windows(2).all(|pair| pair[0] == pair[1]));
            let table = picture(&own, MemoryUnit::Gib).to_html();
            assert_eq!(table.matches("needs Megatron Core 0.").count(), usize::from(needs), "{table}");
            let words = uneven(&splits, &"H100".into()).to_html();
            assert!(words.contains("less time"), "{words}");
            assert_eq!(words.contains("or later is needed for such stages"), needs, "{words}");
        }
    }

    #[test]
    fn the_button_sets_the_split_that_was_promised() {
        let run = Run::default();
        let found = balance(&evaluate(&run).unwrap()).unwrap();
        let fix = |view: &Node| match view.actions()[..] {
            [Action::Apply(set), ..] => set.clone(),
            _ => panic!("the first button sets fields"),
        };
        let balanced = run.with_texts(&fix(&uneven(&found, &"H20".into()))).unwrap();
        let best = found.of(SplitOrigin::Best).unwrap();
        // Where it may be equal the button does not call it a gain; the even split, which this run has, is named once.
        let html = uneven(&found, &"H20".into()).to_html();
        assert_eq!(html.contains("They may be equal"), html.contains("try this split"), "{html}");
        assert!(html.contains(" less time; the run fits."), "{html}");
        let is_hedged = html.contains("They may be equal");
        assert_ne!(html.contains("try this split"), html.contains("balance the layers"), "{html}");
        assert!(html.matches("8/8/8/8").count() < 2, "{html}");
        assert_eq!(balanced.stage_layers.as_ref(), Some(&best.layers));
        let after = balance(&evaluate(&balanced).unwrap()).unwrap();
        assert_eq!(after.of(SplitOrigin::Own).unwrap().step_s(), best.step_s());
        let view = uneven(&after, &"H20".into());
        let html = view.to_html();
        assert_eq!(html.contains("They may be equal"), is_hedged, "the same two splits after the press: {html}");
        let offers = ["balance the layers", "try this split"].iter().any(|words| html.contains(words));
        assert!(!offers && html.contains("split evenly"), "{html}");
        assert_eq!(balanced.with_texts(&fix(&view)), Some(run));
    }

    /// Qwen2-VL 72B on four ranks of H20 without recomputation needs several times the memory of a GPU, whatever its
    /// layers a stage: that is said before the press, with the verdict that the press gives.
    #[test]
    fn a_split_that_does_not_fit_says_so_before_the_press() {
        let set = [("model", "qwen-2-vl-72b"), ("gpu", "h20-sxm-96gb"), ("gpus", "8"), ("tp", "2"), ("pp", "4")];
        let run = Run::default().with_texts(&set).unwrap();
        let run = run.with_texts(&[("stage_layers", "26,18,18,18"), ("global_batch", "64")]).unwrap();
        let found = balance(&evaluate(&run).unwrap()).unwrap();
        let html = uneven(&found, &"H20".into()).to_html();
        let best = found.of(SplitOrigin::Best).unwrap();
        assert_eq!(best.evaluation.report.memory.overall(), Verdict::Oom);
        assert!(html.contains("less time; the run is out of memory, as it is now."), "{html}");
        assert!(html.contains("try this split") && !html.contains("balance the layers"), "{html}");
    }

    /// Uneven-PP note: Qwen2-VL with a vision tower of width 4096 on H20, two ranks: 28388.7 ms against 19607.1 ms.
    fn qwen2_vl(split: &[u64]) -> Run {
        let published = PUBLISHED.iter().find(|run| run.id == "qwen2-vl-even");
        Run { stage_layers: Some(split.to_vec()), ..published.unwrap().run() }
    }

    #[test]
    fn the_h20_case_stands_beside_its_measured_1_448() {
        let uneven_run = evaluate(&qwen2_vl(&[10, 18])).unwrap();
        let found = balance(&uneven_run).unwrap();
        let step = |origin| found.of(origin).unwrap().step_s();
        let predicted = step(SplitOrigin::Even) / step(SplitOrigin::Own);
        assert!(predicted > 1.1 && predicted < 22.0 / 18.0, "{predicted}");
        let words = uneven(&found, &"H20".into()).to_html();
        let predicted = significant(predicted, 4);
        let sentence = format!("{predicted}× as fast. Measured on H20, 10/18 against 14/14: 1.448×.");
        assert!(words.contains(&sentence), "{words}");
        let html = picture(&uneven_run, MemoryUnit::Gib).to_html();
        // The note's steps stand there, and that the computed ones are far off.
        assert!(html.contains("28.4 s and 19.6 s are several times"), "{html}");
        assert!(28.3887 / step(SplitOrigin::Even).0 > 3.0);
        for notes in ["14/14 layers", "10/18 layers", "as fast as even", "1.448×", "22/18"] {
            assert!(html.contains(notes), "{notes}");
        }
        assert_eq!(html.matches("<svg").count(), 1);
        // The even Run has the same picture.
        assert!(picture(&evaluate(&qwen2_vl(&[14, 14])).unwrap(), MemoryUnit::Gib).to_html().contains("1.448×"));
    }

    /// Uneven-PP note, case 1: a tower of width 1280 gives 13/15. No move is worth it by this page's times, and the
    /// rule's split stands beside the even and the best one all the same.
    #[test]
    fn the_rules_split_is_shown_whatever_the_outcome() {
        for (width, printed) in [(1280, "13/15"), (4096, "10/18"), (8000, "0/28")] {
            let mut run = qwen2_vl(&[14, 14]);
            run.stage_layers = None;
            run.model.parts.vision.hidden = Some(width);
            run.model.parts.vision.ffn = Some(4 * width);
            let evaluation = evaluate(&run).unwrap();
            let found = balance(&evaluation).unwrap();
            let words = uneven(&found, &"H20".into()).to_html();
            let is_even = found.of(SplitOrigin::Best).unwrap().origins.contains(&SplitOrigin::Even);
            let beside: &[&str] = if is_even {
                &["the even split, the best found, 14/14: "]
            } else {
                &["the even split 14/14: ", "the best found "]
            };
            for notes in std::iter::once(&*format!("NVIDIA's rule gives {printed}: ")).chain(beside.iter().copied()) {
                assert!(words.contains(notes), "{notes}: {words}");
            }
            let html = picture(&evaluation, MemoryUnit::Gib).to_html();
            assert!(html.contains(&format!("<td>{printed}</td>")) && html.contains("<td>14/14</td>"), "{html}");
            assert!(html.contains("data-action=\"explain rule\""), "{html}");
        }
    }

    #[test]
    fn many_stages_are_shortened() {
        assert_eq!(short(&[7; 20]), "7/7/7/7/…/7/7/7/7");
        assert_eq!(short(&[13, 15]), "13/15");
    }
}
