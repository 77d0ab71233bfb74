//! Holds the table of ranks to the groups that Megatron-LM makes (`core/parallel_state.py`).

use shardscope::core::cluster::{GroupKind, Mesh, RankOrder};

const ORDERS: [RankOrder; 3] = [RankOrder::PpLast, RankOrder::DpLast, RankOrder::EpAfterPp];

fn axes(order: RankOrder) -> [&'static str; 5] {
    match order {
        RankOrder::PpLast => ["tp", "cp", "ep", "dp", "pp"],
        RankOrder::DpLast => ["tp", "cp", "ep", "pp", "dp"],
        RankOrder::EpAfterPp => ["tp", "cp", "pp", "ep", "dp"],
    }
}

/// `generate_masked_orthogonal_rank_groups`: ranks that differ only along the masked axes form a group.
fn groups(shape: &[u64; 5], mask: [bool; 5]) -> Vec<Vec<u64>> {
    let axes = |masked: bool| -> Vec<(u64, u64)> {
        let mut stride = 1;
        let each = shape.iter().zip(mask).map(|(size, on)| {
            let own = (*size, stride);
            stride *= size;
            (own, on)
        });
        let each: Vec<_> = each.collect();
        let chosen = each.into_iter().filter(|(_, on)| *on == masked);
        chosen.map(|(own, _)| own).collect()
    };
    let rank = |mut index: u64, axes: &[(u64, u64)]| -> u64 {
        axes.iter()
            .map(|(size, stride)| {
                let own = index % size * stride;
                index /= size;
                own
            })
            .sum()
    };
    let (inside, outside) = (axes(true), axes(false));
    let count = |axes: &[(u64, u64)]| axes.iter().map(|(size, _)| size).product::<u64>();
    (0..count(&outside))
        .map(|group| {
            let first = rank(group, &outside);
            let members = 0..count(&inside);
            members.map(|member| first + rank(member, &inside)).collect()
        })
        .collect()
}

/// `RankGenerator.get_ranks(token)` of the dense parts or of the routed experts.
fn megatron(mesh: Mesh, token: &str, experts: bool) -> Vec<Vec<u64>> {
    let order = axes(mesh.order);
    let size = |axis: &str| match (axis, experts) {
        ("tp", false) => mesh.tp,
        ("cp", false) => mesh.cp,
        ("dp", false) => mesh.dp,
        ("tp", true) => mesh.etp,
        ("ep", true) => mesh.ep,
        ("dp", true) => mesh.expert_dp(),
        ("pp", _) => mesh.pp,
        _ => 1,
    };
    let in_token = |axis: &str| token.split('-').any(|part| part == axis);
    groups(&order.map(size), order.map(in_token))
}

fn ours(mesh: Mesh, kind: GroupKind) -> Vec<Vec<u64>> {
    let mut all: Vec<Vec<u64>> =
        (0..mesh.ranks()).map(|rank| mesh.members(kind, rank).sample(u64::MAX).collect()).collect();
    all.sort();
    all.dedup();
    all
}

fn sorted(mut groups: Vec<Vec<u64>>) -> Vec<Vec<u64>> {
    groups.sort();
    groups
}

fn mesh([tp, cp, dp, pp]: [u64; 4], [ep, etp]: [u64; 2], order: RankOrder) -> Mesh {
    Mesh { tp, cp, dp, pp, ep, etp, per_node: 8, order }
}

fn meshes() -> Vec<Mesh> {
    let dense = [[2, 1, 2, 4], [2, 2, 4, 2], [4, 1, 3, 2], [1, 2, 4, 3], [3, 2, 2, 2]];
    let experts = [[1, 1], [2, 1], [4, 1], [2, 2], [8, 2]];
    let mut all = Vec::new();
    for sizes in dense {
        for [ep, etp] in experts {
            for order in ORDERS {
                let mesh = mesh(sizes, [ep, etp], order);
                if (mesh.tp * mesh.cp * mesh.dp).is_multiple_of(ep * etp) && mesh.pipelines_agree() {
                    all.push(mesh);
                }
            }
        }
    }
    all
}

/// The groups that the documentation of `initialize_model_parallel` lists for 16 GPUs, tensor size 2, pipeline size 4.
#[test]
fn sixteen_gpus_have_the_groups_of_the_documentation() {
    let mesh = mesh([2, 1, 2, 4], [1, 1], RankOrder::PpLast);
    let pairs = |step: u64, firsts: [u64; 8]| firsts.map(|first| vec![first, first + step]).to_vec();
    assert_eq!(ours(mesh, GroupKind::Dp), pairs(2, [0, 1, 4, 5, 8, 9, 12, 13]));
    assert_eq!(ours(mesh, GroupKind::Tp), pairs(1, [0, 2, 4, 6, 8, 10, 12, 14]));
    let pipelines = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]];
    assert_eq!(ours(mesh, GroupKind::Pp), pipelines.map(Vec::from));
}

/// Examples in the documentation of `generate_masked_orthogonal_rank_groups`: three axes of size 2.
#[test]
fn masked_groups_are_those_of_the_documentation() {
    let shape = [2, 1, 1, 2, 2];
    let first = groups(&shape, [true, false, false, false, false]);
    assert_eq!(first, [[0, 1], [2, 3], [4, 5], [6, 7]]);
    let middle = groups(&shape, [false, false, false, true, false]);
    assert_eq!(middle, [[0, 2], [1, 3], [4, 6], [5, 7]]);
    let both = groups(&shape, [true, false, false, false, true]);
    assert_eq!(both, [[0, 1, 4, 5], [2, 3, 6, 7]]);
}

#[test]
fn every_group_is_one_that_megatron_makes() {
    for mesh in meshes() {
        for (kind, token, experts) in [
            (GroupKind::Tp, "tp", false),
            (GroupKind::Cp, "cp", false),
            (GroupKind::Dp, "dp", false),
            (GroupKind::Pp, "pp", false),
            (GroupKind::Ep, "tp-ep", true),
            (GroupKind::ExpertDp, "dp", true),
        ] {
            let theirs = sorted(megatron(mesh, token, experts));
            assert_eq!(ours(mesh, kind), theirs, "{mesh:?} {kind:?}");
        }
    }
}

/// An index of the table is the place of the rank in Megatron's list of its group.
#[test]
fn the_table_has_the_indices_of_megatron() {
    for mesh in meshes() {
        for (token, experts, column) in [
            ("tp", false, 2),
            ("cp", false, 3),
            ("dp", false, 4),
            ("pp", false, 5),
            ("ep", true, 6),
            ("tp", true, 7),
            ("dp", true, 8),
        ] {
            for group in megatron(mesh, token, experts) {
                for (index, rank) in group.into_iter().enumerate() {
                    let cells = mesh.row_of(rank);
                    assert_eq!(cells[column], index as u64, "{mesh:?} {token} {rank}");
                    assert_eq!(cells[..2], [rank, rank / 8]);
                }
            }
        }
    }
}
