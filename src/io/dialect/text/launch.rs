//! The command of a script that trains, and the GPUs that its launcher starts it on: torchrun, Accelerate, DeepSpeed,
//! Slurm, MPI.
//!
//! Sources: pytorch `torch/distributed/run.py`, Accelerate `commands/launch.py`, DeepSpeed `launcher/runner.py`,
//! `srun(1)`, `mpirun(1)`; torchtune's `tune run` takes torchrun's options (pytorch/torchtune bd2a0fc
//! `torchtune/_cli/run.py`).

use crate::dialect::SettingEntries;
use crate::dialect::text::shell::{NOTHING, Started, program_name};
use crate::dialect::text::slurm;
use crate::dialect::text::words::{Script, is_extra, is_open, is_override};
use shardscope_core::run::Value;

/// Programs that start others, or train by themselves with one of these words behind them.
const LAUNCHERS: [(&str, &[&str]); 20] = [
    ("torchrun", &[]),
    ("torchrun_megatron", &[]),
    ("deepspeed", &[]),
    ("accelerate", &["launch"]),
    ("swift", &["pt", "sft", "rlhf"]),
    ("megatron", &["pt", "sft", "rlhf"]),
    ("llamafactory-cli", &["train"]),
    ("axolotl", &["train", "preprocess"]),
    ("trl", &["sft", "dpo", "grpo", "kto", "reward", "rloo"]),
    ("tune", &["run"]),
    ("composer", &[]),
    ("srun", &[]),
    ("mpirun", &[]),
    ("mpiexec", &[]),
    ("horovodrun", &[]),
    ("automodel", &[]),
    ("primus-cli", &[]),
    ("nemo", &["llm"]),
    ("ray", &["job"]),
    ("python", &["torch.distributed.launch", "torch.distributed.run", "accelerate.commands.launch"]),
];

/// Programs that start a node's processes themselves, whatever starts them on each node.
const STARTERS: [&str; 11] = [
    "torchrun",
    "torchrun_megatron",
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate",
    "accelerate.commands.launch",
    "deepspeed",
    "composer",
    "ray",
    "mpirun",
    "tune",
];

/// Parts of a program's name that does something else than train.
const OTHER_WORK: [&str; 23] = [
    "convert",
    "preprocess",
    "download",
    "infer",
    "generate",
    "generation",
    "quantize",
    "prune",
    "validate",
    "feature_extract",
    "merge",
    "export",
    "deploy",
    "serve",
    "rollout",
    "prepare",
    "benchmark_serving",
    "evaluate",
    "lm_eval",
    "tokenize",
    "vllm",
    "vllm-serve",
    "sglang",
];

/// How sure it is that a command trains; 0 where it is not one.
fn weight(words: &[String]) -> u8 {
    let name = |word: &String| program_name(word).to_owned();
    let argument = |word: &String| word.starts_with("--") && word.len() > 2 || is_override(word);
    let Some(first) = words.first() else { return 0 };
    if first.starts_with("--") {
        return 3;
    }
    let settings = words.iter().filter(|word| argument(word)).count();
    let programs = words.iter().filter(|word| {
        let plain = !word.starts_with('-') && !word.contains('=');
        plain && (word.rsplit('.').next() == Some("py") || OTHER_WORK.contains(&word.as_str()))
    });
    let evaluates = |name: &str| name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == "eval");
    let other = |word: &String| {
        let name = name(word);
        evaluates(&name) || OTHER_WORK.iter().any(|part| name.contains(part))
    };
    if programs.clone().any(other) || words.get(1).is_some_and(|word| OTHER_WORK.contains(&word.as_str())) {
        return 0;
    }
    // Of a cluster of Ray: `srun bash -c "ray start"` trains as little.
    if words.windows(2).any(|pair| name(&pair[0]) == "ray" && (pair[1] == "start" || pair[1] == "stop")) {
        return 0;
    }
    if starts_tool(words) {
        return 0;
    }
    let launches = words.iter().enumerate().any(|(at, word)| {
        LAUNCHERS.iter().any(|(launcher, tasks)| {
            let is = name(word) == *launcher || *launcher == "python" && name(word).starts_with("python");
            is && (tasks.is_empty() || words[at..].iter().skip(1).any(|word| tasks.contains(&word.as_str())))
        })
    });
    match (launches, settings) {
        (true, _) => 3,
        (_, 0) => 1,
        (_, _) => 2,
    }
}

