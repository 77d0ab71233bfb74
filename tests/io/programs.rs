//! Files of programs that say the settings of another one, as their own examples have them: read by the tables.

use shardscope::core::memory::Verdict;
use shardscope::core::report::evaluate;
use shardscope::core::run::Run;
use shardscope::core::run::registry::field;
use shardscope::io::import::{Meaning, read};
use std::fs;

/// A file, the GPUs of the page that it is read on, and what it means: `key=value` with blanks between. The sizes are the
/// file's own; a batch of reinforcement learning is prompts times answers, one of MLPerf sequences a rank times ranks.
const FILES: [(&str, u64, &str); 19] = [
    (
        "primus_llama3_70b.yaml",
        8,
        "model=llama-3.1-70b gpu=mi300x gpus=8 tp=1 pp=1 micro_batch=3 global_batch=24 seq_len=8192 zero=3 recompute.layers=80 \
         cross_entropy=te-fused dummy_wgrad=false",
    ),
    (
        "primus_torchtitan.yaml",
        8,
        "model=llama-3.1-70b gpu=mi300x gpus=8 micro_batch=2 global_batch=16 seq_len=8192 zero=3 recompute=full",
    ),
    (
        "automodel_deepseek_v3.yaml",
        64,
        "model=deepseek-v3 gpu=h100-sxm-80gb gpus=256 tp=1 pp=4 ep=64 micro_batch=1 global_batch=256 seq_len=4096 recompute=full \
         schedule=interleaved-1f1b moe_dispatch=hybridep moe_balance=forced",
    ),
    (
        "automodel_peft.yaml",
        64,
        "model=llama-3.1-70b gpu=h100-sxm-80gb gpus=8 tp=4 pp=2 micro_batch=1 global_batch=32 seq_len=4096 adapter.method=lora \
         adapter.rank=16 sequence_parallel=false",
    ),
    (
        "bridge_llama3_70b.py",
        8,
        "model=llama-3.1-70b gpu=h100-sxm-80gb gpus=64 tp=4 pp=4 cp=2 virtual_stages=5 micro_batch=1 global_batch=256 seq_len=8192 \
         schedule=interleaved-1f1b precision=bf16 zero=1 stack.tp_overlap=userbuffers",
    ),
    (
        "bridge_command.sh",
        8,
        "model=deepseek-v3 gpu=gb200 gpus=256 tp=1 pp=4 ep=64 virtual_stages=4 micro_batch=1 global_batch=4096 seq_len=4096 \
         precision=mxfp8 recompute.modules=mla_up",
    ),
    (
        "bridge_overrides.sh",
        8,
        "model=llama-3.1-8b gpus=8 tp=2 cp=4 global_batch=8 seq_len=65536 recompute=full sequence_parallel=true",
    ),
    (
        "nemo_rl_70b.yaml",
        8,
        "model=llama-3.1-70b gpus=64 tp=4 pp=4 micro_batch=1 global_batch=512 seq_len=4096 zero=1 phases.framework=nemo-rl \
         phases.rollout_tp=8",
    ),
    (
        "nemo_rl_dtensor.yaml",
        64,
        "model=llama-3.1-8b gpus=8 tp=2 micro_batch=1 global_batch=512 seq_len=4096 zero=3 recompute=full phases.framework=nemo-rl",
    ),
    (
        "verl_fsdp.sh",
        64,
        "model=qwen-2.5-7b gpus=8 micro_batch=40 global_batch=1280 seq_len=1536 zero=3 recompute=full phases.framework=verl \
         phases.rollout_tp=2 phases.reference=true phases.offload=false",
    ),
    (
        "verl_megatron.sh",
        64,
        "model=deepseek-v3 gpus=256 tp=1 pp=16 ep=16 etp=1 micro_batch=1 global_batch=512 seq_len=6144 recompute=full \
         stage_layers=4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,1 phases.offload=true phases.rollout_tp=32",
    ),
    (
        "slime_qwen3_30b.sh",
        64,
        "model=qwen-3-30b-a3b gpus=8 tp=4 ep=8 etp=1 micro_batch=2 global_batch=256 seq_len=8192 recompute=full \
         offload.optimizer=cpu",
    ),
    (
        "swift_megatron.sh",
        64,
        "model=qwen-3-30b-a3b gpus=16 tp=1 pp=2 ep=8 micro_batch=1 global_batch=16 seq_len=8192 recompute=full zero=1",
    ),
    (
        "swift_lora.sh",
        64,
        "model=qwen-2.5-7b gpus=1 micro_batch=1 global_batch=16 seq_len=2048 adapter.method=lora adapter.rank=8 recompute=full",
    ),
    (
        "llama-factory_mca.yaml",
        8,
        "model=qwen-3-30b-a3b gpus=8 tp=1 pp=4 ep=2 micro_batch=1 global_batch=16 seq_len=4096 recompute=full zero=1",
    ),
    (
        "llama-factory_v1.yaml",
        8,
        "model=qwen-3-8b gpus=8 micro_batch=1 global_batch=8 seq_len=2048 adapter.method=lora adapter.rank=16 zero=3",
    ),
    (
        "mlperf_405b.sh",
        64,
        "model=llama-3.1-405b gpu=gb300 gpus=256 tp=4 pp=8 cp=2 virtual_stages=8 micro_batch=1 global_batch=448 seq_len=8192 \
         precision=fp8-current zero=1",
    ),
    (
        "mlperf_lora.sh",
        64,
        "model=llama-2-70b gpu=h100-sxm-80gb gpus=64 tp=4 pp=1 cp=2 micro_batch=1 global_batch=8 seq_len=8192 adapter.method=lora \
         adapter.rank=16",
    ),
    ("torchtitan_derived.py", 64, "model=llama-3.1-405b gpus=512"),
];

