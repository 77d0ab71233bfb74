//! The one way from what is asked of a schedule to an [`Order`].
//!
//! Only what dead-locks or has no order is rejected; what an implementation refuses is a warning that names the
//! implementation.

use super::durations::Durations;
use super::op::OrderItem;
use super::order::Order;
use super::registry::{Built, Make, Spec, StageCount};
use super::row::RankRow;
use super::simulate::time;
use crate::issue::Issue;
use crate::run::{Schedule, Variant};
use crate::t;

/// Most ops that an order may have: 64 ranks of two chunks, 4096 micro-batches, three kinds of op. A picture of more
/// is of no use and the tab would freeze.
pub const MAX_OPS: u64 = 1_600_000;

/// The order of `spec`. `durations` matter to the automatic schedules only (`zb-auto`, `zb-v-auto`).
///
/// # Errors
/// A dead-lock, a missing order or a size that is too large, with the field to change and a value that works.
pub fn build(spec: &Spec, durations: &Durations) -> Result<Built, Issue> {
    check(spec)?;
    let order = match spec.schedule.make {
        Make::Always(make) => make(spec),
        Make::Sometimes(make, _) => make(spec)?,
        Make::Timed(make) => {
            let fits = durations.check(spec.stages(), spec.microbatches);
            fits.map_err(|fault| fault.issue("schedule"))?;
            make(spec, durations)?
        }
        Make::Given(read) => return read(spec),
    };
    Ok(Built { order, warnings: warnings(spec) })
}

/// Warnings of [`build`]: all of them are known before the order is.
pub fn warnings(spec: &Spec) -> Vec<Issue> {
    if matches!(spec.schedule.make, Make::Given(_)) {
        return Vec::new();
    }
    let mut warnings = ignored_options(spec);
    warnings.extend((spec.schedule.warn)(spec));
    warnings
}

/// True if [`build`] is known to build an order, without doing it.
///
/// # Errors
/// The issue of an order that would be too large.
pub(crate) fn has_order(spec: &Spec) -> Result<bool, Issue> {
    check(spec)?;
    Ok(match spec.schedule.make {
        Make::Always(_) => true,
        Make::Sometimes(_, sure) => sure(spec),
        Make::Timed(_) | Make::Given(_) => false,
    })
}

/// Warnings of [`build`], where it is known that it builds an order. None where only the order tells.
///
/// # Errors
/// The issue of an order that would be too large.
pub(crate) fn preview(spec: &Spec) -> Result<Option<Vec<Issue>>, Issue> {
    Ok(has_order(spec)?.then(|| warnings(spec)))
}

/// Checks that every size is at least 1 and the ops are few enough, before anything is allocated for them. A custom
/// order has its sizes in itself.
pub(super) fn check(spec: &Spec) -> Result<(), Issue> {
    if spec.schedule.stages == StageCount::Order {
        return Ok(());
    }
    let at_least_one = [
        ("pp", spec.pp),
        ("microbatches", spec.microbatches),
        ("virtual_stages", spec.virtual_stages),
        ("group", spec.group.unwrap_or(1)),
        ("waves", spec.waves),
        ("splits", spec.splits),
    ];
    if let Some((field, _)) = at_least_one.into_iter().find(|(_, value)| *value == 0) {
        return Err(Issue::error(field, t!("{field} is at least 1", field)).with_fix(field, 1));
    }
    guard_size(spec)
}

/// Ops of the order that `spec` describes.
pub(crate) fn op_count(spec: &Spec) -> u64 {
    op_count_of_one_microbatch(spec).saturating_mul(u64::from(spec.microbatches))
}

fn op_count_of_one_microbatch(spec: &Spec) -> u64 {
    let kinds = if spec.schedule.splits_backward { 3 } else { 2 };
    let factors = match spec.schedule.stages {
        StageCount::Ranks => [u64::from(spec.pp), 1, 1],
        StageCount::Chunks => [u64::from(spec.pp), u64::from(spec.virtual_stages), 1],
        StageCount::TwoEach => [u64::from(spec.pp), 2, 1],
        StageCount::Waves => [u64::from(spec.pp), 2, u64::from(spec.waves)],
        StageCount::Order => [1, 1, 1],
    };
    let product = |total: u64, factor: u64| total.saturating_mul(factor);
    factors.into_iter().fold(kinds * u64::from(spec.pieces()), product)
}

fn guard_size(spec: &Spec) -> Result<(), Issue> {
    let per_microbatch = op_count_of_one_microbatch(spec);
    let fill = u64::from(spec.schedule.fill.map_or(1, |fill| fill(spec.pp)));
    if per_microbatch.saturating_mul(fill) > MAX_OPS {
        // No number of micro-batches is small enough: what multiplies most is to blame.
        let factors = [
            ("virtual_stages", spec.virtual_stages, spec.schedule.stages == StageCount::Chunks),
            ("waves", spec.waves, spec.schedule.uses("waves")),
            ("splits", spec.splits, spec.schedule.uses("splits")),
            ("pp", spec.pp, true),
        ];
        let used = factors.into_iter().filter(|(_, _, used)| *used);
        let (field, value, _) = used.max_by_key(|(_, value, _)| *value).unwrap_or(factors[3]);
        let message = t!(
            "{field}={value} makes more than the {MAX_OPS} ops that are simulated here, whatever the micro-batches: a \
                smaller one works",
            field,
            value,
            MAX_OPS
        );
        return Err(Issue::error(field, message));
    }
    // V-Half and V-Min pull ops forward over as many slots as there are ranks.
    let pulled = matches!(spec.schedule.kind, Schedule::VHalf | Schedule::VMin);
    let limit = if pulled { MAX_OPS / u64::from(spec.pp / 128).max(1) } else { MAX_OPS };
    let ops = op_count(spec);
    if ops > limit {
        let most = limit / per_microbatch.max(1);
        let message = t!("{ops} ops are more than the {limit} that are simulated here", ops, limit);
        // Some orders need whole rounds of the ranks, or an even number.
        let round = 2 * u64::from(spec.pp);
        let fewer = [most, most / round * round, most / 2 * 2];
        let fewer = fewer.into_iter().filter(|count| *count > 0);
        return Err(Issue::error("microbatches", message).with_near("microbatches", most, fewer));
    }
    Ok(())
}

