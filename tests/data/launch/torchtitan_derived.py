# Source: the shape of pytorch/torchtitan at b5bcd76, torchtitan/config/README.md ("Deriving from a shipped one is a few
# lines"), and what its llama3_405b sets; written for this test.
from torchtitan.models.llama3.config_registry import llama3_405b
from torchtitan.trainer import Trainer


def ours() -> Trainer.Config:
    config = llama3_405b()
    config.parallelism.data_parallel_shard_degree = 32
    config.parallelism.context_parallel_degree = 2
    config.training.steps = 100
    return config
