import os
from pathlib import Path

import pytest

from agentic_rl.config.secure_paths import check_path


def only(value: str, key: str = "local.train_files"):
    check = check_path(value, key)
    assert check.checked is None
    assert [(one.severity, one.key) for one in check.findings] == [("error", key)]
    return check.findings[0]


@pytest.mark.parametrize("value", ["", " ", "\t\n"])
def test_an_empty_text_is_no_path(value: str) -> None:
    found = only(value)
    assert found.code == "ARL310"
    assert "empty" in found.message


@pytest.mark.parametrize(("value", "why"), [("/a\0b", "NUL"), ("/a\ud800b", "no file name")])
def test_characters_that_no_file_name_holds(value: str, why: str) -> None:
    found = only(value)
    assert found.code == "ARL310"
    assert why in found.message
    assert found.message.isprintable()


def test_1024_characters_are_allowed_and_1025_are_not() -> None:
    longest = "/" + "/".join(["x" * 31] * 32)
    assert len(longest) == 1024
    assert only(longest).code == "ARL300"
    found = only(longest + "y")
    assert found.code == "ARL311"
    assert "1025 characters" in found.message


def test_a_name_of_255_bytes_is_allowed_and_more_is_not() -> None:
    assert only("/" + "字" * 85).code == "ARL300"
    found = only("/" + "字" * 86)
    assert found.code == "ARL311"
    assert "258 bytes" in found.message


def test_tilde_and_variables_are_expanded_in_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("DATA", "gsm8k")
    assert only("~/data").hint == "train_files: /home/me/data"
    assert only("$HOME/${DATA}/a.parquet").hint == "train_files: /home/me/gsm8k/a.parquet"
    assert only("/data/$DATA").hint == "train_files: /data/gsm8k"
    assert {only(value).code for value in ("~", "~/data", "/x/$HOME", "/x/${HOME}")} == {"ARL302"}


def test_what_has_no_value_here_is_said_and_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    for value, name in [
        ("$NOT_SET/x", "$NOT_SET"),
        ("/x/${oc.env:HOME}", "${oc.env:HOME}"),
        ("~nosuchuser/x", "~nosuch"),
    ]:
        found = only(value)
        assert found.code == "ARL302"
        assert f"and {name}" in found.message
        assert "has no value here" in found.message


def test_a_tilde_inside_a_name_and_a_lone_dollar_are_characters_like_others(tmp_path: Path) -> None:
    file = tmp_path.resolve() / "~back$~"
    file.touch()
    file.chmod(0o640)
    assert check_path(str(file), "k").findings == []


def test_a_relative_path_is_not_called_a_link(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    (root / "model").mkdir()
    found = only("./model")
    assert found.code == "ARL301"
    assert found.hint == f"train_files: {root}/model"
    assert "link" not in found.message
    assert "does not exist" not in found.message
    assert "does not exist" in only("data/a.parquet").message


def test_a_relative_path_in_a_folder_that_was_removed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = root / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert only("data").code == "ARL301"
    os.chdir(root)


def test_an_address_is_no_path() -> None:
    found = only("hdfs://cluster/data")
    assert found.code == "ARL301"
    assert "address" in found.message


def test_terminal_control_characters_are_escaped_in_messages() -> None:
    found = only("/tmp/\x1b[31mred\x07")
    assert found.message.isprintable()
    assert "\\x1b[31mred" in found.message
