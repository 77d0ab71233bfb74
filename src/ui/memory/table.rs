//! The bars as a table: components a rank, and behind them the named parts.

use crate::memory::{Component, StageMemory};
use crate::report::{Figure, Memory};
use crate::scene::memory::{PartRow, part_rows};
use crate::ui::state::State;
use crate::units::{Bytes, MemoryUnit, significant};
use leptos::prelude::*;

/// The table behind the bars; `ranks` are those that have a bar of their own.
pub fn twin(
    state: State,
    memory: &Memory,
    ranks: &[&StageMemory],
    unit: MemoryUnit,
) -> impl IntoView + use<> {
    let heads = ranks
        .iter()
        .map(|rank| view! { <th scope="col">{format!("stage {}", rank.stage)}</th> });
    let rows = part_rows(ranks);
    view! {
        <details class="twin">
            <summary>"Show as a table, with the named parts"</summary>
            <div class="scroll-x" tabindex="0" role="region" aria-label="Memory table">
                {components(state, memory, unit)}
            </div>
            <div class="scroll-x" tabindex="0" role="region" aria-label="Named parts">
                <table class="parts">
                    <thead>
                        <tr><th scope="col">{format!("part, {}", unit.name())}</th>{heads.collect_view()}</tr>
                    </thead>
                    <tbody>{rows.iter().map(|row| part(row, unit)).collect_view()}</tbody>
                </table>
            </div>
        </details>
    }
}

fn components(state: State, memory: &Memory, unit: MemoryUnit) -> impl IntoView + use<> {
    let row = move |rank: &StageMemory| {
        let stage = rank.stage;
        let figures = Component::ALL.into_iter().zip(rank.components());
        let cells = figures.map(|(component, (_, bytes))| {
            cell(state, bytes, unit, Figure::Component(stage, component))
        });
        let in_flight = significant(rank.in_flight, 3);
        view! {
            <tr class:peak=stage == memory.peak_stage>
                <td>{stage}</td>
                {cells.collect_view()}
                {cell(state, rank.total, unit, Figure::Memory(stage))}
                <td><button class="figure" on:click=move |_| state.ask(Figure::InFlight(stage))>{in_flight}</button></td>
            </tr>
        }
    };
    let heads = Component::ALL.map(|component| view! { <th scope="col">{component.name()}</th> });
    view! {
        <table>
            <thead>
                <tr>
                    <th scope="col">"stage"</th>
                    {heads.collect_view()}
                    <th scope="col">{format!("total {}", unit.name())}</th>
                    <th scope="col">"in flight"</th>
                </tr>
            </thead>
            <tbody>{memory.per_stage.iter().map(row).collect_view()}</tbody>
        </table>
    }
}

/// A cell that opens its formula.
pub fn cell(state: State, bytes: Bytes, unit: MemoryUnit, figure: Figure) -> impl IntoView + use<> {
    view! {
        <td title=format!("{:.0} bytes", bytes.0)>
            <button class="figure" on:click=move |_| state.ask(figure)>{unit.number(bytes)}</button>
        </td>
    }
}

fn part(row: &PartRow, unit: MemoryUnit) -> impl IntoView + use<> {
    let cells = row.bytes.iter().map(|bytes| {
        let exact = format!("{:.0} bytes", bytes.0);
        let text = if *bytes == Bytes::ZERO {
            "–".to_owned()
        } else {
            unit.number(*bytes)
        };
        view! { <td title=exact>{text}</td> }
    });
    let component = row.component.name();
    view! {
        <tr>
            <th scope="row">
                <i class=format!("swatch c-{component}")></i>
                {row.name.clone()}
                <small class="muted">{format!(" {component}")}</small>
            </th>
            {cells.collect_view()}
        </tr>
    }
}
