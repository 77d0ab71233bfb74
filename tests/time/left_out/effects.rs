//! Every effect of routed layers against the same fit without it: where a model is left out, its class is met worse.
//!
//! An effect is taken out of all runs (a setting) or of all constants (a value, which then is not fitted); everything
//! else is fitted again, and each model is left out as before.

use super::{GROUPINGS, Key, LeftOutRow, LeftOutTable, assembled, evidence, mean};
use shardscope::core::accuracy::Evidence;
use shardscope::core::model::Biases;
use shardscope::core::run::Constant::{self, Host, HostExpert, HostOverlapped, TileEnd};
use shardscope::core::run::{EpOverlap, Fitted, GraphPart, Module, PRIORS, Recompute, Run, Scenario, Schedule};
use std::collections::BTreeSet;

/// Runs that an effect is for.
#[derive(Clone, Copy, Debug)]
enum Class {
    Experts,
    Hybrids,
    /// Both.
    Routed,
    /// One source of them, where an effect is of few runs.
    Source(&'static str),
}

impl Class {
    fn has(self, row: &LeftOutRow) -> bool {
        let bridge = row.source.starts_with("Megatron-Bridge");
        match self {
            Self::Experts => bridge && !row.hybrid,
            Self::Hybrids => bridge && row.hybrid,
            Self::Routed => bridge,
            Self::Source(part) => row.source.contains(part),
        }
    }
}

/// An effect: its name, the classes that it is for, the constants that are held at a value, and what every run is
/// without.
type Effect = (&'static str, &'static [Class], &'static [(Constant, f64)], fn(&mut Run));

/// Too short to matter.
pub(super) const NOTHING: f64 = 1e-9;

fn whole_graphs(run: &mut Run) {
    if run.graph_scope.as_ref().is_some_and(|parts| !parts.is_empty()) {
        run.graph_scope = Some(vec![GraphPart::Iteration]);
    }
}

fn alone(run: &mut Run) {
    run.ep_overlap = Some(EpOverlap::None);
    run.delay_wgrad = None;
    if run.schedule == Schedule::InterleavedOverlap {
        run.schedule = Schedule::Interleaved;
    }
}

/// Behaviour of the stack in place of the recipe's.
fn by_rule_of_thumb(run: &mut Run) {
    run.graph_scope = None;
    run.moe_dispatch = None;
    run.stack.parts.moe_fused = None;
    alone(run);
    run.ep_overlap = None;
}

fn even_stages(run: &mut Run) {
    if run.model.base == Some("deepseek-v3") {
        run.stage_layers = None;
    }
}

fn unbiased(run: &mut Run) {
    run.model.parts.biases = run.model.parts.biases.or(Some(Biases::None));
}

fn without_experts_again(run: &mut Run) {
    if let Recompute::Modules(modules) = &mut run.recompute {
        modules.retain(|module| *module != Module::Moe);
    }
}

const BOTH: &[Class] = &[Class::Experts, Class::Hybrids];
const EXPERTS: &[Class] = &[Class::Experts];

#[rustfmt::skip]
const EFFECTS: [Effect; 10] = [
    ("the host of a routed layer", BOTH, &[(Host, NOTHING), (HostExpert, NOTHING), (HostOverlapped, 1.0)], |_| {}),
    ("the host of each expert", &[Class::Experts, Class::Routed], &[(HostExpert, NOTHING)], |_| {}),
    ("the host of overlapped layers", EXPERTS, &[(HostOverlapped, 1.0)], |_| {}),
    ("graphs of a part of the layer leave the host", BOTH, &[], whole_graphs),
    ("the recipes that ran", EXPERTS, &[], by_rule_of_thumb),
    ("messages beside another micro-batch", EXPERTS, &[], alone),
    ("biases and clamp of experts", &[Class::Source("gpt-oss")], &[], unbiased),
    ("fewer layers beside the loss", &[Class::Source("DeepSeek-V3")], &[], even_stages),
    ("experts that run again", &[Class::Hybrids], &[], without_experts_again),
    ("begin and end of a tile", EXPERTS, &[(TileEnd, NOTHING)], |_| {}),
];

/// `table` with the constants of `still` as they are.
pub(super) fn held(mut table: LeftOutTable, still: &[(Constant, f64)]) -> LeftOutTable {
    for (constant, _) in still {
        let name = PRIORS[*constant as usize].name;
        let at = table.constants.names.iter().position(|known| known == name).unwrap();
        (table.constants.width[at], table.constants.away[at]) = (NOTHING, 0.0);
    }
    table
}

/// Mean error of the runs of `class`, as fitted and with each model left out.
fn errors(table: &LeftOutTable, class: Class) -> [f64; 2] {
    let key: Key = GROUPINGS[2].1;
    let all = table.fit(true, |_| true);
    let rows: Vec<&LeftOutRow> = table.rows.iter().filter(|row| class.has(row)).collect();
    let groups: BTreeSet<String> = rows.iter().map(|row| key(row)).collect();
    let without = groups.iter().flat_map(|group| {
        let moves = table.fit(true, |row| key(row) != *group);
        let rows = rows.iter().filter(|row| key(row) == *group);
        rows.map(|row| row.moved(&moves)).collect::<Vec<_>>()
    });
    [mean(rows.iter().map(|row| row.moved(&all))), mean(without)]
}

#[test]
fn every_effect_of_routed_layers_lowers_the_error_of_its_class() {
    let files = ["throughput.csv", "throughput_2.csv"];
    let routed = |row: &Evidence| Scenario::new(&row.run).unwrap().model.moe.is_some();
    let rows: Vec<Evidence> = files.into_iter().flat_map(evidence).filter(routed).collect();
    let with = assembled(rows.iter(), |_| {}, &|_| {});
    let one = |(name, classes, still, remove): &Effect| -> Vec<&str> {
        let hold =
            |fitted: &mut Fitted| still.iter().for_each(|(constant, value)| fitted.0[*constant as usize] = *value);
        let without = held(assembled(rows.iter(), remove, &hold), still);
        let idle = classes.iter().filter(|class| {
            let ([fitted, left_out], [before, best]) = (errors(&without, **class), errors(&with, **class));
            println!(
                "without {name}, {class:?}: {:.1} % as fitted, {:.1} % with a model left out; with it {:.1} and {:.1}",
                fitted * 100.0,
                left_out * 100.0,
                before * 100.0,
                best * 100.0
            );
            left_out <= best
        });
        idle.map(|_| *name).collect()
    };
    let (first, rest) = EFFECTS.split_at(EFFECTS.len() / 2);
    let idle: Vec<&str> = std::thread::scope(|scope| {
        let other = scope.spawn(|| rest.iter().flat_map(one).collect::<Vec<_>>());
        let mut idle: Vec<&str> = first.iter().flat_map(one).collect();
        idle.extend(other.join().unwrap());
        idle
    });
    assert!(idle.is_empty(), "{idle:?}");
}
