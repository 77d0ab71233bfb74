//! A step of reinforcement learning: a bar a group of GPUs, who waits, other splits of the GPUs, memory by phase, and
//! what is asked for where a setting is missing. Runs without it show nothing.

use crate::charts::drawing::Form;
use crate::charts::figure::key;
use crate::charts::ink::Ink;
use crate::charts::plot::{Plot, PlotAxis, PlotMark, PlotScale, draw};
use crate::charts::ticks::tick_label;
use crate::node::figure::Scope;
use crate::panels::budget::{money, sign};
use crate::prelude::*;
use shardscope_core::issue::Issue;
use shardscope_core::rl::{GpuGroup, OVER_TRAINING, PhaseName, RlChange, RlReply, RlStep, WaitsFor, changes, of_run};
use shardscope_core::run::registry::field;
use shardscope_core::run::{RlParts, RolloutPlacement};

/// Colours of the bars, and their words.
const KEY: [(&str, &str); 9] = [
    ("c-activations", "read the prompts"),
    ("c-forward", "generate"),
    ("c-kernels", "the last tenth of the responses"),
    ("c-host", "tools, verifier, reward"),
    ("c-gradients", "log-probabilities, values"),
    ("c-backward", "updates"),
    ("c-exposed", "new weights to the engines"),
    ("c-buffers", "load, unload, other"),
    ("hatch", "waiting"),
];

/// The class of a phase's bar.
const fn class(name: PhaseName) -> &'static str {
    match name {
        PhaseName::Prefill => "c-activations",
        PhaseName::Decode => "c-forward",
        PhaseName::Tail => "c-kernels",
        PhaseName::Tools | PhaseName::Verifier | PhaseName::Reward => "c-host",
        PhaseName::Old | PhaseName::Reference | PhaseName::Values => "c-gradients",
        PhaseName::Critic | PhaseName::Update => "c-backward",
        PhaseName::Sync => "c-exposed",
        PhaseName::Offload | PhaseName::Other => "c-buffers",
    }
}

fn words_of(name: PhaseName) -> Message {
    match name {
        PhaseName::Prefill => t!("prompts are read"),
        PhaseName::Decode => t!("decoding"),
        PhaseName::Tail => t!("decoding, the last tenth"),
        PhaseName::Tools => t!("tools"),
        PhaseName::Verifier => t!("verifier"),
        PhaseName::Reward => t!("reward model"),
        PhaseName::Old => t!("old log-probabilities"),
        PhaseName::Reference => t!("log-probabilities of the reference"),
        PhaseName::Values => t!("values"),
        PhaseName::Critic => t!("critic update"),
        PhaseName::Update => t!("policy update"),
        PhaseName::Sync => t!("new weights to the engines"),
        PhaseName::Offload => t!("load and unload"),
        PhaseName::Other => t!("buffers, data"),
    }
}

/// The step of the Run; nothing where it has none.
pub fn rl(evaluation: &Evaluation, unit: MemoryUnit) -> Node {
    let run = &evaluation.scenario.run;
    if run.rl.algorithm.is_none() {
        return Node::none();
    }
    let head = heading("One step of reinforcement learning");
    match of_run(run) {
        Err(issues) => el("section", &[("class", "rl")], &[head, missing(&issues)]),
        Ok(reply) => {
            let parts = [head, answer(run, &reply.rl), bars(run, &reply.rl), diagnosis(run, &reply.rl)];
            let pair = [splits(run, &reply.rl), memory(&reply.rl, unit)].into_iter();
            let pair = pair.filter(|part| *part != Node::none()).map(|part| el("div", &[], &[part]));
            let pair = el("div", &[("class", "rl-pair")], &pair.collect::<Vec<Node>>());
            let more =
                [pair, moves(run, &reply.rl), doubts(&reply), as_table(&reply.rl), updates(evaluation, &reply.rl)];
            el("section", &[("class", "rl")], &[Node::from_iter(parts), Node::from_iter(more)])
        }
    }
}

