"""SimuMax: python3 simumax.py PATH < runs.jsonl > predictions.jsonl

PATH is a checkout of MooreThreads/SimuMax (with numpy, pandas, sympy and what else its requirements name). Readings: a machine has
to be measured before it can be simulated, and the repository ships one with NVLink, B200 in bf16, so steps are asked for there
alone; memory depends on no machine and is asked for every run of Megatron-LM. Recomputation of all layers is "full_block";
fp8, hybrids, adapters and vision towers are left out. Its B200 was measured at the shapes of its own published runs.
"""

import json
import sys
import tempfile

from lines import GIB, MEGATRON, answer, commit, need, verdict

path = sys.argv[1]
sys.path.insert(0, path)
from simumax.core.config import ModelConfig, StrategyConfig, SystemConfig  # noqa: E402
from simumax.core.perf_llm import PerfLLM  # noqa: E402

MACHINE = f"{path}/configs/system/b200_bf16_ceperm.json"
UNITS = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40, "B": 1}


def bytes_of(value):
    """A figure of its reports: a number, or one with a binary unit."""
    if isinstance(value, (int, float)):
        return float(value)
    number, unit = value.split()
    return float(number) * UNITS[unit.replace("i", "")]


def machine(run):
    with open(MACHINE) as file:
        system = json.load(file)
    system["accelerator"]["mem_gbs"] = run["gpu"]["memory_gib"]
    system["num_per_node"] = run["gpus_per_node"]
    return system


def predict(run, question):
    model = run["model"]
    moe, mla = model.get("moe"), model.get("mla")
    need(run["stack"]["base"] in MEGATRON, "other software")
    need(run["precision"]["base"] in ("bf16-fp32-grads", "bf16"), "another precision")
    need("mamba" not in model and "vision" not in model and "adapter" not in run, "hybrid, vision tower or adapter")
    need(run["recompute"] in ("none", "full"), "recomputation of some modules")
    need(run["schedule"] in ("1f1b", "interleaved-1f1b"), "schedule")
    config = {
        "model_type": "moe" if moe else "dense", "model_name": "model", "hidden_size": model["hidden"],
        "head_num": model["heads"], "kv_head_num": model["kv_heads"], "head_size": model["head_dim"],
        "intermediate_size": model["ffn"], "layer_num": model["layers"], "vocab_size": model["vocab"],
        "use_swiglu": model.get("gated_ffn", False),
    }
    if moe:
        config |= {"expert_num": moe["experts"], "topk": moe["top_k"], "moe_ffn_hidden_size": moe["expert_ffn"],
                   "dense_layers": moe.get("dense_layers", 0)}
        config |= {"moe_shared_expert_intermediate_size": moe["shared_experts"] * moe["expert_ffn"]} if moe.get("shared_experts") else {}
    if mla:
        config |= {"attention_type": "mla", "v_head_dim": mla["v_head_dim"], "qk_head_dim": mla["qk_nope_head_dim"],
                   "qk_pos_emb_head_dim": mla["qk_rope_head_dim"], "q_lora_rank": mla.get("q_lora_rank"), "kv_lora_rank": mla["kv_lora_rank"]}
    full = run["recompute"] == "full"
    strategy = {
        "seq_len": run["seq_len"], "micro_batch_size": run["micro_batch"], "micro_batch_num": question["derived"]["microbatches"],
        "world_size": run["gpus"], "tp_size": run["tp"], "cp_size": run["cp"], "pp_size": run["pp"], "ep_size": run["ep"],
        "etp_size": run.get("etp", 1), "enable_sequence_parallel": run.get("sequence_parallel", False) and run["tp"] > 1,
        "interleaving_size": run["virtual_stages"], "zero_state": run["zero"], "enable_dropout": model.get("dropout", False),
        "use_flash_sdp": run.get("flash_attention", False), "use_math_sdp": not run.get("flash_attention", False),
        "use_fused_swiglu": run.get("fused_swiglu", False), "use_fp32_accum_grad": run["precision"]["grads"] == 4,
        "cross_entropy_loss_fusion": run["cross_entropy"] != "megatron", "enable_recompute": full,
        "recompute_granularity": "full_block" if full else None, "recompute_layer_num": model["layers"] if full else 0,
    }
    if model["layers"] % run["pp"]:
        strategy |= {"num_layers_in_first_pipeline_stage": run["stage_layers"][0], "num_layers_in_last_pipeline_stage": run["stage_layers"][-1]}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(machine(run), file)
        file.flush()
        system = SystemConfig.init_from_config_file(file.name)
    perf = PerfLLM()
    perf.configure(strategy_config=StrategyConfig(**strategy), model_config=ModelConfig(**config), system_config=system)
    perf.run_estimate()
    data = perf.analysis_mem().data
    stages = [data] if "peak_mem" in data else list(data.values())
    last = question.get("peak_is", "").endswith("last pipeline rank")
    peak = bytes_of(stages[-1]["peak_mem"]) if last else max(bytes_of(stage["peak_mem"]) for stage in stages)
    need_gib = max(bytes_of(stage["peak_mem_with_reserved"]) for stage in stages) / GIB
    found = {"peak_gib": peak / GIB, "verdict": verdict(need_gib, run)}
    if run["gpu"].get("base") == "b200-sxm":
        cost = perf.analysis_cost().data["duration_time_per_iter"]
        number, unit = cost.split() if isinstance(cost, str) else (cost, "ms")
        found["step_s"] = float(number) * {"ms": 1e-3, "s": 1.0}[unit]
    return found


answer({"name": "SimuMax", "kind": "analytical model", "url": "https://github.com/MooreThreads/SimuMax", "version": commit(path),
        "note": "steps on B200 alone, the one machine with NVLink that it ships, measured at the shapes of its own runs"}, predict)
