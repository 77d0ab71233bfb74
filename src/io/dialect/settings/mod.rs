//! Every setting of a program by its whole name: what reads it, or why nothing does.
//!
//! A program has a table, `PROGRAM.csv` in this folder. PROGRAM is the `id` of its [`Dialect`](super::Dialect), or
//! the name of its [`Program`](super::programs::Program) in small letters, with hyphens for blanks. The file is all
//! that a program needs: `src/io/build.rs` finds it.
//!
//! To make one, take every name that the program declares (dataclasses, arguments, its files of defaults) at one
//! commit, by a script. The first lines begin with `#`:
//!
//! - the first says which program at which commit;
//! - `# notes: OWNER/NAME COMMIT FOLDER` says where the files of the notes are, for those that name no other;
//!   `node tools/notes.mjs CLONES` looks each of them up;
//! - a setting that the program's rows in `dialect/programs` hand on under its base's name, and that has no row, is the
//!   base's;
//! - `# also: trainer deepspeed` names further tables whose names the program takes as well; that of its base is one
//!   of them without a word, and so are `launchers` and `environment`;
//! - `# tried in: a.sh b.yaml` names files of the program in `tests/data/launch`, to which the test adds each
//!   setting;
//! - `# beside: --a=1 --b` has settings that the test adds as well in a further try, for those that count beside them
//!   alone.
//!
//! Then `name,class,field,note` and a row a name, sorted; a row that is longer than a window goes on in lines that
//! begin with a blank:
//!
//! - **name**: as the program's own text has it; nested ones dotted, or the section alone where all in it is alike; a
//!   star stands for any text.
//! - **class**: `read`, `no-effect` or `not-modelled`.
//! - **field**: of `read` the key of the Run that it sets, or a section of keys. Of `not-modelled` what it could
//!   change: `memory`, `time` or `both`; `memory-if-on` and so on for a switch that is counted as off, `memory-if-off`
//!   for one that is counted as on. Of `no-effect` why: one of [`NoEffect`].
//! - **note**: file and line that declare it, `[OWNER/NAME ]PATH:LINE[ of COMMIT]`, and a release where it came or
//!   went; then a colon and more.
//!
//! `no-effect` is for what is sure to change neither memory nor time: names, paths, seeds, learning rates. In doubt a
//! setting is `not-modelled`. Where the name holds a word such as offload, shard, dtype or cache, the note has to say
//! behind file and line why it changes nothing. A setting that is `read` is tried: an import with it differs in that
//! field from one without. Where the test finds no value that does, the note has one in backquotes behind `=`, and
//! what else it needs: `` `=te --cross-entropy-loss-fusion` ``.
//!
//! `docs/coverage.md` counts the rows; `cargo test --test io settings` writes it.

use super::bare;

/// The settings of a program.
pub(crate) struct SettingsTable {
    id: &'static str,
    /// Further tables whose names count.
    also: &'static [&'static str],
    /// Lines of names and letters, as `src/io/build.rs` writes them.
    rows: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/settings.rs"));

/// What becomes of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingClass {
    Read,
    NoEffect(NoEffect),
    NotModelled(CouldChange),
    /// Not modelled where it is on; where it is off, the run is counted as it is.
    NotModelledIfOn(CouldChange),
    /// Not modelled where it is off; where it is on, the run is counted as it is.
    NotModelledIfOff(CouldChange),
}

/// Why a setting has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoEffect {
    /// Names, logs, profiles.
    Names,
    /// Checkpoints and other files.
    Files,
    /// Data and tokenizers.
    Data,
    /// Numbers of the optimizer and the loss.
    Numbers,
    /// Numbers of the model, not its shapes.
    Shapes,
    /// Evaluation, inference.
    Outside,
    /// The start and the end of a run.
    Start,
    /// The program itself takes it and does nothing with it.
    Ignored,
    /// Other settings say the same.
    Elsewhere,
    /// It is counted so anyway.
    Counted,
}

/// What a setting could change that is not modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CouldChange {
    Both,
    Memory,
    Time,
}

/// Letters of a word from which on it is looked for within a name: "lr" is in too many.
const WITHIN: usize = 3;

/// True if a word that is typed is in a name that a program has for the field `key`: `--tensor-model-parallel-size=8`
/// of `tp`, "checkpointing" of `recompute`. A short word is a name or a part of one between its dashes; a flag is the
/// beginning of one.
pub fn is_called(key: &str, word: &str) -> bool {
    let is_flag = word.starts_with("--");
    let word = bare(word.split('=').next().unwrap_or(word)).to_ascii_lowercase();
    let word = word.rsplit('.').find(|part| !part.is_empty()).unwrap_or_default();
    let has = |name: &str| {
        let name = name.to_ascii_lowercase();
        match word.len() {
            0 => false,
            1..WITHIN => name.split(['-', '_', '.']).any(|part| part == word) && (!is_flag || name == word),
            _ if is_flag => name.rsplit('.').next().is_some_and(|last| last.starts_with(word)),
            _ => name.contains(word),
        }
    };
    names_of(key).any(has)
}

