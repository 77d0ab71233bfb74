//! The context of what is open besides the view: drawer, dialog, search, the tab of a phone.

use crate::core::report::Figure;
use crate::core::whole_run;
use crate::view::node::action::Dialog;
use leptos::prelude::*;

/// Handles to open panels; copied into every panel.
#[derive(Clone, Copy)]
pub(crate) struct Panels {
    /// The figure that the drawer explains.
    pub figure: RwSignal<Option<Figure>>,
    /// The figure of the whole run that it explains instead.
    pub whole: RwSignal<Option<whole_run::WholeRunFigure>>,
    /// The figure is one of the second Run.
    pub of_second: RwSignal<bool>,
    /// True while the drawer is open, where it is one.
    pub drawer: RwSignal<bool>,
    /// The page that the dialog shows; none while it is closed.
    pub dialog: RwSignal<Option<Dialog>>,
    /// The text in the import.
    pub imported: RwSignal<String>,
    /// Words typed into the search for a setting.
    pub search: RwSignal<String>,
    /// Key of the field typed into last.
    pub edited: RwSignal<&'static str>,
    /// The open sheet of settings, by its place.
    pub sheet: RwSignal<Option<usize>>,
    /// The dialog that shares while it is open: true if it was opened for the code of a frame.
    pub shares: RwSignal<Option<bool>>,
    /// The models of the catalogue are to be searched, once the whole run is shown.
    pub models: RwSignal<bool>,
    /// The side that a phone shows: "inputs" or "results".
    pub tab: RwSignal<&'static str>,
}

impl Panels {
    /// With everything closed.
    pub fn new() -> Self {
        Self {
            figure: RwSignal::new(None),
            whole: RwSignal::new(None),
            of_second: RwSignal::new(false),
            drawer: RwSignal::new(false),
            dialog: RwSignal::new(None),
            imported: RwSignal::new(String::new()),
            search: RwSignal::new(String::new()),
            edited: RwSignal::new(""),
            sheet: RwSignal::new(None),
            shares: RwSignal::new(None),
            models: RwSignal::new(false),
            tab: RwSignal::new("results"),
        }
    }

    /// Opens the drawer on a figure.
    pub fn explain(self, figure: Figure) {
        self.of_second.set(false);
        self.figure.set(Some(figure));
        self.whole.set(None);
        self.drawer.set(true);
    }

    /// Opens the drawer on a figure of the second Run.
    pub fn explain_second(self, figure: Figure) {
        self.explain(figure);
        self.of_second.set(true);
    }

    /// Opens the drawer on a figure of the whole run.
    pub fn explain_whole(self, figure: whole_run::WholeRunFigure) {
        self.of_second.set(false);
        self.whole.set(Some(figure));
        self.drawer.set(true);
    }
}
