//! The overlap table against formulas of its own: speeds reached, ratios, and the bytes of each kind of message.

use crate::common::random::{Random, random_run};
use shardscope::core::cluster::ParallelAxis;
use shardscope::core::report::{Evaluation, evaluate, rank_overlaps};
use shardscope::core::run::{Run, Schedule};
use shardscope::core::traffic::{CallKind, OverlapRow, Traffic};
use shardscope::core::units::MemoryUnit;
use shardscope::io::link::{decode, encode};
use shardscope::view::panels::overlap::rows as table;

fn at(link: &str) -> Evaluation {
    evaluate(&decode(&format!("v=1&{link}")).run).unwrap()
}

fn bytes(evaluation: &Evaluation, traffic: Traffic) -> f64 {
    let row = evaluation.report.overlap.iter().find(|row| row.traffic == traffic);
    row.map_or(0.0, |row| row.bytes_per_gpu.0)
}

/// The valid ones among 3,000 random runs.
fn evaluations() -> impl Iterator<Item = Evaluation> {
    let mut random = Random::new(2_506);
    (0..3000).filter_map(move |_| evaluate(&random_run(&mut random)).ok())
}

/// In every row bytes over the speed reached are the wire time, and the ratio is wire time over compute; messages
/// without compute beside them have no ratio and wait in full.
#[test]
fn speeds_and_ratios_are_quotients_of_what_stands_beside_them() {
    let mut rows = 0;
    for evaluation in evaluations() {
        for row in &evaluation.report.overlap {
            rows += 1;
            match row.reached_bytes_per_s {
                Some(reached) => assert!((row.bytes_per_gpu.0 / reached / row.comm_s.0 - 1.0).abs() < 1e-12),
                None => assert_eq!(row.comm_s.0, 0.0),
            }
            if let Some(ratio) = row.ratio {
                assert!((ratio * row.compute_s.0 - row.comm_s.0).abs() <= 1e-12 * row.comm_s.0);
            } else {
                assert_eq!(row.compute_s.0, 0.0);
                let waits = row.traffic == Traffic::Pp || (row.not_hidden_s.0 - row.comm_s.0).abs() < 1e-12;
                assert!(waits, "{:?}", row.traffic);
            }
        }
    }
    println!("{rows} rows");
    assert!(rows > 1000);
}

/// A ratio below 1 is no promise that messages hide: each such row says the share of its wire time that no compute
/// covers, where that is 1 % or more. A row without compute beside it says that all of it waits, sends between stages
/// that they wait in the bubble.
#[test]
fn every_row_says_what_its_ratio_means() {
    let count = |html: &str, words: &str| html.matches(words).count();
    let mut told = [0; 3];
    for evaluation in evaluations() {
        let rows = &evaluation.report.overlap;
        let html = table(&evaluation, None, MemoryUnit::Gib).to_html();
        let number = |of: &dyn Fn(&OverlapRow) -> bool| rows.iter().filter(|row| of(row)).count();
        let open =
            |row: &OverlapRow| row.ratio.is_some_and(|ratio| ratio < 1.0 && row.not_hidden_s.0 > 0.01 * row.comm_s.0);
        let expected = [
            number(&|row| row.traffic != Traffic::Pp && open(row)),
            number(&|row| row.ratio.is_none()),
            number(&|row| row.traffic == Traffic::Pp),
        ];
        let said = ["of the wire time is uncovered", "nothing beside it: all of it waits", "in the bubble"];
        for ((words, expected), told) in said.into_iter().zip(expected).zip(&mut told) {
            assert_eq!(count(&html, words), expected, "{words}: {}", encode(&evaluation.scenario.run));
            *told += expected;
        }
    }
    println!("{told:?} rows");
    assert!(told.iter().all(|told| *told > 50), "{told:?}");
}

fn row(evaluation: &Evaluation, traffic: Traffic) -> &OverlapRow {
    evaluation.report.overlap.iter().find(|row| row.traffic == traffic).unwrap()
}

/// Messages of each kind.
fn counts(evaluation: &Evaluation, traffic: Traffic) -> Vec<(CallKind, u64)> {
    row(evaluation, traffic).calls.iter().map(|call| (call.kind, call.count)).collect()
}

