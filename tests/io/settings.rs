//! The tables of settings: what each says of a name is tried by imports of published files with it and without.

use shardscope::core::run::Run;
use shardscope::core::run::registry::FIELDS;
use shardscope::io::dialect::is_called;
use shardscope::io::import::{Meaning, UnreadKind, read};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// A table as its file says it.
struct Sheet {
    program: String,
    /// The first line: whose names, at which commit.
    source: String,
    /// Published files of the program that its settings are tried in.
    tried_in: Vec<String>,
    /// Settings beside which others count.
    beside: Vec<Vec<(String, String)>>,
    rows: Vec<Entry>,
}

struct Entry {
    name: String,
    class: String,
    field: String,
    note: String,
}

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn sheets() -> Vec<Sheet> {
    let files = fs::read_dir(folder("src/io/dialect/settings")).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "csv"));
    paths.sort();
    paths.iter().map(|path| sheet(path)).collect()
}

fn sheet(path: &Path) -> Sheet {
    // A line that begins with a blank goes on with the row above it.
    let text = fs::read_to_string(path).unwrap().replace(",\n ", ",").replace("\n ", " ");
    let comments: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    let tried = comments.iter().filter_map(|line| line.strip_prefix("tried in: "));
    let beside = comments.iter().filter_map(|line| line.strip_prefix("beside: "));
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    Sheet {
        program: path.file_stem().unwrap().to_str().unwrap().to_owned(),
        source: (*comments.first().unwrap_or(&"")).to_owned(),
        tried_in: tried.flat_map(str::split_whitespace).map(str::to_owned).collect(),
        beside: beside.map(|words| words.split_whitespace().map(pair).collect()).collect(),
        rows: rows
            .map(|row| {
                let cells: Vec<&str> = row.splitn(4, ',').collect();
                let [name, class, field, note] = cells[..] else { panic!("{row}") };
                let text = |cell: &str| cell.trim_matches('"').to_owned();
                Entry { name: text(name), class: text(class), field: text(field), note: text(note) }
            })
            .collect(),
    }
}

/// `name=value`, or a switch by its name.
fn pair(word: &str) -> (String, String) {
    let (name, value) = word.split_once('=').unwrap_or((word, "true"));
    (name.to_owned(), value.to_owned())
}

impl Entry {
    /// The value for which the note says that this one counts, and the settings that it needs: pairs of name and value.
    fn example(&self) -> Option<Vec<(String, String)>> {
        let inside = self.note.split('`').nth(1)?;
        let mut words = inside.split_whitespace().peekable();
        let own = words.next_if(|word| word.starts_with('=')).map_or("true", |word| &word[1..]);
        let own = (self.name.clone(), own.to_owned());
        Some(std::iter::once(own).chain(words.map(pair)).collect())
    }
}

/// `text` with settings after it, as a file of its kind has them.
fn with(file: &str, text: &str, settings: &[(String, String)]) -> String {
    // Behind the training's command, which is the last one.
    let mut out = text.trim_end().trim_end_matches("set +x").trim_end().trim_end_matches('\\').to_owned();
    for (name, value) in settings {
        let is_script = !["yaml", "json", "py"].contains(&file.rsplit('.').next().unwrap());
        let quoted = format!("'{value}'");
        let value = if is_script && value.contains(['|', '(', ';', '*', '&']) { &quoted } else { value };
        let parts: Vec<&str> = name.split('.').collect();
        match file.rsplit('.').next().unwrap() {
            "yaml" => {
                for (depth, part) in parts.iter().enumerate() {
                    let value = if depth + 1 == parts.len() { value } else { "" };
                    write!(out, "\n{}{part}: {value}", "  ".repeat(depth)).unwrap();
                }
            }
            "json" => {
                let mut object: serde_json::Value = serde_json::from_str(&out).unwrap();
                let place = parts.iter().fold(&mut object, |at, part| &mut at[*part]);
                *place = serde_json::from_str(value).unwrap_or_else(|_| value.as_str().into());
                out = serde_json::to_string_pretty(&object).unwrap();
            }
            "py" => panic!("settings are tried in a script or a file of YAML"),
            _ if name.starts_with('$') => out = format!("export {}={value}\n{out}", &name[1..]),
            _ if !name.starts_with("--") => write!(out, " {name}={value}").unwrap(),
            _ if value == "true" => write!(out, " {name}").unwrap(),
            _ => write!(out, " {name} {value}").unwrap(),
        }
    }
    out
}

