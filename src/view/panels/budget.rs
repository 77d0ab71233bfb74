//! Cost and days of a budget: its tokens or steps, its price, and the key figure in which both are edited.

use super::ranged::{AS_FAR, Part, ROOM, RangedTime, behind, digits, published_outside, range};
use crate::node::figure::Scope;
use crate::prelude::*;
use crate::views::View;
use shardscope_core::rl::predict;
use shardscope_core::run::presets::GPUS;
use shardscope_core::run::registry::field;
use shardscope_core::search::kinds::places;
use shardscope_core::units::{count_to, group};
use shardscope_core::whole_run::{WholeRunFigure, figures, setting};

/// Tokens of the budget where the Run has none, round numbers: of a pretraining, and of a fine-tuning, a million
/// samples of a thousand tokens.
const TOKENS: [f64; 2] = [1e12, 1e9];

/// Tokens of the budget of `run`; where it has none those of a pretraining; those of a fine-tuning of adapters, of
/// objectives and reinforcement learning that go on with a pretrained model, and of what trains on a node or less.
pub fn budget_tokens(run: &Run) -> f64 {
    let per_node = || run.gpu.resolve().map_or(1, |gpu| run.gpus_per_node.unwrap_or(gpu.per_node));
    let goes_on =
        || run.adapter.method.is_some() || run.rl.algorithm.is_some() || run.objective.named().follows_pretraining();
    let is_small = || goes_on() || run.gpus <= per_node();
    run.tokens_total.unwrap_or_else(|| TOKENS[usize::from(is_small())])
}

/// Tokens that the budget of `run` has without being set; none where it has its own, or counts steps of reinforcement
/// learning.
pub(crate) fn assumed_tokens(run: &Run) -> Option<f64> {
    (run.tokens_total.is_none() && run.rl.algorithm.is_none()).then(|| budget_tokens(run))
}

/// `other`, a remedy for `own`, with the tokens that `own` assumes where it would assume others: more GPUs or fewer do
/// not change what is trained.
pub fn keeping_budget(own: &Run, other: Run) -> Run {
    match (assumed_tokens(own), assumed_tokens(&other)) {
        (Some(tokens), Some(others)) if tokens.to_bits() != others.to_bits() => {
            Run { tokens_total: Some(tokens), ..other }
        }
        _ => other,
    }
}

/// `set`, settings of a remedy for `own`, with the tokens of [`keeping_budget`] where it sets the number of GPUs.
pub fn set_keeping_budget(own: &Run, set: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
    let mut set = set.to_vec();
    let is_of_gpus = set.iter().any(|(key, _)| *key == "gpus");
    if let Some(other) = own.with_texts(&set).filter(|_| is_of_gpus)
        && let kept = keeping_budget(own, other.clone())
        && kept != other
        && let Some(text) = field("tokens_total").and_then(|field| field.text(&kept))
    {
        set.push(("tokens_total", text));
    }
    set
}

/// What the tokens or steps of the budget of `run` are, where it has none of its own.
fn assumed(run: &Run) -> Option<Message> {
    if run.rl.algorithm.is_some() {
        return run.rl.steps.is_none().then(|| t!("number of steps assumed"));
    }
    assumed_tokens(run).map(|tokens| {
        if tokens < TOKENS[0] { t!("tokens assumed: fine-tuning") } else { t!("tokens assumed: pretraining") }
    })
}

/// Price of a GPU-hour where the Run has none.
pub const PRICE: f64 = 2.0;
/// Steps of reinforcement learning in the budget where the Run has none: a round number.
const RL_STEPS: u64 = 1000;

/// Steps of the budget of a Run with reinforcement learning.
fn budget_steps(run: &Run) -> u64 {
    run.rl.steps.unwrap_or(RL_STEPS)
}

