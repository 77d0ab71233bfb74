//! A text of the page: an English template and its typed arguments, formatted where it is shown, in the reader's
//! language.
//!
//! `t!("{n} layers on rank {rank}", n, rank)` makes one. A catalogue of another language is keyed by the template; a
//! template without a row is shown in English. What is the same in every language (names, formulas, quantities with
//! their units) is an argument or [`verbatim`].

use crate::units::thousands;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Display, Formatter, Write};

/// A text for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message(Kind);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A template without holes.
    Plain(&'static str),
    /// A template with a value for each of its holes.
    Template(&'static Template, Vec<Argument>),
    /// Text that is the same in every language; of a figure with its field.
    Verbatim(String, Option<Box<FigureKey>>),
    /// Parts with a separator between them, which is a template too: ", ".
    Joined(&'static str, Vec<Message>),
    /// The first sentence of a text, up to its colon or semicolon.
    Opening(Box<Message>),
}

impl Default for Kind {
    fn default() -> Self {
        Self::Plain("")
    }
}

/// A text with holes. What does not change is one static: hundreds of messages are made, each of little code.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Template {
    /// The text in English: "{n} layers".
    pub text: &'static str,
    /// Names of the holes, in the order of the arguments.
    pub holes: &'static [&'static str],
}

impl Template {
    /// A template each of whose holes is named: another does not compile.
    ///
    /// # Panics
    /// While it is compiled, where a hole has no value.
    pub const fn new(text: &'static str, holes: &'static [&'static str]) -> Self {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] == b'{' {
                assert!(is_named(bytes, at + 1, holes), "a hole of the template has no value");
            }
            at += 1;
        }
        Self { text, holes }
    }
}

/// True if `text` has one of `names` and a closing brace from `start` on.
const fn is_named(text: &[u8], start: usize, names: &[&str]) -> bool {
    let mut at = 0;
    while at < names.len() {
        let name = names[at].as_bytes();
        let mut length = 0;
        while length < name.len() && start + length < text.len() && text[start + length] == name[length] {
            length += 1;
        }
        if length == name.len() && start + length < text.len() && text[start + length] == b'}' {
            return true;
        }
        at += 1;
    }
    false
}

/// Value of a hole in a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Argument {
    /// A whole number, shown with grouped thousands.
    Count(u64),
    /// A text: a name as it is, or a message of its own.
    Text(Message),
}

/// Which figure a text is: a field of a report, and whose report it is. Tests hold equal ones to one text; neither the
/// document nor what is sent to a worker has a trace of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FigureKey {
    /// The field by its name in the report: `step.time_s`.
    pub field: String,
    /// The run, layout or rank whose it is.
    pub scope: String,
}

/// English templates to those of another language.
pub type Catalogue = HashMap<String, String>;

/// A text that is the same in every language: a name, a formula, a quantity with its unit.
pub fn verbatim(text: impl Into<String>) -> Message {
    Message(Kind::Verbatim(text.into(), None))
}

/// A [`Message`] of a template: `t!("{n} layers on rank {rank}", n, rank = 3)`. Every hole is named.
#[macro_export]
macro_rules! t {
    (@value $name:ident) => { $name };
    (@value $name:ident $value:expr) => { $value };
    ($template:literal $(,)?) => { $crate::message::Message::plain($template) };
    ($template:literal $(, $name:ident $(= $value:expr)?)+ $(,)?) => {
        $crate::message::Message::new(
            &const { $crate::message::Template::new($template, &[$(stringify!($name)),+]) },
            [$($crate::message::Argument::from($crate::t!(@value $name $($value)?))),+],
        )
    };
}