/// What has to be said before there is an answer.
fn missing(issues: &[Issue]) -> Node {
    let line = |issue: &Issue| {
        let words = text(issue.message.clone());
        match question(issue) {
            Some(button) => el("li", &[], &[button, text(": "), words]),
            None => el("li", &[], &[words]),
        }
    };
    let list: Vec<Node> = issues.iter().map(line).collect();
    Node::from_iter([paragraph("A step is predicted once these are set:"), el("ul", &[], &list)])
}

/// The field of an issue as a button that leads to it; what is asked stands in its title.
fn question(issue: &Issue) -> Option<Node> {
    let field = field(&issue.field)?;
    Some(link_button(field.label).title(issue.message.clone()).on(Action::Focus(field.key)))
}

/// Fields of `issues`, each as a button that leads to it.
pub(crate) fn questions(issues: &[Issue]) -> Vec<Node> {
    issues.iter().filter_map(question).collect()
}

/// How the training steps, of which the rest of the page is, are a part of this step.
fn updates(evaluation: &Evaluation, step: &RlStep) -> Node {
    let run = &evaluation.scenario.run;
    let page = t!(
        "Pipeline, parts of a step, layouts and schedules on this page are of a training step of {batch} sequences of \
            {tokens} tokens on all {gpus} GPUs, {time}.",
        batch = run.global_batch,
        tokens = run.seq_len,
        gpus = run.gpus,
        time = show_seconds(evaluation.report.step.time_s)
    );
    let [responses, packed] = step.trained.map(|count| number(count.round(), 4));
    let of_group = |name: &[PhaseName]| {
        let phases = step.phases.iter().filter(|phase| name.contains(&phase.name));
        phases.map(|phase| phase.seconds.0).sum::<f64>()
    };
    let update = Seconds(of_group(&[PhaseName::Update]));
    let here = t!(
        "The {training} here train on {responses} responses, packed into {packed} such sequences, on {gpus} GPUs: \
            {update} are the policy's updates.",
        training = show_seconds(step.training_s),
        responses,
        packed,
        gpus = run.gpus - run.rl.apart().unwrap_or(0),
        update = show_seconds(update)
    );
    let over = run.rl.measured_update_s.is_none().then(|| {
        t!(
            "They count {over} times as long as such training on as many tokens, as published steps of reinforcement \
                learning are.",
            over = number(OVER_TRAINING, 3)
        )
    });
    muted(Message::joined(" ", [page, here].into_iter().chain(over)))
}

fn answer(run: &Run, step: &RlStep) -> Node {
    let range = t!(
        "{time} a step, {low} to {high}: {share} generation, {rate} tokens of responses a second and GPU",
        time = show_seconds(step.step_s),
        low = show_seconds(step.low_s),
        high = show_seconds(step.high_s),
        share = show_percent(step.generation_s / step.step_s),
        rate = show_count(step.tokens_per_s_per_gpu)
    );
    let mut lines = vec![el("p", &[], &[strong(range).reports("rl.step_s", &Scope::run())])];
    if let (Some(steps), Some(days), Some(hours)) = (run.rl.steps, step.days, step.gpu_hours) {
        let (days, hours) = (number(days, 3), show_count(hours));
        lines.push(paragraph(match step.cost {
            Some(cost) => t!(
                "{steps} steps: {days} days, {hours} GPU-hours, {cost}",
                steps,
                days,
                hours,
                cost = money(&sign(run), cost)
            ),
            None => t!("{steps} steps: {days} days, {hours} GPU-hours", steps, days, hours),
        }));
    }
    Node::from_iter(lines)
}

fn group_words(group: GpuGroup, run: &Run, step: &RlStep) -> Message {
    let trainer = run.gpus.saturating_sub(step.rollout_gpus);
    match group {
        GpuGroup::All => t!("{gpus} GPUs, in turn", gpus = run.gpus),
        GpuGroup::Engines => t!("{gpus} GPUs generate", gpus = step.rollout_gpus),
        GpuGroup::Trainer => t!("{gpus} GPUs train", gpus = trainer),
    }
}

