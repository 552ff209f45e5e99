"""The numbered findings of serve mode (7xx)."""

from __future__ import annotations

from agentic_rl.config.diagnostics import ConfigError, Finding, Report
from agentic_rl.config.rules import Page, describe

PACKAGE_MISSING = describe(
    "ARL700",
    "package of serve mode is missing",
    "error",
    "Serve mode needs FastAPI, uvicorn and a few more: `python -m pip install 'agentic-rl[serve]'`.",
)
ADDRESS_TAKEN = describe(
    "ARL701",
    "address can't be listened on",
    "error",
    "`serve_conf.host` has to be an address of this machine (0.0.0.0 or `::` for all of them), and nothing else may "
    "listen on `serve_conf.port`.",
)
TOKEN_REFUSED = describe(
    "ARL702",
    "token can't be used",
    "error",
    "Beyond loopback every request needs `Authorization: Bearer TOKEN`. The token is that of the variable "
    "AGENTIC_RL_SERVE_TOKEN, or of the file that AGENTIC_RL_SERVE_TOKEN_FILE names, or of `serve_token` in `log_dir`, "
    "which is made where it is missing. A file has to have mode 640, be no link and be yours, and its token "
    "has at least 16 printable ASCII characters.",
)
NO_TOKEN = describe(
    "ARL703",
    "everybody may use the service",
    "warning",
    "With `--insecure` whoever reaches `serve_conf.port` can use the models, run agents and start training jobs. Use "
    "it only where something else keeps strangers out.",
)
NOT_PLACED = describe(
    "ARL704",
    "cluster can't hold the executors",
    "error",
    "`executor_num` and `resource_info` of an instance are placed on the Ray cluster before it is used: the resources "
    "of the instance, divided evenly among its executors. Where the cluster does not have them free within the time "
    "that is waited, the instance can't start. `ray status` shows what the cluster has.",
)
AGENT_REFUSED = describe(
    "ARL705",
    "agent can't be made",
    "error",
    "`agent_name` has to be a built-in or registered agent, or a place as `module:Class`, and `tokenizer` a folder "
    "with a tokenizer whose chat template can be used.",
)
ENGINE_FAILED = describe(
    "ARL706",
    "inference server does not come up",
    "error",
    "An inference instance whose `engine` is `vllm_mp` or `vllm_ray` is started with the service, and has to answer "
    "within the time that is waited. Its own log is beside the service's.",
)
WITHOUT_EFFECT = describe(
    "ARL707",
    "executors without effect",
    "warning",
    "An instance of `vllm_proxy` or `vllm_external` names servers that somebody else runs: there is nothing to place "
    "on a cluster, so its `executor_num` and `resource_info` do nothing.",
)
IDLE_KEY = describe(
    "ARL708",
    "key without effect in serve mode",
    "warning",
    "Agents that are served sample with `temperature`, `top_p`, `top_k`, `min_p` and `max_tokens` of "
    "`infer_service_params`, and show the policy its earlier thoughts as the chat template does.",
)
NO_SERVICE = describe(
    "ARL709",
    "agent without a model",
    "error",
    "`infer_service_params.model` names the inference instance that an agent talks to. It may be left out where there "
    "is one only.",
)
LOG_REFUSED = describe(
    "ARL710",
    "log can't be written",
    "error",
    "The service writes serve.log, the outputs of jobs and its token into `agentic_ai.log_dir`.",
)


def finding(page: Page, key: str, message: str, hint: str = "") -> Finding:
    """A finding of `page` without a place; the reader of the file knows where `key` stands."""
    return Finding(page.code, page.severity, key, message, hint)


def error(page: Page, key: str, message: str, hint: str = "") -> ConfigError:
    """One finding as an exception."""
    return ConfigError(Report([finding(page, key, message, hint)]))
