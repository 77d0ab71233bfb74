//! The language of the page: English, which stands in the code, or Simplified Chinese, whose catalogue is fetched when
//! it is needed. `public/guard.js` decides before the page starts which one it is, and names it in `<html lang>`.

use crate::core::message::{Catalogue, Message};
use crate::web::browser;
use crate::web::browser::html::text;
use leptos::prelude::*;
use std::sync::{Arc, LazyLock};

/// A language of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Language {
    /// The language of the code.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

impl Language {
    /// As links and the stored choice name it.
    pub fn id(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }
    /// The one that a link names.
    pub fn named(id: &str) -> Option<Self> {
        [Self::English, Self::Chinese].into_iter().find(|language| language.id() == id)
    }
    pub fn other(self) -> Self {
        match self {
            Self::English => Self::Chinese,
            Self::Chinese => Self::English,
        }
    }
    /// Its own name, short and in full.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            Self::English => ["EN", "English"],
            Self::Chinese => ["中文", "简体中文"],
        }
    }
    fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }
}

/// Language and catalogue of the page.
static SHOWN: LazyLock<ArcRwSignal<(Language, Arc<Catalogue>)>> = LazyLock::new(ArcRwSignal::default);

/// The language of the page and its catalogue; follows them.
pub fn shown() -> (Language, Arc<Catalogue>) {
    SHOWN.get()
}

/// A message in the language of the page; follows it.
pub fn translated(message: impl Into<Message>) -> String {
    SHOWN.with(|(_, catalogue)| message.into().translated(catalogue))
}

/// A message in the language of the page as a signal, for the page's own elements.
pub fn say(message: impl Into<Message>) -> Signal<String> {
    let message = message.into();
    text(move || translated(&message))
}

/// The language that `<html lang>` names.
pub(crate) fn of_document() -> Language {
    let lang = browser::document_element().and_then(|root| root.get_attribute("lang"));
    lang.and_then(|lang| Language::named(lang.get(..2)?)).unwrap_or_default()
}

/// Shows the page in `language`, or leaves it as it is where the catalogue cannot be had.
pub(crate) async fn speak(language: Language) {
    let catalogue = match language {
        Language::English => Some(Catalogue::default()),
        Language::Chinese => {
            browser::text_beside("locales/zh.json").await.and_then(|rows| serde_json::from_str(&rows).ok())
        }
    };
    if let Some(catalogue) = catalogue {
        SHOWN.set((language, Arc::new(catalogue)));
    }
    if let Some(root) = browser::document_element() {
        let _ = root.set_attribute("lang", SHOWN.get_untracked().0.tag());
    }
}
