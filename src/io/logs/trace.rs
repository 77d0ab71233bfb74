//! A Kineto trace (Chrome's JSON): where the GPU's time of a step goes.
//!
//! In one `ProfilerStep#N`: compute is the union of kernels that do not communicate, exposed communication the union of
//! those that do without that of compute, idle what is left. Source: PyTorch's profiler; classes of kernels by their
//! names as `HolisticTraceAnalysis` and `TraceLens` sort them.

use super::json_scan::{Event, Scanner};
use super::reading::{Reading, Steps};
use super::steps::median;
use shardscope_core::calibrate::Components;
use shardscope_core::issue::Issue;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::run::{MULTIPLIERS, Multiplier, Run, Scenario};
use shardscope_core::t;
use shardscope_core::time::executed_flops;
use shardscope_core::units::{Seconds, show_seconds, significant};

/// Kernels that are kept at most: 16 bytes each.
const MAX_KERNELS: usize = 8_000_000;

/// Kind of work of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Messages between GPUs.
    Communication,
    Attention,
    /// Matrix products.
    Gemm,
    Optimizer,
    /// Everything else.
    Elementwise,
}

const CLASSES: [Class; 5] = [Class::Communication, Class::Attention, Class::Gemm, Class::Optimizer, Class::Elementwise];

impl Class {
    /// By the kernel's name; the first that matches.
    pub fn of(name: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if lower.starts_with("nccl") || has(&["userbuffers", "deep_ep", "nvshmem"]) {
            Self::Communication
        } else if has(&["flash_", "fmha", "sdpa", "flash::", "flashattn"]) {
            Self::Attention
        } else if has(&["nvjet_", "gemm", "cutlass", "cublas", "ampere_", "xmma", "cijk_"]) {
            Self::Gemm
        } else if has(&["multi_tensor_apply", "adam"]) {
            Self::Optimizer
        } else {
            Self::Elementwise
        }
    }
}

#[derive(Clone, Copy)]
struct Kernel {
    start: f64,
    length: f32,
    class: u8,
}

/// The event being read.
#[derive(Default)]
struct Open {
    name: String,
    category: String,
    start: f64,
    length: f64,
}

/// A trace as far as it was read: kernels and steps.
#[derive(Default)]
pub(crate) struct Trace {
    open: Open,
    kernels: Vec<Kernel>,
    steps: Vec<(f64, f64)>,
    device: Option<String>,
    ranks: Option<f64>,
    full: bool,
}