impl Message {
    /// A template without holes.
    pub const fn plain(template: &'static str) -> Self {
        Self(Kind::Plain(template))
    }
    /// A template with its arguments; [`t!`](crate::t) writes it shorter.
    pub fn new<const N: usize>(template: &'static Template, arguments: [Argument; N]) -> Self {
        Self(Kind::Template(template, Vec::from(arguments)))
    }
    /// Parts with `separator` between them; the separator is translated too.
    pub fn joined(separator: &'static str, parts: impl IntoIterator<Item = Self>) -> Self {
        Self(Kind::Joined(separator, parts.into_iter().collect()))
    }
    /// The figure `shown`, which says of which field it is.
    pub fn figure(shown: impl Into<String>, key: FigureKey) -> Self {
        Self(Kind::Verbatim(shown.into(), Some(Box::new(key))))
    }
    /// The first sentence of this text in the reader's language, up to its colon or semicolon: the fact without its
    /// consequences, for a line beside which the whole text stands.
    #[must_use]
    pub fn opening(&self) -> Self {
        Self(Kind::Opening(Box::new(self.clone())))
    }
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Kind::Plain(template) => template.is_empty(),
            Kind::Template(template, _) => template.text.is_empty(),
            Kind::Verbatim(text, _) => text.is_empty(),
            Kind::Joined(_, parts) => parts.iter().all(Self::is_empty),
            Kind::Opening(whole) => whole.is_empty(),
        }
    }
    /// The text in the language of `catalogue`.
    pub fn translated(&self, catalogue: &Catalogue) -> String {
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = self.write(&mut out, Some(catalogue));
        without_gaps(out)
    }
    /// Calls `visit` with every template in it, separators included.
    pub fn templates(&self, visit: &mut impl FnMut(&'static str)) {
        match &self.0 {
            Kind::Plain(template) => visit(template),
            Kind::Template(template, arguments) => {
                visit(template.text);
                for argument in arguments {
                    if let Argument::Text(message) = argument {
                        message.templates(visit);
                    }
                }
            }
            Kind::Joined(separator, parts) => {
                visit(separator);
                for part in parts {
                    part.templates(visit);
                }
            }
            Kind::Opening(whole) => whole.templates(visit),
            Kind::Verbatim(..) => {}
        }
    }

    /// Calls `visit` with every text in it that is the same in every language.
    pub fn verbatims(&self, visit: &mut impl FnMut(&str)) {
        self.figures(&mut |text, _| visit(text));
    }

    /// As [`Self::verbatims`], each with the field that it is of where it says one.
    pub fn figures(&self, visit: &mut impl FnMut(&str, Option<&FigureKey>)) {
        match &self.0 {
            Kind::Verbatim(text, key) => visit(text, key.as_deref()),
            Kind::Template(_, arguments) => {
                for argument in arguments {
                    if let Argument::Text(message) = argument {
                        message.figures(visit);
                    }
                }
            }
            Kind::Joined(_, parts) => parts.iter().for_each(|part| part.figures(visit)),
            Kind::Opening(whole) => {
                whole.figures_within(opening_of(&whole.to_string()).len(), visit);
            }
            Kind::Plain(_) => {}
        }
    }

    /// As [`Self::figures`], those that end within the first `room` bytes of the English text.
    fn figures_within(&self, room: usize, visit: &mut impl FnMut(&str, Option<&FigureKey>)) {
        match &self.0 {
            Kind::Verbatim(text, _) if text.len() <= room => self.figures(visit),
            Kind::Template(template, arguments) => {
                let mut at = 0;
                for piece in pieces(template.text, template.holes, arguments) {
                    if let Piece::Filled(Argument::Text(message)) = &piece {
                        message.figures_within(room.saturating_sub(at), visit);
                    }
                    at += match piece {
                        Piece::Words(words) => words.len(),
                        Piece::Filled(Argument::Count(count)) => thousands(*count).len(),
                        Piece::Filled(Argument::Text(message)) => message.to_string().len(),
                    };
                }
            }
            Kind::Joined(separator, parts) => {
                let mut at = 0;
                for part in parts {
                    part.figures_within(room.saturating_sub(at), visit);
                    at += part.to_string().len() + separator.len();
                }
            }
            Kind::Opening(whole) => whole.figures_within(room.min(opening_of(&whole.to_string()).len()), visit),
            Kind::Verbatim(..) | Kind::Plain(_) => {}
        }
    }

    fn write(&self, out: &mut impl Write, catalogue: Option<&Catalogue>) -> fmt::Result {
        let here = |template: &'static str| -> &str {
            catalogue.and_then(|catalogue| catalogue.get(template)).map_or(template, String::as_str)
        };
        let (text, holes, arguments) = match &self.0 {
            Kind::Plain(template) => (*template, &[][..], &[][..]),
            Kind::Template(template, arguments) => (template.text, template.holes, &arguments[..]),
            Kind::Verbatim(text, _) => {
                // SI writes a day as d; a language may have a word.
                let days = text.strip_suffix(" d").filter(|number| number.parse::<f64>().is_ok());
                let unit = catalogue.and_then(|catalogue| catalogue.get("days"));
                return match days.zip(unit) {
                    Some((number, unit)) => write!(out, "{number} {unit}"),
                    None => out.write_str(text),
                };
            }
            Kind::Opening(whole) => {
                let mut text = String::new();
                whole.write(&mut text, catalogue)?;
                return out.write_str(opening_of(&text));
            }
            Kind::Joined(separator, parts) => {
                let separator = here(separator);
                let mut before = String::new();
                for (at, part) in parts.iter().enumerate() {
                    if at > 0 {
                        // A list of things has an enumeration comma, behind a figure it would be read as a part of it.
                        let figure = separator == "、" && ends_in_figure(&before);
                        out.write_str(if figure { "，" } else { separator })?;
                    }
                    before.clear();
                    part.write(&mut before, catalogue)?;
                    out.write_str(&before)?;
                }
                return Ok(());
            }
        };
        for piece in pieces(here(text), holes, arguments) {
            match piece {
                Piece::Words(words) => out.write_str(words)?,
                Piece::Filled(Argument::Count(count)) => out.write_str(&thousands(*count))?,
                Piece::Filled(Argument::Text(message)) => message.write(out, catalogue)?,
            }
        }
        Ok(())
    }
}

