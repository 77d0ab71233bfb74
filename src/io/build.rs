//! Makes the tables of settings short: of `src/io/dialect/settings/*.csv` the program keeps each name with one letter.
//! What `src/io/dialect/settings/mod.rs` says of a table is checked here, so that a wrong row is an error of the build.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FOLDER: &str = "dialect/settings";

/// The names of settings that are read, by the field that they set.
type Names = BTreeMap<String, BTreeSet<String>>;

/// Class and field of a row, with the letter that is kept for them. Not among them is the class `read`, whose field is
/// one of a Run.
const LETTERS: [(&str, &str, char); 19] = [
    ("not-modelled", "memory", 'm'),
    ("not-modelled", "time", 't'),
    ("not-modelled", "both", 'b'),
    ("not-modelled", "memory-if-on", 'M'),
    ("not-modelled", "time-if-on", 'T'),
    ("not-modelled", "both-if-on", 'B'),
    ("not-modelled", "memory-if-off", 'x'),
    ("not-modelled", "time-if-off", 'y'),
    ("not-modelled", "both-if-off", 'z'),
    ("no-effect", "names", 'N'),
    ("no-effect", "files", 'F'),
    ("no-effect", "data", 'D'),
    ("no-effect", "numbers", 'U'),
    ("no-effect", "shapes", 'S'),
    ("no-effect", "outside", 'O'),
    ("no-effect", "start", 'I'),
    ("no-effect", "ignored", 'G'),
    ("no-effect", "elsewhere", 'E'),
    ("no-effect", "counted", 'C'),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let mut files: Vec<PathBuf> =
        fs::read_dir(FOLDER)?.map(|entry| Ok(entry?.path())).collect::<Result<_, Box<dyn Error>>>()?;
    files.retain(|path| path.extension().is_some_and(|end| end == "csv"));
    files.sort();
    let mut out = String::from("pub(super) static TABLES: &[SettingsTable] = &[\n");
    let mut called = Names::new();
    for path in files {
        println!("cargo::rerun-if-changed={}", path.display());
        let (also, rows) = read(&path, &mut called)?;
        let id = path.file_stem().and_then(|name| name.to_str()).ok_or("a table's name is no text")?;
        writeln!(out, "    SettingsTable {{ id: {id:?}, also: &{also:?}, rows: {rows:?} }},")?;
    }
    out.push_str("];\n");
    let mut lines = String::from("\n");
    for (field, names) in called {
        let names: Vec<String> = names.into_iter().collect();
        writeln!(lines, "{field} {}", names.join(" "))?;
    }
    writeln!(out, "static NAMES: &str = {lines:?};")?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("settings.rs"), out)?;
    Ok(())
}

/// The further tables that a file names, and its rows: names as [`bare`] has them, each with its letter. Names of what
/// is read go to `called`.
fn read(path: &Path, called: &mut Names) -> Result<(Vec<String>, String), Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let mut also = Vec::new();
    let mut names: Vec<(String, char)> = Vec::new();
    for (number, line) in rows(&text) {
        let line = line.as_str();
        let wrong = |what: &str| format!("{}:{}: {what}: {line}", path.display(), number + 1);
        if let Some(comment) = line.strip_prefix('#') {
            if let Some(tables) = comment.trim().strip_prefix("also:") {
                also.extend(tables.split_whitespace().map(str::to_owned));
            }
            continue;
        }
        if line == "name,class,field,note" {
            continue;
        }
        let mut cells = line.splitn(4, ',');
        let (Some(name), Some(class), Some(field), Some(note)) =
            (cells.next(), cells.next(), cells.next(), cells.next())
        else {
            return Err(wrong("a row has name, class, field and note").into());
        };
        let kept = LETTERS.iter().find(|(known, what, _)| (*known, *what) == (class, field));
        let letter = match kept {
            Some((.., letter)) => *letter,
            None if class == "read" && !field.is_empty() => 'r',
            None => return Err(wrong("class and field are none of those that are known").into()),
        };
        if note.is_empty() || note.starts_with('"') != note.contains([',', '"']) {
            return Err(wrong("a note says file and line, in quotes where it has a comma").into());
        }
        let name = bare(name);
        if letter == 'r' {
            // The sections of a nested name are those of its file.
            let last = name.rsplit('.').next().unwrap_or(&name);
            called.entry(field.to_owned()).or_default().insert(last.to_owned());
        }
        if let Some((_, other)) = names.iter().find(|(known, _)| *known == name) {
            if *other != letter {
                return Err(wrong("the name is there already, otherwise").into());
            }
            continue;
        }
        names.push((name, letter));
    }
    names.sort();
    let mut rows = String::from("\n");
    for (name, letter) in names {
        writeln!(rows, "{name} {letter}")?;
    }
    Ok((also, rows))
}

/// The rows of a table with the numbers of their first lines, from 0. A line that begins with a blank continues the row
/// above it; its blank is kept unless that row ends with the comma of a cell.
fn rows(text: &str) -> Vec<(usize, String)> {
    let mut rows: Vec<(usize, String)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        match rows.last_mut() {
            Some((_, row)) if line.starts_with(' ') => {
                row.push_str(if row.ends_with(',') { line.trim_start() } else { line });
            }
            _ => rows.push((number, line.to_owned())),
        }
    }
    rows
}

/// `--model-name` is `model_name`, as in `src/io/dialect/rows/values.rs`.
fn bare(name: &str) -> String {
    name.trim_start_matches('-').replace('-', "_")
}