/// A row a group: its work in order, and where it waits.
fn bars(run: &Run, step: &RlStep) -> Node {
    let row = |group: GpuGroup, waits: f64| {
        let share = |seconds: Seconds| seconds / step.step_s;
        // In turn the trainer waits first; the sync is at the end of both.
        let is_last = step.bound == WaitsFor::InTurn && group == GpuGroup::Trainer;
        let mut at = if is_last { waits } else { 0.0 };
        let mut inside = Vec::new();
        if is_last && waits > 0.0 {
            inside.push(bar_at("hatch", 0.0, waits));
        }
        let mut waited = is_last;
        for phase in step.phases.iter().filter(|phase| phase.group == group) {
            let is_end = matches!(phase.name, PhaseName::Sync | PhaseName::Offload | PhaseName::Other);
            if is_end && !waited {
                inside.push(bar_at("hatch", at, waits));
                at += waits;
                waited = true;
            }
            let title = t!("{name}: {time}", name = words_of(phase.name), time = show_seconds(phase.seconds));
            inside.push(bar_at(class(phase.name), at, share(phase.seconds)).title(title));
            at += share(phase.seconds);
        }
        let cells = [
            el("span", &[("class", "who")], &[text(group_words(group, run, step))]),
            el("span", &[("class", "track")], &inside),
            leaf("span", "amount", verbatim(show_seconds(step.step_s))).reports("rl.step_s", &Scope::run()),
            leaf(
                "span",
                "share",
                if waits > 0.0 { t!("idle {share}", share = show_percent(waits)) } else { t!("busy") },
            ),
        ];
        el("div", &[("class", "row")], &cells)
    };
    let rows: Vec<Node> = step.idle.iter().map(|idle| row(idle.group, idle.share)).collect();
    let waits = step.idle.iter().any(|idle| idle.share > 0.0);
    let is_there = |colour: &str| step.phases.iter().any(|phase| class(phase.name) == colour);
    let shown = KEY.into_iter().filter(|(colour, _)| if *colour == "hatch" { waits } else { is_there(colour) });
    Node::from_iter([el("div", &[("class", "waterfall")], &rows), key(&shown.collect::<Vec<_>>())])
}

/// Which side binds, and what moves it.
fn diagnosis(run: &Run, step: &RlStep) -> Node {
    let (generation, training) = (show_seconds(step.generation_s), show_seconds(step.training_s));
    let bound = match step.bound {
        WaitsFor::InTurn if run.rl.is_split() => t!(
            "Generation ({generation}) and training ({training}) wait for each other: without a staleness limit over 0 \
                two groups of GPUs overlap nothing.",
            generation,
            training
        ),
        WaitsFor::InTurn => t!("Every GPU generates ({generation}), then trains ({training}).", generation, training),
        WaitsFor::Engines => t!(
            "The trainer waits for the engines: {generation} of generation, {training} of training.",
            generation,
            training
        ),
        WaitsFor::Trainer => t!(
            "The engines wait for the trainer: {training} of training, {generation} of generation.",
            generation,
            training
        ),
        WaitsFor::Balanced => t!(
            "Generation ({generation}) and training ({training}) are balanced within our error.",
            generation,
            training
        ),
    };
    let mut lines = vec![paragraph(bound)];
    let idle = |group: GpuGroup| step.idle.iter().find(|idle| idle.group == group).map(|idle| idle.share);
    if let (Some(engines), Some(trainer)) = (idle(GpuGroup::Engines), idle(GpuGroup::Trainer)) {
        lines.push(paragraph(t!(
            "The engines are idle for {engines} of the step, the trainer for {trainer}.",
            engines = show_percent(engines),
            trainer = show_percent(trainer)
        )));
    }
    if step.busy < 1.0 {
        lines.push(muted(t!(
            "Responses that start together wait for the longest: their places in the engines are busy {share} of the \
                time that it takes.",
            share = show_percent(step.busy)
        )));
    }
    let fits = if step.capacity > 1e6 { t!("more than a million") } else { verbatim(number(step.capacity.floor(), 3)) };
    lines.push(muted(t!(
        "An engine decodes {at_once} responses at once; {fits} fit into its memory.",
        at_once = number(step.at_once.round(), 3),
        fits
    )));
    Node::from_iter(lines)
}

