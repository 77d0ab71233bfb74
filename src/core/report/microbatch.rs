//! The passes of one micro-batch on a stage, cut into parts: what the GPU computes, and what of one kind of messages
//! runs beside that or is waited for.
//!
//! The parts of a pass add up to its duration in the simulation.

use super::draft::Draft;
use super::evaluation::Evaluation;
use super::passes::{PairingChange, Pass, cuts_backward, windows};
use super::step::paired;
use crate::pipeline::Stats;
use crate::traffic::{Beside, StageWaits, Traffic, Wait, paired_windows};
use crate::units::Seconds;

/// The kinds of messages that are sent inside a micro-batch.
const KINDS: [Traffic; 5] = [Traffic::Tp, Traffic::Cp, Traffic::Ep, Traffic::Zero3, Traffic::Dp];
/// Most pieces that a pass is cut into; a piece is one or more layers.
const MOST_PIECES: u64 = 4;
/// Most pieces of a pass that is one of a pair: there each piece has four windows.
const MOST_OF_PAIR: u64 = 2;

/// The work of the GPU in a part of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassWork {
    /// Compute that no message of the kind may hide behind.
    Other,
    /// The compute that they may hide behind.
    Window,
    /// Gradients of weights, where the schedule runs them apart.
    Weights,
    /// Attention and norms of the micro-batch that goes forward.
    AttentionForward,
    /// Experts of the micro-batch that goes backward.
    ExpertsBackward,
    /// Experts of the micro-batch that goes forward.
    ExpertsForward,
    /// Attention and norms of the micro-batch that goes backward.
    AttentionBackward,
    /// Nothing: messages of other kinds, or data that is loaded.
    Waits,
}

/// A part of a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassPart {
    pub work: PassWork,
    /// Time of its kernels, without what messages slow them by.
    pub compute: Seconds,
    /// The messages beside it; the part lasts until they have arrived.
    pub message: Beside,
}

impl PassPart {
    /// From its begin to the begin of the next.
    pub fn seconds(&self) -> Seconds {
        self.compute + self.message.exposed()
    }
}

/// Passes that are drawn as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnPass {
    Forward,
    Backward,
    /// Forward and backward pass of a micro-batch, whose messages hide behind both.
    Both,
    /// The forward pass of a micro-batch beside the backward pass of another.
    Pair,
}

/// A pass with its parts in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct PassParts {
    pub pass: DrawnPass,
    pub parts: Vec<PassPart>,
    /// What its last part waits for: messages of the other kinds, and data that is loaded, which has no kind. None is
    /// zero.
    pub others: Vec<(Option<Traffic>, Seconds)>,
}

impl PassParts {
    /// Duration of the pass.
    pub fn seconds(&self) -> Seconds {
        self.parts.iter().map(PassPart::seconds).sum()
    }
    /// All its messages of the kind.
    pub fn messages(&self) -> Beside {
        self.parts.iter().fold(Beside::default(), |sum, part| sum + part.message)
    }
}

/// The passes of a micro-batch on a stage, with one kind of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct MicrobatchWaits {
    pub traffic: Traffic,
    /// The rank whose communication the overlap rows are.
    pub rank: usize,
    /// Its stage that takes longest.
    pub stage: usize,
    /// Layers of the stage.
    pub layers: u64,
    /// Pieces that they are drawn in.
    pub pieces: u64,
    /// Share of the passes that run as pairs.
    pub paired: f64,
    /// What a pair changes against its two passes one after the other; nothing where none is drawn.
    pub change: PairingChange,
    pub passes: Vec<PassParts>,
}

/// The passes of a micro-batch by the kinds of messages that are sent inside them, on the busiest rank.
pub fn microbatch_waits(evaluation: &Evaluation) -> Vec<MicrobatchWaits> {
    let (Ok(draft), Some(load)) = (Draft::of(&evaluation.scenario.run), evaluation.loads.get(evaluation.busiest))
    else {
        return Vec::new();
    };
    let total = |stage: usize| draft.passes.get(stage).map_or(0.0, |pass| pass.total().0);
    let Some(stage) = load.stages.iter().copied().max_by(|a, b| total(*a).total_cmp(&total(*b))) else {
        return Vec::new();
    };
    KINDS.into_iter().filter_map(|traffic| of_stage(&draft, evaluation, stage, traffic)).collect()
}

/// Times of the messages of one kind in a pass, as shares of the time of the pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PassMessages {
    /// On the wire while the GPU computes.
    pub hidden: f64,
    /// Waited for, and the time by which they slow compute.
    pub exposed: f64,
}

