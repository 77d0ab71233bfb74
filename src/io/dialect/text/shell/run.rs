//! Statements, one after the other, as a shell runs them; programs are noted and not run.
//!
//! A condition that rests on what the text does not set is not decided: what a shell does with the variable unset is
//! taken, unless that ends the script.

use crate::dialect::text::shell::expand::numbered;
use crate::dialect::text::shell::parser::{is_name, parse};
use crate::dialect::text::shell::patterns::matches;
use crate::dialect::text::shell::state::{Flow, MAX_KEPT, Shell, Text, Truth, Value};
use crate::dialect::text::shell::tree::{
    AndOr, Arm, Assign, CaseArm, Command, Form, Given, List, Pipeline, RedirectKind, Span, Word,
};
use crate::dialect::text::shell::{Branch, MAX_CONDITION};
use std::rc::Rc;

impl Shell<'_> {
    /// Runs a text whose first line has the number `line`.
    pub fn text(&mut self, text: &str, line: u64) -> Flow {
        let flow = if self.enter(line) {
            let (list, fault) = parse(text, line);
            let flow = self.list(&list);
            if let Some(fault) = fault {
                self.fail(fault);
            }
            flow
        } else {
            Flow::Exit
        };
        self.depth -= 1;
        flow
    }

    pub fn list(&mut self, list: &List) -> Flow {
        for item in &list.0 {
            let flow = self.and_or(item);
            if flow != Flow::Next {
                return flow;
            }
        }
        if self.fault.is_some() { Flow::Exit } else { Flow::Next }
    }

    fn and_or(&mut self, item: &AndOr) -> Flow {
        let mut flow = self.pipeline(&item.first);
        let mut condition = item.first.span.text.to_owned();
        for (and, next) in &item.rest {
            if flow != Flow::Next {
                return flow;
            }
            let truth = self.status.clone();
            let mut runs = truth.yes == *and;
            let counts = matter_in(next) && (!truth.program || assigns_in(next));
            if counts && self.quiet == 0 {
                let condition = shortened(&condition);
                let told = self.told(&condition);
                runs = told.map_or(runs, |told| told == *and);
                // The script is not ended by what is not known.
                runs &= truth.decided || told.is_some() || !ends_in(next);
                self.note(item.first.span.line, condition, runs == *and, truth.decided || told.is_some(), &truth.rests);
            } else if !truth.decided && ends_in(next) {
                runs = false;
            }
            if runs {
                flow = self.pipeline(next);
                // Whether the last one succeeded rests on the condition as well.
                self.status.decided &= truth.decided;
                for rest in truth.rests {
                    if !self.status.rests.contains(&rest) {
                        self.status.rests.push(rest);
                    }
                }
            } else {
                self.all_run = false;
                self.pass_by_in(next);
            }
            condition = format!("{condition} {} {}", if *and { "&&" } else { "||" }, next.span.text);
        }
        flow
    }

    /// Notes the way that a condition was taken.
    pub fn note(&mut self, line: u64, condition: String, taken: bool, decided: bool, rests: &[Rc<str>]) {
        let line = self.fixed_line.unwrap_or(line);
        // A loop meets the same condition again.
        let known = |branch: &Branch| branch.line == line && branch.condition == condition && branch.taken == taken;
        if self.branches.len() < MAX_KEPT && self.substituted == 0 && !self.branches.iter().any(known) {
            let rests_on = rests.iter().map(|name| (**name).to_owned()).collect();
            self.branches.push(Branch { line, condition, taken, decided, rests_on });
        }
    }

    /// Notes arguments that stand there only if a variable is set, `${NAME:+--argument}`; true if they are told to.
    pub fn is_alternative(&mut self, name: &str, word: &str, rests: &[Rc<str>]) -> bool {
        if !word.contains("--") {
            return false;
        }
        let condition = shortened(&format!("${{{name}:+{word}}}"));
        let told = self.told(&condition);
        if self.quiet == 0 {
            self.note(0, condition, told == Some(true), told.is_some(), rests);
        }
        told == Some(true)
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Flow {
        let several = pipeline.commands.len() > 1;
        let mut flow = Flow::Next;
        for (at, command) in pipeline.commands.iter().enumerate() {
            let last = at + 1 == pipeline.commands.len();
            if several && !last {
                self.outputs.push((Text::default(), false));
            }
            let input = self.input.take();
            self.input.clone_from(&input);
            flow = self.command(command, several);
            self.input = None;
            if several && !last {
                let (text, unknown) = self.outputs.pop().unwrap_or_default();
                self.input =
                    Some(if unknown { Text::unknown(&format!("({})", shortened(pipeline.span.text))) } else { text });
            }
        }
        if pipeline.not {
            self.status = self.status.clone().not();
        }
        flow
    }

    fn command(&mut self, command: &Command, piped: bool) -> Flow {
        if !self.step(command.line) {
            return Flow::Exit;
        }
        for redirect in &command.redirects {
            match &redirect.kind {
                RedirectKind::Here(body, plain, tabs) => {
                    let lines = body.get().split_inclusive('\n');
                    let body: String =
                        lines.map(|line| if *tabs { line.trim_start_matches('\t') } else { line }).collect();
                    self.input = Some(if *plain { Text::of(body) } else { self.here(&body) });
                }
                RedirectKind::Text => self.input = Some(self.value(redirect.target)),
                RedirectKind::Read => {
                    let name = self.value(redirect.target);
                    self.input = Some(self.file(&name.shown()).unwrap_or_else(|| Text::unknown("(input)")));
                }
                _ => {}
            }
        }
        let writes = command.redirects.iter().rev().find_map(|redirect| match redirect.kind {
            RedirectKind::Write(adds) => Some((adds, redirect.target)),
            _ => None,
        });
        if writes.is_some() {
            self.outputs.push((Text::default(), false));
        }
        let nested = !matches!(command.form, Form::Simple { .. });
        let flow = if nested && !self.enter(command.line) {
            Flow::Exit
        } else {
            self.form(&command.form, command.line, piped)
        };
        self.depth -= u32::from(nested);
        if let Some((adds, target)) = writes {
            let (text, unknown) = self.outputs.pop().unwrap_or_default();
            let name = self.value(target).shown();
            if !unknown && name != "/dev/null" && self.files.len() < MAX_KEPT && self.spend(text.text.len()) {
                let kept = self.files.remove(&name).filter(|_| adds);
                let mut all = kept.unwrap_or_default();
                all.push(&text);
                self.files.insert(name, all);
            }
        }
        flow
    }

    fn form(&mut self, form: &Form, line: u64, piped: bool) -> Flow {
        match form {
            Form::Simple { assigns, words } => self.simple(assigns, words, line, piped),
            Form::Group(list, false) => self.list(list),
            Form::Group(list, true) => {
                let kept = Rc::clone(&self.variables);
                self.list(list);
                self.variables = kept;
                Flow::Next
            }
            Form::If { arms, otherwise } => self.branches_of(arms, otherwise.as_ref()),
            Form::While(until, condition, span, body) => self.repeat(*until, condition, *span, body),
            Form::For { name, words, body } => {
                let mut values = Vec::new();
                match words {
                    Some(words) => words.iter().for_each(|word| values.extend(self.words(word.text()))),
                    None => values.extend(self.arguments.clone().unwrap_or_default()),
                }
                self.each(name, values, body)
            }
            Form::Count(parts, body) => self.counted(*parts, body),
            Form::Case { word, arms } => self.case(word, arms, line),
            Form::Test(words) => {
                self.status = self.double_test(words);
                Flow::Next
            }
            Form::Sum(sum) => {
                self.status = self.sum_holds(sum);
                Flow::Next
            }
            Form::Function { name, body } => {
                if self.functions.len() < MAX_KEPT {
                    self.functions.insert((*name).to_owned(), (body.text.into(), body.line));
                }
                self.status = Truth::sure(true);
                Flow::Next
            }
        }
    }

    /// If the result of a sum is not 0.
    fn sum_holds(&mut self, sum: &str) -> Truth {
        let text = self.here(sum);
        match self.sum(&text.plain()) {
            Some(found) => {
                let mut truth = Truth::of(found.value != 0, &[&text]);
                truth.decided &= !found.open && found.rests.is_empty();
                truth.rests.extend(found.rests);
                truth
            }
            None => Truth { decided: false, ..Truth::of(false, &[&text]) },
        }
    }

    fn branches_of(&mut self, arms: &[Arm], otherwise: Option<&List>) -> Flow {
        let counts = arms.iter().any(|arm| matter(&arm.body)) || otherwise.is_some_and(matter);
        let mut done = None;
        for (at, arm) in arms.iter().enumerate() {
            if done.is_some() {
                self.all_run = false;
                self.pass_by(&arm.body);
                continue;
            }
            self.quiet += 1;
            let flow = self.list(&arm.condition);
            self.quiet -= 1;
            if flow != Flow::Next {
                return flow;
            }
            let truth = self.status.clone();
            let condition = shortened(arm.span.text);
            let told = self.told(&condition);
            let decided = told.is_some() || truth.decided;
            let mut yes = told.unwrap_or(truth.yes);
            if !decided {
                let last = at + 1 == arms.len();
                // The script is not ended by what is not known.
                if yes && (self.ends(&arm.body) || passes(&arm.body)) {
                    yes = false;
                } else if !yes && last && otherwise.is_some_and(|list| self.ends(list)) && !self.ends(&arm.body) {
                    yes = true;
                }
            }
            if counts && self.quiet == 0 {
                self.note(arm.span.line, condition, yes, decided, &truth.rests);
            }
            if yes {
                done = Some(&arm.body);
            } else {
                self.all_run = false;
                self.pass_by(&arm.body);
            }
        }
        self.status = Truth::sure(true);
        match (done, otherwise) {
            (Some(body), other) => {
                self.all_run &= other.is_none();
                if let Some(other) = other {
                    self.pass_by(other);
                }
                self.list(body)
            }
            (None, Some(list)) => self.list(list),
            (None, None) => Flow::Next,
        }
    }

    /// Remembers the names that a list which does not run would have set.
    fn pass_by(&mut self, list: &List) {
        for item in &list.0 {
            self.pass_by_in(&item.first);
            for (_, next) in &item.rest {
                self.pass_by_in(next);
            }
        }
    }

    fn pass_by_in(&mut self, pipeline: &Pipeline) {
        for command in &pipeline.commands {
            match &command.form {
                Form::Simple { assigns, words } if words.is_empty() || self.passed_by.len() < MAX_KEPT => {
                    let exported = words.iter().filter_map(|word| word.text().split_once('=')).map(|(name, _)| name);
                    let names = assigns.iter().map(|assign| assign.name).filter(|_| words.is_empty());
                    let names = names.chain(exported.filter(|name| is_name(name)));
                    self.passed_by.extend(names.map(str::to_owned));
                }
                Form::Group(list, _) => self.pass_by(list),
                Form::If { arms, otherwise } => {
                    for arm in arms {
                        self.pass_by(&arm.body);
                    }
                    if let Some(list) = otherwise {
                        self.pass_by(list);
                    }
                }
                _ => {}
            }
        }
    }

    fn repeat(&mut self, until: bool, condition: &List, span: Span, body: &List) -> Flow {
        loop {
            self.quiet += 1;
            let flow = self.list(condition);
            self.quiet -= 1;
            if flow != Flow::Next {
                return flow;
            }
            let truth = self.status.clone();
            if !truth.decided {
                // How often is not known: as if it were not there.
                if matter(body) && self.quiet == 0 {
                    self.note(span.line, shortened(span.text), false, false, &truth.rests);
                }
                return Flow::Next;
            }
            if truth.yes == until {
                return Flow::Next;
            }
            match self.list(body) {
                Flow::Break(levels) => return if levels > 1 { Flow::Break(levels - 1) } else { Flow::Next },
                Flow::Continue(levels) if levels > 1 => return Flow::Continue(levels - 1),
                Flow::Next | Flow::Continue(_) => {}
                flow => return flow,
            }
            if !self.step(span.line) {
                return Flow::Exit;
            }
        }
    }

    fn each(&mut self, name: &str, values: Vec<Text>, body: &List) -> Flow {
        for value in values {
            self.assign(name, value);
            match self.list(body) {
                Flow::Break(levels) => return if levels > 1 { Flow::Break(levels - 1) } else { Flow::Next },
                Flow::Continue(levels) if levels > 1 => return Flow::Continue(levels - 1),
                Flow::Next | Flow::Continue(_) => {}
                flow => return flow,
            }
            if !self.step(0) {
                return Flow::Exit;
            }
        }
        Flow::Next
    }

    fn counted(&mut self, [start, condition, step]: [&str; 3], body: &List) -> Flow {
        self.sum_holds(start);
        loop {
            let holds = if condition.trim().is_empty() { Truth::sure(true) } else { self.sum_holds(condition) };
            if !holds.yes || !holds.decided || !self.step(0) {
                return if self.fault.is_some() { Flow::Exit } else { Flow::Next };
            }
            match self.list(body) {
                Flow::Break(levels) => return if levels > 1 { Flow::Break(levels - 1) } else { Flow::Next },
                Flow::Continue(levels) if levels > 1 => return Flow::Continue(levels - 1),
                Flow::Next | Flow::Continue(_) => {}
                flow => return flow,
            }
            self.sum_holds(step);
        }
    }

    fn case(&mut self, word: &str, arms: &[CaseArm], line: u64) -> Flow {
        let value = self.value(word);
        let plain = value.plain();
        // The output of a command is something, though nobody knows what: the first branch that does not end the
        // script.
        let output = value.text.contains("\u{E000}(");
        let told = |shell: &mut Self, arm: &CaseArm| shell.told(&case_text(word, arm));
        let counts = arms.iter().any(|arm| matter(&arm.body));
        let (mut done, mut flow) = (false, Flow::Next);
        let mut at = 0;
        while let Some(arm) = arms.get(at) {
            at += 1;
            let said = told(self, arm);
            let hit = !done
                && said.unwrap_or_else(|| {
                    (output && !self.ends(&arm.body))
                        || arm.patterns.iter().any(|pattern| {
                            let pattern = self.pattern(pattern).plain();
                            matches(&pattern, &plain)
                        })
                });
            let decided = said.is_some() || Truth::of(true, &[&value]).decided;
            if !hit || !decided && self.ends(&arm.body) {
                self.all_run = false;
                continue;
            }
            done = true;
            if counts && self.quiet == 0 {
                self.note(line, case_text(word, arm), true, decided, &value.rests);
            }
            flow = self.list(&arm.body);
            // `;&` runs the next branch as well.
            while arms.get(at - 1).is_some_and(|arm| arm.goes_on) && flow == Flow::Next {
                let Some(next) = arms.get(at) else { break };
                at += 1;
                flow = self.list(&next.body);
            }
            if flow != Flow::Next {
                return flow;
            }
        }
        if !done && counts && self.quiet == 0 {
            let decided = Truth::of(true, &[&value]).decided;
            self.note(line, shortened(&format!("case {word}")), false, decided, &value.rests);
        }
        self.status = Truth::sure(true);
        flow
    }

    /// True if a list ends the script, or the function that it is in.
    fn ends(&self, list: &List) -> bool {
        list.0.iter().any(|item| {
            item.rest.is_empty()
                && item.first.commands.iter().any(|command| match &command.form {
                    Form::Simple { words, .. } => {
                        let name = words.first().map_or("", Word::text);
                        let function = self.functions.get(name);
                        matches!(name, "exit" | "return") || function.is_some_and(|(body, _)| body.contains("exit"))
                    }
                    Form::Group(list, _) => self.ends(list),
                    _ => false,
                })
        })
    }

    /// Takes the assignments of a command without a name.
    pub fn take(&mut self, assign: &Assign) {
        let name = assign.name;
        // What a request gives stays, unless the text adds to it.
        let own = |raw: &str| raw.contains(&format!("${name}")) || raw.contains(&format!("${{{name}"));
        let adds = match &assign.value {
            Given::One(raw) => assign.adds || own(raw),
            Given::Several(items) => assign.adds || items.iter().any(|raw| own(raw)),
        };
        if self.is_given(name) && !adds {
            return;
        }
        match (&assign.value, assign.at) {
            (Given::One(raw), None) => {
                let is_text = matches!(self.variables.get(name), Some(Value::One(_)));
                let more = appended(raw, name).filter(|_| !assign.adds && is_text);
                let mut value = self.value(more.as_deref().unwrap_or(raw));
                let mut size = value.text.len();
                if assign.adds || more.is_some() {
                    value = match self.variables.get(name) {
                        Some(Value::One(before)) => {
                            // A list that grows line by line is put in many times, and each time only copied.
                            size += before.text.len() / COPIED;
                            let mut all = before.clone();
                            all.push(&value);
                            all
                        }
                        Some(Value::List(_)) => return self.element(name, "0", value, true),
                        _ => value,
                    };
                }
                self.remember(name, &value.shown());
                if self.spend(size) {
                    self.write(name, Value::One(value));
                }
            }
            (Given::One(raw), Some(at)) => {
                let value = self.value(raw);
                self.element(name, at, value, assign.adds);
            }
            (Given::Several(raws), _) => self.array(name, raws, assign.adds),
        }
    }

    fn array(&mut self, name: &str, raws: &[&str], adds: bool) {
        let map = matches!(self.variables.get(name), Some(Value::Map(_)));
        if map {
            if !adds {
                self.write(name, Value::Map(std::collections::BTreeMap::new()));
            }
            for raw in raws {
                if let Some((at, value)) = raw.strip_prefix('[').and_then(|raw| raw.split_once("]=")) {
                    let value = self.value(value);
                    self.element(name, at, value, false);
                }
            }
            return;
        }
        let mut items = Vec::new();
        for raw in raws {
            items.extend(self.words(raw));
        }
        let size: usize = items.iter().map(|item| item.text.len()).sum();
        if !self.spend(size) {
            return;
        }
        let mut all = match self.variables.get(name) {
            Some(Value::List(before)) if adds => before.clone(),
            Some(Value::One(before)) if adds && !before.text.is_empty() => numbered(vec![before.clone()]),
            _ => std::collections::BTreeMap::new(),
        };
        let next = all.keys().next_back().map_or(0, |last| last.saturating_add(1));
        all.extend((next..).zip(items));
        self.write(name, Value::List(all));
    }

    fn element(&mut self, name: &str, at: &str, value: Text, adds: bool) {
        let key = self.here(at).plain();
        match self.variables.get(name).cloned() {
            Some(Value::Map(mut items)) => {
                let slot = items.entry(key.trim_matches(['"', '\'']).to_owned()).or_default();
                if adds {
                    slot.push(&value);
                } else {
                    *slot = value;
                }
                self.write(name, Value::Map(items));
            }
            other => {
                let mut items = match other {
                    Some(Value::List(items)) => items,
                    Some(Value::One(text)) => numbered(vec![text]),
                    _ => std::collections::BTreeMap::new(),
                };
                let at = self.sum(&key).map_or(0, |sum| sum.value);
                let slot = items.entry(at).or_default();
                if adds {
                    slot.push(&value);
                } else {
                    *slot = value;
                }
                self.write(name, Value::List(items));
            }
        }
    }
}

