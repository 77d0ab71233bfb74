//! A run as people type it in one line: "70B QLoRA on 1x L40S", "405B, 2048 H100, batch 2k, TP 8".

use super::presets::{GPUS, GpuPreset, MODELS, gpu_called, model};
use super::registry::{Slot, field};
use super::{Choice, Run};
use crate::units::{parse_count, parse_number};

/// Words that say nothing of a setting.
const FILLERS: [&str; 25] = [
    "a",
    "an",
    "and",
    "at",
    "by",
    "cards",
    "fine-tune",
    "fine-tuning",
    "finetune",
    "finetuning",
    "for",
    "gpu",
    "gpus",
    "in",
    "model",
    "of",
    "on",
    "over",
    "run",
    "the",
    "to",
    "train",
    "training",
    "using",
    "with",
];

/// Words for one GPU before its kind or the size of its memory.
const ONE: [&str; 3] = ["a", "an", "single"];

/// Units that stand apart from their number, and as one word with it.
const UNITS: [(&str, &str); 8] = [
    ("k", "k"),
    ("m", "m"),
    ("b", "b"),
    ("t", "t"),
    ("thousand", "k"),
    ("million", "m"),
    ("billion", "b"),
    ("trillion", "t"),
];

/// Numbers as words, from one on.
const NUMBERS: [&str; 8] = ["one", "two", "three", "four", "five", "six", "seven", "eight"];

/// Words for a GPU behind the size of its memory.
const CARDS: [&str; 6] = ["card", "cards", "gpu", "gpus", "accelerator", "accelerators"];
/// Those for several.
const SEVERAL: [&str; 3] = ["cards", "gpus", "accelerators"];

/// Words before a number, and the setting of each.
const BEFORE: [(&str, &str); 23] = [
    ("tp", "tp"),
    ("pp", "pp"),
    ("cp", "cp"),
    ("ep", "ep"),
    ("etp", "etp"),
    ("vp", "virtual_stages"),
    ("zero", "zero"),
    ("seq", "seq_len"),
    ("sequence", "seq_len"),
    ("context", "seq_len"),
    ("length", "seq_len"),
    ("seqlen", "seq_len"),
    ("sequencelength", "seq_len"),
    ("contextlength", "seq_len"),
    ("batch", "global_batch"),
    ("gbs", "global_batch"),
    ("batchsize", "global_batch"),
    ("globalbatch", "global_batch"),
    ("globalbatchsize", "global_batch"),
    ("mbs", "micro_batch"),
    ("microbatch", "micro_batch"),
    ("microbatchsize", "micro_batch"),
    ("tokens", "tokens_total"),
];

/// Settings whose choices are known by their whole names.
const CHOICES: [&str; 5] = ["adapter.method", "schedule", "stack", "precision", "optimizer"];

/// Settings whose choices are known by the beginning of a name too: "megatron", "fp8". The first one is meant.
const FAMILIES: [&str; 2] = ["stack", "precision"];

/// From so many on, tokens are the budget of a training, not a sequence.
const LEAST_BUDGET: f64 = 1e9;

/// Words that one name has, at most.
const LONGEST: usize = 5;

/// Letters and digits of `text`, in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The words that are typed: commas between them go, those inside a number too; "1xL40S" and "4 × 4090" are a count
/// and a name.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('×', " x ").replace('=', " ");
    let words = text.split(|c: char| c.is_whitespace() || c == ';').map(|word| word.trim_matches([',', '.', '?', '!']));
    let words = words.flat_map(|word| {
        let grouped = word.split(',').skip(1).all(|part| part.len() == 3 && part.parse::<u16>().is_ok());
        if grouped { vec![word.replace(',', "")] } else { word.split(',').map(str::to_owned).collect() }
    });
    let words = words.flat_map(|word| match word.split_once('x') {
        Some((count, name)) if count.parse::<u64>().is_ok() && (name.is_empty() || gpu_called(name).is_some()) => {
            vec![count.to_owned(), name.to_owned()]
        }
        _ => vec![word],
    });
    let words = words.map(|word| match NUMBERS.iter().position(|number| *number == word) {
        Some(at) => (at + 1).to_string(),
        None => word,
    });
    let words: Vec<String> = words.filter(|word| !word.is_empty() && word != "x").collect();
    let unit_of = |word: &String| UNITS.iter().find(|(name, _)| name == word).map(|(_, unit)| *unit);
    let is_number = |word: &String| word.parse::<f64>().is_ok_and(f64::is_finite);
    let mut joined: Vec<String> = Vec::new();
    for word in words {
        match (joined.last_mut().filter(|last| is_number(last)), unit_of(&word)) {
            (Some(last), Some(unit)) => last.push_str(unit),
            _ => joined.push(word),
        }
    }
    joined
}

