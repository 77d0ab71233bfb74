//! The branches of a shell's `case`: which of them runs.

/// Statements within each other.
const MAX_CASES: usize = 16;
/// Letters that are kept of a word that chooses.
const MAX_NAMED: usize = 40;

/// The `case` statements that have not ended, the outermost first.
#[derive(Default)]
pub(super) struct Branches(Vec<Case>);

struct Case {
    /// The word behind `case`; none before it was read.
    of: Option<String>,
    /// The patterns are being read.
    patterns: bool,
    /// A branch was taken before.
    done: bool,
    /// The branch that is being read is taken.
    taken: bool,
}

impl Branches {
    /// `;;`: patterns follow.
    pub fn end(&mut self) {
        if let Some(case) = self.0.last_mut() {
            case.patterns = true;
            case.done |= case.taken;
            case.taken = false;
        }
    }

    /// `)` behind the patterns: the branch follows.
    pub fn begin(&mut self) {
        if let Some(case) = self.0.last_mut() {
            case.patterns = false;
        }
    }

    /// True if a word belongs to a `case` itself or to a branch that does not run. The first branch runs whose pattern
    /// is the word behind `case`; the first of all where that is not known, which is noted.
    pub fn take(&mut self, word: &str, begins: bool, undecided: &mut Vec<String>) -> bool {
        if begins && word == "case" && self.0.len() < MAX_CASES {
            self.0.push(Case { of: None, patterns: true, done: false, taken: false });
            return true;
        }
        let outer = self.0.len().saturating_sub(1);
        let skipped = self.0[..outer].iter().any(|case| !case.taken);
        let Some(case) = self.0.last_mut() else { return false };
        let Some(of) = &case.of else {
            case.of = Some(word.to_owned());
            let named: String = word.chars().take(MAX_NAMED).collect();
            if word.contains('$') && !skipped && !undecided.contains(&named) {
                undecided.push(named);
            }
            return true;
        };
        if begins && word == "esac" {
            self.0.pop();
            return true;
        }
        if case.patterns {
            let starts = || word.strip_suffix('*').is_some_and(|start| of.starts_with(start));
            let is = of.contains('$') || word == of || starts();
            case.taken |= word != "in" && is && !case.done && !skipped;
            return true;
        }
        !case.taken
    }
}

#[cfg(test)]
mod tests {
    use crate::dialect::words::Script;

    /// POSIX, Shell Command Language, section 2.9.4.3: the first branch whose pattern is the word is the only one.
    #[test]
    fn the_branch_of_a_case_that_is_known_is_taken() {
        let script = |device: &str| {
            let text = format!(
                r#"DEVICE={device}
                case "${{DEVICE}}" in
                    gpu | npu) ;;
                    *) exit 1 ;;
                esac
                case "$DEVICE" in
                    gpu)
                        TP=2
                        case "$MACHINE" in gb200) TP=4 ;; *) ARGS+=( --bf16 ) ;; esac
                        ;;
                    n*) TP=8; ARGS+=( --fp16 ) ;;
                esac
                train $((TP * 2)) --tp $TP"#
            );
            let script = Script::read(&text);
            let words = script.words.iter().filter(|word| !word.is_empty()).cloned();
            (words.collect::<Vec<_>>().join(" "), script.undecided)
        };
        assert_eq!(script("gpu; MACHINE=''").0, "--bf16 train 4 --tp 2");
        assert_eq!(script("npu; MACHINE=''").0, "--fp16 train 16 --tp 8");
        let undecided = script("${DEVICE:-$(detect)}").1;
        assert_eq!(undecided, ["$(detect)", "$MACHINE"]);
    }
}
