//! Models by their names on the Hugging Face Hub, whatever release or copy of them a file names.

use crate::dialect::rows::prelude::*;
use crate::dialect::rows::reader::ModelBy;
use shardscope_core::run::registry::field;

/// Presets and the repositories of their weights, as their model cards are named.
const REPOSITORIES: &[(&str, &str)] = &[
    ("llama-3.1-8b", "meta-llama/Llama-3.1-8B"),
    ("llama-3.1-70b", "meta-llama/Llama-3.1-70B"),
    ("llama-3.1-405b", "meta-llama/Llama-3.1-405B"),
    ("llama-2-7b", "meta-llama/Llama-2-7b-hf"),
    ("llama-2-13b", "meta-llama/Llama-2-13b-hf"),
    ("llama-2-70b", "meta-llama/Llama-2-70b-hf"),
    ("mistral-7b", "mistralai/Mistral-7B-v0.1"),
    ("mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1"),
    ("mixtral-8x22b", "mistralai/Mixtral-8x22B-v0.1"),
    ("qwen-2.5-7b", "Qwen/Qwen2.5-7B"),
    ("qwen-2.5-72b", "Qwen/Qwen2.5-72B"),
    ("qwen-2-vl-72b", "Qwen/Qwen2-VL-72B"),
    ("qwen-3-8b", "Qwen/Qwen3-8B"),
    ("qwen-3-32b", "Qwen/Qwen3-32B"),
    ("qwen-3-30b-a3b", "Qwen/Qwen3-30B-A3B"),
    ("qwen-3-235b-a22b", "Qwen/Qwen3-235B-A22B"),
    ("qwen-3-coder-480b-a35b", "Qwen/Qwen3-Coder-480B-A35B-Instruct"),
    ("qwen-3-next-80b-a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct"),
    ("qwen-3.5-27b", "Qwen/Qwen3.5-27B"),
    ("qwen-3.5-35b-a3b", "Qwen/Qwen3.5-35B-A3B"),
    ("qwen-3.5-122b-a10b", "Qwen/Qwen3.5-122B-A10B"),
    ("qwen-3.5-397b-a17b", "Qwen/Qwen3.5-397B-A17B"),
    ("deepseek-v3", "deepseek-ai/DeepSeek-V3"),
    ("deepseek-v3.2", "deepseek-ai/DeepSeek-V3.2"),
    ("glm-4.5", "zai-org/GLM-4.5"),
    ("glm-4.5-air", "zai-org/GLM-4.5-Air"),
    ("kimi-k2", "moonshotai/Kimi-K2-Base"),
    ("moonlight-16b-a3b", "moonshotai/Moonlight-16B-A3B"),
    ("minimax-m2", "MiniMaxAI/MiniMax-M2"),
    ("gpt-oss-120b", "openai/gpt-oss-120b"),
    ("gpt-oss-20b", "openai/gpt-oss-20b"),
    ("llama-4-scout", "meta-llama/Llama-4-Scout-17B-16E"),
    ("llama-4-maverick", "meta-llama/Llama-4-Maverick-17B-128E"),
    ("gemma-3-27b", "google/gemma-3-27b-pt"),
    ("gemma-4-31b", "google/gemma-4-31B"),
    ("gemma-4-26b-a4b", "google/gemma-4-26B-A4B"),
    ("deepseek-v4-flash", "deepseek-ai/DeepSeek-V4-Flash"),
    ("glm-5", "zai-org/GLM-5"),
    ("kimi-k3", "moonshotai/Kimi-K3"),
    ("mimo-v2-flash", "XiaomiMiMo/MiMo-V2-Flash"),
    ("mistral-large-3", "mistralai/Mistral-Large-3-675B-Instruct-2512"),
    ("nemotron-3-nano", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
    ("nemotron-3-super", "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16"),
    ("nemotron-3-ultra", "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"),
    ("olmo-3-32b", "allenai/Olmo-3-1125-32B"),
    ("gpt-2-xl", "openai-community/gpt2-xl"),
];

/// Other releases of the same shapes, by preset, and releases of others whose names hold that of a preset: those have
/// none. All are whole names, without the words of [`ENDS`].
const OTHERS: &[(Option<&str>, &str)] = &[
    (Some("llama-3.1-8b"), "llama-3-8b llama3-8b llama3.1-8b llama31-8b deepseek-r1-distill-llama-8b"),
    (
        Some("llama-3.1-70b"),
        "llama3-70b llama3.1-70b llama31-70b llama3.3-70b llama-3-70b llama-3.3-70b deepseek-r1-distill-llama-70b",
    ),
    (Some("llama-3.1-405b"), "llama3.1-405b llama31-405b llama3-405b"),
    (Some("llama-2-7b"), "llama2-7b vicuna-7b-v1.5"),
    (Some("llama-2-13b"), "llama2-13b vicuna-13b-v1.5"),
    (Some("llama-2-70b"), "llama2-70b"),
    // Another vocabulary than the releases before.
    (None, "mistral-7b-v0.3 mistral-7b-instruct-v0.3"),
    (None, "glm-4.5v glm-4.6v glm-4.7-flash nemotron-3-nano-omni"),
    (Some("deepseek-v3"), "deepseek-r1 deepseek-r1-zero deepseek-v3.1 deepseek-v3-671b"),
    (Some("deepseek-v3.2"), "deepseek-v3.2-exp deepseek-v3.2-speciale"),
    // AMD-AGI/Primus fd1eeab `primus/configs/models` names them by their experts.
    (Some("llama-4-scout"), "llama-4-scout llama4-17b16e llama4-17bx16e llama4-scout"),
    (Some("llama-4-maverick"), "llama-4-maverick llama4-17b128e llama4-17bx128e llama4-maverick"),
    (Some("qwen-3.5-35b-a3b"), "qwen3-5-35b-a3b"),
    (Some("mistral-7b"), "mistral-7b zephyr-7b zephyr-7b-beta zephyr-7b-alpha"),
    (Some("qwen-2.5-7b"), "qwen2-7b qwen2.5-coder-7b qwen2.5-math-7b deepseek-r1-distill-qwen-7b"),
    (Some("qwen-2.5-72b"), "qwen2-72b qwen2.5-math-72b"),
    (Some("qwen-3-8b"), "deepseek-r1-0528-qwen3-8b"),
    (Some("qwen-3-30b-a3b"), "qwen3-coder-30b-a3b"),
    (Some("kimi-k2"), "kimi-k2"),
    (Some("gemma-3-27b"), "gemma-3-27b"),
    (Some("glm-4.5"), "glm-4.6 glm-4.7"),
    (Some("minimax-m2"), "minimax-m2.1 minimax-m2.5"),
    (Some("nemotron-3-nano"), "nemotron-3-nano-30b-a3b nemotron-3-nano"),
    (Some("nemotron-3-super"), "nemotron-3-super-120b-a12b nemotron-3-super"),
    (Some("nemotron-3-ultra"), "nemotron-3-ultra-550b-a55b nemotron-3-ultra"),
];

/// Models that are no preset, by all of their names, as a preset with the numbers of their own config.json.
/// Sources: THUDM/slime 624b824 `scripts/models`, AMD-AGI/Primus fd1eeab `primus/configs/models/megatron`.
const SIZES: &[(&str, &str, &str)] = &[
    ("qwen3-0.6b", "qwen-3-8b", "layers=28 hidden=1024 ffn=3072 heads=16 kv_heads=8 head_dim=128 tied_embeddings=true"),
    ("qwen3-1.7b", "qwen-3-8b", "layers=28 hidden=2048 ffn=6144 heads=16 kv_heads=8 head_dim=128 tied_embeddings=true"),
    ("qwen3-4b", "qwen-3-8b", "layers=36 hidden=2560 ffn=9728 heads=32 kv_heads=8 head_dim=128 tied_embeddings=true"),
    ("qwen3-14b", "qwen-3-8b", "layers=40 hidden=5120 ffn=17408 heads=40 kv_heads=8 head_dim=128"),
    (
        "qwen2.5-0.5b qwen2-0.5b",
        "qwen-2.5-7b",
        "layers=24 hidden=896 ffn=4864 heads=14 kv_heads=2 head_dim=64 vocab=151936 tied_embeddings=true",
    ),
    (
        "qwen2.5-1.5b deepseek-r1-distill-qwen-1.5b qwen2-1.5b qwen2.5-math-1.5b",
        "qwen-2.5-7b",
        "layers=28 hidden=1536 ffn=8960 heads=12 kv_heads=2 head_dim=128 vocab=151936 tied_embeddings=true",
    ),
    (
        "qwen2.5-3b",
        "qwen-2.5-7b",
        "layers=36 hidden=2048 ffn=11008 heads=16 kv_heads=2 head_dim=128 vocab=151936 tied_embeddings=true",
    ),
    (
        "qwen2.5-14b deepseek-r1-distill-qwen-14b",
        "qwen-2.5-7b",
        "layers=48 hidden=5120 ffn=13824 heads=40 kv_heads=8 head_dim=128",
    ),
    (
        "qwen2.5-32b deepseek-r1-distill-qwen-32b qwen2.5-coder-32b",
        "qwen-2.5-7b",
        "layers=64 hidden=5120 ffn=27648 heads=40 kv_heads=8 head_dim=128",
    ),
    (
        "llama-3.2-1b llama3.2-1b llama3-2-1b",
        "llama-3.1-8b",
        "layers=16 hidden=2048 ffn=8192 heads=32 kv_heads=8 head_dim=64 tied_embeddings=true",
    ),
    (
        "llama-3.2-3b llama3.2-3b llama3-2-3b",
        "llama-3.1-8b",
        "layers=28 hidden=3072 ffn=8192 heads=24 kv_heads=8 head_dim=128 tied_embeddings=true",
    ),
    ("deepseek-v2-lite deepseek-v3-16b", "moonlight-16b-a3b", "ffn=10944 vocab=102400"),
    (
        "deepseek-v2 deepseek-v3-236b",
        "deepseek-v3",
        "layers=60 hidden=5120 ffn=12288 vocab=102400 moe.experts=160 moe.top_k=6 moe.expert_ffn=1536 \
            moe.shared_experts=2 \
         moe.dense_layers=1 moe.groups=8 moe.top_groups=3",
    ),
];

/// The repository of a model that is a preset as it is.
pub(crate) fn repository(model: &Based<ModelParts>) -> Option<&'static str> {
    let base = model.as_published()?;
    let found = REPOSITORIES.iter().find(|(id, _)| *id == base)?;
    Some(found.1)
}

