//! The memory snapshot of PyTorch as Python's pickle writes it: what `torch.cuda.memory._dump_snapshot` makes.
//!
//! A pickle is a program for a stack machine. Only what makes numbers, texts, lists and dictionaries is run here; an
//! instruction that would import or call something is refused, so that no file can make this program do anything.
//! `serde-pickle` reads a whole file into one tree before anything can be taken from it: of a snapshot of 500 MB
//! several GB. Here each event is forgotten once it was counted.
//!
//! Source: Python's `pickletools` (opcodes of protocols 2 to 5); how batches are written, `Modules/_pickle.c`
//! `batch_list_exact` and `batch_dict_exact`.

use super::snapshot::{MAX_DEVICES, Snapshot, SnapshotEvent};
use shardscope_core::issue::Issue;
use shardscope_core::message::verbatim;
use shardscope_core::t;

/// Bytes of a text that are kept.
const MAX_TEXT: usize = 256;
/// Objects, texts and places on the stack that are held at once, at most.
const MAX_HELD: usize = 12_000_000;
/// Bytes of one instruction that wait for the rest of it, at most.
const MAX_WAITING: usize = 1 << 20;

/// A value on the machine's stack.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PickleItem {
    Nothing,
    Mark,
    Number(f64),
    /// Place in the texts.
    Text(u32),
    /// Place in the lists.
    List(u32),
    /// Place in the dictionaries.
    Dict(u32),
}

/// A pickle as far as it was run.
#[derive(Default)]
pub(crate) struct PickleReader {
    snapshot: Snapshot,
    stack: Vec<PickleItem>,
    memo: Vec<PickleItem>,
    texts: Vec<Box<str>>,
    lists: Vec<Vec<PickleItem>>,
    dicts: Vec<Vec<(u32, PickleItem)>>,
    /// Bytes whose instruction is not complete.
    waiting: Vec<u8>,
    /// Bytes of a long text that are still to be dropped.
    skip: usize,
    stopped: bool,
}

/// Why an instruction was not run.
enum Halt {
    /// More bytes are needed.
    More,
    Refused(Issue),
}

impl PickleReader {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// An instruction that is not run.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), Issue> {
        if self.skip > 0 {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.extend_from_slice(bytes);
        let mut at = 0;
        while at < waiting.len() && !self.stopped {
            match self.step(&waiting[at..]) {
                Ok(length) => {
                    let rest = waiting.len() - at;
                    self.skip = length.saturating_sub(rest);
                    at += length.min(rest);
                }
                Err(Halt::More) if waiting.len() - at < MAX_WAITING => break,
                Err(Halt::More) => return Err(broken()),
                Err(Halt::Refused(issue)) => return Err(issue),
            }
            let held = [self.stack.len(), self.memo.len(), self.texts.len(), self.lists.len(), self.dicts.len()];
            if held.into_iter().any(|count| count > MAX_HELD) {
                return Err(Issue::error("", t!("more than 12 million objects: record a shorter history")));
            }
        }
        if !self.stopped {
            waiting.drain(..at);
            self.waiting = waiting;
        }
        Ok(())
    }

    /// The counts so far, and whether the pickle was complete.
    pub fn finish(self) -> (Snapshot, bool) {
        (self.snapshot, self.stopped)
    }

