//! Memory of all GPUs together: copies that each stage of ZeRO takes away.

use super::super::bars::{MEMORY, part};
use super::memory;
use crate::learn::prelude::*;

/// The parts of a bar that are activations and buffers.
#[cfg(test)]
const ACTIVATIONS: usize = 3;
const BUFFERS: usize = 4;

/// Memory of the fullest rank with `zero`, times the ranks.
fn over_all(n: u64, zero: u64) -> Option<Bar> {
    let bar = memory(n, zero)?;
    let values: Vec<f64> = bar.values.iter().map(|bytes| n as f64 * bytes).collect();
    Some(Bar::new(bar.name, values))
}

/// Bytes of weights, gradients and optimizer states.
fn states(bar: &Bar) -> f64 {
    bar.values.iter().take(3).sum()
}

pub(super) fn everywhere(dials: &Dials) -> Live {
    let n = dials.get("n");
    let bars: Vec<Bar> = (0..4).filter_map(|zero| over_all(n, zero)).collect();
    let of = |at: usize| bars.get(at).map_or(0.0, states);
    let saved = 1.0 - of(3) / of(0).max(1.0);
    Live::of([
        t!(
            "Without ZeRO {n} ranks hold {n} times the same weights, gradients and optimizer states: {all} in all. \
                With stage three each byte of them is held once: {once}, whatever the number of ranks.",
            n,
            all = gib(of(0)),
            once = gib(of(3))
        ),
        t!(
            "That is {saved} less. Activations are no copies: no stage changes them. Buffers grow by gathered layers, \
                from {before} to {after}.",
            saved = show_percent(saved),
            before = gib(part(&bars, 0, BUFFERS)),
            after = gib(part(&bars, 3, BUFFERS))
        ),
    ])
    .above("the share of the states that stage three saves", saved, 0.98, show_percent)
    .formula("states = n · 18 P → 18 P", format!("{n} · {} → {}", gib(of(0) / n as f64), gib(of(3))))
    .bars(&MEMORY, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::units::GIB;

    /// What the text says of activations and buffers is what the table has.
    #[test]
    fn text_and_table_agree_on_activations_and_buffers() {
        let step = super::super::LESSON.steps.iter().find(|step| step.id == "everywhere").unwrap();
        for (at, n) in step.sliders[0].values.iter().enumerate() {
            let bars: Vec<Bar> = (0..4).filter_map(|zero| over_all(*n, zero)).collect();
            let live = (step.live)(&Dials::new(step.sliders, &[at]));
            let (text, table) = (live.text[1].to_string(), live.table.to_html());
            for zero in [0, 3] {
                let buffers = gib(part(&bars, zero, BUFFERS));
                assert!(text.contains(&buffers), "{n}: {buffers} {text}");
                let figure = format!(">{}<", number(part(&bars, zero, BUFFERS) / GIB, 3));
                assert!(table.contains(&figure), "{n}: {figure} {table}");
            }
            let activations = [0, 1, 2, 3].map(|zero| part(&bars, zero, ACTIVATIONS));
            assert!(activations.iter().all(|each| (each / activations[0] - 1.0).abs() < 1e-9), "{activations:?}");
        }
    }

    /// ZeRO, figure 1, with bf16 weights and fp32 gradients: over all ranks `18 n P` bytes without it, `6 n P + 12 P`
    /// with stage 1, `2 n P + 16 P` with stage 2, `18 P` with stage 3.
    #[test]
    fn states_over_all_ranks_are_those_of_the_paper() {
        let p = 8.030_261_248e9;
        for n in [8_u64, 64] {
            let ranks = n as f64;
            let expected = [18.0 * ranks, 6.0 * ranks + 12.0, 2.0 * ranks + 16.0, 18.0];
            for (zero, expected) in (0..4).zip(expected) {
                let held = states(&over_all(n, zero).unwrap());
                assert!((held / (expected * p) - 1.0).abs() < 0.01, "{n} {zero}: {held:e} {:e}", expected * p);
            }
        }
    }
}
