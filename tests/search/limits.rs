//! Limits of the work of a plan: what it answers within them, and that it says what it leaves out.

use crate::common::random::{Random, random_run};
use crate::exhaustive::{exhaustive, value};
use shardscope::core::advice;
use shardscope::core::memory::Verdict;
use shardscope::core::run::{Run, Value};
use shardscope::core::search::session::{PlanQuery, PlanSession};
use shardscope::core::search::{Plan, PlanRequest, TOP, can_run, plan};

fn answer(json: &str) -> Plan {
    plan(&value(json)).unwrap_or_else(|issues| panic!("{issues:?}: {json}"))
}

/// `json` with so much work.
fn within(json: &str, work: u64) -> Plan {
    answer(&format!(r#"{{"work":{work},{}"#, json.trim_start_matches('{')))
}

/// A space in which much fits, one in which little does, and one in which nothing does.
const SPACES: [&str; 3] = [
    r#"{"run":{"gpus":16,"global_batch":32},"space":{"micro_batch":[1,2],"schedule":["1f1b","zb-v"]}}"#,
    r#"{"run":{"gpus":64,"global_batch":64,"model":"llama-3.1-405b","gpu":"a100-sxm-80gb","precision":"bf16",
        "seq_len":16384},"space":{"schedule":["1f1b","interleaved-1f1b"],"sequence_parallel":true}}"#,
    r#"{"run":{"gpus":16,"global_batch":32,"model":"llama-3.1-405b"},"space":{"schedule":"1f1b"}}"#,
];

/// Whatever the work: an answer that calls itself complete is the one of reporting every layout; one that does not
/// has rows of it, in its order, at least one where there is any, and says in a warning that it stopped.
#[test]
fn an_answer_within_any_work_has_rows_of_the_whole_one_or_is_it() {
    let (mut partial, mut complete) = (0, 0);
    for json in SPACES {
        let request = PlanRequest::from_value(&value(json)).unwrap();
        let (count, all) = exhaustive(request.search.space());
        for power in 0..=24 {
            let plan = within(json, 1 << power);
            let said = plan.warnings.iter().filter(|issue| issue.field == "work").count();
            assert_eq!(said, usize::from(!plan.complete), "{json} {power} {:?}", plan.warnings);
            assert!(!plan.best.is_empty() || all.is_empty(), "{json} {power}");
            assert!(plan.evaluated <= count);
            let mut place = 0;
            for row in &plan.best {
                let at = all[place..].iter().position(|(_, run)| *run == row.layout);
                place += at.unwrap_or_else(|| panic!("{json} {power} {:?}", row.layout)) + 1;
            }
            if plan.complete {
                complete += 1;
                assert_eq!((plan.evaluated, place), (count, all.len().min(20)), "{json} {power}");
            } else {
                partial += 1;
            }
        }
    }
    println!("{partial} partial, {complete} complete");
    assert!(partial > 10 && complete > 10, "{partial} {complete}");
}

/// No sentence about all layouts while some were not looked at.
#[test]
fn an_answer_that_is_not_complete_claims_nothing_of_all_layouts() {
    let mut tight = 0;
    for json in SPACES {
        for power in 0..=24 {
            let plan = within(json, 1 << power);
            let words: Vec<String> = plan.warnings.iter().map(|issue| issue.message.to_string()).collect();
            let claims = |word: &String| {
                let of_all =
                    ["every layout", "no layout that is searched divides", "the fastest fits", "the fastest that fits"];
                of_all.iter().any(|claim| word.contains(claim))
            };
            assert!(plan.complete || !words.iter().any(claims), "{words:?}");
            let recommended = plan.recommended.and_then(|index| plan.best.get(index));
            let is_tight = recommended.is_some_and(|row| row.report.memory.overall() == Verdict::Tight);
            tight += u32::from(!plan.complete && is_tight);
        }
    }
    assert!(tight > 0);
}

/// Two questions whose answers were those of a tenth and a quarter of their layouts: by default every layout is
/// looked at.
#[test]
fn the_usual_work_is_enough_for_experts_on_many_gpus() {
    for json in [
        r#"{"run":{"model":"llama-4-maverick","gpus":512},"top":1}"#,
        r#"{"run":{"model":"deepseek-v3","gpu":"h800-sxm-80gb","gpus":2048,"global_batch":15360,"seq_len":4096},
            "top":1}"#,
    ] {
        let plan = answer(json);
        assert!(plan.complete && plan.evaluated > 200_000, "{} {:?}", plan.evaluated, plan.warnings);
    }
}

/// Every row of an answer, complete or not, opened by itself.
#[test]
fn the_report_of_a_row_is_the_report_of_its_run() {
    let mut random = Random::new(43);
    let (mut rows, mut split) = (0, 0);
    for _ in 0..330 {
        let run = random_run(&mut random).to_value();
        let fields = [("run", run), ("top", Value::Number(4.0)), ("work", Value::Number(20_000.0))];
        let request = Value::Map(fields.map(|(key, value)| (key.to_owned(), value)).into());
        let Ok(plan) = plan(&request) else { continue };
        for row in &plan.best {
            let run = Run::from_value(&row.run).unwrap();
            let alone = advice::answer(&run).unwrap();
            assert_eq!(serde_json::to_string(&row.report).unwrap(), serde_json::to_string(&alone).unwrap());
            rows += 1;
            split += u32::from(alone.uneven.is_some());
        }
    }
    println!("{rows} rows, {split} with splits of their layers");
    assert!(rows > 100 && split > 50, "{rows} {split}");
}

/// The page works in slices and shows what it has meanwhile; with the same work it ends where a search in one go of the
/// layouts that the software can run does.
#[test]
fn the_session_of_the_page_ends_at_the_rows_of_the_verb() {
    let mut random = Random::new(7);
    let mut rows = 0;
    for round in 0..99 {
        let run = Run { measured_step_s: None, ..random_run(&mut random) };
        let work = [700, 30_000, 400_000][round % 3];
        let question = PlanRequest::question(&run);
        let Ok(mut request) = PlanRequest::able(&question, &[], TOP) else { continue };
        request.search.allow(work);
        request.search.finish();
        let Ok(mut session) = PlanSession::with_work(PlanQuery { extras: Vec::new(), ..PlanQuery::search(&run) }, work)
        else {
            continue;
        };
        while !session.step(1000) {
            session.result(false);
        }
        let result = session.result(true);
        let ours: Vec<&Run> = result.rows.iter().map(|found| &found.run).collect();
        let theirs: Vec<&Run> = request.search.best().iter().map(|found| &found.run).collect();
        assert_eq!(ours, theirs);
        let progress = result.progress.unwrap();
        let other = request.search.progress();
        assert_eq!((progress.done, progress.evaluated), (other.done, other.evaluated));
        assert!(ours.iter().all(|run| can_run(run)));
        rows += ours.len();
    }
    assert!(rows > 100, "{rows}");
}