impl PassMessages {
    /// The shares of `message` inside a pass of `seconds`.
    fn of(message: Beside, seconds: f64) -> Self {
        if seconds <= 0.0 {
            return Self::default();
        }
        let exposed = (message.exposed().0 / seconds).clamp(0.0, 1.0);
        let hidden = (message.comm - message.not_hidden).0 / seconds;
        Self { hidden: hidden.clamp(0.0, 1.0 - exposed), exposed }
    }
}

/// The messages of one kind inside the ops of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageMessages {
    pub forward: PassMessages,
    /// Messages of a backward pass that is one op.
    pub backward: PassMessages,
    /// Messages of the op with the gradient of the input, where the backward pass is two ops.
    pub input: PassMessages,
    /// Messages of a forward and a backward pass that run as a pair.
    pub pair: PassMessages,
}

/// The messages of a kind inside the ops of every stage; none where no stage sends them inside a micro-batch.
pub fn stage_messages(evaluation: &Evaluation, traffic: Traffic) -> Vec<StageMessages> {
    let Ok(draft) = Draft::of(&evaluation.scenario.run) else {
        return Vec::new();
    };
    let durations = &draft.durations;
    let at = |list: &[f64], stage: usize| list.get(stage).copied().unwrap_or(0.0);
    let of = |(stage, pass): (usize, &Pass)| {
        let wait = of_kind(&pass.waits, traffic).unwrap_or_default();
        let (input, weight) = (at(&durations.backward_input, stage), at(&durations.backward_weight, stage));
        let paired = match traffic {
            Traffic::Ep => pass.waits.ep_paired.unwrap_or(wait),
            Traffic::Zero3 => pass.shards_beside.map_or(wait, |[weights, _]| weights),
            Traffic::Dp => pass.shards_beside.map_or(wait, |[_, gradients]| gradients),
            _ => wait,
        };
        let pair = durations.pair.as_ref().map_or(0.0, |pairs| at(pairs, stage));
        StageMessages {
            forward: PassMessages::of(wait.forward, at(&durations.forward, stage)),
            backward: PassMessages::of(wait.backward, input + weight),
            input: PassMessages::of(wait.backward, input),
            pair: PassMessages::of(paired.both(), pair),
        }
    };
    let stages: Vec<StageMessages> = draft.passes.iter().enumerate().map(of).collect();
    if stages.iter().all(|stage| *stage == StageMessages::default()) { Vec::new() } else { stages }
}

/// The messages of a kind on a stage.
fn of_kind(waits: &StageWaits, traffic: Traffic) -> Option<Wait> {
    match traffic {
        Traffic::Tp => Some(waits.tp),
        Traffic::Cp => Some(waits.cp),
        Traffic::Ep => Some(waits.ep),
        Traffic::Zero3 => Some(waits.zero3),
        Traffic::Dp => Some(waits.gradients),
        Traffic::Pp => None,
    }
}

fn of_stage(draft: &Draft, evaluation: &Evaluation, stage: usize, traffic: Traffic) -> Option<MicrobatchWaits> {
    let scenario = &draft.scenario;
    let pass = draft.passes.get(stage)?;
    let wait = of_kind(&pass.waits, traffic).filter(|wait| wait.both().comm.0 > 0.0)?;
    let range = scenario.layers_of(stage);
    let layers = range.end - range.start;
    let cut = cuts_backward(scenario);
    let in_pieces = |most| Drawn { pass, traffic, wait, pieces: layers.clamp(1, most), cut };
    let pairs = if traffic == Traffic::Ep { pair(draft, stage, in_pieces(MOST_OF_PAIR)) } else { None };
    let drawn = in_pieces(if pairs.is_some() { MOST_OF_PAIR } else { MOST_PIECES });
    let pieces = drawn.pieces;
    let alone = scenario.layout.pp == 1;
    // Without a pipeline all but the first and the last pass have another beside them.
    let m = scenario.layout.microbatches.max(1) as f64;
    let paired = match &pairs {
        None => 0.0,
        Some(_) if alone => (m - 1.0) / m,
        Some(_) => paired(draft, &evaluation.loads, &own_clock(evaluation)),
    };
    let mut passes = if pairs.is_some() && alone { Vec::new() } else { drawn.apart() };
    passes.splice(0..0, pairs);
    let scale = evaluation.report.step.rescaled_by.unwrap_or(1.0);
    for pass in &mut passes {
        for part in &mut pass.parts {
            part.compute = part.compute * scale;
            part.message = part.message * scale;
        }
        for (_, seconds) in &mut pass.others {
            *seconds = *seconds * scale;
        }
    }
    let is_pair = passes.iter().any(|pass| pass.pass == DrawnPass::Pair);
    let change = if is_pair { pass.saved * scale } else { PairingChange::default() };
    Some(MicrobatchWaits { traffic, rank: evaluation.busiest, stage, layers, pieces, paired, change, passes })
}

