//! Steps of programs whose lines do not time one: ms-swift prints a mean since its start, LLaMA-Factory a clock, slime
//! the training of a round.

use super::collect::Heard;
use super::line::number;
use super::patterns::{LinePattern, LogProgram, LoggedQuantity};

/// Seconds that a clock of whole seconds and a mean since the start differ by, where both are of one start.
const SAME_CLOCK: f64 = 1.5;
/// Seconds between two lines, at least, where a clock of whole seconds tells what lies between them: of fewer the
/// rounding would be more than 3 %.
const LEAST_SPAN: f64 = 30.0;

impl Heard {
    /// Takes the clock at a step: what lies since the line before took so long, `rounded` to whole seconds. Behind an
    /// evaluation the clock starts anew, at the same step.
    fn clocked(&mut self, program: LogProgram, (step, elapsed): (f64, f64), rounded: bool, is_evaluation: bool) {
        if let Some((before, since)) = self.clock
            && step > before
            && !is_evaluation
        {
            if rounded && elapsed - since < LEAST_SPAN {
                return;
            }
            self.add(program, LoggedQuantity::Seconds, (elapsed - since) / (step - before));
        }
        self.clock = Some((step, elapsed));
    }

    /// `{"current_steps": 10, "total_steps": 935, "loss": 1.2, "elapsed_time": "0:07:32", "vram_reserved": 61.2}`.
    pub(super) fn factory(&mut self, pattern: &LinePattern, line: &str) -> bool {
        let behind = |word: &str| line.find(word).map(|at| &line[at + word.len()..]);
        let step = behind("current_steps").and_then(number).map(|(step, _)| step);
        if step.zip(self.clock).is_some_and(|(step, (before, _))| step < before) {
            self.begin_again();
        }
        let any = self.numbers(pattern, line);
        if let (Some(step), Some(elapsed)) = (step, behind("elapsed_time").and_then(duration)) {
            self.clocked(pattern.program, (step, elapsed), true, line.contains("eval_loss"));
        }
        any
    }

    /// `'global_step/max_steps': '10/935', 'train_speed(iter/s)': 0.0221, 'elapsed_time': '7m 32s'`: by two lines what
    /// lies between them took; an evaluation has a line of its own at the same step, which starts the clock anew.
    pub(super) fn swift(&mut self, pattern: &LinePattern, line: &str) -> bool {
        let behind = |word: &str| line.find(word).map(|at| &line[at + word.len()..]);
        let of_word = |word: &str| behind(word).and_then(number).map(|(value, _)| value);
        let each = of_word("train_speed(iter/s)").map(|rate| 1.0 / rate).or_else(|| of_word("train_speed(s/it)"));
        let each = each.filter(|seconds| *seconds > 0.0 && seconds.is_finite());
        let step = pattern.numbers.first().and_then(|(word, ..)| of_word(word));
        if each.is_some() && step.zip(self.clock).is_some_and(|(step, (before, _))| step < before) {
            self.begin_again();
        }
        let any = self.numbers(pattern, line);
        self.generates |= line.contains("completions/") || line.contains("completion_length");
        let (Some(step), Some(each)) = (step, each) else {
            return any;
        };
        // A mean in seconds a step counts the steps since a checkpoint, whose number no line tells.
        let counted = step * each;
        let shown = behind("elapsed_time").and_then(duration);
        let shown = shown.filter(|shown| (shown - counted).abs() > SAME_CLOCK);
        let is_evaluation = line.contains("eval_");
        if !is_evaluation {
            self.add(pattern.program, LoggedQuantity::MeanStepsPerSecond, 1.0 / each);
        }
        // The summary at the end has what was saved in it.
        if !line.contains("train_runtime") {
            let now = (step, shown.unwrap_or(counted));
            self.clocked(pattern.program, now, shown.is_some(), is_evaluation);
        }
        true
    }

    /// `perf 3: {'perf/actor_train_time': 12.5, 'perf/actor_train_tok_per_s': 41000.0, ...}` behind a line for each
    /// step of the optimizer: the steps of a round took that together.
    pub(super) fn slime(&mut self, pattern: &LinePattern, line: &str) -> bool {
        if pattern.numbers.is_empty() {
            self.updates += u64::from(!line.contains("critic-"));
            return true;
        }
        self.generates = true;
        let any = self.numbers(pattern, line);
        let updates = std::mem::take(&mut self.updates) as f64;
        let of_word =
            |word: &str| line.find(word).and_then(|at| number(&line[at + word.len()..])).map(|(value, _)| value);
        if let Some(training) = of_word("perf/actor_train_time").filter(|_| updates > 0.0) {
            self.add(LogProgram::Slime, LoggedQuantity::Update, training / updates);
            if let Some(rate) = of_word("perf/actor_train_tok_per_s") {
                self.add(LogProgram::Slime, LoggedQuantity::StepTokens, rate * training / updates);
            }
        }
        any
    }
}

/// `1d 2h 3m 55s` or `1 day, 2:03:55`, as seconds.
fn duration(text: &str) -> Option<f64> {
    let text = text.trim_start_matches(['\'', '"', ':', ' ']);
    let text = text.split(['\'', '"', '}', '|']).next()?;
    let (days, text) = match text.split_once(" day") {
        Some((days, rest)) => (number(days)?.0, rest.trim_start_matches(['s', ',', ' '])),
        None => (0.0, text),
    };
    if text.contains(':') {
        let parts: Option<Vec<f64>> = text.split(':').map(|part| Some(number(part)?.0)).collect();
        let seconds = parts?.into_iter().fold(0.0, |sum, part| 60.0 * sum + part);
        return Some(86_400.0 * days + seconds).filter(|seconds| *seconds > 0.0);
    }
    let parts = text.split(',').next()?.split_whitespace().map(|part| {
        let (value, unit) = number(part)?;
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            _ => return None,
        };
        Some(value * seconds)
    });
    parts.sum::<Option<f64>>().filter(|seconds| *seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn a_duration_is_read_in_days_hours_minutes_and_seconds() {
        for (text, seconds) in [
            ("': '3m 55s', 'remaining_time': '12h 8m'", Some(235.0)),
            ("\": \"1d 2h 3m 4s\"}", Some(93_784.0)),
            ("': '2.5s'", Some(2.5)),
            ("\": \"0:07:32\", \"remaining_time\"", Some(452.0)),
            ("\": \"1 day, 2:03:04\"", Some(93_784.0)),
            ("\": \"2 days, 0:00:05\"", Some(172_805.0)),
            ("': 'soon'", None),
            ("': ''", None),
        ] {
            assert_eq!(duration(text), seconds, "{text}");
        }
    }
}
