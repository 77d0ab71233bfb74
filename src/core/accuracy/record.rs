//! The record of the errors of predicted steps, `public/data/accuracy.csv`. It has a line for each protocol (which
//! constants predicted the runs), recipe (which fields of the runs were known) and class of runs.
//!
//! `tools/accuracy` writes it and the page reads it. A test fails if the published rows or the constants have changed
//! since it was written.

use super::constants::constants;
use super::evidence::Evidence;
use super::origin::{DatedSteps, PRODUCT_PRIORS, Tally};
use super::sources::THROUGHPUT;
use crate::maths::ln;
use crate::report::evaluate;
use crate::run::{OffloadParts, PRIORS, Recompute, Run, Schedule};
use crate::statics::named;
use crate::table::Table;
use crate::time::StepClass;

/// The text of the record.
pub const RECORD: &str = include_str!("../../../public/data/accuracy.csv");

named! {
    /// The constants by which runs are predicted.
    pub enum Protocol: id {
        /// The constants of the code, which were fitted to these runs among others.
        Fitted = "fitted",
        /// For each run, constants fitted to the runs of all other publishers.
        Publisher = "publisher",
        /// For each run, constants fitted to all runs that were published before it.
        Origin = "origin",
        /// For each run, constants fitted to the runs that other publishers had published before it.
        New = "new",
        /// The constants of the code, for runs that were held out from every fit. Their errors were looked at once
        /// before: when the part of the range that is due to the host was chosen.
        Kept = "kept",
    }
}

named! {
    /// The fields of a run that the prediction knows.
    pub enum Recipe: words {
        /// All fields of its row, including those that come from other files than its publication.
        AsRun = "as-run",
        /// Only the fields that its publication prints.
        AsPrinted = "as-printed",
    }
}

/// A line of the record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    pub protocol: Protocol,
    pub recipe: Recipe,
    /// None for the line of all classes.
    pub class: Option<StepClass>,
    pub tally: Tally,
}

/// The lines of [`RECORD`].
pub fn recorded() -> Vec<Recorded> {
    let table = Table::read(RECORD);
    let line = |line: crate::table::Line| {
        let number = |column: &str| line.number(column);
        let class = line.text("class");
        Some(Recorded {
            protocol: Protocol::ALL.into_iter().find(|protocol| protocol.id() == line.text("protocol"))?,
            recipe: Recipe::ALL.into_iter().find(|recipe| recipe.words() == line.text("recipe"))?,
            class: StepClass::ALL.into_iter().find(|of| of.id() == class),
            tally: Tally {
                runs: usize::try_from(line.count("runs", 0)?).ok()?,
                mean: number("mean")?,
                median: number("median")?,
                four_of_five: number("four_of_five")?,
                held: number("held")?,
                width: number("width")?,
                score: number("score")?,
                from: number("from")?,
                to: number("to")?,
            },
        })
    };
    table.lines().filter_map(line).collect()
}

/// The errors in the record for `protocol`, `recipe` and `class`.
pub fn recorded_of(protocol: Protocol, recipe: Recipe, class: Option<StepClass>) -> Option<Tally> {
    let is_wanted = |line: &Recorded| (line.protocol, line.recipe, line.class) == (protocol, recipe, class);
    recorded().into_iter().find(is_wanted).map(|line| line.tally)
}

/// The errors that the page shows first: of runs predicted by constants from before their publication, with the fields
/// that their publication prints, over all classes.
pub fn headline() -> Tally {
    recorded_of(Protocol::Origin, Recipe::AsPrinted, None).unwrap_or_default()
}

/// Resets the fields of `run`, the Run of `row`, that its document does not print. Only the throughput tables of
/// Megatron-Bridge have such fields, which the files of its recipes set (`tests/data/recipe_notes.csv`); other
/// documents print all fields or link the files.
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

/// Reads the runs that were held out from the table `text`: each with the measured seconds of its step and its year.
/// The second part is the number of lines that cannot be read.
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

/// For each of `runs` its class, its error (logarithm of predicted over measured) and the standard deviation of its
/// range.
pub fn judged(runs: &[(Run, f64, f64)]) -> Vec<(StepClass, f64, f64)> {
    let error = |(run, measured, _): &(Run, f64, f64)| {
        let evaluation = evaluate(run).ok()?;
        let step = &evaluation.report.step;
        Some((StepClass::of(&evaluation.scenario), ln(step.time_s.0 / measured), step.deviation()))
    };
    runs.iter().filter_map(error).collect()
}

/// The comment lines at the head of the record, with a hash of `tables` (the texts of the tables that have rows with a
/// step) and a hash of the constants. The test compares them with the present tables and constants.
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

/// The text of the record of `rows` and of the runs `aside` that were held out. `tables` are the texts of the tables
/// of `rows`.
pub fn record(rows: &[Evidence], aside: &[(Run, f64, f64)], tables: &[String]) -> String {
    let mut text = head(tables) + "protocol,recipe,class,runs,mean,median,four_of_five,held,width,score,from,to\n";
    let as_run: fn(&Evidence, &mut Run) = |_, _| {};
    for (recipe, edit) in [(Recipe::AsRun, as_run), (Recipe::AsPrinted, as_printed)] {
        let timeline = DatedSteps::new(rows, edit);
        for protocol in Protocol::ALL {
            let predictions = match protocol {
                Protocol::Fitted => timeline.as_shipped(),
                Protocol::Publisher => timeline.by_publisher(),
                Protocol::Origin => timeline.rolling(),
                Protocol::New => timeline.new_to_all(),
                Protocol::Kept => continue,
            };
            for class in StepClass::ALL.into_iter().map(Some).chain([None]) {
                text += &line(protocol, recipe, class, timeline.tally(&predictions, class));
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

/// A line of the record; empty without runs.
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
