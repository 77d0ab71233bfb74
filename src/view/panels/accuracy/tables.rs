//! The tables: errors by source, verdicts by band, misses, the constants; and the misses that are explained in words.

use crate::prelude::*;
use crate::words;
use shardscope_core::accuracy::record::{Protocol, Recipe, recorded_of};
use shardscope_core::accuracy::towers::tower_cells;
use shardscope_core::accuracy::{Bench, Fact, Measurement, constants, verdict_bands};
use shardscope_core::report::Pair;
use shardscope_core::time::StepClass;
use shardscope_core::units::show_off;

/// A mean error above which a source is called a miss.
const MISS: f64 = 0.15;

fn signed(share: f64) -> String {
    show_off(share, 1)
}

pub fn by_source(bench: &Bench) -> Node {
    Rows::of(bench.errors())
        .column("source", |error| verbatim(error.source.name))
        .column("used as", |error| error.source.kind.words())
        .figures("runs", |error| error.count.to_string())
        .figures("mean", |error| show_percent(error.mean))
        .figures("bias", |error| signed(error.bias))
        .figures("worst", |error| show_percent(error.worst))
        .column("software", |error| verbatim(error.source.stack))
        .marked(|error| error.mean > MISS)
        .table("Error by source")
}

pub fn bands(bench: &Bench) -> Node {
    Rows::of(verdict_bands(&bench.verdicts))
        .column("verdict given", |band| words::band(band.verdict))
        .figures("runs", |band| band.runs.to_string())
        .figures("ran out of memory", |band| band.ran_out.to_string())
        .figures("rate", |band| show_percent(band.ran_out as f64 / band.runs.max(1) as f64))
        .table("Verdicts")
}

pub fn misses(label: impl Into<Message>, bench: &Bench, facts: &[Fact]) -> Node {
    let row = |fact: &Fact| &bench.rows[fact.row];
    let show = |fact: &Fact, value: f64| match row(fact).measured {
        Measurement::Memory(_) => format!("{} GiB", significant(value, 3)),
        _ => show_seconds(Seconds(value)),
    };
    let name = |fact: &Fact| {
        let row = row(fact);
        let name = load("link", &row.run, verbatim(&row.note), &[text(verbatim(&row.label))]);
        let source = aside(verbatim(format!(" {}", row.source().name)));
        // Runs and sources are called what their tables call them.
        el("span", &[("class", "wrap"), ("translate", "no")], &[name, source])
    };
    Rows::of(facts.iter().copied())
        .column("run (opens it)", name)
        .figures("measured", |fact| show(fact, fact.measured))
        .figures("predicted", |fact| show(fact, fact.predicted))
        .figures("error", |fact| signed(fact.ratio() - 1.0))
        .marked(|fact| fact.error() > MISS)
        .table(label)
}

/// Name of a class of runs.
fn class_words(class: Option<StepClass>) -> Message {
    match class {
        Some(StepClass::Plain) => t!("dense, 16 bits"),
        Some(StepClass::Low) => t!("dense, fp8 and NVFP4"),
        Some(StepClass::Experts) => t!("routed experts"),
        Some(StepClass::Hybrids) => t!("hybrids"),
        Some(StepClass::Tuned) => t!("fine-tuning"),
        None => t!("all"),
    }
}

/// Errors of steps by how they were predicted: all classes together.
pub fn by_protocol() -> Node {
    let rows = [
        (t!("Fitted"), t!("runs used to fit the constants"), Protocol::Fitted, Recipe::AsRun),
        (t!("Left out by publisher"), t!("by constants of other publishers"), Protocol::Publisher, Recipe::AsPrinted),
        (
            t!("Predicted before publication"),
            t!("rolling: by what was known before each run, and what its table prints"),
            Protocol::Origin,
            Recipe::AsPrinted,
        ),
        (
            t!("Publisher and release new"),
            t!("by what others had published before each run, and what its table prints"),
            Protocol::New,
            Recipe::AsPrinted,
        ),
        (
            t!("Held out"),
            t!("by constants that none of them set; looked at once when a part of the range was chosen"),
            Protocol::Kept,
            Recipe::AsPrinted,
        ),
    ];
    let tallied = rows.into_iter().filter_map(|(name, about, protocol, recipe)| {
        recorded_of(protocol, recipe, None).map(|tally| (name, about, tally))
    });
    Rows::of(tallied)
        .column("how it was tested", |row| {
            el("span", &[("class", "wrap")], &[strong(&row.0), text(verbatim(": ")), text(row.1.clone())])
        })
        .figures("runs", |row| row.2.runs.to_string())
        .figures("mean", |row| show_percent(row.2.mean))
        .figures("median", |row| show_percent(row.2.median))
        .figures("four of five within", |row| show_percent(row.2.four_of_five))
        .figures("inside the range", |row| show_percent(row.2.held))
        .table("Errors by how they were tested")
}

