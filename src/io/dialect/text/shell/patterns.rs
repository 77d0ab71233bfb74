//! Patterns of file names, as `case`, `[[ == ]]` and `${name#pattern}` take them: `*`, `?`, `[...]`; a backslash
//! before a letter stands for that letter. Source: POSIX, Shell Command Language, section 2.14.

/// Steps of a comparison: stars that follow each other would try every place.
const MAX_TRIES: usize = 100_000;

/// True if the whole of `text` has the form `pattern`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    // `@(a|b)` is one of several patterns, where it is all.
    if let Some(inner) = pattern.strip_prefix("@(").and_then(|rest| rest.strip_suffix(')')) {
        return inner.split('|').any(|one| matches(one, text));
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // The last star, and the letters that it holds so far.
    let mut star: Option<(usize, usize)> = None;
    for _ in 0..MAX_TRIES {
        if p >= pattern.len() && t >= text.len() {
            return true;
        }
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
            continue;
        }
        if let Some(letter) = text.get(t)
            && let Some(next) = one(&pattern, p, *letter)
        {
            (p, t) = (next, t + 1);
            continue;
        }
        match star {
            Some((at, held)) if held < text.len() => {
                star = Some((at, held + 1));
                (p, t) = (at + 1, held + 1);
            }
            _ => return false,
        }
    }
    false
}

/// Where the pattern goes on behind `at` if that takes `letter`.
fn one(pattern: &[char], at: usize, letter: char) -> Option<usize> {
    match *pattern.get(at)? {
        '?' => Some(at + 1),
        '\\' => (*pattern.get(at + 1)? == letter).then_some(at + 2),
        '[' => {
            let not = matches!(pattern.get(at + 1), Some('!' | '^'));
            let from = at + 1 + usize::from(not);
            let close = (from + 1..pattern.len()).find(|end| pattern.get(*end) == Some(&']'));
            let Some(close) = close else { return (letter == '[').then_some(at + 1) };
            let set = pattern.get(from..close)?;
            let mut found = match set.iter().collect::<String>().as_str() {
                "[:digit:" => letter.is_ascii_digit(),
                "[:alpha:" => letter.is_ascii_alphabetic(),
                "[:alnum:" => letter.is_ascii_alphanumeric(),
                "[:space:" => letter.is_whitespace(),
                _ => set.contains(&letter),
            };
            let class = set.starts_with(&['[', ':']);
            found |= set.windows(3).any(|three| three[1] == '-' && (three[0]..=three[2]).contains(&letter));
            (found != not).then_some(close + 1 + usize::from(class))
        }
        other => (other == letter).then_some(at + 1),
    }
}

/// The shortest (or longest) beginning of `text` of the form `pattern`, in bytes.
pub(super) fn beginning(pattern: &str, text: &str, longest: bool) -> Option<usize> {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let is = |end: &usize| text.get(..*end).is_some_and(|start| matches(pattern, start));
    if longest {
        ends.collect::<Vec<_>>().into_iter().rev().take(4096).find(is)
    } else {
        ends.take(4096).find(|end| is(end))
    }
}

/// The place where the shortest (or longest) end of `text` of the form `pattern` begins.
pub(super) fn ending(pattern: &str, text: &str, longest: bool) -> Option<usize> {
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let is = |start: &usize| text.get(*start..).is_some_and(|end| matches(pattern, end));
    if longest {
        starts.take(4096).find(|at| is(at))
    } else {
        starts.collect::<Vec<_>>().into_iter().rev().take(4096).find(is)
    }
}

/// `text` with what has the form `pattern` replaced: the first place, or all.
pub(super) fn replaced(pattern: &str, text: &str, by: &str, all: bool) -> String {
    if pattern.is_empty() {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut rest = text;
    let mut tries = 2048_u32;
    while let Some(first) = rest.chars().next() {
        tries = tries.saturating_sub(1);
        let found = if tries > 0 { beginning(pattern, rest, true).filter(|end| *end > 0) } else { None };
        if let Some(end) = found {
            out.push_str(by);
            rest = rest.get(end..).unwrap_or_default();
            if !all {
                break;
            }
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    out
}

/// If `text` holds what the extended regular expression says, as far as it is one of literals, anchors and repeated
/// sets of letters; none where it is more. Source: POSIX, Regular Expressions, section 9.4.
pub(super) fn searched(regex: &str, text: &str) -> Option<bool> {
    let (begins, rest) = regex.strip_prefix('^').map_or((false, regex), |rest| (true, rest));
    let (ends, rest) = match rest.strip_suffix('$') {
        Some(rest) if !rest.ends_with('\\') => (true, rest),
        _ => (false, rest),
    };
    // One choice between words: (a|b), a|b.
    let inner = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(rest);
    if inner.contains('|') && !inner.contains(['(', ')']) && (inner.len() < rest.len() || !begins && !ends) {
        let mut found = Some(false);
        for one in inner.split('|') {
            let form = format!("{}{one}{}", if begins { "^" } else { "" }, if ends { "$" } else { "" });
            found = Some(found? || searched(&form, text)?);
        }
        return found;
    }
    let mut pattern = String::new();
    let mut letters = rest.chars().peekable();
    let mut sets: Vec<String> = Vec::new();
    while let Some(c) = letters.next() {
        let one = match c {
            '[' => {
                let mut set = String::from("[");
                let inner: String = std::iter::from_fn(|| letters.next_if(|c| *c != ']')).collect();
                letters.next()?;
                set.push_str(&inner);
                if inner.starts_with("[:") {
                    letters.next_if_eq(&']')?;
                    set.push(']');
                }
                set.push(']');
                set
            }
            '.' => "?".to_owned(),
            '\\' => format!("\\{}", letters.next()?),
            '(' | ')' | '{' | '}' | '|' | '^' | '$' | '*' | '+' | '?' => return None,
            c => format!("\\{c}"),
        };
        match letters.peek() {
            Some('*') if one == "?" => {
                letters.next();
                pattern.push('*');
            }
            Some('+') if one == "?" => {
                letters.next();
                pattern.push_str("?*");
            }
            // A repeated set alone is the whole of the text.
            Some('+') if begins && ends && pattern.is_empty() => {
                letters.next();
                letters.peek().is_none().then_some(())?;
                sets.push(one);
            }
            Some('*' | '+' | '?' | '{') => return None,
            _ => pattern.push_str(&one),
        }
    }
    if let Some(set) = sets.first() {
        return Some(!text.is_empty() && text.chars().all(|c| matches(set, c.encode_utf8(&mut [0; 4]))));
    }
    let start = if begins { "" } else { "*" };
    let end = if ends { "" } else { "*" };
    Some(matches(&format!("{start}{pattern}{end}"), text))
}
