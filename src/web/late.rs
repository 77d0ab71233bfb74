//! Parts of the program that are not seen first: each folder names its own by `parts!`. With the feature `split` each
//! part is a file of its own, loaded into the same memory with its first call (`tools/split.mjs`); without it the same
//! functions are in the one file.

use crate::view::node::markup::leaf;
use crate::web::browser::html::{flag, view_of};
use crate::web::browser::i18n::say;
use crate::web::document::render::patched;
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

/// Functions by the part that holds them: `views` is loaded with the first view beside the Run, `work` with the first
/// job of a worker, `second` with what few visits open.
macro_rules! parts {
    ($($part:ident: $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $value:expr;)*) => { $(
        #[cfg(feature = "split")]
        #[leptos::wasm_split::wasm_split($part, wasm_split_path = ::leptos::wasm_split, fallible)]
        pub(crate) fn $name($($argument: $type),*) -> Result<$result, $crate::web::late::Missing> {
            Ok($value)
        }

        #[cfg(not(feature = "split"))]
        #[allow(clippy::unused_async)] // with the feature it waits for its file
        pub(crate) async fn $name($($argument: $type),*) -> Result<$result, $crate::web::late::Missing> {
            Ok($value)
        }
    )* };
}

pub(crate) use parts;

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
