//! What each state of a diagnosis shows.

use super::*;
use shardscope_core::diagnose::{
    LaneKind, LaneSpan, MadeDelays, PartRow, StepShare, TraceLanes, made_trace, of_numbered_series, of_series,
    of_traces, out_of_memory,
};
use shardscope_core::time::PartKind;

fn shown(found: &Diagnosis, run: &Run) -> String {
    diagnosis(found, "", run, None).to_html()
}

fn small() -> Run {
    let set = [("gpus", "8"), ("tp", "1"), ("pp", "1"), ("global_batch", "64"), ("model.base", "llama-3.1-8b")];
    Run::default().with_texts(&set.map(|(key, value)| (key, value.to_owned()))).unwrap()
}

/// Widths of a bar's segments, percent.
fn widths(html: &str, class: &str) -> f64 {
    let parts = html.split("<i class=\"").skip(1).filter(|part| part.starts_with(class));
    let width = |part: &str| part.split_once("width:")?.1.split_once('%')?.0.parse::<f64>().ok();
    parts.filter_map(width).sum()
}

/// Measured parts of the upper bar fill as much of it as the window is of the axis.
#[test]
fn bars_are_as_long_as_their_seconds() {
    let mut found = Diagnosis::empty(Comparison::Longer, "x".into());
    (found.window_ns, found.predicted_s) = (4_000_000_000, Some(2.0));
    (found.low_s, found.high_s) = (Some(1.8), Some(2.2));
    for (name, measured_ns, predicted) in
        [(StepShare::Products, 3_000_000_000, 1.5), (StepShare::ExposedDp, 1_000_000_000, 0.5)]
    {
        found.parts.push(PartRow { rank: 0, name, measured_ns, predicted_s: Some(predicted) });
    }
    let html = shown(&found, &Run::default());
    let bars = html.split_once("class=\"parts\"").unwrap().0;
    // The axis is 2 % longer than the longest bar.
    assert!((widths(bars, "me d-f") + widths(bars, "me d-exposed") - 100.0 / 1.02).abs() < 0.01, "{bars}");
    assert!((widths(bars, "pr d-f") + widths(bars, "pr d-exposed") - 50.0 / 1.02).abs() < 0.01, "{bars}");
    assert!(html.contains("+ 2.00 s") && html.contains("What explains the 2.00 s"), "{html}");
}

/// A trace that is as predicted lists what its layout costs; with a delay its cause, and a link keeps both.
#[test]
fn inside_the_range_the_layout_itself_is_what_costs() {
    let run = small();
    let as_predicted = made_trace(&run, MadeDelays::default()).unwrap();
    let found = of_traces(&[&as_predicted], &run);
    assert_eq!(found.comparison, Comparison::Inside, "{}", found.verdict);
    let html = shown(&found, &run);
    assert!(html.contains("Inside the range") && html.contains("Make the range narrower"), "{html}");
    // What the layout itself costs are the parts of the report, to the digit, and no list of causes stands there.
    assert!(html.contains("Where the predicted step goes") && !html.contains("Nothing to explain"), "{html}");
    let step = evaluate(&run).unwrap().report.step;
    let kernels = step.parts.iter().find(|part| part.kind == PartKind::Kernels).unwrap().seconds;
    let shown_kernels = amount("amount", &show_seconds(kernels)).to_html();
    assert!(html.contains(&shown_kernels), "{html}");
    assert!(html.contains("Compared with the run on the page"), "{html}");
    let late = MadeDelays { late_reduction: 0.5 * found.predicted_s.unwrap(), ..MadeDelays::default() };
    let delayed = of_traces(&[&made_trace(&run, late).unwrap()], &run);
    assert_eq!(delayed.comparison, Comparison::Longer, "{}", delayed.verdict);
    assert_eq!(delayed.causes[0].id.id(), "grad-reduce-late");
    let html = shown(&delayed, &run);
    assert!(html.contains("Gradients are reduced while nothing else runs"), "{html}");
    // Without the delay it would be the step that was as predicted.
    let (without, before) = (delayed.causes[0].predicted_s.unwrap(), found.window_ns as f64 * 1e-9);
    assert!((without / before - 1.0).abs() < 0.05, "{without} {before}");
    assert!(html.contains("Without it the step would take"), "{html}");
    let text = shardscope_core::diagnose::brief(&delayed).unwrap();
    let again = shardscope_core::diagnose::of_brief(&text).unwrap();
    let html = diagnosis_of_link(&again, &run).to_html();
    assert!(html.contains("Gradients are reduced while nothing else runs") && html.contains("Exposed DP"), "{html}");
}

