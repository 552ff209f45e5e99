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
