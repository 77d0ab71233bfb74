//! The Run's schedule in the pipeline module's terms, and that module's issues in the Run's.

use super::offload::copy_rate;
use crate::issue::{Fix, Issue};
use crate::memory::chunk_activation_bytes;
use crate::pipeline::{HostWays, Spec};
use crate::run::Scenario;
use crate::run::registry::field;
use crate::t;

/// The schedule as the pipeline module takes it.
pub(crate) fn spec(scenario: &Scenario) -> Result<Spec, Issue> {
    let (run, layout) = (&scenario.run, &scenario.layout);
    let small = |field: &str, value: u64| {
        u32::try_from(value).map_err(|_| Issue::error(field, t!("{value} is too many to simulate", value)))
    };
    let options = &run.schedule_options;
    let maybe = |field, value: Option<u64>| value.map(|value| small(field, value)).transpose();
    let mut spec = Spec::new(run.schedule.row(), small("pp", layout.pp)?, small("global_batch", layout.microbatches)?);
    spec.virtual_stages = small("virtual_stages", run.virtual_stages)?;
    spec.group = maybe("schedule_options.group", options.group)?;
    spec.variant = options.variant.unwrap_or(spec.variant);
    spec.waves = maybe("schedule_options.waves", options.waves)?.unwrap_or(spec.waves);
    spec.memory_limit = maybe("schedule_options.memory_limit", options.memory_limit)?;
    spec.splits = maybe("schedule_options.splits", options.splits)?.unwrap_or(spec.splits);
    spec.order.clone_from(&options.order);
    spec.ways = host_ways(scenario);
    Ok(spec)
}

/// Ways of activations to the host and back, where the order lets them leave: each direction of a GPU's link by itself,
/// at the rate that copies reach.
fn host_ways(scenario: &Scenario) -> Option<HostWays> {
    let leaves = scenario.run.offload.leave_in_order(&scenario.run);
    leaves.then(|| {
        let way = |stage| chunk_activation_bytes(scenario, stage).0 / copy_rate(scenario);
        let each: Vec<f64> = (0..scenario.stage_layers.len()).map(way).collect();
        HostWays { out: each.clone(), back: each, is_shared: false }
    })
}

/// An issue of the pipeline module in the Run's own fields: micro-batches are the global batch's, options have a
/// prefix.
pub(crate) fn in_run(issue: Issue, scenario: &Scenario) -> Issue {
    let each = scenario.layout.dp * scenario.run.micro_batch;
    let key = |name: &str| match name {
        "microbatches" => "global_batch",
        name => field(&format!("schedule_options.{name}")).or(field(name)).map_or("schedule", |field| field.key),
    };
    let fix = |fix: Fix| {
        let counts_microbatches = fix.set.iter().any(|(field, _)| *field == "microbatches");
        let set = fix.set.into_iter().map(|(field, value)| match (field, value.parse::<u64>()) {
            ("microbatches", Ok(count)) => ("global_batch", count.saturating_mul(each).to_string()),
            _ => (key(field), value),
        });
        let factor = if counts_microbatches { each } else { 1 };
        let instead = fix.instead.into_iter();
        Fix { instead: instead.map(|value| value.saturating_mul(factor)).collect(), ..Fix::new(set.collect()) }
    };
    Issue {
        field: key(&issue.field).to_owned(),
        fix: issue.fix.map(fix),
        or: issue.or.map(|or| Box::new(fix(*or))),
        ..issue
    }
}
