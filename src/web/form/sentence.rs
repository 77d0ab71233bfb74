//! The run in a sentence, every part of it a field that is edited in place.

use crate::core::run::Run;
use crate::core::run::registry::field;
use crate::core::t;
use crate::view::node::markup::Node;
use crate::view::panels::chosen::{Whose, chip};
use crate::view::panels::inputs::{SENTENCE, is_long};
use crate::view::panels::issues::line;
use crate::view::panels::suggest::tight_sentence;
use crate::web::browser::html::{flag, text, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::{nodes, patched};
use crate::web::document::shortcuts::to_suggestions;
use crate::web::form::choice::choice_select;
use crate::web::form::worded::inline_input;
use crate::web::state::State;
use leptos::prelude::*;

/// The key as a mark of its only field on the page; those of the column and of the sheets have their own.
fn marked(key: &'static str) -> Option<&'static str> {
    SENTENCE.contains(&key).then_some(key)
}

/// A list of the sentence.
fn choice(state: State, key: &'static str, label: &'static str) -> AnyView {
    let list = field(key).map(|field| choice_select(state, field, label));
    view! { <span class="choice" data-field=marked(key)>{list}</span> }.into_any()
}

/// A number of the sentence behind its name.
fn number(state: State, name: &'static str, key: &'static str) -> AnyView {
    let input = field(key).map(|field| inline_input(state, field));
    view! { <label data-field=marked(key)>{say(name)} " " {input}</label> }.into_any()
}

/// The sentence: what is trained, on what, with what; and the layout. Below it what the last choice set besides itself.
pub(crate) fn sentence(state: State) -> AnyView {
    let replicas = move || {
        let dp = state.run.with(Run::data_parallel);
        dp.map_or_else(|| "DP –".to_owned(), |dp| translated(t!("DP {dp}", dp)))
    };
    let whose = view_of(move || {
        let layout = state.layout.get_value();
        let own = state.evaluation().filter(|own| state.run.with(|run| own.scenario.run == *run));
        let outcome = layout.outcome();
        let searched = own.as_ref().map(|own| state.planner.searched(own));
        let known = own.as_deref().zip(searched.as_ref());
        let tight = known.and_then(|(own, searched)| tight_sentence(own, searched, state.view.unit.get()));
        chip(&Whose {
            origin: layout.origin.get(),
            waits: layout.searches.get(),
            outcome: outcome.as_ref(),
            of_link: layout.is_of_link(),
            peak: own.as_ref().map(|own| own.report.memory.peak()),
            gain: known.and_then(|(own, searched)| searched.gain(own)),
            surer: known.and_then(|(own, searched)| searched.surer(own)),
            tight: tight.as_ref(),
        })
    });
    let along = move || state.along().map_or_else(Node::none, |notice| line(&notice));
    // The sentence leaves out a size of 1 and a model without experts; the column of settings has them.
    let hidden = |test: fn(&Run) -> bool| flag(move || state.run.with(test));
    let long = Memo::new(move |_| state.run.with(is_long));
    let one_context = hidden(|run| run.cp == 1);
    let no_experts = hidden(|run| run.ep == 1 && run.model.resolve().is_ok_and(|model| model.moe.is_none()));
    let plain_objective = hidden(|run| run.objective.base == Run::default().objective.base);
    view! {
        <div class="sentence" class:long=long role="region" aria-label=say("The run in a sentence")>
            <span class="piece">{choice(state, "model", "Model preset")}</span>
            <span class="piece">
                <span data-field="gpus">{field("gpus").map(|field| inline_input(state, field))}</span>
                " × "
                {choice(state, "gpu", "GPU preset")}
            </span>
            <span class="piece">{number(state, "sequence", "seq_len")}</span>
            <span class="piece">{number(state, "batch", "global_batch")}</span>
            <span class="piece">{choice(state, "adapter.method", "What is trained")}</span>
            <span class="piece" hidden=plain_objective>{choice(state, "objective", "Objective")}</span>
            <span class="piece">{choice(state, "stack", "Software stack")}</span>
            <span class="layout">
                <span class="piece" use:patched=whose></span>
                <span class="piece">{number(state, "TP", "tp")}</span>
                <span class="piece">{number(state, "PP", "pp")}</span>
                <span class="piece" hidden=one_context>{number(state, "CP", "cp")}</span>
                <span class="piece" hidden=no_experts>{number(state, "EP", "ep")}</span>
                <span class="piece replicas">{text(replicas)}</span>
                <span class="piece">{choice(state, "schedule", "Schedule")}</span>
            </span>
            <button class="skip" on:click=|_| to_suggestions()>{say("To the layouts that do better")}</button>
        </div>
        <div class="along" role="status">{nodes("along-line", along)}</div>
    }
    .into_any()
}
