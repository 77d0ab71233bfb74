//! Even against uneven layers, in words, with the button that balances them.

use super::figure::figure;
use super::markup::{Node, apply, cited, leaf, text};
use super::strips::strips;
use super::words::verdict;
use crate::core::memory::Verdict;
use crate::core::report::{Balance, Evaluation, Pair, balance, splits};
use crate::core::source::UNEVEN_PP;
use crate::core::units::{show_percent, show_seconds, significant};

/// Less than this is not worth a button.
const WORTH: f64 = 0.003;

fn list(split: &[u64]) -> String {
    let numbers: Vec<String> = split.iter().map(ToString::to_string).collect();
    numbers.join(",")
}

/// Layers by stage, shortened in the middle.
fn short(split: &[u64]) -> String {
    if split.len() <= 16 {
        return list(split).replace(',', "/");
    }
    let ends = |part: &[u64]| list(part).replace(',', "/");
    format!(
        "{}/…/{}",
        ends(&split[..4]),
        ends(&split[split.len() - 4..])
    )
}

/// What was measured on GPUs of that name, and why no model of equal layers reaches it where none does.
fn held_against(measured: &Pair, gpu: &str) -> String {
    let said = format!(
        "Measured on {gpu}, {} against {}: {}×.",
        short(&measured.uneven),
        short(&measured.even),
        significant(measured.gain, 4)
    );
    let bound = measured.bound().map(|(all, longest)| {
        let most = all as f64 / longest as f64;
        (most, format!("{all}/{longest} = {}×", significant(most, 4)))
    });
    match bound {
        Some((most, bound)) if most < measured.gain => format!(
            "{said} Layers of equal cost cannot give more than {bound}: the rest of the measured gain is not in its layers."
        ),
        _ => said,
    }
}

/// Even, own and best split on one axis, with how much faster each is than the even one.
#[must_use]
pub fn picture(evaluation: &Evaluation) -> Node {
    let found = splits(evaluation);
    let [(_, even), ..] = found.as_slice() else {
        return leaf("p", "muted", "One stage has nothing to balance.");
    };
    let even_s = even.report.step.time_s;
    let drawn: Vec<_> = found
        .iter()
        .map(|(layers, one)| {
            let step = one.report.step.time_s;
            let speed = if step < even_s {
                format!(", {}× as fast as even", significant(even_s / step, 4))
            } else {
                String::new()
            };
            let words = format!(
                "{} layers: a step of {}{speed}",
                short(layers),
                show_seconds(step)
            );
            (words, &one.timeline)
        })
        .collect();
    let measured = balance(evaluation).and_then(|balance| balance.measured);
    let said = match (drawn.len(), measured) {
        (_, Some(measured)) => held_against(&measured, &evaluation.scenario.run.gpu.title()),
        (1, None) => "The even split is the best there is: no stage works longer than it must.".to_owned(),
        (_, None) => "Layers move from the stages that have more to do beside them: embedding, head and loss, vision tower.".to_owned(),
    };
    Node::from_iter([
        figure(
            "uneven",
            "Layers by stage: even and uneven",
            strips(&drawn).inline("The pipeline with each split of the layers, on one axis"),
        ),
        leaf("p", "muted", &said),
    ])
}

/// What balancing would give, and what it gave; `gpu` is the name of this run's.
#[must_use]
pub fn uneven(balance: &Balance, gpu: &str) -> Node {
    let mut said = Vec::new();
    if let Some(even) = balance.even_s {
        let speed = even / balance.own_s;
        let mut line = format!(
            "Layers {} against an even split: {} instead of {}, {}× as fast.",
            short(&balance.own),
            show_seconds(balance.own_s),
            show_seconds(even),
            significant(speed, 4)
        );
        if let Some(measured) = &balance.measured {
            line = format!("{line} {}", held_against(measured, gpu));
        }
        said.push(text(&line));
    }
    let gain = 1.0 - balance.best_s / balance.own_s;
    if balance.best != balance.own && gain > WORTH {
        let fits = match balance.best_verdict {
            Verdict::Fits => String::new(),
            other => format!(" ({})", verdict(other)),
        };
        said.push(text(&format!(
            " With {} no stage works longer than it must: a step is {} shorter{fits}. ",
            short(&balance.best),
            show_percent(gain)
        )));
        let set = vec![("stage_layers", list(&balance.best))];
        said.push(apply("fix", set, "", "balance the layers"));
    }
    if balance.even_s.is_some() {
        let set = vec![("stage_layers", String::new())];
        said.push(apply("fix", set, "", "split evenly"));
    }
    if let (Some(note), false) = (&balance.note, said.is_empty()) {
        said.push(text(&format!(" NVIDIA's rule gives {}", short(note))));
        said.push(text(" ("));
        said.push(cited(&UNEVEN_PP, UNEVEN_PP.short));
        said.push(text(")."));
    }
    Node::from_iter(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::evaluate;
    use crate::core::run::Run;
    use crate::core::run::presets::PUBLISHED;
    use crate::view::markup::Action;

    #[test]
    fn the_button_sets_the_split_that_was_promised() {
        let run = Run::default();
        let found = balance(&evaluate(&run).unwrap()).unwrap();
        let fix = |shown: &Node| match shown.actions()[..] {
            [Action::Apply(set), ..] => set.clone(),
            _ => panic!("the first button sets fields"),
        };
        let balanced = run.with_texts(&fix(&uneven(&found, "H20"))).unwrap();
        assert_eq!(balanced.stage_layers.as_ref(), Some(&found.best));
        let after = balance(&evaluate(&balanced).unwrap()).unwrap();
        assert_eq!(after.own_s, found.best_s);
        let shown = uneven(&after, "H20");
        let html = shown.to_html();
        assert!(
            !html.contains("balance the layers") && html.contains("split evenly"),
            "{html}"
        );
        assert_eq!(balanced.with_texts(&fix(&shown)), Some(run));
    }

    /// Uneven-PP note: Qwen2-VL with a vision tower of width 4096 on H20, two ranks: 28388.7 ms against 19607.1 ms.
    fn qwen2_vl(split: &[u64]) -> Run {
        let published = PUBLISHED.iter().find(|run| run.id == "qwen2-vl-even");
        Run {
            stage_layers: Some(split.to_vec()),
            ..published.unwrap().run()
        }
    }

    #[test]
    fn the_h20_case_stands_beside_its_measured_1_448() {
        let uneven_run = evaluate(&qwen2_vl(&[10, 18])).unwrap();
        let found = balance(&uneven_run).unwrap();
        let predicted = found.even_s.unwrap() / found.own_s;
        assert!(predicted > 1.1 && predicted < 22.0 / 18.0, "{predicted}");
        let words = uneven(&found, "H20").to_html();
        let sentence = format!(
            "{}× as fast. Measured on H20, 10/18 against 14/14: 1.448×.",
            significant(predicted, 4)
        );
        assert!(words.contains(&sentence), "{words}");
        let html = picture(&uneven_run).to_html();
        for said in [
            "14/14 layers",
            "10/18 layers",
            "as fast as even",
            "1.448×",
            "22/18",
        ] {
            assert!(html.contains(said), "{said}");
        }
        assert_eq!(html.matches("<svg").count(), 1);
        // The even Run has the same picture.
        assert!(
            picture(&evaluate(&qwen2_vl(&[14, 14])).unwrap())
                .to_html()
                .contains("1.448×")
        );
    }

    #[test]
    fn many_stages_are_shortened() {
        assert_eq!(short(&[7; 20]), "7/7/7/7/…/7/7/7/7");
        assert_eq!(short(&[13, 15]), "13/15");
    }
}
