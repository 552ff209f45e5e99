from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from agentic_rl.backends.verl.inside import patches
from agentic_rl.backends.verl.inside.names import INFERENCE_ROLE, TRAINING_ROLE
from agentic_rl.backends.verl.inside.patches import (
    EVERYWHERE,
    IN_CPU_ENGINE,
    NAME_VLLM_CPU,
    WITHOUT_ACCELERATOR,
    Patch,
    PatchVersionError,
    on_import,
)

ALL = [*EVERYWHERE, *WITHOUT_ACCELERATOR, *IN_CPU_ENGINE]
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
needs_verl = pytest.mark.skipif(find_spec("verl") is None, reason="verl is not installed")


@pytest.mark.parametrize("patch", ALL, ids=[patch.target for patch in ALL])
def test_another_version_is_refused(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "_version", lambda name: "99.1")
    with pytest.raises(PatchVersionError, match=rf"{patch.distribution} 99\.1: the change to .* was written for"):
        patch()


@pytest.mark.parametrize(("version", "applied"), [("1.2.0+cpu", True), ("1.2.3.dev4", True), ("1.3.0", False)])
def test_the_versions_of_a_patch_hold_for_builds_of_them(
    version: str, applied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patches, "_version", lambda name: version)
    calls: list[bool] = []
    patch = Patch("a:b", "to try it", "a", ">=1.2,<1.3", lambda: calls.append(True))
    if applied:
        patch()
    else:
        with pytest.raises(PatchVersionError):
            patch()
    assert bool(calls) is applied


def test_every_patch_has_a_reason_and_stands_once() -> None:
    assert all(patch.reason for patch in ALL)
    assert len({patch.target for patch in ALL}) == len(ALL)


def test_vllms_build_for_cpus_answers_to_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name != "vllm-cpu":
            raise importlib.metadata.PackageNotFoundError(name)
        return "0.28.0"

    monkeypatch.setattr(patches, "_version", version)
    monkeypatch.setattr(importlib.metadata, "version", version)
    NAME_VLLM_CPU()
    assert importlib.metadata.version("vllm") == "0.28.0+cpu"
    assert importlib.metadata.version("vllm-cpu") == "0.28.0"
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("another")


MEETS = """
import sys
from pathlib import Path
import torch
from agentic_rl.backends.verl.inside.patches import meet_in_a_file
meet_in_a_file(Path(sys.argv[1]), 30.0, "gloo")
meet_in_a_file(Path(sys.argv[1]), 30.0, "gloo")
one = torch.ones(1)
torch.distributed.all_reduce(one)
print(int(one))
"""


@needs_torch
def test_processes_meet_in_a_folder_of_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "a b#ü?=%20"
    folder.mkdir()
    variables = {**os.environ, "WORLD_SIZE": "2", "MASTER_PORT": "1", "GLOO_SOCKET_IFNAME": "lo"}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", MEETS, str(folder)],
            env={**variables, "RANK": rank},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in "01"
    ]
    assert [process.communicate(timeout=60)[0].strip() for process in both] == ["2", "2"]


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that can be imported and has not been."""
    (tmp_path / "patched_by_a_test.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "patched_by_a_test", raising=False)
    return "patched_by_a_test"


def add(number: int, module: ModuleType) -> None:
    module.value = module.value * 10 + number  # type: ignore[attr-defined]


def test_a_module_is_changed_right_after_its_import(name: str) -> None:
    before = list(sys.meta_path)
    on_import(name, lambda module: add(2, module))
    on_import(name, lambda module: add(3, module))
    assert name not in sys.modules
    importlib.import_module("json.tool")  # others are left alone
    assert importlib.import_module(name).value in {123, 132}
    assert sys.meta_path == before


def test_a_module_that_is_there_is_changed_at_once(name: str) -> None:
    module = importlib.import_module(name)
    on_import(name, lambda module: add(2, module))
    assert module.value == 12


def test_a_module_that_does_not_exist_stays_an_import_error() -> None:
    on_import("no_such_module_anywhere", lambda module: None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_module_anywhere")


EXISTS = """
import importlib, sys
from functools import reduce
for target in sys.argv[1:]:
    module, _, name = target.partition(":")
    reduce(getattr, name.split("."), importlib.import_module(module))
    print("there:", target)
"""


@needs_verl
@pytest.mark.verl
def test_every_target_exists_in_the_installed_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERL_PLATFORM", "cpu")
    monkeypatch.setenv("VERL_USE_EXTERNAL_MODULES", "agentic_rl.backends.verl.inside.plugin")
    targets = [patch.target for patch in ALL]
    verl_first = sorted(targets, key=lambda target: not target.startswith("verl"))
    told = subprocess.run([sys.executable, "-c", EXISTS, *verl_first], capture_output=True, text=True, check=False)
    assert {line.partition(": ")[2] for line in told.stdout.splitlines() if line.startswith("there")} == set(targets)


class Pool:
    """As verl's `RayResourcePool`."""

    def __init__(self, name_prefix: str, accelerator_type: str | None = None) -> None:
        self.name_prefix, self.accelerator_type = name_prefix, accelerator_type

    def get_placement_groups(self, strategy: str = "STRICT_PACK") -> tuple[str, str | None]:
        return strategy, self.accelerator_type


@pytest.mark.parametrize(
    ("pool", "resources", "asked"),
    [
        (Pool("global_pool"), {TRAINING_ROLE: 1, INFERENCE_ROLE: 2}, TRAINING_ROLE),
        (Pool("rollout_pool_0"), {TRAINING_ROLE: 1, INFERENCE_ROLE: 2}, INFERENCE_ROLE),
        (Pool("rollout_pool_0"), {TRAINING_ROLE: 1}, None),
        (Pool("global_pool"), {}, None),
        (Pool("global_pool", "A100"), {TRAINING_ROLE: 1}, "A100"),
    ],
)
def test_pools_ask_for_nodes_of_their_role(pool: Pool, resources: dict[str, int], asked: str | None) -> None:
    kind = type("RayResourcePool", (Pool,), {})
    module = SimpleNamespace(RayResourcePool=kind, ray=SimpleNamespace(cluster_resources=lambda: resources))
    patches.keep_to_roles(module)
    made = kind(pool.name_prefix, pool.accelerator_type)
    assert made.get_placement_groups("PACK") == ("PACK", asked)
    assert made.get_placement_groups() == ("STRICT_PACK", asked)


@needs_verl
@pytest.mark.verl
def test_verls_pools_can_ask_for_a_resource() -> None:
    source = (Path(find_spec("verl").submodule_search_locations[0]) / "single_controller/ray/base.py").read_text()  # type: ignore[union-attr, index]
    assert "bundle[self.accelerator_type] = 1e-4" in source
    assert (
        'resource_pool_name = f"rollout_pool_{self.replica_rank}'
        in (
            Path(find_spec("verl").submodule_search_locations[0]) / "workers/rollout/replica.py"  # type: ignore[union-attr, index]
        ).read_text()
    )
