//! What a list of the form sets: the choice itself, and the settings that follow it, which a notice names.

use crate::panels::budget::{assumed_tokens, show_tokens};
use crate::panels::chosen::LayoutOrigin;
use crate::prelude::*;
use shardscope_core::advice::fit::{called, shown};
use shardscope_core::issue::Issue;
use shardscope_core::report::with_schedule;
use shardscope_core::run::follow::{following, with_following};
use shardscope_core::run::registry::{FIELDS, Field, Slot, clear_parts, field};
use shardscope_core::run::{Choice, Selective, Value};
use shardscope_core::search::paired::with_pairs;

/// Keys of fields and the texts that set them.
type Set = Vec<(&'static str, String)>;

/// A Run after a choice.
pub struct AfterChoice {
    pub run: Run,
    /// All that was set besides what was chosen, with undo; none where nothing was.
    pub notice: Option<Issue>,
}

/// `before`, whose layout is from `origin`, after `value` was chosen for `field`. `follows`: a layout is chosen for
/// what comes of it.
pub fn choose(before: &Run, field: &Field, value: &Value, origin: LayoutOrigin, follows: bool) -> AfterChoice {
    let scheduled = match value {
        Value::Text(id) if field.key == "schedule" => scheduled(before, id, origin),
        _ => None,
    };
    let run = scheduled.unwrap_or_else(|| {
        let mut run = before.clone();
        if field.key == "gpu" {
            run = run.with_price_of_kind();
        }
        // A preset is chosen whole: what was changed of the one before goes with it.
        clear_parts(&mut run, field.key);
        // Every id of the list is accepted.
        let _ = field.set(&mut run, value);
        let set = following(before, &run, field.key, follows);
        run.with_texts(&set).unwrap_or(run)
    });
    let notice = along(before, &run, field);
    AfterChoice { run, notice }
}

/// `run`, in which a text was taken into `field` after `before`, with the settings that follow it.
pub fn typed(before: &Run, field: &Field, run: Run) -> AfterChoice {
    let set = following(before, &run, field.key, true);
    if set.is_empty() {
        return AfterChoice { run, notice: None };
    }
    let run = run.with_texts(&set).unwrap_or(run);
    let notice = along(before, &run, field);
    AfterChoice { run, notice }
}

/// `run` under the schedule `id` with what that needs besides.
fn scheduled(run: &Run, id: &str, origin: LayoutOrigin) -> Option<Run> {
    let next = run.with_texts(&with_following(run, with_schedule(run, id)))?;
    let fixed = with_pipeline(&next).unwrap_or(next);
    // Passes run in pairs in few layouts: where it is not the person's own, it is one of these.
    let is_own =
        matches!(origin, LayoutOrigin::Yours | LayoutOrigin::Link | LayoutOrigin::File | LayoutOrigin::Published);
    let set = if is_own || run.schedule == fixed.schedule { None } else { with_pairs(&fixed) };
    Some(set.and_then(|set| fixed.with_texts(&set)).unwrap_or(fixed))
}

/// A Run without a pipeline that has none of its schedule, with the sizes that the schedule needs.
fn with_pipeline(next: &Run) -> Option<Run> {
    if next.pp > 1 {
        return None;
    }
    let errors = evaluate(next).err()?;
    let fix = errors.iter().flat_map(Issue::fixes).find(|fix| fix.set.iter().any(|(key, _)| *key == "pp"))?;
    next.with_texts(&fix.set)
}

/// Key of the tokens of a run.
const TOKENS: &str = "tokens_total";

/// The tokens that `before` and `after` assume, where neither has its own and they differ: with adapters and on a node
/// those of a fine-tuning.
fn tokens_moved(before: &Run, after: &Run) -> Option<[f64; 2]> {
    let tokens = [assumed_tokens(before)?, assumed_tokens(after)?];
    (tokens[0].to_bits() != tokens[1].to_bits()).then_some(tokens)
}

/// A notice that names all of `after` that moved along with `chosen`, which was chosen after `before`, with undo: other
/// settings, and the tokens that are assumed; none where nothing did.
fn along(before: &Run, after: &Run, chosen: &Field) -> Option<Issue> {
    let fixed = fixed_chunks(after).is_some();
    let differs = |field: &&Field| field.key != chosen.key && field.get(before) != field.get(after);
    let others: Vec<&'static Field> = FIELDS.iter().filter(differs).collect();
    // The number of chunks that a schedule fixes stands in its place.
    let named: Vec<&Field> = others.iter().copied().filter(|field| !(fixed && field.key == "virtual_stages")).collect();
    let tokens = tokens_moved(before, after);
    if named.is_empty() && tokens.is_none() {
        return None;
    }
    let one = |field: &Field| match field.text(after).filter(|text| !text.is_empty()) {
        Some(text) => Message::joined(" ", [called(field), shown(field, &text)]),
        None => t!("{name} no longer set", name = called(field)),
    };
    let moved = tokens
        .zip(field(TOKENS))
        .map(|([_, tokens], field)| t!("{name} {tokens}, assumed", name = called(field), tokens = show_tokens(tokens)));
    let words = t!(
        "Set with {choice}: {settings}",
        choice = label(chosen, after),
        settings = Message::joined(", ", named.iter().map(|field| one(field)).chain(moved))
    );
    // Where the length is from: nobody stated it.
    let brings = chosen.key == "adapter.method" && after.adapter.method.is_some();
    let is_length = brings && others.iter().any(|field| field.key == "seq_len");
    let words = if is_length { t!("{set}. The length is that of QLoRA's published run", set = words) } else { words };
    // What a preset had of its own stands with that preset alone; a schedule asks for the settings that came with it.
    let parts = format!("{}.", chosen.key);
    let whole = chosen.key == "schedule" || others.iter().any(|field| field.key.starts_with(&parts));
    let back = FIELDS.iter().filter(|field| whole && field.key == chosen.key).chain(others);
    let mut back: Set = back.map(|field| (field.key, field.text(before).unwrap_or_default())).collect();
    // Where the choice itself is taken back, the tokens of before are assumed again.
    let is_back = back.iter().any(|(key, _)| *key == chosen.key);
    let text = |tokens: f64| field(TOKENS)?.text(&Run { tokens_total: Some(tokens), ..Run::default() });
    back.extend(tokens.filter(|_| !is_back).and_then(|[tokens, _]| Some((TOKENS, text(tokens)?))));
    Some(Issue::notice(chosen.key, words).with_fixes(back).labelled("undo"))
}

/// The label of what `run` has for `field`.
fn label(field: &Field, run: &Run) -> Message {
    let id = field.text(run).unwrap_or_default();
    let Slot::Choice { options, .. } = &field.slot else {
        return Message::joined(" ", [called(field), verbatim(id)]);
    };
    match options().into_iter().find(|option| option.id == id) {
        Some(option) => Message::plain(option.label),
        None if field.key == "adapter.method" => t!("all weights"),
        None => Message::plain(field.label),
    }
}

/// The label of `option` of a list in `run`: what its software makes of selective recomputation is said there.
pub fn label_in(run: &Run, field: &Field, option: Choice) -> &'static str {
    if field.key != "recompute" || option.id != SELECTIVE {
        return option.label;
    }
    match run.software().selective {
        Selective::CoreAttention => "selective (attention core)",
        Selective::Operators => "selective (every second product)",
        Selective::Layers => "selective (whole layers, as full)",
    }
}

