//! One stacked bar a pipeline rank against the capacity; every part tells what it is made of and opens its formula.

use super::table;
use crate::memory::{Component, StageMemory};
use crate::report::{Evaluation, Figure, Memory};
use crate::run::{Method, OneOf};
use crate::scene::memory::{Bar, Segment, bars};
use crate::scene::words;
use crate::ui::state::State;
use crate::units::{Bytes, MemoryUnit};
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// Named parts in a tooltip; the rest in one line.
const MOST_PARTS: usize = 9;

/// The part under the pointer or with the focus: rank and component.
type Looked = RwSignal<Option<(usize, Component)>>;

/// The bars and the table behind them.
#[component]
pub fn Bars() -> impl IntoView {
    let state = expect_context::<State>();
    let looked: Looked = RwSignal::new(None);
    move || {
        state
            .evaluation()
            .map(|evaluation| picture(state, looked, &evaluation))
    }
}

fn picture(state: State, looked: Looked, evaluation: &Evaluation) -> impl IntoView + use<> {
    let memory = &evaluation.report.memory;
    let unit = state.unit.get();
    let picture = bars(memory);
    let legend = Component::ALL
        .into_iter()
        .filter(|component| {
            let mut segments = picture.bars.iter().flat_map(|bar| &bar.segments);
            segments.any(|part| part.component == *component)
        })
        .map(|component| {
            let name = component.name();
            view! { <span><i class=format!("swatch c-{name}")></i>{name}</span> }
        });
    let rows = picture.bars.iter().filter_map(|bar| {
        let rank = memory.per_stage.get(bar.stages.0)?;
        Some(bar_row(state, looked, bar, rank, picture.capacity, unit))
    });
    let box_size = evaluation.scenario.gpu.memory;
    let note = if memory.method == Method::Fujii.id() {
        format!(
            "{} on the box, as the paper counts",
            unit.show(memory.capacity_bytes)
        )
    } else {
        format!(
            "{} usable of a \"{:.0} GB\" GPU",
            unit.show(memory.capacity_bytes),
            box_size.gib()
        )
    };
    view! {
        <p class="visually-hidden">{words::memory(memory, unit)}</p>
        <div class="legend" aria-hidden="true">{legend.collect_view()}</div>
        <div class="bars" on:keydown=move |event| walk(&event)>{rows.collect_view()}</div>
        <p class="capacity-note"><button class="plain" on:click=move |_| state.ask(Figure::Capacity)>{note}</button></p>
        {table::twin(state, memory, &shown_ranks(&picture.bars, memory), unit)}
    }
}

/// The rank that each bar stands for.
fn shown_ranks<'a>(bars: &[Bar], memory: &'a Memory) -> Vec<&'a StageMemory> {
    let ranks = bars.iter().map(|bar| memory.per_stage.get(bar.stages.0));
    ranks.flatten().collect()
}

fn percent(share: f64) -> String {
    format!("{:.3}%", share * 100.0)
}

fn bar_row(
    state: State,
    looked: Looked,
    bar: &Bar,
    rank: &StageMemory,
    capacity: f64,
    unit: MemoryUnit,
) -> impl IntoView + use<> {
    let (first, last) = bar.stages;
    let name = if first == last {
        format!("stage {first}")
    } else {
        format!("{first} to {last}")
    };
    let peak = bar.is_peak;
    let segments = bar.segments.iter().enumerate().map(|(at, part)| {
        // One part of all takes the Tab key, the arrows walk on from it.
        segment(state, looked, first, part, peak && at == 0, unit)
    });
    let end = bar
        .segments
        .last()
        .map_or(0.0, |part| part.start + part.length);
    let free = (end < capacity).then(|| {
        view! { <i class="free" style:left=percent(end) style:width=percent(capacity - end)></i> }
    });
    let tips: Vec<(Component, Tip)> = bar
        .segments
        .iter()
        .map(|part| (part.component, Tip::of(rank, part, unit)))
        .collect();
    let tip = move || {
        let (_, component) = looked.get().filter(|(rank, _)| *rank == first)?;
        let (_, tip) = tips.iter().find(|(own, _)| *own == component)?;
        Some(tip.view())
    };
    view! {
        <div class="bar-row" role="group" aria-label=format!("{name}, {}", unit.show(bar.total))>
            <button class="who" on:click=move |_| state.ask(Figure::Memory(first))>{name.clone()}</button>
            <div class="track">
                {segments.collect_view()}
                {free}
                <i class="capacity" style:left=percent(capacity)></i>
                <span
                    class="total"
                    class:bold=peak
                    style:left=(end < 0.88).then(|| percent(end))
                    style:right=(end >= 0.88).then(|| percent(1.0 - end + 0.003))
                >{unit.number(bar.total)}</span>
                {tip}
            </div>
        </div>
    }
}

