//! Properties of every schedule at every size and under any durations.

use proptest::prelude::*;
use shardscope::core::pipeline::op::Half;
use shardscope::core::pipeline::order::parse_ranks;
use shardscope::core::pipeline::stats::in_flight_curve;
use shardscope::core::pipeline::trace::OpPlace;
use shardscope::core::pipeline::{
    Durations, Op, OpKind, Order, OrderFault, OrderItem, RankRow, SCHEDULES, Spec, Stats, Timeline, Trace, build,
    schedule, simulate,
};
use shardscope::core::run::{OneOf, Variant};
use std::collections::{BTreeMap, BTreeSet};

/// A schedule other than `custom` at a size that may or may not have an order.
fn specs() -> impl Strategy<Value = Spec> {
    let ids = SCHEDULES.iter().filter(|row| row.id() != "custom").collect::<Vec<_>>();
    let row = prop::sample::select(ids);
    let variant = prop::sample::select(Variant::ALL).prop_map(|(variant, _)| variant);
    let group = prop::option::of(1..14u32);
    let limit = prop::option::of(1..20u32);
    (row, 1..7u32, 1..15u32, 1..4u32, group, limit, 1..4u32, 1..4u32, variant).prop_map(
        |(row, pp, microbatches, virtual_stages, group, memory_limit, waves, splits, variant)| Spec {
            virtual_stages,
            group,
            memory_limit,
            waves,
            splits,
            variant,
            ..Spec::new(row, pp, microbatches)
        },
    )
}

/// Uneven stages, a latency, perhaps a pair shorter or longer than its parts, perhaps unequal micro-batches.
fn durations(stages: u32, units: u32) -> impl Strategy<Value = Durations> {
    let times = || prop::collection::vec(0.0..4.0f64, stages as usize);
    let pair = prop::option::of(times());
    let scale = prop::option::of(prop::collection::vec(0.2..3.0f64, units as usize));
    (times(), times(), times(), pair, 0.0..2.0f64, scale).prop_map(
        |(forward, backward_input, backward_weight, pair, p2p, microbatch_scale)| Durations {
            forward,
            backward_input,
            backward_weight,
            pair,
            p2p,
            microbatch_scale,
        },
    )
}

fn asked() -> impl Strategy<Value = (Spec, Durations)> {
    specs().prop_flat_map(|spec| {
        let units = spec.microbatches * spec.pieces();
        let durations = durations(spec.stages(), units);
        (Just(spec), durations)
    })
}

/// Built with equal micro-batches: what lays out an order knows none other.
fn order_of(spec: &Spec, durations: &Durations) -> Option<Order> {
    let equal = Durations { microbatch_scale: None, ..durations.clone() };
    build(spec, &equal).ok().map(|built| built.order)
}

type Ends = BTreeMap<(bool, u32, u32), (f64, usize)>;

/// End and rank of each forward and each gradient of the input.
fn ends(timeline: &Timeline) -> Ends {
    let mut ends = BTreeMap::new();
    for (rank, ops) in timeline.ranks.iter().enumerate() {
        for timed in ops.iter().filter(|timed| timed.op.kind != OpKind::W) {
            let forward = timed.op.kind == OpKind::F;
            ends.insert((forward, timed.op.stage, timed.op.microbatch), (timed.end, rank));
        }
    }
    ends
}

