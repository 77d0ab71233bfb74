//! The formats that a Run can be exported in, each naming version, date and link.

use super::bars::picture;
use super::commands::{brings_objective, start_lines};
use super::stamp::Stamp;
use super::{csv, markdown, rl_settings};
use crate::dialect::text::words::entries;
use crate::dialect::{
    BESIDE_A_SCRIPT, DIALECTS, Dialect, NotSaid, SettingEntries, accelerate, axolotl, deepspeed, dialect, launcher,
    llama_factory, llm_foundry, megatron, nanotron, not_said_to, peft, taken, torchtitan, torchtune, trl,
};
use crate::json::pretty;
use serde::Serialize;
use shardscope_core::advice::fit::shown;
use shardscope_core::issue::Issue;
use shardscope_core::message::{Catalogue, Message, verbatim};
use shardscope_core::model::Architecture;
use shardscope_core::pipeline::torch_csv;
use shardscope_core::report::{Evaluation, evaluate};
use shardscope_core::run::presets::Trainer;
use shardscope_core::run::registry::{FIELDS, Field, field, plain};
use shardscope_core::run::{Based, Run, Scenario, Schedule, StackParts};
use shardscope_core::t;
use shardscope_core::units::MemoryUnit;
use shardscope_core::whole_run::{WholeRun, whole_run};
use shardscope_view::palette::Theme;
use shardscope_view::views::Drawn;

#[derive(Clone, Copy)]
pub struct ExportFormat {
    /// As the JavaScript package names it.
    pub id: &'static str,
    /// On its button.
    pub label: &'static str,
    pub what: &'static str,
    /// End of its file's name.
    pub end: &'static str,
    writer: Writer,
}

#[derive(Clone, Copy)]
enum Writer {
    Markdown,
    Json,
    Csv,
    Order,
    OrderTable,
    /// A step of reinforcement learning, by its program.
    Rl,
    /// By the dialect of its id. The dialect itself stays out of this table: the page reads the table, and the dialects
    /// with all that reads them are in the importer's module.
    Settings,
}

const fn format(
    writer: Writer,
    id: &'static str,
    label: &'static str,
    what: &'static str,
    end: &'static str,
) -> ExportFormat {
    ExportFormat { id, label, what, end, writer }
}

/// The settings of a program, under its own name.
const fn settings(dialect: &Dialect, what: &'static str) -> ExportFormat {
    format(Writer::Settings, dialect.id, dialect.name, what, dialect.file)
}

/// All of them, in the order of the page.
pub static FORMATS: &[ExportFormat] = &[
    format(Writer::Markdown, "markdown", "Markdown", "a report for a wiki or a review", "md"),
    format(Writer::Json, "json", "JSON", "the run and its report, for a program", "json"),
    format(Writer::Csv, "csv", "Tables as CSV", "memory by rank, overlap and schedule, for a spreadsheet", "csv"),
    format(
        Writer::Order,
        "order",
        "Order for torchtitan (CSV)",
        "a line per rank from rank 0, a cell per op: stage, F, I, W or B, micro-batch. PyTorch's runtime schedules and \
            torchtitan load it, and would read a heading as a rank",
        "order.csv",
    ),
    format(
        Writer::OrderTable,
        "order-table",
        "Order as a table (CSV)",
        "the same order with a header row, for a spreadsheet: a line per op with rank, position, op, stage and \
            micro-batch. No loader of PyTorch reads it",
        "order-table.csv",
    ),
    format(
        Writer::Rl,
        "rl",
        "RL settings",
        "the step of reinforcement learning, as verl, NeMo-RL, slime or TRL say it",
        "rl.txt",
    ),
    settings(&megatron::DIALECT, "a launch script"),
    settings(&torchtitan::DIALECT, "its Python configuration"),
    settings(&deepspeed::DIALECT, "its JSON"),
    settings(&nanotron::DIALECT, "its YAML"),
    settings(&axolotl::DIALECT, "its YAML"),
    settings(&llama_factory::DIALECT, "its YAML"),
    settings(&trl::DIALECT, "its YAML"),
    settings(&accelerate::DIALECT, "its YAML"),
    settings(&torchtune::DIALECT, "its YAML"),
    settings(&llm_foundry::DIALECT, "its YAML"),
    settings(&peft::DIALECT, "its JSON"),
];

