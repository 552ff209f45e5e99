"""The numbered findings of the trainers (5xx)."""

from __future__ import annotations

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.rules import Page, describe

BACKEND_UNAVAILABLE = describe(
    "ARL501",
    "backend is not available",
    "error",
    "The configuration is checked for every documented backend, but only an installed one can train. "
    "`train_backend: local` trains on this machine with the extra `[local]`.",
)
PACKAGE_MISSING = describe(
    "ARL502",
    "package of the local backend is missing",
    "error",
    "The local backend needs torch, transformers and safetensors: `python -m pip install 'agentic-rl[local]'`.",
)
DEVICE_MISSING = describe(
    "ARL503",
    "device is not there",
    "error",
    "`device: gpu` needs a CUDA device that torch sees, `device: npu` an NPU with torch-npu. `device: auto` takes "
    "what is there.",
)
CANNOT_RESUME = describe(
    "ARL504",
    "checkpoints that a run can't go on from",
    "warning",
    "Going on needs the weights (`model` or `hf_model`), `optimizer` and `extra`. With less in `ckpt_content` the "
    "checkpoints are good for evaluation and use, but a run that stops has to start again under another name.",
)


def finding(page: Page, key: str, message: str, hint: str = "") -> Finding:
    """A finding of `page` without a place; the reader of the file knows where `key` stands."""
    return Finding(page.code, page.severity, key, message, hint)
