//! The same Run by every memory method, side by side; one click shows the panel by it.

use super::fold::Fold;
use super::table::cell;
use crate::memory::{Component, Verdict};
use crate::report::Figure;
use crate::report::methods::{MethodRow, rows};
use crate::scene::words;
use crate::ui::state::State;
use crate::units::{Bytes, MemoryUnit};
use leptos::prelude::*;

/// The table of methods, folded.
#[component]
pub fn Methods() -> impl IntoView {
    let state = expect_context::<State>();
    let open = RwSignal::new(false);
    let list = Memo::new_with_compare(
        move |_| state.evaluation().map(|evaluation| rows(&evaluation)),
        |_, _| true,
    );
    let note = move || {
        let unit = state.unit.get();
        list.with(|list| {
            let peaks = list.iter().flatten().map(|row| row.fullest.total.0);
            let (low, high) = peaks.fold((f64::MAX, 0.0f64), |(low, high), peak| {
                (low.min(peak), high.max(peak))
            });
            format!("{} to {}", unit.number(Bytes(low)), unit.show(Bytes(high)))
        })
    };
    view! {
        <Fold
            id="memory-methods"
            title="The same run by every method".to_owned()
            note=Signal::derive(note)
            open=open
            toggle=Callback::new(move |()| open.update(|open| *open = !*open))
        >
            {move || list.with(|list| list.as_ref().map(|list| table(state, list)))}
        </Fold>
    }
}

fn table(state: State, list: &[MethodRow]) -> impl IntoView + use<> {
    let unit = state.unit.get();
    let longest = list
        .iter()
        .map(|row| row.fullest.total.max(row.capacity))
        .fold(Bytes::ZERO, Bytes::max);
    let rows = list.iter().map(|row| method(state, row, longest, unit));
    view! {
        <div class="scroll-x" tabindex="0" role="region" aria-label="Methods side by side">
            <table class="methods">
                <thead>
                    <tr>
                        <th scope="col">"method"</th>
                        <th scope="col" class="left">"verdict"</th>
                        <th scope="col">{format!("peak {}", unit.name())}</th>
                        <th scope="col">"of"</th>
                        <th scope="col">"stage"</th>
                        <th scope="col" class="left bar">"components"</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
        <details class="twin">
            <summary>"Show the components as a table"</summary>
            {numbers(list, unit)}
        </details>
        <div class="leaves-out">{list.iter().map(about).collect_view()}</div>
    }
}

/// The components of every method in figures.
fn numbers(list: &[MethodRow], unit: MemoryUnit) -> impl IntoView + use<> {
    let heads = Component::ALL.map(|component| view! { <th scope="col">{component.name()}</th> });
    let row = |row: &MethodRow| {
        let parts = row.fullest.components().map(|(_, bytes)| {
            let text = if bytes == Bytes::ZERO {
                "–".to_owned()
            } else {
                unit.number(bytes)
            };
            view! { <td title=format!("{:.0} bytes", bytes.0)>{text}</td> }
        });
        view! { <tr><td>{row.label}</td>{parts.collect_view()}</tr> }
    };
    view! {
        <div class="scroll-x" tabindex="0" role="region" aria-label="Components by method">
            <table>
                <thead><tr><th scope="col">{format!("method, {}", unit.name())}</th>{heads.collect_view()}</tr></thead>
                <tbody>{list.iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}

/// The mark and word of a verdict.
pub fn verdict(verdict: Verdict) -> impl IntoView {
    let (class, mark) = match verdict {
        Verdict::Fits => ("fits", "✓ "),
        Verdict::Tight => ("tight", "≈ "),
        Verdict::Oom => ("oom", "✕ "),
    };
    view! { <span class=class><span class="mark">{mark}</span><span class="word">{words::verdict(verdict)}</span></span> }
}

fn method(state: State, row: &MethodRow, longest: Bytes, unit: MemoryUnit) -> impl IntoView + use<> {
    let (method, stage) = (row.method, row.fullest.stage);
    let figure = Figure::Method(method, stage);
    let share = move |bytes: Bytes| format!("{:.2}%", 100.0 * (bytes / longest));
    let parts = Component::ALL.into_iter().zip(row.fullest.components());
    let parts = parts.filter(|(_, (_, bytes))| bytes.0 > 0.0);
    let parts = parts.map(|(component, (name, bytes))| {
        let title = format!("{name} {}", unit.show(bytes));
        view! { <i class=format!("c-{}", component.name()) style:width=share(bytes) title=title></i> }
    });
    let capacity = row.capacity;
    let choose = move |_| state.run.update(|run| run.memory_method = method);
    let place = if row.same_on_all {
        "all".to_owned()
    } else {
        stage.to_string()
    };
    view! {
        <tr class:peak=row.chosen>
            <td>
                <button class="choose" aria-pressed=row.chosen.to_string() title="Show the panel by this method" on:click=choose>{row.label}</button>
            </td>
            <td class="left">{verdict(row.verdict)}</td>
            {cell(state, row.fullest.total, unit, figure)}
            <td>{unit.number(row.capacity)}</td>
            <td>{place}</td>
            <td class="left bar">
                <div class="mini" aria-hidden="true">{parts.collect_view()}<u style:left=share(capacity)></u></div>
            </td>
        </tr>
    }
}

/// What a method leaves out, ignores of this Run, and prints without meaning it.
fn about(row: &MethodRow) -> impl IntoView + use<> {
    let source = if row.source.locator.starts_with("http") {
        let name = row.source.short;
        view! { <a href=row.source.locator target="_blank" rel="noopener" title=row.source.title>{name}</a> }
            .into_any()
    } else {
        view! { <span>{row.source.title}</span> }.into_any()
    };
    let ignores = (!row.ignores.is_empty()).then(|| {
        let fields: Vec<&str> = row
            .ignores
            .iter()
            .map(|issue| {
                crate::run::registry::field(&issue.field)
                    .map_or(issue.field.as_str(), |field| field.label)
            })
            .collect();
        view! { <p>"Of this run it ignores: " {fields.join(", ")} "."</p> }
    });
    let slips = (!row.slips.is_empty()).then(|| {
        let line = |slip: &crate::memory::methods::Slip| {
            view! { <tr><td>{slip.place}</td><td>{slip.printed}</td><td>{slip.corrected}</td></tr> }
        };
        view! {
            <details class="twin">
                <summary>{format!("{} slips of the source", row.slips.len())}</summary>
                <div class="scroll-x" tabindex="0" role="region" aria-label=format!("Slips of {}", row.source.short)>
                    <table class="slips">
                        <thead><tr><th scope="col">"where"</th><th scope="col">"printed"</th><th scope="col">"its formula gives"</th></tr></thead>
                        <tbody>{row.slips.iter().map(line).collect_view()}</tbody>
                    </table>
                </div>
            </details>
        }
    });
    view! {
        <div>
            <h4>{row.label} " " <small>{source}</small></h4>
            <p>"Leaves out: " {row.leaves_out.join("; ")} "."</p>
            {ignores}
            {slips}
        </div>
    }
}