/// The page's pictures as SVG files, by their ids.
pub const PICTURES: [(&str, Drawn); 4] = [
    ("svg-memory", Drawn::Memory),
    ("svg-step", Drawn::Step),
    ("svg-overlap", Drawn::Overlap),
    ("svg-timeline", Drawn::Timeline),
];

/// The ids of all forms and pictures.
pub fn ids() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.id).chain(PICTURES.map(|(id, _)| id))
}

/// Width of a picture, pixels.
const WIDTH: f64 = 900.0;

/// The Run and its report, for another program.
#[derive(Serialize)]
struct Document<'a> {
    made: String,
    link: String,
    run: shardscope_core::run::Value,
    report: &'a shardscope_core::report::Report,
    /// From the first step to the last token, where there is a token budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_run: Option<WholeRun>,
}

/// `run` in the form `id`.
///
/// # Errors
/// An unknown form, why the Run makes no sense, or that the form's settings would train something else.
pub fn export(run: &Run, id: &str, stamp: &Stamp) -> Result<String, Vec<Issue>> {
    if let Some((_, drawn)) = PICTURES.iter().find(|(known, _)| *known == id) {
        return Ok(picture(*drawn, &evaluate(run)?, Theme::Light, WIDTH, MemoryUnit::Gib, &Catalogue::default()));
    }
    let Some(format) = FORMATS.iter().find(|format| format.id == id) else {
        let forms: Vec<_> = ids().collect();
        let message = format!("no such form of export; one of: {}", forms.join(", "));
        return Err(vec![Issue::error("format", verbatim(message))]);
    };
    let evaluation = evaluate(run)?;
    Ok(match format.writer {
        Writer::Settings => {
            let known = dialect(id).map(|known| launch(known, &evaluation, stamp, &Purpose::Settings));
            known.transpose()?.unwrap_or_default()
        }
        Writer::Json => pretty(&Document {
            made: stamp.made(),
            link: stamp.link(run),
            run: run.to_value(),
            report: &evaluation.report,
            whole_run: whole_run(&evaluation).ok().map(|(whole, _)| whole),
        }),
        Writer::Csv => csv::csv(&evaluation, stamp),
        // Each line is a rank to what reads it: there is no place for a heading, version, date and link.
        Writer::Order => torch_csv::to_csv(&evaluation.order),
        Writer::OrderTable => torch_csv::to_table(&evaluation.order),
        Writer::Rl => rl_settings::settings(&evaluation, stamp),
        Writer::Markdown => markdown::markdown(&evaluation, stamp),
    })
}

/// The Run whose settings of torchtitan stand beside the file of the order of `evaluation`: its own where torchtitan
/// has a schedule of its name. Else that of an order from a file with one stage a rank, where the order has no more
/// and updates its weights once a step; none where torchtitan runs no such order.
pub fn as_ordered(evaluation: &Evaluation) -> Option<Run> {
    let (run, order) = (&evaluation.scenario.run, &evaluation.order);
    if run.pp == 1 || torchtitan::order_of(run).is_some() {
        return (run.pp > 1).then(|| run.clone());
    }
    let is_single = (0..order.ranks.len()).all(|rank| order.stages_of(rank).len() == 1);
    let is_plain = order.away.is_none() && order.splits == 1 && order.weight_copies.iter().all(|copies| *copies <= 1);
    let ordered = Run { schedule: Schedule::Optimal, virtual_stages: 1, ..run.clone() };
    Some(ordered).filter(|ordered| is_single && is_plain && Scenario::new(ordered).is_ok())
}

