//! Simple commands: what is built into a shell is done, a few filters of text are, every other program is noted with
//! its words.

use crate::dialect::text::shell::conditions::is_test;
use crate::dialect::text::shell::parser::{assigned, is_name};
use crate::dialect::text::shell::run::{NOTHING, shortened};
use crate::dialect::text::shell::state::{CLOSE, Flow, MAX_KEPT, OPEN, Shell, Text, Truth, Value};
use crate::dialect::text::shell::tree::{Assign, Word};
use crate::dialect::text::shell::{MissingFile, SHELLS, Started, program_name};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Programs whose own arguments say nothing of what they start.
const BOXES: [&str; 6] = ["docker", "podman", "ssh", "kubectl", "singularity", "apptainer"];

/// Programs that may stand behind a folder which is not known: `${BIN}python`.
const PROGRAMS: [&str; 14] = [
    "accelerate",
    "bash",
    "deepspeed",
    "mpiexec",
    "mpirun",
    "pip",
    "python",
    "python3",
    "ray",
    "sbatch",
    "sh",
    "srun",
    "torchrun",
    "trl",
];

/// The program of a word that begins with what is not known, where that can only be its folder.
fn program_in(word: &Text) -> Option<&str> {
    let (_, rest) = word.text.strip_prefix(OPEN)?.split_once(CLOSE)?;
    PROGRAMS.into_iter().find(|name| *name == rest)
}

/// The program that a word names, without its folder.
fn program_of(word: &Text) -> &str {
    program_in(word).unwrap_or_else(|| program_name(&word.text))
}