/// Says the repository of `model`; null where it is no preset.
pub(in crate::dialect) fn write(writer: &mut SettingsWriter, name: &str, model: &Based<ModelParts>) {
    let repository = repository(model).map(|name| Value::Text(name.to_owned()));
    writer.say(name, repository.unwrap_or_default());
}

/// The preset that a repository or a path names: `unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit` is Llama 3.1 8B.
pub(crate) fn preset(name: &str) -> Option<&'static str> {
    model(name)?.as_published()
}

/// The model that a repository or a path names: a preset, or one with other sizes.
pub(in crate::dialect) fn model(name: &str) -> Option<Based<ModelParts>> {
    known(&written(name)).map(|(model, _)| model)
}

/// The last part of a repository's name or of a path, in small letters. In the Hub's cache it is a folder further up.
fn written(name: &str) -> String {
    let parts = || name.trim_end_matches('/').rsplit('/');
    let cached = parts().find_map(|part| part.strip_prefix("models--")?.rsplit("--").next());
    let last = cached.or_else(|| parts().next()).unwrap_or_default();
    // The cache of ModelScope writes a dot in three letters: modelscope `hub/utils/utils.py`.
    last.trim_end_matches(".yaml").to_ascii_lowercase().replace("___", ".").replace('_', "-")
}