/// Options of `srun` and `mpirun` that take no value, or one behind `=` alone: `srun(1)`, `mpirun(1)` of Open MPI.
const SWITCHES: [&str; 57] = [
    "-E",
    "-H",
    "-I",
    "-K",
    "-O",
    "-Q",
    "-V",
    "-X",
    "-Z",
    "-h",
    "-k",
    "-l",
    "-q",
    "-s",
    "-u",
    "-v",
    "--allow-run-as-root",
    "--async",
    "--bynode",
    "--byslot",
    "--contiguous",
    "--disable-status",
    "--display-allocation",
    "--display-map",
    "--exact",
    "--exclusive",
    "--external",
    "--hold",
    "--immediate",
    "--interactive",
    "--kill-on-bad-exit",
    "--label",
    "--multi-prog",
    "--nice",
    "--no-allocate",
    "--no-kill",
    "--nolocal",
    "--nooversubscribe",
    "--overcommit",
    "--overlap",
    "--oversubscribe",
    "--pernode",
    "--preserve-env",
    "--propagate",
    "--pty",
    "--quiet",
    "--quit-on-interrupt",
    "--reboot",
    "--report-bindings",
    "--resv-ports",
    "--spread-job",
    "--tag-output",
    "--test-only",
    "--timestamp-output",
    "--unbuffered",
    "--use-min-nodes",
    "--verbose",
];

/// The program that a launcher of processes starts, the first of `words`: what is neither an option of it nor the value
/// of one.
fn started_by(words: &[String]) -> Option<&String> {
    let is_slurm = program_name(words.first()?) == "srun";
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            return Some(word);
        }
        let is_long = word.starts_with("--");
        // Open MPI takes its long options behind one dash too.
        let named = if is_long || word.len() == 2 { word.clone() } else { format!("-{word}") };
        let joined = is_slurm && !is_long && word.len() > 2;
        let values = match named.trim_start_matches('-') {
            _ if joined || word.contains('=') || SWITCHES.contains(&named.as_str()) => 0,
            // A parameter's name, and its value.
            "mca" | "gmca" | "prtemca" | "pmixmca" => 2,
            _ => 1,
        };
        rest.by_ref().take(values).for_each(drop);
    }
    None
}

/// True of a launcher of processes that starts a tool on each node, `srun --nodes 2 rm -rf cache`.
fn starts_tool(words: &[String]) -> bool {
    const STARTS: [&str; 3] = ["srun", "mpirun", "mpiexec"];
    const DOES: [&str; 3] = ["ray", "sudo", "conda"];
    let is_launcher = words.first().is_some_and(|word| STARTS.contains(&program_name(word)));
    let program = if is_launcher { started_by(words) } else { None };
    program.is_some_and(|word| NOTHING.contains(&word.as_str()) && !DOES.contains(&word.as_str()))
}

/// The commands that say the training.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Chosen<'s> {
    /// The last one that trains; none where a text is a part of a script.
    pub training: Option<&'s Started>,
    /// Parts of a command line that stand alone; of a part of a script all that may say settings.
    pub parts: Vec<&'s Started>,
    /// How many others train as well.
    pub others: usize,
}

/// The commands of a script that say its training.
pub(in crate::dialect) fn chosen(started: &[Started]) -> Chosen<'_> {
    // Arguments alone, those that are not known too: a line before them lacks its backslash.
    let is_part = |one: &&Started| one.words.first().is_some_and(|word| word.starts_with("--") || is_extra(word));
    let parts: Vec<&Started> = started.iter().filter(is_part).collect();
    let whole = started.iter().filter(|one| !is_part(one));
    let best = whole.clone().map(|one| weight(&one.words)).max().unwrap_or(0);
    if best < 2 {
        // Nothing trains: what is there is a part of a script.
        let parts = started.iter().filter(|one| weight(&one.words) > 0).collect();
        return Chosen { parts, ..Chosen::default() };
    }
    let trains: Vec<&Started> = whole.filter(|one| weight(&one.words) == best).collect();
    Chosen { training: trains.last().copied(), parts, others: trains.len().saturating_sub(1) }
}

/// What a launcher says of the GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Launch {
    pub nodes: Option<u64>,
    pub each: Option<u64>,
    /// All together, where that is said.
    pub total: Option<u64>,
}

