//! Statements of a Python file into settings.

use crate::dialect::SettingEntries;
use crate::dialect::text::words::scalar;
use shardscope_core::run::Value;
use std::collections::BTreeMap;

/// Entries that are read: names assigned to names can repeat what they hold without end.
const MAX_ENTRIES: usize = 20_000;
/// Names under which configurations are built.
const ROOTS: [&str; 4] = ["cfg", "config", "recipe", "base"];

/// Function of a file that makes the settings.
pub(in crate::dialect) const FUNCTION: &str = "def";
/// Function that another function's configuration begins with.
pub(in crate::dialect) const BEGINS_WITH: &str = "begins with";

/// True if a text looks like such a file.
pub(crate) fn is_file(text: &str) -> bool {
    let line = |line: &str| {
        let words = line.trim_start();
        let assigns = ROOTS.iter().any(|root| words.strip_prefix(root).is_some_and(|rest| rest.starts_with('.')));
        assigns && words.contains('=') || words.starts_with("def ") && words.contains("onfig")
    };
    text.lines().any(line)
}

/// True if a text builds a configuration at its root: `config = Config(`.
pub(crate) fn is_configuration(text: &str) -> bool {
    let builds = |line: &str| {
        ROOTS.iter().any(|root| {
            let call = line.strip_prefix(root).and_then(|rest| rest.strip_prefix(" = "));
            call.is_some_and(|call| call.contains("onfig(") && !call.starts_with(|c: char| c.is_ascii_lowercase()))
        })
    };
    text.lines().any(builds)
}

/// The settings of the last function of a file, or of the file where it has none.
pub(crate) fn entries(text: &str) -> SettingEntries {
    let mut reader = Reader::default();
    for statement in statements(text) {
        reader.take(&statement);
    }
    reader.out
}

/// Letters, digits, dots and underscores as one word, texts in their quotes, everything else letter by letter.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\'' || c == '"' {
            let mut word = String::from(c);
            while let Some(next) = chars.next() {
                if next == '\\' {
                    word.extend(chars.next());
                } else if next == c {
                    break;
                } else {
                    word.push(next);
                }
            }
            out.push(word);
        } else if c.is_alphanumeric() || c == '_' || c == '.' {
            let mut word = String::from(c);
            let exponent = |word: &str, c: char| {
                "+-".contains(c) && word.ends_with(['e', 'E']) && word.starts_with(|c: char| c.is_ascii_digit())
            };
            while let Some(next) = chars.next_if(|c| c.is_alphanumeric() || "_.".contains(*c) || exponent(&word, *c)) {
                word.push(next);
            }
            out.push(word);
        } else if !c.is_whitespace() {
            out.push(c.to_string());
        }
    }
    out
}

/// The logical lines: comments left out, brackets and texts of several lines closed.
pub(super) fn statements(text: &str) -> Vec<String> {
    let (mut out, mut line) = (Vec::new(), String::new());
    let (mut depth, mut quote) = (0usize, None::<&str>);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let opened = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|mark| rest.starts_with(mark));
        let mut length = c.len_utf8();
        match (quote, c) {
            (Some(mark), _) if rest.starts_with(mark) => {
                (quote, length) = (None, mark.len());
                line.push('"');
            }
            (Some(_), '\\') => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            (Some(_), '"' | '\n') => line.push(' '),
            (Some(_), c) => line.push(c),
            (None, '#') => length = rest.find('\n').unwrap_or(rest.len()),
            (None, '\\') => length = rest.find('\n').map_or(rest.len(), |at| at + 1),
            (None, '\n') if depth == 0 => out.push(std::mem::take(&mut line)),
            (None, c) => {
                if let Some(mark) = opened {
                    (quote, length) = (Some(mark), mark.len());
                    line.push('"');
                } else {
                    match c {
                        '(' | '[' | '{' => depth += 1,
                        ')' | ']' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    line.push(if c == '\n' { ' ' } else { c });
                }
            }
        }
        rest = &rest[length.min(rest.len())..];
    }
    out.push(line);
    out
}

#[derive(Default)]
struct Reader {
    out: SettingEntries,
    /// Meanings of names: their own value under "", what belongs to it behind a dot.
    known: BTreeMap<String, SettingEntries>,
    /// Entries that names hold, all together.
    held: usize,
}

