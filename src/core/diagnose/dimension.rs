//! Which parallelism a message is of: by the description of its process group, else by the group's size and stride.

use crate::run::Layout;
use crate::statics::named;
use crate::time::KernelClass;
use serde::{Deserialize, Serialize};

named! {
    /// The parallelism that a message belongs to.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Dimension: name {
        Tensor = "tp",
        Context = "cp",
        Expert = "ep",
        Data = "dp",
        Pipeline = "pp",
        /// Not known, or small: clipping, the loss.
        Other = "other",
    }
}

/// A process group, as a trace describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessGroup {
    pub name: String,
    pub description: String,
    /// Ranks in it; 0 where the trace does not say.
    pub size: u64,
    /// Distance between its first two ranks; 0 where the trace does not list them.
    pub stride: u64,
}

/// Descriptions of Megatron-LM's groups (`parallel_state.py` at d98e8a64), the first that the text holds.
const DESCRIPTIONS: [(&str, Dimension); 18] = [
    ("TENSOR_AND_DATA_PARALLEL", Dimension::Other),
    ("EXPERT_TENSOR_AND_MODEL_PARALLEL", Dimension::Expert),
    ("EXPERT_MODEL_PARALLEL", Dimension::Expert),
    ("EXPERT_DATA_PARALLEL", Dimension::Data),
    ("EXPERT_TENSOR_PARALLEL", Dimension::Tensor),
    ("GTP_WEIGHT_REMAT", Dimension::Other),
    ("TENSOR_MODEL_PARALLEL", Dimension::Tensor),
    ("PIPELINE_MODEL_PARALLEL", Dimension::Pipeline),
    ("POSITION_EMBEDDING_GROUP", Dimension::Pipeline),
    ("EMBEDDING_GROUP", Dimension::Pipeline),
    ("HIERARCHICAL_CONTEXT", Dimension::Context),
    ("CONTEXT_PARALLEL_GROUP", Dimension::Context),
    ("INTRA_DISTRIBUTED_OPTIMIZER_INSTANCE", Dimension::Data),
    ("INTRA_PARTIAL_DATA_PARALLEL", Dimension::Data),
    ("DATA_PARALLEL_GROUP", Dimension::Data),
    ("MODEL_PARALLEL_GROUP", Dimension::Other),
    ("TENSOR_PARALLEL", Dimension::Tensor),
    ("PIPELINE_PARALLEL", Dimension::Pipeline),
];

/// Axes of PyTorch's `DeviceMesh`, as torchtitan names them behind `mesh_`.
const MESH: [(&str, Dimension); 6] = [
    ("dp", Dimension::Data),
    ("fsdp", Dimension::Data),
    ("efsdp", Dimension::Data),
    ("tp", Dimension::Tensor),
    ("pp", Dimension::Pipeline),
    ("cp", Dimension::Context),
];

/// The parallelism of a group with this description; none where it says nothing.
pub fn described(description: &str) -> Option<Dimension> {
    let upper = description.to_ascii_uppercase();
    // `DATA_PARALLEL_GROUP_WITH_CP` is of data parallelism.
    if let Some((_, dimension)) = DESCRIPTIONS.iter().find(|(words, _)| upper.contains(words)) {
        return Some(*dimension);
    }
    let lower = description.to_ascii_lowercase();
    let axis = lower.strip_prefix("mesh_").unwrap_or(&lower);
    if axis == "ep" {
        return Some(Dimension::Expert);
    }
    MESH.iter()
        .find(|(name, _)| axis == *name || axis.strip_prefix(name).is_some_and(|rest| rest.starts_with('_')))
        .map(|(_, dimension)| *dimension)
}

/// Sizes that tell the groups of a Run apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSizes {
    pub tp: u64,
    pub cp: u64,
    pub ep: u64,
    pub dp: u64,
    pub pp: u64,
    pub gpus: u64,
}

impl GroupSizes {
    /// Of a job of `ranks` whose layout is not known: a group of all its ranks is of data parallelism, what others are
    /// of is not known.
    pub const fn unknown(ranks: u64) -> Self {
        Self { tp: 0, cp: 1, ep: 1, dp: ranks, pp: 1, gpus: ranks }
    }
}

impl From<&Layout> for GroupSizes {
    fn from(layout: &Layout) -> Self {
        let Layout { tp, cp, ep, dp, pp, gpus, .. } = *layout;
        Self { tp, cp, ep, dp, pp, gpus }
    }
}

