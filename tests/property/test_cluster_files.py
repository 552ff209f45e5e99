"""hosts.conf, base.conf and inference YAMLs: any text gives findings, and what is written is what is read."""

from __future__ import annotations

import dataclasses
import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.config.aura.base_conf import KEYS, BaseConf, parse_base
from agentic_rl.config.aura.hosts import HostsFile, parse_hosts
from agentic_rl.config.aura.inference import InferenceConfig, parse_inference
from agentic_rl.config.diagnostics import Finding

ANY = st.text() | st.binary()
CELLS = st.sampled_from(
    ["", "0", "1", "2", "-1", " 1", "01", "10.0.0.1", "::1", "node-0", "<ip>", "x.x", "#", "\t", "\uff0c", "9" * 50]
)
ROWS = st.lists(st.lists(CELLS, max_size=6).map(",".join), max_size=6)
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
VALUES = st.sampled_from(
    ["", "hybrid", "one_step_off", "0", "1", "-1", "'a'", '"', "a b", "a # b", "#", "a.yaml", ".", "../a", "9" * 30]
)
LINES = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", " ", "export ", "# "]),
    st.sampled_from([*KEYS, "max_retrys", "", "[train]"]),
    st.sampled_from(["=", " = ", ": ", "", "=="]),
    VALUES,
    st.sampled_from(["", " ", " # c"]),
)
NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
HOSTS = st.lists(
    st.ip_addresses().filter(lambda one: not (one.is_unspecified or one.is_multicast or one.is_loopback)),
    min_size=1,
    max_size=5,
    unique=True,
)


def well_placed(findings: list[Finding], lines: list[str]) -> bool:
    """Whether every finding that has a line stands in the text; a text that can't be read has no lines."""
    last = len(lines) or max((one.line or 1 for one in findings), default=1)
    return all(one.line is None or (1 <= one.line <= last and (one.column or 0) >= 1) for one in findings)


@given(ANY)
def test_any_text_is_read_as_hosts_without_an_exception(text: str | bytes) -> None:
    file = parse_hosts(text)
    assert well_placed(file.findings, file.lines)
    assert file.nodes or file.findings


@given(ROWS, LINE_ENDS)
def test_any_rows_are_read_without_an_exception(rows: list[str], end: str) -> None:
    file = parse_hosts(end.join(rows))
    assert well_placed(file.findings, file.lines)
    assert not file.sound or [node.index for node in file.nodes] == list(range(len(file.nodes)))
    assert not file.sound or file.training_master in file.nodes


@given(ANY)
def test_any_text_is_read_as_base_without_an_exception(text: str | bytes) -> None:
    file = parse_base(text)
    assert well_placed(file.findings, file.lines)
    assert file.conf is None or file.conf.train_config_name


@given(st.lists(LINES, max_size=8), LINE_ENDS)
def test_any_lines_are_read_without_an_exception(lines: list[str], end: str) -> None:
    file = parse_base(end.join(lines))
    assert well_placed(file.findings, file.lines)
    assert (file.conf is None) == any(one.severity == "error" for one in file.findings)


@given(ANY)
def test_any_text_is_read_as_inference_without_an_exception(text: str | bytes) -> None:
    file = parse_inference(text)
    assert (file.config is None) == any(one.severity == "error" for one in file.findings)


@given(
    st.dictionaries(
        st.sampled_from([*InferenceConfig.model_fields, "infer_mode_path", "use_pd_separate", "other"]),
        st.sampled_from(["1", "0", "-1", "1.5", "a", "null", "true", "[1, a]", "{a: 1}", "''", "1e400", "[]", "/x"]),
    )
)
def test_any_values_are_read_without_an_exception(values: dict[str, str]) -> None:
    file = parse_inference("".join(f"{key}: {value}\n" for key, value in values.items()))
    assert well_placed(file.findings, file.document.lines)
    assert (file.config is None) == any(one.severity == "error" for one in file.findings)


@given(HOSTS, st.data())
def test_what_is_written_as_hosts_is_read(
    hosts: list[ipaddress.IPv4Address | ipaddress.IPv6Address], data: st.DataObject
) -> None:
    master = data.draw(st.integers(0, len(hosts) - 1))
    space, end = data.draw(st.sampled_from(["", " ", "\t"])), data.draw(LINE_ENDS)
    rows = [f"{host},{space}{row},{int(row == master)}" for row, host in enumerate(hosts)]
    file: HostsFile = parse_hosts(end.join(["# nodes", "", *rows]))
    broadcast = {ipaddress.ip_address("255.255.255.255")}
    if broadcast & set(hosts):
        return
    assert file.findings == []
    assert [ipaddress.ip_address(node.host) for node in file.nodes] == hosts
    assert file.training_master is file.nodes[master]
    assert len(file.inference_nodes) == master


@given(
    st.builds(
        BaseConf,
        st.sampled_from(["hybrid", "one_step_off"]),
        NAMES,
        NAMES,
        st.none() | st.just("bash scripts/start_rl_with_verl_vllm.sh"),
        st.integers(0, 999_999_999),
        st.sampled_from([0, 1]),
    ),
    LINE_ENDS,
)
def test_what_is_written_as_base_is_read(conf: BaseConf, end: str) -> None:
    written = {key: value for key, value in dataclasses.asdict(conf).items() if value is not None}
    file = parse_base(end.join(f"{key}={value}" for key, value in written.items()))
    assert file.conf == conf
    assert all(one.severity == "note" for one in file.findings)
