"""What verl itself computes from the outputs of our agent loop: shown by its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from verl_server_doubles import import_verl

if not import_verl():
    pytest.skip("verl is not installed", allow_module_level=True)

import numpy as np
import torch
from verl.protocol import DataProto
from verl.trainer.ppo.core_algos import FixedKLController
from verl.trainer.ppo.ray_trainer import apply_kl_penalty
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.verl.inside.advantages import groups_of, normalised_rewards
from agentic_rl.backends.verl.inside.agent_loop import _outputs
from agentic_rl.backends.verl.inside.batch_fields import on_last
from agentic_rl.backends.verl.inside.measures import by_session
from agentic_rl.backends.verl.inside.outputs import Frame, rollout_of

pytestmark = pytest.mark.verl

MASK = [1, 1, 0, 0, 1, 1, 1]
TURNS = 2


def trajectory(reward: float, error: str = "") -> Trajectory:
    return Trajectory([1, 2], [3] * 7, MASK, trajectory_reward=reward, response_logprobs=[-1.0] * 7, error=error)


class Batch:
    """The outputs of some trajectories as verl's trainer has them just before it computes advantages."""

    def __init__(self, groups: Sequence[Sequence[Trajectory]], *, stepwise: bool) -> None:
        self.keys: list[str] = []
        self.uids: list[str] = []
        fields: list[dict[str, Any]] = []
        frame = Frame(9, 9, stepwise, filler=0)
        for group, members in enumerate(groups):
            for session, member in enumerate(members):
                outputs = _outputs(rollout_of(member, frame, []), {}, 0.0, 0.0)
                fields += [output.as_dict() for output in outputs]
                self.keys += [f"g{group}_{session}_{index}" for index in range(len(outputs))]
                self.uids += [f"g{group}"] * len(outputs)
        self.rollouts = by_session(self.keys, [one["extra_fields"]["rollout"] for one in fields])
        names = ("response_mask", "rm_scores", "rollout_log_probs")
        padding = {name: torch.zeros(9, dtype=fields[0][name].dtype) for name in names}  # so that rows are nested
        rows = [{name: one[name] for name in names} for one in fields]
        self.tensors = list_of_dict_to_tensordict([*rows, padding]).to_padded_tensor()[:-1]

    def data(self, rewards: Sequence[float] | None = None) -> DataProto:
        scores = self.tensors["rm_scores"].clone()
        if rewards is not None:
            lengths = [int(mask.nonzero().max()) + 1 if mask.any() else 1 for mask in self.tensors["response_mask"]]
            for row, (length, reward) in enumerate(zip(lengths, rewards, strict=True)):
                scores[row, :length] = on_last(scores[row, :length], reward)
        shape = scores.shape
        batch = {
            "response_mask": self.tensors["response_mask"],
            "token_level_scores": scores,
            "token_level_rewards": scores,
            "old_log_probs": torch.full(shape, -1.0),
            "ref_log_prob": torch.full(shape, -1.5),
            "values": torch.zeros(shape),
        }
        groups = groups_of(self.keys, self.uids, self.rollouts)
        return DataProto.from_dict(batch, non_tensors={"uid": np.array(groups, dtype=object)})


def advantages(batch: Batch, data: DataProto, estimator: str = "grpo", **changes: Any) -> torch.Tensor:
    config = {"use_pf_ppo": False}
    given = {"gamma": 1.0, "lam": 1.0, "config": config, **changes}
    return compute_advantage_for_multi_trajectories(data, batch.keys, estimator, **given).batch["advantages"]


GROUPS = [[trajectory(1.0), trajectory(0.0), trajectory(0.5)], [trajectory(2.0), trajectory(1.0)]]
STD = 0.5
"""Of the rewards 1, 0 and 0.5."""


def test_off_the_reward_stands_on_the_trajectorys_last_token_alone() -> None:
    batch = Batch(GROUPS, stepwise=False)
    assert batch.tensors["rm_scores"].shape[0] == 5
    assert batch.tensors["rm_scores"][0].nonzero().tolist() == [[6]]
    found = advantages(batch, batch.data())
    assert found[0] == pytest.approx(torch.tensor([1.0, 1, 0, 0, 1, 1, 1, 0, 0]), abs=1e-5)


