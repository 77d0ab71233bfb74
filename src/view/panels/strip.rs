//! The answer: does it fit, how long is a step, what does it yield and cost, each with its range. Every figure has four
//! rows of fixed height: name, figure, range, caption.

use super::issues::Instead;
use super::rl::questions;
use crate::node::figure::Scope;
use crate::prelude::*;
use crate::views::View;
use crate::words;
use shardscope_core::issue::Issue;
use shardscope_core::memory::verdict::Chance;
use shardscope_core::report::Memory;
use shardscope_core::rl::{RlStep, predict};
use shardscope_core::run::presets::{PublishedRun, published};
use shardscope_core::run::registry::field;
use shardscope_core::time::Step;
use shardscope_core::units::{count_to, group, seconds_like, show_off};
use shardscope_core::whole_run::{WholeRunFigure, figures, setting};

/// Tokens of the budget where the Run has none, round numbers: of a pretraining, and of a fine-tuning, a million
/// samples of a thousand tokens.
const TOKENS: [f64; 2] = [1e12, 1e9];

/// Tokens of the budget of `run`; where it has none those of a pretraining, of adapters and of what trains on a node or
/// less those of a fine-tuning.
pub fn budget_tokens(run: &Run) -> f64 {
    let per_node = || run.gpu.resolve().map_or(1, |gpu| run.gpus_per_node.unwrap_or(gpu.per_node));
    let is_small = || run.adapter.method.is_some() || run.gpus <= per_node();
    run.tokens_total.unwrap_or_else(|| TOKENS[usize::from(is_small())])
}

/// Tokens that the budget of `run` has without being set; none where it has its own, or counts steps of reinforcement
/// learning.
pub(crate) fn assumed_tokens(run: &Run) -> Option<f64> {
    (run.tokens_total.is_none() && run.rl.algorithm.is_none()).then(|| budget_tokens(run))
}

/// `other`, a remedy for `own`, with the tokens that `own` assumes where it would assume others: more GPUs or fewer do
/// not change what is trained.
pub fn keeping_budget(own: &Run, other: Run) -> Run {
    match (assumed_tokens(own), assumed_tokens(&other)) {
        (Some(tokens), Some(others)) if tokens.to_bits() != others.to_bits() => {
            Run { tokens_total: Some(tokens), ..other }
        }
        _ => other,
    }
}

/// `set`, settings of a remedy for `own`, with the tokens of [`keeping_budget`] where it sets the number of GPUs.
pub fn set_keeping_budget(own: &Run, set: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
    let mut set = set.to_vec();
    let is_of_gpus = set.iter().any(|(key, _)| *key == "gpus");
    if let Some(other) = own.with_texts(&set).filter(|_| is_of_gpus)
        && let kept = keeping_budget(own, other.clone())
        && kept != other
        && let Some(text) = field("tokens_total").and_then(|field| field.text(&kept))
    {
        set.push(("tokens_total", text));
    }
    set
}

/// What the tokens or steps of the budget of `run` are, where it has none of its own.
fn assumed(run: &Run) -> Option<Message> {
    if run.rl.algorithm.is_some() {
        return run.rl.steps.is_none().then(|| t!("number of steps assumed"));
    }
    assumed_tokens(run).map(|tokens| {
        if tokens < TOKENS[0] { t!("tokens assumed: fine-tuning") } else { t!("tokens assumed: pretraining") }
    })
}

/// Price of a GPU-hour where the Run has none.
pub const PRICE: f64 = 2.0;
/// Steps of reinforcement learning in the budget where the Run has none: a round number.
const RL_STEPS: u64 = 1000;

/// Steps of the budget of a Run with reinforcement learning.
fn budget_steps(run: &Run) -> u64 {
    run.rl.steps.unwrap_or(RL_STEPS)
}

/// Steps of the budget of a Run with reinforcement learning, grouped from five digits on; nothing of any other Run,
/// whose budget is of tokens.
pub fn show_budget_steps(run: &Run) -> Option<String> {
    run.rl.algorithm.map(|_| group(&budget_steps(run).to_string()))
}

/// A time with its range.
#[derive(Clone, Copy)]
struct RangedTime {
    time: Seconds,
    low: Seconds,
    high: Seconds,
}

impl From<&Step> for RangedTime {
    fn from(step: &Step) -> Self {
        Self { time: step.time_s, low: step.low_s, high: step.high_s }
    }
}

impl From<&RlStep> for RangedTime {
    fn from(step: &RlStep) -> Self {
        Self { time: step.step_s, low: step.low_s, high: step.high_s }
    }
}

impl RangedTime {
    /// True if the range supports no third digit.
    fn is_wide(self) -> bool {
        (self.high - self.low) / self.time >= WIDE
    }
}
/// Characters of a figure that its column has room for at 28 px.
const ROOM: usize = 5;

/// The key figures of `run` and its report but that of the budget; each opens its formula. Of reinforcement learning
/// they are of a whole step, with what is generated.
pub fn strip(run: &Run, report: &Report, unit: MemoryUnit) -> Node {
    strip_with(run, report, memory(run, &report.memory, unit, None))
}

/// [`strip`] of the Run that is shown in place of one that cannot be evaluated: its verdict says whose it is.
pub fn strip_instead(instead: &Instead, report: &Report, unit: MemoryUnit) -> Node {
    let (run, whose) = match instead {
        Instead::Nothing => return Node::none(),
        Instead::Last(run) => (run, t!("Last run that worked: fullest GPU")),
        Instead::Proposal(run, _) => (run, t!("In the proposed layout: fullest GPU")),
    };
    strip_with(run, report, memory(run, &report.memory, unit, Some(whose)))
}

