//! Files beside each other and alone: a trace whose groups are not named, a log beside a trace, a script without a log,
//! a run that is faster than predicted.

use crate::common::random::Random;
use crate::common::run_with;
use shardscope::core::diagnose::{
    CauseId, Comparison, Diagnosis, FoundCause, MadeDelays, OutOfMemory, StepShare, brief, made_trace, of_brief,
    of_memory, of_series, of_traces, printed_rate, with_changes,
};
use shardscope::core::issue::Issue;
use shardscope::core::model::CountedBy;
use shardscope::core::report::report;
use shardscope::core::run::{OverlapParts, Run};
use shardscope::core::units::{Seconds, show_seconds};
use shardscope::io::evidence::{EvidenceFile, answer, diagnose, read};
use shardscope::io::import;
use shardscope::view::panels::changes::changed;
use shardscope::view::panels::diagnose::{diagnosis, since};

/// 8 GPUs with TP 2 and DP 4: gradients that are reduced late, as a trace without names and sizes of groups has them.
/// No cause names a parallelism; the parts add up to the window, and the causes to no more than it.
#[test]
fn messages_of_a_group_that_is_not_named_are_of_no_parallelism() {
    let run = run_with(&[("gpus", "8"), ("tp", "2"), ("pp", "1"), ("global_batch", "64")]);
    let predicted = report(&run).unwrap().step.time_s.0;
    let late = MadeDelays { late_reduction: 0.5 * predicted, ..MadeDelays::default() };
    let mut trace = made_trace(&run, late).unwrap();
    let named = of_traces(&[&trace], &run);
    let late = |found: &Diagnosis| found.causes.iter().find(|cause| cause.id == CauseId::GradReduceLate).cloned();
    let change = |found: &Diagnosis| late(found).and_then(|cause| cause.change).unwrap().to_string();
    // A run that overlaps them is not told to.
    assert!(!change(&named).contains("--overlap-grad-reduce"), "{:#?}", named.causes);
    let apart = Run { overlap: OverlapParts { dp: Some(0.0), ..run.overlap.clone() }, ..run.clone() };
    let told = of_traces(&[&trace], &apart);
    assert!(late(&told).is_none() || change(&told).contains("--overlap-grad-reduce"), "{:#?}", told.causes);
    trace.groups.clear();
    trace.activities.iter_mut().for_each(|work| work.group = None);
    let found = of_traces(&[&trace], &run);
    let window = found.window_ns as f64 * 1e-9;
    let of_parallelism = [
        CauseId::GradReduceLate,
        CauseId::ParamGatherExposed,
        CauseId::TpExposed,
        CauseId::CpExposed,
        CauseId::SlowNetwork,
        CauseId::LateRank,
    ];
    assert!(found.causes.iter().all(|cause| !of_parallelism.contains(&cause.id)), "{:#?}", found.causes);
    let unknown = found.causes.iter().find(|cause| cause.id == CauseId::GroupUnknown).unwrap();
    assert!(unknown.set.is_empty() && unknown.change.is_none(), "{unknown:?}");
    assert_eq!(found.parts.iter().map(|part| part.measured_ns).sum::<i64>(), found.window_ns);
    let seconds: f64 = found.causes.iter().filter_map(|cause| cause.seconds).sum();
    assert!(seconds <= window, "{seconds} {window}");
    // What is predicted of messages stands beside them, and the predicted parts are as long as before.
    let of = |found: &shardscope::core::diagnose::Diagnosis, name: StepShare| {
        found.parts.iter().filter(|part| part.name == name).filter_map(|part| part.predicted_s).sum::<f64>()
    };
    let exposed = [StepShare::ExposedTp, StepShare::ExposedCp, StepShare::ExposedDp, StepShare::ExposedOther];
    let [before, after] = [&named, &found].map(|found| exposed.iter().map(|name| of(found, *name)).sum::<f64>());
    assert!((before - after).abs() < 1e-9 * predicted, "{before} {after}");
    assert!((of(&found, StepShare::ExposedOther) - after).abs() < 1e-12, "{:?}", found.parts);
}

