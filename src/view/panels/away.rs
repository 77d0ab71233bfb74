//! What room for activations and a way to the host can save: bounds that no order beats.

use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::advice::bounds_by_room;
use shardscope_core::report::copy_rate;

/// The panel.
pub fn away(evaluation: &Evaluation) -> Node {
    let Some((rooms, busy)) = bounds_by_room(evaluation) else {
        return muted(
            "These bounds are of pipelines with one stage a rank and equal micro-batches that drain after every step.",
        );
    };
    let own = evaluation.report.pipeline.peak_in_flight.iter().copied().max().unwrap_or(0);
    let table = Rows::of(&rooms)
        .figures("room, micro-batches", |row| row.room.to_string())
        .figures("activations of the fullest rank", |row| show_bytes(row.bytes))
        .figures("nothing offloaded: bound", |row| show_seconds(row.stays_s))
        .figures("some offloaded: bound", |row| show_seconds(row.leaves_s))
        .figures("some offloaded: found", |row| row.found.map_or_else(String::new, |found| show_seconds(found.step_s)))
        .figures("over the bound", |row| {
            row.found.map_or_else(String::new, |found| show_percent(found.step_s.0 / row.leaves_s.0 - 1.0))
        })
        .figures("leave the first stage", |row| row.found.map_or_else(String::new, |found| found.leaving.to_string()))
        .column("", |row| if row.found.is_some() { use_room(row.room) } else { Node::none() })
        .marked(|row| row.room == own)
        .table("Least time of the pipeline by room");
    let words = t!(
        "With less room fewer micro-batches are under way and ranks wait. Activations that leave for the host and come \
            back give room again. The way there and back takes {busy} of a micro-batch's compute on the slowest stage, \
            at {rate} each way. This run's pipeline takes {makespan}.",
        busy = Scope::run().says("away:busy share", show_percent(busy)),
        rate = Scope::run().says("away:copy_rate", show_bandwidth(copy_rate(&evaluation.scenario))),
        makespan = Scope::run().says("pipeline.makespan_s", show_seconds(evaluation.report.pipeline.makespan_s))
    );
    Node::from_iter([
        leaf("p", "", words),
        table,
        muted(
            "Bounds over every order and every choice of what leaves, at the rate that copies reach. The orders are \
                the best of up to 96 rules for what leaves, when it comes back and what runs first; micro-batches run \
                in order. On 3,189 small pipelines, solved exhaustively, no bound is too high, and 3,138 of the orders \
                are the shortest.",
        ),
    ])
}

/// Makes the run take the order that was found for ranks with this `room`.
fn use_room(room: u32) -> Node {
    let set = vec![
        ("schedule", Schedule::Optimal.id().to_owned()),
        ("schedule_options.memory_limit", room.to_string()),
        ("offload.order", true.to_string()),
    ];
    apply("quiet", set, "Offload activations within this memory", "use")
}
