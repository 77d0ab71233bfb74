"""EleutherAI's cookbook, calc_transformer_mem.py: python3 cookbook.py PATH < runs.jsonl > predictions.jsonl

PATH is a checkout of EleutherAI/cookbook. Readings: full recomputation is "--checkpoint-activations", sequence parallelism
"--partition-activations"; bytes of gradients from the precision. It has no context parallelism, adapters, hybrids or latent
attention, and no step time. What it prints as memory per GPU for training is taken.
"""

import contextlib
import importlib.util
import io
import re
import sys

from lines import answer, commit, need, verdict

path = sys.argv[1]
spec = importlib.util.spec_from_file_location("cookbook_memory", f"{path}/calc/calc_transformer_mem.py")
memory = importlib.util.module_from_spec(spec)
spec.loader.exec_module(memory)
TRAINING = re.compile(r"Per-GPU Memory Required for Training: ([0-9.]+) GiB")


def predict(run, _):
    model = run["model"]
    moe = model.get("moe")
    need(run["cp"] == 1, "context parallelism")
    need("adapter" not in run and "offload" not in run and "vision" not in model, "adapter, offload or vision tower")
    need("mla" not in model and "mamba" not in model, "latent attention or Mamba")
    need(run["precision"]["weights"] in (2, 4), "another precision")
    need(run["optimizer"] in ("adam", "muon"), "another optimizer")
    flags = {
        "num-gpus": run["gpus"], "tensor-parallel-size": run["tp"], "pipeline-parallel-size": run["pp"],
        "zero-stage": run["zero"], "batch-size-per-gpu": run["micro_batch"], "sequence-length": run["seq_len"],
        "vocab-size": model["vocab"], "hidden-size": model["hidden"], "num-attention-heads": model["heads"],
        "num-layers": model["layers"], "ffn-expansion-factor": (moe["expert_ffn"] if moe else model["ffn"]) / model["hidden"],
        "num-mlp-linears": 3 if model.get("gated_ffn") else 2, "kv-size-ratio": model["kv_heads"] / model["heads"],
        "bytes-per-grad-ele": int(run["precision"]["grads"]), "optimizer": "muon" if run["optimizer"] == "muon" else "adamw",
        "num-experts": moe["experts"] if moe else 0, "expert-parallelism": run["ep"],
    }
    words = [word for key, value in flags.items() for word in (f"--{key}", str(value))]
    words += ["--checkpoint-activations"] if run["recompute"] == "full" else []
    words += ["--partition-activations"] if run.get("sequence_parallel") and run["tp"] > 1 else []
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        memory.calc_mem(memory.config_parser().parse_args(words))
    gib = float(TRAINING.search(text.getvalue())[1])
    return {"peak_gib": gib, "verdict": verdict(gib, run)}


answer({"name": "EleutherAI cookbook", "kind": "formulas", "url": "https://github.com/EleutherAI/cookbook",
        "version": commit(path), "note": "no step time; no context parallelism"}, predict)