/// Each micro-batch has one backward pass. A trace of a whole step that recomputes no attention is a whole step of the
/// run that recomputes it, and the other way round: what differs is said.
#[test]
fn a_whole_step_that_recomputes_otherwise_is_a_whole_step() {
    let of =
        |recompute: &str| run_with(&[("recompute", recompute), ("pp", "1"), ("gpus", "8"), ("global_batch", "64")]);
    let runs = ["none", "selective"].map(of);
    let traces = runs.clone().map(|run| made_trace(&run, MadeDelays::default()).unwrap());
    for (at, trace) in traces.iter().enumerate() {
        for (other, run) in runs.iter().enumerate() {
            let found = of_traces(&[trace], run);
            // 64 sequences over four data-parallel ranks.
            assert!(found.step && found.microbatches.is_some_and(|count| (count - 16.0).abs() < 1e-9), "{found:#?}");
            let said = |issue: &Issue| issue.message.to_string().contains("do not recompute the same");
            assert_eq!(found.warnings.iter().any(said), at != other, "{:?}", found.warnings);
        }
    }
}

/// A log of steps of 0.6 of the prediction: it is said to be faster than predicted. Nothing is a loss of it that the
/// longer predicted step has; a setting that is named brings the prediction nearer.
#[test]
fn a_run_that_is_faster_than_predicted_has_no_losses_of_the_prediction() {
    for settings in [&[("gpus", "8"), ("tp", "2"), ("pp", "1"), ("recompute", "full")][..], &[("global_batch", "512")]]
    {
        let run = run_with(settings);
        let predicted = report(&run).unwrap().step.time_s.0;
        let measured = 0.6 * predicted;
        let found = of_series(&[measured; 40], None, &run);
        assert_eq!(found.comparison, Comparison::Shorter);
        assert!(found.verdict.to_string().contains("aster than predicted"), "{}", found.verdict);
        assert!(found.remedies.is_empty() && found.causes.iter().all(|cause| cause.seconds.is_none()));
        for cause in found.causes.iter().filter(|cause| !cause.set.is_empty()) {
            let step = report(&run.with_texts(&cause.set).unwrap()).unwrap().step.time_s;
            let off = |step: f64| (measured / step).ln().abs();
            assert!(off(step.0) < off(predicted), "{cause:?}");
            assert!(cause.evidence.to_string().contains(&show_seconds(step)), "{cause:?}");
        }
        let kept = of_series(&[predicted; 40], None, &run);
        assert!(kept.comparison == Comparison::Inside && !kept.remedies.is_empty());
    }
}

/// Steps of Megatron-LM's log, with a peak of memory.
fn log_of(seconds: f64, peak_mib: f64) -> String {
    let line = |at: u32| {
        format!(
            " iteration {:8}/     100 | consumed samples: {:8} | elapsed time per iteration (ms): {:.1} | global batch \
             size:   256 | lm loss: 2.0E+00 |\n",
            at,
            at * 256,
            seconds * 1e3
        )
    };
    let steps: String = (1..=12).map(line).collect();
    format!(
        "{steps}[Rank 0] (after 12 iterations) memory (MB) | allocated: 12103.4 | max allocated: {peak_mib:.1} | reserved: \
         24890.0 | max reserved: 24890.0\n"
    )
}

/// A trace and a log of one run: the step of both stands in the verdict, and the steps of the log stay.
#[test]
fn a_trace_beside_a_log_keeps_what_the_log_tells() {
    let run = run_with(&[("gpus", "64")]);
    let predicted = report(&run).unwrap().step.time_s.0;
    let trace = made_trace(&run, MadeDelays::default()).unwrap();
    let log = read(log_of(0.98 * predicted, 20000.0).as_bytes(), &run);
    let trace = Ok(EvidenceFile::Trace(Box::new(trace), Vec::new()));
    let [alone, both] = [vec![&log], vec![&log, &trace]].map(|files| diagnose(&files, &run).unwrap());
    let other = diagnose(&[&trace], &run).unwrap();
    let said = both.verdict.to_string();
    for part in [&alone, &other] {
        assert!(said.contains(&part.verdict.to_string()), "{said}\n{}", part.verdict);
    }
    assert_eq!(both.parts, other.parts);
    assert_eq!(both.series, alone.series);
    assert!(both.series.is_some());
}

