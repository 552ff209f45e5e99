"""The checkpoint that `mindspeed_rl.load_params_path` names: tracker file, folder, ranks.

Megatron looks for `latest_checkpointed_iteration.txt`, then for the folder `release` or `iter_0000100`, then for one
folder per rank: `mp_rank_TT`, with pipeline stages `mp_rank_TT_PPP`, with experts `_EEE` behind that. Where the tracker
file is missing it trains from random weights, and says so in one line of a long log.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

from agentic_rl.config.artifacts.folder import Folder
from agentic_rl.config.artifacts.json_file import NotUsableError, bounded
from agentic_rl.config.artifacts.megatron_pages import BAD_TRACKER, INCOMPLETE_RANKS, NO_RANKS, NO_TRACKER
from agentic_rl.config.artifacts.pages import finding
from agentic_rl.config.artifacts.result import Artifacts, Request

KEY = "mindspeed_rl.load_params_path"
TRACKER = "latest_checkpointed_iteration.txt"
EXPERTS = "mindspeed_rl.expert_model_parallel_size"
PIPELINE = "mindspeed_rl.pipeline_model_parallel_size"
_RANK = re.compile(r"mp_rank_(\d{2,4})(?:_(\d{3}))?(?:_(\d{3}))?")
_ITERATION = re.compile(r"iter_\d{7}")
_HINT = "name the folder that holds latest_checkpointed_iteration.txt"


def read(request: Request) -> Artifacts:
    """Facts `@load.tensor_parallel` and `@load.pipeline_parallel`, and what is wrong with the checkpoint."""
    checked = request.checked.get(KEY)
    if request.backend != "mindspeed_rl" or checked is None or checked.kind != "folder":
        return Artifacts()
    with contextlib.suppress(OSError), Folder.opened(checked) as folder:  # changed meanwhile: training will say so
        return _of_checkpoint(folder, request)
    return Artifacts()


def _of_checkpoint(folder: Folder, request: Request) -> Artifacts:
    names = folder.folders()
    if TRACKER not in folder.files():
        there = [name for name in names if name == "release" or _ITERATION.fullmatch(name)]
        more = f", though it holds {there[0]}" if there else ""
        message = f"{folder.path} has no {TRACKER}{more}: training would start from random weights, without an error"
        return Artifacts(findings=[finding(NO_TRACKER, KEY, message, _remedy(there))])
    try:
        step = _tracked(folder)
    except NotUsableError as error:
        message = f"{folder.path}/{TRACKER} {error}; it must hold a number of steps, or release"
        return Artifacts(findings=[finding(BAD_TRACKER, KEY, message, _HINT)])
    if step not in names:
        message = f"{folder.path}/{TRACKER} names {step}, which is not there"
        return Artifacts(findings=[finding(BAD_TRACKER, KEY, message, f"there are: {', '.join(names[:10]) or 'none'}")])
    with folder.below(step) as checkpoint:
        return _of_ranks(checkpoint, request)


def _remedy(there: list[str]) -> str:
    if not there:
        return _HINT
    step = "release" if there[0] == "release" else str(int(there[-1].removeprefix("iter_")))
    return f"write {step} into {TRACKER}, if {there[-1]} is whole"


def _tracked(folder: Folder) -> str:
    """The name of the folder that the tracker file means.

    Raises:
        NotUsableError: it holds something else.
    """
    with folder.open(TRACKER) as file:
        text = bounded(file, 64).decode("ascii", errors="replace").strip()
    if text == "release":
        return text
    if not re.fullmatch(r"\d{1,18}", text):
        raise NotUsableError(f"holds {text[:40]!r}" if text else "is empty")
    return f"iter_{int(text):07d}"


def _of_ranks(folder: Folder, request: Request) -> Artifacts:
    if any(name.endswith(".distcp") for name in folder.files()):
        return Artifacts()  # a distributed checkpoint is loaded with any sizes
    ranks = {name: match for name in folder.folders() if (match := _RANK.fullmatch(name))}
    if not ranks:
        message = f"{folder.path} has no folders mp_rank_00 and so on"
        return Artifacts(findings=[finding(NO_RANKS, KEY, message, "convert the model to Megatron's format")])
    places = [_place(match, request.values) for match in ranks.values()]
    tensor, pipeline, experts = (max(place[axis] for place in places) + 1 for axis in range(3))
    result = Artifacts({"@load.tensor_parallel": tensor, "@load.pipeline_parallel": pipeline})
    incomplete = _incomplete(folder, sorted(ranks))
    if len(set(places)) < tensor * pipeline * experts:
        incomplete.insert(0, f"{len(set(places))} of the {tensor * pipeline * experts} folders that their numbers mean")
    if incomplete:
        more = f" (and {len(incomplete) - 1} more)" if len(incomplete) > 1 else ""
        message = f"{folder.path} has {incomplete[0]}{more}"
        result.findings.append(finding(INCOMPLETE_RANKS, KEY, message, "copy or convert the checkpoint again"))
    return result


def _place(match: re.Match[str], values: Any) -> tuple[int, int, int]:
    """Tensor, pipeline and expert rank. A second number alone is the pipeline's, but without stages the experts'."""
    second, third = int(match[2] or 0), int(match[3] or 0)
    if match[3] is None and values.get(PIPELINE) == 1 and (values.get(EXPERTS) or 1) > 1:
        return int(match[1]), 0, second
    return int(match[1]), second, third


def _incomplete(folder: Folder, ranks: list[str]) -> list[str]:
    """The folders of ranks without a file that holds something."""
    faults = []
    for name in ranks:
        with folder.below(name) as rank:
            files = rank.files()
        empty = [file for file, size in files.items() if not size]
        if not files:
            faults.append(f"no file in {name}")
        elif empty:
            faults.append(f"the empty file {name}/{sorted(empty)[0][:80]}")
    return faults
