//! What the search over the settings answers besides: a question of the field opens the view, the figure or the lesson
//! that has its answer.

use crate::node::action::Dialog;
use crate::prelude::*;
use crate::steps::StepId;
use crate::views::{PanelsTab, View};
use shardscope_core::run::follow::with_following;
use shardscope_core::run::phrase::{SettingsAmong, kinds_of_size, not_understood, settings_among, settings_named};
use shardscope_core::run::presets::{GPUS, STACKS};
use shardscope_core::run::registry::{Slot, field, plain};
use shardscope_core::run::{Choice, Value};

/// An answer: what people type for it, what it is called, and what opens it.
struct SearchAnswer {
    /// Phrases; an answer is found by all words of one of them, or by the beginning of one.
    asked: &'static [&'static str],
    title: &'static str,
    opens: fn() -> Action,
}

/// The first step that a link names so.
fn lesson(id: &str) -> Action {
    StepId::named(id).map_or(Action::Show(View::Learn(StepId::first())), |step| Action::Show(View::Learn(step)))
}

const ANSWERS: [SearchAnswer; 14] = [
    SearchAnswer {
        asked: &["largest model", "biggest model", "which model", "what can i train", "max model size"],
        title: "Largest model that trains on these GPUs: Whole run",
        opens: || Action::SearchModels(Vec::new()),
    },
    SearchAnswer {
        asked: &["cheapest", "cheap", "price", "dollars", "cost", "which gpu", "money"],
        title: "Cheapest kind of GPU for this budget: Costs and scaling",
        opens: || Action::Tab(PanelsTab::Costs),
    },
    SearchAnswer {
        asked: &["fewest gpus", "least gpus", "minimum gpus", "how many gpus", "number of gpus", "deadline"],
        title: "Fewest GPUs for this budget within some days: Whole run",
        opens: || Action::Show(View::Whole),
    },
    SearchAnswer {
        asked: &["out of memory", "oom", "cuda out of memory", "memory error"],
        title: "Why a run went out of memory: paste its message in Diagnose",
        opens: || Action::Show(View::Diagnose(false)),
    },
    SearchAnswer {
        asked: &["out of memory", "oom", "does it fit", "fit", "memory", "vram"],
        title: "What fills the fullest GPU: Memory",
        opens: || Action::Tab(PanelsTab::Memory),
    },
    SearchAnswer {
        asked: &["mfu", "model flops utilization", "model flops utilisation", "tflops", "utilization"],
        title: "MFU of this run, and what it is made of",
        opens: || Action::Explain(Figure::Mfu),
    },
    SearchAnswer {
        asked: &["low mfu", "mfu", "slow", "why slow", "slower than predicted", "trace", "profile", "log"],
        title: "Why a run is slower than predicted: Diagnose",
        opens: || Action::Show(View::Diagnose(false)),
    },
    SearchAnswer {
        asked: &["bubble", "pipeline bubble", "idle", "idle pipeline"],
        title: "Bubble of this run's pipeline",
        opens: || Action::Explain(Figure::Bubble),
    },
    SearchAnswer {
        asked: &["bubble", "pipeline bubble", "schedule", "best schedule", "gpipe", "1f1b", "dualpipe"],
        title: "Every schedule for this run, with its bubble: Schedules",
        opens: || Action::Show(View::Schedules),
    },
    SearchAnswer {
        asked: &["bubble", "why bubble", "pipeline lesson"],
        title: "Where the bubble comes from: a lesson",
        opens: || lesson("pipelines.gpipe"),
    },
    SearchAnswer {
        asked: &["uneven pipeline", "uneven stages", "uneven layers", "uneven split", "unequal stages"],
        title: "Even and uneven layers of this pipeline: Pipeline",
        opens: || Action::Splits(Vec::new()),
    },
    SearchAnswer {
        asked: &[
            "fastest layout",
            "best layout",
            "fastest",
            "parallelism",
            "optimal",
            "layout",
            "which parallelism",
            "why this layout",
        ],
        title: "Fastest layouts that fit: Layouts",
        opens: || Action::Tab(PanelsTab::Layouts),
    },
    SearchAnswer {
        asked: &["overlap", "exposed", "communication", "exposed communication", "all-to-all", "all-reduce"],
        title: "What communication no compute hides: Overlap",
        opens: || Action::Tab(PanelsTab::Overlap),
    },
    SearchAnswer {
        asked: &["how long", "days", "training time", "total time", "failures", "checkpoint"],
        title: "Days, dollars and failures of the whole training: Whole run",
        opens: || Action::Show(View::Whole),
    },
];