/// The model that `words` name: all of them are words of its name in order, or they are a part of it written as one
/// word. The first in the order of the page: "70B" is Llama 3.1 70B, whose name the page shows before it is taken.
fn model_called(words: &[String]) -> Option<&'static str> {
    let typed: Vec<String> = words.iter().flat_map(|word| word.split('-')).map(plain).collect();
    let joined = typed.concat();
    let (has_digit, has_letter) =
        (joined.contains(|c: char| c.is_ascii_digit()), joined.contains(|c: char| c.is_ascii_alphabetic()));
    if !has_digit || !has_letter {
        return None;
    }
    let is_called = |label: &str| {
        let own: Vec<String> = label.split([' ', '-']).map(plain).collect();
        let mut rest = own.iter();
        let mut runs = (0..own.len()).flat_map(|from| (from + 1..=own.len()).map(move |to| (from, to)));
        typed.iter().all(|word| rest.any(|one| one == word)) || runs.any(|(from, to)| own[from..to].concat() == joined)
    };
    let whole = MODELS.iter().find(|preset| plain(preset.choice.label) == joined || plain(preset.choice.id) == joined);
    whole.or_else(|| MODELS.iter().find(|preset| is_called(preset.choice.label))).map(|preset| preset.choice.id)
}

/// The GPU that `words` name, which begins with a letter or is a number of four digits: "h100", "rtx 4090", "4090".
fn gpu_of(words: &[String]) -> Option<&'static str> {
    let name = words.concat();
    let is_number = name.len() == 4 && name.parse::<u16>().is_ok();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.contains(|c: char| c.is_ascii_digit());
    (is_name || is_number).then(|| gpu_called(&name)).flatten().map(|preset| preset.choice.id)
}

/// The choice that `words` name, with its setting.
fn choice_called(words: &[String]) -> Option<(&'static str, &'static str)> {
    let name = plain(&words.concat());
    if name.len() < 3 {
        return None;
    }
    CHOICES.into_iter().find_map(|key| {
        let Slot::Choice { options } = &field(key)?.slot else { return None };
        let options = options();
        let names = |option: &crate::field::Choice| [plain(option.id), plain(option.label)];
        let whole = options.iter().find(|option| names(option).contains(&name));
        let begins = || {
            let of_family = FAMILIES.contains(&key);
            options.iter().find(|option| of_family && names(option).iter().any(|one| one.starts_with(&name)))
        };
        Some((key, whole.or_else(begins)?.id))
    })
}

