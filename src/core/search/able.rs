//! Sizes and schedules of a search that the named software can run.

use super::axes::Axes;
use crate::pipeline::able::{cuts_base, cuts_heads};
use crate::pipeline::{SCHEDULES, ScheduleInfo as Row};
use crate::run::presets::Stack;
use crate::run::{Run, Schedule};

/// Leaves of `axes` what the software of `run` can cut, with the schedules that it has.
pub(crate) fn limit(axes: &mut Axes, run: &Run) {
    let stack = run.stack.preset_row();
    let able = run.abilities();
    let sizes = [
        (&mut axes.tp, able.tensor && cuts_base(run)),
        (&mut axes.pp, able.pipeline),
        (&mut axes.cp, able.context),
        (&mut axes.ep, able.experts),
    ];
    for (list, able) in sizes {
        list.retain(|size| able || *size == 1);
    }
    axes.tp.retain(|tp| cuts_heads(run, *tp));
    axes.zero.retain(|zero| *zero <= able.zero && (*zero != 1 || stack.has_zero_1()));
    axes.schedules = schedules(stack, &axes.schedules);
    axes.able = true;
}

/// The schedules that `stack` runs and that train as 1F1B does, those of `first` first; 1F1B where it has none: a
/// single stage has that.
pub(crate) fn schedules(stack: &Stack, first: &[Schedule]) -> Vec<Schedule> {
    let trains_alike = |row: &&Row| !row.endless && !matches!(row.kind, Schedule::Custom | Schedule::Optimal);
    let others = SCHEDULES.iter().filter(trains_alike).map(|row| row.kind).filter(|kind| !first.contains(kind));
    let all = first.iter().copied().chain(others);
    let list: Vec<Schedule> = all.filter(|kind| kind.row().is_run_by(stack)).collect();
    if list.is_empty() { vec![Schedule::OneFOneB] } else { list }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::able::can_run;
    use crate::search::fastest::Fastest;

    /// bitsandbytes and `AutoGPTQ` have no linear of several ranks: what cuts LoRA's base does not cut QLoRA's.
    #[test]
    fn no_layout_cuts_a_quantised_base() {
        let edits = [("model", "llama-3.1-8b"), ("gpu", "rtx-4090"), ("gpus", "4"), ("stack", "megatron-2025")];
        let run = Run { tp: 4, pp: 1, ..Run::default().with_texts(&edits).unwrap() };
        let with = |method| run.with_texts(&[("adapter.method", method)]).unwrap();
        assert!(can_run(&with("lora")) && !can_run(&with("qlora")));
        assert!(can_run(&Run { tp: 1, ..with("qlora") }));
        let mut search = Fastest::new(&with("qlora"), &[]).unwrap();
        while !search.step(1000) {}
        assert_eq!(search.found().unwrap().run.tp, 1);
    }
}
