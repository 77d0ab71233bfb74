//! Why a GPU ran out of memory, by rules from public threads whose cause is known. A change is tried on the run before it is
//! named.

use super::{MemoryFound, Moment, PredictedMemory, gib};
use crate::diagnose::causes::{CauseId, FoundCause};
use crate::message::Message;
use crate::run::{AttentionKernel, OneOf, Run};
use crate::sort::sort_by;
use crate::t;
use crate::units::{GIB, show_percent};

/// Allocated over the device's memory from which a run needs more than there is. A message of 2019 has 89.6 %.
const FULL: f64 = 0.88;

/// A hypothesis: how sure it is, bytes, evidence, change and the fields that try it.
struct Hypothesis {
    id: CauseId,
    weight: f64,
    bytes: f64,
    evidence: Message,
    change: Option<Message>,
    set: Vec<(&'static str, String)>,
}

/// The causes, the surest first. Their weights order the list and are shown to nobody.
#[allow(clippy::too_many_lines)] // one rule after the other
pub(super) fn causes(found: &MemoryFound, run: Option<&Run>) -> Vec<FoundCause> {
    let message = &found.message;
    let (asked, total) = (message.asked.unwrap_or(0.0), message.total.unwrap_or(f64::MAX));
    let moment = message.moment.unwrap_or(Moment::Unknown);
    let allocated = message.allocated.unwrap_or(0.0);
    let unused = message.unused.unwrap_or(0.0);
    let free = message.free.unwrap_or(0.0);
    let optimizer = found.predicted.iter().find(|(name, _)| *name == "optimizer").map_or(asked, |(_, bytes)| *bytes);
    let mut all: Vec<Hypothesis> = Vec::new();
    let mut add = |id, weight, bytes: f64, evidence, change: Option<Message>, set| {
        all.push(Hypothesis { id, weight, bytes, evidence, change, set });
    };
    // Others on the GPU: those it names, else what neither PyTorch nor the free memory is.
    let rest = total
        - message.free.unwrap_or(total)
        - message.process.filter(|held| *held > 0.0).unwrap_or(allocated + unused);
    let derived =
        message.free.is_some() && message.total.is_some() && !message.driver_pool && message.process.is_none();
    let others = message.others.unwrap_or(if derived && rest > 0.5 * total { rest } else { 0.0 });
    if others > 0.03 * total {
        let evidence = t!("{held} of the GPU belong to other processes.", held = gib(others));
        add(
            CauseId::OtherProcess,
            0.95,
            others,
            evidence,
            Some(t!("end the other process, or use another GPU")),
            vec![],
        );
    }
    if let Some(allowed) = message.allowed.filter(|allowed| *allowed < 0.99 * total && others <= 0.03 * total) {
        let evidence = t!(
            "The process may use {allowed} of {total}: a limit was set.",
            allowed = gib(allowed),
            total = gib(total)
        );
        let weight = if message.free.is_some_and(|free| free > asked) { 0.92 } else { 0.4 };
        add(
            CauseId::AnotherSetting,
            weight,
            allowed,
            evidence,
            Some(t!("raise the memory fraction of the process")),
            vec![],
        );
    }
    if moment == Moment::FirstStates || message.makes_states {
        let evidence = if moment == Moment::Checkpoint || message.makes_states {
            t!("The optimizer's states were made for the first time while a checkpoint was written.")
        } else {
            t!("The optimizer's states were made for the first time.")
        };
        let change = t!("no checkpoint before the first step; states sharded over data-parallel ranks, or offloaded");
        add(CauseId::FirstOptimizerStep, 0.93, optimizer, evidence, Some(change), zero_up(run));
    } else if moment == Moment::OptimizerStep && message.step.unwrap_or(1) <= 1 {
        let evidence = t!("It failed in the optimizer's step, whose states come with the first one.");
        let change = t!("shard the states over data-parallel ranks, or fewer bytes a parameter");
        add(CauseId::FirstOptimizerStep, 0.8, optimizer, evidence, Some(change), zero_up(run));
    }
    if let Some(fingerprint) = &found.fingerprint {
        if fingerprint.logits {
            let evidence =
                t!("The {asked} that were asked for are {what}.", asked = gib(asked), what = &fingerprint.name);
            let weight = if matches!(moment, Moment::Loss | Moment::Backward | Moment::Unknown) { 0.9 } else { 0.7 };
            let change = t!("a fused or chunked loss, and recomputation where activations are too large as well");
            add(CauseId::Logits, weight, asked, evidence, Some(change), vec![("cross_entropy", "te-fused".to_owned())]);
        }
        if fingerprint.longer && message.step.is_none_or(|step| step > 1) {
            let evidence =
                t!("The {asked} that were asked for are {what}.", asked = gib(asked), what = &fingerprint.name);
            // The frames name the tensor, the run's own batch is shorter: the sample is the reason, the logits are the
            // place.
            let weight = if message.step.is_some() && moment == Moment::Loss { 0.91 } else { 0.75 };
            add(CauseId::LongestSample, weight, asked, evidence, Some(t!("cut, pack or sort the samples")), vec![]);
        }
        if let Some(evidence) = plain_attention(found, run) {
            let change = t!("a flash kernel: attn_implementation=flash_attention_2, or --attention-backend flash");
            add(CauseId::AttentionFallback, 0.93, asked, evidence, Some(change), vec![]);
        }
    } else if moment == Moment::Loss {
        let evidence = t!("It failed while the loss was computed.");
        let set = vec![("cross_entropy", "te-fused".to_owned())];
        add(CauseId::Logits, 0.6, asked, evidence, Some(t!("a fused or chunked loss")), set);
    }
    if message.driver_pool {
        let held = total - allocated - message.free.unwrap_or(0.0);
        let evidence =
            t!("{held} are neither allocated nor free: the driver's pool holds them in pieces.", held = gib(held));
        add(CauseId::Fragmentation, 0.7, held, evidence, Some(t!("PyTorch's own allocator")), vec![]);
    } else if unused > asked && unused > 0.02 * total && asked > 0.0 {
        let evidence = t!(
            "{unused} are reserved and not in use, more than the {asked} that were asked for.",
            unused = gib(unused),
            asked = gib(asked)
        );
        let change =
            t!("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF from 2.9 on), or equal shapes");
        add(CauseId::Fragmentation, 0.85, unused, evidence, Some(change), vec![]);
    } else if unused > 0.0 && free < asked && unused + free >= asked {
        let evidence = t!(
            "{unused} are reserved and not in use, {free} are free: together at least the {asked} that were asked for.",
            unused = gib(unused),
            free = gib(free),
            asked = gib(asked)
        );
        // Expandable segments give pages that are not in use back to the driver: both together can serve one request.
        let change = t!("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF from 2.9 on)");
        add(CauseId::Fragmentation, 0.6, unused, evidence, Some(change), vec![]);
    } else if unused > 0.0 && unused + free < asked {
        let evidence = t!(
            "{unused} are reserved and not in use. With all of it free, {short} would still be missing.",
            unused = gib(unused),
            short = gib(asked - unused - free)
        );
        add(CauseId::Fragmentation, 0.05, unused, evidence, None, vec![]);
    }
    if let Some(cause) = message.trend.as_ref().and_then(|trend| trend.cause(found.experts)) {
        add(cause.id, 0.88, cause.bytes.unwrap_or(0.0), cause.evidence, cause.change, vec![]);
    }
    if message.resumed && message.step.unwrap_or(1) <= 1 && moment != Moment::FirstStates {
        let evidence =
            t!("It failed in the first step after a checkpoint was read: the optimizer's states are there from the \
                beginning, which a fresh run has only at the end of its first step.");
        let change = t!("states on the host until the first step, or sharded over data-parallel ranks");
        add(CauseId::FirstOptimizerStep, 0.78, optimizer, evidence, Some(change), zero_up(run));
    }
    if moment == Moment::Checkpoint && !message.makes_states {
        let evidence = t!("It failed while a checkpoint was written: whole weights on one GPU, or copies of states.");
        let change = t!("a sharded checkpoint, or one that is gathered on the host");
        add(CauseId::Checkpoint, 0.7, asked, evidence, Some(change), vec![]);
    }
    if moment == Moment::Generation {
        let evidence = t!("It failed while it generated: the engine and the training share the GPU.");
        let change = t!("the engine's sleep level, or a smaller share of memory for it");
        add(CauseId::OtherProcess, 0.6, asked, evidence, Some(change), vec![]);
    }
    if let (Some("cuBLAS"), None) = (message.library, message.total) {
        let evidence = t!(
            "cuBLAS found no room for its handle: the GPU is full; of a small model in its first call it may be an \
                index out of range instead."
        );
        let change = t!("CUDA_LAUNCH_BLOCKING=1 names the call");
        add(CauseId::NeverFitted, 0.73, asked, evidence, Some(change), vec![]);
    }
    if let (Some("NCCL"), None) = (message.library, message.total) {
        let evidence = t!("NCCL lacked a few MiB for a connection: the GPU is full, NCCL is not large.");
        add(CauseId::NeverFitted, 0.73, asked, evidence, Some(t!("memory kept free for communicators")), vec![]);
    }
    if moment == Moment::Evaluation {
        let evidence = t!("It failed in an evaluation, whose logits and batch are its own.");
        add(
            CauseId::Evaluation,
            0.65,
            asked,
            evidence,
            Some(t!("a smaller evaluation batch, without gradients")),
            vec![],
        );
    }
    if moment == Moment::Experts {
        let evidence = t!("It failed in the experts: the fullest one decides.");
        add(
            CauseId::ExpertImbalance,
            0.6,
            asked,
            evidence,
            Some(t!("a capacity, a balancing loss, more expert parallelism")),
            vec![],
        );
    }
    let outside = message.process.map_or(0.0, |process| process - allocated - unused);
    if outside > 3.0 * GIB && outside < total {
        let evidence = t!("{outside} of the process are outside PyTorch.", outside = gib(outside));
        add(
            CauseId::Context,
            0.55,
            outside,
            evidence,
            Some(t!("fewer communicators, smaller NCCL and expert buffers")),
            vec![],
        );
    }
    if let Some(pools) = message.pools.filter(|pools| *pools > 2.0 * GIB) {
        let evidence = t!("{pools} are in pools of CUDA graphs.", pools = gib(pools));
        add(CauseId::Context, 0.55, pools, evidence, Some(t!("fewer captured shapes")), vec![]);
    }
    never_fitted(found, run, &mut all);
    another_run(found, &mut all);
    together(run, message.rank, &mut all);
    sort_by(&mut all, |a: &Hypothesis, b| b.weight.total_cmp(&a.weight));
    // Two rules may name one cause: the surer one speaks.
    let mut named = Vec::new();
    all.retain(|one| {
        let is_new = !named.contains(&one.id);
        named.push(one.id);
        is_new
    });
    let now = run.and_then(|run| PredictedMemory::of(run, message.rank));
    let listed = all.into_iter().map(|one| {
        let after = tried(run, message.rank, &one.set);
        let told = match (one.change, &now, &after) {
            (Some(change), Some(now), Some(after)) => (Some(changed(change, now, after)), !after.is_as(now)),
            (change, ..) => (change, after.is_some()),
        };
        let (change, helps) = told;
        FoundCause {
            bytes: Some(one.bytes),
            change,
            set: if helps { one.set } else { Vec::new() },
            predicted_s: after.map(|after| after.step_s),
            ..FoundCause::new(one.id, one.evidence)
        }
    });
    listed.collect()
}

/// A change with the need that is predicted for it. Fitting proves nothing where the run fits by the prediction as it
/// is, and a change that the prediction does not see is not called one that fits.
fn changed(change: Message, now: &PredictedMemory, after: &PredictedMemory) -> Message {
    let (need, before) = (gib(after.need[1]), gib(now.need[1]));
    match () {
        () if after.is_as(now) => t!("{change}: the prediction stays at {need}", change, need),
        () if now.fits => {
            t!("{change}: {need} by the prediction, {now} for the run as it is", change, need, now = before)
        }
        () if after.fits => {
            t!("{change}: fits by the prediction, {need} instead of {now}", change, need, now = before)
        }
        () => t!("{change}: would not do by the prediction, {need} instead of {now}", change, need, now = before),
    }
}

/// The attention kernel of the run holds no scores, and scores were asked for.
fn plain_attention(found: &MemoryFound, run: Option<&Run>) -> Option<Message> {
    let fingerprint = found.fingerprint.as_ref().filter(|what| what.scores)?;
    let kernel = run?.attention_kernel();
    if kernel == AttentionKernel::Eager {
        return None;
    }
    let held = t!(
        "The {asked} that were asked for are {what}. A flash kernel never holds them: attention runs in its plain \
            form, and the run on the page has {kernel}.",
        asked = gib(found.message.asked?),
        what = &fingerprint.name,
        kernel = Message::plain(kernel.choice().label)
    );
    let plain = vec![("stack.attention", AttentionKernel::Eager.id().to_owned())];
    let with = tried(run, found.message.rank, &plain)
        .map(|after| t!("With plain attention {need} are predicted for that rank.", need = gib(after.need[1])));
    Some(Message::joined(" ", std::iter::once(held).chain(with)))
}

/// More was held than is predicted at most: the run that failed is not the one on the page.
fn another_run(found: &MemoryFound, all: &mut Vec<Hypothesis>) {
    let (Some(allocated), Some([low, need, high, capacity])) = (found.message.allocated, found.need) else {
        return;
    };
    if allocated <= high || need > capacity {
        return;
    }
    let evidence = t!(
        "It held {allocated}, and {need} ({low} to {high}) are predicted for the run on the page: what failed was \
            another run, or needs what is not counted.",
        allocated = gib(allocated),
        need = gib(need),
        low = gib(low),
        high = gib(high)
    );
    let change = t!("compare layout, sequence length, micro-batch, recomputation and attention with the program's");
    let (id, bytes) = (CauseId::AnotherSetting, allocated - need);
    all.push(Hypothesis { id, weight: 0.84, bytes, evidence, change: Some(change), set: Vec::new() });
}

/// The run needs more than there is: by what was allocated, or by the prediction; with the changes that would fit.
fn never_fitted(found: &MemoryFound, run: Option<&Run>, all: &mut Vec<Hypothesis>) {
    let message = &found.message;
    let full = message.allocated.zip(message.total).map(|(allocated, total)| allocated / total);
    let larger = message.asked.zip(message.total).is_some_and(|(asked, total)| asked > total);
    let by_prediction = found.need.is_some_and(|[_, need, _, capacity]| need > capacity);
    let is_full = full.is_some_and(|share| share > FULL);
    let missing = found.short.unwrap_or_else(|| message.asked.unwrap_or(0.0));
    let evidence = match full {
        _ if larger => t!("More was asked for at once than the GPU has."),
        Some(share) if is_full => {
            t!("{share} of the GPU are tensors that PyTorch allocated.", share = show_percent(share))
        }
        _ if by_prediction => t!("The prediction for this run needs more than the GPU has."),
        _ => t!("Together with what was asked for, more is needed than the GPU has."),
    };
    let weight = match () {
        () if larger => 0.94,
        () if is_full => 0.72,
        () if by_prediction => 0.5,
        () => 0.3,
    };
    let changes = run.map_or_else(Vec::new, |own| changes(own, run));
    let now = run.and_then(|run| PredictedMemory::of(run, message.rank));
    // A run that fits by the prediction and did not has to need less by what was missing.
    let most = now.filter(|now| now.fits).map(|now| now.need[1] - missing.max(1.0));
    let fits = |set: &[(&'static str, String)]| {
        tried(run, message.rank, set).is_some_and(|after| after.fits && most.is_none_or(|most| after.need[1] <= most))
    };
    let fitting = changes.into_iter().find(|(_, set)| !set.is_empty() && fits(set));
    let (change, set) = fitting.map_or((None, Vec::new()), |(change, set)| (Some(change), set));
    all.push(Hypothesis { id: CauseId::NeverFitted, weight, bytes: missing, evidence, change, set });
}

/// Where the change of the logits does not fit alone, the first of the other changes that fits beside it: two causes
/// can hold at once, and either mended alone fails one step later.
fn together(run: Option<&Run>, rank: Option<u64>, all: &mut [Hypothesis]) {
    let Some(own) = run else {
        return;
    };
    let Some(logits) = all.iter().find(|one| one.id == CauseId::Logits && !one.set.is_empty()) else {
        return;
    };
    let first = logits.set.clone();
    let fits = |set: &[(&'static str, String)]| tried(run, rank, set).map(|after| after.fits);
    if fits(&first).is_none_or(|fits| fits) {
        return;
    }
    let Some((words, second)) = changes(own, run).into_iter().find(|(_, set)| {
        let both = [first.clone(), set.clone()].concat();
        !set.is_empty() && fits(&both) == Some(true)
    }) else {
        return;
    };
    let alone = fits(&second) == Some(true);
    if let Some(logits) = all.iter_mut().find(|one| one.id == CauseId::Logits) {
        logits.set = [first, second.clone()].concat();
        logits.change = logits.change.take().map(|change| t!("{change}, with {words}", change, words = &words));
    }
    if !alone && let Some(fitted) = all.iter_mut().find(|one| one.id == CauseId::NeverFitted) {
        let evidence = t!("{words} alone would not do either: both together fit.", words = &words);
        fitted.evidence = Message::joined(" ", [fitted.evidence.clone(), evidence]);
        fitted.change = Some(words);
        fitted.set = second;
    }
}

/// Changes that a run which does not fit is tried with, in the order of what they cost.
fn changes(own: &Run, run: Option<&Run>) -> Vec<(Message, Vec<(&'static str, String)>)> {
    vec![
        (t!("a micro-batch half as large"), vec![("micro_batch", (own.micro_batch / 2).to_string())]),
        (t!("full recomputation"), vec![("recompute", "full".to_owned())]),
        (t!("states sharded over data-parallel ranks"), zero_up(run)),
        (t!("twice the tensor-parallel size"), vec![("tp", (own.tp * 2).to_string())]),
        (t!("twice the pipeline"), vec![("pp", (own.pp * 2).to_string())]),
    ]
}

/// One step more of sharding; nothing at the last.
fn zero_up(run: Option<&Run>) -> Vec<(&'static str, String)> {
    let more = run.filter(|run| run.zero < 3).map(|run| ("zero", (run.zero + 1).to_string()));
    more.into_iter().collect()
}

/// What is predicted for `rank` of `run` with `set`; none where that changes nothing or does not work.
fn tried(run: Option<&Run>, rank: Option<u64>, set: &[(&'static str, String)]) -> Option<PredictedMemory> {
    let run = run?;
    if set.is_empty() {
        return None;
    }
    let after = run.with_texts(set).filter(|after| after != run)?;
    PredictedMemory::of(&after, rank)
}
