# Source: the shape of pytorch/torchtitan at b5bcd76, torchtitan/models/llama3/config_registry.py and torchtitan/config/README.md;
# written for this test.
from torchtitan.components.optimizer import default_adamw
from torchtitan.components.quantization import Float8LinearConverter
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed.activation_checkpoint import FullAC
from torchtitan.models.llama3 import model_registry
from torchtitan.trainer import Trainer

SEQUENCE = 8192


def llama3_70b_tp4_pp2() -> Trainer.Config:
    """Fp8 linears on 64 GPUs."""
    compile_config = CompileConfig(enable=True, components=["model", "loss"])
    model_spec = model_registry(
        "70B",
        converters=[
            Float8LinearConverter.Config(
                filter_fqns=["lm_head"],
                model_compile_enabled=(compile_config.enable and "model" in compile_config.components),
            ),
        ],
    )
    return Trainer.Config(
        hf_assets_path="./assets/hf/Llama-3.1-70B",
        model_spec=model_spec,
        optimizer=default_adamw(lr=1.5e-4),
        training=TrainingConfig(
            num_tokens_per_microbatch_per_dp_rank=2 * SEQUENCE,
            max_context_length=SEQUENCE,
            steps=1000,
        ),
        parallelism=ParallelismConfig(
            data_parallel_shard_degree=8,
            tensor_parallel_degree=4,
            pipeline_parallel_degree=2,
            num_pp_microbatches=4,
        ),
        activation_checkpoint=FullAC.Config(),
        compile=compile_config,
    )