impl Launch {
    /// Of the launchers among the words of a script, in its variables where they say it.
    pub fn of(script: &Script) -> Self {
        let words: Vec<&str> = script.words.iter().map(String::as_str).collect();
        let mut out = Self::default();
        let named = |name: &str| words.iter().position(|word| word.rsplit('/').next() == Some(name));
        // An option's value behind it, or behind its "=".
        let option = |from: usize, names: &[&str]| -> Option<&str> {
            let rest = words.get(from..)?;
            rest.iter().enumerate().find_map(|(at, word)| {
                let (name, value) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
                let is = names.contains(&name) || name.starts_with("--") && names.contains(&&*name.replace('_', "-"));
                is.then(|| value.or_else(|| rest.get(at + 1).copied()))?
            })
        };
        let number = |from: usize, names: &[&str]| option(from, names).and_then(slurm::count);
        // Tasks of Slurm are processes that train where no launcher starts those.
        let is_plain = !STARTERS.iter().any(|name| named(name).is_some());
        if let Some(at) = named("srun") {
            let tasks = if is_plain { number(at, &["-n", "--ntasks"]) } else { None };
            let each_task = number(at, &["--gpus-per-task"]).or_else(|| script.number(&["SLURM_GPUS_PER_TASK"]));
            out.nodes = number(at, &["-N", "--nodes"]);
            out.each = number(at, &["--gpus-per-node", "--gres"])
                .or_else(|| number(at, &["--ntasks-per-node"]).filter(|_| is_plain));
            out.total = tasks.map(|tasks| tasks.saturating_mul(each_task.unwrap_or(1))).filter(|_| out.each.is_none());
            out.total = out.total.or_else(|| number(at, &["-G", "--gpus"]));
        }
        if let Some(at) = ["mpirun", "mpiexec", "horovodrun"].into_iter().find_map(named) {
            out.total = number(at, &["-np", "-n", "--np", "-c"]);
        }
        if let Some(at) =
            ["torchrun", "torch.distributed.run", "torch.distributed.launch", "tune"].into_iter().find_map(named)
        {
            out.nodes = number(at, &["--nnodes"]).or(out.nodes);
            out.each = number(at, &["--nproc-per-node"]).or(out.each);
        }
        if let Some(at) = named("deepspeed") {
            out.nodes = number(at, &["--num-nodes"]).or(out.nodes);
            out.each = number(at, &["--num-gpus", "--num-accelerators"]).or(out.each);
            if let Some(hosts) = option(at, &["-i", "--include"]) {
                let (nodes, total) = included(hosts);
                out.total = total.filter(|_| out.each.is_none());
                out.nodes = out.nodes.or(nodes);
            }
        }
        if let Some(at) = named("accelerate").or_else(|| named("accelerate.commands.launch")) {
            out.nodes = number(at, &["--num-machines"]).or(out.nodes);
            out.total = number(at, &["--num-processes"]).or(out.total);
        }
        // open-instruct e6c3044 `mason.py:533`: it starts the command on several nodes; its processes are those of one.
        if let Some(nodes) = named("mason.py").and_then(|at| number(at, &["--num-nodes"])).filter(|nodes| *nodes > 1) {
            out.total = out.total.map(|total| total.saturating_mul(nodes));
        }
        if let Some(at) = named("composer") {
            out.total = number(at, &["--world-size"]).or(out.total);
            out.each = number(at, &["-n", "--nproc"]).or(out.each);
        }
        // Variables that launchers read, then those of Slurm.
        out.nodes = out.nodes.or_else(|| script.number(&["NNODES", "NUM_NODES", "SLURM_NNODES"]));
        if out.each.is_none() && out.total.is_none() {
            let names = ["NPROC_PER_NODE", "GPUS_PER_NODE", "NUM_GPUS", "SLURM_GPUS_PER_NODE"];
            out.each = script.number(&names).or_else(|| visible(script));
        }
        if out.each.is_none() && out.total.is_none() {
            out.take_job(script, is_plain);
        }
        out
    }

    /// Takes the GPUs that a batch job asks for, then its tasks, where those are what trains.
    fn take_job(&mut self, script: &Script, is_plain: bool) {
        let of = |name: &str| script.number(&[name]);
        self.total = of("SLURM_GPUS");
        if self.total.is_some() || !is_plain {
            return;
        }
        let each_task = of("SLURM_GPUS_PER_TASK").unwrap_or(1);
        self.each = of("SLURM_NTASKS_PER_NODE").map(|tasks| tasks.saturating_mul(each_task));
        if self.each.is_none() {
            self.total = of("SLURM_NTASKS").map(|tasks| tasks.saturating_mul(each_task));
        }
    }

