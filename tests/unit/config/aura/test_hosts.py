"""hosts.conf: what is read, and what is said at which place."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.config.aura.hosts import HostsFile, parse_hosts, read_hosts


def found(text: str) -> list[tuple[str, str, int | None, int | None]]:
    """Code, key, line and column of every finding."""
    return [(one.code, one.key, one.line, one.column) for one in parse_hosts(text).findings]


def message(text: str) -> str:
    """The only message."""
    (finding,) = parse_hosts(text).findings
    return f"{finding.message}; {finding.hint}"


def hosts(text: str) -> list[str]:
    return [node.host for node in parse_hosts(text).nodes]


def test_the_documented_forms_are_read() -> None:
    one = parse_hosts("# host,index,train_master_index,infer_master_index\r\n\r\n192.0.2.10, 0,1,1")
    assert (one.findings, one.whole, one.sound) == ([], True, True)
    (node,) = one.nodes
    assert (node.host, node.index, node.train_master, node.infer_master, node.line) == ("192.0.2.10", 0, True, True, 3)
    assert [node.column(name) for name in ("host", "index", "train_master_index")] == [1, 13, 15]
    two = parse_hosts("192.0.2.10,0,0\n192.0.2.11,1,1\n")
    assert [node.infer_master for node in two.nodes] == [False, False]
    assert not two.nodes[0].wrote("infer_master_index")


@pytest.mark.parametrize("host", ["2001:db8::10", "fe80::1%eth0", "node-0", "node_0.cluster.local", "localhost", "n"])
def test_addresses_and_names_are_hosts(host: str) -> None:
    assert hosts(f"{host},0,1,1") == [host]
    assert found(f"{host},0,1,1") == []


@pytest.mark.parametrize(
    "host",
    ["<ip>", "x.x.x.x", "192.168.1.xx", "node_ip", "HOST", "your_ip", "${HOST}", "{ip}", "1.2.3.400", "1.2.3",
     "0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "-a", "a b", "node:22", "[::1]", "", "a" * 300],
)  # fmt: skip
def test_what_only_stands_for_a_host_is_refused(host: str) -> None:
    assert found(f"{host},0,1,1") == [("ARL601", "host", 1, 1)]


def test_nodes_before_the_training_master_infer() -> None:
    file = parse_hosts("a,0,0\nb,1,0\nc,2,1\nd,3,0\n")
    assert [node.host for node in file.inference_nodes] == ["a", "b"]
    assert [node.host for node in file.training_nodes] == ["c", "d"]
    assert file.training_master is file.nodes[2]


def test_without_a_master_nobody_trains() -> None:
    file = parse_hosts("a,0,0\nb,1,0\n")
    assert file.training_master is None
    assert file.training_nodes == ()
    assert [(one.code, one.line, one.column) for one in file.findings] == [("ARL605", 2, 5)]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("a,0\n", ("ARL600", "host", 1, 1)),
        ("a,0,1,1,1\n", ("ARL600", "host", 1, 1)),
        ("a\uff0c0\uff0c1\n", ("ARL600", "host", 1, 1)),
        ("a,x,1\n", ("ARL603", "index", 1, 3)),
        ("a,-1,1\n", ("ARL603", "index", 1, 3)),
        ("a,\u0661,1\n", ("ARL603", "index", 1, 3)),
        ("a,0, 2\n", ("ARL604", "train_master_index", 1, 6)),
        ("a,0,1,yes\n", ("ARL604", "infer_master_index", 1, 7)),
        ("a,1,1\n", ("ARL603", "index", 1, 3)),
        ("a,0,1\nb,1,1\n", ("ARL605", "train_master_index", 2, 5)),
        ("a,0,0\nA.,1,1\n", ("ARL602", "host", 2, 1)),
        ("2001:db8::1,0,0\n2001:DB8:0::1,1,1\n", ("ARL602", "host", 2, 1)),
        ("127.0.0.1,0,0\nb,1,1\n", ("ARL601", "host", 1, 1)),
        ("a,0,0\nb,2,1\n", ("ARL603", "index", 2, 3)),
        ("", ("ARL606", "host", 1, 1)),
        ("a,0,1 # it\n", ("ARL608", "", 1, 6)),
    ],
)
def test_each_fault_is_found_once_at_its_place(text: str, finding: tuple[str, str, int, int]) -> None:
    assert found(text) == [finding]


def test_both_lines_of_a_repeated_index_are_named() -> None:
    assert "index 0 stands on lines 1 and 3" in message("a,0,0\n\nb,0,1\n")


def test_rows_in_another_order_are_told_from_gaps() -> None:
    assert "order of their indexes" in message("a,1,1\nb,0,0\n")
    assert "without gaps" in message("a,0,0\nb,2,1\n")


def test_the_names_of_the_columns_are_no_row() -> None:
    assert "put # before them" in message("host,index,train_master_index\nnode-1,0,1\n")


def test_the_comma_of_chinese_text_is_named() -> None:
    assert "U+FF0C" in message("a\uff0c0\uff0c1")


def test_an_empty_last_value_is_one_left_out() -> None:
    file = parse_hosts("a,0,1,\n")
    assert file.findings == []
    assert not file.nodes[0].wrote("infer_master_index")


def test_a_broken_row_does_not_make_the_others_wrong() -> None:
    file = parse_hosts("a,0,0\nb,x,1\nc,2,0\n")
    assert [one.code for one in file.findings] == ["ARL603"]
    assert not file.whole


def test_a_missing_file_is_a_finding(tmp_path: Path) -> None:
    file = read_hosts(tmp_path / "hosts.conf")
    assert isinstance(file, HostsFile)
    assert [(one.code, one.line) for one in file.findings] == [("ARL001", None)]
    assert read_hosts(tmp_path).findings[0].message == f"{tmp_path} is a folder, not a file"


def test_a_text_that_is_none_is_a_finding() -> None:
    file = parse_hosts(b"\xff\xfe1\x00")
    assert [(one.code, one.line) for one in file.findings] == [("ARL003", 1)]
