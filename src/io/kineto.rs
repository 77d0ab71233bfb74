//! A Kineto trace (Chrome's JSON) as what a rank did, in integer nanoseconds; Chrome traces of whole jobs too, whose
//! events are the operations of workers.
//!
//! Names and fields are those of PyTorch's profiler: kernels under `kernel`, copies under `gpu_memcpy` and
//! `gpu_memset`, launches under `cuda_runtime` and `cuda_driver` with the `correlation` of what they launch,
//! collectives as arguments of the kernel or of the `record_param_comms` that launched it.

use crate::json_scan::{JsonEvent, Scanner};
use shardscope_core::diagnose::{AttentionPass, GpuWork, ProcessGroup, RankTrace, StepMark, WorkKind, WorkerOp};
use shardscope_core::issue::Issue;
use shardscope_core::t;
use shardscope_core::time::KernelClass;
use std::collections::HashMap;

/// Kernels that are kept at most.
const MAX_KERNELS: usize = 4_000_000;
/// Process groups that are kept at most: an index of two bytes names them.
const MAX_GROUPS: usize = 60_000;
/// Different names whose class is remembered.
const MAX_NAMES: usize = 100_000;

/// The event being read.
#[derive(Default)]
struct OpenEvent {
    name: String,
    category: String,
    phase: String,
    start: i64,
    length: i64,
    device: u32,
    process: i64,
    thread: i64,
    correlation: u64,
    external: u64,
    collective: String,
    group: String,
    described: String,
    ranks: String,
    size: u64,
    inward: u64,
    outward: u64,
    width: u64,
    bytes: u64,
    step: Option<u64>,
    microbatch: i64,
    chunk: u64,
    thread_name: String,
}

/// A collective as arguments name it.
#[derive(Clone, Copy, Default)]
struct Collective {
    class: Option<KernelClass>,
    group: Option<u16>,
    bytes: u64,
}

/// A kernel or copy in half of the room of a [`GpuWork`]: there are millions of them.
#[derive(Clone, Copy)]
struct RawKernel {
    start: i64,
    /// Nanoseconds; a longer one has its length in its rest.
    length: u32,
    device: u32,
    /// CUPTI and roctracer count both in 32 bits; a larger one links to nothing.
    correlation: u32,
    external: u32,
    /// Place of its [`KernelRest`]; [`NO_REST`] of most.
    rest: u32,
    work: WorkKind,
    attention: Option<AttentionPass>,
    /// Its name does not say the operation.
    unsaid: bool,
}

/// Fields that only messages, copies and very long kernels have.
struct KernelRest {
    length: i64,
    group: Option<u16>,
    bytes: u64,
}

const NO_REST: u32 = u32::MAX;

/// Kernels in lists of equal length: what is read is never copied for one more, and lists are given back one by one.
#[derive(Default)]
struct KernelLists {
    lists: Vec<Vec<RawKernel>>,
    length: usize,
}

/// Kernels of one list.
const LIST: usize = 16_384;

impl KernelLists {
    fn push(&mut self, kernel: RawKernel) {
        match self.lists.last_mut() {
            Some(last) if last.len() < LIST => last.push(kernel),
            _ => {
                let mut list = Vec::with_capacity(LIST);
                list.push(kernel);
                self.lists.push(list);
            }
        }
        self.length += 1;
    }

    fn iter(&self) -> impl Iterator<Item = &RawKernel> {
        self.lists.iter().flatten()
    }
}

/// A process group of `distributedInfo`, being read.
#[derive(Default)]
struct OpenGroup {
    group: ProcessGroup,
    ranks: Vec<u64>,
}

/// A call of the host that launches: twice its start, and one if it launches a graph. There are millions of them.
#[derive(Clone, Copy)]
struct Launch(i64);

impl Launch {
    fn new(start: i64, graph: bool) -> Self {
        Self(start.saturating_mul(2) | i64::from(graph))
    }

    fn start(self) -> i64 {
        self.0 >> 1
    }