/// Programs that change nothing of a training.
pub(in crate::dialect::text) const NOTHING: &[&str] = &[
    "echo",
    "printf",
    "mkdir",
    "cd",
    "rm",
    "cp",
    "mv",
    "ln",
    "touch",
    "exit",
    "return",
    "set",
    "unset",
    "ls",
    "cat",
    "chmod",
    "sleep",
    "wait",
    "kill",
    "pkill",
    "pip",
    "pip3",
    "apt",
    "apt-get",
    "git",
    "wget",
    "curl",
    "conda",
    "module",
    "source",
    ".",
    "ulimit",
    "true",
    "false",
    ":",
    "date",
    "trap",
    "break",
    "continue",
    "shift",
    "which",
    "tee",
    "hostname",
    "nvidia-smi",
    "tar",
    "sudo",
    "ray",
    "local",
    "read",
    "huggingface-cli",
    "hf",
    "usage",
    "[",
    "test",
];

/// Letters of a value that count as one that is put in anew, where more is added to the value: they are only copied. A
/// choice: lists of data to which published scripts add line by line are read to their end, and a value that a loop
/// doubles still reaches the limit.
const COPIED: usize = 16;

/// What `raw` adds to the variable `name`, of which it begins with the value: ` more` of `"${NAME} more"`.
fn appended(raw: &str, name: &str) -> Option<String> {
    let (quote, rest) = match raw.strip_prefix('"') {
        Some(rest) => ("\"", rest),
        None => ("", raw),
    };
    let rest = rest.strip_prefix('$')?;
    let braced = rest.strip_prefix('{').and_then(|rest| rest.strip_prefix(name)?.strip_prefix('}'));
    let bare = || {
        let rest = rest.strip_prefix(name)?;
        (!rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')).then_some(rest)
    };
    let rest = braced.or_else(bare)?;
    Some(format!("{quote}{rest}"))
}

/// A condition as a request names it: one line of at most so many letters.
pub(super) fn shortened(text: &str) -> String {
    let line = text.trim().trim_end_matches([';', '\n']).split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_CONDITION).collect()
}

