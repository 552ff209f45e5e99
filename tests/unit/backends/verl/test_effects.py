"""verl's own objects, built from a rendered configuration as its workers build them: the values are in them and act."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentic_rl.backends.verl import render
from agentic_rl.backends.verl.mapping import TABLE
from verl_doubles import HAS_VERL, at, flat, installation

pytestmark = [
    pytest.mark.verl,
    pytest.mark.usefixtures("composed_once"),
    pytest.mark.skipif(not HAS_VERL, reason="verl is not installed"),
    pytest.mark.filterwarnings("default"),  # importing verl warns
]
ACTOR = "actor_rollout_ref.actor"


def native(key: str, **changes: Any) -> Any:
    """A node of the rendered configuration, as verl holds it."""
    from omegaconf import OmegaConf

    return OmegaConf.create(at(render(flat(**changes), installation=installation()), key))


def built(key: str, **changes: Any) -> Any:
    """The object that verl's workers make of a node."""
    from verl.utils.config import omega_conf_to_dataclass

    return omega_conf_to_dataclass(native(key, **changes))


CHANGED: dict[str, Any] = {
    "lr": 3e-4,
    "weight_decay": 0.03,
    "lr_warmup_fraction": 0.2,
    "clip_ratio": 0.1,
    "entropy_coeff": 0.7,
    "use_kl_in_reward": True,
    "kl_penalty": "mse",
    "kl_coef": 0.3,
    "kl_ctrl_type": "adaptive",
    "kl_target": 0.4,
    "kl_horizon": 77,
    "gamma": 0.9,
    "lam": 0.8,
    "rollout_n": 6,
    "temperature": 0.9,
    "top_p": 0.7,
    "max_num_seqs": 33,
    "max_model_len": 5000,
    "infer_tensor_parallel_size": 2,
    "seed": 9,
    "verl__grad_clip": 0.4,
    "verl__warmup_style": "cosine",
    "verl__min_lr_ratio": 0.25,
    "verl__num_cycles": 1.5,
    "verl__policy_loss_model": "kl-cov",
    "verl__policy_loss_kl_cov_ratio": 0.5,
    "verl__policy_loss_ppo_kl_coef": 0.6,
    "verl__loss_agg_mode": "seq-mean-token-sum",
    "verl__use_kl_loss": True,
    "verl__kl_loss_coeff": 0.05,
    "verl__kl_loss_type": "abs",
    "verl__ppo_epochs": 3,
    "verl__ppo_mini_batch_size": 32,
    "verl__ppo_max_token_len_per_gpu": 9999,
    "verl__entropy_from_logits_with_chunking": True,
    "verl__ckpt_content": ["model", "hf_model"],
    "verl__fsdp_param_offload": True,
    "verl__fsdp_optimizer_offload": True,
    "verl__adv_estimator": "gae",
}


@pytest.mark.parametrize("node", [ACTOR, "actor_rollout_ref.rollout", "algorithm"])
def test_workers_hold_the_values(node: str) -> None:
    made, tree = built(node, **CHANGED), render(flat(**CHANGED), installation=installation())
    keys = {
        key
        for entry in TABLE
        for one in entry.natives
        if one.engine != "megatron"
        for key in (one.key, *one.through)
        if key.startswith(f"{node}.")
    }
    assert len(keys) >= 9
    for key in keys:
        held: Any = made
        for name in key.removeprefix(f"{node}.").split("."):
            held = held[name] if isinstance(held, dict) else getattr(held, name)
        assert held == at(tree, key), key


def test_the_critic_holds_the_values() -> None:
    from omegaconf import OmegaConf
    from verl.utils.config import omega_conf_to_dataclass

    tree = render(flat(**CHANGED), installation=installation())
    node = OmegaConf.create({**tree["critic"], "model": None})  # which would load a model
    critic = omega_conf_to_dataclass(node)
    assert critic.enable
    assert critic.ppo_infer_max_token_len_per_gpu == 9999
    assert (critic.engine.param_offload, critic.engine.optimizer_offload) == (True, True)
    assert (critic.optim.lr, critic.optim.clip_grad, critic.ppo_epochs, critic.ppo_mini_batch_size) == (
        3e-4,
        0.4,
        3,
        32,
    )
    assert critic.data_loader_seed == 9