/// A piece of a template: words, or a hole with what fills it.
enum Piece<'a> {
    Words(&'a str),
    Filled(&'a Argument),
}

/// The pieces of the template `rest` in the order of its text; a hole that nothing fills stays as words.
fn pieces<'a>(mut rest: &'a str, holes: &'a [&'a str], arguments: &'a [Argument]) -> impl Iterator<Item = Piece<'a>> {
    std::iter::from_fn(move || {
        let end = match rest.find('{') {
            Some(0) => rest.find('}').map(|end| end + 1),
            begin => begin,
        };
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        let name = piece.strip_prefix('{').and_then(|piece| piece.strip_suffix('}'));
        let hole = holes.iter().position(|hole| Some(*hole) == name);
        let filled = hole.and_then(|at| arguments.get(at)).map(Piece::Filled);
        filled.or((!piece.is_empty()).then_some(Piece::Words(piece)))
    })
}

/// `text` without a blank between two Chinese characters, which a template has around its holes for figures and names
/// in Latin letters.
fn without_gaps(text: String) -> String {
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    if !text.contains(is_chinese) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_gap = c == ' ' && out.ends_with(is_chinese) && rest.peek().is_some_and(|next| is_chinese(*next));
        if !is_gap {
            out.push(c);
        }
    }
    out
}

/// `text` up to its first colon or semicolon, English or Chinese.
fn opening_of(text: &str) -> &str {
    let ends = [": ", "; ", "：", "；"].into_iter().filter_map(|sign| text.find(sign));
    ends.min().map_or(text, |end| &text[..end])
}

/// True of a text whose last word is a number, or a unit behind one: "23.1 s", "TP 4", "45 %", "$70k".
fn ends_in_figure(text: &str) -> bool {
    let mut words = text.rsplit([' ', '\u{a0}']);
    // A sum of money begins with its sign.
    let begins = |word: Option<&str>| {
        let unsigned = word.map(|word| word.trim_start_matches(['$', '€', '¥', '£', '≈', '+', '−', '-']));
        unsigned.is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()))
    };
    let last = words.next().unwrap_or_default();
    begins(Some(last)) || last.len() <= 4 && last.is_ascii() && begins(words.next())
}

impl Display for Message {
    /// In English.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, None)
    }
}

impl Serialize for Message {
    /// In English for people and programs; whole between the page and its worker, so that it can be translated there.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(self);
        }
        let whole = match &self.0 {
            Kind::Plain(template) => SentMessage::Plain(template),
            Kind::Template(template, arguments) => SentMessage::Template(template.text, template.holes, arguments),
            Kind::Verbatim(text, _) => SentMessage::Verbatim(text),
            Kind::Joined(separator, parts) => SentMessage::Joined(separator, parts),
            Kind::Opening(whole) => SentMessage::Opening(whole),
        };
        whole.serialize(serializer)
    }
}