/// The key figures beside that of the memory.
fn strip_with(run: &Run, report: &Report, memory: Node) -> Node {
    if run.rl.algorithm.is_some() {
        return strip_of_rl(run, report, memory);
    }
    let step = &report.step;
    let ranged = RangedTime::from(step);
    let wide = ranged.is_wide();
    let tokens = |seconds: Seconds| {
        let rate = step.tokens_per_s_per_gpu * (step.time_s / seconds);
        let rate = if wide || rate >= 1e5 { count_to(rate, digits(wide)) } else { group(&format!("{rate:.0}")) };
        (rate.replace(' ', ""), t!("per GPU"))
    };
    let mfu = |seconds: Seconds| {
        let share = step.mfu * (step.time_s / seconds);
        if wide { (significant(100.0 * share, 2), verbatim("%")) } else { parted(&show_percent(share)) }
    };
    let peak = t!("MFU, {precision} peak", precision = step.peak.precision);
    // A published run fitted, whatever is estimated.
    let ran = published(run).is_some();
    let time =
        if report.memory.verdict == Verdict::Oom && !ran { t!("Step time, if it fitted") } else { t!("Step time") };
    let published_step = published_outside(run, step);
    // What follows from the step is as far off as it.
    let as_far = |mut cells: Vec<Node>| {
        if published_step.is_some() {
            cells[3] = leaf("span", "range outside", AS_FAR);
        }
        cells
    };
    let figure = |name, field, figure, show: &dyn Fn(Seconds) -> Part, inverse| {
        ask("key", figure, &as_far(cells(leaf("span", "name", name), field, ranged, show, inverse)))
    };
    let seconds = |seconds: Seconds| parted(&seconds_like(seconds, step.time_s, digits(wide)));
    Node::from_iter([
        memory,
        match published_step {
            None => figure(time, "step.time_s", Figure::Step, &seconds, false),
            Some(theirs) => {
                let mut cells = cells(leaf("span", "name", time), "step.time_s", ranged, &seconds, false);
                let off = show_off(step.time_s / theirs - 1.0, 0);
                let theirs = show_seconds(theirs);
                cells[3] = leaf("span", "range outside", t!("Published {theirs}: {off}", theirs, off));
                ask("key", Figure::Step, &cells)
            }
        },
        figure(peak, "step.mfu", Figure::Mfu, &mfu, true),
        figure(t!("Tokens per second"), "step.tokens_per_s_per_gpu", Figure::Tokens, &tokens, true),
    ])
}

/// The key figures of a step of reinforcement learning; where settings are missing, buttons that lead to them.
fn strip_of_rl(run: &Run, report: &Report, memory: Node) -> Node {
    let step = match predict(run) {
        Ok(step) => step,
        Err(issues) => return Node::from_iter([memory, asked(&issues)]),
    };
    let ranged = RangedTime::from(&step);
    let name = match (run.rl.prompts, run.rl.samples) {
        _ if report.memory.verdict == Verdict::Oom => t!("Step time, if it fitted"),
        (Some(prompts), Some(samples)) => t!("Step, {prompts} prompts × {samples}", prompts, samples),
        _ => t!("Step time"),
    };
    let seconds = |seconds: Seconds| parted(&seconds_like(seconds, step.step_s, digits(ranged.is_wide())));
    let rate = |seconds: Seconds| {
        let rate = step.tokens_per_s_per_gpu * (step.step_s / seconds);
        (count_to(rate, digits(ranged.is_wide())).replace(' ', ""), t!("tokens/s"))
    };
    let share = (significant(100.0 * (step.generation_s / step.step_s), 2), verbatim("%"));
    let of_share = t!(
        "{generation}; training {training}",
        generation = show_seconds(step.generation_s),
        training = show_seconds(step.training_s)
    );
    let share = [
        leaf("span", "name", "Generation"),
        value(&share, "rl.generation_share", &Scope::run()),
        el("span", &[("class", "whisker")], &[]),
        leaf("span", "range", of_share),
    ];
    let key = |cells: &[Node]| el("div", &[("class", "key")], cells);
    Node::from_iter([
        memory,
        key(&cells(leaf("span", "name", name), "rl.step_s", ranged, &seconds, false)),
        key(&share),
        key(&cells(leaf("span", "name", "Generated per GPU"), "rl.tokens_per_s_per_gpu", ranged, &rate, true)),
    ])
}

/// In place of the figures of a step: what it is not predicted without, each a way to its field.
fn asked(issues: &[Issue]) -> Node {
    let words = leaf("span", "name", "A step of reinforcement learning is predicted once these are set:");
    let list: Vec<Node> = questions(issues).into_iter().flat_map(|question| [question, text(" ")]).collect();
    el("div", &[("class", "key asked")], &[words, el("span", &[("class", "fields")], &list)])
}

/// A number with its unit, which stands small behind it.
type Part = (String, Message);

/// `10.2 s` as number and unit.
fn parted(shown: &str) -> Part {
    let (number, unit) = shown.rsplit_once(' ').unwrap_or((shown, ""));
    (number.to_owned(), verbatim(unit))
}

/// A unit behind its number, apart from it where it is read or copied.
fn behind(unit: &Message) -> Node {
    el("small", &[], &[text(" "), text(unit)])
}

/// The figure of `field` with its unit, if it has one; one that is long is smaller.
fn value((number, unit): &Part, field: &'static str, scope: &Scope) -> Node {
    let class = if number.chars().count() > ROOM { "value long" } else { "value" };
    let unit = if unit.is_empty() { Node::none() } else { behind(unit) };
    el("span", &[("class", class)], &[strong(verbatim(number)).reports(field, scope), unit])
}