/// Steps of the budget of a Run with reinforcement learning, grouped from five digits on; nothing of any other Run,
/// whose budget is of tokens.
pub fn show_budget_steps(run: &Run) -> Option<String> {
    run.rl.algorithm.map(|_| group(&budget_steps(run).to_string()))
}

/// An amount of money: `$689k`.
pub fn money(currency: &str, amount: f64) -> String {
    let (less, shown) = few(amount, false);
    format!("{less}{currency}{shown}")
}

/// An amount in few characters, `wide`: of two digits, and the sign before one that is too small for them.
pub(crate) fn few(amount: f64, wide: bool) -> (&'static str, String) {
    match amount {
        ..0.01 if amount > 0.0 => ("<", "0.01".to_owned()),
        1e21.. => (">", "999E".to_owned()),
        _ => ("", count_to(amount, digits(wide)).replace(' ', "")),
    }
}

/// Cost and days of the token budget of the Run that `scope` names, at round numbers where it has none; the rows below
/// the name, in which both are edited.
pub fn budget(evaluation: &Evaluation, scope: &Scope) -> Node {
    budget_rows(evaluation, scope, false)
}

/// Cost and days of the page's own Run; each opens its figure of the whole run, where that run ends.
pub fn own_budget(evaluation: &Evaluation) -> Node {
    let ends = setting(evaluation, budget_tokens(&evaluation.scenario.run)).is_ok();
    budget_rows(evaluation, &Scope::run(), ends)
}

/// All steps of a budget, without losses.
pub struct BudgetTime {
    /// Time of all steps.
    pub seconds: f64,
    /// GPUs that are paid for.
    gpus: u64,
    /// One step with its range.
    step: RangedTime,
}

impl BudgetTime {
    /// Of the tokens of a Run, or of its steps of reinforcement learning; nothing where those are not predicted.
    pub fn of(evaluation: &Evaluation) -> Option<Self> {
        let (run, step) = (&evaluation.scenario.run, &evaluation.report.step);
        if run.rl.algorithm.is_some() {
            let step = RangedTime::from(&predict(run).ok()?);
            return Some(Self { seconds: step.time.0 * budget_steps(run) as f64, gpus: run.gpus, step });
        }
        let seconds = budget_tokens(run) / step.tokens_per_s;
        Some(Self { seconds, gpus: evaluation.scenario.layout.gpus, step: step.into() })
    }

    pub fn gpu_hours(&self) -> f64 {
        self.seconds / 3600.0 * self.gpus as f64
    }
}

fn budget_rows(evaluation: &Evaluation, scope: &Scope, opens: bool) -> Node {
    let run = &evaluation.scenario.run;
    let currency = sign(run);
    let price = run.own_price().unwrap_or(PRICE);
    let Some(budget) = BudgetTime::of(evaluation) else {
        return leaf("span", "range", "known once the step time is");
    };
    let (hours, step) = (budget.gpu_hours(), budget.step);
    let wide = step.is_wide();
    let cost = |time: Seconds| {
        let (less, shown) = few(hours * price * (time / step.time), wide);
        (format!("{less}{currency}{shown}"), Message::default())
    };
    let days = show_days(budget.seconds / 86_400.0, wide);
    let opening = |figure, shown: Node| {
        if opens { el("button", &[("class", "figure")], &[shown]).on(Action::ExplainWhole(figure)) } else { shown }
    };
    let after = strong(verbatim(&days.0)).reports("budget.days", scope);
    let after = opening(WholeRunFigure::Days, after);
    let after = el("span", &[("class", "days")], &[text(" "), after, behind(&days.1)]);
    let (track, caption) = range(step, &cost, false, ("budget.cost", scope));
    let (less, hours) = few(hours, wide);
    let hours = t!("{hours} GPU-hours", hours = format!("{less}{hours}"));
    let hours = inline(hours).reports("budget.gpu_hours", scope);
    let hours = el("span", &[("class", "hours")], &[leaf("i", "dot", verbatim("· ")), hours]);
    let is_far = published_outside(run, &evaluation.report.step).is_some();
    let caption = if is_far { leaf("span", "outside", AS_FAR) } else { inline(caption) };
    // A part that has no room is left out: none is cut.
    let caption = el("span", &[("class", "range parts")], &[caption, hours, added(evaluation, &currency, scope)]);
    let (amount, _) = cost(step.time);
    let class = if amount.chars().count() > ROOM { "value long" } else { "value" };
    let amount = strong(verbatim(amount)).reports("budget.cost", scope);
    let value = el("span", &[("class", class)], &[opening(WholeRunFigure::Cost, amount), after]);
    let assumed = assumed(run).map_or_else(Node::none, |words| leaf("span", "range", words));
    Node::from_iter([value, track, caption, assumed])
}

