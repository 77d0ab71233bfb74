//! The record of errors, `public/data/accuracy.csv`: by how a run was predicted, by what is known of its recipe, and by
//! class. `tools/accuracy` writes it, the page reads it, a test fails where it is older than rows or constants.

use super::constants::constants;
use super::evidence::Evidence;
use super::origin::{DatedSteps, PRODUCT_PRIORS, Tally};
use super::sources::THROUGHPUT;
use crate::maths::ln;
use crate::report::evaluate;
use crate::run::{OffloadParts, PRIORS, Recompute, Run, Schedule};
use crate::statics::named;
use crate::table::Table;
use crate::time::{REACH, StepClass};

/// The record as it was written.
pub const RECORD: &str = include_str!("../../../public/data/accuracy.csv");

named! {
    /// Way in which runs were predicted.
    pub enum Protocol: id {
        /// By the constants of the code, which have seen them.
        Fitted = "fitted",
        /// By constants fitted without their publisher.
        Publisher = "publisher",
        /// By constants fitted to what was published before them.
        Origin = "origin",
        /// By constants fitted to what other publishers had printed before: publisher and release are new at once.
        New = "new",
        /// By the constants of the code, of runs that set none of them. They were looked at once, when the part of the
        /// host in the range was chosen.
        Kept = "kept",
    }
}

named! {
    /// What is taken as known of a run's recipe.
    pub enum Recipe: words {
        /// All fields of the row, those included that its publication does not print.
        AsRun = "as-run",
        /// What the publication prints.
        AsPrinted = "as-printed",
    }
}

/// A line of the record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    pub protocol: Protocol,
    pub recipe: Recipe,
    /// None: all classes.
    pub class: Option<StepClass>,
    pub tally: Tally,
}

/// The lines of [`RECORD`].
pub fn recorded() -> Vec<Recorded> {
    let table = Table::read(RECORD);
    let line = |line: crate::table::Line| {
        let named = |column: &str| line.number(column);
        let class = line.text("class");
        Some(Recorded {
            protocol: Protocol::ALL.into_iter().find(|one| one.id() == line.text("protocol"))?,
            recipe: Recipe::ALL.into_iter().find(|one| one.words() == line.text("recipe"))?,
            class: StepClass::ALL.into_iter().find(|one| one.id() == class),
            tally: Tally {
                runs: usize::try_from(line.count("runs", 0)?).ok()?,
                mean: named("mean")?,
                median: named("median")?,
                four_of_five: named("four_of_five")?,
                held: named("held")?,
                width: named("width")?,
                score: named("score")?,
                from: named("from")?,
                to: named("to")?,
            },
        })
    };
    table.lines().filter_map(line).collect()
}

/// The line of the record of `protocol`, `recipe` and `class`.
pub fn recorded_of(protocol: Protocol, recipe: Recipe, class: Option<StepClass>) -> Option<Tally> {
    let is = |one: &Recorded| (one.protocol, one.recipe, one.class) == (protocol, recipe, class);
    recorded().into_iter().find(is).map(|one| one.tally)
}

/// What the page says first: runs predicted before they were known, by what their publication prints, all classes.
pub fn headline() -> Tally {
    recorded_of(Protocol::Origin, Recipe::AsPrinted, None).unwrap_or_default()
}

/// Takes out of `run`, that of `row`, the fields of its recipe that its document does not print: of the tables of
/// Megatron-Bridge all that only a recipe's file says (`tests/data/recipe_notes.csv`). Other documents print theirs or
/// have the files beside them.
pub fn as_printed(row: &Evidence, run: &mut Run) {
    if row.source().file == THROUGHPUT && row.origin.contains("Megatron-Bridge") {
        run.graph_scope = None;
        run.moe_dispatch = None;
        run.ep_overlap = None;
        run.delay_wgrad = None;
        run.shared_expert_overlap = false;
        run.capacity_factor = None;
        run.recompute = Recompute::None;
        run.offload = OffloadParts::default();
        run.stack.parts.moe_fused = None;
        run.stack.parts.attention = None;
        run.stack.parts.tp_overlap = None;
        run.precision.parts.bf16_last = None;
        if run.schedule == Schedule::InterleavedOverlap {
            run.schedule = Schedule::Interleaved;
        }
    }
}

