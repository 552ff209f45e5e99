"""The header of a safetensors file: read with `struct` and `json`, compared with the size of the file.

Format: 8 bytes (little-endian) with the length of the header, the header, the tensors' bytes without gaps.
"""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

from agentic_rl.config.artifacts.json_file import NotUsableError, parse_object, size_words

MAX_HEADER = 100_000_000
"""The format's own limit."""
_POINTER = b"version https://git-lfs"
_WIDTHS = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4}
_WIDTHS |= {"I64": 8, "U64": 8, "F64": 8, "F8_E4M3": 1, "F8_E5M2": 1}


def tensor_names(file: BinaryIO, size: int, most: int) -> frozenset[str] | None:
    """The names of the tensors in `file`, which has `size` bytes; None where the header has more than `most` bytes.

    Raises:
        NotUsableError: the header is missing, no JSON, or promises other than what the file has.
    """
    head = file.read(len(_POINTER))
    if not head:
        raise NotUsableError("is empty")
    if head == _POINTER:
        raise NotUsableError("is a pointer of Git LFS, not the weights")
    if size < 8:
        raise NotUsableError(f"has {size_words(size)}; the length of the header alone has 8")
    (length,) = struct.unpack("<Q", head[:8])
    if length > size - 8:
        raise NotUsableError(f"says that its header has {_words(length)}, but the whole file has {size_words(size)}")
    if length > MAX_HEADER:
        raise NotUsableError(f"has a header of {size_words(length)}; the format allows {size_words(MAX_HEADER)}")
    if length > most:
        return None
    file.seek(8)
    header = parse_object(file.read(length))
    header.pop("__metadata__", None)
    _check_ends(header, size - 8 - length)
    return frozenset(header)


def _check_ends(header: dict[str, Any], stored: int) -> None:
    """Compare the bytes after the header with where the tensors lie."""
    end = 0
    for name, tensor in header.items():
        first, last = _offsets(name, tensor)
        end = max(end, last)
        width, shape = _WIDTHS.get(tensor.get("dtype")), tensor.get("shape")
        if width and isinstance(shape, list) and last - first != width * _product(shape):
            raise NotUsableError(
                f"gives {name[:80]!r} {size_words(last - first)}, which is not its shape times its width"
            )
    if end > stored:
        raise NotUsableError(f"is cut off: its tensors have {size_words(end)}, of which {size_words(stored)} are there")
    if end < stored:
        raise NotUsableError(f"has {size_words(stored - end)} after the end of its last tensor")


def _offsets(name: str, tensor: Any) -> tuple[int, int]:
    offsets = tensor.get("data_offsets") if isinstance(tensor, dict) else None
    if isinstance(offsets, list) and len(offsets) == 2 and all(type(offset) is int for offset in offsets):
        first, last = offsets
        if 0 <= first <= last:
            return first, last
    raise NotUsableError(f"does not say where {name[:80]!r} lies")


def _product(shape: list[Any]) -> int:
    product = 1
    for length in shape:
        if type(length) is not int or length < 0:
            return -1
        product = min(product * length, 1 << 63)
    return product


def _words(length: int) -> str:
    return size_words(length) if length < 10**15 else "over a million GB"
