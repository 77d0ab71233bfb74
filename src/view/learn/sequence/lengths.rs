//! Samples of unequal length packed into micro-batches, and the replica that a step waits for.

use crate::charts::figure::key;
use crate::learn::prelude::*;
use crate::panels::lengths::{of_drawn, replicas};
use shardscope_core::report::lengths::{DealtStep, dealt_steps};

/// Tokens of a packed sequence.
const PACK: u64 = 32_768;

/// Llama 3.1 8B on one GPU a replica, fine-tuned on chats.
fn settings(replicas: u64, microbatches: u64, median: u64) -> String {
    let batch = replicas * microbatches;
    format!(
        "model=llama-3.1-8b&gpus={replicas}&tp=1&pp=1&zero=1&global_batch={batch}&seq_len={PACK}&recompute=full\
            &lengths.base=log-normal&lengths.median={median}&lengths.sigma=1.2&lengths.pack={PACK}"
    )
}

pub(super) fn lengths(dials: &Dials) -> Live {
    let (d, m, median) = (dials.get("d"), dials.get("m"), dials.get("L"));
    let found = run(&settings(d, m, median));
    let steps: Option<[DealtStep; 2]> = found.as_ref().and_then(dealt_steps);
    let Some((found, steps)) = found.zip(steps) else { return Live::default() };
    let (Some(said), Some(pool)) = (&found.report.lengths, &found.scenario.samples) else { return Live::default() };
    let squares = pool.drawn.iter().map(|length| length * length).sum::<f64>() / pool.drawn.len().max(1) as f64;
    let renewal = 1.0 - squares / (2.0 * pool.mean * PACK as f64);
    let values = format!(
        "1 − {} / (2 · {} · {PACK}) = {}",
        significant(squares, 4),
        significant(pool.mean, 4),
        significant(renewal, 3)
    );
    let [arrival, sorted] = [said.imbalance_arrival, said.imbalance_sorted].map(|times| significant(times, 3));
    let live = Live::of([
        t!(
            "Samples have unequal lengths. Packed into {pack} tokens, they fill {fill} of the room. Attention grows \
                with the square of a sample, so equally full packs take different times.",
            pack = PACK,
            fill = show_percent(said.fill)
        ),
        t!(
            "Every replica takes {m} packs. The step ends with the slowest: on average {arrival} times the mean of {d} \
                replicas as packs arrive, {sorted} where dealt longest first.",
            m,
            d,
            arrival = arrival.clone(),
            sorted = sorted.clone()
        ),
    ])
    .below("the slowest replica over the mean, as packs arrive", said.imbalance_arrival, 1.1, |times| {
        significant(times, 3)
    })
    .formula("fill = 1 − E[L²] / (2 E[L] S)", values)
    .note(Message::joined(
        " ",
        [
            of_drawn(&found, &steps),
            t!(
                "Renewal theory: the sample that no longer fits is picked by its length, and half of it is free on \
                    average. Drawn, the fill is {fill}.",
                fill = significant(said.fill, 3)
            ),
        ],
    ));
    Live {
        legend: key(&[("c-forward", "a micro-batch"), ("hatch", "waits")]),
        picture: replicas(&steps).inline("Micro-batches by replica, before and after balancing"),
        table: data(
            &["replica", "slowest over the mean"],
            vec![vec![t!("as they arrive"), verbatim(arrival)], vec![t!("dealt longest first"), verbatim(sorted)]],
        ),
        ..live
    }
}

#[cfg(test)]
mod tests {
    use super::super::LESSON;
    use super::*;

    /// Text, picture and table name one mean, at every number of replicas.
    #[test]
    fn text_picture_and_table_have_one_mean() {
        let step = LESSON.steps.iter().find(|step| step.id == "lengths").unwrap();
        let mut pictures = Vec::new();
        for at in 0..step.sliders[0].values.len() {
            let live = (step.live)(&Dials::new(step.sliders, &[at, 1, 1]));
            let text = live.text[1].to_string();
            let [arrival, sorted] = ["on average ", "packs arrive, "]
                .map(|before| text.split(before).nth(1).and_then(|rest| rest.split(' ').next()).unwrap().to_owned());
            let (table, picture) = (live.table.to_html(), live.picture.to_html());
            assert!(table.contains(&format!(">{arrival}<")) && table.contains(&format!(">{sorted}<")), "{table}");
            let said = live.note.to_string();
            assert!(said.contains(&format!("take {arrival} and {sorted} times the mean")), "{said}");
            let headings: Vec<&str> =
                picture.split(": idle ").skip(1).filter_map(|rest| rest.split('<').next()).collect();
            pictures.push(headings.join(" "));
        }
        let different: std::collections::HashSet<&String> = pictures.iter().collect();
        assert_eq!(different.len(), pictures.len(), "{pictures:?}");
    }

    /// Every position: the closed form is within 8 % of the drawn fill, and dealing never makes the slowest slower.
    #[test]
    fn the_closed_form_is_near_what_is_drawn() {
        let step = LESSON.steps.iter().find(|step| step.id == "lengths").unwrap();
        for at in 0..step.sliders[2].values.len() {
            let live = (step.live)(&Dials::new(step.sliders, &[1, 1, at]));
            let closed: f64 = live.formula.unwrap()[1].to_string().rsplit(' ').next().unwrap().parse().unwrap();
            let drawn = live.note.to_string();
            let drawn: f64 = drawn.rsplit(' ').next().unwrap().trim_end_matches('.').parse().unwrap();
            assert!((closed / drawn - 1.0).abs() < 0.08, "{closed} {drawn}");
        }
        let found = run(&settings(8, 4, 1000)).unwrap().report.lengths.unwrap();
        assert!(found.imbalance_sorted < found.imbalance_arrival);
    }
}
