//! "Fits, but ran out of memory?": the way to narrow it down, with this run's figures, and the known gaps.

use super::fold::Fold;
use super::methods::verdict;
use crate::report::narrow::{Gap, Narrowing, SOURCE, gaps, narrow};
use crate::ui::state::State;
use crate::units::MemoryUnit;
use leptos::prelude::*;
use std::time::Duration;

/// Typing settles this long before the eleven Runs are computed.
const SETTLE: Duration = Duration::from_millis(120);

/// The way down, folded.
#[component]
pub fn Narrow() -> impl IntoView {
    let state = expect_context::<State>();
    let open = RwSignal::new(false);
    let way = RwSignal::new(Vec::<Narrowing>::new());
    let pending = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        state.shown.track();
        if !open.get() {
            return;
        }
        if let Some(before) = pending.get_value() {
            before.clear();
        }
        let compute = move || {
            if let Some(evaluation) = untrack(|| state.evaluation()) {
                way.set(narrow(&evaluation));
            }
        };
        pending.set_value(set_timeout_with_handle(compute, SETTLE).ok());
    });
    view! {
        <Fold
            id="memory-narrow"
            title="Fits, but ran out of memory?".to_owned()
            note="narrow it down".to_owned()
            open=open
            toggle=Callback::new(move |()| open.update(|open| *open = !*open))
        >
            <p class="muted">
                "Take away what costs memory, one thing after another, until the run starts; then put things back one by one: the step at which it fails again names the cause. ("
                {SOURCE.short} ")"
            </p>
            {move || way.with(|way| (!way.is_empty()).then(|| table(way, state.unit.get())))}
            <h4>"What stands between the estimate and the driver"</h4>
            {move || state.evaluation().map(|evaluation| gap_list(&gaps(&evaluation), state.unit.get()))}
        </Fold>
    }
}

fn table(way: &[Narrowing], unit: MemoryUnit) -> impl IntoView + use<> {
    let smallest = way.last().map(|last| last.peak).unwrap_or_default();
    let rises = way.windows(2).any(|pair| pair[1].peak > pair[0].peak);
    let rows = way.iter().enumerate().map(|(at, step)| {
        let change = match at {
            0 => "this run".to_owned(),
            1 => format!("1. {}", step.change),
            _ => format!("{at}. and {}", step.change),
        };
        let back = (at > 0).then(|| {
            let more = step.back - smallest;
            let sign = if more.0 < 0.0 { "−" } else { "+" };
            let more = if more.0 < 0.0 { more * -1.0 } else { more };
            format!("{} ({sign}{})", unit.number(step.back), unit.number(more))
        });
        view! {
            <tr>
                <td>{change}</td>
                <td>{unit.number(step.peak)}</td>
                <td>{step.stage}</td>
                <td class="left">{verdict(step.verdict)}</td>
                <td>{back}</td>
            </tr>
        }
    });
    view! {
        <div class="scroll-x" tabindex="0" role="region" aria-label="Narrowing it down">
            <table>
                <thead>
                    <tr>
                        <th scope="col">"take away"</th>
                        <th scope="col">{format!("peak {}", unit.name())}</th>
                        <th scope="col">"stage"</th>
                        <th scope="col" class="left">"verdict"</th>
                        <th scope="col">"put back alone"</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
        {rises.then(|| view! {
            <p class="muted">"With a pipeline, ZeRO-3 keeps the stage's weights gathered and its gradients whole until the last micro-batch: it may need more."</p>
        })}
    }
}

fn gap_list(list: &[Gap], unit: MemoryUnit) -> impl IntoView + use<> {
    let line = |gap: &Gap| {
        let counted = gap.counted.map_or_else(
            || "not counted here".to_owned(),
            |bytes| format!("{} counted here", unit.show(bytes)),
        );
        view! {
            <dt>{gap.name} <small>{counted}</small></dt>
            <dd>{gap.words} " " <small class="muted">"(" {gap.source.short} ")"</small></dd>
        }
    };
    view! { <dl class="gaps">{list.iter().map(line).collect_view()}</dl> }
}
