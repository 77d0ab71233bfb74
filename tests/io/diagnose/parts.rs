//! Windows and parts.

use super::{TRACES, bytes, trace};
use proptest::prelude::*;
use shardscope::core::diagnose::{
    GpuWork, GroupSizes, MeasuredPart, RankTrace, StepWindow, WorkKind, attribute, calls,
};
use shardscope::core::run::Run;
use shardscope::core::time::KernelClass;
use shardscope::core::units::{Seconds, show_seconds};
use shardscope::io::evidence::{EvidenceFile, read};
use shardscope::view::learn::{Dials, StepId};
use std::collections::BTreeMap;

const SIZES: GroupSizes = GroupSizes { tp: 1, cp: 1, ep: 1, dp: 8, pp: 1, gpus: 8 };

#[test]
fn parts_of_every_public_trace_add_up_to_its_windows() {
    for name in TRACES {
        let trace = trace(name);
        let windows = trace.windows();
        for window in &windows {
            let sum: i64 = attribute(&trace, *window, SIZES).parts.values().sum();
            assert_eq!(sum, window.length(), "{name}");
        }
        // Steps follow one another without a gap.
        assert!(windows.windows(2).all(|pair| pair[0].end == pair[1].begin), "{name}");
    }
}

/// The public traces are all files of the folder that hold kernels of a GPU, and page and code say how many.
#[test]
fn as_many_public_traces_are_read_as_page_and_code_say() {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/traces")).unwrap();
    let names = folder.map(|file| file.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".json.gz")?.to_owned())).collect();
    let mut with_kernels: Vec<String> = names
        .into_iter()
        .filter(|name| match read(&bytes(&format!("{name}.json.gz")), &Run::default()) {
            Ok(EvidenceFile::Trace(trace, _)) => !trace.activities.is_empty(),
            _ => false,
        })
        .collect();
    with_kernels.sort();
    assert_eq!(with_kernels, TRACES);
    let count = TRACES.len();
    let page = include_str!("../../../docs/methods/diagnosis.md");
    assert!(page.contains(&format!("all windows of {count} public traces")));
    assert!(page.contains(&format!("three damaged of {count} public files")));
    assert!(include_str!("../../../src/core/diagnose/parts.rs").contains(&format!("of which {count} are in")));
}

/// Milliseconds of a step that another program, a prototype in Python, finds in the same files: length, compute,
/// exposed messages, gaps. One of the file's windows is that step; which of them is the median it took from whole
/// files.
#[test]
fn windows_and_sums_are_those_of_the_references_prototype() {
    for (name, [length, compute, exposed, idle]) in [
        ("hta_ddp_args_a100_rank0of2", [219.7, 38.4, 10.5, 170.0]),
        ("tracelens_ddp_mi300_rank0of8", [19.0, 6.4, 11.9, 0.1]),
        ("hta_rec_a100_rank3of8", [77.0, 47.0, 12.3, 14.7]),
        ("hta_rec_rank0of128", [615.6, 104.0, 165.0, 347.0]),
        ("hta_rec_rank1of128", [623.3, 136.0, 169.0, 315.0]),
        ("hta_ddp_eager_v100_rank1of2", [345.8, 124.0, 59.6, 157.0]),
        ("tracelens_moe_decode_b200", [84.5, 8.7, 2.1, 72.9]),
        ("hta_rec_unlinked_rank0of16", [216.3, 36.2, 29.7, 142.0]),
    ] {
        let trace = trace(name);
        let ms = |ns: i64| ns as f64 * 1e-6;
        let figures = |window: StepWindow| {
            let found = attribute(&trace, window, SIZES);
            [window.length(), found.compute(), found.exposed(), found.idle()].map(ms)
        };
        let all: Vec<[f64; 4]> = trace.windows().into_iter().map(figures).collect();
        let theirs = [length, compute, exposed, idle];
        let near =
            |ours: &[f64; 4]| ours.iter().zip(theirs).all(|(ours, theirs)| (ours - theirs).abs() < 0.011 * length);
        assert!(all.iter().any(near), "{name}: {all:?}");
    }
}

/// Qwen 1.5 0.5B has 24 layers: one forward pass of one micro-batch, 34.89 ms on the GPU where the host's marker takes
/// 47.15.
#[test]
fn a_window_is_the_gpus_and_not_the_hosts() {
    let trace = trace("tracelens_qwen_forward_h100");
    let (window, _) = trace.median_window().unwrap();
    assert_eq!(trace.attention_kernels(window), [24, 0]);
    assert!((window.length() as f64 * 1e-6 - 34.89).abs() < 0.01);
    let mark = trace.marks[0];
    assert!(((mark.end - mark.begin) as f64 * 1e-6 - 47.15).abs() < 0.01);
}