/// The fullest GPU: verdict, peak, and the range of its need on a bar that ends at the capacity; of a run that is known
/// to have run, what the verdict leaves out. `of`: whose it is, where it is not of the Run as entered.
fn memory(run: &Run, memory: &Memory, unit: MemoryUnit, of: Option<Message>) -> Node {
    let peak = memory.peak();
    let (class, mark, word) = words::verdict_of(run, &peak);
    let (capacity, whose) = (memory.capacity_bytes, Scope::run());
    let value = [
        leaf("span", "mark", mark),
        leaf("span", "word", word),
        text(" "),
        strong(verbatim(unit.number(memory.peak_bytes))).reports("memory.peak_bytes", &Scope::run()),
        behind(&t!("of {capacity}", capacity = whose.says("memory.capacity_bytes", unit.show(capacity)))),
    ];
    let bar = capacity_bar(memory, unit);
    let Chance { like, ran_out } = memory.chance;
    let [low, high] = likely_need(memory, unit);
    let usable = whose.says("memory.capacity_bytes", unit.number(capacity));
    let ran = published(run).and_then(|_| words::ran_briefly(memory));
    let likely = ran.unwrap_or_else(|| match memory.verdict {
        // The top of the range and the limit, as they are printed.
        Verdict::Fits if unit.printed(memory.need_high_bytes) == unit.printed(capacity) => {
            t!("{low} to {high} likely, just within {usable}", low, high, usable)
        }
        Verdict::Fits => t!("{low} to {high} likely, all below {usable}", low, high, usable),
        Verdict::Tight if like > 0 => {
            t!("{low} to {high}; {ran_out} of {like} seen runs as tight ran out", low, high, ran_out, like)
        }
        Verdict::Tight => t!("{low} to {high} likely", low, high),
        Verdict::Oom => {
            t!(
                "{missing} missing; {low} to {high} likely",
                missing = whose.says("memory.missing_bytes", peak.missing_words(unit)),
                low,
                high
            )
        }
    });
    let name = of.unwrap_or_else(|| match memory.peak_phase() {
        Some(phase) => t!("Memory of the fullest phase: {phase}", phase = phase.name),
        None => t!("Memory of the fullest GPU, rank {rank}", rank = memory.peak_stage),
    });
    // That it cannot run stands before what it would need.
    let likely = match words::why_unable(run) {
        Some(why) => t!("{why}; {likely}", why, likely),
        None => likely,
    };
    let mut cells = vec![
        leaf("span", "name", name),
        el("span", &[("class", "value")], &value),
        el("span", &[("class", "capacity-bar")], &bar),
        leaf("span", "range", likely),
    ];
    let host = memory.host.as_ref().and_then(|host| words::host(host, unit));
    cells.extend(host.map(|host| leaf("span", "range", host)));
    let long = if memory.may_run_out() { " above" } else { "" };
    ask(&format!("key verdict {class}{long}"), Figure::Memory(memory.peak_stage), &cells)
        .title(words::known(run, memory))
}

/// Both ends of the likely need, the unit behind the second.
pub(crate) fn likely_need(memory: &Memory, unit: MemoryUnit) -> [Message; 2] {
    let (low, high) = (unit.number(memory.need_low_bytes), unit.show(memory.need_high_bytes));
    [Scope::run().says("memory.need_low_bytes", low), Scope::run().says("memory.need_high_bytes", high)]
}

/// The need on a bar. Above the capacity it ends the bar, and what is beyond the capacity is a part of its own; else
/// the range of the need is on it, and the bar ends at the longer of capacity and range. The mark is the capacity.
fn capacity_bar(memory: &Memory, unit: MemoryUnit) -> Vec<Node> {
    let (capacity, peak) = (memory.capacity_bytes, memory.peak_bytes);
    let is_over = peak.0 > capacity.0;
    let most = if is_over { peak } else { capacity.max(memory.need_high_bytes) };
    let at = |bytes: Bytes| bytes / most;
    let limit = el("b", &[("style", &percent("left", at(capacity)))], &[]);
    let limit = limit
        .title(t!("usable: {capacity}", capacity = Scope::run().says("memory.capacity_bytes", unit.show(capacity))));
    if is_over {
        let beyond = bar_at("beyond", at(capacity), 1.0 - at(capacity));
        let missing = unit.beyond(peak, capacity);
        return vec![
            el("i", &[("style", &percent("width", at(capacity)))], &[]),
            beyond.title(t!("{missing} above what is usable", missing)),
            limit,
        ];
    }
    let [low, high] = likely_need(memory, unit);
    vec![
        el("i", &[("style", &percent("width", at(peak)))], &[]),
        bracket(at(memory.need_low_bytes), at(memory.need_high_bytes)).title(t!("{low} to {high} likely", low, high)),
        limit,
    ]
}

/// The rows of a figure that follows from the step's time; its track is from half to one and a half times the figure.
/// Its range is below it: beside it neither fits a phone.
fn cells(
    name: Node,
    field: &'static str,
    ranged: RangedTime,
    show: &dyn Fn(Seconds) -> Part,
    inverse: bool,
) -> Vec<Node> {
    let (track, caption) = range(ranged, show, inverse, (field, &Scope::run()));
    let value = value(&show(ranged.time), field, &Scope::run());
    vec![name, value, track, leaf("span", "range", caption)]
}

/// Beside a figure that follows from a step which is far from the published one.
const AS_FAR: &str = "as far off as the step";

/// The published step of `run`, where the range of `step` does not hold it.
fn published_outside(run: &Run, step: &Step) -> Option<Seconds> {
    let theirs = published(run).and_then(PublishedRun::step)?;
    (!(step.low_s.0..=step.high_s.0).contains(&theirs.0)).then_some(theirs)
}

/// Width of a range over its figure from which on the figure has two digits.
pub(crate) const WIDE: f64 = 0.10;

/// Digits of a figure whose range is `wide` or not.
pub(crate) const fn digits(wide: bool) -> usize {
    if wide { 2 } else { 3 }
}

/// The range of a figure that follows from a step's time, on its track and in words; `field` and whose it is.
fn range(
    ranged: RangedTime,
    show: &dyn Fn(Seconds) -> Part,
    inverse: bool,
    (field, whose): (&str, &Scope),
) -> (Node, Message) {
    let RangedTime { time, low, high } = ranged;
    if low >= high {
        return (el("span", &[("class", "whisker")], &[]), t!("as measured"));
    }
    let place = |seconds: Seconds| {
        let ratio = seconds / time;
        (if inverse { 1.0 / ratio } else { ratio } - 0.5).clamp(0.0, 1.0)
    };
    let (from, to) = if inverse { (high, low) } else { (low, high) };
    let marks = [bracket(place(from), place(to)), el("b", &[], &[])];
    let ((low, one), (high, other)) = (show(from), show(to));
    let [low, high] = [("low", low), ("high", high)].map(|(end, shown)| whose.says(format!("{field}, {end}"), shown));
    // A unit that both ends have is said once.
    let low = if one == other { low } else { Message::joined(" ", [low, one]) };
    let high = Message::joined(" ", [high, other]);
    (el("span", &[("class", "whisker")], &marks), t!("{low} to {high}", low, high))
}

/// `low` without its unit, where `high` has the same.
pub(crate) fn without_unit<'a>(low: &'a str, high: &str) -> &'a str {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => number,
        _ => low,
    }
}

/// An amount of money: `$689k`.
pub fn money(currency: &str, amount: f64) -> String {
    let (less, shown) = few(amount, false);
    format!("{less}{currency}{shown}")
}