/// A peak of a log is said beside the estimate of the same kind of memory.
#[test]
fn a_measured_peak_stands_beside_the_predicted_one() {
    let run = run_with(&[("gpus", "64")]);
    let report = report(&run).unwrap();
    let rank = report.memory.fullest().unwrap();
    let found = diagnose(&[&read(log_of(2.0, 22531.8).as_bytes(), &run)], &run).unwrap();
    let read: Vec<String> = found.read.iter().map(ToString::to_string).collect();
    let of = |kind: &str| read.iter().find(|words| words.contains(kind) && words.contains("estimate")).unwrap().clone();
    let shown = |bytes| shardscope::core::units::MemoryUnit::Gib.show(bytes);
    assert!(of("allocated").contains(&shown(rank.allocated())), "{read:?}");
    assert!(of("reserved").contains(&shown(rank.reserved())), "{read:?}");
}

/// 200 random delays, each alone and beside a log whose step has no profiler: what the causes take and what the page
/// says is not explained are the difference, or the page says that they are more than it.
#[test]
fn causes_and_what_is_not_explained_are_the_difference() {
    let mut random = Random::new(71);
    let (mut sums, mut small) = (0, 0);
    for _ in 0..100 {
        let delay = |random: &mut Random| [0.0, 0.004, 0.012, 0.03, 0.2][random.below(5)];
        let run = run_with(&[("gpus", "8"), ("tp", random.one(&["1", "2"])), ("pp", "1"), ("global_batch", "256")]);
        let predicted = report(&run).unwrap().step.time_s.0;
        let delays = MadeDelays {
            late_reduction: delay(&mut random) * predicted,
            pause: delay(&mut random) * predicted,
            attention: 1.0 + 5.0 * delay(&mut random),
        };
        let trace = made_trace(&run, delays).unwrap();
        let window = trace.median_window().unwrap().0.length() as f64 * 1e-9;
        // As the log prints it: tenths of a millisecond.
        let unprofiled = ((window - 0.1 * (window - predicted).max(0.0)) * 1e4).round() / 1e4;
        let trace = Ok(EvidenceFile::Trace(Box::new(trace), Vec::new()));
        let log = read(log_of(unprofiled, 20000.0).as_bytes(), &run);
        for files in [vec![&trace], vec![&trace, &log]] {
            let found = diagnose(&files, &run).unwrap();
            let logged = if files.len() > 1 { unprofiled } else { window };
            let (difference, listed) = (logged - predicted, || found.causes.iter().filter_map(|cause| cause.seconds));
            let Some(explained) = found.explained else { continue };
            small += listed().filter(|seconds| *seconds <= 0.02 * window).count();
            sums += 1;
            let sum: f64 = listed().sum();
            let html = diagnosis(&found, "", &run, None).to_html();
            let left = difference * (1.0 - explained);
            let is_more = html.contains("more than the difference");
            assert!(is_more || (sum + left - difference).abs() < 0.02 * difference, "{sum} + {left}, {difference}");
            assert_eq!(is_more, sum > 1.02 * difference, "{sum} {difference}");
            if left > 1e-6 * difference && found.comparison == Comparison::Longer {
                let shown = format!(">{}<", show_seconds(Seconds(left)));
                let rest = html.split_once("<li class=\"rest\"").unwrap().1.replace("<small>", "");
                assert!(rest.split_once("Not explained").unwrap().0.contains(&shown), "{shown} {rest}");
            }
        }
    }
    assert!(sums > 50 && small > 20, "{sums} {small}");
}

