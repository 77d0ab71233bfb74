//! Every fix that is offered works: it leads to a Run without an error at that field, and where it was the only error
//! to a report. `SHARDSCOPE_CASES` says how many random Runs are tried.

use crate::common::random::{Random, random_run};
use shardscope::core::advice::fit::{Base, FitSearch, label};
use shardscope::core::issue::{Issue, Severity};
use shardscope::core::memory::Verdict;
use shardscope::core::report::{evaluate, work};
use shardscope::core::run::Run;
use shardscope::io::link::{decode, encode};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Random Runs where nothing else is asked for: some seconds' worth.
const SHORT: u64 = 4000;
/// Runs of more ops are left to the program itself.
const MAX_OPS: u64 = 20_000;

fn cases() -> u64 {
    let asked = std::env::var("SHARDSCOPE_CASES").ok();
    asked.map_or(SHORT, |cases| cases.parse().unwrap())
}

fn run(link: &str) -> Run {
    decode(&format!("v=1&{link}")).run
}

/// Issues of a Run: its errors, or its report's warnings.
fn issues(run: &Run) -> Vec<Issue> {
    evaluate(run).map_or_else(|errors| errors, |evaluation| evaluation.warnings().to_vec())
}

/// Fault of a fix of `issue`, one of the `all` of `run`.
fn fault(run: &Run, all: &[Issue], issue: &Issue, set: &[(&'static str, String)]) -> Option<String> {
    let Some(after) = run.with_texts(set) else {
        return Some("cannot be set".to_owned());
    };
    if after == *run {
        return Some("changes nothing".to_owned());
    }
    let is_error = issue.severity == Severity::Error;
    match evaluate(&after) {
        Ok(evaluation) => {
            let mut warnings = evaluation.report.warnings.iter();
            let same = |other: &Issue| (&other.field, &other.message) == (&issue.field, &issue.message);
            warnings.any(same).then(|| "leaves what it should mend".to_owned())
        }
        Err(errors) if is_error && all.len() > 1 => errors
            .iter()
            .find(|error| error.field == issue.field || set.iter().any(|(key, _)| error.field == *key))
            .map(|error| format!("leads to an error there: {}", error.message)),
        Err(errors) => Some(format!("leads to {}: {}", errors[0].field, errors[0].message)),
    }
}

#[test]
fn every_fix_of_every_issue_leads_to_a_run_that_works() {
    let (tried, refused, mended) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let threads = 2;
    let broken: Vec<String> = std::thread::scope(|scope| {
        let (tried, refused, mended) = (&tried, &refused, &mended);
        let part = move |thread: u64| {
            let mut random = Random::new(0x5eed + thread);
            let mut broken = Vec::new();
            for _ in 0..cases() / threads {
                let run = random_run(&mut random);
                if work(&run).is_some_and(|ops| ops > MAX_OPS) {
                    continue;
                }
                let all = issues(&run);
                if all.iter().any(|issue| issue.severity == Severity::Error) {
                    refused.fetch_add(1, Relaxed);
                    let has_fix = |issue: &Issue| issue.fixes().next().is_some();
                    mended.fetch_add(u64::from(all.iter().any(has_fix)), Relaxed);
                }
                for issue in &all {
                    for fix in issue.fixes() {
                        tried.fetch_add(1, Relaxed);
                        if let Some(fault) = fault(&run, &all, issue, &fix.set) {
                            broken.push(format!(
                                "{}\n  {}: {}\n  {}: {fault}",
                                encode(&run),
                                issue.field,
                                issue.message,
                                label(fix)
                            ));
                        }
                    }
                }
            }
            broken
        };
        let parts: Vec<_> = (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let [tried, refused, mended] = [tried, refused, mended].map(AtomicU64::into_inner);
    println!("fixes: {tried} tried, {refused} Runs refused, {mended} of them with a fix");
    assert!(
        broken.is_empty(),
        "{} of {tried} fixes fail:\n{}",
        broken.len(),
        broken[..broken.len().min(12)].join("\n")
    );
    assert!(tried > cases() / 4 && mended * 2 > refused && refused < cases() * 9 / 10, "too few to mean anything");
}

/// Six GPUs on a node: 64 heads divide by 4, not by 6.
#[test]
fn tensor_parallelism_within_the_node_also_divides_the_heads() {
    for (link, works) in [
        ("model=llama-3.1-70b&gpus=96&gpus_per_node=6&tp=8&pp=1&global_batch=96", "4"),
        ("model=llama-3.1-70b&gpus=64&gpus_per_node=6&tp=8&pp=1", "4"),
    ] {
        let run = run(link);
        let all = issues(&run);
        let issue = all.iter().find(|issue| issue.field == "tp").unwrap();
        let offered: Vec<_> = issue.fixes().map(|fix| fix.set[0].1.as_str()).collect();
        assert_eq!(offered, [works], "{link}");
    }
}

/// ZB-V has two chunks a rank by its construction (Qi et al. 2024): nothing else is offered, and once.
#[test]
fn a_schedule_of_fixed_chunks_offers_its_own_number_once() {
    let run = run("gpus=64&tp=2&pp=4&schedule=zb-v&virtual_stages=4");
    let all = issues(&run);
    let about = all.iter().filter(|issue| issue.is_mended_by("virtual_stages"));
    let offered: Vec<_> = about.flat_map(Issue::fixes).map(|fix| fix.set.clone()).collect();
    assert_eq!(offered, [[("virtual_stages", "2".to_owned())]]);
}

/// A fix that makes the batch uneven says what the batch becomes.
#[test]
fn what_has_to_follow_a_fix_is_part_of_it() {
    // 7 ranks: 1 or 7 GPUs a replica, so 8 or 56; dp = 7 needs a batch of sevens, and the batch is one sequence.
    let run = run("gpus=60&tp=1&pp=1&cp=7&seq_len=7168&global_batch=1");
    let all = issues(&run);
    for fix in all.iter().flat_map(Issue::fixes) {
        let after = run.with_texts(&fix.set).unwrap();
        assert!(evaluate(&after).is_ok(), "{}", label(fix));
    }
    assert!(all.iter().any(|issue| issue.fixes().next().is_some()));
}

/// Changes that should make a Run fit do, and those that cost less GPU time a token stand above.
#[test]
fn every_change_that_should_make_a_run_fit_does_cheapest_first() {
    let mut random = Random::new(0xf17);
    let (mut searched, mut suggested) = (0, 0);
    while searched < cases() / 50 {
        let run = random_run(&mut random);
        if work(&run).is_none_or(|ops| ops > 2000) {
            continue;
        }
        let Ok(base) = evaluate(&run) else { continue };
        searched += 1;
        let limit = 30_000;
        let mut fit = FitSearch::new(Base::of(&base), limit);
        while !fit.step(2000) {}
        // Whatever is left, a candidate is understood before its work is known: some stages, and its part of the limit.
        assert!(fit.spent() <= limit + 5000, "{}", encode(&run));
        let list = fit.suggestions().list;
        for one in &list {
            suggested += 1;
            let after = run.with_texts(&one.set).unwrap();
            let after = evaluate(&after).unwrap().report;
            assert_eq!(after.memory.verdict, Verdict::Fits, "{}: {}", encode(&run), one.label());
            assert_eq!(after.step.time_s, one.step, "{}", encode(&run));
            let host = after.memory.host.and_then(|host| host.verdict);
            assert!(host.is_none_or(|host| host == Verdict::Fits), "{}", encode(&run));
        }
        assert!(list.windows(2).all(|pair| pair[0].dearer <= pair[1].dearer), "{}", encode(&run));
    }
    println!("fixes: {searched} Runs, {suggested} changes that make them fit");
    assert!(suggested > searched, "too few to mean anything");
}

/// Megatron-LM has no DualPipe, which DeepSeek published with V3: what does not run on the software names software that
/// runs it, and none is named for what does.
#[test]
fn a_schedule_that_the_software_has_not_offers_software_that_runs_it() {
    for (link, wanted) in [
        (
            "model=deepseek-v3&gpu=h800-sxm-80gb&gpus=2048&tp=1&pp=16&ep=64&schedule=dualpipe&seq_len=4096&global_batch=15360",
            Some("deepseek-v3"),
        ),
        ("gpus=64&tp=2&pp=4&schedule=interleaved-1f1b&virtual_stages=2", None),
    ] {
        let run = run(link);
        let all = issues(&run);
        let offered = all.iter().flat_map(Issue::fixes).find_map(|fix| fix.set.iter().find(|(key, _)| *key == "stack"));
        assert_eq!(offered.map(|(_, id)| id.as_str()), wanted, "{link}: {all:?}");
    }
}
