//! The words of a launch script: quotes, backslashes, comments, variables and arrays as a shell takes them, as far as
//! a list of arguments needs it. Nothing is run.
//!
//! With its tests the file has over 400 lines.

use super::Entries;
use super::arithmetic::compute;
use super::branches::Branches;
use shardscope_core::message::Message;
use shardscope_core::run::Value;
use shardscope_core::t;

/// Depth to which arguments may be kept in variables of variables: a launch script uses one level.
const MAX_DEPTH: u32 = 4;
/// Most bytes of variables that a script may put in, all together: no launch script does, and a few that double each
/// other would fill the memory.
const MAX_EXPANDED: usize = 400_000;
/// Variables that are remembered.
const MAX_VARIABLES: usize = 1000;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Script {
    /// Its words, variables put in where the script sets them; an empty one ends a statement.
    pub words: Vec<String>,
    pub variables: Vec<(String, String)>,
    /// Variables that it sets to several values and then uses: branches are not decided, the last value counts.
    pub ambiguous: Vec<String>,
    /// Words that choose a branch and that it does not set: the first branch counts.
    pub undecided: Vec<String>,
}

impl Script {
    pub fn read(text: &str) -> Self {
        let mut reader = Reader { left: MAX_EXPANDED, begins: true, ..Reader::default() };
        reader.take(text, 0);
        reader.script
    }

    pub fn number(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| self.known(name)?.parse().ok())
    }

    /// Notes on the choices that the script leaves open.
    pub fn doubts(&self) -> Vec<Message> {
        let several = self.ambiguous.iter().map(|name| {
            t!(
                "{name} is set to several values in the text: the last one, {value}, is taken",
                name = name.clone(),
                value = self.known(name).unwrap_or_default().to_owned()
            )
        });
        let branches = self.undecided.iter().map(|word| {
            t!("of the branches of {word} the first is taken: the text does not set it", word = word.clone())
        });
        several.chain(branches).collect()
    }

    pub fn known(&self, name: &str) -> Option<&str> {
        let mut latest = self.variables.iter().rev();
        let (_, value) = latest.find(|(known, _)| known == name)?;
        Some(value)
    }

    /// The arguments: `--name`, `--name value`, `--name=value`, `--name several values`; names as they are, a value
    /// that is a number as one.
    pub fn arguments(&self) -> Entries {
        let mut entries: Entries = Vec::new();
        // Words behind the end of a statement belong to no argument before it.
        let mut open = false;
        for word in &self.words {
            if word.is_empty() {
                open = false;
                continue;
            }
            if let Some(argument) = word.strip_prefix("--") {
                let (name, value) = match argument.split_once('=') {
                    Some((name, value)) => (name, scalar(value)),
                    None => (argument, Value::Bool(true)),
                };
                entries.push((format!("--{name}"), value));
                open = true;
                continue;
            }
            let Some((_, value)) = entries.last_mut().filter(|_| open) else {
                continue;
            };
            *value = match std::mem::take(value) {
                Value::Bool(true) => scalar(word),
                Value::List(mut items) => {
                    items.push(scalar(word));
                    Value::List(items)
                }
                first => Value::List(vec![first, scalar(word)]),
            };
        }
        entries
    }
}

/// A script while it is read.
#[derive(Default)]
struct Reader {
    script: Script,
    /// Bytes of variables that may still be put in.
    left: usize,
    /// The `case` statements that have not ended.
    branches: Branches,
    /// True before the first word of a statement.
    begins: bool,
}

