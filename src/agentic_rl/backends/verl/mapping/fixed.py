"""The keys of verl that the adapter itself decides, each with its reason."""

from __future__ import annotations

from agentic_rl.backends.verl.folder import AGENT_LOOPS
from agentic_rl.backends.verl.inside.names import CPU_WORKER_EXTENSION, WORKER_EXTENSION
from agentic_rl.backends.verl.mapping.entry import ACTOR, CRITIC, MODEL, REFERENCE, ROLLOUT, Fixed, Setting

AGENT_LOOP_WORKERS = 8
"""verl's own number of processes that run agents."""
OBJECT_STORE_BYTES = 500_000_000
"""Of a Ray on a machine without accelerator, where the default of 30 % of the memory is too much."""

READERS_OF_DATA = "data.dataloader_num_workers"

_TASKS_OF_A_DEVICE = 16
"""Ray's CPUs are a count, not cores: verl asks for about ten a device, and for those of the agents and rewards."""
_NO_PADDING = "sequences are packed, not padded; entropy in chunks is read on that path alone"
_NO_COMPILER = "a compiled kernel gains nothing here and costs a minute"
_ONE_PROCESS = "each process costs half a GB and six seconds"


def _attention(setting: Setting) -> str | None:
    needed = setting.device != "npu" and not setting.installation.flash_attn
    return "sdpa" if needed else None


def _extension(setting: Setting) -> str:
    return CPU_WORKER_EXTENSION if setting.device == "cpu" else WORKER_EXTENSION


def _readers_of_data(setting: Setting) -> int | None:
    return None if READERS_OF_DATA in setting.written else 0


_ATTENTION = "without flash-attention torch's own has to be named; on NPUs transformers has another one"

ALWAYS: tuple[Fixed, ...] = (
    Fixed("trainer.default_local_dir", lambda s: str(s.folder), "the run's folder, absolute"),
    Fixed(
        f"{ROLLOUT}.agent.agent_loop_config_path",
        lambda s: str(s.folder / AGENT_LOOPS),
        "the agents run as verl's agent loops",
    ),
    Fixed(
        f"{ROLLOUT}.agent.num_workers",
        lambda s: 1 if s.device == "cpu" else AGENT_LOOP_WORKERS,
        "processes that run agents; 1 with `device: cpu`",
    ),
    Fixed(f"{ROLLOUT}.name", lambda _: "vllm", "the inference engine; verl has no default", of_flat=True),
    Fixed(
        f"{ROLLOUT}.engine_kwargs.vllm.worker_extension_cls",
        _extension,
        "a failure while vLLM takes new weights is told to the trainer, which would wait for ever",
        added=True,
    ),
    Fixed(
        f"{ACTOR}.use_dynamic_bsz",
        lambda _: True,
        "micro batches are filled by tokens; log-probabilities, reference and critic follow",
        of_flat=True,
    ),
    Fixed(f"{MODEL}.use_remove_padding", lambda _: True, _NO_PADDING, of_flat=True),
    Fixed(f"{CRITIC}.model.use_remove_padding", lambda _: True, _NO_PADDING, of_flat=True),
    Fixed(f"{MODEL}.override_config.attn_implementation", _attention, _ATTENTION, added=True, engine="fsdp"),
    Fixed(f"{CRITIC}.model.override_config.attn_implementation", _attention, _ATTENTION, added=True, engine="fsdp"),
)

CPU: tuple[Fixed, ...] = (
    Fixed(
        f"{ACTOR}.strategy",
        lambda _: "fsdp2",
        "FSDP 1 refuses parameters on a CPU; the reference follows",
        engine="fsdp",
    ),
    Fixed(f"{ACTOR}.fsdp_config.strategy", lambda _: "fsdp2", "as the actor's", engine="fsdp"),
    Fixed(f"{REFERENCE}.fsdp_config.strategy", lambda _: "fsdp2", "as the actor's", engine="fsdp"),
    Fixed(f"{CRITIC}.strategy", lambda _: "fsdp2", "as the actor's", engine="fsdp"),
    Fixed(f"{CRITIC}.fsdp.strategy", lambda _: "fsdp2", "as the actor's", engine="fsdp"),
    Fixed(f"{ACTOR}.use_torch_compile", lambda _: False, _NO_COMPILER),
    Fixed(f"{ACTOR}.fsdp_config.use_torch_compile", lambda _: False, _NO_COMPILER, engine="fsdp"),
    Fixed(f"{REFERENCE}.fsdp_config.use_torch_compile", lambda _: False, _NO_COMPILER, engine="fsdp"),
    Fixed(f"{CRITIC}.fsdp.use_torch_compile", lambda _: False, _NO_COMPILER, engine="fsdp"),
    Fixed(f"{ROLLOUT}.enforce_eager", lambda _: True, _NO_COMPILER),
    Fixed(f"{ROLLOUT}.enable_sleep_mode", lambda _: False, "vLLM has no sleep mode on a CPU", added=True),
    Fixed(f"{ROLLOUT}.free_cache_engine", lambda _: False, "there is no device memory to free"),
    Fixed("reward.num_workers", lambda _: 1, _ONE_PROCESS),
    Fixed(READERS_OF_DATA, _readers_of_data, f"{_ONE_PROCESS}; what a file says itself stays"),
    Fixed("transfer_queue.backend.SimpleStorage.num_data_storage_units", lambda _: 1, _ONE_PROCESS),
    Fixed("ray_kwargs.ray_init.num_cpus", lambda s: _TASKS_OF_A_DEVICE * s.devices, "a count, not cores"),
    Fixed(
        "ray_kwargs.ray_init.num_gpus",
        lambda s: s.devices,
        "verl places its workers on Ray's GPUs; here they are a mere count",
        added=True,
    ),
    Fixed("ray_kwargs.ray_init.include_dashboard", lambda _: False, "nothing has to listen for a browser", added=True),
    Fixed(
        "ray_kwargs.ray_init.object_store_memory",
        lambda _: OBJECT_STORE_BYTES,
        "bytes; else Ray takes a third of all",
        added=True,
    ),
)
"""With `device: cpu`."""

BY_DEVICE: dict[str, tuple[Fixed, ...]] = {"cpu": CPU}
"""Kind of device -> what it needs in addition."""
