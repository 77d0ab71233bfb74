//! Messages of allocators that ran out of memory, in a log or alone: the first one, with the frames around it.

use shardscope_core::diagnose::{Moment, OutOfMemory};
use std::collections::VecDeque;

/// Lines before a message that are kept: a traceback is before it.
const BEFORE: usize = 120;
/// Lines behind it.
const AFTER: usize = 60;
/// Letters of a line that are kept.
const WIDTH: usize = 2000;

/// Finds the first message in lines.
#[derive(Default)]
pub(crate) struct OomScanner {
    before: VecDeque<String>,
    found: Vec<String>,
    /// Lines behind it that are still taken.
    left: usize,
    at: usize,
    last_step: Option<u64>,
}

/// "Out of memory" in other languages, as drivers, systems and people translate it.
const TRANSLATED: [&str; 14] = [
    "显存不足",
    "内存不足",
    "記憶體不足",
    "メモリ不足",
    "メモリが不足",
    "メモリが足り",
    "메모리 부족",
    "메모리가 부족",
    "speicher reicht nicht",
    "nicht genügend speicher",
    "mémoire insuffisante",
    "memoria insuficiente",
    "memoria insufficiente",
    "недостаточно памяти",
];

/// True where `text` is of such a message in another language.
pub(super) fn is_translated(text: &str) -> bool {
    let lower = text.to_lowercase();
    TRANSLATED.iter().any(|words| lower.contains(words))
}

/// Sizes in `text`, in GiB or MiB, as they are in it.
pub(super) fn sizes(text: &str) -> Vec<String> {
    let units = ["GiB", "MiB"];
    let found = units.into_iter().flat_map(|unit| text.match_indices(unit).map(move |(at, _)| (at, unit)));
    let mut found: Vec<(usize, String)> = found
        .filter_map(|(at, unit)| {
            let before = text[..at].trim_end();
            let start = before.rfind(|letter: char| !letter.is_ascii_digit() && letter != '.');
            let start = start.map_or(0, |start| start + before[start..].chars().next().map_or(1, char::len_utf8));
            let value: f64 = before[start..].parse().ok()?;
            Some((at, format!("{value} {unit}")))
        })
        .collect();
    found.sort();
    found.into_iter().take(8).map(|(_, size)| size).collect()
}

/// Words, in small letters, of a host whose memory ran out: of the kernel, of Slurm, of PyTorch's allocator for the CPU
/// and of a launcher whose process was killed.
const OF_HOST: [&str; 9] = [
    "oom_kill",
    "oom-kill",
    "oom killed",
    "oomkilled",
    "out of memory: killed process",
    "defaultcpuallocator",
    "exitcode: -9",
    "exit code 137",
    "exitcode 137",
];

/// True where `line`, in small letters, is of a host's memory: no GPU ran out.
pub(super) fn is_of_host(line: &str) -> bool {
    OF_HOST.iter().any(|words| line.contains(words)) || line.trim() == "killed"
}

/// Signs of a message, in small letters.
const SIGNS: [&str; 10] = [
    "out of memory",
    "outofmemoryerror",
    "tried to allocate",
    "would exceed allowed memory",
    "resource_exhausted",
    "cublas_status_alloc_failed",
    "memory allocation failed with oom",
    "failed to cuda malloc",
    "has a total capa",
    "free memory on device",
];

/// What an export's head says of a run that does not fit, in small letters: an estimate, and no message of an
/// allocator.
const OF_EXPORT: &str = "out of memory on this page";

impl OomScanner {
    pub fn line(&mut self, line: &str) {
        if self.left > 0 {
            self.left -= 1;
            self.found.push(cut(line));
            return;
        }
        if !self.found.is_empty() {
            return;
        }
        let lower = line.to_ascii_lowercase();
        let is_message = !is_of_host(&lower) && !lower.contains(OF_EXPORT);
        if is_message && SIGNS.iter().any(|sign| lower.contains(sign)) {
            self.found.extend(self.before.drain(..));
            self.at = self.found.len();
            self.found.push(cut(line));
            self.left = AFTER;
            return;
        }
        if let Some(step) = step_of(&lower) {
            self.last_step = Some(step);
        }
        if self.before.len() >= BEFORE {
            self.before.pop_front();
        }
        self.before.push_back(cut(line));
    }

    pub fn finish(self) -> Option<OutOfMemory> {
        if self.found.is_empty() {
            return None;
        }
        let mut message = parse(&self.found, self.at)?;
        message.step = self.last_step.map(|step| step + 1).or(message.step);
        Some(message)
    }
}

fn cut(line: &str) -> String {
    line.chars().take(WIDTH).collect()
}

