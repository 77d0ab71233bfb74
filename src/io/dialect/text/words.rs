//! The words of a launch script: the command that trains, as a shell would start it, and its arguments.

use crate::dialect::SettingEntries;
use crate::dialect::text::launch::chosen;
use crate::dialect::text::shell::{Branch, Fault, Given, MissingFile, is_name, run};
use crate::dialect::text::slurm;
use shardscope_core::message::Message;
use shardscope_core::run::Value;
use shardscope_core::t;
use std::collections::BTreeMap;

/// Variables whose arguments are read where no command has any.
const MAX_FRAGMENTS: usize = 64;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Script {
    /// Words of the command that trains; an empty one ends a statement. What the script does not set stands by its
    /// name.
    pub words: Vec<String>,
    /// Values of variables in the order they were set.
    pub variables: Vec<(String, String)>,
    pub branches: Vec<Branch>,
    /// Files that it begins with and that are not here.
    pub missing: Vec<MissingFile>,
    /// Files that it writes.
    pub files: BTreeMap<String, String>,
    /// Commands that train beside the one that is read.
    pub others: usize,
    /// Lines of arguments that belong to no command, beside a command that trains.
    pub alone: usize,
    /// The first line that no shell would read.
    pub fault: Option<Fault>,
    /// Names of a request's values that the text has.
    pub met: Vec<String>,
    /// No branch of it is left out.
    all_run: bool,
}

impl Script {
    pub fn read(text: &str) -> Self {
        Self::given(text, &Given::default())
    }

    /// As [`Self::read`], with what a request says beside the text.
    pub fn given(text: &str, given: &Given) -> Self {
        let ran = run(text, given, &batch_options(text));
        let chosen = chosen(&ran.started);
        let variables = ran.variables(chosen.training);
        let mut words: Vec<String> = Vec::new();
        for one in chosen.training.into_iter().chain(chosen.parts.iter().copied()) {
            words.extend(one.words.iter().filter(|word| !word.is_empty()).cloned());
            words.push(String::new());
        }
        if !words.iter().any(|word| is_argument(word)) {
            // Nothing is started with arguments: a part of a script, whose variables hold them.
            let mut last: BTreeMap<&str, &str> = BTreeMap::new();
            last.extend(variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            let mut texts: Vec<&str> = Vec::new();
            for (name, _) in &variables {
                texts.extend(last.remove(name.as_str()).filter(|value| value.trim_start().starts_with("--")));
            }
            for text in texts.into_iter().take(MAX_FRAGMENTS) {
                // The value is words already: brackets in it are letters.
                if text.contains(['(', ')', '&', ';', '|', '<', '>']) {
                    words.extend(text.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()));
                    words.push(String::new());
                    continue;
                }
                for one in run(text, &Given::default(), &[]).started {
                    words.extend(one.words);
                    words.push(String::new());
                }
            }
            for (_, items) in &ran.arrays {
                words.extend(items.iter().cloned());
                words.push(String::new());
            }
        }
        Self {
            words,
            variables,
            alone: if chosen.training.is_some() { chosen.parts.len() } else { 0 },
            branches: ran.branches,
            missing: ran.missing,
            files: ran.files,
            others: chosen.others,
            fault: ran.fault,
            met: ran.met,
            all_run: ran.all_run,
        }
    }

    /// A command of these words alone.
    pub fn of_words(words: Vec<String>) -> Self {
        Self { words, ..Self::default() }
    }

