"""From a checked configuration of the instances format to what serve mode needs of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentic_rl.cluster.placement import PlacementError, Resources
from agentic_rl.config.aura.schema import AgentInstance as AgentEntry
from agentic_rl.config.aura.schema import AuraConfig, InferInstance, ServeConf, TrainInstance
from agentic_rl.config.diagnostics import Finding
from agentic_rl.rollout.engines.http_servers import server_urls
from agentic_rl.serve.findings import ENGINE_FAILED, IDLE_KEY, NO_SERVICE, NOT_PLACED, WITHOUT_EFFECT, error, finding
from agentic_rl.serve.settings import EXTERNAL, PROXY, AgentInstance, Infer, Settings, Train

_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "max_tokens")
_OF_AN_ADDRESS = ("host", "port", "model")
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is listened on, and how it is reached


def settings_of(config: AuraConfig, file: str, overrides: Sequence[str] = ()) -> Settings:
    """Take what serve mode needs.

    Args:
        config: the configuration.
        file: from which it was read; jobs read it again.
        overrides: with which it was read.

    Raises:
        ConfigError: a value can't be used for serving.
    """
    infers = tuple(_infer(entry, place) for place, entry in enumerate(config.infer_instances))
    named = {one.name: one for one in infers}
    listen = config.serve_conf or ServeConf()
    return Settings(
        config_path=str(Path(file).absolute()),
        overrides=tuple(overrides),
        host=listen.host,
        port=listen.port,
        log_dir=config.agentic_ai.log_dir,
        log_level=config.agentic_ai.log_level,
        infers=infers,
        agents=tuple(_agent(entry, place, named) for place, entry in enumerate(config.agent_instances)),
        trains=tuple(_train(entry, place) for place, entry in enumerate(config.train_instances)),
    )


def remarks(config: AuraConfig, settings: Settings) -> Iterator[Finding]:
    """What somebody wrote that does nothing in serve mode."""
    for infer in settings.infers:
        if not infer.started_here and infer.resources.wants_ray:
            message = f"{infer.engine} uses servers that run already: {infer.resources} are not placed anywhere"
            yield finding(WITHOUT_EFFECT, infer.key, message, "executor_num: 1, resource_info: []")
    for place, entry in enumerate(config.agent_instances):
        kwargs = f"agent_instances[{place}].executor_kwargs"
        for name in entry.executor_kwargs.infer_service_params:
            if name not in (*_SAMPLING, "model"):
                known = ", ".join(_SAMPLING)
                message = f"it does nothing for agents that are served; what is used is {known} and model"
                yield finding(IDLE_KEY, f"{kwargs}.infer_service_params.{name}", message, "remove it")
        if entry.executor_kwargs.agent_engine_kwargs.simplify_think_content:
            key = f"{kwargs}.agent_engine_kwargs.simplify_think_content"
            message = "true does nothing here: earlier thoughts are shown as the chat template of the model shows them"
            yield finding(IDLE_KEY, key, message, "simplify_think_content: false")


def _infer(entry: InferInstance, place: int) -> Infer:
    key = f"infer_instances[{place}]"
    given = entry.executor_kwargs.engine_kwargs
    engine, more = entry.executor_kwargs.engine, dict(given.model_extra or {})
    kwargs = f"{key}.executor_kwargs.engine_kwargs"
    servers = given.chat_server or []
    if engine != PROXY and not servers:
        servers = [_address(more, f"{kwargs}.port")]
    return Infer(
        name=entry.name,
        model=given.model_name or entry.name,
        servers=_urls(servers, f"{kwargs}.chat_server"),
        prefill=_urls(given.prefill_server_list, f"{kwargs}.prefill_server_list"),
        decode=_urls(given.decode_server_list, f"{kwargs}.decode_server_list"),
        engine=engine,
        path=_model_path(more, kwargs) if engine not in (PROXY, EXTERNAL) else "",
        options={name: value for name, value in more.items() if name not in _OF_AN_ADDRESS},
        resources=_resources(entry.executor_num, entry.resource_info, key),
        key=key,
    )


def _address(more: Mapping[str, Any], key: str) -> str:
    host, port = str(more.get("host", "127.0.0.1")), more.get("port")
    if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 1 << 16:
        raise error(ENGINE_FAILED, key, f"{port!r} is no port", "port: 8000")
    host = _EVERYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _model_path(more: Mapping[str, Any], kwargs: str) -> str:
    path = more.get("model")
    if not isinstance(path, str) or not path:
        raise error(ENGINE_FAILED, f"{kwargs}.model", "the engine is started here and needs a model", "model: /MODEL")
    return path


def _urls(addresses: Sequence[str], key: str) -> tuple[str, ...]:
    try:
        return tuple(server_urls(addresses))
    except ValueError as problem:
        raise error(ENGINE_FAILED, key, str(problem), "http://HOST:PORT") from None


def _agent(entry: AgentEntry, place: int, infers: Mapping[str, Infer]) -> AgentInstance:
    key = f"agent_instances[{place}]"
    kwargs = entry.executor_kwargs
    engine = kwargs.agent_engine_kwargs
    params = kwargs.infer_service_params
    return AgentInstance(
        name=entry.name,
        agent=engine.agent_name,
        infer=_service(params.get("model"), infers, f"{key}.executor_kwargs.infer_service_params.model"),
        tokenizer=engine.tokenizer,
        engine=kwargs.agent_engine,
        max_steps=engine.max_steps,
        max_prompt_length=engine.max_prompt_length,
        max_model_len=engine.max_model_len,
        n_parallel_agents=engine.n_parallel_agents,
        sampling={name: params[name] for name in _SAMPLING if params.get(name) is not None},
        trajectories=kwargs.trajectory_save_dir or "",
        resources=_resources(entry.executor_num, entry.resource_info, key),
        key=key,
    )


def _service(name: object, infers: Mapping[str, Infer], key: str) -> Infer:
    if isinstance(name, str) and name in infers:
        return infers[name]
    if name is None and len(infers) == 1:
        return next(iter(infers.values()))
    known = ", ".join(infers) or "none"
    raise error(
        NO_SERVICE,
        key,
        f"{name!r} is no inference instance; there are: {known}" if name is not None else "it is missing",
        f"model: {next(iter(infers), 'NAME')}",
    )


def _train(entry: TrainInstance, place: int) -> Train:
    key = f"train_instances[{place}]"
    trainer = (entry.executor_kwargs.train_config or {}).get("trainer") or {}
    folder = Path("checkpoints") / str(trainer.get("project_name", "")) / str(trainer.get("experiment_name", ""))
    return Train(entry.name, str(folder), _resources(entry.executor_num, entry.resource_info, key), key)


def _resources(executors: int, info: Sequence[Mapping[str, Any]], key: str) -> Resources:
    try:
        return Resources.of(executors, info)
    except PlacementError as problem:
        raise error(NOT_PLACED, f"{key}.resource_info", str(problem), problem.hint) from None
