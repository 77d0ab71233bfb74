//! Lines of at most 120 characters: what does not fit beside another window is not read.

use std::fs;
use std::path::{Path, PathBuf};

/// Most characters of a line of Rust, of the types of the JavaScript package, of tables of settings and of the style.
const WIDTH: usize = 120;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| ["rs", "ts", "csv", "css"].iter().any(|known| end == *known)) {
            found.push(path);
        }
    }
}

/// The sources, their tables of data included; `rustfmt` holds what it can break itself.
#[test]
fn no_line_of_the_sources_is_wider_than_a_window() {
    let mut paths = Vec::new();
    for folder in ["src", "style"] {
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut paths);
    }
    let mut wide = Vec::new();
    for path in &paths {
        for (number, line) in fs::read_to_string(path).unwrap().lines().enumerate() {
            let width = line.chars().count();
            if width > WIDTH {
                wide.push(format!("{}:{}: {width}", path.display(), number + 1));
            }
        }
    }
    assert!(paths.len() > 100);
    assert!(wide.is_empty(), "{wide:#?}");
}