/// Statistics of the simulation on the model's own clock, whatever step was measured.
fn own_clock(evaluation: &Evaluation) -> Stats {
    let stats = Stats::of(&evaluation.order, &evaluation.spans);
    let ideal_s = stats.ideal_s / evaluation.report.step.rescaled_by.unwrap_or(1.0);
    Stats { ideal_s, ..stats }
}

/// A pass whose messages of one kind are drawn.
#[derive(Clone, Copy)]
struct Drawn<'a> {
    pass: &'a Pass,
    traffic: Traffic,
    wait: Wait,
    pieces: u64,
    /// Gradients of weights are ops of their own.
    cut: bool,
}

impl Drawn<'_> {
    /// Forward and backward pass; as one where messages hide behind more than their own pass.
    fn apart(self) -> Vec<PassParts> {
        let Pass { compute, waits, loading, .. } = self.pass;
        let other = |pass: fn(&Wait) -> Beside, loading| {
            other_waits(self.traffic, loading, |traffic| {
                of_kind(waits, traffic).map_or(Seconds::ZERO, |wait| pass(&wait).exposed())
            })
        };
        let Wait { forward, backward, .. } = self.wait;
        let weights = if self.cut { compute.backward_weight } else { Seconds::ZERO };
        let back = compute.backward_input + compute.backward_weight - weights;
        // Windows are counted with and without launches: a rounding is no reason to draw both as one.
        let wider = |message: Beside, compute: Seconds| message.window.0 > compute.0 * (1.0 + 1e-9);
        if wider(forward, compute.forward) || wider(backward, back) {
            let (both, compute) = (self.wait.both(), compute.forward + back);
            return vec![self.of(DrawnPass::Both, compute, both, weights, other(|wait| wait.both(), *loading))];
        }
        vec![
            self.of(DrawnPass::Forward, compute.forward, forward, Seconds::ZERO, other(|wait| wait.forward, *loading)),
            self.of(DrawnPass::Backward, back, backward, weights, other(|wait| wait.backward, Seconds::ZERO)),
        ]
    }

    /// A pass of `compute`, its `message` in as many pieces, then the gradients of `weights`, then what it waits for
    /// besides.
    fn of(
        self,
        pass: DrawnPass,
        compute: Seconds,
        message: Beside,
        weights: Seconds,
        others: Vec<(Option<Traffic>, Seconds)>,
    ) -> PassParts {
        let each = 1.0 / self.pieces as f64;
        let window = message.window.0.min(compute.0);
        let mut parts = Vec::new();
        for _ in 0..self.pieces {
            let other = (compute.0 - window) * each;
            if other > 0.0 {
                parts.push(work(PassWork::Other, Seconds(other)));
            }
            if window > 0.0 || message.comm.0 > 0.0 {
                parts.push(PassPart {
                    work: PassWork::Window,
                    compute: Seconds(window * each),
                    message: message * each,
                });
            }
        }
        let last = [work(PassWork::Weights, weights), work(PassWork::Waits, sum_of(&others))];
        parts.extend(last.into_iter().filter(|part| part.compute.0 > 0.0));
        PassParts { pass, parts, others }
    }
}

/// What a pass waits for besides its messages of the kind `drawn`: each other kind's seconds, and the `loading`.
fn other_waits(
    drawn: Traffic,
    loading: Seconds,
    exposed: impl Fn(Traffic) -> Seconds,
) -> Vec<(Option<Traffic>, Seconds)> {
    let kinds = KINDS.into_iter().filter(|traffic| *traffic != drawn);
    let waits = kinds.map(|traffic| (Some(traffic), exposed(traffic))).chain([(None, loading)]);
    waits.filter(|(_, seconds)| seconds.0 > 0.0).collect()
}

fn sum_of(waits: &[(Option<Traffic>, Seconds)]) -> Seconds {
    waits.iter().map(|(_, seconds)| *seconds).sum()
}

/// A part without messages.
fn work(work: PassWork, compute: Seconds) -> PassPart {
    PassPart { work, compute, message: Beside::default() }
}