/// Steps by the GPUs that generate, with the zone in which they are equal.
fn splits(run: &Run, step: &RlStep) -> Node {
    let (Some(first), Some(last)) = (step.split.first(), step.split.last()) else {
        return Node::none();
    };
    if step.split.len() < 2 {
        return Node::none();
    }
    let seconds = |of: &dyn Fn(&shardscope_core::rl::SplitPoint) -> Seconds| -> Vec<(f64, f64)> {
        step.split.iter().map(|point| (point.rollout_gpus as f64, of(point).0)).collect()
    };
    let steps = seconds(&|point| point.step_s);
    let shortest = steps.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    // What is far slower would flatten the rest.
    let most = (shortest * 4.0).max(step.step_s.0 * 1.1);
    let within = |list: Vec<(f64, f64)>| list.into_iter().filter(|(_, time)| *time <= most).collect();
    let zone = step.flat.map(|ends| PlotMark::Span(ends.map(|gpus| gpus as f64), t!("within 10 %")));
    let mut marks: Vec<PlotMark> = zone.into_iter().collect();
    marks.extend([
        PlotMark::Line(within(seconds(&|point| point.generation_s)), Ink::Forward),
        PlotMark::Line(within(seconds(&|point| point.training_s)), Ink::Backward),
        PlotMark::Line(within(steps), Ink::Text),
    ]);
    if run.rl.is_split() {
        let here = (step.rollout_gpus as f64, step.step_s.0);
        marks.push(PlotMark::Dot(
            here,
            Form::Large,
            Ink::Accent,
            t!("this run: {time}", time = show_seconds(step.step_s)),
        ));
    } else {
        marks.push(PlotMark::Level(step.step_s.0, t!("colocated")));
    }
    let scale = PlotScale::even(0.0, most);
    let up = PlotAxis::new(scale, scale.round(), |time| verbatim(tick_label(time))).named("step");
    let across = PlotScale::even(first.rollout_gpus as f64, last.rollout_gpus as f64);
    let across = PlotAxis::new(across, across.round(), |gpus| verbatim(number(gpus, 3)));
    let across = across.named(t!("GPUs that generate, of {gpus}", gpus = run.gpus));
    let label = t!("Step time by the GPUs that generate, of {gpus}", gpus = run.gpus);
    let picture = draw(&across, 150.0, &[Plot { up, marks }]).inline(label);
    let flat = step.flat.map(|[low, high]| {
        muted(t!("Steps with {low} to {high} generating GPUs are within 10 % of the shortest.", low, high))
    });
    let stale = (!run.rl.is_split() && step.split_staleness > 0.0).then(|| {
        muted(t!(
            "A split of this run trains on responses that are {steps} step old; whether that harms learning is not \
                said.",
            steps = number(step.split_staleness, 3)
        ))
    });
    let parts = [
        subheading("How to split the GPUs"),
        key(&[("c-sum", "step"), ("c-forward", "generation alone"), ("c-backward", "training alone")]),
        el("div", &[("class", "chart")], &[picture]),
    ];
    let lines = flat.into_iter().chain(stale).chain([better(run, step)]);
    Node::from_iter([Node::from_iter(parts), lines.collect()])
}

/// A split that is shorter beyond the error, to be taken; else that none is.
fn better(run: &Run, step: &RlStep) -> Node {
    let best = step.best.and_then(|gpus| step.split.iter().find(|point| point.rollout_gpus == gpus));
    let Some(point) = best else {
        return muted("No split is faster than this run by more than our error (40 %).");
    };
    let placement = Some(RolloutPlacement::Split);
    let (rollout_gpus, staleness) = (Some(point.rollout_gpus), Some(step.split_staleness));
    let rl = RlParts { placement, rollout_gpus, staleness, ..run.rl.clone() };
    let other = Run { rl, ..run.clone() };
    let words = t!(
        "{gpus} GPUs that generate: {time} a step instead of {now}",
        gpus = point.rollout_gpus,
        time = show_seconds(point.step_s),
        now = show_seconds(step.step_s)
    );
    load("link", &other, t!("Use this split"), &[text(words)])
}