/// An amount in few characters, `wide`: of two digits, and the sign before one that is too small for them.
pub(crate) fn few(amount: f64, wide: bool) -> (&'static str, String) {
    match amount {
        ..0.01 if amount > 0.0 => ("<", "0.01".to_owned()),
        1e21.. => (">", "999E".to_owned()),
        _ => ("", count_to(amount, digits(wide)).replace(' ', "")),
    }
}

/// Cost and days of the token budget of the Run that `scope` names, at round numbers where it has none; the rows below
/// the name, in which both are edited.
pub fn budget(evaluation: &Evaluation, scope: &Scope) -> Node {
    budget_rows(evaluation, scope, false)
}

/// Cost and days of the page's own Run; each opens its figure of the whole run, where that run ends.
pub fn own_budget(evaluation: &Evaluation) -> Node {
    let ends = setting(evaluation, budget_tokens(&evaluation.scenario.run)).is_ok();
    budget_rows(evaluation, &Scope::run(), ends)
}

/// All steps of a budget, without losses.
pub struct BudgetTime {
    /// Time of all steps.
    pub seconds: f64,
    /// GPUs that are paid for.
    gpus: u64,
    /// One step with its range.
    step: RangedTime,
}

impl BudgetTime {
    /// Of the tokens of a Run, or of its steps of reinforcement learning; nothing where those are not predicted.
    pub fn of(evaluation: &Evaluation) -> Option<Self> {
        let (run, step) = (&evaluation.scenario.run, &evaluation.report.step);
        if run.rl.algorithm.is_some() {
            let step = RangedTime::from(&predict(run).ok()?);
            return Some(Self { seconds: step.time.0 * budget_steps(run) as f64, gpus: run.gpus, step });
        }
        let seconds = budget_tokens(run) / step.tokens_per_s;
        Some(Self { seconds, gpus: evaluation.scenario.layout.gpus, step: step.into() })
    }

    pub fn gpu_hours(&self) -> f64 {
        self.seconds / 3600.0 * self.gpus as f64
    }
}

fn budget_rows(evaluation: &Evaluation, scope: &Scope, opens: bool) -> Node {
    let run = &evaluation.scenario.run;
    let currency = sign(run);
    let price = run.own_price().unwrap_or(PRICE);
    let Some(budget) = BudgetTime::of(evaluation) else {
        return leaf("span", "range", "known once a step is");
    };
    let (hours, step) = (budget.gpu_hours(), budget.step);
    let wide = step.is_wide();
    let cost = |time: Seconds| {
        let (less, shown) = few(hours * price * (time / step.time), wide);
        (format!("{less}{currency}{shown}"), Message::default())
    };
    let days = show_days(budget.seconds / 86_400.0, wide);
    let opening = |figure, shown: Node| {
        if opens { el("button", &[("class", "figure")], &[shown]).on(Action::ExplainWhole(figure)) } else { shown }
    };
    let after = strong(verbatim(&days.0)).reports("budget.days", scope);
    let after = opening(WholeRunFigure::Days, after);
    let after = el("span", &[("class", "days")], &[text(" "), after, behind(&days.1)]);
    let (track, caption) = range(step, &cost, false, ("budget.cost", scope));
    let (less, hours) = few(hours, wide);
    let hours = t!("{hours} GPU-hours", hours = format!("{less}{hours}"));
    let hours = inline(hours).reports("budget.gpu_hours", scope);
    let hours = el("span", &[("class", "hours")], &[leaf("i", "dot", verbatim("· ")), hours]);
    let is_far = published_outside(run, &evaluation.report.step).is_some();
    let caption = if is_far { leaf("span", "outside", AS_FAR) } else { inline(caption) };
    // A part that has no room is left out: none is cut.
    let caption = el("span", &[("class", "range parts")], &[caption, hours, added(evaluation, &currency, scope)]);
    let (amount, _) = cost(step.time);
    let class = if amount.chars().count() > ROOM { "value long" } else { "value" };
    let amount = strong(verbatim(amount)).reports("budget.cost", scope);
    let value = el("span", &[("class", class)], &[opening(WholeRunFigure::Cost, amount), after]);
    let assumed = assumed(run).map_or_else(Node::none, |words| leaf("span", "range", words));
    Node::from_iter([value, track, caption, assumed])
}

/// Cost and days of the steps alone, as Run shows them, below a formula of those with losses and spares.
pub fn steps_alone(evaluation: &Evaluation) -> Node {
    let run = &evaluation.scenario.run;
    let Some(budget) = BudgetTime::of(evaluation) else {
        return Node::none();
    };
    let (wide, scope) = (budget.step.is_wide(), Scope::run());
    let (less, cost) = few(budget.gpu_hours() * run.own_price().unwrap_or(PRICE), wide);
    let (days, unit) = show_days(budget.seconds / 86_400.0, wide);
    let parts = [
        text("The steps alone, as Run shows them:"),
        text(" "),
        inline(verbatim(format!("{less}{}{cost}", sign(run)))).reports("budget.cost", &scope),
        text(", "),
        inline(verbatim(days)).reports("budget.days", &scope),
        text(" "),
        text(unit),
        text(". "),
        text("The formula above has losses and spares."),
    ];
    el("p", &[], &parts)
}

/// Cost and days with losses and spares, with the way to the whole run, where they change a printed digit of either;
/// nothing where they change none, or where the run does not end.
fn added(evaluation: &Evaluation, currency: &str, scope: &Scope) -> Node {
    let run = &evaluation.scenario.run;
    let (Ok(setting), Some(steps)) = (setting(evaluation, budget_tokens(run)), BudgetTime::of(evaluation)) else {
        return Node::none();
    };
    // As the whole run says them: rounded, the figures of the steps and a difference would not add up.
    let figures = figures(evaluation, &setting);
    let wide = steps.step.is_wide();
    let cost = |hours: f64| {
        let (less, shown) = few(hours * setting.price.unwrap_or(PRICE), wide);
        format!("{less}{currency}{shown}")
    };
    let days = |days: f64| show_days(days, wide);
    let [before, after] = [(steps.gpu_hours(), steps.seconds / 86_400.0), (figures.gpu_hours, figures.days)]
        .map(|(hours, in_days)| (cost(hours), days(in_days)));
    if before == after {
        return Node::none();
    }
    let (dearer, (number, unit)) = after;
    // Spares are paid for, and take no time.
    let words = if figures.spares > 0 { "with losses and spares" } else { "with losses" };
    let parts = [
        text(words),
        text(" "),
        inline(verbatim(dearer)).reports(WholeRunFigure::Cost.id(), scope),
        text(", "),
        inline(verbatim(number)).reports(WholeRunFigure::Days.id(), scope),
        text(" "),
        text(unit),
    ];
    let button = el("button", &[("class", "link")], &parts).on(Action::Show(View::Whole));
    el("span", &[], &[leaf("i", "dot", verbatim("· ")), button])
}

