//! Services of the browser, wrapped so that a refusal (sandbox, storage denied, no clipboard) is an absence.

pub(crate) mod canvas;
pub(crate) mod html;
pub(crate) mod i18n;

use crate::core::run::OneOf;
use crate::core::units::whole;
use crate::view::palette::Theme;
use leptos::prelude::{StoredValue, UpdateValue, on_cleanup, request_animation_frame, set_timeout, window};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;

/// The theme stored on this machine, else the system's.
pub(crate) fn preferred_theme() -> Theme {
    let kept = stored("theme");
    match kept.as_deref().and_then(Theme::from_id) {
        Some(theme) => theme,
        None if matches_media("(prefers-color-scheme: dark)") => Theme::Dark,
        None => Theme::Light,
    }
}

pub(crate) fn matches_media(query: &str) -> bool {
    let list = window().match_media(query).ok().flatten();
    list.is_some_and(|list| list.matches())
}

pub fn stored(key: &str) -> Option<String> {
    let storage = window().local_storage().ok().flatten()?;
    storage.get_item(&format!("shardscope.{key}")).ok().flatten()
}

pub(crate) fn store(key: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.set_item(&format!("shardscope.{key}"), value);
    }
}

/// The address of this page without its fragment.
pub fn address() -> String {
    let href = window().location().href().unwrap_or_default();
    href.split('#').next().unwrap_or_default().to_owned()
}

/// Height of the window, or of the frame in another page, pixels; 0 where there is none.
pub(crate) fn window_height() -> f64 {
    window().inner_height().ok().and_then(|height| height.as_f64()).unwrap_or(0.0)
}

/// The link in the address: the fragment, or the query where there is no fragment.
pub(crate) fn link_text() -> String {
    let location = window().location();
    match location.hash() {
        Ok(hash) if hash.len() > 1 => hash,
        _ => location.search().unwrap_or_default(),
    }
}

/// Puts `fragment` into the address bar and into entry number `at` of the browser's history, the one that is shown.
pub(crate) fn show_link(fragment: &str, at: usize) {
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&(at as f64).into(), "", Some(&format!("#{fragment}")));
    }
}

/// Puts `fragment` into the address bar as entry number `at` of the browser's history; false where the browser refuses.
pub(crate) fn new_entry(fragment: &str, at: usize) -> bool {
    let history = window().history();
    history.is_ok_and(|history| {
        history.push_state_with_url(&(at as f64).into(), "", Some(&format!("#{fragment}"))).is_ok()
    })
}

/// Gives the entry that is shown the number `at`.
pub(crate) fn number_entry(at: usize) {
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&(at as f64).into(), "", None);
    }
}

/// The number of the entry that is shown; none of one that the page did not make.
pub(crate) fn entry() -> Option<usize> {
    let number = window().history().ok()?.state().ok()?.as_f64().and_then(whole)?;
    usize::try_from(number).ok()
}

/// Goes so many entries forth, or back.
pub(crate) fn go(steps: i32) {
    if let Ok(history) = window().history() {
        let _ = history.go_with_delta(steps);
    }
}

/// Scrolls to the top of the page.
pub(crate) fn to_top() {
    window().scroll_to_with_x_and_y(0.0, 0.0);
}

/// A text of this tab, which survives a reload.
pub(crate) fn of_tab(key: &str) -> Option<String> {
    let storage = window().session_storage().ok().flatten()?;
    storage.get_item(key).ok().flatten()
}

pub(crate) fn keep_of_tab(key: &str, value: &str) {
    if let Ok(Some(storage)) = window().session_storage() {
        let _ = storage.set_item(key, value);
    }
}

/// The element that has the focus.
fn focused() -> Option<web_sys::Element> {
    window().document()?.active_element()
}