def test_the_optimizer_and_its_schedule() -> None:
    import torch
    from verl.workers.config.optimizer import build_optimizer
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

    optim = built(
        f"{ACTOR}.optim", lr=0.02, min_lr=0.005, lr_warmup_fraction=0.5, weight_decay=0.03, verl__warmup_style="cosine"
    )
    optim.total_training_steps = 8
    optimizer = build_optimizer([torch.nn.Parameter(torch.zeros(1))], optim)
    assert (optimizer.defaults["lr"], optimizer.defaults["weight_decay"]) == (0.02, 0.03)
    schedule = FSDPEngine._build_lr_scheduler(SimpleNamespace(optimizer_config=optim, rank=1), optimizer)
    rates = []
    for _ in range(9):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates[:5] == pytest.approx([0.0, 0.005, 0.01, 0.015, 0.02])
    assert rates[-1] == pytest.approx(0.005)


def test_gradients_are_clipped_at_grad_clip() -> None:
    import torch
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

    module = torch.nn.Linear(1, 1, bias=False)
    module.weight.grad = torch.tensor([[10.0]])
    engine = SimpleNamespace(
        optimizer_config=built(f"{ACTOR}.optim", verl__grad_clip=0.4),
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=1.0),
        scaler=None,
        _qat_enabled=False,
    )
    before = module.weight.detach().clone()
    FSDPEngine.optimizer_step(engine)
    assert (before - module.weight.detach()).item() == pytest.approx(0.4)


def test_the_kl_controller() -> None:
    from verl.trainer.ppo.core_algos import get_kl_controller

    fixed = get_kl_controller(native("algorithm.kl_ctrl", kl_coef=0.3))
    fixed.update(5.0, 8)
    assert fixed.value == 0.3
    adaptive = get_kl_controller(
        native("algorithm.kl_ctrl", kl_coef=0.3, kl_ctrl_type="adaptive", kl_target=0.5, kl_horizon=100)
    )
    assert (adaptive.value, adaptive.target, adaptive.horizon) == (0.3, 0.5, 100)
    adaptive.update(5.0, 10)
    assert adaptive.value == pytest.approx(0.3 * 1.02)


@pytest.mark.parametrize("estimator", ["kl", "abs", "mse", "low_var_kl"])
def test_estimators_of_the_kl_divergence(estimator: str) -> None:
    import torch
    from verl.trainer.ppo.core_algos import kl_penalty

    name = native("algorithm", kl_penalty=estimator).kl_penalty
    log_prob, reference = torch.tensor([[-1.0]]), torch.tensor([[-3.0]])
    wanted = {"kl": 2.0, "abs": 2.0, "mse": 2.0, "low_var_kl": torch.exp(torch.tensor(-2.0)) + 1.0}
    assert kl_penalty(log_prob, reference, name).item() == pytest.approx(float(wanted[estimator]))


def loss(**changes: Any) -> float:
    """verl's policy loss on eight tokens, with the actor's configuration."""
    import torch
    from verl.trainer.ppo.core_algos import get_policy_loss_fn

    torch.manual_seed(0)
    actor = built(ACTOR, **changes)
    old, new, advantages = -torch.rand(2, 4), -torch.rand(2, 4), torch.randn(2, 4)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    made, _ = get_policy_loss_fn(actor.policy_loss.loss_mode)(
        old_log_prob=old,
        log_prob=new,
        advantages=advantages,
        response_mask=mask,
        loss_agg_mode=actor.loss_agg_mode,
        config=actor,
    )
    return float(made)


KL_COV = {"verl__policy_loss_model": "kl-cov", "verl__policy_loss_kl_cov_ratio": 0.5}
CLIP_COV = {
    "verl__policy_loss_model": "clip-cov",
    "verl__policy_loss_clip_cov_ratio": 0.9,
    "verl__policy_loss_clip_cov_lb": 0.001,
    "verl__policy_loss_clip_cov_ub": 50.0,
}


@pytest.mark.parametrize(
    ("base", "change"),
    [
        ({}, {"clip_ratio": 0.02}),
        ({}, {"verl__policy_loss_model": "gpg"}),
        ({}, {"verl__loss_agg_mode": "seq-mean-token-sum"}),
        ({}, {"verl__loss_agg_mode": "seq-mean-token-mean"}),
        ({}, KL_COV),
        (KL_COV, {"verl__policy_loss_ppo_kl_coef": 0.9}),
        (KL_COV, {"verl__policy_loss_kl_cov_ratio": 0.2}),
        ({}, CLIP_COV),
        (CLIP_COV, {"verl__policy_loss_clip_cov_ratio": 0.2}),
        (CLIP_COV, {"verl__policy_loss_clip_cov_lb": 40.0}),
        (CLIP_COV, {"verl__policy_loss_clip_cov_ub": 0.01}),
    ],
    ids=str,
)
def test_the_policy_loss_changes(base: dict[str, Any], change: dict[str, Any]) -> None:
    assert loss(**base) == loss(**base)
    assert loss(**base) != loss(**{**base, **change})


