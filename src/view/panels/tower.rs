//! A vision tower on ranks of its own, drawn above the pipeline that works beside it.

use crate::charts::figure::figure;
use crate::charts::strips::strips;
use crate::prelude::*;
use shardscope_core::advice::tower_timelines;
use shardscope_core::pipeline::Timeline;

/// Ops that are drawn at most.
const MOST_OPS: usize = 4000;

/// The tower's row above those of the pipeline, and the pipeline alone; nothing without such a tower.
pub fn tower_drawn(evaluation: &Evaluation) -> Node {
    if evaluation.report.tower.is_none() {
        return Node::none();
    }
    if evaluation.order.items() > MOST_OPS {
        return muted("A step of this length is not drawn with its tower.");
    }
    let Some(drawn) = tower_timelines(evaluation) else {
        return muted("Tower and pipeline are drawn with 1F1B, one stage a rank and equal micro-batches.");
    };
    let words = |name: Message, timeline: &Timeline| {
        t!("{name}: {time}", name, time = show_seconds(Seconds(timeline.makespan())))
    };
    let both = [
        (words(t!("the tower's rank above those of the pipeline"), &drawn.beside), &drawn.beside),
        (words(t!("the pipeline without it"), &drawn.alone), &drawn.alone),
    ];
    let counted = t!(
        "Simulated as 1F1B with one rank more. The report counts {counted}: the pipeline with both passes of one \
            micro-batch before and after it, or all passes of the tower with what its rank waits, whichever is longer.",
        counted = show_seconds(evaluation.report.pipeline.makespan_s)
    );
    Node::from_iter([
        figure(
            "tower",
            "One step: the tower is a stage more in front",
            strips(&both).inline("A vision tower beside the pipeline, and the pipeline alone, on one axis"),
        ),
        muted(&counted),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run whose tower has a GPU of its own has its row and both times; others have no such picture.
    #[test]
    fn a_tower_on_its_own_rank_has_a_row() {
        let drawn = |set: &[(&'static str, &str)]| {
            tower_drawn(&evaluate(&Run::default().with_texts(set).unwrap()).unwrap()).to_html()
        };
        let first =
            [("model", "qwen-3.5-27b"), ("model.vision.base", "qwen3.5"), ("gpus", "16"), ("tp", "4"), ("pp", "2")];
        assert!(drawn(&first).is_empty(), "{}", drawn(&first));
        let apart = [("gpus", "17"), ("model.vision.placement", "own-ranks")];
        let html = drawn(&[&first[..3], &first[4..], &[("tp", "4")][..], &apart[..]].concat());
        assert!(html.contains("rank above those of the pipeline") && html.contains("The report counts"), "{html}");
        let interleaved = [("schedule", "interleaved-1f1b"), ("virtual_stages", "2")];
        let html = drawn(&[&first[..3], &first[4..], &[("tp", "4")][..], &apart[..], &interleaved[..]].concat());
        assert!(html.contains("are drawn with 1F1B"), "{html}");
    }
}