    pub fn number(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| self.known(name)?.parse().ok())
    }

    /// What is to be said of a script beside its settings.
    pub fn doubts(&self) -> Vec<Message> {
        let others = self.others as u64;
        let several =
            (others > 0).then(|| t!("the text starts {count} trainings: the last one is read", count = others + 1));
        let alone = (self.alone > 0).then(|| {
            t!(
                "{count} lines of arguments belong to no command: a shell gives them to none, here they are read as if \
                    the line before them went on",
                count = self.alone as u64
            )
        });
        several.into_iter().chain(alone).collect()
    }

    pub fn known(&self, name: &str) -> Option<&str> {
        let mut latest = self.variables.iter().rev();
        let (_, value) = latest.find(|(known, _)| known == name)?;
        Some(value)
    }

    /// Names from outside of the script that stand for arguments of any number: `$EXTRA_ARGS`, `$@`.
    pub fn extras(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.words.iter().filter(|word| is_extra(word)).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The words that run; and the comments of `text`, where none of its branches is left out: one may be about that.
    pub fn heard(&self, text: &str) -> String {
        let mut heard: Vec<&str> = self.words.iter().map(String::as_str).collect();
        heard.extend(self.variables.iter().map(|(_, value)| value.as_str()));
        if self.all_run {
            heard.extend(text.lines().filter_map(|line| line.split_once('#')).map(|(_, comment)| comment));
        }
        heard.join("\n")
    }

    /// The arguments: `--name`, `--name value`, `--name=value`, `--name several values`; names as they are, a value
    /// that is a number as one.
    pub fn arguments(&self) -> SettingEntries {
        let mut entries: SettingEntries = Vec::new();
        // Words behind the end of a statement belong to no argument before it.
        let mut open = false;
        // True as long as the last argument has no value: `--bf16 True` has one.
        let mut bare = false;
        for word in &self.words {
            if word.is_empty() {
                open = false;
                continue;
            }
            if is_extra(word) {
                continue;
            }
            if is_override(word) {
                open = false;
                continue;
            }
            if let Some(argument) = word.strip_prefix("--") {
                let (name, value) = match argument.split_once('=') {
                    Some((name, value)) => (name, scalar(value)),
                    None => (argument, Value::Bool(true)),
                };
                bare = !argument.contains('=');
                entries.push((format!("--{name}"), value));
                open = !name.is_empty();
                continue;
            }
            // A short option, or the program behind its launcher's arguments.
            let short = word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
            let Some((_, value)) = entries.last_mut().filter(|_| open && !short) else {
                open = false;
                continue;
            };
            if !bare && is_program(word) {
                open = false;
                continue;
            }
            *value = match std::mem::take(value) {
                _ if bare => scalar(word),
                Value::List(mut items) => {
                    items.push(scalar(word));
                    Value::List(items)
                }
                first => Value::List(vec![first, scalar(word)]),
            };
            bare = false;
        }
        entries.retain(|(name, _)| name != "--");
        entries
    }

    /// Settings as Hydra takes them, `section.name=value`; behind a program `name=value` as well.
    pub fn overrides(&self) -> SettingEntries {
        let mut entries: SettingEntries = Vec::new();
        let mut before = "";
        let mut program = false;
        for word in &self.words {
            program = !word.is_empty() && (program || before == "-m" || is_program(word));
            let bare = word.trim_start_matches(['+', '~']);
            // The value of an option is none.
            let free = !before.starts_with('-') || before.contains('=');
            if let Some((name, value)) = bare.split_once('=')
                && (is_override(word) || program && free && is_name(name))
            {
                entries.push((name.to_owned(), scalar(value.trim_matches(['\'', '"']))));
            }
            before = word;
        }
        entries
    }
}

/// True of a text with `$NAME`, `${NAME}` or the output of a command in it, and of one that a person is to fill in. A
/// reference within a file, as `${policy.length}`, is none.
pub(crate) fn is_open(text: &str) -> bool {
    let is_variable = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let starts = |rest: &str| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic() || "_(".contains(c))
            || rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).is_some_and(|(name, _)| is_variable(name))
    };
    text.split('$').skip(1).any(starts) || is_blank(text)
}