/// Settings as links write them, and the number of words that name them.
type Named = (Vec<(&'static str, String)>, usize);

/// The setting `key` at `value`, named by `words` words.
fn one(key: &'static str, value: &str, words: usize) -> Named {
    (vec![(key, value.to_owned())], words)
}

/// "300B tokens" and "15T" are a budget, "8k tokens" a sequence.
fn tokens(rest: &[String]) -> Option<Named> {
    let number = &rest[0];
    let amount = parse_number(number)?;
    let are_tokens = rest.get(1).is_some_and(|word| word == "tokens" || word == "token");
    match () {
        () if number.ends_with('t') => Some(one("tokens_total", number, 1 + usize::from(are_tokens))),
        () if !are_tokens => None,
        () if amount >= LEAST_BUDGET => Some(one("tokens_total", number, 2)),
        () => parse_count(number).map(|_| one("seq_len", number, 2)),
    }
}

/// A size of memory that the first words are, "48 gb" or "24gb", and how many they are.
fn gigabytes(rest: &[String]) -> Option<(f64, usize)> {
    let word = plain(rest.first()?);
    let is_unit = |text: &str| ["gb", "gib"].contains(&text);
    if let Some(at) = word.find(|c: char| !c.is_ascii_digit()) {
        return is_unit(&word[at..]).then_some((word[..at].parse().ok()?, 1));
    }
    rest.get(1).filter(|unit| is_unit(unit))?;
    Some((word.parse().ok()?, 2))
}

/// Kinds of GPUs that have the memory which the first words name, "48 GB card", in the order of the page, and how many
/// words that are. Memory at the end of a text, or before a word that says nothing, is a GPU's, too.
fn of_size(rest: &[String]) -> Option<(Vec<&'static GpuPreset>, usize)> {
    let (size, words) = gigabytes(rest)?;
    let behind = rest.get(words).map(String::as_str);
    let is_card = behind.is_some_and(|word| CARDS.contains(&word));
    if !is_card && behind.is_some_and(|word| !FILLERS.contains(&word)) {
        return None;
    }
    let kinds: Vec<_> = GPUS.iter().filter(|preset| (preset.gpu.memory.gib() - size).abs() < 0.5).collect();
    (!kinds.is_empty()).then_some((kinds, words + usize::from(is_card)))
}

/// The number of GPUs that `word` says, "8" or "2k": "70b" is a model.
fn gpu_count(word: &str) -> Option<String> {
    let is_count = !word.ends_with(['b', 'm', 't']) && parse_count(word).is_some();
    is_count.then(|| word.to_owned())
}

/// The number of GPUs that `word` says of what `named` names: "a" is one, of one thing.
fn number_of(word: &str, named: &[String]) -> Option<String> {
    let are_several = named.last().is_some_and(|word| SEVERAL.contains(&word.as_str()));
    let is_one = ONE.contains(&word) && !are_several;
    if is_one { Some("1".to_owned()) } else { gpu_count(word) }
}

/// Kinds of GPUs that the first words name by the size of their memory, the number before them, and how many words that
/// are: "one 48 GB card".
fn counted_of_size(rest: &[String]) -> Option<(Vec<&'static GpuPreset>, Option<String>, usize)> {
    let counted = of_size(&rest[1..])
        .and_then(|(kinds, words)| Some((kinds, Some(number_of(&rest[0], &rest[1..=words])?), words + 1)));
    counted.or_else(|| of_size(rest).map(|(kinds, words)| (kinds, None, words)))
}

/// GPUs by the size of their memory, with or without their number. Of the kinds of that size the first in the order of
/// the page is meant.
fn by_memory(rest: &[String]) -> Option<Named> {
    let (kinds, count, words) = counted_of_size(rest)?;
    let count = count.map(|count| ("gpus", count));
    Some((count.into_iter().chain([("gpu", kinds[0].choice.id.to_owned())]).collect(), words))
}

/// Kinds of GPUs that `text` names by the size of their memory alone: the one that is meant, then the others that have
/// as much; empty where it names none so, also where a size is a part of a name, "H100 80GB GPUs".
pub fn kinds_of_size(text: &str) -> Vec<Choice> {
    let words = words(text);
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        if let Some((kinds, ..)) = counted_of_size(rest) {
            return kinds.iter().map(|preset| preset.choice).collect();
        }
        rest = &rest[first(rest).map_or(1, |(_, used)| used)..];
    }
    Vec::new()
}

/// GPUs by kind, with or without their number, a model, a choice, or a setting by its name and its number: of the names
/// that the first words are, the longest.
fn by_name(rest: &[String]) -> Option<Named> {
    (1..=LONGEST.min(rest.len())).rev().find_map(|length| {
        let (name, behind) = (&rest[..length], rest.get(1..=length));
        let counted = behind.and_then(|behind| {
            let is_several = rest.get(length + 1).filter(|word| SEVERAL.contains(&word.as_str()));
            Some((number_of(&rest[0], is_several.map_or(behind, std::slice::from_ref))?, gpu_of(behind)?))
        });
        let gpus = counted.map(|(count, gpu)| (vec![("gpus", count), ("gpu", gpu.to_owned())], length + 1));
        gpus.or_else(|| gpu_of(name).map(|gpu| one("gpu", gpu, length)))
            .or_else(|| model_called(name).map(|model| one("model", model, length)))
            .or_else(|| choice_called(name).map(|(key, id)| one(key, id, length)))
            .or_else(|| {
                let number = rest.get(length).filter(|word| parse_number(word).is_some())?;
                Some(one(before(&plain(&name.concat()))?, number, length + 1))
            })
    })
}

/// The setting that `word` before a number names.
fn before(word: &str) -> Option<&'static str> {
    BEFORE.iter().find(|(name, _)| *name == word).map(|(_, key)| *key)
}

