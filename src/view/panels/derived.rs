//! Sizes that follow from what is set: beside the inputs, to be read and not to be typed.

use crate::prelude::*;
use shardscope_core::units::thousands;

/// Data-parallel size and micro-batches; a dash where they do not divide.
pub fn derived(run: &Run) -> Node {
    [
        ("Data parallel", "DP", "GPUs over TP, PP and CP", run.data_parallel()),
        ("Micro-batches", "m", "of a step and rank: the global batch over DP and the micro-batch", run.microbatches()),
    ]
    .into_iter()
    .map(|(label, symbol, hint, count)| {
        let label = [text(label), text(" "), aside(symbol)];
        let count = count.map_or_else(|| "–".to_owned(), thousands);
        let parts = [el("span", &[], &label), leaf("output", "", verbatim(&count)), leaf("span", "unit", "derived")];
        el("div", &[("class", "field-row")], &parts).title(hint)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_divide_has_no_size() {
        let html = derived(&Run::default()).to_html();
        assert!(html.contains(">8<") && html.contains(">32<"), "{html}");
        let odd = Run { global_batch: 100, ..Run::default() };
        let html = derived(&odd).to_html();
        assert!(html.contains(">8<") && html.contains(">–<"), "{html}");
    }
}