fn segment(
    state: State,
    looked: Looked,
    rank: usize,
    part: &Segment,
    first: bool,
    unit: MemoryUnit,
) -> impl IntoView + use<> {
    let component = part.component;
    let here = Some((rank, component));
    let leave = move || {
        if looked.get_untracked() == here {
            looked.set(None);
        }
    };
    view! {
        <button
            class=format!("segment c-{}", component.name())
            tabindex=if first { "0" } else { "-1" }
            aria-label=format!("{} of stage {rank}, {}", component.name(), unit.show(part.bytes))
            style:left=percent(part.start)
            style:width=percent(part.length)
            on:pointerenter=move |_| looked.set(here)
            on:pointerleave=move |_| leave()
            on:focus=move |_| looked.set(here)
            on:blur=move |_| leave()
            on:click=move |_| state.ask(Figure::Component(rank, component))
        ></button>
    }
}

/// What a part is made of.
struct Tip {
    title: String,
    parts: Vec<(String, String)>,
    start: f64,
}

impl Tip {
    fn of(rank: &StageMemory, segment: &Segment, unit: MemoryUnit) -> Self {
        let items = rank.parts(segment.component);
        let mut parts: Vec<(String, String)> = items
            .iter()
            .take(MOST_PARTS)
            .map(|item| (item.name.clone(), unit.show(item.bytes)))
            .collect();
        let rest: Bytes = items.iter().skip(MOST_PARTS).map(|item| item.bytes).sum();
        if rest.0 > 0.0 {
            parts.push((
                format!("{} more", items.len() - MOST_PARTS),
                unit.show(rest),
            ));
        }
        Self {
            title: format!(
                "{} of stage {}: {}",
                segment.component.name(),
                rank.stage,
                unit.show(segment.bytes)
            ),
            parts,
            start: segment.start,
        }
    }

    fn view(&self) -> impl IntoView + use<> {
        let on_left = self.start < 0.5;
        let parts = self.parts.iter().cloned();
        let line = |(name, bytes)| view! { <dt>{name}</dt><dd>{bytes}</dd> };
        view! {
            <div
                class="tip parts"
                role="status"
                style:left=on_left.then(|| percent(self.start))
                style:right=(!on_left).then_some("0")
            >
                <b>{self.title.clone()}</b>
                <dl>{parts.map(line).collect_view()}</dl>
            </div>
        }
    }
}

/// Arrow keys walk over the parts, left and right within a bar, up and down between bars.
fn walk(event: &web_sys::KeyboardEvent) {
    let Some(here) = event
        .target()
        .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
        .filter(|element| element.class_list().contains("segment"))
    else {
        return;
    };
    let of_row = |row: Option<web_sys::Element>| {
        let class = here.class_name();
        row?.query_selector(&format!(".{}", class.split(' ').next_back()?))
            .ok()
            .flatten()
    };
    let row = here.closest(".bar-row").ok().flatten();
    let next = match event.key().as_str() {
        "ArrowRight" => here.next_element_sibling(),
        "ArrowLeft" => here.previous_element_sibling(),
        "ArrowDown" => of_row(row.and_then(|row| row.next_element_sibling())),
        "ArrowUp" => of_row(row.and_then(|row| row.previous_element_sibling())),
        _ => return,
    };
    event.prevent_default();
    let next = next.filter(|next| next.class_list().contains("segment"));
    if let Some(next) = next.and_then(|next| next.dyn_into::<web_sys::HtmlElement>().ok()) {
        let _ = next.focus();
    }
}