fn ignored_options(spec: &Spec) -> Vec<Issue> {
    let name = spec.schedule.name();
    let mut warnings = Vec::new();
    if let Some(own) = spec.own_chunks()
        && spec.virtual_stages != 1
        && spec.virtual_stages != own
    {
        let message =
            t!("{name} has {own} chunk(s) a rank by its construction: virtual stages have no effect", name, own);
        warnings.push(Issue::warning("virtual_stages", message).with_fix("virtual_stages", own));
    }
    let given = [
        ("group", spec.group.is_some()),
        ("variant", spec.variant != Variant::Concat),
        ("waves", spec.waves != 1),
        ("memory_limit", spec.memory_limit.is_some()),
        ("order", spec.order.is_some()),
    ];
    for (option, given) in given {
        if given && !spec.schedule.uses(option) {
            let message = t!("{name} takes no {option}: it has no effect", name, option);
            warnings.push(Issue::warning(option, message));
        }
    }
    warnings
}

/// True if an order of these rows runs to its end, whatever the durations.
pub(crate) fn runs(order: &Order) -> bool {
    time(order, &Durations::unit(order.stages)).is_ok()
}

/// The rows of `p` ranks, each made by `rank`.
pub(crate) fn each_rank<R: Into<RankRow>>(p: u32, rank: impl Fn(u32) -> R) -> Vec<RankRow> {
    (0..p).map(|r| rank(r).into()).collect()
}

/// The order of `spec` by a family whose rows repeat every `period` micro-batches after the first `warm`: it is made
/// for few micro-batches, and its repeating part is run as often as `spec` needs.
pub(crate) fn repeated(spec: &Spec, (warm, period): (u32, u32), make: impl Fn(&Spec) -> Order) -> Order {
    let m = spec.microbatches;
    let more = m.saturating_sub(warm) / period;
    let few = Spec { microbatches: m - more * period, ..spec.clone() };
    let order = make(&few);
    let step = period * order.splits;
    let stretch = |row: &RankRow| {
        let items: Vec<OrderItem> = row.iter().collect();
        let longest = items.len() * period as usize / few.microbatches as usize;
        RankRow::folded(&items, step.cast_signed(), longest).stretched(more)
    };
    match order.ranks.iter().map(stretch).collect() {
        Some(ranks) if more > 0 => Order { ranks, microbatches: m, ..order },
        _ => make(spec),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::schedule;

    fn warned(id: &str, change: impl Fn(&mut Spec)) -> Vec<String> {
        let mut spec = Spec::new(schedule(id).unwrap(), 4, 8);
        change(&mut spec);
        let built = build(&spec, &Durations::unit(spec.stages())).unwrap();
        built.warnings.into_iter().map(|issue| issue.field).collect()
    }

    #[test]
    fn what_has_no_effect_is_a_warning_at_its_field() {
        assert!(warned("gpipe", |_| {}).is_empty());
        assert_eq!(warned("gpipe", |spec| spec.virtual_stages = 2), ["virtual_stages"]);
        assert_eq!(warned("zb-v", |spec| spec.virtual_stages = 3), ["virtual_stages"]);
        assert!(warned("zb-v", |spec| spec.virtual_stages = 2).is_empty());
        assert_eq!(warned("1f1b", |spec| spec.group = Some(4)), ["group"]);
        assert_eq!(warned("zb-h1", |spec| spec.memory_limit = Some(4)), ["memory_limit"]);
        let hanayo = |v| warned("hanayo", |spec| (spec.waves, spec.virtual_stages) = (2, v));
        assert!(hanayo(4).is_empty());
        assert_eq!(hanayo(3), ["virtual_stages"]);
    }

    #[test]
    fn too_many_ops_are_rejected_with_a_number_of_micro_batches_that_is_not() {
        let spec = Spec::new(schedule("1f1b").unwrap(), 64, 100_000);
        let issue = build(&spec, &Durations::unit(64)).unwrap_err();
        assert_eq!(issue.field, "microbatches");
        let most: u32 = issue.fix.unwrap().set[0].1.parse().unwrap();
        assert!(op_count(&Spec { microbatches: most, ..spec.clone() }) <= MAX_OPS);
        assert!(op_count(&Spec { microbatches: most + 1, ..spec }) > MAX_OPS);
    }

    #[test]
    fn an_automatic_schedule_needs_a_time_for_every_stage() {
        let spec = Spec::new(schedule("zb-auto").unwrap(), 4, 8);
        assert!(build(&spec, &Durations::unit(3)).is_err());
    }
}