/// Forms of an export by the words that people type for them, with the names of the forms' buttons. The first form of
/// which a word was typed is opened.
pub const EXPORTS: [(&str, &str, &[&str]); 15] = [
    ("order", "Order for torchtitan (CSV)", &["order"]),
    ("megatron", "Megatron-LM", &["megatron", "megatron-lm", "nemo"]),
    ("torchtitan", "torchtitan", &["torchtitan", "titan"]),
    ("deepspeed", "DeepSpeed", &["deepspeed"]),
    ("nanotron", "Nanotron", &["nanotron"]),
    ("axolotl", "axolotl", &["axolotl"]),
    ("llama-factory", "LLaMA-Factory", &["llama-factory", "llamafactory"]),
    ("trl", "Hugging Face Trainer, TRL", &["trl", "transformers"]),
    ("accelerate", "Accelerate", &["accelerate"]),
    ("torchtune", "torchtune", &["torchtune"]),
    ("llm-foundry", "llm-foundry", &["llm-foundry"]),
    ("peft", "PEFT", &["peft"]),
    ("json", "JSON", &["json"]),
    ("csv", "Tables as CSV", &["csv", "tables", "spreadsheet"]),
    ("markdown", "Markdown", &["markdown", "report", "wiki"]),
];

/// Words that ask for an export.
const EXPORTING: [&str; 6] = ["export", "exports", "save", "download", "script", "csv"];

/// The export that `typed`, in lower case, asks for: "torchtitan export", "save as json", "order csv"; all forms where
/// none is named.
fn export_named(typed: &str) -> Option<(Action, Message)> {
    let is_typed = |word: &&str| typed.split_whitespace().any(|typed| typed == *word);
    if !EXPORTING.iter().any(is_typed) {
        return None;
    }
    let open = |id| Action::Open(Dialog::Export(id));
    let named = EXPORTS.iter().find(|(.., words)| words.iter().any(is_typed));
    Some(match named {
        Some((id, name, _)) => (open(id), t!("Export as {form}", form = Message::plain(name))),
        None => (open("markdown"), t!("Export this run in one of {count} forms", count = EXPORTS.len())),
    })
}

/// Letters from which on the beginning of a phrase finds its answer.
const FEW: usize = 3;

/// True if `typed`, in lower case, asks for `phrase`: has all its words, or is its beginning.
fn asks(typed: &str, phrase: &str) -> bool {
    let mut words = typed.split_whitespace();
    let has = |word: &str| words.clone().any(|one| one == word || one.strip_suffix('s') == Some(word));
    let all = phrase.split_whitespace().all(has);
    all || (typed.chars().count() >= FEW && phrase.starts_with(typed) && words.next().is_some())
}

/// Runs in one line that the field shows as examples.
pub const EXAMPLES: [&str; 2] = ["70B on 8 H100", "70B QLoRA 1x L40S"];

/// Settings that stand as an answer alone with what follows them. Any other choice has a field of its own, which is
/// found by its name; a number that is typed behind a name, "batch 2048", is set in its field.
const ALONE: [&str; 2] = ["model", "tokens_total"];

/// Words that ask for the largest model, and for the kind of GPU that costs least.
const LARGEST: [&str; 2] = ["largest", "biggest"];
const CHEAPEST: [&str; 2] = ["cheapest", "cheaper"];
/// Words of such a question that name no setting.
const OF_QUESTIONS: &str = "model models what which is are can i we be do trained that fits fit way kind kinds or \
    between fine-tune finetune fine-tuning finetuning tune pretrain pretraining fully full all weights card cards";