impl Shell<'_> {
    pub fn simple(&mut self, assigns: &[Assign], words: &[Word], line: u64, piped: bool) -> Flow {
        if words.is_empty() {
            self.status = Truth::sure(true);
            for assign in assigns {
                self.take(assign);
            }
            return Flow::Next;
        }
        // Its words are put in before its own variables are set.
        let declares =
            matches!(words.first().map(Word::text), Some("export" | "declare" | "typeset" | "local" | "readonly"));
        let mut values: Vec<Text> = Vec::new();
        if !declares {
            for word in words {
                values.extend(self.words(word.text()));
            }
        }
        let before = if assigns.is_empty() { Rc::default() } else { Rc::clone(&self.variables) };
        for assign in assigns {
            self.take(assign);
        }
        let own: Vec<String> = assigns.iter().map(|assign| assign.name.to_owned()).collect();
        let flow = if declares {
            self.declare(words);
            self.status = Truth::sure(true);
            Flow::Next
        } else {
            self.named(values, line, piped)
        };
        for name in own {
            self.forget(&name, before.get(&name));
            let variables = Rc::make_mut(&mut self.variables);
            match before.get(&name) {
                Some(value) => variables.insert(name, value.clone()),
                None => variables.remove(&name),
            };
        }
        flow
    }

    fn named(&mut self, mut values: Vec<Text>, line: u64, piped: bool) -> Flow {
        // An empty name is what a variable without a value leaves.
        while values.first().is_some_and(|first| first.text.is_empty()) {
            values.remove(0);
        }
        while matches!(
            values.first().map(|first| first.text.as_str()),
            Some("exec" | "nohup" | "builtin" | "time" | "env")
        ) {
            values.remove(0);
            // `env NAME=value program`.
            while let Some((name, _, _, value)) = values.first().and_then(|word| assigned(&word.text)) {
                let (name, value) = (name.to_owned(), value.to_owned());
                self.assign(&name, Text::of(value));
                values.remove(0);
            }
        }
        let Some(name) = values.first().map(|first| first.text.clone()) else {
            self.status = Truth::sure(true);
            return Flow::Next;
        };
        if self.functions.contains_key(&name) {
            values.remove(0);
            return self.call(&name, values, line);
        }
        if let Some(flow) = self.built_in(&name, &values, line) {
            return flow;
        }
        self.status = Truth::sure(true);
        if !self.filter(&name, &values) {
            return self.program(&values, line, piped);
        }
        Flow::Next
    }

    /// The commands of a shell itself; none for a program.
    fn built_in(&mut self, name: &str, values: &[Text], line: u64) -> Option<Flow> {
        let plain = |at: usize| values.get(at).map(Text::plain);
        let levels = || plain(1).and_then(|text| text.parse().ok()).unwrap_or(1);
        if is_test(name) {
            self.status = self.single_test(values);
            return Some(Flow::Next);
        }
        self.status = Truth::sure(true);
        match name {
            ":" | "true" | "cd" | "pushd" | "popd" | "trap" | "ulimit" | "wait" | "shopt" | "alias" | "umask" => {}
            "false" => self.status = Truth::sure(false),
            "exit" => return Some(Flow::Exit),
            "return" => return Some(Flow::Return),
            "break" => return Some(Flow::Break(levels())),
            "continue" => return Some(Flow::Continue(levels())),
            "shift" => {
                let by = usize::try_from(levels()).unwrap_or(1);
                if let Some(arguments) = &mut self.arguments {
                    arguments.drain(..by.min(arguments.len()));
                }
            }
            "set" => {
                if plain(1).as_deref() == Some("--") {
                    self.arguments = Some(values.get(2..).unwrap_or_default().to_vec());
                }
            }
            "unset" => {
                for value in values.get(1..).unwrap_or_default() {
                    Rc::make_mut(&mut self.variables).remove(&value.text);
                }
            }
            "let" => {
                for value in values.get(1..).unwrap_or_default() {
                    self.sum(&value.plain());
                }
            }
            "getopts" => self.status = Truth { decided: false, ..Truth::sure(false) },
            "command" | "type" | "which" => {
                if plain(1).is_some_and(|word| !word.starts_with('-')) && name == "command" {
                    return Some(self.program(values.get(1..)?, line, false));
                }
                self.unknown_output();
                self.status = Truth { decided: false, program: true, ..Truth::sure(true) };
            }
            "eval" => {
                let rest = values.get(1..)?;
                let text: Vec<String> = rest.iter().map(Text::again).collect();
                let text = text.join(" ");
                // What another program prints, for the shell to run, is not known.
                let printed = rest.len() == 1 && rest.iter().all(|one| one.text.starts_with("\u{E000}("));
                if printed {
                    self.status = Truth { program: true, decided: false, ..Truth::sure(true) };
                } else if self.spend(text.len()) {
                    return Some(self.elsewhere(&text, line));
                }
            }
            "source" | "." => return Some(self.source(values.get(1)?, values.get(2..)?, line)),
            "read" => self.read_words(values),
            "mapfile" | "readarray" => {
                let name = values.last().map(|last| last.text.clone()).filter(|name| is_name(name))?;
                let input = self.input.clone().unwrap_or_else(|| Text::unknown(&name));
                let lines = input.text.lines().map(|line| Text { text: line.to_owned(), rests: input.rests.clone() });
                let lines = (0..).zip(lines).collect();
                self.write(&name, Value::List(lines));
            }
            _ => return None,
        }
        Some(Flow::Next)
    }

    /// Filters of text whose output is known; false for other programs.
    fn filter(&mut self, name: &str, values: &[Text]) -> bool {
        let rest = values.get(1..).unwrap_or_default();
        let mut all = Text::default();
        for value in rest {
            all.rest_on(&value.rests);
        }
        let said = match name {
            "echo" => {
                let flags = rest.iter().take_while(|value| matches!(value.text.as_str(), "-e" | "-n" | "-en" | "-ne"));
                let (skipped, bare) = (flags.clone().count(), flags.into_iter().any(|flag| flag.text.contains('n')));
                let words: Vec<&str> = rest.iter().skip(skipped).map(|value| value.text.as_str()).collect();
                all.text = words.join(" ") + if bare { "" } else { "\n" };
                all
            }
            "printf" => {
                if let [flag, name, words @ ..] = rest
                    && flag.text == "-v"
                {
                    let text = printed(words);
                    self.assign(&name.text.clone(), text);
                    return true;
                }
                printed(rest)
            }
            "cat" if rest.is_empty() || rest.first().is_some_and(|first| first.text == "-") => {
                self.input.clone().unwrap_or_else(|| Text::unknown("(input)"))
            }
            "cat" => {
                for value in rest {
                    match self.file(&value.shown()) {
                        Some(text) => all.push(&text),
                        None => return false,
                    }
                }
                all
            }
            "tee" => {
                let input = self.input.clone().unwrap_or_else(|| Text::unknown("(input)"));
                if let Some(file) = rest.iter().find(|value| !value.text.starts_with('-')) {
                    self.files.insert(file.shown(), input.clone());
                }
                input
            }
            "basename" | "dirname" if rest.first().is_some_and(|path| !path.is_open()) => {
                let path = rest.first().map_or("", |path| path.text.trim_end_matches('/'));
                let (head, tail) = path.rsplit_once('/').unwrap_or((".", path));
                let end = rest.get(1).map_or("", |end| end.text.as_str());
                let tail = tail.strip_suffix(end).unwrap_or(tail);
                all.text = format!("{}\n", if name == "basename" { tail } else { head });
                all
            }
            "expr" if !rest.iter().any(Text::is_open) => {
                let words: Vec<&str> = rest.iter().map(|value| value.text.as_str()).collect();
                match self.sum(&words.join(" ")) {
                    Some(found) if !found.open => all.text = format!("{}\n", found.value),
                    _ => return false,
                }
                all
            }
            "seq" => {
                let numbers: Option<Vec<i64>> = rest.iter().map(|value| value.text.parse().ok()).collect();
                let (first, step, last) = match numbers.as_deref() {
                    Some([last]) => (1, 1, *last),
                    Some([first, last]) => (*first, 1, *last),
                    Some([first, step, last]) if *step != 0 => (*first, *step, *last),
                    _ => return false,
                };
                let count = last.saturating_sub(first).checked_div(step).unwrap_or(-1);
                let mut now = first;
                for _ in 0..=count.min(1023) {
                    all.text.push_str(&now.to_string());
                    all.text.push('\n');
                    now = now.saturating_add(step);
                }
                all
            }
            "tr" | "wc" | "bc" => {
                let Some(input) = self.input.clone().filter(|input| !input.is_open()) else { return false };
                let Some(text) = filtered(name, rest, &input.text) else { return false };
                let text = if name == "bc" {
                    match self.sum(input.text.trim()) {
                        Some(found) if !found.open => found.value.to_string(),
                        _ => return false,
                    }
                } else {
                    text
                };
                Text { text, rests: input.rests }
            }
            _ => return false,
        };
        if let Some((output, _)) = self.outputs.last_mut() {
            output.push(&said);
        }
        true
    }

    fn unknown_output(&mut self) {
        if let Some((_, unknown)) = self.outputs.last_mut() {
            *unknown = true;
        }
    }

    /// Notes a program that is started, or runs the text of a shell that it is given.
    fn program(&mut self, values: &[Text], line: u64, piped: bool) -> Flow {
        self.status = Truth { program: true, decided: false, ..Truth::sure(true) };
        self.unknown_output();
        // Behind a launcher's own text a tool trains as little as without it; these start other programs.
        let first = values.first().map_or("", |word| word.text.as_str());
        let is_tool = NOTHING.contains(&first) && !["ray", "sudo", "conda"].contains(&first);
        if self.substituted > 0 || is_tool && !self.before.is_empty() {
            return Flow::Next;
        }
        let shell = values.iter().position(|word| SHELLS.contains(&program_of(word)));
        if let Some(at) = shell
            && let Some(flow) = self.within(values, at, line, piped)
        {
            return flow;
        }
        let mut words = self.before.clone();
        words.extend(values.iter().map(|word| program_in(word).map_or_else(|| word.shown(), str::to_owned)));
        let size = words.iter().map(String::len).sum();
        if self.started.len() < MAX_KEPT && self.spend(size) {
            let set = self.set.len();
            self.started.push(Started { words, line: self.fixed_line.unwrap_or(line), set });
        }
        Flow::Next
    }

    /// Runs the text that a shell among the words is given: behind `-c`, by a file that is here, or from what it reads.
    fn within(&mut self, values: &[Text], at: usize, line: u64, piped: bool) -> Option<Flow> {
        let behind = values.get(at + 1..)?;
        let flags = behind.iter().take_while(|word| word.text.starts_with('-')).count();
        let runs = behind.get(..flags)?.iter().any(|word| word.text.ends_with('c') && !word.text.starts_with("--"));
        let next = behind.get(flags);
        let (text, arguments) = if runs {
            (next?.again(), Vec::new())
        } else if let Some(file) = next.and_then(|file| self.file(&file.shown())) {
            (file.text, behind.get(flags + 1..)?.to_vec())
        } else if next.is_none() && (piped || self.input.is_some()) {
            (self.input.take()?.again(), Vec::new())
        } else {
            return None;
        };
        let outer = values.get(..at)?;
        let boxed = outer.first().is_some_and(|first| BOXES.contains(&first.text.as_str()));
        let before = self.before.clone();
        if !boxed {
            self.before.extend(outer.iter().map(Text::shown));
        }
        let (kept, said) = (Rc::clone(&self.variables), self.arguments.replace(arguments));
        if self.spend(text.len()) {
            self.elsewhere(&text, line);
        }
        (self.variables, self.arguments, self.before) = (kept, said, before);
        Some(if self.fault.is_some() { Flow::Exit } else { Flow::Next })
    }

    /// Runs a text that does not stand where the script is: all of its lines are that of the command.
    fn elsewhere(&mut self, text: &str, line: u64) -> Flow {
        let fixed = self.fixed_line;
        self.fixed_line = fixed.or(Some(line));
        let flow = self.text(text, line);
        self.fixed_line = fixed;
        flow
    }

    /// Text of a file that is given, or that the script wrote: by its path, else by its name alone.
    pub fn file(&self, path: &str) -> Option<Text> {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        if let Some(text) = self.files.get(path) {
            return Some(text.clone());
        }
        let given = || self.given.files.iter();
        let found =
            given().find(|(name, _)| name == path).or_else(|| given().find(|(name, _)| last(name) == last(path)));
        found.map(|(_, text)| Text::of(crate::dialect::text::shell::state::clean(text)))
    }

    fn source(&mut self, file: &Text, arguments: &[Text], line: u64) -> Flow {
        let path = file.shown();
        let Some(text) = self.file(&path) else {
            if self.missing.len() < MAX_KEPT {
                self.missing.push(MissingFile { name: path, line: self.fixed_line.unwrap_or(line) });
            }
            return Flow::Next;
        };
        if !self.spend(text.text.len()) {
            return Flow::Exit;
        }
        let kept = self.arguments.clone();
        if !arguments.is_empty() {
            self.arguments = Some(arguments.to_vec());
        }
        let flow = self.elsewhere(&text.text, line);
        self.arguments = kept;
        if flow == Flow::Return { Flow::Next } else { flow }
    }

    fn call(&mut self, name: &str, values: Vec<Text>, line: u64) -> Flow {
        let Some((body, first)) = self.functions.get(name).cloned() else { return Flow::Next };
        if !self.enter(line) || !self.spend(body.len().min(64)) {
            self.depth -= 1;
            return Flow::Exit;
        }
        let arguments = self.arguments.replace(values);
        self.locals.push(Vec::new());
        let flow = self.text(&body, first);
        for (name, value) in self.locals.pop().unwrap_or_default().into_iter().rev() {
            let variables = Rc::make_mut(&mut self.variables);
            match value {
                Some(value) => variables.insert(name, value),
                None => variables.remove(&name),
            };
        }
        self.arguments = arguments;
        self.depth -= 1;
        if flow == Flow::Return { Flow::Next } else { flow }
    }

    fn declare(&mut self, words: &[Word]) {
        let local = words.first().map(Word::text) == Some("local")
            || !self.locals.is_empty() && words.first().map(Word::text) != Some("export");
        let mut map = false;
        for word in words.get(1..).unwrap_or_default() {
            let assign = match word {
                Word::Array(assign) => {
                    self.localise(assign.name, local);
                    if map {
                        self.write(assign.name, Value::Map(BTreeMap::new()));
                    }
                    self.take(assign);
                    continue;
                }
                Word::Plain(raw) => raw,
            };
            if assign.starts_with('-') {
                map |= assign.contains('A');
                continue;
            }
            match assigned(assign) {
                Some((name, at, adds, value)) => {
                    self.localise(name, local);
                    self.take(&Assign { name, at, adds, value: crate::dialect::text::shell::tree::Given::One(value) });
                }
                None => {
                    for name in self.words(assign) {
                        // `export $PAIR` with NAME=value in it.
                        if let Some((name, _, _, value)) = assigned(&name.text) {
                            self.assign(name, Text { text: value.to_owned(), rests: Vec::new() });
                            continue;
                        }
                        self.localise(&name.text, local);
                        if map && !self.variables.contains_key(&name.text) {
                            self.write(&name.text, Value::Map(BTreeMap::new()));
                        }
                    }
                }
            }
        }
    }

    /// Remembers the value of a variable that a function has for itself.
    fn localise(&mut self, name: &str, local: bool) {
        let value = self.variables.get(name).cloned();
        if let Some(locals) = self.locals.last_mut().filter(|locals| local && locals.len() < MAX_KEPT) {
            locals.push((name.to_owned(), value));
        }
    }

    /// `read -r A B`, and with `-a` into an array, from a text that is known.
    fn read_words(&mut self, values: &[Text]) {
        let mut names = Vec::new();
        let mut array = false;
        for value in values.get(1..).unwrap_or_default() {
            match value.text.strip_prefix('-') {
                Some(flags) => array |= flags.contains('a'),
                None if is_name(&value.text) => names.push(value.text.clone()),
                None => {}
            }
        }
        let separators = match self.variables.get("IFS") {
            Some(Value::One(text)) if !text.is_open() => text.text.clone(),
            _ => " \t\n".to_owned(),
        };
        let Some(input) = self.input.take().filter(|input| !input.is_open()) else {
            for name in names {
                self.assign(&name.clone(), Text::unknown(&name));
            }
            self.status = Truth { decided: false, ..Truth::sure(false) };
            return;
        };
        let line = input.text.lines().next().unwrap_or_default();
        let mut pieces: Vec<&str> = line.split(|c| separators.contains(c)).filter(|piece| !piece.is_empty()).collect();
        let text = |text: &str| Text { text: text.to_owned(), rests: input.rests.clone() };
        if array {
            if let Some(name) = names.first().filter(|name| !self.given.set.iter().any(|(known, _)| known == *name)) {
                let items = (0..).zip(pieces.into_iter().map(text)).collect();
                self.write(name, Value::List(items));
            }
            return;
        }
        pieces.reverse();
        for (at, name) in names.iter().enumerate() {
            let mut value = pieces.pop().unwrap_or_default().to_owned();
            if at + 1 == names.len() {
                while let Some(more) = pieces.pop() {
                    value = format!("{value} {more}");
                }
            }
            self.assign(name, text(&value));
        }
    }

    /// What a command prints, as `$(command)` takes it.
    pub fn output(&mut self, text: &str) -> Text {
        if let Some(file) = text.trim().strip_prefix('<') {
            let file = self.value(file.trim()).shown();
            return self.file(&file).unwrap_or_else(|| Text::unknown(&format!("({})", shortened(text))));
        }
        if text.contains(crate::dialect::text::shell::state::OPEN) || !self.spend(16 + text.len()) {
            return Text::unknown("(…)");
        }
        let kept = (Rc::clone(&self.variables), self.arguments.clone(), self.input.take(), self.status.clone());
        self.outputs.push((Text::default(), false));
        self.substituted += 1;
        let line = self.fixed_line.unwrap_or(0);
        self.elsewhere(text, line);
        self.substituted -= 1;
        let (mut out, unknown) = self.outputs.pop().unwrap_or_default();
        (self.variables, self.arguments, self.input, self.status) = kept;
        if unknown {
            let mut open = Text::unknown(&format!("({})", shortened(text)));
            open.rest_on(&out.rests);
            return open;
        }
        let length = out.text.trim_end_matches('\n').len();
        out.text.truncate(length);
        out
    }
}