fn case_text(word: &str, arm: &CaseArm) -> String {
    shortened(&format!("case {word} in {}", arm.patterns.join("|")))
}

/// True if a list could change what is read: it assigns, starts, or has further statements.
fn matter(list: &List) -> bool {
    list.0.iter().any(|item| matter_in(&item.first) || item.rest.iter().any(|(_, next)| matter_in(next)))
}

fn matter_in(pipeline: &Pipeline) -> bool {
    pipeline.commands.iter().any(|command| match &command.form {
        Form::Simple { assigns, words } => {
            let name = words.first().map_or("", Word::text);
            let starts = words.iter().any(|word| word.text().starts_with("--") || word.text().contains("[@]"));
            !assigns.is_empty() && words.is_empty()
                || !words.is_empty() && !NOTHING.contains(&name)
                || name == "source"
                || name == "."
                || name == "local" && words.len() > 1
                || starts && !NOTHING.contains(&name)
                // Ray starts a cluster, or a job, which may train.
                || name == "ray" && words.iter().any(|word| word.text() == "submit")
        }
        Form::Group(list, _) | Form::For { body: list, .. } | Form::Count(_, list) | Form::While(_, _, _, list) => {
            matter(list)
        }
        Form::If { arms, otherwise } => {
            arms.iter().any(|arm| matter(&arm.body)) || otherwise.as_ref().is_some_and(matter)
        }
        Form::Case { arms, .. } => arms.iter().any(|arm| matter(&arm.body)),
        Form::Test(_) | Form::Function { .. } => false,
        Form::Sum(sum) => sum.contains('='),
    })
}

/// True if a pipeline sets variables.
fn assigns_in(pipeline: &Pipeline) -> bool {
    pipeline.commands.iter().any(|command| match &command.form {
        Form::Simple { assigns, words } => !assigns.is_empty() && words.is_empty(),
        Form::Group(list, _) => list.0.iter().any(|item| assigns_in(&item.first)),
        _ => false,
    })
}

/// True if a list goes on with the next turn of a loop.
fn passes(list: &List) -> bool {
    list.0.iter().any(|item| {
        item.first.commands.iter().any(|command| match &command.form {
            Form::Simple { words, .. } => matches!(words.first().map_or("", Word::text), "continue" | "break"),
            _ => false,
        })
    })
}

/// True if a pipeline ends the script.
fn ends_in(pipeline: &Pipeline) -> bool {
    pipeline.commands.iter().any(|command| match &command.form {
        Form::Simple { words, .. } => matches!(words.first().map_or("", Word::text), "exit" | "return"),
        Form::Group(list, _) => list.0.iter().any(|item| ends_in(&item.first)),
        _ => false,
    })
}
