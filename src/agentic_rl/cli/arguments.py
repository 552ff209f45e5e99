"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]...",
        help="Values that win over the file, e.g. lr=1e-5 verl.nnodes=2.",
        show_default=False,
    ),
]
ConfigPath = Annotated[Path, typer.Option("--config-path", help="The YAML file.", show_default=False)]
FilePath = Annotated[Path, typer.Argument(metavar="PATH", help="The YAML file.", show_default=False)]
Instance = Annotated[
    str,
    typer.Option(
        "--instance",
        metavar="NAME",
        help="The train instance, in a file of the instances format that has several.",
        show_default=False,
    ),
]
DeviceMemory = Annotated[
    str,
    typer.Option(
        "--device-memory",
        metavar="SIZE",
        help="Memory of one device: 64GiB, 80GB, bytes. Left out, nvidia-smi or npu-smi is asked.",
        show_default=False,
    ),
]


def memory_of(text: str) -> int | None:
    """Bytes that `--device-memory` names; without it those of this machine's smallest device, if it has one.

    Raises:
        typer.BadParameter: the text is no size.
    """
    from agentic_rl.config.memory import parse_size
    from agentic_rl.machine.devices import device_memory

    if not text:
        return device_memory()
    try:
        return parse_size(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--device-memory") from None