    /// Runs the instruction that `bytes` begin with; its length, which may reach beyond them.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, Halt> {
        let argument = |length: usize| bytes.get(1..1 + length).ok_or(Halt::More);
        let count = |length: usize| -> Result<usize, Halt> {
            let number = argument(length)?.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
            usize::try_from(number).map_err(|_| Halt::Refused(broken()))
        };
        let code = bytes[0];
        Ok(match code {
            // PROTO, FRAME: nothing that matters here.
            0x80 => argument(1).map(|_| 2)?,
            0x95 => argument(8).map(|_| 9)?,
            b'.' => {
                self.stopped = true;
                1
            }
            b'(' => self.push_item(PickleItem::Mark, 1),
            b'}' => {
                self.dicts.push(Vec::new());
                self.push_item(PickleItem::Dict(place(self.dicts.len())?), 1)
            }
            // An empty tuple is a list for what is read here.
            b']' | b')' => self.new_list(Vec::new(), 1)?,
            b'N' => self.push_item(PickleItem::Nothing, 1),
            0x88 | 0x89 => self.push_item(PickleItem::Number(f64::from(u8::from(code == 0x88))), 1),
            b'K' => self.push_item(PickleItem::Number(count(1)? as f64), 2),
            b'M' => self.push_item(PickleItem::Number(count(2)? as f64), 3),
            b'J' => {
                let number = argument(4)?.try_into().map_or(0, i32::from_le_bytes);
                self.push_item(PickleItem::Number(f64::from(number)), 5)
            }
            // LONG1, LONG4: whole numbers of any length, two's complement.
            0x8a => {
                let length = count(1)?;
                let number = long(bytes.get(2..2 + length).ok_or(Halt::More)?);
                self.push_item(PickleItem::Number(number), 2 + length)
            }
            0x8b => {
                let length = count(4)?;
                let end = length.checked_add(5).ok_or_else(|| Halt::Refused(broken()))?;
                let number = long(bytes.get(5..end).ok_or(Halt::More)?);
                self.push_item(PickleItem::Number(number), end)
            }
            b'G' => {
                let number = argument(8)?.try_into().map_or(0.0, f64::from_be_bytes);
                self.push_item(PickleItem::Number(number), 9)
            }
            // Texts and bytes: with one, four or eight bytes of length.
            0x8c | b'C' => self.text(bytes, 1, count(1)?)?,
            b'X' | b'B' => self.text(bytes, 4, count(4)?)?,
            0x8d | 0x8e => self.text(bytes, 8, count(8)?)?,
            0x94 => {
                let top = self.top()?;
                self.memo.push(top);
                1
            }
            b'q' => self.remember(count(1)?, 2)?,
            b'r' => self.remember(count(4)?, 5)?,
            b'h' => self.recall(count(1)?, 2)?,
            b'j' => self.recall(count(4)?, 5)?,
            b'a' => {
                let item = self.pop()?;
                self.append(&[item])?;
                1
            }
            b'e' => {
                let items = self.marked()?;
                self.append(&items)?;
                1
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(&[key, value])?;
                1
            }
            b'u' => {
                let items = self.marked()?;
                self.set(&items)?;
                1
            }
            b't' => {
                let items = self.marked()?;
                self.new_list(items, 1)?
            }
            0x85..=0x87 => {
                let from = self.stack.len().checked_sub(usize::from(code - 0x84)).ok_or_else(|| refuse(broken()))?;
                let items = self.stack.split_off(from);
                self.new_list(items, 1)?
            }
            b'0' => self.pop().map(|_| 1)?,
            b'1' => self.marked().map(|_| 1)?,
            b'2' => {
                let top = self.top()?;
                self.push_item(top, 1)
            }
            // Imports, calls, objects of classes.
            _ => return Err(refuse(foreign())),
        })
    }

    fn push_item(&mut self, item: PickleItem, length: usize) -> usize {
        self.stack.push(item);
        length
    }

    fn new_list(&mut self, items: Vec<PickleItem>, length: usize) -> Result<usize, Halt> {
        self.lists.push(items);
        Ok(self.push_item(PickleItem::List(place(self.lists.len())?), length))
    }

    /// Reads a text of `length` bytes, whose length was written before it in `wide` bytes.
    fn text(&mut self, bytes: &[u8], wide: usize, length: usize) -> Result<usize, Halt> {
        let from = 1 + wide;
        let end = from.checked_add(length).ok_or_else(|| refuse(broken()))?;
        let kept = bytes.get(from..from + length.min(MAX_TEXT)).ok_or(Halt::More)?;
        self.texts.push(String::from_utf8_lossy(kept).into());
        Ok(self.push_item(PickleItem::Text(place(self.texts.len())?), end))
    }

    fn top(&self) -> Result<PickleItem, Halt> {
        self.stack.last().copied().ok_or_else(|| refuse(broken()))
    }

    fn pop(&mut self) -> Result<PickleItem, Halt> {
        self.stack.pop().filter(|item| *item != PickleItem::Mark).ok_or_else(|| refuse(broken()))
    }

    /// Takes the items on the stack above the last mark.
    fn marked(&mut self) -> Result<Vec<PickleItem>, Halt> {
        let at = self.stack.iter().rposition(|item| *item == PickleItem::Mark).ok_or_else(|| refuse(broken()))?;
        let items = self.stack.split_off(at + 1);
        self.stack.pop();
        Ok(items)
    }

    fn remember(&mut self, at: usize, length: usize) -> Result<usize, Halt> {
        let top = self.top()?;
        // Places are given one after the other.
        if at > self.memo.len() + 1000 {
            return Err(refuse(broken()));
        }
        if self.memo.len() <= at {
            self.memo.resize(at + 1, PickleItem::Nothing);
        }
        self.memo[at] = top;
        Ok(length)
    }

    fn recall(&mut self, at: usize, length: usize) -> Result<usize, Halt> {
        let item = self.memo.get(at).copied().ok_or_else(|| refuse(broken()))?;
        Ok(self.push_item(item, length))
    }

    fn set(&mut self, items: &[PickleItem]) -> Result<(), Halt> {
        let PickleItem::Dict(at) = self.top()? else {
            return Err(refuse(broken()));
        };
        let pairs = items.chunks_exact(2).filter_map(|pair| match pair {
            [PickleItem::Text(key), value] => Some((*key, *value)),
            _ => None,
        });
        self.dicts[at as usize].extend(pairs);
        Ok(())
    }

    /// Appends `items` to the list on top of the stack; counts them instead where it is the list of segments or events.
    fn append(&mut self, items: &[PickleItem]) -> Result<(), Halt> {
        let last = self.stack.len().checked_sub(1).ok_or_else(|| refuse(broken()))?;
        let PickleItem::List(at) = self.stack[last] else {
            return Err(refuse(broken()));
        };
        if self.is_key(last, "segments") {
            for item in items {
                self.segment(*item);
            }
        } else if let Some(trace) = self.trace_of(last) {
            for item in items {
                self.event(trace, *item);
            }
        } else {
            self.lists[at as usize].extend_from_slice(items);
        }
        Ok(())
    }

    /// True if the value at `place` of the stack belongs to the key `name`.
    fn is_key(&self, place: usize, name: &str) -> bool {
        let before = place.checked_sub(1).and_then(|before| self.stack.get(before));
        matches!(before, Some(PickleItem::Text(at)) if &*self.texts[*at as usize] == name)
    }

    /// The device whose events are in the list at `place` of the stack; none where it holds no events. Such lists are
    /// parts of the list `device_traces`: earlier ones may be in it already, later ones are on the stack behind a mark.
    fn trace_of(&self, place: usize) -> Option<usize> {
        let mut first = place;
        while first > 0 && place - first <= MAX_DEVICES && matches!(self.stack[first - 1], PickleItem::List(_)) {
            first -= 1;
        }
        let outer = |at: usize| match self.stack.get(at) {
            Some(PickleItem::List(list)) if self.is_key(at, "device_traces") => Some(self.lists[*list as usize].len()),
            _ => None,
        };
        // [.., "device_traces", outer, mark, list, list]; without a mark where the outer list has one.
        if first > 1 && self.stack[first - 1] == PickleItem::Mark {
            return Some(outer(first - 2)? + place - first);
        }
        (place == first + 1).then(|| outer(first)).flatten()
    }

    fn value(&self, dict: u32, name: &str) -> Option<PickleItem> {
        let pairs = self.dicts.get(dict as usize)?;
        pairs.iter().find(|(key, _)| &*self.texts[*key as usize] == name).map(|(_, value)| *value)
    }

    fn number(&self, dict: u32, name: &str) -> f64 {
        match self.value(dict, name) {
            Some(PickleItem::Number(number)) => number,
            _ => 0.0,
        }
    }

    fn segment(&mut self, item: PickleItem) {
        let PickleItem::Dict(dict) = item else {
            return;
        };
        let [device, total, allocated] = ["device", "total_size", "allocated_size"].map(|name| self.number(dict, name));
        self.snapshot.segment(device, total, allocated);
        if let Some(PickleItem::List(blocks)) = self.value(dict, "blocks") {
            for block in std::mem::take(&mut self.lists[blocks as usize]) {
                self.forget(block);
            }
        }
        self.forget(item);
    }

    fn event(&mut self, trace: usize, item: PickleItem) {
        let PickleItem::Dict(dict) = item else {
            return;
        };
        let text = |item: Option<PickleItem>| match item {
            Some(PickleItem::Text(at)) => &*self.texts[at as usize],
            _ => "",
        };
        let action = text(self.value(dict, "action")).to_owned();
        let mut event = SnapshotEvent::new(action, self.number(dict, "size"), self.number(dict, "addr"));
        if let Some(PickleItem::List(frames)) = self.value(dict, "frames") {
            for frame in &self.lists[frames as usize] {
                if let PickleItem::Dict(frame) = frame {
                    event.frame("filename", text(self.value(*frame, "filename")));
                    event.frame("name", text(self.value(*frame, "name")));
                }
            }
        }
        self.snapshot.event(trace, &event);
        self.forget(item);
    }

    /// Frees the contents of a dictionary: no event and no block is referred to twice.
    fn forget(&mut self, item: PickleItem) {
        if let PickleItem::Dict(dict) = item {
            self.dicts[dict as usize] = Vec::new();
        }
    }
}

