//! What cards and lead say, held against the search and the reports.

use super::found::{SearchProgressShown, better_part, of_whole_steps};
use super::lead::lead;
use super::reasons::{assumed_host, relevant, set_together};
use super::suggestion;
use super::tight::{as_published, tight_sentence};
use crate::panels::changes::changes;
use crate::panels::chosen::{LayoutOrigin, Whose, chip};
use crate::panels::names::{change_name, name, names};
use crate::panels::waterfall::{main_loss, part_words};
use crate::prelude::*;
use crate::words;
use shardscope_core::report::report;
use shardscope_core::rl::predict;
use shardscope_core::run::Recompute;
use shardscope_core::run::presets::{PUBLISHED, WHOLE_RUNS};
use shardscope_core::run::{Algorithm, RlParts};
use shardscope_core::search::better::{Better, Betters, Cause, Gain, Reason};
use shardscope_core::search::ladder::{Ladder, LadderEnd, asked};
use shardscope_core::search::session::{PlanQuery, PlanSession};
use shardscope_core::search::{Figures, least_told};
use shardscope_core::time::PartKind;

/// Where the cause names one of several settings that a button changes, a sentence names all of them.
#[test]
fn a_button_says_all_settings_that_it_changes() {
    let own = Run::example();
    let run = Run { tp: 4, pp: 2, micro_batch: 2, zero: 1, ..own.clone() };
    let figures = Figures::from(&report(&own).unwrap());
    let better = Better { run: run.clone(), gain: Gain::Length, figures, cause: None, saved: Vec::new() };
    let reason = Reason::Part(PartKind::Kernels);
    // The title of a faster layout has them all.
    let faster = Better { gain: Gain::Time, ..better.clone() };
    let title = name(&faster, &own).to_string();
    assert!(["TP 4", "PP 2", "micro-batch 2"].iter().all(|part| title.contains(part)), "{title}");
    assert_eq!(set_together(&own, &faster, reason), None);
    let words = set_together(&own, &better, reason).unwrap().to_string();
    for change in changes(&run, &own) {
        assert!(words.contains(change.field.label), "{}: {words}", change.field.label);
    }
    // That of an adapter has the layout: the sentence has what else is set.
    let adapter = Better { gain: Gain::Adapter, ..better.clone() };
    assert_eq!(set_together(&own, &adapter, reason), None);
    let allocator = Run { allocator: shardscope_core::run::Allocator::Expandable, ..run };
    let words = set_together(&own, &Better { run: allocator, ..adapter }, reason).unwrap().to_string();
    assert!(words.contains("Allocator") && !words.contains("Tensor parallel"), "{words}");
    let one = Better { run: Run { micro_batch: 2, ..own.clone() }, ..better };
    assert_eq!(set_together(&own, &one, reason), None);
}

/// Korthikanti 2022, equation 2: activations are `s b h (34 + 5 a s / h) / t` of a layer. They grow with the
/// micro-batch b and shrink with the ranks t.
#[test]
fn a_cause_moves_the_quantity_the_way_it_went() {
    let run = Run { tp: 1, micro_batch: 1, ..Run::default() };
    let other = Run { tp: 4, micro_batch: 2, ..run.clone() };
    let text = |reason| relevant(&run, &other, reason).to_string();
    assert_eq!(text(Reason::Memory(Component::Activations)), "TP 4 instead of 1");
    assert_eq!(text(Reason::Part(PartKind::Kernels)), "micro-batch 2 instead of 1");
}

/// Rajbhandari 2020, section 5: ZeRO-1 shards optimizer states, ZeRO-2 gradients too, ZeRO-3 weights too. Tensor
/// and pipeline parallelism cut all of them.
#[test]
fn a_cause_names_the_stage_that_shards_it_and_every_cut() {
    let run = Run { tp: 1, pp: 1, zero: 1, ..Run::default() };
    let other = Run { tp: 2, pp: 2, zero: 2, ..run.clone() };
    let text = |component| relevant(&run, &other, Reason::Memory(component)).to_string();
    let cuts = "TP 2 instead of 1, PP 2 instead of 1";
    assert_eq!(text(Component::Weights), cuts);
    assert_eq!(text(Component::Optimizer), cuts);
    assert_eq!(text(Component::Gradients), format!("ZeRO 2 instead of 1, {cuts}"));
    // Stage 3 gathers the weights of a layer before its passes (section 5.3): another stage has no such buffer.
    let run = Run { zero: 3, ..run };
    assert_eq!(relevant(&run, &other, Reason::Memory(Component::Buffers)).to_string(), "ZeRO 2 instead of 3");
}