impl Reader {
    /// Reads `text`, which stood in a variable of `depth` variables.
    fn take(&mut self, text: &str, depth: u32) {
        let mut chars = text.chars().peekable();
        let mut word: Option<String> = None;
        let mut quote = None;
        // Within the brackets of an array a line's end is a blank; so it is in a variable's text.
        let mut brackets = depth;
        while let Some(c) = chars.next() {
            match (c, quote) {
                ('\'' | '"', None) => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (c, Some(open)) if c == open => quote = None,
                ('\\', None | Some('"')) => match chars.next() {
                    Some('\r') => {
                        chars.next_if_eq(&'\n');
                    }
                    Some('\n') | None => {}
                    Some(other) => word.get_or_insert_default().push(other),
                },
                ('$', None | Some('"')) => {
                    let value = self.variable(&mut chars);
                    word.get_or_insert_default().push_str(&value);
                }
                ('#', None) if word.is_none() => {
                    let line: String = std::iter::from_fn(|| chars.next_if(|c| *c != '\n')).collect();
                    self.batch_options(&line);
                }
                (c, None) if c.is_whitespace() || matches!(c, '(' | ')' | ';' | '&' | '|') => {
                    self.end(word.take(), depth);
                    match c {
                        '(' => brackets += 1,
                        ')' => brackets = brackets.saturating_sub(1),
                        _ => {}
                    }
                    match c {
                        ';' if chars.next_if_eq(&';').is_some() => self.branches.end(),
                        ')' => self.branches.begin(),
                        _ => {}
                    }
                    if matches!(c, ')' | ';' | '&' | '|') || c == '\n' && brackets == 0 {
                        self.script.words.push(String::new());
                        self.begins = true;
                    }
                }
                (c, _) => word.get_or_insert_default().push(c),
            }
        }
        self.end(word, depth);
    }

    /// The size of a job in a comment `SBATCH --nodes=32 --gpus-per-node=h100:8`, in the variables that Slurm sets of
    /// it.
    fn batch_options(&mut self, comment: &str) {
        let mut options = comment
            .strip_prefix("SBATCH")
            .unwrap_or_default()
            .split([' ', '\t', '='])
            .take_while(|word| !word.starts_with('#'))
            .filter(|word| !word.is_empty());
        while let Some(option) = options.next() {
            let variable = match option {
                "-N" | "--nodes" => "SLURM_NNODES",
                "--gpus-per-node" | "--gres" => "SLURM_GPUS_PER_NODE",
                _ => continue,
            };
            // "gpu:h100:8"; "2-4" nodes are at least 2.
            let value = options.next().unwrap_or_default();
            let count = value.rsplit(':').next().unwrap_or_default();
            let count = count.split('-').next().unwrap_or_default();
            if count.parse::<u64>().is_ok() {
                self.set(variable, count);
            }
        }
    }

    /// The text behind a `$`: the value, or the name where the script does not set it.
    fn variable(&mut self, chars: &mut std::iter::Peekable<std::str::Chars>) -> String {
        let mut name = String::new();
        let (open, close) = match chars.peek() {
            Some('{') => ('{', '}'),
            Some('(') => ('(', ')'),
            _ => {
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                return self.put_in(&name).unwrap_or(format!("${name}"));
            }
        };
        let mut depth = 0;
        for c in chars.by_ref() {
            depth += i32::from(c == open) - i32::from(c == close);
            if depth == 0 {
                break;
            }
            name.push(c);
        }
        let name = name.get(1..).unwrap_or_default();
        if open == '(' {
            // `$((1024 * 2))` has a result, what another program prints has none here.
            let sum = name.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
            let result = sum.and_then(|sum| compute(&self.numbers(sum)));
            return result.map_or_else(|| format!("$({name})"), |result| result.to_string());
        }
        // An array was read where it was set.
        if name.ends_with("[@]") || name.ends_with("[*]") {
            return String::new();
        }
        let (name, default) = name.split_once(":-").map_or((name, None), |(name, default)| (name, Some(default)));
        match (self.put_in(name), default) {
            (Some(value), _) => value,
            (None, Some(default)) => self.said_default(default),
            (None, None) => format!("${name}"),
        }
    }

    /// A sum with the values of its variables, which need no `$` there.
    fn numbers(&mut self, sum: &str) -> String {
        let mut out = String::new();
        let mut chars = sum.chars().peekable();
        while let Some(c) = chars.next() {
            if c == '$' {
                out.push_str(&self.variable(&mut chars));
            } else if c.is_ascii_alphabetic() || c == '_' {
                let mut name = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                out.push_str(&self.put_in(&name).unwrap_or(name));
            } else {
                out.push(c);
            }
        }
        out
    }

