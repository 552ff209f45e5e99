from __future__ import annotations

import resource
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentic_rl.machine import system
from agentic_rl.machine.system import check_clock, check_disk, check_open_files, check_shared_memory

GIB = 1 << 30


def test_the_clock_of_this_machine_is_plausible() -> None:
    assert check_clock().status == "ok"


@pytest.mark.parametrize("times", [[0.0, 1.0], [1.8e9, 1.8e9 - 5], [9e9, 9e9 + 1]])
def test_a_clock_that_stands_in_another_age_or_goes_back_is_told(
    monkeypatch: pytest.MonkeyPatch, times: list[float]
) -> None:
    shown = iter(times)
    monkeypatch.setattr(system, "time", SimpleNamespace(time=lambda: next(shown), sleep=time.sleep))
    found = check_clock()
    assert found.status == "warning"
    assert "timedatectl" in found.remedy


def disk(monkeypatch: pytest.MonkeyPatch, **sizes: int) -> None:
    def usage(path: Any) -> Any:
        if not sizes:
            raise OSError(2, "No such file or directory")
        return SimpleNamespace(**sizes)

    monkeypatch.setattr(shutil, "disk_usage", usage)


@pytest.mark.parametrize(("size", "status"), [(64 << 20, "warning"), (8 * GIB, "ok")])
def test_shared_memory_is_compared_with_what_is_needed(monkeypatch: pytest.MonkeyPatch, size: int, status: str) -> None:
    disk(monkeypatch, total=size)
    found = check_shared_memory(8 * GIB)
    assert found.status == status
    assert ("--shm-size=8g" in found.remedy) == (status == "warning")


def test_shared_memory_that_is_not_there_can_t_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    disk(monkeypatch)
    assert check_shared_memory(GIB).status == "unknown"
    assert check_disk(Path("/x"), GIB, 2).status == "unknown"


@pytest.mark.parametrize(
    ("limits", "status", "remedy"),
    [
        ((65536, 65536), "ok", ""),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), "ok", ""),
        ((1024, 1048576), "warning", "ulimit -n 65536"),
        ((1024, resource.RLIM_INFINITY), "warning", "ulimit -n 65536"),
        ((1024, 4096), "warning", "raise the hard limit, 4096"),
    ],
)
def test_open_files(monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], status: str, remedy: str) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    found = check_open_files(65536)
    assert found.status == status
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("free", "status", "remedy"),
    [(30, "ok", ""), (29, "warning", "keep_checkpoints: 1"), (19, "error", "make room"), (0, "error", "make room")],
)
def test_room_for_the_checkpoints_kept_and_one_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, status: str, remedy: str
) -> None:
    disk(monkeypatch, free=free * GIB)
    found = check_disk(tmp_path / "checkpoints" / "a" / "b", 10 * GIB, 2)
    assert found.status == status
    assert remedy in found.remedy
    assert f"below {tmp_path}" in found.value
    assert "room for 3 checkpoints" in found.rule


def test_without_the_model_s_size_the_free_room_is_told(tmp_path: Path) -> None:
    found = check_disk(tmp_path, None, 2)
    assert found.status == "unknown"
    assert "free below" in found.value
