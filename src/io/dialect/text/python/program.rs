//! Reads the calls of a Python program that trains, with the values of their keywords. The program is not run.
//!
//! A value is followed through assignments as far as it is a literal. Fields of an argument parser or a dataclass have
//! their defaults. Any other value is open: it keeps its source text. Where literals decide a condition, only the
//! branch that runs is read. Otherwise both branches are read, and a name that they give different values is open.

use super::reading::{statements, tokens};
use crate::dialect::text::words::scalar;
use shardscope_core::maths::pow;
use shardscope_core::run::Value;
use std::collections::BTreeMap;

/// Most values, counted with all items of lists, that reads of names copy in one program. Without a limit a few lines
/// that repeat a list (`b = [a, a]`, `c = [b, b]`, ...) double the copies with each line.
const MAX_HANDED: usize = 200_000;
/// Bytes of the source text of an open value that are kept.
const MAX_TEXT: usize = 60;
/// Functions that ask whether the GPU computes in bf16: PyTorch's, Transformers', Unsloth's.
const ASKS_BF16: [&str; 3] = ["is_bf16_supported", "is_bfloat16_supported", "is_torch_bf16_gpu_available"];

/// A value as the program's text decides it.
#[derive(Clone, Debug)]
pub(crate) enum PyValue {
    Literal(Value),
    /// A literal that settings of the command line make, with their names.
    Told(Vec<String>, Value),
    List(Vec<PyValue>),
    Map(Vec<(String, PyValue)>),
    /// The result of a call: its place in [`PythonProgram::calls`].
    Call(usize),
    /// A value that the program's text does not decide: its source text, and the places of the calls in it.
    Open(String, Vec<usize>),
}

/// A call of a function or a class.
#[derive(Clone, Debug)]
pub(crate) struct PyCall {
    /// Dotted, as it is written.
    pub name: String,
    pub positional: Vec<PyValue>,
    /// Keywords with their values, including the entries of a dictionary behind `**`. A dictionary that is not known
    /// has one entry, with the name `**NAME`.
    pub keywords: Vec<(String, PyValue)>,
    /// The condition of the branch that the call is in, if the text does not decide it.
    pub under: Option<String>,
}

impl PyCall {
    /// The last part of its name.
    pub fn last_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// True if its result is what a parser of the command line fills, `transformers.HfArgumentParser` for one.
    pub fn is_parsed(&self) -> bool {
        self.last_name().starts_with("parse_args")
    }

    /// The value of a keyword.
    pub fn keyword(&self, name: &str) -> Option<&PyValue> {
        self.keywords.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// The calls of a program.
#[derive(Debug, Default)]
pub(crate) struct PythonProgram {
    pub calls: Vec<PyCall>,
    /// Fields of argument parsers and dataclasses that were read, with their defaults, which a command line may change.
    pub defaults: Vec<(String, String)>,
    /// Names of settings of the command line that the program reads, as fields of a parser.
    pub told: Vec<String>,
    /// Those of `told` that decide which branch of the program runs.
    pub deciding: Vec<String>,
    /// True if the program asks whether the GPU computes in bf16; the answer is taken to be yes.
    pub asks_bf16: bool,
    /// Modules that are imported.
    pub modules: Vec<String>,
}

impl PythonProgram {
    /// The literal that a value is: a list where all of its items are literals.
    pub fn literal(value: &PyValue) -> Option<Value> {
        match value {
            PyValue::Literal(value) | PyValue::Told(_, value) => Some(value.clone()),
            PyValue::List(items) => items.iter().map(Self::literal).collect::<Option<_>>().map(Value::List),
            _ => None,
        }
    }

    /// The settings of the command line that a value is made of.
    pub fn told_in(value: &PyValue) -> Vec<String> {
        match value {
            PyValue::Told(names, _) => names.clone(),
            PyValue::List(items) => items.iter().flat_map(Self::told_in).collect(),
            PyValue::Map(entries) => entries.iter().flat_map(|(_, value)| Self::told_in(value)).collect(),
            _ => Vec::new(),
        }
    }

    /// The calls that a value is or holds.
    pub fn calls_in(&self, value: &PyValue) -> Vec<&PyCall> {
        let places: &[usize] = match value {
            PyValue::Call(place) => std::slice::from_ref(place),
            PyValue::Open(_, places) => places,
            _ => &[],
        };
        places.iter().filter_map(|place| self.calls.get(*place)).collect()
    }
}

/// True if a text is a Python program: its first statement, comments and strings aside, is an import, a definition of
/// a function or class, or an assignment of a call of a class.
pub(crate) fn is_program(text: &str) -> bool {
    // Licences and descriptions stand before the first line.
    const HEAD: usize = 16_384;
    let head = text.char_indices().nth(HEAD).map_or(text, |(at, _)| &text[..at]);
    let first = statements(head).into_iter().find_map(|line| {
        let words = line.trim();
        (!words.is_empty() && !words.starts_with('"')).then(|| words.to_owned())
    });
    first.is_some_and(|line| {
        let words = tokens(&line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let is_class = |name: &str| {
            let last = name.rsplit('.').next().unwrap_or_default();
            last.starts_with(|c: char| c.is_ascii_uppercase()) && last.chars().any(|c| c.is_ascii_lowercase())
        };
        match words.as_slice() {
            ["import", module, rest @ ..] => {
                is_path(module) && matches!(rest.first(), None | Some(&("as" | "," | ";")))
            }
            ["from", module, "import", _, ..] => is_path(module),
            ["def", name, "(", .., ":"] | ["class", name, .., ":"] => is_path(name),
            [name, "=", class, "(", .., ")"] => {
                is_path(name) && (is_class(class) || class.ends_with("from_pretrained"))
            }
            [name, ",", other, "=", class, "(", .., ")"] => {
                is_path(name) && is_path(other) && (is_class(class) || class.ends_with("from_pretrained"))
            }
            _ => false,
        }
    })
}

fn is_path(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || "_.".contains(c));
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c))
}