fn import(name: &str, gpus: u64) -> Meaning {
    let path = format!("{}/tests/data/launch/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains("Source: "), "{name}");
    let present = Run { gpus, ..Run::default() };
    read(&text, &present).unwrap_or_else(|issues| panic!("{name}: {issues:?}"))
}

#[test]
fn files_of_2026_mean_what_their_programs_run() {
    let mut wrong = Vec::new();
    for (name, gpus, settings) in FILES {
        let run = import(name, gpus).run.resolved();
        for setting in settings.split_whitespace() {
            let (key, value) = setting.split_once('=').unwrap();
            let said = field(key).unwrap_or_else(|| panic!("{key}")).text(&run).unwrap_or_default();
            if said != value {
                wrong.push(format!("{name}: {setting}, read as {said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// These run, on the GPUs that they name: what is called out of memory has its reason beside it, and nothing is refused.
#[test]
fn files_that_are_known_to_run_fit() {
    let mut wrong = Vec::new();
    for (name, gpus, _) in FILES {
        let read = import(name, gpus);
        match evaluate(&read.run) {
            Err(issues) => wrong.push(format!("{name}: {issues:?}")),
            Ok(evaluation) => {
                let memory = &evaluation.report.memory;
                let reason = read.assumed.iter().any(|said| said.to_string().contains("need less memory"));
                if memory.verdict == Verdict::Oom && !reason {
                    wrong.push(format!("{name}: {:.1} GiB", memory.peak_bytes.gib()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every entry is used, ignored with its reason, or silent: null, "auto", a variable that is not set.
#[test]
fn every_entry_of_a_program_is_accounted_for() {
    for (name, gpus, _) in FILES {
        let path = format!("{}/tests/data/launch/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).unwrap();
        let read = import(name, gpus);
        let book: Vec<String> = read.ignored.iter().map(ToString::to_string).collect();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            let word = line.trim_start_matches("export ").split([' ', ':', '=']).next().unwrap_or_default();
            let word = word.trim_start_matches(['-', '+', '$']);
            // Settings of one line each: an argument, a variable, a key of YAML with its value, an assignment of Python.
            let setting =
                line.starts_with("--") || line.starts_with("export ") || word.contains('.') && line.contains('=');
            if !setting || word.is_empty() {
                continue;
            }
            let bare =
                word.strip_prefix("cfg.").or_else(|| word.strip_prefix("config.")).unwrap_or(word).replace('_', "-");
            let has = |entry: &str| entry.replace('_', "-").contains(&bare);
            let silent = read.assumed.iter().any(|said| said.to_string().contains("is not set in the text"));
            assert!(
                read.used.iter().any(|(entry, _)| has(entry)) || book.iter().any(|entry| has(entry)) || silent,
                "{name}: {word} is not in the book: {book:?}"
            );
        }
        assert!(book.iter().all(|entry| entry.contains(": ")), "{name}: {book:?}");
    }
}
