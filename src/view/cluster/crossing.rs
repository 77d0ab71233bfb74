//! Groups that leave their node, those that need not, and the effect of another order of the axes: two tables.

use super::names::group_name;
use super::wires::{Wire, load, of_group, wires};
use crate::panels::overlap::names;
use crate::prelude::*;
use shardscope_core::cluster::{GroupKind, Link, Members, Mesh, RankOrder};
use shardscope_core::report::needs_worker;
use shardscope_core::traffic::Traffic;

/// Step, and what node link and network of the busiest rank are busy of it.
type Figures = (Seconds, f64, f64);

/// Both tables, one below the other, for a selected GPU and the traffic of all ranks.
pub fn tables(evaluation: &Evaluation, gpu: u64, traffic: &[Vec<Wire>], unit: MemoryUnit) -> Node {
    let scenario = &evaluation.scenario;
    let rank = usize::try_from(scenario.layout.mesh().place(gpu).pp).unwrap_or(0);
    let wires = traffic.get(rank).map_or(&[][..], Vec::as_slice);
    Node::from_iter([
        crossings(scenario, gpu, wires, unit),
        scope(evaluation, rank, wires),
        reordered_table(scenario, figures(evaluation, traffic)),
    ])
}

/// The figures of an evaluation, from the traffic of its ranks.
fn figures(evaluation: &Evaluation, traffic: &[Vec<Wire>]) -> Figures {
    let busiest = traffic.get(evaluation.busiest).map_or(&[][..], Vec::as_slice);
    let [node, network] = [Link::Intra, Link::Inter].map(|link| load(busiest, link));
    (evaluation.report.step.time_s, node, network)
}

/// Whether the groups of a kind cross nodes as the ranks are numbered now, and what another order would do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crossing {
    Stays,
    /// Their messages are timed inside a node, but they do not divide its GPUs: some lie on two.
    Unaligned,
    TooLarge,
    /// They cross, and another order of the axes keeps them inside.
    Needless(RankOrder),
    /// They would fit, but what is numbered before them fills the nodes, or does not divide them.
    Outgrown,
}

/// How the groups of `kind` cross nodes. `orders` are the orders of ranks that the Run could have.
fn crossing(mesh: Mesh, kind: GroupKind, orders: &[RankOrder]) -> Crossing {
    if !mesh.crosses_nodes(kind) {
        return if mesh.leaves_node(kind) { Crossing::Unaligned } else { Crossing::Stays };
    }
    let inside = orders.iter().find(|order| {
        let other = Mesh { order: **order, ..mesh };
        !other.crosses_nodes(kind)
    });
    match inside {
        Some(order) => Crossing::Needless(*order),
        None if mesh.sharing(kind, 0).size() > mesh.per_node => Crossing::TooLarge,
        None => Crossing::Outgrown,
    }
}

/// The orders that the scenario's groups allow.
fn orders(scenario: &Scenario) -> Vec<RankOrder> {
    let mesh = scenario.layout.mesh();
    let experts = scenario.model.moe.is_some();
    let orders = RankOrder::ALL.iter().map(|(order, _)| *order);
    // Without experts the last two are one.
    let orders = orders.filter(|order| experts || *order != RankOrder::EpAfterPp);
    orders.filter(|order| !experts || Mesh { order: *order, ..mesh }.pipelines_agree()).collect()
}

