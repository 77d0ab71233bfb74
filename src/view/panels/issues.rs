//! Issues in words, with the way to the field and the button that mends it.

use crate::panels::inputs::is_in_column;
use crate::prelude::*;
use crate::words::{self, line as line_of, said_of};
use shardscope_core::advice::fit::label;
use shardscope_core::issue::{Fix, Issue, Severity};
use shardscope_core::report::Peak;
use shardscope_core::run::registry::field;

/// One issue with its fix.
pub fn line(issue: &Issue) -> Node {
    let (class, mark) = match issue.severity {
        Severity::Error => ("issue error", "✕ "),
        Severity::Warning => ("issue warning", "▲ "),
        Severity::Notice => ("issue notice", "ℹ "),
    };
    el("p", &[("class", class)], &[text(mark), text(issue.words()), fixes(issue)])
}

/// Above times and costs: that the run does not fit or that its software does not run it, where that is so.
pub fn only_if(evaluation: &Evaluation, unit: MemoryUnit) -> Node {
    let words = words::only_if(&evaluation.scenario.run, &evaluation.report.memory, unit);
    words.map_or_else(Node::none, |words| el("p", &[("class", "issue warning")], &[text("▲ "), text(words)]))
}

/// A button for each fix.
fn fixes(issue: &Issue) -> Node {
    issue.fixes().map(|fix: &Fix| apply("fix", fix.set.clone(), "", label(fix))).collect()
}

/// All of them, each with a way to its field.
pub fn list(issues: &[Issue]) -> Node {
    issues
        .iter()
        .map(|issue| {
            let go = match field(&issue.field) {
                Some(field) => {
                    let button = leaf("button", "link field-link", field.label);
                    button.on(Action::Focus(field.key))
                }
                // A key of a link that is no field is named as it was written.
                None if !issue.field.is_empty() => leaf("code", "", verbatim(&issue.field)),
                None => Node::none(),
            };
            el("li", &[], &[go, line(issue)])
        })
        .collect()
}

/// Fields that a step does not depend on: only what it costs does.
const BUDGET: [&str; 3] = ["tokens_total", "price_per_gpu_hour", "currency"];

/// True if only the cost depends on the field called `key`.
pub fn is_of_budget(key: &str) -> bool {
    BUDGET.contains(&key)
}

/// The Run whose figures are shown in place of one that cannot be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Instead {
    /// None was evaluated, and no other layout can be.
    Nothing,
    /// None was evaluated yet: the present Run in another layout, with the memory of its fullest GPU.
    Proposal(Box<Run>, Peak),
    /// The last one of this visit that was evaluated.
    Last(Box<Run>),
}

/// The sentence that says of which Run the figures are; where only the budget is faulty, of which value the cost is.
fn shown(fault: Option<&Issue>, instead: &Instead) -> Message {
    match (fault, instead) {
        (Some(fault), _) if is_of_budget(&fault.field) => t!("The cost is of the last valid value."),
        (_, Instead::Nothing) => t!("This cannot run, and no other layout of it can: no figures are shown."),
        (_, Instead::Proposal(run, peak)) if peak.overall == Verdict::Fits => {
            t!("This cannot run. The grey figures are of another layout of it, a proposal: {run}.", run = line_of(run))
        }
        (_, Instead::Proposal(run, peak)) => {
            t!(
                "This cannot run. The grey figures are of another layout of it, which {verdict}: {run}.",
                verdict = said_of(run, peak),
                run = line_of(run)
            )
        }
        (_, Instead::Last(run)) => {
            t!("This cannot run. The grey figures are of the last run that could: {run}.", run = line_of(run))
        }
    }
}

/// The button that takes the proposal.
fn take(instead: &Instead) -> Node {
    match instead {
        Instead::Proposal(run, _) => load("fix", run, line_of(run), &[text("Use this layout")]),
        Instead::Nothing | Instead::Last(_) => Node::none(),
    }
}