/// A number in one word with its setting, "tp8" or "zero-3", a number of GPUs, or a length, "32k context".
fn by_number(rest: &[String]) -> Option<Named> {
    let word = plain(&rest[0]);
    let split = word.find(|c: char| c.is_ascii_digit()).map(|at| word.split_at(at));
    if let Some((name, number)) = split
        && let Some(key) = before(name).filter(|_| parse_count(number).is_some())
    {
        return Some(one(key, number, 1));
    }
    parse_count(&rest[0])?;
    let next = rest.get(1).map_or("", String::as_str);
    match next {
        _ if CARDS.contains(&next) => gpu_count(&rest[0]).map(|count| one("gpus", &count, 2)),
        _ if !rest[0].ends_with('k') => None,
        "sequence" | "context" => Some(one("seq_len", &rest[0], 2)),
        _ => Some(one("seq_len", &rest[0], 1)),
    }
}

/// What the first words of `rest` set, and how many they are; no settings for a word that says nothing of one.
fn first(rest: &[String]) -> Option<Named> {
    let filler = || FILLERS.contains(&rest[0].as_str()).then(|| (Vec::new(), 1));
    let sized = by_memory(rest).or_else(|| tokens(rest));
    sized.or_else(|| by_name(rest)).or_else(|| by_number(rest)).or_else(filler)
}

/// Words of `text` that name no setting, where others name a model or a kind of GPU; none where every word is
/// understood.
pub fn not_understood(text: &str) -> Option<String> {
    let words = words(text);
    let mut rest = words.as_slice();
    let (mut unknown, mut is_run) = (Vec::new(), false);
    while let [word, others @ ..] = rest {
        if let Some((found, used)) = first(rest) {
            is_run |= found.iter().any(|(key, _)| ["model", "gpu"].contains(key));
            rest = &rest[used..];
        } else {
            unknown.push(word.as_str());
            rest = others;
        }
    }
    (is_run && !unknown.is_empty()).then(|| unknown.join(" "))
}

