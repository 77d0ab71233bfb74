//! The second tab of the view that diagnoses: what is imported, what is typed, what is kept, what it teaches.

use crate::core::calibrate::{MeasuredPeak, MemoryKind, Observation};
use crate::core::issue::Issue;
use crate::core::run::{LONGEST_NAME, Run};
use crate::core::t;
use crate::core::units::{parse_count, parse_number, show_percent};
use crate::io::export::{Stamp, trial};
use crate::io::link;
use crate::io::logs::summary::summary;
use crate::view::node::action::RunsAction;
use crate::view::node::markup::{Node, muted};
use crate::view::panels::issues::line;
use crate::view::panels::runs::{bare, fitted, kept, profiles};
use crate::web::browser;
use crate::web::browser::html::{effect, flag, text, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::{nodes, patched};
use crate::web::state::State;
use crate::web::state::runs::{STORED, shortened};
use leptos::prelude::*;

/// What is imported, typed, kept and taught.
pub(crate) fn page(state: State) -> AnyView {
    let runs = state.runs;
    effect(move || {
        state.run.track();
        runs.ask(state);
    });
    let press = move |command| move |_| runs.act(state, command);
    let none = move || runs.kept.with(Vec::is_empty);
    let progress = move || {
        let share = runs.progress.get().map(show_percent);
        share.map_or_else(String::new, |share| translated(t!("{share} read", share)))
    };
    let named = move |event| {
        runs.name.set(shortened(&event_target_value(&event)));
        browser::store(STORED, &runs.to_json());
    };
    let counted = move |event| {
        runs.gpus.set(parse_count(&event_target_value(&event)));
        runs.ask(state);
    };
    view! {
        <div class="summary own">
            <h2>{say("Calibrate")}</h2>
            <p class="muted">{say("One run of yours teaches this calculator your cluster and your software. Paste a \
                log, drop it here or choose the file: Megatron-LM, NeMo, torchtitan, DeepSpeed, Hugging Face, \
                torchtune, ms-swift, axolotl, LLaMA-Factory, OLMo-core, nanochat, verl, slime, nanotron, MaxText, \
                llm-foundry, nccl-tests, MAMF-finder, torch.cuda.memory_summary, nvidia-smi, a Kineto trace, a \
                memory snapshot, or runs saved here. It is read in this browser and goes nowhere; a few \
                numbers are kept.")}</p>
            <textarea
                rows="4"
                aria-label=say("A log, or saved runs")
                spellcheck="false"
                on:input=move |event| runs.take_text(state, &event_target_value(&event))
            ></textarea>
            <p class="typed">
                <input type="file" aria-label=say("Choose the file") on:change=move |event| {
                    if let Some(file) = browser::chosen(&event) {
                        runs.take_file(state, file);
                    }
                }/>
                <label>
                    {say("What to call it")}
                    <input
                        type="text"
                        maxlength="200"
                        prop:value=runs.label
                        on:input=move |event| runs.label.set(event_target_value(&event))
                    />
                </label>
            </p>
            <p role="status" class="muted" hidden=flag(move || runs.progress.with(Option::is_none))>
                {text(progress)}" "
                <button on:click=press(RunsAction::Stop)>{say("Stop")}</button>
            </p>
            <div aria-live="polite" use:patched=view_of(move || read(state))></div>
            <div use:patched=view_of(move || profile(state))></div>
            {typed(state)}
            <div use:patched=view_of(move || runs.kept.with(|all| kept(all)))></div>
            <div hidden=flag(none)>
                <p class="typed">
                    <label>
                        {say("GPUs that you have for a run")}
                        <input
                            type="text"
                            inputmode="numeric"
                            placeholder=say("as many as the largest run")
                            on:change=counted
                        />
                    </label>
                    <label>
                        {say("Name of the profile")}
                        <input
                            type="text"
                            maxlength=LONGEST_NAME.to_string()
                            placeholder="our H100, NeMo 25.07"
                            prop:value=runs.name
                            on:change=named
                        />
                    </label>
                    <button
                        class="main"
                        disabled=flag(move || runs.fit.with(Option::is_none))
                        on:click=press(RunsAction::Use)
                    >
                        {say("Use the profile")}
                    </button>
                    <button on:click=press(RunsAction::Save)>{say("Save the runs")}</button>
                </p>
                <div use:patched=view_of(move || taught(state))></div>
            </div>
        </div>
    }
    .into_any()
}

/// The contents of the file that was read last.
fn read(state: State) -> Node {
    let present = state.run.with(bare);
    state.runs.read.with(|read| match read {
        Some(Ok(reading)) => summary(reading, &present),
        Some(Err(issues)) => issues.iter().map(|issue| line(&Issue::error("", issue.message.clone()))).collect(),
        None => Node::none(),
    })
}

/// The profile in use, and one that was read.
fn profile(state: State) -> Node {
    let fitted = state.runs.fit.with(|fit| Some(fit.as_ref()?.1.profile.clone()));
    let read = state.runs.offered.get();
    let link = |run: &Run| format!("{}#{}", browser::address(), link::encode(run));
    state.run.with(|run| profiles(run, read.as_ref(), fitted.as_ref(), link))
}

/// Result of the fit.
fn taught(state: State) -> Node {
    let runs = state.runs;
    runs.fit.with(|fit| match fit {
        Some((of, fit)) => {
            let (date, address) = (browser::today(), browser::address());
            let command = |run: &Run| trial(run, &Stamp { date: &date, address: &address }).ok();
            let present = state.run.get();
            fitted(of, fit, &present, command)
        }
        None if runs.kept.with(Vec::is_empty) => Node::none(),
        None if runs.failed.get() => {
            line(&Issue::error("", "The runs could not be fitted: one of them cannot be computed."))
        }
        None => muted("The runs are fitted…"),
    })
}

/// A run that is typed: the one of the page, with what was measured of it.
fn typed(state: State) -> AnyView {
    let runs = state.runs;
    let [step, allocated, reserved] = [0; 3].map(|_| RwSignal::new(String::new()));
    let fault = RwSignal::new(None::<Issue>);
    let number = |of: RwSignal<String>, most: f64| {
        let typed = of.get_untracked();
        let number = parse_number(&typed).filter(|number| (1e-6..=most).contains(number));
        match number {
            Some(number) => Ok(Some(number)),
            None if typed.trim().is_empty() => Ok(None),
            None => {
                Err(Issue::error("", t!("{typed} is no number over 0, at most {most}", typed, most = most.to_string())))
            }
        }
    };
    let observation = move || -> Result<Observation, Issue> {
        let mut observation = Observation::step("", state.run.with_untracked(bare), 1.0);
        observation.step_s = number(step, 1e7)?;
        for (typed, kind) in [(allocated, MemoryKind::Allocated), (reserved, MemoryKind::Reserved)] {
            let gib = number(typed, 1e5)?;
            observation.peaks.extend(gib.map(|gib| MeasuredPeak { kind, gib }));
        }
        // The same checks as of a saved run.
        Observation::from_value(&observation.to_value()).map_err(|mut issues| issues.remove(0))
    };
    let keep = move |_| match observation() {
        Ok(of) => {
            fault.set(None);
            for typed in [step, allocated, reserved] {
                typed.set(String::new());
            }
            runs.keep(state, of);
        }
        Err(issue) => fault.set(Some(issue)),
    };
    let input = |label: &'static str, of: RwSignal<String>, hint: &'static str| {
        view! {
            <label>
                {say(label)}
                <input
                    type="text"
                    inputmode="decimal"
                    placeholder=hint
                    prop:value=of
                    on:input=move |event| of.set(event_target_value(&event))
                />
            </label>
        }
    };
    view! {
        <h3>{say("Or type what the run of this page took")}</h3>
        <p class="typed">
            {input("Step time (s)", step, "12.3")}
            {input("Peak allocated (GiB)", allocated, "")}
            {input("Peak reserved (GiB)", reserved, "")}
            <button on:click=keep>{say("Keep it")}</button>
        </p>
        {nodes("", move || fault.with(|fault| fault.as_ref().map_or_else(Node::none, line)))}
    }
    .into_any()
}