/// Single changes of the engines, the shortest step first; a button only where the gain is beyond the error.
fn moves(run: &Run, step: &RlStep) -> Node {
    let list = changes(run, step);
    if list.is_empty() {
        return Node::none();
    }
    let name = |change: &RlChange| {
        let label = field(change.field).map_or(change.field, |field| field.label);
        t!("{label}: {value}", label, value = change.value.clone())
    };
    let button = |change: &RlChange| {
        if change.is_told_apart(step.step_s) {
            apply("main", vec![(change.field, change.value.clone())], "", "Use it")
        } else {
            Node::none()
        }
    };
    let gains = list.iter().any(|change| change.is_told_apart(step.step_s));
    let table = Rows::of(list.clone())
        .column("change", name)
        .figures("a step takes", |change| show_seconds(change.step_s))
        .figures("of the step now", |change| show_percent(change.step_s / step.step_s))
        .column("", button)
        .table("What moves the step");
    let words = "None of these is faster by more than our error (40 %).";
    Node::from_iter([subheading("What moves it"), table, if gains { Node::none() } else { muted(words) }])
}

/// The fullest GPU of each phase.
fn memory(step: &RlStep, unit: MemoryUnit) -> Node {
    if step.memory.is_empty() {
        return Node::none();
    }
    let most = step.memory.iter().map(|phase| phase.bytes).fold(step.capacity_bytes, Bytes::max);
    let peak = step.memory.iter().map(|phase| phase.bytes).fold(Bytes::ZERO, Bytes::max);
    let bar = |bytes: Bytes| {
        let inside = el("i", &[("class", "c-weights"), ("style", &percent("width", bytes / most))], &[]);
        let limit = el("u", &[("style", &percent("left", step.capacity_bytes / most))], &[]);
        el("div", &[("class", "mini"), ("aria-hidden", "true")], &[inside, limit])
    };
    let table = Rows::of(step.memory.iter())
        .column("phase", |phase| phase.phase)
        .figures(t!("peak {value}", value = unit.name()), |phase| unit.number(phase.bytes))
        .column("memory", |phase| bar(phase.bytes))
        .marked(|phase| phase.bytes == peak)
        .table("Memory by phase");
    let capacity = t!("of {capacity}", capacity = unit.show(step.capacity_bytes));
    Node::from_iter([subheading("Memory by phase"), table, muted(capacity)])
}

/// Why the range may be wider.
fn doubts(reply: &RlReply) -> Node {
    let list: Vec<Node> = reply.warnings.iter().map(|issue| bullet(issue.message.clone())).collect();
    if list.is_empty() {
        return Node::none();
    }
    el("ul", &[("class", "muted")], &list)
}

