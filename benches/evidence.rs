//! Speed and memory of reading a large trace, printed for reading: nothing is decided by it. `make bench`.
//!
//! The file is made here, event by event, and is never held: 100 MB, and as many as `SHARDSCOPE_TRACE_MB` says.

use shardscope::core::diagnose::{Diagnosis, MeasuredLanes, RankTrace};
use shardscope::core::run::Run;
use shardscope::io::evidence::{EvidenceFile, EvidenceReader, diagnose};
use shardscope::view::panels::diagnose::{LanePair, diagnosis};
use std::fmt::Write as _;
use std::time::Instant;

/// Bytes that are given to the reader at once, as the page does.
const PIECE: usize = 1 << 20;

/// Pictures of the timeline that are timed.
const PICTURES: u32 = 20;

/// Events of one kernel as PyTorch's profiler writes them: its launch, the operator around it, itself.
fn events(text: &mut String, at: u64) {
    let (time, id) = (1_000_000 + 40 * at, at + 1);
    let name = match at % 5 {
        0 => "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1",
        1 => {
            "void flash::compute_attn_ws<Flash_fwd_kernel_traits<128, 128, 128, 12, 2, false, 1, cutlass::bfloat16_t>>"
        }
        2 => "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        _ => "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>",
    };
    // Writing to a String does not fail.
    let _ = write!(
        text,
        "{{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":7,\"tid\":7,\"ts\":{time}.5,\"dur\":9.1,\
         \"args\":{{\"External id\":{id},\"Record function id\":0,\"Sequence number\":{id},\"Fwd thread id\":0}}}},\n\
         {{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":7,\"tid\":7,\"ts\":{time}.9,\
         \"dur\":4.2,\"args\":{{\"External id\":{id},\"cbid\":211,\"correlation\":{id}}}}},\n\
         {{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"{name}\",\"pid\":0,\"tid\":7,\"ts\":{}.25,\"dur\":31.75,\"args\":\
         {{\"External id\":{id},\"queued\":0,\"device\":0,\"context\":1,\"stream\":7,\"correlation\":{id},\
         \"registers per thread\":168,\"shared memory\":213016,\"grid\":[132,1,1],\"block\":[384,1,1]}}}},\n",
        time + 8
    );
}

/// The most memory of this process so far, MB; none where the system does not tell.
fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib / 1000)
}

fn read(megabytes: usize) {
    let (begun, run) = (Instant::now(), Run::default());
    let mut reader = EvidenceReader::default();
    let mut text =
        String::from("{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0,\"world_size\":8},\"traceEvents\":[\n");
    let (mut taken, mut at, mut made) = (0, 0, 0.0);
    while taken < megabytes * 1_000_000 {
        let making = Instant::now();
        while text.len() < PIECE {
            events(&mut text, at);
            at += 1;
        }
        made += making.elapsed().as_secs_f64();
        taken += text.len();
        if reader.push(text.as_bytes()).is_err() {
            break;
        }
        text.clear();
    }
    let pushed = begun.elapsed().as_secs_f64() - made;
    let file = reader.finish(&run);
    let finished = begun.elapsed().as_secs_f64() - made;
    let kernels = match &file {
        Ok(EvidenceFile::Trace(trace, _)) => trace.activities.len(),
        _ => 0,
    };
    let found = diagnose(&[&file], &run);
    let all = begun.elapsed().as_secs_f64() - made;
    if let (Ok(found), Ok(EvidenceFile::Trace(trace, _))) = (&found, &file) {
        drawn(found, trace, &run);
    }
    println!(
        "trace of {megabytes} MB, {kernels} kernels: read {pushed:.2} s, sorted {:.2} s, diagnosed {:.2} s, {} parts, \
         most memory {} MB",
        finished - pushed,
        all - finished,
        found.as_ref().map_or(0, |found| found.parts.len()),
        most_memory().map_or_else(|| "?".to_owned(), |most| most.to_string())
    );
}

/// The time of a picture of the timeline, whole and nearer.
fn drawn(found: &Diagnosis, trace: &RankTrace, run: &Run) {
    let Some(lanes) = MeasuredLanes::of(trace).map(|lanes| LanePair::of(lanes, None)) else {
        return;
    };
    let spans = lanes.measured.compute.len() + lanes.measured.messages.len();
    let mut zoom = lanes.whole();
    let begun = Instant::now();
    let mut letters = 0;
    for _ in 0..PICTURES {
        letters += diagnosis(found, "", run, Some((&lanes, zoom))).to_html().len();
        zoom = lanes.zoomed(zoom, 1.5);
    }
    let each = begun.elapsed().as_secs_f64() * 1e3 / f64::from(PICTURES);
    println!("{spans} spans drawn nearer and nearer: {each:.2} ms each, {letters} letters");
}

fn main() {
    read(100);
    if let Some(more) = std::env::var("SHARDSCOPE_TRACE_MB").ok().and_then(|more| more.parse().ok()) {
        read(more);
    }
}