/// Cost and days of the steps alone, as Run shows them, below a formula of those with losses and spares.
pub fn steps_alone(evaluation: &Evaluation) -> Node {
    let run = &evaluation.scenario.run;
    let Some(budget) = BudgetTime::of(evaluation) else {
        return Node::none();
    };
    let (wide, scope) = (budget.step.is_wide(), Scope::run());
    let (less, cost) = few(budget.gpu_hours() * run.own_price().unwrap_or(PRICE), wide);
    let (days, unit) = show_days(budget.seconds / 86_400.0, wide);
    let parts = [
        text("The steps alone, as Run shows them:"),
        text(" "),
        inline(verbatim(format!("{less}{}{cost}", sign(run)))).reports("budget.cost", &scope),
        text(", "),
        inline(verbatim(days)).reports("budget.days", &scope),
        text(" "),
        text(unit),
        text(". "),
        text("The formula above has losses and spares."),
    ];
    el("p", &[], &parts)
}

/// Cost and days with losses and spares, with the way to the whole run, where they change a printed digit of either;
/// nothing where they change none, or where the run does not end.
fn added(evaluation: &Evaluation, currency: &str, scope: &Scope) -> Node {
    let run = &evaluation.scenario.run;
    let (Ok(setting), Some(steps)) = (setting(evaluation, budget_tokens(run)), BudgetTime::of(evaluation)) else {
        return Node::none();
    };
    // As the whole run says them: rounded, the figures of the steps and a difference would not add up.
    let figures = figures(evaluation, &setting);
    let wide = steps.step.is_wide();
    let cost = |hours: f64| {
        let (less, shown) = few(hours * setting.price.unwrap_or(PRICE), wide);
        format!("{less}{currency}{shown}")
    };
    let days = |days: f64| show_days(days, wide);
    let [before, after] = [(steps.gpu_hours(), steps.seconds / 86_400.0), (figures.gpu_hours, figures.days)]
        .map(|(hours, in_days)| (cost(hours), days(in_days)));
    if before == after {
        return Node::none();
    }
    let (dearer, (number, unit)) = after;
    // Spares are paid for, and take no time.
    let words = if figures.spares > 0 { "with losses and spares" } else { "with losses" };
    let parts = [
        text(words),
        text(" "),
        inline(verbatim(dearer)).reports(WholeRunFigure::Cost.id(), scope),
        text(", "),
        inline(verbatim(number)).reports(WholeRunFigure::Days.id(), scope),
        text(" "),
        text(unit),
    ];
    let button = el("button", &[("class", "link")], &parts).on(Action::Show(View::Whole));
    el("span", &[], &[leaf("i", "dot", verbatim("· ")), button])
}

/// Units of a calendar, each from two of the one before it on, with its days: names of units hold at least two of them.
const DAYS: [(f64, &str); 4] = [(365.25, "years"), (1.0, "days"), (1.0 / 24.0, "hours"), (1.0 / 1440.0, "minutes")];
/// Days from which on a calendar is in years.
const YEARS: f64 = 1000.0;

