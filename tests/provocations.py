"""Provoking, for real, the findings that the text of a file and the files that it names can't show by themselves."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.backends import trainer_for
from agentic_rl.backends.local import devices
from agentic_rl.config.artifacts import parquet_file
from agentic_rl.config.aura import inference
from agentic_rl.config.aura.base_conf import parse_base
from agentic_rl.config.aura.bundle import load_bundle
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.config.load import Loaded, load
from agentic_rl.config.secure_paths import walk
from agentic_rl.data import Wishes, check_files, prepare
from artifact_doubles import task_rows, write_rows
from example_tree import write_tree

NOBODY = 65534
TEXT = """\
tokenizer_name_or_path: /home/me/models/qwen
agent_name: math
train_backend: local
entropy_coeff: 0.001
max_steps: 1
local:
  train_files: /home/me/data/train.parquet
  val_files: /home/me/data/test.parquet
  train_batch_size: 4
  ppo_mini_batch_size: 4
"""
MINDSPEED = """\
tokenizer_name_or_path: /home/me/models/qwen
agent_name: math
train_backend: mindspeed_rl
model_name: qwen2.5-7b
dataset_additional_keys: [problem]
mindspeed_rl:
  data_path: /home/me/data/math
  load_params_path: /home/me/params
  save_params_path: /home/me/out
"""
AGENT = (
    "from agentic_rl import Agent\n\n\nclass Mine(Agent):\n    async def run(self, task, model):\n        return 0.0\n"
)

Codes = set[str]
Provocation = Callable[[Path, pytest.MonkeyPatch], Codes]


def make(home: Path, text: str = TEXT, **files: Any) -> Path:
    """The configuration below `home`, with everything that it names."""
    write_tree(home, {**files, "config.yaml": text})
    return home / "config.yaml"


def read(home: Path, text: str = TEXT, **files: Any) -> Loaded:
    """The same, read."""
    return load(make(home, text, **files), environ={})


def codes(findings: Any) -> Codes:
    """The codes of findings."""
    return {finding.code for finding in findings}


def nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """What the configuration gives unprovoked."""
    monkeypatch.chdir(home)
    return codes([*read(home).report, *trainer_for(load(home / "config.yaml", environ={})).check()])


def another_owner(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """A file of another user: given away by root; for others, one of root's."""
    if os.geteuid():
        return codes(read(home, TEXT.replace("/home/me/data/train.parquet", "/etc/passwd")).report)
    config = make(home)
    os.chown(home / "data/train.parquet", NOBODY, NOBODY)
    return codes(load(config, environ={}).report)


