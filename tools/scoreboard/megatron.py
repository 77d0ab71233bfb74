"""Megatron-LM's theoretical memory: python3 megatron.py PATH < runs.jsonl > predictions.jsonl

PATH is a checkout of NVIDIA/Megatron-LM. Readings: it is asked for runs of Megatron-LM and NeMo in bf16 with fp32 gradients,
which its bytes a parameter assume; recomputation and context parallelism are passed as they are, its formulas use what they
use; the distributed optimizer is ZeRO-1. Hybrids, adapters and vision towers have no arguments there.
"""

import importlib.util
import sys
import types

from lines import GIB, MEGATRON, answer, commit, need, verdict

path = sys.argv[1]
# The file imports two names of its package, whose other imports need a GPU's libraries.
for name in ("peer", "peer.utils"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["peer"].__path__ = []
sys.modules["peer.utils"].is_hybrid_model = lambda args: False
sys.modules["peer.utils"].print_rank_0 = print
spec = importlib.util.spec_from_file_location("peer.memory", f"{path}/megatron/training/theoretical_memory_usage.py")
memory = importlib.util.module_from_spec(spec)
spec.loader.exec_module(memory)


def predict(run, question):
    model = run["model"]
    moe, mla = model.get("moe"), model.get("mla")
    need(run["stack"]["base"] in MEGATRON, "other software")
    need(run["precision"]["base"] == "bf16-fp32-grads", "bytes of another precision")
    need("pattern" not in model or "mamba" not in model, "hybrid model")
    need("vision" not in model and "adapter" not in run, "vision tower or adapter")
    tp, pp, vocab = run["tp"], run["pp"], model["vocab"]
    dense = (moe or {}).get("dense_layers", 0)
    args = types.SimpleNamespace(
        kv_channels=model["head_dim"], num_attention_heads=model["heads"], hidden_size=model["hidden"],
        ffn_hidden_size=model["ffn"], num_layers=model["layers"], swiglu=model.get("gated_ffn", False),
        group_query_attention=model["kv_heads"] != model["heads"] and not mla, num_query_groups=model["kv_heads"],
        normalization="LayerNorm" if model["norm"] == "layernorm" else "RMSNorm",
        padded_vocab_size=-(-vocab // (128 * tp)) * 128 * tp,
        untie_embeddings_and_output_weights=not model.get("tied_embeddings", False),
        add_bias_linear=model["biases"] == "all", mtp_num_layers=model.get("mtp_modules"),
        multi_latent_attention=bool(mla), q_lora_rank=(mla or {}).get("q_lora_rank"),
        kv_lora_rank=(mla or {}).get("kv_lora_rank"), qk_head_dim=(mla or {}).get("qk_nope_head_dim"),
        qk_pos_emb_head_dim=(mla or {}).get("qk_rope_head_dim"), v_head_dim=(mla or {}).get("v_head_dim"),
        num_experts=moe["experts"] if moe else None, moe_router_topk=moe["top_k"] if moe else None,
        moe_ffn_hidden_size=moe["expert_ffn"] if moe else None, moe_latent_size=(moe or {}).get("latent"),
        moe_shared_expert_intermediate_size=moe["shared_experts"] * moe["expert_ffn"] if moe and "shared_experts" in moe else None,
        moe_layer_freq=[0] * dense + [1] * (model["layers"] - dense),
        expert_tensor_parallel_size=run.get("etp", 1), expert_model_parallel_size=run["ep"],
        pipeline_model_parallel_size=pp, tensor_model_parallel_size=tp, world_size=run["gpus"],
        data_parallel_size=question["derived"]["dp"], use_distributed_optimizer=run["zero"] >= 1,
        virtual_pipeline_model_parallel_size=run["virtual_stages"] if run["virtual_stages"] > 1 else None,
        seq_length=run["seq_len"], micro_batch_size=run["micro_batch"],
        sequence_parallel=run.get("sequence_parallel", False) and tp > 1,
        recompute_granularity=run["recompute"] if isinstance(run["recompute"], str) else "selective",
    )
    total = memory.report_theoretical_memory(args, num_microbatches=question["derived"]["microbatches"])[2]
    gib = total * 2**20 / GIB
    return {"peak_gib": gib, "verdict": verdict(gib, run)}


answer({"name": "Megatron-LM", "kind": "its theoretical memory", "url": "https://github.com/NVIDIA/Megatron-LM",
        "version": commit(path), "note": "no step time; bf16 with fp32 gradients"}, predict)
