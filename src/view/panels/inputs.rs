//! The settings by their place among the inputs: the column, and the sheets of the others.

use shardscope_core::run::registry::{FIELDS, Field, Group, Slot};
use shardscope_core::run::{OneOf, Run};
use std::sync::LazyLock;

/// Settings of the column: key, short name, and what it is of.
pub const COLUMN: [(&str, &str, &str); 8] = [
    ("tp", "TP", "tensor"),
    ("pp", "PP", "pipeline"),
    ("cp", "CP", "context"),
    ("zero", "ZeRO", ""),
    ("schedule", "Schedule", ""),
    ("micro_batch", "Micro-batch", ""),
    ("recompute", "Recompute", ""),
    ("precision", "Precision", ""),
];

/// Settings of the sentence above the page.
pub const SENTENCE: [&str; 6] = ["model", "gpus", "gpu", "seq_len", "global_batch", "stack"];

/// Letters of the names in the sentence, from which on its layout has a line of its own. At 1,440 pixels the line has
/// room for about as many beside the sizes.
const LONG: usize = 61;
/// Letters that the experts' size takes in the line.
const EXPERTS: usize = 7;

/// True if the names in the sentence of `run` leave no room for its layout in the same line. Numbers do not decide it,
/// so that nothing moves while one is typed.
pub fn is_long(run: &Run) -> bool {
    let schedule = run.schedule.choice().label;
    let software = run.stack.preset_row().choice.label;
    let trained = run.adapter.method.map_or("all weights", |method| method.choice().label);
    // The usual objective is not named.
    let is_usual = run.objective.base == Run::default().objective.base;
    let objective = if is_usual { "" } else { run.objective.named().choice().label };
    let names = [run.model.title().to_string(), run.gpu.title().to_string()];
    let names = names.iter().map(String::as_str).chain([schedule, software, trained, objective]);
    let letters = names.map(|name| name.chars().count());
    let experts = if run.model.resolve().is_ok_and(|model| model.moe.is_some()) { EXPERTS } else { 0 };
    letters.sum::<usize>() + experts > LONG
}

/// A part of a sheet: its title, and the fields that are in it unless a later part has them.
pub type SheetPart = (&'static str, fn(&Field) -> bool);

/// The sheets: title and parts.
pub const SHEETS: [(&str, &[SheetPart]); 6] = [
    (
        "Model shape",
        &[
            ("", |field| field.group == Group::Model),
            ("Experts (MoE)", |field| field.key.starts_with("model.moe.")),
            ("Latent attention (MLA)", |field| field.key.starts_with("model.mla.")),
            ("Vision tower (ViT)", |field| field.key.starts_with("model.vision.")),
        ],
    ),
    ("Cluster and links", &[("", |field| field.group == Group::Cluster)]),
    ("More of the layout", &[("", |field| field.group == Group::Parallelism)]),
    ("Batch and budget", &[("", is_of_batch)]),
    (
        "Software, precision",
        &[
            ("", |field| field.group == Group::Training && !is_of_batch(field)),
            ("Method", |field| field.group == Group::Method),
        ],
    ),
    (
        "Fine-tuning, RL",
        &[
            ("", |field| field.key.starts_with("adapter.")),
            ("Offloading", |field| field.key.starts_with("offload.")),
            ("Reinforcement learning", |field| field.key.starts_with("rl.")),
            ("Its framework and models", |field| field.key.starts_with("phases.")),
        ],
    ),
];

/// First and last field of the batch, the budget and the whole run, in the order of a link.
const BATCH: (&str, &str) = ("seq_len", "stack");

/// True for a field of the batch, the budget or the whole run.
fn is_of_batch(field: &Field) -> bool {
    let at = |key: &str| FIELDS.iter().position(|field| field.key == key);
    let (from, to) = (at(BATCH.0), at(BATCH.1));
    at(field.key).zip(from).zip(to).is_some_and(|((at, from), to)| (from..to).contains(&at))
}

/// True for a setting of the column.
pub fn is_in_column(field: &Field) -> bool {
    COLUMN.iter().any(|(key, ..)| *key == field.key)
}

/// Sheet and part of a field; the last part that has it.
pub fn place(field: &Field) -> Option<(usize, usize)> {
    let parts = SHEETS.iter().enumerate().rev();
    let mut places = parts.flat_map(|(sheet, (_, parts))| (0..parts.len()).rev().map(move |part| (sheet, part)));
    places.find(|(sheet, part)| SHEETS[*sheet].1[*part].1(field))
}

/// Fields of a sheet, each with its part.
pub fn fields(sheet: usize) -> impl Iterator<Item = (usize, &'static Field)> {
    // Every edit asks for them, and a place is looked for among all parts.
    static PLACED: LazyLock<Vec<(usize, usize, &'static Field)>> = LazyLock::new(|| {
        let placed = |field: &'static Field| place(field).map(|(sheet, part)| (sheet, part, field));
        FIELDS.iter().filter(|field| !is_in_column(field)).filter_map(placed).collect()
    });
    PLACED.iter().filter(move |(at, ..)| *at == sheet).map(|(_, part, field)| (*part, *field))
}