/// Ends of names that change no shape: what a model was trained for, its format, its date.
const ENDS: &[&str] = &[
    "instruct",
    "chat",
    "base",
    "hf",
    "it",
    "pt",
    "thinking",
    "fp8",
    "bf16",
    "fp16",
    "awq",
    "gptq",
    "nvfp4",
    "mxfp4",
    "int4",
    "int8",
    "4bit",
    "8bit",
    "bnb",
    "unsloth",
    "mcore",
    "dynamic",
    "2407",
    "2501",
    "2503",
    "2507",
    "2509",
    "2512",
    "0324",
    "0414",
    "0528",
    "0711",
    "0905",
    "terminus",
    "instruct-v0.1",
    "instruct-v0.2",
    "v0.1",
    "v0.2",
];

/// A name without the ends that change no shape.
fn bared(name: &str) -> &str {
    let mut name = name.strip_prefix("meta-").unwrap_or(name);
    while let Some(rest) = ENDS.iter().find_map(|end| name.strip_suffix(end)?.strip_suffix('-')) {
        name = rest;
    }
    name
}

/// Every name that is known, and what it is of: none where only its own files say.
fn every() -> impl Iterator<Item = (String, Option<&'static str>)> {
    let each = |id, words: &'static str| words.split(' ').map(move |word| (word.to_owned(), id));
    let others = OTHERS.iter().flat_map(move |(id, words)| each(*id, words));
    let presets = REPOSITORIES.iter().map(|(id, whole)| (written(whole), Some(*id)));
    let sizes = SIZES.iter().flat_map(move |(words, ..)| each(Some(*words), words));
    others.chain(presets).chain(sizes)
}