/// A forward and a backward pass of two micro-batches side by side.
fn pair(draft: &Draft, stage: usize, drawn: Drawn<'_>) -> Option<PassParts> {
    let (scenario, pass) = (&draft.scenario, drawn.pass);
    let wait = pass.waits.ep_paired?;
    // In a pipeline, only schedules that pair passes run them so.
    if scenario.layout.pp > 1 && !scenario.run.schedule.pairs_passes() {
        return None;
    }
    let kernels = draft.clock.stage(scenario, stage);
    // Messages of attention are counted once for each of the forward passes, and hide behind one of them.
    let waits = &pass.waits;
    let forward = waits.tp.forward.hidden() + waits.cp.forward.hidden();
    let taken = [forward / (1.0 + scenario.forwards_beside()), waits.tp.backward.hidden() + waits.cp.backward.hidden()];
    let windows = paired_windows(scenario, stage, &windows(&kernels), taken)?;
    let each = kernels.routed.layers / drawn.pieces as f64;
    let works =
        [PassWork::AttentionForward, PassWork::ExpertsBackward, PassWork::ExpertsForward, PassWork::AttentionBackward];
    let mut parts = Vec::new();
    for _ in 0..drawn.pieces {
        parts.extend(works.into_iter().zip(windows).map(|(work, beside)| {
            let message = beside * each;
            PassPart { work, compute: message.window, message }
        }));
    }
    let (in_windows, hidden) = parts
        .iter()
        .fold((Seconds::ZERO, Beside::default()), |(sum, all), part| (sum + part.compute, all + part.message));
    let all = wait.both();
    // What runs again in the backward pass, and clones of experts, have nothing beside them.
    let alone = Beside::alone(Seconds((all.comm - hidden.comm).0.max(0.0)));
    let compute = pass.compute.total() + pass.saved.host - in_windows;
    // What ZeRO moves is exposed longer beside two micro-batches.
    let [weights, gradients] = pass.shards_beside.unwrap_or([pass.waits.zero3, pass.waits.gradients]);
    let others = other_waits(Traffic::Ep, pass.loading, |traffic| match traffic {
        Traffic::Zero3 => weights.exposed(),
        Traffic::Dp => gradients.exposed(),
        _ => of_kind(&pass.waits, traffic).map_or(Seconds::ZERO, Wait::exposed),
    });
    let rest = PassPart { work: PassWork::Other, compute, message: alone };
    parts.extend([rest, work(PassWork::Waits, sum_of(&others))].into_iter().filter(|part| part.seconds().0 > 0.0));
    Some(PassParts { pass: DrawnPass::Pair, parts, others })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::{Based, Run, Schedule};

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-12)
    }

    fn deepseek(schedule: Schedule) -> Run {
        Run {
            model: Based::preset("deepseek-v3"),
            gpu: Based::preset("h800-sxm-80gb"),
            gpus: 2048,
            tp: 1,
            pp: 16,
            ep: 64,
            global_batch: 15_360,
            schedule,
            ..Run::default()
        }
    }

    fn runs() -> Vec<Run> {
        let base = Run::default();
        let full = crate::run::Recompute::Full;
        vec![
            base.clone(),
            Run { zero: 3, pp: 1, tp: 8, ..base.clone() },
            Run { zero: 2, ..base.clone() },
            Run { schedule: Schedule::ZbH1, ..base.clone() },
            Run { cp: 2, recompute: full, loader_stage_s: 0.01, ..base.clone() },
            Run { measured_step_s: Some(9.0), ..base },
            deepseek(Schedule::OneFOneB),
            deepseek(Schedule::DualPipe),
            deepseek(Schedule::Overlap),
        ]
    }

    /// What the blocks of the timeline show of messages is what the parts of the busiest stage's passes are.
    #[test]
    fn blocks_show_the_messages_of_their_passes() {
        let mut seen = 0;
        for run in runs() {
            let evaluation = evaluate(&run).unwrap();
            for one in microbatch_waits(&evaluation) {
                let stages = stage_messages(&evaluation, one.traffic);
                let stage = stages[one.stage];
                for pass in &one.passes {
                    let shown = match pass.pass {
                        DrawnPass::Forward => stage.forward,
                        DrawnPass::Backward => stage.backward,
                        DrawnPass::Pair => stage.pair,
                        DrawnPass::Both => continue,
                    };
                    let messages = pass.messages();
                    let exposed = messages.exposed().0 / pass.seconds().0;
                    assert!(
                        (shown.exposed - exposed).abs() < 1e-6,
                        "{:?} {:?} {shown:?} {exposed}",
                        one.traffic,
                        pass.pass
                    );
                    assert!(shown.hidden >= 0.0 && shown.hidden + shown.exposed <= 1.0 + 1e-12, "{shown:?}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 20, "{seen}");
        // One GPU a stage and no experts: no messages inside a micro-batch.
        let alone = Run { tp: 1, pp: 4, gpus: 4, ..Run::default() };
        assert!(stage_messages(&evaluate(&alone).unwrap(), Traffic::Tp).is_empty());
    }

    /// The parts of a pass are its duration in the simulated order: forward, backward of both kinds, and pairs.
    #[test]
    fn the_parts_of_a_pass_add_up_to_its_op_on_the_timeline() {
        let mut seen = Vec::new();
        for run in runs() {
            let evaluation = evaluate(&run).unwrap();
            let durations = &evaluation.durations;
            for one in microbatch_waits(&evaluation) {
                let stage = one.stage;
                let [forward, backward] =
                    [durations.forward[stage], durations.backward_input[stage] + durations.backward_weight[stage]];
                for pass in &one.passes {
                    let op = match pass.pass {
                        DrawnPass::Forward => forward,
                        DrawnPass::Backward => backward,
                        DrawnPass::Both => forward + backward,
                        DrawnPass::Pair => durations.pair.as_ref().unwrap()[stage],
                    };
                    assert!(near(pass.seconds().0, op), "{:?} {pass:?} {op}", one.traffic);
                    // Time without a message of the kind has its reasons, which add up to it.
                    let waits = pass.parts.iter().filter(|part| part.work == PassWork::Waits);
                    let waits: f64 = waits.map(|part| part.compute.0).sum();
                    let named: f64 = pass.others.iter().map(|(_, seconds)| seconds.0).sum();
                    assert!(near(waits, named), "{:?} {waits} {named}", one.traffic);
                    assert!(pass.others.iter().all(|(kind, seconds)| *kind != Some(one.traffic) && seconds.0 > 0.0));
                    for part in &pass.parts {
                        let hidden = part.message.comm - part.message.not_hidden;
                        assert!(part.compute.0 >= 0.0 && hidden.0 <= part.compute.0 * (1.0 + 1e-9), "{part:?}");
                    }
                    seen.push((one.traffic, pass.pass));
                }
            }
        }
        for kind in [Traffic::Tp, Traffic::Cp, Traffic::Ep, Traffic::Zero3, Traffic::Dp] {
            assert!(seen.contains(&(kind, DrawnPass::Backward)), "{kind:?}");
        }
        assert!(seen.contains(&(Traffic::Ep, DrawnPass::Pair)));
    }

    /// On a rank with one stage, the messages of its micro-batches are those of the overlap row.
    #[test]
    fn a_micro_batch_has_its_share_of_the_overlap_row() {
        let evaluation = evaluate(&Run { cp: 2, ..Run::default() }).unwrap();
        let m = evaluation.scenario.layout.microbatches as f64;
        for one in microbatch_waits(&evaluation) {
            let row = evaluation.report.overlap.iter().find(|row| row.traffic == one.traffic).unwrap();
            let comm: f64 = one.passes.iter().map(|pass| pass.messages().comm.0).sum();
            assert!(near(comm * m, row.comm_s.0), "{:?}", one.traffic);
        }
    }

    /// `DualPipe` (DeepSeek-V3, figure 4): attention and experts of two micro-batches alternate, so that each of the
    /// four all-to-alls of a layer has kernels of the other micro-batch beside it, and a pair is shorter than two
    /// passes.
    #[test]
    fn pairs_hide_each_all_to_all_behind_the_other_micro_batch() {
        let waits = |schedule| {
            let all = microbatch_waits(&evaluate(&deepseek(schedule)).unwrap());
            all.into_iter().find(|one| one.traffic == Traffic::Ep).unwrap()
        };
        let (paired, apart) = (waits(Schedule::DualPipe), waits(Schedule::OneFOneB));
        assert_eq!(
            apart.passes.iter().map(|one| one.pass).collect::<Vec<_>>(),
            [DrawnPass::Forward, DrawnPass::Backward]
        );
        assert_eq!(apart.paired, 0.0);
        let [pair, forward, backward] = &paired.passes[..] else { panic!("{paired:?}") };
        assert_eq!(pair.pass, DrawnPass::Pair);
        assert!(pair.seconds() < forward.seconds() + backward.seconds());
        assert!(paired.paired > 0.0 && paired.paired <= 1.0);
        assert!(pair.parts[..4].iter().all(|part| part.message.comm.0 > 0.0 && part.compute.0 > 0.0));
        // Apart, the same all-to-alls have nothing beside them.
        assert!(near(forward.messages().not_hidden.0, forward.messages().comm.0));
    }
}