/// The rules written out a second time: forward of the stage before, gradient of the stage behind, own forward.
fn wanted(op: Op, order: &Order) -> Vec<(bool, u32, u32)> {
    let Op { kind, stage: s, microbatch: i } = op;
    let mut wanted = Vec::new();
    let c = order.splits;
    match kind {
        OpKind::F => {
            if s > 0 {
                wanted.push((true, s - 1, i));
            }
            if order.causal && i % c > 0 {
                wanted.push((true, s, i - 1));
            }
        }
        OpKind::B | OpKind::BW => {
            wanted.push((true, s, i));
            if s + 1 < order.stages {
                wanted.push((false, s + 1, i));
            }
            if order.causal && i % c < c - 1 {
                wanted.push((false, s, i + 1));
            }
        }
        OpKind::W => wanted.push((false, s, i)),
    }
    wanted
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_op_runs_exactly_once((spec, durations) in asked()) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let mut seen = BTreeSet::new();
        for op in order.ranks.iter().flat_map(RankRow::iter).flat_map(OrderItem::ops) {
            let kinds: &[OpKind] = if op.kind == OpKind::BW { &[OpKind::B, OpKind::W] } else { &[op.kind] };
            for kind in kinds {
                prop_assert!(seen.insert((*kind, op.stage, op.microbatch)), "{op} twice");
            }
        }
        let stages = spec.stages() as usize;
        let units = (spec.microbatches * spec.pieces()) as usize;
        prop_assert_eq!(seen.len(), 3 * stages * units);
        prop_assert_eq!(order.stages as usize, stages);
        prop_assert_eq!(order.units() as usize, units);
    }

    #[test]
    fn stages_lie_where_the_placement_puts_them((spec, durations) in asked()) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let (p, chunks) = (spec.pp, order.stages / spec.pp);
        for rank in 0..p {
            let directions = if spec.stages() == p && order.weight_copies[0] == 2 && spec.schedule.id() != "pipedream-2bw" && spec.schedule.id() != "pipedream" { 2 } else { chunks };
            let expected: BTreeSet<u32> = (0..directions).map(|chunk| order.placement.stage(rank, chunk, p)).collect();
            let held: BTreeSet<u32> = order.stages_of(rank as usize).into_iter().collect();
            prop_assert!(held.is_subset(&expected), "rank {} has {:?}, placement {:?}", rank, held, expected);
        }
    }

    #[test]
    fn nothing_starts_before_what_it_waits_for((spec, durations) in asked()) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let timeline = simulate(&order, &durations).unwrap();
        let ends = ends(&timeline);
        for (rank, ops) in timeline.ranks.iter().enumerate() {
            for timed in ops {
                for need in wanted(timed.op, &order) {
                    let (end, home) = ends[&need];
                    let latency = if home == rank { 0.0 } else { durations.p2p };
                    prop_assert!(timed.start >= end + latency - 1e-9, "{} before {:?}", timed.op, need);
                }
            }
        }
    }

    #[test]
    fn a_rank_runs_its_list_one_entry_at_a_time((spec, durations) in asked()) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let timeline = simulate(&order, &durations).unwrap();
        for (items, ops) in order.ranks.iter().zip(&timeline.ranks) {
            let listed: Vec<Op> = items.iter().flat_map(OrderItem::ops).collect();
            let run: Vec<Op> = ops.iter().map(|timed| timed.op).collect();
            prop_assert_eq!(listed, run);
            for (before, after) in ops.iter().zip(&ops[1..]) {
                if after.half == Half::Second {
                    prop_assert!(before.half == Half::First && before.start == after.start && before.end == after.end);
                } else {
                    prop_assert!(after.start >= before.end);
                }
            }
        }
    }

    #[test]
    fn ops_last_what_the_durations_say((spec, durations) in asked()) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let timeline = simulate(&order, &durations).unwrap();
        for timed in timeline.ranks.iter().flatten().filter(|timed| timed.half == Half::Whole) {
            let s = timed.op.stage as usize;
            let alone = match timed.op.kind {
                OpKind::F => durations.forward[s],
                OpKind::B => durations.backward_input[s],
                OpKind::W => durations.backward_weight[s],
                OpKind::BW => durations.backward_input[s] + durations.backward_weight[s],
            };
            let scale = durations.microbatch_scale.as_ref().map_or(1.0, |scale| scale[timed.op.microbatch as usize]);
            prop_assert!((timed.end - timed.start - alone * scale).abs() < 1e-9);
        }
    }

    #[test]
    fn the_makespan_is_no_shorter_than_the_busiest_rank_or_any_micro_batchs_way((spec, durations) in asked()) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let timeline = simulate(&order, &durations).unwrap();
        let stats = Stats::of(&order, &timeline.spans());
        for busy in &stats.busy_s {
            prop_assert!(stats.makespan_s >= busy - 1e-9);
        }
        prop_assert!(stats.bubble_fraction >= -1e-12 && stats.bubble_fraction < 1.0);
        prop_assert!(stats.bubble_over_ideal >= -1e-12 && stats.bubble_span >= 0.0);
        // A pair may be shorter than either of its parts: only orders without have this bound.
        if !order.ranks.iter().flat_map(RankRow::iter).any(|item| matches!(item, OrderItem::Pair(..))) {
            for unit in 0..order.units() {
                let scale = durations.microbatch_scale.as_ref().map_or(1.0, |scale| scale[unit as usize]);
                let way: f64 = durations.forward.iter().chain(&durations.backward_input).sum();
                prop_assert!(stats.makespan_s >= way * scale - 1e-9);
            }
        }
    }

    #[test]
    fn activations_never_go_below_zero_and_end_at_zero((spec, durations) in asked()) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let timeline = simulate(&order, &durations).unwrap();
        let stats = Stats::of(&order, &timeline.spans());
        for (rank, ops) in timeline.ranks.iter().enumerate() {
            let (mut held, mut peak) = (0i64, 0i64);
            for timed in ops {
                // Of a pair the forward counts first, whichever is written first.
                held += match timed.op.kind {
                    OpKind::F => 1,
                    OpKind::B => 0,
                    OpKind::W | OpKind::BW => -1,
                };
                prop_assert!(held >= 0);
                peak = peak.max(held);
            }
            prop_assert_eq!(held, 0);
            prop_assert_eq!(peak, i64::from(stats.peak_in_flight[rank]));
            let curve = in_flight_curve(ops);
            prop_assert_eq!(curve.last().map(|point| point.1), Some(0));
            prop_assert!(curve.iter().zip(&curve[1..]).all(|(a, b)| a.0 < b.0));
            prop_assert!(curve.iter().all(|point| point.1 <= stats.peak_in_flight[rank]));
        }
    }

    #[test]
    fn more_latency_is_never_faster_for_the_same_order((spec, durations) in asked(), more in 0.0..3.0f64) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let near = simulate(&order, &durations).unwrap().makespan();
        let p2p = durations.p2p + more;
        let far = simulate(&order, &Durations { p2p, ..durations }).unwrap().makespan();
        prop_assert!(far >= near - 1e-9);
    }

    #[test]
    fn twice_the_durations_take_twice_as_long((spec, durations) in asked()) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let once = simulate(&order, &durations).unwrap().makespan();
        let scale = vec![2.0; order.stages as usize];
        let p2p = 2.0 * durations.p2p;
        let doubled = durations.with_stage_scale(&scale).with_p2p(p2p);
        let twice = simulate(&order, &doubled).unwrap().makespan();
        prop_assert!((twice - 2.0 * once).abs() < 1e-9 * twice.max(1.0));
    }

    #[test]
    fn the_critical_path_leaves_no_gap_from_start_to_end((spec, durations) in asked()) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let timeline = simulate(&order, &durations).unwrap();
        let trace = Trace::new(&order, &timeline, durations.p2p);
        let path = trace.critical_path();
        let at = |place: &OpPlace| trace.get(*place).unwrap();
        prop_assert!(at(&path[0]).start.abs() < 1e-9);
        prop_assert_eq!(at(path.last().unwrap()).end, timeline.makespan());
        for (before, after) in path.iter().zip(&path[1..]) {
            let latency = if before.rank == after.rank { 0.0 } else { durations.p2p };
            prop_assert!((at(before).end + latency - at(after).start).abs() < 1e-9);
        }
    }

    #[test]
    fn an_order_given_as_custom_runs_as_the_schedule_that_made_it((spec, durations) in asked()) {
        let Some(order) = order_of(&spec, &durations) else { return Ok(()) };
        let text = order.print();
        let read: Vec<RankRow> = parse_ranks(&text).unwrap().into_iter().map(RankRow::from).collect();
        prop_assert_eq!(&read, &order.ranks);
        let custom = Spec { order: Some(text), ..Spec::new(schedule("custom").unwrap(), spec.pp, order.units()) };
        let again = build(&custom, &durations).unwrap().order;
        let (first, again) = (simulate(&order, &durations).unwrap(), simulate(&again, &durations).unwrap());
        prop_assert_eq!(first, again);
    }

    #[test]
    fn a_rejection_names_a_field_and_its_fix_works((spec, durations) in asked()) {
        let equal = Durations { microbatch_scale: None, ..durations };
        let Err(issue) = build(&spec, &equal) else { return Ok(()) };
        let fix = issue.fix.clone().expect("a value that works");
        let mut mended = spec.clone();
        for (field, value) in &fix.set {
            prop_assert_eq!(*field, issue.field.as_str());
            let said = issue.clone().naming_its_fix().message.to_string();
            prop_assert!(said.ends_with(&format!("; {field}={value} works")), "{said}");
            let value: u32 = value.parse().unwrap();
            match *field {
                "pp" => mended.pp = value,
                "microbatches" => mended.microbatches = value,
                "virtual_stages" => mended.virtual_stages = value,
                "group" => mended.group = Some(value),
                "memory_limit" => mended.memory_limit = Some(value),
                other => prop_assert!(false, "{other}"),
            }
        }
        let unit = Durations::unit(mended.stages());
        // One field at a time: what is left to say may be about another one.
        if let Err(next) = build(&mended, &unit) {
            prop_assert_ne!(next.field, issue.field);
        }
    }

    #[test]
    fn an_order_with_two_entries_swapped_runs_or_is_stuck_where_it_says(
        (spec, durations) in asked(), rank in 0..7usize, a in 0..200usize, b in 0..200usize,
    ) {
        let Some(mut order) = order_of(&spec, &durations) else { return Ok(()) };
        let p = order.ranks.len();
        let mut items: Vec<OrderItem> = order.ranks[rank % p].iter().collect();
        let length = items.len();
        items.swap(a % length, b % length);
        order.ranks[rank % p] = items.into();
        match simulate(&order, &durations) {
            Ok(timeline) => prop_assert_eq!(timeline.ranks.iter().map(Vec::len).sum::<usize>(), order.ranks.iter().flat_map(RankRow::iter).map(|item| item.ops().count()).sum::<usize>()),
            Err(OrderFault::Deadlock { stuck }) => {
                prop_assert!(!stuck.is_empty());
                for one in &stuck {
                    // The op that a stuck rank waits for stands at or behind the place where its own rank is stuck.
                    prop_assert!(order.ranks[one.rank].get(one.at).unwrap().ops().any(|op| op == one.op));
                    let home = order.ranks.iter().position(|items| items.iter().any(|item| item.ops().any(|op| op == one.waits_for))).unwrap();
                    let there = stuck.iter().find(|other| other.rank == home).expect("stuck too");
                    let position = order.ranks[home].iter().position(|item| item.ops().any(|op| op == one.waits_for)).unwrap();
                    prop_assert!(position >= there.at);
                }
            }
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }
}