/// The step that a line of a log is of: `iteration 300/ 5000`, `step: 300`.
pub(super) fn step_of(lower: &str) -> Option<u64> {
    ["iteration", "step"].into_iter().find_map(|word| {
        let (_, rest) = lower.split_once(word)?;
        let rest = rest.trim_start_matches([' ', ':', '=', '[', '\t']);
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

/// Bytes of a size at the start of `text`: `3.79 GiB`, `6,291,456 bytes`.
fn size_at(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', ':', '=', '\t', '(', '\n']);
    let number: String =
        text.chars().take_while(|letter| letter.is_ascii_digit() || matches!(letter, '.' | ',')).collect();
    let value: f64 = number.trim_end_matches(['.', ',']).replace(',', "").parse().ok()?;
    let unit = text[number.len()..].trim_start();
    let factor = [
        ("TiB", 1_099_511_627_776.0),
        ("GiB", 1_073_741_824.0),
        ("MiB", 1_048_576.0),
        ("KiB", 1024.0),
        ("GB", 1_073_741_824.0),
        ("MB", 1_048_576.0),
        ("KB", 1024.0),
        ("G", 1_073_741_824.0),
        ("M", 1_048_576.0),
        ("byte", 1.0),
    ];
    let (_, factor) = factor.into_iter().find(|(name, _)| unit.starts_with(name)).unwrap_or(("", 1.0));
    let bytes = value * factor;
    // A limit that was not set is printed as 16 EiB, a process in a container as 0.
    (bytes < 1e15).then_some(bytes)
}

fn after(text: &str, words: &str) -> Option<f64> {
    text.match_indices(words).find_map(|(at, _)| size_at(&text[at + words.len()..]))
}

/// The size that ends right before `words`.
fn before(text: &str, words: &str) -> Option<f64> {
    text.match_indices(words).find_map(|(at, _)| {
        let start = &text[..at];
        let mut words = start.split_whitespace().rev();
        let unit = words.next()?;
        let number = words.next()?.trim_start_matches(['(', ';', ',', '.']);
        size_at(&format!("{number} {unit}")).filter(|_| number.starts_with(|letter: char| letter.is_ascii_digit()))
    })
}

/// Bytes that a process takes beside PyTorch's, from which on a list that leaves more unexplained may lack processes.
const BESIDE: f64 = 4.0 * 1_073_741_824.0;

/// The bytes of the message's own process of those `listed`, and of those that are others for certain. In a container
/// PyTorch knows none of the driver's numbers as its own and writes "Process N has" of itself, too. Source: PyTorch
/// `c10/cuda/CUDACachingAllocator.cpp`, `reportProcessMemoryInfo`, which compares them with `getpid()`.
fn own_and_others(found: &OutOfMemory, listed: &[f64]) -> (Option<f64>, f64) {
    let sum: f64 = listed.iter().sum();
    let (Some(allocated), Some(total)) = (found.allocated, found.total) else {
        return (None, sum);
    };
    let held = allocated + found.unused.unwrap_or(0.0);
    // Sizes are printed with two decimals.
    let may_be_own = || listed.iter().copied().filter(|bytes| *bytes >= held * 0.999);
    let left = total - found.free.unwrap_or(0.0) - sum - held;
    match (may_be_own().min_by(f64::total_cmp), may_be_own().max_by(f64::total_cmp)) {
        (Some(own), _) if left < 0.0 => (Some(own), sum - own),
        // The list is not of all processes, so that this one may be in it.
        (_, Some(largest)) if left > BESIDE => (None, sum - largest),
        _ => (None, sum),
    }
}

/// The sizes that `text` states, in the words of each program; `lower` is the same in small letters.
fn stated(text: &str, lower: &str) -> OutOfMemory {
    OutOfMemory {
        asked: after(text, "ried to allocate")
            .or_else(|| after(text, "trying to allocate"))
            .or_else(|| after(text, "Requested")),
        total: after(text, "total capacity of")
            .or_else(|| after(text, "total capacty of"))
            .or_else(|| before(text, " total capacity"))
            .or_else(|| after(text, "Device limit"))
            .or_else(|| after(text, "total: ")),
        free: after(text, "of which")
            .or_else(|| after(text, "Free (according to CUDA)"))
            .or_else(|| after(text, "free: "))
            .or_else(|| before(text, " free;")),
        allocated: before(text, " already allocated")
            .or_else(|| after(text, "Of the allocated memory"))
            .or_else(|| after(text, "Currently allocated")),
        allowed: before(text, " allowed;").or_else(|| before(text, " allowed.")),
        pools: before(text, " allocated in private pools"),
        driver_pool: lower.contains("would exceed allowed memory"),
        ..OutOfMemory::default()
    }
}

/// The sizes of vLLM's check before it loads a model: "Free memory on device cuda:0 (12.3/79.1 GiB) on startup is less
/// than desired GPU memory utilization (0.9, 71.2 GiB)". Source: `vllm/v1/worker/utils.py`, `request_memory`.
fn on_startup(text: &str, found: &mut OutOfMemory) -> Option<()> {
    let (_, rest) = text.split_once("Free memory on device")?;
    let (free, rest) = rest.split_once('(')?.1.split_once('/')?;
    let (total, rest) = rest.split_once(')')?;
    let (_, share) = rest.split_once("utilization (")?;
    let (_, asked) = share.split_once(')')?.0.split_once(',')?;
    found.free = Some(size_at(&format!("{free} GiB"))?);
    found.total = Some(size_at(total)?);
    found.asked = Some(size_at(asked)?);
    Some(())
}

/// The message in `lines`, whose first sign is at `at`.
fn parse(lines: &[String], at: usize) -> Option<OutOfMemory> {
    // The sentence may be wrapped.
    let text = lines[at..].iter().take(12).flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ");
    let lower = text.to_ascii_lowercase();
    let mut found = stated(&text, &lower);
    let reserved = before(&text, " reserved in total");
    let cached = before(&text, " cached)");
    let beyond = |held: f64| found.allocated.map(|allocated| if held >= allocated { held - allocated } else { held });
    found.unused = before(&text, " is reserved by PyTorch but unallocated")
        .or_else(|| reserved.and_then(beyond))
        .or_else(|| cached.and_then(beyond));
    found.process = after(&text, "this process has").filter(|bytes| *bytes > 0.0);
    let others = text.match_indices("Process ").filter_map(|(at, _)| {
        let rest = &text[at..];
        let (_, held) = rest.split_once(" has ")?;
        let (size, _) = held.split_once(" memory in use")?;
        (size.len() < 20).then(|| size_at(size))?
    });
    let listed: Vec<f64> = others.collect();
    let others = if text.contains("this process has") {
        listed.iter().sum()
    } else {
        let (own, others) = own_and_others(&found, &listed);
        found.process = own;
        others
    };
    found.others = (others > 0.0).then_some(others);
    found.library = match () {
        () if on_startup(&text, &mut found).is_some() => Some("vLLM"),
        () if text.contains("NCCL") => Some("NCCL"),
        () if lower.contains("cublas_status_alloc_failed") => Some("cuBLAS"),
        () if lower.contains("resource_exhausted") => Some("JAX"),
        () => None,
    };
    let of_driver = [
        ("cuda error: out of memory", "CUDA"),
        ("cuda_error_out_of_memory", "CUDA"),
        ("hip error: out of memory", "HIP"),
    ];
    if found.asked.is_none() && found.total.is_none() {
        let driver = of_driver.into_iter().find(|(words, _)| lower.contains(words));
        found.library = found.library.or(driver.map(|(_, name)| name));
    }
    let said = found.asked.is_some() || found.total.is_some() || found.library.is_some();
    if !said || lower.contains("more than 1eb") {
        return None;
    }
    let number = |words: &str| {
        let (_, rest) = text.split_once(words)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    found.gpu = number("GPU ");
    found.rank = number("[rank");
    frames(&mut found, lines, at);
    Some(found)
}

/// Words of frames by moment, the first that a frame holds.
const MOMENTS: [(Moment, &[&str]); 9] = [
    (Moment::Checkpoint, &["save_checkpoint", "state_dict", "checkpointer", "save_state", "torch.save"]),
    (
        Moment::OptimizerStep,
        &["_multi_tensor_adam", "foreach", "_copy_main_params", "optimizer_step", "optimizer.step", "optim.step"],
    ),
    (
        Moment::Loss,
        &["cross_entropy", "masked_ce", "logits", "lm_head", "log_softmax", "logprobs", "kl_div", "forward_kl"],
    ),
    (Moment::Backward, &["_engine_run_backward", ".backward("]),
    (Moment::GatheredWeights, &["all_gather", "unshard"]),
    (Moment::Evaluation, &["evaluat", "prediction_step", "_eval"]),
    (Moment::Loading, &["from_pretrained"]),
    (Moment::Experts, &["experts", "grouped_gemm", "permute", "token_dispatch"]),
    (Moment::Generation, &["generate", "vllm", "sglang"]),
];

/// The moment by the innermost frames.
fn frames(found: &mut OutOfMemory, lines: &[String], at: usize) {
    let is_frame = |line: &String| line.trim_start().starts_with("File \"") || line.contains("File \"");
    let of = |part: &[String]| -> Vec<String> {
        let frames = part.iter().enumerate().filter(|(_, line)| is_frame(line));
        // The line of code is below its frame.
        let with_code = frames.map(|(at, line)| format!("{line} {}", part.get(at + 1).map_or("", String::as_str)));
        with_code.filter(|frame| !frame.contains("torch/nn/modules")).map(|frame| frame.to_ascii_lowercase()).collect()
    };
    let mut all = of(&lines[..at]);
    if all.is_empty() {
        all = of(&lines[at..]);
    }
    let of_fp32 = [".float()", "torch.float32", "dtype=float32"];
    found.to_fp32 = all.last().is_some_and(|frame| of_fp32.iter().any(|words| frame.contains(words)));
    let makes = ["_init_group", "_init_optim_state", "init_optim_state"];
    let saves = |frame: &String| MOMENTS[0].1.iter().any(|word| frame.contains(word));
    if all.iter().any(|frame| makes.iter().any(|word| frame.contains(word))) {
        found.moment = Some(Moment::FirstStates);
        found.makes_states = all.iter().any(saves);
        return;
    }
    for frame in all.iter().rev() {
        let named = MOMENTS.iter().find(|(_, words)| words.iter().any(|word| frame.contains(word)));
        if let Some((moment, _)) = named {
            found.moment = Some(*moment);
            return;
        }
    }
    if !all.is_empty() {
        found.moment = Some(Moment::Forward);
    }
}
