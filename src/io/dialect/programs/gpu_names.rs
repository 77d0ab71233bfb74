//! GPUs by the names that files and people write: `8xA100-40G`, `NVIDIA_A800-SXM4-80GB`, `RTX 3090`, `A6000 Ada`.

/// A word for a GPU, in lower case; words near it that say which of several it is, if they have to be there; its
/// preset.
struct Named {
    word: &'static str,
    near: &'static [&'static str],
    preset: &'static str,
}

const fn named(word: &'static str, near: &'static [&'static str], preset: &'static str) -> Named {
    Named { word, near, preset }
}

/// Words that say that a number or two letters are a GPU.
const CARD: &[&str] = &["rtx", "geforce", "nvidia", "x", "gpu", "gpus", "tesla"];

/// All names: those of a variant before the one that stands for the rest, which is the smaller one where nothing is
/// usual.
const NAMES: &[Named] = &[
    named("gb300", &[], "gb300"),
    named("gb200", &[], "gb200"),
    named("gh200", &[], "gh200"),
    named("b300", &[], "b300-sxm"),
    named("b200", &[], "b200-sxm"),
    named("h200", &[], "h200-sxm-141gb"),
    named("h100", &["94gb", "94g"], "h100-sxm-94gb"),
    named("h100", &["96gb", "96g"], "h100-sxm-96gb"),
    named("h100", &["pcie"], "h100-pcie-80gb"),
    named("h100", &[], "h100-sxm-80gb"),
    named("h800", &[], "h800-sxm-80gb"),
    named("h20", &[], "h20-sxm-96gb"),
    named("a800", &[], "a800-sxm-80gb"),
    named("a100", &["40gb", "40g", "40gib"], "a100-sxm-40gb"),
    named("a100", &["pcie"], "a100-pcie-80gb"),
    named("a100", &[], "a100-sxm-80gb"),
    named("v100", &["32gb", "32g", "32gib"], "v100-sxm2-32gb"),
    named("v100", &[], "v100-sxm2-16gb"),
    named("a10", &[], "a10"),
    named("a40", &[], "a40"),
    named("t4", CARD, "t4"),
    named("l40s", &[], "l40s"),
    named("l40", &[], "l40"),
    named("a6000", &["ada"], "rtx-6000-ada"),
    named("a6000", &[], "rtx-a6000"),
    named("rtxa6000", &[], "rtx-a6000"),
    named("6000", &["ada"], "rtx-6000-ada"),
    named("rtx6000ada", &[], "rtx-6000-ada"),
    named("6000", &["pro"], "rtx-pro-6000"),
    named("rtxpro6000", &[], "rtx-pro-6000"),
    named("5090", CARD, "rtx-5090"),
    named("rtx5090", &[], "rtx-5090"),
    named("4090", CARD, "rtx-4090"),
    named("rtx4090", &[], "rtx-4090"),
    named("3090", CARD, "rtx-3090"),
    named("rtx3090", &[], "rtx-3090"),
    named("3080", CARD, "rtx-3080-10gb"),
    named("rtx3080", &[], "rtx-3080-10gb"),
    named("mi300x", &[], "mi300x"),
    named("mi325x", &[], "mi325x"),
    named("mi350x", &[], "mi350x"),
    named("mi355x", &[], "mi355x"),
    named("mi455x", &[], "mi455x"),
    named("vr200", &[], "rubin"),
    named("rubin", &["vera", "nvidia", "x", "gpu", "gpus"], "rubin"),
];

/// Words after a name by which it is another GPU than the one of the table.
const OTHERS: &[(&str, &[&str])] = &[("3090", &["ti"]), ("3080", &["ti", "12gb", "12g"]), ("h20", &["141gb", "141g"])];

/// Words of a text in lower case; `x` for a sign of multiplication, also within a word as in `8xh100`.
pub(crate) fn words(text: &str) -> Vec<String> {
    let text = text.to_ascii_lowercase().replace(['*', '×'], " x ");
    let mut words = Vec::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let digits = word.chars().take_while(char::is_ascii_digit).count();
        match word[digits..].strip_prefix('x') {
            Some(rest) if digits > 0 && !rest.is_empty() => {
                words.extend([word[..digits].to_owned(), "x".to_owned(), rest.to_owned()]);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// A GPU that a text names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedGpu {
    /// The id of its preset.
    pub preset: &'static str,
    /// The word of the text.
    pub word: &'static str,
    /// False where GPUs of this name have other memory or another form, and the text does not say which it is.
    pub sure: bool,
}

/// True of a size of memory: `80gb`, `40g`.
pub(crate) fn is_memory(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < word.len() && ["g", "gb", "gib"].contains(&unit)
}

fn near_memory(before: &[String], after: &[String]) -> bool {
    before.iter().chain(after).any(|word| is_memory(word))
}

/// The preset of the first GPU that a text names.
pub(crate) fn first_gpu(text: &str) -> Option<&'static str> {
    named_gpu(text).map(|gpu| gpu.preset)
}

/// The first GPU that a text names.
pub(crate) fn named_gpu(text: &str) -> Option<NamedGpu> {
    let words = words(text);
    // Alone, as the value of a setting, a name needs no other word.
    let alone = words.len() <= 2;
    (0..words.len()).find_map(|at| {
        let word = words[at].as_str();
        let single = word.strip_suffix('s').filter(|single| single.len() > 3);
        let is = |name: &str| word == name || single == Some(name) && !NAMES.iter().any(|row| row.word == word);
        let (before, after) = (&words[at.saturating_sub(2)..at], &words[at + 1..words.len().min(at + 4)]);
        let near = |others: &[&str]| before.iter().chain(after).any(|word| others.contains(&word.as_str()));
        let another = |row: &Named| OTHERS.iter().any(|(name, other)| row.word.ends_with(name) && near(other));
        let fits = |row: &&Named| {
            is(row.word) && (row.near.is_empty() || near(row.near) || (alone && row.near.contains(&"x")))
        };
        let row = NAMES.iter().find(fits).filter(|row| !another(row))?;
        let others = || NAMES.iter().any(|other| other.word == row.word && other.preset != row.preset);
        let sure = !row.near.is_empty() || near_memory(before, after) || !others();
        Some(NamedGpu { preset: row.preset, word: row.word, sure })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::presets;

    #[test]
    fn every_name_is_one_of_a_preset() {
        for row in NAMES {
            assert!(presets::gpu(row.preset).is_some(), "{}", row.preset);
        }
        for preset in presets::GPUS {
            let is_named = NAMES.iter().any(|row| row.preset == preset.choice.id);
            assert!(is_named, "add the names that files give {}", preset.choice.id);
        }
    }

    #[test]
    fn gpus_are_read_as_files_and_people_write_them() {
        for (text, preset) in [
            ("8 * A800-SXM4-80GB", "a800-sxm-80gb"),
            ("NVIDIA_A800", "a800-sxm-80gb"),
            ("# 8xA100 40G", "a100-sxm-40gb"),
            ("a100-80gb", "a100-sxm-80gb"),
            ("two A100s", "a100-sxm-80gb"),
            ("pretrain_64gpu_gh200_bf16", "gh200"),
            ("GPU: 4*3090", "rtx-3090"),
            ("NVIDIA GeForce RTX 3090", "rtx-3090"),
            ("rtx_4090", "rtx-4090"),
            ("L40S", "l40s"),
            ("L40", "l40"),
            ("RTX A6000 Ada", "rtx-6000-ada"),
            ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
            ("RTX PRO 6000 Blackwell", "rtx-pro-6000"),
            ("RTX A6000", "rtx-a6000"),
            ("4 x V100-32G", "v100-sxm2-32gb"),
            ("Tesla T4", "t4"),
            ("t4", "t4"),
            ("1 * A10", "a10"),
        ] {
            assert_eq!(first_gpu(text), Some(preset), "{text}");
        }
        for text in ["--master_port 3090", "a1000", "--lr 6000", "set t4 = 3", "RTX 3090 Ti", "qwen3_a3b", "A10G"] {
            let text = format!("some words before {text} and after it");
            assert_eq!(first_gpu(&text), None, "{text}");
        }
    }
}
