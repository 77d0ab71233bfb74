//! Load of the busiest expert rank by the size of the group, with clones of experts and without.

use crate::charts::drawing::{Anchor, Box, Drawing};
use crate::charts::figure::{figure, key};
use crate::charts::ink::Ink;
use crate::prelude::*;

/// Spreads to try: whose they are, and the standard deviation of the logarithm of the experts' popularity.
///
/// GLM-5 without an auxiliary loss lost 18.6 % of its GPU time to the fullest of 8 ranks with 128 experts: 1.23. Eight
/// experts with an auxiliary loss, 16 layers printed in scattermoe issue 10, have 0.056 on average, of which 0.040 is
/// the noise of counting 640 tokens.
const EXAMPLES: [(&str, &str); 2] = [
    ("GLM-5's layers without an auxiliary loss: 1.23 at EP 8", "0.56"),
    ("eight experts with an auxiliary loss: 1.08 at EP 8", "0.056"),
];

/// Height of the bars, and of the words below them, pixels.
const HIGH: f64 = 100.0;
const AXIS: f64 = 18.0;
/// Largest group that is shown.
const MOST_RANKS: u64 = 512;

/// A size of the group.
struct GroupLoad {
    ep: u64,
    /// Tokens of the busiest rank over the mean, as the run has it without clones, and with them.
    alone: f64,
    cloned: f64,
}

/// The panel.
pub fn experts(evaluation: &Evaluation) -> Node {
    let (run, scenario) = (&evaluation.scenario.run, &evaluation.scenario);
    let Some(moe) = scenario.model.moe else {
        return muted("The model of this run has no experts that tokens choose from.");
    };
    let Some(sigma) = run.moe_sigma.filter(|_| run.moe_imbalance.is_none()) else {
        return Node::from_iter([
            muted(
                "Tokens choose some experts more often than others, and all ranks wait for the busiest. How uneven \
                    that is depends on the number of ranks: give the router's spread, and the load follows for every \
                    size of the group.",
            ),
            examples(),
        ]);
    };
    let slots = run.moe_clones.unwrap_or(0).max(1);
    let plain = Run { moe_clones: None, ..run.clone() };
    let cloning = Run { moe_clones: Some(slots), ..run.clone() };
    let sizes = (1..=moe.experts.min(MOST_RANKS)).filter(|ep| ep.is_power_of_two() && moe.experts.is_multiple_of(*ep));
    let loads: Vec<GroupLoad> = sizes
        .map(|ep| {
            let load = |run: &Run| run.imbalance(moe.experts as f64 / ep as f64, ep as f64);
            GroupLoad { ep, alone: load(&plain), cloned: load(&cloning) }
        })
        .collect();
    let own = scenario.layout.ep;
    let times = |load: f64| format!("{}×", significant(load, 3));
    let table = Rows::of(&loads)
        .figures("EP", |load| load.ep.to_string())
        .figures("busiest rank over the mean", |load| times(load.alone))
        .figures("with clones", |load| times(load.cloned))
        .marked(|load| load.ep == own)
        .table("Load of the busiest expert rank");
    let words = t!(
        "σ = {sigma} of the logarithm of the popularity of {experts} experts; slots a rank for clones: {slots}. The \
            run has EP {ep}.",
        sigma = significant(sigma, 3),
        experts = moe.experts,
        slots,
        ep = own
    );
    Node::from_iter([
        leaf("p", "", words),
        key(&[("c-forward", "without clones"), ("c-weights", "with clones")]),
        figure(
            "experts",
            "Tokens of the busiest rank over the mean, by EP: without clones, and with them",
            bars(&loads, own).inline("Load of the busiest expert rank by EP"),
        ),
        table,
        muted(
            "Drawn routers of log-normal popularity. A clone shares the tokens of one expert with a rank that has a \
                free slot, and an expert is cloned once at most: where a rank has one or two experts, the busiest \
                keeps half. Clones cost memory for weights and gradients, and their weights travel in every pass.",
        ),
    ])
}

/// Buttons with spreads that were measured.
fn examples() -> Node {
    let buttons = EXAMPLES.iter().map(|(name, sigma)| {
        let set = vec![("moe_sigma", (*sigma).to_owned()), ("moe_imbalance", String::new())];
        apply("choose", set, "", t!("{name}, σ {sigma}", name = *name, sigma = verbatim(*sigma)))
    });
    let buttons: Vec<Node> = buttons.flat_map(|button| [button, text(" ")]).collect();
    Node::from_iter([muted("Examples that were measured:"), el("p", &[("class", "row-of-buttons")], &buttons)])
}

fn bars(loads: &[GroupLoad], own: u64) -> Drawing {
    let most = loads.iter().map(|load| load.alone.max(load.cloned)).fold(1.0, f64::max);
    let each = 1.0 / loads.len().max(1) as f64;
    let mut drawing = Drawing::new(HIGH + AXIS);
    for (index, load) in loads.iter().enumerate() {
        let left = index as f64 * each;
        for (half, times, ink) in [(0.1, load.alone, Ink::Forward), (0.5, load.cloned, Ink::Memory(0))] {
            let height = (HIGH - 8.0) * times / most;
            let at = Box { x: left + half * each, width: each * 0.36, y: HIGH - height, height };
            let label = t!("EP {ep}: {times} times the mean", ep = load.ep, times = significant(times, 3));
            drawing.fill(at, ink, 1.0, label);
        }
        let ink = if load.ep == own { Ink::Text } else { Ink::Muted };
        drawing.words((left + each / 2.0, HIGH + 10.0), Anchor::Middle, ink, verbatim(load.ep.to_string()));
    }
    // The mean.
    let mean = HIGH - (HIGH - 8.0) / most;
    drawing.line((0.0, mean), (1.0, mean), Ink::Line, 1.0);
    drawing
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each example makes a run with a table that marks its own size of the group, in which a larger group is never
    /// more even and clones never less.
    #[test]
    fn the_examples_show_their_groups() {
        let texts = [("model", "deepseek-v3"), ("gpus", "256"), ("ep", "32"), ("tp", "1"), ("pp", "8")];
        let run = Run::default().with_texts(&texts).unwrap();
        let plain = experts(&evaluate(&run).unwrap());
        let mut pressed = 0;
        for action in plain.actions() {
            let Action::Apply(set) = action else { continue };
            let spread = evaluate(&run.with_texts(set).unwrap()).unwrap();
            let html = experts(&spread).to_html();
            assert!(!html.contains("NaN") && html.contains("EP 32"), "{html}");
            pressed += 1;
        }
        assert_eq!(pressed, EXAMPLES.len());
    }
}
