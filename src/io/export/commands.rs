//! The commands that start programs on the settings that an export wrote, as their own documents print them.
//!
//! A launch script of Megatron-LM and a configuration of torchtitan have theirs inside.

use shardscope_core::run::Scenario;

/// A command on one node, and on each of several. Holes: `{file}` of the settings, `{nodes}`, `{each}` GPUs of a node,
/// `{all}` of them, `{task}` of the program.
struct StartCommand {
    format: &'static str,
    alone: &'static str,
    on_each: &'static str,
}

/// Sources, at the commits of the stored copies: nanotron `docs/your-first-training.md`; axolotl `docs/multi-node.qmd`;
/// LLaMA-Factory `examples/README.md`; TRL `docs/source/clis.md` and Accelerate `docs/source/package_reference/cli.md`,
/// whose arguments it passes on; torchtune `docs/source/tune_cli.rst`, which passes torchrun's on; llm-foundry
/// `scripts/train/README.md`; `DeepSpeed` `docs/_tutorials/getting-started.md`.
const COMMANDS: [StartCommand; 8] = [
    StartCommand {
        format: "nanotron",
        alone: "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc_per_node={each} run_train.py --config-file {file}",
        on_each: "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nnodes={nodes} --nproc_per_node={each} --rdzv_backend c10d \
            --rdzv_endpoint \"$HEAD_NODE:29500\" run_train.py --config-file {file}",
    },
    StartCommand {
        format: "axolotl",
        alone: "axolotl train {file} --launcher torchrun -- --nproc_per_node={each}",
        on_each: "axolotl train {file} --launcher torchrun -- --nnodes {nodes} --nproc_per_node {each} --rdzv_id 1 \
            --rdzv_backend c10d --rdzv_endpoint \"$HEAD_NODE:29500\"",
    },
    StartCommand {
        format: "llama-factory",
        alone: "FORCE_TORCHRUN=1 llamafactory-cli train {file}",
        on_each: "FORCE_TORCHRUN=1 NNODES={nodes} NODE_RANK=$NODE_RANK MASTER_ADDR=$HEAD_NODE MASTER_PORT=29500 \
            llamafactory-cli train {file}",
    },
    StartCommand {
        format: "trl",
        alone: "trl {task} --config {file} --num_processes {all}",
        on_each: "trl {task} --config {file} --num_machines {nodes} --num_processes {all} --machine_rank $NODE_RANK \
            --main_process_ip $HEAD_NODE --main_process_port 29500",
    },
    StartCommand {
        format: "accelerate",
        alone: "accelerate launch --config_file {file} SCRIPT",
        on_each: "accelerate launch --config_file {file} --machine_rank $NODE_RANK --main_process_ip $HEAD_NODE \
            --main_process_port 29500 SCRIPT",
    },
    StartCommand {
        format: "torchtune",
        alone: "tune run --nnodes 1 --nproc_per_node {each} {task} --config {file}",
        on_each: "tune run --nnodes {nodes} --nproc_per_node {each} --rdzv_backend c10d --rdzv_endpoint \
            \"$HEAD_NODE:29500\" {task} --config {file}",
    },
    StartCommand {
        format: "llm-foundry",
        alone: "composer -n {each} train.py {file}",
        on_each: "composer --world_size {all} --node_rank $NODE_RANK --master_addr $HEAD_NODE --master_port 29500 \
            train.py {file}",
    },
    StartCommand {
        format: "deepspeed",
        alone: "deepspeed --num_gpus {each} SCRIPT --deepspeed --deepspeed_config {file}",
        on_each: "deepspeed --hostfile HOSTFILE SCRIPT --deepspeed --deepspeed_config {file}",
    },
];

/// The subcommand or the recipe of a program for what is trained; none where it has none that is known here.
fn task(format: &str, scenario: &Scenario) -> Option<&'static str> {
    let run = &scenario.run;
    match format {
        "trl" => match run.objective.base? {
            "next-token" => Some("sft"),
            "dpo" => Some("dpo"),
            "kto" => Some("kto"),
            "reward" => Some("reward"),
            _ => None,
        },
        "torchtune" => match (run.objective.base?, scenario.adapter.is_some()) {
            ("next-token", false) => Some("full_finetune_distributed"),
            ("next-token", true) => Some("lora_finetune_distributed"),
            ("dpo", false) => Some("full_dpo_distributed"),
            ("dpo", true) => Some("lora_dpo_distributed"),
            _ => None,
        },
        _ => Some(""),
    }
}

/// True if the command that starts `format` names what `scenario` trains.
pub(super) fn brings_objective(format: &str, scenario: &Scenario) -> bool {
    let named = COMMANDS.iter().any(|command| command.format == format && command.alone.contains("{task}"));
    named && task(format, scenario).is_some()
}

/// Lines of a comment that say how a program is started on the settings in `file`.
pub(super) fn start_lines(format: &str, file: &str, scenario: &Scenario) -> Vec<String> {
    let layout = &scenario.layout;
    let command = COMMANDS.iter().find(|command| command.format == format);
    let (Some(command), Some(task)) = (command, task(format, scenario)) else {
        return Vec::new();
    };
    let each = layout.per_node.min(layout.gpus);
    let nodes = layout.gpus.div_ceil(each.max(1));
    let words = match nodes {
        1 => "Start it with:",
        _ if format == "deepspeed" => "Start it once, with the nodes in HOSTFILE:",
        _ => "Start it on every node; HEAD_NODE is the name of the first, NODE_RANK its own number from 0:",
    };
    let command = if nodes == 1 { command.alone } else { command.on_each };
    let holes = [
        ("{file}", file.to_owned()),
        ("{nodes}", nodes.to_string()),
        ("{each}", each.to_string()),
        ("{all}", layout.gpus.to_string()),
        ("{task}", task.to_owned()),
    ];
    let filled = holes.iter().fold(command.to_owned(), |text, (hole, value)| text.replace(hole, value));
    vec![words.to_owned(), format!("  {filled}")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::Run;

    fn lines(format: &str, gpus: u64) -> String {
        let run = Run { gpus, tp: 1, pp: 1, ..Run::default() };
        start_lines(format, "settings.yaml", &Scenario::new(&run).unwrap()).join("\n")
    }

    /// LLaMA-Factory's examples/README.md and llm-foundry's scripts/train/README.md start two nodes like this.
    #[test]
    fn several_nodes_meet_at_the_first_as_the_programs_documents_say() {
        let factory = lines("llama-factory", 16);
        assert!(factory.contains("FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=$NODE_RANK MASTER_ADDR=$HEAD_NODE"), "{factory}");
        assert!(lines("llm-foundry", 16).contains("composer --world_size 16 --node_rank $NODE_RANK"));
        assert!(lines("trl", 16).contains("trl sft --config settings.yaml --num_machines 2 --num_processes 16"));
    }

    #[test]
    fn one_node_needs_no_meeting_place_and_no_hole_stays_open() {
        for command in &COMMANDS {
            let one = lines(command.format, 8);
            assert!(one.starts_with("Start it with:") && !one.contains("HEAD_NODE"), "{one}");
            for text in [one, lines(command.format, 64)] {
                assert!(text.lines().count() == 2 && !text.contains('{'), "{text}");
            }
        }
        assert_eq!(lines("peft", 8), "");
    }
}