/// torchtitan's settings of `run` that name the file of its order, and that file; none where torchtitan runs no such
/// order.
///
/// # Errors
/// Why the Run makes no sense, or that torchtitan's settings would train something else.
pub fn with_order(run: &Run, stamp: &Stamp) -> Result<Option<[String; 2]>, Vec<Issue>> {
    let evaluation = evaluate(run)?;
    let Some(scenario) = as_ordered(&evaluation).and_then(|ordered| Scenario::new(&ordered).ok()) else {
        return Ok(None);
    };
    let settings = launch(&torchtitan::DIALECT, &evaluation, stamp, &Purpose::Ordered(Box::new(scenario)))?;
    Ok(Some([settings, torch_csv::to_csv(&evaluation.order)]))
}

/// Settings for some steps on mock data, every step logged, besides the layout, by dialect. Source: `arguments.py` of
/// Megatron-LM, its examples with mock data; `job_config.py` of torchtitan, its debug model; `DeepSpeed`'s
/// configuration JSON.
const TRIALS: [(&str, &[(&str, &str)]); 3] = [
    (
        "megatron",
        &[
            ("--mock-data", ""),
            ("--tokenizer-type", "NullTokenizer"),
            ("--split", "99,1,0"),
            ("--train-iters", "20"),
            ("--lr", "1e-5"),
            ("--eval-iters", "0"),
            ("--log-interval", "1"),
        ],
    ),
    (
        "torchtitan",
        &[
            ("dataloader", "torchtitan.components.data.GrainDataLoader.Config"),
            ("dataloader.dataset", "torchtitan.components.data.ConcatThenSplitPackingConfig"),
            ("training.steps", "20"),
            ("metrics.log_freq", "1"),
        ],
    ),
    ("deepspeed", &[("steps_per_print", "1")]),
];

/// The launch of some steps of `run` on mock data, by the program that its software is.
///
/// # Errors
/// Why the Run makes no sense, or that the program's settings would train something else.
pub fn trial(run: &Run, stamp: &Stamp) -> Result<String, Vec<Issue>> {
    let run = Run { tokens_total: None, ..run.clone() };
    let dialect = dialect(launcher(&run)).unwrap_or(&megatron::DIALECT);
    let trial = TRIALS.iter().find(|(id, _)| *id == dialect.id);
    let purpose = trial.map_or(Purpose::Settings, |(_, settings)| Purpose::Trial(entries(settings)));
    let evaluation = evaluate(&run)?;
    let text = launch(dialect, &evaluation, stamp, &purpose)?;
    let layout = &evaluation.scenario.layout;
    if layout.gpus <= layout.per_node {
        return Ok(text);
    }
    let launch = if text.contains("\ntorchrun ") { "" } else { "# " };
    let line = if launch.is_empty() { "\ntorchrun " } else { "\nLAUNCH " };
    let node = format!("{launch}{HEAD_NODE}=\"${{{HEAD_NODE}:?name of the first node}}\"");
    Ok(text.replacen(line, &format!("\n{MEETING_PLACE}\n{node}\n{launch}{MEETING}{line}"), 1))
}

/// Rendezvous of the nodes of a launch: torchrun takes its arguments from variables as well.
const MEETING_PLACE: &str = "# the same on every node; HEAD_NODE is the name of the first";
const MEETING: &str = "export PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=\"$HEAD_NODE:29500\"";
/// The variable in them.
const HEAD_NODE: &str = "HEAD_NODE";

/// True if the software of `run` is the program that `dialect` writes for.
fn is_of(dialect: &Dialect, run: &Run) -> bool {
    match run.stack.preset_row().trainer {
        Trainer::HuggingFace => ["trl", "axolotl", "llama-factory", "accelerate", "peft"].contains(&dialect.id),
        Trainer::PyTorch | Trainer::DeepSeek | Trainer::MaxText | Trainer::PaxMl => false,
        _ => launcher(run) == dialect.id,
    }
}