/// Errors of steps of runs that were predicted before they were known, by class, beside the fitted ones.
pub fn by_class() -> Node {
    let classes = StepClass::ALL.into_iter().map(Some).chain([None]);
    let rows = classes.filter_map(|class| {
        let of = |protocol, recipe| recorded_of(protocol, recipe, class);
        let (new, fitted) = of(Protocol::Origin, Recipe::AsPrinted).zip(of(Protocol::Fitted, Recipe::AsRun))?;
        let aside = of(Protocol::Kept, Recipe::AsPrinted).unwrap_or_default();
        let told = of(Protocol::Origin, Recipe::AsRun)?;
        (new.runs > 0).then_some((class, new, fitted, aside, told))
    });
    Rows::of(rows)
        .column("class", |row| class_words(row.0))
        .figures("runs", |row| row.1.runs.to_string())
        .column("published in", |row| {
            let [from, to] = [row.1.from, row.1.to].map(|year| verbatim(format!("{:.0}", year.floor())));
            t!("{from} to {to}", from, to)
        })
        .figures("mean, predicted before", |row| show_percent(row.1.mean))
        .figures("median", |row| show_percent(row.1.median))
        .figures("inside the range", |row| show_percent(row.1.held))
        .figures("mean, all settings", |row| show_percent(row.4.mean))
        .figures("held out: runs", |row| row.3.runs.to_string())
        .figures("held out: median", |row| if row.3.runs == 0 { String::new() } else { show_percent(row.3.median) })
        .figures("held out: inside", |row| if row.3.runs == 0 { String::new() } else { show_percent(row.3.held) })
        .figures("mean, fitted", |row| show_percent(row.2.mean))
        .table("Errors of steps by class")
}

/// Two splits of the same layers of which both were measured, with the figures of each: even first.
fn splits(bench: &Bench) -> Option<(Pair, [&Fact; 2])> {
    let run = |fact: &Fact| &bench.rows[fact.row].run;
    let split: Vec<&Fact> = bench.facts.iter().filter(|fact| run(fact).stage_layers.is_some()).collect();
    let alike = |a: &Fact, b: &Fact| {
        let other = Run { stage_layers: run(b).stage_layers.clone(), ..run(a).clone() };
        other == *run(b)
    };
    split.iter().enumerate().find_map(|(at, one)| {
        let other = split[at + 1..].iter().find(|other| alike(one, other))?;
        let layers = |fact: &Fact| run(fact).stage_layers.as_deref().unwrap_or_default();
        let steps = [one, other].map(|fact| (layers(fact), fact.measured));
        let pair = Pair::of(&steps)?;
        let first_is_even = layers(one) == pair.even;
        let both = if first_is_even { [*one, *other] } else { [*other, *one] };
        Some((pair, both))
    })
}

/// The uneven pipeline that the model does not explain.
pub fn uneven(bench: &Bench) -> Node {
    let Some((pair, [even, uneven])) = splits(bench) else {
        return Node::none();
    };
    let run = &bench.rows[uneven.row].run;
    let (Some((most, longest)), Ok(scenario)) = (pair.bound(), Scenario::new(run)) else {
        return Node::none();
    };
    let (Some(before), Some(after)) = (pair.even.first(), pair.uneven.first()) else {
        return Node::none();
    };
    let peak = uneven.measured * run.gpus as f64 * scenario.gpu.bf16.0;
    let message = t!(
        "Moving {after} of {before} layers off the rank that holds the vision tower is predicted to be {predicted} \
            times as fast; measured was {gain}. With layers of equal cost the slowest rank goes from the tower and \
            {before} layers to {longest}, and no tower makes that more than {most}/{longest} = {longest_2}; the \
            faster step was measured at {peak} of peak, so most of its time is not in the layers at all. No constant \
            was bent to meet it.",
        after = before.saturating_sub(*after),
        before,
        predicted = significant(even.predicted / uneven.predicted, 3),
        gain = significant(pair.gain, 4),
        longest,
        most,
        longest_2 = significant(most as f64 / longest as f64, 3),
        peak = show_percent(scenario.model_flops() / peak)
    );
    let head = t!("A known miss: uneven pipeline on {gpu}", gpu = run.gpu.title());
    Node::from_iter([heading(&head), paragraph(&message)])
}

/// The tower on a rank of its own, whose measured gains the model has in part.
pub fn towers() -> Node {
    let Some((cells, shares)) = tower_cells() else {
        return Node::none();
    };
    let Some(share) = shares.first() else {
        return Node::none();
    };
    let table = Rows::of(&cells)
        .figures("sequence", |cell| cell.seq_len.to_string())
        .figures("global batch", |cell| cell.global_batch.to_string())
        .figures("less time, measured", |cell| show_percent(cell.measured))
        .figures("less time, computed", |cell| show_percent(cell.computed))
        .figures("error", |cell| signed(cell.computed / cell.measured - 1.0))
        .table("A vision tower on a rank of its own");
    let message = t!(
        "Qwen3.5-VL 27B on 16 GPUs, against one GPU more for its tower (Megatron-Bridge; images of 768 pixels a side; \
            the kind of GPU is not printed, H100 is computed). The measured cells say that the tower's passes of a \
            micro-batch take {measured} of those of a language model's stage at {tokens} tokens; computed are \
            {computed}. With tensor parallelism 4 its 27 narrow layers launch kernels that are shorter than their \
            launches, and its program asks the GPU for sizes of images in between. That host time is not modelled: \
            real towers with tensor parallelism are slower than here, and ranks of their own gain more.",
        measured = show_percent(share.measured),
        tokens = share.seq_len,
        computed = show_percent(share.computed)
    );
    Node::from_iter([heading("A known miss: vision towers that wait for their host"), paragraph(&message), table])
}

pub(crate) fn constants_table() -> Node {
    let table = Rows::of(constants())
        .figures("constant", |constant| constant.name.to_string())
        .figures("value", |constant| constant.value.to_string())
        .column("how", |constant| {
            leaf("span", "wrap", verbatim(format!("{}: {}", constant.source.short, constant.how)))
        })
        .marked(|constant| constant.fitted)
        .table("Constants");
    let words = "Bold: fitted to training runs. The others were measured on kernels and wires by themselves, or are \
        judgement where the text says so.";
    Node::from_iter([muted(words), table])
}