/// Settings that `text` names, each once, as links write them; none where a word of it names none, where one of them
/// means nothing, or where nothing is named.
pub fn settings_named(run: &Run, text: &str) -> Option<Vec<(&'static str, String)>> {
    let words = words(text);
    let mut rest = words.as_slice();
    let mut set: Vec<(&'static str, String)> = Vec::new();
    while !rest.is_empty() {
        let (found, used) = first(rest)?;
        if found.iter().any(|(key, _)| set.iter().any(|(known, _)| known == key)) {
            return None;
        }
        set.extend(found);
        rest = &rest[used..];
    }
    let is_model = set.iter().find(|(key, _)| *key == "model").is_none_or(|(_, id)| model(id).is_some());
    (!set.is_empty() && is_model && run.with_texts(&set).is_some()).then_some(set)
}

/// Settings that a text names among other words.
#[derive(Default)]
pub struct SettingsAmong {
    /// Each once, the first of several, as links write them; none where one of them means nothing.
    pub set: Vec<(&'static str, String)>,
    /// Those that it names again, with other values.
    pub again: Vec<(&'static str, String)>,
    /// Words that name none.
    pub others: Vec<String>,
}

/// Settings that `text` names among other words, for `run`.
pub fn settings_among(run: &Run, text: &str) -> SettingsAmong {
    let words = words(text);
    let mut rest = words.as_slice();
    let mut among = SettingsAmong::default();
    while let [word, behind @ ..] = rest {
        let Some((found, used)) = first(rest) else {
            among.others.push(word.clone());
            rest = behind;
            continue;
        };
        let is_again = found.iter().any(|(key, _)| among.set.iter().any(|(known, _)| known == key));
        if is_again { &mut among.again } else { &mut among.set }.extend(found);
        rest = &rest[used..];
    }
    if run.with_texts(&among.set).is_some() {
        among
    } else {
        SettingsAmong { others: words, ..SettingsAmong::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Option<String> {
        let set = settings_named(&Run::default(), text)?;
        Some(set.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("&"))
    }

    /// The runs of the questions that people bring, typed as they say them.
    #[test]
    fn a_run_is_named_in_one_line() {
        for (typed, set) in [
            ("70B QLoRA 1x L40S", "model=llama-3.1-70b&adapter.method=qlora&gpus=1&gpu=l40s"),
            ("train Llama 3.1 405B on 2,048 H100", "model=llama-3.1-405b&gpus=2048&gpu=h100-sxm-80gb"),
            ("DeepSeek V3, 2048 x H800, DualPipe", "model=deepseek-v3&gpus=2048&gpu=h800-sxm-80gb&schedule=dualpipe"),
            ("deepseek-v3.2 fp8", "model=deepseek-v3.2&precision=fp8"),
            ("7B 300B tokens", "model=llama-2-7b&tokens_total=300b"),
            ("8B on 15T tokens", "model=llama-3.1-8b&tokens_total=15t"),
            ("8B on 15T", "model=llama-3.1-8b&tokens_total=15t"),
            ("8B 4× RTX 4090 LoRA 8k tokens", "model=llama-3.1-8b&gpus=4&gpu=rtx-4090&adapter.method=lora&seq_len=8k"),
            ("llama 70b at 32k context on 64 gpus", "model=llama-3.1-70b&seq_len=32k&gpus=64"),
            ("Qwen2-VL 72B 64 H20", "model=qwen-2-vl-72b&gpus=64&gpu=h20-sxm-96gb"),
            ("qwen 2.5 72b", "model=qwen-2.5-72b"),
            ("mixtral 8x7b", "model=mixtral-8x7b"),
            ("gpt-oss 20b torchtitan", "model=gpt-oss-20b&stack=torchtitan"),
            ("tp8 pp=4 zero 3 batch 512 micro-batch 2", "tp=8&pp=4&zero=3&global_batch=512&micro_batch=2"),
            ("batch size 512 micro batch size 2 seqlen 4k", "global_batch=512&micro_batch=2&seq_len=4k"),
            ("A100 40GB", "gpu=a100-sxm-40gb"),
            ("70B on 8 H100 80GB GPUs", "model=llama-3.1-70b&gpus=8&gpu=h100-sxm-80gb"),
            ("QLoRA 70B on one 48 GB card", "adapter.method=qlora&model=llama-3.1-70b&gpus=1&gpu=l40s"),
            ("8B LoRA, two 24GB GPUs", "model=llama-3.1-8b&adapter.method=lora&gpus=2&gpu=rtx-4090"),
            ("8B on one card", "model=llama-3.1-8b&gpus=1"),
            ("8B on a 24 GB card", "model=llama-3.1-8b&gpus=1&gpu=rtx-4090"),
            ("QLoRA 70B on one 48 GB", "adapter.method=qlora&model=llama-3.1-70b&gpus=1&gpu=l40s"),
            ("70B H100", "model=llama-3.1-70b&gpu=h100-sxm-80gb"),
            ("70B GPUs", "model=llama-3.1-70b"),
            ("2k H100", "gpus=2k&gpu=h100-sxm-80gb"),
            ("QLoRA 70B 48 GB", "adapter.method=qlora&model=llama-3.1-70b&gpu=l40s"),
            ("fine-tune 70B on a single H100", "model=llama-3.1-70b&gpus=1&gpu=h100-sxm-80gb"),
            ("8B on an H100 80 GB", "model=llama-3.1-8b&gpus=1&gpu=h100-sxm-80gb"),
            ("7 B on 300 B tokens", "model=llama-2-7b&tokens_total=300b"),
            ("8B on 1.5 trillion tokens", "model=llama-3.1-8b&tokens_total=1.5t"),
            ("70 billion on 8 H100", "model=llama-3.1-70b&gpus=8&gpu=h100-sxm-80gb"),
            ("70B on eight H100", "model=llama-3.1-70b&gpus=8&gpu=h100-sxm-80gb"),
            ("300B tokens", "tokens_total=300b"),
        ] {
            let found = named(typed);
            let found = found.as_deref().unwrap_or("nothing");
            assert!(found == set || set.ends_with("fp8") && found.starts_with(set), "{typed}: {found}");
        }
    }

    /// Other kinds are offered where the memory alone names a GPU, the meant one first, and each has that memory; none
    /// where a GPU is named, with its memory or without.
    #[test]
    fn other_kinds_have_the_memory_that_alone_names_a_gpu() {
        let first = |rest: &str| GPUS.iter().find(|preset| rest.ends_with(preset.choice.id));
        for (typed, gib) in [("QLoRA 70B on one 48 GB card", 48.0), ("8B on 80GB GPUs", 80.0)] {
            let kinds = kinds_of_size(typed);
            assert!(kinds.len() > 1 && first(&named(typed).unwrap()).unwrap().choice == kinds[0], "{typed}");
            for kind in kinds {
                let preset = GPUS.iter().find(|preset| preset.choice == kind).unwrap();
                assert!((preset.gpu.memory.gib() - gib).abs() < 0.5, "{typed}: {}", kind.id);
            }
        }
        for typed in ["70B on 8 H100 80GB GPUs", "70B on 8 H100", "A100 80GB cards", "8B on one card", ""] {
            assert_eq!(kinds_of_size(typed), [], "{typed}");
        }
    }

    /// A word that is not understood, or one setting twice, is no run: nothing is set that was not said.
    #[test]
    fn what_is_not_understood_sets_nothing() {
        let unknown =
            ["", "70B on 8 abacus", "largest model", "8 H100 16 A100", "tp", "zero", "8 k b", "7B or 13B", "3"];
        for typed in unknown.into_iter().chain(["one 47 GB card", "eight", "48 GB disk"]) {
            assert_eq!(named(typed), None, "{typed}");
        }
    }

    /// The words that keep a line from being a run, and no others.
    #[test]
    fn words_that_are_not_understood_are_told_apart() {
        for (typed, unknown) in [
            ("70B on 8 abacus", Some("8 abacus")),
            ("8B on 4 RTX 4090, very fast please", Some("very fast please")),
            ("8B on 4 RTX 4090", None),
            ("zigzag pipelines", None),
        ] {
            assert_eq!(not_understood(typed).as_deref(), unknown, "{typed}");
        }
    }

    /// Each preset of a model is found by its whole name, and by its id.
    #[test]
    fn every_model_is_found_by_its_name() {
        for preset in MODELS {
            for typed in [preset.choice.label, preset.choice.id] {
                assert_eq!(named(typed), Some(format!("model={}", preset.choice.id)), "{typed}");
            }
        }
    }
}
