//! The step: its phases on each group of GPUs, who waits, which side binds, and the range.

use super::engine::EngineRates;
use super::range::{MEASURED, TOLD_APART, WideningCause, range_of_framework};
use super::rollout::Rollout;
use super::setting::RlSetting;
use super::split::{SplitPoint, best, flat, split, staleness};
use super::sync::{BESIDE_PHASES, offload, sync};
use super::training::{Trained, Training, trained};
use crate::issue::Issue;
use crate::run::{PhasesBy, RlParts, RolloutPlacement, Run};
use crate::statics::named;
use crate::units::{Bytes, Seconds};
use serde::{Serialize, Serializer};

named! {
    /// Work of a step.
    pub enum PhaseName: id {
        Prefill = "prefill",
        /// Decoding while more than a tenth of the responses is left.
        Decode = "decode",
        /// Decoding of the last tenth.
        Tail = "tail",
        Tools = "tools",
        Verifier = "verifier",
        Reward = "reward",
        Old = "old-log-probabilities",
        Reference = "reference",
        Values = "values",
        Critic = "critic-update",
        Update = "update",
        Sync = "sync",
        Offload = "offload",
        /// Buffers, preparation of the batch, data.
        Other = "other",
    }
}

named! {
    /// GPUs that work alike.
    pub enum GpuGroup: id {
        All = "all",
        Engines = "engines",
        Trainer = "trainer",
    }
}

named! {
    /// What a split step waits for.
    pub enum WaitsFor: id {
        Engines = "engines",
        Trainer = "trainer",
        /// Neither, within the error of the prediction.
        Balanced = "balanced",
        /// Both in turn: nothing overlaps.
        InTurn = "in-turn",
    }
}

macro_rules! as_text {
    ($($name:ident),*) => { $(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.id())
            }
        }
    )* };
}
as_text!(PhaseName, GpuGroup, WaitsFor);

/// Time of one kind of work on one group of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RlPhase {
    pub name: PhaseName,
    pub group: GpuGroup,
    pub seconds: Seconds,
}

/// Share of a step in which a group waits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Idle {
    pub group: GpuGroup,
    pub share: f64,
}

/// Memory of the fullest GPU in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PhaseMemory {
    pub phase: &'static str,
    pub bytes: Bytes,
}

/// A step of reinforcement learning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RlStep {
    pub step_s: Seconds,
    /// The fast end of the range.
    pub low_s: Seconds,
    /// The slow end of the range.
    pub high_s: Seconds,
    /// Work of each group in its order.
    pub phases: Vec<RlPhase>,
    pub idle: Vec<Idle>,
    /// Generation, training, and weights on their way with what is beside.
    pub generation_s: Seconds,
    pub training_s: Seconds,
    pub sync_s: Seconds,
    pub bound: WaitsFor,
    /// GPUs of the engines; all GPUs of a colocated run.
    pub rollout_gpus: u64,
    /// Responses that an engine decodes at once.
    pub at_once: f64,
    /// Responses that fit at once.
    pub capacity: f64,
    /// Share of the engines' slots that is busy while they generate: 1 where responses take over free slots, else the
    /// mean response over the longest.
    pub busy: f64,
    /// Tokens of responses a second and GPU.
    pub tokens_per_s_per_gpu: f64,
    pub memory: Vec<PhaseMemory>,
    pub capacity_bytes: Bytes,
    /// The step at each number of GPUs that generate.
    pub split: Vec<SplitPoint>,
    /// Steps by which responses are older than the weights in `split`: as in this run, but of a colocated one at least
    /// 1, since a split without overlap only waits; TRL's never overlaps.
    pub split_staleness: f64,
    /// Least and most GPUs that generate within 10 % of the shortest split step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flat: Option<[u64; 2]>,
    /// GPUs that generate in the shortest step, where it is shorter than this one beyond the error; else none.
    pub best: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_hours: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    #[serde(skip)]
    pub causes: Vec<WideningCause>,
    /// Responses that are trained on, and the sequences of the Run's length that they are packed into.
    #[serde(skip)]
    pub trained: [f64; 2],
}

/// The three sides of a step, before they meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides {
    pub rollout: Rollout,
    pub training: Training,
    pub verifier: Seconds,
    pub sync: Seconds,
    pub offload: Seconds,
    /// Generation of the next batch runs beside training.
    pub overlaps: bool,
}

impl Sides {
    /// Generation with what is scored before training.
    pub fn generation(&self) -> Seconds {
        self.rollout.total() + if self.overlaps { Seconds::ZERO } else { self.verifier }
    }

    /// The time after generation and training: the sync of the weights and the offload.
    pub fn end(&self) -> Seconds {
        self.sync + self.offload + Seconds(BESIDE_PHASES)
    }

    /// The step, with factors of generation, training and sync.
    pub fn step(&self, [generation, training, sync]: [f64; 3]) -> Seconds {
        let (generate, train) = (self.generation() * generation, self.training.total() * training);
        let both = if self.overlaps { generate.max(train) } else { generate + train };
        both + self.end() * sync
    }
}