/// True if `words` are a name of `field` or of one of its options, whole: such a field comes first in a search.
pub fn is_named(field: &Field, words: &str) -> bool {
    // Programs and configurations write dashes and underscores for the blanks of a name.
    let bare = |name: &str| name.trim().to_ascii_lowercase().replace(['-', '_'], " ");
    let words = bare(words);
    let is_it = |name: &str| bare(name) == words;
    let has_option = || match &field.slot {
        Slot::Choice { options, .. } => options().into_iter().any(|option| is_it(option.id) || is_it(option.label)),
        _ => false,
    };
    [field.key, field.label, field.symbol].into_iter().any(is_it) || has_option()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name in a configuration is the field's own, whatever stands between its words; a longer one is another's.
    #[test]
    fn a_name_in_a_configuration_is_that_of_the_field() {
        use shardscope_core::run::registry::field;
        for (key, words) in [
            ("model.hidden", "hidden_size"),
            ("model.hidden", "Hidden size"),
            ("micro_batch", "micro_batch"),
            ("virtual_stages", "virtual_stages"),
        ] {
            assert!(is_named(field(key).unwrap(), words), "{key}: {words}");
        }
        for (key, words) in [("model", "hidden_size"), ("model.hidden", "ffn_hidden_size"), ("model.hidden", "hidden")]
        {
            assert!(!is_named(field(key).unwrap(), words), "{key}: {words}");
        }
        assert_eq!(FIELDS.iter().filter(|field| is_named(field, "hidden_size")).count(), 1);
    }

    /// What turns reinforcement learning on stands where its name is looked for, before what it needs.
    #[test]
    fn the_algorithm_is_the_first_setting_of_reinforcement_learning() {
        let at = SHEETS.iter().position(|(title, _)| title.contains("RL")).unwrap();
        let part = SHEETS[at].1.iter().position(|(title, _)| *title == "Reinforcement learning").unwrap();
        let found: Vec<_> = fields(at).filter(|(of, _)| *of == part).map(|(_, field)| field.key).collect();
        assert_eq!(found.first(), Some(&"rl.algorithm"));
        let all = FIELDS.iter().filter(|field| field.key.starts_with("rl.")).count();
        assert_eq!(found.len(), all);
    }

    /// The page as it opens has one line; `DualPipe` of DeepSeek-V3 in NeMo has two, whatever numbers are typed.
    #[test]
    fn names_alone_give_the_layout_a_line_of_its_own() {
        assert!(!is_long(&Run::example()) && !is_long(&Run::default()));
        let set = [("model", "deepseek-v3"), ("gpu", "h800-sxm-80gb"), ("stack", "megatron-2025")];
        let set = set.into_iter().chain([("schedule", "dualpipe")]).collect::<Vec<_>>();
        let long = Run::default().with_texts(&set).unwrap();
        assert!(is_long(&long) && is_long(&Run::example().with_texts(&[("objective", "distillation")]).unwrap()));
        // As wide as the page as it opens, and two letters more.
        let larger = [("model", "llama-3.1-405b"), ("stack", "megatron-2025")];
        assert!(is_long(&Run::default().with_texts(&larger).unwrap()));
        for (key, text) in [("gpus", "16384"), ("global_batch", "15360"), ("tp", "16"), ("pp", "64"), ("cp", "8")] {
            for run in [&Run::example(), &long] {
                assert_eq!(is_long(&run.with_texts(&[(key, text)]).unwrap()), is_long(run), "{key}");
            }
        }
    }

    /// "`LoRA`" is a method of adapters before it is a part of the keys of multi-head latent attention's ranks.
    #[test]
    fn a_search_for_lora_names_the_adapters_alone() {
        for words in ["LoRA", "lora", "QLoRA "] {
            let named: Vec<_> = FIELDS.iter().filter(|field| is_named(field, words)).map(|field| field.key).collect();
            assert_eq!(named, ["adapter.method"], "{words}");
        }
    }

    #[test]
    fn every_setting_is_in_the_column_or_in_one_sheet() {
        let missing: Vec<_> = FIELDS.iter().filter(|field| !is_in_column(field) && place(field).is_none()).collect();
        assert!(
            missing.is_empty(),
            "a field needs a part of a sheet that has it: {:?}",
            missing.first().map(|one| one.key)
        );
        let placed: usize = (0..SHEETS.len()).map(|at| fields(at).count()).sum();
        assert_eq!(placed + COLUMN.len(), FIELDS.len());
    }
}