/// A log of another run than the page's says which it is compared with, and offers it.
#[test]
fn a_log_of_its_own_run_offers_that_run() {
    let page = Run::default();
    let own = small();
    let predicted = evaluate(&own).unwrap().report.step.time_s.0;
    let found = Diagnosis { own: Some(Box::new(own.clone())), ..of_series(&[predicted; 40], None, &own) };
    let view = diagnosis(&found, "", &page, None);
    let html = view.to_html();
    assert!(html.contains("Compared with the run that the files state: Llama 3.1 8B · 8 × H100"), "{html}");
    assert!(html.contains("use-run") && html.contains("calibrate") && html.contains("layouts"), "{html}");
    // The predicted bar has the rows of the Run view's step, each with its name and time.
    for ((name, ..), time) in crate::panels::waterfall::parts(&evaluate(&own).unwrap().report.step) {
        let row = format!("{name} {}<", shardscope_core::units::show_seconds(time));
        let words = html.replace("<span>", "").replace("</span>", "<");
        assert!(time.0 <= 0.0 || words.contains(&row), "{row} {words}");
    }
}

/// A log alone gives no part any seconds, and says what its steps speak against.
#[test]
fn a_log_gives_no_seconds_to_a_part() {
    let run = small();
    let predicted = evaluate(&run).unwrap().report.step.time_s.0;
    let found = of_series(&[3.0 * predicted; 40], None, &run);
    let html = shown(&found, &run);
    assert!(html.contains("Consistent with this log") && html.contains("Not consistent"), "{html}");
    assert!(found.causes.iter().all(|cause| cause.seconds.is_none()));
}

/// A log that states another run than the page's: the predicted bar is of the log's run, a third of the measured one.
#[test]
fn the_parts_under_a_log_are_those_of_its_own_run() {
    let run = small();
    let predicted = evaluate(&run).unwrap().report.step.time_s.0;
    let found = of_series(&[3.0 * predicted; 40], None, &run);
    let html = shown(&found, &Run::default());
    assert!((widths(&html, "pr ") - 100.0 / 3.0 / 1.02).abs() < 1.0, "{}", widths(&html, "pr "));
}

/// 1.78 GiB short: the box of what was asked for begins where the memory in use ends, and crosses the limit.
#[test]
fn what_was_asked_for_crosses_the_limit() {
    const GIB: f64 = 1_073_741_824.0;
    let asked_more = || shardscope_core::diagnose::OutOfMemory {
        asked: Some(3.91 * GIB),
        total: Some(79.19 * GIB),
        free: Some(2.13 * GIB),
        allocated: Some(73.90 * GIB),
        unused: Some(1.31 * GIB),
        process: Some(77.06 * GIB),
        ..Default::default()
    };
    let html = memory::bars(&out_of_memory(asked_more(), Some(&small()))).to_html();
    let of = |class: &str, what: &str| -> f64 {
        let part = html.split(&format!("<i class=\"{class}\"")).nth(1).unwrap();
        part.split_once(what).unwrap().1.split_once('%').unwrap().0.parse().unwrap()
    };
    let limit: f64 = html.split_once("<s style=\"left:").unwrap().1.split_once('%').unwrap().0.parse().unwrap();
    let (from, width) = (of("asked", "left:"), of("asked", "width:"));
    assert!(from < limit && limit < from + width, "{from} {limit} {width}");
    // The axis names the limit where its line stands; what the line of the message adds up to, and the bracket, are
    // named as well.
    let named = html.split_once("class=\"limit").unwrap().1;
    let place: f64 = named.split_once("left:").unwrap().1.split_once('%').unwrap().0.parse().unwrap();
    assert!(place == limit && named.contains("limit 79.2 GiB"), "{named}");
    assert!(html.contains("in use and asked for") && html.contains(">81.0<"), "{html}");
    let [low, _, high, _] = out_of_memory(asked_more(), Some(&small())).need.unwrap();
    let range = format!("range {} to {}", show_bytes(Bytes(low)), show_bytes(Bytes(high)));
    assert!(html.contains(&range), "{range} {html}");
    assert!((of("free", "left:") - from).abs() < 1e-3);
}

