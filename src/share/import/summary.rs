//! What an import says before it is taken.

use super::huggingface::Imported;
use crate::issue::Issue;
use crate::run::Run;
use crate::scene::issues::line;
use crate::scene::markup::{Html, el, fold, span, table, text};
use crate::share::link::encode;
use crate::units::show_count;

/// Size, entries used, ignored and assumed; or why it cannot be read.
#[must_use]
pub fn summary(read: &Result<Imported, Vec<Issue>>) -> Html {
    let imported = match read {
        Ok(imported) => imported,
        Err(issues) => return issues.iter().map(line).collect(),
    };
    let size = imported.model().resolve().map_or_else(
        |_| String::new(),
        |model| {
            let all = model.elements();
            let total = show_count(all.total() as f64);
            if all.active() == all.total() {
                format!("{}: {total} parameters", imported.kind)
            } else {
                let active = show_count(all.active() as f64);
                format!("{}: {total} parameters, {active} active", imported.kind)
            }
        },
    );
    let list = |lines: Vec<String>| -> Html {
        let items: Html = lines.iter().map(|line| span("li", "", line)).collect();
        el("ul", &[("class", "gaps")], &[items])
    };
    let used: Vec<(bool, Vec<Html>)> = imported
        .used
        .iter()
        .map(|(key, what)| (false, vec![text(key), text(what)]))
        .collect();
    let model = Run {
        model: imported.model(),
        ..Run::default()
    };
    let take = [("class", "main"), ("data-model", &*encode(&model))];
    let take = el("button", &take, &[text("Use this model")]);
    let mut parts = vec![span("p", "size", &size), take];
    let mut assumed = imported.assumed.clone();
    assumed.extend(imported.notes.iter().map(|note| (*note).to_owned()));
    if !assumed.is_empty() {
        parts.push(span("h4", "", "Assumed"));
        parts.push(list(assumed));
    }
    let count = format!("entries used: {}", used.len());
    parts.push(fold(
        &count,
        table("Entries used", &["entry", "read as"], &used),
    ));
    if !imported.ignored.is_empty() {
        let count = format!(
            "ignored, for they say nothing of shapes: {}",
            imported.ignored.len()
        );
        parts.push(fold(
            &count,
            span("p", "muted", &imported.ignored.join(", ")),
        ));
    }
    el("div", &[("class", "imported")], &parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::import::huggingface::read;

    #[test]
    fn a_summary_names_size_entries_and_what_is_assumed() {
        let config = r#"{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,
            "num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false,
            "attention_bias":false,"rope_theta":500000.0}"#;
        let html = summary(&read(&serde_json::from_str(config).unwrap())).into_string();
        for words in [
            "8.03 B parameters",
            "head width 128",
            "rope_theta",
            "num_hidden_layers",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
        let html = summary(&read(&serde_json::from_str("[]").unwrap())).into_string();
        assert!(html.contains("issue error"));
    }
}
