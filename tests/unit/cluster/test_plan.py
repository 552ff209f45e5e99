"""What each node of a set does, said before anything is done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agentic_rl.backends.errors import ClusterError
from agentic_rl.cluster.plan import NodePlan, Options, plan, plan_all
from agentic_rl.config.aura.bundle import load_bundle
from agentic_rl.config.diagnostics import ConfigError
from cluster_doubles import APART, make_set

THREE = "192.0.2.10,0,0\n192.0.2.11,1,1\n192.0.2.12,2,0\n"


def plans(configs: Path, *overrides: str, **options: int) -> list[NodePlan]:
    bundle = load_bundle(configs, overrides, environ={})
    return plan_all(bundle, replace(Options(), **options), overrides)


def edit(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_one_machine_runs_the_job_and_nothing_else(tmp_path: Path) -> None:
    (only,) = plans(make_set(tmp_path / "set"))
    assert (only.part, only.ray, only.server, only.ports) == ("training master", None, None, [])
    assert only.job[1:4] == ("-m", "agentic_rl", "--config-path")
    assert "RAY_ADDRESS" not in only.environment
    assert "on the loopback interface" in only.to_text()


def test_the_nodes_before_the_training_master_infer(tmp_path: Path) -> None:
    first, master, last = plans(make_set(tmp_path / "set", THREE, "one_step_off"), "verl_conf.trainer.nnodes=2")
    assert [one.part for one in (first, master, last)] == ["inference node", "training master", "training node"]
    assert [bool(one.job) for one in (first, master, last)] == [False, True, False]
    assert [one.ray and one.ray.role for one in (first, master, last)] == [
        "agentic_rl_inference",
        "agentic_rl_training",
        "agentic_rl_training",
    ]
    assert {one.ray and one.ray.head_address for one in (first, master, last)} == {"192.0.2.11:6344"}
    assert {one.states for one in (first, master, last)} == {first.states}
    assert master.environment == {"RAY_ADDRESS": "192.0.2.11:6344", "AGENTIC_RL_INFERENCE_NODES": "1"}


def test_the_port_can_be_chosen(tmp_path: Path) -> None:
    first, master = plans(make_set(tmp_path / "set", APART, "one_step_off"), ray_port=7000)
    assert (first.ports, master.ports) == ([], [7000])
    assert master.ray is not None
    assert "--port=7000" in master.ray.arguments(Path("/tmp/ray"))
    assert first.ray is not None
    assert "--address=192.0.2.11:7000" in first.ray.arguments(Path("/tmp/ray"))


def test_an_ipv6_address_has_brackets_before_its_port(tmp_path: Path) -> None:
    hosts = "2001:db8::10,0,0\n2001:db8::11,1,1\n"
    _, master = plans(make_set(tmp_path / "set", hosts, "one_step_off"))
    assert master.environment["RAY_ADDRESS"] == "[2001:db8::11]:6344"


@pytest.mark.parametrize(
    ("device", "flags"),
    [
        ("gpu", {"--num-gpus=8", '--resources={"agentic_rl_inference": 1}'}),
        ("npu", {'--resources={"agentic_rl_inference": 1, "NPU": 8}'}),
        ("cpu", {"--num-gpus=8", "--object-store-memory=500000000"}),
    ],
)
def test_devices_are_told_to_ray(tmp_path: Path, device: str, flags: set[str]) -> None:
    configs = make_set(tmp_path / "set", APART, "one_step_off")
    first, _ = plans(configs, f"verl_conf.trainer.device={device}")
    assert first.ray is not None
    assert flags <= set(first.ray.arguments(Path("/tmp/ray")))


def test_what_the_inference_yaml_says_reaches_the_job_as_overrides(tmp_path: Path) -> None:
    rollout = "verl_conf.actor_rollout_ref.rollout"
    configs = make_set(tmp_path / "set", APART, "one_step_off")
    _, master = plans(configs, f"{rollout}.max_num_seqs=5")
    said = dict(item.split("=", 1) for item in master.job if item.startswith(rollout))
    assert said[f"{rollout}.data_parallel_size"] == "8"
    assert said[f"{rollout}.gpu_memory_utilization"] == "0.8"
    assert said[f"{rollout}.max_num_seqs"] == "5", "what a person overrides stays theirs"
    assert sum(item.startswith(f"{rollout}.max_num_seqs=") for item in master.job) == 1


@pytest.mark.parametrize(("tensor", "data", "sizes"), [(0, 0, (8, 1)), (2, 0, (2, 4)), (0, 4, (2, 4)), (4, 2, (4, 2))])
def test_sizes_of_0_are_filled_in(tmp_path: Path, tensor: int, data: int, sizes: tuple[int, int]) -> None:
    configs = make_set(tmp_path / "set", APART, "one_step_off")
    edit(configs / "infer/vllm.yaml", "tensor_parallel_size: 1", f"tensor_parallel_size: {tensor}")
    edit(configs / "infer/vllm.yaml", "data_parallel_size: 8", f"data_parallel_size: {data}")
    _, master = plans(configs)
    ends = ("tensor_model_parallel_size", "rollout.data_parallel_size")
    found = [item.split("=")[1] for end in ends for item in master.job if f"{end}=" in item]
    assert tuple(int(size) for size in found) == sizes


def serve(train: Path) -> None:
    edit(train, "mode: direct", "mode: serve")
    train.write_text(train.read_text() + "\nserve_conf:\n  port: 8030\n")


def test_serve_mode_starts_a_server_on_the_inference_node(tmp_path: Path) -> None:
    configs = make_set(tmp_path / "set", APART, "one_step_off")
    train = configs / "train/verl_one_step_off.yaml"
    serve(train)
    edit(train, "http://127.0.0.1:8080", "http://192.0.2.10:9000")
    first, master = plans(configs)
    assert first.server is not None
    assert first.server.health == "http://192.0.2.10:9000/health"
    assert first.ports == [9000]
    assert {"--served-model-name=policy", "--port=9000", "--data-parallel-size=8"} <= set(first.server.command)
    assert master.awaited == first.server
    assert master.server is None


def test_a_server_that_requests_would_not_reach_is_refused(tmp_path: Path) -> None:
    configs = make_set(tmp_path / "set", APART, "one_step_off")
    serve(configs / "train/verl_one_step_off.yaml")
    with pytest.raises(ClusterError, match=r"chat_server is 'http://127.0.0.1:8080'.*192\.0\.2\.10") as caught:
        plans(configs)
    assert caught.value.hint == "chat_server: http://192.0.2.10:8080"


def test_a_set_with_an_error_has_no_plan(tmp_path: Path) -> None:
    configs = make_set(tmp_path / "set", "192.0.2.10,0,0\n")
    bundle = load_bundle(configs)
    assert bundle.hosts is not None
    with pytest.raises(ConfigError):
        plan(bundle, bundle.hosts.nodes[0], Options())