/// A message without a total and without a run: what was in use and asked for is drawn, and no limit is, nor named.
#[test]
fn no_limit_is_named_where_none_is_known() {
    let gib = |size: f64| Some(size * 1_073_741_824.0);
    let message = |total| shardscope_core::diagnose::OutOfMemory {
        asked: gib(2.0),
        allocated: gib(77.0),
        unused: gib(2.0),
        total,
        ..Default::default()
    };
    let bars = |total, run: Option<&Run>| memory::bars(&out_of_memory(message(total), run)).to_html();
    let html = bars(None, None);
    assert!(html.contains("in use and asked for") && html.contains(">81.0<"), "{html}");
    assert!(!html.contains("limit") && !html.contains("<s "), "{html}");
    // The total of the message, else the GPU of the run.
    for html in [bars(gib(79.2), None), bars(None, Some(&small()))] {
        assert!(html.contains("limit 79.2 GiB") && html.contains("<s "), "{html}");
    }
}

/// An outlined part is of tensors or of none: the parts that are tensors are what the sentence below the bar calls
/// allocated, and its rest is the one part that is none.
#[test]
fn the_predicted_parts_are_counted_as_their_sentence_counts() {
    let unfused = vec![("cross_entropy", "megatron".to_owned()), ("micro_batch", "2".to_owned())];
    let run = small().with_texts(&unfused).unwrap();
    let gib = 1_073_741_824.0;
    let message = shardscope_core::diagnose::OutOfMemory {
        asked: Some(0.2 * gib),
        total: Some(79.1 * gib),
        allocated: Some(20.0 * gib),
        ..Default::default()
    };
    let found = out_of_memory(message, Some(&run));
    let parts = found.predicted_parts();
    let [tensors, need] = [found.predicted_tensors().unwrap()[1], found.need.unwrap()[1]];
    let (besides, own): (Vec<_>, Vec<_>) = parts.iter().partition(|part| part.0 == "process and fragmentation");
    let sum = |parts: &[&(&str, f64)]| parts.iter().map(|part| part.1).sum::<f64>();
    assert!((sum(&own) / tensors - 1.0).abs() < 1e-9, "{parts:?} {tensors}");
    assert!((sum(&besides) / (need - tensors) - 1.0).abs() < 1e-9, "{parts:?} {need} {tensors}");
    assert!(own.iter().any(|part| part.0 == "logits at their peak"), "{parts:?}");
    let html = memory::bars(&found).to_html();
    assert!(html.contains(&show_bytes(Bytes(need - tensors))) && !html.contains(">overhead<"), "{html}");
}

/// A cause that is alone not what the run failed of stands last, without a number and without a press; a run too large
/// that no change here makes fit leads to Run.
#[test]
fn what_is_not_enough_alone_has_no_number_and_no_press() {
    use shardscope_core::diagnose::{CauseId, FoundCause};
    let run = small();
    let mut found = shardscope_core::diagnose::of_memory(shardscope_core::diagnose::OutOfMemory::default(), Some(&run));
    let memory = found.memory.as_mut().unwrap();
    memory.need = memory.need.map(|[.., capacity]| [1.9, 2.0, 2.1, 1.0].map(|times| times * capacity));
    let cause = |id: CauseId, missing, set| FoundCause {
        bytes: Some(1e9),
        missing,
        set,
        predicted_s: Some(1.0),
        ..FoundCause::new(id, "x".into())
    };
    let halved = vec![("micro_batch", "1".to_owned())];
    found.causes = vec![cause(CauseId::Logits, Some(2e9), halved), cause(CauseId::NeverFitted, None, Vec::new())];
    let html = causes::causes(&found, None).to_html();
    let (first, last) = html.split_once("<li class=\"rest\"").unwrap_or_else(|| panic!("{html}"));
    assert!(first.contains("See what fits on Run") && first.contains(">1<"), "{html}");
    assert!(last.contains("Logits and loss: not enough alone") && !last.contains("<button"), "{html}");
}