/// FNV-1a of `bytes`, 32 bits.
pub fn fnv(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Runs that were kept aside, with seconds and year, of the table `text`, and how many of its lines are no Run.
pub fn kept(text: &str) -> (Vec<(Run, f64, f64)>, usize) {
    let table = Table::read(text);
    let run = |line: crate::table::Line| {
        let pairs = line.text("run").split('&').map(|pair| pair.split_once('='));
        let pairs = pairs.map(|pair| pair.map(|(key, value)| (key.to_owned(), value.to_owned())));
        let (run, issues) = Run::from_pairs(&pairs.collect::<Option<Vec<_>>>()?);
        issues.is_empty().then_some((run, line.number("step_time_s")?, line.number("year")?))
    };
    let runs: Vec<(Run, f64, f64)> = table.lines().filter_map(run).collect();
    let unread = table.len() - runs.len();
    (runs, unread)
}

/// Errors and deviations of runs that were kept aside, by class.
pub fn judged(runs: &[(Run, f64, f64)]) -> Vec<(StepClass, f64, f64)> {
    let one = |(run, measured, _): &(Run, f64, f64)| {
        let evaluation = evaluate(run).ok()?;
        let step = &evaluation.report.step;
        let deviation = ln(step.high_s / step.low_s) / (2.0 * REACH);
        Some((StepClass::of(&evaluation.scenario), ln(step.time_s.0 / measured), deviation))
    };
    runs.iter().filter_map(one).collect()
}

/// First lines of the record of `tables`, the texts of the tables of rows with a step: hashes of what it follows from.
pub fn head(tables: &[String]) -> String {
    let rows = fnv(tables.iter().flat_map(|text| text.bytes()));
    let all = format!("{:?}{PRIORS:?}{PRODUCT_PRIORS:?}", constants());
    format!(
        "# Errors of published steps, by tools/accuracy: fitted, by the constants of the code; publisher, by\n\
        # constants fitted without the run's publisher; origin, by constants fitted to what was published before it; \
        new, to\n\
        # what others had published before it; kept, runs that set no constant, looked at when the host's part of\n\
        # the range was chosen and before quantised gathers were counted. as-run: all fields of the row;\n\
        # as-printed: without those that tables of throughput do not print. Shares, years; width and score (width\n\
        # and ten times the distance beyond an end)\n\
        # in logarithms.\n\
        # rows {rows:08x}, constants {:08x}\n",
        fnv(all.bytes())
    )
}

/// The record of `rows` and of those that were kept aside; `tables` hold them.
pub fn record(rows: &[Evidence], aside: &[(Run, f64, f64)], tables: &[String]) -> String {
    let mut text = head(tables) + "protocol,recipe,class,runs,mean,median,four_of_five,held,width,score,from,to\n";
    let as_run: fn(&Evidence, &mut Run) = |_, _| {};
    for (recipe, edit) in [(Recipe::AsRun, as_run), (Recipe::AsPrinted, as_printed)] {
        let timeline = DatedSteps::new(rows, edit);
        for protocol in Protocol::ALL {
            let found = match protocol {
                Protocol::Fitted => timeline.as_shipped(),
                Protocol::Publisher => timeline.by_publisher(),
                Protocol::Origin => timeline.rolling(),
                Protocol::New => timeline.new_to_all(),
                Protocol::Kept => continue,
            };
            for class in StepClass::ALL.into_iter().map(Some).chain([None]) {
                text += &line(protocol, recipe, class, timeline.tally(&found, class));
            }
        }
    }
    let (judged, years) = (judged(aside), || aside.iter().map(|(.., year)| *year));
    let (from, to) = (years().fold(f64::INFINITY, f64::min), years().fold(0.0, f64::max));
    for class in StepClass::ALL.into_iter().map(Some).chain([None]) {
        let of = judged.iter().filter(|(own, ..)| class.is_none_or(|class| class == *own));
        let tally = Tally { from, to, ..Tally::of(of.map(|(_, error, deviation)| (*error, *deviation))) };
        text += &line(Protocol::Kept, Recipe::AsPrinted, class, tally);
    }
    text
}

/// A line of the record; of no runs none.
fn line(protocol: Protocol, recipe: Recipe, class: Option<StepClass>, tally: Tally) -> String {
    let Tally { runs, mean, median, four_of_five, held, width, score, from, to } = tally;
    let class = class.map_or("all", StepClass::id);
    if runs == 0 {
        return String::new();
    }
    format!(
        "{},{},{class},{runs},{mean:.4},{median:.4},{four_of_five:.4},{held:.4},{width:.3},{score:.3},\
            {from:.2},{to:.2}\n",
        protocol.id(),
        recipe.words()
    )
}
