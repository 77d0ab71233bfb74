//! "This was wrong": what a person sends who measured another value, as a text to copy and as the address of a filled
//! form.
//!
//! Nothing is sent from here. The fields and their words are those of `.github/ISSUE_TEMPLATE/wrong-figure.yml`, in
//! English: an issue is read by whoever maintains the repository.

use crate::export::Stamp;
use crate::link::escape;
use shardscope_core::report::Evaluation;
use shardscope_core::units::{MemoryUnit, show_count, show_percent, show_seconds, significant};
use shardscope_view::panels::budget::{PRICE, budget_tokens, money, show_price, show_tokens, sign};
use shardscope_view::panels::whole::WholeRunAnswer;

/// A figure of the first screen that may have been measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hero {
    Step,
    Tokens,
    Memory,
    Fits,
    Bubble,
    Exposed,
    /// From the first step to the last token of the budget.
    Days,
    /// Price of those days.
    Cost,
}

impl Hero {
    pub const ALL: [Self; 8] =
        [Self::Step, Self::Tokens, Self::Memory, Self::Fits, Self::Bubble, Self::Exposed, Self::Days, Self::Cost];

    /// The choice of the form that it is.
    pub fn choice(self) -> &'static str {
        match self {
            Self::Step => "step time",
            Self::Tokens => "tokens a second",
            Self::Memory => "memory",
            Self::Fits => "fits or not",
            Self::Bubble => "pipeline bubble",
            Self::Exposed => "exposed communication",
            Self::Days => "days of a whole run",
            Self::Cost => "cost of a whole run",
        }
    }

    /// The calculated value of this quantity, with its range where there is one.
    fn calculated(self, evaluation: &Evaluation) -> String {
        let report = &evaluation.report;
        let (memory, step) = (&report.memory, &report.step);
        let bytes = |bytes| MemoryUnit::Gib.show(bytes);
        match self {
            Self::Step => format!(
                "{} a step ({} to {})",
                show_seconds(step.time_s),
                show_seconds(step.low_s),
                show_seconds(step.high_s)
            ),
            Self::Tokens => format!("{} tokens a second a GPU", significant(step.tokens_per_s_per_gpu, 4)),
            Self::Memory => format!(
                "{} ({} to {})",
                bytes(memory.need_bytes),
                bytes(memory.need_low_bytes),
                bytes(memory.need_high_bytes)
            ),
            Self::Fits => format!("{} of {}", bytes(memory.need_bytes), bytes(memory.capacity_bytes)),
            Self::Bubble => format!("{} of the pipeline's time", show_percent(report.pipeline.bubble_fraction)),
            Self::Exposed => {
                format!("{} of a step of {}", show_seconds(step.exposed_comm_s), show_seconds(step.time_s))
            }
            Self::Days | Self::Cost => self.of_whole_run(evaluation),
        }
    }

    /// Days or cost of the token budget, with what the steps alone take.
    fn of_whole_run(self, evaluation: &Evaluation) -> String {
        let run = &evaluation.scenario.run;
        let tokens = budget_tokens(run);
        let steps_days = tokens / evaluation.report.step.tokens_per_s / 86_400.0;
        let budget = format!("of {} tokens", show_tokens(tokens));
        let Ok(whole) = WholeRunAnswer::new(evaluation) else {
            return format!("{} days {budget} for the steps alone; the run does not end", significant(steps_days, 4));
        };
        let (days, hours) = (whole.figures.days, whole.figures.gpu_hours);
        if self == Self::Days {
            let [days, steps] = [days, steps_days].map(|days| significant(days, 4));
            return format!("{days} days {budget}, {steps} of them for the steps alone");
        }
        let currency = sign(run);
        let price = run.own_price().unwrap_or(PRICE);
        let cost = money(&currency, whole.figures.cost.unwrap_or(hours * price));
        format!("{cost} {budget}: {} GPU-hours at {} each", show_count(hours), show_price(&currency, price))
    }
}

/// The address of the repository, as owner.json has it; empty where nobody set one.
pub fn repository() -> String {
    let owner = serde_json::from_str::<serde_json::Value>(include_str!("../../owner.json"));
    owner.ok().and_then(|owner| Some(owner.get("repository")?.as_str()?.to_owned())).unwrap_or_default()
}

/// The form with all that the page knows; what was measured is for the person to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongFigure {
    figure: Hero,
    link: String,
    calculated: String,
    software: String,
}

impl WrongFigure {
    /// The form about `figure` of a run that was calculated.
    pub fn new(figure: Hero, evaluation: &Evaluation, stamp: &Stamp) -> Self {
        let run = &evaluation.scenario.run;
        Self {
            figure,
            link: stamp.link(run),
            calculated: format!("{}, by {}", figure.calculated(evaluation), stamp.made()),
            software: run.stack.preset_row().choice.label.to_owned(),
        }
    }

    /// The form as Markdown, to copy where there is no repository, or to send by other ways.
    pub fn text(&self) -> String {
        let Self { figure, link, calculated, software } = self;
        [
            ("Link", link.as_str()),
            ("Figure", figure.choice()),
            ("Calculated", calculated),
            ("Measured value", ""),
            ("Software and release", software),
            ("Source", ""),
        ]
        .map(|(label, value)| {
            format!("### {label}\n\n{}\n", if value.is_empty() { "_to be filled in_" } else { value })
        })
        .join("\n")
    }

    /// The address of the form with its fields filled, below the `repository` of owner.json; none while that is empty.
    pub fn address(&self, repository: &str) -> Option<String> {
        if repository.is_empty() {
            return None;
        }
        let mut address = format!("{repository}/issues/new?template=wrong-figure.yml");
        let fields = [
            ("title", format!("Wrong: {}", self.figure.choice())),
            ("link", self.link.clone()),
            ("figure", self.figure.choice().to_owned()),
            ("software", self.software.clone()),
            ("more", format!("Calculated: {}", self.calculated)),
        ];
        for (field, value) in &fields {
            address.push('&');
            address.push_str(field);
            address.push('=');
            escape(value, &mut address);
        }
        Some(address)
    }
}
