//! What a shell knows while its text is run on paper: variables with what their values rest on, files, and the limits
//! of the work.

use crate::dialect::text::shell::parser::Fault;
use crate::dialect::text::shell::{Branch, Given, MissingFile, Started};
use shardscope_core::message::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Commands that a script may run, all together: a launch script runs some hundred.
const MAX_STEPS: u32 = 20_000;
/// Bytes of variables that may be put in, all together.
const MAX_EXPANDED: usize = 400_000;
/// Functions, files, substitutions and statements within each other.
const MAX_DEPTH: u32 = 64;
/// Assignments, commands and branches that are remembered.
pub(super) const MAX_KEPT: usize = 1000;
/// Names that a value is said to rest on.
const MAX_RESTS: usize = 8;

/// Letters around the name of a variable whose value is not known, where its value would stand.
pub(super) const OPEN: char = '\u{E000}';
pub(super) const CLOSE: char = '\u{E001}';

/// A text that may hold what is not known, and the variables from outside of the script that it rests on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text {
    pub text: String,
    pub rests: Vec<Rc<str>>,
}

impl Text {
    pub fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), rests: Vec::new() }
    }

    /// The value of a variable that nothing sets, or in brackets the output of a command.
    pub fn unknown(name: &str) -> Self {
        let clean = name.replace([OPEN, CLOSE], "");
        Self { text: format!("{OPEN}{clean}{CLOSE}"), rests: vec![clean.into()] }
    }

    pub fn is_open(&self) -> bool {
        self.text.contains(OPEN)
    }

    /// The text where what is not set is empty, as a shell takes it.
    pub fn plain(&self) -> String {
        put(&self.text, |name| if name.starts_with('(') { format!("${name}") } else { String::new() })
    }

    /// The text where what is not known stands by its name.
    pub fn shown(&self) -> String {
        put(&self.text, |name| format!("${name}"))
    }

    /// The text as a shell reads it again: what is not known is put in again, and is not known again.
    pub fn again(&self) -> String {
        put(&self.text, |name| if name.starts_with('(') { format!("${name}") } else { format!("${{{name}}}") })
    }

    pub fn push(&mut self, other: &Self) {
        self.text.push_str(&other.text);
        self.rest_on(&other.rests);
    }

    pub fn rest_on(&mut self, rests: &[Rc<str>]) {
        for rest in rests {
            if self.rests.len() < MAX_RESTS && !self.rests.contains(rest) {
                self.rests.push(Rc::clone(rest));
            }
        }
    }
}

/// `text` with what stands for each name that is not known.
fn put(text: &str, what: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (name, after) = after.split_once(CLOSE).unwrap_or((after, ""));
        out.push_str(before);
        out.push_str(&what(name));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The value of a variable.
#[derive(Clone, Debug)]
pub(super) enum Value {
    One(Text),
    List(BTreeMap<i64, Text>),
    Map(BTreeMap<String, Text>),
}

/// If a command succeeded, or a condition holds, and whether the text decides it.
#[derive(Clone, Debug)]
pub(super) struct Truth {
    pub yes: bool,
    pub decided: bool,
    pub rests: Vec<Rc<str>>,
    /// A program of its own was run, whose success is taken for granted.
    pub program: bool,
}

impl Truth {
    pub const fn sure(yes: bool) -> Self {
        Self { yes, decided: true, rests: Vec::new(), program: false }
    }

    pub fn of(yes: bool, values: &[&Text]) -> Self {
        let mut all = Text::default();
        for value in values {
            all.rest_on(&value.rests);
        }
        Self {
            yes,
            decided: all.rests.is_empty() && !values.iter().any(|value| value.is_open()),
            rests: all.rests,
            program: false,
        }
    }

    pub fn not(self) -> Self {
        Self { yes: !self.yes, ..self }
    }
}

/// Where the run goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Flow {
    Next,
    Break(u32),
    Continue(u32),
    Return,
    Exit,
}

