"""What the environment says about the devices of this machine: facts `@machine.*`. No device is looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentic_rl.config.artifacts.result import Artifacts, Request

ASCEND, CUDA = "ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
VARIABLES = {"npu": (ASCEND,), "gpu": (CUDA,), "auto": (ASCEND, CUDA), "cpu": ()}
"""Kind of device -> the variables that hide devices of it; the first one that is set counts."""
_HIDDEN_BY_RAY = "NoDevFiles"
_NUMBER = re.compile(r"[+-]?[0-9]+")


def read(request: Request) -> Artifacts:
    """How many devices the environment shows: nothing where no variable is set."""
    for variable in VARIABLES[str(request.values.get("device", "auto"))]:
        text = request.environ.get(variable)
        if text is not None:
            shown = visible_npus(text) if variable == ASCEND else visible_gpus(text)
            return Artifacts({"@machine.visible_devices": shown, "@machine.visible_variable": variable})
    return Artifacts()


def visible_npus(text: str) -> int:
    """Devices that `ASCEND_RT_VISIBLE_DEVICES` shows: those before the first thing that is no bare number.

    CANN's reference of environment variables: of `1, 2,3` only 1 is read, because of the space.
    """
    return _different(_leading(text.split(","), r"[0-9]+"))


def visible_gpus(text: str) -> int:
    """Devices that `CUDA_VISIBLE_DEVICES` shows, counted as CUDA does it.

    What is no device ends the list, a negative number too; a device that is named twice leaves none. A list that
    begins with `GPU-` or `MIG-` names devices by their identity.
    """
    if text == _HIDDEN_BY_RAY:
        return 0
    for prefix in ("GPU-", "MIG-"):
        if text.startswith(prefix):
            return _once_each(_leading(text.split(","), re.escape(prefix) + ".*"))
    return _once_each(_numbers(text.split(",")))


def _leading(items: Iterable[str], pattern: str) -> list[str]:
    found = []
    for item in items:
        if not re.fullmatch(pattern, item):
            break
        found.append(item)
    return found


def _numbers(items: Iterable[str]) -> list[str]:
    """The numbers that the items begin with, up to the first item that begins with none or with a negative one."""
    found = []
    for item in items:
        number = _NUMBER.match(item.strip())
        if number is None or (number[0].startswith("-") and number[0].strip("-0")):
            break
        found.append(number[0].lstrip("+-").lstrip("0") or "0")
    return found


def _once_each(devices: list[str]) -> int:
    return len(devices) if len(set(devices)) == len(devices) else 0


def _different(devices: list[str]) -> int:
    return len({device.lstrip("0") for device in devices})
