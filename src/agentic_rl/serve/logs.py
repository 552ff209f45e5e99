"""Where the service's log goes: `log_level` and `log_dir`."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from agentic_rl.config.writing import make_folder, open_append

NAME = "serve.log"
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_to(folder: str, level: str) -> Path:
    """Write the log of this process to the folder and to standard error; the file.

    Raises:
        OSError: it can't be written.
    """
    path = Path(folder).absolute() / NAME
    make_folder(path.parent)
    open_append(path).close()  # made with its mode
    logging.basicConfig(
        level=level,
        format=_FORMAT,
        handlers=[
            logging.FileHandler(path, encoding="utf-8", errors="backslashreplace"),
            logging.StreamHandler(sys.stderr),
        ],
        force=True,
    )
    return path
