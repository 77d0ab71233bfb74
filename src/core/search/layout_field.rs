//! The fields of a layout: what a search changes of a Run, in one list.

use crate::run::Run;

/// A field of a layout, with what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayoutField {
    Tp,
    Pp,
    Cp,
    Ep,
    Etp,
    Zero,
    MicroBatch,
    SequenceParallel,
    Recompute,
    /// The schedule and its options.
    Schedule,
    VirtualStages,
    /// Layers by stage, and the stage of multi-token prediction.
    StageLayers,
    HsdpShard,
}

impl LayoutField {
    pub(super) const ALL: [Self; 13] = [
        Self::Tp,
        Self::Pp,
        Self::Cp,
        Self::Ep,
        Self::Etp,
        Self::Zero,
        Self::MicroBatch,
        Self::SequenceParallel,
        Self::Recompute,
        Self::Schedule,
        Self::VirtualStages,
        Self::StageLayers,
        Self::HsdpShard,
    ];

    /// Its key in links and requests.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Tp => "tp",
            Self::Pp => "pp",
            Self::Cp => "cp",
            Self::Ep => "ep",
            Self::Etp => "etp",
            Self::Zero => "zero",
            Self::MicroBatch => "micro_batch",
            Self::SequenceParallel => "sequence_parallel",
            Self::Recompute => "recompute",
            Self::Schedule => "schedule",
            Self::VirtualStages => "virtual_stages",
            Self::StageLayers => "stage_layers",
            Self::HsdpShard => "hsdp_shard",
        }
    }

    /// The field called `key`; none where that is no field of a layout.
    pub(super) fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.key() == key)
    }

    /// Gives `to` the field of `from`.
    pub(super) fn copy(self, from: &Run, to: &mut Run) {
        match self {
            Self::Tp => to.tp = from.tp,
            Self::Pp => to.pp = from.pp,
            Self::Cp => to.cp = from.cp,
            Self::Ep => to.ep = from.ep,
            Self::Etp => to.etp = from.etp,
            Self::Zero => to.zero = from.zero,
            Self::MicroBatch => to.micro_batch = from.micro_batch,
            Self::SequenceParallel => to.sequence_parallel = from.sequence_parallel,
            Self::Recompute => to.recompute = from.recompute.clone(),
            Self::Schedule => {
                (to.schedule, to.schedule_options) = (from.schedule, from.schedule_options.clone());
            }
            Self::VirtualStages => to.virtual_stages = from.virtual_stages,
            Self::StageLayers => {
                (to.stage_layers, to.mtp_stage) = (from.stage_layers.clone(), from.mtp_stage);
            }
            Self::HsdpShard => to.hsdp_shard = from.hsdp_shard,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::registry::field;
    use crate::search::PlanRequest;
    use crate::search::ladder::CHOSEN;

    /// Keys that the page chooses, with those that only a request gives, are the list; each is a field of a Run.
    #[test]
    fn every_key_of_a_layout_is_in_the_list_once() {
        let given_only = ["stage_layers", "hsdp_shard"];
        let mut keys: Vec<&str> = CHOSEN.into_iter().chain(given_only).collect();
        let mut listed: Vec<&str> = LayoutField::ALL.into_iter().map(LayoutField::key).collect();
        keys.sort_unstable();
        listed.sort_unstable();
        assert_eq!(keys, listed);
        assert!(listed.iter().all(|key| field(key).is_some()));
        assert_eq!(LayoutField::of_key("gpus"), None);
    }

    /// What a search leaves out of a question and the list are one: with every field of the list given back, nothing
    /// is missing.
    #[test]
    fn the_fields_given_back_make_the_run_again() {
        let texts = [
            ("tp", "4"),
            ("pp", "3"),
            ("cp", "5"),
            ("ep", "6"),
            ("etp", "7"),
            ("zero", "2"),
            ("micro_batch", "9"),
            ("sequence_parallel", "false"),
            ("recompute", "full"),
            ("schedule", "zb-auto"),
            ("schedule_options.memory_limit", "3"),
            ("virtual_stages", "11"),
            ("stage_layers", "1,2,3"),
            ("mtp_stage", "1"),
            ("hsdp_shard", "13"),
        ];
        let run = Run::default().with_texts(&texts.map(|(key, text)| (key, text.to_owned()))).unwrap();
        let question = PlanRequest::question(&run);
        assert_eq!(question, Run::default(), "all of them are left out");
        let mut again = question;
        for field in LayoutField::ALL {
            let before = again.clone();
            field.copy(&run, &mut again);
            assert_ne!(before, again, "{}", field.key());
        }
        assert_eq!(again, run);
    }
}