/// What settings of a program are written for.
enum Purpose {
    Settings,
    /// With the file of the order of the pipeline beside them: the Run as they say it.
    Ordered(Box<Scenario>),
    /// Some steps on mock data, which these settings say.
    Trial(SettingEntries),
}

/// Fields that say what is trained: settings that cannot say one train something else.
const TRAINED: [&str; 2] = ["adapter.method", "objective"];

/// The settings of `scenario` that `dialect` and its start command do not say, as one reads them who launches it: the
/// command says the GPUs.
fn left_out(dialect: &Dialect, scenario: &Scenario) -> Vec<NotSaid> {
    let run = &scenario.run;
    // Who launches it has the software, as it is released.
    let mut known =
        if is_of(dialect, run) { Run { stack: released(&run.stack), ..Run::default() } } else { Run::default() };
    if !start_lines(dialect.id, dialect.file, scenario).is_empty() {
        (known.gpus, known.gpus_per_node) = (run.gpus, run.gpus_per_node);
    }
    // Settings without a word for shards are read by what a GPU holds, those of experts by the model: who reads
    // them has the GPU and the model of this run, or those of another page.
    let beside = Run { gpu: run.gpu.clone(), model: run.model.clone(), ..known.clone() };
    let mut lost = not_said_to(dialect, scenario, known);
    let more = not_said_to(dialect, scenario, beside).into_iter();
    let more: Vec<_> = more.filter(|one| lost.iter().all(|other| other.key != one.key)).collect();
    lost.extend(more);
    in_order(lost, run)
}

/// What is `lost` of `run` in the order of the fields, with its GPU, which no program's settings name: one that comes
/// back is the calculator's default. No program has a price.
pub(super) fn in_order(mut lost: Vec<NotSaid>, run: &Run) -> Vec<NotSaid> {
    lost.retain(|lost| !["price_per_gpu_hour", "prices", "currency"].contains(&lost.key));
    if !lost.iter().any(|lost| lost.key == "gpu") {
        let value = run.gpu.base.map_or_else(|| run.gpu.title().to_string(), str::to_owned);
        lost.push(NotSaid { key: "gpu", value });
    }
    lost.sort_by_key(|lost| FIELDS.iter().position(|field| field.key == lost.key));
    lost
}

/// A line for each setting of `run` that is `lost`; its settings do what `done` does.
pub(super) fn lines_of(lost: &[NotSaid], run: &Run, done: &Run) -> Vec<String> {
    let line = |lost: &NotSaid| match field(lost.key) {
        Some(field) => {
            format!("  {}: {}{}", field.label, shown(field, &lost.value), unset(field, run, lost, done))
        }
        None => format!("  {}: {}", lost.key, lost.value),
    };
    lost.iter().map(line).collect()
}

/// The software of `stack` without what was changed of it.
fn released(stack: &Based<StackParts>) -> Based<StackParts> {
    stack.base.map_or_else(|| stack.clone(), Based::preset)
}

/// The model of `scenario` where the settings of `dialect` launch another: they state one whatever the page has, with
/// experts where this has none or without, or of another size; torchtune's name none where it has no builder.
fn other_model(dialect: &Dialect, scenario: &Scenario) -> Option<NotSaid> {
    /// Share of the parameters from which on a model is another.
    const OTHER: f64 = 0.02;
    let run = &scenario.run;
    let of = |id| taken(dialect, scenario, Run { model: Based::preset(id), ..Run::default() }).model.resolve().ok();
    let (one, other) = (of("llama-3.1-8b")?, of("mixtral-8x7b")?);
    let parameters = |model: &Architecture| model.elements().total() as f64;
    let is_other = if one == other {
        let share = parameters(&one) / parameters(&scenario.model) - 1.0;
        one.moe.is_some() != scenario.model.moe.is_some() || share.abs() > OTHER
    } else {
        dialect.id == torchtune::DIALECT.id
    };
    let value = || run.model.base.map_or_else(|| run.model.title().to_string(), str::to_owned);
    is_other.then(|| NotSaid { key: "model", value: value() })
}

