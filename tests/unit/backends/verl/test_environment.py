from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.backends.verl.environment import ADDRESS, Device, environment, named_address
from agentic_rl.backends.verl.inside import names
from agentic_rl.config.verl_native.installation import EXTERNAL_MODULES

RUN = Path("/runs/one")


@pytest.mark.parametrize("device", ["cpu", "cuda", "npu"])
def test_every_process_loads_our_plugin_and_reports_into_the_run(device: Device) -> None:
    variables = environment(device, {}, RUN)
    assert variables[EXTERNAL_MODULES] == names.PLUGIN
    assert variables["VERL_FILE_LOGGER_PATH"] == "/runs/one/verl.metrics.jsonl"
    assert variables["TENSORBOARD_DIR"] == "/runs/one/tensorboard"
    assert ("VERL_PLATFORM" in variables, names.STORE_FOLDER in variables) == (device == "cpu",) * 2


def test_what_the_user_has_set_wins() -> None:
    given = {"OMP_NUM_THREADS": "8", "HF_HUB_OFFLINE": "0", "UNRELATED": "x", "VERL_FILE_LOGGER_PATH": "/elsewhere"}
    variables = environment("cpu", given, RUN)
    assert (variables["OMP_NUM_THREADS"], variables["HF_HUB_OFFLINE"]) == ("8", "0")
    assert "UNRELATED" not in variables
    assert variables["VERL_FILE_LOGGER_PATH"] == "/runs/one/verl.metrics.jsonl"


def test_agents_have_their_variables() -> None:
    variables = environment("cuda", {"AGENTIC_RL_SANDBOX": "full"}, RUN, {"AGENTIC_RL_SANDBOX": "weak"})
    assert variables["AGENTIC_RL_SANDBOX"] == "weak"


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ("", names.PLUGIN),
        ("mine", f"{names.PLUGIN},mine"),
        (f"mine,{names.PLUGIN}", f"mine,{names.PLUGIN}"),
    ],
)
def test_other_plugins_are_loaded_beside_ours(given: str, chosen: str) -> None:
    assert environment("cuda", {EXTERNAL_MODULES: given}, RUN)[EXTERNAL_MODULES] == chosen


@pytest.mark.parametrize(
    ("given", "address"), [({}, ""), ({ADDRESS: " "}, ""), ({ADDRESS: "local"}, ""), ({ADDRESS: "h:1 "}, "h:1")]
)
def test_an_address_names_a_cluster(given: dict[str, str], address: str) -> None:
    assert named_address(given) == address