/// The sides of `setting` with `engines` GPUs that generate beside a trainer, or with all of them in turn.
pub(super) fn sides(setting: &RlSetting<'_>, engines: u64, apart: bool, trained: &Trained) -> Sides {
    let rl = &setting.run.rl;
    let framework = setting.run.phases.framework;
    let batch = setting.batch(engines);
    let in_flight = setting.in_flight();
    let streams = in_flight > 1.0;
    let rollout = if streams && !setting.is_by_batch() {
        batch.stream(&setting.engine, in_flight, setting.is_by_start())
    } else {
        batch.together(&setting.engine)
    };
    let place = if apart { RolloutPlacement::Split } else { RolloutPlacement::Colocated };
    let placed = RlParts { placement: Some(place), ..rl.clone() };
    let moved = !apart && setting.offloads;
    let mut sides = Sides {
        rollout,
        training: trained.training,
        verifier: Seconds(rl.verifier_s.unwrap_or(0.0)),
        sync: sync(trained.parameters, &placed, framework),
        offload: if moved { offload(trained.moved, &setting.gpu) } else { Seconds::ZERO },
        overlaps: apart && streams,
    };
    let over = |measured: Option<f64>, predicted: Seconds| measured.map_or(1.0, |seconds| seconds / predicted.0);
    sides.rollout = sides.rollout.scaled(over(rl.measured_generation_s, sides.rollout.total()));
    sides.training = sides.training.scaled(over(rl.measured_update_s, sides.training.update));
    sides.sync = sides.sync * over(rl.measured_sync_s, sides.sync);
    sides
}

/// The step of a Run alone: without other splits.
///
/// # Errors
/// The fields that are missing or that cannot work.
pub fn predict(run: &Run) -> Result<RlStep, Vec<Issue>> {
    at_own_split(&RlSetting::new(run)?)
}

/// The step of a Run alone, whose engines work at `rates`: what a fit to published steps chooses from.
///
/// # Errors
/// As [`predict`].
pub fn predict_at(run: &Run, rates: EngineRates) -> Result<RlStep, Vec<Issue>> {
    let setting = RlSetting::new(run)?;
    let engine = setting.engine.clone().at(rates);
    at_own_split(&RlSetting { engine, ..setting })
}

/// Seconds of generation, of the policy's updates and of the sync that are predicted for a Run, whatever its log says.
///
/// # Errors
/// As [`predict`].
pub fn predicted_parts(run: &Run) -> Result<[f64; 3], Vec<Issue>> {
    let rl = RlParts { measured_generation_s: None, measured_update_s: None, measured_sync_s: None, ..run.rl.clone() };
    let step = predict(&Run { rl, ..run.clone() })?;
    let trains = if run.rl.apart().is_some() { GpuGroup::Trainer } else { GpuGroup::All };
    let of = |names: &[PhaseName]| -> f64 {
        let phases = step.phases.iter().filter(|phase| names.contains(&phase.name));
        // A sync is work of both groups, and is counted with each.
        let phases = phases.filter(|phase| phase.name != PhaseName::Sync || phase.group == trains);
        phases.map(|phase| phase.seconds.0).sum()
    };
    let generation = [PhaseName::Prefill, PhaseName::Decode, PhaseName::Tail, PhaseName::Tools];
    Ok([of(&generation), of(&[PhaseName::Update]), of(&[PhaseName::Sync])])
}

/// The step of a Run with the steps of other splits.
///
/// # Errors
/// As [`predict`].
pub fn step(run: &Run) -> Result<RlStep, Vec<Issue>> {
    let setting = RlSetting::new(run)?;
    let mut step = at_own_split(&setting)?;
    step.split = split(&setting);
    step.flat = flat(&step.split);
    step.best = best(&step.split, step.step_s);
    Ok(step)
}