/// The groups of the Run: how they lie on nodes and rails, what they send, whether they must leave the node.
fn crossings(scenario: &Scenario, gpu: u64, wires: &[Wire], unit: MemoryUnit) -> Node {
    let (mesh, orders) = (scenario.layout.mesh(), orders(scenario));
    let experts = scenario.model.moe.is_some();
    let kinds = GroupKind::ALL.into_iter().filter(|kind| {
        let routed = matches!(kind, GroupKind::Ep | GroupKind::ExpertDp);
        (experts || !routed) && mesh.sharing(*kind, 0).size() > 1
    });
    let rows: Vec<_> = kinds.map(|kind| (kind, mesh.sharing(kind, gpu), crossing(mesh, kind, &orders))).collect();
    if rows.is_empty() {
        return paragraph("One GPU: no groups.");
    }
    let on = |link: Link| {
        move |(kind, ..): &(GroupKind, Members, Crossing)| {
            let wire = of_group(wires, *kind).find(|wire| wire.link == link);
            wire.map_or_else(
                || "–".to_owned(),
                |wire| format!("{} · {}", unit.fitting(wire.bytes), show_percent(wire.busy)),
            )
        }
    };
    Rows::of(rows)
        .column("group", |(kind, ..)| group_name(mesh, *kind))
        .figures("GPUs", |(_, members, _)| members.size().to_string())
        .column("lies on", |(_, members, _)| {
            let nodes = members.nodes(mesh.per_node);
            match members.rail_count(mesh.per_node) {
                _ if nodes == 1 => t!("inside a node"),
                1 => t!("{nodes} nodes, one rail", nodes),
                rails => t!("{nodes} nodes, {rails} rails", nodes, rails),
            }
        })
        .figures("a GPU's card: sent, busy", on(Link::Inter))
        .figures("node link: sent, busy", on(Link::Intra))
        .column("crosses nodes?", |(_, _, crossing)| words(mesh, *crossing))
        .marked(|(_, _, crossing)| matches!(crossing, Crossing::Needless(_)))
        .table("Groups and the links that they cross")
}

/// Whose bytes the table has, and the rows of Overlap that count the same.
fn scope(evaluation: &Evaluation, rank: usize, wires: &[Wire]) -> Node {
    let scenario = &evaluation.scenario;
    if wires.is_empty() {
        return Node::none();
    }
    let whose = (scenario.layout.pp > 1).then(|| {
        let busiest = evaluation.busiest;
        if rank == busiest {
            t!("Sent by a GPU of pipeline rank {rank} in a step, as Overlap has it: it is the busiest.", rank)
        } else {
            t!(
                "Sent by a GPU of pipeline rank {rank} in a step; Overlap has what one of rank {busiest} sends, the \
                    busiest.",
                rank,
                busiest
            )
        }
    });
    let rows = evaluation.report.overlap.iter();
    let rows = rows.filter(|row| matches!(row.traffic, Traffic::Dp | Traffic::Zero3));
    let rows = Message::joined(", ", rows.map(|row| names(row.traffic, &scenario.run).0.into()));
    // Both go over groups of their own, and are one row there.
    let has = |kind: GroupKind| wires.iter().any(|wire| wire.kind == kind);
    let together = (has(GroupKind::Dp) && has(GroupKind::ExpertDp))
        .then(|| t!("Overlap shows DP and expert DP together as: {rows}.", rows));
    let busy = t!(
        "Busy: on the slowest link of a group for its wire time in Overlap over the step, latencies and the rate that \
            is reached included; where the group leaves its node, on the links of the node for as long as its bytes \
            there take at the rate reached on them. Bytes at the rates of the data sheet take less."
    );
    muted(Message::joined(" ", [whose, together, Some(busy)].into_iter().flatten()))
}

/// First whether the groups cross nodes now, then what another order would do.
fn words(mesh: Mesh, crossing: Crossing) -> Message {
    let n = mesh.per_node;
    match crossing {
        Crossing::Stays => t!("no"),
        Crossing::Unaligned => {
            t!(
                "no: timed as if they stayed within a node; but their size does not divide the {n} GPUs of a node, so \
                some span two nodes",
                n
            )
        }
        Crossing::TooLarge => t!("yes, in every rank order: larger than a node of {n}", n),
        Crossing::Needless(order) => t!("yes; not in the order {order}", order = order.id()),
        Crossing::Outgrown => t!("yes, in every rank order: the groups numbered before it fill the nodes"),
    }
}