    /// What the text leaves open of it: the word that stands for the number of nodes, and that for the GPUs of each. A
    /// launcher that is told a number of another kind starts no single node.
    pub fn open(script: &Script) -> (Option<String>, Option<String>) {
        let option = |names: &[&str]| {
            let words = script.words.iter().enumerate();
            let found = words.rev().find_map(|(at, word)| {
                let (name, value) =
                    word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
                let name = name.strip_prefix("--")?.replace('_', "-");
                let value = || value.or_else(|| script.words.get(at + 1).map(String::as_str));
                names.contains(&name.as_str()).then(value)?
            });
            found.map(str::to_owned)
        };
        let variable = |names: &[&str]| names.iter().find_map(|name| script.known(name)).map(str::to_owned);
        let nodes = option(&["nnodes", "num-nodes", "num-machines", "nodes"])
            .or_else(|| variable(&["NNODES", "NUM_NODES", "SLURM_NNODES"]));
        let each = option(&["nproc-per-node", "num-gpus", "gpus-per-node"])
            .or_else(|| variable(&["NPROC_PER_NODE", "GPUS_PER_NODE", "SLURM_GPUS_PER_NODE"]));
        (nodes.filter(|word| is_open(word)), each.filter(|word| is_open(word)))
    }

    /// All GPUs; one node where nothing says how many.
    pub fn gpus(self) -> Option<u64> {
        let nodes = self.nodes.unwrap_or(1).max(1);
        self.total.or_else(|| Some(self.each?.saturating_mul(nodes))).filter(|gpus| *gpus > 0)
    }

    /// Of each node.
    pub fn per_node(self) -> Option<u64> {
        self.each.or_else(|| Some(self.total? / self.nodes.filter(|nodes| *nodes > 0)?))
    }
}

/// GPUs that `CUDA_VISIBLE_DEVICES` lists.
fn visible(script: &Script) -> Option<u64> {
    let list = script.known("CUDA_VISIBLE_DEVICES")?;
    let all = !list.is_empty() && list.split(',').all(|one| one.trim().parse::<u64>().is_ok());
    all.then(|| list.split(',').count() as u64)
}

/// Nodes and GPUs of `host@host:0,2`: all of a host without a list are not known.
fn included(hosts: &str) -> (Option<u64>, Option<u64>) {
    let nodes = hosts.split('@').count() as u64;
    let lists: Option<Vec<u64>> =
        hosts.split('@').map(|host| Some(host.split_once(':')?.1.split(',').count() as u64)).collect();
    (Some(nodes), lists.map(|counts| counts.iter().sum()))
}

/// Options of launchers that only place the program, or say the GPUs that [`Launch`] takes.
const PLACED: [&str; 12] = [
    "nnodes",
    "nproc_per_node",
    "num_nodes",
    "num_gpus",
    "num_accelerators",
    "num_machines",
    "num_processes",
    "include",
    "gpus_per_node",
    "ntasks_per_node",
    "ntasks",
    "nodes",
];

/// Those of them that say how many nodes there are.
const NODES: [&str; 4] = ["nnodes", "num_nodes", "num_machines", "nodes"];

fn bare(name: &str) -> String {
    name.trim_start_matches('-').replace('-', "_")
}

/// True of an option of a launcher that [`Launch`] takes.
pub(in crate::dialect) fn is_placed(name: &str) -> bool {
    PLACED.contains(&&*bare(name))
}

/// Puts the GPUs of a launcher in place of its options, under the names `nnodes` and `nproc_per_node`, or
/// `num_processes` for all together.
pub(in crate::dialect) fn take_launch(script: &Script, entries: &mut SettingEntries) {
    let launch = Launch::of(script);
    let (nodes, each) = Launch::open(script);
    let said = |name: &str| entries.iter().any(|(known, _)| is_placed(known) && bare(known) == name);
    let is_named = ["nproc_per_node", "num_gpus", "gpus_per_node"].into_iter().any(said);
    if let Some(word) = nodes.filter(|_| launch.nodes.is_none() && launch.total.is_none()) {
        // Of an unknown number of nodes: the GPUs are those of the page.
        entries.retain(|(name, _)| !NODES.contains(&&*bare(name)));
        entries.push(("nnodes".to_owned(), Value::Text(word)));
        return;
    }
    if launch.gpus().is_none() {
        entries.extend(each.filter(|_| !is_named).map(|word| ("nproc_per_node".to_owned(), Value::Text(word))));
        return;
    }
    // Its GPUs are those of a node.
    let by_mason = script.words.iter().any(|word| word.rsplit('/').next() == Some("mason.py"));
    entries.retain(|(name, _)| !(is_placed(name) || by_mason && name.trim_start_matches('-') == "gpus"));
    let mut add = |name: &str, count: Option<u64>| {
        entries.extend(count.map(|count| (name.to_owned(), Value::from(count))));
    };
    add("nnodes", launch.nodes);
    if launch.total.is_some() {
        add("num_processes", launch.total);
    } else {
        add("nproc_per_node", launch.each);
    }
}
