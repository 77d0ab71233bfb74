//! Gradients of several micro-batches, whole or in shards, by program and release: published peaks of files that an
//! import reads.

use shardscope::core::report::report;
use shardscope::core::run::{Reduction, Run};
use shardscope::io::import::{Meaning, read};

fn import(text: &str, gpus: u64) -> Meaning {
    read(text, &Run { gpus, ..Run::default() }).unwrap_or_else(|issues| panic!("{issues:?}: {text}"))
}

fn gib(run: &Run) -> f64 {
    report(run).unwrap().memory.peak_bytes.gib()
}

/// What the files of axolotl's `examples/gpt-oss` have in common. Source: axolotl-ai-cloud/axolotl 067b021.
const GPT_OSS: &str = "sequence_len: 4096\nsample_packing: true\ngradient_accumulation_steps: 2\nmicro_batch_size: 1\n\
    bf16: true\ngradient_checkpointing: true\nactivation_offloading: true\nplugins:\n  - \
    axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\nfsdp_version: 2\n";

fn gpt_oss(size: &str, optimizer: &str, offload: bool) -> String {
    format!(
        "base_model: openai/gpt-oss-{size}\noptimizer: {optimizer}\n{GPT_OSS}fsdp_config:\n  offload_params: \
         {offload}\n  reshard_after_forward: true\n"
    )
}

/// axolotl `examples/gpt-oss/README.md` of August 2025 (50f2b94, Accelerate 1.10.0, whose FSDP2 reduces in every
/// micro-batch), `device_mem_reserved`; ms-swift 3602360 `examples/train/full/qwen2_5_32b.sh`, DeepSpeed ZeRO-3 on
/// cards of 80 GiB.
#[test]
fn published_peaks_under_accumulation_are_met_to_15_percent() {
    let swift = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-32B --tuner_type full --torch_dtype bfloat16 \
        --deepspeed zero3 --max_length 8192 --packing true --use_liger_kernel true --attn_impl flash_attn \
        --per_device_train_batch_size 1 --gradient_accumulation_steps 2";
    for (text, gpus, published) in [
        (gpt_oss("20b", "adamw_torch_8bit", false), 8, 36.0),
        (gpt_oss("20b", "adamw_torch_8bit", false), 4, 46.0),
        (gpt_oss("20b", "adamw_torch_fused", true), 2, 21.0),
        (gpt_oss("120b", "adamw_torch_fused", true), 8, 49.0),
        (swift.to_owned(), 8, 80.0),
    ] {
        let run = import(&text, gpus).run;
        let ours = gib(&run);
        println!("{ours:.1} of {published}");
        assert!((ours / published - 1.0).abs() < 0.15, "{ours} {published}: {text}");
    }
}

/// FSDP 1 adds up whole gradients under `no_sync`, and so does FSDP2 from Accelerate 1.11 on: 4 bytes a parameter of
/// fp32 shards instead of 4/N. `sync_each_batch` and DeepSpeed reduce every micro-batch.
#[test]
fn whole_gradients_under_accumulation_are_those_of_no_sync() {
    const BASE: &str = "model_name_or_path: meta-llama/Llama-3.1-8B\nper_device_train_batch_size: 1\n\
        gradient_accumulation_steps: 4\nmax_seq_length: 2048\nbf16: true\ngradient_checkpointing: true\n";
    let trainer = |more: &str| import(&format!("{BASE}{more}"), 8).run;
    let first = trainer("fsdp: full_shard auto_wrap\n");
    let each = trainer("fsdp: full_shard auto_wrap\naccelerator_config:\n  sync_each_batch: true\n");
    let second = trainer("fsdp: full_shard auto_wrap\nfsdp_config:\n  fsdp_version: 2\n");
    assert_eq!(first.zero2_reduce, None);
    assert_eq!(each.zero2_reduce, Some(Reduction::MicroBatch));
    assert_eq!(second.zero2_reduce, Some(Reduction::MicroBatch));
    // Fragmentation, a layer's gradient and boundaries of FSDP 1 come to it.
    let whole = 4.0 * 8_030_261_248.0 / 1_073_741_824.0;
    let more = gib(&first) - gib(&each);
    assert!(more > whole * 7.0 / 8.0 && more < whole * 1.3, "{more} {whole}");
    let later = Run { zero2_reduce: Some(Reduction::Step), ..second.clone() };
    assert_eq!(gib(&later), gib(&first));
    for stage in ["2", "3"] {
        let run = trainer(&format!("deepspeed: ds_z{stage}_config.json\n"));
        assert_eq!(run.zero2_reduce, Some(Reduction::MicroBatch), "{stage}");
        let once = Run { global_batch: 8, ..run.clone() };
        // A step of one micro-batch has no earlier gradients.
        assert!(gib(&run) - gib(&once) < whole / 2.0 * 0.3, "{stage}: {} {}", gib(&run), gib(&once));
    }
}