/// Llama 3.1 70B with QLoRA on an L40S: 70 billion weights of 4 bits are 35 GB of its 48 GB, so that activations on the
/// host are a way to fit on one. The line of more GPUs says that, and leads nobody away from the card that fits on one.
#[test]
fn more_gpus_are_said_to_be_needed_without_what_other_cards_do() {
    let texts = [("adapter.method", "qlora"), ("gpu", "l40s"), ("gpus", "1"), ("tp", "1"), ("pp", "1")];
    let texts = texts.map(|(key, text)| (key, text.to_owned()));
    let run = Run::default().with_texts(&texts).unwrap();
    let own = evaluate(&run).unwrap();
    let figures = Figures::from(&own.report);
    let with = |gain, run: Run| Better { gain, run, figures, cause: None, saved: Vec::new() };
    let mut moved = run.clone();
    moved.offload.activations = Some(vec![shardscope_core::run::Leaving::Cpu]);
    let more = || with(Gain::Fewest, Run { gpus: 2, ..run.clone() });
    let shorter = || with(Gain::Length, Run { seq_len: 512, ..run.clone() });
    let said = |list: Vec<Better>| {
        let betters = Betters { list, done: true, ..Betters::default() };
        let searched = SearchProgressShown { done: true, betters, ..Default::default() };
        suggestion(&own, &searched, MemoryUnit::Gib).to_html()
    };
    let offloaded = || with(Gain::Change, moved.clone());
    let (there, beside) = ("no layout was found that fits on 1 GPU", "; other cards fit there.");
    for list in [vec![offloaded(), more()], vec![offloaded(), shorter(), with(Gain::Adapter, shorter().run), more()]] {
        let html = said(list);
        assert!(html.contains(&format!("As it is set and without offloading, {there}{beside}")), "{html}");
    }
    assert!(said(vec![shorter(), more()]).contains(&format!("As it is set, {there}{beside}")));
    assert!(said(vec![more()]).contains(&format!("Without offloading, {there}; 2 is the next number")));
}

/// A larger batch on the same layout is no layout: beside its card alone the page says what the search found, and
/// that the batch lessens the bubble, not that a layout can.
#[test]
fn a_larger_batch_is_not_called_a_layout() {
    let run = Run { global_batch: 64, ..Run::default() };
    let own = evaluate(&run).unwrap();
    let other = Run { global_batch: 256, ..run };
    let figures = Figures::from(&evaluate(&other).unwrap().report);
    let cause =
        Cause { reason: Reason::Share(PartKind::Bubble), before: 0.3, after: 0.1, pipelines: [(8, 8), (8, 32)] };
    let batch = Better { gain: Gain::Batch, run: other, figures, cause: Some(cause), saved: Vec::new() };
    let said = |list: Vec<Better>| {
        let betters = Betters { list, done: true, ..Betters::default() };
        let searched = SearchProgressShown { done: true, evaluated: 19_824, betters, ..Default::default() };
        (suggestion(&own, &searched, MemoryUnit::Gib).to_html(), lead(&own, &searched).to_html())
    };
    let (cards, line) = said(vec![batch.clone()]);
    assert!(cards.contains("No layout that fits is known to be faster, of 19"), "{cards}");
    assert!(cards.contains("10.0\u{a0}% of the step"), "{cards}");
    assert!(
        line.contains("The loss that the card &quot;Batch 256, this layout&quot; lessens: ")
            && !line.contains("a layout lessens most"),
        "{line}"
    );
    let (cards, line) = said(vec![Better { gain: Gain::Time, ..batch }]);
    assert!(!cards.contains("No layout that fits") && line.contains("a layout lessens most"), "{cards} {line}");
}

