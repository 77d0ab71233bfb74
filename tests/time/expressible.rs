//! Features of software of 2025 and 2026: packed documents, context parallelism of two levels, shared experts beside
//! messages, rooms of expert ranks, budgets of activations.

use crate::common::{scenario, step_s};
use shardscope::core::report::{Report, report};
use shardscope::core::run::Run;
use shardscope::core::traffic::Traffic;

fn run(settings: &str) -> Run {
    Run::from_value(&serde_json::from_str(&format!("{{{settings}}}")).unwrap()).unwrap()
}

fn figures(settings: &str) -> Report {
    report(&run(settings)).unwrap_or_else(|refusal| panic!("{settings}: {:?}", refusal.errors))
}

/// Pairs under a document mask are `Σ l²/2` (Llama 3, section 3.2): a token meets `Σ l²/(2 Σ l)` keys, and attention
/// takes 12 L a d of them in FLOPs, forward and backward. Everything else goes by tokens, memory too.
#[test]
fn packed_documents_shorten_attention_and_nothing_else() {
    let whole = figures(r#""seq_len":8192"#);
    for (documents, mean) in
        [("[1024]", 1024.0), ("[4096,2048,2048]", 3072.0), ("[8192]", 8192.0), ("[1,8191]", 8190.0)]
    {
        let packed = figures(&format!(r#""seq_len":8192,"documents":{documents}"#));
        let keys = (8192.0 - mean) / 2.0;
        let less = 12.0 * 32.0 * 32.0 * 128.0 * keys * whole.layout.tokens_per_step;
        let ours = whole.step.model_flops - packed.step.model_flops;
        assert!((ours - less).abs() <= 1e-9 * whole.step.model_flops, "{documents}: {ours} {less}");
        assert_eq!(packed.memory.peak_bytes, whole.memory.peak_bytes, "{documents}");
        assert!(packed.step.time_s <= whole.step.time_s);
    }
    // Eight documents in a sequence are as eight sequences of their length.
    let packed = step_s(&scenario(r#"{"pp":1,"seq_len":8192,"documents":[1024]}"#));
    let short = step_s(&scenario(r#"{"pp":1,"seq_len":1024,"micro_batch":8,"global_batch":2048}"#));
    assert!((packed / short - 1.0).abs() < 1e-9, "{packed} {short}");
    let refused = report(&run(r#""seq_len":8192,"documents":[9000]"#));
    assert!(refused.unwrap_err().errors.iter().any(|issue| issue.field == "documents" && issue.fix.is_some()));
}

/// USP (Fang and Zhao 2024, section 3): an all-to-all of u ranks exchanges queries, keys, values and outputs, a ring of
/// c/u groups passes keys and values on, and their gradients. Llama 2 7B in bf16: 4 (q + w) 2 T (u - 1)/u and 6 w 2 T
/// (c/u - 1) a layer with q and w 4096, T tokens of a rank; u 1 is the ring, u c is Ulysses.
#[test]
fn context_parallelism_of_two_levels_sends_what_both_send() {
    let sent = |comm: &str| {
        let layout = r#""model":"llama-2-7b","gpus":64,"tp":1,"pp":1,"cp":8,"seq_len":32768,"global_batch":64"#;
        let report = figures(&format!("{layout},{comm}"));
        let row = report.overlap.iter().find(|row| row.traffic == Traffic::Cp).unwrap();
        row.bytes_per_gpu.0 / report.layout.microbatches as f64 / 32.0
    };
    let two = |near: u64| sent(&format!(r#""cp_comm":"hierarchical","cp_a2a":{near}"#));
    let (ring, ulysses) = (sent(r#""cp_comm":"ring""#), sent(r#""cp_comm":"ulysses""#));
    assert!((two(1) / ring - 1.0).abs() < 1e-12 && (two(8) / ulysses - 1.0).abs() < 1e-12);
    let (width, moved, c) = (4096.0, 2.0 * 32768.0 / 8.0, 8.0);
    for near in [2u64, 4] {
        let u = near as f64;
        let exact = moved * (4.0 * 2.0 * width * (u - 1.0) / u + 6.0 * width * (c / u - 1.0));
        let ours = two(near);
        assert!((ours / exact - 1.0).abs() < 1e-12, "{near}: {ours} {exact}");
    }
    let refused = report(&run(r#""gpus":64,"tp":1,"pp":1,"cp":8,"cp_comm":"hierarchical","cp_a2a":3"#));
    assert!(refused.unwrap_err().errors.iter().any(|issue| issue.field == "cp_a2a"));
}

const EXPERTS: &str = r#""model":"deepseek-v3","gpus":256,"tp":1,"pp":8,"ep":32,"seq_len":4096,"global_batch":512,
    "stack":"megatron-2025","gpu":{"base":"h100-sxm-80gb"}"#;

/// Megatron-LM `shared_experts.py`: the shared experts, 18 h f FLOPs a token and layer with their gradients, run beside
/// dispatch and combine; they can hide no more than they take, at half of the peak or better.
#[test]
fn shared_experts_hide_messages_for_as_long_as_they_take() {
    let (off, on) = (figures(EXPERTS), figures(&format!(r#"{EXPERTS},"shared_expert_overlap":true"#)));
    let exposed = |report: &Report| {
        let row = report.overlap.iter().find(|row| row.traffic == Traffic::Ep).unwrap();
        (row.exposed_s.0, row.bytes_per_gpu)
    };
    let saved = exposed(&off).0 - exposed(&on).0;
    assert!(saved > 0.0 && exposed(&off).1 == exposed(&on).1);
    let tokens = 4096.0 * off.layout.microbatches as f64;
    let flops = 18.0 * 7168.0 * 2048.0 * tokens * 61.0 / 8.0;
    assert!(saved < flops / (0.4 * 989e12), "{saved}");
    assert!(on.step.time_s < off.step.time_s);
    let none = |setting| step_s(&scenario(&format!(r#"{{"model":"mixtral-8x7b","tp":1,"ep":8{setting}}}"#)));
    assert_eq!(none(""), none(r#","shared_expert_overlap":true"#));
}

/// Megatron-LM `transformer_config.py`: a rank has room for the capacity factor times its share, whatever comes; pages
/// keep 1.10 times what comes (`moe_paged_stash_buffer_size_factor_cuda`). No count reaches the host in either.
#[test]
fn pages_keep_a_tenth_more_than_what_came() {
    let kept = |setting: &str| figures(&format!("{EXPERTS}{setting}")).memory.per_stage[1].activations.0;
    let (even, room) = (kept(""), kept(r#","moe_rank_capacity":2"#));
    let paged = kept(r#","moe_rank_capacity":2,"moe_paged_stash":true"#);
    assert!(((paged - even) / (room - even) - 0.1).abs() < 1e-9, "{even} {room} {paged}");
    assert!((kept(r#","moe_imbalance":2"#) / room - 1.0).abs() < 1e-12);
    assert!(step_s(&scenario(&format!(r#"{{{EXPERTS},"moe_rank_capacity":2}}"#))) < figures(EXPERTS).step.time_s.0);
}

/// PyTorch `torch/_functorch/config.py`, `activation_memory_budget`: 0.0 is the memory of checkpointing the whole
/// region, 1.0 that of the default, and 0.4 saves 40 % of what lies between.
#[test]
fn a_budget_keeps_its_share_of_the_activations() {
    let figures = |recompute: &str| {
        figures(&format!(r#""stack":"torchtitan","zero":3,"pp":1,"tp":1,"gpus":64,"recompute":{recompute}"#))
    };
    let kept = |recompute: &str| figures(recompute).memory.per_stage[0].activations.0;
    let (none, full) = (kept(r#""none""#), kept(r#""full""#));
    for budget in [0.0, 0.4, 1.0] {
        let ours = kept(&format!(r#"{{"budget":{budget}}}"#));
        let expected = full + budget * (none - full);
        assert!((ours / expected - 1.0).abs() < 1e-9, "{budget}: {ours} {expected}");
    }
    let time = |recompute: &str| figures(recompute).step.time_s;
    assert!(time(r#"{"budget":0.4}"#) > time(r#""none""#) && time(r#"{"budget":0.4}"#) < time(r#""full""#));
    assert_eq!(time(r#"{"budget":1}"#), time(r#""none""#));
}
