"""Running a piece of code as an ordinary user, also where the tests run as root."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65534

# Everything is imported before root's rights are given up: the interpreter may lie in a folder of root's.
PREAMBLE = f"""
import difflib, json, os, pathlib, sys
from agentic_rl.config import artifacts
from agentic_rl.config.agent_file import check_agent_file
from agentic_rl.config.load import load
from agentic_rl.config.secure_paths import check_path, fix_permissions
from agentic_rl.config.writing import make_folder, open_append, open_new, rename_folder_into_place, replace_file
if os.geteuid() == 0:
    os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
folder = pathlib.Path(sys.argv[1])
"""


@pytest.fixture
def ordinary_folder() -> Iterator[Path]:
    """A folder, mode 750, that belongs to the user of `run_as_ordinary_user`."""
    folder = Path(tempfile.mkdtemp(dir="/tmp")).resolve()
    folder.chmod(0o750)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    yield folder
    subprocess.run(["chmod", "-R", "u+rwx", folder], check=True)
    shutil.rmtree(folder)


@pytest.fixture
def run_as_ordinary_user(ordinary_folder: Path) -> Callable[[str], Any]:
    """Run code in a process without root's rights; its `result` comes back (through JSON)."""

    def run(code: str) -> Any:
        program = f"{PREAMBLE}\n{code}\nprint(json.dumps(result))"
        command = [sys.executable, "-W", "error", "-c", program, str(ordinary_folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