/// Tight layouts of 70 and 88 % of the step: one sentence says that none which fits is known to be faster
/// and that they take 12 to 30 % less time; beside other layers a stage that are faster it does not say the first.
#[test]
fn what_fits_and_what_is_tight_are_one_sentence() {
    let run = Run { global_batch: 64, ..Run::default() };
    let own = evaluate(&run).unwrap();
    let figures = Figures::from(&own.report);
    let better = |gain, share: f64, stages: &[u64]| {
        let run = Run { stage_layers: Some(stages.to_vec()), ..run.clone() };
        Better {
            gain,
            run,
            figures: Figures { time_s: figures.time_s * share, ..figures },
            cause: None,
            saved: Vec::new(),
        }
    };
    let tight = vec![better(Gain::Time, 0.7, &[7, 9, 8, 8]), better(Gain::Time, 0.88, &[7, 8, 9, 8])];
    let said = |list: Vec<Better>, tight: Vec<Better>| {
        let betters = Betters { list, tight, done: true, ..Betters::default() };
        let searched = SearchProgressShown { done: true, evaluated: 9, betters, ..Default::default() };
        suggestion(&own, &searched, MemoryUnit::Gib).to_html()
    };
    let both = said(Vec::new(), tight.clone());
    let usable = MemoryUnit::Gib.show(own.report.memory.capacity_bytes);
    let sentence = [
        "Of 9 layouts none that fits is known to be faster;",
        &format!("2 layouts take 12 to 30 % less time but may need more than {usable}."),
    ];
    let sentence = sentence.join(" ");
    assert!(both.contains(&sentence), "{both}");
    assert_eq!(both.matches("known to be faster").count(), 1, "{both}");
    let one = said(Vec::new(), tight[..1].to_vec());
    assert!(one.contains(&format!("1 layout takes 30 % less time but may need more than {usable}")), "{one}");
    let split = said(vec![better(Gain::Split, 0.9, &[9, 8, 8, 7])], tight);
    assert!(!split.contains("known to be faster") && split.contains("2 layouts take 12"), "{split}");
}

/// Every route to an adapter asks for one length and one batch where none is stated, those of `QLoRA`'s published
/// run (artidoro/qlora `scripts/finetune_guanaco_65b.sh`: 512 tokens): the list of what is trained, and the cards
/// beside a run that does not fit. The card's title has them. A length that is stated stays, on both.
#[test]
fn a_card_of_adapters_asks_for_what_the_list_sets() {
    use crate::choose::choose;
    use shardscope_core::run::Value;
    use shardscope_core::run::registry::field;

    let set = [("gpu", "rtx-4090"), ("gpus", "4"), ("tp", "1"), ("pp", "1"), ("stack", "hf-trainer")];
    let base = Run::default().with_texts(&set.map(|(key, text)| (key, text.to_owned()))).unwrap();
    for (own, tokens) in [(base.clone(), 512), (Run { seq_len: 2048, ..base }, 2048)] {
        let LadderEnd::Failed(failure) = Ladder::new(&own).unwrap().finished() else { panic!("it fits") };
        assert!(!failure.adapters.is_empty());
        for way in &failure.adapters {
            let id = way.run.adapter.method.unwrap().choice().id;
            let value = Value::Text(id.to_owned());
            let listed = choose(&own, field("adapter.method").unwrap(), &value, LayoutOrigin::Chosen, true).run;
            let pressed = own.with_texts(&asked(&failure.run, &way.run)).unwrap();
            assert_eq!(pressed, listed, "{id}");
            assert_eq!(pressed.seq_len, tokens);
            let figures = Figures::from(&evaluate(&way.run).unwrap().report);
            let better = Better { gain: Gain::Adapter, run: way.run.clone(), figures, cause: None, saved: Vec::new() };
            let betters = Betters { list: vec![better], done: true, ..Betters::default() };
            let searched = SearchProgressShown { done: true, betters, ..Default::default() };
            let html = suggestion(&evaluate(&failure.run).unwrap(), &searched, MemoryUnit::Gib).to_html();
            let is_begun = tokens != own.seq_len;
            assert_eq!(html.contains("512 tokens · batch 16"), is_begun, "{html}");
            assert_eq!(html.contains("those of QLoRA's published run"), is_begun, "{html}");
        }
    }
}

