//! Models by their names on the Hugging Face Hub, whatever release or copy of them a file names.

use crate::dialect::prelude::*;
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

/// Other releases of the same shapes, by preset, and releases of others that begin alike: those have no preset.
const OTHERS: &[(Option<&str>, &str)] = &[
    (Some("llama-3.1-8b"), "llama-3-8b llama3-8b llama3.1-8b llama31-8b deepseek-r1-distill-llama-8b"),
    (
        Some("llama-3.1-70b"),
        "llama3-70b llama3.1-70b llama31-70b llama3.3-70b llama-3-70b llama-3.3-70b deepseek-r1-distill-llama-70b",
    ),
    (Some("llama-3.1-405b"), "llama3.1-405b llama31-405b"),
    (Some("llama-2-7b"), "llama2-7b llama-2-7b"),
    (Some("llama-2-13b"), "llama2-13b llama-2-13b"),
    (Some("llama-2-70b"), "llama2-70b llama-2-70b"),
    (
        None,
        "deepseek-r1-distill mistral-7b-v0.3 mistral-7b-instruct-v0.3 glm-4.5v glm-4.7-flash glm-4.6v \
         nemotron-3-nano-omni",
    ),
    (Some("deepseek-v3"), "deepseek-r1 deepseek-v3.1"),
    (Some("llama-4-scout"), "llama-4-scout"),
    (Some("mistral-7b"), "mistral-7b zephyr-7b"),
    (Some("mixtral-8x7b"), "mixtral-8x7b"),
    (Some("mixtral-8x22b"), "mixtral-8x22b"),
    (Some("qwen-2.5-7b"), "qwen2-7b qwen2.5-coder-7b qwen2.5-math-7b"),
    (Some("qwen-2.5-72b"), "qwen2-72b"),
    (Some("qwen-3-30b-a3b"), "qwen3-coder-30b-a3b"),
    (Some("qwen-3-next-80b-a3b"), "qwen3-next-80b-a3b"),
    (Some("qwen-3-coder-480b-a35b"), "qwen3-coder-480b-a35b"),
    (Some("kimi-k2"), "kimi-k2"),
    (Some("gemma-3-27b"), "gemma-3-27b"),
    (Some("glm-4.5-air"), "glm-4.5-air"),
    (Some("glm-4.5"), "glm-4.6 glm-4.7"),
    (Some("minimax-m2"), "minimax-m2.5"),
    (Some("nemotron-3-nano"), "nemotron-3-nano-30b-a3b"),
    (Some("nemotron-3-super"), "nemotron-3-super-120b-a12b"),
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
        "llama-3.2-1b llama3.2-1b",
        "llama-3.1-8b",
        "layers=16 hidden=2048 ffn=8192 heads=32 kv_heads=8 head_dim=64 tied_embeddings=true",
    ),
    (
        "llama-3.2-3b llama3.2-3b",
        "llama-3.1-8b",
        "layers=28 hidden=3072 ffn=8192 heads=24 kv_heads=8 head_dim=128 tied_embeddings=true",
    ),
    ("deepseek-v2-lite deepseek-v3-16b", "moonlight-16b-a3b", "ffn=10944 vocab=102400"),
    (
        "deepseek-v2 deepseek-v3-236b",
        "deepseek-v3",
        "layers=60 hidden=5120 ffn=12288 vocab=102400 moe.experts=160 moe.top_k=6 moe.expert_ffn=1536 moe.shared_experts=2 \
         moe.dense_layers=1 moe.top_groups=3",
    ),
];

/// The repository of a model that is a preset as it is.
pub(super) fn repository(model: &Based<ModelParts>) -> Option<&'static str> {
    let base = model.as_published()?;
    let found = REPOSITORIES.iter().find(|(id, _)| *id == base)?;
    Some(found.1)
}

/// Says the repository of `model`; null where it is no preset.
pub(super) fn write(writer: &mut SettingsWriter, name: &str, model: &Based<ModelParts>) {
    let repository = repository(model).map(|name| Value::Text(name.to_owned()));
    writer.say(name, repository.unwrap_or_default());
}

/// The preset that a repository or a path holds: `unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit` is Llama 3.1 8B.
pub(super) fn preset(name: &str) -> Option<&'static str> {
    model(name)?.as_published()
}

/// The model that a repository or a path holds: a preset, or one with other sizes.
pub(super) fn model(name: &str) -> Option<Based<ModelParts>> {
    let last = |name: &str| {
        let last = name.trim_end_matches('/').trim_end_matches(".yaml").rsplit('/').next();
        last.unwrap_or_default().to_ascii_lowercase().replace('_', "-")
    };
    let name = last(name);
    // "kimi-k3-8l": a part of a model's layers.
    let cut = |part: &str| part.trim_end_matches(char::is_alphabetic).parse::<u64>().is_ok();
    if name.split('-').any(|part| ["l", "layer", "layers"].iter().any(|end| part.ends_with(end)) && cut(part)) {
        return None;
    }
    let each = |id, words: &'static str| words.split(' ').map(move |word| (word.to_owned(), id));
    let others = OTHERS.iter().flat_map(|(id, words)| each(*id, words));
    let presets = REPOSITORIES.iter().map(|(id, whole)| (last(whole), Some(*id)));
    let sizes = SIZES.iter().flat_map(|(words, ..)| each(Some(*words), words));
    let found = others.chain(presets).chain(sizes).filter(|(word, _)| names(&name, word));
    let id = found.max_by_key(|(word, _)| word.len())?.1?;
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

/// True if `word` stands in `name`, ended by nothing, a dash or a version of the same shapes.
fn names(name: &str, word: &str) -> bool {
    name.match_indices(word).any(|(at, _)| {
        let open = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '.');
        open(name[..at].chars().next_back()) && open(name[at + word.len()..].chars().next())
    })
}

/// Takes the model that the setting `key` names.
pub(super) fn read(reader: &mut SettingsReader, key: &str) -> Option<String> {
    let Some(name) = reader.word(key, "model") else {
        reader.assume("the model, as on this page: the text does not say");
        return None;
    };
    match model(&name) {
        Some(model) => take(reader, &model),
        None => unknown(reader, &name),
    }
    Some(name)
}

/// Takes a model that was found, unless the Run means it already.
pub(super) fn take(reader: &mut SettingsReader, model: &Based<ModelParts>) {
    if let Ok(shapes) = model.resolve() {
        reader.model(ModelParts { name: model.parts.name.clone(), ..ModelParts::from(shapes) });
    }
}

/// Notes a name that none is known by.
pub(super) fn unknown(reader: &mut SettingsReader, name: &str) {
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
    use super::*;
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
        ] {
            assert_eq!(preset(name), id, "{name}");
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