/// What a step's place in the range means is said once of two steps that are alike, with the figures of both; a step of
/// the log that is twice as long has a sentence of its own.
#[test]
fn two_steps_that_are_alike_have_one_sentence_of_their_range() {
    let run = run_with(&[("gpus", "8"), ("tp", "1"), ("pp", "1"), ("global_batch", "256")]);
    let step = report(&run).unwrap().step;
    let trace = made_trace(&run, MadeDelays::default()).unwrap();
    let window = trace.median_window().unwrap().0.length() as f64 * 1e-9;
    assert!(step.low_s.0 < window && window < step.high_s.0, "{window}");
    let trace = Ok(EvidenceFile::Trace(Box::new(trace), Vec::new()));
    let said = |seconds: f64| {
        let log = read(log_of(seconds, 20000.0).as_bytes(), &run);
        diagnose(&[&trace, &log], &run).unwrap().verdict.to_string()
    };
    let alike = said(window);
    assert_eq!(alike.matches("is no evidence of a fault").count(), 1, "{alike}");
    assert_eq!(alike.matches("against the prediction").count(), 2, "{alike}");
    let longer = said(2.0 * step.high_s.0);
    assert!(longer.contains("is no evidence of a fault") && longer.contains("outside its range"), "{longer}");
}

const SCRIPT: &str = "torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py --tensor-model-parallel-size 4 \
    --pipeline-model-parallel-size 4 --num-layers 40 --hidden-size 5120 --ffn-hidden-size 13824 --num-attention-heads 40 \
    --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 --swiglu \
    --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --bf16 \
    --use-distributed-optimizer --tokenizer-type Llama2Tokenizer --tokenizer-model /data/tokenizer.model";

/// A script without a log: the run that it states, its prediction, and what to add; nothing is said to be measured.
#[test]
fn a_script_alone_says_what_it_states_and_what_to_add() {
    let page = Run::default();
    let found = diagnose(&[&read(SCRIPT.as_bytes(), &page)], &page).unwrap();
    let stated = import::read(SCRIPT, &page).unwrap().run;
    assert_eq!(found.own.as_deref(), Some(&stated));
    let predicted = report(&stated).unwrap().step.time_s;
    assert!((found.predicted_s.unwrap() / predicted.0 - 1.0).abs() < 1e-9);
    let said = found.verdict.to_string();
    assert!(said.contains(&show_seconds(predicted)) && said.contains("Add the log"), "{said}");
    assert_eq!((found.window_ns, found.causes.len(), found.step), (0, 0, false));
    let html = shardscope::view::panels::diagnose::diagnosis(&found, "", &page, None).to_html();
    assert!(html.contains("The run that the files state") && html.contains("Use this run"), "{html}");
    assert!(!html.contains("No cause was found"), "{html}");
}

/// 32,000 tokens are of Llama 2's tokenizer; another kind says nothing of its size, which is then said to be the
/// page's.
#[test]
fn the_vocabulary_is_that_of_the_tokenizer_that_is_named() {
    let vocab = |text: &str| {
        let read = import::read(text, &Run::default()).unwrap();
        let said: Vec<String> = read.assumed.iter().map(ToString::to_string).collect();
        (read.run.model.resolve().unwrap().vocab, said.join(" "))
    };
    let (size, said) = vocab(SCRIPT);
    assert_eq!(size, 32_000);
    assert!(said.contains("Llama 2's tokenizer"), "{said}");
    let (size, said) = vocab(&SCRIPT.replace("Llama2Tokenizer", "SentencePieceTokenizer"));
    assert_eq!(size, Run::default().model.resolve().unwrap().vocab);
    assert!(said.contains("as on this page"), "{said}");
}