/// Zooming keeps within the window and shows what a cause is.
#[test]
fn the_timeline_stays_within_its_window() {
    let span = |begin, end, kind| LaneSpan { begin, end, kind };
    let measured = TraceLanes {
        length: 1_000_000_000,
        compute: vec![
            span(0, 400_000_000, LaneKind::Forward),
            span(400_000_000, 500_000_000, LaneKind::Pause),
            span(500_000_000, 1_000_000_000, LaneKind::Backward),
        ],
        messages: Vec::new(),
    };
    let lanes = LanePair { rank: Some(0), measured, predicted: None };
    let whole = lanes.whole();
    assert_eq!((whole.begin, whole.end), (0, 1_000_000_000));
    let near = lanes.around(shardscope_core::diagnose::CauseId::HostPause).unwrap();
    assert!(near.begin <= 400_000_000 && near.end >= 500_000_000 && near.end - near.begin < whole.end);
    for zoom in [lanes.moved(whole, 3.0), lanes.zoomed(whole, 1e9), lanes.zoomed(near, 1e-9), lanes.moved(near, -9.0)] {
        assert!(zoom.begin >= 0 && zoom.end <= whole.end && zoom.end > zoom.begin, "{zoom:?}");
    }
    let html = diagnosis(&Diagnosis::empty(Comparison::AnotherRun, "x".into()), "", &small(), Some((&lanes, whole)));
    assert!(html.to_html().contains("l-pause"));
}

/// The median step of a log is inside the range and two steps are long: one sentence says that, none that the run
/// is as predicted.
#[test]
fn long_steps_beside_a_median_inside_the_range_are_to_be_explained() {
    let run = small();
    let predicted = evaluate(&run).unwrap().report.step.time_s.0;
    let mut steps = [predicted; 20];
    (steps[9], steps[16]) = (2.0 * predicted, 2.0 * predicted);
    let html = shown(&of_series(&steps, None, &run), &run);
    assert!(html.contains("Inside the range") && !html.contains("that is predicted for this layout"), "{html}");
    // The first of twenty steps is left out, two of the others are twice as long: 2 of 21 units of time.
    assert!(html.contains("Inside the range, but spikes take 9.5 %"), "{html}");
    assert!(!html.contains("less time than this one"), "{html}");
    assert!(html.contains("Two spikes of one height") && html.contains("Consistent with this log"), "{html}");
    let flat = shown(&of_series(&[predicted; 20], None, &run), &run);
    assert!(flat.contains("that is predicted for this layout") && !flat.contains("Causes"), "{flat}");
}

/// The key of a log's chart names the measured line, the predicted one and the range; no name lies over the lines.
#[test]
fn the_lines_of_a_log_are_named_beside_the_chart() {
    let run = small();
    let step = evaluate(&run).unwrap().report.step;
    let found = of_series(&[step.time_s.0; 20], None, &run);
    let html = steps::chart(&found, found.series.as_ref().unwrap()).to_html();
    let (head, drawing) = html.split_once("<figure").unwrap();
    let [low, predicted, high] = [step.low_s, step.time_s, step.high_s].map(show_seconds);
    for words in ["measured".to_owned(), format!("predicted {predicted}"), format!("range {low} to {high}")] {
        assert!(head.contains(&words) && !drawing.contains(&words), "{words} {html}");
    }
    assert!(drawing.contains("stroke-dasharray"), "{drawing}");
}