/// The first setting in `lost` without which `dialect` trains something else, or the model where it launches another.
fn trained_otherwise(dialect: &Dialect, scenario: &Scenario, lost: &[NotSaid]) -> Option<NotSaid> {
    if BESIDE_A_SCRIPT.contains(&dialect.id) {
        return None;
    }
    let is_brought = |key: &str| key == "objective" && brings_objective(dialect.id, scenario);
    let said = lost.iter().find(|lost| TRAINED.contains(&lost.key) && !is_brought(lost.key));
    said.cloned().or_else(|| other_model(dialect, scenario))
}

/// Why `dialect` gets no settings of `scenario`, with the formats that say what it trains.
fn refusal(dialect: &Dialect, scenario: &Scenario, lost: &NotSaid) -> Issue {
    let says = |other: &&&Dialect| {
        let left = left_out(other, scenario);
        let has_model = || left.iter().all(|left| left.key != "model" && !left.key.starts_with("model."));
        !BESIDE_A_SCRIPT.contains(&other.id)
            && trained_otherwise(other, scenario, &left).is_none()
            && (lost.key != "model" || has_model())
    };
    let formats: Vec<&str> = DIALECTS.iter().filter(says).map(|other| other.name).collect();
    let program = dialect.name;
    let (setting, value) = match field(lost.key) {
        Some(field) => (Message::plain(field.label), shown(field, &lost.value)),
        None => (verbatim(lost.key), verbatim(lost.value.clone())),
    };
    let message = if formats.is_empty() {
        t!(
            "settings of {program} cannot say {setting}: {value}, and would train something else; no format here \
                says it",
            program,
            setting,
            value
        )
    } else {
        t!(
            "settings of {program} cannot say {setting}: {value}, and would train something else; formats that say \
                it: {formats}",
            program,
            setting,
            value,
            formats = verbatim(formats.join(", "))
        )
    };
    Issue::error(lost.key, message)
}

/// Settings of a program, with what they leave out in comments.
///
/// # Errors
/// That they would train something else.
fn launch(dialect: &Dialect, evaluation: &Evaluation, stamp: &Stamp, purpose: &Purpose) -> Result<String, Vec<Issue>> {
    let scenario: &Scenario = match purpose {
        Purpose::Ordered(ordered) => ordered,
        Purpose::Settings | Purpose::Trial(_) => &evaluation.scenario,
    };
    let run = &scenario.run;
    let lost = left_out(dialect, scenario);
    if let Some(other) = trained_otherwise(dialect, scenario, &lost) {
        return Err(vec![refusal(dialect, scenario, &other)]);
    }
    let is_trial = matches!(purpose, Purpose::Trial(_));
    let what = match purpose {
        Purpose::Trial(_) => "20 steps on mock data, every step logged; bring the log to Calibrate",
        _ if dialect.id == megatron::DIALECT.id => {
            "a launch of this layout; what it cannot know is named below, checkpoints are yours"
        }
        _ => "settings of a layout; data, tokenizer, checkpoints and schedules of the learning rate are yours",
    };
    let mut comments = stamp.head(evaluation, what);
    comments.push(format!("Not expressible in {}:", dialect.name));
    comments.extend(lines_of(&lost, run, &read_as_imported(dialect, scenario)));
    if matches!(purpose, Purpose::Ordered(_)) {
        comments.push(format!("The order of the pipeline: {} in the folder of the launch.", torchtitan::ORDER_FILE));
    } else if dialect.id == torchtitan::DIALECT.id
        && lost.iter().any(|lost| lost.key == "schedule")
        && as_ordered(evaluation).is_some()
    {
        comments
            .push("torchtitan runs the order of this schedule from a file: save these settings with it.".to_owned());
    }
    if !is_trial {
        comments.extend(start_lines(dialect.id, dialect.file, &evaluation.scenario));
    }
    let mut entries = dialect.written(scenario);
    if dialect.id == megatron::DIALECT.id {
        comments.extend(megatron::needs_release(scenario, &entries));
    } else if dialect.id == deepspeed::DIALECT.id {
        comments.extend(deepspeed::needs_release(&entries));
    }
    let mut blanks = Vec::new();
    match purpose {
        Purpose::Trial(trial) => {
            // Mock data has no tokenizer of a model: none is said twice.
            let is_of_trial = |name: &str| trial.iter().any(|(said, _)| said == name);
            entries.retain(|(name, _)| !is_of_trial(name) && !name.starts_with("--tokenizer-"));
            entries.extend(trial.iter().cloned());
        }
        _ if dialect.id == megatron::DIALECT.id => {
            let (more, named) = megatron::start(&evaluation.scenario, &entries);
            entries.extend(more);
            blanks = named;
        }
        Purpose::Ordered(_) => {
            let said = |(name, _): &(String, _)| entries.iter().any(|(known, _)| known == name);
            let order = torchtitan::order_of(run).filter(|order| !said(order));
            entries.extend(order);
        }
        Purpose::Settings => {}
    }
    let text = (dialect.print)(&entries, &comments);
    Ok(if blanks.is_empty() { text } else { filled(&text, &blanks) })
}

