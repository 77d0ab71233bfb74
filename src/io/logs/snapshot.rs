//! A memory snapshot of PyTorch (`torch.cuda.memory._snapshot()`) as JSON: peaks of what was allocated and reserved.
//!
//! The trace is a ring, so its curve begins where the segments at the end say: `start = end - Σ changes`; the peak is
//! the curve's maximum. Source: Megatron-Bridge's memory snapshot analysis; names of actions as in PyTorch.

use super::reading::Reading;
use crate::json_scan::{JsonEvent, Scanner};
use shardscope_core::calibrate::{MeasuredPeak, MemoryKind};
use shardscope_core::issue::Issue;
use shardscope_core::message::Message;
use shardscope_core::run::Run;
use shardscope_core::t;
use shardscope_core::units::{GIB, significant};
use std::collections::HashMap;

/// A curve of which only the sum and its maximum are kept.
#[derive(Clone, Copy, Default)]
struct Curve {
    sum: f64,
    highest: f64,
}

impl Curve {
    fn add(&mut self, change: f64) {
        self.sum += change;
        self.highest = self.highest.max(self.sum);
    }

    /// The peak of a curve that ends at `end`.
    fn peak(self, end: f64) -> f64 {
        end - self.sum + self.highest
    }
}

/// Where a block was allocated, by its frames.
#[derive(Clone, Copy, Default, PartialEq)]
enum AllocatedIn {
    /// Before training: weights, buffers, data.
    #[default]
    Loading,
    Forward,
    Backward,
    Optimizer,
}

/// Bytes by where they were allocated, in the order of [`AllocatedIn`].
type ByPlace = [f64; 4];

/// Blocks that are followed at most.
const MAX_BLOCKS: usize = 4_000_000;

#[derive(Clone, Copy, Default)]
struct Device {
    /// Bytes of live blocks that were allocated within the history, by place of allocation: now, and at the peak
    /// (`at_peak`).
    by_place: ByPlace,
    at_peak: ByPlace,
    allocated: Curve,
    reserved: Curve,
    allocated_at_end: f64,
    reserved_at_end: f64,
}

/// An event of the history, with what its frames say.
#[derive(Default)]
pub(super) struct SnapshotEvent {
    pub action: String,
    pub size: f64,
    pub address: f64,
    /// The latest of the places that its frames name.
    place: AllocatedIn,
    in_optimizer: bool,
}

impl SnapshotEvent {
    pub fn new(action: String, size: f64, address: f64) -> Self {
        Self { action, size, address, ..Self::default() }
    }

    /// Takes a text of a frame: its function or its file.
    pub fn frame(&mut self, key: &str, text: &str) {
        let is_optimizer = text.contains("/optim/") || text.contains("optimizer");
        match (key, text) {
            ("filename", _) => self.in_optimizer |= is_optimizer,
            ("name", "step" | "_init_group") => self.place = AllocatedIn::Optimizer,
            // What a backward pass computes again it calls by "forward" too.
            ("name", "backward" | "_engine_run_backward") if self.place != AllocatedIn::Optimizer => {
                self.place = AllocatedIn::Backward;
            }
            ("name", "forward") if self.place == AllocatedIn::Loading => self.place = AllocatedIn::Forward,
            _ => {}
        }
    }

    fn place(&self) -> AllocatedIn {
        match self.place {
            // A step of something else than an optimizer: a scheduler, the trainer's own loop.
            AllocatedIn::Optimizer if !self.in_optimizer => AllocatedIn::Loading,
            place => place,
        }
    }
}

/// A snapshot as far as it was read.
#[derive(Default)]
pub(crate) struct Snapshot {
    devices: Vec<Device>,
    /// The segment being read: device, total and allocated size.
    segment: (f64, f64, f64),
    /// The list of `device_traces` that is read, and the event in it.
    trace: usize,
    event: SnapshotEvent,
    /// Blocks that are alive, by device and address.
    alive: HashMap<(usize, u64), (f64, AllocatedIn)>,
    events: u64,
}

/// Devices of a node at most.
pub(super) const MAX_DEVICES: usize = 64;

impl Snapshot {
    /// The reading.
    ///
    /// # Errors
    /// A file that holds no memory.
    pub fn finish(self, present: &Run) -> Result<Reading, Vec<Issue>> {
        let mut reading = Reading::new(t!("a memory snapshot of PyTorch"), present);
        reading.assumed.push(t!("model, cluster and layout, as on this page: a snapshot has none"));
        let peaks = self.devices.iter().map(|device| {
            [
                device.allocated.peak(device.allocated_at_end),
                device.reserved.peak(device.reserved_at_end).max(device.reserved_at_end),
            ]
        });
        let most = peaks.fold([0.0f64; 2], |most, peak| [most[0].max(peak[0]), most[1].max(peak[1])]);
        if most[1] <= 0.0 {
            let message = t!("the snapshot holds no memory of a GPU");
            return Err(vec![Issue::error("", message)]);
        }
        let kinds: [(MemoryKind, Message); 2] = [
            (MemoryKind::Allocated, t!("peak of allocated memory")),
            (MemoryKind::Reserved, t!("peak of reserved memory")),
        ];
        for ((kind, words), bytes) in kinds.into_iter().zip(most) {
            let gib = bytes / GIB;
            let figure = t!("{gib} GiB", gib = significant(gib, 4));
            reading.measured.push((words, figure));
            reading.peaks.push(MeasuredPeak { kind, gib });
        }
        reading.measured.extend(self.at_peak());
        if self.events == 0 {
            reading.notes.push(t!("no history in it: this is the memory at its end, and the peak was higher"));
        }
        Ok(reading)
    }

