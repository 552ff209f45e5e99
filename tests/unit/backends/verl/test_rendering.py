from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentic_rl.backends.errors import BackendUnavailableError, NativeConfigError
from agentic_rl.backends.verl import agent_loops, overrides, render
from agentic_rl.backends.verl.composition import MEGATRON_TEMPLATE, TEMPLATE, compose
from agentic_rl.backends.verl.inside.settings import RolloutSettings
from agentic_rl.backends.verl.rendering import check_template
from verl_doubles import HAS_VERL, at, flat, installation

needs_verl = pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")
pytestmark = pytest.mark.verl

SETTINGS: list[dict[str, Any]] = [
    {},
    {"device": "cpu", "num_gpus_per_node": 1},
    {"device": "cpu", "verl__adv_estimator": "gae", "verl__dataloader_num_workers": 2},
    {"device": "npu", "use_kl_in_reward": True, "verl__ckpt_content": ["model", "hf_model"]},
]


def composed_with(arguments: list[str], template: str) -> Any:
    from omegaconf import OmegaConf

    given = [argument for argument in arguments if not argument.startswith("--config-name")]
    return OmegaConf.to_container(compose(template, overrides=given), resolve=True)


@needs_verl
@pytest.mark.usefixtures("composed_once")
@pytest.mark.parametrize("changes", SETTINGS, ids=str)
@pytest.mark.parametrize("template", [TEMPLATE, MEGATRON_TEMPLATE])
@pytest.mark.parametrize("folder", ["/runs/a", "/runs/it's, ${HOME} = {x: [1]} \\ ü\\'"])
def test_the_command_line_gives_the_same(changes: dict[str, Any], template: str, folder: str) -> None:
    config, there = flat(**changes), installation(flash_attn=False)
    rendered = render(config, template=template, installation=there, folder=Path(folder))
    arguments = overrides(config, template=template, installation=there, folder=Path(folder))
    assert composed_with(arguments, template) == rendered
    assert at(rendered, "trainer.default_local_dir") == folder
    assert ([f"--config-name={template}"] == arguments[:1]) == (template != TEMPLATE)


@needs_verl
@pytest.mark.parametrize("template", [TEMPLATE, MEGATRON_TEMPLATE])
def test_rendering_twice_gives_the_same_text(template: str) -> None:
    first, second = (
        yaml.safe_dump(render(flat(), template=template, installation=installation()), sort_keys=False)
        for _ in range(2)
    )
    assert first == second


@needs_verl
def test_nothing_but_our_keys_differs_from_verl() -> None:
    from omegaconf import OmegaConf

    ours = leaves(render(flat(), installation=installation()))
    verl = leaves(OmegaConf.to_container(compose(), resolve=True))
    touched = {argument.lstrip("+").partition("=")[0] for argument in overrides(flat(), installation=installation())}
    assert {key for key in verl.keys() - ours.keys() if verl[key] != {}} == set()
    assert list(render(flat(), installation=installation())) == list(OmegaConf.to_container(compose()))
    live = [key for key in ours if not key.startswith("distillation.")]  # off, and mirrors keys of the rollout
    changed = {key for key in live if key not in verl or ours[key] != verl[key]}
    assert {key for key in changed - touched if key.rpartition(".")[2] not in FOLLOWERS} == set()


FOLLOWERS = {
    "prompt_length",
    "response_length",
    "rollout_n",
    "n_gpus_per_node",
    "ppo_mini_batch_size",
    "use_dynamic_bsz",
    "log_prob_use_dynamic_bsz",
    "log_prob_max_token_len_per_gpu",
    "project_name",
    "experiment_name",
    "served_model_name",
    "use_remove_padding",
}
"""Keys of verl that take their value from another one."""


def leaves(node: Any, key: str = "") -> dict[str, Any]:
    if not isinstance(node, dict) or not node:
        return {key: node}
    return {
        name: leaf for part, child in node.items() for name, leaf in leaves(child, f"{key}.{part}".lstrip(".")).items()
    }


@needs_verl
def test_without_an_accelerator() -> None:
    config = flat(device="cpu", num_gpus_per_node=1)
    native = render(config, installation=installation(flash_attn=False))
    wanted = {
        "trainer.device": "cpu",
        "actor_rollout_ref.actor.strategy": "fsdp2",
        "actor_rollout_ref.ref.strategy": "fsdp2",
        "actor_rollout_ref.model.override_config.attn_implementation": "sdpa",
        "actor_rollout_ref.rollout.enforce_eager": True,
        "actor_rollout_ref.rollout.enable_sleep_mode": False,
        "actor_rollout_ref.rollout.agent.num_workers": 1,
        "data.dataloader_num_workers": 0,
        "ray_kwargs.ray_init.num_gpus": 1,
        "ray_kwargs.ray_init.num_cpus": 16,
    }
    assert {key: at(native, key) for key in wanted} == wanted


