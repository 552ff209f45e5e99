"""The checkpoint that the run would go on from, and the folder that it would write: facts `@checkpoint.*`, `@output.*`.

Only names, sizes and small JSON files are read; what a checkpoint holds is left to the backend that loads it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentic_rl.config import manifest
from agentic_rl.config.artifacts.folder import Folder
from agentic_rl.config.artifacts.json_file import NotUsableError, bounded, read_object
from agentic_rl.config.artifacts.result import Artifacts, Request
from agentic_rl.config.manifest import NAME as MANIFEST

POINTER = "latest_checkpointed_iteration.txt"
"""verl's and Megatron's file: the number of the newest checkpoint."""
CONFIG = "config.json"
MAX_CONFIG_BYTES, MAX_POINTER_BYTES = 1 << 22, 64
MODEL_SIZES = ("model_type", "hidden_size", "num_hidden_layers")
_STEP = re.compile(r"global_step_([0-9]{1,18})")
_RANK = re.compile(r"(model|optim|extra_state)_world_size_([1-9][0-9]{0,6})_rank_([0-9]{1,7})\.pt")
Facts = dict[str, Any]


def read(request: Request) -> Artifacts:
    """What lies where the run of the chosen backend would go on and save."""
    try:
        if request.backend == "mindspeed_rl":
            return Artifacts(_of_mindspeed(request.values))
        path = _run_folder(request)
        return Artifacts({**_of_run(path, request.backend), **_output(path)} if path else {})
    except OSError:  # gone while it was read, or the current folder was removed
        return Artifacts()


def _run_folder(request: Request) -> Path | None:
    """`checkpoints/<project_name>/<experiment_name>` below the current folder."""
    project = request.values.get(request.of_backend("project_name"))
    experiment = request.values.get(request.of_backend("experiment_name"))
    return Path.cwd() / "checkpoints" / project / experiment if project and experiment else None


def _of_mindspeed(values: Mapping[str, Any]) -> Facts:
    """MindSpeed-RL saves below `save_params_path` and goes on from there only where `load_params_path` says so."""
    save = values.get("mindspeed_rl.save_params_path")
    if not isinstance(save, str) or not save.startswith("/"):
        return {}
    facts = _output(Path(save))
    with _opened(Path(save)) as folder:
        step = _pointer(folder) if folder else None
        if step is not None:
            facts |= {"@checkpoint.path": save, "@checkpoint.step": step, "@checkpoint.backend": "mindspeed_rl"}
    return facts


def _of_run(path: Path, backend: str) -> Facts:
    with _opened(path) as folder:
        if folder is None:
            return {}
        steps = sorted(int(match[1]) for match in map(_STEP.fullmatch, folder.folders()) if match)
        step = _pointer(folder) if backend == "verl" else _newest_whole(path, steps)
        if step is None or step not in steps:
            return _unreached(path, steps, step)
        place = {"@checkpoint.path": f"{path}/global_step_{step}", "@checkpoint.step": step}
        with folder.below(f"global_step_{step}") as checkpoint:
            return place | _content(checkpoint)


def _unreached(path: Path, steps: list[int], pointed: int | None) -> Facts:
    """The checkpoints that are not gone on from, and the step that the pointer names without there being one."""
    facts: Facts = {"@checkpoint.unreached": tuple(steps)} if steps else {}
    if pointed is not None:
        facts["@checkpoint.pointed"] = pointed
    return facts and {**facts, "@checkpoint.folder": str(path)}


def _content(checkpoint: Folder) -> Facts:
    """Which backend wrote the checkpoint, with how many ranks, of which model."""
    if MANIFEST in checkpoint.files():
        return {"@checkpoint.backend": "local", **_items(checkpoint), **_model(checkpoint)}
    if "actor" not in checkpoint.folders():
        return {}
    with checkpoint.below("actor") as actor:
        facts = _ranks(actor.files())
        if "huggingface" in actor.folders():
            with actor.below("huggingface") as model:
                facts |= _model(model)
        return {"@checkpoint.backend": "verl", **facts}


def _items(checkpoint: Folder) -> Facts:
    """What of `ckpt_content` the local backend saved."""
    try:
        content = read_object(checkpoint, MANIFEST, manifest.MAX_BYTES).get("content")
    except NotUsableError:
        return {}
    if not isinstance(content, list):
        return {}
    return {"@checkpoint.content": tuple(item for item in content if isinstance(item, str))}


def _ranks(files: Mapping[str, int]) -> Facts:
    """The world size that the names tell, where they tell one, and the ranks whose model is missing."""
    found = [match for match in map(_RANK.fullmatch, files) if match]
    sizes = {int(match[2]) for match in found}
    if len(sizes) != 1:
        return {}
    (size,) = sizes
    there = {int(match[3]) for match in found if match[1] == "model"}
    facts: Facts = {"@checkpoint.world_size": size}
    if there and len(there) < size:
        facts["@checkpoint.missing_ranks"] = size - len(there)
    return facts


def _model(folder: Folder) -> Facts:
    try:
        tree = read_object(folder, CONFIG, MAX_CONFIG_BYTES)
    except NotUsableError:
        return {}
    return {f"@checkpoint.{name}": tree[name] for name in MODEL_SIZES if isinstance(tree.get(name), (int, str))}


def _newest_whole(path: Path, steps: list[int]) -> int | None:
    """The step that the local backend would go on from; the hashes of files, which it compares too, are left out."""
    for step in reversed(steps):
        with contextlib.suppress(manifest.TornCheckpointError):
            return manifest.whole(path / f"global_step_{step}", step, contents=False).step
    return None


def _pointer(folder: Folder) -> int | None:
    """The number in the pointer file; None where there is none or something else in it (`release`)."""
    try:
        with folder.open(POINTER) as file:
            text = bounded(file, MAX_POINTER_BYTES).decode("ascii", "replace").strip()
    except (OSError, NotUsableError):
        return None
    return int(text) if text.isdecimal() and text.isascii() else None


def _output(path: Path) -> Facts:
    """Why nothing can be written below `path`, if so: the nearest folder above it that is there decides."""
    there = next(folder for folder in (path, *path.parents) if os.path.lexists(folder))
    if not there.is_dir():
        return {"@output.problem": f"{there} is no folder"}
    if not os.access(there, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        return {"@output.problem": f"{there} can't be written by this user"}
    return {}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Folder | None]:
    """The folder `path`, links followed as backends do; None where there is none that can be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield Folder(str(path), descriptor)
    finally:
        os.close(descriptor)