    /// The memory of the fullest device at its peak, by place of allocation; empty without a history.
    fn at_peak(&self) -> Vec<(Message, Message)> {
        let peak = |device: &Device| device.allocated.peak(device.allocated_at_end);
        let Some(fullest) = self.devices.iter().max_by(|a, b| peak(a).total_cmp(&peak(b))) else {
            return Vec::new();
        };
        let known: f64 = fullest.at_peak.iter().sum();
        if known <= 0.0 {
            return Vec::new();
        }
        let [loading, forward, backward, optimizer] = fullest.at_peak;
        let rows = [
            (t!("of it allocated while loading"), loading),
            (t!("of it allocated in the forward pass"), forward),
            (t!("of it allocated in the backward pass"), backward),
            (t!("of it allocated by the optimizer"), optimizer),
            (t!("of it from before the history"), peak(fullest) - known),
        ];
        let rows = rows.into_iter().filter(|row| row.1 > 0.0);
        rows.map(|(words, bytes)| (words, t!("{gib} GiB", gib = significant(bytes / GIB, 3)))).collect()
    }

    /// Follows a block of device `at` that begins or ends, to tell what the peak is made of.
    fn block(&mut self, at: usize, begins: bool, event: &SnapshotEvent) {
        let (size, place) = (event.size, event.place());
        let address = shardscope_core::units::whole(event.address).unwrap_or(0);
        if begins {
            if self.alive.len() < MAX_BLOCKS && self.alive.insert((at, address), (size, place)).is_none() {
                let device = self.device(at);
                device.by_place[place as usize] += size;
                if device.allocated.sum >= device.allocated.highest {
                    device.at_peak = device.by_place;
                }
            }
        } else if let Some((size, place)) = self.alive.remove(&(at, address)) {
            self.device(at).by_place[place as usize] -= size;
        }
    }

    fn device(&mut self, at: usize) -> &mut Device {
        let at = at.min(MAX_DEVICES - 1);
        if self.devices.len() <= at {
            self.devices.resize(at + 1, Device::default());
        }
        &mut self.devices[at]
    }

    /// Takes a segment of the end.
    pub(super) fn segment(&mut self, device: f64, total: f64, allocated: f64) {
        let at = shardscope_core::units::whole(device).and_then(|at| usize::try_from(at).ok());
        let device = self.device(at.unwrap_or(0));
        device.reserved_at_end += total;
        device.allocated_at_end += allocated;
    }

    /// Takes an event of the history of device `at`.
    pub(super) fn event(&mut self, at: usize, event: &SnapshotEvent) {
        self.events += 1;
        let device = self.device(at);
        let size = event.size;
        match event.action.as_str() {
            "alloc" => device.allocated.add(size),
            "free_completed" => device.allocated.add(-size),
            "segment_alloc" | "segment_map" => device.reserved.add(size),
            "segment_free" | "segment_unmap" => device.reserved.add(-size),
            _ => {}
        }
        if matches!(event.action.as_str(), "alloc" | "free_completed") {
            self.block(at.min(MAX_DEVICES - 1), event.action == "alloc", event);
        }
    }

    pub fn take(&mut self, scanner: &Scanner, key: &str, event: JsonEvent) {
        let depth = scanner.depth();
        match event {
            // {"segments": [{"device": 0, "total_size": ...}]}: depth 3 inside a segment.
            JsonEvent::Number(number) if depth == 3 && scanner.above(1) == "segments" => match key {
                "device" => self.segment.0 = number,
                "total_size" => self.segment.1 = number,
                "allocated_size" => self.segment.2 = number,
                _ => {}
            },
            JsonEvent::End if depth == 2 && scanner.above(0) == "segments" => {
                let (device, total, allocated) = std::mem::take(&mut self.segment);
                self.segment(device, total, allocated);
            }
            // {"device_traces": [[{"action": "alloc", "size": ...}]]}: depth 4 inside an event.
            JsonEvent::Text(text) if depth == 4 && key == "action" && scanner.above(2) == "device_traces" => {
                text.clone_into(&mut self.event.action);
            }
            JsonEvent::Number(number) if depth == 4 && key == "size" && scanner.above(2) == "device_traces" => {
                self.event.size = number;
            }
            JsonEvent::Number(number) if depth == 4 && key == "addr" && scanner.above(2) == "device_traces" => {
                self.event.address = number;
            }
            JsonEvent::Text(text)
                if depth == 6 && scanner.above(1) == "frames" && scanner.above(4) == "device_traces" =>
            {
                self.event.frame(key, text);
            }
            JsonEvent::End if depth == 3 && scanner.above(1) == "device_traces" => {
                let event = std::mem::take(&mut self.event);
                self.event(self.trace, &event);
            }
            JsonEvent::End if depth == 2 && scanner.above(0) == "device_traces" => self.trace += 1,
            _ => {}
        }
    }
}