/// The phases as a table.
fn as_table(step: &RlStep) -> Node {
    let group = |group: GpuGroup| match group {
        GpuGroup::All => t!("all"),
        GpuGroup::Engines => t!("engines"),
        GpuGroup::Trainer => t!("trainer"),
    };
    let table = Rows::of(step.phases.iter())
        .column("phase", |phase| words_of(phase.name))
        .column("GPUs", |phase| group(phase.group))
        .figures("time", |phase| show_seconds(phase.seconds))
        .figures("share", |phase| show_percent(phase.seconds / step.step_s))
        .table("Phases of the step");
    fold("Show as a table", table)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use shardscope_core::run::{Algorithm, ResponseParts};

    fn run(rl: RlParts) -> Run {
        Run { rl: RlParts { algorithm: Some(Algorithm::Grpo), ..rl }, ..Run::default() }
    }

    pub(crate) fn asked() -> RlParts {
        RlParts {
            prompts: Some(64),
            samples: Some(8),
            prompt_tokens: Some(100.0),
            response_tokens: ResponseParts { mean: Some(900.0), ..ResponseParts::default() },
            response_limit: Some(4096),
            ..RlParts::default()
        }
    }

    fn shown(run: &Run) -> String {
        format!("{:?}", rl(&evaluate(run).unwrap(), MemoryUnit::Gib))
    }

    #[test]
    fn a_run_without_an_algorithm_shows_nothing() {
        assert_eq!(rl(&evaluate(&Run::default()).unwrap(), MemoryUnit::Gib), Node::none());
    }

    #[test]
    fn what_is_missing_is_asked_for_and_no_figure_stands_in_for_it() {
        let text = shown(&run(RlParts::default()));
        assert!(text.contains("Every figure follows from it") && !text.contains("a step,"));
    }

    /// One computation: the updates are those of the page's own training step on the packed sequences and on the GPUs
    /// that train, 1.8 times as long. 512 responses of 1,000 tokens are 128 sequences of 4,000.
    #[test]
    fn the_updates_are_the_training_step_of_the_packed_sequences() {
        let base = Run { pp: 1, tp: 2, gpus: 64, global_batch: 256, seq_len: 4000, ..run(asked()) };
        let apart = RlParts { rollout_gpus: Some(32), staleness: Some(1.0), ..base.rl.clone() };
        for (rl, gpus) in [(base.rl.clone(), 64), (apart, 32)] {
            let run = Run { rl, ..base.clone() };
            let step = of_run(&run).unwrap().rl;
            assert!((step.trained[0] - 512.0).abs() < 1e-6 && (step.trained[1] - 128.0).abs() < 1e-6);
            let alone =
                Run { gpus, global_batch: 128, documents: Some(vec![1000; 4]), rl: RlParts::default(), ..base.clone() };
            let plain = evaluate(&alone).unwrap().report.step.time_s;
            let update = step.phases.iter().find(|phase| phase.name == PhaseName::Update).unwrap().seconds;
            assert!((update / plain / 1.8 - 1.0).abs() < 1e-6, "{gpus}: {update:?} {plain:?}");
            let said = super::rl(&evaluate(&run).unwrap(), MemoryUnit::Gib).to_html();
            let words = format!("packed into 128 such sequences, on {gpus} GPUs: {} are", show_seconds(update));
            assert!(said.contains(&words), "{words}: {said}");
        }
    }

    /// A change within the factor of 1.4 that two predictions are not told apart by has no button.
    #[test]
    fn only_gains_beyond_the_error_are_offered() {
        let (mut offered, mut listed) = (0, 0);
        for (eager, tp) in [(None, 1), (None, 4), (Some(true), 1)] {
            let run = run(RlParts { eager, rollout_tp: Some(tp), ..asked() });
            let step = of_run(&run).unwrap().rl;
            let list = changes(&run, &step);
            let node = moves(&run, &step);
            let set = node.actions().into_iter().filter(|action| matches!(action, Action::Apply(_))).count();
            assert_eq!(set, list.iter().filter(|change| change.step_s * 1.4 < step.step_s).count());
            (offered, listed) = (offered + set, listed + list.len());
        }
        assert!(offered > 0 && listed > offered, "{offered} of {listed}");
    }

    #[test]
    fn two_groups_have_two_bars_and_one_group_one() {
        let rows = |rl: RlParts| shown(&run(rl)).matches("\"row\"").count();
        assert_eq!(rows(asked()), 1);
        assert_eq!(rows(RlParts { rollout_gpus: Some(32), staleness: Some(1.0), ..asked() }), 2);
    }

    /// The peak of a GPU that trains and generates in turn is one figure: of the answer, of the phases, and of the
    /// sentence above the bars, which are of training alone.
    #[test]
    fn the_fullest_phase_is_one_figure_everywhere() {
        let run = run(asked());
        let evaluation = evaluate(&run).unwrap();
        let memory = &evaluation.report.memory;
        let phase = memory.peak_phase().unwrap();
        assert!(memory.peak_bytes > memory.per_stage[memory.peak_stage].total, "{}", phase.name);
        let step = of_run(&run).unwrap().rl;
        let peak = step.memory.iter().map(|phase| phase.bytes).fold(Bytes::ZERO, Bytes::max);
        assert!((peak / memory.peak_bytes - 1.0).abs() < 0.02, "{peak:?} {:?}", memory.peak_bytes);
        let words = crate::words::memory(memory, MemoryUnit::Gib, &Scope::run()).to_string();
        assert!(words.contains(phase.name) && words.contains(&MemoryUnit::Gib.show(memory.peak_bytes)), "{words}");
        assert!(!words.contains("Rank") && words.contains("training alone"), "{words}");
    }
}