    fn is_graph(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A trace as far as it was read.
#[derive(Default)]
pub(crate) struct KinetoReader {
    open: OpenEvent,
    open_group: OpenGroup,
    kernels: KernelLists,
    rests: Vec<KernelRest>,
    /// By correlation.
    launches: HashMap<u32, Launch>,
    names: HashMap<String, (KernelClass, bool, Option<AttentionPass>)>,
    groups: HashMap<String, u16>,
    collectives: HashMap<u64, Collective>,
    /// Begin and end of the host's call of each collective: for kernels that no identifier links to theirs.
    enclosing: Vec<(i64, i64, Collective)>,
    trace: RankTrace,
    ops: Vec<(i64, i64, WorkerOp)>,
    threads: HashMap<(i64, i64), u64>,
    events: u64,
    too_many_groups: bool,
    backwards: u64,
    full: bool,
}

/// Nanoseconds of a number of microseconds, to the last digit that the text has.
fn nanoseconds(text: &str) -> Option<i64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    if text.contains(['e', 'E']) {
        let micro: f64 = text.parse().ok()?;
        #[allow(clippy::cast_possible_truncation)] // checked
        return (micro.abs() < 9e15).then_some((micro * 1e3) as i64);
    }
    let negative = whole.starts_with('-');
    let whole: i64 = whole.parse().ok()?;
    let mut thousandths = 0i64;
    for at in 0..3 {
        let digit = rest.as_bytes().get(at).copied().filter(u8::is_ascii_digit).map_or(0, |digit| digit - b'0');
        thousandths = thousandths * 10 + i64::from(digit);
    }
    whole.checked_mul(1000)?.checked_add(if negative { -thousandths } else { thousandths })
}

/// Adds a value to a list of millions, which grows by a quarter: twice as long it would hold more room than values.
fn pushed(list: &mut Vec<i64>, value: i64) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 4).max(1024));
    }
    list.push(value);
}