impl Reader {
    fn take(&mut self, line: &str) {
        let words = tokens(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["from", module, "import", names @ ..] => {
                let mut names = names.iter().filter(|name| !"(),".contains(**name)).peekable();
                while let Some(name) = names.next() {
                    let renamed = names.next_if(|next| **next == "as").and_then(|_| names.next());
                    let whole = Value::Text(format!("{}.{name}", module.trim_end_matches('.')));
                    self.known.insert((*renamed.unwrap_or(name)).to_owned(), vec![(String::new(), whole)]);
                }
            }
            // A nested function begins with the names before it; another does not.
            ["def", name, ..] if line.starts_with("def ") => {
                self.out = vec![(FUNCTION.to_owned(), Value::Text((*name).to_owned()))];
            }
            // A name that was built is there already.
            ["return", name] if ROOTS.contains(name) => {}
            ["return", rest @ ..] => {
                if let Some(found) = self.expression(&mut &*rest) {
                    let called = found.iter().all(|(name, _)| name.is_empty());
                    let named = rest.len() > 1 && called;
                    self.put("", found, named);
                }
            }
            [name, "=", rest @ ..] => {
                let Some(found) = self.expression(&mut &*rest) else { return };
                if let Some((_, setting)) = name.split_once('.') {
                    return self.put(setting, found, false);
                }
                if ROOTS.contains(name) {
                    self.put("", found.clone(), true);
                }
                self.held += found.len();
                if self.held < MAX_ENTRIES {
                    self.known.insert((*name).to_owned(), found);
                }
            }
            _ => {}
        }
    }

    /// Takes what stands under `name`; a call at the root is what the configuration begins with.
    fn put(&mut self, name: &str, found: SettingEntries, begins: bool) {
        for (below, value) in found {
            let whole = match (name, below.as_str()) {
                ("", "") if begins && value.text().is_some() => BEGINS_WITH.to_owned(),
                ("", "") => continue,
                ("", below) => below.to_owned(),
                (name, "") => name.to_owned(),
                (name, below) => format!("{name}.{below}"),
            };
            if self.out.len() < MAX_ENTRIES {
                self.out.push((whole, value));
            }
        }
    }

    /// The value at the front of `words`, with what it holds; none where there is none.
    fn expression(&self, words: &mut &[&str]) -> Option<SettingEntries> {
        computed(words, ["+", "-"], &|words| computed(words, ["*", "/"], &|words| self.operand(words)))
    }

    fn operand(&self, words: &mut &[&str]) -> Option<SettingEntries> {
        let signs = words.iter().take_while(|word| **word == "-").count();
        let (word, rest) = words[signs..].split_first()?;
        *words = rest;
        let one = |value| vec![(String::new(), value)];
        Some(match *word {
            "None" => one(Value::Null),
            "True" => one(Value::Bool(true)),
            "False" => one(Value::Bool(false)),
            "(" => {
                let inside = *words;
                let items = self.items(words);
                // A comma makes a tuple, brackets alone do not.
                let is_tuple = inside[..inside.len() - words.len()].ends_with(&[",", ")"]);
                match items.as_slice() {
                    [(name, value)] if name == "0" && !is_tuple => one(value.clone()),
                    _ => list(items),
                }
            }
            "[" | "{" => list(self.items(words)),
            ")" | "]" | "}" | "," | "=" => return None,
            word if word.starts_with(['"', '\'']) => one(Value::Text(word[1..].to_owned())),
            word if word.starts_with(|c: char| c.is_ascii_digit()) => one(match scalar(&word.replace('_', "")) {
                Value::Number(number) if signs % 2 == 1 => Value::Number(-number),
                value => value,
            }),
            word => {
                // The imported path of a name stands in front of its attributes.
                let (front, rest) = word.split_once('.').map_or((word, None), |(front, rest)| (front, Some(rest)));
                let variable = self.known.get(front);
                let name = match (variable.and_then(|found| found.first()), rest) {
                    (Some((name, Value::Text(text))), None) if name.is_empty() => text.clone(),
                    (Some((name, Value::Text(text))), Some(rest)) if name.is_empty() => format!("{text}.{rest}"),
                    _ => word.to_owned(),
                };
                let variable = variable.filter(|_| rest.is_none());
                match words.first() {
                    Some(&"(") => {
                        *words = &words[1..];
                        let mut found = one(Value::Text(name));
                        found.extend(self.items(words));
                        found
                    }
                    _ => variable.cloned().unwrap_or_else(|| one(Value::Text(name))),
                }
            }
        })
    }

    /// Items up to the closing bracket: by their keyword, else numbered.
    fn items(&self, words: &mut &[&str]) -> SettingEntries {
        let mut out: SettingEntries = Vec::new();
        let mut number = 0usize;
        while let Some((word, rest)) = words.split_first() {
            match *word {
                ")" | "]" | "}" => {
                    *words = rest;
                    break;
                }
                "," => *words = rest,
                _ => {
                    let keyed = matches!(rest.first(), Some(&("=" | ":")));
                    let name = if keyed {
                        *words = &rest[1..];
                        word.trim_start_matches(['"', '\'']).to_owned()
                    } else {
                        number += 1;
                        (number - 1).to_string()
                    };
                    let found = self.expression(words).unwrap_or_default();
                    for (below, value) in found {
                        if out.len() < MAX_ENTRIES {
                            out.push((if below.is_empty() { name.clone() } else { format!("{name}.{below}") }, value));
                        }
                    }
                    // Words that are no expression that is read here.
                    while let Some((word, rest)) = words.split_first() {
                        match *word {
                            "," | ")" | "]" | "}" => break,
                            "(" | "[" | "{" => {
                                *words = rest;
                                self.items(words);
                            }
                            _ => *words = rest,
                        }
                    }
                }
            }
        }
        out
    }
}