/// The unit of a calendar of `days`, by its days and its name.
pub(crate) fn day_unit(days: f64) -> (f64, &'static str) {
    let holds = |(unit, _): &&(f64, &str)| days >= if *unit > 1.0 { YEARS } else { 2.0 * 0.9995 * unit };
    *DAYS.iter().find(holds).unwrap_or(&DAYS[3])
}

/// A number of 0.1 and above in a unit of its own, without a prefix; of two digits where its range is `wide`.
pub(crate) fn plain(number: f64, wide: bool) -> String {
    if number < 1e3 { significant(number, digits(wide)) } else { group(&format!("{number:.0}")) }
}

/// Days, in the unit that fits.
fn show_days(days: f64, wide: bool) -> Part {
    let (unit, name) = day_unit(days);
    let number = days / unit;
    if number >= 0.1 {
        return (plain(number, wide), name.into());
    }
    let (less, shown) = few(number, wide);
    (format!("{less}{shown}"), name.into())
}

/// Tokens of the label above the cost: while figures of another Run, `shown`, stand in place of those of `entered`, its
/// own where `entered` names none.
pub fn label_tokens(entered: &Run, shown: Option<&Run>) -> f64 {
    let of = shown.filter(|_| entered.tokens_total.is_none()).unwrap_or(entered);
    budget_tokens(of)
}

/// The price of that label, with its currency, by the same rule.
pub fn label_price(entered: &Run, shown: Option<&Run>) -> String {
    let of = shown.filter(|_| entered.own_price().is_none()).unwrap_or(entered);
    show_price(&sign(of), of.own_price().unwrap_or(PRICE))
}

/// Of which budget the grey cost of `shown` is, where the label has another of `entered`; nothing where it has none.
pub fn grey_budget(entered: &Run, shown: &Run) -> Node {
    let label = (label_tokens(entered, Some(shown)).to_bits(), label_price(entered, Some(shown)));
    let own = (budget_tokens(shown).to_bits(), label_price(shown, None));
    if label == own && show_budget_steps(entered) == show_budget_steps(shown) {
        return Node::none();
    }
    leaf("span", "range", t!("grey: {budget}", budget = budget_name(shown)))
}

/// The name of the budget's figure where nothing is edited.
pub fn budget_name(run: &Run) -> Message {
    let price = show_price(&sign(run), run.own_price().unwrap_or(PRICE));
    if let Some(steps) = show_budget_steps(run) {
        return t!("{steps} steps at {price} per GPU-hour", steps, price);
    }
    let tokens = show_tokens(budget_tokens(run));
    t!("{tokens} tokens at {price} per GPU-hour", tokens, price)
}

/// A number of tokens without idle zeros: `1 T`, `15.6 T`.
pub fn show_tokens(tokens: f64) -> String {
    let count = show_count(tokens);
    let Some((number, unit)) = count.split_once(' ') else {
        return count;
    };
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}")
}

/// A price with two decimals, where they are enough: `$2.00`.
pub fn show_price(currency: &str, price: f64) -> String {
    let cents = price * 100.0;
    if price < 1e4 && (cents - cents.round()).abs() < 1e-6 {
        format!("{currency}{price:.2}")
    } else {
        format!("{currency}{}", significant(price, 3))
    }
}

/// The currency and the number of a typed price: `€1.80`, `1,80 EUR`, `2`; none of the one where the text is no
/// price.
pub fn read_price(typed: &str) -> (Option<String>, String) {
    let is_number = |sign: char| sign.is_ascii_digit() || ".,_ -+".contains(sign);
    let text = typed.trim();
    let sign = text.trim_matches(is_number);
    // An exponent is a part of the number.
    let is_sign = !sign.is_empty() && sign.chars().count() <= LONGEST_CURRENCY && !sign.eq_ignore_ascii_case("e");
    let number = if is_sign { text.replace(sign, "") } else { text.to_owned() };
    let number = number.trim();
    if text.parse::<f64>().is_ok() || !number.contains(|letter: char| letter.is_ascii_digit()) {
        return (None, text.to_owned());
    }
    // A comma before one or two last digits begins the cents.
    let cents = number.rsplit_once(',').filter(|(whole, cents)| cents.len() < 3 && !whole.contains([',', '.']));
    let number = cents.map_or_else(|| number.to_owned(), |(whole, cents)| format!("{whole}.{cents}"));
    (is_sign.then(|| sign.to_owned()), number)
}