/// An id that links events; none of 0, which links nothing.
fn id(number: u64) -> Option<u32> {
    u32::try_from(number).ok().filter(|id| *id > 0)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count, saturating
fn count(number: f64) -> u64 {
    number.max(0.0) as u64
}

impl KinetoReader {
    pub fn take(&mut self, scanner: &Scanner, key: &str, event: JsonEvent) {
        let depth = scanner.depth();
        // {"traceEvents": [{...}]}, or the list alone, whose brackets have no keys.
        let keyless = |levels: usize| (0..levels).all(|up| scanner.above(up).is_empty());
        let in_list = depth == 2 && scanner.above(0) == "traceEvents" || depth == 1 && keyless(1) && key.is_empty();
        let in_event = depth == 3 && scanner.above(1) == "traceEvents" || depth == 2 && keyless(2);
        let in_arguments = scanner.above(0) == "args"
            && (depth == 4 && scanner.above(2) == "traceEvents"
                || depth == 3 && scanner.above(1).is_empty() && scanner.above(2).is_empty());
        match event {
            JsonEvent::Begin if in_list => self.open = OpenEvent { width: 0, ..OpenEvent::default() },
            JsonEvent::End if in_list => self.close(),
            JsonEvent::Text(text) if in_event => self.text(key, text),
            JsonEvent::Number(number) if in_event => self.number(key, number, scanner.token()),
            JsonEvent::Text(text) if in_arguments => self.argument(key, text),
            JsonEvent::Number(number) if in_arguments => self.argument_number(key, number),
            JsonEvent::Begin if in_arguments && matches!(key, "Input Dims" | "Input type") => {
                self.trace.with_stacks = true;
            }
            _ => self.header(scanner, key, event),
        }
    }

    /// What is beside the events: the GPU, the rank, its groups.
    fn header(&mut self, scanner: &Scanner, key: &str, event: JsonEvent) {
        let depth = scanner.depth();
        match event {
            JsonEvent::Text(text) if key == "name" && depth == 3 && scanner.above(1) == "deviceProperties" => {
                self.trace.device.get_or_insert_with(|| text.to_owned());
            }
            JsonEvent::Number(number) if depth == 2 && scanner.above(0) == "distributedInfo" => match key {
                "rank" => self.trace.rank = Some(count(number)),
                "world_size" => self.trace.world = Some(count(number)),
                _ => {}
            },
            JsonEvent::Begin if depth == 3 && scanner.above(0) == "pg_config" => self.open_group = OpenGroup::default(),
            JsonEvent::Text(text) if depth == 4 && scanner.above(1) == "pg_config" => match key {
                "pg_name" => text.clone_into(&mut self.open_group.group.name),
                "pg_desc" => text.clone_into(&mut self.open_group.group.description),
                _ => {}
            },
            JsonEvent::Number(number) if depth == 4 && scanner.above(1) == "pg_config" && key == "pg_size" => {
                self.open_group.group.size = count(number);
            }
            JsonEvent::Number(number)
                if depth == 5 && scanner.above(0) == "ranks" && self.open_group.ranks.len() < 2 =>
            {
                self.open_group.ranks.push(count(number));
            }
            JsonEvent::End if depth == 3 && scanner.above(0) == "pg_config" => {
                let OpenGroup { mut group, ranks } = std::mem::take(&mut self.open_group);
                if let [first, second] = ranks[..] {
                    group.stride = second.abs_diff(first);
                }
                self.group(group);
            }
            _ => {}
        }
    }

    fn group(&mut self, group: ProcessGroup) -> Option<u16> {
        if let Some(known) = self.groups.get(&group.name) {
            let at = *known;
            if let Some(held) = self.trace.groups.get_mut(usize::from(at)) {
                if held.description.is_empty() {
                    held.description = group.description;
                }
                if held.size == 0 {
                    (held.size, held.stride) = (group.size, group.stride);
                }
            }
            return Some(at);
        }
        if self.trace.groups.len() >= MAX_GROUPS {
            self.too_many_groups = true;
            return None;
        }
        let at = u16::try_from(self.trace.groups.len()).ok()?;
        self.groups.insert(group.name.clone(), at);
        self.trace.groups.push(group);
        Some(at)
    }

    fn text(&mut self, key: &str, text: &str) {
        match key {
            "name" => text.clone_into(&mut self.open.name),
            "cat" => text.clone_into(&mut self.open.category),
            "ph" => text.clone_into(&mut self.open.phase),
            _ => {}
        }
    }

    fn number(&mut self, key: &str, number: f64, token: &str) {
        match key {
            "ts" => self.open.start = nanoseconds(token).unwrap_or_default(),
            "dur" => self.open.length = nanoseconds(token).unwrap_or_default(),
            #[allow(clippy::cast_possible_truncation)] // an id
            "pid" => self.open.process = number as i64,
            #[allow(clippy::cast_possible_truncation)] // an id
            "tid" => self.open.thread = number as i64,
            _ => {}
        }
    }

    fn argument(&mut self, key: &str, text: &str) {
        match key {
            "Collective name" => text.clone_into(&mut self.open.collective),
            "Process Group Name" => text.clone_into(&mut self.open.group),
            "Process Group Description" => text.clone_into(&mut self.open.described),
            "Process Group Ranks" => text.clone_into(&mut self.open.ranks),
            "dtype" => {
                let lower = text.to_ascii_lowercase();
                self.open.width = match () {
                    () if lower.contains("double") || lower.contains("long") || lower.contains("int64") => 8,
                    () if lower.contains("bfloat16") || lower.contains("half") || lower.contains("short") => 2,
                    () if lower.contains("byte")
                        || lower.contains("char")
                        || lower.contains('8')
                        || lower == "bool" =>
                    {
                        1
                    }
                    () => 4,
                };
            }
            "name" => text.clone_into(&mut self.open.thread_name),
            "Call stack" => self.trace.with_stacks = true,
            _ => {}
        }
    }

    fn argument_number(&mut self, key: &str, number: f64) {
        let open = &mut self.open;
        match key {
            "device" => open.device = u32::try_from(count(number)).unwrap_or_default(),
            "correlation" => open.correlation = count(number),
            "External id" => open.external = count(number),
            "Group size" => open.size = count(number),
            "In msg nelems" => open.inward = count(number),
            "Out msg nelems" => open.outward = count(number),
            "bytes" => open.bytes = count(number),
            "step" => open.step = Some(count(number)),
            #[allow(clippy::cast_possible_truncation)] // a number of a micro-batch
            "mb_id" => open.microbatch = number as i64,
            "model_chunk" => open.chunk = count(number),
            _ => {}
        }
    }

    /// The collective of the open event's arguments.
    fn collective(&mut self) -> Collective {
        let open = &self.open;
        let class = KernelClass::of_collective(&open.collective);
        if open.collective.is_empty() && open.group.is_empty() {
            return Collective::default();
        }
        // An all-gather counts what comes out, all others what goes in.
        let elements = if class == Some(KernelClass::AllGather) { open.outward } else { open.inward };
        let bytes = elements.saturating_mul(open.width.max(1));
        let mut ranks = open.ranks.trim_matches(['[', ']']).split(',').map(str::trim);
        let pair = ranks
            .next()
            .and_then(|rank| rank.parse::<u64>().ok())
            .zip(ranks.next().and_then(|rank| rank.parse::<u64>().ok()));
        let group = ProcessGroup {
            name: open.group.clone(),
            description: open.described.clone(),
            size: open.size,
            stride: pair.map_or(0, |(first, second)| second.abs_diff(first)),
        };
        let group = if group.name.is_empty() { None } else { self.group(group) };
        Collective { class, group, bytes }
    }

    fn close(&mut self) {
        self.events += 1;
        if self.open.phase == "M" {
            if self.open.name == "thread_name"
                && let Some(rank) = self.open.thread_name.strip_prefix("PP rank ")
                && let Some(rank) = rank.split(',').next().and_then(|rank| rank.trim().parse().ok())
            {
                self.threads.insert((self.open.process, self.open.thread), rank);
            }
            return;
        }
        if self.open.length < 0 {
            self.backwards += 1;
            return;
        }
        // "Kernel" in PyTorch 1.8.
        let category = self.open.category.to_ascii_lowercase();
        let (start, end) = (self.open.start, self.open.start.saturating_add(self.open.length));
        match &*category {
            "kernel" | "gpu_memcpy" | "gpu_memset" if self.open.length > 0 => self.kernel(&category),
            "cuda_runtime" | "cuda_driver" | "hip_runtime" | "xpu_runtime" => {
                pushed(&mut self.trace.calls, start);
                let name = &self.open.name;
                if let Some(correlation) = id(self.open.correlation) {
                    let graph = name.contains("GraphLaunch");
                    self.launches.entry(correlation).or_insert(Launch::new(start, graph));
                }
                if matches!(&**name, "cudaMalloc" | "hipMalloc") {
                    self.trace.reserved.push(start);
                }
                if name.contains("Synchronize") || matches!(&**name, "cudaMemcpy" | "hipMemcpy" | "hipMemcpyWithStream")
                {
                    self.trace.synchronised.push(end);
                }
            }
            "user_annotation" | "cpu_op" => self.host(&category, start, end),
            "python_function" => {
                self.trace.with_stacks = true;
            }
            "forward-compute" | "backward-compute" => self.operation(start, end),
            _ => {}
        }
    }

    fn host(&mut self, category: &str, start: i64, end: i64) {
        if category == "cpu_op" {
            pushed(&mut self.trace.calls, start);
        }
        if let Some(number) = self.open.name.strip_prefix("ProfilerStep#") {
            if category == "user_annotation" {
                let number = number.parse().unwrap_or_default();
                self.trace.marks.push(StepMark { number, begin: start, end });
            }
        } else if self.open.name.contains("DataLoader") && self.open.name.contains("__next__") {
            self.trace.loading.push((start, end));
        } else if self.open.name == "record_param_comms" || self.open.name.starts_with("nccl:") {
            let mut collective = self.collective();
            if collective.class.is_none() {
                collective.class = self.open.name.strip_prefix("nccl:").and_then(KernelClass::of_collective);
            }
            if collective.class.is_some() || collective.group.is_some() {
                if self.open.external > 0 {
                    self.collectives.insert(self.open.external, collective);
                }
                self.enclosing.push((start, end, collective));
            }
        }
    }

    fn kernel(&mut self, category: &str) {
        if self.kernels.length >= MAX_KERNELS {
            self.full = true;
            return;
        }
        let OpenEvent { start, length, device, correlation, external, .. } = self.open;
        let [correlation, external] = [correlation, external].map(|number| id(number).unwrap_or_default());
        let mut one = RawKernel {
            start,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            device,
            correlation,
            external,
            rest: NO_REST,
            work: WorkKind::Transfer,
            attention: None,
            unsaid: false,
        };
        let mut rest = KernelRest { length, group: None, bytes: self.open.bytes };
        if category == "kernel" {
            let (class, known, attention) = self.class();
            one.attention = attention;
            one.work = WorkKind::Kernel(class);
            self.trace.kernels_ns += length;
            if !known {
                self.trace.unknown_ns += length;
            }
            rest.bytes = 0;
            if class.is_message() {
                let collective = self.collective();
                (rest.group, rest.bytes) = (collective.group, collective.bytes);
                if let Some(said) =
                    collective.class.filter(|_| class < KernelClass::Dispatch || class == KernelClass::Message)
                {
                    one.work = WorkKind::Kernel(said);
                }
                one.unsaid = collective.class.is_none();
            }
        } else if self.open.name.contains("DtoH") {
            self.trace.to_host_bytes += self.open.bytes;
        }
        if rest.group.is_some() || rest.bytes > 0 || i64::from(one.length) != length {
            one.rest = u32::try_from(self.rests.len()).unwrap_or(NO_REST);
            self.rests.push(rest);
        }
        self.kernels.push(one);
    }

    /// Class of the open event's kernel; names repeat.
    fn class(&mut self) -> (KernelClass, bool, Option<AttentionPass>) {
        if let Some(known) = self.names.get(&self.open.name) {
            return *known;
        }
        let found = KernelClass::of(&self.open.name);
        let attention = if found.class == KernelClass::Attention { AttentionPass::of(&self.open.name) } else { None };
        let known = (found.class, found.known, attention);
        if self.names.len() < MAX_NAMES {
            self.names.insert(self.open.name.clone(), known);
        }
        known
    }

    fn operation(&mut self, start: i64, end: i64) {
        if self.ops.len() >= MAX_KERNELS {
            self.full = true;
            return;
        }
        let open = &self.open;
        let seconds = |ns: i64| ns as f64 * 1e-9;
        let op = WorkerOp {
            step: open.step.unwrap_or_default(),
            dp: u64::try_from(open.process).unwrap_or_default(),
            pp: 0,
            microbatch: u64::try_from(open.microbatch.max(0)).unwrap_or_default() + (open.chunk << 32),
            backward: open.category.starts_with("backward"),
            start: seconds(start),
            end: seconds(end),
        };
        self.ops.push((open.process, open.thread, op));
    }

    /// Nanoseconds of a kernel.
    fn length(&self, kernel: &RawKernel) -> i64 {
        self.rests.get(kernel.rest as usize).map_or(i64::from(kernel.length), |rest| rest.length)
    }

    /// The issue of a trace of too many kernels.
    pub fn overflow(&self) -> Option<Issue> {
        self.full.then(|| Issue::error("files", t!("more than 4 million kernels: record fewer steps")))
    }

    /// The operations of workers, where it is a job's trace.
    pub fn operations(&mut self) -> Option<Vec<WorkerOp>> {
        if self.ops.is_empty() || self.kernels.length > 0 {
            return None;
        }
        let threads = &self.threads;
        let ops = self.ops.drain(..).map(|(process, thread, op)| WorkerOp {
            pp: threads.get(&(process, thread)).copied().unwrap_or_default(),
            ..op
        });
        Some(ops.collect())
    }

    /// The trace, with what could not be read of it.
    ///
    /// # Errors
    /// A trace without kernels of a GPU.
    pub fn finish(mut self, complete: bool) -> Result<(RankTrace, Vec<Issue>), Issue> {
        if self.kernels.length == 0 {
            return Err(if self.events == 0 && !complete {
                Issue::error("files", t!("the trace ends before its first event: it was cut off"))
            } else {
                Issue::error("files", t!("the trace has no kernels of a GPU: record with ProfilerActivity.CUDA"))
            });
        }
        let mut notes = self.notes(complete);
        let (busiest, own) = self.busiest(&mut notes);
        self.enclosing.sort_by_key(|(start, ..)| *start);
        let (launches, collectives, enclosing) = (&self.launches, &self.collectives, &self.enclosing);
        let enclosed = |at: i64| {
            let last = enclosing.partition_point(|(start, ..)| *start <= at);
            enclosing[..last].iter().rev().take(8).find(|(_, end, _)| at <= *end).map(|(.., collective)| *collective)
        };
        let rests = &self.rests;
        let as_work = |kernel: RawKernel| {
            let rest = rests.get(kernel.rest as usize);
            let mut work = GpuWork {
                start: kernel.start,
                end: kernel.start.saturating_add(rest.map_or(i64::from(kernel.length), |rest| rest.length)),
                work: kernel.work,
                launch: None,
                graphed: false,
                group: rest.and_then(|rest| rest.group),
                bytes: rest.map_or(0, |rest| rest.bytes),
                attention: kernel.attention,
            };
            if let Some(launch) = launches.get(&kernel.correlation).filter(|_| kernel.correlation > 0) {
                (work.launch, work.graphed) = (Some(launch.start()), launch.is_graph());
            }
            if kernel.unsaid
                && let Some(found) =
                    collectives.get(&u64::from(kernel.external)).copied().or_else(|| work.launch.and_then(enclosed))
            {
                work.group = work.group.or(found.group);
                work.bytes = work.bytes.max(found.bytes);
                if let (WorkKind::Kernel(class), Some(said)) = (work.work, found.class)
                    && (class == KernelClass::Message || class == KernelClass::SendRecv)
                {
                    work.work = WorkKind::Kernel(said);
                }
            }
            work
        };
        let mut activities = Vec::with_capacity(own);
        let kernels = std::mem::take(&mut self.kernels).lists.into_iter().flatten();
        activities.extend(kernels.filter(|kernel| Some(kernel.device) == busiest).map(as_work));
        self.trace.activities = activities;
        Ok((self.trace.sorted(), notes))
    }

    /// What could not be read.
    fn notes(&self, complete: bool) -> Vec<Issue> {
        let mut notes = Vec::new();
        if !complete {
            notes.push(Issue::warning("files", t!("the file ends in the middle: what stands before is read")));
        }
        if self.backwards > 0 {
            notes.push(Issue::warning(
                "files",
                t!("events that end before they begin are left out: {count}", count = self.backwards),
            ));
        }
        if self.too_many_groups {
            notes.push(Issue::warning(
                "files",
                t!("more than {most} process groups: messages of the others have no group", most = MAX_GROUPS),
            ));
        }
        notes
    }

    /// The GPU whose kernels take longest, and their number; a note where there are kernels of others.
    fn busiest(&self, notes: &mut Vec<Issue>) -> (Option<u32>, usize) {
        let mut devices: HashMap<u32, (usize, i64)> = HashMap::new();
        for kernel in self.kernels.iter() {
            let (count, time) = devices.entry(kernel.device).or_default();
            *count += 1;
            *time += self.length(kernel);
        }
        let busiest =
            devices.iter().max_by_key(|(device, (_, time))| (*time, u32::MAX - **device)).map(|(device, _)| *device);
        if devices.len() > 1 {
            let device = u64::from(busiest.unwrap_or_default());
            notes.push(Issue::warning(
                "files",
                t!(
                    "kernels of {count} GPUs: those of GPU {device}, which is busiest, are read",
                    count = devices.len(),
                    device
                ),
            ));
        }
        (busiest, busiest.and_then(|device| devices.get(&device)).map_or(0, |(count, _)| *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel takes half of what it takes in the trace: a file of 1 GB has 1.4 million of them.
    #[test]
    fn a_kernel_that_was_read_takes_32_bytes() {
        assert_eq!(size_of::<RawKernel>(), 32);
    }

    /// Microseconds since 1970 with three decimals have more digits than a double holds.
    #[test]
    fn times_keep_every_nanosecond() {
        assert_eq!(nanoseconds("1682725898082228.123"), Some(1_682_725_898_082_228_123));
        assert_eq!(nanoseconds("4.96"), Some(4960));
        assert_eq!(nanoseconds("10"), Some(10_000));
        assert_eq!(nanoseconds("-0.5"), Some(-500));
        assert_eq!(nanoseconds("1e3"), Some(1_000_000));
        assert_eq!(nanoseconds("x"), None);
    }
}