/// The step at the split that the Run has.
fn at_own_split(setting: &RlSetting<'_>) -> Result<RlStep, Vec<Issue>> {
    let run = setting.run;
    let rl = &run.rl;
    let framework = run.phases.framework;
    let load = setting.load();
    let trained =
        trained(run, &setting.phases, setting.trainer(), &load).map_err(|issues| at_split(issues, setting))?;
    let apart = rl.apart().is_some();
    let engines = rl.apart().unwrap_or(run.gpus);
    let sides = sides(setting, engines, apart, &trained);
    let time = sides.step([1.0; 3]);
    let usual = range_of_framework(framework);
    let measured = [rl.measured_generation_s, rl.measured_update_s, rl.measured_sync_s];
    // The fast end of the range (0) or the slow one (1), as factors of generation, training and sync.
    let factors = |end: usize| measured.map(|seconds| if seconds.is_some() { MEASURED[end] } else { usual[end] });
    let gpus = run.gpus as f64;
    let days = rl.steps.map(|steps| time.0 * steps as f64 / 86_400.0);
    let gpu_hours = days.map(|days| days * 24.0 * gpus);
    let mut causes = setting.causes.clone();
    causes.extend(trained.causes.iter().copied());
    if !matches!(framework, Some(PhasesBy::NemoRl | PhasesBy::Verl)) {
        causes.push(WideningCause::Framework);
    }
    if framework == Some(PhasesBy::Verl) && setting.in_flight() > 1.0 {
        causes.push(WideningCause::VerlStream);
    }
    Ok(RlStep {
        step_s: time,
        low_s: sides.step(factors(0)),
        high_s: sides.step(factors(1)),
        phases: phases(&sides, apart),
        idle: idle(&sides, apart, time),
        generation_s: sides.generation(),
        training_s: sides.training.total(),
        sync_s: sides.end(),
        bound: bound(&sides),
        rollout_gpus: engines,
        at_once: sides.rollout.at_once,
        capacity: setting.engine.capacity(setting.prompt, setting.lengths.mean),
        busy: if setting.in_flight() > 1.0 && !setting.is_by_batch() {
            1.0
        } else {
            setting.lengths.mean / setting.lengths.longest(setting.generated)
        },
        tokens_per_s_per_gpu: setting.used * setting.lengths.mean / (time.0 * gpus),
        memory: trained
            .phases
            .iter()
            .map(|phase| PhaseMemory { phase: phase.name, bytes: phase.memory.total })
            .collect(),
        capacity_bytes: trained.capacity,
        split: Vec::new(),
        split_staleness: staleness(run),
        flat: None,
        best: None,
        days,
        gpu_hours,
        cost: gpu_hours.zip(run.own_price()).map(|(hours, price)| hours * price),
        causes,
        trained: [load.responses, load.responses * load.tokens / run.seq_len as f64],
    })
}

/// Faults of the trainer's layout that its number of GPUs makes, at the split.
fn at_split(issues: Vec<Issue>, setting: &RlSetting<'_>) -> Vec<Issue> {
    let is_split = setting.run.rl.apart().is_some();
    let moved = |issue: Issue| {
        let of_size = matches!(issue.field.as_str(), "gpus" | "ep" | "global_batch" | "zero" | "hsdp_shard");
        if is_split && of_size {
            let trainer = setting.trainer();
            let message = crate::t!("the {trainer} GPUs that train: {message}", trainer, message = issue.message);
            Issue::error("rl.rollout_gpus", message)
        } else {
            issue
        }
    };
    issues.into_iter().map(moved).collect()
}

/// The side that a split step waits for, where the two differ beyond the error.
fn bound(sides: &Sides) -> WaitsFor {
    if !sides.overlaps {
        return WaitsFor::InTurn;
    }
    let (generation, training) = (sides.generation(), sides.training.total());
    if generation > training * TOLD_APART {
        WaitsFor::Engines
    } else if training > generation * TOLD_APART {
        WaitsFor::Trainer
    } else {
        WaitsFor::Balanced
    }
}

/// Work of each group, in order; what takes no time is left out.
fn phases(sides: &Sides, apart: bool) -> Vec<RlPhase> {
    let Rollout { prefill, full, tail, tools, .. } = sides.rollout;
    let training = sides.training;
    let [engines, trainer] = if apart { [GpuGroup::Engines, GpuGroup::Trainer] } else { [GpuGroup::All; 2] };
    let generation = [
        (PhaseName::Prefill, prefill),
        (PhaseName::Decode, full),
        (PhaseName::Tail, tail),
        (PhaseName::Tools, tools),
        (PhaseName::Verifier, sides.generation() - sides.rollout.total()),
    ];
    let update = [
        (PhaseName::Reward, training.reward),
        (PhaseName::Old, training.old),
        (PhaseName::Reference, training.reference),
        (PhaseName::Values, training.values),
        (PhaseName::Critic, training.critic),
        (PhaseName::Update, training.update),
    ];
    let end = [
        (PhaseName::Sync, sides.sync),
        (PhaseName::Offload, sides.offload),
        (PhaseName::Other, Seconds(BESIDE_PHASES)),
    ];
    let of = |group: GpuGroup, list: &[(PhaseName, Seconds)]| -> Vec<RlPhase> {
        let list = list.iter().filter(|(_, seconds)| seconds.0 > 0.0);
        list.map(|(name, seconds)| RlPhase { name: *name, group, seconds: *seconds }).collect()
    };
    let mut phases = of(engines, &generation);
    if apart {
        phases.extend(of(engines, &end));
    }
    phases.extend(of(trainer, &update));
    phases.extend(of(trainer, &end));
    phases
}

/// Shares of the step in which a group waits; the sync is work of both.
fn idle(sides: &Sides, apart: bool, time: Seconds) -> Vec<Idle> {
    if !apart {
        return vec![Idle { group: GpuGroup::All, share: 0.0 }];
    }
    let share = |work: Seconds| (1.0 - (work + sides.end()) / time).max(0.0);
    let (engines, trainer) = (sides.rollout.total(), sides.training.total());
    vec![
        Idle { group: GpuGroup::Engines, share: share(engines) },
        Idle { group: GpuGroup::Trainer, share: share(trainer) },
    ]
}
