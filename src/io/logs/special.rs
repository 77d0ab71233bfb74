//! Lines that a table of words and numbers does not describe: nvidia-smi, PyTorch's memory table and refusal, progress
//! bars, the mesh of torchtitan as a list.

use super::collect::Heard;
use super::line::number;
use super::patterns::{LogProgram, LoggedQuantity, REPLICAS, SHARDS};
use super::steps::Series;

impl Heard {
    /// `86224MiB / 97871MiB`, or a line of `--query-gpu=memory.used,memory.total --format=csv`: `86224 MiB, 97871 MiB`.
    pub(super) fn smi(&mut self, line: &str) -> bool {
        let Some((before, behind)) = line.split_once("MiB") else {
            return false;
        };
        let used = before.trim_end().rsplit(|c: char| !c.is_ascii_digit());
        let used = used.take(1).find_map(|used| used.parse::<f64>().ok());
        let total = number(behind.trim_start_matches([' ', '/', ',']));
        let total = total.filter(|(_, unit)| unit.trim_start().starts_with("MiB"));
        let (Some(one), Some(other)) = (used, total.map(|(value, _)| value)) else {
            return false;
        };
        // The query has them in any order.
        let (used, total) = (one.min(other), one.max(other) / 1024.0);
        self.step = Some(1);
        self.add(LogProgram::NvidiaSmi, LoggedQuantity::Device, used / 1024.0);
        self.add(LogProgram::NvidiaSmi, LoggedQuantity::DeviceMemory, total);
        true
    }

    /// `| Allocated memory | 1062 MB | 4877 MB |`: current and peak, "MB" and "MiB" both of 2²⁰ bytes; and what an
    /// out-of-memory message says.
    pub(super) fn pytorch(&mut self, line: &str) -> bool {
        let gib = |text: &str| {
            let (value, unit) = number(text)?;
            let scale = match unit.trim_start().get(..1)? {
                "K" => 1.0 / 1_048_576.0,
                "M" => 1.0 / 1024.0,
                "G" => 1.0,
                "T" => 1024.0,
                _ => return None,
            };
            Some(value * scale)
        };
        if let Some((_, behind)) = line.split_once("Tried to allocate") {
            // "a total capacity of 79.10 GiB of which 15.40 GiB is free"; until 2.0 "39.59 GiB total capacity; … 1.05
            // GiB free".
            let part = |word: &str| gib(behind.split_once(word)?.1);
            let old = |word: &str| {
                let before = behind.split_once(word)?.0;
                gib(before.rsplit(['(', ';', ',']).next()?.trim_start())
            };
            let total = part("ty of").or_else(|| old(" total capa"));
            let (Some(tried), Some(total)) = (gib(behind), total) else {
                return false;
            };
            let free = part("of which").or_else(|| old(" free")).unwrap_or(0.0);
            self.ran_out = Some(self.ran_out.unwrap_or(0.0).max(total - free + tried));
            self.step = Some(1);
            self.add(LogProgram::PyTorch, LoggedQuantity::DeviceMemory, total);
            return true;
        }
        let quantity = if line.contains("Allocated") { LoggedQuantity::Allocated } else { LoggedQuantity::Reserved };
        let Some(peak) = line.split('|').nth(3).and_then(gib) else {
            return false;
        };
        self.step = Some(1);
        self.add(LogProgram::PyTorch, quantity, peak);
        true
    }

    /// ` 42%|████ | 420/1000 [10:01<13:50, 12.31s/it, loss=1.2]`.
    pub(super) fn progress_bar(&mut self, line: &str) -> bool {
        let Some((before, _)) = line.split_once("s/it").or_else(|| line.split_once("it/s")) else {
            return false;
        };
        let start = before.rfind([' ', ',', '[']).map_or(0, |at| at + 1);
        let Some((value, _)) = number(&before[start..]).filter(|(value, _)| *value > 0.0) else {
            return false;
        };
        let seconds = if line.contains("s/it") { value } else { 1.0 / value };
        // "| 420/1000 [": how far it is; without it, it is no bar.
        let at = before.find('[').map(|at| &before[..at]);
        let done = at.and_then(|text| text.trim_end().rsplit(['|', ' ']).next());
        let Some((done, _)) = done.and_then(|text| text.split_once('/')) else {
            return false;
        };
        // Checkpoints are loaded and texts tokenised under bars of their own: the training is what takes longest.
        let count = at.and_then(|text| text.trim_end().rsplit('/').next()?.trim().parse().ok());
        let bar = (count.unwrap_or(0), count.unwrap_or(0) as f64 * seconds);
        if bar.0 != self.bar.0 {
            if bar.1 < self.bar.1 {
                return false;
            }
            let others =
                |(_, quantity, _): &(LogProgram, LoggedQuantity, Series)| *quantity != LoggedQuantity::Iterations;
            self.series.retain(others);
            self.bar = bar;
        }
        self.step = done.parse().ok();
        self.add(LogProgram::ProgressBar, LoggedQuantity::Iterations, seconds);
        true
    }

    /// torchtitan before 2025: `Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]`; degrees that it leaves out
    /// are 1.
    pub(super) fn mesh(&mut self, line: &str) -> bool {
        let Some((names, degrees)) =
            line.split_once("device mesh with [").and_then(|(_, behind)| behind.split_once("], ["))
        else {
            return false;
        };
        let degrees = degrees.split([',', ']']).map(|degree| degree.trim().parse());
        let names = names.split(',');
        let named: Vec<(&str, f64)> =
            names.map(|name| name.trim().trim_matches(['\'', '"'])).zip(degrees.map_while(Result::ok)).collect();
        for key in ["tp", "pp", "cp", REPLICAS, SHARDS] {
            let is_key = |name: &str| name == key || name == "dp" && key == SHARDS;
            let degree_of_key = named.iter().find(|(name, _)| is_key(name));
            self.set(key, degree_of_key.map_or(1.0, |(_, degree)| *degree));
        }
        !named.is_empty()
    }
}
