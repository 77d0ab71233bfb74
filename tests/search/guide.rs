//! The questions that people ask before they fine-tune, answered from a starting point in at most three edits and held
//! to what was published. Sources: `public/data/finetune_measured.csv` (rows of the kinds guide and capacity, and
//! measured ones by their number), DeepSpeed's blog on `ZenFlow`.

use shardscope::core::advice::fit::FitSearch;
use shardscope::core::memory::Verdict::{self, Fits, Oom, Tight};
use shardscope::core::report::{Report, evaluate, report};
use shardscope::core::run::{Run, presets::TUNED};
use shardscope::core::search::PlanRequest;

/// The Run of starting point `id` after at most three edits.
fn asked(id: &str, edits: &[(&str, &str)]) -> Run {
    assert!(edits.len() <= 3, "{edits:?}");
    let start = TUNED.iter().find(|run| run.id == id).unwrap().run();
    start.with_texts(edits).unwrap()
}

fn answer(id: &str, edits: &[(&str, &str)]) -> Report {
    report(&asked(id, edits)).unwrap_or_else(|refusal| panic!("{:?}", refusal.errors))
}

fn verdict(id: &str, edits: &[(&str, &str)]) -> Verdict {
    answer(id, edits).memory.verdict
}

/// Weights and states of the fullest GPU, decimal GB as guides print them.
fn states(id: &str, edits: &[(&str, &str)]) -> f64 {
    let rank = &answer(id, edits).memory.per_stage[0];
    (rank.weights + rank.optimizer).gb()
}

/// Question 1: "Does QLoRA of a 70B fit on one 80 GB card at 8k?" Unsloth (f0675, f0674): with Hugging Face and
/// FlashAttention-2, whose residual `prepare_model_for_kbit_training` keeps in fp32, the longest sequence is 6,916
/// tokens, with fused kernels far more.
#[test]
fn qlora_of_a_70b_on_one_80_gb_card_at_8k_needs_fused_kernels() {
    assert_eq!(verdict("qlora-70b-h100", &[]), Fits);
    let eager = |tokens: &str| {
        let edits = [("stack", "hf-trainer"), ("seq_len", tokens), ("adapter.upcast", "true")];
        answer("qlora-70b-h100", &edits).memory
    };
    assert_eq!(eager("6916").verdict, Tight);
    assert_eq!(eager("8192").verdict, Tight);
    assert!(eager("8192").need_bytes > eager("8192").capacity_bytes);
    assert_eq!(eager("13832").verdict, Oom);
}

/// Question 2: "Full fine-tuning of an 8B on one 80 GB card?" LLaMA-Factory (f0791, f0795): 120 GB of a 7B with mixed
/// precision, 60 in pure bf16, which is 137 and 69 of 8.03 billion.
#[test]
fn full_fine_tuning_of_an_8b_on_one_80_gb_card_wants_pure_bf16() {
    assert_eq!(verdict("full-8b-8-h100", &[("gpus", "1")]), Oom);
    let pure = [("adapter.method", ""), ("gpu", "h100-sxm-80gb")];
    let memory = answer("lora-8b-4090", &pure).memory;
    assert_eq!(memory.verdict, Fits);
    let allocated = memory.per_stage[0].allocated().gb();
    assert!((60.0..69.0).contains(&allocated), "{allocated}");
}

/// Question 3: "... on four cards of 24 GB?" 96 GB are less than the 137 of the guide: not without the host.
#[test]
fn full_fine_tuning_of_an_8b_on_four_24_gb_cards_needs_the_host() {
    let cards = [("gpus", "4"), ("gpu", "rtx-4090")];
    assert_eq!(verdict("full-8b-8-h100", &cards), Oom);
    let base = evaluate(&asked("full-8b-8-h100", &cards)).unwrap();
    let list = FitSearch::finished(&base).suggestions().list;
    let moves = |key: &str| list.iter().any(|one| one.set.iter().any(|(field, _)| field.starts_with(key)));
    assert!(moves("offload.") && moves("adapter.method"));
}

/// Question 4: "What do I need to fine-tune a 27B?" LLaMA-Factory's rule (f0799 to f0810): 8, 2 and half a GB a billion
/// parameters for pure bf16, LoRA and 4 bits: 216, 54 and 13.5 GB.
#[test]
fn a_27b_needs_eight_cards_one_card_or_a_consumer_card() {
    let model = ("model", "gemma-3-27b");
    assert_eq!(verdict("full-32b-8-h100", &[model]), Fits);
    let one = |method| {
        let edits = [model, ("gpus", "1"), ("adapter.method", method)];
        (verdict("full-32b-8-h100", &edits), states("full-32b-8-h100", &edits))
    };
    let (lora, bytes) = one("lora");
    assert_ne!(lora, Oom);
    assert!((bytes / 54.0 - 1.0).abs() < 0.05, "{bytes}");
    assert_eq!(one("qlora").0, Fits);
    assert_eq!(verdict("qlora-32b-5090", &[model]), Fits);
    assert_ne!(verdict("full-32b-8-h100", &[model, ("gpus", "1")]), Fits);
}

/// Question 5: "LoRA of an 8B on 24 GB?" LLaMA-Factory (f0799): 16 GB of a 7B, 18.4 of 8.03 billion; torchtune trains
/// it on an RTX 4090.
#[test]
fn lora_of_an_8b_fits_24_gb() {
    let memory = answer("lora-8b-4090", &[]).memory;
    assert_eq!(memory.verdict, Fits);
    let allocated = memory.per_stage[0].allocated().gb();
    assert!((allocated / 18.4 - 1.0).abs() < 0.15, "{allocated}");
}

