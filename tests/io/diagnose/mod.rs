//! Traces of public projects through the reader and the engine: windows, parts, causes (`tests/data/traces/README.md`).

mod beside;
mod cases;
mod delays;
mod odd;
mod out_of_memory;
mod parts;
mod sent;
mod snapshots;

use shardscope::core::diagnose::RankTrace;
use shardscope::core::run::Run;
use shardscope::io::evidence::{EvidenceFile, read};

/// Traces with kernels of a GPU and their order.
const TRACES: [&str; 15] = [
    "hta_ddp_args_a100_rank0of2",
    "hta_ddp_eager_v100_rank1of2",
    "hta_rec_a100_rank3of8",
    "hta_rec_rank0of128",
    "hta_rec_rank1of128",
    "hta_rec_unlinked_rank0of16",
    "hta_toy_mi250",
    "rocprofv3_results",
    "tracelens_ddp_mi300_rank0of8",
    "tracelens_flux_aiter_mi300",
    "tracelens_gpu_only_mi210",
    "tracelens_moe_decode_b200",
    "tracelens_prefill_mi300",
    "tracelens_qwen_forward_h100",
    "tracelens_qwen_forward_mi300",
];

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/traces/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn trace(name: &str) -> RankTrace {
    match read(&bytes(&format!("{name}.json.gz")), &Run::default()) {
        Ok(EvidenceFile::Trace(trace, _)) => *trace,
        Ok(_) => panic!("{name} is no trace"),
        Err(issues) => panic!("{name}: {issues:?}"),
    }
}
