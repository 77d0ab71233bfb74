//! The part of a link besides the Run: which view is open and what is chosen in it, as one struct with one table of
//! keys.

use super::gallery::{GalleryLook, variants};
use super::look::{Look as Board, Slice};
use super::palette::Theme;
use super::panels::schedules::Sort;
use super::steps::StepId;
use super::views::{Embed, PanelsTab, View};
use shardscope_core::diagnose::of_brief;
use shardscope_core::report::ScheduleVariant;
use shardscope_core::run::{OneOf, Run};

/// View of a Run on the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewState {
    /// A second Run, to be compared with the first; links hold it as its differences, under `b.`.
    pub second: Option<Run>,
    /// The only panel shown, in another page.
    pub embed: Option<Embed>,
    /// Id of a schedule laid under the Run's own on the same axis.
    pub compare: Option<String>,
    /// Name of the page that the dialog opens on: `methods`, `export markdown`.
    pub page: Option<String>,
    /// The open view.
    pub open: View,
    /// Global rank of the selected GPU, which is the same in all views.
    pub gpu: Option<u64>,
    /// Positions of the sliders of the open step: `p.8,m.16`.
    pub sliders: String,
    /// Choices in the gallery of schedules.
    pub gallery: GalleryLook,
    /// Seed of the simulated future of the whole run, where it is not the Run's own.
    pub future: Option<u64>,
    /// Days of the inverse questions of the whole run.
    pub days: Option<f64>,
    /// Row and class of the scoreboard.
    pub board: Board,
    /// The open tab of the Run's panels; none: the first.
    pub tab: Option<PanelsTab>,
    /// Of the tab of the pipeline even and uneven layers are shown.
    pub splits: bool,
    /// The models of the catalogue are searched for the largest one that trains.
    pub models: bool,
    /// Parts and causes of a diagnosis, as numbers.
    pub diagnosis: Option<String>,
    /// True if the layout was chosen for the visitor: it is chosen again after an edit of a field that it depends on.
    pub chosen: bool,
    /// Light or dark, whatever the browser prefers.
    pub theme: Option<Theme>,
    /// The language, `en` or `zh`, whatever the browser prefers.
    pub lang: Option<String>,
    /// Version of the application that made the link.
    pub made: Option<String>,
}

/// Id of the second tab of the view that diagnoses.
const CALIBRATE: &str = "calibrate";

/// Page of the dialog that this tab was, in links of earlier versions.
const MEASURED: &str = "runs";

/// Id of the search for the largest model.
const MODELS: &str = "models";

/// Id of the panel of even and uneven layers.
const SPLITS: &str = "splits";

/// A key of the view.
struct Key {
    /// Its name in a link, behind `view.`.
    name: &'static str,
    /// Its text for a state; none where the state has the default.
    text: fn(&ViewState) -> Option<String>,
    /// Sets it in a state. A text that is not understood leaves the default.
    read: fn(&mut ViewState, String),
}