/// Whether a block of lines runs.
#[derive(Clone, Debug, PartialEq)]
enum BlockState {
    Runs,
    Never,
    /// Under this condition.
    Maybe(String),
}

/// A block: the lines that are indented deeper than the line that opens it.
struct Block {
    indent: usize,
    state: BlockState,
    /// For a function or class, the values that names had before the block assigned them; none for other blocks.
    before: Option<Vec<(String, Option<PyValue>)>>,
    is_class: bool,
}

/// The state of reading a program line by line.
#[derive(Default)]
struct Follower {
    program: PythonProgram,
    /// The values of names at this line.
    known: BTreeMap<String, PyValue>,
    /// Defaults of fields that a command line can set.
    fields: BTreeMap<String, PyValue>,
    /// What the command line says.
    said: BTreeMap<String, Value>,
    blocks: Vec<Block>,
    /// The last chain of `if`, `elif` and `else`: its indent, and the state of each of its branches so far.
    chain: Option<(usize, Vec<BlockState>)>,
    /// Values copied by reads of names so far, at most [`MAX_HANDED`].
    handed: usize,
    /// Functions of the program, with the names of their parameters.
    functions: BTreeMap<String, Vec<String>>,
    /// Literal arguments of functions that are called exactly once, by the names of function and parameter.
    called: BTreeMap<(String, String), PyValue>,
}

/// Reads a program twice: first for the arguments of its functions, which may be called below their definition, then
/// with the parameters set to these arguments.
pub(crate) fn follow(text: &str) -> PythonProgram {
    follow_told(text, &[])
}

/// As [`follow`], with the settings of the command that starts it, by the names of its fields.
pub(crate) fn follow_told(text: &str, said: &[(String, Value)]) -> PythonProgram {
    let lines = statements(text);
    let told = || said.iter().cloned().collect::<BTreeMap<_, _>>();
    let mut first = Follower { said: told(), ..Follower::default() };
    for line in &lines {
        first.take(line);
    }
    let mut follower = Follower { called: first.arguments(), said: told(), ..Follower::default() };
    for line in &lines {
        follower.take(line);
    }
    follower.program
}

