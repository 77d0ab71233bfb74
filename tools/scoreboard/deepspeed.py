"""DeepSpeed's memory estimators: python3 deepspeed.py PATH < runs.jsonl > predictions.jsonl

PATH is a checkout of microsoft/DeepSpeed. Readings: estimate_zero2_model_states_mem_needs for ZeRO-2 and its sibling for ZeRO-3,
with the default factors and without offloading, for runs that shard by data parallelism alone. They count states without
activations: more states than memory is "out of memory"; fewer say nothing of whether it fits.
"""

import ast
import sys

from lines import GIB, answer, commit, need

path = sys.argv[1]


def function(file, name):
    """The function `name` of `file` alone: the file itself imports torch."""
    with open(f"{path}/deepspeed/runtime/zero/{file}") as text:
        found = [node for node in ast.parse(text.read()).body if isinstance(node, ast.FunctionDef) and node.name == name]
    space = {}
    exec(compile(ast.Module(found, []), file, "exec"), space)
    return space[name]


zero2 = function("stage_1_and_2.py", "estimate_zero2_model_states_mem_needs")
zero3 = function("stage3.py", "estimate_zero3_model_states_mem_needs")


def predict(run, question):
    model = run["model"]
    need(run["zero"] in (2, 3), "not ZeRO-2 or ZeRO-3")
    need(run["tp"] == run["pp"] == run["cp"] == run["ep"] == 1, "other parallelism than data parallel")
    need("adapter" not in run and "offload" not in run, "adapter or offload")
    nodes = -(-run["gpus"] // run["gpus_per_node"])
    shape = {"num_gpus_per_node": run["gpus"] // nodes, "num_nodes": nodes, "cpu_offload": False}
    total = question["derived"]["parameters"]
    # The largest module without children: the embedding, or a matrix of the FFN.
    largest = model["hidden"] * max(model["vocab"], model["ffn"])
    gib = (zero2(total, **shape) if run["zero"] == 2 else zero3(total, largest, cpu_offload_params=False, **shape))[1] / GIB
    return {"peak_gib": gib, **({"verdict": "oom"} if gib > run["gpu"]["memory_gib"] else {})}


answer({"name": "DeepSpeed", "kind": "its memory estimators", "url": "https://github.com/deepspeedai/DeepSpeed",
        "version": commit(path), "note": "states alone, without activations; ZeRO-2 and ZeRO-3; no step time"}, predict)