/// True if `words` are a whole name that a program has for the field `key`, dashes, blanks and underscores alike:
/// "micro batch size" of `micro_batch`.
pub fn is_name_of(key: &str, words: &str) -> bool {
    let same = |text: &str| bare(text.trim()).to_ascii_lowercase().replace(['-', ' '], "_");
    let words = same(words);
    names_of(key).any(|name| same(name.rsplit('.').next().unwrap_or(name)) == words)
}

/// The names that programs have for the field `key`.
fn names_of(key: &str) -> impl Iterator<Item = &'static str> {
    let line = format!("\n{key} ");
    let at = NAMES.find(&line).map(|at| at + line.len());
    at.and_then(|at| NAMES[at..].lines().next()).unwrap_or_default().split(' ')
}

/// Tables that count for every program.
const SHARED: [&str; 2] = ["launchers", "environment"];
/// Tables that name others that name others.
const MAX_TABLES: usize = 16;

/// The tables of programs: those of `names` that exist, what they name, and those for every program.
pub(crate) fn tables(names: &[&str]) -> Vec<&'static SettingsTable> {
    let find = |id: &str| TABLES.iter().find(|table| table.id == id);
    let mut found: Vec<&'static SettingsTable> = names.iter().filter_map(|name| find(&slug(name))).collect();
    let mut at = 0;
    while at < found.len().min(MAX_TABLES) {
        let further: Vec<_> = found[at].also.iter().filter_map(|id| find(id)).collect();
        for table in further {
            if found.iter().all(|known| known.id != table.id) {
                found.push(table);
            }
        }
        at += 1;
    }
    found.extend(SHARED.iter().filter_map(|id| find(id)));
    found
}

/// The name of a table: "NeMo Automodel" is `nemo-automodel`.
fn slug(name: &str) -> String {
    name.to_ascii_lowercase().replace("'s", "").replace(' ', "-")
}

/// The class of a setting in the first of `tables` that has it; of DeepSpeed's own in a section of another's; of the
/// section that it stands in, where a row has that alone.
pub(crate) fn class(tables: &[&SettingsTable], name: &str) -> Option<SettingClass> {
    let name = bare(name);
    let find = |name: &str| tables.iter().find_map(|table| table.class(name));
    let mut sections = name.rmatch_indices('.').map(|(end, _)| &name[..end]);
    let section = || sections.find_map(find).filter(|class| *class != SettingClass::Read);
    find(&name).or_else(|| find(name.strip_prefix("deepspeed.")?)).or_else(section)
}

impl SettingsTable {
    /// The class of a setting by its bare name; of several rows with a star the one that says most.
    fn class(&self, name: &str) -> Option<SettingClass> {
        let whole = |line: &str| line.rsplit_once(' ').map(|(name, letter)| (name.to_owned(), letter.to_owned()));
        let exact = format!("\n{name} ");
        if let Some(at) = self.rows.find(&exact) {
            let letter = self.rows[at + exact.len()..].chars().next()?;
            return SettingClass::of(letter);
        }
        let stars = self.rows.lines().filter(|line| line.contains('*')).filter_map(whole);
        let holds = stars.filter(|(pattern, _)| {
            let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
            name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        });
        let (_, letter) = holds.max_by_key(|(pattern, _)| pattern.len())?;
        SettingClass::of(letter.chars().next()?)
    }
}

impl SettingClass {
    fn of(letter: char) -> Option<Self> {
        Some(match letter {
            'r' => Self::Read,
            'm' => Self::NotModelled(CouldChange::Memory),
            't' => Self::NotModelled(CouldChange::Time),
            'b' => Self::NotModelled(CouldChange::Both),
            'M' => Self::NotModelledIfOn(CouldChange::Memory),
            'T' => Self::NotModelledIfOn(CouldChange::Time),
            'B' => Self::NotModelledIfOn(CouldChange::Both),
            'x' => Self::NotModelledIfOff(CouldChange::Memory),
            'y' => Self::NotModelledIfOff(CouldChange::Time),
            'z' => Self::NotModelledIfOff(CouldChange::Both),
            'N' => Self::NoEffect(NoEffect::Names),
            'F' => Self::NoEffect(NoEffect::Files),
            'D' => Self::NoEffect(NoEffect::Data),
            'U' => Self::NoEffect(NoEffect::Numbers),
            'S' => Self::NoEffect(NoEffect::Shapes),
            'O' => Self::NoEffect(NoEffect::Outside),
            'I' => Self::NoEffect(NoEffect::Start),
            'G' => Self::NoEffect(NoEffect::Ignored),
            'E' => Self::NoEffect(NoEffect::Elsewhere),
            'C' => Self::NoEffect(NoEffect::Counted),
            _ => return None,
        })
    }
}