pub(super) struct Shell<'g> {
    pub given: &'g Given,
    pub variables: Rc<BTreeMap<String, Value>>,
    /// Names that a branch which does not run would have set.
    pub passed_by: BTreeSet<String>,
    /// Every value of a plain variable, in the order they were set; none where it ends to be set.
    pub set: Vec<(String, Option<String>)>,
    /// What `set` names and the text has.
    pub met: Vec<String>,
    pub functions: BTreeMap<String, (Rc<str>, u64)>,
    /// Arguments of the function that runs; of the script where it is none: those are not known.
    pub arguments: Option<Vec<Text>>,
    /// Files that the text writes.
    pub files: BTreeMap<String, Text>,
    pub started: Vec<Started>,
    pub branches: Vec<Branch>,
    pub missing: Vec<MissingFile>,
    /// No branch is left out.
    pub all_run: bool,
    pub fault: Option<Fault>,
    /// The text of the commands within each other whose output is taken, and true where it is not known.
    pub outputs: Vec<(Text, bool)>,
    /// Above 0 within `$( )`: programs there start nothing.
    pub substituted: u32,
    /// The words of the command that runs a text of a shell: `srun --nodes 2`.
    pub before: Vec<String>,
    /// The variables that functions have for themselves, with the values before.
    pub locals: Vec<Vec<(String, Option<Value>)>>,
    /// What the command reads.
    pub input: Option<Text>,
    pub status: Truth,
    /// Above 0 within a condition: its parts are no branches of their own.
    pub quiet: u32,
    pub depth: u32,
    /// The line of the command that runs a text of another file.
    pub fixed_line: Option<u64>,
    steps: u32,
    left: usize,
}

impl<'g> Shell<'g> {
    pub fn new(given: &'g Given) -> Self {
        let set = given.set.iter().map(|(name, value)| (name.clone(), Value::One(Text::of(clean(value)))));
        Self {
            given,
            variables: Rc::new(set.collect()),
            passed_by: BTreeSet::new(),
            set: Vec::new(),
            met: Vec::new(),
            functions: BTreeMap::new(),
            arguments: None,
            files: BTreeMap::new(),
            started: Vec::new(),
            branches: Vec::new(),
            missing: Vec::new(),
            all_run: true,
            fault: None,
            outputs: Vec::new(),
            substituted: 0,
            before: Vec::new(),
            locals: Vec::new(),
            input: None,
            status: Truth::sure(true),
            quiet: 0,
            depth: 0,
            fixed_line: None,
            steps: MAX_STEPS,
            left: MAX_EXPANDED,
        }
    }

    /// Counts a command; false where there were too many.
    pub fn step(&mut self, line: u64) -> bool {
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 {
            self.end(line, "the script runs more commands than are run here: its loops may have no end".into());
        }
        self.fault.is_none()
    }

    /// Counts bytes that are put in; false where they were too many.
    pub fn spend(&mut self, bytes: usize) -> bool {
        let Some(left) = self.left.checked_sub(bytes) else {
            self.left = 0;
            self.end(0, "the variables of the script hold more text than is put in here".into());
            return false;
        };
        self.left = left;
        true
    }

    /// One level deeper; false where that is too deep.
    pub fn enter(&mut self, line: u64) -> bool {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.end(line, "functions, files or statements stand within each other too deep".into());
        }
        self.fault.is_none()
    }

    /// Ends the run at a limit of what is run here.
    fn end(&mut self, line: u64, what: Message) {
        self.fail(Fault { line, what, is_limit: true });
    }

    pub fn fail(&mut self, fault: Fault) {
        if self.fault.is_none() {
            self.fault = Some(Fault { line: self.fixed_line.unwrap_or(fault.line), ..fault });
        }
    }

    /// True if a request gives the variable.
    pub fn is_given(&mut self, name: &str) -> bool {
        let given = self.given.set.iter().any(|(known, _)| known == name);
        if given && self.met.len() < MAX_KEPT && !self.met.iter().any(|met| met == name) {
            self.met.push(name.to_owned());
        }
        given
    }

    /// What a request says of a condition, by its text.
    pub fn told(&mut self, condition: &str) -> Option<bool> {
        let (_, value) = self.given.set.iter().find(|(known, _)| known == condition)?;
        let yes = match value.as_str() {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return None,
        };
        self.is_given(condition);
        Some(yes)
    }

    /// Remembers the value of a plain variable.
    pub fn remember(&mut self, name: &str, value: &str) {
        if self.set.len() < MAX_KEPT {
            self.set.push((name.to_owned(), Some(value.to_owned())));
        }
    }

    /// Remembers that a variable has its value of before again, or none: what stood before a command was for it alone.
    pub fn forget(&mut self, name: &str, before: Option<&Value>) {
        if self.set.len() < MAX_KEPT {
            let value = match before {
                Some(Value::One(text)) => Some(text.shown()),
                _ => None,
            };
            self.set.push((name.to_owned(), value));
        }
    }

    pub fn write(&mut self, name: &str, value: Value) {
        if self.variables.len() < MAX_KEPT || self.variables.contains_key(name) {
            Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
        }
    }
}

/// A text without the letters that stand for what is not known.
pub(super) fn clean(text: &str) -> String {
    text.replace([OPEN, CLOSE], "?")
}
