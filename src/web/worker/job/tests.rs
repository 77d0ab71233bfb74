//! Every job and every reply travels, and gives what the calculator gives.

use super::*;
use crate::core::report::{evaluate_timed, schedule_ids, with_schedule};
use crate::core::search::PlanRequest;
use crate::core::search::session::PlanCommand;

/// A clock that stands still: a slice lasts until the work is over.
fn one_slice() -> Pace {
    Pace { now: || 0.0, slice_ms: 1.0 }
}

/// A clock that always says that the slice has ended and a reply is due.
fn many_slices() -> Pace {
    Pace {
        now: || {
            thread_local! {
                static TIME: std::cell::Cell<f64> = const { std::cell::Cell::new(0.0) };
            }
            TIME.set(TIME.get() + 1000.0);
            TIME.get()
        },
        slice_ms: 1.0,
    }
}

fn replies(job: Job) -> impl Iterator<Item = Reply> {
    job.slices(one_slice()).flatten()
}

fn sent<T: Serialize + DeserializeOwned>(message: &T) -> T {
    from_bytes(&to_bytes(message)).unwrap()
}

fn small() -> Run {
    Run { gpus: 8, global_batch: 16, ..Run::default() }
}

#[test]
fn a_plan_in_slices_says_what_a_search_in_one_go_finds() {
    let job = Job::Plan(PlanQuery::search(&small()));
    let steps: Vec<Reply> = sent(&job).slices(many_slices()).flatten().collect();
    assert!(steps.len() > 10, "{}", steps.len());
    let Some(Reply::Plan(result)) = steps.last().map(sent) else {
        panic!("another reply");
    };
    let mut request = PlanRequest::able(&small(), &[], result.rows.len()).unwrap();
    request.search.finish();
    assert!(result.done && result.progress.is_some_and(|progress| progress.is_over()));
    assert_eq!(result.rows, request.search.best());
}

#[test]
fn a_plan_goes_on_where_the_one_before_was_cancelled() {
    let mut query = PlanQuery::search(&Run { seq_len: 2048, ..small() });
    let looked_at = |reply: Option<Reply>| match reply {
        Some(Reply::Plan(result)) => result.progress.unwrap().evaluated,
        other => panic!("{other:?}"),
    };
    let before = Job::Plan(query.clone()).slices(many_slices()).flatten().nth(5);
    query.apply(PlanCommand::Stop);
    let stopped = replies(Job::Plan(query)).next();
    assert_eq!(looked_at(before), looked_at(stopped));
}

#[test]
fn a_layout_in_slices_is_that_of_one_go() {
    // The last is offered adapters by another software.
    let texts = [
        ("model", "llama-3.1-70b"),
        ("gpu", "l40s"),
        ("gpus", "1"),
        ("stack", "megatron-2025"),
        ("tp", "1"),
        ("pp", "1"),
        ("recompute", "full"),
    ];
    let large = Run::default().with_texts(&texts).unwrap();
    for run in [Run { seq_len: 32_768, ..small() }, Run { gpus: 1, ..small() }, large] {
        let last = sent(&Job::Layout(run.clone(), Vec::new())).slices(many_slices()).flatten().last();
        let outcome = Ladder::new(&run).unwrap().finished();
        assert_eq!(sent(&last.unwrap()), Reply::Layout(Box::new(outcome)));
    }
}

#[test]
fn suggestions_in_slices_are_those_of_a_search_in_one_go() {
    let base = evaluate(&Run { micro_batch: 4, ..Run::default() });
    let base = base.unwrap();
    let job = Job::Fit(fit::Base::of(&base));
    let last = sent(&job).slices(many_slices()).flatten().last();
    let found = FitSearch::finished(&base).suggestions();
    assert!(!found.list.is_empty());
    assert_eq!(sent(&last.unwrap()), Reply::Fit(Some(found)));
}

#[test]
fn a_certificate_in_slices_is_that_of_one_go() {
    let run = Run { pp: 4, gpus: 32, ..Run::default() };
    let job = sent(&Job::Certify(run.clone()));
    let replies: Vec<Reply> = job.slices(many_slices()).flatten().collect();
    let Some(Reply::Certificate(Some(last), true)) = replies.last().map(sent) else {
        panic!("another reply");
    };
    let mut alone = proof(&evaluate(&run).unwrap()).unwrap();
    while !alone.step() {}
    assert_eq!(*last, alone.certificate());
    let split = super::tests::replies(Job::Split(run.clone())).last().unwrap();
    assert!(matches!(split, Reply::Split(Some(_), true)));
    assert_eq!(sent(&split), split);
    let endless = Run { schedule: crate::core::run::Schedule::Pipedream, ..run };
    let none: Vec<Reply> = super::tests::replies(Job::Certify(endless)).collect();
    assert_eq!(none, [Reply::Certificate(None, true)]);
}

#[test]
fn a_simulation_that_arrives_gives_the_report_of_the_page_itself() {
    let run = Run { global_batch: 512, measured_step_s: Some(9.0), ..Run::default() };
    let mut arrived = 0;
    for id in schedule_ids().filter(|id| *id != "custom") {
        let run = run.with_texts(&with_schedule(&run, id)).unwrap();
        let job: Job = from_bytes(&to_bytes(&Job::Evaluate(run.clone()))).unwrap();
        assert_eq!(job, Job::Evaluate(run.clone()));
        let sent = replies(job).next().unwrap();
        let Some(Reply::Evaluated(Some(timed))) = from_bytes(&to_bytes(&sent)) else {
            panic!("{id}: another reply arrived");
        };
        let (arrived_one, own) = (evaluate_timed(&run, timed).unwrap(), evaluate(&run).unwrap());
        assert_eq!(arrived_one.report, own.report, "{id}");
        let Some(Reply::Simulated(Some(times))) = replies(Job::Simulate(run)).next() else {
            panic!("{id}: another reply");
        };
        arrived_one.keep_timeline(&times);
        assert_eq!(arrived_one.timeline(), own.timeline(), "{id}");
        arrived += 1;
    }
    assert_eq!(arrived, schedule_ids().count() - 1);
}

#[test]
fn every_schedule_gets_a_reply() {
    let run = Run::default();
    let count = ScheduleVariant::all(&run).len();
    let each = replies(Job::AllSchedules(run.clone(), 4));
    assert_eq!(each.count(), count);
    let job = sent(&Job::Sketches {
        axis: Axis::of(&evaluate(&run).unwrap(), false),
        which: (0..count).collect(),
        limit: 4,
        run,
    });
    let drawn = replies(job).filter(|reply| matches!(reply, Reply::Sketch(Some(_))));
    assert!(drawn.count() >= count - 1);
}

/// A turn takes what there is time for: all of a short job, and of a long one what one slice gives.
#[test]
fn a_turn_is_as_long_as_its_pace() {
    let job = || Job::AllSchedules(Run::default(), 4);
    let count = ScheduleVariant::all(&Run::default()).len();
    let mut slices = job().slices(one_slice());
    let (replies, over) = turn(&mut *slices, one_slice());
    assert_eq!((replies.len(), over), (count, true));
    let mut few = job().slices(many_slices());
    for _ in 0..count {
        let (replies, over) = turn(&mut *few, many_slices());
        assert_eq!((replies.len(), over), (1, false));
    }
    assert_eq!(turn(&mut *few, many_slices()), (Vec::new(), true));
}

#[test]
fn other_bytes_are_refused() {
    assert_eq!(from_bytes::<Job>(&[]), None);
    assert_eq!(from_bytes::<Reply>(&[9, 1, 2]), None);
}