/// Fields that a line names behind its first issue, at most.
const NAMED: usize = 2;

/// The line beside the head of the suggestions: what is wrong, with what mends it, or what is doubtful; of a field in
/// the column, whose row says all of it, the first sentence.
pub fn note(fault: Option<&Issue>, warnings: &[Issue], instead: &Instead) -> Node {
    let go = |issue: &Issue| match field(&issue.field) {
        Some(field) => link_button(field.label).on(Action::Focus(field.key)),
        None => inline(&issue.message),
    };
    if let Some(fault) = fault {
        let parts = [
            go(fault),
            text(": "),
            text(fault.words()),
            fixes(fault),
            text(" "),
            faint(shown(Some(fault), instead)),
            if is_of_budget(&fault.field) { Node::none() } else { take(instead) },
        ];
        let line = Node::from_iter([leaf("span", "mark", "✕ "), Node::from_iter(parts)]);
        return el("p", &[("class", "stale-note"), ("role", "status")], &[line]).keyed(&fault.message.to_string());
    }
    if warnings.is_empty() {
        return Node::none();
    }
    // What is no more than information stands in the row of its field.
    let in_row = |issue: &Issue| field(&issue.field).is_some_and(is_in_column);
    let warnings = || warnings.iter().filter(|issue| issue.severity != Severity::Notice || !in_row(issue));
    let mut keys: Vec<&Issue> = Vec::new();
    for issue in warnings() {
        if !keys.iter().any(|known| known.field == issue.field) {
            keys.push(issue);
        }
    }
    if keys.is_empty() {
        return Node::none();
    }
    let only_notices = keys.iter().all(|issue| issue.severity == Severity::Notice);
    let mut parts = vec![leaf("span", "mark", if only_notices { "ℹ " } else { "▲ " })];
    // What is said here alone comes first.
    keys.sort_by_key(|issue| in_row(issue));
    let said = |issue: &Issue| {
        let words = if in_row(issue) {
            leaf("span", "", issue.words().opening()).title(issue.words().clone())
        } else {
            Node::from_iter([text(&issue.message), fixes(issue)])
        };
        Node::from_iter([go(issue), text(": "), words])
    };
    for (at, issue) in keys.iter().take(1 + NAMED).enumerate() {
        let sign = match at {
            0 => None,
            1 => Some(text(" · also: ")),
            _ => Some(text(verbatim(" · "))),
        };
        parts.extend(sign);
        parts.push(said(issue));
    }
    if let Some(next) = keys.get(1 + NAMED) {
        let more = t!("{count} more", count = keys.len() - 1 - NAMED);
        let next = field(&next.field).map(|field| Action::Focus(field.key));
        let more = next.map_or_else(|| text(more.clone()), |action| link_button(more.clone()).on(action));
        parts.extend([text(" and "), more]);
    }
    el("p", &[("class", "warned")], &parts).keyed("warnings")
}

/// The head of a view that shows figures of another Run than the one entered: why, and of which Run they are. Nothing
/// where the Run is shown, or where only its cost is not.
pub fn halted(fault: Option<&Issue>, instead: &Instead) -> Node {
    let fault = fault.filter(|fault| !is_of_budget(&fault.field));
    fault.map_or_else(Node::none, |fault| note(Some(fault), &[], instead))
}

/// Settings of a link that were refused.
pub fn refused(notices: &[Issue]) -> Node {
    if notices.is_empty() {
        return Node::none();
    }
    let lines = el("ul", &[("class", "issues")], &[list(notices)]);
    let words = paragraph("This link asks for something that is not shown.");
    el("div", &[("role", "status")], &[words, lines])
}

/// `errors` of a Run whose link also had `refused` values: an error about the default that stands for one speaks of the
/// value that was entered.
pub fn entered(errors: &[Issue], refused: &[Issue]) -> Vec<Issue> {
    let spoken = |error: &Issue| {
        let entered = refused.iter().find(|issue| error.severity == Severity::Error && issue.field == error.field);
        match entered {
            Some(entered) => Issue { message: entered.message.clone(), problem: None, ..error.clone() },
            None => error.clone(),
        }
    };
    errors.iter().map(spoken).collect()
}