/// The id of selective recomputation.
const SELECTIVE: &str = "selective";

/// Chunks per rank where the schedule of `run` fixes more than one, and the schedule's name.
pub fn fixed_chunks(run: &Run) -> Option<(u64, &'static str)> {
    let row = run.schedule.row();
    let chunks = row.virtual_stages.filter(|chunks| *chunks > 1)?;
    Some((u64::from(chunks), row.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::budget::budget_tokens;

    fn after(before: &Run, key: &str, id: &str) -> AfterChoice {
        let value = if id.is_empty() { Value::Null } else { Value::Text(id.to_owned()) };
        choose(before, field(key).unwrap(), &value, LayoutOrigin::Chosen, true)
    }

    /// The list of recomputation says what the software drops: PyTorch's FSDP wraps whole layers, torchtitan's "op"
    /// keeps every second product, Megatron-LM drops the core of attention. Two entries that do the same say so.
    #[test]
    fn the_list_of_recomputation_says_what_the_software_does() {
        for (stack, words) in
            [("fsdp2", "whole layers"), ("torchtitan", "every second product"), ("megatron-2025", "attention core")]
        {
            let run = Run::example().with_texts(&[("stack", stack), ("recompute", "selective")]).unwrap();
            let field = field("recompute").unwrap();
            let Slot::Choice { options, .. } = &field.slot else { panic!() };
            let shown = options().into_iter().map(|option| (option.id, label_in(&run, field, option)));
            let of: std::collections::BTreeMap<_, _> = shown.collect();
            assert!(of["selective"].contains(words), "{stack} {of:?}");
            let full = Run { recompute: shardscope_core::run::Recompute::Full, ..run.clone() };
            assert_eq!(run.recomputed() == full.recomputed(), of["selective"].contains("as full"), "{stack}");
        }
    }

    /// The choices of the sentence and the column, each from runs of several kinds: a notice names every setting that
    /// has another value than before, and its undo brings all of them back.
    #[test]
    fn whatever_a_choice_moves_is_named_and_can_be_taken_back() {
        let with = |set: &[(&str, &str)]| Run::example().with_texts(set).unwrap();
        let settings: [&[(&str, &str)]; 6] = [
            &[],
            &[("adapter.method", "qlora"), ("seq_len", "512"), ("global_batch", "16"), ("stack", "hf-trainer")],
            &[("pp", "1"), ("tp", "1")],
            &[("schedule", "interleaved-1f1b"), ("virtual_stages", "4"), ("stage_layers", "2*16")],
            &[("model.layers", "40"), ("price_per_gpu_hour", "3"), ("gpu.memory_gib", "70")],
            &[("model", "deepseek-v3"), ("gpu", "h800-sxm-80gb"), ("gpus", "2048"), ("stack", "deepseek-v3")],
        ];
        let runs: Vec<Run> = settings.iter().map(|set| with(set)).collect();
        let (mut named, mut of_tokens) = (0, 0);
        for (run, key) in runs
            .iter()
            .flat_map(|run| ["adapter.method", "stack", "schedule", "gpu", "model", "precision"].map(|key| (run, key)))
        {
            let chosen = field(key).unwrap();
            let Slot::Choice { options, .. } = &chosen.slot else { panic!("{key} is a list") };
            let ids = options().into_iter().map(|option| option.id).chain([""]);
            for id in ids.filter(|id| !id.is_empty() || ["adapter.method"].contains(&key)) {
                let AfterChoice { run: next, notice } = after(run, key, id);
                let moved: Vec<&Field> = FIELDS
                    .iter()
                    .filter(|field| field.key != key && field.get(run) != field.get(&next))
                    .filter(|field| field.key != "virtual_stages" || fixed_chunks(&next).is_none())
                    .collect();
                let tokens = [run, &next].map(budget_tokens);
                let Some(notice) = notice else {
                    assert!(moved.is_empty(), "{key} {id} moves {} in silence", moved[0].key);
                    assert!(tokens[0].to_bits() == tokens[1].to_bits(), "{key} {id} moves the tokens in silence");
                    continue;
                };
                let words = notice.message.to_string();
                let is_said = words.contains(&format!("Token budget {}, assumed", show_tokens(tokens[1])));
                assert_eq!(is_said, tokens[0].to_bits() != tokens[1].to_bits(), "{key} {id}: {words}");
                of_tokens += usize::from(is_said);
                for field in &moved {
                    assert!(words.contains(&called(field).to_string()), "{key} {id}: {} is not in: {words}", field.key);
                    named += 1;
                }
                let undo = notice.fix.as_ref().unwrap();
                let back = next.with_texts(&undo.set).unwrap();
                assert!((budget_tokens(&back) / tokens[0] - 1.0).abs() < 1e-12, "{key} {id}: {:?}", undo.set);
                let is_other = |field: &&Field| field.key != key && field.key != TOKENS;
                let differ = |field: &&Field| is_other(field) && field.get(&back) != field.get(run);
                assert_eq!(FIELDS.iter().find(differ).map(|field| field.key), None, "{key} {id}: {:?}", undo.set);
            }
        }
        assert!(named > 40 && of_tokens > 4, "{named} {of_tokens}");
    }

    /// The run of `QLoRA` on 65 B parameters had targets of 512 tokens and batches of 16 (artidoro/qlora
    /// `scripts/finetune_guanaco_65b.sh`): they come with the choice, its notice says so, and they go with it.
    #[test]
    fn length_and_batch_of_an_adapter_are_named_and_go_with_it() {
        for (id, label) in [("lora", "LoRA"), ("qlora", "QLoRA")] {
            let before = Run::example();
            let AfterChoice { run, notice } = after(&before, "adapter.method", id);
            let words = notice.unwrap().message.to_string();
            let parts = [format!("Set with {label}:"), "Sequence 512".to_owned(), "Global batch 64".to_owned()];
            assert!(words.ends_with("The length is that of QLoRA's published run"), "{words}");
            assert!(parts.iter().all(|part| words.contains(part)), "{words}");
            assert_eq!((run.seq_len, run.global_batch), (512, 64));
            let AfterChoice { run, notice } = after(&run, "adapter.method", "");
            assert!(notice.unwrap().message.to_string().contains("all weights"), "named");
            assert_eq!(run, before);
        }
    }
}
