//! What the words of a shell become: variables, sums and outputs of commands put in, quotes taken away. Source: POSIX,
//! Shell Command Language, section 2.6, and Bash's manual, Shell Expansions.

use crate::dialect::text::shell::parser::is_name;
use crate::dialect::text::shell::patterns::{beginning, ending, replaced};
use crate::dialect::text::shell::state::{CLOSE, OPEN, Shell, Text, Value, clean};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Words that `{a,b}` and `{1..9}` may make.
const MAX_BRACES: usize = 1024;
/// Letters of a value in which patterns are looked for.
const MAX_SEARCHED: usize = 512;
/// Letters of a value in which all places of a pattern with stars are looked for.
const MAX_REPLACED: usize = 128;

/// A part of a word.
struct Part {
    /// One value; of `${array[@]}` each of its elements.
    values: Vec<Text>,
    /// Between quotes, or behind a backslash.
    quoted: bool,
    /// Put in from a variable.
    put_in: bool,
    /// Elements stay words of their own between quotes.
    apart: bool,
}

/// What a name stands for.
enum Got {
    /// Nothing in the text sets it.
    Unset,
    One(Text),
    Several(Vec<Text>, bool),
}

impl Shell<'_> {
    /// The words that one becomes.
    pub fn words(&mut self, raw: &str) -> Vec<Text> {
        let mut out = Vec::new();
        for raw in braces(raw) {
            let parts = self.parts(&raw, false);
            self.split(parts, &mut out);
        }
        out
    }

    /// One value, as on the right of `=` and within `[[ ]]`.
    pub fn value(&mut self, raw: &str) -> Text {
        let parts = self.parts(raw, false);
        Self::joined(parts)
    }

    /// The text of a here-document.
    pub fn here(&mut self, body: &str) -> Text {
        let parts = self.parts(body, true);
        Self::joined(parts)
    }

    /// A pattern: what was quoted stands for itself.
    pub fn pattern(&mut self, raw: &str) -> Text {
        let mut out = Text::default();
        for part in self.parts(raw, false) {
            for value in part.values {
                out.rest_on(&value.rests);
                for c in value.text.chars() {
                    if part.quoted && "*?[]\\@()|".contains(c) {
                        out.text.push('\\');
                    }
                    out.text.push(c);
                }
            }
        }
        out
    }

    /// Elements of `"${array[*]}"`, with the first letter of `IFS` between.
    fn starred(&self, values: &[Text]) -> Text {
        let between = match self.variables.get("IFS") {
            Some(Value::One(text)) if !text.is_open() => text.text.chars().next(),
            _ => Some(' '),
        };
        let mut out = Text::default();
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                out.text.extend(between);
            }
            out.push(value);
        }
        out
    }

    fn joined(parts: Vec<Part>) -> Text {
        let mut out = Text::default();
        for part in parts {
            for (at, value) in part.values.iter().enumerate() {
                if at > 0 {
                    out.text.push(' ');
                }
                out.push(value);
            }
        }
        out
    }

    fn split(&mut self, parts: Vec<Part>, out: &mut Vec<Text>) {
        let separators = match self.variables.get("IFS") {
            Some(Value::One(text)) if !text.is_open() => text.text.clone(),
            _ => " \t\n".to_owned(),
        };
        let mut word: Option<Text> = None;
        for part in parts {
            if !part.put_in || part.quoted && !part.apart {
                let joined = Self::joined(vec![part]);
                word.get_or_insert_default().push(&joined);
                continue;
            }
            for (at, value) in part.values.into_iter().enumerate() {
                if at > 0 {
                    out.extend(word.take());
                }
                if part.quoted {
                    word.get_or_insert_default().push(&value);
                    continue;
                }
                // What is not known is one word, whatever its name holds.
                let mut within = false;
                let pieces = value.text.split(|c| {
                    within = (within || c == OPEN) && c != CLOSE;
                    !within && separators.contains(c)
                });
                for (at, piece) in pieces.enumerate() {
                    if at > 0 {
                        out.extend(word.take());
                    }
                    if !piece.is_empty() {
                        word.get_or_insert_default().push(&Text { text: piece.to_owned(), rests: value.rests.clone() });
                    }
                }
            }
        }
        out.extend(word);
    }

    /// The parts of a word, or of a text in which quotes are letters.
    fn parts(&mut self, raw: &str, here: bool) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut rest = raw;
        let mut double = false;
        let mut plain = String::new();
        while let Some(c) = rest.chars().next() {
            let behind = rest.get(c.len_utf8()..).unwrap_or_default();
            let mut literal = |text: String, quoted: bool| {
                parts.push(Part { values: vec![Text::of(clean(&text))], quoted, put_in: false, apart: false });
            };
            match c {
                '\'' if !double && !here => {
                    literal(std::mem::take(&mut plain), false);
                    let end = behind.find('\'').unwrap_or(behind.len());
                    literal(behind.get(..end).unwrap_or_default().to_owned(), true);
                    rest = behind.get(end + 1..).unwrap_or_default();
                }
                '"' if !here => {
                    if !plain.is_empty() {
                        literal(std::mem::take(&mut plain), double);
                    }
                    double = !double;
                    rest = behind;
                    if double && rest.starts_with('"') {
                        literal(String::new(), true);
                    }
                }
                '\\' => {
                    let next = behind.chars().next();
                    rest = next.map_or("", |next| behind.get(next.len_utf8()..).unwrap_or_default());
                    match next {
                        None | Some('\n') => {}
                        Some('\r') => rest = rest.strip_prefix('\n').unwrap_or(rest),
                        Some(next) if (double || here) && !"$`\"\\".contains(next) || here && next == '"' => {
                            plain.push('\\');
                            plain.push(next);
                        }
                        Some(next) if double || here => plain.push(next),
                        Some(next) => {
                            literal(std::mem::take(&mut plain), false);
                            literal(next.to_string(), true);
                        }
                    }
                }
                '$' | '`' => {
                    let quoted = double || here;
                    if !plain.is_empty() {
                        literal(std::mem::take(&mut plain), quoted);
                    }
                    let (got, after) = if c == '$' { self.dollar(behind, quoted) } else { self.backquoted(behind) };
                    rest = after;
                    let got = match got {
                        Err((values, false)) if quoted && values.len() > 1 => Err((vec![self.starred(&values)], false)),
                        got => got,
                    };
                    parts.push(match got {
                        Ok(text) => Part { values: vec![text], quoted, put_in: false, apart: false },
                        Err((values, apart)) => Part { values, quoted, put_in: true, apart },
                    });
                }
                c => {
                    plain.push(c);
                    rest = behind;
                }
            }
        }
        if !plain.is_empty() {
            parts.push(Part { values: vec![Text::of(clean(&plain))], quoted: double, put_in: false, apart: false });
        }
        parts.retain(|part| part.quoted || part.put_in || part.values.iter().any(|value| !value.text.is_empty()));
        parts
    }

    /// What stands behind a `$`: a letter of its own (left), or values that were put in and whether they stay apart.
    #[allow(clippy::type_complexity)]
    fn dollar<'t>(&mut self, rest: &'t str, quoted: bool) -> (Result<Text, (Vec<Text>, bool)>, &'t str) {
        let one = |text: Text| Err((vec![text], false));
        if let Some(inner) = rest.strip_prefix("((").filter(|_| {
            closing(rest, '(', ')').is_some_and(|end| rest.get(..end).is_some_and(|inner| inner.ends_with("))")))
        }) {
            let end = closing(rest, '(', ')').unwrap_or(rest.len());
            let sum = inner.get(..end.saturating_sub(4)).unwrap_or_default();
            let result = self.computed(sum);
            return (one(result), rest.get(end..).unwrap_or_default());
        }
        if rest.starts_with('(') {
            let end = closing(rest, '(', ')').unwrap_or(rest.len());
            let inner = rest.get(1..end.saturating_sub(1)).unwrap_or_default();
            return (one(self.output(inner)), rest.get(end..).unwrap_or_default());
        }
        if rest.starts_with('{') {
            let end = closing(rest, '{', '}').unwrap_or(rest.len());
            let inner = rest.get(1..end.saturating_sub(1)).unwrap_or_default();
            let after = rest.get(end..).unwrap_or_default();
            let got = if self.enter(0) { self.parameter(inner) } else { (Vec::new(), false) };
            self.depth -= 1;
            return (Err(got), after);
        }
        if !quoted && rest.starts_with('\'') {
            let inner = rest.get(1..).unwrap_or_default();
            let end = inner.find('\'').unwrap_or(inner.len());
            let text = inner.get(..end).unwrap_or_default().replace("\\n", "\n").replace("\\t", "\t");
            return (Ok(Text::of(clean(&text))), inner.get(end + 1..).unwrap_or_default());
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = match rest.chars().next() {
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => rest.get(..1).unwrap_or_default(),
            _ => rest.get(..end).unwrap_or_default(),
        };
        let after = rest.get(name.len()..).unwrap_or_default();
        if name.is_empty() {
            return (Ok(Text::of("$")), rest);
        }
        let got = self.got(name, None);
        (Err(self.put(name, got)), after)
    }

    fn backquoted<'t>(&mut self, rest: &'t str) -> (Result<Text, (Vec<Text>, bool)>, &'t str) {
        let mut inner = String::new();
        let mut letters = rest.char_indices();
        let mut after = "";
        while let Some((at, c)) = letters.next() {
            match c {
                '`' => {
                    after = rest.get(at + 1..).unwrap_or_default();
                    break;
                }
                '\\' => inner.extend(letters.next().map(|(_, next)| next)),
                c => inner.push(c),
            }
        }
        (Err((vec![self.output(&inner)], false)), after)
    }

    /// The result of `$((sum))`.
    fn computed(&mut self, sum: &str) -> Text {
        let text = self.here(sum);
        if text.is_open() {
            return Self::open_sum(&text.shown(), text.rests);
        }
        match self.sum(&text.text) {
            Some(found) if !found.open => {
                let mut out = Text { text: found.value.to_string(), rests: found.rests };
                out.rest_on(&text.rests);
                out
            }
            Some(found) => Self::open_sum(&text.text, found.rests),
            None => Text::unknown(&format!("(({}))", text.text)),
        }
    }

    /// A sum that rests on what is not known.
    fn open_sum(sum: &str, rests: Vec<Rc<str>>) -> Text {
        Text { text: Text::unknown(&format!("(({}))", sum.trim())).text, rests }
    }

    /// The value of a name, of an element, or of all elements.
    fn got(&mut self, name: &str, at: Option<&str>) -> Got {
        self.is_given(name);
        if let (Some(arguments), None) = (&self.arguments, at) {
            match name {
                "@" | "*" => return Got::Several(arguments.clone(), name == "*"),
                "#" => return Got::One(Text::of(arguments.len().to_string())),
                _ => {}
            }
            if let Ok(place) = name.parse::<usize>() {
                let argument = place.checked_sub(1).map(|place| arguments.get(place).cloned());
                return match argument {
                    None => Got::Unset,
                    Some(argument) => Got::One(argument.unwrap_or_default()),
                };
            }
        }
        if name == "#" {
            let mut count = Text::of("0");
            count.rest_on(&["#".into()]);
            return Got::One(count);
        }
        if name == "?" {
            let text = if self.status.yes { "0" } else { "1" };
            return Got::One(Text { text: text.to_owned(), rests: self.status.rests.clone() });
        }
        let index = at.filter(|at| !matches!(*at, "@" | "*")).map(|at| self.here(at).plain());
        let Some(value) = self.variables.get(name) else { return Got::Unset };
        match (value, at, index) {
            (Value::One(text), None, _) => Got::One(text.clone()),
            (Value::One(text), Some("@" | "*"), _) => Got::Several(vec![text.clone()], at == Some("*")),
            (Value::List(items), Some("@" | "*"), _) => {
                Got::Several(items.values().cloned().collect(), at == Some("*"))
            }
            (Value::Map(items), Some("@" | "*"), _) => Got::Several(items.values().cloned().collect(), at == Some("*")),
            (Value::List(items), None, _) => items.get(&0).cloned().map_or(Got::Unset, Got::One),
            (Value::Map(items), _, Some(key)) => {
                Got::One(items.get(key.trim_matches(['"', '\''])).cloned().unwrap_or_default())
            }
            (Value::One(text), _, Some(key)) => Got::One(if key == "0" { text.clone() } else { Text::default() }),
            (Value::List(items), _, Some(key)) => {
                let last = items.keys().next_back().copied().unwrap_or(-1);
                let items = items.clone();
                let at = self.sum(&key).map_or(0, |sum| sum.value);
                let at = if at < 0 { last + 1 + at } else { at };
                Got::One(items.get(&at).cloned().unwrap_or_default())
            }
            (Value::Map(_), None, _) | (_, Some(_), None) => Got::Unset,
        }
    }

    /// What a name becomes without more beside it.
    fn put(&mut self, name: &str, got: Got) -> (Vec<Text>, bool) {
        let (values, apart) = match got {
            // The branch that sets it does not run: as a shell has it, nothing.
            Got::Unset if self.passed_by.contains(name.trim_end_matches("[@]")) => {
                let mut none = Text::default();
                none.rest_on(&[name.into()]);
                (vec![none], false)
            }
            Got::Unset => {
                let all = if name == "*" { "@" } else { name };
                (vec![Text::unknown(all)], false)
            }
            Got::One(text) => (vec![text], false),
            Got::Several(values, star) => (values, !star),
        };
        let size = values.iter().map(|value| value.text.len()).sum();
        if self.spend(size) { (values, apart) } else { (Vec::new(), false) }
    }

    /// What stands between `${` and `}`.
    fn parameter(&mut self, inner: &str) -> (Vec<Text>, bool) {
        let one = |text: Text| (vec![text], false);
        if let Some(rest) = inner.strip_prefix('#').filter(|rest| !rest.is_empty()) {
            let (name, at, _) = named(rest);
            return match self.got(name, at) {
                Got::Unset if at.is_some() => {
                    let mut none = Text::of("0");
                    none.rest_on(&[name.into()]);
                    one(none)
                }
                Got::Unset => one(Text::unknown(&format!("#{name}"))),
                Got::One(text) if text.is_open() => {
                    one(Text { text: Text::unknown(&format!("#{name}")).text, rests: text.rests })
                }
                Got::One(text) => one(Text { text: text.text.chars().count().to_string(), rests: text.rests }),
                Got::Several(values, _) => one(Text::of(values.len().to_string())),
            };
        }
        if let Some(rest) = inner.strip_prefix('!') {
            let (name, at, _) = named(rest);
            if at.is_some() {
                let keys: Vec<Text> = match self.variables.get(name) {
                    Some(Value::List(items)) => items.keys().map(|key| Text::of(key.to_string())).collect(),
                    Some(Value::Map(items)) => items.keys().map(|key| Text::of(key.clone())).collect(),
                    _ => Vec::new(),
                };
                return (keys, true);
            }
            let to = match self.got(name, None) {
                Got::One(text) if !text.is_open() => text,
                _ => return one(Text::unknown(name)),
            };
            let got = self.got(&to.text, None);
            let (mut values, apart) = self.put(&to.text, got);
            for value in &mut values {
                value.rest_on(&to.rests);
            }
            return (values, apart);
        }
        let (name, at, operation) = named(inner);
        if name.is_empty() {
            return one(Text::unknown(inner));
        }
        let got = self.got(name, at);
        if operation.is_empty() {
            let shown = if at.is_some() && matches!(got, Got::Unset) { format!("{name}[@]") } else { name.to_owned() };
            return self.put(&shown, got);
        }
        self.operated(name, got, operation)
    }

    fn operated(&mut self, name: &str, got: Got, operation: &str) -> (Vec<Text>, bool) {
        let colon = operation.starts_with(':');
        let sign = operation.trim_start_matches(':').chars().next().unwrap_or_default();
        if "-=+?".contains(sign) && (operation.len() - operation.trim_start_matches(':').len()) <= 1 {
            let word = operation.get(usize::from(colon) + 1..).unwrap_or_default();
            return self.defaulted(name, got, colon, sign, word);
        }
        let (values, apart) = match got {
            Got::Unset => return (vec![Text::unknown(name)], false),
            Got::One(text) => (vec![text], false),
            Got::Several(values, star) => (values, !star),
        };
        if let Some(range) = operation.strip_prefix(':') {
            return self.range(values, apart, range);
        }
        let changed = values.into_iter().map(|value| self.changed(value, operation)).collect();
        (changed, apart)
    }

    /// `${name:-word}` and its kin.
    fn defaulted(&mut self, name: &str, got: Got, colon: bool, sign: char, word: &str) -> (Vec<Text>, bool) {
        // What is not set here may be set outside.
        let outside = Text::unknown(name).rests;
        let (set, rests) = match &got {
            Got::Unset => (false, outside),
            Got::One(text) => {
                let empty = text.plain().is_empty();
                // Made of what is not known alone, a shell would have nothing there.
                let open = text.is_open() && empty;
                (!(open || colon && empty), text.rests.clone())
            }
            Got::Several(values, _) => (!values.is_empty(), Vec::new()),
        };
        match sign {
            '+' if set => {
                let mut text = self.value(word);
                text.rest_on(&rests);
                // Put in without quotes it is several words.
                (vec![text], false)
            }
            '+' => {
                let is_open = !rests.is_empty() && !word.is_empty();
                if is_open && self.is_alternative(name, word, &rests) {
                    return (vec![self.value(word)], false);
                }
                (vec![Text { text: String::new(), rests }], false)
            }
            '-' | '=' if !set => {
                let parts = self.parts(word, false);
                let mut text = Self::joined(parts);
                text.rest_on(&rests);
                if sign == '=' {
                    self.assign(name, text.clone());
                }
                (vec![text], false)
            }
            '?' if !set => (vec![Text::unknown(name)], false),
            _ => self.put(name, got),
        }
    }

    /// `${name:from:count}`.
    fn range(&mut self, values: Vec<Text>, apart: bool, range: &str) -> (Vec<Text>, bool) {
        let (from, count) = match range.split_once(':') {
            Some((from, count)) => (from, Some(count)),
            None => (range, None),
        };
        let mut number = |text: &str| {
            let text = self.here(text).plain();
            self.sum(&text).map_or(0, |sum| sum.value)
        };
        let (from, count) = (number(from), count.map(&mut number));
        let cut = |length: usize| {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            let start = if from < 0 { (length + from).max(0) } else { from.min(length) };
            let end = match count {
                Some(count) if count < 0 => (length + count).max(start),
                Some(count) => start.saturating_add(count).min(length),
                None => length,
            };
            (usize::try_from(start).unwrap_or(0), usize::try_from(end).unwrap_or(0))
        };
        if apart {
            // The arguments count from 1.
            let (start, end) = cut(values.len());
            return (values.get(start..end).unwrap_or_default().to_vec(), true);
        }
        let part = |value: Text| {
            if value.is_open() {
                return value;
            }
            let letters: Vec<char> = value.text.chars().collect();
            let (start, end) = cut(letters.len());
            Text { text: letters.get(start..end).unwrap_or_default().iter().collect(), rests: value.rests }
        };
        (values.into_iter().map(part).collect(), false)
    }

    /// `${name#pattern}` and its kin, of one value.
    fn changed(&mut self, value: Text, operation: &str) -> Text {
        if value.is_open() || value.text.len() > MAX_SEARCHED || !self.spend(value.text.len() * 4) {
            return value;
        }
        let text = &value.text;
        let mut rests = value.rests.clone();
        let mut pattern = |raw: &str| {
            let pattern = self.pattern(raw);
            rests.extend(pattern.rests);
            pattern.text
        };
        let new = if let Some(raw) = operation.strip_prefix("##") {
            beginning(&pattern(raw), text, true).and_then(|end| text.get(end..)).unwrap_or(text).to_owned()
        } else if let Some(raw) = operation.strip_prefix('#') {
            beginning(&pattern(raw), text, false).and_then(|end| text.get(end..)).unwrap_or(text).to_owned()
        } else if let Some(raw) = operation.strip_prefix("%%") {
            ending(&pattern(raw), text, true).and_then(|at| text.get(..at)).unwrap_or(text).to_owned()
        } else if let Some(raw) = operation.strip_prefix('%') {
            ending(&pattern(raw), text, false).and_then(|at| text.get(..at)).unwrap_or(text).to_owned()
        } else if let Some(rest) = operation.strip_prefix('/') {
            let (all, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
            let (from, by) = slash(rest);
            let from = pattern(from);
            let by = self.value(by);
            rests.extend(by.rests);
            if let Some(start) = from.strip_prefix('#') {
                let end = beginning(start, text, true).unwrap_or(0);
                format!("{}{}", if end > 0 { &by.text } else { "" }, text.get(end..).unwrap_or_default())
            } else if let Some(end) = from.strip_prefix('%') {
                let at = ending(end, text, true).unwrap_or(text.len());
                format!("{}{}", text.get(..at).unwrap_or_default(), if at < text.len() { &by.text } else { "" })
            } else {
                let literal = !from.contains(['*', '?', '[']);
                // Each place is tried with each length.
                if !literal && (text.len() > MAX_REPLACED || !self.spend(text.len() * text.len() / 4)) {
                    return Text { text: Text::unknown(text).text, rests };
                }
                replaced(&from, text, &by.text, all)
            }
        } else {
            let first = |upper: bool| {
                let mut letters = text.chars();
                let head = letters.next().map(|c| if upper { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() });
                head.into_iter().chain(letters).collect::<String>()
            };
            match operation {
                "^^" => text.to_uppercase(),
                ",," => text.to_lowercase(),
                "^" => first(true),
                "," => first(false),
                _ => text.clone(),
            }
        };
        let mut out = Text::of(new);
        out.rest_on(&rests);
        out
    }

    /// Sets a plain variable, unless a request gives it.
    pub fn assign(&mut self, name: &str, text: Text) {
        if self.is_given(name) || !is_name(name) {
            return;
        }
        self.remember(name, &text.shown());
        self.write(name, Value::One(text));
    }
}