def no_permission(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """A folder that nobody may enter, seen by a process that has no rights of root's."""
    config = make(home)
    (home / "models/qwen").chmod(0)
    program = f"""
import os
from agentic_rl.config.load import load_document, read_document
document, _ = read_document({str(config)!r}, files=False)
load_document(document, environ={{}})  # imports everything: the interpreter may lie in a folder of root's
if os.geteuid() == 0:
    os.setgroups([]); os.setresgid({NOBODY}, {NOBODY}, {NOBODY}); os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
print(*(one.code for one in load_document(document, environ={{}}).report))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd="/", capture_output=True, text=True, check=False)
    (home / "models/qwen").chmod(0o750)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def vanished(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """A file that is removed between being listed and being looked at."""
    config = make(home, **{"models/qwen/notes.txt": "soon gone"})
    lists = os.scandir

    @contextlib.contextmanager
    def listed_then_removed(folder: Any) -> Iterator[Iterator[os.DirEntry[str]]]:
        with lists(folder) as entries:
            found = list(entries)
        (home / "models/qwen/notes.txt").unlink(missing_ok=True)
        yield iter(found)

    monkeypatch.setattr(os, "scandir", listed_then_removed)
    return codes(load(config, environ={}).report)


def swapped(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """A file that is another one when it is opened after its check."""
    loaded = read(home)
    file = home / "data/train.parquet"
    file.write_bytes(file.read_bytes())
    file.rename(file.with_suffix(".old"))
    write_rows(file, task_rows(1)).chmod(0o640)
    try:
        loaded.checked["local.train_files"].open()
    except OSError as error:
        return set(re.findall(r"ARL\d+", str(error)))
    return set()


def too_many_files(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """A folder with more files than are looked at; the limit is lowered, so that few are enough."""
    monkeypatch.setattr(walk, "MAX_ENTRIES", 3)
    return codes(read(home).report)


def failing_agent(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """An agent file that raises an exception when training imports it."""
    from agentic_rl.backends.local.assembly import build_agent

    text = TEXT.replace("max_steps: 1", "max_steps: 1\nagent_engine_wrapper_path: /home/me/agent.py")
    loaded = read(home, text, **{"agent.py": f"{AGENT}\n\n1 / 0\n"})
    assert loaded.report.verdict != "error"
    try:
        build_agent(loaded)
    except ConfigError as error:
        return codes(error.report)
    return set()


def unwieldy_data(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """A page that is larger than what is decoded: 80 MB of zeros in a file of a few kilobytes."""
    config = make(home)
    zeros = [{"role": "user", "content": "0" * (parquet_file.MAX_PAGE + (16 << 20))}]
    write_rows(home / "data/train.parquet", task_rows(1, prompt=zeros), compression="zstd", write_statistics=False)
    (home / "data/train.parquet").chmod(0o640)
    return codes(load(config, environ={}).report)


def not_installed(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """A backend that this version does not train with."""
    return codes(trainer_for(read(home, MINDSPEED)).check())


def no_package(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """A package of the extra that is not there."""
    monkeypatch.setattr(devices, "PACKAGES", ("no_such_package",))
    return codes(trainer_for(read(home)).check())


def no_device(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """An NPU where there is none."""
    return codes(trainer_for(read(home, f"device: npu\n{TEXT}")).check())


def weights_only(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """Checkpoints that hold the weights alone."""
    return codes(trainer_for(read(home, f"{TEXT}  ckpt_content: [model]\n")).check())


def bad_data(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """Rows of data files, as `agentic-rl data` looks at them."""
    home.mkdir(exist_ok=True)
    questions = home / "questions.jsonl"
    questions.write_text('{"question": ""}\nnot JSON\n')
    others = home / "others.jsonl"
    others.write_text('{"text": "no question"}\n')
    prepared = prepare("math", [questions, others], home / "made", Wishes(answer="question"))
    first, second = ({"role": role, "content": "x"} for role in ("user", "assistant"))
    truths: list[Any] = ["1", 1, None]
    rows = [
        {"prompt": [first, second][: 1 + (number == 2)], "reward_model": {"ground_truth": truth}, "data_source": "s"}
        for number, truth in enumerate(truths)
    ]
    file = home / "tasks.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    checked = check_files([file, Path(shutil.copy(file, home / "again.jsonl"))])
    return codes([*prepared.report, *checked.report, *check_files([file], lambda messages: 9, 8).report])


def later_mode(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    return codes(parse_base("work_mode=fully_async\n").findings)


def another_vllm(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    monkeypatch.setattr(inference, "version", lambda name: "0.28.0")
    return codes(inference.parse_inference("vllm_version: 0.22.1\n").findings)


def odd_sets(home: Path, monkeypatch: pytest.MonkeyPatch) -> Codes:
    """A base.conf that names a file of the flat format, and a folder that has none."""
    make(home, **{"base.conf": "work_mode=hybrid\ntrain_config_name=config\n"})
    return codes([*load_bundle(home).report, *load_bundle(home / "data").report])


PROVOKED: dict[str, Provocation] = {
    "ARL307": another_owner,
    "ARL309": no_permission,
    "ARL312": vanished,
    "ARL313": swapped,
    "ARL314": too_many_files,
    "ARL416": failing_agent,
    "ARL450": unwieldy_data,
    "ARL501": not_installed,
    "ARL502": no_package,
    "ARL503": no_device,
    "ARL504": weights_only,
    **{f"ARL{number}": bad_data for number in range(470, 479)},
    "ARL614": later_mode,
    "ARL621": another_vllm,
    **dict.fromkeys(("ARL641", "ARL643"), odd_sets),
}
"""Code -> what provokes it and gives back the codes of what was found."""