/// Values that most settings take one of.
const VALUES: [&str; 14] =
    ["true", "2", "3", "4", "8", "0.5", "0", "1", "none", "false", "bf16", "full", "fused", "flash"];

/// A text that settings are added to, with what it means without.
struct Base {
    file: String,
    text: String,
    before: Option<Meaning>,
}

/// The published files of a table, alone and beside each of its further settings.
fn bases(sheet: &Sheet) -> Vec<Base> {
    let alone = std::iter::once(Vec::new());
    let contexts: Vec<Vec<(String, String)>> = alone.chain(sheet.beside.iter().cloned()).collect();
    let of = |file: &String, beside: &[(String, String)]| {
        let text = fs::read_to_string(folder("tests/data/launch").join(file)).unwrap();
        let text = with(file, &text, beside);
        Base { file: file.clone(), before: read(&text, &Run::default()).ok(), text }
    };
    contexts.iter().flat_map(|beside| sheet.tried_in.iter().map(|file| of(file, beside))).collect()
}

/// What a setting changes in the texts of its table: both imports, for each text and value that is read.
fn tries<'a>(bases: &'a [Base], entry: &'a Entry) -> impl Iterator<Item = (String, Meaning, Meaning)> + 'a {
    let name = &entry.name;
    let values: Vec<Vec<(String, String)>> = match entry.example() {
        Some(pairs) => vec![pairs],
        None => VALUES.iter().map(|value| vec![(name.clone(), (*value).to_owned())]).collect(),
    };
    bases.iter().flat_map(move |base| {
        values.clone().into_iter().filter_map(move |pairs| {
            let meaning = |pairs: &[(String, String)]| read(&with(&base.file, &base.text, pairs), &Run::default()).ok();
            let others: Vec<_> = pairs.iter().filter(|(other, _)| other != name).cloned().collect();
            let before = if others.is_empty() { base.before.clone() } else { meaning(&others) };
            Some((with(&base.file, &base.text, &pairs), before?, meaning(&pairs)?))
        })
    })
}

/// A name as every form of text has it.
fn bare(name: &str) -> String {
    name.trim_start_matches('-').replace('-', "_")
}

/// The keys of two Runs that differ.
fn differ(one: &Run, other: &Run) -> Vec<&'static str> {
    FIELDS.iter().filter(|field| field.get(one) != field.get(other)).map(|field| field.key).collect()
}

