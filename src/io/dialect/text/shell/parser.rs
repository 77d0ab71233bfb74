//! A shell's text into its parts.
//!
//! The grammar is that of POSIX's Shell Command Language, section 2.10, with Bash's `[[ ]]`, `(( ))`, arrays and
//! `function`. The library `brush-parser` 0.4 was tried: 146 kB of WebAssembly behind Brotli, and its stack overflows
//! where 5,000 `if` or `{` stand within each other, so this reader with a limit of depth stays.

use crate::dialect::text::shell::tree::{
    AndOr, Arm, Assign, CaseArm, Command, Form, Given, List, Pipeline, Redirect, RedirectKind, Span, Word,
};
use shardscope_core::message::Message;
use shardscope_core::t;
use std::cell::Cell;
use std::rc::Rc;

/// Statements and brackets within each other.
pub(super) const MAX_NESTED: u32 = 64;

/// Why a text is none of a shell, and at which line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub line: u64,
    pub what: Message,
    /// It is a shell's, and more than is run here.
    pub is_limit: bool,
}

/// The statements of `text`, whose first line has the number `first`; those before the first fault where there is one.
pub(super) fn parse(text: &str, first: u64) -> (List<'_>, Option<Fault>) {
    let mut parser = Parser { text, at: 0, line: first, counted: 0, nested: 0, pending: Vec::new(), fault: None };
    let list = parser.list(&[]);
    parser.blanks();
    if parser.at < text.len() {
        let word: String = parser.rest().chars().take(12).take_while(|c| *c != '\n').collect();
        parser.fail(t!("{word} stands where a shell takes no such word", word));
    }
    (list, parser.fault)
}

/// True of a name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `name`, `at` and whether it adds, of a word `name[at]+=...`; and what follows the `=`.
pub(super) fn assigned(raw: &str) -> Option<(&str, Option<&str>, bool, &str)> {
    let (left, value) = raw.split_once('=')?;
    let adds = left.ends_with('+');
    let left = left.strip_suffix('+').unwrap_or(left);
    let (name, at) = match left.strip_suffix(']').and_then(|left| left.split_once('[')) {
        Some((name, at)) => (name, Some(at)),
        None => (left, None),
    };
    is_name(name).then_some((name, at, adds, value))
}

/// The length of `<name of a file>` where the text begins with it: people write so what the reader has to put in. A
/// shell would take it for two redirections, the second of which leads nowhere.
fn placeholder(text: &str) -> Option<usize> {
    const MAX: usize = 80;
    let inner = text.strip_prefix('<')?.split(['>', '\n']).next().filter(|inner| inner.len() <= MAX)?;
    let ends = |c: char| c.is_ascii_alphanumeric() || "_'.)".contains(c);
    let tame = inner.starts_with(|c: char| c.is_ascii_alphabetic()) && inner.ends_with(ends);
    let plain = inner.chars().all(|c| c.is_alphanumeric() || " _-./:,'()".contains(c));
    let after = text.get(inner.len() + 1..)?.strip_prefix('>')?.chars().next();
    let closed = after.is_none_or(|c| c.is_whitespace() || "\"'/\\:,_.".contains(c));
    (tame && plain && closed).then_some(inner.len() + 2)
}