/// Units of a calendar, each from two of the one before it on, with its days: names of units hold at least two of them.
const DAYS: [(f64, &str); 4] = [(365.25, "years"), (1.0, "days"), (1.0 / 24.0, "hours"), (1.0 / 1440.0, "minutes")];
/// Days from which on a calendar is in years.
const YEARS: f64 = 1000.0;

/// The unit of a calendar of `days`, by its days and its name.
pub(crate) fn day_unit(days: f64) -> (f64, &'static str) {
    let holds = |(unit, _): &&(f64, &str)| days >= if *unit > 1.0 { YEARS } else { 2.0 * 0.9995 * unit };
    *DAYS.iter().find(holds).unwrap_or(&DAYS[3])
}

/// A number of 0.1 and above in a unit of its own, without a prefix; of two digits where its range is `wide`.
pub(crate) fn plain(number: f64, wide: bool) -> String {
    if number < 1e3 { significant(number, digits(wide)) } else { group(&format!("{number:.0}")) }
}

/// Days, in the unit that fits.
fn show_days(days: f64, wide: bool) -> Part {
    let (unit, name) = day_unit(days);
    let number = days / unit;
    if number >= 0.1 {
        return (plain(number, wide), name.into());
    }
    let (less, shown) = few(number, wide);
    (format!("{less}{shown}"), name.into())
}

/// Tokens of the label above the cost: while figures of another Run, `shown`, stand in place of those of `entered`, its
/// own where `entered` names none.
pub fn label_tokens(entered: &Run, shown: Option<&Run>) -> f64 {
    let of = shown.filter(|_| entered.tokens_total.is_none()).unwrap_or(entered);
    budget_tokens(of)
}

/// The price of that label, with its currency, by the same rule.
pub fn label_price(entered: &Run, shown: Option<&Run>) -> String {
    let of = shown.filter(|_| entered.own_price().is_none()).unwrap_or(entered);
    show_price(&sign(of), of.own_price().unwrap_or(PRICE))
}

/// Of which budget the grey cost of `shown` is, where the label has another of `entered`; nothing where it has none.
pub fn grey_budget(entered: &Run, shown: &Run) -> Node {
    let label = (label_tokens(entered, Some(shown)).to_bits(), label_price(entered, Some(shown)));
    let own = (budget_tokens(shown).to_bits(), label_price(shown, None));
    if label == own && show_budget_steps(entered) == show_budget_steps(shown) {
        return Node::none();
    }
    leaf("span", "range", t!("grey: {budget}", budget = budget_name(shown)))
}

/// The name of the budget's figure where nothing is edited.
pub fn budget_name(run: &Run) -> Message {
    let price = show_price(&sign(run), run.own_price().unwrap_or(PRICE));
    if let Some(steps) = show_budget_steps(run) {
        return t!("{steps} steps at {price} per GPU-hour", steps, price);
    }
    let tokens = show_tokens(budget_tokens(run));
    t!("{tokens} tokens at {price} per GPU-hour", tokens, price)
}

/// A number of tokens without idle zeros: `1 T`, `15.6 T`.
pub fn show_tokens(tokens: f64) -> String {
    let count = show_count(tokens);
    let Some((number, unit)) = count.split_once(' ') else {
        return count;
    };
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}")
}

/// A price with two decimals, where they are enough: `$2.00`.
pub fn show_price(currency: &str, price: f64) -> String {
    let cents = price * 100.0;
    if price < 1e4 && (cents - cents.round()).abs() < 1e-6 {
        format!("{currency}{price:.2}")
    } else {
        format!("{currency}{}", significant(price, 3))
    }
}

/// The currency and the number of a typed price: `€1.80`, `1,80 EUR`, `2`; none of the one where the text is no
/// price.
pub fn read_price(typed: &str) -> (Option<String>, String) {
    let is_number = |sign: char| sign.is_ascii_digit() || ".,_ -+".contains(sign);
    let text = typed.trim();
    let sign = text.trim_matches(is_number);
    // An exponent is a part of the number.
    let is_sign = !sign.is_empty() && sign.chars().count() <= LONGEST_CURRENCY && !sign.eq_ignore_ascii_case("e");
    let number = if is_sign { text.replace(sign, "") } else { text.to_owned() };
    let number = number.trim();
    if text.parse::<f64>().is_ok() || !number.contains(|letter: char| letter.is_ascii_digit()) {
        return (None, text.to_owned());
    }
    // A comma before one or two last digits begins the cents.
    let cents = number.rsplit_once(',').filter(|(whole, cents)| cents.len() < 3 && !whole.contains([',', '.']));
    let number = cents.map_or_else(|| number.to_owned(), |(whole, cents)| format!("{whole}.{cents}"));
    (is_sign.then(|| sign.to_owned()), number)
}

/// Letters of a currency.
const LONGEST_CURRENCY: usize = 4;

