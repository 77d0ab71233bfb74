//! The pipeline's stages in Megatron-LM's arguments: virtual stages, schedules, uneven layers.

use super::forks;
use super::release::Release;
use crate::dialect::rows::prelude::*;
use shardscope_core::pipeline::release::{STAGES_SINCE, differ_at_ends};
use shardscope_core::run::presets::Trainer;

/// Layers of all stages: since core 0.13 (`megatron/training/arguments.py`).
const LAYOUT: &str = "--pipeline-model-parallel-layout";
/// Layers of the first rank, and of the last: since core 0.9.
const FIRST: &str = "--decoder-first-pipeline-num-layers";
const LAST: &str = "--decoder-last-pipeline-num-layers";

/// Stages whose layers are written out.
const MAX_STAGES: u64 = 1 << 16;

/// Takes virtual stages, the schedule and the layers of the stages.
pub fn read(reader: &mut SettingsReader) {
    let layers = reader.run.model.resolve().map_or(0, |model| model.layers);
    let each = reader.count("--num-layers-per-virtual-pipeline-stage", "layers a virtual stage");
    let chunks = reader.count("--num-virtual-stages-per-pipeline-rank", "virtual stages");
    let pattern = reader.word(LAYOUT, "layers by stage");
    let pp = reader.run.pp.max(1);
    let layout = pattern.as_deref().map(stages);
    if layout == Some(None) {
        let message = "--pipeline-model-parallel-layout: stages of t, E, m and L, apart by |, are read";
        reader.errors.push(Issue::error("stage_layers", message));
    }
    let (stages, predicts) = layout.flatten().unzip();
    reader.run.mtp_stage = predicts.flatten();
    let chunks = chunks
        .or_else(|| Some(layers / pp / each?.max(1)))
        .or_else(|| Some(stages.as_ref()?.len() as u64 / pp))
        .unwrap_or(1)
        .max(1);
    let fused = reader.flag("--overlap-moe-expert-parallel-comm", "fused forward and backward");
    let interleaved = chunks > 1;
    reader.run.schedule = match (interleaved, fused) {
        (true, true) => Schedule::InterleavedOverlap,
        (true, false) => Schedule::Interleaved,
        (false, true) => Schedule::Overlap,
        (false, false) => Schedule::OneFOneB,
    };
    reader.run.virtual_stages = chunks;
    let group = reader.count("--microbatch-group-size-per-virtual-pipeline-stage", "micro-batch group");
    reader.run.schedule_options.group = group.filter(|group| interleaved && *group != pp);
    let first = reader.count(FIRST, "layers of the first stage");
    let last = reader.count(LAST, "layers of the last stage");
    let mut counted = |name, what: &'static str| u64::from(reader.flag(name, what));
    let embedding = counted("--account-for-embedding-in-pipeline-split", "the embedding counts as a layer");
    let loss = counted("--account-for-loss-in-pipeline-split", "the loss counts as a layer");
    // A run with more stages than layers is refused later, by its check.
    let count = pp.checked_mul(chunks).filter(|count| *count <= MAX_STAGES);
    // Stages that a hybrid pattern sets apart.
    let apart = reader.run.stage_layers.take();
    let given = stages
        .or(apart)
        .or_else(|| count.and_then(|count| forks::stages(reader, layers, count)))
        .or_else(|| ends(layers, pp, count? / pp, first, last))
        .or_else(|| lightened(layers, count?, embedding, loss));
    let even = count.map(|count| even_split(layers, count));
    // Where layers are fewer than stages, some stages are empty: such a split is kept, since an even one cannot be.
    let empty = count.is_some_and(|count| layers < count);
    reader.run.stage_layers = given.filter(|given| empty || Some(given) != even.as_ref());
}

/// Layers of every stage where the first, the last or both ranks hold other numbers than the rest.
fn ends(layers: u64, pp: u64, chunks: u64, first: Option<u64>, last: Option<u64>) -> Option<Vec<u64>> {
    if first.is_none() && last.is_none() || pp < 2 {
        return None;
    }
    let others = pp - u64::from(first.is_some()) - u64::from(last.is_some());
    let rest = layers.checked_sub(first.unwrap_or(0) + last.unwrap_or(0))?;
    let each = rest.checked_div(others).unwrap_or(0);
    let of_rank = |rank: u64| match rank {
        0 => first.unwrap_or(each),
        rank if rank + 1 == pp => last.unwrap_or(each),
        _ => each,
    };
    Some((0..pp * chunks).map(|stage| of_rank(stage % pp) / chunks).collect())
}

