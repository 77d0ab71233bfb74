//! Each picture in a sentence, for screen readers, titles and exports.

use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::advice::ScheduleFigures;
use shardscope_core::memory::host::HostMemory;
use shardscope_core::memory::verdict::Chance;
use shardscope_core::pipeline::able::runs_schedule;
use shardscope_core::pipeline::release::needed_release;
use shardscope_core::report::{Memory, Peak, Pipeline};
use shardscope_core::run::Method;
use shardscope_core::run::presets::{Stack, published};
use shardscope_core::search::can_run;

/// The word for what is tight with an estimate above the memory.
pub const MAY_RUN_OUT: &str = "May run out";
/// The word for what fits.
pub const FITS: &str = "Fits";
/// The word for what is tight with an estimate that is not above the memory.
pub const TIGHT: &str = "Tight";
/// The word for what fits by its need where the software does not run it.
pub const WOULD_FIT: &str = "Would fit";
/// The word for what does not fit.
pub const OUT: &str = "Out of memory";

/// The verdict on `bytes` of a GPU that has `capacity`, in words: above the card none is called tight.
fn verdict(verdict: Verdict, bytes: Bytes, capacity: Bytes) -> &'static str {
    match verdict {
        Verdict::Fits => FITS,
        Verdict::Tight if verdict.may_run_out(bytes, capacity) => MAY_RUN_OUT,
        Verdict::Tight => TIGHT,
        Verdict::Oom => OUT,
    }
}

/// The runs to which a verdict is given, whatever their need: those that are tight are of both words.
pub const fn band(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => FITS,
        Verdict::Tight => "Tight or may run out",
        Verdict::Oom => OUT,
    }
}

/// The verdict on a report within a sentence: "fits", "is tight".
pub fn said(memory: &Memory) -> &'static str {
    within_sentence(memory.verdict, memory.may_run_out())
}

/// [`said_of_run`] of GPU and host together, whichever is worse.
pub fn said_of(run: &Run, peak: &Peak) -> &'static str {
    if would_fit(run, peak.overall) { "would fit" } else { within_sentence(peak.overall, peak.may_run_out()) }
}

fn within_sentence(verdict: Verdict, may_run_out: bool) -> &'static str {
    match verdict {
        Verdict::Fits => "fits",
        Verdict::Tight if may_run_out => "may run out of memory",
        Verdict::Tight => "is tight",
        Verdict::Oom => "is out of memory",
    }
}

/// [`said`] of `run`: what its software does not run is not said to fit.
pub fn said_of_run(run: &Run, memory: &Memory) -> &'static str {
    if would_fit(run, memory.verdict) { "would fit" } else { said(memory) }
}

/// The verdict on two runs, of which [`said_of_run`] says the same, within a sentence.
pub fn said_of_both(run: &Run, memory: &Memory) -> Message {
    match memory.verdict {
        verdict if would_fit(run, verdict) => t!("both would fit"),
        Verdict::Fits => t!("both fit"),
        Verdict::Tight if memory.may_run_out() => t!("both may run out of memory"),
        Verdict::Tight => t!("both are tight"),
        Verdict::Oom => t!("both are out of memory"),
    }
}

/// The verdict of a table, where the memory is another program's.
pub const fn marked(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Fits => ("ok", "✓ fits"),
        Verdict::Tight => ("warn", "▲ tight"),
        Verdict::Oom => ("error", "✕ out of memory"),
    }
}

/// A share that is saved: "23 % less".
pub fn less(share: f64) -> Message {
    t!("{saved} % less", saved = show_gain(share))
}

/// What is called the fastest: it fits, and the software of `run` can run it (`shardscope_core::search::serves`).
pub fn fastest(run: &Run) -> Message {
    let software = run.stack.preset_row().choice.label;
    if run.is_adapted_by_its_software() {
        t!("The fastest that fits here and that {software} can run", software)
    } else {
        t!("The fastest that fits here ({software} trains no adapters)", software)
    }
}

/// The class and the sign of a verdict; of a run's: [`verdict_words`].
pub const fn sign(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Fits => ("fits", "✓ "),
        Verdict::Tight => ("tight", "▲ "),
        Verdict::Oom => ("oom", "✕ "),
    }
}