/// Bytes of all messages of a row are what it sends.
#[test]
fn messages_are_all_that_a_row_sends() {
    let mut rows = 0;
    for evaluation in evaluations() {
        for row in &evaluation.report.overlap {
            rows += 1;
            let sum: f64 = row.calls.iter().map(|call| call.count as f64 * call.bytes.0).sum();
            let sent = row.bytes_per_gpu.0;
            assert!((sum - sent).abs() <= 1e-9 * sent, "{:?} {sum} {sent}: {:?}", row.traffic, evaluation.scenario.run);
        }
    }
    assert!(rows > 1000);
}

/// nccl-tests, `PERFORMANCE.md`: a gather or scatter over n ranks takes `α + bytes/β`, of which each sends `(n-1)/n`.
/// The launch takes 15 µs, a hop 3 in a node and 14 between nodes (NCCL, `tuning.cc`); a ring reaches 78 % of the link
/// and 75 % of the cards (ML Engineering, network benchmarks).
#[test]
fn the_wire_time_of_tensor_parallelism_is_that_of_its_messages() {
    let mut seen = 0;
    for evaluation in evaluations() {
        let (scenario, layout) = (&evaluation.scenario, &evaluation.scenario.layout);
        // Messages of shorter micro-batches are shorter, not fewer.
        if layout.tp < 2 || !layout.sequence_parallel || scenario.run.microbatch_lengths.is_some() {
            continue;
        }
        seen += 1;
        let group = layout.mesh().group(ParallelAxis::Tp);
        let (nodes, size, near) = (group.nodes() as f64, group.size as f64, group.in_node as f64);
        let start = 15e-6 + (size - nodes) * 3e-6 + (nodes - 1.0) * 14e-6;
        let (link, cards) = (0.78 * scenario.gpu.intra.0, 0.75 * scenario.gpu.inter.0 * near);
        let speed = match (nodes > 1.0, near > 1.0) {
            (false, _) => link,
            (true, false) => cards,
            (true, true) => link.min(cards),
        };
        let row = row(&evaluation, Traffic::Tp);
        let time: f64 = row.calls.iter().map(|call| call.count as f64 * (start + call.bytes.0 / speed)).sum();
        // Layers of which one in several runs again make no whole number of messages.
        assert!((time / row.comm_s.0 - 1.0).abs() < 1e-3, "{time} {}: {:?}", row.comm_s.0, scenario.run);
    }
    println!("{seen} runs");
    assert!(seen > 200);
}

/// Korthikanti 2022, section 4.2.2: a layer gathers and scatters twice forward and twice backward; full recomputation
/// runs the forward pass again with its messages. The embedding scatters, the head gathers, each once more backward.
#[test]
fn a_recomputed_layer_sends_its_forward_messages_again() {
    let link = "model=llama-2-7b&gpus=8&tp=8&pp=1&global_batch=4&micro_batch=1&seq_len=4096&stack=megatron-2025";
    let (layers, m) = (32, 4);
    let part = 2.0 * 4096.0 * 4096.0 * 7.0 / 8.0;
    for (more, passes) in [("", 2), ("&recompute=full", 3)] {
        let evaluation = at(&format!("{link}{more}"));
        let count = (2 * passes * layers + 2) * m;
        let expected = vec![(CallKind::AllGather, count), (CallKind::ReduceScatter, count)];
        assert_eq!(counts(&evaluation, Traffic::Tp), expected);
        assert_eq!(row(&evaluation, Traffic::Tp).calls[0].bytes.0, part);
        assert!((bytes(&evaluation, Traffic::Tp) / (2.0 * count as f64 * part) - 1.0).abs() < 1e-12);
    }
    let reduced = at(&format!("{link}&sequence_parallel=false"));
    assert_eq!(counts(&reduced, Traffic::Tp), [(CallKind::AllReduce, (4 * layers + 2) * m)]);
}

