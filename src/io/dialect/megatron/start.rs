//! What a launch of Megatron-LM needs beside the settings of a Run: data, tokenizer, learning rate, length and rotary
//! positions, as values where they are known, else as variables that the script names.
//!
//! Source: NVIDIA/Megatron-LM d98e8a6 `arguments.py`: data paths and a tokenizer are required without mock data, the
//! scheduler of the learning rate compares `--lr`, and iterations have no default.

use crate::dialect::rows::prelude::*;
use crate::dialect::rows::rotary::rotary;
use crate::dialect::text::words::entries;

/// A variable that a script stops without, and what it is to be.
pub(crate) type Blank = (&'static str, &'static str);

/// Arguments of a launch, and the variables among them.
pub(crate) fn start(scenario: &Scenario, said: &SettingEntries) -> (SettingEntries, Vec<Blank>) {
    let has = |name: &str| said.iter().any(|(known, _)| known == name);
    let (mut words, mut blanks): (Vec<(&str, &str)>, Vec<Blank>) = (Vec::new(), Vec::new());
    if scenario.layout.gpus > scenario.layout.per_node {
        blanks.push(("HEAD_NODE", "name or address of the first node; the script runs on every node"));
    }
    let mut blank = |argument, value, name, what| {
        words.push((argument, value));
        blanks.push((name, what));
    };
    blank("--data-path", "\"$DATA_PATH\"", "DATA_PATH", "prefix of the tokenized data, by tools/preprocess_data.py");
    if !has("--tokenizer-model") {
        blank("--tokenizer-model", "\"$TOKENIZER\"", "TOKENIZER", "folder or repository of the tokenizer");
        words.push(("--tokenizer-type", "HuggingFaceTokenizer"));
    }
    let mut blank = |argument, value, name, what| {
        words.push((argument, value));
        blanks.push((name, what));
    };
    blank("--lr", "\"$LR\"", "LR", "peak learning rate");
    if !has("--train-iters") {
        blank("--train-iters", "\"$TRAIN_ITERS\"", "TRAIN_ITERS", "steps of the training");
    }
    if has("--use-megatron-fsdp") {
        // `validate_args` refuses every other format, whether or not anything is saved.
        words.push(("--ckpt-format", "fsdp_dtensor"));
    }
    let rotates = scenario.model.learned_positions == 0 && !has("--rotary-base");
    let known = rotary(&scenario.run).filter(|_| rotates);
    if let Some(arguments) = known {
        let mut rest = arguments.split(' ').peekable();
        while let Some(name) = rest.next() {
            words.push((name, rest.next_if(|word| !word.starts_with("--")).unwrap_or_default()));
        }
    } else if rotates {
        words.push(("--rotary-base", "\"$ROTARY_BASE\""));
        blanks.push(("ROTARY_BASE", "base of the rotary positions: rope_theta in config.json of the model"));
    }
    (entries(&words), blanks)
}