/// The verdict of GPU and host on `run` in a sentence, with the figure that it is of: "fits, 61.2 GiB".
pub fn fits(run: &Run, peak: &Peak, figure: &str) -> Message {
    let figure = figure.to_owned();
    match peak.overall {
        verdict if would_fit(run, verdict) => t!("would fit, {figure}", figure),
        Verdict::Tight if peak.may_run_out() => t!("may run out, {figure}", figure),
        Verdict::Fits => t!("fits, {figure}", figure),
        Verdict::Tight => t!("tight, {figure}", figure),
        Verdict::Oom => t!("out of memory, {figure}", figure),
    }
}

/// A step beside that of a Run that does not fit, as their ratio: "6 % more than this layout would take".
pub fn against(ratio: f64) -> Message {
    let share = format!("{:.0}", 100.0 * (ratio - 1.0).abs());
    match ratio {
        _ if share == "0" => t!("as long as this layout would take"),
        ..1.0 => t!("{share} % less than this layout would take", share),
        _ => t!("{share} % more than this layout would take", share),
    }
}

/// True if `ratio` of the steps of two layouts of `run` is further from 1 than the error of such differences.
pub fn is_told(run: &Run, ratio: f64) -> bool {
    let ratio = ratio.max(1.0 / ratio);
    shardscope_core::search::is_told(run, 1.0, ratio)
}

/// The sentence beside a difference of two steps of layouts of `run`, given as their ratio, where no estimate tells
/// which of them is shorter; none of steps that are the same, and none beyond the error of such differences.
pub fn untold(run: &Run, ratio: f64) -> Option<Message> {
    let differs = (ratio - 1.0).abs() >= SMALLEST_PRINTED && !is_told(run, ratio);
    differs.then(|| shardscope_core::search::untold(run, 1.0, ratio.max(1.0 / ratio)))
}

/// Sizes of a layout that are not 1, and the data-parallel one: `TP 8 · DP 4`.
pub fn sizes(run: &Run, dp: u64) -> String {
    let sizes = [("TP", run.tp), ("PP", run.pp), ("CP", run.cp), ("EP", run.ep), ("ETP", run.etp)];
    let cut = sizes.into_iter().filter(|(_, size)| *size > 1).chain([("DP", dp)]);
    cut.map(|(name, size)| format!("{name} {size}")).collect::<Vec<_>>().join(" · ")
}

/// The schedule with its chunks a rank, wherever a layout is named.
pub fn schedule(run: &Run) -> Message {
    let name = Message::plain(run.schedule.choice().label);
    match run.virtual_stages {
        1 => name,
        chunks => t!("{name} × {chunks}", name, chunks),
    }
}

/// Says that the software of `run` has not what its layout needs; none where it has.
pub fn unable(run: &Run) -> Option<Message> {
    let is_run = can_run(run) && run.is_adapted_by_its_software();
    (!is_run).then(|| not_in(run.stack.preset_row()))
}

/// The release that the layout of `run` needs, where its software may be an earlier one: "needs Megatron Core 0.9".
pub fn needed(run: &Run) -> Option<Message> {
    needed_release(run).map(|needed| t!("needs {release}", release = needed.release()))
}

/// What the software of `run` does not run of it, in a sentence without its end; none where it runs all, and of a
/// published run, which ran.
pub fn why_unable(run: &Run) -> Option<Message> {
    let adapters = || {
        let software = run.stack.preset_row().choice.label;
        (!run.is_adapted_by_its_software()).then(|| t!("{software} trains no adapters", software))
    };
    shardscope_core::pipeline::able::why_unable(run).or_else(adapters).filter(|_| published(run).is_none())
}

/// That a search for the layouts that the software of `run` can run has none, and what that says of the layout of
/// `run`: it may be one of its own stages.
pub fn none_divides(run: &Run) -> Message {
    let software = run.stack.preset_row().choice.label;
    let none = t!(
        "The search has no other layout: none that it tries with {software} divides these GPUs, this batch and this \
            model.",
        software
    );
    let why = shardscope_core::pipeline::able::why_unable(run);
    let why = why.map(|why| t!("{why}: with other software there may be some.", why));
    Message::joined(" ", std::iter::once(none).chain(why))
}

/// True if the memory of `run`, on which the verdict is `verdict`, fits, and its software does not run it.
fn would_fit(run: &Run, verdict: Verdict) -> bool {
    verdict == Verdict::Fits && why_unable(run).is_some()
}

