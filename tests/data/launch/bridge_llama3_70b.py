# Source: the shape and sizes of NVIDIA-NeMo/Megatron-Bridge at 067f987,
# src/megatron/bridge/perf_recipes/llama/h100/llama3.py (64 H100); written for this test.
from megatron.bridge.perf_recipes.llama.common import _perf_precision, llama3_70b_pretrain_config


def llama3_70b_pretrain_64gpu_h100_bf16_config() -> ConfigContainer:
    """64 H100, TP 4, PP 4, CP 2."""
    cfg = llama3_70b_pretrain_config()
    cfg.mixed_precision = _perf_precision("bf16")
    cfg.model.seq_length = 8192

    cfg.model.tensor_model_parallel_size = 4
    cfg.model.pipeline_model_parallel_size = 4
    cfg.model.context_parallel_size = 2
    cfg.model.virtual_pipeline_model_parallel_size = 5
    cfg.model.sequence_parallel = True
    cfg.train.global_batch_size = 256
    cfg.train.micro_batch_size = 1
    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True)
    cfg.env_vars = {
        **COMMON_PERF_ENV_VARS,
        "NCCL_NVLS_ENABLE": 0,
    }
    return cfg