fn is_of(key: &str, field: &str) -> bool {
    key.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[test]
fn each_setting_that_is_read_changes_the_field_that_its_row_names() {
    let mut wrong = Vec::new();
    for sheet in sheets() {
        assert!(!sheet.tried_in.is_empty() || sheet.rows.iter().all(|row| row.class != "read"), "{}", sheet.program);
        let bases = bases(&sheet);
        for entry in sheet.rows.iter().filter(|entry| entry.class == "read") {
            assert!(
                FIELDS.iter().any(|field| is_of(field.key, &entry.field)),
                "{}: no field {}",
                entry.name,
                entry.field
            );
            let mut seen = Vec::new();
            let found = tries(&bases, entry).any(|(_, before, after)| {
                let keys = differ(&before.run, &after.run);
                let sets = keys.iter().any(|key| is_of(key, &entry.field));
                seen.extend(keys);
                sets
            });
            if !found {
                seen.sort_unstable();
                seen.dedup();
                wrong.push(format!(
                    "{}: {} sets no {}, but {}",
                    sheet.program,
                    entry.name,
                    entry.field,
                    seen.join(" ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_setting_without_effect_changes_no_run_and_one_that_may_matter_is_named() {
    let mut wrong = Vec::new();
    for sheet in sheets() {
        let bases = bases(&sheet);
        for entry in sheet.rows.iter().filter(|entry| entry.class != "read" && !entry.name.contains('*')) {
            for (text, before, after) in tries(&bases, entry).take(2) {
                let keys = differ(&before.run, &after.run);
                let named = after.unread.iter().find(|one| bare(&one.name) == bare(&entry.name));
                let as_said = match (entry.class.as_str(), named) {
                    ("no-effect", named) => named.is_none(),
                    (_, Some(named)) => named.kind == UnreadKind::NotModelled && named.line.is_some(),
                    (_, None) => false,
                };
                if !keys.is_empty() || !as_said {
                    let line = text.lines().last().unwrap_or_default();
                    wrong.push(format!("{} {}: {}, {named:?}: {line}", sheet.program, entry.name, keys.join(" ")));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The last part of a name that says which switch it is: `enable` and `enabled` say it with the part before.
fn switch(name: &str) -> &str {
    let parts = if name.ends_with(".enable") || name.ends_with(".enabled") { 2 } else { 1 };
    name.rmatch_indices('.').nth(parts - 1).map_or(name, |(at, _)| &name[at + 1..])
}

/// A program declares one switch in several sections (actor, reference, critic). Where one of them says that it counts
/// only as it is on, or off, a row without it would name the switch in a file that leaves it as it is.
#[test]
fn a_switch_is_one_in_every_section_of_its_program() {
    assert_eq!(["a.mtp.enable", "a.use_liger", "use_liger"].map(switch), ["mtp.enable", "use_liger", "use_liger"]);
    let mut wrong = Vec::new();
    for sheet in sheets() {
        let is_switch = |entry: &&Entry| entry.class == "not-modelled" && entry.field.contains("-if-");
        let switches: BTreeSet<&str> = sheet.rows.iter().filter(is_switch).map(|entry| switch(&entry.name)).collect();
        let others = sheet.rows.iter().filter(|entry| entry.class == "not-modelled" && !is_switch(entry));
        let of = others.filter(|entry| switches.contains(switch(&entry.name)));
        wrong.extend(of.map(|entry| format!("{} {}", sheet.program, entry.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words of names that say memory, formats or a division of the work.
const WEIGHTY: [&str; 14] = [
    "offload",
    "shard",
    "fsdp",
    "zero",
    "dtype",
    "precision",
    "fp8",
    "recompute",
    "checkpoint_activations",
    "activation_checkpoint",
    "parallel",
    "cache",
    "memory",
    "gradient_checkpoint",
];

/// A file and a line: `arguments.py:120`.
fn names_a_line(note: &str) -> bool {
    note.split([' ', ',', ';']).any(|word| {
        let Some((file, line)) = word.trim_end_matches(':').rsplit_once(':') else { return false };
        file.contains('.') && line.chars().next().is_some_and(|c| c.is_ascii_digit())
    })
}

#[test]
fn a_weighty_name_without_effect_says_why_at_its_file_and_line() {
    for sheet in sheets() {
        assert!(sheet.source.chars().any(|c| c.is_ascii_digit()), "{}: no commit", sheet.program);
        for entry in sheet.rows.iter().filter(|entry| entry.class == "no-effect") {
            let name = entry.name.replace('-', "_").to_ascii_lowercase();
            if WEIGHTY.iter().any(|word| name.contains(word)) {
                let why = entry.note.split_once(": ").map_or("", |(_, why)| why);
                let said = names_a_line(&entry.note) && why.split_whitespace().count() > 1;
                assert!(said, "{} {}: {}", sheet.program, entry.name, entry.note);
            }
        }
    }
}

/// A note leads to its line: with a whole path, below the folder that the table's head names, in a repository at a
/// commit (`tools/notes.mjs` looks them up).
#[test]
fn a_note_that_names_a_line_has_its_path_and_its_commit() {
    for path in fs::read_dir(folder("src/io/dialect/settings")).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|end| end != "csv") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let head = text.lines().find_map(|line| line.strip_prefix("# notes: "));
        let whose: Vec<&str> = head.unwrap_or_default().split_whitespace().collect();
        let commit = |word: &str| word.chars().any(|c| c.is_ascii_digit());
        for entry in sheet(&path).rows.iter().filter(|entry| names_a_line(&entry.note)) {
            let place = entry.note.split(' ').find(|word| names_a_line(word)).unwrap();
            let other = entry.note.split(' ').next().is_some_and(|word| word.contains('/') && !word.contains(':'));
            assert!(!place.contains('*'), "{}: {}: {place}", path.display(), entry.name);
            let known = other && entry.note.contains(" of ")
                || whose.len() >= 2 && whose[0].contains('/') && commit(whose[1])
                || entry.note.contains(" at ");
            assert!(known, "{}: {}: {}", path.display(), entry.name, entry.note);
        }
    }
}

#[test]
fn a_name_in_no_table_is_not_known_and_says_its_line() {
    let text =
        "torchrun x.py --num-layers 2 --hidden-size 8 --num-attention-heads 2 \\\n --moe-foo-buffer 2048 --seed 1";
    let meaning = read(text, &Run::default()).unwrap();
    let unread: Vec<_> = meaning.unread.iter().map(|one| (one.name.as_str(), one.line, one.kind)).collect();
    assert_eq!(unread, [("--moe-foo-buffer", Some(2), UnreadKind::NotKnown)]);
    assert_eq!(meaning.unread[0].could_change.to_string(), "not known");
    assert!(meaning.ignored.iter().any(|said| said.to_string().starts_with("--seed: ")));
}

/// `docs/coverage.md` is written from the tables where it differs from them.
#[test]
fn the_document_of_coverage_counts_the_rows() {
    let mut out = String::from(
        "# What is read of each program's settings\n\n\
        Counted from the tables in `src/io/dialect/settings` by `cargo test --test io settings`. An import names every setting \
        that may matter and is not read; a name in no table is not known, and named too.\n\n\
        | table | read | without effect | may matter, not modelled | names | taken from |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    let mut all = BTreeMap::new();
    for sheet in sheets() {
        let count = |class: &str| sheet.rows.iter().filter(|row| row.class == class).count();
        let counts = ["read", "no-effect", "not-modelled"].map(count);
        for (class, count) in ["read", "no-effect", "not-modelled"].into_iter().zip(counts) {
            *all.entry(class).or_insert(0) += count;
        }
        let [read, harmless, open] = counts;
        writeln!(out, "| {} | {read} | {harmless} | {open} | {} | {} |", sheet.program, sheet.rows.len(), sheet.source)
            .unwrap();
    }
    let sum: usize = all.values().sum();
    writeln!(out, "| all | {} | {} | {} | {sum} | |", all["read"], all["no-effect"], all["not-modelled"]).unwrap();
    let path = folder("docs/coverage.md");
    let now = fs::read_to_string(&path).unwrap_or_default();
    if now != out {
        fs::write(&path, &out).unwrap();
        panic!("docs/coverage.md was out of date: it is written anew");
    }
}

/// What programs call a setting finds the field that an import of it sets.
#[test]
fn a_setting_is_found_by_the_name_that_a_program_has_for_it() {
    let found = |word: &str| {
        let keys = FIELDS.iter().map(|field| field.key).filter(|key| is_called(key, word));
        keys.collect::<Vec<_>>()
    };
    // Megatron-LM's arguments.py, torchtitan's and Hugging Face's configurations.
    // Engines of reinforcement learning have the name too.
    assert_eq!(found("--tensor-model-parallel-size"), ["tp", "phases.rollout_tp"]);
    assert_eq!(found("--tensor-model-parallel-size=8"), found("--tensor-model-parallel-size"));
    assert_eq!(found("parallelism.pipeline_parallel_degree"), ["pp"]);
    assert_eq!(found("--micro-batch-size").first(), Some(&"micro_batch"));
    assert!(found("gradient_checkpointing").contains(&"recompute"));
    assert!(found("no-such-setting").is_empty() && found("--").is_empty());
    let mut rows = 0;
    for sheet in sheets() {
        for row in sheet.rows.iter().filter(|row| row.class == "read" && !row.name.contains('*')) {
            if FIELDS.iter().any(|field| field.key == row.field) {
                assert!(is_called(&row.field, &row.name), "{} {}", sheet.program, row.name);
                rows += 1;
            }
        }
    }
    assert!(rows > 300, "{rows}");
}
