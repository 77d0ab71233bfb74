//! The reader beside a real shell, and inputs that are meant to break it.

use crate::dialect::text::shell::{Given, Ran, run};
use std::fmt::Write as _;
use std::process::Command;

const SNIPPETS: &str = include_str!("../../../../../tests/data/shell_snippets.txt");

/// A script and the words of each program `run` that it starts.
struct Snippet {
    name: String,
    script: String,
    runs: Vec<Vec<String>>,
}

fn snippets() -> Vec<Snippet> {
    let mut all: Vec<Snippet> = Vec::new();
    let mut within_runs = false;
    for line in SNIPPETS.lines().skip(1) {
        match line.strip_prefix("### ") {
            Some("runs") => within_runs = true,
            Some(name) => {
                within_runs = false;
                all.push(Snippet { name: name.to_owned(), script: String::new(), runs: Vec::new() });
            }
            None if within_runs => all.last_mut().unwrap().runs.push(serde_json::from_str(line).unwrap()),
            None => writeln!(all.last_mut().unwrap().script, "{line}").unwrap(),
        }
    }
    all
}

fn ran(text: &str) -> Ran {
    run(text, &Given::default(), &[])
}

fn given(text: &str, set: &[(&str, &str)]) -> Ran {
    let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    run(text, &Given { set, ..Given::default() }, &[])
}

fn words(ran: &Ran) -> Vec<Vec<String>> {
    ran.started.iter().map(|one| one.words.clone()).collect()
}