#[test]
fn every_schedule_is_met_by_the_properties_with_an_order() {
    // A schedule that the random sizes never build would be tested by nothing.
    for row in SCHEDULES.iter().filter(|row| row.id() != "custom") {
        let spec = Spec { virtual_stages: 2, ..Spec::new(row, 4, 8) };
        assert!(build(&spec, &Durations::unit(spec.stages())).is_ok(), "{}", row.id());
    }
}

#[test]
fn sizes_beyond_what_can_be_simulated_are_rejected_before_anything_is_laid_out() {
    for row in SCHEDULES.iter().filter(|row| row.id() != "custom") {
        for (pp, microbatches, more) in
            [(u32::MAX, u32::MAX, u32::MAX), (64, u32::MAX, 2), (3_000_000, 2, 2), (4, 8, u32::MAX)]
        {
            let spec = Spec {
                virtual_stages: more,
                waves: more,
                splits: more,
                group: Some(more),
                memory_limit: Some(more),
                ..Spec::new(row, pp, microbatches)
            };
            if let Err(issue) = build(&spec, &Durations::unit(1)) {
                assert!(!issue.field.is_empty() && !issue.message.is_empty());
            } else {
                assert!(pp == 4, "{} laid out {pp} ranks", row.id());
            }
        }
    }
}

#[test]
fn a_size_of_zero_is_rejected_with_one() {
    let gpipe = schedule("gpipe").unwrap();
    let issue = build(&Spec::new(gpipe, 0, 4), &Durations::unit(1)).unwrap_err();
    assert_eq!((issue.field.as_str(), issue.fix.unwrap().set[0].1.as_str()), ("pp", "1"));
    let issue = build(&Spec::new(gpipe, 4, 0), &Durations::unit(4)).unwrap_err();
    assert_eq!(issue.field, "microbatches");
}