@pytest.mark.parametrize(
    ("changes", "critic", "reference"),
    [
        ({}, False, False),
        ({"verl__adv_estimator": "gae"}, True, False),
        ({"use_kl_in_reward": True}, False, True),
        ({"verl__use_kl_loss": True}, False, True),
    ],
)
def test_what_verl_builds(changes: dict[str, Any], critic: bool, reference: bool) -> None:
    from omegaconf import OmegaConf
    from verl.trainer.ppo.utils import need_critic, need_reference_policy

    config = OmegaConf.create(render(flat(**changes), installation=installation()))
    assert (need_critic(config), need_reference_policy(config)) == (critic, reference)


def test_the_order_of_the_data_follows_the_seed() -> None:
    from verl.trainer.ppo.utils import create_rl_sampler

    orders = [list(create_rl_sampler(native("data", seed=seed), range(100))) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_what_checkpoints_hold(tmp_path: Path) -> None:
    import torch
    from verl.utils.checkpoint.checkpoint_manager import BaseCheckpointManager

    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        config = built(f"{ACTOR}.checkpoint", verl__ckpt_content=["model", "hf_model"])
        manager = BaseCheckpointManager(model=None, optimizer=None, checkpoint_config=config)
    finally:
        torch.distributed.destroy_process_group()
    assert (manager.should_save_model, manager.should_save_hf_model, manager.should_save_optimizer) == (
        True,
        True,
        False,
    )
    assert (manager.should_load_model, manager.should_load_hf_model, manager.should_load_extra) == (True, False, False)


@pytest.mark.parametrize(
    ("changes", "wanted"), [({}, {"console"}), ({"use_tensorboard": True}, {"console", "tensorboard"})]
)
def test_verl_opens_the_trackers(
    changes: dict[str, Any], wanted: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verl.utils.tracking import Tracking

    monkeypatch.chdir(tmp_path)
    trainer = native("trainer", **changes)
    tracking = Tracking(trainer.project_name, trainer.experiment_name, list(trainer.logger))
    assert set(tracking.logger) == wanted
    tracking.finish(exit_code=0)


def whole_loss(**changes: Any) -> float:
    """The actor's loss as its worker computes it, on two samples of three and two tokens; entropy 2, KL (`abs`) 3."""
    import torch
    from tensordict import TensorDict
    from verl.utils import tensordict_utils
    from verl.workers.utils.losses import ppo_loss

    def rows(*lengths: int, value: float) -> torch.Tensor:
        return torch.nested.as_nested_tensor([torch.full((n,), value) for n in lengths], layout=torch.jagged)

    data = TensorDict(
        {
            "prompts": rows(2, 1, value=1.0),
            "responses": rows(3, 2, value=1.0),
            "response_mask": rows(3, 2, value=1.0),
            "old_log_probs": rows(3, 2, value=-1.0),
            "advantages": rows(3, 2, value=0.0),
            "ref_log_prob": rows(3, 2, value=-4.0),
        },
        batch_size=2,
    )
    for name, value in {"dp_size": 1, "batch_num_tokens": 5, "global_batch_size": 2}.items():
        tensordict_utils.assign_non_tensor_data(data, name, value)
    output = {"log_probs": rows(5, 3, value=-1.0), "entropy": rows(5, 3, value=2.0)}
    made, _ = ppo_loss(built(ACTOR, **changes), output, data)
    return float(made)


def test_entropy_and_kl_count_in_the_loss() -> None:
    assert whole_loss(entropy_coeff=0.0) == 0.0
    assert whole_loss(entropy_coeff=0.25) == pytest.approx(-0.25 * 2)
    kl = {"verl__use_kl_loss": True, "verl__kl_loss_type": "abs", "entropy_coeff": 0.0}
    assert whole_loss(**kl, verl__kl_loss_coeff=0.1) == pytest.approx(0.1 * 3)
    assert whole_loss(**{**kl, "verl__kl_loss_type": "mse"}, verl__kl_loss_coeff=0.1) == pytest.approx(0.1 * 4.5)