/// ZeRO, section 7: weights are gathered for the forward and for the backward pass of a layer, its gradients scattered
/// once; with ZeRO-1 once a step. Switch Transformers: a routed layer dispatches and combines in each pass.
#[test]
fn zero_gathers_twice_and_scatters_once_and_experts_exchange_twice_a_pass() {
    let link = "model=llama-3.1-8b&gpus=8&tp=1&pp=1&global_batch=32&micro_batch=1&seq_len=4096&stack=fsdp2";
    let (layers, m) = (32, 4);
    let sharded = at(&format!("{link}&zero=3"));
    assert_eq!(counts(&sharded, Traffic::Zero3), [(CallKind::AllGather, 2 * layers * m)]);
    assert_eq!(counts(&sharded, Traffic::Dp), [(CallKind::ReduceScatter, layers * m)]);
    let once = at("model=llama-3.1-8b&gpus=8&tp=1&pp=1&global_batch=32&micro_batch=1&zero=1&stack=megatron-2025");
    assert_eq!(counts(&once, Traffic::Dp), [(CallKind::AllGather, 1), (CallKind::ReduceScatter, 1)]);
    let routed = at("model=mixtral-8x7b&gpus=8&tp=1&pp=1&ep=8&global_batch=32&micro_batch=1&stack=megatron-2025");
    assert_eq!(counts(&routed, Traffic::Ep), [(CallKind::AllToAll, 4 * layers * m)]);
}

/// Llama 3, section 3.3.2: keys and values are gathered for the forward pass and again for the backward one, which
/// scatters their gradients. A ring of c ranks sends its block c - 1 times a pass; Ulysses exchanges four tensors.
#[test]
fn context_parallel_ranks_send_by_the_way_they_share_a_sequence() {
    let link = "model=llama-3.1-8b&gpus=4&tp=1&pp=1&cp=4&global_batch=2&micro_batch=1&seq_len=8192&cp_comm=";
    let (layers, m) = (32, 2);
    let of = |way: &str| counts(&at(&format!("{link}{way}")), Traffic::Cp);
    assert_eq!(of("ring"), [(CallKind::Send, 2 * 3 * layers * m)]);
    assert_eq!(of("all-gather"), [(CallKind::AllGather, 2 * layers * m), (CallKind::ReduceScatter, layers * m)]);
    assert_eq!(of("ulysses"), [(CallKind::AllToAll, 8 * layers * m)]);
}

/// A stage sends its output forward unless it is the last, and a gradient backward unless it is the first: `2 b s h`
/// bytes each, over the tensor-parallel ranks with sequence parallelism.
#[test]
fn a_stage_sends_its_output_and_its_gradient_once() {
    let mut seen = 0;
    for evaluation in evaluations() {
        let (scenario, run) = (&evaluation.scenario, &evaluation.scenario.run);
        let one_way = [Schedule::Gpipe, Schedule::OneFOneB, Schedule::ZbH1].contains(&run.schedule);
        let plain = scenario.precision.computes.activation() == 2.0 && run.mtp_stage.is_none();
        if scenario.layout.pp < 2 || !one_way || !plain || scenario.chunks != 1 {
            continue;
        }
        seen += 1;
        let (layout, last) = (&scenario.layout, evaluation.loads.len() - 1);
        let tokens = (run.micro_batch * run.seq_len) as f64 / layout.cp as f64;
        let split = if layout.sequence_parallel { layout.tp as f64 } else { 1.0 };
        let message = 2.0 * tokens * scenario.model.hidden as f64 / split;
        let rank = evaluation.busiest;
        let messages = f64::from(u8::from(rank < last) + u8::from(rank > 0));
        let expected = messages * message * layout.microbatches as f64;
        let sent = bytes(&evaluation, Traffic::Pp);
        assert!((sent / expected - 1.0).abs() < 1e-9, "{sent} {expected}: {:?}", run.schedule);
    }
    println!("{seen} pipelines");
    assert!(seen > 100);
}

/// At the turn of a V two stages stand on one rank: of four ranks with two chunks each the last hands its first chunk's
/// output to itself. It sends and gets one state forward and one gradient backward: two messages a micro-batch where
/// the ranks in front send four, and the first, whose second chunk is the last stage, two.
#[test]
fn the_turn_of_a_v_sends_nothing() {
    let link = "model=llama-3.1-8b&gpus=4&tp=1&pp=4&schedule=zb-v&global_batch=32&zero=0&seq_len=4096&micro_batch=1";
    let evaluation = at(link);
    let scenario = &evaluation.scenario;
    let message = 2.0 * 4096.0 * scenario.model.hidden as f64;
    let sent: Vec<f64> = rank_overlaps(&evaluation)
        .iter()
        .map(|rows| rows.iter().find(|row| row.traffic == Traffic::Pp).map_or(0.0, |row| row.bytes_per_gpu.0))
        .map(|bytes| bytes / message / scenario.layout.microbatches as f64)
        .collect();
    assert_eq!(sent, [2.0, 4.0, 4.0, 2.0]);
}