/// The model of a whole name, and by what it is known.
fn known(name: &str) -> Option<(Based<ModelParts>, ModelBy)> {
    let find = |name: &str, bare: bool| {
        let is = |word: &String| if bare { bared(word) == name } else { word == name };
        every().find(|(word, _)| is(word)).map(|(_, id)| id)
    };
    if let Some(id) = find(name, false) {
        return Some((sized(id?)?, ModelBy::Id));
    }
    Some((sized(find(bared(name), true)??)?, ModelBy::Name))
}

/// The model of a row: a preset, or one with other sizes.
fn sized(id: &'static str) -> Option<Based<ModelParts>> {
    let Some((words, base, numbers)) = SIZES.iter().find(|(words, ..)| *words == id) else {
        return Some(Based::preset(id));
    };
    let mut run = Run { model: Based::preset(base), ..Run::default() };
    for (key, value) in numbers.split_whitespace().filter_map(|pair| pair.split_once('=')) {
        let field = field(&format!("model.{key}"))?;
        field.set(&mut run, &field.parse(value).ok()?).ok()?;
    }
    run.model.parts.name = words.split(' ').next().map(str::to_owned);
    Some(run.model)
}

/// Words within a name that leave the language model as it is, or about so.
const VARIANTS: &[&str] = &["vl", "embedding", "reranker", "guard", "math", "coder", "omni", "audio"];

/// The known model whose name stands in `name`, which itself is not known; none where it counts other parameters or
/// layers.
fn closest(name: &str) -> Option<Based<ModelParts>> {
    let plain: Vec<&str> = name.split('-').filter(|part| !VARIANTS.contains(part)).collect();
    let plain = plain.join("-");
    // The model that another was distilled into stands last.
    let found = every().filter_map(|(word, id)| {
        let word = bared(&word).to_owned();
        let at = stands(&plain, &word)?;
        Some((at + word.len(), word.len(), word, id))
    });
    let (_, _, word, id) = found.max_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)))?;
    let rest = plain.replacen(&word, "", 1);
    let counts = |part: &str| {
        let units = ["b", "m", "l", "layer", "layers"];
        units.iter().any(|unit| part.strip_suffix(unit).is_some_and(|number| number.parse::<f64>().is_ok()))
    };
    if rest.split(['-', '.']).any(counts) || rest.split('-').any(counts) || rest.contains("prune") {
        return None;
    }
    sized(id?)
}

