//! Even against uneven layers, in words, with the button that balances them.

use super::markup::{Html, el, text};
use super::words::verdict;
use crate::memory::Verdict;
use crate::report::Balance;
use crate::units::{show_percent, show_seconds, significant};

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

/// What balancing would give, and what it gave.
#[must_use]
pub fn uneven(balance: &Balance) -> Html {
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
        if let Some(measured) = balance.measured {
            let measured = significant(measured, 4);
            line = format!("{line} Measured on H20, 10/18 against 14/14: {measured}×.");
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
        let fix = format!("stage_layers={}", list(&balance.best));
        let button = [("class", "fix"), ("data-fix", fix.as_str())];
        said.push(el("button", &button, &[text("balance the layers")]));
    }
    if balance.even_s.is_some() {
        let button = [("class", "fix"), ("data-fix", "stage_layers=")];
        said.push(el("button", &button, &[text("split evenly")]));
    }
    if let (Some(note), false) = (&balance.note, said.is_empty()) {
        said.push(text(&format!(
            " The uneven-PP note's rule gives {}.",
            short(note)
        )));
    }
    Html::from_iter(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{balance, changed, evaluate};
    use crate::run::Run;
    use crate::scene::issues::read_fix;

    #[test]
    fn the_button_sets_the_split_that_was_promised() {
        let run = Run::default();
        let found = balance(&evaluate(&run).unwrap()).unwrap();
        let html = uneven(&found).into_string();
        let fix = html
            .split("data-fix=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let balanced = changed(&run, &read_fix(fix));
        assert_eq!(balanced.stage_layers.as_ref(), Some(&found.best));
        let after = balance(&evaluate(&balanced).unwrap()).unwrap();
        assert_eq!(after.own_s, found.best_s);
        let html = uneven(&after).into_string();
        assert!(
            !html.contains("balance the layers") && html.contains("split evenly"),
            "{html}"
        );
        assert_eq!(changed(&balanced, &read_fix("stage_layers=")), run);
    }

    #[test]
    fn many_stages_are_shortened() {
        assert_eq!(short(&[7; 20]), "7/7/7/7/…/7/7/7/7");
        assert_eq!(short(&[13, 15]), "13/15");
    }
}