impl Follower {
    /// Reads one line.
    fn take(&mut self, line: &str) {
        let words = tokens(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Some(first) = words.first() else { return };
        let indent = line.len() - line.trim_start().len();
        self.leave(indent);
        let (condition, rest) = match *first {
            "if" => (Some(BlockState::Runs), &words[1..]),
            "elif" | "else" => (self.other_way(indent), &words[1..]),
            _ => (None, &words[..]),
        };
        if let Some(so_far) = condition {
            let state = self.way(so_far, rest);
            let ways = match self.chain.take() {
                Some((place, ways)) if place == indent && *first != "if" => ways,
                _ => Vec::new(),
            };
            self.chain = Some((indent, ways.into_iter().chain([state.clone()]).collect()));
            self.blocks.push(Block { indent, state, before: None, is_class: false });
            return;
        }
        let runs = self.blocks.iter().all(|block| block.state != BlockState::Never);
        let mut open = |before, is_class| {
            self.blocks.push(Block { indent, state: BlockState::Runs, before, is_class });
        };
        match *first {
            "def" => {
                open(Some(Vec::new()), false);
                if runs {
                    self.parameters(&words);
                }
            }
            "class" => open(Some(Vec::new()), true),
            "for" | "while" | "with" | "try" | "except" | "finally" => {
                open(None, false);
                if runs {
                    self.expression(&mut &words[1..]);
                }
            }
            _ if !runs => {}
            "from" | "import" => self.program.modules.extend(words.get(1).map(|module| (*module).to_owned())),
            "return" | "await" | "assert" | "yield" => {
                self.expression(&mut &words[1..]);
            }
            _ => self.statement(&words),
        }
    }

    /// Leaves the blocks that end before a line of this indent, and gives names their values from before the block.
    fn leave(&mut self, indent: usize) {
        while self.blocks.last().is_some_and(|block| block.indent >= indent) {
            let before = self.blocks.pop().and_then(|block| block.before).unwrap_or_default();
            for (name, value) in before.into_iter().rev() {
                match value {
                    Some(value) => self.known.insert(name, value),
                    None => self.known.remove(&name),
                };
            }
        }
        if self.chain.as_ref().is_some_and(|(place, _)| *place > indent) {
            self.chain = None;
        }
    }

    /// The state that the branches so far leave to the next branch of a chain: never if one of them runs for certain,
    /// else under a condition if one of them is.
    fn other_way(&self, indent: usize) -> Option<BlockState> {
        let (_, ways) = self.chain.as_ref().filter(|(place, _)| *place == indent)?;
        if ways.contains(&BlockState::Runs) {
            return Some(BlockState::Never);
        }
        Some(ways.iter().find(|way| matches!(way, BlockState::Maybe(_))).map_or(BlockState::Runs, BlockState::clone))
    }

    /// The state of a branch with the condition `words`, where the branches before it leave `so_far`.
    fn way(&mut self, so_far: BlockState, words: &[&str]) -> BlockState {
        if so_far == BlockState::Never || words.first() == Some(&":") {
            return match so_far {
                BlockState::Maybe(other) => BlockState::Maybe(format!("not {other}")),
                so_far => so_far,
            };
        }
        let end = words.iter().rposition(|word| *word == ":").unwrap_or(words.len());
        let words = &words[..end];
        if words.first() == Some(&"__name__") {
            return BlockState::Runs;
        }
        let condition = self.expression(&mut &*words);
        self.program.deciding.extend(PythonProgram::told_in(&condition));
        match (condition, so_far) {
            (PyValue::Literal(value) | PyValue::Told(_, value), BlockState::Runs) => {
                if is_true(&value) {
                    BlockState::Runs
                } else {
                    BlockState::Never
                }
            }
            _ => BlockState::Maybe(written(words)),
        }
    }

    /// The literal arguments of the program's functions that are called exactly once.
    fn arguments(&self) -> BTreeMap<(String, String), PyValue> {
        let mut given = BTreeMap::new();
        for (function, names) in &self.functions {
            let mut calls = self.program.calls.iter().filter(|call| call.name == *function);
            let (Some(call), None) = (calls.next(), calls.next()) else { continue };
            let placed = names.iter().cloned().zip(&call.positional);
            let named = call.keywords.iter().map(|(name, value)| (name.clone(), value));
            for (name, value) in placed.chain(named) {
                if PythonProgram::literal(value).is_some() {
                    given.insert((function.clone(), name), value.clone());
                }
            }
        }
        given
    }

    /// Sets the parameters of a function to the arguments of its only call, else to their defaults.
    fn parameters(&mut self, words: &[&str]) {
        let function = words.get(1).copied().unwrap_or_default().to_owned();
        let inside = words.get(3..).unwrap_or_default();
        let mut rest = inside;
        while let Some((word, after)) = rest.split_first() {
            if *word == ")" {
                break;
            }
            let end = end_of_item(rest);
            let item = &rest[..end];
            self.functions.entry(function.clone()).or_default().push((*word).to_owned());
            let given = self.called.get(&(function.clone(), (*word).to_owned())).cloned();
            if let Some(value) = given {
                self.assign(word, value);
            } else if let Some(at) = assigns(item) {
                let value = self.expression(&mut &item[at + 1..]);
                self.assign(word, value);
            } else if is_path(word) {
                self.assign(word, PyValue::Open((*word).to_owned(), Vec::new()));
            }
            rest = rest.get(end + 1..).unwrap_or(&after[after.len()..]);
        }
    }

    /// Reads an assignment, or an expression whose calls count.
    fn statement(&mut self, words: &[&str]) {
        let Some(at) = assigns(words) else {
            self.expression(&mut &*words);
            return;
        };
        let value = self.expression(&mut &words[at + 1..]);
        let target = &words[..at];
        let in_class = self.blocks.last().is_some_and(|block| block.is_class);
        match target {
            [name, ":", ..] if in_class => {
                self.field(name, value.clone());
                self.assign(name, value);
            }
            [name] | [name, ":", ..] => self.set(name, value),
            [name, "[", key, "]"] if key.starts_with('"') => {
                let Some(PyValue::Map(entries)) = self.known.get_mut(*name) else { return };
                entries.push((key[1..].to_owned(), value));
            }
            // "model, tokenizer = ...": the first of a call's results is the model. A parser of the command line fills
            // several objects.
            [first, ",", others @ ..] => {
                let parsed = match &value {
                    PyValue::Call(place) => self.program.calls.get(*place).filter(|call| call.is_parsed()).cloned(),
                    _ => None,
                };
                self.set(first, value);
                for other in others.iter().filter(|word| is_path(word)) {
                    let result = if let Some(call) = &parsed {
                        self.program.calls.push(call.clone());
                        PyValue::Call(self.program.calls.len() - 1)
                    } else {
                        PyValue::Open((*other).to_owned(), Vec::new())
                    };
                    self.assign(other, result);
                }
            }
            _ => {}
        }
    }

    /// Assigns to a name, or to an attribute of the result of a call, which becomes a keyword of that call.
    fn set(&mut self, name: &str, value: PyValue) {
        let Some((front, attribute)) = name.split_once('.') else { return self.assign(name, value) };
        // A branch that may not run decides nothing.
        let value = if self.under().is_some() { PyValue::Open(name.to_owned(), places(&value)) } else { value };
        if let Some(PyValue::Call(place)) = self.known.get(front)
            && !attribute.contains('.')
            && let Some(call) = self.program.calls.get_mut(*place)
        {
            call.keywords.push((attribute.to_owned(), value));
        }
    }

    /// Assigns to a name. In a branch that may not run, the name becomes open if it had another value before.
    fn assign(&mut self, name: &str, value: PyValue) {
        let under = self.under();
        let before = self.known.get(name).cloned();
        let same = |before: &PyValue| {
            PythonProgram::literal(before).is_some_and(|literal| PythonProgram::literal(&value) == Some(literal))
        };
        let value = match (under, &before, &value) {
            (None, ..) | (_, None, PyValue::Call(_)) => value,
            (_, Some(before), _) if same(before) => value,
            (Some(_), _, _) => {
                let calls = [before.as_ref(), Some(&value)].into_iter().flatten().flat_map(places).collect();
                PyValue::Open(name.to_owned(), calls)
            }
        };
        if let Some(block) = self.blocks.iter_mut().rev().find(|block| block.before.is_some()) {
            block.before.get_or_insert_default().push((name.to_owned(), before));
        }
        self.known.insert(name.to_owned(), value);
    }

    /// Takes a field that a command line can set, with its default.
    fn field(&mut self, name: &str, value: PyValue) {
        let value = match &value {
            PyValue::Call(place) => {
                let call = self.program.calls.get(*place);
                call.and_then(|call| call.keyword("default").cloned()).unwrap_or(value)
            }
            _ => value,
        };
        self.fields.insert(name.to_owned(), value);
    }

    /// The condition of the innermost branch that may not run.
    fn under(&self) -> Option<String> {
        self.blocks.iter().rev().find_map(|block| match &block.state {
            BlockState::Maybe(condition) => Some(condition.clone()),
            _ => None,
        })
    }

    /// Reads the expression at the front of `words`, up to a comma or a closing bracket, and removes it from `words`.
    fn expression(&mut self, words: &mut &[&str]) -> PyValue {
        let whole = *words;
        let first = self.program.calls.len();
        let mut value = self.sum(words);
        if words.first() == Some(&"if") {
            *words = &words[1..];
            let condition = self.sum(words);
            // A comparison is not followed.
            self.program.deciding.extend(PythonProgram::told_in(&condition));
            let decided = (words.first() == Some(&"else")).then_some(condition);
            while words.first().is_some_and(|word| *word != "else" && !ends(word)) {
                self.skip(words);
            }
            *words = words.get(1..).filter(|_| words.first() == Some(&"else")).unwrap_or(words);
            let other = self.expression(words);
            value = match decided {
                Some(PyValue::Literal(condition) | PyValue::Told(_, condition)) => {
                    if is_true(&condition) {
                        value
                    } else {
                        other
                    }
                }
                _ => self.open(whole, words, first),
            };
        }
        let mut is_whole = true;
        while words.first().is_some_and(|word| !ends(word)) {
            is_whole = false;
            self.skip(words);
        }
        if is_whole { value } else { self.open(whole, words, first) }
    }

    /// An open value: the source text from the front of `whole` up to `rest`, and the calls from number `first` on.
    fn open(&self, whole: &[&str], rest: &[&str], first: usize) -> PyValue {
        let text = written(&whole[..whole.len() - rest.len()]);
        PyValue::Open(text, (first..self.program.calls.len()).collect())
    }

    /// Skips a word or a bracket with all in it. The calls in it are recorded.
    fn skip(&mut self, words: &mut &[&str]) {
        let Some((word, rest)) = words.split_first() else { return };
        *words = rest;
        if ["(", "[", "{"].contains(word) {
            self.items(words);
        } else if is_path(word) && words.first() == Some(&"(") {
            *words = &words[1..];
            let (positional, keywords) = self.items(words);
            self.call(word, positional, keywords);
        }
    }

    /// Reads terms with `+` and `-` between them.
    fn sum(&mut self, words: &mut &[&str]) -> PyValue {
        let whole = *words;
        let first = self.program.calls.len();
        let mut value = self.product(words);
        while let Some(operator) = words.first().copied().filter(|word| ["+", "-"].contains(word)) {
            *words = &words[1..];
            let other = self.product(words);
            value = match (number(&value), number(&other)) {
                (Some(a), Some(b)) => computed(if operator == "+" { a + b } else { a - b }, &[&value, &other]),
                _ => self.open(whole, words, first),
            };
        }
        value
    }

    /// Reads operands with `*`, `/`, `**` and `//` between them.
    fn product(&mut self, words: &mut &[&str]) -> PyValue {
        let whole = *words;
        let first = self.program.calls.len();
        let mut value = self.operand(words);
        while let Some(operator) = words.first().copied().filter(|word| ["*", "/"].contains(word)) {
            let doubled = words.get(1) == Some(&operator);
            *words = &words[1 + usize::from(doubled)..];
            let other = self.operand(words);
            value = match (number(&value), number(&other)) {
                (Some(a), Some(b)) => {
                    let result = match (operator, doubled) {
                        ("*", false) => a * b,
                        ("*", true) => pow(a, b),
                        (_, false) => a / b,
                        (_, true) => (a / b).floor(),
                    };
                    computed(result, &[&value, &other])
                }
                _ => self.open(whole, words, first),
            };
        }
        value
    }

    /// Reads a value with the signs and `not` before it and the attributes, indices and calls behind it.
    fn operand(&mut self, words: &mut &[&str]) -> PyValue {
        let whole = *words;
        let first = self.program.calls.len();
        let signs = words.iter().take_while(|word| ["-", "+", "not"].contains(word)).count();
        let (minus, not) = whole[..signs].iter().fold((false, false), |(minus, not), word| match *word {
            "-" => (!minus, not),
            "not" => (minus, !not),
            _ => (minus, not),
        });
        *words = &words[signs..];
        let Some((word, rest)) = words.split_first() else { return PyValue::Open(String::new(), Vec::new()) };
        if ends(word) {
            return PyValue::Open(String::new(), Vec::new());
        }
        *words = rest;
        let mut value = self.atom(word, words);
        // A value with an attribute, an index or a call behind it is open; the calls are recorded.
        while let Some(next) = words.first().filter(|next| **next == "[" || **next == "(" || next.starts_with('.')) {
            let method = next.starts_with('.') && words.get(1) == Some(&"(");
            if method {
                let name = next.trim_start_matches('.').to_owned();
                *words = &words[2..];
                let (positional, keywords) = self.items(words);
                self.call(&name, positional, keywords);
            } else {
                self.skip(words);
            }
            value = self.open(whole, words, first);
        }
        let literal = PythonProgram::literal(&value);
        match (minus, not, literal) {
            (false, false, _) => value,
            (true, false, Some(Value::Number(number))) => computed(-number, &[&value]),
            (false, true, Some(literal)) => made(Value::Bool(!is_true(&literal)), &[&value]),
            _ => self.open(whole, words, first),
        }
    }

    /// The value that begins with `word`.
    fn atom(&mut self, word: &str, words: &mut &[&str]) -> PyValue {
        let is_prefix = ["f", "r", "b", "u", "rf", "fr", "F", "R"].contains(&word);
        match word {
            "None" => PyValue::Literal(Value::Null),
            "True" => PyValue::Literal(Value::Bool(true)),
            "False" => PyValue::Literal(Value::Bool(false)),
            "(" | "[" | "{" => self.bracket(word, words),
            _ if word.starts_with(['"', '\'']) => text(word, words, false),
            _ if is_prefix && words.first().is_some_and(|next| next.starts_with(['"', '\''])) => {
                let first = words[0];
                *words = &words[1..];
                text(first, words, word.to_ascii_lowercase().contains('f'))
            }
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => PyValue::Literal(scalar(&word.replace('_', ""))),
            _ if !is_path(word) || ["lambda", "for", "in", "is", "and", "or"].contains(&word) => {
                PyValue::Open(written(&[word]), Vec::new())
            }
            _ if words.first() == Some(&"(") => {
                *words = &words[1..];
                let (positional, keywords) = self.items(words);
                self.call(word, positional, keywords)
            }
            _ => self.name(word),
        }
    }

    /// A tuple, a list or a dictionary; brackets around one expression are that expression.
    fn bracket(&mut self, opening: &str, words: &mut &[&str]) -> PyValue {
        let inside = *words;
        let (positional, keywords) = self.items(words);
        let inside = &inside[..inside.len() - words.len()];
        let is_tuple = inside.ends_with(&[",", ")"]);
        match (opening, positional.len()) {
            ("{", 0) => PyValue::Map(keywords),
            ("(", 1) if !is_tuple => positional.into_iter().next().unwrap_or(PyValue::List(Vec::new())),
            _ => PyValue::List(positional),
        }
    }

    /// Reads the items up to the closing bracket: the positional ones, and those with a name or key.
    fn items(&mut self, words: &mut &[&str]) -> (Vec<PyValue>, Vec<(String, PyValue)>) {
        let (mut positional, mut keywords) = (Vec::new(), Vec::new());
        while let Some((word, rest)) = words.split_first() {
            match *word {
                ")" | "]" | "}" => {
                    *words = rest;
                    break;
                }
                "," => *words = rest,
                "*" if rest.first() == Some(&"*") => {
                    *words = &rest[1..];
                    match self.expression(words) {
                        PyValue::Map(entries) => keywords.extend(entries),
                        PyValue::Open(text, calls) => keywords.push((format!("**{text}"), PyValue::Open(text, calls))),
                        _ => {}
                    }
                }
                word => {
                    let keyed = matches!(rest.first(), Some(&("=" | ":"))) && rest.get(1) != Some(&"=");
                    let named = keyed && (is_path(word) || word.starts_with('"'));
                    if named {
                        *words = &rest[1..];
                        let value = self.expression(words);
                        keywords.push((word.trim_start_matches('"').to_owned(), value));
                    } else {
                        positional.push(self.expression(words));
                        // A slice or a key that is no name.
                        if matches!(words.first(), Some(&("=" | ":"))) {
                            *words = &words[1..];
                        }
                    }
                }
            }
        }
        (positional, keywords)
    }

    /// Records a call. Its value is the call, but for `dict` and the questions of [`ASKS_BF16`].
    fn call(&mut self, name: &str, positional: Vec<PyValue>, keywords: Vec<(String, PyValue)>) -> PyValue {
        let last = name.rsplit('.').next().unwrap_or_default();
        if name == "dict" && positional.is_empty() {
            return PyValue::Map(keywords);
        }
        if ASKS_BF16.contains(&last) {
            self.program.asks_bf16 = true;
            return PyValue::Literal(Value::Bool(true));
        }
        if last == "add_argument" {
            self.argument(&positional, &keywords);
        }
        let under = self.under();
        let mut call = PyCall { name: name.to_owned(), positional, keywords, under };
        if call.is_parsed() {
            // What a parser fills has the attributes that the program sets on it, and none of the call's keywords.
            call.keywords.clear();
        }
        self.program.calls.push(call);
        PyValue::Call(self.program.calls.len() - 1)
    }

    /// Records the default of an argument of an argument parser (argparse).
    fn argument(&mut self, names: &[PyValue], keywords: &[(String, PyValue)]) {
        let mut texts = names.iter().rev().filter_map(|name| match name {
            PyValue::Literal(Value::Text(text)) => text.strip_prefix("--"),
            _ => None,
        });
        let Some(name) = texts.next().map(|name| name.replace('-', "_")) else { return };
        let keyword = |name: &str| keywords.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let action = keyword("action").as_ref().and_then(PythonProgram::literal);
        let switch = action.as_ref().and_then(Value::text).and_then(|action| match action {
            "store_true" => Some(PyValue::Literal(Value::Bool(false))),
            "store_false" => Some(PyValue::Literal(Value::Bool(true))),
            _ => None,
        });
        if let Some(default) = keyword("default").or(switch) {
            self.fields.insert(name, default);
        }
    }

    /// The value of a name, or of an attribute of a name.
    fn name(&mut self, name: &str) -> PyValue {
        let open = || PyValue::Open(written(&[name]), Vec::new());
        let Some((front, attribute)) = name.split_once('.') else {
            let value = self.known.get(name).cloned().unwrap_or_else(open);
            self.handed += size(&value);
            return if self.handed > MAX_HANDED { open() } else { value };
        };
        if front == "torch" {
            return PyValue::Literal(Value::Text(attribute.to_owned()));
        }
        let held = match self.known.get(front) {
            Some(PyValue::Call(place)) => {
                self.program.calls.get(*place).and_then(|call| call.keyword(attribute)).cloned()
            }
            _ => None,
        };
        // An attribute with the name of a field of an argument parser or dataclass has its default.
        let field = || self.fields.get(attribute).filter(|value| PythonProgram::literal(value).is_some()).cloned();
        // What it was told on its command line stands in a variable that the text fills by no call of its own.
        let said = || self.said.get(attribute).cloned().filter(|_| !matches!(front, "self" | "torch"));
        match held {
            Some(value) => value,
            None if said().is_some() => {
                self.program.told.push(attribute.to_owned());
                said().map_or_else(open, |value| PyValue::Told(vec![attribute.to_owned()], value))
            }
            None => match field() {
                Some(value) => {
                    let said = PythonProgram::literal(&value).and_then(|value| plain(&value));
                    let said = (name.to_owned(), said.unwrap_or_else(|| "None".to_owned()));
                    if !self.program.defaults.contains(&said) {
                        self.program.defaults.push(said);
                    }
                    value
                }
                None => open(),
            },
        }
    }
}

/// A scalar as it is written.
pub(crate) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(if *yes { "True" } else { "False" }.to_owned()),
        _ => None,
    }
}