/// Where `word` stands in `name`, ended by nothing or a dash.
fn stands(name: &str, word: &str) -> Option<usize> {
    let found = name.match_indices(word).map(|(at, _)| at).filter(|at| {
        let open = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '.');
        open(name[..*at].chars().next_back()) && open(name[at + word.len()..].chars().next())
    });
    found.last()
}

/// Takes the model that the setting `key` names.
pub(in crate::dialect) fn read(reader: &mut SettingsReader, key: &str) -> Option<String> {
    let Some(Value::Text(name)) = reader.value(key) else {
        reader.assume("the model, as on this page: the text does not say");
        return None;
    };
    named(reader, key, &name);
    Some(name)
}

/// Takes the model `name`, which the setting `key` says: one that is known, else the closest, which is assumed.
pub(in crate::dialect) fn named(reader: &mut SettingsReader, key: &str, name: &str) {
    let word = written(name);
    if let Some((model, by)) = known(&word) {
        reader.note(key, t!("{what} {value}", what = "model", value = name.to_owned()));
        take(reader, &model);
        reader.model_by = (by, true);
        return;
    }
    let Some(model) = closest(&word) else {
        reader.leave(key);
        return unknown(reader, name);
    };
    let taken = model.title();
    take(reader, &model);
    reader.model_by = (ModelBy::Name, false);
    reader.assume(t!("the model {taken}: the closest to {name}, which is not known", taken, name = name.to_owned()));
}

/// Takes a model that was found, unless the Run means it already.
pub(in crate::dialect) fn take(reader: &mut SettingsReader, model: &Based<ModelParts>) {
    if let Ok(shapes) = model.resolve() {
        reader.model(ModelParts { name: model.parts.name.clone(), ..ModelParts::from(shapes) });
        reader.model_by = (ModelBy::Id, true);
    }
}

/// Notes a name that none is known by.
pub(in crate::dialect) fn unknown(reader: &mut SettingsReader, name: &str) {
    let name = name.to_owned();
    let run = &reader.run;
    if run.ep > 1 && run.model.resolve().is_ok_and(|model| model.moe.is_none()) {
        let ep = run.ep;
        let message = t!("{name} is no preset, and EP {ep} needs its experts: import its config.json first", name, ep);
        return reader.errors.push(Issue::error("model", message));
    }
    if run.model.base.is_none() {
        return reader.assume(t!("the model, as on this page, is taken for {name}", name));
    }
    reader.assume(t!("the model, as on this page: {name} is no preset; import its config.json first", name));
}

#[cfg(test)]
mod tests {
    use crate::dialect::rows::hub::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::presets;

    #[test]
    fn releases_and_copies_are_the_model_that_they_are() {
        for (name, id) in [
            ("NousResearch/Meta-Llama-3-8B", Some("llama-3.1-8b")),
            ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", Some("llama-3.1-8b")),
            ("casperhansen/llama-3-70b-fp16", Some("llama-3.1-70b")),
            ("/models/Qwen2.5-72B-Instruct/", Some("qwen-2.5-72b")),
            ("Qwen/Qwen3-30B-A3B-Instruct-2507", Some("qwen-3-30b-a3b")),
            ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", Some("llama-3.1-8b")),
            ("deepseek-ai/DeepSeek-R1-0528", Some("deepseek-v3")),
            ("zai-org/GLM-4.5-Air-FP8", Some("glm-4.5-air")),
            ("google/gemma-3-27b-it", Some("gemma-3-27b")),
            ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", Some("qwen-3-8b")),
            ("/root/.cache/huggingface/hub/models--Qwen--Qwen3-32B/snapshots/9216db5", Some("qwen-3-32b")),
            // Other shapes behind names that begin alike.
            ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", None),
            ("mistralai/Mistral-7B-v0.3", None),
            ("zai-org/GLM-4.7-Flash", None),
            ("kimi_k3_8L_official.yaml", None),
            ("qwen3_235B_A22B_4layer.yaml", None),
            ("Qwen/Qwen3-4B-Instruct-2507", None),
            ("Qwen/Qwen2.5-VL-7B-Instruct", None),
            ("meta-llama/Llama-3.2-1B", None),
            ("codellama/CodeLlama-7b-hf", None),
            ("nvidia/Llama-3.1-Minitron-4B-Width-Base", None),
            ("Qwen/Qwen3-8B-sft-2", None),
        ] {
            assert_eq!(preset(name), id, "{name}");
        }
    }