/// A message on its way to a worker or back.
#[derive(Serialize)]
enum SentMessage<'a> {
    Plain(&'a str),
    Template(&'a str, &'a [&'a str], &'a [Argument]),
    Verbatim(&'a str),
    Joined(&'a str, &'a [Message]),
    Opening(&'a Message),
}

/// A [`SentMessage`] as it arrives: its variants are in the same order.
#[derive(Deserialize)]
enum ArrivedMessage {
    Plain(String),
    Template(String, Vec<String>, Vec<Argument>),
    Verbatim(String),
    Joined(String, Vec<Message>),
    Opening(Box<Message>),
}

impl<'de> Deserialize<'de> for Message {
    /// A message that the same build of the program sent.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match ArrivedMessage::deserialize(deserializer)? {
            ArrivedMessage::Plain(text) => Kind::Plain(lasting(text)),
            ArrivedMessage::Template(text, holes, arguments) => {
                let holes = holes.into_iter().map(lasting).collect();
                Kind::Template(lasting_template(lasting(text), holes), arguments)
            }
            ArrivedMessage::Verbatim(text) => Kind::Verbatim(text, None),
            ArrivedMessage::Joined(separator, parts) => Kind::Joined(lasting(separator), parts),
            ArrivedMessage::Opening(whole) => Kind::Opening(whole),
        }))
    }
}

thread_local! {
    /// Texts and templates that arrived: each is kept once, and there are no more than the program has.
    static TEXTS: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
    static TEMPLATES: RefCell<BTreeSet<&'static Template>> = const { RefCell::new(BTreeSet::new()) };
}

/// `text` for as long as the program runs.
fn lasting(text: String) -> &'static str {
    TEXTS.with_borrow_mut(|known| {
        if let Some(known) = known.get(text.as_str()) {
            return *known;
        }
        let kept: &'static str = text.leak();
        known.insert(kept);
        kept
    })
}

/// The template for as long as the program runs.
fn lasting_template(text: &'static str, holes: Vec<&'static str>) -> &'static Template {
    TEMPLATES.with_borrow_mut(|known| {
        if let Some(known) = known.iter().find(|one| one.text == text && one.holes == holes) {
            return *known;
        }
        let kept: &'static Template = Box::leak(Box::new(Template { text, holes: holes.leak() }));
        known.insert(kept);
        kept
    })
}

impl From<&'static str> for Message {
    /// A template without holes.
    fn from(template: &'static str) -> Self {
        Self::plain(template)
    }
}

impl From<&&'static str> for Message {
    fn from(template: &&'static str) -> Self {
        Self::plain(template)
    }
}

impl From<&Message> for Message {
    fn from(message: &Message) -> Self {
        message.clone()
    }
}

impl From<Message> for Argument {
    fn from(message: Message) -> Self {
        Self::Text(message)
    }
}

impl From<String> for Argument {
    /// A name or a quantity with its unit, the same in every language.
    fn from(text: String) -> Self {
        Self::Text(verbatim(text))
    }
}

impl From<&'static str> for Argument {
    /// A template without holes: words with a row in the catalogue are translated, names without one are shown as they
    /// are.
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<f64> for Argument {
    /// A constant as it is written; a measured or computed figure is formatted by `units` first.
    fn from(number: f64) -> Self {
        Self::Text(verbatim(crate::units::shortest(number)))
    }
}

impl<T: Clone> From<&T> for Argument
where
    Self: From<T>,
{
    fn from(value: &T) -> Self {
        Self::from(value.clone())
    }
}

macro_rules! counts {
    ($($integer:ty),*) => { $(
        impl From<$integer> for Argument {
            fn from(count: $integer) -> Self {
                Self::Count(u64::try_from(count).unwrap_or(u64::MAX))
            }
        }
    )* };
}
counts!(u8, u16, u32, u64, usize);

#[cfg(test)]
mod tests {
    use super::*;

    fn chinese() -> Catalogue {
        [("{n} layers on rank {rank}", "rank {rank} 上有 {n} 层"), ("first", "首个"), (", ", "、")]
            .map(|(english, other)| (english.to_owned(), other.to_owned()))
            .into()
    }

    #[test]
    fn arguments_are_formatted_where_the_message_is_shown() {
        let n = 16_384_u32;
        let message = t!("{n} layers on rank {rank}", n, rank = t!("first"));
        assert_eq!(message.to_string(), "16\u{202f}384 layers on rank first");
        assert_eq!(message.translated(&chinese()), "rank 首个上有 16\u{202f}384 层");
    }

