from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from agentic_rl.machine import devices as devices_module
from agentic_rl.machine.devices import accelerator, check_devices, check_torch_sees, device_memory, devices

Program = Callable[[str, str], None]
NPU_SMI = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 23.0.0                   Version: 23.0.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 93.6        40                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3347 / 65536         |
+===========================+===============+====================================================+
| 1     910B3               | OK            | 91.2        41                0    / 0             |
| 0                         | 0000:C2:00.0  | 0           0    / 0          3347 / 65536         |
+===========================+===============+====================================================+
"""

TWO_CHIPS = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.2.1                   Version: 25.2.1                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     Ascend910           | OK            | 164.4       48                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 0           0    / 0          26690/ 65536         |
+------------------------------------------------------------------------------------------------+
| 0     Ascend910           | Warning       | -           47                0    / 0             |
| 1     1                   | 0000:9F:00.0  | 0           0    / 0          26457/ 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 641248        | /opt/run 1/2             | 113                     |
+===========================+===============+====================================================+
"""
"""A card of the A3 series, which has two chips."""


def test_gpus_are_what_nvidia_smi_lists(program: Program) -> None:
    program("nvidia-smi", "echo 'NVIDIA A100-SXM4-80GB, 81920'; echo 'NVIDIA T4, 15360'")
    assert [(one.name, one.memory >> 20) for one in devices()] == [
        ("NVIDIA A100-SXM4-80GB", 81920),
        ("NVIDIA T4", 15360),
    ]
    assert device_memory() == 15 << 30


@pytest.mark.parametrize(("text", "name"), [(NPU_SMI, "910B3"), (TWO_CHIPS, "Ascend910")])
def test_npus_are_what_npu_smi_lists(text: str, name: str, program: Program) -> None:
    program("npu-smi", f"/bin/cat <<'END'\n{text}END")
    assert [(one.name, one.memory >> 20) for one in devices()] == [(name, 65536)] * 2


def test_without_a_driver_s_program_there_are_none(program: Program) -> None:
    assert devices() == []
    assert device_memory() is None
    observation, count = check_devices()
    assert (observation.status, count) == ("ok", 0)
    assert "neither nvidia-smi nor npu-smi" in observation.value


def test_a_failing_driver_is_said_and_no_size_is_made_up(program: Program) -> None:
    program("nvidia-smi", "echo 'No devices were found'; exit 6")
    observation, _ = check_devices()
    assert observation.status == "unknown"
    assert "No devices were found" in observation.value
    assert device_memory() is None


def test_what_is_no_row_is_passed_over(program: Program) -> None:
    program("nvidia-smi", "echo 'Warning: something'; echo 'NVIDIA X, [N/A]'")
    assert devices() == []


@pytest.mark.parametrize(("needed", "status", "remedy"), [(2, "ok", ""), (3, "warning", "num_gpus_per_node: 2")])
def test_devices_are_compared_with_what_a_file_needs(program: Program, needed: int, status: str, remedy: str) -> None:
    program("nvidia-smi", "echo 'NVIDIA T4, 15360'; echo 'NVIDIA T4, 15360'")
    observation, count = check_devices(needed)
    assert (observation.status, count) == (status, 2)
    assert observation.value == "2 x NVIDIA T4 (15 GiB)"
    assert remedy in observation.remedy


def test_torch_is_not_asked_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices_module, "ask", lambda *_: pytest.fail("torch was asked"))
    assert check_torch_sees(0) is None


@pytest.mark.parametrize(
    ("answer", "status"), [("2\n", "ok"), ("a warning\n0\n", "warning"), ("", "unknown"), ("many\n", "unknown")]
)
def test_torch_is_compared_with_the_driver(monkeypatch: pytest.MonkeyPatch, answer: str, status: str) -> None:
    monkeypatch.setattr(devices_module, "ask", lambda *_: answer)
    observation = check_torch_sees(2)
    assert observation is not None
    assert observation.status == status


def test_this_process_loads_no_torch_for_it() -> None:
    import subprocess

    code = "import sys, agentic_rl.machine.doctor; print({'torch', 'ray', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_kind_of_accelerator(program: Program) -> None:
    assert accelerator() is None
    program("nvidia-smi", "echo 'NVIDIA T4, 15360'")
    assert accelerator() == "gpu"
    program("npu-smi", f"/bin/cat <<'END'\n{NPU_SMI}END")
    assert accelerator() == "npu"


def test_no_accelerator_where_a_driver_fails(program: Program) -> None:
    program("nvidia-smi", "echo broken >&2; exit 9")
    assert accelerator() is None