fn places(value: &PyValue) -> Vec<usize> {
    match value {
        PyValue::Call(place) => vec![*place],
        PyValue::Open(_, places) => places.clone(),
        _ => Vec::new(),
    }
}

/// Number of values in a value, itself included.
fn size(value: &PyValue) -> usize {
    match value {
        PyValue::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        PyValue::Map(entries) => 1 + entries.iter().map(|(_, value)| size(value)).sum::<usize>(),
        PyValue::Open(_, places) => 1 + places.len(),
        _ => 1,
    }
}

/// A string, joined with the strings that follow it directly. An f-string with a replacement field is open.
fn text(first: &str, words: &mut &[&str], formatted: bool) -> PyValue {
    let mut whole = first[1..].to_owned();
    while let Some(next) = words.first().filter(|next| next.starts_with(['"', '\''])) {
        whole.push_str(&next[1..]);
        *words = &words[1..];
    }
    if formatted && whole.contains('{') {
        PyValue::Open(written(&[&whole]), Vec::new())
    } else {
        PyValue::Literal(Value::Text(whole))
    }
}

fn number(value: &PyValue) -> Option<f64> {
    match value {
        PyValue::Literal(Value::Number(number)) | PyValue::Told(_, Value::Number(number)) => Some(*number),
        _ => None,
    }
}

