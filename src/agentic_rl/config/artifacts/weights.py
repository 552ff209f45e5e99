"""Whether a model folder holds all its weights: the files that an index names, and their headers."""

from __future__ import annotations

import re
from typing import Any

from agentic_rl.config.artifacts.folder import Folder
from agentic_rl.config.artifacts.json_file import NotUsableError, read_object
from agentic_rl.config.artifacts.pages import BAD_INDEX, BROKEN_WEIGHTS, MISSING_WEIGHTS, NO_WEIGHTS, finding
from agentic_rl.config.artifacts.safetensors import tensor_names
from agentic_rl.config.diagnostics import Finding

MAX_INDEX = 12 << 20
MOST_FILES = 400
MAX_HEADERS = 16 << 20
"""Bytes of headers that are parsed in one folder; longer ones are only measured."""
_AGAIN = "download the model again; what is whole is kept"
_NUMBERED = re.compile(r"(.+)-(\d{5})-of-(\d{5})(\.safetensors|\.bin)")
_STEMS = (("model", ".safetensors"), ("pytorch_model", ".bin"))
Files = dict[str, int]


def check_weights(folder: Folder, files: Files, key: str) -> list[Finding]:
    """What is missing or damaged; `files` are the folder's, by name, with their sizes."""
    for stem, ending in _STEMS:
        index = f"{stem}{ending}.index.json"
        if f"{stem}{ending}" in files:  # transformers takes the one file before it looks for an index
            return _damaged(folder, {f"{stem}{ending}": frozenset()}, files, key)
        if index in files:
            return _by_index(folder, files, index, key)
        numbered = {match[0]: match for match in map(_NUMBERED.fullmatch, files) if match and match[1] == stem}
        if numbered:
            return _by_numbers(folder, numbered, index, key)
    return [_none(folder, files, key)]


def _by_index(folder: Folder, files: Files, index: str, key: str) -> list[Finding]:
    path = f"{folder.path}/{index}"
    try:
        names = _named(read_object(folder, index, MAX_INDEX))
    except NotUsableError as error:
        return [finding(BAD_INDEX, key, f"{path} {error}", _AGAIN)]
    missing = sorted(name for name in names if name not in files)
    if missing:
        return [_missing(f"{path} names {len(names)} files, of which {len(missing)} are missing", missing, key)]
    return _damaged(folder, names, files, key)


def _named(tree: dict[str, Any]) -> dict[str, frozenset[str]]:
    """File -> the tensors that it has.

    Raises:
        NotUsableError: there is no usable `weight_map`.
    """
    tensors = tree.get("weight_map")
    if not isinstance(tensors, dict) or not tensors:
        raise NotUsableError("has no weight_map with the names of tensors and files")
    names: dict[str, set[str]] = {}
    for tensor, name in tensors.items():
        if not isinstance(name, str) or not name or "/" in name or "\0" in name:
            raise NotUsableError(f"gives {tensor[:80]!r} no file of this folder")
        names.setdefault(name, set()).add(tensor)
    if len(names) > MOST_FILES:
        raise NotUsableError(f"names {len(names):,} files; at most {MOST_FILES:,} are looked at")
    return {name: frozenset(its) for name, its in names.items()}


def _damaged(folder: Folder, names: dict[str, frozenset[str]], files: Files, key: str) -> list[Finding]:
    """The files that are no weights, in one finding: one fault seldom comes alone."""
    most = MAX_HEADERS // len(names)
    faults = {name: _fault(folder, name, names[name], files[name], most) for name in sorted(names)}
    broken = [f"{name} {fault}" for name, fault in faults.items() if fault]
    if not broken:
        return []
    more = f" (and {len(broken) - 1} more of its files)" if len(broken) > 1 else ""
    return [finding(BROKEN_WEIGHTS, key, f"{folder.path}/{broken[0]}{more}", _AGAIN)]


def _fault(folder: Folder, name: str, tensors: frozenset[str], size: int, most: int) -> str:
    """What is wrong with a file of weights; empty where nothing is."""
    try:
        with folder.open(name) as file:
            if not name.endswith(".safetensors"):
                return _of_pickle(file.read(32))
            there = tensor_names(file, size, most)
    except NotUsableError as error:
        return str(error)
    except OSError as error:
        return f"can't be read: {error.strerror or error}"
    lacking = sorted(tensors - there) if there is not None else []
    if not lacking:
        return ""
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    return f"lacks the tensor {lacking[0][:80]!r}{more}, which the index says it has"


def _of_pickle(head: bytes) -> str:
    """Torch writes a zip archive, before version 1.6 a pickle."""
    if not head:
        return "is empty"
    return "" if head.startswith((b"PK", b"\x80")) else "is no file that torch wrote"


def _by_numbers(folder: Folder, numbered: dict[str, re.Match[str]], index: str, key: str) -> list[Finding]:
    """Files numbered 00001-of-00004 whose index is missing, without which transformers loads none of them."""
    one = next(iter(numbered.values()))
    count = int(one[3])
    wanted = [f"{one[1]}-{number:05d}-of-{one[3]}{one[4]}" for number in range(1, min(count, MOST_FILES) + 1)]
    missing = [name for name in wanted if name not in numbered]
    return [
        _missing(f"{folder.path} has {len(numbered)} of {count} files of weights and lacks", [index, *missing], key)
    ]


def _missing(where: str, missing: list[str], key: str) -> Finding:
    shown = ", ".join(name if len(name) <= 80 else f"{name[:80]}..." for name in missing[:3])
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    return finding(MISSING_WEIGHTS, key, f"{where}: {shown}{more}", _AGAIN)


def _none(folder: Folder, files: Files, key: str) -> Finding:
    message, hint = f"{folder.path} has no weights", "name the folder that has model.safetensors"
    if "adapter_config.json" in files:
        message, hint = f"{message} of its own: it is an adapter", "merge the adapter into its base model first"
    elif any(name.endswith(".gguf") for name in files):
        message, hint = f"{message} but a GGUF file", "name a folder with safetensors; GGUF is for inference only"
    return finding(NO_WEIGHTS, key, message, hint)
