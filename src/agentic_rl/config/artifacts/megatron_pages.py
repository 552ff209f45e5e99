"""The numbered pages about Megatron checkpoints (ARL460-464)."""

from __future__ import annotations

from agentic_rl.config.rules import describe

NO_TRACKER = describe(
    "ARL460",
    "Megatron checkpoint without its tracker file",
    "error",
    "Megatron reads `latest_checkpointed_iteration.txt` in `load_params_path` to find the weights. Where the file is "
    "missing it does not stop: it trains a model of random weights. Name the folder that holds the file, one above "
    "`release` or `iter_0000100`.",
)
BAD_TRACKER = describe(
    "ARL461",
    "Tracker file that leads nowhere",
    "error",
    "`latest_checkpointed_iteration.txt` holds one word: `release` for converted weights, or the number of a training "
    "step, whose folder is `iter_` and seven digits. The folder has to be beside the file.",
)
NO_RANKS = describe(
    "ARL462",
    "Megatron checkpoint without ranks",
    "error",
    "Weights in Megatron's format lie in one folder for each rank, `mp_rank_00` and so on. A folder of the Hugging "
    "Face format has to be converted first, for the tensor and pipeline sizes of the run.",
)
INCOMPLETE_RANKS = describe(
    "ARL463",
    "Megatron checkpoint that is not whole",
    "error",
    "A folder of a rank is missing or has no weights in it. A conversion or copy that was interrupted is the usual "
    "cause.",
)
