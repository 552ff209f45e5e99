"""The section `mindspeed_rl`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agentic_rl.config.fields.level import Level
from agentic_rl.config.types import PositiveInt, SecureFolder, SecurePrefix, Text


class MindSpeedKeys(Level):
    """The documented keys of the section."""

    data_path: Annotated[SecurePrefix, Field(examples=["/path/to/data"])]
    """Training data: a JSON or JSONL file, or the prefix of a preprocessed data set's files; `dataset_additional_keys`
    names the columns used."""
    load_params_path: Annotated[SecureFolder, Field(examples=["/path/to/params"])]
    """Complete model in Megatron's format, to start from."""
    save_params_path: Annotated[SecureFolder, Field(examples=["/path/to/save_params"])]
    """Folder for the trained model."""
    train_iters: PositiveInt = 1
    """Training steps."""
    epochs: PositiveInt = 1
    """Passes over the trajectories of one training step."""
    seq_len: PositiveInt = 8192
    """Longest training sequence in tokens; at most `max_model_len`."""
    global_batch_size: PositiveInt = 16
    """Prompts of one training step, over all devices; the data-parallel size divides it."""
    save_interval: PositiveInt = 1000
    """Training steps between two checkpoints."""
    mini_batch_size: PositiveInt = 16
    """Prompts of one optimizer step, over all devices; each is sampled `rollout_n` times."""
    micro_batch_size: PositiveInt = 1
    """Samples of one forward and backward pass on one device."""
    tensor_model_parallel_size: PositiveInt = 4
    """Devices that share each layer in training; times the pipeline stages it divides the devices, usually 1, 2, 4
    or 8."""
    pipeline_model_parallel_size: PositiveInt = 1
    """Pipeline stages in training."""
    adv_estimator: Literal["group_norm", "gae"] = "group_norm"
    """How advantages are estimated: normalised in the group (`group_norm`), or with a critic (`gae`)."""


class UndocumentedMindSpeedKeys(Level):
    """Keys of the section that the published page does not name; accepted with a warning."""

    test_data_path: SecurePrefix | None = None
    """Validation data, as `data_path`."""
    expert_model_parallel_size: PositiveInt = 1
    """Devices that share the experts of a mixture-of-experts model in training."""
    recompute_num_layers: PositiveInt = 1
    """Layers whose activations are computed again in the backward pass."""
    recompute_granularity: Text | None = None
    """What is computed again in the backward pass (`full` or `selective`); null: nothing."""
    recompute_method: Text | None = None
    """How the layers to compute again are chosen (`block` or `uniform`)."""
    shape_order: Text | None = None
    """Order of the dimensions in attention kernels."""
    moe_alltoall_overlap_comm: bool = False
    """Overlap the exchange between experts with computation."""
    swap_optimizer: bool = False
    """Move the optimizer's state to host memory."""
    moe_tp_extend_ep: bool = False
    """Use the tensor-parallel devices for further experts."""
    gemm_gradient_accumulation_fusion: bool = False
    """Accumulate gradients inside the matrix multiplication."""
    variable_seq_lengths: bool = False
    """Micro batches of different lengths; gone in MindSpeed-RL 2.3.0."""
    reset_position_ids: bool = False
    """Count positions from 0 in every packed sample."""
    use_remove_padding: bool = False
    """Pack samples without padding; needs `reset_position_ids` in MindSpeed-RL 2.2.0."""
    blocking: bool = False
    """Wait for each stage before the next one starts."""


class MindSpeedSection(UndocumentedMindSpeedKeys, MindSpeedKeys):
    """Keys of the backend MindSpeed-RL."""