/// All keys, in the order in which links are written. Their names and meanings never change.
const KEYS: [Key; 23] = [
    Key {
        name: "embed",
        text: |view| view.embed.map(|panel| panel.id().to_owned()),
        read: |view, text| view.embed = Some(Embed::from_id(&text).unwrap_or(Embed::All)),
    },
    Key { name: "compare", text: |view| view.compare.clone(), read: |view, text| view.compare = Some(text) },
    Key {
        name: "page",
        text: |view| view.page.clone(),
        read: |view, text| match text.as_str() {
            MEASURED => view.open = View::Diagnose(true),
            _ => view.page = Some(text),
        },
    },
    Key {
        name: "open",
        text: |view| {
            let id = if view.open == View::Diagnose(true) { CALIBRATE } else { view.open.id() };
            let is_said = !matches!(view.open, View::Run | View::Learn(_));
            is_said.then(|| id.to_owned())
        },
        // The keys `lesson` and `page`, if they came first, have opened a step of a lesson or the measured runs: they
        // stay open.
        read: |view, text| {
            if !matches!(view.open, View::Learn(_) | View::Diagnose(true)) {
                let calibrate = (text == CALIBRATE).then_some(View::Diagnose(true));
                view.open = calibrate.or_else(|| View::from_id(&text)).unwrap_or_default();
            }
        },
    },
    Key {
        name: "gpu",
        text: |view| view.gpu.map(|gpu| gpu.to_string()),
        read: |view, text| view.gpu = text.parse().ok(),
    },
    Key {
        name: "lesson",
        text: |view| match view.open {
            View::Learn(step) => Some(step.to_string()),
            _ => None,
        },
        read: |view, text| {
            if let Some(step) = StepId::named(&text) {
                view.open = View::Learn(step);
            }
        },
    },
    Key {
        name: "sliders",
        text: |view| {
            let is_said = matches!(view.open, View::Learn(_)) && !view.sliders.is_empty();
            is_said.then(|| view.sliders.clone())
        },
        read: |view, text| view.sliders = text,
    },
    Key {
        name: "ticked",
        text: |view| {
            let ticked = view.gallery.ticked.as_ref()?;
            Some(ticked.iter().map(ScheduleVariant::to_string).collect::<Vec<_>>().join(","))
        },
        read: |view, text| view.gallery.ticked = Some(variants(&text)),
    },
    Key {
        name: "sort",
        text: |view| (view.gallery.sort != Sort::default()).then(|| view.gallery.sort.text()),
        read: |view, text| view.gallery.sort = Sort::named(&text),
    },
    Key {
        name: "axis",
        text: |view| view.gallery.whole.then(|| "whole".to_owned()),
        read: |view, text| view.gallery.whole = text == "whole",
    },
    Key {
        name: "limit",
        text: |view| view.gallery.limit.map(|limit| limit.to_string()),
        read: |view, text| view.gallery.limit = text.parse().ok(),
    },
    Key {
        name: "future",
        text: |view| view.future.map(|seed| seed.to_string()),
        read: |view, text| view.future = text.parse().ok(),
    },
    Key {
        name: "days",
        text: |view| view.days.map(|days| days.to_string()),
        read: |view, text| view.days = text.parse().ok().filter(|days| (0.01..=36_500.0).contains(days)),
    },
    Key {
        name: "tool",
        text: |view| (!view.board.tool.is_empty()).then(|| view.board.tool.clone()),
        read: |view, text| view.board.tool = Board::row_named(&text),
    },
    Key {
        name: "runs",
        text: |view| (view.board.slice != Slice::default()).then(|| view.board.slice.id().to_owned()),
        read: |view, text| view.board.slice = Slice::from_id(&text).unwrap_or_default(),
    },
    Key {
        name: "diagnosis",
        text: |view| {
            let is_said = view.open == View::Diagnose(false) || view.embed == Some(Embed::Diagnose);
            view.diagnosis.clone().filter(|_| is_said)
        },
        read: |view, text| view.diagnosis = of_brief(&text).map(|_| text),
    },
    Key {
        name: "tab",
        text: |view| {
            let is_said = view.open == View::Run && view.embed.is_none();
            view.tab.filter(|_| is_said).map(|tab| tab.id().to_owned())
        },
        read: |view, text| view.tab = PanelsTab::from_id(&text),
    },
    Key {
        name: "part",
        text: |view| {
            let is_said = view.open == View::Run && view.embed.is_none() && view.tab == Some(PanelsTab::Pipeline);
            (view.splits && is_said).then(|| SPLITS.to_owned())
        },
        read: |view, text| view.splits = text == SPLITS,
    },
    Key {
        name: "search",
        text: |view| (view.models && view.open == View::Whole).then(|| MODELS.to_owned()),
        read: |view, text| view.models = text == MODELS,
    },
    Key {
        name: "layout",
        text: |view| view.chosen.then(|| "chosen".to_owned()),
        read: |view, text| view.chosen = text == "chosen",
    },
    Key {
        name: "theme",
        text: |view| view.theme.map(|theme| theme.id().to_owned()),
        read: |view, text| view.theme = Theme::from_id(&text),
    },
    Key { name: "lang", text: |view| view.lang.clone(), read: |view, text| view.lang = Some(text) },
    Key { name: "made", text: |view| view.made.clone(), read: |view, text| view.made = Some(text) },
];