/// GPipe 2019, section 2.3: p stages and m micro-batches idle (p - 1)/(m + p - 1) of the time. Where that is a main
/// loss the line names the batch with its micro-batches a pipeline, B/(d b); with 16 times the batch it does not,
/// and neither does one stage. Without a card of a larger batch the words in place of the cards say it.
#[test]
fn a_batch_that_leaves_few_micro_batches_is_named_as_the_loss() {
    let said = |run: &Run, list: Vec<Better>| {
        let own = evaluate(run).unwrap();
        let betters = Betters { list, done: true, ..Betters::default() };
        let searched = SearchProgressShown { done: true, betters, ..Default::default() };
        let cards = suggestion(&own, &searched, MemoryUnit::Gib).to_html();
        (own.report.layout.dp, cards, lead(&own, &searched).to_html())
    };
    let named = |batch: u64, m: u64| format!("Batch {batch} leaves {m} micro-batches per pipeline");
    for (batch, pp, is_loss) in [(64, 4, true), (32, 8, true), (2048, 4, false), (64, 1, false)] {
        let run = Run { global_batch: batch, pp, ..Run::default() };
        let (dp, cards, line) = said(&run, Vec::new());
        let m = batch / dp;
        assert_eq!(line.contains(&format!("{}. ", named(batch, m))), is_loss, "{batch} {pp}: {line}");
        assert_eq!(cards.contains(&format!("{}: bubble ", named(batch, m))), is_loss, "{batch} {pp}: {cards}");
        // Once on a screen: below the cards only where the line has no room.
        let narrow = cards.contains(&format!("class=\"uncaptioned\"> {}", named(batch, m)));
        assert_eq!(narrow, is_loss, "{batch} {pp}: {cards}");
    }
    let run = Run { global_batch: 64, ..Run::default() };
    let other = Run { global_batch: 128, ..run.clone() };
    let figures = Figures::from(&evaluate(&other).unwrap().report);
    let cause = Cause { reason: Reason::Part(PartKind::Bubble), before: 0.3, after: 0.2, pipelines: [(8, 8), (8, 16)] };
    let (_, cards, _) =
        said(&run, vec![Better { gain: Gain::Batch, run: other, figures, cause: Some(cause), saved: Vec::new() }]);
    assert!(cards.contains("Batch 64 leaves 8 micro-batches per pipeline, 128 leaves 16: "), "{cards}");
    assert!(!cards.contains("per pipeline: bubble "), "{cards}");
}

/// Every part that the cause of a faster layout may name: the line beside the head of the cards and the marked row
/// of the parts name the same one.
#[test]
fn the_main_loss_is_the_cause_that_the_card_of_a_faster_layout_gives() {
    let run = Run { tp: 8, global_batch: 64, recompute: Recompute::Full, ..Run::default() };
    let own = evaluate(&run).unwrap();
    let figures = Figures::from(&evaluate(&Run { tp: 4, ..run.clone() }).unwrap().report);
    let mut named = 0;
    for part in own.report.step.parts.iter().filter(|part| part.seconds.0 > 1e-3 * own.report.step.time_s.0) {
        let cause = Cause { reason: Reason::Part(part.kind), before: 2.0, after: 1.0, pipelines: [(8, 8), (8, 8)] };
        let better = Better { gain: Gain::Time, run: run.clone(), figures, cause: Some(cause), saved: Vec::new() };
        let betters = Betters { list: vec![better], done: true, ..Betters::default() };
        let searched = SearchProgressShown { done: true, betters, ..Default::default() };
        let words = part_words(part.kind);
        let line = lead(&own, &searched).to_html();
        assert!(line.contains(&format!("a layout lessens most: {words}, ")), "{words}: {line}");
        assert!(suggestion(&own, &searched, MemoryUnit::Gib).to_html().contains(words), "{words}");
        let rows = super::super::waterfall::falls(&own, searched.lessened()).to_html();
        assert_eq!(rows.matches("row main").count(), 1, "{words}");
        named += 1;
    }
    assert!(named >= 5, "{named}");
}