/// True if a field has the focus: keys are meant for it.
pub(crate) fn is_typing() -> bool {
    focused().is_some_and(|element| matches!(element.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT"))
}

/// True while the field that searches settings has the focus.
pub(crate) fn is_searching() -> bool {
    focused().is_some_and(|element| element.class_list().contains("find"))
}

pub(crate) fn document_element() -> Option<web_sys::Element> {
    window().document()?.document_element()
}

/// The value that a variable of the style has at `element`.
pub(crate) fn variable(element: &web_sys::Element, name: &str) -> Option<String> {
    let style = window().get_computed_style(element).ok()??;
    style.get_property_value(name).ok()
}

pub(crate) fn by_id(id: &str) -> Option<web_sys::HtmlElement> {
    window().document()?.get_element_by_id(id)?.dyn_into().ok()
}

/// Copies text; `done(false)` where the browser refuses.
pub(crate) fn copy(text: &str, done: impl Fn(bool) + 'static) {
    let clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into());
    if !clipboard.is_ok_and(|clipboard| clipboard.is_object()) {
        done(false);
        return;
    }
    let promise = window().navigator().clipboard().write_text(text);
    leptos::task::spawn_local(async move {
        done(wasm_bindgen_futures::JsFuture::from(promise).await.is_ok());
    });
}

/// The text of a file beside this page; none where it cannot be had.
pub(crate) async fn text_beside(path: &str) -> Option<String> {
    let answer = wasm_bindgen_futures::JsFuture::from(window().fetch_with_str(path));
    let response: web_sys::Response = answer.await.ok()?.dyn_into().ok()?;
    if !response.ok() {
        return None;
    }
    let text = wasm_bindgen_futures::JsFuture::from(response.text().ok()?);
    text.await.ok()?.as_string()
}

/// Today as an ISO date, in universal time.
pub(crate) fn today() -> String {
    let now = String::from(js_sys::Date::new_0().to_iso_string());
    now.split('T').next().unwrap_or_default().to_owned()
}

/// How long the address of a file is kept after the press: a slow browser reads it after the press has returned.
const FILE_KEPT: std::time::Duration = std::time::Duration::from_mins(1);

/// Offers `text` as a file.
pub fn download(name: &str, kind: &str, text: &str) {
    let parts = js_sys::Array::of1(&text.into());
    let options = web_sys::BlobPropertyBag::new();
    options.set_type(kind);
    let Ok(blob) = web_sys::Blob::new_with_str_sequence_and_options(&parts, &options) else {
        return;
    };
    if let Ok(address) = web_sys::Url::create_object_url_with_blob(&blob) {
        download_address(name, &address);
        let forget = move || {
            let _ = web_sys::Url::revoke_object_url(&address);
        };
        set_timeout(forget, FILE_KEPT);
    }
}

/// Offers what is at `address` as a file.
pub(crate) fn download_address(name: &str, address: &str) {
    let link = window()
        .document()
        .and_then(|document| document.create_element("a").ok())
        .and_then(|link| link.dyn_into::<web_sys::HtmlElement>().ok());
    if let Some(link) = link {
        let _ = link.set_attribute("href", address);
        let _ = link.set_attribute("download", name);
        link.click();
    }
}

/// Calls `changed` with the width of `element` now and whenever it changes, for as long as the present owner lives.
pub(crate) fn watch_width(element: &web_sys::Element, changed: impl Fn(f64) + 'static) {
    watch_size(element, move |size| changed(size.width()));
}

/// As [`watch_width`], with the height.
pub(crate) fn watch_height(element: &web_sys::Element, changed: impl Fn(f64) + 'static) {
    watch_size(element, move |size| changed(size.height()));
}

fn watch_size(element: &web_sys::Element, changed: impl Fn(web_sys::DomRect) + 'static) {
    changed(element.get_bounding_client_rect());
    let watched = element.clone();
    let callback = Closure::<dyn FnMut()>::new(move || changed(watched.get_bounding_client_rect()));
    if let Ok(observer) = web_sys::ResizeObserver::new(callback.as_ref().unchecked_ref()) {
        observer.observe(element);
        let watching = StoredValue::new_local(Some((observer, callback)));
        on_cleanup(move || {
            if let Some((observer, _callback)) = watching.try_update_value(Option::take).flatten() {
                observer.disconnect();
            }
        });
    }
}

/// The file that was chosen in an input.
pub fn chosen(event: &web_sys::Event) -> Option<web_sys::File> {
    let input: web_sys::HtmlInputElement = event.target()?.dyn_into().ok()?;
    input.files()?.get(0)
}

/// Calls `then` once what is on the page now has been painted, behind the keys and presses that came until then: the
/// second task is queued after the frame is.
pub(crate) fn after_paint(then: impl FnOnce() + 'static) {
    let queue = || set_timeout(then, std::time::Duration::ZERO);
    request_animation_frame(|| set_timeout(queue, std::time::Duration::ZERO));
}

/// Selects all text of the input that `event` is about.
pub(crate) fn select_all(event: &web_sys::FocusEvent) {
    if let Some(input) = event.target().and_then(|target| target.dyn_into::<web_sys::HtmlInputElement>().ok()) {
        // The press that gives the focus places the caret after this event. Where the focus has gone on by then it
        // stays: Chromium's `select()` would take it back.
        let select = move || {
            if focused().is_some_and(|focused| focused.is_same_node(Some(&input))) {
                input.select();
            }
        };
        set_timeout(select, std::time::Duration::ZERO);
    }
}
