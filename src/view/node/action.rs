//! Presses as values: actions of the page, which its dispatcher carries out, and those of the panel that shows them.

pub use super::fold::PlanFold;
use crate::look::{ScoredLine, Slice};
use crate::palette::Theme;
use crate::steps::StepId;
use crate::views::{Drawn, PanelsTab, View};
use shardscope_core::cluster::{GroupKind, Link};
use shardscope_core::pipeline::sync::ReducePolicy;
use shardscope_core::report::{Figure, ScheduleVariant};
use shardscope_core::run::{OneOf, Run};
use shardscope_core::search::session::PlanCommand;
use shardscope_core::statics::named;
use shardscope_core::traffic::Traffic;
use shardscope_core::units::MemoryUnit;
use shardscope_core::whole_run;
use std::sync::Arc;

/// A press on an element, by who carries it out.
#[derive(Clone, Debug, PartialEq)]
pub enum Press {
    Page(Action),
    /// The panel that shows the element.
    Panel(PanelAction),
}

impl From<Action> for Press {
    fn from(action: Action) -> Self {
        Self::Page(action)
    }
}

impl From<PanelAction> for Press {
    fn from(action: PanelAction) -> Self {
        Self::Panel(action)
    }
}

impl Press {
    /// Its name for style sheets and tests: `apply tp=4`.
    pub fn name(&self) -> String {
        match self {
            Self::Page(action) => action.name(),
            Self::Panel(action) => action.name(),
        }
    }
}

/// An action that one panel carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelAction {
    /// A command for the planner.
    Plan(PlanCommand),
    /// Opens a closed fold of the plan, closes an open one.
    Fold(PlanFold),
    /// Zooms or saves the timeline.
    Timeline(TimelineAction),
    /// Draws the in-flight activations of this rank.
    Rank(usize),
    /// Starts an order of one's own from the one that is drawn.
    StartOrder,
    /// Saves the questions of the scoreboard.
    Questions,
    /// Asks for a file of predictions.
    Predictions,
    /// Opens an example to diagnose, by its place.
    Example(usize),
    /// Shows the place of a cause of the list in the timeline of a trace.
    Cause(usize),
    /// Moves the timeline of a trace; true: later.
    Pan(bool),
    /// Takes the log that is diagnosed among the runs that were measured.
    Calibrate,
    /// Makes the run that the diagnosed files state the page's.
    UseRun,
    /// Shows the layouts of the run that is diagnosed.
    Layouts,
}

impl PanelAction {
    fn name(self) -> String {
        match self {
            Self::Plan(command) => format!("plan {}", command.name()),
            Self::Fold(fold) => format!("plan toggle:{}", fold.name()),
            Self::Timeline(action) => format!("timeline {}", action.id()),
            Self::Rank(rank) => format!("rank {rank}"),
            Self::StartOrder => "start-order".to_owned(),
            Self::Questions => "questions".to_owned(),
            Self::Predictions => "predictions".to_owned(),
            Self::Example(at) => format!("example {at}"),
            Self::Cause(at) => format!("cause {at}"),
            Self::Pan(later) => if later { "later" } else { "earlier" }.to_owned(),
            Self::Calibrate => "calibrate".to_owned(),
            Self::UseRun => "use-run".to_owned(),
            Self::Layouts => "layouts".to_owned(),
        }
    }
}

