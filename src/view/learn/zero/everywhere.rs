//! Memory of all GPUs together: copies that each stage of ZeRO takes away.

use super::super::bars::MEMORY;
use super::memory;
use crate::learn::prelude::*;

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
            "That is {saved} less. Activations and buffers are not copies: every rank has its own samples, and no \
                stage of ZeRO changes them.",
            saved = show_percent(saved)
        ),
    ])
    .above("the share of the states that stage three saves", saved, 0.98, show_percent)
    .formula("states = n · 18 P → 18 P", format!("{n} · {} → {}", gib(of(0) / n as f64), gib(of(3))))
    .bars(&MEMORY, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;

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
