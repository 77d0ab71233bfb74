//! Arguments of Megatron-LM that change no figure but that a launch needs: what a model's config.json says of
//! positions, norms and the router.
//!
//! Source: NVIDIA/Megatron-LM, `megatron/training/arguments.py`, `transformer_config.py`; huggingface/transformers,
//! `configuration_<kind>.py`.

use shardscope_core::run::Value;
use shardscope_core::run::registry::plain;

/// Arguments with a value, and the entries of a config.json that hold it.
pub(crate) const VALUES: &[(&str, &[&str])] = &[
    ("--rotary-base", &["rope_theta"]),
    ("--rotary-percent", &["partial_rotary_factor", "rotary_pct"]),
    ("--norm-epsilon", &["rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_eps"]),
    ("--init-method-std", &["initializer_range"]),
    ("--moe-router-score-function", &["scoring_func"]),
    ("--moe-router-topk-scaling-factor", &["routed_scaling_factor"]),
    ("--moe-aux-loss-coeff", &["router_aux_loss_coef", "aux_loss_alpha"]),
    ("--rope-scaling-factor", &[]),
    ("--moe-router-load-balancing-type", &[]),
    ("--no-rope-freq", &[]),
];

/// Arguments without one.
pub(crate) const FLAGS: [&str; 3] = ["--use-rope-scaling", "--moe-router-enable-expert-bias", "--rotary-interleaved"];

/// True if a word may be in a script as it is.
pub(crate) fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
}

/// Arguments of `config`, and the entries that they are of.
pub(crate) fn of_config(config: &Value) -> (Option<String>, Vec<&'static str>) {
    let (mut words, mut entries) = (Vec::new(), Vec::new());
    // Since transformers 5 the base is among the parameters of the rotary embedding.
    let within = config.get("rope_parameters").unwrap_or(&Value::Null);
    for (name, keys) in VALUES {
        let found = keys.iter().find_map(|key| Some((*key, config.get(key).or_else(|| within.get(key))?)));
        if let Some((key, value)) = found
            && let Some(text) = plain(value).filter(|text| is_plain(text))
        {
            words.push(format!("{name} {text}"));
            entries.push(key);
        }
    }
    if let Some(scaling) = config.get("rope_scaling")
        && let Some(Value::Text(kind)) = scaling.get("rope_type").or_else(|| scaling.get("type"))
        && kind == "llama3"
        && let Some(factor) = scaling.get("factor").and_then(plain)
    {
        words.push(format!("--rope-scaling-factor {factor} --use-rope-scaling"));
        entries.push("rope_scaling");
    }
    if config.get("topk_method").and_then(Value::text) == Some("noaux_tc") {
        words.push("--moe-router-enable-expert-bias".to_owned());
        entries.push("topk_method");
    }
    ((!words.is_empty()).then(|| words.join(" ")), entries)
}
