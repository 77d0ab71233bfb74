//! The page's state: the Run with what follows from it, the view, and what is open. What is shown is derived from
//! these.

pub(crate) mod evaluated;
mod history;
mod layout;
mod panels;
mod planner;
pub(crate) mod runs;
mod view;

use crate::core::cluster::GroupKind;
use crate::core::issue::Issue;
use crate::core::memory::Verdict;
use crate::core::message::Message;
use crate::core::report::{Evaluation, Figure};
use crate::core::run::registry::{Field, field};
use crate::core::run::{Run, Scenario};
use crate::core::search::ladder::asks_anew;
use crate::io::link::{self, Decoded};
use crate::view::choose::fixed_chunks;
use crate::view::look::ScoredLine;
use crate::view::panels::chosen::{LayoutOrigin, saying_what_is_chosen};
use crate::view::panels::issues::{Instead, entered, is_of_budget};
use crate::web::browser;
use crate::web::browser::html::effect;
use crate::web::state::evaluated::{Shown, drawn, evaluated, painted};
pub(crate) use history::History;
pub(crate) use layout::ChosenLayout;
use leptos::prelude::*;
pub(crate) use panels::Panels;
use planner::Planner;
use runs::Runs;
use std::sync::Arc;
pub(crate) use view::Viewed;

/// Handles to everything; copied into every panel.
#[derive(Clone, Copy)]
pub(crate) struct State {
    /// The Run as typed.
    pub run: RwSignal<Run>,
    /// The choice of a layout that follows the Run.
    pub layout: StoredValue<ChosenLayout>,
    /// The Run with the meaning of its unset fields written in.
    pub resolved: Memo<Run>,
    /// All issues, worst first.
    pub issues: Memo<Vec<Issue>>,
    /// The evaluation of the Run.
    pub shown: Memo<Shown>,
    /// The last good evaluation whose key figures have been painted: the panels below them follow in a frame of their
    /// own.
    pub painted: RwSignal<Option<Arc<Evaluation>>>,
    /// The last good evaluation whose ops are simulated.
    pub drawn: Memo<Option<Arc<Evaluation>>>,
    /// Its ops could not be simulated.
    pub undrawable: Signal<bool>,
    /// Parts of the link that were not understood.
    pub notices: RwSignal<Vec<Issue>>,
    /// Texts typed into fields that were not understood, one a field, the last one last.
    unread: RwSignal<Vec<UnreadText>>,
    /// Earlier and later Runs.
    pub history: StoredValue<History>,
    /// Notice of the settings that a choice made besides itself, and the Run that it led to.
    pub told: RwSignal<Option<(Run, Issue)>>,
    /// The line of the scoreboard whose run was opened.
    pub scored: RwSignal<Option<Arc<ScoredLine>>>,
    /// The search in the background.
    pub planner: Planner,
    /// The runs that were measured.
    pub runs: Runs,
    pub view: Viewed,
    /// Open panels.
    pub panels: Panels,
    /// Files that were dropped on the page, to be diagnosed.
    pub dropped: RwSignal<Option<web_sys::FileList>, LocalStorage>,
    /// A text that was pasted onto the page, to be diagnosed.
    pub pasted: RwSignal<Option<String>>,
}

/// A text typed into a field that was not understood.
#[derive(Clone)]
struct UnreadText {
    field: &'static Field,
    /// What the Run said when it was typed: the text is dropped where that has changed.
    after: String,
    why: Message,
}

/// The address, read. The version of the application that made a link is for people alone.
pub(crate) fn read_address() -> Decoded {
    let mut link = link::opened(&browser::link_text());
    link.view.made = None;
    link
}

/// True if the address names a Run that has no layout yet, or none that works.
pub(crate) fn asks_for_layout() -> bool {
    let link = read_address();
    link.auto.is_some() || Scenario::new(&link.run).is_err()
}

