//! What is sent, what hides it, what stays visible; and the step as the sum of its parts.

use crate::cluster::Link;
use crate::report::{Evaluation, Figure};
use crate::time::Step;
use crate::traffic::OverlapRow;
use crate::ui::state::State;
use crate::units::{Seconds, show_bytes, show_percent, show_seconds, significant};
use leptos::prelude::*;

/// The overlap panel.
#[component]
pub fn OverlapPanel() -> impl IntoView {
    let state = expect_context::<State>();
    view! {
        <section aria-labelledby="overlap-title" class="stale-able" class:stale=move || state.is_stale()>
            <div class="panel-head">
                <h2 id="overlap-title">"Overlap"</h2>
                <span class="spring"></span>
                <small>"ratio at most 1: compute can hide it"</small>
            </div>
            {move || state.evaluation().map(|evaluation| {
                view! { {rows(state, &evaluation)} {waterfall(state, &evaluation.report.step)} }
            })}
        </section>
    }
}

fn names(name: &str) -> (&'static str, &'static str) {
    match name {
        "dp" => ("DP gradients", "last backward"),
        "zero3" => ("ZeRO-3 weights", "all passes"),
        "tp" => ("TP activations", "linears"),
        "pp" => ("PP sends", "next stage"),
        "cp" => ("CP keys, values", "attention"),
        _ => ("EP tokens", "linears"),
    }
}

fn rows(state: State, evaluation: &Evaluation) -> impl IntoView + use<> {
    let overlap = &evaluation.report.overlap;
    if overlap.is_empty() {
        return view! { <p class="muted">"One GPU sends nothing."</p> }.into_any();
    }
    let row = |(index, row): (usize, &OverlapRow)| {
        let (name, window) = names(row.name);
        let link = match row.link {
            Link::Intra => "node",
            Link::Inter => "network",
        };
        let playbook = row.corrected_ratio.map(|ratio| {
            view! {
                <button class="link" on:click=move |_| state.ask(Figure::Overlap(index))>
                    {significant(ratio, 3)}
                </button>
            }
        });
        view! {
            <tr>
                <td>{name}</td>
                <td class="phone-hide">{show_bytes(row.bytes_per_gpu)}</td>
                <td>{show_seconds(row.comm_s)} " " <small class="phone-hide">{link}</small></td>
                <td class="phone-hide">{show_seconds(row.compute_s)} " " <small>{window}</small></td>
                <td class="grow">{ratio_bar(row.ratio)}</td>
                <td>{significant(row.ratio, 3)}</td>
                <td class="phone-hide">{playbook}</td>
                <td>{if row.name == "pp" { "in bubble".to_owned() } else { show_seconds(row.exposed_s) }}</td>
            </tr>
        }
    };
    view! {
        <div class="scroll-x" tabindex="0" role="region" aria-label="Overlap table">
            <table>
                <thead>
                    <tr>
                        <th>"in a step"</th>
                        <th class="phone-hide" title="By one GPU of the busiest rank">"sent"</th>
                        <th>"wire time"</th>
                        <th class="phone-hide">"may hide behind"</th>
                        <th class="grow"><span class="visually-hidden">"ratio as a bar"</span></th>
                        <th>"ratio"</th>
                        <th class="phone-hide" title="The Ultra-Scale Playbook's ratio in bytes, at data-sheet peaks">"playbook"</th>
                        <th>"exposed"</th>
                    </tr>
                </thead>
                <tbody>{overlap.iter().enumerate().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// The ratio against 1, which stands at 60 % of the bar.
fn ratio_bar(ratio: f64) -> impl IntoView {
    const ONE: f64 = 60.0;
    let hidden = ratio.min(1.0) * ONE;
    let over = ((ratio - 1.0).max(0.0) * ONE).min(100.0 - ONE);
    view! {
        <div class="ratio" aria-hidden="true">
            <b style:width=format!("{hidden:.2}%")></b>
            <b class="over" style:left=format!("{ONE}%") style:width=format!("{over:.2}%")></b>
            <u style:left=format!("{ONE}%")></u>
        </div>
    }
}

fn waterfall(state: State, step: &Step) -> impl IntoView + use<> {
    let parts: [(&str, &str, Seconds); 5] = [
        ("compute", "c-compute", step.compute_s),
        ("bubble", "hatch", step.bubble_s),
        ("exposed communication", "c-exposed", step.exposed_comm_s),
        ("optimizer", "c-opt-step", step.optimizer_s),
        ("data loader", "c-host", step.host_s),
    ];
    let total = step.time_s;
    let present = parts.into_iter().filter(|(_, _, time)| time.0 > 0.0);
    let share = move |time: Seconds| time / total;
    let bars = present.clone().map(move |(name, class, time)| {
        view! { <i class=class style:width=format!("{:.3}%", share(time) * 100.0) title=format!("{name} {}", show_seconds(time))></i> }
    });
    let legend = present.map(move |(name, class, time)| {
        view! {
            <span><i class=format!("swatch {class}")></i>{name} " " {show_seconds(time)} " (" {show_percent(share(time))} ")"</span>
        }
    });
    view! {
        <div class="panel-head" style:margin-top="16px">
            <h3>"The step: " {show_seconds(total)}</h3>
            <span class="spring"></span>
            <button class="link" on:click=move |_| state.ask(Figure::Step)>
                <small>"by kernel shape and link, held to published runs"</small>
            </button>
        </div>
        <div class="waterfall" aria-hidden="true">{bars.collect_view()}</div>
        <div class="legend">{legend.collect_view()}</div>
    }
}
