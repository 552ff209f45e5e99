"""The numbered findings of the trainers (5xx) and of the data files that they read (42x)."""

from __future__ import annotations

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.rules import Page, describe

UNREADABLE_DATA = describe(
    "ARL420",
    "data file is not a readable parquet file",
    "error",
    "`train_files` and `val_files` are parquet files in verl's layout, one task a row. The file could be opened but "
    "is not parquet, or is cut off. Write it again, for example with `pyarrow.parquet.write_table`.",
)
MISSING_COLUMN = describe(
    "ARL421",
    "data file lacks a column",
    "error",
    "A task needs `prompt` (a list of chat messages with `role` and `content`) and `reward_model` (a struct with "
    "`ground_truth`); `data_source` and `extra_info` are read where they are there. Raw data sets such as GSM8K "
    "(`question`, `answer`) have to be converted first.",
)
WRONG_COLUMN_TYPE = describe(
    "ARL422",
    "column of a data file has another type",
    "error",
    "`prompt` is a list of structs with the text fields `role` and `content`, `reward_model` is a struct that has "
    "`ground_truth`, `data_source` is text, `extra_info` is a struct. A prompt that is plain text becomes "
    '`[{"role": "user", "content": text}]`.',
)
TOO_FEW_ROWS = describe(
    "ARL423",
    "fewer rows than one batch",
    "error",
    "An incomplete batch at the end of an epoch is dropped, so a training file with fewer rows than "
    "`train_batch_size` has no batch at all. Lower `train_batch_size` (it counts prompts) or add rows.",
)
NO_DATA_SOURCE = describe(
    "ARL424",
    "data file without data_source",
    "warning",
    "`data_source` names the origin of a task. Without it the evaluation reports one mean over everything and no "
    "mean for each source.",
)
EMPTY_PROMPT = describe(
    "ARL425",
    "row without a usable prompt",
    "error",
    "Each prompt is a list of at least one message, each message has a `role` and a `content`. Remove or repair "
    "the rows named.",
)
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
