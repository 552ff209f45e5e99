from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.load import Loaded
from agentic_rl.config.source import parse
from agentic_rl.machine import devices, doctor
from agentic_rl.machine.doctor import Diagnosis, examine
from agentic_rl.machine.needs import Needs
from agentic_rl.machine.observation import Observation

SIZES = {
    "num_hidden_layers": 28,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 3072,
    "vocab_size": 151936,
    "parameters": 600_000_000,
}


@pytest.fixture
def loaded(tmp_path: Path) -> Any:
    """A configuration as far as it was read; the files that it names are not there."""
    from agentic_rl.config.load import load

    def make(backend: str = "verl", *findings: Finding, **changes: Any) -> Loaded:
        section = {"train_files": "/t.parquet", "val_files": "/v.parquet"}
        if backend == "mindspeed_rl":
            section = {"data_path": "/d", "load_params_path": "/l", "save_params_path": "/out"}
        tree = {"tokenizer_name_or_path": "/model", "agent_name": "math", "train_backend": backend, backend: section}
        made = load({**tree, **changes}, files=False, environ={})
        made.facts = {f"@model.{name}": size for name, size in SIZES.items()}
        made.report.findings = list(findings)
        return made

    return make


def status_of(diagnosis: Diagnosis) -> dict[str, str]:
    return {one.name: one.status for one in diagnosis.observations}


def test_without_a_file_everything_that_concerns_the_machine_is_looked_at() -> None:
    names = set(status_of(examine(os.environ)))
    assert {"python", "packages of local", "devices", "ray", "port 6344", "proxies", "clock", "open files"} <= names
    assert "shared memory" in names
    assert not {"disk", "configuration", "memory of a device"} & names


def test_the_environment_given_is_the_one_looked_at() -> None:
    bad = status_of(examine({"http_proxy": "http://p", "GLOO_SOCKET_IFNAME": "nothing0"}))
    assert (bad["proxies"], bad["GLOO_SOCKET_IFNAME"]) == ("warning", "error")


def test_with_a_file_what_it_needs_is_looked_at_too(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "ask", lambda *_: None)
    error = Finding("ARL100", "error", "lr", "broken")
    diagnosis = examine({}, loaded("verl", error))
    found = status_of(diagnosis)
    assert (found["configuration"], found["devices"]) == ("error", "warning")
    assert found["packages of verl"] == "error"
    assert found["memory of a device"] == "unknown"
    assert diagnosis.verdict == "error"


@pytest.mark.parametrize(("card", "status"), [(80 << 30, "ok"), (2 << 30, "warning")])
def test_memory_is_compared_with_the_card(loaded: Any, card: int, status: str) -> None:
    configuration = loaded("verl", gpu_memory_utilization=0.5, max_prompt_length=512, max_model_len=2048)
    configuration.facts["@machine.device_memory"] = card
    assert doctor._check_memory(configuration).status == status


IN_THE_RUN_S_FOLDER = "checkpoints/default-agent/default-experiment"


@pytest.mark.parametrize(
    ("backend", "changes", "needed"),
    [
        ("verl", {"num_gpus_per_node": 4}, (4, 12, IN_THE_RUN_S_FOLDER)),
        ("verl", {"device": "cpu"}, (0, 12, IN_THE_RUN_S_FOLDER)),
        ("local", {"device": "gpu"}, (1, 12, IN_THE_RUN_S_FOLDER)),
        ("local", {"use_kl_in_reward": True}, (0, 16, IN_THE_RUN_S_FOLDER)),
        ("mindspeed_rl", {}, (8, 14, "/out")),
    ],
)
def test_needs_of_a_file(loaded: Any, backend: str, changes: dict[str, Any], needed: tuple[int, int, str]) -> None:
    devices, checkpoint, folder = needed
    needs = Needs.of(loaded(backend, **changes))
    assert needs.devices == devices
    assert needs.checkpoint == checkpoint * SIZES["parameters"]
    assert needs.folder == Path.cwd() / folder
    assert needs.kept == 2


def test_a_model_in_two_forms_is_one_file_of_the_local_backend(loaded: Any) -> None:
    content = {"local": {"train_files": "/t", "val_files": "/v", "ckpt_content": ["model", "hf_model", "optimizer"]}}
    assert Needs.of(loaded("local", **content)).checkpoint == 12 * SIZES["parameters"]


def test_a_file_that_could_not_be_read_needs_nothing_in_particular() -> None:
    needs = Needs.of(Loaded(parse("lr: 1\nserve: {port: 9000}\n", "c.yaml")))
    assert (needs.devices, needs.checkpoint, needs.folder, needs.ports) == (0, None, None, (9000,))


def test_ray_s_backends_need_more_than_local() -> None:
    local, verl = Needs("local"), Needs("verl")
    assert local.shared_memory < verl.shared_memory == Needs().shared_memory
    assert local.open_files < verl.open_files == Needs().open_files


def test_text_shows_rules_only_where_they_are_broken() -> None:
    good = Observation("python", "ok", "3.11", "3.10 to 3.13")
    bad = Observation("open files", "warning", "12", "at least 1024", "ulimit -n 1024")
    diagnosis = Diagnosis((good, bad))
    assert diagnosis.to_text() == (
        "ok       python: 3.11\nwarning  open files: 12; should be: at least 1024\n    fix: ulimit -n 1024"
    )
    told = json.loads(json.dumps(diagnosis.to_dict()))
    assert told["verdict"] == "warning"
    assert told["checks"][0] == {
        "name": "python",
        "status": "ok",
        "value": "3.11",
        "rule": "3.10 to 3.13",
        "remedy": "",
    }


def test_what_can_t_be_looked_at_is_no_fault() -> None:
    assert Diagnosis((Observation("x", "unknown", "no answer"),)).verdict == "ok"