/// `run` with the prices that `typed` names by kind, "H100 2.5, A100 $1.50". A comma before a digit is one of a number.
///
/// # Errors
/// A part names no GPU, or no price of it.
pub fn with_prices(run: &Run, typed: &str) -> Result<Run, Message> {
    let mut parts: Vec<String> = Vec::new();
    for part in typed.split([';', '\n']).flat_map(|some| some.split_inclusive(',')) {
        let begins = part.trim_start().starts_with(char::is_alphabetic);
        match parts.last_mut() {
            Some(last) if !begins => last.push_str(part),
            _ => parts.push(part.to_owned()),
        }
    }
    let mut priced = run.clone();
    for part in parts.iter().map(|part| part.trim().trim_end_matches(',')).filter(|part| !part.is_empty()) {
        let no_price = || t!("“{part}” names no GPU with a price: H100 2.5, A100 1.5", part = part.to_owned());
        let (name, price) = part.rsplit_once([' ', ':', '=', '$', '€']).ok_or_else(no_price)?;
        let name = name.trim_end_matches([' ', ':', '=']);
        // Of several kinds of a name it is the one that is compared.
        let compared = places(run).into_iter().filter_map(|place| GPUS.get(place));
        let preset = compared.chain(GPUS).find(|preset| preset.is_called(name)).ok_or_else(no_price)?;
        let price: f64 = read_price(price).1.parse().map_err(|_| no_price())?;
        priced = priced.with_price(preset.choice.id, Some(price)).ok_or_else(no_price)?;
    }
    Ok(priced)
}

/// Letters of a currency.
const LONGEST_CURRENCY: usize = 4;