fn refuse(issue: Issue) -> Halt {
    Halt::Refused(issue)
}

/// The place of the last of `length` values.
fn place(length: usize) -> Result<u32, Halt> {
    u32::try_from(length - 1).map_err(|_| refuse(broken()))
}

/// A whole number in two's complement, the lowest byte first.
fn long(bytes: &[u8]) -> f64 {
    let sum = bytes.iter().rev().fold(0.0, |sum, byte| sum * 256.0 + f64::from(*byte));
    let negative = bytes.last().is_some_and(|byte| *byte > 127);
    // 256 to the number of bytes.
    if negative { sum - (0..bytes.len()).fold(1.0, |power, _| power * 256.0) } else { sum }
}

/// The issue of a pickle that ends early or whose instructions do not fit together.
pub(super) fn broken() -> Issue {
    Issue::error("", t!("a pickle that breaks off or is damaged: make the snapshot again"))
}

/// The issue of a pickle that would import or call something.
fn foreign() -> Issue {
    Issue::error(
        "",
        t!(
            "a pickle that would import or call something, which no memory snapshot does: nothing of it is run. Where \
                it is one of your own, convert it where you made it, {command}",
            command = verbatim(super::PICKLE)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        let mut reader = PickleReader::default();
        reader.push(bytes).err().map(|issue| issue.message.to_string()).unwrap_or_default()
    }

    /// `pickle.dumps(X())` of a class whose `__reduce__` calls `os.system("echo")`, protocol 4.
    #[test]
    fn nothing_is_imported() {
        let call =
            b"\x80\x04\x95\x1f\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04echo\x94\x85\x94R\x94.";
        assert!(refused(call).contains("nothing of it is run"));
        // Protocol 2: GLOBAL.
        assert!(refused(b"\x80\x02cposix\nsystem\nq\0.").contains("nothing of it is run"));
    }

    /// Python's `pickle.encode_long`: 255, -128, 2^47.
    #[test]
    fn whole_numbers_are_those_of_python() {
        assert_eq!([long(&[0xff, 0]), long(&[0x80]), long(&[])], [255.0, -128.0, 0.0]);
        assert_eq!(long(&[0, 0, 0, 0, 0, 0x80, 0]), 140_737_488_355_328.0);
    }

    #[test]
    fn damaged_programs_end_in_a_message() {
        for bytes in [&b"\x80\x04e"[..], b"\x80\x04u", b"\x80\x04(a", b"\x80\x04h\x09", b"\x80\x04\x87", b"\x80\x04Na"]
        {
            assert!(refused(bytes).contains("damaged"), "{bytes:?}");
        }
        // A text of 2^63 bytes; a number of 2^31 bytes.
        assert!(refused(b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff").contains("damaged"));
        assert_eq!(refused(b"\x80\x04\x8b\xff\xff\xff\x7f"), "");
    }
}