/// The layer that the lesson on profilers draws is the eleventh of this trace, 42 kernels. Its length and its matrix
/// products stand in the lesson's words.
#[test]
fn the_layer_of_the_lesson_is_in_the_trace() {
    let trace = trace("tracelens_qwen_forward_h100");
    let class = |work: GpuWork| match work.work {
        WorkKind::Kernel(class) => Some(class),
        WorkKind::Transfer => None,
    };
    let mut kernels: Vec<GpuWork> = trace.activities.iter().filter(|one| class(**one).is_some()).copied().collect();
    kernels.sort_by_key(|one| one.start);
    let attention: Vec<usize> =
        (0..kernels.len()).filter(|at| class(kernels[*at]) == Some(KernelClass::Attention)).collect();
    // Behind attention a layer of this program runs 17 kernels more.
    let layer = &kernels[attention[10] + 18..attention[11] + 18];
    let seconds = |ns: i64| show_seconds(Seconds(ns as f64 * 1e-9));
    let length = layer[layer.len() - 1].end - layer[0].start;
    let products = layer.iter().filter(|one| class(**one) == Some(KernelClass::Products));
    let products: i64 = products.map(|one| one.end - one.start).sum();
    let step = StepId::named("gpu.profile").unwrap().step();
    let words: String = (step.live)(&Dials::new(step.sliders, &[])).text.iter().map(ToString::to_string).collect();
    for figure in [format!("{} kernels in {}", layer.len(), seconds(length)), format!("took {}", seconds(products))] {
        assert!(words.contains(&figure), "{figure}: {words}");
    }
}

/// The share of the window in which launched kernels do not run: over 20 % in the three damaged files alone.
#[test]
fn damaged_traces_are_called_damaged() {
    let damaged = ["hta_rec_rank0of128", "hta_rec_rank1of128", "hta_rec_unlinked_rank0of16"];
    for name in TRACES {
        let file = read(&bytes(&format!("{name}.json.gz")), &Run::default());
        let found = shardscope::io::evidence::diagnose(&[&file], &Run { pp: 1, ..Run::default() }).unwrap();
        let doubted = found.warnings.iter().any(|issue| issue.message.to_string().contains("may have lost kernels"));
        assert_eq!(doubted, damaged.contains(&name), "{name}: {:?}", found.warnings);
    }
}

/// On AMD the name says no operation: the collective stands at the launch.
#[test]
fn collectives_without_a_name_are_found_at_their_launch() {
    let trace = trace("tracelens_ddp_mi300_rank0of8");
    let (window, _) = trace.median_window().unwrap();
    let all = calls(&trace, window, SIZES);
    assert!(all.iter().all(|calls| calls.class != KernelClass::Message), "{all:?}");
    let reduced = all.iter().find(|calls| calls.class == KernelClass::AllReduce).unwrap();
    assert_eq!((reduced.count, reduced.ranks), (2, 8));
    // Copies are transfers, and no kernels.
    let copies = trace.activities.iter().filter(|one| one.work == WorkKind::Transfer).count();
    assert!(copies > 100);
}

fn any_work() -> impl Strategy<Value = GpuWork> {
    let kinds: Vec<WorkKind> = KernelClass::ALL.into_iter().map(WorkKind::Kernel).chain([WorkKind::Transfer]).collect();
    (0i64..300, 0i64..60, proptest::sample::select(kinds), proptest::option::of(0i64..300)).prop_map(
        |(start, length, work, launch)| GpuWork {
            start,
            end: start + length,
            work,
            launch,
            graphed: false,
            group: None,
            bytes: 0,
            attention: None,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Against a count nanosecond by nanosecond: who runs has the time in the order compute, messages, copies; what is
    /// left is idle.
    #[test]
    fn parts_of_random_traces_add_up_and_are_those_of_a_count(
        works in proptest::collection::vec(any_work(), 0..30),
        begin in 0i64..100,
        length in 1i64..300,
    ) {
        let trace = RankTrace { activities: works, ..RankTrace::default() }.sorted();
        let window = StepWindow { number: None, begin, end: begin + length, is_last: true };
        let found = attribute(&trace, window, SIZES);
        prop_assert_eq!(found.parts.values().sum::<i64>(), length);
        let mut counted: BTreeMap<&'static str, i64> = BTreeMap::new();
        for at in begin..begin + length {
            let running = || trace.activities.iter().filter(|one| (one.start..one.end).contains(&at));
            let computes = running().filter_map(|one| match one.work {
                WorkKind::Kernel(class) if !class.is_message() => Some(class),
                _ => None,
            });
            let name = if let Some(class) = computes.min() {
                class.name()
            } else if running().any(|one| matches!(one.work, WorkKind::Kernel(class) if class.is_message())) {
                "message"
            } else if running().next().is_some() {
                "transfers"
            } else {
                "idle"
            };
            *counted.entry(name).or_default() += 1;
        }
        let mut ours: BTreeMap<&'static str, i64> = BTreeMap::new();
        for (part, ns) in &found.parts {
            let name = match part {
                MeasuredPart::Compute(class) => class.name(),
                MeasuredPart::Exposed(..) | MeasuredPart::ExpertWait => "message",
                MeasuredPart::Transfers => "transfers",
                MeasuredPart::Idle(_) => "idle",
            };
            *ours.entry(name).or_default() += ns;
        }
        prop_assert_eq!(ours, counted);
    }
}