impl State {
    pub(crate) fn from_address() -> Self {
        let link = read_address();
        let history = StoredValue::new(History::new(&link.run));
        let (run, auto) = (RwSignal::new(link.run), link.auto);
        let notices = RwSignal::new(link.notices);
        let view = Viewed::new(link.view);
        let layout = ChosenLayout::new(run, view, link.origin, history);
        if let Some(given) = auto {
            layout.resolve(&given);
        }
        let shown = evaluated(move || Some(layout.settled.get()));
        // A link says that its layout was chosen, and not what would do where it does not fit.
        effect(move || {
            let unfit = shown.with(|shown| {
                let own = shown.evaluation.as_ref().filter(|_| shown.errors.is_empty() && !shown.stands_in);
                own.is_some_and(|own| {
                    own.report.memory.overall() != Verdict::Fits && run.with(|run| own.scenario.run == *run)
                })
            });
            if unfit && layout.origin.get() == LayoutOrigin::Chosen && !layout.searches.get() {
                layout.weigh();
            }
        });
        let issues = Memo::new(move |_| [of_run(shown, notices, run, layout), refused(notices, run, shown)].concat());
        let painted = painted(shown);
        let (drawn, undrawable) = drawn(move || painted.get());
        Self {
            run,
            layout: StoredValue::new(layout),
            resolved: Memo::new(move |_| run.with(Run::resolved)),
            issues,
            shown,
            painted,
            drawn,
            undrawable,
            unread: RwSignal::new(Vec::new()),
            history,
            notices,
            told: RwSignal::new(None),
            scored: RwSignal::new(None),
            planner: Planner::new(),
            runs: Runs::stored(),
            view,
            panels: Panels::new(),
            dropped: RwSignal::new_local(None),
            pasted: RwSignal::new(None),
        }
    }

    /// The last good evaluation.
    pub fn evaluation(&self) -> Option<Arc<Evaluation>> {
        self.shown.with(|shown| shown.evaluation.clone())
    }

    /// True if the ops of the evaluation that the panels show are simulated.
    pub(crate) fn is_drawn(&self) -> bool {
        let (drawn, last) = (self.drawn.get(), self.painted.get());
        drawn.zip(last).is_none_or(|(drawn, last)| Arc::ptr_eq(&drawn, &last))
    }

    /// True if the picture is not of the Run as typed last.
    pub(crate) fn is_stale(&self) -> bool {
        self.layout.get_value().waits.get() || self.shown.with(|shown| shown.waits) || self.is_halted()
    }

    /// True if a fault keeps figures of the Run from being shown: a price or a budget that was not understood keeps
    /// none but the cost.
    pub(crate) fn is_halted(&self) -> bool {
        self.fault().is_some_and(|fault| !is_of_budget(&fault.field))
    }

    /// The Run whose figures are shown in place of one that cannot be evaluated; none where there are none.
    pub(crate) fn instead(&self) -> Instead {
        self.shown.with(|shown| {
            let Some(evaluation) = &shown.evaluation else { return Instead::Nothing };
            let run = Box::new(evaluation.scenario.run.clone());
            if shown.stands_in { Instead::Proposal(run, evaluation.report.memory.peak()) } else { Instead::Last(run) }
        })
    }

    /// True if a layout is proposed in place of one that cannot be evaluated.
    pub(crate) fn stands_in(&self) -> bool {
        self.shown.with(|shown| shown.stands_in)
    }

    /// The first error that keeps the Run as typed last from being shown.
    pub fn fault(&self) -> Option<Issue> {
        let unread = self.unread().pop();
        let of_run = || self.shown.with(|shown| entered(&shown.errors, &untaken(self.notices, self.run)));
        unread.or_else(|| of_run().into_iter().next())
    }

    /// Why texts that stand in fields were not understood, that of the last one last.
    pub fn unread(&self) -> Vec<Issue> {
        let texts = self.unread.get().into_iter();
        let holds = texts.filter(|text| self.text_of(text.field) == text.after);
        holds.map(|text| Issue::error(text.field.key, text.why)).collect()
    }

    /// Why the text that stands in `field` was not understood, if it was not.
    pub fn unread_of(&self, field: &Field) -> Option<Message> {
        self.unread().into_iter().find(|issue| issue.field == field.key).map(|issue| issue.message)
    }

    /// Notes why a text typed into `field` was not understood, or that one was. Texts in other fields stay as they are.
    pub fn note_text(&self, field: &'static Field, why: Option<Message>) {
        let after = untrack(|| self.text_of(field));
        self.unread.update(|texts| {
            texts.retain(|text| text.field.key != field.key);
            texts.extend(why.map(|why| UnreadText { field, after, why }));
        });
    }

    /// Takes back every text that was not understood: fields show what the Run says.
    pub fn forget_texts(&self) {
        self.unread.set(Vec::new());
    }

    /// The value in the Run, or what an unset field means; millions and more without their zeros, as 1e12: a field is
    /// short.
    pub(crate) fn text_of(&self, field: &Field) -> String {
        let fixed = self.fixed(field).map(|(count, _)| count.to_string());
        let set = || self.run.with(|run| field.text(run));
        let meant = || self.resolved.with(|run| field.text(run));
        let text = fixed.or_else(set).or_else(meant);
        text.map_or_else(String::new, |text| without_zeros(&text))
    }

    /// Value of `field` that the schedule decides, and the schedule.
    pub(crate) fn fixed(&self, field: &Field) -> Option<(u64, &'static str)> {
        let chunks = || self.run.with(fixed_chunks);
        (field.key == "virtual_stages").then(chunks).flatten()
    }

