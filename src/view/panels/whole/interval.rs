//! Time lost by the interval between two saves: saving, repeating, and both; the interval that loses least.

use super::found::{WholeRunAnswer, duration};
use crate::charts::drawing::Form;
use crate::charts::figure::key;
use crate::charts::ink::Ink;
use crate::charts::plot::{Plot, PlotAxis, PlotMark, PlotScale, draw};
use crate::charts::ticks::tick_percent;
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::explain::{Formula, Term};
use shardscope_core::units::group;
use shardscope_core::units::show_part;
use shardscope_core::whole_run::{Calendar, Rhythm, Setting, WholeRunFigure, best_intervals};

/// The curve goes to so many times the best interval, both ways.
const FAR: f64 = 12.0;
const POINTS: u32 = 60;
const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
/// Intervals that are named at the axis.
const ROUND: [f64; 16] = [
    0.01,
    0.1,
    1.0,
    5.0,
    20.0,
    MINUTE,
    5.0 * MINUTE,
    20.0 * MINUTE,
    HOUR,
    4.0 * HOUR,
    16.0 * HOUR,
    48.0 * HOUR,
    168.0 * HOUR,
    720.0 * HOUR,
    2400.0 * HOUR,
    8760.0 * HOUR,
];

/// Shares of the calendar that saving and repeated work take at an interval.
pub(super) fn losses_at(setting: &Setting, every: Seconds) -> [f64; 2] {
    let calendar = Calendar::new(&Setting { rhythm: Rhythm { every, ..setting.rhythm }, ..setting.clone() });
    let total = calendar.total();
    [calendar.saving / total, calendar.lost / total]
}

/// Share of the run that is lost in all.
fn sum([saving, repeated]: [f64; 2]) -> f64 {
    saving + repeated
}

/// Lost time over the interval between two saves, with this run's interval and Young's marked.
fn curve(setting: &Setting, every: Seconds, best: Seconds, young: Seconds) -> Node {
    let first = (best.0 / FAR).max(setting.rhythm.lag.0);
    let last = (best.0 * FAR).max(first * FAR).max(every.0 * 1.2);
    let first = first.min(every.0);
    let points: Vec<(f64, [f64; 2])> = (0..=POINTS)
        .map(|at| {
            let every = first * (last / first).powf(f64::from(at) / f64::from(POINTS));
            (every, losses_at(setting, Seconds(every)))
        })
        .collect();
    let most = (sum(losses_at(setting, every)) * 1.3).max(sum(losses_at(setting, best)) * 4.5).min(1.0);
    let line = |of: &dyn Fn([f64; 2]) -> f64, ink| {
        let visible = points.iter().map(|(x, parts)| (*x, of(*parts))).filter(|(_, y)| *y <= most);
        PlotMark::Line(visible.collect(), ink)
    };
    let dot =
        |at: Seconds, form, ink, name: Message| PlotMark::Dot((at.0, sum(losses_at(setting, at))), form, ink, name);
    let mut marks = vec![
        line(&|[saving, _]| saving, Ink::Memory(1)),
        line(&|[_, repeated]| repeated, Ink::Backward),
        line(&sum, Ink::Text),
        dot(every, Form::Large, Ink::Accent, t!("this run: every {time}", time = duration(every))),
    ];
    let is_there = (first..=last).contains(&young.0);
    marks.extend(
        is_there.then(|| dot(young, Form::Hollow, Ink::Muted, t!("Young 1974: {time}", time = duration(young)))),
    );
    let scale = PlotScale::even(0.0, most);
    let up = PlotAxis::new(scale, scale.round(), |share| verbatim(tick_percent(share))).named("lost time");
    let across = PlotScale::log([first, last].into_iter(), 1.0);
    let named = ROUND.into_iter().filter(|time| (first..=last).contains(time)).collect();
    let across = PlotAxis::new(across, named, |time| verbatim(duration(Seconds(time))));
    let across = across.named("training between two saves");
    let label = t!(
        "Lost time by the interval between two saves: least {share} at {time}",
        share = show_percent(sum(losses_at(setting, best))),
        time = Scope::run().says("whole:best_checkpoint_s", duration(best))
    );
    draw(&across, 130.0, &[Plot { up, marks }]).inline(label)
}