#[test]
fn scripts_start_what_bash_starts() {
    let all = snippets();
    assert!(all.len() >= 60, "{}", all.len());
    let wrong: Vec<String> = all
        .iter()
        .filter_map(|snippet| {
            let ran = ran(&snippet.script);
            let starts: Vec<Vec<String>> =
                words(&ran).into_iter().filter(|words| words[0] == "run").map(|words| words[1..].to_vec()).collect();
            let wrong = starts != snippet.runs || ran.fault.is_some();
            wrong.then(|| format!("{}: {starts:?}, bash {:?}; {:?}", snippet.name, snippet.runs, ran.fault))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

/// Where a bash is there, it starts what is stored.
#[test]
fn what_is_stored_is_what_bash_starts() {
    const RUN: &str = "run() { printf '%s' \"$#\"; for a in \"$@\"; do printf '\\037%s' \"$a\"; done; \
        printf '\\036'; } >&9\n\
        export -f run\n";
    if Command::new("bash").arg("--version").output().is_err() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("shell-snippets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (at, snippet) in snippets().iter().enumerate() {
        let (record, within) = (folder.join(format!("record-{at}")), folder.join(format!("within-{at}")));
        std::fs::create_dir_all(&within).unwrap();
        let script = format!("exec 9>'{}'\n{RUN}{}", record.display(), snippet.script);
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &script]).current_dir(&within).env_clear();
        bash.env("PATH", std::env::var("PATH").unwrap_or_default());
        bash.output().unwrap();
        let runs: Vec<Vec<String>> = std::fs::read_to_string(&record)
            .unwrap()
            .split_terminator('\u{1e}')
            .map(|one| one.split('\u{1f}').skip(1).map(str::to_owned).collect())
            .collect();
        assert_eq!(runs, snippet.runs, "{}", snippet.name);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What stands in the environment is not known: the condition is named, and read as a shell does where it is unset.
#[test]
fn a_condition_from_outside_is_named_and_read_as_if_unset() {
    let script = "if [ \"${USE_FP8:-0}\" = 1 ]; then\n  A=\"--fp8-format hybrid\"\nelse\n  A=--bf16\nfi\ntrain $A\n";
    let ran = ran(script);
    assert_eq!(words(&ran), [["train", "--bf16"]]);
    let branch = &ran.branches[0];
    assert_eq!((branch.line, branch.taken, branch.decided), (1, false, false));
    assert_eq!(
        (branch.condition.as_str(), &*branch.rests_on),
        ("[ \"${USE_FP8:-0}\" = 1 ]", &["USE_FP8".to_owned()][..])
    );
    assert_eq!(words(&given(script, &[("USE_FP8", "1")])), [["train", "--fp8-format", "hybrid"]]);
    assert_eq!(words(&given(script, &[(&branch.condition, "true")])), [["train", "--fp8-format", "hybrid"]]);
    assert!(given(script, &[("USE_FP8", "1")]).branches[0].decided);
    // An expansion has its other way by its text too, as by its variable.
    let script = "train --bf16 ${USE_FP8:+--fp8-format hybrid}\n";
    let other = given(script, &[("${USE_FP8:+--fp8-format hybrid}", "true")]);
    assert_eq!(words(&other), words(&given(script, &[("USE_FP8", "1")])));
    assert!(words(&other)[0].contains(&"--fp8-format".to_owned()) && other.branches[0].taken);
}

#[test]
fn a_value_of_a_request_stands_over_that_of_the_text() {
    let script = "TP=2\nEXTRA=\"$EXTRA --b\"\nif [ $TP = 4 ]; then R=1; fi\ntrain --tp $TP $EXTRA $R\n";
    assert_eq!(words(&given(script, &[("TP", "4"), ("EXTRA", "--a")])), [["train", "--tp", "4", "--a", "--b", "1"]]);
    let ran = given(script, &[("GONE", "1"), ("TP", "4")]);
    assert_eq!(ran.met, ["TP"]);
}

/// A script that ends where its variables are not there is not read as one that does nothing.
#[test]
fn what_is_not_known_ends_no_script() {
    for check in [
        "if [ $# -lt 1 ]; then echo usage; exit 1; fi",
        "[ -z \"$DATA\" ] && exit 1",
        "[ -n \"$DATA\" ] || { echo no; exit 1; }",
        "if [ -n \"$DATA\" ]; then D=1; else exit 1; fi",
        "usage() { echo; exit 1; }\nif [ -z \"$1\" ]; then usage; fi",
        "cd \"$DIR\" || exit",
        "case \"$1\" in '') exit 1 ;; esac",
    ] {
        assert_eq!(words(&ran(&format!("{check}\ntrain --a 1\n"))).last().unwrap(), &["train", "--a", "1"], "{check}");
    }
}

#[test]
fn what_is_not_known_stands_by_its_name() {
    let ran = ran("N=$(nproc)\ntrain --n $N --m $M --k $((M * 2)) \"$@\" --p ${P##*/}\n");
    let expected = ["train", "--n", "$(nproc)", "--m", "$M", "--k", "$((M * 2))", "$@", "--p", "$P"];
    assert_eq!(words(&ran), [expected]);
}

#[test]
fn a_file_that_is_sourced_is_read_where_it_is_given_and_named_where_not() {
    let script = "source \"$(dirname \"$0\")/env.sh\"\ntrain --tp ${TP:-1}\n";
    let without = ran(script);
    assert_eq!(words(&without), [["train", "--tp", "1"]]);
    assert_eq!((without.missing[0].line, without.missing[0].name.ends_with("/env.sh")), (1, true));
    let files = vec![("env.sh".to_owned(), "export TP=8\n".to_owned())];
    let with = run(script, &Given { files, ..Given::default() }, &[]);
    assert_eq!((words(&with), with.missing.len()), (vec![["train", "--tp", "8"].map(str::to_owned).to_vec()], 0));
}

#[test]
fn a_text_without_its_end_is_refused_at_its_line() {
    for (text, line) in [
        ("a\nX=\"no end\ntrain", 2),
        ("a\nX='no end", 2),
        ("if true; then\n a", 1),
        ("for x in 1; do\n a", 1),
        ("case a in\n a) b", 1),
        ("cat <<EOF\nx", 1),
        ("X=$(a", 1),
        ("a\n)\nb", 2),
        ("A=( a\n", 1),
    ] {
        let fault = ran(text).fault.unwrap_or_else(|| panic!("{text}"));
        assert!(fault.line >= line && fault.line <= line + 1, "{text}: {fault:?}");
    }
}

#[test]
fn hostile_scripts_end_with_a_message() {
    let many = |text: &str, times: usize| text.repeat(times);
    for text in [
        many("if true; then ", 5000),
        many("{ ", 5000),
        many("( ", 5000),
        many("while true; do ", 5000),
        many("case a in a) ", 5000),
        many("[[ ( ", 5000),
        many("$(", 5000),
        many("${a:-", 5000),
        many("\"$(", 5000),
        many("f() { ", 5000),
        "f() { f; }; f".to_owned(),
        "f() { f & f; }; f".to_owned(),
        "while :; do X=$X$X; done".to_owned(),
        "X='eval \"$X\"'; eval \"$X\"".to_owned(),
        "while true; do train --a 1; done".to_owned(),
        "for ((;;)); do :; done".to_owned(),
        format!("A=a\n{}", many("A=$A$A\n", 64)),
        format!("A=({})\n{}", many("a ", 1000), many("A+=(\"${A[@]}\")\n", 64)),
    ] {
        let ran = ran(&text);
        assert!(ran.fault.is_some(), "{text:.60}");
    }
    for text in [
        many("x\n", 200_000),
        many("! ", 50_000),
        many("X=1\n", 100_000),
        many("echo a | tr a b\n", 20_000),
        many("[[ aaaaaaaa == *a*a*a*b ]]\n", 10_000),
        format!("X={}\n{}", many("a", 500), many("Y=${X//a*a*b/c}\n", 5000)),
        format!("{}1", many("((1+", 60)),
        many("{a,b}", 60),
        "\u{E000}\u{E001} $X\u{E000}".to_owned(),
    ] {
        let ran = ran(&text);
        assert!(ran.started.len() <= 20_000, "{text:.60}");
    }
}

/// What a document leaves to its reader, `<path to the data>`, is a word and no redirection.
#[test]
fn what_the_reader_has_to_put_in_is_a_word() {
    let ran = ran("DATA=<path to data>\nrun --data $DATA --model <model>/x < in > out\n");
    assert_eq!(words(&ran), [["run", "--data", "<path", "to", "data>", "--model", "<model>/x"]]);
    assert_eq!(ran.fault, None);
}

#[test]
fn a_text_that_is_not_known_is_not_run() {
    let ran = ran("eval \"$(conda shell.bash hook)\"\nCMD=\"run $A $(nproc)\"\neval $CMD\nbash -c \"$CMD\"\n");
    assert_eq!(words(&ran), [["run", "$A", "$(nproc)"], ["run", "$A", "$(nproc)"]]);
    assert_eq!(ran.fault, None);
}

/// Whether a turn of a loop is left out rests on a program: it is not.
#[test]
fn a_turn_that_a_program_may_leave_out_is_read() {
    let ran = ran("for d in 1 2; do if grep -q $d done.txt; then continue; fi; run $d; done\n");
    let runs: Vec<_> = words(&ran).into_iter().filter(|words| words[0] == "run").collect();
    assert_eq!(runs, [["run", "1"], ["run", "2"]]);
}