/// Cards of every kind that have a part of the step as cause, two in either order: the first is of a faster layout
/// and its cause is the main loss, or the line names the card whose cause is the main loss, or says that none has
/// it.
#[test]
fn the_line_names_the_card_that_lessens_the_main_loss() {
    let run = Run { tp: 8, global_batch: 64, recompute: Recompute::Full, ..Run::default() };
    let own = evaluate(&run).unwrap();
    let gains = [Gain::Time, Gain::Split, Gain::Gpus, Gain::Equal, Gain::Batch, Gain::Memory];
    let better = |gain, tp, part: Option<PartKind>| {
        let run = Run { tp, stage_layers: (gain == Gain::Split).then(|| vec![7, 9, 8, 8]), ..run.clone() };
        let reason = part.map_or(Reason::Memory(Component::Weights), Reason::Part);
        let cause = Some(Cause { reason, before: 2.0, after: 1.0, pipelines: [(8, 8), (8, 8)] });
        Better { gain, figures: Figures::from(&own.report), run, cause, saved: Vec::new() }
    };
    let parts = [Some(PartKind::Bubble), Some(PartKind::ExposedTp), Some(PartKind::Recompute), None];
    let mut seen = [0; 3];
    for (first, second) in gains.iter().flat_map(|first| gains.map(|second| (*first, second))) {
        for (one, other) in parts.iter().flat_map(|one| parts.map(|other| (*one, other))) {
            let list = vec![better(first, 4, one), better(second, 2, other)];
            let betters = Betters { list: list.clone(), done: true, ..Betters::default() };
            let searched = SearchProgressShown { done: true, betters, ..Default::default() };
            let (main, _) = main_loss(&own, searched.lessened()).unwrap();
            let line = lead(&own, &searched).to_html().replace("&quot;", "\"");
            assert!(line.contains(part_words(main)), "{line}");
            let names = names(&list.iter().collect::<Vec<_>>(), &run);
            let named =
                names.iter().position(|name| line.contains(&format!("The loss that the card \"{name}\" lessens: ")));
            let of_main = list.iter().position(|better| better_part(better) == Some(main));
            let is_first = line.contains("a layout lessens most");
            assert_eq!(named.or(is_first.then_some(0)), of_main, "{line}");
            assert_eq!(line.contains("The largest loss beside the kernels"), of_main.is_none(), "{line}");
            assert!(!is_first || matches!(first, Gain::Time | Gain::Split), "{line}");
            seen[if is_first { 0 } else { 1 + usize::from(of_main.is_none()) }] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
}

/// Stages of other layers, and an even split in place of uneven ones: two layouts have two titles.
#[test]
fn two_cards_never_have_one_title() {
    let figures = Figures::from(&report(&Run::default()).unwrap());
    let with = |set: &[(&str, &str)]| Run::default().with_texts(set).unwrap();
    let own = with(&[("stage_layers", "9,8,8,7")]);
    let sets: [&[(&str, &str)]; 6] = [
        &[],
        &[("stage_layers", "7,8,8,9")],
        &[("stage_layers", "7,9,8,8")],
        &[("stage_layers", "7,9,8,8"), ("cross_entropy", "te-fused")],
        &[("offload.optimizer", "cpu")],
        &[("offload.optimizer", "cpu"), ("host_memory_gib", "192")],
    ];
    let runs: Vec<Run> = sets.iter().map(|set| with(set)).chain([own.clone()]).collect();
    for gain in [Gain::Time, Gain::Memory, Gain::Equal, Gain::Fits, Gain::Gpus, Gain::Split, Gain::Change] {
        let list: Vec<Better> =
            runs.iter().map(|run| Better { gain, run: run.clone(), figures, cause: None, saved: Vec::new() }).collect();
        let titles = names(&list.iter().collect::<Vec<_>>(), &own);
        let words: std::collections::BTreeSet<String> = titles.iter().map(ToString::to_string).collect();
        assert_eq!(words.len(), runs.len(), "{gain:?}: {words:?}");
    }
    // Where titles differ by themselves nothing is added.
    let alone = Better { gain: Gain::Time, run: runs[1].clone(), figures, cause: None, saved: Vec::new() };
    let title = names(&[&alone], &own)[0].to_string();
    assert!(title == name(&alone, &own).to_string() && title.ends_with("layers by stage 7/8/8/9"), "{title}");
}

/// The update is a small part of a step that generates: a layout that takes a fifth off it is none that shortens
/// the step by so much, and the one that is left is measured by the whole step.
#[test]
fn cards_of_reinforcement_learning_are_measured_by_the_whole_step() {
    let rl = crate::panels::rl::tests::asked();
    let run = Run { rl: RlParts { algorithm: Some(Algorithm::Grpo), ..rl }, ..Run::default() };
    let own = evaluate(&run).unwrap();
    let figures = |run: &Run| Figures::from(&evaluate(run).unwrap().report);
    let others = [(Gain::Time, Run { tp: 1, pp: 1, ..run.clone() }), (Gain::Batch, run.clone())];
    let list: Vec<Better> = others
        .map(|(gain, run)| Better { gain, figures: figures(&run), run, cause: None, saved: Vec::new() })
        .into_iter()
        .collect();
    let update = 1.0 - list[0].figures.time_s / own.report.step.time_s;
    let betters = Betters { list: list.clone(), ..Betters::default() };
    let (whole, step) = of_whole_steps(&run, betters);
    let own_step = predict(&run).unwrap().step_s;
    let other = predict(&list[0].run).unwrap().step_s;
    assert_eq!(step, Some(own_step));
    let saved = 1.0 - other / own_step;
    assert!(update > 0.02 && saved < update, "{update} {saved}");
    assert_eq!(whole.list.len(), usize::from(saved >= 0.01), "{saved}");
    let searched = SearchProgressShown { done: true, betters: whole, rl_step: step, ..Default::default() };
    assert!(searched.gain(&own).is_none_or(|gain| (gain - saved).abs() < 1e-12));
    let html = suggestion(&own, &searched, MemoryUnit::Gib).to_html();
    assert!(!html.contains(&format!("{:.0} % less", 100.0 * update)), "{html}");
    assert!(!html.contains(&show_seconds(list[0].figures.time_s)), "{html}");
}

/// DeepSeek-V3's report, section 3.1: 2,048 H800. A run of the same model on as many is offered it, that run is
/// not.
#[test]
fn a_run_that_was_published_is_a_press_away() {
    let published = PUBLISHED.iter().find(|one| one.id == "deepseek-v3").unwrap().run();
    let alike = Run { tp: 8, pp: 2, ep: 64, global_batch: 256, ..published.clone() };
    let html = as_published(&alike, &[]).to_html();
    assert!(html.contains("DeepSeek-V3, 2048 H800"), "{html}");
    assert!(as_published(&published, &[]) == Node::none() && as_published(&Run::default(), &[]) == Node::none());
    assert!(as_published(&Run { gpus: 1024, ..alike }, &[]) == Node::none());
}

/// The report of `run`, whose layout is that of `outcome` or a published one, with the cards, the pill and the panel of
/// the layouts beside it.
fn shown_of(run: &Run, outcome: &LadderEnd) -> (Report, String, String, String) {
    let own = evaluate(run).unwrap();
    let query = PlanQuery::improve(run);
    let mut session = PlanSession::new(query.clone()).unwrap();
    while !session.step(1_000_000) {}
    let result = session.result(true);
    let searched = SearchProgressShown::of(&result, &own);
    let cards = suggestion(&own, &searched, MemoryUnit::Gib).to_html();
    let peak = Some(own.report.memory.peak());
    let tight = tight_sentence(&own, &searched, MemoryUnit::Gib);
    let (gain, surer) = (searched.gain(&own), searched.surer(&own));
    let origin = LayoutOrigin::of_loaded(run);
    let origin = if origin == LayoutOrigin::Published { origin } else { LayoutOrigin::Chosen };
    let outcome = (origin == LayoutOrigin::Chosen).then_some(outcome);
    let pill = Whose { origin, waits: false, outcome, gain, surer, tight: tight.as_ref(), peak, of_link: false };
    let view = crate::panels::plan::PlanView {
        query: &query,
        result: &result,
        own: Some(&own),
        folds: &[],
        unit: MemoryUnit::Gib,
    };
    let plan: Node = crate::panels::plan::panel(&view).into_iter().collect();
    (own.report, cards, chip(&pill).to_html(), plan.to_html())
}

/// The layout that is chosen for `run`.
fn chosen(run: &Run) -> LadderEnd {
    Ladder::new(run).unwrap().finished()
}

/// Llama 3.1 8B on 16 A100: tight layouts take less time than the chosen one, by their own reports. Cards, title of the
/// pill and layouts say so with one range, and that it cannot be told apart.
#[test]
fn faster_layouts_that_are_tight_are_said_with_one_range_in_three_places() {
    let set = [("model", "llama-3.1-8b"), ("gpu", "a100-sxm-80gb"), ("gpus", "16")];
    let outcome = chosen(&Run::default().with_texts(&set).unwrap());
    let LadderEnd::Chosen(choice) = &outcome else { panic!("none fits") };
    let mut session = PlanSession::new(PlanQuery::improve(&choice.run)).unwrap();
    while !session.step(1_000_000) {}
    let (own, cards, pill, plan) = shown_of(&choice.run, &outcome);
    let saved = session.result(true).betters.tight.into_iter().map(|one| {
        let alone = report(&one.run).unwrap();
        assert_eq!(alone.memory.overall(), Verdict::Tight, "{:?}", one.run);
        1.0 - alone.step.time_s / own.step.time_s
    });
    let saved: Vec<f64> = saved.collect();
    let [least, most]: [f64; 2] =
        [saved.iter().copied().fold(1.0, f64::min), saved.iter().copied().fold(0.0, f64::max)];
    assert!(saved.len() > 1 && least > 0.0 && most < least_told(&choice.run), "{saved:?}");
    let [low, high] = [least, most].map(show_gain);
    let clause = format!("{} layouts take {low} to {high} % less time but may need more than 79.2 GiB", saved.len());
    let limit = format!("gains below {} % cannot be told apart", show_gain(least_told(&choice.run)));
    for text in [&cards, &pill] {
        assert!(text.contains(&clause) && text.to_lowercase().contains(&limit), "{clause}: {text}");
    }
    assert!(plan.contains(", but may need more than the GPU has:") && plan.to_lowercase().contains(&limit), "{plan}");
}

/// Of DeepSeek-V3 on 2,048 H800 the run that was published may run out. Where it takes less time than the layout that
/// is chosen, cards, title of the pill and layouts all say so, by the two reports' own times, and that it ran, and the
/// published run says what choosing costs it; where it does not, none says so.
#[test]
fn a_faster_layout_that_may_run_out_is_said_wherever_none_is_said_to_be_faster() {
    let published = PUBLISHED.iter().find(|one| one.id == "deepseek-v3").unwrap();
    let outcome = chosen(&published.run());
    let LadderEnd::Chosen(choice) = &outcome else { panic!("none fits") };
    let shown = |run: &Run| shown_of(run, &outcome);
    let (before, cards, pill, plan) = shown(&choice.run);
    let (after, ran_cards, ran_pill, _) = shown(&published.run());
    assert!(before.memory.overall() == Verdict::Fits && after.memory.peak().may_run_out());
    let ratio = after.step.time_s / before.step.time_s;
    if ratio > 0.99 {
        // No tight layout is known that is faster, and none is said to be.
        for text in [&cards, &pill, &plan] {
            assert!(!text.contains("less time but may need more than"), "{ratio} {text}");
        }
        assert!(ratio < 1.0 + least_told(&choice.run), "{ratio}");
        return;
    }
    let saved = show_gain(1.0 - ratio);
    let clause = format!("takes {saved} % less time but may need more than");
    assert!(cards.contains(&clause) && cards.contains(published.name), "{cards}");
    assert!(pill.contains("chosen for you") && pill.contains(&clause), "{pill}");
    // A gain that cannot be told apart is not said without that.
    let limit = format!("gains below {} % cannot be told apart", show_gain(least_told(&choice.run)));
    let is_told = words::is_told(&choice.run, before.step.time_s / after.step.time_s);
    for text in [&pill, &plan] {
        assert!(is_told || text.to_lowercase().contains(&limit), "{limit}: {text}");
    }
    let head = ", but may need more than the GPU has:";
    assert!(plan.contains(head) && plan.contains(&show_seconds(after.step.time_s)), "{plan}");
    let lost = show_gain(before.step.time_s / after.step.time_s - 1.0);
    assert!(ran_pill.contains(&format!("choose for me: fits, {lost} % more time")), "{ran_pill}");
    assert!(!ran_cards.contains("that was published:"), "{ran_cards}");
}

/// A change that moves states to the host has a title, with units and labels.
#[test]
fn every_change_has_a_title() {
    let own = Run::default();
    let texts = [("offload.optimizer", "cpu"), ("host_memory_gib", "192")];
    let other = own.with_texts(&texts.map(|(key, text)| (key, text.to_owned()))).unwrap();
    let title = change_name(&other, &own).to_string();
    assert!(title.contains("Offload optimizer: ") && !title.contains("Host memory"), "{title}");
    assert_eq!(change_name(&Run { tp: 8, ..own.clone() }, &own).to_string(), "TP 8 instead of 2");
    // None of several changes is left out.
    let both = change_name(&Run { tp: 8, ..other.clone() }, &own).to_string();
    assert_eq!(both, format!("TP 8 instead of 2, {title}"));
    let modules = own.with_texts(&[("recompute.modules", "mlp".to_owned())]).unwrap();
    assert_eq!(change_name(&modules, &own).to_string(), "Recomputed modules: MLP");
    // What the press sets of the host is said before it.
    let said = assumed_host(&own, &other, MemoryUnit::Gib).unwrap().to_string();
    assert!(said.contains("It assumes hosts of 192.0 GiB a node"), "{said}");
    assert_eq!(assumed_host(&other, &other, MemoryUnit::Gib), None);
}

/// A search that looked at nothing compared nothing: of no published run are layouts counted then, whatever its memory,
/// and the software that the search is for is named; why the run's own layout is not among its layouts is said where
/// the calculator warns of it.
#[test]
fn a_search_without_layouts_says_so_and_counts_none() {
    let searched = SearchProgressShown {
        done: true,
        betters: Betters { done: true, ..Betters::default() },
        ..SearchProgressShown::default()
    };
    for published in PUBLISHED.iter().chain(WHOLE_RUNS) {
        let Ok(evaluation) = evaluate(&published.run()) else { continue };
        let html = suggestion(&evaluation, &searched, MemoryUnit::Gib).to_html();
        let software = evaluation.scenario.run.stack.preset_row().choice.label;
        assert!(html.contains("The search has no other layout") && html.contains(software), "{html}");
        assert!(!html.contains("of 0") && !html.contains("Of 0"), "{html}");
        assert!(published.id != "whole-bloom" || html.contains("which need Megatron Core"), "{html}");
    }
}

/// Kernels are fewer and larger where each has more of a sequence or of a matrix: TP and CP both do that.
#[test]
fn all_that_make_kernels_larger_are_named() {
    let own = Run { tp: 4, cp: 2, ..Run::default() };
    let other = Run { tp: 2, cp: 1, ..own.clone() };
    let named = relevant(&own, &other, Reason::Part(PartKind::Launches)).to_string();
    assert_eq!(named, "TP 2 instead of 4, CP 1 instead of 2");
}
