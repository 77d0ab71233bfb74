//! The fold with every schedule: simulated one after the other while it is open, a few a task, so that nothing freezes.

use crate::report::{ScheduleRow, schedule_ids, schedule_row};
use crate::run::{OneOf, Run};
use crate::scene::markup::Html;
use crate::scene::schedules::{Sort, table};
use crate::ui::browser;
use crate::ui::html::html;
use crate::ui::state::State;
use leptos::prelude::*;
use std::time::Duration;

/// Typing settles this long before the table follows it.
const SETTLE: Duration = Duration::from_millis(250);
/// Rows between two showings.
const AT_ONCE: usize = 5;

/// Rows as far as they are known, and whose they are.
#[derive(Clone, Default)]
struct Rows {
    known: Vec<ScheduleRow>,
    left: usize,
    job: usize,
}

pub fn schedules(state: State) -> AnyView {
    let open = RwSignal::new(false);
    let sort = RwSignal::new(Sort::default());
    let rows = RwSignal::new(Rows::default());
    let pending = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        if !open.get() || state.is_stale() {
            return;
        }
        let Some(evaluation) = state.evaluation() else {
            return;
        };
        if let Some(before) = pending.get_value() {
            before.clear();
        }
        let run = evaluation.scenario.run.clone();
        let timer = set_timeout_with_handle(
            move || {
                rows.update(|rows| rows.job += 1);
                let job = rows.with_untracked(|rows| rows.job);
                simulate(rows, run, job, 0);
            },
            SETTLE,
        );
        pending.set_value(timer.ok());
    });
    let content = move || {
        if !open.get() {
            return Html::none();
        }
        let chosen = state.run.with(|run| run.schedule.id());
        let unit = state.unit.get();
        rows.with(|rows| table(&rows.known, chosen, sort.get(), unit, rows.left))
    };
    let pressed = move |event: web_sys::MouseEvent| {
        if let Some((key, button)) = browser::pressed_data(&event, "data-sort") {
            sort.update(|sort| *sort = sort.pressed(&key));
            browser::focus_again(&button, "data-sort");
        }
    };
    let toggled = move |event: leptos::ev::Event| {
        let fold = event.target().and_then(|target| {
            use wasm_bindgen::JsCast;
            target.dyn_into::<web_sys::Element>().ok()
        });
        open.set(fold.is_some_and(|fold| fold.has_attribute("open")));
    };
    view! {
        <details class="twin" id="schedules" on:toggle=toggled on:click=pressed>
            <summary>"All schedules for this run"</summary>
            {html("", content)}
        </details>
    }
    .into_any()
}

/// Simulates the schedule at `at` of job `job` and, in tasks of their own, all behind it.
fn simulate(rows: RwSignal<Rows>, run: Run, job: usize, at: usize) {
    let ids: Vec<_> = schedule_ids().collect();
    let now = rows.with_untracked(|rows| rows.job);
    let (Some(id), true) = (ids.get(at), now == job) else {
        return;
    };
    let row = schedule_row(&run, id);
    let left = ids.len() - at - 1;
    let write = |rows: &mut Rows| {
        rows.left = left;
        match (row, rows.known.get_mut(at)) {
            (Some(row), Some(place)) => *place = row,
            (Some(row), None) => rows.known.push(row),
            (None, _) => {}
        }
    };
    if left.is_multiple_of(AT_ONCE) {
        rows.update(write);
    } else {
        rows.update_untracked(write);
    }
    set_timeout(move || simulate(rows, run, job, at + 1), Duration::ZERO);
}
