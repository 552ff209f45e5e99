from __future__ import annotations

from typing import Any

import pytest

from agentic_rl.backends.errors import ClusterError
from agentic_rl.backends.verl.demand import Demand, Inference, demand_of, require
from agentic_rl.backends.verl.inside.names import INFERENCE_ROLE, TRAINING_ROLE


def node(devices: float, cpus: float = 100, **more: float) -> dict[str, float]:
    return {"GPU": devices, "CPU": cpus, **more}


@pytest.mark.parametrize(("device", "resource"), [("cpu", "GPU"), ("cuda", "GPU"), ("npu", "NPU")])
def test_devices_that_are_not_there_are_refused_at_once(device: str, resource: str) -> None:
    demand = Demand(device, 4, 2)  # type: ignore[arg-type]
    require([{resource: 4, "CPU": demand.cpus / 2}] * 2, demand)
    with pytest.raises(ClusterError, match=rf"needs 8 {resource}s \(2 nodes x 4\), and Ray has 7"):
        require([{resource: 7, "CPU": 1000}], demand)
    with pytest.raises(ClusterError, match=r"verl reserves 26 CPUs, and Ray has 25: it would wait for ever"):
        require([{resource: 8, "CPU": 25}], demand)


def test_enough_devices_in_all_are_not_enough_on_each_node() -> None:
    with pytest.raises(ClusterError, match=r"no node has 4 GPUs and 12 CPUs left to train \(2 nodes x 4\); .*6 with"):
        require([node(6), node(2)], Demand("cuda", 4, 2))
    with pytest.raises(ClusterError, match="no node has 4 GPUs and 12 CPUs left"):
        require([node(4, 11), node(4, 100)], Demand("cuda", 4, 2))
    require([node(4), node(4)], Demand("cuda", 4, 2))
    require([node(8)], Demand("cuda", 4, 2))  # Ray puts both on one node


def test_inference_servers_have_devices_of_their_own() -> None:
    demand = Demand("cpu", 2, 1, Inference(devices=4, nodes=2, group=2))
    assert (demand.all_devices, demand.cpus) == (10, 2 * 3 + 8 * 2 + 2)
    assert demand.needs_cluster
    assert not Demand("cpu", 2, 1, Inference(4, 1, 2)).needs_cluster
    require([node(2), node(4), node(4)], demand)
    with pytest.raises(ClusterError, match=r"needs 10 GPUs \(1 nodes x 2 to train, 2 x 4 to infer\), and Ray has 9"):
        require([node(9)], demand)
    with pytest.raises(ClusterError, match="no node has 2 GPUs and 4 CPUs left for an inference server"):
        require([node(2), node(3), node(3), node(1), node(1)], demand)


def test_nodes_keep_to_their_roles_where_they_have_any() -> None:
    demand = Demand("cpu", 1, 1, Inference(1, 1, 1))
    training, inference = node(1, **{TRAINING_ROLE: 1}), node(1, **{INFERENCE_ROLE: 1})
    require([inference, training], demand)
    with pytest.raises(ClusterError, match="left to train"):
        require([node(0, **{TRAINING_ROLE: 1}), node(2)], demand)


def native(mode: str, **rollout: Any) -> dict[str, Any]:
    trainer = {"device": "cpu", "n_gpus_per_node": 2, "nnodes": 3, "v1": {"trainer_mode": mode}}
    return {"trainer": trainer, "actor_rollout_ref": {"rollout": rollout}}


def test_the_native_configuration_says_what_is_needed() -> None:
    rollout = {"n_gpus_per_node": 4, "nnodes": 2, "tensor_model_parallel_size": 2}
    assert demand_of(native("sync", **rollout)) == Demand("cpu", 2, 3)
    assert demand_of(native("separate_async", **rollout)) == Demand("cpu", 2, 3, Inference(4, 2, 2))
    wide = {**rollout, "data_parallel_size": 4}
    assert demand_of(native("separate_async", **wide)).inference == Inference(4, 2, 4)
