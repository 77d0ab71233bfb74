//! The page: what a visitor sees of a report.

use leptos::prelude::*;

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    view! {
        <main>
            <h1>"Shardscope"</h1>
        </main>
    }
}
