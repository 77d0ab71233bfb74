//! The models of 2026 against their published sizes and against counts of the same shapes made elsewhere.
use crate::common::table;
use shardscope::core::run::presets;

/// Preset and row of `presets_2026.csv`.
const ROWS: [(&str, &str); 33] = [
    ("qwen-3-8b", "qwen3-8b"),
    ("qwen-3-32b", "qwen3-32b"),
    ("qwen-3-30b-a3b", "qwen3-30b-a3b"),
    ("qwen-3-235b-a22b", "qwen3-235b-a22b"),
    ("qwen-3-coder-480b-a35b", "qwen3-coder-480b-a35b"),
    ("deepseek-v3", "deepseek-v3"),
    ("glm-4.5", "glm-4.5"),
    ("glm-4.5-air", "glm-4.5-air"),
    ("minimax-m2", "minimax-m2"),
    ("mixtral-8x22b", "mixtral-8x22b"),
    ("mistral-large-3", "mistral-large-3"),
    ("moonlight-16b-a3b", "moonlight-16b-a3b"),
    ("qwen-3-next-80b-a3b", "qwen3-next-80b-a3b"),
    ("qwen-3.5-27b", "qwen3.5-27b"),
    ("qwen-3.5-35b-a3b", "qwen3.5-35b-a3b"),
    ("qwen-3.5-122b-a10b", "qwen3.5-122b-a10b"),
    ("qwen-3.5-397b-a17b", "qwen3.5-397b-a17b"),
    ("deepseek-v3.2", "deepseek-v3.2"),
    ("deepseek-v4-flash", "deepseek-v4-flash"),
    ("glm-5", "glm-5"),
    ("gpt-oss-120b", "gpt-oss-120b"),
    ("gpt-oss-20b", "gpt-oss-20b"),
    ("llama-4-scout", "llama-4-scout"),
    ("llama-4-maverick", "llama-4-maverick"),
    ("nemotron-3-nano", "nemotron-3-nano"),
    ("nemotron-3-super", "nemotron-3-super"),
    ("nemotron-3-ultra", "nemotron-3-ultra"),
    ("gemma-3-27b", "gemma-3-27b"),
    ("gemma-4-31b", "gemma-4-31b"),
    ("gemma-4-26b-a4b", "gemma-4-26b-a4b"),
    ("olmo-3-32b", "olmo-3-32b"),
    ("kimi-k3", "kimi-k3"),
    ("mimo-v2-flash", "mimo-v2-flash"),
];

/// Total within 1 % of what is published, and within the last printed digit of what the table's own formulas give;
/// active parameters likewise by their three conventions: without embedding and head, with the head, with both.
#[test]
fn totals_are_within_one_percent_of_the_published_ones() {
    let rows = table("presets_2026.csv");
    assert_eq!(rows.len(), 33);
    for (id, name) in ROWS {
        let row = rows.iter().find(|row| row["id"] == name).unwrap();
        let number = |key: &str| row[key].parse::<f64>().unwrap();
        let model = presets::model(id).unwrap().architecture;
        let total = model.elements().total() as f64 / 1e9;
        let published = number("total_params_published_b");
        println!("{id}: {total:.3} B, published {published} ({:+.2} %)", 100.0 * (total / published - 1.0));
        assert!((total / published - 1.0).abs() < 0.01, "{id}: {total}");
        // A vision tower is counted without positions and the norms around it: 2 M.
        let digits = if model.vision.is_some() { 3e-3 } else { 1e-3 };
        assert!((total - number("total_computed_b")).abs() < digits, "{id}: {total}");
        for (ours, column) in model.active_by_convention().into_iter().zip([
            "active_computed_no_emb_no_head_b",
            "active_computed_with_head_b",
            "active_computed_with_head_and_emb_b",
        ]) {
            // The table leaves a tied head out where it leaves the embedding out.
            if model.tied_embeddings && column == "active_computed_with_head_b" {
                continue;
            }
            let ours = ours as f64 / 1e9;
            assert!((ours - number(column)).abs() < 1e-3, "{id} {column}: {ours}");
        }
    }
}

/// Model FLOPs of a token in NVIDIA's published runs: TFLOP/s over tokens/s of Megatron-Bridge's performance summary,
/// GB300, container 26.04.01. Its counter gives Nemotron 3 Nano an inner width of twice the hidden size, 7 % too many,
/// and leaves out the gates and windows of gpt-oss, 20 % too few.
#[test]
fn model_flops_are_those_that_nvidia_counts() {
    use shardscope::core::model::{AttentionCount, model_flops_per_token};
    for (id, mtp, seq, printed, ratio) in [
        ("llama-3.1-70b", 0, 8192, 447.4, 1.0),
        ("qwen-3-30b-a3b", 0, 4096, 22.96, 1.0),
        ("qwen-3-235b-a22b", 0, 4096, 148.19, 1.0),
        ("deepseek-v3", 1, 4096, 260.02, 1.0),
        ("kimi-k2", 0, 4096, 204.20, 1.0),
        ("nemotron-3-nano", 0, 8192, 22.30, 0.934),
        ("nemotron-3-super", 2, 8192, 85.08, 1.0),
        ("gpt-oss-120b", 0, 4096, 27.24, 1.201),
    ] {
        let mut model = presets::model(id).unwrap().architecture;
        model.mtp_modules = mtp;
        let ours = model_flops_per_token(&model, seq, AttentionCount::Causal) / 1e9;
        println!("{id}: {ours:.2} GF a token, printed {printed}");
        assert!((ours / printed / ratio - 1.0).abs() < 0.012, "{id}: {ours}");
    }
}

/// Each fine-tuning run that the page offers is read whole, fits its machine and its host without a warning, and has as
/// many GPUs as its name says.
#[test]
fn every_tuned_run_fits_the_machine_of_its_name() {
    use shardscope::core::memory::Verdict;
    use shardscope::core::report::report;
    use shardscope::core::run::Run;
    for (index, tuned) in presets::TUNED.iter().enumerate() {
        let pairs = tuned.settings.iter().flat_map(|some| some.split('&')).map(|pair| pair.split_once('=').unwrap());
        let pairs: Vec<_> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let (run, issues) = Run::from_pairs(&pairs);
        assert_eq!((&run, issues), (&tuned.run(), Vec::new()), "{}", tuned.id);
        let others = &presets::TUNED[..index];
        assert!(others.iter().all(|other| other.id != tuned.id));
        let report = report(&run).unwrap_or_else(|no| panic!("{}: {:?}", tuned.id, no.errors));
        let fits = Some(Verdict::Fits);
        let host = report.memory.host.as_ref();
        assert_eq!(Some(report.memory.verdict), fits, "{}", tuned.id);
        assert!(host.is_none_or(|host| host.verdict == fits), "{}", tuned.id);
        assert_eq!(report.warnings, [], "{}", tuned.id);
        let begins = format!("{} x ", run.gpus);
        assert!(tuned.name.starts_with(&begins), "{}", tuned.id);
    }
}