/// The message of a frame that cannot show the Run of its link; nothing where it can.
pub fn framed(errors: &[Issue], notices: &[Issue], instead: &Instead) -> Node {
    if errors.is_empty() && notices.is_empty() {
        return Node::none();
    }
    let words = if errors.is_empty() { Node::none() } else { paragraph(shown(None, instead)) };
    let errors = entered(errors, notices);
    let others = notices.iter().filter(|notice| errors.iter().all(|error| error.field != notice.field));
    let lines: Node = errors.iter().chain(others).map(line).collect();
    el("div", &[("role", "status")], &[words, lines])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::search::ladder::Ladder;

    /// `run` as a proposal, as the page makes it.
    fn proposal(run: &Run) -> Instead {
        Instead::Proposal(Box::new(run.clone()), evaluate(run).unwrap().report.memory.peak())
    }

    #[test]
    fn the_line_names_each_field_once_and_leads_to_it() {
        let last = Instead::Last(Box::default());
        let sheets = ["seq_len", "etp", "seq_len"].map(|field| Issue::warning(field, "doubtful"));
        let line = note(None, &sheets, &last);
        assert_eq!(line.actions(), [&Action::Focus("seq_len"), &Action::Focus("etp")]);
        let html = line.to_html();
        assert!(html.matches("doubtful").count() == 2 && html.contains(" · also: "), "{html}");
        // The rows of the column say their warnings whole, the line what is the case.
        let said = ["doubtful: the figures are what it would take", "odd; mind it", "doubtful: again"];
        let warnings: Vec<_> =
            ["tp", "zero", "tp"].into_iter().zip(said).map(|(field, words)| Issue::warning(field, words)).collect();
        let line = note(None, &warnings, &last);
        assert_eq!(line.actions(), [&Action::Focus("tp"), &Action::Focus("zero")]);
        let html = line.to_html();
        assert!(html.contains(">doubtful</span>") && html.contains(">odd</span>"), "{html}");
        for (_, words) in warnings.iter().zip(said).take(2) {
            assert!(html.contains(&format!("title=\"{words}\"")), "{html}");
        }
        let fault = Issue::error("global_batch", "100 does not divide");
        let line = note(Some(&fault), &warnings, &last);
        assert_eq!(line.actions(), [&Action::Focus("global_batch")]);
        assert!(line.to_html().contains("100 does not divide"));
        assert_eq!(note(None, &[], &last), Node::none());
    }

    /// Of the fields, those that only have information are left out; of more than three, the others are counted.
    #[test]
    fn the_line_counts_warnings_alone() {
        let last = Instead::Last(Box::default());
        let notice = Issue { severity: Severity::Notice, ..Issue::warning("pp", "known") };
        assert_eq!(note(None, std::slice::from_ref(&notice), &last), Node::none());
        let warnings = [notice, Issue::warning("tp", "doubtful")];
        let line = note(None, &warnings, &last);
        assert_eq!(line.actions(), [&Action::Focus("tp")]);
        assert!(line.to_html().contains("doubtful"), "{}", line.to_html());
        let many = ["tp", "zero", "cp", "schedule", "precision"].map(|field| Issue::warning(field, "doubtful"));
        let html = note(None, &many, &last).to_html();
        assert!(html.matches(">doubtful<").count() == 3 && html.contains("2 more"), "{html}");
    }

    /// The line says the fact itself, never that a field has a warning: software without the schedule.
    #[test]
    fn the_line_says_what_the_software_does_not_run() {
        let set =
            [("stack", "megatron-2025"), ("schedule", "zb-v"), ("virtual_stages", "2"), ("gpus", "64"), ("pp", "4")];
        let run = Run::default().with_texts(&set.map(|(key, value)| (key, value.to_owned()))).unwrap();
        let warnings = shardscope_core::report::report(&run).unwrap().warnings;
        let whole = warnings.iter().find(|issue| issue.field == "schedule").unwrap().message.to_string();
        let html = note(None, &warnings, &Instead::Nothing).to_html();
        let fact = whole.split(": ").next().unwrap();
        assert!(fact.len() < whole.len() && html.contains(&format!(">{fact}</span>")), "{html}");
    }

    /// QLoRA of 70B on one GPU of 48 GB: a warning that says what would fit has the button that sets it, of a loss that
    /// the software has, and the run then fits.
    #[test]
    fn a_warning_that_names_a_change_has_its_button() {
        let read = |tokens: u64| {
            let set = [
                ("model", "llama-3.1-70b".to_owned()),
                ("gpu", "l40s".to_owned()),
                ("gpus", "1".to_owned()),
                ("tp", "1".to_owned()),
                ("pp", "1".to_owned()),
                ("zero", "0".to_owned()),
                ("seq_len", tokens.to_string()),
                ("stack", "hf-trainer".to_owned()),
                ("recompute", "full".to_owned()),
                ("adapter.method", "qlora".to_owned()),
            ];
            Run::default().with_texts(&set).unwrap()
        };
        let mut counted = 0;
        for tokens in (128..=4096).step_by(128) {
            let run = read(tokens);
            let warnings = shardscope_core::report::report(&run).unwrap().warnings;
            for issue in warnings.iter().filter(|issue| issue.field == "cross_entropy") {
                counted += 1;
                let fix = issue.fixes().next().unwrap();
                let line = note(None, &warnings, &Instead::Nothing);
                assert!(line.to_html().contains(&label(fix).to_string()), "{}", line.to_html());
                assert_eq!(fix.set, [("cross_entropy", "fused-linear".to_owned())]);
                let after = shardscope_core::report::report(&run.with_texts(&fix.set).unwrap()).unwrap();
                assert_eq!(after.memory.verdict, Verdict::Fits);
            }
        }
        assert!(counted > 0);
    }

    /// A price that is not understood says nothing of the layout.
    #[test]
    fn a_faulty_price_leaves_everything_but_the_cost() {
        let last = Instead::Last(Box::default());
        let line = |key| note(Some(&Issue::error(key, "not understood")), &[], &last).to_html();
        assert!(line("price_per_gpu_hour").contains("The cost is of the last valid value."));
        assert!(line("tp").contains("of the last run that could"));
        for key in BUDGET {
            assert!(field(key).is_some(), "{key}");
        }
    }

    #[test]
    fn a_key_that_is_no_field_is_named() {
        let html = list(&[Issue::notice("nonsense", "left out")]).to_html();
        assert!(html.contains("nonsense"), "{html}");
    }

    #[test]
    fn a_frame_says_only_what_keeps_it_from_showing_its_link() {
        let proposal = proposal(&Run { gpus: 32, ..Run::default() });
        assert_eq!(framed(&[], &[], &proposal), Node::none());
        let notice = framed(&[], &[Issue::notice("wings", "left out")], &proposal).to_html();
        assert!(notice.contains("left out") && !notice.contains("cannot run"));
        let error = framed(&[Issue::error("tp", "tp does not divide")], &[], &proposal).to_html();
        assert!(error.contains("This cannot run") && error.contains("tp does not divide"));
    }

    /// A run that cannot be evaluated never shows another run's answer as its own.
    #[test]
    fn figures_of_another_run_name_it() {
        let fault = Issue::error("gpus", "1 GPU is fewer than TP 8");
        let other = Run { gpus: 32, ..Run::default() };
        let name = line_of(&other).to_string();
        for (instead, buttons) in [(Instead::Last(Box::new(other.clone())), 0), (proposal(&other), 1)] {
            let view = note(Some(&fault), &[], &instead);
            let loads = view.actions().into_iter().filter(|action| matches!(action, Action::Load(_))).count();
            assert!(view.to_html().contains(&name), "{}", view.to_html());
            assert_eq!(loads, buttons);
            assert!(framed(std::slice::from_ref(&fault), &[], &instead).to_html().contains(&name));
        }
        assert!(note(Some(&fault), &[], &Instead::Nothing).to_html().contains("no figures are shown"));
    }

    /// 405 B parameters have 810 GB of weights in bf16 alone, more than eight cards of 80 GB: what is proposed in place
    /// of a layout that cannot run says that it does not fit either. One that fits says nothing of the kind.
    #[test]
    fn a_proposal_that_does_not_fit_says_so() {
        let fault = Issue::error("tp", "TP 3 does not divide 8 GPUs.");
        for (model, gpus, fits) in [("llama-3.1-405b", "8", false), ("llama-3.1-8b", "8", true)] {
            let run = Run::default().with_texts(&[("model", model), ("gpus", gpus), ("tp", "3"), ("pp", "1")]).unwrap();
            assert!(evaluate(&run).is_err());
            let proposal = proposal(&Ladder::stand_in(&run).unwrap());
            for html in [
                note(Some(&fault), &[], &proposal).to_html(),
                framed(std::slice::from_ref(&fault), &[], &proposal).to_html(),
            ] {
                assert_eq!(html.contains("which is out of memory"), !fits, "{html}");
                assert_eq!(html.contains("a proposal: "), fits, "{html}");
            }
        }
    }

    /// The head of Whole run, Cluster and Schedules, which show the figures of the last run or of a proposal. A price
    /// that is not understood halts none of them.
    #[test]
    fn every_view_says_that_its_figures_are_of_another_run() {
        let fault = Issue::error("pp", "PP 3 does not divide 64 GPUs.");
        let other = Run { gpus: 32, ..Run::default() };
        for instead in [Instead::Last(Box::new(other.clone())), proposal(&other)] {
            let html = halted(Some(&fault), &instead).to_html();
            let name = line_of(&other).to_string();
            assert!(html.contains("stale-note") && html.contains("cannot run") && html.contains(&name), "{html}");
        }
        let last = Instead::Last(Box::new(other));
        assert_eq!(halted(None, &last), Node::none());
        assert_eq!(halted(Some(&Issue::error("price_per_gpu_hour", "not understood")), &last), Node::none());
    }

    /// 10^15 GPUs were entered and not 64: what is wrong is that there are too many.
    #[test]
    fn an_error_of_a_default_speaks_of_what_was_entered() {
        // A link with gpus=1e15&tp=16&pp=8 is read as this.
        let run = shardscope_core::run::Run { tp: 16, pp: 8, ..shardscope_core::run::Run::default() };
        let notices = [Issue::notice("gpus", t!("Enter a whole number of at most {high}.", high = 1_u64 << 40))];
        let errors = shardscope_core::report::evaluate(&run).unwrap_err();
        let found = entered(&errors, &notices);
        let gpus: Vec<_> = found.iter().filter(|issue| issue.field == "gpus").collect();
        assert_eq!(gpus.len(), 1);
        assert!(gpus[0].message.to_string().starts_with("Enter a whole number of at most"), "{}", gpus[0].message);
        assert!(gpus[0].fix.is_some());
        assert_eq!(framed(&errors, &notices, &Instead::Nothing).to_html().matches("of at most").count(), 1);
        assert_eq!(entered(&errors, &[]), errors);
    }

    #[test]
    fn an_issue_leads_to_its_field_and_mends_it() {
        let set = vec![("tp", "4".into()), ("pp", "2".into())];
        let issue = Issue::error("tp", "no").with_fixes(set.clone());
        let actions = [Action::Focus("tp"), Action::Apply(set)];
        assert_eq!(list(&[issue]).actions(), actions.each_ref());
    }
}