impl ViewState {
    /// Names and texts of the keys that differ from their default, in the order in which links are written.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, String)> {
        KEYS.iter().filter_map(|key| Some((key.name, (key.text)(self)?)))
    }

    /// Reads `text` into the key called `name`; the text comes back where there is no such key.
    ///
    /// # Errors
    /// `text`, unread.
    pub fn read(&mut self, name: &str, text: String) -> Result<(), String> {
        match KEYS.iter().find(|key| key.name == name) {
            Some(key) => (key.read)(self, text),
            None => return Err(text),
        }
        Ok(())
    }

    /// The view of a frame that shows `panel` alone as this state shows it, in `theme` and `lang` where they are given:
    /// of a comparison with both Runs, of everything else with the first.
    #[must_use]
    pub fn framed(self, panel: Embed, theme: Option<Theme>, lang: Option<String>) -> Self {
        Self {
            embed: Some(panel),
            open: self.step().map_or(View::Run, View::Learn),
            lang,
            theme,
            page: None,
            second: self.second.filter(|_| panel == Embed::Compare),
            ..self
        }
    }

    /// The step of a lesson that is open.
    pub const fn step(&self) -> Option<StepId> {
        match self.open {
            View::Learn(step) => Some(step),
            _ => None,
        }
    }

    /// Opens a view, with the sliders of a step at their start.
    pub fn show(&mut self, view: View) {
        self.open = view;
        self.sliders.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::action::GalleryAction;

    fn read(link: &str) -> ViewState {
        let mut view = ViewState::default();
        for pair in link.split('&').filter(|pair| !pair.is_empty()) {
            let (name, text) = pair.split_once('=').unwrap();
            view.read(name, text.to_owned()).unwrap();
        }
        view
    }

    fn written(view: &ViewState) -> String {
        view.pairs().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join("&")
    }

    #[test]
    fn every_key_comes_back_as_it_was_written() {
        for link in [
            "",
            "embed=memory&compare=zb-v&page=export json&open=cluster&gpu=7",
            "lesson=pipelines.interleaving&sliders=p.8,m.16",
            "open=schedules&ticked=zb-v,interleaved-1f1b.4&sort=-bubble&axis=whole&limit=6",
            "tab=costs&layout=chosen",
            "tab=pipeline&part=splits",
            "open=whole&search=models",
            "open=whole&future=7&days=45.5&theme=dark&lang=zh&made=0.1.0",
            "open=scoreboard&tool=simumax&runs=peaks",
            "open=diagnose",
            "open=diagnose&diagnosis=longer_5620000_4100000_3700000_4500000~products_1860000_1850000~\
                !host-late_s740000",
            "embed=diagnose&diagnosis=memory_0___~!logits_b4198000000",
            "open=calibrate&theme=dark",
            "layout=chosen&theme=dark&lang=zh&made=0.1.0",
        ] {
            assert_eq!(written(&read(link)), link);
        }
        let names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
        assert!(names.iter().all(|name| read(&format!("{name}=x")).read(name, "y".to_owned()).is_ok()), "{names:?}");
        assert_eq!(ViewState::default().read("nonsense", "x".to_owned()), Err("x".to_owned()));
    }

    /// In version 1.0 the measured runs were a page of the dialog.
    #[test]
    fn a_link_to_the_measured_runs_opens_their_tab() {
        for link in ["page=runs", "open=calibrate", "page=runs&open=whole", "open=whole&page=runs"] {
            assert_eq!(written(&read(link)), "open=calibrate", "{link}");
        }
    }

    #[test]
    fn what_is_not_understood_leaves_the_default() {
        let bad = "open=kitchen&gpu=x&diagnosis=fine&lesson=cooking.1&ticked=oven&sort=taste&axis=x&limit=-1&tool=%&\
            runs=far&layout=mine&theme=purple&tab=table&part=half&search=gold";
        assert_eq!(written(&read(bad)), "ticked=");
        assert_eq!(read("embed=cellar").embed, Some(Embed::All));
    }

    #[test]
    fn a_step_of_a_lesson_says_more_than_its_view() {
        for link in ["open=cluster&lesson=zero.traffic", "lesson=zero.traffic&open=cluster", "open=learn&lesson=zero.6"]
        {
            assert_eq!(written(&read(link)), "lesson=zero.traffic");
        }
        assert_eq!(read("open=learn").open, View::Learn(StepId::first()));
        // Sliders are those of a step.
        assert_eq!(written(&read("sliders=p.8")), "");
        let mut view = read("lesson=zero.traffic&sliders=n.8");
        view.show(View::Learn(StepId::first()));
        assert_eq!(view.sliders, "");
    }

    #[test]
    fn a_link_says_what_was_pressed_in_the_gallery() {
        let mut view = ViewState::default();
        let run = Run::default();
        let look = &mut view.gallery;
        for id in ["zb-v", "dualpipe", "interleaved-1f1b.4", "gpipe", "zb-v"] {
            look.press(&run, GalleryAction::Tick(ScheduleVariant::named(id).unwrap()));
        }
        look.press(&run, GalleryAction::Whole(true));
        look.sort = look.sort.pressed("bubble").pressed("bubble");
        look.limit = Some(6);
        // A fifth is refused; a second press lets go.
        let link = "ticked=1f1b,dualpipe,interleaved-1f1b.4&sort=-bubble&axis=whole&limit=6";
        assert_eq!(written(&view), link);
        assert_eq!(read(link), view);
        assert_eq!(GalleryLook::default().limit(&run), 4);
    }
}
