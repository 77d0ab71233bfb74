//! Whether the sizes of a message can all be true, and what they say of the memory that this process does not count.

use super::{OutOfMemory, held as shown};
use crate::message::Message;
use crate::t;
use crate::units::GIB;

/// Sizes are printed with two decimals and are read one after the other: a sum may miss the capacity by this share.
const ALIKE: f64 = 0.02;

impl OutOfMemory {
    /// What PyTorch holds: allocated, and reserved without being in use.
    pub(super) fn held(&self) -> f64 {
        self.allocated.unwrap_or(0.0) + self.unused.unwrap_or(0.0)
    }

    /// A limit below the capacity that the failed allocation would have passed.
    pub(super) fn limit(&self) -> Option<f64> {
        let total = self.total.unwrap_or(f64::MAX);
        let is_passed = |allowed: &f64| self.held() + self.asked.unwrap_or(0.0) > (1.0 - ALIKE) * allowed;
        self.allowed.filter(|allowed| *allowed < 0.99 * total).filter(is_passed)
    }

    /// Memory that is neither free nor in any count of the message; none where the message does not tell.
    pub fn uncounted(&self) -> Option<f64> {
        let counted = self.process.unwrap_or(0.0).max(self.held()) + self.others.unwrap_or(0.0);
        let rest = self.total? - self.free? - counted;
        (rest > 0.0 && !self.driver_pool).then_some(rest)
    }

    /// Memory of no count, where it is more than a process takes beside PyTorch.
    pub(super) fn much_uncounted(&self) -> Option<f64> {
        let least = if self.process.is_some() { 0.1 } else { 0.15 };
        self.uncounted().zip(self.total).filter(|(rest, total)| *rest > least * total).map(|(rest, _)| rest)
    }

    /// Memory that other processes hold by the message's numbers, and much of no count.
    pub(super) fn elsewhere(&self) -> f64 {
        self.others.unwrap_or(0.0) + self.much_uncounted().unwrap_or(0.0)
    }

    /// The sizes that cannot all be true, in a sentence; none where they can.
    fn contradiction(&self) -> Option<Message> {
        let total = self.total?;
        let (held, free) = (self.held(), self.free.unwrap_or(0.0));
        let others = self.others.unwrap_or(0.0);
        let passes = |sum: f64, whole: f64| sum > (1.0 + ALIKE) * whole + 0.02 * GIB;
        let (shown_held, shown_free) = (shown("held by PyTorch", held), shown("free", free));
        let capacity = shown("total", total);
        if passes(free, total) {
            let (free, total) = (shown_free, capacity);
            return Some(t!("{free} free of {total} are more than there are.", free, total));
        }
        if passes(held + free, total) {
            let (held, free, total) = (shown_held, shown_free, capacity);
            return Some(t!(
                "{held} that PyTorch holds and {free} free are more than the {total} of the GPU.",
                held,
                free,
                total
            ));
        }
        let process = self.process?;
        if passes(held, process) {
            let held = shown_held;
            return Some(t!(
                "{held} that PyTorch holds are more than the {process} that its process has in use.",
                held,
                process = shown("of the process", process)
            ));
        }
        passes(process + others + free, total).then(|| {
            let used = shown("in use", process + others);
            let (free, total) = (shown_free, capacity);
            t!("{used} in use and {free} free are more than the {total} of the GPU.", used, free, total)
        })
    }

    /// PyTorch has more reserved without use than was asked for, while other sizes contradict each other: its own two
    /// counts are evidence of pieces that are too small.
    pub(super) fn is_of_pieces_alone(&self) -> bool {
        self.has_pieces() && self.contradiction().is_some()
    }

    fn has_pieces(&self) -> bool {
        self.unused.zip(self.asked).is_some_and(|(unused, asked)| unused > asked)
    }

    /// Why the sizes of the message are no evidence of a cause, in a sentence: they contradict each other, or as much
    /// was free as was asked for and no limit was passed. None where they may be evidence.
    pub fn doubt(&self) -> Option<Message> {
        if let Some(words) = self.contradiction() {
            if self.has_pieces() {
                return Some(t!(
                    "The sizes of the message do not add up: {words} What follows is of PyTorch's own counts alone.",
                    words
                ));
            }
            return Some(t!("The sizes of the message do not add up: {words} No cause is derived from them.", words));
        }
        let (asked, free) = self.asked.zip(self.free).filter(|(asked, free)| asked <= free)?;
        if self.limit().is_some() {
            return None;
        }
        Some(t!(
            "{asked} were asked for while {free} were free: by its sizes the GPU was not full. A limit that the \
                message does not print, or memory that was freed before it was written, would explain that. No cause \
                is derived from its sizes.",
            asked = shown("asked for", asked),
            free = shown("free", free)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message with sizes in GiB: asked for, capacity, free, allocated, reserved without use.
    fn message([asked, total, free, allocated, unused]: [f64; 5]) -> OutOfMemory {
        let gib = |size: f64| Some(size * GIB);
        let (asked, total, free) = (gib(asked), gib(total), gib(free));
        OutOfMemory { asked, total, free, allocated: gib(allocated), unused: gib(unused), ..OutOfMemory::default() }
    }

    /// Parts of a GPU of 80 GiB that add up to no more than it are in no doubt; 5 GiB more than it has are.
    #[test]
    fn parts_that_are_more_than_the_whole_are_said() {
        for part in 1..8 {
            let allocated = 10.0 * f64::from(part);
            let sizes = [4.0, 80.0, 1.0, allocated, 79.0 - allocated];
            assert_eq!(message(sizes).doubt(), None, "{sizes:?}");
            let more = [4.0, 80.0, 1.0, allocated, 84.0 - allocated];
            let words = message(more).doubt().unwrap().to_string();
            assert!(words.contains("84.0 GiB") && words.contains("1.00 GiB") && words.contains("80.0 GiB"), "{words}");
        }
        let process = OutOfMemory { process: Some(30.0 * GIB), ..message([4.0, 80.0, 1.0, 40.0, 2.0]) };
        assert!(process.doubt().unwrap().to_string().contains("42.0 GiB"));
        // What is held, free and of no count is the GPU, whichever count is wrong.
        assert!((process.uncounted().unwrap() / GIB - (80.0 - 1.0 - 42.0)).abs() < 1e-6);
        let free = message([4.0, 16.0, 85.0, 2.0, 1.0]).doubt().unwrap().to_string();
        assert!(free.contains("85.0 GiB") && free.contains("16.0 GiB"), "{free}");
    }

    /// As much free as asked for is a full GPU only by a limit that is passed; memory of no count is the difference.
    #[test]
    fn a_gpu_with_room_is_not_full_but_by_a_limit() {
        let with_room = message([2.0, 80.0, 30.0, 9.0, 0.5]);
        assert!(with_room.doubt().unwrap().to_string().contains("was not full"));
        assert!((with_room.uncounted().unwrap() / GIB - 40.5).abs() < 1e-6);
        let limited = OutOfMemory { allowed: Some(10.0 * GIB), ..with_room.clone() };
        assert_eq!((limited.doubt(), limited.limit()), (None, Some(10.0 * GIB)));
        let far = OutOfMemory { allowed: Some(50.0 * GIB), ..with_room };
        assert!(far.doubt().is_some() && far.limit().is_none());
    }
}