@needs_verl
def test_the_command_line_device_wins() -> None:
    assert at(render(flat(device="cpu"), device="gpu", installation=installation()), "trainer.device") == "cuda"


@needs_verl
@pytest.mark.parametrize(
    ("device", "flash", "wanted"), [("gpu", False, "sdpa"), ("gpu", True, None), ("npu", False, None)]
)
def test_attention(device: str, flash: bool, wanted: str | None) -> None:
    native = render(flat(device=device, verl__adv_estimator="gae"), installation=installation(flash_attn=flash))
    for model in ("actor_rollout_ref.model", "critic.model"):
        assert at(native, model)["override_config"].get("attn_implementation") == wanted


@needs_verl
def test_the_default_mini_batch_is_no_larger_than_the_batch() -> None:
    native = render(flat(verl__train_batch_size=8), installation=installation())
    assert at(native, "actor_rollout_ref.actor.ppo_mini_batch_size") == 8


@needs_verl
def test_a_critic_is_set_up_as_the_actor() -> None:
    native = render(
        flat(device="cpu", verl__adv_estimator="gae", verl__ppo_epochs=3, verl__fsdp_param_offload=True),
        installation=installation(flash_attn=False),
    )
    actor, critic = native["actor_rollout_ref"]["actor"], native["critic"]
    assert critic["fsdp"] == {**actor["fsdp_config"], "seed": critic["fsdp"]["seed"]}
    assert critic["optim"] == actor["optim"]
    assert critic["model"] == native["actor_rollout_ref"]["model"]
    same = ("strategy", "ppo_epochs", "ppo_mini_batch_size", "use_dynamic_bsz", "data_loader_seed", "loss_agg_mode")
    assert {name: critic[name] for name in same} == {name: actor[name] for name in same}
    assert critic["ppo_infer_max_token_len_per_gpu"] == actor["ppo_max_token_len_per_gpu"]


@needs_verl
def test_an_unknown_template() -> None:
    with pytest.raises(NativeConfigError, match=r"no configuration 'ppo'\n    fix: one of .*ppo_trainer"):
        render(flat(), template="ppo", installation=installation())


@needs_verl
def test_a_key_that_the_installed_verl_lacks(tmp_path: Path) -> None:
    there = installation().config_dir
    assert there is not None
    changed = tmp_path / "config"
    for path in there.rglob("*.yaml"):
        text = path.read_text().replace("test_freq:", "test_every:")
        copy = changed / path.relative_to(there)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
    with pytest.raises(NativeConfigError, match=r"has no key trainer\.test_freq"):
        render(flat(), installation=installation(config_dir=changed))
    (found,) = check_template(flat(), installation=installation(config_dir=changed))
    assert (found.code, found.key) == ("ARL513", "verl.test_freq")
    assert check_template(flat(), installation=installation()) == []


def test_without_verl_it_is_one_clear_error() -> None:
    with pytest.raises(BackendUnavailableError, match="verl is not installed"):
        render(flat(), installation=installation(config_dir=None))


def test_agent_loops() -> None:
    config = flat(device="gpu", n_parallel_agents=32, agent_engine_wrapper_path="/data/agent.py")
    first, second = agent_loops(config, ["other", "math", "other"])
    assert (first["name"], second["name"]) == ("math", "other")
    ours, others = (RolloutSettings.from_text(one["settings"]) for one in (first, second))
    assert (ours.agent_name, ours.agent_file, ours.n_parallel_agents) == ("math", "/data/agent.py", 4)
    assert others == replace(ours, agent_name="other", agent_file=None)
    on_cpu = RolloutSettings.from_text(agent_loops(config, device="cpu")[0]["settings"])
    assert on_cpu == replace(ours, n_parallel_agents=32)


@needs_verl
def test_agent_loops_as_verl_reads_them(tmp_path: Path) -> None:
    from omegaconf import OmegaConf

    wanted = agent_loops(flat(device="cpu", agent_engine_wrapper_path="/it's ${here}: {x: [1]} \\u0024{y}.py"))
    file = tmp_path / "agent_loops.yaml"
    file.write_text(yaml.safe_dump(wanted, sort_keys=False))
    (entry,) = OmegaConf.load(file)
    assert (entry.name, entry._target_, entry.settings) == tuple(wanted[0].values())
    assert RolloutSettings.from_text(entry.settings).agent_file == "/it's ${here}: {x: [1]} \\u0024{y}.py"