/// The curve and its formula.
pub(super) fn interval(answer: &WholeRunAnswer) -> Node {
    let title = leaf("h2", "", "Best checkpoint interval");
    let (figures, setting) = (&answer.figures, &answer.setting);
    let (Some(every), Some(best), Some(_)) = (figures.checkpoint_s, figures.best_checkpoint_s, figures.mtti_s) else {
        return el("section", &[], &[title, muted("Nothing fails in this run, so nothing has to be saved.")]);
    };
    let [exact, young] = best_intervals(setting);
    let here = sum(losses_at(setting, every));
    let picture = curve(setting, every, best, Seconds(young.value));
    let legend = key(&[("c-gradients", "writing checkpoints"), ("c-backward", "repeated work"), ("c-sum", "both")]);
    let steps = group(&format!("{:.0}", every / (setting.step * setting.straggler)));
    let here = t!(
        "Here every {time}, {steps} steps: {share} of the time is lost to saves and to what they did not save.",
        time = Scope::run().says("whole:checkpoint_s", duration(every)),
        steps,
        share = Scope::run().says("whole:checkpoint_share", show_part(here))
    );
    let symbols = |term: &Term| verbatim(term.formula().map_or("", Formula::text));
    let exact = t!(
        "{symbol} = {formula} = {time}, the exact optimum",
        symbol = verbatim(exact.symbol),
        formula = symbols(&exact),
        time = duration(best)
    );
    let first_order =
        t!("{formula} = {time}, Young 1974", formula = symbols(&young), time = duration(Seconds(young.value)));
    let mut lines = vec![
        leaf("p", "", here),
        el(
            "p",
            &[],
            &[el("button", &[("class", "link")], &[text(exact)]).on(Action::ExplainWhole(WholeRunFigure::Checkpoint))],
        ),
        muted(first_order),
    ];
    lines.extend(figures.checkpoint_range_s.map(|[low, high]| {
        muted(t!(
            "Anything from {low} to {high} costs less than 0.5 % more.",
            low = Scope::run().says("whole:checkpoint_low_s", duration(low)),
            high = Scope::run().says("whole:checkpoint_high_s", duration(high))
        ))
    }));
    lines.extend(durable(answer, best));
    let parts = [title, legend, el("div", &[("class", "chart")], &[picture])];
    el("section", &[], &[Node::from_iter(parts), Node::from_iter(lines)])
}

/// Times of a save, until it is durable; a line more where they keep saves further apart than the best interval.
fn durable(answer: &WholeRunAnswer, best: Seconds) -> Vec<Node> {
    let (figures, setting) = (&answer.figures, &answer.setting);
    let (rhythm, storage) = (setting.rhythm, Scope::run().says("whole:storage", show_bandwidth(setting.storage)));
    let whose = Scope::run();
    let bytes = whose.says("whole:checkpoint_bytes", bytes(figures.checkpoint_bytes));
    let (save, lag) =
        (whose.says("whole:save_s", duration(rhythm.save)), whose.says("whole:lag_s", duration(rhythm.lag)));
    let mut lines = Vec::new();
    if rhythm.lag > best {
        let lag = lag.clone();
        lines.push(muted(t!("Saves are at least {lag} apart: the storage takes that long for a checkpoint.", lag)));
    }
    lines.push(muted(if rhythm.lag.0 > 0.0 {
        t!("A save blocks for {save}; {bytes} are durable {lag} later at {storage}.", save, bytes, lag, storage)
    } else {
        t!("A save of {bytes} blocks for {save} at {storage}.", bytes, save, storage)
    }));
    lines
}

/// Bytes of a checkpoint in decimal units, as storage is sold.
pub(super) fn bytes(bytes: f64) -> String {
    shardscope_core::units::show_storage(shardscope_core::units::Bytes(bytes))
}