/// Operands with `operators` between them, computed from the left.
fn computed(
    words: &mut &[&str],
    operators: [&str; 2],
    operand: &dyn Fn(&mut &[&str]) -> Option<SettingEntries>,
) -> Option<SettingEntries> {
    let mut found = operand(words)?;
    while let [operator, rest @ ..] = *words
        && operators.contains(operator)
    {
        *words = rest;
        // "//" is whole division.
        let whole = *operator == "/" && words.first() == Some(&"/");
        *words = if whole { &words[1..] } else { words };
        let other = operand(words)?;
        let value = match (found.first(), other.first()) {
            (Some((_, Value::Number(a))), Some((_, Value::Number(b)))) => match *operator {
                "*" => Value::Number(a * b),
                "+" => Value::Number(a + b),
                "-" => Value::Number(a - b),
                _ if whole => Value::Number((a / b).floor()),
                _ => Value::Number(a / b),
            },
            _ => Value::Text(String::new()),
        };
        let finite = !matches!(value, Value::Number(number) if !number.is_finite());
        found = vec![(String::new(), if finite { value } else { Value::Null })];
    }
    Some(found)
}

/// Plain items as a list; others keep their numbers.
fn list(items: SettingEntries) -> SettingEntries {
    let numbered = items.iter().enumerate().all(|(at, (name, _))| *name == at.to_string());
    if numbered {
        vec![(String::new(), Value::List(items.into_iter().map(|(_, value)| value).collect()))]
    } else {
        items
    }
}

#[cfg(test)]
mod tests {
    use crate::dialect::text::python::reading::*;

    fn said(text: &str) -> Vec<String> {
        let line = |(name, value): (String, Value)| {
            format!("{name}={}", serde_json::to_string(&value).unwrap_or_default().replace('"', ""))
        };
        entries(text).into_iter().map(line).collect()
    }

    #[test]
    fn calls_and_assignments_are_settings() {
        let text = "from a.models import registry as model\n\nTOKENS = 8192  # a sequence\n\ndef first():\n    \
            return Config(x=1)\n\ndef run() -> Config:\n    \"\"\"Text\n    of lines = 3.\"\"\"\n    spec = \
            model(\"8B\", \
            converters=[Float.Config(recipe=\"rowwise\")])\n    return Trainer.Config(\n        \
            model_spec=spec,\n        \
            training=Training(tokens=2 * TOKENS, steps=10 // 4, rate=1e-4),\n        \
            names=[\"a\", 'b'], off=None,\n    )\n";
        assert_eq!(
            said(text),
            [
                "def=run",
                "model_spec=a.models.registry",
                "model_spec.0=8B",
                "model_spec.converters.0=Float.Config",
                "model_spec.converters.0.recipe=rowwise",
                "training=Training",
                "training.tokens=16384",
                "training.steps=2",
                "training.rate=0.0001",
                "names=[a,b]",
                "off=null"
            ]
        );
    }

    /// The Python Language Reference, sections 6.7 and 6.17: products bind before sums, brackets before both.
    #[test]
    fn numbers_are_as_python_computes_them() {
        for (text, value) in [
            ("2 + 3 * 4", "14"),
            ("(2 + 3) * 4", "20"),
            ("10 - 2 - 3 * 2", "2"),
            ("7 // 2 * 2 + 1", "7"),
            ("(8,)", "[8]"),
        ] {
            assert_eq!(said(&format!("cfg.a = {text}\n")), [format!("a={value}")], "{text}");
        }
    }

    #[test]
    fn a_configuration_may_begin_with_another() {
        let text = "from x.registry import llama3_8b\ndef mine():\n    config = llama3_8b()\n    \
            config.parallelism.degree = -1\n    config.on = True\n    config.text = f\"x {1}\"\n    return config\n";
        let expected = ["def=mine", "begins with=x.registry.llama3_8b", "parallelism.degree=-1.0", "on=true", "text=f"];
        assert_eq!(said(text), expected);
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for text in [
            "cfg.a = (",
            "cfg.a = )",
            "cfg.a = f(x for y in [1, {2: 3}]) * ",
            "def a(\ncfg.b = \"",
            "\\",
            "cfg.é = 'é\\é",
        ] {
            let _ = entries(text);
        }
        let text: String =
            (0..40).fold("v0 = [1, 1]\n".to_owned(), |text, at| format!("{text}v{} = f(a=v{at}, b=v{at})\n", at + 1));
        assert!(entries(&format!("{text}cfg.x = v40\n")).len() <= MAX_ENTRIES);
    }
}
