"""The training engine, the inference engine and their layout (ARL524 to ARL530)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule
from agentic_rl.config.verl_native.native_rules.facts import ACTOR, REF, ROLLOUT, devices, uses_reference, whole
from agentic_rl.config.verl_native.native_rules.naming import unknown_name

ENGINE_RULES: list[Rule] = []

_MOST = 1024
"""No engine shares a model between more devices; remedies are not sought beyond."""
_TRANSFERS = ("nixl", "mooncake", "ascend", "mori", "fake")
_PROTOCOLS = ("nvlink", "local", "rdma", "tcp")


@rule(ENGINE_RULES, "ARL524", "Training engine that verl does not have", "error")
def strategy(facts: Facts) -> Iterator[Problem]:
    """The `strategy` names the engine that trains. Only the workers look it up.

    `FSDPActorConfig.__post_init__` overwrites the engine's own value after that was checked, and
    `EngineRegistry.get_engine_cls` in `verl/workers/engine/base.py` refuses it in the worker, when Ray has started.
    """
    for node in (ACTOR, *([REF] if uses_reference(facts) else [])):
        yield from unknown_name(facts, f"{node}.strategy", "strategies", "training engine", "its workers would stop")


@rule(ENGINE_RULES, "ARL525", "Rollout mode that verl no longer has", "error")
def rollout_mode(facts: Facts) -> Iterator[Problem]:
    """`rollout.mode` is `async`; verl removed `sync`, and warns of other words before it fails on them.

    `RolloutConfig.__post_init__` in `verl/workers/config/rollout.py` refuses `sync`; `get_rollout_class` in
    `verl/workers/rollout/base.py` knows engines for `async` alone. Both run in a worker.
    """
    mode = facts[f"{ROLLOUT}.mode"]
    if mode != "async":
        yield Problem(f"{ROLLOUT}.mode", f"{show(mode)}, but verl has asynchronous rollouts only", "async")


@rule(ENGINE_RULES, "ARL526", "Inference engine that verl does not have", "error")
def rollout_name(facts: Facts) -> Iterator[Problem]:
    """`rollout.name` has to be given: verl's own configuration leaves it open (`???`).

    `get_rollout_class` in `verl/workers/rollout/base.py` looks it up in a worker, when the policy was loaded already.
    """
    key = f"{ROLLOUT}.name"
    yield from unknown_name(facts, key, "rollouts", "inference engine", "its workers would stop")


@rule(ENGINE_RULES, "ARL527", "Pipeline stages at inference", "error")
def pipeline_stages(facts: Facts) -> Iterator[Problem]:
    """None of verl's inference engines has pipeline stages.

    `RolloutConfig.__post_init__` in `verl/workers/config/rollout.py` raises `NotImplementedError` in a worker.
    """
    stages = whole(facts, f"{ROLLOUT}.pipeline_model_parallel_size")
    if stages > 1:
        message = f"{show(stages)} stages, but verl's inference engines run without pipeline stages"
        yield Problem(f"{ROLLOUT}.pipeline_model_parallel_size", message, "1, and more devices in tensor parallel")


@rule(ENGINE_RULES, "ARL528", "Inference engines that do not fill the devices", "error")
def inference_devices(facts: Facts) -> Iterator[Problem]:
    """One inference engine takes `tensor_model_parallel_size` x `data_parallel_size` devices, which divide all devices.

    `ActorRolloutRefWorker.init_model` in `verl/workers/engine_workers.py` asserts it in every worker, when the policy
    was loaded already. An engine on several nodes fills each of them (`RolloutReplica` in
    `verl/workers/rollout/replica.py`).
    """
    tensor, data = whole(facts, f"{ROLLOUT}.tensor_model_parallel_size"), whole(facts, f"{ROLLOUT}.data_parallel_size")
    engine, world = tensor * data, devices(facts)
    key = f"{ROLLOUT}.tensor_model_parallel_size"
    if engine < 1:
        yield Problem(key, f"{show(tensor)} devices for one engine, but it takes at least 1")
        return
    per_node = whole(facts, "trainer.n_gpus_per_node")
    fits = [size for size in range(1, min(world // max(1, data), _MOST) + 1) if world % (size * data) == 0]
    told = f"{show(tensor)} devices" if data == 1 else f"{show(tensor)} x {show(data)} (data_parallel_size) devices"
    remedy = "one of " + ", ".join(map(show, fits)) if fits else ""
    if world % engine:
        yield Problem(key, f"{told} of one engine do not divide the {show(world)} devices of the run", remedy)
    elif engine > per_node and engine % per_node:
        message = f"{told} of one engine lie on several nodes of {show(per_node)} devices, but fill no whole number"
        yield Problem(key, message, remedy)


@rule(ENGINE_RULES, "ARL529", "Expert parallelism at inference that does not fit", "error")
def expert_parallel(facts: Facts) -> Iterator[Problem]:
    """With vLLM and SGLang the experts are shared by all devices of an engine, or by none.

    `RolloutConfig.__post_init__` in `verl/workers/config/rollout.py` asserts in a worker that `expert_parallel_size` is
    1 or `tensor_model_parallel_size` x `data_parallel_size`. `moe_tensor_parallel_size` is for TensorRT-LLM alone,
    where both together make `tensor_model_parallel_size`.
    """
    name = facts[f"{ROLLOUT}.name"]
    experts, tensor = (
        facts.get(f"{ROLLOUT}.expert_parallel_size"),
        whole(facts, f"{ROLLOUT}.tensor_model_parallel_size"),
    )
    of_expert = facts.get(f"{ROLLOUT}.moe_tensor_parallel_size")
    if name != "trtllm":
        size = tensor * whole(facts, f"{ROLLOUT}.data_parallel_size")
        if isinstance(experts, int) and experts > 1 and experts != size:
            message = f"{show(experts)} devices share the experts, but one engine has {show(size)} devices"
            yield Problem(f"{ROLLOUT}.expert_parallel_size", message, f"1 or {show(size)}" if size > 1 else "1")
        if isinstance(of_expert, int) and of_expert > 1:
            message = f"{show(of_expert)}, but only TensorRT-LLM splits the experts themselves"
            yield Problem(f"{ROLLOUT}.moe_tensor_parallel_size", message, "1")
        return
    both = isinstance(experts, int) and isinstance(of_expert, int) and min(experts, of_expert) > 1
    if both and experts * of_expert != tensor:
        message = f"{show(experts)} x moe_tensor_parallel_size {show(of_expert)} is not {show(tensor)} "
        message += "(tensor_model_parallel_size)"
        yield Problem(f"{ROLLOUT}.expert_parallel_size", message, "1 leaves it to TensorRT-LLM")


@rule(ENGINE_RULES, "ARL530", "Disaggregated inference that verl refuses", "error")
def disaggregation(facts: Facts) -> Iterator[Problem]:
    """Prefill and decoding on devices of their own have rules that are read only when a worker starts.

    `DisaggregationConfig.__post_init__` in `verl/workers/config/disaggregation.py` and the end of
    `RolloutConfig.__post_init__`: engine vLLM or SGLang, a known transfer, at least one replica of either kind, a port
    from 1 to 65535. verl's configuration has no `mooncake_protocol`; its dataclass has.
    """
    node = f"{ROLLOUT}.disaggregation"
    if not facts.get(f"{node}.enabled"):
        return
    if facts[f"{ROLLOUT}.name"] not in ("sglang", "vllm"):
        message = f"true, but rollout.name is {show(facts[f'{ROLLOUT}.name'])}"
        yield Problem(f"{node}.enabled", message, "rollout.name: vllm or sglang")
    transfer = facts[f"{node}.transfer_backend"]
    if transfer not in _TRANSFERS:
        message = f"verl has no transfer {show(transfer)}"
        yield Problem(f"{node}.transfer_backend", message, f"one of {', '.join(_TRANSFERS)}")
    for name in ("prefill_replicas", "decode_replicas"):
        if whole(facts, f"{node}.{name}") < 1:
            yield Problem(f"{node}.{name}", f"{show(facts[f'{node}.{name}'])}, but at least 1 is needed", "1")
    port = facts.get(f"{node}.bootstrap_port")
    if port is not None and not (isinstance(port, int) and 0 < port < 1 << 16):
        yield Problem(f"{node}.bootstrap_port", f"{show(port)} is no port", "a number from 1 to 65535, or null")
    protocol = facts.get(f"{node}.mooncake_protocol", "nvlink")
    if transfer == "mooncake" and protocol not in _PROTOCOLS:
        message = f"mooncake has no protocol {show(protocol)}"
        yield Problem(f"{node}.mooncake_protocol", message, f"one of {', '.join(_PROTOCOLS)}")