/// The sign before an amount of `run`: a word stands apart from the number.
pub fn sign(run: &Run) -> String {
    let sign: String = run.length.currency.as_deref().unwrap_or("$").chars().take(LONGEST_CURRENCY).collect();
    if sign.ends_with(char::is_alphabetic) { format!("{sign} ") } else { sign }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::issues::list;
    use shardscope_core::report::report;
    use shardscope_core::run::presets::PUBLISHED;
    use shardscope_core::run::{Algorithm, CrossEntropy, Recompute, RlParts};

    /// Above the capacity the bar is the need: its parts are the capacity and what is beyond it, and one mark is on it.
    #[test]
    fn what_is_beyond_the_capacity_is_drawn_in_proportion() {
        let widths = |run: &Run| {
            let memory = report(run).unwrap().memory;
            let html = Node::from_iter(capacity_bar(&memory, MemoryUnit::Gib)).to_html();
            let widths = html.split("width:").skip(1).map(|part| part.split('%').next().unwrap().parse().unwrap());
            (memory.capacity_bytes / memory.peak_bytes, widths.collect::<Vec<f64>>(), html)
        };
        let (share, parts, html) = widths(&Run { tp: 1, pp: 1, gpus: 8, global_batch: 8, zero: 0, ..Run::default() });
        assert!(share < 1.0 && parts.len() == 2 && !html.contains("<u"), "{html}");
        assert!((parts[0] / 100.0 - share).abs() < 1e-4 && (parts[0] + parts[1] - 100.0).abs() < 1e-2, "{parts:?}");
        let (share, parts, html) = widths(&Run::default());
        assert!(share > 1.0 && !html.contains("beyond") && parts[0] < 100.0, "{html}");
    }

    /// No figure is printed as below one that prints the same.
    #[test]
    fn a_need_that_prints_as_the_limit_is_not_called_below_it() {
        let run = Run::default();
        let mut report = report(&run).unwrap();
        for (beyond, words) in [(0.01, "just within"), (1.0, "all below")] {
            let memory = &mut report.memory;
            memory.need_high_bytes = memory.capacity_bytes - MemoryUnit::Gib.bytes(beyond);
            let shown = [memory.need_high_bytes, memory.capacity_bytes].map(|bytes| MemoryUnit::Gib.number(bytes));
            assert_eq!(shown[0] == shown[1], words == "just within", "{shown:?}");
            let html = strip(&run, &report, MemoryUnit::Gib).to_html();
            assert!(html.contains(words), "{html}");
        }
    }

    /// Every verdict's own words stand in the strip; a tight run never reads as if it fitted.
    #[test]
    fn a_tight_run_says_its_share_and_how_many_like_it_ran_out() {
        let run = Run { seq_len: 27_648, ..Run::default() };
        let report = report(&run).unwrap();
        assert_eq!(report.memory.verdict, Verdict::Tight);
        let html = strip(&run, &report, MemoryUnit::Gib).to_html();
        let Chance { like, ran_out } = report.memory.chance;
        let words = format!("{ran_out} of {like} seen runs as tight ran out");
        assert!(html.contains(&words), "{html}");
        assert!(html.contains("Tight") && !html.contains("Fits"));
    }

    /// Llama 3, table 4: 405B ran on 8,192 H100, where the estimate is above the memory. Beside the verdict it says so,
    /// and its step is none "if it fitted"; a run like it that nobody published has missing memory.
    #[test]
    fn a_published_run_says_beside_the_verdict_that_it_ran() {
        let mut run = PUBLISHED[0].run();
        let html = |run: &Run| strip(run, &report(run).unwrap(), MemoryUnit::Gib).to_html();
        let published = html(&run);
        assert!(published.contains("Out of memory") && published.contains("It ran; our estimate is"), "{published}");
        assert!(!published.contains("if it fitted"), "{published}");
        run.global_batch *= 2;
        let own = html(&run);
        assert!(own.contains("GiB missing; ") && own.contains("if it fitted") && !own.contains("It ran"), "{own}");
    }

    /// Not more digits than the range supports: three where it is narrower than a tenth of the figure, else two.
    #[test]
    fn a_figure_has_no_more_digits_than_its_range_supports() {
        let run = Run::default();
        let mut report = report(&run).unwrap();
        assert!(RangedTime::from(&report.step).is_wide());
        // Rounded once: 23.46 % is no 24 %, by way of 23.5 %.
        report.step.mfu = 0.2346;
        assert!(strip(&run, &report, MemoryUnit::Gib).to_html().contains(">23</b>"));
        let mut step = report.step;
        step.high_s = step.low_s + step.time_s * 0.09;
        assert!(!RangedTime::from(&step).is_wide());
    }

    #[test]
    fn every_key_figure_says_where_it_comes_from() {
        let run = Run::default();
        let view = strip(&run, &report(&run).unwrap(), MemoryUnit::Gib);
        assert_eq!(view.actions().len(), 4);
        let html = view.to_html();
        assert!(html.contains("Fits") && html.contains("of 79.2 GiB") && html.contains("all below 79.2"), "{html}");
        assert!(html.contains("bf16 peak"));
    }

    /// Llama 3.1 8B on one GPU a replica: at 10 bytes a logit and 128,256 words (docs/methods/memory.md) the loss of
    /// long sequences is what runs out. It is said exactly where a fused kernel makes the whole report fit.
    #[test]
    fn the_page_says_where_the_logits_are_what_does_not_fit() {
        let mut counted = 0;
        for thousands in 1..=64 {
            let run = Run { tp: 1, pp: 1, recompute: Recompute::Full, seq_len: 1024 * thousands, ..Run::default() };
            let with = |cross_entropy| {
                let run = Run { cross_entropy: Some(cross_entropy), ..run.clone() };
                report(&run).unwrap()
            };
            let fits = |kernel| with(kernel).memory.verdict == Verdict::Fits;
            let unfused = with(CrossEntropy::Megatron);
            let closest = [CrossEntropy::MegatronFused, CrossEntropy::TeFused].into_iter().find(|kernel| fits(*kernel));
            let wanted = closest.filter(|_| unfused.memory.verdict != Verdict::Fits);
            let html = list(&unfused.warnings).to_html();
            assert_eq!(html.contains("the logits are what"), wanted.is_some());
            if let Some(kernel) = wanted {
                counted += 1;
                assert!(html.contains("Set Loss kernel to") && html.contains(kernel.choice().label));
            }
        }
        assert!((1..64).contains(&counted), "{counted}");
    }

    /// 10¹² tokens at T tokens a second: 1e12/T/3600 hours on each of 64 GPUs, and a price is per GPU-hour.
    #[test]
    fn a_budget_is_of_a_trillion_tokens_at_two_dollars_unless_the_run_says() {
        let mut run = Run::default();
        let report = report(&run).unwrap();
        let hours = |tokens: f64| tokens / report.step.tokens_per_s / 3600.0 * 64.0;
        let html = budget(&evaluate(&run).unwrap(), &Scope::run()).to_html();
        // The range is wider than a tenth: two digits.
        let two = |amount: f64| count_to(amount, 2).replace(' ', "");
        assert!(html.contains(&format!("${}", two(hours(1e12) * 2.0))), "{html}");
        assert!(html.contains(&two(hours(1e12))), "{html}");
        assert_eq!(budget_name(&run).to_string(), "1 T tokens at $2.00 per GPU-hour");
        (run.tokens_total, run.price_per_gpu_hour) = (Some(15e12), Some(1.8));
        run.length.currency = Some("€".to_owned());
        let html = budget(&evaluate(&run).unwrap(), &Scope::run()).to_html();
        assert!(html.contains(&format!("€{}", two(hours(15e12) * 1.8))), "{html}");
        assert_eq!(budget_name(&run).to_string(), "15 T tokens at €1.80 per GPU-hour");
    }

    /// One GPU with an adapter fine-tunes on a billion tokens where nothing is said, 64 GPUs pretrain on a trillion:
    /// while the figures of the second stand in place of the first, the label is theirs. What was typed stays, and the
    /// cost says its own budget.
    #[test]
    fn the_label_of_a_grey_cost_is_of_the_run_of_its_figures() {
        let shown = Run::default();
        let mut entered = Run { gpus: 1, ..Run::default() };
        entered.adapter.method = Some(shardscope_core::run::AdapterMethod::Lora);
        assert!((budget_tokens(&entered) - 1e9).abs() < 1.0);
        let label = |entered: &Run| show_tokens(label_tokens(entered, Some(&shown)));
        assert_eq!(label(&entered), show_tokens(budget_tokens(&shown)));
        assert_eq!(grey_budget(&entered, &shown), Node::none());
        entered.tokens_total = Some(5e9);
        assert_eq!(label(&entered), "5 B");
        let words = grey_budget(&entered, &shown).to_html();
        assert!(words.contains("grey: 1 T tokens at $2.00 per GPU-hour"), "{words}");
    }

    /// A remedy that goes from a node to several, or back, keeps the budget that the page shows: 1 T tokens of a
    /// pretraining in place of 1 B of a fine-tuning would read as a price 1000 times as high. What is set stays.
    #[test]
    fn a_remedy_with_other_gpus_keeps_the_budget() {
        for (gpus, others) in [(4, 16), (64, 8), (8, 16), (64, 128)] {
            let own = Run { gpus, ..Run::default() };
            let set = set_keeping_budget(&own, &[("gpus", others.to_string())]);
            let after = own.with_texts(&set).unwrap();
            assert!(after.gpus == others && (budget_tokens(&after) / budget_tokens(&own) - 1.0).abs() < 1e-12);
            assert_eq!(after, keeping_budget(&own, Run { gpus: others, ..own.clone() }));
            let typed = Run { tokens_total: Some(3e10), ..own };
            let after = typed.with_texts(&set_keeping_budget(&typed, &[("gpus", others.to_string())])).unwrap();
            assert_eq!(after.tokens_total, typed.tokens_total);
        }
        // Another setting is no remedy of that kind: taken back, adapters take their budget along.
        assert_eq!(set_keeping_budget(&Run::default(), &[("adapter.method", "lora".to_owned())]).len(), 1);
    }

    /// A verdict under a sentence that cannot be evaluated says whose it is; the figures are those of that run.
    #[test]
    fn a_verdict_of_another_run_says_whose_it_is() {
        let run = Run::default();
        let evaluation = evaluate(&run).unwrap();
        let own = strip(&run, &evaluation.report, MemoryUnit::Gib);
        let peak = evaluation.report.memory.peak();
        for (instead, words) in [
            (Instead::Last(Box::new(run.clone())), "Last run that worked: fullest GPU"),
            (Instead::Proposal(Box::new(run.clone()), peak), "In the proposed layout: fullest GPU"),
        ] {
            let shown = strip_instead(&instead, &evaluation.report, MemoryUnit::Gib);
            assert!(shown.to_html().contains(words) && !own.to_html().contains(words));
            assert_eq!(shown.marked_figures(), own.marked_figures());
        }
        assert_eq!(strip_instead(&Instead::Nothing, &evaluation.report, MemoryUnit::Gib), Node::none());
    }

    /// What the software does not run is never green: the figure says first what it does not run. A layout that it
    /// runs, and a published run, say nothing of the kind.
    #[test]
    fn a_layout_that_the_software_does_not_run_is_not_said_to_fit() {
        let shown = |set: &[(&str, &str)]| {
            let run = Run::example().with_texts(set).unwrap();
            let report = evaluate(&run).unwrap().report;
            (strip(&run, &report, MemoryUnit::Gib).to_html(), report.memory.verdict)
        };
        let tuned = [("stack", "hf-trainer"), ("adapter.method", "lora"), ("gpus", "8"), ("seq_len", "512")];
        let (html, verdict) = shown(&[tuned.as_slice(), &[("tp", "2"), ("pp", "4")]].concat());
        assert_eq!(verdict, Verdict::Fits);
        // Before what it would need, and the range of that.
        assert!(html.contains("PEFT runs no pipeline; "), "{html}");
        assert!(html.contains("Would fit") && !html.contains("verdict fits"), "{html}");
        let (html, _) = shown(&[tuned.as_slice(), &[("tp", "1"), ("pp", "1")]].concat());
        assert!(html.contains("verdict fits") && !html.contains("runs no"), "{html}");
        for published in shardscope_core::run::presets::PUBLISHED {
            assert_eq!(words::why_unable(&published.run()), None, "{}", published.id);
        }
    }

    /// A step of reinforcement learning generates, scores and trains: the key figures are of all of it, and the price
    /// of 1,000 steps is 1,000 times the step on every GPU.
    #[test]
    fn figures_of_reinforcement_learning_are_of_the_whole_step() {
        let rl = crate::panels::rl::tests::asked();
        let run = Run { rl: RlParts { algorithm: Some(Algorithm::Grpo), ..rl }, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let step = predict(&run).unwrap();
        assert!(step.step_s.0 > 2.0 * step.training_s.0 && step.generation_s.0 > 0.0);
        let strip = strip(&run, &evaluation.report, MemoryUnit::Gib);
        let named: Vec<String> = strip.marked_figures().into_iter().map(|(field, _)| field).collect();
        assert_eq!(
            named,
            ["memory.peak_bytes", "rl.step_s", "rl.generation_share", "rl.tokens_per_s_per_gpu"],
            "no figure of the update alone"
        );
        let shown = seconds_like(step.step_s, step.step_s, 2);
        assert!(strip.to_html().contains(&format!(">{}<", shown.split(' ').next().unwrap())), "{}", strip.to_html());
        let hours = 1000.0 * step.step_s.0 / 3600.0 * 64.0;
        let cost = own_budget(&evaluation).to_html();
        assert!(cost.contains(&format!("${}", count_to(2.0 * hours, 2).replace(' ', ""))), "{cost}");
        assert_eq!(budget_name(&run).to_string(), "1000 steps at $2.00 per GPU-hour");
        assert!(!cost.contains("with losses"), "{cost}");
        // The engines' own GPUs are paid for as well.
        let split = RlParts { rollout_gpus: Some(32), staleness: Some(1.0), ..run.rl.clone() };
        let split = Run { rl: split, ..run.clone() };
        let budget = BudgetTime::of(&evaluate(&split).unwrap()).unwrap();
        let step = predict(&split).unwrap();
        assert!((budget.gpu_hours() / (1000.0 * step.step_s.0 / 3600.0 * 64.0) - 1.0).abs() < 1e-12);
    }

    /// While a step is not predicted no figure of the update stands in for it; what is missing leads to its field.
    #[test]
    fn missing_settings_of_reinforcement_learning_are_buttons_in_the_place_of_the_figures() {
        let rl = RlParts { algorithm: Some(Algorithm::Grpo), ..RlParts::default() };
        let run = Run { rl, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let strip = strip(&run, &evaluation.report, MemoryUnit::Gib);
        assert_eq!(strip.marked_figures().len(), 1, "the memory alone");
        let asked = predict(&run).unwrap_err();
        for issue in &asked {
            let lead = strip.actions().into_iter().any(|action| *action == Action::Focus(field_key(&issue.field)));
            assert!(lead, "{}", issue.field);
        }
        assert!(asked.len() >= 5 && own_budget(&evaluation).figures().is_empty());
    }

    fn field_key(name: &str) -> &'static str {
        shardscope_core::run::registry::field(name).unwrap().key
    }

    #[test]
    fn a_price_is_typed_with_its_currency() {
        let read = |typed| {
            let (sign, number) = read_price(typed);
            format!("{}|{number}", sign.unwrap_or_default())
        };
        assert_eq!(
            ["€1.80", "1.80 EUR", "2", "2e-3", "¥ 12", "", "€1,80", "2,5", "1,000", "cheap", "-3"].map(read),
            ["€|1.80", "EUR|1.80", "|2", "|2e-3", "¥|12", "|", "€|1.80", "|2.5", "|1,000", "|cheap", "|-3"]
        );
    }

    /// Days and cost open their figures of the whole run; those of another layout do not.
    #[test]
    fn the_budget_of_the_page_opens_its_figures_in_the_whole_run() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let opens =
            |node: &Node| node.actions().into_iter().filter(|action| matches!(action, Action::ExplainWhole(_))).count();
        assert_eq!((opens(&own_budget(&evaluation)), opens(&budget(&evaluation, &Scope::run()))), (2, 0));
    }

    /// Losses of 0.18 % change none of two digits in most amounts: cost and days with them are there exactly where one
    /// of the printed figures reads otherwise.
    #[test]
    fn losses_are_named_where_they_change_a_printed_digit() {
        let mut named = [0, 0];
        let tokens = (0..24).map(|at| 1e9 * 1.7_f64.powi(at));
        for (tokens_total, spare_quantile) in tokens.flat_map(|tokens| [(tokens, None), (tokens, Some(0.99))]) {
            let mut run = Run { tokens_total: Some(tokens_total), price_per_gpu_hour: Some(2.0), ..Run::default() };
            run.length.spare_quantile = spare_quantile;
            let evaluation = evaluate(&run).unwrap();
            let node = budget(&evaluation, &Scope::run());
            let (html, marked) = (node.to_html(), node.marked_figures());
            let printed = |name: &str| marked.iter().find(|(field, _)| field == name).map(|(_, figure)| figure.clone());
            let whole = figures(&evaluation, &setting(&evaluation, tokens_total).unwrap());
            let wide = RangedTime::from(&evaluation.report.step).is_wide();
            let cost = format!("${}", few(whole.gpu_hours * 2.0, wide).1);
            let days = show_days(whole.days, wide).0;
            let both = [("budget.cost", WholeRunFigure::Cost, cost), ("budget.days", WholeRunFigure::Days, days)];
            let is_named = html.contains("with losses");
            assert!(is_named || both.iter().all(|(steps, _, whole)| printed(steps).unwrap() == *whole), "{html}");
            for (_, of, whole) in both {
                assert_eq!(printed(of.id()), is_named.then_some(whole), "{tokens_total}: {html}");
            }
            assert_eq!(html.contains("and spares"), is_named && whole.spares > 0, "{html}");
            named[usize::from(is_named)] += 1;
        }
        assert!(named[0] > 5 && named[1] > 5, "{named:?}");
    }

    /// The widest figures that a field's range allows: units stay short of the column, numbers take a larger unit.
    #[test]
    fn no_figure_is_longer_than_its_column() {
        for tokens in [1.0, 1e6, 1e12, 1e18] {
            for (gpus, price) in [(8, 0.01), (64, 2.0), (65_536, 1e6)] {
                let run = Run {
                    gpus,
                    tokens_total: Some(tokens),
                    price_per_gpu_hour: Some(price),
                    global_batch: gpus * 4,
                    ..Run::default()
                };
                let report = report(&run).unwrap();
                let cost = budget(&evaluate(&run).unwrap(), &Scope::run());
                let mut figures = Node::from_iter([strip(&run, &report, MemoryUnit::Gib), cost]).marked_figures();
                // The line below the figures wraps.
                figures.retain(|(field, _)| field != "budget.gpu_hours");
                // Cost and days with losses are there where the run ends and losses change one of them.
                assert!((6..=8).contains(&figures.len()), "{}", figures.len());
                for (_, figure) in figures {
                    assert!(figure.chars().count() <= 7, "{figure}");
                }
            }
        }
    }
}