/// The elements of an array from 0.
pub(super) fn numbered(items: Vec<Text>) -> BTreeMap<i64, Text> {
    (0..).zip(items).collect()
}

/// A name, what stands in brackets behind it, and the rest.
fn named(inner: &str) -> (&str, Option<&str>, &str) {
    let end = match inner.chars().next() {
        Some(c) if "@*#?$!-".contains(c) => 1,
        Some(c) if c.is_ascii_digit() => inner.find(|c: char| !c.is_ascii_digit()).unwrap_or(inner.len()),
        _ => inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len()),
    };
    let (name, rest) = inner.split_at_checked(end).unwrap_or((inner, ""));
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((at, rest)) => (name, Some(at), rest),
        None => (name, None, rest),
    }
}

/// The pattern and what replaces it, apart by a `/` that is not quoted.
fn slash(text: &str) -> (&str, &str) {
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, c)) = letters.next() {
        match c {
            '\\' => {
                letters.next();
            }
            '"' | '\'' if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            '/' if quote.is_none() && at > 0 => {
                return (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
            }
            _ => {}
        }
    }
    (text, "")
}

/// Where the text behind the bracket ends that `rest` begins with.
fn closing(rest: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_u32;
    let mut quote: Option<char> = None;
    let mut letters = rest.char_indices();
    while let Some((at, c)) = letters.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                letters.next();
            }
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            (c, None) if c == open => depth += 1,
            (c, None) if c == close => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + c.len_utf8());
                }
            }
            _ => {}
        }
    }
    None
}

