//! torchrun's description of the cluster, in an argument or in a variable of the script around it.

use crate::dialect::rows::prelude::*;
use crate::dialect::text::launch::Launch;
use crate::dialect::text::words::Script;
use shardscope_core::message::Message;

/// Names of a program's scripts for the nodes and the GPUs of each.
pub(crate) struct Launcher {
    /// The argument of nodes, and the variables that hold it.
    pub nodes: (&'static str, &'static [&'static str]),
    /// The argument of GPUs a node, and the variables that hold it.
    pub each: (&'static str, &'static [&'static str]),
}

impl Launcher {
    /// Scripts keep the size of the cluster in variables: they count where no argument is a number.
    pub(crate) fn take_variables(&self, script: &Script, entries: &mut SettingEntries) {
        let launch = Launch::of(script);
        // All together, without a word of nodes.
        let alone = launch.total.filter(|_| launch.nodes.is_none());
        let said = [launch.nodes.or(alone.map(|_| 1)), alone.or_else(|| launch.per_node())];
        let (nodes, each) = Launch::open(script);
        for ((name, variables), (said, open)) in
            [self.nodes, self.each].into_iter().zip(said.into_iter().zip([nodes, each]))
        {
            let is = |test: fn(&Value) -> bool| entries.iter().any(|(known, value)| known == name && test(value));
            let (given, named) = (is(first_number), is(|_| true));
            let count = script.number(variables).or(said);
            if let Some(count) = count.filter(|_| !given) {
                entries.push((name.to_owned(), Value::from(count)));
            } else if let Some(word) = open.filter(|_| !named) {
                entries.push((name.to_owned(), Value::Text(word)));
            }
        }
        // "--nnodes 4 train.py": what follows the last launcher's argument is the program.
        for (name, value) in entries {
            if let Value::List(items) = value
                && [self.nodes.0, self.each.0].contains(&&**name)
            {
                *value = items.first().cloned().unwrap_or_default();
            }
        }
    }

    /// True if an argument gives the number of GPUs.
    pub fn is_said(&self, reader: &SettingsReader) -> bool {
        reader.has(self.nodes.0) || reader.has(self.each.0)
    }

    /// Takes the number of GPUs.
    pub fn read(&self, reader: &mut SettingsReader) {
        let nodes = reader.count(self.nodes.0, "nodes");
        let each = reader.count(self.each.0, "GPUs per node");
        match (nodes, each) {
            (Some(nodes), Some(each)) => {
                let gpus = nodes.saturating_mul(each);
                reader.set("gpus", gpus);
                // A rack on one NVLink is many nodes of the launcher; other nodes are what it starts on.
                let run = &reader.run;
                let now = run.gpus_per_node.or(run.gpu.resolve().map(|gpu| gpu.per_node).ok());
                let elsewhere = now.is_some_and(|now| now <= 8 && share(gpus, now) != each);
                if nodes > 1 && elsewhere {
                    reader.set("gpus_per_node", each);
                }
            }
            // torchrun starts one node by default; where the ranks of a model need more, others start the rest.
            (None, Some(each)) if !reader.has(self.nodes.0) => {
                let ranks = ranks(reader);
                let gpus = if each < ranks { common_multiple(each, ranks) } else { each };
                if gpus > each {
                    reader.assume(t!(
                        "{gpus} GPUs: the {ranks} ranks of tensor, pipeline, context and expert parallelism need \
                            several nodes of {each}",
                        gpus,
                        ranks,
                        each
                    ));
                }
                let is_open = reader.is_default(self.each.0);
                if is_open && reader.commented.as_ref().is_some_and(|(said, _)| said.is_multiple_of(ranks)) {
                    return reader.open_gpus(|_| Message::default());
                }
                if is_open {
                    reader.assume(t!(
                        "{gpus} GPUs: the text does not say how many there are; with more of them each may need less \
                            memory",
                        gpus
                    ));
                }
                reader.set("gpus", gpus);
            }
            _ => {
                reader.open_gpus(|gpus| t!("{gpus} GPUs, as on this page: the launcher says how many", gpus));
            }
        }
    }

    /// Says nodes, and GPUs of each: the largest number a node can hold that divides all of them.
    pub fn write(&self, scenario: &Scenario, writer: &mut SettingsWriter) {
        let (gpus, per_node) = (scenario.layout.gpus, scenario.layout.per_node);
        let each = share(gpus, per_node);
        writer.say(self.nodes.0, gpus / each);
        writer.say(self.each.0, each);
    }
}

/// GPUs that a layout needs at least.
fn ranks(reader: &SettingsReader) -> u64 {
    let run = &reader.run;
    let dense = run.tp.saturating_mul(run.cp);
    // Megatron-LM cuts experts as it cuts all else unless it is told.
    let etp = if reader.has("--tensor-model-parallel-size") { reader.run.tp } else { 1 };
    let etp = match reader.last("--expert-tensor-parallel-size") {
        Some(Value::Number(etp)) => whole(*etp).unwrap_or(1),
        _ => etp,
    };
    let experts = if run.ep > 1 { run.ep.saturating_mul(etp) } else { 1 };
    common_multiple(dense, experts).saturating_mul(run.pp).max(1)
}

/// GPUs of each node: the most that one can hold where all hold as many.
fn share(gpus: u64, per_node: u64) -> u64 {
    let counts = (1..=per_node.min(gpus)).rev();
    counts.into_iter().find(|each| gpus.is_multiple_of(*each)).unwrap_or(1)
}

/// The least multiple of both.
fn common_multiple(one: u64, other: u64) -> u64 {
    let (mut a, mut b) = (one.max(1), other.max(1));
    while b > 0 {
        (a, b) = (b, a % b);
    }
    (one.max(1) / a).saturating_mul(other.max(1))
}

fn first_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::List(items) => matches!(items.first(), Some(Value::Number(_))),
        _ => false,
    }
}