/// The changes of an out-of-memory message come back from a link with the same figures; one that is made already is
/// none any more.
#[test]
fn changes_come_back_from_a_link() {
    let run = run_with(&[("gpus", "8"), ("tp", "1"), ("pp", "1"), ("micro_batch", "4")]);
    let gib = |size: f64| Some(size * 1_073_741_824.0);
    let message = OutOfMemory {
        asked: gib(0.31),
        free: gib(0.2),
        total: gib(79.1),
        allocated: gib(68.5),
        unused: gib(5.9),
        ..OutOfMemory::default()
    };
    let found = of_memory(message, Some(&run));
    let of = |found: &Diagnosis| found.causes.iter().find(|cause| cause.id == CauseId::NeverFitted).cloned().unwrap();
    let reopened = |run: &Run| of(&with_changes(of_brief(&brief(&found).unwrap()).unwrap(), run));
    let (first, again) = (of(&found), reopened(&run));
    assert!(!first.set.is_empty() && !first.others.is_empty(), "{first:?}");
    let sets = |cause: &FoundCause| {
        let others = cause.others.iter().map(|other| other.set.clone());
        std::iter::once(cause.set.clone()).chain(others).collect::<Vec<_>>()
    };
    assert_eq!(sets(&again), sets(&first));
    let outcomes = |cause: &FoundCause| {
        let others = cause.others.iter().map(|other| other.change.to_string());
        let all = std::iter::once(cause.change.as_ref().unwrap().to_string()).chain(others);
        all.map(|words| words.split_once(": ").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(outcomes(&again), outcomes(&first));
    let made = reopened(&run.with_texts(&first.set).unwrap());
    assert!(!sets(&made).contains(&first.set), "{made:?}");
}

/// A file whose run is out of memory: that stands first, and no word of trust above it. What changes is counted as
/// beside the run, and where the page was changed before, both counts are said.
#[test]
fn a_run_that_is_out_of_memory_is_not_trusted() {
    let config = r#"{"model_type":"qwen2","hidden_size":5120,"intermediate_size":27648,"num_attention_heads":40,
        "num_hidden_layers":64,"num_key_value_heads":8,"vocab_size":152064,"tie_word_embeddings":false,
        "max_position_embeddings":131072,"rms_norm_eps":1e-05,"rope_theta":1000000.0,"hidden_act":"silu"}"#;
    let counts = |page: &Run| {
        let html = import::summary::summary(config, page, false).to_html();
        (changed(&import::read(config, page).unwrap().run).len(), html)
    };
    let (all, html) = counts(&Run::example());
    let place = html.find("Out of memory at").unwrap();
    assert!(!html.contains("Trust it") && html.find("Everything that may matter").unwrap() > place, "{html}");
    assert!(html.contains(&format!("What changes: {all}<")), "{all} {html}");
    let (all, html) = counts(&Run::default());
    assert!(html.contains(&format!("{all} of the run that the page opens with")), "{html}");
}

/// A script beside a trace: figures, lane and words are of its run, whatever the page shows, also where the page has
/// the script's software with a part of its own.
#[test]
fn figures_and_lane_are_of_one_run() {
    let opened = Run::default();
    let stated = import::read(SCRIPT, &opened).unwrap().run;
    let trace = made_trace(&stated, MadeDelays::default()).unwrap();
    let files = [read(SCRIPT.as_bytes(), &opened), Ok(EvidenceFile::Trace(trace.into(), Vec::new()))];
    let files: Vec<_> = files.iter().collect();
    let step = report(&stated).unwrap().step.time_s.0;
    let changed = stated.with_texts(&[("stack.host_us_per_layer", "9000")]).unwrap();
    assert!(report(&changed).unwrap().step.time_s.0 > 1.1 * step);
    for (page, is_other) in [(opened, true), (stated.clone(), false), (changed, true)] {
        let answer = answer(&files, &page);
        let (found, lanes) = (answer.found.unwrap(), answer.predicted.unwrap());
        assert_eq!(found.own.as_deref(), is_other.then_some(&stated));
        assert!((found.predicted_s.unwrap() / step - 1.0).abs() < 1e-9, "{:?}", found.predicted_s);
        assert!((lanes.length as f64 * 1e-9 / step - 1.0).abs() < 1e-6, "{} {step}", lanes.length);
        let words = since(&stated, &page, &found).map(|node| node.to_html()).unwrap_or_default();
        assert_eq!(words.contains("stays of the run that the files state"), is_other, "{words}");
        assert!(!words.contains("of the run as it is now"), "{words}");
    }
}

/// Who has loaded a trace is not asked for one: of a log alone it is the way on.
#[test]
fn a_trace_is_asked_for_where_there_is_none() {
    let run = run_with(&[("gpus", "8"), ("tp", "1"), ("pp", "1"), ("global_batch", "64")]);
    let asks = |found: &Diagnosis| {
        assert_eq!(found.comparison, Comparison::Inside, "{}", found.verdict);
        let html = diagnosis(found, "", &run, None).to_html();
        [html.contains("A trace of one rank shows every part"), html.contains("traces were read")]
    };
    let step = report(&run).unwrap().step.time_s.0;
    assert_eq!(asks(&of_series(&[step; 20], None, &run)), [true, false]);
    assert_eq!(asks(&of_traces(&[&made_trace(&run, MadeDelays::default()).unwrap()], &run)), [false, true]);
}

/// TFLOP/s that a log prints, by the formula of Megatron-LM's `num_floating_point_operations` for Llama 3.1 70B, with
/// all of causal attention (until 2024) and with half of it; H100's data sheet has 1,979 TFLOP/s in bf16, twice the
/// dense rate.
#[test]
fn printed_tflops_are_a_share_of_the_peak_and_some_way_of_counting() {
    let run =
        run_with(&[("model", "llama-3.1-70b"), ("gpus", "64"), ("tp", "8"), ("pp", "4"), ("global_batch", "128")]);
    let (b, s, l, h, ffn, v, seconds) = (128.0, 8192.0, 80.0, 8192.0, 28672.0, 128_256.0, 26.19);
    let counted = |attention: f64| {
        let layer = 1.0 + 8.0 / 64.0 + attention * s / h + ffn / h * 1.5 + v / (2.0 * l * h);
        12.0 * b * s * l * h * h * layer / seconds / 64.0 * 1e-12
    };
    let words = |tflops: f64, by| printed_rate(tflops, seconds, &run, by).map(|words| words.to_string());
    let [whole, half] = [1.0, 0.5].map(|attention| words(counted(attention), Some(CountedBy::Megatron)).unwrap());
    let share = format!("{:.1} % of the GPU's dense peak", counted(1.0) / 989.0 * 100.0);
    assert!(
        whole.ends_with(&format!(
            "until 2024 (all of causal attention) gives {:.1} for this run and step.",
            counted(1.0)
        ))
    );
    assert!(whole.contains(&share), "{share}: {whole}");
    assert!(
        half.ends_with(&format!("The formula of Megatron-LM gives {:.1} for this run and step.", counted(0.5))),
        "{half}"
    );
    let other = words(1.15 * counted(1.0), None).unwrap();
    assert!(other.contains("No way of counting that is known here gives them"), "{other}");
    // 1.7 % more: near PaLM's count, which has the embedding too, and not Megatron-LM's own.
    let more = words(1.017 * counted(1.0), Some(CountedBy::Megatron)).unwrap();
    assert!(more.contains("1.7 % off. The formula of PaLM paper gives"), "{more}");
    // Half of the work is no way to count: it is another run.
    assert_eq!(words(0.5 * counted(0.5), None), None);
}

/// A change that the page has already is not offered again.
#[test]
fn a_change_that_the_page_has_is_not_offered_again() {
    let own = run_with(&[("gpus", "64"), ("tp", "1"), ("pp", "8"), ("global_batch", "64")]);
    let step = report(&own).unwrap().step.time_s.0;
    let found = Diagnosis { own: Some(Box::new(own.clone())), ..of_series(&[step; 20], None, &own) };
    let remedy = found.remedies.iter().find(|remedy| remedy.told).unwrap();
    let made = own.with_texts(&remedy.set).unwrap();
    for (page, has_it) in [(Run::default(), false), (own.clone(), false), (made, true)] {
        let html = diagnosis(&found, "", &page, None).to_html();
        assert_eq!(html.contains("The page shows the run with it."), has_it, "{html}");
    }
}