/// What the settings do as an import reads them on the GPUs of the run, without the run that they were made from.
fn read_as_imported(dialect: &Dialect, scenario: &Scenario) -> Run {
    let run = &scenario.run;
    let mut present = Run { gpus: run.gpus, gpus_per_node: run.gpus_per_node, ..Run::default() };
    present.stack = if is_of(dialect, run) {
        released(&run.stack)
    } else {
        Based::preset(dialect.stack(&dialect.written(scenario)))
    };
    taken(dialect, scenario, present).resolved()
}

/// What is said of a lost setting that nobody set: it is the default of the format of links, and what the program does
/// instead.
fn unset(field: &Field, run: &Run, lost: &NotSaid, done: &Run) -> String {
    if field.get(run) != field.get(&Run::default()) {
        return String::new();
    }
    match plain(&field.get(done)).filter(|instead| *instead != lost.value) {
        Some(instead) => format!(" (left at the calculator's default; these settings do: {})", shown(field, &instead)),
        None => " (left at the calculator's default)".to_owned(),
    }
}

/// `script` with a line for each variable that it stops without, and the rendezvous of its nodes.
fn filled(script: &str, blanks: &[megatron::Blank]) -> String {
    let mut lines = vec!["# To fill in, here or as variables; the script stops at one that is empty.\n".to_owned()];
    lines.extend(blanks.iter().map(|(name, what)| format!("{name}=\"${{{name}:?{what}}}\"\n")));
    if blanks.iter().any(|(name, _)| *name == HEAD_NODE) {
        lines.push(format!("{MEETING}\n"));
    }
    let lines = lines.concat();
    // Before the first line that is no comment.
    let at = script.lines().take_while(|line| line.starts_with('#')).map(|line| line.len() + 1).sum::<usize>();
    let (head, rest) = script.split_at(at.min(script.len()));
    format!("{head}{lines}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { date: "2026-11-21", address: "https://example.org/x/" };

    #[test]
    fn every_form_names_version_date_and_link() {
        let run = Run { gpus: 128, ..Run::default() };
        for format in FORMATS.iter().filter(|format| !format.id.starts_with("order")) {
            let text = export(&run, format.id, &STAMP).unwrap();
            let words = ["2026-11-21", env!("CARGO_PKG_VERSION"), "https://example.org/x/#v=1&gpus=128"];
            for word in words {
                assert!(text.contains(word), "{}: {word}\n{text}", format.id);
            }
        }
        for dialect in DIALECTS {
            assert!(FORMATS.iter().any(|format| format.id == dialect.id));
        }
    }

    /// The guide of the packages has every form and picture.
    #[test]
    fn the_guide_names_every_form() {
        let guide = include_str!("../../../docs/embedding.md");
        let of_export = guide.split("`exportRun` writes").nth(1).unwrap().split("`importText` reads").next().unwrap();
        for id in ids() {
            assert!(of_export.contains(&format!("`{id}`")), "{id}");
        }
    }

    #[test]
    fn every_picture_is_an_svg_that_names_its_run() {
        for (id, _) in PICTURES {
            let svg = export(&Run { gpus: 128, ..Run::default() }, id, &STAMP).unwrap();
            assert!(svg.starts_with("<svg ") && svg.contains("Llama 3.1 8B on 128 GPUs"), "{id}: {svg}");
        }
    }

    #[test]
    fn what_a_program_cannot_say_stands_in_a_comment() {
        let run = Run { schedule: shardscope_core::run::Schedule::ZbH1, ..Run::default() };
        for dialect in DIALECTS {
            let text = export(&run, dialect.id, &STAMP).unwrap();
            assert!(text.contains("  Schedule: ZB-H1"), "{text}");
        }
    }

    /// `arguments.py` of Megatron-LM d98e8a6 asks for data and a tokenizer, and a scheduler compares the learning rate:
    /// each is a value or a variable that the script names, and the script read back is the run.
    #[test]
    fn a_script_of_megatron_launches_once_its_variables_are_filled_in() {
        let own = Run { model: Based { base: None, parts: Run::default().model.resolve().unwrap().into() }, ..many() };
        for (run, rotary, blanks) in [
            (many(), "--rotary-base 500000", vec!["HEAD_NODE", "DATA_PATH", "LR", "TRAIN_ITERS"]),
            (Run { gpus: 8, tokens_total: Some(1e12), ..many() }, "--use-rope-scaling", vec!["DATA_PATH", "LR"]),
            (own, "--rotary-base \"$ROTARY_BASE\"", vec!["HEAD_NODE", "DATA_PATH", "TOKENIZER", "LR", "TRAIN_ITERS"]),
        ] {
            let text = export(&run, "megatron", &STAMP).unwrap();
            for argument in
                ["--data-path \"$DATA_PATH\"", "--lr \"$LR\"", "--train-iters ", "--tokenizer-model ", rotary]
            {
                assert!(text.contains(argument), "{argument}\n{text}");
            }
            let named: Vec<&str> =
                text.lines().filter_map(|line| line.split_once("=\"${")).map(|(name, _)| name).collect();
            assert!(blanks.iter().all(|blank| named.contains(blank)), "{named:?}");
            assert_eq!(text.contains("PET_RDZV_ENDPOINT"), run.gpus > 8);
            let bare: Vec<&str> = text.lines().filter(|line| !line.starts_with("# ")).collect();
            let text = bare.join("\n");
            let back =
                crate::import::read(&text, &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}: {text}")).run;
            assert_eq!(back.model.resolve(), run.model.resolve(), "{text}");
            assert_eq!((back.gpus, back.tp, back.pp, back.seq_len), (run.gpus, run.tp, run.pp, run.seq_len), "{text}");
            assert_eq!(back.model.parts.arguments, None, "{text}");
        }
    }

    /// Hugging Face `trainer.py`: the batch of a step is `per_device_train_batch_size`, `gradient_accumulation_steps`
    /// and the processes, multiplied. A pipeline or tensor ranks that a program does not know are no reason to train on
    /// another batch: read back, the settings have that of the run.
    #[test]
    fn programs_without_pipelines_accumulate_to_the_batch_of_the_run() {
        for run in [
            Run { tp: 1, pp: 2, zero: 3, ..Run::default() },
            Run { tp: 4, pp: 4, ..Run::default() },
            Run { tp: 2, pp: 2, cp: 2, micro_batch: 2, ..Run::default() },
        ] {
            for id in ["trl", "llama-factory"] {
                let text = export(&run, id, &STAMP).unwrap();
                assert!(!text.contains("Global batch:"), "{id}: {text}");
                let bare: Vec<&str> = text.lines().filter(|line| !line.starts_with("# ")).collect();
                let back = crate::import::read(&bare.join("\n"), &Run::default()).unwrap().run;
                assert_eq!(back.global_batch, run.global_batch, "{id}: {text}");
            }
        }
    }

    /// A release of a program is no setting of it, and a price is none of any.
    #[test]
    fn settings_of_a_program_do_not_say_that_it_has_not_its_own_software() {
        let says = |stack, id| {
            let run = Run { stack: Based::preset(stack), price_per_gpu_hour: Some(2.0), ..Run::default() };
            let text = export(&run, id, &STAMP).unwrap();
            assert!(!text.contains("Price"), "{text}");
            text.contains("Software:")
        };
        assert!(
            !says("megatron-2025", "megatron") && !says("torchtitan", "torchtitan") && !says("hf-trainer", "axolotl")
        );
        assert!(says("torchtitan", "megatron") && says("hf-trainer", "torchtitan"));
    }

    fn many() -> Run {
        Run { stack: Based::preset("megatron-2025"), ..Run::default() }
    }

    #[test]
    fn an_unknown_form_and_a_run_that_cannot_work_are_refused() {
        assert_eq!(export(&Run::default(), "pdf", &STAMP).unwrap_err()[0].field, "format");
        let run = Run { tp: 7, ..Run::default() };
        assert_eq!(export(&run, "csv", &STAMP).unwrap_err()[0].field, "tp");
    }

    /// Every run that is named as the one to make next: its launch command, read back, is that run, and needs no data.
    #[test]
    fn a_trial_launches_the_run_that_it_names_on_mock_data() {
        use shardscope_core::calibrate::candidates;
        for (stack, gpus) in [("megatron-2025", 8), ("megatron-2025", 32), ("torchtitan", 16)] {
            let mut question = Run { tokens_total: Some(15e12), ..Run::default() };
            question.stack.base = Some(stack);
            let runs = candidates(&question, &[], gpus);
            assert!(runs.len() > 4, "{stack} {}", runs.len());
            for run in runs {
                let text = trial(&run, &STAMP).unwrap();
                let many = run.gpus > 8;
                assert_eq!(text.contains("PET_RDZV_ENDPOINT"), many, "{text}");
                // The script stops where the first node has no name, and says no tokenizer twice.
                assert_eq!(text.contains("HEAD_NODE=\"${HEAD_NODE:?"), many, "{text}");
                assert!(text.matches("--tokenizer-").count() < 2 && text.contains("example.org"), "{text}");
                let wanted = if stack == "torchtitan" {
                    ["dataset=DATASETS[\"c4_test\"]", "config.training.steps = 20"]
                } else {
                    ["--mock-data", "--train-iters 20"]
                };
                assert!(wanted.iter().all(|word| text.contains(word)), "{text}");
                // The comments hold the link, which says all.
                let bare: String = text
                    .lines()
                    .filter(|line| !line.starts_with("# "))
                    .fold(String::new(), |kept, line| kept + line + "\n");
                let back = crate::import::read(&bare, &Run::default()).unwrap().run;
                let key = |run: &Run| {
                    let sizes = [run.gpus, run.tp, run.pp, run.cp, run.seq_len];
                    (sizes, run.micro_batch, run.global_batch, run.recompute.clone())
                };
                assert_eq!(key(&back), key(&run), "{text}");
            }
        }
    }
}