    /// Chinese separates things by an enumeration comma and figures by a comma, and says days by a word.
    #[test]
    fn figures_in_chinese_have_a_comma_behind_them_and_days_a_word() {
        let mut catalogue = chinese();
        catalogue.insert("days".to_owned(), "天".to_owned());
        let said =
            |parts: &[&str]| Message::joined(", ", parts.iter().map(|part| verbatim(*part))).translated(&catalogue);
        assert_eq!(said(&["23.1 s", "45 %", "TP 4"]), "23.1 s，45 %，TP 4");
        assert_eq!(said(&["$70k", "23 d"]), "$70k，23 天");
        assert_eq!(said(&["DeepSpeed", "Megatron"]), "DeepSpeed、Megatron");
        assert_eq!(said(&["22.6 d"]), "22.6 天");
        assert_eq!(verbatim("22.6 d").to_string(), "22.6 d");
    }

    #[test]
    fn names_and_unknown_templates_stay_as_they_are() {
        let list = Message::joined(", ", [verbatim("first"), t!("first"), t!("second {it}", it = "{n}".to_owned())]);
        assert_eq!(list.translated(&chinese()), "first、首个、second {n}");
        assert_eq!(list.to_string(), "first, first, second {n}");
        let mut seen = Vec::new();
        list.templates(&mut |template| seen.push(template));
        assert_eq!(seen, [", ", "first", "second {it}"]);
    }

    /// A hole has blanks around it for figures and Latin names; Chinese words in it stand without them.
    #[test]
    fn no_blank_stands_between_two_chinese_characters() {
        let mut catalogue = chinese();
        catalogue.insert("{name} goes to {after}".to_owned(), "{name} 变为 {after}".to_owned());
        let said = |name: Message, after: Message| t!("{name} goes to {after}", name, after).translated(&catalogue);
        assert_eq!(said(t!("first"), t!("first")), "首个变为首个");
        assert_eq!(said(verbatim("DP"), verbatim("2.1 %")), "DP 变为 2.1 %");
        assert_eq!(said(t!("first"), verbatim("2.1 %")), "首个变为 2.1 %");
    }

    /// The first sentence ends at its own language's colon; a text of one sentence is its own opening.
    #[test]
    fn an_opening_ends_at_the_first_colon_of_the_language() {
        let mut catalogue = chinese();
        let english = "{software} has no {way}: the figures are of it";
        catalogue.insert(english.to_owned(), "{software} 没有 {way}：数值为它的".to_owned());
        let software = verbatim("Megatron-LM");
        let whole = t!("{software} has no {way}: the figures are of it", software, way = verbatim("DualPipe"));
        assert_eq!(whole.opening().to_string(), "Megatron-LM has no DualPipe");
        assert_eq!(whole.opening().translated(&catalogue), "Megatron-LM 没有 DualPipe");
        assert_eq!(t!("first").opening().translated(&catalogue), "首个");
        let mut seen = Vec::new();
        whole.opening().templates(&mut |template| seen.push(template));
        assert_eq!(seen, [english]);
    }

    /// The figures of an opening are those that stand before its end: "4" is none of "14 GiB".
    #[test]
    fn an_opening_has_the_figures_before_its_end() {
        let figures = |message: &Message| {
            let mut figures = Vec::new();
            message.figures(&mut |text, _| figures.push(text.to_owned()));
            figures
        };
        let (large, small) = (verbatim("14 GiB"), verbatim("4"));
        let whole = t!("{a} of {n} held: {b} layers", b = &small, n = 16_384_u32, a = &large);
        let listed = Message::joined("; ", [t!("{a} here", a = &large), t!("{b} there", b = &small)]);
        let within = t!("so {whole}, {small}", whole = &whole, small = &small);
        for (message, said) in [
            (whole.opening(), "14 GiB of 16\u{202f}384 held"),
            (listed.opening(), "14 GiB here"),
            (within.opening(), "so 14 GiB of 16\u{202f}384 held"),
            (whole.opening().opening(), "14 GiB of 16\u{202f}384 held"),
        ] {
            assert_eq!((message.to_string().as_str(), figures(&message)), (said, vec!["14 GiB".to_owned()]));
        }
        // What stands behind an opening counts, and both of a text without an end.
        let behind = t!("{whole} and {small}", whole = whole.opening(), small = &small);
        assert_eq!(figures(&behind), ["14 GiB", "4"]);
        assert_eq!(figures(&behind.opening()), ["14 GiB", "4"]);
    }

    #[test]
    fn a_text_without_arguments_has_no_holes() {
        assert_eq!(t!("{c}").to_string(), "{c}");
        assert!(Message::default().is_empty() && !t!("x").is_empty());
    }
}
