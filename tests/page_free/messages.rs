//! Messages between ranks on the page: what is exposed is no longer than the wire time that it is said to be of, and
//! Overlap and Cluster count the same bytes of one rank, on the same links, which carry no more than they can.

use crate::common::random::{Random, random_run};
use crate::sums::time_of;
use shardscope::core::cluster::{GroupKind, Link};
use shardscope::core::report::{DrawnPass, Evaluation, PassParts, evaluate, microbatch_waits};
use shardscope::core::run::Run;
use shardscope::core::run::presets::{PUBLISHED, PublishedRun};
use shardscope::core::traffic::Traffic;
use shardscope::core::units::{MemoryUnit, show_seconds};
use shardscope::io::link::decode;
use shardscope::view::cluster::crossing;
use shardscope::view::cluster::wires::wires;
use shardscope::view::panel::Panel;

const UNIT: MemoryUnit = MemoryUnit::Gib;

/// GPT-3 on 1,024 A100 by the software of 2021, whose tensor-parallel messages hide behind nothing and whose last rank
/// sends more gradients than the busiest; and Kimi K2 in NVL72 domains, where pairs of passes lose time.
const GPT_3: &str = "v=1&model=gpt-3-175b&gpu=a100-sxm-80gb&gpus=1024&tp=8&pp=8&zero=1&seq_len=2048&global_batch=1536&\
    micro_batch=1&schedule=interleaved-1f1b&virtual_stages=3&recompute=selective&stack=megatron-2021";
const KIMI: &str = "v=1&model=kimi-k2&gpu=gb200&gpus=1024&tp=1&pp=8&ep=32&schedule=interleaved-overlap&\
    virtual_stages=2&seq_len=4096&global_batch=4096&stack=megatron-2026&precision=fp8-blockwise";

/// DeepSeek-V3 on 2048 H800, as its report has it.
const DEEPSEEK_V3: &str = "v=1&model=deepseek-v3&gpu=h800-sxm-80gb&gpus=2048&tp=1&pp=32&ep=32&schedule=dualpipe&\
    seq_len=4096&global_batch=15360&stack=deepseek-v3&precision.base=deepseek-fp8&precision.grads=0&\
    recompute.modules=norm,moe_act,mla_up&fp8_activations=true";

/// The first two runs above, the published ones, and random ones with several GPUs.
fn evaluations() -> Vec<Evaluation> {
    let mut random = Random::new(35);
    let random = (0..400).map(|_| random_run(&mut random));
    let named = [GPT_3, KIMI].map(|link| decode(link).run);
    let runs = named.into_iter().chain(PUBLISHED.iter().map(PublishedRun::run)).chain(random);
    let evaluated = runs.filter_map(|run: Run| evaluate(&run).ok());
    evaluated.filter(|evaluation| !evaluation.report.overlap.is_empty()).collect()
}