/// The text that the command printf writes: `%s` and `%d` are put in, other forms are left.
fn printed(values: &[Text]) -> Text {
    let Some((format, rest)) = values.split_first() else { return Text::default() };
    let mut out = Text { text: String::new(), rests: format.rests.clone() };
    let mut rest = rest.iter();
    let form = format.text.replace("\\n", "\n").replace("\\t", "\t");
    let mut letters = form.chars();
    while let Some(c) = letters.next() {
        match (c, c == '%') {
            (_, true) => match letters.next() {
                Some('s' | 'd' | 'q' | 'i') => {
                    if let Some(value) = rest.next() {
                        out.push(value);
                    }
                }
                None | Some('%') => out.text.push('%'),
                Some(other) => out.text.extend(['%', other]),
            },
            (c, _) => out.text.push(c),
        }
    }
    out
}

/// The output of `tr` with two sets of letters, and of `wc` with `-l`, `-w` or `-c`.
fn filtered(name: &str, rest: &[Text], input: &str) -> Option<String> {
    let word = |at: usize| rest.get(at).map(|word| word.text.replace("\\n", "\n"));
    match name {
        "bc" => Some(String::new()),
        "wc" => Some(match word(0)?.as_str() {
            "-l" => format!("{}\n", input.matches('\n').count()),
            "-w" => format!("{}\n", input.split_whitespace().count()),
            "-c" => format!("{}\n", input.len()),
            _ => return None,
        }),
        "tr" => {
            let (from, to) = (word(0)?, word(1)?);
            if from == "-d" {
                return Some(input.chars().filter(|c| !to.contains(*c)).collect());
            }
            let range = |set: &str| match set {
                "[:upper:]" | "A-Z" => Some(('A'..='Z').collect::<Vec<char>>()),
                "[:lower:]" | "a-z" => Some(('a'..='z').collect()),
                set if set.contains(['-', '[', '\\']) && set.len() > 1 => None,
                set => Some(set.chars().collect()),
            };
            let (from, to) = (range(&from)?, range(&to)?);
            let last = *to.last()?;
            let put =
                |c: char| from.iter().position(|one| *one == c).map_or(c, |at| to.get(at).copied().unwrap_or(last));
            Some(input.chars().map(put).collect())
        }
        _ => None,
    }
}
