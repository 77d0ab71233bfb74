//! Fits the constants to published runs as if each were still to come, and prints the errors:
//! `public/data/accuracy.csv` (`tools/accuracy`).

use shardscope::core::accuracy::record::{kept, record};
use shardscope::core::accuracy::{DATED, read};
use std::fs::read_to_string;
use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/public/data");
    let (mut rows, mut tables) = (Vec::new(), Vec::new());
    for file in DATED {
        let Ok(text) = read_to_string(format!("{folder}/{file}")) else {
            eprintln!("{file} is not in {folder}");
            return ExitCode::FAILURE;
        };
        rows.extend(read(file, &text).0);
        tables.push(text);
    }
    let aside = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kept_runs.csv");
    let Ok(text) = read_to_string(aside) else {
        eprintln!("{aside} is missing");
        return ExitCode::FAILURE;
    };
    let (kept, _) = kept(&text);
    tables.push(text);
    print!("{}", record(&rows, &kept, &tables));
    ExitCode::SUCCESS
}