def test_stepwise_the_normalised_reward_is_on_every_step() -> None:
    batch = Batch(GROUPS, stepwise=True)
    assert batch.tensors["rm_scores"].shape[0] == 5 * TURNS
    assert [row.nonzero().tolist() for row in batch.tensors["rm_scores"][:2]] == [[[1]], [[2]]]
    found = advantages(batch, batch.data())
    first, second = found[0].tolist(), found[1].tolist()
    assert first[:3] == pytest.approx([1.0, 1.0, 0.0], abs=1e-5)
    assert second[:4] == pytest.approx([1.0, 1.0, 1.0, 0.0], abs=1e-5)
    assert found[2:4].abs().max() == pytest.approx(1.0, abs=1e-5)


def test_stepwise_changes_what_gae_learns() -> None:
    rewards_of = {}
    for stepwise in (False, True):
        batch = Batch(GROUPS, stepwise=stepwise)
        raw = batch.tensors["rm_scores"].sum(dim=1).tolist()
        changed = normalised_rewards(batch.keys, batch.uids, raw, by_deviation=True) if stepwise else None
        data = batch.data(changed)
        rewards_of[stepwise] = data.batch["token_level_rewards"].sum(dim=1).tolist()
        found = advantages(batch, data, "gae", lam=0.9)
        mask = data.batch["response_mask"].bool()
        assert found[mask].mean().item() == pytest.approx(0, abs=1e-5)
        assert found[mask].std().item() == pytest.approx(1, abs=1e-2)
    assert rewards_of[False] == [1.0, 0.0, 0.5, 2.0, 1.0]
    normal = [1.0, -1.0, 0.0, 0.5**0.5, -(0.5**0.5)]
    assert rewards_of[True] == pytest.approx([reward for reward in normal for _ in range(TURNS)], abs=1e-5)


def test_a_trajectory_counts_once_in_its_group_however_many_steps_it_has() -> None:
    keys = ["g_0_0", "g_0_1", "g_0_2", "g_1_0", "alone_0_0", "pad_0_0", "pad_1_0"]
    groups = ["g"] * 4 + ["alone", "pad", "pad"]
    rewards = [3.0, 3.0, 3.0, 1.0, 0.7, 0.0, 0.0]
    centred = normalised_rewards(keys, groups, rewards, by_deviation=False)
    assert centred == pytest.approx([1.0, 1.0, 1.0, -1.0, 0.7, 0.0, 0.0])
    scaled = normalised_rewards(keys, groups, rewards, by_deviation=True)
    assert scaled == pytest.approx([0.5**0.5] * 3 + [-(0.5**0.5), 0.7, 0.0, 0.0], abs=1e-5)


@pytest.mark.parametrize("stepwise", [False, True])
def test_a_failed_rollout_leaves_the_others_as_if_it_were_not_there(stepwise: bool) -> None:
    failed = trajectory(0.0, error="ValueError: no")
    with_it = [[GROUPS[0][0], failed, *GROUPS[0][1:]], [*GROUPS[1], failed]]
    batch, without = Batch(with_it, stepwise=stepwise), Batch(GROUPS, stepwise=stepwise)
    found, wanted = advantages(batch, batch.data()), advantages(without, without.data())
    whole = [place for place, key in enumerate(batch.keys) if not key.startswith(("g0_1", "g1_2"))]
    assert torch.equal(found[whole], wanted)
    others = sorted(set(range(len(batch.keys))) - set(whole))
    assert len(others) == 2
    assert not found[others].any()


def test_left_in_its_group_a_failed_rollout_would_move_the_others() -> None:
    batch = Batch([[*GROUPS[0], trajectory(0.0, error="no")]], stepwise=False)
    data = batch.data()
    data.non_tensor_batch["uid"] = np.array(batch.uids, dtype=object)
    assert advantages(batch, data)[0, 0].item() != pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("stepwise", [False, True])
def test_kl_in_the_reward_changes_the_reward_of_every_token_of_the_policy(stepwise: bool) -> None:
    batch = Batch(GROUPS, stepwise=stepwise)
    data, metrics = apply_kl_penalty(batch.data(), FixedKLController(kl_coef=0.1), "kl")
    mask, scores = data.batch["response_mask"], data.batch["token_level_scores"]
    changed = data.batch["token_level_rewards"] - scores
    assert changed == pytest.approx(-0.1 * 0.5 * mask, abs=1e-6)
    assert metrics["actor/reward_kl_penalty"] == pytest.approx(0.5, abs=1e-5)
    off = advantages(batch, batch.data(), "gae", lam=0.9)
    assert not torch.allclose(advantages(batch, data, "gae", lam=0.9), off)