    /// Issues without a place of their own: the first error stands above the figures, refusals of a link above all.
    pub(crate) fn noted(&self) -> Vec<Issue> {
        let fault = self.fault();
        let mut issues = of_run(self.shown, self.notices, self.run, self.layout.get_value());
        issues.retain(|issue| Some(issue) != fault.as_ref());
        issues
    }

    /// What the last choice set besides itself, while it stands: a layout that is chosen after it leaves it standing.
    pub(crate) fn along(&self) -> Option<Issue> {
        let is_chosen = self.layout.get_value().origin.get() == LayoutOrigin::Chosen;
        let holds = |after: &Run| self.run.with(|run| run == after || is_chosen && !asks_anew(after, run));
        self.told.get().filter(|(after, _)| holds(after)).map(|(_, notice)| notice)
    }

    /// Parts of the link that were not understood.
    pub fn refused(&self) -> Vec<Issue> {
        refused(self.notices, self.run, self.shown)
    }

    /// Shows `run` with the layout that it has, which is from `origin`.
    pub(crate) fn take(&self, run: Run, origin: LayoutOrigin) {
        self.layout.get_value().accept(&run, origin);
        self.run.set(run);
    }

    /// Where the layout of `run`, which this visit may have shown, is from.
    pub(crate) fn origin_of(&self, run: &Run) -> LayoutOrigin {
        self.layout.get_value().remembered(run).unwrap_or(LayoutOrigin::Yours)
    }

    /// Sets the fields that a fix names.
    pub(crate) fn apply(&self, set: &[(&'static str, String)]) {
        // A fix that cannot be set changes nothing: its issue stays where it is.
        if let Some(run) = self.run.with_untracked(|run| run.with_texts(set)) {
            self.run.set(run);
        }
    }

    /// The pipeline rank of the selected GPU.
    pub fn rank(&self) -> Option<usize> {
        let gpu = self.view.gpu.get()?;
        let mesh = self.evaluation()?.scenario.layout.mesh();
        usize::try_from(mesh.place(gpu.min(mesh.ranks() - 1)).pp).ok()
    }

    /// Selects pipeline rank `rank` of the replica of the selected GPU.
    pub(crate) fn select_rank(&self, rank: usize) {
        let Some(evaluation) = untrack(|| self.evaluation()) else {
            return;
        };
        let mesh = evaluation.scenario.layout.mesh();
        let gpu = self.view.gpu.get_untracked().unwrap_or(0);
        let pipeline = mesh.members(GroupKind::Pp, gpu.min(mesh.ranks() - 1));
        let rank = (rank as u64).min(pipeline.size() - 1);
        self.view.select(Some(pipeline.rank(rank)));
    }

    /// Opens the drawer on a figure.
    pub fn ask(&self, figure: Figure) {
        if let Figure::Memory(rank) | Figure::Component(rank, _) = figure {
            self.select_rank(rank);
        }
        self.panels.explain(figure);
    }
}

/// 1e12 for 1000000000000; other texts as they are.
fn without_zeros(text: &str) -> String {
    let digits = text.trim_end_matches('0');
    let zeros = text.len() - digits.len();
    if zeros < 6 || digits.is_empty() || !digits.bytes().all(|one| one.is_ascii_digit()) {
        return text.to_owned();
    }
    format!("{digits}e{zeros}")
}

/// Errors of the Run, or warnings where it has none.
fn of_run(shown: Memo<Shown>, notices: RwSignal<Vec<Issue>>, run: RwSignal<Run>, layout: ChosenLayout) -> Vec<Issue> {
    shown.with(|shown| match &shown.evaluation {
        Some(evaluation) if shown.errors.is_empty() => match layout.followed() {
            Some(origin) => saying_what_is_chosen(&evaluation.scenario.run, origin, evaluation.warnings()),
            None => evaluation.warnings().to_vec(),
        },
        _ => entered(&shown.errors, &untaken(notices, run)),
    })
}

/// Values of the link that were not taken; of a field only while it has its default.
fn untaken(notices: RwSignal<Vec<Issue>>, run: RwSignal<Run>) -> Vec<Issue> {
    let holds = |notice: &Issue| match field(&notice.field) {
        Some(field) => run.with(|run| !field.is_changed(run)),
        None => true,
    };
    notices.get().into_iter().filter(holds).collect()
}

/// Values of the link that were not taken, except those of fields that have an error of the Run.
fn refused(notices: RwSignal<Vec<Issue>>, run: RwSignal<Run>, shown: Memo<Shown>) -> Vec<Issue> {
    let mut others = untaken(notices, run);
    shown.with(|shown| others.retain(|notice| shown.errors.iter().all(|error| error.field != notice.field)));
    others
}
