"""Relations between the files of a set: each is said of facts that break it, and of none that fit."""

from __future__ import annotations

import pytest

from agentic_rl.config.aura.bundle_rules import RULES
from set_facts import APART, BROKEN, HYBRID, INSTANCE, ONE, TWO, VERL, problems


def severities(values: dict[str, object], written: set[str] | None = None) -> dict[str, str | None]:
    """Code -> severity that differs from its page's."""
    return {code: problem.severity for code, problem in problems(values, written)}


def test_sets_that_fit_have_no_problem() -> None:
    assert problems(HYBRID) == problems(APART) == []


@pytest.mark.parametrize("code", BROKEN)
def test_each_relation_is_said_of_what_breaks_it_alone(code: str) -> None:
    assert [one for one, _ in problems(BROKEN[code])] == [code]


def test_every_rule_is_broken_by_one_of_the_sets() -> None:
    assert {one.page.code for one in RULES} == set(BROKEN)


def test_hybrid_on_several_machines_is_a_warning() -> None:
    several = "192.0.2.10,0,1,1\n192.0.2.11,1,0\n"
    values = {**HYBRID, "hosts": several, f"{VERL}.trainer.nnodes": 2}
    assert severities(values) == {"ARL630": "warning"}


def test_a_column_that_is_left_out_in_hybrid_mode_is_a_warning() -> None:
    assert severities({**HYBRID, "hosts": "192.0.2.10,0,1\n"}) == {"ARL632": "warning"}
    assert severities({**HYBRID, "hosts": "192.0.2.10,0,1,0\n"}) == {"ARL632": "error"}


def test_an_inference_master_among_the_training_nodes_is_a_warning() -> None:
    assert severities({**APART, "hosts": "192.0.2.10,0,0,1\n192.0.2.11,1,1,1\n"}) == {"ARL632": "warning"}
    assert severities({**APART, "hosts": "192.0.2.10,0,0,1\n192.0.2.11,1,1,0\n"}) == {}


def test_work_mode_of_the_instance_wins_over_its_cluster_mode() -> None:
    assert problems({**HYBRID, f"{INSTANCE}.cluster_mode": "one_step_off", f"{INSTANCE}.work_mode": "hybrid"}) == []


def test_nnodes_counts_training_nodes_alone() -> None:
    three = f"{TWO}192.0.2.12,2,0\n"
    assert severities({**APART, "hosts": three}) == {"ARL634": "warning"}
    assert severities({**APART, "hosts": three, f"{VERL}.trainer.nnodes": 2}) == {}
    assert severities({**APART, "hosts": three, f"{VERL}.trainer.nnodes": 3}) == {"ARL634": None}


def test_a_default_that_nobody_wrote_is_a_warning() -> None:
    assert severities({**HYBRID, f"{VERL}.trainer.nnodes": 2}, written=set()) == {"ARL634": "warning"}


def test_a_script_that_tells_no_backend_is_named() -> None:
    (problem,) = [one for _, one in problems({**HYBRID, "base.monitor_cmd": "start.sh"})]
    assert problem.hint == "monitor_cmd=start_rl_with_verl_vllm.sh"


def test_without_retries_nothing_need_be_saved() -> None:
    values = {**HYBRID, f"{VERL}.trainer.save_freq": -1}
    assert problems({**values, "base.max_retries": 0}) == []
    assert [code for code, _ in problems(values)] == ["ARL636"]


def test_what_could_not_be_read_is_not_compared() -> None:
    assert problems({"hosts": ONE}) == []
    assert problems({"hosts": ONE, "base.work_mode": "hybrid"}) == []