/// Layers of `stages` equal stages of which the first has an `embedding` and the last a `loss` in place of a layer.
fn lightened(layers: u64, stages: u64, embedding: u64, loss: u64) -> Option<Vec<u64>> {
    let counted = layers.checked_add(embedding + loss)?;
    if embedding + loss == 0 || stages < 2 || !counted.is_multiple_of(stages) {
        return None;
    }
    let mut list = vec![counted / stages; usize::try_from(stages).ok()?];
    *list.first_mut()? -= embedding;
    *list.last_mut()? -= loss;
    Some(list)
}

/// Layers of the stages of a layout such as `Et*3|(t|)*3,m|L`, and the stage of multi-token prediction where it is not
/// the last.
fn stages(layout: &str) -> Option<(Vec<u64>, Option<u64>)> {
    let layout: Vec<char> = layout.chars().filter(|c| !c.is_whitespace() && !matches!(c, ',' | '"' | '\'')).collect();
    let flat = expand(&layout, 0)?;
    let stages: Vec<&str> = flat.split('|').collect();
    let layers = stages.iter().map(|stage| stage.matches('t').count() as u64);
    let predicts = stages.iter().rposition(|stage| stage.contains('m'));
    let apart = predicts.filter(|stage| stage + 1 < stages.len());
    Some((layers.collect(), apart.map(|stage| stage as u64)))
}

/// A layout with its repetitions written out: `t*3` and `(t|)*3`.
fn expand(layout: &[char], depth: usize) -> Option<String> {
    const MAX_LENGTH: usize = 1 << 18;
    let mut out = String::new();
    let mut at = 0;
    while let Some(c) = layout.get(at) {
        let unit = match c {
            'E' | 'L' | 't' | 'm' | '|' => {
                at += 1;
                c.to_string()
            }
            '(' if depth < 4 => {
                let close = at + layout[at..].iter().position(|c| *c == ')')?;
                let inner = expand(&layout[at + 1..close], depth + 1)?;
                at = close + 1;
                inner
            }
            _ => return None,
        };
        let mut times = 1;
        if layout.get(at) == Some(&'*') {
            let digits: String = layout[at + 1..].iter().take_while(|c| c.is_ascii_digit()).collect();
            at += 1 + digits.len();
            times = digits.parse().ok()?;
        }
        if out.len() + unit.len().checked_mul(times)? > MAX_LENGTH {
            return None;
        }
        out.push_str(&unit.repeat(times));
    }
    Some(out)
}

pub fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    let schedule = schedule(run);
    let chunks =
        if matches!(schedule, Schedule::Interleaved | Schedule::InterleavedOverlap) { run.virtual_stages } else { 1 };
    // A schedule that Megatron-LM has not may have other stages than what is said instead.
    let as_said = s.stage_layers.len() as u64 == run.pp * chunks;
    let even = s.stage_layers.windows(2).all(|pair| pair[0] == pair[1]);
    let apart = s.model.mtp_modules > 0 && s.mtp_stage + 1 < s.stage_layers.len();
    // A layout says the virtual stages too: Megatron-LM takes one of the two (d98e8a64 `arguments.py`, "No more than
    // one of the following arguments can be set at the same time").
    let by_layout = as_said && (!even || apart);
    let ends = if by_layout { other_ends(s, chunks) } else { None };
    match ends {
        Some([first, last]) => {
            writer.maybe(FIRST, first);
            writer.maybe(LAST, last);
        }
        None if by_layout => {
            writer.say(LAYOUT, written(&s.stage_layers, s.model.mtp_modules, s.mtp_stage));
        }
        None => {}
    }
    if chunks > 1 {
        writer.when(!by_layout, "--num-virtual-stages-per-pipeline-rank", chunks);
        writer.maybe("--microbatch-group-size-per-virtual-pipeline-stage", group(run));
    }
    let alone = run.pp == 1 && s.model.moe.is_some() && s.software.ep_overlap == EpOverlap::OneFOneB;
    if alone || matches!(schedule, Schedule::Overlap | Schedule::InterleavedOverlap) {
        writer.say("--overlap-moe-expert-parallel-comm", true);
    }
}

/// Layers of the first and the last rank, where those between have another number, all of them the same; none of
/// either that has theirs. Of software before layouts alone, with a stage a rank.
fn other_ends(s: &Scenario, chunks: u64) -> Option<[Option<u64>; 2]> {
    if Release::of(&s.software) != Release::Y2024 || s.model.mtp_modules > 0 {
        return None;
    }
    let [first, between @ .., last] = &s.stage_layers[..] else { return None };
    let Some(each) = between.first() else { return Some([Some(*first), None]) };
    let is_other = |layers: &u64| (layers != each).then_some(*layers);
    differ_at_ends(&s.stage_layers, chunks).then(|| [is_other(first), is_other(last)])
}

