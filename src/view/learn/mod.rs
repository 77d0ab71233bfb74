//! Lessons, each of some steps. A step is one idea: a text of at most 60 words, a live picture with sliders, a
//! challenge, the formula with its values, its source, and the one number of the Run of the page that it is about.
//!
//! A step computes every figure that it shows with the calculator: templates hold no figures, arguments do. A lesson is
//! a file here; a new step is a row of its `steps`, its id in `view/steps.rs`, and a function from slider values to
//! [`Live`].
//!
//! A [`StepQuestion`] names a step, its sliders and the Run; its [`Page`] holds the views.

mod bars;
mod caption;
mod collectives;
mod counts;
mod derivations;
mod dials;
mod experts;
mod formats;
mod gauge;
mod goal;
mod gpu;
mod lanes;
mod layout;
mod lesson;
mod matrices;
mod memory;
mod moments;
mod overlap;
mod page;
mod pictures;
mod pipelines;
mod plot;
mod prelude;
mod profiled;
mod question;
mod rl;
mod routed;
mod sequence;
mod tensor;
mod tensors;
mod whole;
mod zero;

pub use crate::steps::StepId;
pub use dials::{DialScale, Dials, Slider};
pub use gauge::Gauge;
pub use goal::Goal;
pub use lesson::{Lesson, LessonStep, Live};
pub use moments::Moments;
pub use question::{Page, StepQuestion};

impl StepId {
    pub fn lesson(self) -> &'static Lesson {
        LESSONS.iter().find(|lesson| lesson.id == self.lesson_id()).unwrap_or(&LESSONS[0])
    }
    pub fn step(self) -> &'static LessonStep {
        let steps = self.lesson().steps;
        steps.iter().find(|step| step.id == self.id()).unwrap_or(&steps[0])
    }
}