    /// The default of `${NAME:-"default"}` where the name is not set: without its quotes, its own variables put in.
    fn said_default(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' | '\'' => {}
                '$' => out.push_str(&self.variable(&mut chars)),
                c => out.push(c),
            }
        }
        out
    }

    /// The value of a variable, while the text is below its limit.
    fn put_in(&mut self, name: &str) -> Option<String> {
        let value = self.script.known(name)?.to_owned();
        self.left = self.left.checked_sub(value.len())?;
        let other = |(known, set): &(String, String)| known == name && *set != value;
        let script = &mut self.script;
        if script.variables.iter().any(other) && !script.ambiguous.iter().any(|known| known == name) {
            script.ambiguous.push(name.to_owned());
        }
        Some(value)
    }

    fn set(&mut self, name: &str, value: &str) {
        let variables = &mut self.script.variables;
        if variables.len() < MAX_VARIABLES {
            variables.push((name.to_owned(), value.to_owned()));
        }
    }

    fn end(&mut self, word: Option<String>, depth: u32) {
        let begins = word.is_some() && std::mem::take(&mut self.begins);
        let Some(word) = word else { return };
        if depth == 0 && self.branches.take(&word, begins, &mut self.script.undecided) || word.is_empty() {
            return;
        }
        let named = word.split_once('=').filter(|(name, _)| {
            // `ARGS+=( --more )` adds to an array.
            let mut letters = name.strip_suffix('+').unwrap_or(name).chars();
            letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        match named {
            // Arguments kept in a variable are read where it is set.
            Some((name, value)) if value.trim_start().starts_with("--") && depth < MAX_DEPTH => {
                self.set(name, "");
                self.take(value, depth + 1);
            }
            Some((name, value)) => self.set(name, value),
            // `"--fp8-format hybrid"` in an array that is put in without quotes.
            None if several(&word) && depth < MAX_DEPTH => self.take(&word, depth + 1),
            None => self.script.words.push(word),
        }
    }
}

/// True if a quoted word holds arguments: more than one, or one with its value.
fn several(word: &str) -> bool {
    let named = word.starts_with("--") && !word.contains('=');
    word.contains(" --") || named && word.contains(char::is_whitespace)
}

/// Settings by name; a switch has no text.
pub(crate) fn entries(pairs: &[(&str, &str)]) -> Entries {
    let value = |text: &str| if text.is_empty() { Value::Bool(true) } else { scalar(text) };
    pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
}

/// A number where the text is one, else the text.
pub(crate) fn scalar(text: &str) -> Value {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::Number(number),
        _ => Value::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_as_its_shell_would() {
        let script = Script::read(
            r#"#!/bin/bash
            # a comment with --fake-argument 3
            TP=4; export PP="8"
            MODEL_ARGS="--num-layers 32 \
               --hidden-size 4096"
            ARGS=( --bf16 --lr 1.0e-4 )
            torchrun --nproc_per_node ${GPUS:-8} train.py $MODEL_ARGS "${ARGS[@]}" \
              --tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} \
              --layout 'Et|t L' --unset $NOWHERE --sum $((TP * 2)) --eq=5
            "#,
        );
        let entries = script.arguments();
        let value = |name: &str| {
            let found = entries.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone()).unwrap()
        };
        assert_eq!(value("--num-layers"), Value::Number(32.0));
        assert_eq!(value("--hidden-size"), Value::Number(4096.0));
        assert_eq!(value("--bf16"), Value::Bool(true));
        assert_eq!(value("--tensor-model-parallel-size"), Value::Number(4.0));
        assert_eq!(value("--pipeline-model-parallel-size"), Value::Number(8.0));
        assert_eq!(value("--layout"), Value::Text("Et|t L".to_owned()));
        assert_eq!(value("--unset"), Value::Text("$NOWHERE".to_owned()));
        assert_eq!(value("--eq"), Value::Number(5.0));
        assert!(entries.iter().all(|(name, _)| name != "--fake-argument"));
        assert_eq!(script.number(&["TP"]), Some(4));
    }

    /// A launch script for several sizes of a model sets the same variables in each branch.
    #[test]
    fn variables_with_several_values_are_named() {
        let script = Script::read(
            "if [ $SIZE = 7B ]; then\nLAYERS=28\nTP=2\nelse\nLAYERS=80\nTP=2\nfi\nx --num-layers $LAYERS --tp $TP \
                $LAYERS\n",
        );
        assert_eq!(script.ambiguous, ["LAYERS"]);
        assert_eq!(script.number(&["LAYERS"]), Some(80));
    }

    /// `sbatch --help`: `-N, --nodes=N`, `--gpus-per-node=[type:]n`, `--gres=gpu[:type]:n`; the job gets them as
    /// variables.
    #[test]
    fn the_size_of_a_batch_job_is_in_its_comments() {
        for (options, nodes, each) in [
            ("#SBATCH --nodes=32\n#SBATCH --gpus-per-node=4", 32, 4),
            ("#SBATCH -N 6 --gres=gpu:h100:8 # --nodes=9", 6, 8),
            ("#SBATCH --nodes=2-4\n#SBATCH --gpus-per-node h200:8", 2, 8),
        ] {
            let script = Script::read(&format!("#!/bin/bash\n{options}\nx --nnodes $SLURM_NNODES\n"));
            assert_eq!(script.number(&["SLURM_NNODES"]), Some(nodes), "{options}");
            assert_eq!(script.number(&["SLURM_GPUS_PER_NODE"]), Some(each), "{options}");
            assert_eq!(script.arguments()[0].1, Value::from(nodes), "{options}");
        }
    }

    /// As launch scripts are written: arrays that grow, arguments quoted with their values, defaults in quotes, and a
    /// statement behind an array.
    #[test]
    fn what_follows_a_statement_is_no_value_of_its_last_argument() {
        let script = Script::read(
            r#"NNODES=${SLURM_NNODES:-"2"}
            GPUS=${GPUS:-${DEVICES:-8}}
            ARGS=( --cp-comm-type a2a )
            ARGS+=( --recompute-granularity selective )
            if [ "$DTYPE" == "fp8" ]; then
                ARGS+=( "--fp8-format hybrid"
                        "--split '99,1,0'" )
            fi
            torchrun --nnodes $NNODES train.py ${ARGS[@]} --last one \
              two # not this
            echo done
            "#,
        );
        let arguments = script.arguments();
        let expected = [
            ("--cp-comm-type", Value::Text("a2a".to_owned())),
            ("--recompute-granularity", Value::Text("selective".to_owned())),
            ("--fp8-format", Value::Text("hybrid".to_owned())),
            ("--split", Value::Text("99,1,0".to_owned())),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(arguments[..4], expected);
        let text = |text: &str| Value::Text(text.to_owned());
        let words = Value::List(vec![Value::Number(2.0), text("train.py")]);
        assert_eq!(arguments[4], ("--nnodes".to_owned(), words));
        let words = Value::List(vec![text("one"), text("two")]);
        assert_eq!(arguments[5..], [("--last".to_owned(), words)]);
        assert_eq!(script.number(&["NNODES"]), Some(2));
        assert_eq!(script.number(&["GPUS"]), Some(8));
    }

    /// A shell would put these in; here they stay as they are written once it is enough.
    #[test]
    fn a_script_that_holds_itself_is_read_to_an_end() {
        let script = Script::read(r#"X='y $X --' "$X" --seq-length 4096"#);
        let entries = script.arguments();
        assert_eq!(entries.last().unwrap(), &("--seq-length".to_owned(), Value::Number(4096.0)));

        let doubled: Vec<_> = (1..60).map(|i| format!("V{i}=$V{}$V{}", i - 1, i - 1)).collect();
        let script = Script::read(&format!("V0=word {} $V59", doubled.join(" ")));
        let size: usize = script.variables.iter().map(|(_, value)| value.len()).sum();
        assert!(size < 2 * MAX_EXPANDED, "{size}");
    }
}
