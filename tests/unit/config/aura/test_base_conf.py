"""base.conf: what is read, and what is said at which place."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.config.aura.base_conf import BaseConf, backend_of, parse_base, read_base, script_name
from agentic_rl.config.diagnostics import Place
from set_facts import TEXTS, codes_of_base

GOOD = "work_mode=hybrid\ntrain_config_name=train\n"


def found(text: str) -> list[tuple[str, str, int | None, int | None]]:
    """Code, key, line and column of every finding."""
    return [(one.code, one.key, one.line, one.column) for one in parse_base(text).findings]


def test_the_documented_file_is_read() -> None:
    text = (
        "# [train]\r\nwork_mode=one_step_off\r\n\r\n#train_config_name=other\r\ntrain_config_name=train\r\n"
        "infer_config_name=infer\r\nmonitor_cmd=start_rl_with_verl_vllm.sh\r\nmax_retries=3\r\nclean_old_ckpt=1"
    )
    file = parse_base(text)
    assert file.findings == []
    assert file.conf == BaseConf("one_step_off", "train", "infer", "start_rl_with_verl_vllm.sh", 3, 1)
    assert file.place("train_config_name") == Place("base.conf", 5, 1)


def test_what_is_left_out_has_its_documented_default() -> None:
    conf = parse_base(GOOD).conf
    assert conf == BaseConf("hybrid", "train", None, None, 100, 0)


@pytest.mark.parametrize("code", TEXTS)
def test_each_fault_has_its_code(code: str) -> None:
    assert code in codes_of_base(TEXTS[code])
    assert codes_of_base(GOOD) == set()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("max_retries = 5", 5),
        ("max_retries =5", 5),
        ("max_retries= 5", 5),
        ("  max_retries=5", 5),
        ("export max_retries=5", 5),
        ("max_retries=5 # times", 5),
    ],
)
def test_what_shell_launchers_misread_is_read_as_meant_and_told(line: str, value: int) -> None:
    file = parse_base(f"{GOOD}{line}\n")
    assert file.conf is not None
    assert file.conf.max_retries == value
    column = line.index("max") + 1
    assert [(one.code, one.severity, one.line, one.column) for one in file.findings] == [
        ("ARL608", "warning", 3, column)
    ]


@pytest.mark.parametrize("value", ["'train'", '"train"', "train\t"])
def test_quotes_and_space_at_the_end_mean_nothing(value: str) -> None:
    file = parse_base(f"work_mode=hybrid\ntrain_config_name={value}\n")
    assert file.findings == []
    assert file.conf is not None
    assert file.conf.train_config_name == "train"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("work_mode=", ("ARL612", "work_mode", 1, 1)),
        ("work_mode=Hybrid", ("ARL612", "work_mode", 1, 1)),
        (f"{GOOD}max_retries=-1", ("ARL612", "max_retries", 3, 1)),
        (f"{GOOD}max_retries=1e3", ("ARL612", "max_retries", 3, 1)),
        (f"{GOOD}max_retries={'9' * 5000}", ("ARL612", "max_retries", 3, 1)),
        (f"{GOOD}clean_old_ckpt=true", ("ARL612", "clean_old_ckpt", 3, 1)),
        (f"{GOOD}monitor_cmd=", ("ARL612", "monitor_cmd", 3, 1)),
        (f"{GOOD}infer_config_name=.yaml", ("ARL612", "infer_config_name", 3, 1)),
        (f"{GOOD}[resume]", ("ARL607", "", 3, 1)),
        (f"{GOOD}  hello", ("ARL607", "", 3, 3)),
        (f"{GOOD}max_retries: 3", ("ARL607", "max_retries", 3, 1)),
        (f"{GOOD}max_retries=1\nmax_retries=2", ("ARL610", "max_retries", 4, 1)),
        (f"{GOOD}Max-Retries=1", ("ARL609", "Max-Retries", 3, 1)),
    ],
)
def test_each_fault_is_found_at_its_place(text: str, finding: tuple[str, str, int, int]) -> None:
    assert finding in found(text)


def test_a_key_in_yaml_form_is_not_missing_besides() -> None:
    assert found("work_mode: hybrid\ntrain_config_name=a") == [("ARL607", "work_mode", 1, 1)]


def test_both_lines_of_a_repeated_key_are_named() -> None:
    (finding,) = parse_base(f"{GOOD}train_config_name=b\n").findings
    assert "lines 2 and 3" in finding.message


def test_the_nearest_key_and_mode_are_named() -> None:
    hints = [one.hint for one in parse_base("work_mode=one-step-off\ntrain_config_name=a\nmax_retry=3").findings]
    assert hints == ["did you mean max_retries?", "write work_mode=one_step_off"]


def test_one_step_off_needs_an_inference_configuration() -> None:
    assert found("train_config_name=a\nwork_mode=one_step_off") == [("ARL611", "infer_config_name", 2, 1)]


def test_a_broken_value_leaves_the_others_readable() -> None:
    file = parse_base(f"{GOOD}max_retries=x\nclean_old_ckpt=1")
    assert file.conf is None
    assert file.values == {"work_mode": "hybrid", "train_config_name": "train", "clean_old_ckpt": 1}


def test_a_missing_file_is_a_finding(tmp_path: Path) -> None:
    file = read_base(tmp_path / "base.conf")
    assert [(one.code, one.line) for one in file.findings] == [("ARL001", None)]
    assert file.conf is None


@pytest.mark.parametrize(
    ("command", "backend"),
    [
        ("start_rl_with_verl_vllm.sh", "verl"),
        ("bash scripts/start_rl_with_msrl_vllm.sh --node 1", "mindspeed_rl"),
        ("/opt/verl/start.sh", None),
        ("verl_or_msrl.sh", None),
        ("overlverl.sh", None),
    ],
)
def test_the_script_names_its_backend(command: str, backend: str | None) -> None:
    assert backend_of(command) == backend


def test_the_script_of_a_command_is_its_file() -> None:
    assert script_name("bash scripts/start.sh --node 1") == "start.sh"
    assert script_name("") == ""