/// A here-document whose lines follow.
struct Pending<'a> {
    ends: String,
    /// Tabs before its lines count for nothing.
    tabs: bool,
    body: Rc<Cell<&'a str>>,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// The line of the byte `counted`.
    line: u64,
    counted: usize,
    nested: u32,
    pending: Vec<Pending<'a>>,
    fault: Option<Fault>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The line of the place that was reached.
    fn line(&mut self) -> u64 {
        let passed = self.text.get(self.counted..self.at).unwrap_or_default();
        self.line += passed.matches('\n').count() as u64;
        self.counted = self.counted.max(self.at);
        self.line
    }

    /// Ends the reading: what was read so far stays.
    fn fail(&mut self, what: Message) {
        if self.fault.is_none() {
            let line = self.line();
            self.fault = Some(Fault { line, what, is_limit: false });
        }
        self.at = self.text.len();
    }

    fn missing(&mut self, what: &str, line: u64) {
        self.fail_at(line, t!("{what} is missing: give the whole script", what = what.to_owned()));
    }

    fn fail_at(&mut self, line: u64, what: Message) {
        if self.fault.is_none() {
            self.fault = Some(Fault { line, what, is_limit: false });
        }
        self.at = self.text.len();
    }

    /// No command stands behind a sign that joins two.
    fn lonely(&mut self) {
        let line = self.line();
        self.fail_at(line, t!("a command is missing behind |, && or ||"));
    }

    /// Passes blanks, comments and lines that go on.
    fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            let passed = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
            self.at += passed;
            let rest = self.rest();
            if rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("\\\n") {
                self.at += 2;
            } else if rest.starts_with("\\\r\n") {
                self.at += 3;
            } else if passed == 0 {
                return;
            }
        }
    }

    /// Passes the ends of lines too, and the here-documents behind them.
    fn lines(&mut self) {
        loop {
            self.blanks();
            if !self.rest().starts_with('\n') {
                return;
            }
            self.at += 1;
            for here in std::mem::take(&mut self.pending) {
                self.here(&here);
            }
        }
    }

    fn here(&mut self, here: &Pending<'a>) {
        let from = self.at;
        let mut at = from;
        for line in self.rest().split_inclusive('\n') {
            let plain = line.trim_end_matches(['\n', '\r']);
            let plain = if here.tabs { plain.trim_start_matches('\t') } else { plain };
            if plain == here.ends {
                here.body.set(self.text.get(from..at).unwrap_or_default());
                self.at = at + line.len();
                return;
            }
            at += line.len();
        }
        let line = self.line();
        self.missing(&here.ends, line);
    }

    /// True if the word `word` is next, and it is passed.
    fn takes(&mut self, word: &str) -> bool {
        let found = self.is_next(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn is_next(&mut self, word: &str) -> bool {
        self.blanks();
        let Some(rest) = self.rest().strip_prefix(word) else { return false };
        let ends = |c: char| c.is_whitespace() || ";&|()<>".contains(c);
        let sign = word.ends_with(|c: char| !c.is_ascii_alphabetic());
        sign && !matches!(word, "{" | "}" | "!" | "[[" | "]]") || rest.chars().next().is_none_or(ends)
    }

    fn list(&mut self, ends: &[&str]) -> List<'a> {
        let mut list = List::default();
        self.nested += 1;
        if self.nested > MAX_NESTED {
            self.fail(t!("statements stand within each other more than {limit} deep", limit = u64::from(MAX_NESTED)));
        }
        loop {
            self.lines();
            let rest = self.rest();
            if rest.is_empty() || rest.starts_with([')', ';']) || ends.iter().any(|end| self.is_next(end)) {
                // `;` alone ends nothing; `;;` ends a branch.
                if rest.starts_with(';') && !rest.starts_with(";;") && !rest.starts_with(";&") {
                    self.at += 1;
                    continue;
                }
                break;
            }
            let before = self.at;
            let item = self.and_or();
            list.0.extend(item);
            self.blanks();
            let rest = self.rest();
            if rest.starts_with(";;") || rest.starts_with(";&") {
                break;
            }
            if rest.starts_with(';') || rest.starts_with('&') {
                self.at += 1;
            } else if !rest.starts_with('\n') && (self.at == before || !rest.starts_with(')')) && !rest.is_empty() {
                break;
            }
        }
        self.nested -= 1;
        list
    }

    fn and_or(&mut self) -> Option<AndOr<'a>> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let and = self.rest().starts_with("&&");
            if !and && !self.rest().starts_with("||") {
                break;
            }
            self.at += 2;
            self.lines();
            let Some(next) = self.pipeline() else {
                self.lonely();
                break;
            };
            rest.push((and, next));
        }
        Some(AndOr { first, rest })
    }

    fn pipeline(&mut self) -> Option<Pipeline<'a>> {
        self.blanks();
        let (from, line) = (self.at, self.line());
        let mut not = false;
        while self.takes("!") {
            not = !not;
        }
        while self.takes("time") {
            self.takes("-p");
        }
        let mut commands = vec![self.command()?];
        loop {
            self.blanks();
            let rest = self.rest();
            if !rest.starts_with('|') || rest.starts_with("||") {
                break;
            }
            self.at += if rest.starts_with("|&") { 2 } else { 1 };
            self.lines();
            let Some(command) = self.command() else {
                self.lonely();
                break;
            };
            commands.push(command);
        }
        let span = self.span(from, line);
        Some(Pipeline { not, commands, span })
    }

    fn span(&self, from: usize, line: u64) -> Span<'a> {
        let text = self.text.get(from..self.at).unwrap_or_default().trim_end();
        Span { text, line }
    }

    fn command(&mut self) -> Option<Command<'a>> {
        self.blanks();
        let line = self.line();
        let form = self.form()?;
        let mut redirects = Vec::new();
        let form = match form {
            Some(form) => form,
            None => self.simple(&mut redirects)?,
        };
        while let Some(redirect) = self.redirect() {
            redirects.push(redirect);
        }
        Some(Command { form, redirects, line })
    }

    /// A statement that begins with a word of the shell; none within for a command.
    #[allow(clippy::option_option)]
    fn form(&mut self) -> Option<Option<Form<'a>>> {
        let line = self.line();
        Some(Some(if self.takes("if") {
            self.branches(line)
        } else if self.takes("while") {
            self.repeat(false, line)
        } else if self.takes("until") {
            self.repeat(true, line)
        } else if self.takes("for") || self.takes("select") {
            self.each(line)?
        } else if self.takes("case") {
            self.case(line)?
        } else if self.takes("[[") {
            self.test(line)
        } else if self.takes("{") {
            let list = self.list(&["}"]);
            self.closes("}", line);
            Form::Group(list, false)
        } else if self.rest().starts_with("((") && self.sum_ends().is_some() {
            let end = self.sum_ends()?;
            let sum = self.text.get(self.at + 2..end)?;
            self.at = end + 2;
            Form::Sum(sum)
        } else if self.rest().starts_with('(') {
            self.at += 1;
            let list = self.list(&[]);
            self.closes(")", line);
            Form::Group(list, true)
        } else if self.takes("function") {
            self.blanks();
            let end = self.rest().find(|c: char| c.is_whitespace() || "(){};".contains(c))?;
            let name = self.rest().get(..end)?;
            self.at += end;
            self.function(name)?
        } else {
            return Some(None);
        }))
    }

    fn closes(&mut self, word: &str, line: u64) {
        self.lines();
        if self.rest().starts_with(';') && !self.rest().starts_with(";;") {
            self.at += 1;
            self.lines();
        }
        if !self.takes(word) {
            self.missing(word, line);
        }
    }

    fn branches(&mut self, line: u64) -> Form<'a> {
        let mut arms = Vec::new();
        loop {
            self.lines();
            let (from, first) = (self.at, self.line());
            let condition = self.list(&["then"]);
            let span = self.span(from, first);
            self.closes("then", line);
            let body = self.list(&["elif", "else", "fi"]);
            arms.push(Arm { condition, span, body });
            if !self.takes("elif") {
                break;
            }
        }
        let otherwise = self.takes("else").then(|| self.list(&["fi"]));
        self.closes("fi", line);
        Form::If { arms, otherwise }
    }

    fn body(&mut self, line: u64) -> List<'a> {
        self.lines();
        if self.rest().starts_with(';') {
            self.at += 1;
            self.lines();
        }
        if self.takes("{") {
            let list = self.list(&["}"]);
            self.closes("}", line);
            return list;
        }
        self.closes("do", line);
        let list = self.list(&["done"]);
        self.closes("done", line);
        list
    }

    fn repeat(&mut self, until: bool, line: u64) -> Form<'a> {
        self.lines();
        let (from, first) = (self.at, self.line());
        let condition = self.list(&["do"]);
        let span = self.span(from, first);
        let body = self.body(line);
        Form::While(until, condition, span, body)
    }

    fn each(&mut self, line: u64) -> Option<Form<'a>> {
        self.blanks();
        if self.rest().starts_with("((") {
            let end = self.sum_ends()?;
            let mut parts = self.text.get(self.at + 2..end)?.splitn(3, ';');
            let mut part = || parts.next().unwrap_or_default();
            let counts = [part(), part(), part()];
            self.at = end + 2;
            let body = self.body(line);
            return Some(Form::Count(counts, body));
        }
        let name = self.word()?;
        self.lines();
        let words = self.takes("in").then(|| {
            let mut words = Vec::new();
            loop {
                self.blanks();
                match self.word() {
                    Some(word) => words.push(Word::Plain(word)),
                    None => break words,
                }
            }
        });
        let body = self.body(line);
        Some(Form::For { name, words, body })
    }

    fn case(&mut self, line: u64) -> Option<Form<'a>> {
        self.blanks();
        let word = self.word()?;
        self.closes("in", line);
        let mut arms = Vec::new();
        loop {
            self.lines();
            if self.takes("esac") {
                break;
            }
            if self.rest().is_empty() {
                self.missing("esac", line);
                break;
            }
            if self.rest().starts_with('(') {
                self.at += 1;
            }
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                let Some(pattern) = self.word() else {
                    self.missing(")", line);
                    break;
                };
                patterns.push(pattern);
                self.blanks();
                if self.rest().starts_with('|') {
                    self.at += 1;
                } else {
                    break;
                }
            }
            if self.rest().starts_with(')') {
                self.at += 1;
            } else {
                self.missing(")", line);
            }
            let body = self.list(&["esac"]);
            let rest = self.rest();
            let ends = [";;&", ";;", ";&"].into_iter().find(|end| rest.starts_with(end)).unwrap_or_default();
            self.at += ends.len();
            arms.push(CaseArm { patterns, body, goes_on: ends.ends_with('&') });
        }
        Some(Form::Case { word, arms })
    }

    fn test(&mut self, line: u64) -> Form<'a> {
        let mut words = Vec::new();
        let mut regex = false;
        loop {
            self.lines();
            if self.takes("]]") {
                break;
            }
            let rest = self.rest();
            let sign = ["&&", "||", "(", ")", "<", ">"].into_iter().find(|sign| rest.starts_with(sign));
            if regex {
                // To the next blank outside of quotes, whatever brackets stand there.
                let from = self.at;
                while let Some(c) = self.next().filter(|c| !c.is_whitespace()) {
                    match c {
                        '"' | '\'' => self.quoted(c),
                        '\\' => self.pass_escaped(),
                        c => self.at += c.len_utf8(),
                    }
                }
                words.push(self.text.get(from..self.at).unwrap_or_default());
                regex = false;
            } else if let Some(sign) = sign {
                self.at += sign.len();
                words.push(sign);
            } else if let Some(word) = self.word() {
                regex = word == "=~";
                words.push(word);
            } else {
                self.missing("]]", line);
                break;
            }
        }
        Form::Test(words)
    }

    /// Where the `))` of a sum is.
    fn sum_ends(&self) -> Option<usize> {
        let mut depth = 0_u32;
        let mut letters = self.text.get(self.at + 2..)?.char_indices().peekable();
        while let Some((at, c)) = letters.next() {
            match c {
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                ')' => return letters.peek().is_some_and(|(_, c)| *c == ')').then_some(self.at + 2 + at),
                _ => {}
            }
        }
        None
    }

    fn function(&mut self, name: &'a str) -> Option<Form<'a>> {
        self.blanks();
        if self.rest().starts_with('(') {
            self.at += 1;
            self.blanks();
            let line = self.line();
            self.closes(")", line);
        }
        self.lines();
        let (from, line) = (self.at, self.line());
        self.nested += 1;
        if self.nested > MAX_NESTED {
            self.fail(t!("statements stand within each other more than {limit} deep", limit = u64::from(MAX_NESTED)));
        }
        self.command()?;
        self.nested -= 1;
        let body = self.span(from, line);
        Some(Form::Function { name, body })
    }

    fn simple(&mut self, redirects: &mut Vec<Redirect<'a>>) -> Option<Form<'a>> {
        let (mut assigns, mut words) = (Vec::new(), Vec::new());
        let from = self.at;
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect() {
                redirects.push(redirect);
                continue;
            }
            if self.rest().starts_with('(') && words.len() == 1 && assigns.is_empty() {
                let Some(Word::Plain(name)) = words.pop() else { break };
                return self.function(name);
            }
            let Some(word) = self.word() else { break };
            match assigned(word) {
                Some((name, at, adds, "")) if self.rest().starts_with('(') => {
                    let assign = Assign { name, at, adds, value: Given::Several(self.array()) };
                    if words.is_empty() {
                        assigns.push(assign);
                    } else {
                        words.push(Word::Array(assign));
                    }
                }
                Some((name, at, adds, value)) if words.is_empty() => {
                    assigns.push(Assign { name, at, adds, value: Given::One(value) });
                }
                _ => words.push(Word::Plain(word)),
            }
        }
        if self.at == from || assigns.is_empty() && words.is_empty() && redirects.is_empty() {
            return None;
        }
        Some(Form::Simple { assigns, words })
    }

    fn array(&mut self) -> Vec<&'a str> {
        let line = self.line();
        self.at += 1;
        let mut words = Vec::new();
        loop {
            self.lines();
            if self.rest().starts_with(')') {
                self.at += 1;
                break;
            }
            let Some(word) = self.word() else {
                self.missing(")", line);
                break;
            };
            words.push(word);
        }
        words
    }

    fn redirect(&mut self) -> Option<Redirect<'a>> {
        self.blanks();
        let rest = self.rest();
        if placeholder(rest).is_some() {
            return None;
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let sign = rest.get(digits..)?;
        let signs = ["<<-", "<<<", "<<", "<&", "<>", "<", "&>>", "&>", ">>", ">&", ">|", ">"];
        let found = signs.into_iter().find(|known| sign.starts_with(known))?;
        // `<(` and `>(` are words of their own.
        if digits > 0 && found.starts_with('&') || matches!(found, "<" | ">") && sign.get(1..)?.starts_with('(') {
            return None;
        }
        let stream = rest.get(..digits)?;
        self.at += digits + found.len();
        self.blanks();
        let line = self.line();
        let target = self.word().unwrap_or_default();
        if target.is_empty() {
            self.fail_at(line, t!("nothing stands where < or > leads to"));
        }
        let out = matches!(stream, "" | "1");
        let kind = match found {
            "<<" | "<<-" => {
                let body = Rc::new(Cell::new(""));
                let plain = target.contains(['\'', '"', '\\']);
                let ends = target.replace(['\'', '"', '\\'], "");
                self.pending.push(Pending { ends, tabs: found == "<<-", body: Rc::clone(&body) });
                RedirectKind::Here(body, plain, found == "<<-")
            }
            "<<<" => RedirectKind::Text,
            "<" if matches!(stream, "" | "0") => RedirectKind::Read,
            ">" | ">|" if out => RedirectKind::Write(false),
            ">>" if out => RedirectKind::Write(true),
            "&>" => RedirectKind::Write(false),
            "&>>" => RedirectKind::Write(true),
            _ => RedirectKind::Other,
        };
        Some(Redirect { kind, target })
    }

    /// The next word as it is written; none where a sign of the shell or the end of the line is next.
    fn word(&mut self) -> Option<&'a str> {
        let from = self.at;
        if ["<(", ">("].iter().any(|sign| self.rest().starts_with(sign)) {
            self.at += 2;
            self.pass_bracket('(', ')');
        }
        while let Some(c) = self.next() {
            match c {
                '\\' => self.pass_escaped(),
                '\'' | '"' | '`' => self.quoted(c),
                '$' => self.dollar(),
                '(' if self.text.get(from..self.at).is_some_and(|word| word.ends_with(['@', '?', '*', '+', '!'])) => {
                    self.at += 1;
                    self.pass_bracket('(', ')');
                }
                '<' if placeholder(self.rest()).is_some() => self.at += placeholder(self.rest()).unwrap_or(1),
                c if c.is_whitespace() || ";&|()<>".contains(c) => break,
                c => self.at += c.len_utf8(),
            }
        }
        self.text.get(from..self.at).filter(|word| !word.is_empty())
    }

    /// Passes a backslash and the letter behind it.
    fn pass_escaped(&mut self) {
        self.at += 1 + self.rest().chars().nth(1).map_or(0, char::len_utf8);
    }

    /// Passes a text between quotes.
    fn quoted(&mut self, quote: char) {
        let line = self.line();
        self.at += 1;
        while let Some(c) = self.next() {
            match c {
                '\\' if quote != '\'' => self.pass_escaped(),
                '$' if quote == '"' => self.dollar(),
                '`' if quote == '"' => self.quoted('`'),
                c => {
                    self.at += c.len_utf8();
                    if c == quote {
                        return;
                    }
                }
            }
        }
        self.missing(&quote.to_string(), line);
    }

    /// Passes what stands behind a `$`.
    fn dollar(&mut self) {
        self.at += 1;
        match self.next() {
            Some('(') => {
                self.at += 1;
                self.pass_bracket('(', ')');
            }
            Some('{') => {
                self.at += 1;
                self.pass_bracket('{', '}');
            }
            Some('\'') => self.quoted('\''),
            _ => {}
        }
    }

    /// Passes the bracket that closes one which was passed.
    fn pass_bracket(&mut self, open: char, close: char) {
        let line = self.line();
        self.nested += 1;
        if self.nested > MAX_NESTED {
            self.fail(t!("statements stand within each other more than {limit} deep", limit = u64::from(MAX_NESTED)));
        }
        let mut depth = 1_u32;
        while let Some(c) = self.next() {
            match c {
                '\\' => self.pass_escaped(),
                '\'' | '"' | '`' => self.quoted(c),
                '$' => self.dollar(),
                c => {
                    self.at += c.len_utf8();
                    depth = depth + u32::from(c == open) - u32::from(c == close);
                    if depth == 0 {
                        self.nested -= 1;
                        return;
                    }
                }
            }
        }
        self.nested -= 1;
        self.missing(&close.to_string(), line);
    }
}