/// True of a place for a value: `<NUM_GPUS>`, `{num_gpus}`, `{{ gpus }}`, and `???`, which `OmegaConf` calls missing. A
/// token such as `<pad>` is none.
fn is_blank(text: &str) -> bool {
    let inner = |start: &str, end: &str| text.strip_prefix(start)?.strip_suffix(end).map(str::trim);
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_- .".contains(c))
    };
    let is_long = |name: &str| name.chars().any(|c| c.is_ascii_uppercase() || "_- ".contains(c));
    text == "???"
        || inner("<", ">").is_some_and(|name| is_name(name) && is_long(name))
        || inner("{{", "}}").is_some_and(|name| !name.is_empty() && !name.contains(['{', '}']))
        || inner("{", "}").is_some_and(is_name)
}

/// True of a file or a module that Python runs.
pub(crate) fn is_program(word: &str) -> bool {
    let end = word.rsplit('.').next().unwrap_or_default();
    ["py", "sh"].contains(&end)
}

fn is_argument(word: &str) -> bool {
    word.starts_with("--") && word.len() > 2 || is_override(word)
}

/// True of `section.name=value`.
pub(crate) fn is_override(word: &str) -> bool {
    let word = word.trim_start_matches(['+', '~']);
    word.split_once('=').is_some_and(|(name, _)| {
        name.contains('.')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-@/".contains(c))
            && !name.starts_with('-')
    })
}

/// True of a word that is not known and stands for arguments of any number, as its name says.
pub(crate) fn is_extra(word: &str) -> bool {
    let Some(name) = word.strip_prefix('$') else { return false };
    let ends = |ends: &[&str]| ends.iter().any(|end| name.to_ascii_uppercase().ends_with(end));
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || "_@[]".contains(c));
    is_word
        && (name.starts_with('@') || ends(&["[@]", "ARGS", "ARG", "OPTS", "OPTIONS", "FLAGS", "EXTRA", "OVERRIDES"]))
}

/// The size of a job in comments `#SBATCH --nodes=32 --gpus-per-node=h100:8`, in the variables that Slurm sets of it.
fn batch_options(text: &str) -> Vec<(&'static str, String)> {
    let mut set = Vec::new();
    for (option, value) in slurm::options(text) {
        let variables: &[&str] = match option.as_str() {
            "-N" | "--nodes" => &["SLURM_NNODES", "SLURM_JOB_NUM_NODES"],
            "--gpus-per-node" | "--gres" => &["SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"],
            "--ntasks-per-node" => &["SLURM_NTASKS_PER_NODE"],
            "--gpus-per-task" => &["SLURM_GPUS_PER_TASK"],
            "-G" | "--gpus" => &["SLURM_GPUS"],
            "-n" | "--ntasks" => &["SLURM_NTASKS"],
            _ => continue,
        };
        if let Some(count) = slurm::count(&value) {
            set.extend(variables.iter().map(|name| (*name, count.to_string())));
        } else if is_open(&value) {
            set.extend(variables.iter().map(|name| (*name, value.clone())));
        }
    }
    set
}

/// Settings by name; a switch has no text.
pub(crate) fn entries(pairs: &[(&str, &str)]) -> SettingEntries {
    let value = |text: &str| if text.is_empty() { Value::Bool(true) } else { scalar(text) };
    pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
}