/// A range that reaches further up than down says both ends, and what no cause explains is the last row, also where it
/// is nothing.
#[test]
fn the_calculators_own_error_has_both_ends_and_the_rest_a_row() {
    use shardscope_core::diagnose::{CauseId, FoundCause};
    let mut found = Diagnosis::empty(Comparison::Longer, "x".into());
    (found.window_ns, found.predicted_s) = (4_000_000_000, Some(2.0));
    (found.low_s, found.high_s) = (Some(1.9), Some(2.4));
    found.parts.push(PartRow {
        rank: 0,
        name: StepShare::ExposedDp,
        measured_ns: 4_000_000_000,
        predicted_s: Some(2.0),
    });
    // The step is 2 s longer: the seconds of the cause, what is left, and whether the cause is all of it.
    for (seconds, left, is_all) in
        [(2.0, "0 s", true), (1.0, "1.00 s", false), (1.97, "30.0 ms", false), (2.5, "0 s", false)]
    {
        found.causes =
            vec![FoundCause { seconds: Some(seconds), ..FoundCause::new(CauseId::GradReduceLate, "x".into()) }];
        found.explained = Some((seconds / 2.0_f64).min(1.0));
        let list = causes::causes(&found, None);
        let html = list.to_html();
        assert!(html.contains("may be off by") && html.contains("− 100 ms") && html.contains("+ 400 ms"), "{html}");
        let last = html.split_once("<li class=\"rest\"").unwrap_or_else(|| panic!("{html}")).1;
        assert!(last.contains("Not explained"), "{last}");
        assert_eq!(last.contains("the whole difference"), is_all, "{seconds} {last}");
        assert_eq!(last.contains("more than the difference"), seconds > 2.0, "{seconds} {last}");
        assert_eq!(html.contains("other parts 500 ms less"), seconds > 2.0, "{html}");
        let figures = list.figures();
        let shown: Vec<_> =
            figures.iter().filter(|(field, ..)| field == "not explained").map(|(.., shown)| shown).collect();
        assert_eq!(shown, [left], "{seconds}");
    }
}

/// The first step compiles for ten times a step: it is cut, and the axis is of the others. Each setting that a log is
/// consistent with has a button that sets it.
#[test]
fn the_first_step_of_a_log_sets_no_axis() {
    let run = small();
    let predicted = evaluate(&run).unwrap().report.step.time_s.0;
    let mut steps = [1.6 * predicted; 30];
    steps[0] = 16.0 * predicted;
    let found = of_series(&steps, None, &run);
    let html = shown(&found, &run);
    let longest = show_seconds(Seconds(16.0 * predicted));
    assert!(html.contains(&format!("the first steps, up to {longest}, are cut")), "{html}");
    let above = show_percent(found.series.as_ref().unwrap().median_s / found.predicted_s.unwrap() - 1.0);
    assert!(html.contains(&format!("Flat, {above} above the prediction")), "{html}");
    let ticks = steps::chart(&found, found.series.as_ref().unwrap()).to_html();
    assert!(!ticks.contains(&show_seconds(Seconds(8.0 * predicted))), "{ticks}");
    let set: Vec<_> = found.causes.iter().filter(|cause| !cause.set.is_empty()).collect();
    assert!(!set.is_empty() && html.matches("See the run with it").count() == set.len(), "{html}");
    for cause in set {
        let after = run.with_texts(&cause.set).unwrap();
        let step = evaluate(&after).unwrap().report.step.time_s.0;
        assert!((step / cause.predicted_s.unwrap() - 1.0).abs() < 1e-6, "{cause:?}");
    }
}

/// A log of full recomputation that is not needed: the part names the setting, its gain and a press that makes the
/// change on the run of the log; the chart counts the steps as the log does.
#[test]
fn a_slow_log_says_which_setting_would_shorten_it() {
    let run = small().with_texts(&[("recompute", "full"), ("tp", "2"), ("seq_len", "2048")]).unwrap();
    let predicted = evaluate(&run).unwrap().report.step.time_s.0;
    let numbers: Vec<u64> = (0..40).map(|at| 5000 + 10 * at).collect();
    let found = of_numbered_series(&[predicted; 40], &numbers, None, &run, &[]);
    let html = shown(&found, &run);
    let remedy = found.remedies.iter().find(|one| one.part == PartKind::Recompute).unwrap();
    assert!(remedy.told, "{remedy:?}");
    let after = run.with_texts(&remedy.set).unwrap();
    let step = evaluate(&after).unwrap().report.step.time_s;
    assert!(html.contains("Recompute none") && html.contains(&show_seconds(step)), "{html}");
    assert!(html.contains(">Use<") && html.contains("Where the predicted step goes"), "{html}");
    let chart = steps::chart(&found, found.series.as_ref().unwrap()).to_html();
    assert!(chart.contains(">5100<") && !chart.contains(">40<"), "{chart}");
}