/// Question 6: "Would offloading the optimizer make it fit, and what does it cost?" Two bytes a parameter stay
/// (DeepSpeed's estimator, stage 2) and the host takes some 0.6 ns a parameter (`ZenFlow`: more than 4 s of
/// Llama-2-7B): over 4.2 s of 8.03 billion.
#[test]
fn offloading_the_optimizer_makes_an_8b_fit_and_costs_seconds() {
    let edits = [("model", "llama-3.1-8b"), ("gpus", "1")];
    let kept = [edits[0], edits[1], ("offload.optimizer", "")];
    assert_eq!(verdict("full-70b-8-h100", &kept), Oom);
    let after = answer("full-70b-8-h100", &edits);
    assert_eq!(after.memory.verdict, Fits);
    let weights = after.memory.per_stage[0].weights.0;
    assert!((weights / (2.0 * 8_030_261_248.0) - 1.0).abs() < 1e-6);
    let host = after.memory.host.unwrap();
    assert_eq!(host.verdict, Some(Fits));
    let cost = after.offload.unwrap().exposed_s.0;
    assert!((4.2..8.0).contains(&cost), "{cost}");
}

/// Question 7: "What does QLoRA of a 7B take?" LLaMA-Factory (f0807): 6 GB.
#[test]
fn qlora_of_a_7b_takes_about_6_gb() {
    let memory = answer("qlora-8b-4090", &[("model", "llama-2-7b"), ("seq_len", "1024")]).memory;
    let allocated = memory.per_stage[0].allocated().gb();
    assert!((allocated / 6.0 - 1.0).abs() < 0.15, "{allocated}");
}

/// Question 8: "A 70B on two cards of 24 GB?" `fsdp_qlora` (f0767): with the base on the host, 14.9 GiB a GPU.
#[test]
fn qlora_of_a_70b_on_two_24_gb_cards_needs_the_host_for_its_base() {
    assert_eq!(verdict("qlora-70b-2-4090", &[]), Fits);
    let on_gpu = [("offload.parameters", "")];
    assert_eq!(verdict("qlora-70b-2-4090", &on_gpu), Oom);
}

/// Question 9: "A 70B on one card of 48 GB?" Unsloth (f0673): out of memory with Hugging Face and FlashAttention-2.
#[test]
fn qlora_of_a_70b_with_plain_kernels_runs_out_of_48_gb() {
    let edits = [("gpu", "l40s"), ("stack", "hf-trainer"), ("seq_len", "2048")];
    assert_eq!(verdict("qlora-70b-h100", &edits), Oom);
}

/// Question 10: "Full fine-tuning of a 70B on eight 80 GB cards?" LLaMA-Factory (f0794): 1200 GB of 640; torchtune
/// (f0530) trains it with FSDP's offloading, 13.9 GiB a GPU.
#[test]
fn full_fine_tuning_of_a_70b_on_eight_cards_needs_the_host() {
    let kept = [("offload.optimizer", "")];
    assert_eq!(verdict("full-70b-8-h100", &kept), Oom);
    assert_eq!(verdict("full-70b-8-h100", &[]), Fits);
}

/// The plan searches adapters and offloading when it is asked to, and what it offers works.
#[test]
fn a_plan_searches_adapters_and_offloading_when_asked() {
    // 16 bytes a parameter are 128 GB of 160, before activations and gathered layers; the NF4 base of a 70B is 34.6 of
    // 48.
    let full = [("gpus", "2"), ("global_batch", "4")];
    let on_gpu = [("offload.parameters", ""), ("global_batch", "4")];
    for (id, edits) in [("full-8b-8-h100", full), ("qlora-70b-2-4090", on_gpu)] {
        let run = asked(id, &edits);
        let plan = |also: bool| {
            let object =
                serde_json::json!({"run": run.to_value(), "top": 40, "pin": ["recompute", "schedule"], "also": also});
            let object = serde_json::from_value(object).unwrap();
            let mut request = PlanRequest::from_value(&object).unwrap();
            request.search.finish();
            request.search.best().to_vec()
        };
        let changed = |found: &Run| (found.adapter != run.adapter, found.offload != run.offload);
        let (own, also) = (plan(false), plan(true));
        assert!(own.iter().all(|one| changed(&one.run) == (false, false)));
        let adapts = run.adapter.method.is_none();
        let wanted = |found: &Run| match changed(found) {
            (adapter, _) if adapts => adapter,
            (_, offload) => offload,
        };
        assert!(also.iter().any(|one| wanted(&one.run)), "{id}");
        for one in &also {
            let memory = report(&one.run).unwrap().memory;
            assert_ne!(memory.verdict, Oom);
            assert!(memory.host.is_none_or(|host| host.verdict == Some(Fits)));
        }
    }
}

/// An offloaded run has a plan: layouts that its framework refuses are left out, not all.
#[test]
fn an_offloaded_run_has_a_plan() {
    let run = asked("full-70b-8-h100", &[("global_batch", "8")]);
    let mut request = PlanRequest::new(&run, &[], 5).unwrap();
    request.search.finish();
    let best = request.search.best();
    assert!(!best.is_empty());
    assert!(best.iter().all(|one| one.run.zero >= 1));
}