/// A number where the text is one, as Python reads it (`220_000_000`), true or false in any case, else the text.
pub(crate) fn scalar(text: &str) -> Value {
    if let Some(yes) = [("true", true), ("false", false)].into_iter().find(|(word, _)| text.eq_ignore_ascii_case(word))
    {
        return Value::Bool(yes.1);
    }
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = if text.contains('_') && text.split('_').all(digits) {
        text.replace('_', "").parse::<f64>()
    } else {
        text.parse()
    };
    match parsed {
        Ok(number) if number.is_finite() => Value::Number(number),
        _ => Value::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use crate::dialect::text::words::*;

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
            DTYPE=fp8
            ARGS=( --cp-comm-type a2a )
            ARGS+=( --recompute-granularity selective )
            if [ "$DTYPE" == "fp8" ]; then
                ARGS+=( "--fp8-format hybrid"
                        "--split 99,1,0" )
            fi
            torchrun --nnodes $NNODES train.py ${ARGS[@]} --last one \
              two # not this
            echo done
            "#,
        );
        let text = |text: &str| Value::Text(text.to_owned());
        let expected = [
            ("--nnodes", Value::Number(2.0)),
            ("--cp-comm-type", text("a2a")),
            ("--recompute-granularity", text("selective")),
            ("--fp8-format", text("hybrid")),
            ("--split", text("99,1,0")),
            ("--last", Value::List(vec![text("one"), text("two")])),
        ];
        assert_eq!(script.arguments(), expected.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(script.number(&["NNODES"]), Some(2));
        assert_eq!(script.number(&["GPUS"]), Some(8));
    }

    /// Hydra, "Basic Override syntax": `key=value`, with `+` and `~` before it. An assignment before the command is the
    /// shell's, and what an option takes is its value.
    #[test]
    fn overrides_are_no_variables_of_the_shell() {
        let script = Script::read("A=1 python -m main a.b=2 +c.d=x model=llama --env-vars N=3 --config e f=4\n");
        let names = script.overrides().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names, ["a.b", "c.d", "model", "f"]);
        assert_eq!(script.variables, [("A".to_owned(), "1".to_owned())]);
    }

    /// Of several commands the one that trains is read; where several do, the last.
    #[test]
    fn a_command_that_prepares_or_serves_is_not_the_training() {
        let script = Script::read(
            "python tools/convert.py --tensor-model-parallel-size 8\nray start --head --num-gpus 8\n\
             torchrun pretrain_gpt.py --tensor-model-parallel-size 2\n\
             python evaluate.py --tensor-model-parallel-size 4\n",
        );
        let sizes = vec![("--tensor-model-parallel-size".to_owned(), Value::Number(2.0))];
        assert_eq!((script.arguments(), script.others), (sizes, 0));
        let swept = Script::read("for tp in 1 2 4; do torchrun train.py --tp $tp; done");
        assert_eq!((swept.arguments()[0].1.clone(), swept.others), (Value::Number(4.0), 2));
    }

    /// Variables that are never used by a command are a part of a script: their arguments are read.
    #[test]
    fn arguments_in_variables_alone_are_read() {
        let script = Script::read("MODEL_ARGS=(\n  --num-layers 32\n  --swiglu\n)\nMORE=\"--hidden-size 4096\"\n");
        let names = script.arguments().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names, ["--hidden-size", "--num-layers", "--swiglu"]);
    }

    /// THUDM/slime 624b824 `scripts/models/kimi-k2.sh`: the brackets are letters of a value.
    #[test]
    fn brackets_of_a_value_are_no_commands() {
        let script = Script::read("MODEL=\"--num-layers 61 --moe-layer-freq ([0]*1+[1]*60) --swiglu\"\n");
        assert_eq!(script.arguments()[1].1, Value::from("([0]*1+[1]*60)"));
        assert_eq!(script.arguments().len(), 3);
    }

    /// Python's `int`: bigscience-workshop/bigscience `train/tr11-176B-ml/tr11-176B-ml.slurm` has `220_000_000`.
    #[test]
    fn digits_in_groups_are_a_number() {
        assert_eq!(scalar("220_000_000"), Value::Number(220e6));
        for text in ["8_", "_8", "8__0", "a_1"] {
            assert_eq!(scalar(text), Value::from(text));
        }
    }

    /// `$EXTRA_ARGS` that nothing sets is left out by a shell: the switch before it keeps its meaning.
    #[test]
    fn arguments_that_are_not_there_are_no_value() {
        let script = Script::read("train --bf16 $EXTRA_ARGS --lr 1 \"$@\" --layers $LAYERS\n");
        let expected = [("--bf16", Value::Bool(true)), ("--lr", Value::Number(1.0))];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(script.arguments()[..2], expected);
        assert_eq!(script.arguments()[2].1, Value::Text("$LAYERS".to_owned()));
        assert_eq!(script.extras(), ["$@", "$EXTRA_ARGS"]);
    }
}