/// The Run with another order of the axes.
#[derive(Clone, Debug, PartialEq)]
struct Reordered {
    pub order: RankOrder,
    /// Groups that cross nodes.
    pub leaving: Vec<GroupKind>,
    /// None where that takes a simulation of its own.
    pub figures: Option<Figures>,
}

/// The Run in every order that it allows.
fn reordered(scenario: &Scenario, present: Figures) -> Vec<Reordered> {
    let reorder = |order: RankOrder| {
        let mesh = Mesh { order, ..scenario.layout.mesh() };
        let kinds = GroupKind::ALL.into_iter();
        let leaving = kinds.filter(|kind| mesh.sharing(*kind, 0).size() > 1 && mesh.crosses_nodes(*kind));
        let run = Run { rank_order: order, ..scenario.run.clone() };
        let figures = if order == scenario.run.rank_order {
            Some(present)
        } else if needs_worker(&run) {
            None
        } else {
            let evaluation = evaluate(&run).ok();
            evaluation.map(|evaluation| figures(&evaluation, &wires(&evaluation)))
        };
        Reordered { order, leaving: leaving.collect(), figures }
    };
    orders(scenario).into_iter().map(reorder).collect()
}

/// The orders as a table, with a button for each that is not the Run's.
fn reordered_table(scenario: &Scenario, figures: Figures) -> Node {
    let experts = scenario.model.moe.is_some();
    let is_present = |row: &Reordered| row.order == scenario.run.rank_order;
    let leaving = |row: &Reordered| {
        let kinds = row.leaving.iter().filter(|kind| experts || !matches!(kind, GroupKind::Ep | GroupKind::ExpertDp));
        let leaving = Message::joined(", ", kinds.map(|kind| group_name(scenario.layout.mesh(), *kind)));
        if leaving.is_empty() { t!("none") } else { leaving }
    };
    let figure = |row: &Reordered, show: &dyn Fn(Figures) -> String| row.figures.map_or_else(|| "–".to_owned(), show);
    let choose = |row: &Reordered| {
        let set = vec![("rank_order", row.order.id().to_owned())];
        if is_present(row) { faint("your run") } else { apply("fix", set, "", "Use") }
    };
    Rows::of(reordered(scenario, figures))
        .column("rank order", |row| verbatim(row.order.id()))
        .column("groups that cross nodes", leaving)
        .figures("network busy", |row| figure(row, &|(.., network)| show_percent(network)))
        .figures("node link busy", |row| figure(row, &|(_, node, _)| show_percent(node)))
        .figures("step", |row| figure(row, &|(step, ..)| show_seconds(step)))
        .column("", choose)
        .marked(is_present)
        .table("Rank orders")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::Based;
    use shardscope_core::traffic::Traffic;

    fn evaluation(run: &Run) -> Evaluation {
        evaluate(run).unwrap()
    }

    /// 64 GPUs, TP 2, PP 4, DP 8 on nodes of eight: a pipeline of 8 GPUs fits a node if it is numbered before data
    /// parallel, and then each replica is a node.
    #[test]
    fn the_default_run_sends_its_pipeline_over_the_network_needlessly() {
        let evaluated = evaluation(&Run::default());
        let (mesh, orders) = (evaluated.scenario.layout.mesh(), orders(&evaluated.scenario));
        assert_eq!(orders, [RankOrder::PpLast, RankOrder::DpLast]);
        let crossing = |kind| crossing(mesh, kind, &orders);
        assert_eq!(crossing(GroupKind::Tp), Crossing::Stays);
        assert_eq!(crossing(GroupKind::Pp), Crossing::Needless(RankOrder::DpLast));
        assert_eq!(crossing(GroupKind::Dp), Crossing::Outgrown);
        let traffic = wires(&evaluated);
        let tried_orders = reordered(&evaluated.scenario, figures(&evaluated, &traffic));
        assert_eq!(tried_orders[0].leaving, [GroupKind::Dp, GroupKind::ExpertDp, GroupKind::Pp]);
        assert_eq!(tried_orders[1].leaving, [GroupKind::Dp, GroupKind::ExpertDp]);
        let html = tables(&evaluated, 21, &traffic, MemoryUnit::Gib).to_html();
        assert!(html.contains("rank_order=tp-cp-ep-pp-dp"), "{html}");
    }

    #[test]
    fn groups_larger_than_a_node_must_leave_it() {
        let evaluated = evaluation(&Run { tp: 16, gpus: 128, model: Based::preset("llama-3.1-70b"), ..Run::default() });
        let mesh = evaluated.scenario.layout.mesh();
        assert_eq!(crossing(mesh, GroupKind::Tp, &orders(&evaluated.scenario)), Crossing::TooLarge);
        // TP 3 does not divide nodes of eight: the third group has GPUs 6, 7 and 8.
        let uneven = Mesh { tp: 3, dp: 4, pp: 1, ..mesh };
        assert_eq!(crossing(uneven, GroupKind::Tp, &[RankOrder::PpLast]), Crossing::Unaligned);
    }

    /// A stranger's two links. PP 2 over 32 replicas on nodes of eight: ranks 0 and 32 are on nodes 0 and 4. EP 32 in
    /// NVL72 domains is inside and its messages go over the domain's links, but the group of GPU 70, ranks 64 to 95,
    /// lies on two. The first word of the column is what the table of orders says of the present one.
    #[test]
    fn the_column_says_first_whether_groups_cross_now() {
        let gpt_oss = [
            ("model", "gpt-oss-120b"),
            ("gpu", "b200-sxm"),
            ("gpus", "64"),
            ("tp", "1"),
            ("pp", "2"),
            ("ep", "8"),
            ("stack", "megatron-2026"),
            ("precision", "mxfp8"),
            ("schedule", "interleaved-1f1b"),
            ("virtual_stages", "3"),
        ];
        let kimi = [
            ("model", "kimi-k2"),
            ("gpu", "gb200"),
            ("gpus", "1024"),
            ("tp", "1"),
            ("pp", "8"),
            ("ep", "32"),
            ("schedule", "interleaved-overlap"),
            ("virtual_stages", "2"),
            ("seq_len", "4096"),
            ("global_batch", "4096"),
        ];
        for (set, gpus) in [(gpt_oss, [0, 40]), (kimi, [0, 70])] {
            let run = Run::default().with_texts(&set.map(|(key, text)| (key, text.to_owned()))).unwrap();
            let evaluated = evaluation(&run);
            let (mesh, orders) = (evaluated.scenario.layout.mesh(), orders(&evaluated.scenario));
            let traffic = wires(&evaluated);
            let rows = reordered(&evaluated.scenario, figures(&evaluated, &traffic));
            let present = rows.iter().find(|row| row.order == run.rank_order).unwrap();
            for kind in GroupKind::ALL.into_iter().filter(|kind| mesh.members(*kind, 0).size() > 1) {
                let crossing = crossing(mesh, kind, &orders);
                let said = words(mesh, crossing).to_string();
                assert_eq!(said.starts_with("yes"), present.leaving.contains(&kind), "{kind:?}: {said}");
                // The link that its messages are timed on.
                for wires in &traffic {
                    let wires: Vec<_> = of_group(wires, kind).collect();
                    let crosses = wires.iter().any(|wire| wire.link == Link::Inter);
                    assert!(wires.is_empty() || said.starts_with("yes") == crosses, "{kind:?}: {said}");
                }
                if let Crossing::Needless(order) = crossing {
                    let other = rows.iter().find(|row| row.order == order).unwrap();
                    assert!(!other.leaving.contains(&kind), "{kind:?}: {said}");
                }
            }
            assert_eq!(crossing(mesh, GroupKind::Pp, &orders), Crossing::Needless(RankOrder::EpAfterPp));
            for gpu in gpus {
                let html = tables(&evaluated, gpu, &traffic, MemoryUnit::Gib).to_html();
                assert!(!html.contains("1 nodes") && html.contains("not in the order tp-cp-pp-ep-dp"), "{html}");
            }
        }
    }

    /// Changing the order by the table gives the step that the table shows.
    #[test]
    fn the_traffic_answers_to_the_order() {
        let evaluated = evaluation(&Run::default());
        let present = figures(&evaluated, &wires(&evaluated));
        for other in reordered(&evaluated.scenario, present) {
            let (step, ..) = other.figures.unwrap();
            let run = Run { rank_order: other.order, ..Run::default() };
            assert_eq!(evaluation(&run).report.step.time_s, step);
        }
    }

    /// NCCL's rings leave a node over the card of each member there: as many as its ranks have rails. Overlap
    /// and the table of groups say the same of gradients, and of those of routed experts, which go round more ranks.
    #[test]
    fn gradients_have_as_many_cards_as_rails() {
        let mut seen = [0; 2];
        for (model, tp, cp, ep, gpus) in [
            ("mixtral-8x7b", 2, 1, 1, 128),
            ("mixtral-8x7b", 8, 1, 8, 128),
            ("mixtral-8x7b", 1, 2, 4, 64),
            ("llama-3.1-8b", 2, 8, 1, 32),
            ("llama-3.1-8b", 8, 1, 1, 64),
            ("llama-3.1-8b", 1, 4, 1, 64),
        ] {
            let model = Based::preset(model);
            let sizes = Run { tp, cp, ep, etp: 1, pp: 1, gpus, ..Run::default() };
            let run = Run { model, seq_len: 131_072, global_batch: gpus, ..sizes };
            let evaluation = evaluation(&run);
            let html = tables(&evaluation, 0, &wires(&evaluation), MemoryUnit::Gib).to_html();
            let overlap = crate::panels::overlap::rows(&evaluation, None, MemoryUnit::Gib).to_html();
            let mesh = evaluation.scenario.layout.mesh();
            let rails = |kind| mesh.sharing(kind, 0).rail_count(mesh.per_node) as u64;
            let row = evaluation.report.overlap.iter().find(|row| row.traffic == Traffic::Dp).unwrap();
            assert_eq!(row.carried.cards, rails(GroupKind::Dp), "{run:?}");
            let words = |count: u64| if count == 1 { "one rail".to_owned() } else { format!("{count} rails") };
            assert!(html.contains(&words(row.carried.cards)), "{html}");
            let cards = row.carried.cards;
            let said = if cards == 1 { "over a card of".to_owned() } else { format!("over {cards} cards a node") };
            assert!(overlap.contains(&said), "{overlap}");
            let mut most = cards;
            if row.experts.bytes.0 > 0.0 {
                let of_experts = rails(GroupKind::ExpertDp);
                assert_eq!(row.carried.expert_cards.unwrap_or(cards), of_experts, "{run:?}");
                assert_eq!(overlap.contains(&format!("experts over {of_experts}")), of_experts != cards, "{overlap}");
                most = most.max(of_experts);
                seen[usize::from(of_experts != cards)] += 1;
            }
            // No more than the cards move.
            let sheet = evaluation.scenario.gpu.inter.0 * most as f64;
            assert!(row.reached_bytes_per_s.unwrap() <= sheet, "{row:?}");
            // The ranks that share gradients are those of DP and CP, and are counted so.
            assert_eq!(html.contains("DP × CP"), cp > 1, "{html}");
            assert_eq!(mesh.sharing(GroupKind::Dp, 0).size(), gpus / tp);
        }
        assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    }

    /// Experts of DeepSeek-V3 in 8 GPUs cannot have the pipeline before them unless their groups agree.
    #[test]
    fn orders_that_the_experts_refuse_are_not_offered() {
        let run = Run { model: Based::preset("mixtral-8x7b"), tp: 2, pp: 4, ep: 8, etp: 1, ..Run::default() };
        assert_eq!(orders(&evaluation(&run).scenario), [RankOrder::PpLast]);
    }
}