/// The lessons, in the order of the lecture and the playbook.
pub(crate) static LESSONS: &[Lesson] = &[
    memory::LESSON,
    formats::LESSON,
    gpu::LESSON,
    collectives::LESSON,
    zero::LESSON,
    tensor::LESSON,
    sequence::LESSON,
    pipelines::LESSON,
    overlap::LESSON,
    experts::LESSON,
    layout::LESSON,
    whole::LESSON,
    rl::LESSON,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Node;
    use shardscope_core::message::Message;
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    /// The figures of a step come from the calculator, so its templates hold none; names such as 1F1B do.
    const NAMES: [&str; 14] = [
        "fp16",
        "PipeDream-2BW",
        "1F1B",
        "ZeRO-1",
        "ZeRO-2",
        "ZeRO-3",
        "ZB-H1",
        "ZB-H2",
        "1D",
        "2D",
        "3D",
        "2.5D",
        "bf16",
        "fp32",
    ];

    fn positions(step: &LessonStep, pick: impl Fn(&Slider) -> usize) -> Vec<usize> {
        step.sliders.iter().map(pick).collect()
    }

    /// At the start and at both ends of every slider: text, picture and table, no figure in a template, no NaN.
    #[test]
    fn every_step_shows_what_it_is_about() {
        let mut wordy = Vec::new();
        for id in StepId::all() {
            let step = id.step();
            for at in [
                positions(step, |slider| slider.start),
                positions(step, |_| 0),
                positions(step, |slider| slider.values.len() - 1),
            ] {
                let live = (step.live)(&Dials::new(step.sliders, &at));
                let text: Vec<String> = live.text.iter().map(Message::to_string).collect();
                let count = text.iter().map(|text| text.split_whitespace().count()).sum::<usize>();
                if !(20..=60).contains(&count) {
                    wordy.push(format!("{id}: {count} words"));
                }
                for message in &live.text {
                    message.templates(&mut |template| {
                        let mut bare = template.to_owned();
                        for name in NAMES {
                            bare = bare.replace(name, "");
                        }
                        assert!(!bare.contains(|c: char| c.is_ascii_digit()), "{id}: {template}");
                    });
                }
                let html: Node = Node::from_iter([live.picture, live.table]);
                let html = html.to_html();
                assert!(html.contains("aria-label") && html.contains("<table"), "{id}");
                for text in [
                    &html,
                    &text.join(" "),
                    &format!("{:?}", live.formula),
                    &live.note.to_string(),
                    &live.compared.to_string(),
                ] {
                    assert!(!text.contains("NaN") && !text.contains("inf"), "{id}: {text}");
                }
            }
        }
        assert_eq!(wordy, Vec::<String>::new(), "a step says what it is about in 20 to 60 words");
    }

    /// Each text of a picture fits on one line: at 390 pixels, from where the names begin 58 letters fit and from
    /// where the picture begins 52.
    #[test]
    fn no_line_of_a_picture_is_longer_than_a_phone_is_wide() {
        let mut long = Vec::new();
        for id in StepId::all() {
            let step = id.step();
            let html = (step.live)(&Dials::new(step.sliders, &[])).picture.to_html();
            for line in html.split("<text ").skip(1) {
                let (place, rest) = line.split_once('>').unwrap_or_default();
                let words = rest.split('<').next().unwrap_or_default();
                let most = if place.contains("dx=\"-64.0\"") { 58 } else { 52 };
                let starts = place.contains("x=\"0.000%\"") && place.contains("text-anchor=\"\"");
                if starts && words.chars().count() > most {
                    long.push(format!("{id}: {words}"));
                }
            }
        }
        assert_eq!(long, Vec::<String>::new());
    }

    /// Letters of a picture are 11 pixels high however narrow the page is: the style sheet gives them their size, no
    /// step gives one of its own, and none stand in a picture that is stretched.
    #[test]
    fn letters_of_every_picture_keep_their_size_on_a_phone() {
        let css = include_str!("../../../style/main.css");
        let rules = css.split("\n.drawing {").skip(1).filter_map(|rule| rule.split('}').next());
        assert!(rules.into_iter().any(|rule| rule.contains("font-size: 11px")));
        let mut small = Vec::new();
        for id in StepId::all() {
            let step = id.step();
            for at in [positions(step, |slider| slider.start), positions(step, |slider| slider.values.len() - 1)] {
                let html = (step.live)(&Dials::new(step.sliders, &at)).picture.to_html();
                let stretched = html.split("<svg ").skip(1).filter(|svg| {
                    let (head, rest) = svg.split_once('>').unwrap_or_default();
                    head.contains("viewBox") && rest.split("</svg>").next().is_some_and(|rest| rest.contains("<text"))
                });
                let sized = html.split("<text ").skip(1).filter(|text| {
                    text.split('>').next().is_some_and(|head| head.contains("font-size") || head.contains("scale("))
                });
                if stretched.count() + sized.count() > 0 {
                    small.push(id.to_string());
                }
            }
        }
        assert_eq!(small, Vec::<String>::new());
    }

    /// The value of an attribute in the head of an element.
    fn attribute<'a>(head: &'a str, key: &str) -> &'a str {
        let each = head.split("\" ").filter_map(|pair| pair.split_once("=\""));
        let found = each.map(|(name, value)| (name.trim(), value.trim_end_matches('"'))).find(|(name, _)| *name == key);
        found.map_or("", |(_, value)| value)
    }

    /// Words of a picture in a page of 320 pixels: from, to and height of their middle, pixels, and the words. A letter
    /// takes 5.8 pixels in the mean; words that are shown in wider pictures only are left out.
    fn placed(svg: &str) -> Vec<(f64, f64, f64, &str)> {
        let across = 320.0 - 24.0 - 76.0;
        let one = |text: &'_ str| -> Option<(f64, f64, f64)> {
            let (head, rest) = text.split_once('>')?;
            let class = attribute(head, "class");
            let least = class.strip_prefix("at w").and_then(|width| width.parse::<f64>().ok());
            if class == "in" || least.is_some_and(|least| least > 296.0) {
                return None;
            }
            let figure = |key| attribute(head, key).trim_end_matches('%').parse::<f64>().unwrap_or(0.0);
            let long = 5.8 * rest.split('<').next()?.chars().count() as f64;
            let x = figure("x") / 100.0 * across + figure("dx");
            let from = match attribute(head, "text-anchor") {
                "middle" => x - long / 2.0,
                "end" => x - long,
                _ => x,
            };
            Some((from, from + long, figure("y")))
        };
        let texts = svg.split("<text ").skip(1);
        let each = texts.filter_map(|text| Some((one(text)?, text.split_once('>')?.1.split('<').next()?)));
        each.map(|((from, to, y), words)| (from, to, y, words)).collect()
    }

    /// Every place of all sliders of a step.
    fn all_positions(step: &LessonStep) -> Vec<Vec<usize>> {
        step.sliders.iter().fold(vec![Vec::new()], |places, slider| {
            let longer = |place: &Vec<usize>| {
                let place = place.clone();
                (0..slider.values.len()).map(move |at| [place.clone(), vec![at]].concat())
            };
            places.iter().flat_map(longer).collect()
        })
    }

    /// The texts of a step and the pictures among them, at every place of the sliders of all steps.
    static EVERYWHERE: LazyLock<Vec<(StepId, Vec<String>, String)>> = LazyLock::new(|| {
        let places = StepId::all().flat_map(|id| all_positions(id.step()).into_iter().map(move |at| (id, at)));
        let shown = places.map(|(id, at)| {
            let live = (id.step().live)(&Dials::new(id.step().sliders, &at));
            let formula = live.formula.iter().flatten();
            let all = live.text.iter().chain(formula).chain([&live.note, &live.compared]);
            let mut texts: Vec<String> = all.map(Message::to_string).collect();
            let picture = live.picture.to_html();
            for html in [&live.legend.to_html(), &picture, &live.table.to_html()] {
                texts.extend(html.split(['<', '>', '"']).map(str::to_owned));
            }
            (id, texts, picture)
        });
        shown.collect()
    });

    /// A page of 320 pixels leaves a picture 296: 64 left of its axis, 12 right of it. At every place of the sliders
    /// no words of a picture go beyond.
    #[test]
    fn words_of_every_picture_end_within_the_narrowest_phone() {
        let (left, right) = (-64.0, 320.0 - 24.0 - 64.0);
        let mut cut = BTreeSet::new();
        for (id, _, picture) in &*EVERYWHERE {
            for svg in picture.split("<svg ").skip(1) {
                let beyond = |one: &&(f64, f64, f64, &str)| one.0 < left - 1.0 || one.1 > right + 1.0;
                cut.extend(placed(svg).iter().filter(beyond).map(|one| format!("{id}: {}", one.3)));
            }
        }
        assert_eq!(cut, BTreeSet::new());
    }

    /// The count 1 before a noun of several, in `text`: "1 sequences", "1 forward passes".
    fn false_plural(text: &str) -> Option<String> {
        // Words that end as a plural does and are none, or a name behind its number; what stands before such numbers.
        let singular =
            ["is", "has", "as", "us", "holds", "keeps", "does", "needs", "works", "takes", "ends", "less", "norms"];
        let numbered =
            ["rank", "step", "stage", "of", "to", "/", "−", "+", "·", "=", "(", "is", "than", "below", "micro-batch"];
        let words: Vec<&str> = text.split_whitespace().collect();
        let ends = |word: &str| {
            let word = word.trim_end_matches([',', '.', ';', ':']);
            let is_word = word.len() > 2 && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            is_word && word.ends_with('s') && !word.ends_with("ss") && !singular.contains(&word)
        };
        let adjectives = ["forward", "backward", "small", "more", "large", "complete", "other", "whole"];
        words.iter().enumerate().find_map(|(at, word)| {
            let before = at.checked_sub(1).map_or("", |before| words[before]);
            let after = words.get(at + 1)?;
            let noun = if adjectives.contains(after) { words.get(at + 2)? } else { after };
            let is_wrong = *word == "1" && ends(noun) && !numbered.contains(&before);
            is_wrong.then(|| words[at.saturating_sub(2)..(at + 4).min(words.len())].join(" "))
        })
    }

    /// English grammar: one thing is no plural. At every place of the sliders, in every text of a step.
    #[test]
    fn a_count_of_one_has_its_noun_in_the_singular() {
        assert!(false_plural("for 1 sequences of 8192 tokens").is_some() && false_plural("1 forward passes").is_some());
        assert!(false_plural("1 forward pass").is_none() && false_plural("rank 1 holds").is_none());
        let mut wrong = BTreeSet::new();
        for (id, texts, _) in &*EVERYWHERE {
            wrong.extend(texts.iter().filter_map(|text| Some(format!("{id}: {}", false_plural(text)?))));
        }
        assert_eq!(wrong, BTreeSet::new());
    }

    /// At 320 pixels no words of a picture lie on others.
    #[test]
    fn words_of_every_picture_are_apart_on_the_narrowest_phone() {
        let mut crossed = Vec::new();
        for id in StepId::all() {
            let step = id.step();
            let html = (step.live)(&Dials::new(step.sliders, &[])).picture.to_html();
            for svg in html.split("<svg ").skip(1) {
                let all = placed(svg);
                for (at, one) in all.iter().enumerate() {
                    let over = |other: &&(f64, f64, f64, &str)| {
                        let beside = (one.2 - other.2).abs() < 9.0 && one.3 != other.3;
                        beside && one.0 + 1.0 < other.1 && other.0 + 1.0 < one.1
                    };
                    crossed
                        .extend(all[at + 1..].iter().filter(over).map(|other| format!("{id}: {} {}", one.3, other.3)));
                }
            }
        }
        assert_eq!(crossed, Vec::<String>::new());
    }

    /// Every challenge is open at the start of its step, and some place of the sliders answers it.
    #[test]
    fn every_challenge_can_be_answered_and_is_not_at_first() {
        let mut wrong = Vec::new();
        for id in StepId::all() {
            let step = id.step();
            let goal = |at: &[usize]| (step.live)(&Dials::new(step.sliders, at)).goal;
            let Some(start) = goal(&[]) else {
                wrong.push(format!("{id} has no challenge"));
                continue;
            };
            if start.is_done() {
                wrong.push(format!("{id}: done at the start: {start:?}"));
            }
            // Sliders one after the other, each tried at all places while the others are at an end or at their start.
            let ends = |slider: &Slider| [slider.start, 0, slider.values.len() - 1];
            let mut places = vec![Vec::new()];
            for slider in step.sliders {
                let longer = |place: &Vec<usize>| ends(slider).map(|at| [place.clone(), vec![at]].concat());
                places = places.iter().flat_map(longer).collect();
            }
            let turned = |place: Vec<usize>| {
                let each = step.sliders.iter().enumerate();
                let each = each.flat_map(|(which, slider)| (0..slider.values.len()).map(move |at| (which, at)));
                let moved = each.map(move |(which, at)| {
                    let mut place = place.clone();
                    place[which] = at;
                    place
                });
                moved.collect::<Vec<_>>()
            };
            let mut tried = places.into_iter().flat_map(turned).filter_map(|place| goal(&place));
            if !tried.any(|goal| goal.is_done()) {
                wrong.push(format!("{id}: cannot be done: {start:?}"));
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn settings_for_the_run_are_fields_of_the_registry() {
        use shardscope_core::run::registry::field;
        for step in StepId::all().map(StepId::step) {
            for (key, _) in step.on_run.1 {
                assert!(field(key).is_some(), "{key}");
            }
        }
    }
}
