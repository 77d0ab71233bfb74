//! A notebook of Jupyter as the program and the script that its cells are.
//!
//! Source: jupyter/nbformat v5.10 `docs/format_description.rst` (`cells`, `cell_type`, `source`); ipython/ipython 8.30
//! `docs/source/interactive/reference.rst` (`!` and `%%bash` start a shell), `IPython/core/magics/osm.py`
//! (`%%writefile`).

use serde_json::Value as Json;

/// What the program of the cells begins with: by an import it is known as one, whatever the first cell does.
const HEAD: &str = "from __future__ import annotations\n";

/// The code of a notebook.
#[derive(Debug, Default)]
pub(super) struct Notebook {
    /// Its cells of Python, as one program.
    pub python: String,
    /// What its cells give a shell.
    pub script: String,
    /// The files that its cells write, by name.
    pub files: Vec<(String, String)>,
}

/// The notebook that `text` is; none of any other text.
pub(super) fn notebook(text: &str) -> Option<Notebook> {
    if !text.trim_start().starts_with('{') || !text.contains("\"cell_type\"") {
        return None;
    }
    let object: Json = serde_json::from_str(text).ok()?;
    let mut out = Notebook { python: HEAD.to_owned(), ..Notebook::default() };
    for cell in object.get("cells")?.as_array()? {
        if cell.get("cell_type").and_then(Json::as_str) == Some("code") {
            out.cell(&source(cell.get("source").unwrap_or(&Json::Null)));
        }
    }
    Some(out)
}

/// The text of a cell: one, or a list of lines.
fn source(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(lines) => lines.iter().filter_map(Json::as_str).collect(),
        _ => String::new(),
    }
}

impl Notebook {
    fn cell(&mut self, text: &str) {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let mut words = first.split_whitespace();
        match words.next() {
            Some("%%bash" | "%%sh" | "%%shell" | "%%script") => self.script.extend([rest, "\n"]),
            Some("%%writefile" | "%%file") => {
                if let Some(name) = words.find(|word| !word.starts_with('-')) {
                    self.files.push((name.to_owned(), rest.to_owned()));
                }
            }
            // Timed, but run as any other.
            Some("%%time" | "%%timeit" | "%%capture") => self.lines(rest),
            Some(magic) if magic.starts_with("%%") => {}
            _ => self.lines(text),
        }
    }

    fn lines(&mut self, text: &str) {
        // A command goes on behind a backslash.
        let mut goes_on = false;
        for line in text.lines() {
            let bare = line.trim_start();
            let command = bare.strip_prefix('!').map(|command| command.trim_start_matches('!'));
            if let Some(command) = command.or(goes_on.then_some(line)) {
                self.script.extend([command, "\n"]);
                goes_on = command.trim_end().ends_with('\\');
                // What a condition holds stays a block.
                self.python.extend([&line[..line.len() - bare.len()], "pass\n"]);
            } else if !bare.starts_with('%') {
                self.python.extend([line, "\n"]);
            }
        }
    }
}
