//! Leaving out what repeats changes no figure: the spans of every order, and what is counted of its rows, are those of
//! the whole simulation, op by op. A tenth of `SHARDSCOPE_CASES` random orders are
//! tried.
use shardscope::core::pipeline::{
    Durations, OpKind, Order, OrderItem, RankRow, SCHEDULES, Spec, Stats, build, measure, schedule, time,
};
use shardscope::core::run::{OneOf, Variant};

use crate::common::random::Random;

fn cases() -> usize {
    let asked = std::env::var("SHARDSCOPE_CASES").ok();
    let asked = asked.and_then(|asked| asked.parse::<usize>().ok());
    asked.map_or(600, |asked| asked / 10)
}

/// A schedule at a size at which most have a steady state.
fn spec(random: &mut Random) -> Spec {
    // The search of `optimal` takes long beside the others; exhaustive.rs has its orders.
    let ids: Vec<&str> =
        SCHEDULES.iter().map(shardscope::core::pipeline::ScheduleInfo::id).filter(|id| *id != "optimal").collect();
    let row = schedule(random.one(&ids)).unwrap();
    let microbatches = random.one(&[1, 3, 8, 16, 24, 31, 32, 48, 60, 64, 96, 100]);
    let variants: Vec<Variant> = Variant::ALL.iter().map(|(variant, _)| *variant).collect();
    Spec {
        virtual_stages: random.one(&[1, 2, 3]),
        group: random.one(&[None, None, None, Some(2), Some(4), Some(6)]),
        memory_limit: random.one(&[None, None, Some(3), Some(9)]),
        waves: random.one(&[1, 1, 2]),
        splits: random.one(&[1, 2, 3]),
        variant: random.one(&variants),
        ..Spec::new(row, random.one(&[1, 2, 2, 3, 4, 4, 5, 6, 8]), microbatches)
    }
}

/// Equal stages; with a longer first or last one; of few lengths, so that cycles tie; of any length.
fn durations(random: &mut Random, stages: u32) -> Durations {
    let any = |random: &mut Random| f64::from(random.one(&(0..1000).collect::<Vec<i32>>())) / 250.0;
    let kind = random.one(&[0, 0, 1, 1, 2, 3]);
    let of = |random: &mut Random| -> Vec<f64> {
        let usual = any(random);
        let mut times: Vec<f64> = (0..stages)
            .map(|_| match kind {
                0 | 1 => usual,
                2 => random.one(&[0.0, 1.0, 1.0, 2.0, 3.0]),
                _ => any(random),
            })
            .collect();
        if kind == 1 {
            times[0] += any(random) / 10.0;
            times[stages as usize - 1] += any(random);
        }
        times
    };
    let pair = random.once_in(3).then(|| of(random));
    Durations {
        forward: of(random),
        backward_input: of(random),
        backward_weight: of(random),
        pair,
        p2p: random.one(&[0.0, 0.0, 0.001, 0.1, 1.0]),
        microbatch_scale: None,
    }
}

fn near(ours: f64, whole: f64) -> bool {
    (ours - whole).abs() <= 1e-9 * whole.abs().max(1.0)
}

/// Difference from the whole simulation.
fn difference(order: &Order, durations: &Durations) -> Option<String> {
    let whole = measure(order, durations).unwrap().1;
    let ours = Stats::of(order, &time(order, durations).unwrap());
    let figures = |stats: &Stats| {
        let single = [
            stats.makespan_s,
            stats.ideal_s,
            stats.bubble_fraction,
            stats.bubble_over_ideal,
            stats.bubble_span,
            stats.idle_max_s,
        ];
        [&single[..], &stats.busy_s[..]].concat()
    };
    let (ours, whole) = (figures(&ours), figures(&whole));
    let both = ours.iter().zip(&whole);
    let differ = both.clone().any(|(ours, whole)| !near(*ours, *whole));
    differ.then(|| format!("{ours:?}, whole {whole:?}"))
}

/// Activations held, op by op.
fn peaks(order: &Order) -> Vec<u32> {
    let peak = |row: &RankRow| {
        let (mut held, mut peak) = (0, 0);
        for item in row.iter() {
            held += item.ops().filter(|op| op.kind == OpKind::F).count();
            peak = peak.max(held);
            held -= item.ops().filter(|op| op.kind.frees()).count();
        }
        u32::try_from(peak).unwrap()
    };
    order.ranks.iter().map(peak).collect()
}

#[test]
fn what_is_left_out_changes_no_figure() {
    let mut random = Random::new(16);
    let (mut tried, mut wrong) = (0, Vec::new());
    while tried < cases() {
        let spec = spec(&mut random);
        let durations = durations(&mut random, spec.stages().max(1));
        let Ok(built) = build(&spec, &durations) else {
            continue;
        };
        tried += 1;
        let mut orders = vec![built.order];
        if random.once_in(4) {
            let order = Some(orders[0].print());
            let custom = Spec { order, ..Spec::new(schedule("custom").unwrap(), 0, 0) };
            orders.push(build(&custom, &durations).unwrap().order);
        }
        for order in &orders {
            if let Some(what) = difference(order, &durations) {
                wrong.push(format!("{spec:?} {durations:?}: {what}"));
            }
            let stats = Stats::of(order, &time(order, &durations).unwrap());
            assert_eq!(stats.peak_in_flight, peaks(order), "{spec:?}");
            let literal =
                Order { ranks: order.ranks.iter().map(|row| row.iter().collect()).collect(), ..order.clone() };
            assert_eq!(order.items(), literal.items());
            for rank in 0..order.ranks.len() {
                let mut stages: Vec<u32> =
                    order.ranks[rank].iter().flat_map(OrderItem::ops).map(|op| op.stage).collect();
                stages.sort_unstable();
                stages.dedup();
                assert_eq!(order.stages_of(rank), stages);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}, first {}", wrong.len(), wrong[0]);
}

/// Waves over five ranks whose last stage takes longest: after the turns that are left out a rank waits for a result of
/// them.
#[test]
fn an_order_whose_rank_waits_for_what_is_left_out_is_simulated_whole() {
    let stages = |first, usual, last| -> Vec<f64> { [vec![first], vec![usual; 8], vec![last]].concat() };
    let durations = Durations {
        forward: stages(1.0268, 1.012, 1.504),
        backward_input: stages(1.4388, 1.256, 5.016),
        backward_weight: stages(1.6532, 1.272, 4.932),
        pair: None,
        p2p: 0.0,
        microbatch_scale: None,
    };
    let spec = Spec { waves: 1, ..Spec::new(schedule("hanayo").unwrap(), 5, 48) };
    assert_eq!(difference(&build(&spec, &durations).unwrap().order, &durations), None);
}