/// The release of Megatron Core that the arguments of stages in `said` need, where the software of `s` may be an
/// earlier one.
pub(crate) fn needs_release(s: &Scenario, said: &[(String, Value)]) -> Option<String> {
    let says = |name: &str| said.iter().any(|(known, _)| known == name);
    let earlier = Release::of(&s.software) != Release::Y2026;
    let needs = |argument: &str, release: &str| format!("{argument} needs Megatron Core {release} or later.");
    match () {
        () if says(LAYOUT) && earlier => Some(needs(LAYOUT, STAGES_SINCE[0])),
        () if says(FIRST) => Some(needs(FIRST, STAGES_SINCE[1])),
        () if says(LAST) => Some(needs(LAST, STAGES_SINCE[1])),
        () => None,
    }
}

/// The schedules that Megatron-LM has.
fn schedule(run: &Run) -> Schedule {
    match run.schedule {
        schedule if schedule.row().called(Trainer::Megatron).is_some() => schedule,
        _ if run.virtual_stages > 1 && run.schedule.fixed_chunks(&run.schedule_options).is_none() => {
            Schedule::Interleaved
        }
        _ => Schedule::OneFOneB,
    }
}

fn group(run: &Run) -> Option<u64> {
    run.schedule_options.group.filter(|group| *group != run.pp)
}

/// Stages as a layout: `Et*7|t*9|t*9|t*7L`, multi-token-prediction modules as `m` behind the layers of stage
/// `predicts`.
fn written(stages: &[u64], modules: u64, predicts: usize) -> String {
    let many = |letter: &str, count: u64| match count {
        0 => String::new(),
        1 => letter.to_owned(),
        count => format!("{letter}*{count}"),
    };
    let layers = stages.iter().enumerate().map(|(stage, count)| {
        let here = if stage == predicts { modules } else { 0 };
        many("t", *count) + &many("m", here)
    });
    format!("E{}L", layers.collect::<Vec<_>>().join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::pipeline::release::NeededRelease;

    #[test]
    fn layouts_are_read_and_written() {
        assert_eq!(stages("Et*3|(t|)*3,m|L"), Some((vec![3, 1, 1, 1, 0, 0], Some(4))));
        assert_eq!(stages("E|t|tt*2|L"), Some((vec![0, 1, 3, 0], None)));
        assert_eq!(stages("x"), None);
        assert_eq!(stages("(t*99999)*99999"), None);
        let uneven = [7, 9, 1, 0, 8];
        assert_eq!(stages(&written(&uneven, 1, 4)), Some((uneven.to_vec(), None)));
        assert_eq!(stages(&written(&uneven, 2, 3)), Some((uneven.to_vec(), Some(3))));
        assert_eq!(written(&[3, 1], 1, 1), "Et*3|tmL");
        assert_eq!(written(&[3, 1, 0, 0], 1, 2), "Et*3|t|m|L");
    }

    /// What a card says that stages need is what the exported settings need: random splits of 32 layers over four
    /// ranks, under each release.
    #[test]
    fn settings_need_the_release_that_is_said_of_their_stages() {
        let mut seen = [0; 2];
        for (at, stack) in
            (0..120).flat_map(|at| ["megatron-2024", "megatron-2025", "megatron-2026"].map(|id| (at, id)))
        {
            let (first, second, third) = (6 + at % 4, 7 + at / 4 % 3, 8 + at / 12 % 2);
            let stages = format!("{first},{second},{third},{}", 32 - first - second - third);
            let set = [("stack", stack.to_owned()), ("stage_layers", stages)];
            let run = shardscope_core::run::Run::default().with_texts(&set).unwrap();
            let mut writer = SettingsWriter::default();
            let scenario = Scenario::new(&run).unwrap();
            write(&scenario, &mut writer);
            let needed = shardscope_core::pipeline::release::needed_release(&run);
            let said = needs_release(&scenario, &writer.done());
            assert_eq!(said.is_some(), needed.is_some(), "{stack} {set:?} {said:?}");
            if let Some((said, NeededRelease::Stages(release))) = said.zip(needed) {
                assert!(said.contains(&format!("Megatron Core {release} or later")), "{said}");
                seen[usize::from(release == STAGES_SINCE[0])] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 2), "{seen:?}");
    }

    #[test]
    fn the_ends_of_a_pipeline_may_hold_fewer_layers() {
        assert_eq!(ends(30, 4, 1, Some(7), Some(7)), Some(vec![7, 8, 8, 7]));
        assert_eq!(ends(126, 16, 1, Some(7), Some(7)).map(|stages| stages.iter().sum()), Some(126));
        assert_eq!(ends(32, 4, 1, None, None), None);
        // Megatron-LM's test with 6 layers on 4 ranks of 2 chunks.
        let ends = Some(vec![0, 1, 1, 1, 1, 1, 1, 0]);
        assert_eq!(lightened(6, 8, 1, 1), ends);
        assert_eq!(lightened(7, 8, 1, 1), None);
    }
}