fn computed(number: f64, of: &[&PyValue]) -> PyValue {
    made(if number.is_finite() { Value::Number(number) } else { Value::Null }, of)
}

/// A literal that is made of others, and of the settings of the command line that those are made of.
fn made(value: Value, of: &[&PyValue]) -> PyValue {
    let mut names: Vec<String> = of.iter().flat_map(|one| PythonProgram::told_in(one)).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { PyValue::Literal(value) } else { PyValue::Told(names, value) }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => *number != 0.0,
        Value::Text(text) => !text.is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Map(entries) => !entries.is_empty(),
    }
}

/// True for a word that ends an expression.
fn ends(word: &str) -> bool {
    [",", ")", "]", "}", ":", "=", ";"].contains(&word)
}

/// Number of words up to the comma or the closing bracket behind an item.
fn end_of_item(words: &[&str]) -> usize {
    let mut depth = 0usize;
    for (at, word) in words.iter().enumerate() {
        match *word {
            "," | ")" if depth == 0 => return at,
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
    }
    words.len()
}

/// Index of the `=` of an assignment outside of brackets; none for comparisons and for `+=` and the like.
fn assigns(words: &[&str]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "=" if depth == 0 && at > 0 => {
                let before = words[at - 1];
                let compares = words.get(at + 1) == Some(&"=") || ["=", "!", "<", ">"].contains(&before);
                let computes = ["+", "-", "*", "/", "|", "&", "%", "^", "@"].contains(&before);
                return (!compares && !computes).then_some(at);
            }
            _ => {}
        }
    }
    None
}