/// The sign before an amount of `run`: a word stands apart from the number.
pub fn sign(run: &Run) -> String {
    let sign: String = run.length.currency.as_deref().unwrap_or("$").chars().take(LONGEST_CURRENCY).collect();
    if sign.ends_with(char::is_alphabetic) { format!("{sign} ") } else { sign }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::report;

    /// H100 and A100 are those of 80 GB on SXM, as makers sell them by the node of eight; the price of a kind that is
    /// not named stays.
    #[test]
    fn prices_of_several_kinds_are_read_from_one_line() {
        let run = Run::default().with_price("mi300x", Some(2.0)).unwrap();
        for typed in [
            "H100 2.5, A100 1.5, H200 3.2",
            "h100: $2.50; A100 80 GB $1.50; H200 = 3,2",
            "H100 2,50,A100 1.5\nH200 €3.20,",
        ] {
            let priced = with_prices(&run, typed).unwrap();
            let price = |id: &str| priced.price(id);
            assert_eq!(price("h100-sxm-80gb"), Some(2.5), "{typed}");
            assert_eq!(price("a100-sxm-80gb"), Some(1.5), "{typed}");
            assert_eq!((price("h200-sxm-141gb"), price("mi300x")), (Some(3.2), Some(2.0)), "{typed}");
        }
        assert_eq!(with_prices(&run, " "), Ok(run.clone()));
        for (wrong, part) in [("H100", "“H100”"), ("H100 2.5, abacus 3", "“abacus 3”"), ("A100 -1", "“A100 -1”")]
        {
            let said = with_prices(&run, wrong).unwrap_err().to_string();
            assert!(said.contains(part), "{said}");
        }
    }

    /// 10¹² tokens at T tokens a second: 1e12/T/3600 hours on each of 64 GPUs, and a price is per GPU-hour.
    #[test]
    fn a_budget_is_of_a_trillion_tokens_at_two_dollars_unless_the_run_says() {
        let mut run = Run::default();
        let report = report(&run).unwrap();
        let hours = |tokens: f64| tokens / report.step.tokens_per_s / 3600.0 * 64.0;
        let html = budget(&evaluate(&run).unwrap(), &Scope::run()).to_html();
        // The range is wider than a tenth: two digits.
        let two = |amount: f64| count_to(amount, 2).replace(' ', "");
        assert!(html.contains(&format!("${}", two(hours(1e12) * 2.0))), "{html}");
        assert!(html.contains(&two(hours(1e12))), "{html}");
        assert_eq!(budget_name(&run).to_string(), "1 T tokens at $2.00 per GPU-hour");
        (run.tokens_total, run.price_per_gpu_hour) = (Some(15e12), Some(1.8));
        run.length.currency = Some("€".to_owned());
        let html = budget(&evaluate(&run).unwrap(), &Scope::run()).to_html();
        assert!(html.contains(&format!("€{}", two(hours(15e12) * 1.8))), "{html}");
        assert_eq!(budget_name(&run).to_string(), "15 T tokens at €1.80 per GPU-hour");
    }

    /// Preferences, rewards, labels and a teacher's logits are learnt by a model that was pretrained (TRL's trainers
    /// are all "post-training"), on any number of GPUs.
    #[test]
    fn objectives_after_pretraining_assume_the_tokens_of_a_fine_tuning() {
        let run =
            |set: &[(&str, &str)]| Run::default().with_texts(&[("gpus", "16"), ("pp", "1")]).unwrap().with_texts(set);
        let said = |set: &[(&str, &str)]| {
            let run = run(set).unwrap();
            (budget_tokens(&run).to_bits(), assumed(&run).map(|words| words.to_string()))
        };
        let adapter = said(&[("adapter.method", "lora")]);
        assert_eq!(adapter.1.as_deref(), Some("tokens assumed: fine-tuning"));
        for objective in shardscope_core::run::Objective::choices() {
            let is_pretraining = objective.id == "next-token";
            assert_eq!(said(&[("objective", objective.id)]) == adapter, !is_pretraining, "{}", objective.id);
        }
        assert_eq!(said(&[("rl.algorithm", "grpo")]).0, adapter.0);
    }

    /// One GPU with an adapter fine-tunes on a billion tokens where nothing is said, 64 GPUs pretrain on a trillion:
    /// while the figures of the second stand in place of the first, the label is theirs. What was typed stays, and the
    /// cost says its own budget.
    #[test]
    fn the_label_of_a_grey_cost_is_of_the_run_of_its_figures() {
        let shown = Run::default();
        let mut entered = Run { gpus: 1, ..Run::default() };
        entered.adapter.method = Some(shardscope_core::run::AdapterMethod::Lora);
        assert!((budget_tokens(&entered) - 1e9).abs() < 1.0);
        let label = |entered: &Run| show_tokens(label_tokens(entered, Some(&shown)));
        assert_eq!(label(&entered), show_tokens(budget_tokens(&shown)));
        assert_eq!(grey_budget(&entered, &shown), Node::none());
        entered.tokens_total = Some(5e9);
        assert_eq!(label(&entered), "5 B");
        let words = grey_budget(&entered, &shown).to_html();
        assert!(words.contains("grey: 1 T tokens at $2.00 per GPU-hour"), "{words}");
    }

    /// A remedy that goes from a node to several, or back, keeps the budget that the page shows: 1 T tokens of a
    /// pretraining in place of 1 B of a fine-tuning would read as a price 1000 times as high. What is set stays.
    #[test]
    fn a_remedy_with_other_gpus_keeps_the_budget() {
        for (gpus, others) in [(4, 16), (64, 8), (8, 16), (64, 128)] {
            let own = Run { gpus, ..Run::default() };
            let set = set_keeping_budget(&own, &[("gpus", others.to_string())]);
            let after = own.with_texts(&set).unwrap();
            assert!(after.gpus == others && (budget_tokens(&after) / budget_tokens(&own) - 1.0).abs() < 1e-12);
            assert_eq!(after, keeping_budget(&own, Run { gpus: others, ..own.clone() }));
            let typed = Run { tokens_total: Some(3e10), ..own };
            let after = typed.with_texts(&set_keeping_budget(&typed, &[("gpus", others.to_string())])).unwrap();
            assert_eq!(after.tokens_total, typed.tokens_total);
        }
        // Another setting is no remedy of that kind: taken back, adapters take their budget along.
        assert_eq!(set_keeping_budget(&Run::default(), &[("adapter.method", "lora".to_owned())]).len(), 1);
    }

    #[test]
    fn a_price_is_typed_with_its_currency() {
        let read = |typed| {
            let (sign, number) = read_price(typed);
            format!("{}|{number}", sign.unwrap_or_default())
        };
        assert_eq!(
            ["€1.80", "1.80 EUR", "2", "2e-3", "¥ 12", "", "€1,80", "2,5", "1,000", "cheap", "-3"].map(read),
            ["€|1.80", "EUR|1.80", "|2", "|2e-3", "¥|12", "|", "€|1.80", "|2.5", "|1,000", "|cheap", "|-3"]
        );
    }

    /// Days and cost open their figures of the whole run; those of another layout do not.
    #[test]
    fn the_budget_of_the_page_opens_its_figures_in_the_whole_run() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let opens =
            |node: &Node| node.actions().into_iter().filter(|action| matches!(action, Action::ExplainWhole(_))).count();
        assert_eq!((opens(&own_budget(&evaluation)), opens(&budget(&evaluation, &Scope::run()))), (2, 0));
    }

    /// Losses of 0.18 % change none of two digits in most amounts: cost and days with them are there exactly where one
    /// of the printed figures reads otherwise.
    #[test]
    fn losses_are_named_where_they_change_a_printed_digit() {
        let mut named = [0, 0];
        let tokens = (0..24).map(|at| 1e9 * 1.7_f64.powi(at));
        for (tokens_total, spare_quantile) in tokens.flat_map(|tokens| [(tokens, None), (tokens, Some(0.99))]) {
            let mut run = Run { tokens_total: Some(tokens_total), price_per_gpu_hour: Some(2.0), ..Run::default() };
            run.length.spare_quantile = spare_quantile;
            let evaluation = evaluate(&run).unwrap();
            let node = budget(&evaluation, &Scope::run());
            let (html, marked) = (node.to_html(), node.marked_figures());
            let printed = |name: &str| marked.iter().find(|(field, _)| field == name).map(|(_, figure)| figure.clone());
            let whole = figures(&evaluation, &setting(&evaluation, tokens_total).unwrap());
            let wide = RangedTime::from(&evaluation.report.step).is_wide();
            let cost = format!("${}", few(whole.gpu_hours * 2.0, wide).1);
            let days = show_days(whole.days, wide).0;
            let both = [("budget.cost", WholeRunFigure::Cost, cost), ("budget.days", WholeRunFigure::Days, days)];
            let is_named = html.contains("with losses");
            assert!(is_named || both.iter().all(|(steps, _, whole)| printed(steps).unwrap() == *whole), "{html}");
            for (_, of, whole) in both {
                assert_eq!(printed(of.id()), is_named.then_some(whole), "{tokens_total}: {html}");
            }
            assert_eq!(html.contains("and spares"), is_named && whole.spares > 0, "{html}");
            named[usize::from(is_named)] += 1;
        }
        assert!(named[0] > 5 && named[1] > 5, "{named:?}");
    }
}