impl Trace {
    pub fn take(&mut self, scanner: &Scanner, key: &str, event: Event) {
        let depth = scanner.depth();
        // {"traceEvents": [{...}]}, or the list alone.
        let in_event = depth == 3 && scanner.above(1) == "traceEvents" || depth == 2 && scanner.above(1).is_empty();
        let in_list = depth == 2 && scanner.above(0) == "traceEvents" || depth == 1;
        match event {
            Event::Text(text) if key == "name" && depth == 3 && scanner.above(1) == "deviceProperties" => {
                self.device.get_or_insert_with(|| text.to_owned());
            }
            Event::Number(number) if key == "world_size" && scanner.above(0) == "distributedInfo" => {
                self.ranks = Some(number);
            }
            Event::Begin if in_list => self.open = Open::default(),
            Event::End if in_list => self.close(),
            Event::Text(text) if in_event => match key {
                "name" => text.clone_into(&mut self.open.name),
                "cat" => text.clone_into(&mut self.open.category),
                _ => {}
            },
            Event::Number(number) if in_event => match key {
                "ts" => self.open.start = number,
                "dur" => self.open.length = number,
                _ => {}
            },
            _ => {}
        }
    }

    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        // "Kernel" in PyTorch 1.8.
        let category = open.category.to_ascii_lowercase();
        if open.length <= 0.0 {
            return;
        }
        if matches!(&*category, "kernel" | "gpu_memcpy" | "gpu_memset") {
            if self.kernels.len() >= MAX_KERNELS {
                self.full = true;
                return;
            }
            let class = if category == "kernel" { Class::of(&open.name) } else { Class::Elementwise };
            #[allow(clippy::cast_possible_truncation)] // microseconds of a kernel
            self.kernels.push(Kernel { start: open.start, length: open.length as f32, class: class as u8 });
        } else if open.name.starts_with("ProfilerStep#") && category == "user_annotation" {
            self.steps.push((open.start, open.start + open.length));
        }
    }

    /// The issue of a trace of too many kernels.
    pub fn overflow(&self) -> Option<Issue> {
        self.full.then(|| Issue::error("", t!("more than 8 million kernels: record fewer steps")))
    }

    /// The reading.
    ///
    /// # Errors
    /// A trace without kernels of a GPU.
    pub fn finish(mut self, present: &Run) -> Result<Reading, Vec<Issue>> {
        if self.kernels.is_empty() {
            let message = t!("the trace has no kernels of a GPU: record with ProfilerActivity.CUDA");
            return Err(vec![Issue::error("", message)]);
        }
        self.kernels.sort_by(|a, b| a.start.total_cmp(&b.start));
        let mut reading = Reading::new(t!("a trace of PyTorch's profiler"), present);
        reading.assumed.push(t!("model, cluster and layout, as on this page: a trace has none"));
        if self.steps.is_empty() {
            let end = self.kernels.iter().map(|kernel| kernel.start + f64::from(kernel.length));
            let end = end.fold(0.0, f64::max);
            self.steps.push((self.kernels[0].start, end));
            reading.notes.push(t!("no ProfilerStep in it: all of it is taken as one step"));
        }
        let steps: Vec<Times> = self.steps.iter().map(|step| self.times(*step)).collect();
        let middle = |of: &dyn Fn(&Times) -> f64| {
            let mut times: Vec<f64> = steps.iter().map(of).collect();
            times.sort_by(f64::total_cmp);
            median(&times).unwrap_or(0.0)
        };
        let whole = middle(&|times| times.whole);
        let class = |class: Class| middle(&|times: &Times| times.classes[class as usize]);
        let parts: [(Message, f64); 8] = [
            (t!("length of a step"), whole),
            (t!("compute"), middle(&|times| times.compute)),
            (t!("communication that nothing hides"), middle(&|times| times.exposed)),
            (t!("nothing runs"), middle(&|times| times.idle)),
            (t!("matrix products"), class(Class::Gemm)),
            (t!("attention"), class(Class::Attention)),
            (t!("optimizer"), class(Class::Optimizer)),
            (t!("other kernels"), class(Class::Elementwise)),
        ];
        for (words, micro) in parts {
            let figure = show_seconds(Seconds(micro * 1e-6));
            reading.measured.push((words, verbatim(figure)));
        }
        reading.step = Some(Steps { seconds: whole * 1e-6, spread: 0.0, used: steps.len(), left_out: 0 });
        if let Some(ranks) = self.ranks
            && (ranks - reading.run.gpus as f64).abs() > 0.5
        {
            let gpus = reading.run.gpus;
            reading.notes.push(t!(
                "the trace is of {ranks} GPUs, the run of {gpus}",
                ranks = format!("{ranks:.0}"),
                gpus
            ));
        }
        if let Some(device) = self.device {
            reading.used.push((verbatim("deviceProperties"), verbatim(device)));
        }
        let products = (class(Class::Gemm) + class(Class::Attention)) * 1e-6;
        if let (Ok(scenario), true) = (Scenario::new(&reading.run), products > 0.0) {
            let rate = executed_flops(&scenario) / reading.run.gpus as f64 / products / 1e12;
            let text = t!("{rate} TFLOP/s, by the operations of the model", rate = significant(rate, 3));
            reading.measured.push((t!("rate of GEMM and attention"), text));
        }
        // The time of a kind of work determines more constants than the step alone.
        if let Ok(model) = Components::of(&reading.run, &[0.0; MULTIPLIERS]) {
            for (kind, micro) in [
                (Multiplier::Gemm, class(Class::Gemm) + class(Class::Attention)),
                (Multiplier::Elementwise, class(Class::Optimizer) + class(Class::Elementwise)),
            ] {
                let ratio = micro * 1e-6 / model.seconds_of(kind);
                if (0.25..4.0).contains(&ratio) {
                    reading.ratios.push((kind, ratio));
                }
            }
        }
        Ok(reading)
    }

    /// The times of one step, microseconds.
    fn times(&self, (begin, end): (f64, f64)) -> Times {
        let mut times = Times { whole: end - begin, ..Times::default() };
        let (mut compute, mut communication) = (Union::default(), Union::default());
        let mut both = Union::default();
        let first = self.kernels.partition_point(|kernel| kernel.start < begin);
        for kernel in self.kernels[first..].iter().take_while(|kernel| kernel.start < end) {
            let length = f64::from(kernel.length);
            let stop = (kernel.start + length).min(end);
            let class = CLASSES[usize::from(kernel.class)];
            times.classes[class as usize] += length;
            if class == Class::Communication {
                communication.add(kernel.start, stop);
            } else {
                compute.add(kernel.start, stop);
            }
            both.add(kernel.start, stop);
        }
        // |C \ W| = |C u W| - |W|.
        times.compute = compute.length;
        times.exposed = both.length - compute.length;
        times.idle = times.whole - both.length;
        times
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Times {
    whole: f64,
    compute: f64,
    exposed: f64,
    idle: f64,
    classes: [f64; CLASSES.len()],
}

/// The length of a union of intervals that come by their start.
#[derive(Default)]
struct Union {
    length: f64,
    end: f64,
}

impl Union {
    fn add(&mut self, start: f64, stop: f64) {
        if stop > self.end {
            self.length += stop - start.max(self.end);
            self.end = stop;
        }
    }
}
