//! Memory per GPU, a bar a pipeline rank, the capacity as a rule, the same as a table.

use crate::report::{Evaluation, Figure, Memory};
use crate::run::Method;
use crate::run::OneOf;
use crate::run::registry::field;
use crate::scene::memory::{Bar, Segment, bars};
use crate::scene::words;
use crate::ui::field::choice_select;
use crate::ui::state::State;
use crate::units::{MemoryUnit, significant};
use leptos::prelude::*;

const COMPONENTS: [&str; 6] = [
    "weights",
    "gradients",
    "optimizer",
    "activations",
    "buffers",
    "overhead",
];

/// The memory panel.
#[component]
pub fn MemoryPanel() -> impl IntoView {
    let state = expect_context::<State>();
    view! {
        <section aria-labelledby="memory-title" class="stale-able" class:stale=move || state.is_stale()>
            <div class="panel-head">
                <h2 id="memory-title">"Memory per GPU, by stage"</h2>
                <span class="spring"></span>
                {state.embed().is_none().then(|| field("memory_method").map(|field| view! {
                    <span class="tools"><small>"method "</small>{choice_select(state, field, "Memory method")}</span>
                }))}
            </div>
            {move || state.evaluation().map(|evaluation| picture(state, &evaluation))}
        </section>
    }
}

fn picture(state: State, evaluation: &Evaluation) -> impl IntoView + use<> {
    let memory = &evaluation.report.memory;
    let unit = state.unit.get();
    let picture = bars(memory);
    let shown: Vec<&str> = COMPONENTS
        .into_iter()
        .filter(|name| {
            picture
                .bars
                .iter()
                .any(|bar| bar.segments.iter().any(|part| part.component == *name))
        })
        .collect();
    let legend = shown.iter().map(|name| {
        view! { <span><i class=format!("swatch c-{name}")></i>{(*name).to_owned()}</span> }
    });
    let capacity = picture.capacity;
    let rows = picture
        .bars
        .iter()
        .map(|bar| bar_row(state, bar, capacity, unit));
    let box_size = evaluation.scenario.gpu.memory;
    let usable = memory.method != Method::Fujii.id();
    let note = if usable {
        format!(
            "{} usable of a \"{:.0} GB\" GPU",
            unit.show(memory.capacity_bytes),
            box_size.gib()
        )
    } else {
        format!(
            "{} on the box, as the paper counts",
            unit.show(memory.capacity_bytes)
        )
    };
    view! {
        <p class="visually-hidden">{words::memory(memory, unit)}</p>
        <div class="legend" aria-hidden="true">{legend.collect_view()}</div>
        <div class="bars" aria-hidden="true">{rows.collect_view()}</div>
        <p class="capacity-note">{note}</p>
        <details class="twin">
            <summary>"Show as a table"</summary>
            {table(memory, unit)}
        </details>
    }
}

fn bar_row(state: State, bar: &Bar, capacity: f64, unit: MemoryUnit) -> impl IntoView + use<> {
    let (first, last) = bar.stages;
    let name = if first == last {
        format!("stage {first}")
    } else {
        format!("{first} to {last}")
    };
    let percent = |share: f64| format!("{:.3}%", share * 100.0);
    let segment = |part: &Segment| {
        view! {
            <i
                class=format!("segment c-{}", part.component)
                style:left=percent(part.start)
                style:width=percent(part.length)
                title=format!("{} {}", part.component, unit.show(part.bytes))
            ></i>
        }
    };
    let end = bar
        .segments
        .last()
        .map_or(0.0, |part| part.start + part.length);
    let free = (end < capacity).then(|| {
        view! { <i class="free" style:left=percent(end) style:width=percent(capacity - end)></i> }
    });
    view! {
        <div class="bar-row">
            <button class="who" tabindex="-1" on:click=move |_| state.ask(Figure::Memory(first))>{name}</button>
            <div class="track">
                {bar.segments.iter().map(segment).collect_view()}
                {free}
                <i class="capacity" style:left=percent(capacity)></i>
                <span
                    class="total"
                    style:left=(end < 0.88).then(|| percent(end))
                    style:right=(end >= 0.88).then(|| percent(1.0 - end + 0.003))
                >{unit.number(bar.total)}</span>
            </div>
        </div>
    }
}

fn table(memory: &Memory, unit: MemoryUnit) -> impl IntoView + use<> {
    let row = |rank: &crate::memory::StageMemory| {
        let cells = rank.components().map(|(_, bytes)| {
            view! { <td title=format!("{:.0} bytes", bytes.0)>{unit.number(bytes)}</td> }
        });
        view! {
            <tr class:peak=rank.stage == memory.peak_stage>
                <td>{rank.stage}</td>
                {cells.collect_view()}
                <td title=format!("{:.0} bytes", rank.total.0)>{unit.number(rank.total)}</td>
                <td>{significant(rank.in_flight, 3)}</td>
            </tr>
        }
    };
    view! {
        <div class="scroll-x" tabindex="0" role="region" aria-label="Memory table">
            <table>
                <thead>
                    <tr>
                        <th>"stage"</th>
                        {COMPONENTS.map(|name| view! { <th>{name}</th> }).collect_view()}
                        <th>{format!("total {}", unit.name())}</th>
                        <th>"in flight"</th>
                    </tr>
                </thead>
                <tbody>{memory.per_stage.iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}
