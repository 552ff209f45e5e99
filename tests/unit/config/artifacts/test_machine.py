"""How many devices the environment shows."""

from __future__ import annotations

import pytest

from agentic_rl.config.artifacts.machine import read, visible_gpus, visible_npus
from agentic_rl.config.artifacts.result import Request


def facts(environ: dict[str, str], device: str = "auto") -> dict[str, object]:
    return read(Request({"device": device}, {}, environ, {})).facts


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 1),
        ("0,1,2,3", 4),
        ("3,2,1", 3),
        ("", 0),
        ("1, 2,3", 1),
        (" 0,1", 0),
        ("1,2,-1,3", 2),
        ("0-3", 0),
        ("0,1,a,3", 2),
        ("0,1,", 2),
        ("0,0,1", 2),
        ("NoDevFiles", 0),
        ("٠,١", 0),
    ],
)
def test_npus_end_at_the_first_thing_that_is_no_bare_number(text: str, count: int) -> None:
    assert visible_npus(text) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0,1,2,3", 4),
        ("7", 1),
        ("", 0),
        ("-1", 0),
        ("0,-1,1", 1),
        ("0, 1 ,2", 3),
        ("1gpu2,2ampere", 2),
        ("0,x,1", 1),
        ("0,0", 0),
        ("1,01", 0),
        ("+1,2", 2),
        ("-0,1", 2),
        ("NoDevFiles", 0),
        ("GPU-ab,GPU-cd", 2),
        ("GPU-ab,GPU-ab", 0),
        ("GPU-ab,1", 1),
        ("MIG-ab", 1),
        ("MIG-ab,GPU-cd,MIG-ef", 1),
    ],
)
def test_gpus_are_counted_as_cuda_does(text: str, count: int) -> None:
    assert visible_gpus(text) == count


@pytest.mark.parametrize(
    "text", ["0,1,2", "", "-1", "0,-1,1", "0, 1", "1gpu2,2a", "0,x,1", "0,0", "GPU-a,GPU-b", "GPU-a,GPU-a", "+1"]
)
def test_gpus_are_counted_as_torch_does(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = pytest.importorskip("torch.cuda")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", text)
    assert visible_gpus(text) == len(cuda._parse_visible_devices())


def test_a_variable_that_is_not_set_says_nothing() -> None:
    assert facts({}) == {}


@pytest.mark.parametrize(
    ("device", "variable", "count"),
    [
        ("auto", "ASCEND_RT_VISIBLE_DEVICES", 2),
        ("npu", "ASCEND_RT_VISIBLE_DEVICES", 2),
        ("gpu", "CUDA_VISIBLE_DEVICES", 3),
    ],
)
def test_the_kind_of_device_chooses_the_variable(device: str, variable: str, count: int) -> None:
    environ = {"ASCEND_RT_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "0,1,2"}
    assert facts(environ, device) == {"@machine.visible_devices": count, "@machine.visible_variable": variable}


def test_auto_takes_the_variable_that_is_set() -> None:
    assert facts({"CUDA_VISIBLE_DEVICES": "0"})["@machine.visible_variable"] == "CUDA_VISIBLE_DEVICES"


def test_a_run_on_the_cpu_needs_no_device() -> None:
    assert facts({"CUDA_VISIBLE_DEVICES": ""}, "cpu") == {}