    /// A name that holds that of a release is asked about, unless it counts other parameters or layers.
    #[test]
    fn a_name_that_is_not_known_has_a_closest_one_by_its_base() {
        for (name, id) in [
            ("/out/Qwen3-8B-sft-2", Some("qwen-3-8b")),
            ("open-thoughts/OpenThinker-Distill-Qwen3-32B", Some("qwen-3-32b")),
            ("Qwen/Qwen2.5-VL-7B-Instruct", Some("qwen-2.5-7b")),
            ("Qwen/Qwen3-Embedding-8B", Some("qwen-3-8b")),
            ("deepseek-ai/DeepSeek-R1-Distill-Qwen-99B", None),
            ("nvidia/Llama-3.1-8B-Pruned-4B", None),
            ("kimi_k3_8L_official.yaml", None),
            ("zai-org/GLM-4.7-Flash", None),
            ("org/unheard-of-7b", None),
        ] {
            assert_eq!(known(&written(name)), None, "{name}");
            assert_eq!(closest(&written(name)).map(|model| model.base), id.map(Some), "{name}");
        }
    }

    /// Parameters of the checkpoints as their model pages give them.
    #[test]
    fn models_that_are_no_preset_have_the_parameters_of_their_checkpoints() {
        for (name, published) in [
            ("Qwen/Qwen3-0.6B", 596_049_920_u64),
            ("Qwen/Qwen3-1.7B-Base", 1_720_574_976),
            ("Qwen/Qwen3-4B-Instruct-2507", 4_022_468_096),
            ("Qwen/Qwen3-14B", 14_768_307_200),
            ("Qwen/Qwen2.5-0.5B-Instruct", 494_032_768),
            ("Qwen/Qwen2.5-1.5B", 1_543_714_304),
            ("qwen2.5_3B.yaml", 3_085_938_688),
            ("qwen2.5_14B.yaml", 14_770_033_664),
            ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", 32_763_876_352),
            ("meta-llama/Llama-3.2-1B-Instruct", 1_235_814_400),
            ("llama3.2_3B.yaml", 3_212_749_824),
            ("deepseek-ai/DeepSeek-V2-Lite-Chat", 15_706_484_224),
            ("deepseek_v3_236b.yaml", 235_741_434_880),
        ] {
            assert_eq!(preset(name), None, "{name}");
            let shapes = model(name).unwrap().resolve().unwrap();
            let off = shapes.elements().total() as f64 / published as f64 - 1.0;
            assert!(off.abs() < 1e-4, "{name}: {off}");
            let run = Run { model: model(name).unwrap(), tp: 1, pp: 1, ..Run::default() };
            assert_eq!(evaluate(&run).err(), None, "{name}");
        }
        assert_eq!(SIZES.len(), 13);
    }

    #[test]
    fn every_repository_is_read_as_its_preset() {
        for (id, name) in REPOSITORIES {
            assert!(presets::model(id).is_some(), "{id}");
            assert_eq!(preset(name), Some(*id), "{name}");
            assert_eq!(repository(&Based::preset(id)), Some(*name));
        }
        let exists = |id: &str| presets::model(id).is_some();
        assert!(OTHERS.iter().all(|(id, _)| id.is_none_or(exists)));
    }
}