/// Class, sign and word of a verdict.
pub type VerdictWords = (&'static str, &'static str, &'static str);

/// `given` on `bytes` of `run` in what has `capacity`: what its software does not run is not said to fit.
pub fn verdict_words(run: &Run, given: Verdict, [bytes, capacity]: [Bytes; 2]) -> VerdictWords {
    if would_fit(run, given) {
        let (class, mark) = sign(Verdict::Tight);
        return (class, mark, WOULD_FIT);
    }
    let (class, mark) = sign(given);
    (class, mark, verdict(given, bytes, capacity))
}

/// [`verdict_words`] of the fullest rank of `run`, which needs `peak`.
pub fn verdict_of(run: &Run, peak: &Peak) -> VerdictWords {
    verdict_words(run, peak.verdict, [peak.bytes, peak.capacity])
}

/// [`verdict_words`] of `run` under the schedule that `set` makes of it.
pub fn verdict_under(run: &Run, set: &[(&'static str, String)], figures: &ScheduleFigures) -> VerdictWords {
    let under = run.with_texts(set);
    verdict_words(under.as_ref().unwrap_or(run), figures.verdict, [figures.peak_bytes, figures.capacity_bytes])
}

/// Says that the software of `run` does not run the schedule that `set` makes of it; none where it does.
pub fn unnamed(run: &Run, set: &[(&'static str, String)]) -> Option<Message> {
    let under = run.with_texts(set)?;
    (!runs_schedule(&under)).then(|| not_in(run.stack.preset_row()))
}

fn not_in(stack: &Stack) -> Message {
    t!("not in {software}", software = verbatim(stack.choice.label))
}

/// "Rank 0 peaks at 61.2 GiB of 79.2 GiB; the largest part: activations, 41 %." `whose` is the run that has the memory.
pub fn memory(memory: &Memory, unit: MemoryUnit, whose: &Scope) -> Message {
    let Some(rank) = memory.fullest() else {
        return Message::default();
    };
    let (component, bytes) = rank.components().into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0)).unwrap_or_default();
    let peak = whose.says("memory.peak_bytes", unit.show(memory.peak_bytes));
    let capacity = whose.says("memory.capacity_bytes", unit.show(memory.capacity_bytes));
    if let Some(phase) = memory.peak_phase() {
        return t!(
            "Phase {phase} peaks at {peak} of {capacity}; the largest part: {component}, {share} %. The bars are of \
                training alone.",
            phase = phase.name,
            peak,
            capacity,
            component,
            share = format!("{:.0}", 100.0 * (bytes / memory.peak_bytes))
        );
    }
    t!(
        "Rank {rank} peaks at {peak} of {capacity}; the largest part: {component}, {share} %.",
        rank = memory.peak_stage,
        peak,
        capacity,
        component,
        share = format!("{:.0}", 100.0 * (bytes / memory.peak_bytes))
    )
}

/// Says that the run does not fit, with both figures, on its GPU or on the host of a node; none where it may fit.
pub fn runs_out(memory: &Memory, unit: MemoryUnit) -> Option<Message> {
    let says = |field: &str, text: String| Scope::run().says(field, text);
    if memory.verdict == Verdict::Oom {
        // Other methods count no process: their range is above the memory where their bytes may not be.
        let is_over = memory.peak_bytes > memory.capacity_bytes;
        let (field, bytes) =
            if is_over { ("memory.peak_bytes", memory.peak_bytes) } else { ("memory.need_bytes", memory.need_bytes) };
        return Some(t!(
            "Out of memory on this page: needs {need} of {capacity}.",
            need = says(field, unit.number(bytes)),
            capacity = says("memory.capacity_bytes", unit.show(memory.capacity_bytes))
        ));
    }
    let host = memory.host.as_ref().filter(|host| host.verdict == Some(Verdict::Oom))?;
    Some(t!(
        "Out of memory on this page: the host of a node needs {need} of {capacity}.",
        need = says("memory.host.total_bytes", unit.number(host.total_bytes)),
        capacity = says("memory.host.capacity_bytes", unit.show(host.capacity_bytes?))
    ))
}

/// Says that times and costs of `run` are of a run that does not fit, or that its software does not run, with the
/// reason; none of any other, and of a published run, which ran.
pub fn only_if(run: &Run, memory: &Memory, unit: MemoryUnit) -> Option<Message> {
    let unfit = runs_out(memory, unit).filter(|_| published(run).is_none());
    let unable = why_unable(run).map(|why| t!("{why}.", why));
    let condition = match (&unfit, &unable) {
        (None, None) => return None,
        (Some(_), None) => t!("Steps, days and costs are those it would have if it fitted."),
        (None, Some(_)) => t!("Steps, days and costs are those it would have if it ran."),
        (Some(_), Some(_)) => t!("Steps, days and costs are those it would have if it fitted and ran."),
    };
    Some(Message::joined(" ", [unfit, unable, Some(condition)].into_iter().flatten()))
}

/// Used memory of a node's host in `run`: "Host: 96.0 of 128 GiB, Fits".
pub fn host(run: &Run, host: &HostMemory, unit: MemoryUnit) -> Option<Message> {
    Some(t!(
        "Host memory: {peak} of {capacity}, {verdict}",
        peak = Scope::run().says("memory.host.total_bytes", unit.number(host.total_bytes)),
        capacity = Scope::run().says("memory.host.capacity_bytes", unit.show(host.capacity_bytes?)),
        verdict = verdict_words(run, host.verdict?, [host.total_bytes, host.capacity_bytes?]).2
    ))
}

/// Share by which the estimate of a run that ran is above its memory, and as it is printed, in percent.
fn above(memory: &Memory) -> (f64, String) {
    let over = memory.peak_bytes / memory.capacity_bytes - 1.0;
    (over, if over < 0.1 { format!("{:.1}", 100.0 * over) } else { format!("{:.0}", 100.0 * over) })
}

/// What the verdict on a run that is published as having run means: nothing where it says that the run fits.
pub fn ran(memory: &Memory) -> Option<Message> {
    let (over, share) = above(memory);
    match memory.verdict {
        Verdict::Fits => None,
        _ if over > 0.0 => Some(t!("It ran as published; our estimate is {share} % above the memory.", share)),
        _ => Some(t!("It ran as published; the range of our estimate passes the memory.")),
    }
}

/// [`ran`] in few words, for the line below the verdict.
pub fn ran_briefly(memory: &Memory) -> Option<Message> {
    let (over, share) = above(memory);
    match memory.verdict {
        Verdict::Fits => None,
        _ if over > 0.0 => Some(t!("It ran; our estimate is {share} % above the memory", share)),
        _ => Some(t!("It ran; our range passes the memory")),
    }
}

/// The verdict on the memory of `run` with its evidence: "Uses 38.0 % of usable memory. Of 132 measured runs that set
/// this rule and that it says fit, none ran out of memory." Of a published run that ran, first what the verdict means.
pub fn known(run: &Run, memory: &Memory) -> Message {
    let Chance { like, ran_out } = memory.chance;
    let outcome = match ran_out {
        _ if !memory.phases.is_empty() => {
            t!("The measured runs that set this rule have no phases of reinforcement learning: none is counted here.")
        }
        _ if like == 0 => t!("None of the measured runs that set this rule has this verdict."),
        _ if ran_out == like && published(run).is_some() => t!(
            "Of {like} measured runs that set this rule and that it says do not fit, all ran out of memory; this run \
                is not among them: its source prints no memory, nor all that was done to make it fit.",
            like
        ),
        0 => t!("Of {like} measured runs that set this rule and that it says fit, none ran out of memory.", like),
        _ if ran_out == like => {
            t!("Of {like} measured runs that set this rule and that it says do not fit, all ran out of memory.", like)
        }
        _ => t!("{ran_out} of {like} measured runs as tight as this ran out.", like, ran_out),
    };
    let of = if memory.method == Method::Fujii.id() { t!("the memory on the box") } else { t!("usable memory") };
    let share = Scope::run().says("memory.need_bytes share", show_percent(memory.need_bytes / memory.capacity_bytes));
    let uses = match memory.verdict {
        Verdict::Fits => t!("Uses {share} of {of}.", share, of),
        Verdict::Tight if memory.may_run_out() => t!("May run out: {share} of {of}.", share, of),
        Verdict::Tight => t!("Tight: {share} of {of}.", share, of),
        Verdict::Oom => t!("Does not fit: {share} of {of}.", share, of),
    };
    let ran = published(run).and_then(|_| ran(memory));
    Message::joined(" ", ran.into_iter().chain([uses, outcome]))
}

/// The fullest rank; where it may not fit, with what is known of that: "Rank 3: 103 % of usable; of 19 measured runs
/// that set this rule and were as tight, 17 ran out".
pub fn fullest(peak: &Peak) -> Message {
    let rank = peak.rank;
    let Chance { like, ran_out } = peak.chance;
    if peak.verdict == Verdict::Tight && like > 0 {
        let share = show_percent(peak.need / peak.capacity);
        t!(
            "Fullest GPU, rank {rank}: {share} of usable; of {like} measured runs that set this rule and were as \
                tight, {ran_out} ran out",
            rank,
            share,
            like,
            ran_out
        )
    } else {
        t!("Fullest GPU: rank {rank}", rank)
    }
}

/// "4 ranks run 32 micro-batches in 4.82 s; 21.4 % of it is idle, 27.3 % of the ideal time; 24.1 % in span, as the
/// zero-bubble papers count."
pub fn pipeline(pipeline: &Pipeline, microbatches: u64) -> Message {
    let step = t!(
        "{ranks} {microbatches} in {makespan}; {bubble} of it is idle, {over_ideal} of the ideal time; \
            {in_span} in span, as the zero-bubble papers count.",
        ranks = ranks(pipeline.peak_in_flight.len()),
        microbatches = of_microbatches(microbatches),
        makespan = show_seconds(pipeline.makespan_s),
        bubble = show_percent(pipeline.bubble_fraction),
        over_ideal = show_percent(pipeline.bubble_over_ideal),
        in_span = show_percent(pipeline.bubble_span)
    );
    Message::joined(" ", std::iter::once(step).chain(once(pipeline)))
}

/// "1 micro-batch", "32 micro-batches".
pub fn of_microbatches(count: u64) -> Message {
    match count {
        1 => t!("1 micro-batch"),
        count => t!("{count} micro-batches", count),
    }
}

/// "1 rank", "4 ranks".
pub fn of_ranks(count: usize) -> Message {
    match count {
        1 => t!("1 rank"),
        count => t!("{count} ranks", count),
    }
}

/// "1 rank runs", "4 ranks run".
pub fn ranks(count: usize) -> Message {
    match count {
        1 => t!("1 rank runs"),
        ranks => t!("{ranks} ranks run", ranks),
    }
}

/// Times that a schedule that never drains takes once in a training and not in every step.
pub fn once(pipeline: &Pipeline) -> Option<Message> {
    let (fill, drain) = pipeline.fill_s.zip(pipeline.drain_s)?;
    Some(t!(
        "Steady state: this schedule never drains between steps. Fill ({fill}) and drain ({drain}) happen once in a \
            training; the timeline draws one step with both.",
        fill = show_seconds(fill),
        drain = show_seconds(drain)
    ))
}

/// Beginning of the tab's title: "Fits 31.1 GiB".
pub fn peak(run: &Run, report: &Report, unit: MemoryUnit) -> Message {
    let (.., verdict) = verdict_of(run, &report.memory.peak());
    t!("{verdict} {peak}", verdict, peak = Scope::run().says("memory.peak_bytes", unit.show(report.memory.peak_bytes)))
}

/// The title of a frame whose picture shows no verdict of its own: the Run in a line and what it needs, where that is
/// known.
pub fn framed(run: &Run, report: Option<&Report>, unit: MemoryUnit) -> Message {
    Message::joined(" · ", [line(run)].into_iter().chain(report.map(|report| peak(run, report, unit))))
}

/// The Run's name: "Llama 3.1 8B on 64 GPUs".
pub fn name(run: &Run) -> Message {
    match run.gpus {
        1 => t!("{model} on 1 GPU", model = run.model.title()),
        gpus => t!("{model} on {gpus} GPUs", model = run.model.title(), gpus),
    }
}

/// The Run in a line: "Llama 3.1 8B · 64 × H100 80 GB · TP2 PP4".
pub fn line(run: &Run) -> Message {
    let degrees = [("TP", run.tp), ("PP", run.pp), ("CP", run.cp), ("EP", run.ep)];
    let degrees_above_one = degrees.iter().filter(|(_, degree)| *degree > 1);
    let degrees: Vec<_> = degrees_above_one.map(|(name, degree)| format!("{name}{degree}")).collect();
    let gpus = t!("{gpus} × {gpu}", gpus = run.gpus, gpu = run.gpu.title());
    let parts = [run.model.title(), gpus, verbatim(degrees.join(" "))];
    let named = parts.into_iter().filter(|part| !part.is_empty());
    Message::joined(" · ", named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::Based;
    use shardscope_core::run::presets::all_published;

    /// The outcomes of Fujii 2024, tables 3 and 4: 132 runs fit; of 31 tight ones 12 have an estimate below the memory,
    /// of which 1 ran out, and 19 one above it, of which 17 did; all 69 others did.
    #[test]
    fn what_is_known_of_a_verdict_is_what_became_of_measured_runs() {
        for (seq_len, words) in [
            (8_192, ["Uses", "Of 132 measured runs that set this rule and that it says fit, none ran out of memory."]),
            (27_648, ["Tight:", "1 of 12 measured runs as tight as this ran out."]),
            (30_720, ["May run out:", "17 of 19 measured runs as tight as this ran out."]),
            (
                65_536,
                [
                    "Does not fit:",
                    "Of 69 measured runs that set this rule and that it says do not fit, all ran out of memory.",
                ],
            ),
        ] {
            let run = Run { seq_len, ..Run::default() };
            let memory = shardscope_core::report::report(&run).unwrap().memory;
            let text = known(&run, &memory).to_string();
            assert!(words.iter().all(|part| text.contains(part)), "{text}");
            assert!(text.contains("% of usable memory."), "{text}");
        }
    }

    /// Fujii 2024 has no reinforcement learning. Whatever share a run of it uses, no count of runs stands beside it,
    /// and none is said to have been less close to its memory: 125 and more of them used 80 % or less.
    #[test]
    fn phases_of_reinforcement_learning_are_beside_no_measured_run() {
        let rl = crate::panels::rl::tests::asked();
        for seq_len in [2048, 4096, 65_536] {
            let rl =
                shardscope_core::run::RlParts { algorithm: Some(shardscope_core::run::Algorithm::Grpo), ..rl.clone() };
            let run = Run { rl, seq_len, ..Run::default() };
            let memory = shardscope_core::report::report(&run).unwrap().memory;
            let text = known(&run, &memory).to_string();
            assert!(text.ends_with("no phases of reinforcement learning: none is counted here."), "{text}");
        }
    }

    /// Every published run ran: a verdict on it that is not "fits" says so, and by how much the estimate is above the
    /// memory; one like it that nobody published is not said to have run.
    #[test]
    fn the_verdict_on_a_published_run_says_that_it_ran() {
        let mut above = [0, 0];
        for preset in all_published() {
            let mut run = preset.run();
            let memory = shardscope_core::report::report(&run).unwrap().memory;
            let text = known(&run, &memory).to_string();
            assert_eq!(text.starts_with("It ran as published; "), memory.verdict != Verdict::Fits, "{text}");
            assert_eq!(ran(&memory).is_some(), ran_briefly(&memory).is_some());
            if memory.verdict != Verdict::Fits {
                let is_above = memory.peak_bytes > memory.capacity_bytes;
                above[usize::from(is_above)] += 1;
                let word =
                    if is_above { "% above the memory." } else { "the range of our estimate passes the memory." };
                assert!(text.contains(word), "{text}");
            }
            // No outcome of the others stands as if it were this run's.
            let is_out = memory.verdict == Verdict::Oom;
            assert_eq!(text.contains("this run is not among them"), is_out, "{}: {text}", preset.id);
            run.global_batch *= 2;
            assert!(!known(&run, &memory).to_string().contains("It ran"), "{}", preset.id);
        }
        assert!(above[1] > 0, "{above:?}");
    }

    /// Megatron-LM has no ZB-V in its main branch, and Hugging Face's Trainer no pipeline.
    #[test]
    fn what_the_software_has_not_is_said() {
        let run = |stack, schedule| Run { stack: Based::preset(stack), schedule, ..Run::default() };
        assert_eq!(unable(&run("megatron-2025", Schedule::OneFOneB)), None);
        let message = unable(&run("megatron-2025", Schedule::ZbV)).unwrap().to_string();
        assert!(message.starts_with("not in ") && message.contains("Megatron-LM"), "{message}");
        assert!(unable(&run("hf-trainer", Schedule::OneFOneB)).is_some());
        // NVIDIA/Megatron-LM issue 554: adapters are NeMo's.
        let tuned = |stack| run(stack, Schedule::OneFOneB).with_texts(&[("adapter.method", "lora")]).unwrap();
        assert!(unable(&tuned("megatron-2024")).is_some() && unable(&tuned("megatron-2025")).is_none());
        assert!(!fastest(&tuned("megatron-2024")).to_string().contains("can run"));
        assert!(fastest(&tuned("megatron-2025")).to_string().contains("can run"));
    }

    #[test]
    fn a_run_is_named_by_model_gpus_and_the_sizes_above_one() {
        let run = Run { gpus: 16_384, ..Run::default() };
        assert_eq!(name(&run).to_string(), "Llama 3.1 8B on 16\u{202f}384 GPUs");
        assert_eq!(line(&run).to_string(), "Llama 3.1 8B · 16\u{202f}384 × H100 80 GB · TP2 PP4");
    }
}