/// The words that `{a,b}` and `{1..9}` make of one; only the word where there are none.
fn braces(raw: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![raw.to_owned()];
    while let Some(word) = open.pop() {
        match brace(&word) {
            Some(mut words) if done.len() + open.len() + words.len() < MAX_BRACES => {
                words.reverse();
                open.extend(words);
            }
            _ => done.push(word),
        }
    }
    done
}

/// The first brace of a word that makes several: it has neither quotes nor variables in it.
fn brace(word: &str) -> Option<Vec<String>> {
    let mut quote = None;
    let mut before = ' ';
    let mut start = None;
    for (at, c) in word.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                start = None;
            }
            ('$', None) => start = None,
            ('{', None) if before != '$' && before != '\\' => start = Some(at),
            ('}', None) => {
                if let Some(from) = start.take() {
                    let inner = word.get(from + 1..at)?;
                    let list: Vec<String> = match inner.split_once("..") {
                        Some((first, last)) => {
                            let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
                            let count =
                                usize::try_from(first.abs_diff(last)).ok().filter(|count| *count < MAX_BRACES)?;
                            let step = if last < first { -1 } else { 1 };
                            (0..=i64::try_from(count).ok()?).map(|at| (first + at * step).to_string()).collect()
                        }
                        None if inner.contains(',') => inner.split(',').map(str::to_owned).collect(),
                        None => return None,
                    };
                    let (head, tail) = (word.get(..from)?, word.get(at + 1..)?);
                    return Some(list.into_iter().map(|one| format!("{head}{one}{tail}")).collect());
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}