/// The parallelism of a message of `class` in `group`, where the Run has `axes`.
///
/// The description counts; then all-to-alls are of experts, and sends between two ranks of the pipeline; then the one
/// group of the Run with this size and stride; then the one parallelism that sends such messages at all.
pub fn dimension(class: KernelClass, group: Option<&ProcessGroup>, axes: GroupSizes) -> Dimension {
    use KernelClass as C;
    if matches!(class, C::Dispatch | C::Combine | C::ExpertWait) {
        return Dimension::Expert;
    }
    if let Some(found) = group.and_then(|group| described(&group.description)) {
        return found;
    }
    match class {
        C::AllToAll => return Dimension::Expert,
        C::SendRecv => {
            let pair = group.is_some_and(|group| group.size == 2 || group.size == axes.pp);
            return if axes.pp > 1 && (pair || group.is_none_or(|group| group.size == 0)) {
                Dimension::Pipeline
            } else if axes.cp > 1 && group.is_some_and(|group| group.size == axes.cp) {
                Dimension::Context
            } else {
                Dimension::Expert
            };
        }
        _ => {}
    }
    let known = [
        (Dimension::Tensor, axes.tp, 1),
        (Dimension::Context, axes.cp, axes.tp),
        (Dimension::Data, axes.dp, axes.tp * axes.cp),
        (Dimension::Data, axes.dp * axes.cp, axes.tp),
    ];
    if let Some(group) = group.filter(|group| group.size > 1) {
        if axes.tp == 0 {
            return if group.size == axes.gpus { Dimension::Data } else { Dimension::Other };
        }
        let fits = |(_, size, stride): &&(Dimension, u64, u64)| {
            *size > 1 && *size == group.size && (group.stride == 0 || *stride == group.stride)
        };
        let mut found: Vec<Dimension> = known.iter().filter(fits).map(|(dimension, ..)| *dimension).collect();
        found.dedup();
        if let [only] = found[..] {
            return only;
        }
        // A job whose whole world reduces gradients is of data parallelism alone, whatever the Run of the page is.
        return if found.is_empty() && group.stride <= 1 && group.size != axes.tp {
            Dimension::Data
        } else {
            Dimension::Other
        };
    }
    match (axes.tp > 1, axes.dp * axes.cp > 1) {
        (false, true) => Dimension::Data,
        (true, false) => Dimension::Tensor,
        _ => Dimension::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: GroupSizes = GroupSizes { tp: 4, cp: 1, ep: 1, dp: 8, pp: 2, gpus: 64 };

    /// Descriptions of Megatron-LM's `parallel_state.py` and of PyTorch's device mesh.
    #[test]
    fn descriptions_name_the_parallelism() {
        for (text, dimension) in [
            ("TENSOR_MODEL_PARALLEL_GROUP", Dimension::Tensor),
            ("PIPELINE_MODEL_PARALLEL_GROUP", Dimension::Pipeline),
            ("EMBEDDING_GROUP", Dimension::Pipeline),
            ("CONTEXT_PARALLEL_GROUP", Dimension::Context),
            ("DATA_PARALLEL_GROUP_WITH_CP", Dimension::Data),
            ("INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", Dimension::Data),
            ("EXPERT_MODEL_PARALLEL_GROUP", Dimension::Expert),
            ("EXPERT_DATA_PARALLEL_GROUP", Dimension::Data),
            ("EXPERT_TENSOR_PARALLEL_GROUP", Dimension::Tensor),
            ("MODEL_PARALLEL_GROUP", Dimension::Other),
            ("TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP", Dimension::Other),
            ("mesh_dp_shard_cp", Dimension::Data),
            ("mesh_tp", Dimension::Tensor),
            ("mesh_ep", Dimension::Expert),
            ("efsdp", Dimension::Data),
        ] {
            assert_eq!(described(text), Some(dimension), "{text}");
        }
        assert_eq!(described("undefined"), None);
        assert_eq!(described("default_pg"), None);
    }

    #[test]
    fn size_and_stride_tell_groups_apart_and_equal_ones_stay_unknown() {
        let group = |size, stride| ProcessGroup { size, stride, ..ProcessGroup::default() };
        let of = |group: &ProcessGroup, axes| dimension(KernelClass::AllReduce, Some(group), axes);
        assert_eq!(of(&group(4, 1), AXES), Dimension::Tensor);
        assert_eq!(of(&group(8, 4), AXES), Dimension::Data);
        // No stride, and two groups of one size.
        assert_eq!(of(&group(4, 0), GroupSizes { dp: 4, ..AXES }), Dimension::Other);
        assert_eq!(dimension(KernelClass::SendRecv, Some(&group(2, 0)), AXES), Dimension::Pipeline);
        assert_eq!(dimension(KernelClass::SendRecv, Some(&group(16, 1)), AXES), Dimension::Expert);
        assert_eq!(dimension(KernelClass::AllReduce, None, GroupSizes { tp: 1, ..AXES }), Dimension::Data);
        // Of another job than the Run's.
        assert_eq!(of(&group(2, 1), GroupSizes::unknown(2)), Dimension::Data);
        assert_eq!(of(&group(4, 1), GroupSizes::unknown(64)), Dimension::Other);
    }
}