/// Mixtral 8x7B on eight GPUs, TP 8 and EP 2: four GPUs hold the same experts, while the rest of the model has no
/// replica. ZeRO-1 scatters the experts' fp32 gradients and gathers their bf16 weights: `(4 + 2) E 3/4` for 32 layers
/// of 4 experts of three matrices.
#[test]
fn experts_have_replicas_where_the_rest_has_none() {
    let evaluation = at("model=mixtral-8x7b&gpus=8&tp=8&pp=1&ep=2&etp=1&zero=1&global_batch=8&seq_len=4096");
    let held = 32.0 * 4.0 * 3.0 * 4096.0 * 14336.0;
    let sent = bytes(&evaluation, Traffic::Dp);
    assert!((sent / (6.0 * held * 0.75) - 1.0).abs() < 1e-9, "{sent}");
    assert!(evaluation.report.overlap.iter().any(|row| row.traffic == Traffic::Dp && row.exposed_s.0 > 0.0));
}

/// GPT-2 XL on eight GPUs: every parameter has a gradient, the learned positions too. 48 layers of width 1600, 50,257
/// words, which Megatron-LM pads to 50,304, and 1,024 positions.
#[test]
fn gradients_are_those_of_every_parameter() {
    let evaluation = at("model=gpt-2-xl&gpus=8&tp=1&pp=1&zero=0&global_batch=8&seq_len=1024");
    let (layers, width, positions) = (48.0, 1600.0, 1024.0);
    let layer = 12.0 * width * width + 13.0 * width;
    let sent = bytes(&evaluation, Traffic::Dp);
    let expected = layers * layer + (50_304.0 + positions) * width + 2.0 * width;
    let elements = sent / (2.0 * 4.0 * 7.0 / 8.0);
    assert!((elements / expected - 1.0).abs() < 1e-9, "{elements}");
}

/// No row is faster than the data sheets' links of its group together: the scale-up link in a node, the cards of all
/// members in a node across nodes. A switch that adds up reaches 482 GB/s of 450 (ML Engineering, network benchmarks,
/// eight H200), a tenth more at most. Experts, copies of embeddings and of heads have groups of their own.
#[test]
fn no_message_is_faster_than_the_links_of_its_group() {
    let mut rows = 0;
    for evaluation in evaluations() {
        let (scenario, mesh) = (&evaluation.scenario, evaluation.scenario.layout.mesh());
        let (model, layout) = (&scenario.model, &scenario.layout);
        let copies = model.tied_embeddings || model.mtp_modules > 0 || model.kv_heads < layout.tp;
        if model.moe.is_some() || copies || scenario.zero.shard != layout.dp * layout.cp {
            continue;
        }
        for row in &evaluation.report.overlap {
            let group = match row.traffic {
                Traffic::Dp | Traffic::Zero3 => mesh.shard_group(scenario.layout.dp * scenario.layout.cp),
                Traffic::Tp => mesh.group(ParallelAxis::Tp),
                _ => continue,
            };
            let Some(reached) = row.reached_bytes_per_s else { continue };
            rows += 1;
            let (card, link) = (scenario.gpu.inter.0, scenario.gpu.intra.0);
            let sheet = if group.nodes() == 1 { link } else { link.min(card * group.in_node as f64) };
            assert!(reached <= 1.1 * sheet, "{:?}: {reached} of {sheet}", row.traffic);
        }
    }
    println!("{rows} rows");
    assert!(rows > 300);
}

/// Tied embeddings on both ends of a pipeline add up their gradients, however many replicas there are.
#[test]
fn tied_embeddings_send_without_replicas() {
    let run = |gpus: u64| Run { gpus, ..decode("v=1&model=gpt-2-xl&tp=1&pp=2&zero=0&global_batch=8&seq_len=1024").run };
    let alone = evaluate(&run(2)).unwrap();
    assert!(bytes(&alone, Traffic::Dp) > 0.0);
}