/// A run that was changed after the files were read: what changed stands over the diagnosis, and whose prediction it
/// has: a log alone is compared with the page's run, a script beside it keeps its own.
#[test]
fn a_change_of_the_run_is_named() {
    let run = small();
    let now = run.with_texts(&[("recompute", "full".to_owned())]).unwrap();
    let mut found = of_numbered_series(&[1.0; 4], &[1, 2, 3, 4], None, &now, &[]);
    assert!(since(&run, &run, &found).is_none());
    let html = since(&run, &now, &found).unwrap().to_html();
    assert!(html.contains("full") && html.contains("See the run") && html.contains("as it is now"), "{html}");
    found.own = Some(Box::new(run.clone()));
    let html = since(&run, &now, &found).unwrap().to_html();
    assert!(html.contains("stays of the run that the files state") && !html.contains("as it is now"), "{html}");
}

/// No run was given: the page says so first, before its bars, and leads to each setting that a run has to state.
#[test]
fn without_a_run_the_first_thing_to_do_is_to_state_it() {
    let gib = |size: f64| Some(size * 1_073_741_824.0);
    let message = shardscope_core::diagnose::OutOfMemory {
        asked: gib(2.0),
        free: gib(0.5),
        total: gib(79.1),
        allocated: gib(60.0),
        unused: gib(16.0),
        ..Default::default()
    };
    let page = Run::example();
    let found = shardscope_core::diagnose::of_memory(message.clone(), None);
    let view = diagnosis(&found, "", &page, None);
    let html = view.to_html();
    let place = |words: &str| html.find(words).unwrap_or_else(|| panic!("{words} {html}"));
    assert!(place("No run was given") < place("The GPU at that moment"), "{html}");
    assert!(html.contains("Llama 3.1 8B · 64 × H100") && !html.contains("predicted, outlined"), "{html}");
    let actions = view.actions();
    for key in TO_STATE {
        assert!(field(key).is_some() && actions.contains(&&Action::Focus(key)), "{key}");
    }
    // With a run there is no such line.
    let html = shown(&shardscope_core::diagnose::of_memory(message, Some(&small())), &small());
    assert!(!html.contains("No run was given") && html.contains("Compared with the run on the page"), "{html}");
    let layout = format!("TP 1 · PP 1 · ZeRO-{} · batch 64", small().zero);
    assert!(html.contains(&layout), "{layout} {html}");
}

/// A message that names a rank which is not the fullest: the sentence that has the figure says whose it is and what the
/// fullest needs; what is no tensor is the same figure there and in the key of the bar.
#[test]
fn the_rank_of_a_prediction_stands_beside_its_figure() {
    let run = Run::example();
    let gib = |size: f64| Some(size * 1_073_741_824.0);
    let last = run.gpus - 1;
    let message = shardscope_core::diagnose::OutOfMemory {
        asked: gib(0.2),
        total: gib(79.1),
        allocated: gib(20.0),
        rank: Some(last),
        ..Default::default()
    };
    let found = out_of_memory(message, Some(&run));
    let memory = evaluate(&run).unwrap().report.memory;
    assert!(found.need.unwrap()[1] < memory.need_bytes.0);
    let html = memory::bars(&found).to_html();
    for words in [
        format!("of rank {last}, which the message names"),
        format!("of pipeline rank {}, needs {}", memory.peak_stage, show_bytes(memory.need_bytes)),
    ] {
        assert!(html.contains(&words), "{words} {html}");
    }
    let besides = show_bytes(Bytes(found.besides));
    assert!(html.contains(&format!("{besides} are of the process")), "{besides} {html}");
    // The key of the bar says as much, and the sentence below it.
    let mut figures = memory::bars(&found).figures();
    figures.retain(|(field, ..)| field == "process and fragmentation");
    assert!(figures.len() == 2 && figures.iter().all(|(.., shown)| *shown == besides), "{figures:?} {besides}");
}