/// An action of the page.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Show(View),
    /// Opens a tab of panels of the Run.
    Tab(PanelsTab),
    /// Opens a step of a lesson with its sliders at these values, as in a link.
    Step(StepId, String),
    /// Sets fields as [`Apply`](Self::Apply) does, and opens a view.
    Try(View, Vec<(&'static str, String)>),
    /// Sets fields, each from its text; an empty text unsets it.
    Apply(Vec<(&'static str, String)>),
    /// Sets fields as [`Apply`](Self::Apply) does, and chooses the layout, whose fields that are set stay.
    Name(Vec<(&'static str, String)>),
    /// As [`Name`](Self::Name) where it has settings, and opens even and uneven layers of the pipeline.
    Splits(Vec<(&'static str, String)>),
    /// As [`Name`](Self::Name), and opens the kinds of GPUs with their prices.
    Costs(Vec<(&'static str, String)>),
    /// Goes a step back in the history of the Run.
    Undo,
    /// Goes a step forth.
    Redo,
    /// Chooses the layout now and after every edit of what it depends on; false: takes the choice back.
    ChooseLayout(bool),
    /// Sets fields as [`Apply`](Self::Apply) does, shows the whole run and searches the largest model there.
    SearchModels(Vec<(&'static str, String)>),
    /// Makes a Run the page's own.
    Load(Arc<Run>),
    /// Makes a Run of a list the page's own; a dialog stays open.
    Take(Arc<Run>),
    /// Makes a Run that was read the page's own, and opens its settings where that is true.
    Import(Arc<Run>, bool),
    /// Opens a page of the dialog.
    Open(Dialog),
    /// Opens the dialog that shares the run.
    Share,
    /// Copies or saves a text or a picture.
    Save(Save),
    /// Explains a figure in the drawer.
    Explain(Figure),
    /// Explains a figure of the whole run in the drawer.
    ExplainWhole(whole_run::WholeRunFigure),
    /// Shows the simulated future of this seed, the Run's own where there is none.
    Future(Option<u64>),
    /// Goes to the input of the field with this key.
    Focus(&'static str),
    Compare(Compare),
    /// Chooses a variant of a panel.
    Choose(PanelChoice),
    /// Sorts the schedules by the column with this key; again: the other way round.
    Sort(&'static str),
    /// Changes what the gallery of schedules shows.
    Gallery(GalleryAction),
    /// Does something with the runs that were measured.
    Measured(RunsAction),
    /// Changes what the scoreboard shows, or opens one of its runs.
    Board(BoardAction),
}

#[derive(Clone, Debug, PartialEq)]
pub enum BoardAction {
    /// Shows a class of runs of the row with this name.
    Pick(String, Slice),
    /// Makes a run of the list the page's own, and shows it.
    Open(Arc<Run>, Option<Arc<ScoredLine>>),
}

/// A page of the dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// The dialog that brings in a run or a model.
    Import,
    /// The run in the form with this id.
    Export(&'static str),
    Published,
    /// The formulas behind all figures.
    Methods,
    /// The words of the field, or this one.
    Glossary(Option<&'static str>),
    /// The keys of the page.
    Keys,
    /// A link asked for a page that does not exist.
    Unknown,
}

/// Actions on the measured runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsAction {
    /// Keeps what was read.
    Keep,
    /// Keeps the measured step of the Run, as it was before an edit.
    KeepStep,
    /// Offers that no more.
    LeaveStep,
    /// Removes the run at this place.
    Remove(usize),
    /// Makes the profile of the fit the Run's.
    Use,
    /// Takes the profile out of the Run.
    Without,
    /// Saves all as a file.
    Save,
    /// Ends the reading of a file.
    Stop,
}

/// Actions on the second Run.
#[derive(Clone, Debug, PartialEq)]
pub enum Compare {
    /// The page's Run becomes the second, unless there is one.
    Begin,
    /// The page's Run becomes the second.
    Keep(Arc<Run>),
    /// The second Run becomes the page's, and this one the second.
    Swap(Arc<Run>, Arc<Run>),
    /// Explains a figure of the second Run in the drawer.
    Explain(Figure),
    /// There is no second Run any more.
    Close,
}

/// A variant of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelChoice {
    /// When gradients leave.
    Policy(ReducePolicy),
    /// The messages that are drawn beside a micro-batch and in the blocks of the timeline; none: those that cost most
    /// beside a micro-batch, none in the blocks.
    Beside(Option<Traffic>),
    /// The groups that the cluster shows; all where none is chosen.
    Group(Option<GroupKind>),
    /// The links whose load colours the cluster; the stages where none is chosen.
    Load(Option<Link>),
}

named! {
    pub enum TimelineAction: id {
        /// Zooms in.
        In = "in",
        /// Zooms out.
        Out = "out",
        /// Shows all of it.
        Fit = "fit",
        /// Saves what is visible as PNG.
        Png = "png",
        /// Saves what is visible as SVG.
        Svg = "svg",
        /// Saves every op as CSV.
        Csv = "csv",
        /// Saves a Chrome trace.
        Trace = "trace",
    }
}

/// Picture or text to save, and its format.
#[derive(Clone, Debug, PartialEq)]
pub enum Save {
    /// A text goes to the clipboard.
    Copy(Arc<str>),
    /// A text becomes a file.
    Text {
        /// Name of the file.
        name: String,
        text: Arc<str>,
    },
    /// Several texts become files with these names.
    Texts(Vec<(String, Arc<str>)>),
    Picture {
        /// Name of the file, without its end.
        name: &'static str,
        /// The picture; none: the SVG that is beside the button.
        drawn: Option<Drawn>,
        /// Memory unit of a drawn picture.
        unit: MemoryUnit,
        /// As PNG; else as SVG.
        png: bool,
        /// The Run of a drawn picture.
        run: Option<Arc<Run>>,
        /// Its colours; none: those of the page.
        theme: Option<Theme>,
    },
}

impl Action {
    /// Name in a word or two: `apply tp=4`.
    pub fn name(&self) -> String {
        match self {
            Self::Explain(figure) => format!("explain {}", figure.id()),
            Self::ExplainWhole(figure) => format!("explain {}", figure.id()),
            Self::Future(seed) => format!("future {}", seed.map_or_else(String::new, |seed| seed.to_string())),
            Self::Focus(key) => format!("focus {key}"),
            Self::Apply(set) => format!("apply {}", pairs(set)),
            Self::Name(set) => format!("name {}", pairs(set)),
            Self::Splits(set) => format!("splits {}", pairs(set)),
            Self::Costs(set) => format!("costs {}", pairs(set)),
            Self::Load(_) => "load".to_owned(),
            Self::Take(_) => "take".to_owned(),
            Self::Import(_, launches) => if *launches { "launch" } else { "import" }.to_owned(),
            Self::Open(dialog) => format!("open {}", dialog.id()),
            Self::Share => "share".to_owned(),
            Self::Compare(Compare::Explain(figure)) => format!("explain b {}", figure.id()),
            Self::Compare(_) => "compare".to_owned(),
            Self::Show(view) => format!("show {view}"),
            Self::Tab(tab) => format!("tab {}", tab.choice().id),
            Self::Step(step, _) => format!("show {}", View::Learn(*step)),
            Self::Try(view, set) => format!("try {view} {}", pairs(set)),
            Self::Undo => "undo".to_owned(),
            Self::Redo => "redo".to_owned(),
            Self::ChooseLayout(choose) => format!("layout {}", if *choose { "choose" } else { "undo" }),
            Self::SearchModels(set) => format!("search models {}", pairs(set)).trim_end().to_owned(),
            Self::Choose(choice) => format!("choose {}", choice.id()),
            Self::Sort(column) => format!("sort {column}"),
            Self::Gallery(action) => action.name(),
            Self::Save(save) => save.name(),
            Self::Measured(command) => command.name(),
            Self::Board(BoardAction::Pick(tool, slice)) => format!("board {tool} {}", slice.id()),
            Self::Board(BoardAction::Open(..)) => "board open".to_owned(),
        }
    }
}

fn pairs<K: std::fmt::Display>(set: &[(K, String)]) -> String {
    let pairs = set.iter().map(|(key, value)| format!("{key}={value}"));
    pairs.collect::<Vec<_>>().join("&")
}

impl Dialog {
    /// As a link names it: `export json`.
    pub fn id(self) -> String {
        match self {
            Self::Import => "import".to_owned(),
            Self::Export(form) => format!("export {form}"),
            Self::Published => "published".to_owned(),
            Self::Methods => "methods".to_owned(),
            Self::Glossary(None) => "glossary".to_owned(),
            Self::Glossary(Some(word)) => format!("glossary {word}"),
            Self::Keys => "keys".to_owned(),
            Self::Unknown => String::new(),
        }
    }
}

impl PanelChoice {
    pub fn id(self) -> &'static str {
        match self {
            Self::Policy(ReducePolicy::Eager) => "eager",
            Self::Policy(ReducePolicy::RankEnd) => "rank",
            Self::Policy(ReducePolicy::StepEnd) => "end",
            Self::Beside(traffic) => traffic.map_or("no messages", Traffic::id),
            Self::Group(kind) => kind.map_or("all groups", GroupKind::name),
            Self::Load(None) => "stages",
            Self::Load(Some(Link::Intra)) => "node links",
            Self::Load(Some(Link::Inter)) => "network",
        }
    }
}

impl RunsAction {
    fn name(self) -> String {
        match self {
            Self::Keep => "keep-run".to_owned(),
            Self::KeepStep => "keep-step".to_owned(),
            Self::LeaveStep => "leave-step".to_owned(),
            Self::Remove(at) => format!("remove-run {at}"),
            Self::Use => "use-profile".to_owned(),
            Self::Without => "no-profile".to_owned(),
            Self::Save => "save-runs".to_owned(),
            Self::Stop => "stop-reading".to_owned(),
        }
    }
}

impl Save {
    fn name(&self) -> String {
        match self {
            Self::Copy(_) => "copy".to_owned(),
            Self::Text { name, .. } => format!("save {name}"),
            Self::Texts(files) => {
                let names: Vec<&str> = files.iter().map(|(name, _)| &**name).collect();
                format!("save {}", names.join(" "))
            }
            Self::Picture { name, png, .. } => {
                format!("save {name}.{}", if *png { "png" } else { "svg" })
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GalleryAction {
    /// Compares a schedule, or no longer.
    Tick(ScheduleVariant),
    /// Shows whole steps, or only fill and drain.
    Whole(bool),
}

impl GalleryAction {
    pub fn name(self) -> String {
        match self {
            Self::Tick(variant) => format!("tick {variant}"),
            Self::Whole(true) => "whole".to_owned(),
            Self::Whole(false) => "cut".to_owned(),
        }
    }
}
