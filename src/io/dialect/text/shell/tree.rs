//! The parts of a shell's text, as POSIX's Shell Command Language and Bash's manual name them. Words stay as they are
//! written: what they mean is known when they are used.

use std::cell::Cell;
use std::rc::Rc;

/// Statements one after the other.
#[derive(Debug, Default)]
pub(super) struct List<'a>(pub Vec<AndOr<'a>>);

/// Pipelines between `&&` (true) and `||` (false).
#[derive(Debug)]
pub(super) struct AndOr<'a> {
    pub first: Pipeline<'a>,
    pub rest: Vec<(bool, Pipeline<'a>)>,
}

#[derive(Debug)]
pub(super) struct Pipeline<'a> {
    /// Begins with `!`.
    pub not: bool,
    pub commands: Vec<Command<'a>>,
    pub span: Span<'a>,
}

/// A part of the text, and the line where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<'a> {
    pub text: &'a str,
    pub line: u64,
}

#[derive(Debug)]
pub(super) struct Command<'a> {
    pub form: Form<'a>,
    pub redirects: Vec<Redirect<'a>>,
    pub line: u64,
}

#[derive(Debug)]
pub(super) enum Form<'a> {
    Simple {
        /// Before the command's name.
        assigns: Vec<Assign<'a>>,
        words: Vec<Word<'a>>,
    },
    /// `{ }`, and `( )` where true.
    Group(List<'a>, bool),
    If {
        arms: Vec<Arm<'a>>,
        otherwise: Option<List<'a>>,
    },
    /// `while`, and `until` where true.
    While(bool, List<'a>, Span<'a>, List<'a>),
    For {
        name: &'a str,
        /// None: the arguments.
        words: Option<Vec<Word<'a>>>,
        body: List<'a>,
    },
    /// `for ((start; while; step))`.
    Count([&'a str; 3], List<'a>),
    Case {
        word: &'a str,
        arms: Vec<CaseArm<'a>>,
    },
    /// `[[ ]]`.
    Test(Vec<&'a str>),
    /// `(( ))`.
    Sum(&'a str),
    Function {
        name: &'a str,
        body: Span<'a>,
    },
}

#[derive(Debug)]
pub(super) struct Arm<'a> {
    pub condition: List<'a>,
    /// The text of the condition.
    pub span: Span<'a>,
    pub body: List<'a>,
}

#[derive(Debug)]
pub(super) struct CaseArm<'a> {
    pub patterns: Vec<&'a str>,
    pub body: List<'a>,
    /// `;&` and `;;&`, which go on.
    pub goes_on: bool,
}

#[derive(Debug)]
pub(super) enum Word<'a> {
    Plain(&'a str),
    /// `name=( )` behind `declare` and its kin.
    Array(Assign<'a>),
}

impl<'a> Word<'a> {
    pub fn text(&self) -> &'a str {
        match self {
            Self::Plain(text) => text,
            Self::Array(assign) => assign.name,
        }
    }
}

#[derive(Debug)]
pub(super) struct Assign<'a> {
    pub name: &'a str,
    /// Between brackets.
    pub at: Option<&'a str>,
    /// `+=`.
    pub adds: bool,
    pub value: Given<'a>,
}

#[derive(Debug)]
pub(super) enum Given<'a> {
    One(&'a str),
    Several(Vec<&'a str>),
}

#[derive(Debug)]
pub(super) struct Redirect<'a> {
    pub kind: RedirectKind<'a>,
    pub target: &'a str,
}

#[derive(Debug)]
pub(super) enum RedirectKind<'a> {
    /// `>` of the output, and `>>` where true.
    Write(bool),
    Read,
    /// `<<<`.
    Text,
    /// `<<`: its lines, true where they are taken as they stand, and true where tabs before them count for nothing.
    Here(Rc<Cell<&'a str>>, bool, bool),
    /// Of other streams, or to one of them.
    Other,
}