/// The words as source text, at most [`MAX_TEXT`] bytes.
fn written(words: &[&str]) -> String {
    let mut out = String::new();
    for word in words {
        let plain = word.trim_start_matches(['"', '\'']);
        if out.len() + plain.len() > MAX_TEXT {
            break;
        }
        let joins = |c: char| c.is_alphanumeric() || c == '_';
        if out.ends_with(joins) && plain.starts_with(joins) {
            out.push(' ');
        }
        out.push_str(plain);
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::dialect::text::python::program::*;

    fn keywords(text: &str, class: &str) -> Vec<String> {
        let program = follow(text);
        let call = program.calls.iter().find(|call| call.last_name() == class).unwrap();
        let line = |(name, value): &(String, PyValue)| match PythonProgram::literal(value) {
            Some(literal) => format!("{name}={}", serde_json::to_string(&literal).unwrap().replace('"', "")),
            None => format!("{name}?{value:?}"),
        };
        call.keywords.iter().map(line).collect()
    }

    /// The Python Language Reference, "Expressions", "The if statement": what literals decide is read one way.
    #[test]
    fn literals_are_followed_and_conditions_on_them_decided() {
        let text = "import os\nbig = True\nsize = 2 * 8\nname = 'a' 'b'\nif big:\n    steps = 10\nelse:\n    \
            steps = 20\ndef main(rate=1e-4):\n    kwargs = dict(x=1)\n    kwargs['y'] = -2\n    \
            c = C(size=size // 4, name=name, steps=steps, rate=rate, off=not big, **kwargs, t=3 if big else 4)\n    \
            c.later = (5)\n";
        assert_eq!(
            keywords(text, "C"),
            ["size=4", "name=ab", "steps=10", "rate=0.0001", "off=false", "x=1", "y=-2.0", "t=3", "later=5"]
        );
    }

    /// A value that the environment, a command line or an open condition decides is not one of the text.
    #[test]
    fn what_the_text_does_not_decide_is_open() {
        let text = "import sys\nif len(sys.argv) > 1:\n    n = 4\nelse:\n    n = 8\n\
            c = C(n=n, a=int(os.environ['A']), b=f'{n}-x', d=1 if n else 2, e=x or 3, g=[n], **more)\n";
        let program = follow(text);
        let call = program.calls.iter().find(|call| call.name == "C").unwrap();
        for (name, value) in &call.keywords {
            assert!(PythonProgram::literal(value).is_none(), "{name}: {value:?}");
        }
        assert_eq!(call.keywords.last().unwrap().0, "**more");
    }

    /// `argparse`, `dataclasses.field`: the default counts where the command says nothing.
    #[test]
    fn defaults_of_a_command_line_are_named() {
        let text = "import argparse\nparser.add_argument('--batch-size', type=int, default=4)\n\
            parser.add_argument('--half', action='store_true')\nclass A:\n    rank: int = field(default=16)\n\
            args = parser.parse_args()\nc = C(b=args.batch_size, h=args.half, r=more.rank, u=args.unknown)\n";
        let found = keywords(text, "C");
        assert_eq!(&found[..3], ["b=4", "h=false", "r=16"]);
        assert!(found[3].starts_with("u?"), "{found:?}");
        assert_eq!(follow(text).defaults.len(), 3);
    }

    /// What a log prints and what a shell runs is none.
    #[test]
    fn programs_are_told_from_logs_and_scripts() {
        for text in
            ["import torch\nx = 1", "# a\n\"\"\"b\nc\"\"\"\nfrom trl import SFTTrainer", "a = SFTConfig(\n  x=1,\n)"]
        {
            assert!(is_program(text), "{text}");
        }
        for text in [
            "torchrun train.py --a 1",
            "from the log: import done",
            "{'loss': 1.0}",
            "import errors were found\n",
            "[rank0]: import torch",
            "a: 1\nb: 2",
            "A=1\npython x.py",
            "[training]\nsteps = 10",
            "",
        ] {
            assert!(!is_program(text), "{text}");
        }
    }

    /// Names that repeat names end.
    #[test]
    fn names_that_repeat_names_end() {
        let mut text = String::from("import x\na0 = [1, 1]\n");
        for at in 0..60 {
            text += &["a", &(at + 1).to_string(), " = [a", &at.to_string(), ", a", &at.to_string(), "]\n"].concat();
        }
        text.push_str("c = C(a=a60)\n");
        assert_eq!(follow(&text).calls.len(), 1);
    }
}
