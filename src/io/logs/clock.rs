//! Steps of programs whose lines do not time one: ms-swift prints a mean since its start, slime the training of a
//! round.

use super::collect::Heard;
use super::line::number;
use super::patterns::{Pattern, Program, Quantity};

/// Seconds that a clock of whole seconds and a mean since the start differ by, where both are of one start.
const SAME_CLOCK: f64 = 1.5;

impl Heard {
    /// `'global_step/max_steps': '10/935', 'train_speed(iter/s)': 0.0221, 'elapsed_time': '7m 32s'`: by two lines what
    /// lies between them took; an evaluation has a line of its own at the same step, which starts the clock anew.
    pub(super) fn swift(&mut self, pattern: &Pattern, line: &str) -> bool {
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
        let elapsed = match behind("elapsed_time").and_then(duration) {
            Some(shown) if (shown - counted).abs() > SAME_CLOCK => shown,
            _ => counted,
        };
        let (is_evaluation, is_summary) = (line.contains("eval_"), line.contains("train_runtime"));
        if !is_evaluation {
            self.add(pattern.program, Quantity::MeanStepsPerSecond, 1.0 / each);
        }
        if let Some((before, since)) = self.clock
            && step > before
            && !is_summary
        {
            self.add(pattern.program, Quantity::Seconds, (elapsed - since) / (step - before));
        }
        self.clock = Some((step, elapsed));
        true
    }

    /// `perf 3: {'perf/actor_train_time': 12.5, 'perf/actor_train_tok_per_s': 41000.0, ...}` behind a line for each
    /// step of the optimizer: the steps of a round took that together.
    pub(super) fn slime(&mut self, pattern: &Pattern, line: &str) -> bool {
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
            self.add(Program::Slime, Quantity::Update, training / updates);
            if let Some(rate) = of_word("perf/actor_train_tok_per_s") {
                self.add(Program::Slime, Quantity::StepTokens, rate * training / updates);
            }
        }
        any
    }
}

/// `1d 2h 3m 55s`, as seconds.
fn duration(text: &str) -> Option<f64> {
    let text = text.trim_start_matches(['\'', '"', ':', ' ']);
    let text = text.split(['\'', '"', ',', '}', '|']).next()?;
    let parts = text.split_whitespace().map(|part| {
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
            ("': 'soon'", None),
            ("': ''", None),
        ] {
            assert_eq!(duration(text), seconds, "{text}");
        }
    }
}
