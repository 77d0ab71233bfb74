//! Parts of the program that are not seen first. With the feature `split` each is a file of its own, loaded into the
//! same memory with its first call (`tools/split.mjs`); without it the same functions are in the one file.

use crate::core::message::Message;
use crate::view::node::markup::leaf;
use crate::web::html::{flag, view_of};
use crate::web::i18n::say;
use crate::web::render::patched;
use crate::web::settings::Functions;
use crate::web::state::State;
use crate::web::{cluster, compare, diagnose, dialog_body, gallery, learn, published, scoreboard, settings, whole};
use leptos::prelude::*;

/// A part that did not arrive; the next call asks for it again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing;

#[cfg(feature = "split")]
impl From<leptos::wasm_split::SplitLoaderError> for Missing {
    fn from(_: leptos::wasm_split::SplitLoaderError) -> Self {
        Self
    }
}

/// Functions by the part that holds them.
macro_rules! parts {
    ($($part:ident: $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $value:expr;)*) => { $(
        #[cfg(feature = "split")]
        #[leptos::wasm_split::wasm_split($part, wasm_split_path = ::leptos::wasm_split, fallible)]
        pub(crate) fn $name($($argument: $type),*) -> Result<$result, Missing> {
            Ok($value)
        }

        #[cfg(not(feature = "split"))]
        #[allow(clippy::unused_async)] // with the feature it waits for its file
        pub(crate) async fn $name($($argument: $type),*) -> Result<$result, Missing> {
            Ok($value)
        }
    )* };
}

parts! {
    views: schedules_view(state: State) -> AnyView = gallery::whole(state);
    views: schedules_frame(state: State) -> AnyView = gallery::framed(state);
    views: cluster_view(state: State) -> AnyView = cluster::whole(state);
    views: cluster_frame(state: State) -> AnyView = cluster::map(state);
    views: whole_view(state: State) -> AnyView = whole::whole(state);
    views: whole_frame(state: State) -> AnyView = whole::framed(state);
    views: second_run(state: State) -> AnyView = compare::panel(state);
    second: lesson_view(state: State) -> AnyView = learn::lesson(state);
    second: lesson_frame(state: State, title: RwSignal<Message>) -> AnyView = learn::framed(state, title);
    second: board_view(state: State) -> AnyView = scoreboard::whole(state);
    second: board_frame(state: State) -> AnyView = scoreboard::framed(state);
    second: diagnose_view(state: State) -> AnyView = diagnose::whole(state);
    second: dialog_page(state: State, typed: RwSignal<String>) -> AnyView = dialog_body::body(state, typed);
    second: measured_file(state: State, file: web_sys::File) -> () = state.runs.take_file(state, file);
    second: published_runs(state: State, words: RwSignal<Message>, begun: RwSignal<bool>) -> AnyView
        = published::published(state, words, begun);
    second: functions() -> Functions = settings::functions();
}

/// The view of a late part; while it is awaited and where it does not arrive that is said, with a button that asks
/// again.
pub(crate) fn arriving<Loaded>(load: impl Fn() -> Loaded + Send + Sync + 'static) -> AnyView
where
    Loaded: Future<Output = Result<AnyView, Missing>> + Send + 'static,
{
    let (again, waits) = (RwSignal::new(()), RwSignal::new(true));
    let view = move || {
        again.track();
        waits.set(true);
        let loaded = load();
        Suspend::new(async move {
            let view = loaded.await;
            // The view may be gone by now.
            let _ = waits.try_set(false);
            view.unwrap_or_else(|Missing| missing(again))
        })
    };
    let words = view_of(|| leaf("p", "muted", "Loading…").say("role", "status"));
    view! { <div hidden=flag(move || !waits.get()) use:patched=words></div>{view} }.into_any()
}

fn missing(again: RwSignal<()>) -> AnyView {
    view! {
        <p class="issue error missing" role="alert">
            {say("A part of the page did not arrive. Check the network.")}
            " "
            <button on:click=move |_| again.set(())>{say("Try again")}</button>
        </p>
    }
    .into_any()
}