/// Those that say that all weights are trained.
const OF_ALL_WEIGHTS: [&str; 4] = ["fully", "full", "pretrain", "pretraining"];
/// Words for GPUs behind the size of their memory, several and one.
const GPUS_OF_SIZE: [&str; 3] = ["cards", "gpus", "accelerators"];
const GPU_OF_SIZE: [&str; 3] = ["card", "gpu", "accelerator"];

/// `typed`, where the size of a memory is that of a card, "24 GB" as "24 GB card"; and true where it is of one.
fn card_by_memory(typed: &str) -> (String, bool) {
    let words: Vec<&str> = typed.split_whitespace().collect();
    let (mut out, mut is_one) = (Vec::new(), false);
    for (at, word) in words.iter().enumerate() {
        out.push(*word);
        let next = words.get(at + 1).copied().unwrap_or_default();
        if word.ends_with("gb") && !GPUS_OF_SIZE.contains(&next) {
            is_one = true;
            out.extend((!GPU_OF_SIZE.contains(&next)).then_some("card"));
        }
    }
    (out.join(" "), is_one)
}

/// Settings that a question of `typed` names, if it has one of the words `asked`, and what of it was not understood;
/// `may_repeat`: the setting of which it may name several. A card that is named by its memory alone is one.
fn asked_with(
    run: &Run,
    typed: &str,
    asked: &[&str],
    may_repeat: &str,
) -> Option<(Vec<(&'static str, String)>, String)> {
    typed.split_whitespace().find(|word| asked.contains(word))?;
    let (typed, is_one) = card_by_memory(typed);
    let SettingsAmong { mut set, again, mut others } = settings_among(run, &typed);
    let has = |set: &[(&'static str, String)], key: &str| set.iter().any(|(known, _)| *known == key);
    if set.is_empty() {
        return None;
    }
    if is_one && !has(&set, "gpus") && !kinds_of_size(&typed).is_empty() {
        set.push(("gpus", "1".to_owned()));
    }
    let is_of_all = others.iter().any(|word| OF_ALL_WEIGHTS.contains(&&**word));
    if is_of_all && run.adapter.method.is_some() && !has(&set, "adapter.method") {
        set.push(("adapter.method", String::new()));
    }
    let is_silent = |word: &str| asked.contains(&word) || OF_QUESTIONS.split(' ').any(|other| other == word);
    others.retain(|word| !is_silent(word.trim_end_matches(['?', '.', ','])));
    others.extend(again.into_iter().filter(|(key, _)| *key != may_repeat).map(|(_, text)| text));
    Some((set, others.join(" ")))
}

/// An answer to a question with settings: what it opens, its words, and what was not understood.
type AnswerWithSettings = (Action, Message, String);

/// The question for the largest model with the settings that `typed` names beside it: "largest LoRA on 1 RTX 4090".
fn largest_named(run: &Run, typed: &str) -> Option<AnswerWithSettings> {
    let (set, unknown) = asked_with(run, typed, &LARGEST, "")?;
    if set.iter().any(|(key, _)| *key == "model") {
        return None;
    }
    let set = followed(run, set);
    let settings = said(&set, &run.with_texts(&set)?)?;
    Some((Action::SearchModels(set), t!("Largest model with {settings}: Whole run", settings), unknown))
}

/// The question for the cheapest kind of GPU with the settings that `typed` names: "cheapest way to train 7B on 300B
/// tokens".
fn cheapest_named(run: &Run, typed: &str) -> Option<AnswerWithSettings> {
    // Kinds are compared there: one of them is set.
    let (set, unknown) = asked_with(run, typed, &CHEAPEST, "gpu")?;
    let set = followed(run, set);
    let settings = said(&set, &run.with_texts(&set)?)?;
    let words = t!("Set {settings}, then kinds of GPUs by their prices: Costs and scaling", settings);
    Some((Action::Costs(set), words, unknown))
}

/// `set` in words, as `named` has it: the GPUs last.
fn said(set: &[(&'static str, String)], named: &Run) -> Option<Message> {
    let is_of_gpus = |key: &str| ["gpus", "gpu"].contains(&key);
    let gpu = GPUS.iter().find(|preset| named.gpu.base == Some(preset.choice.id))?;
    let gpus = || t!("{gpus} × {gpu}", gpus = named.gpus, gpu = gpu.choice.label);
    // Parts of a precision go with its name.
    let is_shown = |key: &str| !is_of_gpus(key) && !key.starts_with("precision.");
    let others = set.iter().filter(|(key, _)| is_shown(key)).filter_map(|(key, _)| {
        let field = field(key)?;
        let value = field.get(named);
        if matches!(field.slot, Slot::Toggle) && value == Value::Bool(true) {
            return Some(field.label.into());
        }
        Some(if let (Slot::Choice { options }, Some(id)) = (&field.slot, value.text()) {
            options().into_iter().find(|option| option.id == id)?.label.into()
        } else {
            let name = if field.symbol.len() > 1 { field.symbol } else { field.label };
            t!("{name} {value}", name, value = verbatim(plain(&value)?))
        })
    });
    let any = set.iter().any(|(key, _)| is_of_gpus(key));
    Some(Message::joined(" · ", others.chain(any.then(gpus))))
}

/// `set`, which a line names, with what follows its adapters, its schedule or its software; also where `run` has the
/// same.
fn followed(run: &Run, set: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    let without: Vec<_> = ["adapter.method", "schedule", "stack"]
        .into_iter()
        .filter(|key| set.iter().any(|(named, _)| named == key))
        .map(|key| (key, field(key).and_then(|field| field.text(&Run::default())).unwrap_or_default()))
        .collect();
    with_following(&run.with_texts(&without).unwrap_or_else(|| run.clone()), set)
}

/// Settings that `typed` names in one line, "70B QLoRA 1x L40S", with what follows them, and the words for all; none
/// where they are those of `run`, or one alone that has a field of its own.
fn run_named(run: &Run, typed: &str) -> Option<(Action, Message)> {
    let of_all = |word: &&str| OF_ALL_WEIGHTS.contains(word);
    let others: Vec<&str> = typed.split_whitespace().filter(|word| !of_all(word)).collect();
    let mut set = settings_named(run, &others.join(" "))?;
    let names_adapter = set.iter().any(|(key, _)| *key == "adapter.method");
    if typed.split_whitespace().any(|word| of_all(&word)) {
        if names_adapter {
            return None;
        }
        set.extend(run.adapter.method.map(|_| ("adapter.method", String::new())));
    }
    let named = run.with_texts(&set)?;
    // A schedule that the software does not run brings one that does; the button names it.
    let names = |key: &str| set.iter().any(|(known, _)| *known == key);
    let schedule = named.schedule.row();
    if names("schedule") && !names("stack") && !schedule.is_run_by(named.stack.preset_row()) {
        let other = STACKS.iter().find(|stack| schedule.is_run_by(stack));
        set.extend(other.map(|stack| ("stack", stack.choice.id.to_owned())));
    }
    let of_gpus = set.iter().filter(|(key, _)| ["gpus", "gpu"].contains(key)).count();
    let is_alone = set.len() == 1 && of_gpus == 0 && !ALONE.contains(&set[0].0);
    if is_alone && field(set[0].0).is_none_or(|field| matches!(field.slot, Slot::Choice { .. })) {
        return None;
    }
    let set = followed(run, set);
    let named = run.with_texts(&set).filter(|named| named != run)?;
    let settings = said(&set, &named)?;
    if is_alone {
        return Some((Action::Apply(set), t!("Set {settings}", settings)));
    }
    if of_gpus == set.len() {
        return Some((Action::Apply(set), t!("This run on {gpus}", gpus = settings)));
    }
    Some((Action::Name(set), t!("Set {settings}", settings)))
}

/// Words that ask for the fastest layout, and those that may follow them.
const FASTEST: [&str; 4] = ["best", "fastest", "optimal", "which"];
const OF_LAYOUTS: [&str; 7] = ["layout", "layouts", "parallelism", "configuration", "config", "setup", "strategy"];

/// A run in one line whose layout is asked for, "best layout for 405B on 2048 H100": it is set, and its layout chosen.
fn fastest_named(run: &Run, typed: &str) -> Option<(Action, Message)> {
    let is_asked = |word: &&str| FASTEST.contains(word) || OF_LAYOUTS.contains(word);
    let others: Vec<&str> = typed.split_whitespace().filter(|word| !is_asked(word)).collect();
    if others.len() == typed.split_whitespace().count() {
        return None;
    }
    match run_named(run, &others.join(" "))? {
        (Action::Name(set) | Action::Apply(set), words) => Some((Action::Name(set), words)),
        _ => None,
    }
}

/// Words for stages of unequal layers, and those that may follow them.
const UNEVEN: [&str; 3] = ["uneven", "unequal", "imbalanced"];
const OF_UNEVEN: [&str; 7] = ["pipeline", "pipelines", "stage", "stages", "layer", "layers", "split"];

/// A run in one line that asks for uneven stages, "Qwen2-VL-72B 64 H20 uneven pipeline": it is set, and the splits of
/// its layers are compared.
fn uneven_named(run: &Run, typed: &str) -> Option<(Action, Message)> {
    let mut words: Vec<&str> = typed.split_whitespace().collect();
    let at = words.iter().position(|word| UNEVEN.contains(word))?;
    words.remove(at);
    while words.get(at).is_some_and(|word| OF_UNEVEN.contains(word)) {
        words.remove(at);
    }
    match run_named(run, &words.join(" "))? {
        (Action::Name(set) | Action::Apply(set), words) => {
            let title = t!("{run}, then even and uneven layers: Pipeline", run = words);
            Some((Action::Splits(set), title))
        }
        _ => None,
    }
}

/// Kinds of GPUs that are offered besides the one that is taken, at most.
const OTHERS: usize = 4;

/// Where `typed` names the GPU by its memory alone, the settings of `action` on the other kinds that have as much: each
/// says so, and how many more there are.
fn of_same_size(run: &Run, typed: &str, action: &Action) -> Vec<(Action, Message)> {
    let (Action::Name(set) | Action::Apply(set)) = action else { return Vec::new() };
    let kinds = kinds_of_size(typed);
    let more = kinds.len().saturating_sub(1 + OTHERS);
    let others = kinds.into_iter().skip(1).take(OTHERS).enumerate();
    let of = |(at, kind): (usize, Choice)| {
        let to = |(key, text): &(&'static str, String)| {
            (*key, if *key == "gpu" { kind.id.to_owned() } else { text.clone() })
        };
        let set: Vec<_> = set.iter().map(to).collect();
        let settings = said(&set, &run.with_texts(&set)?)?;
        let title = match more {
            1 if at + 1 == OTHERS => {
                t!("Another kind with as much memory: {settings} (1 more kind has it)", settings)
            }
            2.. if at + 1 == OTHERS => {
                t!("Another kind with as much memory: {settings} ({more} more kinds have it)", settings, more)
            }
            _ => t!("Another kind with as much memory: {settings}", settings),
        };
        let action = if matches!(action, Action::Name(_)) { Action::Name(set) } else { Action::Apply(set) };
        Some((action, title))
    };
    others.filter_map(of).collect()
}

/// Answers to `typed`, each a button that opens it; nothing where it asks for a setting alone. `translated`: a title in
/// the language of the page, in which people may ask too.
pub fn answers(run: &Run, typed: &str, translated: impl Fn(&'static str) -> String) -> Node {
    let typed = typed.trim().to_lowercase();
    if typed.is_empty() {
        return Node::none();
    }
    let is_found = |answer: &&SearchAnswer| {
        answer.asked.iter().any(|phrase| asks(&typed, phrase))
            || (!typed.is_ascii() && translated(answer.title).to_lowercase().contains(&typed))
    };
    let button = |action: Action, title: Message| {
        el("li", &[], &[el("button", &[("class", "link")], &[text(title)]).on(action)])
    };
    let asked = largest_named(run, &typed).or_else(|| cheapest_named(run, &typed));
    let unknown = asked.as_ref().map(|(.., unknown)| unknown.clone()).filter(|unknown| !unknown.is_empty());
    let named = asked.map(|(action, title, _)| (action, title));
    let named = named.or_else(|| uneven_named(run, &typed)).or_else(|| run_named(run, &typed));
    let named = named.or_else(|| fastest_named(run, &typed));
    let others = named.as_ref().map_or_else(Vec::new, |(action, _)| of_same_size(run, &typed, action));
    let others = others.into_iter().map(|(action, title)| button(action, title));
    let named: Vec<Node> = named.map(|(action, title)| button(action, title)).into_iter().chain(others).collect();
    let found = ANSWERS.iter().filter(is_found).map(|answer| button((answer.opens)(), answer.title.into()));
    let is_unknown = named.is_empty() && settings_named(run, &typed).is_none();
    let unknown = unknown.or_else(|| not_understood(&typed).filter(|_| is_unknown));
    let unknown = unknown.map(|words| leaf("li", "muted", t!("Not understood: {words}.", words)));
    let export = export_named(&typed).map(|(action, title)| button(action, title));
    let unknown = unknown.filter(|_| export.is_none());
    let found: Vec<Node> = named.into_iter().chain(export).chain(found).chain(unknown).collect();
    if found.is_empty() { Node::none() } else { el("ul", &[("class", "answers")], &found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU that is named by its memory alone: the row says which kind is taken, and rows below it set each of the
    /// others of that size and nothing else. A kind that is named has none.
    #[test]
    fn other_kinds_of_the_same_memory_are_offered() {
        let run = Run::example();
        let view = answers(&run, "QLoRA 70B on one 48 GB card", str::to_owned);
        let html = view.to_html();
        assert!(html.contains("1 × L40S 48 GB") && html.contains("Another kind with as much memory"), "{html}");
        let actions = view.actions().into_iter();
        let sets: Vec<_> = actions
            .filter_map(|action| if let Action::Name(set) = action { Some(set.clone()) } else { None })
            .collect();
        let kinds: Vec<&str> = sets.iter().map(|set| &*set.iter().find(|(key, _)| *key == "gpu").unwrap().1).collect();
        assert!(kinds.len() > 2 && kinds[0] == "l40s", "{kinds:?}");
        for (set, kind) in sets.iter().zip(&kinds) {
            let gpu = GPUS.iter().find(|preset| preset.choice.id == *kind).unwrap();
            assert!((gpu.gpu.memory.gib() - 48.0).abs() < 0.5 && html.contains(gpu.choice.label), "{kind}");
            let others = |set: &[(&'static str, String)]| -> Vec<(&'static str, String)> {
                set.iter().filter(|(key, _)| *key != "gpu").cloned().collect()
            };
            assert_eq!(others(set), others(&sets[0]));
        }
        let html = answers(&run, "70B QLoRA 1x L40S", str::to_owned).to_html();
        assert!(!html.contains("Another kind"), "{html}");
    }

    /// What people type for a question, and what opens the view, the panel or the figure that has its answer.
    const ASKED: [(&str, &str); 50] = [
        ("largest model", "search models"),
        ("What is the largest model", "search models"),
        ("8 H100", "apply gpus=8&gpu=h100-sxm-80gb"),
        ("2048 H800", "apply gpus=2048&gpu=h800-sxm-80gb"),
        (
            "70B QLoRA 1x L40S",
            "name model=llama-3.1-70b&adapter.method=qlora&gpus=1&gpu=l40s\
                &stack=hf-trainer&seq_len=512&global_batch=16",
        ),
        (
            "70B QLoRA 1x L40S, 8k tokens, batch 256, Megatron-LM 2024",
            "name model=llama-3.1-70b&adapter.method=qlora&gpus=1&gpu=l40s&seq_len=8k&global_batch=256\
                &stack=megatron-2024",
        ),
        (
            "DeepSeek-V3 2048 H800 DualPipe",
            "name model=deepseek-v3&gpus=2048&gpu=h800-sxm-80gb&schedule=dualpipe&stack=deepseek-v3\
                &precision=deepseek-fp8&precision.grads=0&fp8_activations=true&seq_len=4096&global_batch=15360",
        ),
        ("7B on 300B tokens", "name model=llama-2-7b&tokens_total=300b"),
        ("300B tokens", "name tokens_total=300b"),
        ("batch 2048", "apply global_batch=2048"),
        ("Global batch 2048", "apply global_batch=2048"),
        ("global batch size = 2,048", "apply global_batch=2048"),
        ("tp 4", "apply tp=4"),
        ("zero 3", "apply zero=3"),
        ("seq 32k", "apply seq_len=32k"),
        ("sequence length 32768", "apply seq_len=32768"),
        ("micro batch 2", "apply micro_batch=2"),
        ("mbs 2", "apply micro_batch=2"),
        (
            "QLoRA 70B on one 48 GB card",
            "name adapter.method=qlora&model=llama-3.1-70b&gpus=1&gpu=l40s\
                &stack=hf-trainer&seq_len=512&global_batch=16",
        ),
        (
            "largest LoRA on 1 RTX 4090",
            "search models adapter.method=lora&gpus=1&gpu=rtx-4090&stack=hf-trainer&seq_len=512&global_batch=16",
        ),
        (
            "largest model with LoRA on 1 RTX 4090",
            "search models adapter.method=lora&gpus=1&gpu=rtx-4090&stack=hf-trainer&seq_len=512&global_batch=16",
        ),
        ("largest model to fine-tune fully on 8 H100", "search models gpus=8&gpu=h100-sxm-80gb"),
        (
            "largest model with LoRA on 24 GB",
            "search models adapter.method=lora&gpu=rtx-4090&gpus=1&stack=hf-trainer&seq_len=512&global_batch=16",
        ),
        (
            "cheapest way to train 7B on 300B tokens on H100, A100 or H200",
            "costs model=llama-2-7b&tokens_total=300b&gpu=h100-sxm-80gb",
        ),
        ("best layout 405B on 2048 H100", "name model=llama-3.1-405b&gpus=2048&gpu=h100-sxm-80gb"),
        ("fastest parallelism for 405B on 2,048 H100", "name model=llama-3.1-405b&gpus=2048&gpu=h100-sxm-80gb"),
        ("cheapest way to train 7B on 300 B tokens", "costs model=llama-2-7b&tokens_total=300b"),
        ("full fine-tuning of 8B on 8 H100", "name model=llama-3.1-8b&gpus=8&gpu=h100-sxm-80gb"),
        ("Qwen2-VL-72B 64 H20 uneven pipeline", "splits model=qwen-2-vl-72b&gpus=64&gpu=h20-sxm-96gb"),
        ("uneven pipeline 16 H100", "splits gpus=16&gpu=h100-sxm-80gb"),
        ("uneven stages", "splits "),
        ("cheapest", "tab costs"),
        ("cheapest way to train", "tab costs"),
        ("fewest GPUs", "show whole"),
        ("how many GPUs", "show whole"),
        ("out of memory", "show diagnose"),
        ("CUDA out of memory", "show diagnose"),
        ("OOM", "tab memory"),
        ("MFU", "explain mfu"),
        ("low mfu", "show diagnose"),
        ("bubble", "explain bubble"),
        ("pipeline bubbles", "show schedules"),
        ("fastest layout", "tab layouts"),
        ("exposed communication", "tab overlap"),
        ("how long does it take", "show whole"),
        ("torchtitan export", "open export torchtitan"),
        ("export torchtitan", "open export torchtitan"),
        ("order csv", "open export order"),
        ("Megatron script", "open export megatron"),
        ("save", "open export markdown"),
    ];

    #[test]
    fn a_question_leads_to_what_answers_it() {
        let run = Run::default();
        let opened = |typed: &str| {
            let view = answers(&run, typed, str::to_owned);
            view.actions().into_iter().map(Action::name).collect::<Vec<_>>()
        };
        for (typed, action) in ASKED {
            let found = opened(typed);
            assert!(found.iter().any(|one| one == action), "{typed}: {found:?}");
        }
        // Cards of a size are several where nothing says one.
        let several = opened("cheapest way to train 70B on 80 GB GPUs");
        assert!(several.iter().any(|one| one.starts_with("costs ") && !one.contains("gpus=")), "{several:?}");
        // What is left out of an answer is said.
        let said = |typed: &str| answers(&run, typed, str::to_owned).to_html().contains("Not understood");
        assert!(said("cheapest way to train 7B on 300B tokens under water"));
        for typed in [
            "cheapest way to train 7B on H100, A100 or RTX 4090",
            "largest model to fine-tune fully on 8 H100",
            "largest LoRA on one 24 GB card",
        ] {
            assert!(!said(typed), "{typed}");
        }
        // Whatever the page shows, one line means one run.
        let set = [("adapter.method", "qlora"), ("schedule", "dualpipe"), ("model", "mixtral-8x7b"), ("pp", "2")];
        let other = Run::default().with_texts(&set).unwrap();
        for typed in ["70B QLoRA 1x L40S", "DeepSeek-V3 2048 H800 DualPipe DeepSeek"] {
            let of = |run: &Run| match answers(run, typed, str::to_owned).actions().first() {
                Some(Action::Name(set)) => set.clone(),
                other => panic!("{typed}: {other:?}"),
            };
            assert_eq!(of(&run), of(&other));
        }
        let lesson = opened("bubble");
        assert!(lesson.iter().any(|one| one.contains("pipelines.gpipe")), "{lesson:?}");
        // A setting's name is no question.
        for typed in
            ["", "  ", "tp", "--tensor-model-parallel-size", "micro batch size", "zero", "qlora", "batch abacus"]
        {
            assert!(opened(typed).is_empty(), "{typed}: {:?}", opened(typed));
        }
    }

    /// The button names every setting that a press sets, by the names of the page.
    #[test]
    fn a_run_in_one_line_is_named_before_it_is_set() {
        for typed in EXAMPLES {
            assert!(!answers(&Run::default(), typed, str::to_owned).actions().is_empty(), "{typed}");
        }
        // Of the cards of a size one is taken, and the button says which.
        let html = answers(&Run::default(), "largest LoRA on a 24 GB card", str::to_owned).to_html();
        assert!(html.contains("RTX 4090 24 GB"), "{html}");
        // Words that name no setting keep it from being set, and are said.
        for (typed, said) in
            [("largest abacus on 1 RTX 4090", "abacus."), ("8B on 4 RTX 4090 zigzag", "Not understood: zigzag.")]
        {
            let answer = answers(&Run::default(), typed, str::to_owned);
            assert!(answer.actions().iter().all(|action| !matches!(action, Action::Name(_) | Action::Apply(_))));
            assert!(answer.to_html().contains(said), "{}", answer.to_html());
        }
        let html = answers(&Run::default(), "70b qlora 1x l40s, 300B tokens", str::to_owned).to_html();
        for words in ["Llama 3.1 70B", "QLoRA", "1 × L40S 48 GB", "Token budget", "Hugging Face Trainer", "512", "16"]
        {
            assert!(html.contains(words), "{words}: {html}");
        }
    }

    /// In the page's language the words of a title find it.
    #[test]
    fn a_question_may_be_in_the_language_of_the_page() {
        let found = answers(&Run::default(), "最大的模型", |title| {
            if title.starts_with("Largest model") {
                "最大的模型：整个训练".to_owned()
            } else {
                title.to_owned()
            }
        });
        assert_eq!(found.actions().len(), 1);
    }
}