/// The figures of Overlap as printed: what each kind is exposed, and the wire time that it is of. Exposed is at most
/// that: what slows compute is a share below 1 of what hides.
#[test]
fn what_is_exposed_is_no_longer_than_the_wire_time_beside_it() {
    let (mut checked, mut other_ranks) = (0, 0);
    for evaluation in evaluations() {
        let figures = Panel::Overlap(None).view(&evaluation, UNIT).figures();
        let printed = |field: &str, scope: &str| {
            let figure = figures.iter().find(|(of, whose, _)| of == field && whose == scope);
            figure.map(|(.., text)| time_of(text))
        };
        let kinds: [(&str, &[Traffic]); 4] = [
            ("Exposed TP", &[Traffic::Tp]),
            ("Exposed CP", &[Traffic::Cp]),
            ("Exposed EP", &[Traffic::Ep]),
            ("Exposed DP", &[Traffic::Dp, Traffic::Zero3]),
        ];
        for (part, traffic) in kinds {
            let Some((exposed, half)) = printed(part, "run") else { continue };
            let rows = traffic
                .iter()
                .filter_map(|traffic| printed("overlap:comm_s", &format!("run {}, busiest rank", traffic.id())));
            let of_rows = rows.fold((0.0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
            let own = printed("overlap:wire_s", &format!("run {part}"));
            let (wire, slack) = own.unwrap_or(of_rows);
            let run = &evaluation.scenario.run;
            assert!(exposed <= wire + half + slack, "{part}: {exposed} of {wire}: {run:?}");
            checked += 1;
            other_ranks += usize::from(own.is_some());
        }
    }
    println!("{checked} figures, {other_ranks} of other ranks");
    assert!(checked > 100 && other_ranks > 20, "{checked} {other_ranks}");
}

/// A ratio to compute is claimed exactly where some of the messages hide behind it.
#[test]
fn a_ratio_is_claimed_where_something_hides() {
    let mut none = 0;
    for evaluation in evaluations() {
        for row in evaluation.report.overlap.iter().filter(|row| row.traffic != Traffic::Pp && row.comm_s.0 > 0.0) {
            let hidden = row.comm_s.0 - row.not_hidden_s.0;
            let hides = hidden > 1e-9 * row.comm_s.0;
            assert_eq!(row.ratio.is_some(), hides, "{row:?}: {:?}", evaluation.scenario.run);
            none += usize::from(!hides);
        }
    }
    assert!(none > 20, "{none}");
}

/// Cluster's bytes of a GPU of the busiest rank are those of Overlap; Cluster names that rank, and that Overlap's are
/// of another where a GPU of another is chosen.
#[test]
fn cluster_and_overlap_count_the_same_bytes_of_one_rank() {
    let (mut same, mut others) = (0, 0);
    for evaluation in evaluations() {
        let (all, overlap) = (wires(&evaluation), &evaluation.report.overlap);
        let Some(sent) = all.get(evaluation.busiest) else { continue };
        let rows: [(&[Traffic], &[GroupKind]); 5] = [
            (&[Traffic::Tp], &[GroupKind::Tp]),
            (&[Traffic::Cp], &[GroupKind::Cp]),
            (&[Traffic::Ep], &[GroupKind::Ep]),
            (&[Traffic::Pp], &[GroupKind::Pp]),
            (&[Traffic::Dp, Traffic::Zero3], &[GroupKind::Dp, GroupKind::ExpertDp]),
        ];
        for (traffic, kinds) in rows {
            let of_rows: f64 =
                overlap.iter().filter(|row| traffic.contains(&row.traffic)).map(|row| row.bytes_per_gpu.0).sum();
            let of_wires: f64 = sent.iter().filter(|wire| kinds.contains(&wire.kind)).map(|wire| wire.bytes.0).sum();
            assert!((of_rows - of_wires).abs() <= 1e-9 * of_rows, "{traffic:?}: {of_rows} {of_wires}");
        }
        let mesh = evaluation.scenario.layout.mesh();
        let busiest = evaluation.busiest;
        for rank in [0, all.len() - 1] {
            let gpu = (0..mesh.ranks()).find(|gpu| mesh.place(*gpu).pp == rank as u64).unwrap();
            let html = crossing::tables(&evaluation, gpu, &all, UNIT).to_html();
            let said = format!("Overlap has what one of rank {busiest} sends");
            let is_other = all.len() > 1 && rank != busiest;
            assert_eq!(html.contains(&said), is_other, "{html}");
            same += usize::from(!is_other);
            others += usize::from(is_other);
        }
    }
    assert!(same > 20 && others > 20, "{same} {others}");
}

/// No link carries more than its rate by the data sheet in the time that it is busy, and Overlap names the links of a
/// kind that Cluster names: what it calls a card, and what the node's links.
#[test]
fn no_link_carries_more_than_its_rate_and_both_views_name_the_same() {
    let (mut cards, mut both_links) = (0, 0);
    for evaluation in evaluations() {
        let step = evaluation.report.step.time_s;
        // A measured step sets all times, whatever the links could move in it.
        let is_predicted = evaluation.scenario.run.measured_step_s.is_none();
        let all = wires(&evaluation);
        for wire in all.iter().flatten() {
            let least = wire.bytes.0 / wire.rate.0 / step.0;
            assert!(
                !is_predicted || least <= wire.busy * (1.0 + 1e-9),
                "{least} {wire:?} {:?}",
                evaluation.scenario.run
            );
        }
        let html = Panel::Overlap(None).view(&evaluation, UNIT).to_html();
        let table = html.split("</table>").next().unwrap();
        let said: Vec<&str> = table.split("<tr").skip(2).collect();
        assert_eq!(said.len(), evaluation.report.overlap.len(), "{table}");
        let groups: [(&[Traffic], &[GroupKind]); 5] = [
            (&[Traffic::Tp], &[GroupKind::Tp]),
            (&[Traffic::Cp], &[GroupKind::Cp]),
            (&[Traffic::Ep], &[GroupKind::Ep]),
            (&[Traffic::Pp], &[GroupKind::Pp]),
            (&[Traffic::Dp, Traffic::Zero3], &[GroupKind::Dp, GroupKind::ExpertDp]),
        ];
        for (traffic, kinds) in groups {
            let rows = evaluation.report.overlap.iter().zip(&said);
            let rows = rows.filter(|(row, _)| traffic.contains(&row.traffic) && row.bytes_per_gpu.0 > 0.0);
            let words: String = rows.map(|(_, words)| *words).collect();
            let words = words.replace("&#39;", "'");
            let on = |link: Link| {
                let of_kind = all[evaluation.busiest].iter().filter(|wire| kinds.contains(&wire.kind));
                of_kind.filter(|wire| wire.bytes.0 > 0.0).any(|wire| wire.link == link)
            };
            let named = [words.contains(" card"), words.contains("the node's links")];
            assert_eq!(named, [on(Link::Inter), on(Link::Intra)], "{traffic:?}: {words}");
            cards += usize::from(named[0]);
            both_links += usize::from(named[0] && named[1]);
        }
    }
    assert!(cards > 90 && both_links > 30, "{cards} {both_links}");
}

/// DeepSeek-V3, section 3.2.2: a token goes to at most four nodes, so to at most three others; dispatched in fp8 with a
/// scale of four bytes for 128 elements and combined in bf16 (sections 3.3.2 and 3.3.3), forward and backward. 61
/// layers over 32 ranks are two for each. The network cards are of 50 GB/s, NVLink of the H800 moves 200 each way.
#[test]
fn tokens_of_deepseek_v3_cross_the_network_three_times_at_most() {
    let evaluation = evaluate(&decode(DEEPSEEK_V3).run).unwrap();
    let tokens = 15360.0 * 4096.0 / 64.0;
    let bytes = 7168.0 * (1.0 + 4.0 / 128.0 + 2.0) * 2.0;
    let step = evaluation.report.step.time_s.0;
    let row = evaluation.report.overlap.iter().find(|row| row.traffic == Traffic::Ep).unwrap();
    for rank in wires(&evaluation) {
        let tokens_sent: Vec<_> = rank.iter().filter(|wire| wire.kind == GroupKind::Ep).collect();
        let [card, node] = tokens_sent[..] else { panic!("{tokens_sent:?}") };
        assert_eq!((card.link, card.rate.0, node.link, node.rate.0), (Link::Inter, 50e9, Link::Intra, 200e9));
        assert!(card.bytes.0 <= 3.0 * 2.0 * tokens * bytes && card.bytes.0 > 0.0, "{card:?}");
        // Eight experts are on more GPUs than nodes: most copies are made inside a node.
        assert!(node.bytes.0 > card.bytes.0, "{node:?}");
        assert!(card.bytes.0 / 50e9 / step <= card.busy && node.bytes.0 / 200e9 / step <= node.busy);
    }
    let card = wires(&evaluation)[evaluation.busiest].iter().find(|wire| wire.kind == GroupKind::Ep).unwrap().time;
    assert!((card.0 / row.comm_s.0 - 1.0).abs() < 1e-9);
}

/// A pair of passes takes what its two passes take apart, less what its messages save, more what its host and ZeRO's
/// messages cost; where it takes longer, Overlap says why.
#[test]
fn a_pair_that_takes_longer_says_why() {
    let mut longer = 0;
    for evaluation in evaluations() {
        let html = Panel::Overlap(Some(Traffic::Ep)).view(&evaluation, UNIT).to_html();
        for drawn in microbatch_waits(&evaluation) {
            let (pairs, apart): (Vec<_>, Vec<_>) = drawn.passes.iter().partition(|pass| pass.pass == DrawnPass::Pair);
            let ([pair], false) = (&pairs[..], apart.is_empty()) else { continue };
            let apart: f64 = apart.iter().map(|pass| pass.seconds().0).sum();
            let takes = PassParts::seconds(pair).0;
            assert!((apart - drawn.change.total().0 - takes).abs() <= 1e-9 * takes, "{drawn:?}");
            let is_longer = takes > apart && drawn.paired > 0.001;
            assert_eq!(html.contains("It is longer:"), is_longer, "{html}");
            if is_longer {
                assert!(html.contains(&show_seconds(drawn.change.host)) || drawn.change.host.0 <= 0.0, "{html}");
                longer += 1;
            }
        }
    }
    println!("{longer} pairs take longer");
    assert!(longer > 0);
}
