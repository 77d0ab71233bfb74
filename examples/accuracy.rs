//! Published runs and how far predictions of them are off.
//!
//! Without arguments it fits the constants as if each run were still to come, and prints the errors:
//! `public/data/accuracy.csv` (`tools/accuracy`). With `add` it checks a run that somebody measured, and shows the lines
//! of the tables that it becomes; `--write` puts them there.

use shardscope::core::accuracy::record::{kept, record};
use shardscope::core::accuracy::{DATED, read};
use shardscope::io::contributed::{AddedRun, Contribution, ORIGINS, TABLE};
use std::fs::{read_to_string, write};
use std::process::ExitCode;

/// The tables, within the repository.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/public/data");

const USAGE: &str =
    "tools/accuracy add --document TITLE --date YEARS --publisher NAME --link '#v=1&...' --note SOFTWARE \\
    (--step_s SECONDS | --tokens_per_s_per_gpu RATE) [--anyway] [--write]

Checks a measured run and prints its lines of the tables in public/data; --write adds them.
  --document   title, table or page, and where everybody can read it
  --date       when it was published, in years: 2026.5 is July 2026
  --link       the page with the run's settings, as the document prints them
  --note       software with its release, and what the document leaves open
  --anyway     though the prediction is off by more than a factor of 3";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        None => errors(),
        Some("add") if arguments.len() > 0 => add(&arguments.collect::<Vec<_>>()),
        Some(_) => fail(USAGE),
    }
}

fn fail(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}

/// Prints the record of errors.
fn errors() -> ExitCode {
    let (mut rows, mut tables) = (Vec::new(), Vec::new());
    for file in DATED {
        let Ok(text) = read_to_string(format!("{FOLDER}/{file}")) else {
            return fail(&format!("{file} is not in {FOLDER}"));
        };
        rows.extend(read(file, &text).0);
        tables.push(text);
    }
    let aside = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kept_runs.csv");
    let Ok(text) = read_to_string(aside) else {
        return fail(&format!("{aside} is missing"));
    };
    let (kept, _) = kept(&text);
    tables.push(text);
    print!("{}", record(&rows, &kept, &tables));
    ExitCode::SUCCESS
}

/// Checks a run, and adds it where it is told to.
fn add(arguments: &[String]) -> ExitCode {
    let Some((contribution, is_written)) = stated(arguments) else {
        return fail(USAGE);
    };
    let [table, origins] = [TABLE, ORIGINS].map(|file| format!("{FOLDER}/{file}"));
    let (Ok(text), Ok(dates)) = (read_to_string(&table), read_to_string(&origins)) else {
        return fail(&format!("{table} or {origins} is missing"));
    };
    let checked = match contribution.check(&text) {
        Ok(checked) => checked,
        Err(issues) => {
            let lines = issues.iter().map(|issue| format!("--{}: {}", issue.field, issue.message));
            return fail(&lines.collect::<Vec<_>>().join("\n"));
        }
    };
    let AddedRun { line, origin, source, measured_s, predicted_s, range_s } = checked;
    println!("measured {measured_s:.3} s, predicted {predicted_s:.3} s, {:.3} to {:.3} s", range_s[0], range_s[1]);
    println!("public/data/{TABLE}:\n{line}");
    if let Some(origin) = &origin {
        println!("public/data/{ORIGINS}:\n{origin}");
    }
    match source {
        Some(name) => println!("It is read as a run of: {name}"),
        None => println!(
            "No source of src/core/accuracy/sources.rs reads it: add a row there whose `only` holds words of it."
        ),
    }
    if !is_written {
        println!("Nothing is written: --write adds the lines.");
        return ExitCode::SUCCESS;
    }
    let added = |text: &str, line: &str| format!("{}\n{line}\n", text.trim_end());
    let mut files = vec![(table, added(&text, &line))];
    files.extend(origin.map(|origin| (origins, added(&dates, &origin))));
    for (file, text) in files {
        if let Err(error) = write(&file, text) {
            return fail(&format!("{file}: {error}"));
        }
    }
    println!("Then: tools/accuracy, make scoreboard, cargo test --test accuracy --test time");
    ExitCode::SUCCESS
}

/// What the arguments say, and whether it is to be written; none where they cannot be read.
fn stated(arguments: &[String]) -> Option<(Contribution, bool)> {
    let (mut said, mut is_written) = (Contribution::default(), false);
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        match name.as_str() {
            "--write" => is_written = true,
            "--anyway" => said.anyway = true,
            name => {
                let value = rest.next()?;
                match name {
                    "--document" => said.document.clone_from(value),
                    "--publisher" => said.publisher.clone_from(value),
                    "--link" => said.link.clone_from(value),
                    "--note" => said.note.clone_from(value),
                    "--date" => said.date = value.parse().ok()?,
                    "--step_s" => said.step_s = Some(value.parse().ok()?),
                    "--tokens_per_s_per_gpu" => said.tokens_per_s_per_gpu = Some(value.parse().ok()?),
                    _ => return None,
                }
            }
        }
    }
    Some((said, is_written))
}
