"""hosts.conf: the machines of a run and their parts in it, one a line."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from agentic_rl.config.addresses import canonical, is_loopback
from agentic_rl.config.aura import cluster_pages as pages
from agentic_rl.config.aura.cluster_text import COMMENT, ClusterText, Line, read_text, text_of
from agentic_rl.config.aura.host_address import offence
from agentic_rl.config.diagnostics import Finding

NAME = "hosts.conf"
COLUMNS = ("host", "index", "train_master_index", "infer_master_index")
ROW = "host,index,train_master_index[,infer_master_index]"
_MOST_DIGITS = 6


@dataclass(frozen=True)
class Node:
    """One machine."""

    host: str
    """Its address or host name, as written."""
    index: int
    train_master: bool
    """Whether it starts the training job."""
    infer_master: bool
    """Whether it starts inference; false where the column is left out."""
    line: int
    """Of its row, from 1."""
    columns: tuple[int, ...] = (1, 1, 1)
    """Where the written values begin, from 1: three, or four with `infer_master_index`."""

    def column(self, name: str) -> int:
        """Where the value `name` begins in the row, or where the row does if it is left out."""
        return dict(zip(COLUMNS, self.columns, strict=False)).get(name, 1)

    def wrote(self, name: str) -> bool:
        """Whether the row has the value `name`."""
        return COLUMNS.index(name) < len(self.columns)


@dataclass(frozen=True)
class HostsFile:
    """The nodes in row order, and what is wrong with the file."""

    file: str
    nodes: tuple[Node, ...] = ()
    """Of the rows that could be read."""
    findings: list[Finding] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    whole: bool = False
    """Whether every row could be read."""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with the rows, so that they can be compared with other files."""
        return self.whole and all(one.severity != "error" for one in self.findings)

    @property
    def training_master(self) -> Node | None:
        """The one node that starts the training job; None where there is not exactly one."""
        masters = [node for node in self.nodes if node.train_master]
        return masters[0] if len(masters) == 1 else None

    @property
    def inference_nodes(self) -> tuple[Node, ...]:
        """With training and inference apart: the nodes before the training master."""
        return self._split()[0]

    @property
    def training_nodes(self) -> tuple[Node, ...]:
        """With training and inference apart: the training master and the nodes after it."""
        return self._split()[1]

    def _split(self) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
        master = self.training_master
        at = self.nodes.index(master) if master else len(self.nodes)
        return self.nodes[:at], self.nodes[at:]


def read_hosts(path: str | os.PathLike[str]) -> HostsFile:
    """Read hosts.conf. Bad input gives findings, never an exception."""
    return _hosts(read_text(path))


def parse_hosts(content: str | bytes, file: str = NAME) -> HostsFile:
    """Read the content of a hosts.conf; `file` is the name that findings give as its place."""
    return _hosts(text_of(content, file))


def _hosts(text: ClusterText) -> HostsFile:
    lines = list(text.said())
    rows = [_row(line, text) for line in lines]
    nodes = tuple(node for node in rows if node)
    whole = bool(nodes) and len(nodes) == len(rows)
    if text.readable and not lines:
        text.add(pages.NO_NODES, "host", "no row; every node of the run has one", f"write one a line: {ROW}")
    _relate(nodes, whole, text)
    return HostsFile(text.file, nodes, text.findings, text.lines, whole)


def _row(line: Line, text: ClusterText) -> Node | None:
    """The node of a row; None where a value can't be read, which is reported."""
    said = COMMENT.sub("", line.text)
    if said != line.text:
        message = "a comment stands behind the row; shell launchers take it for a part of the last value"
        text.add(pages.SHELL_TEXT, "", message, "put the comment on a line of its own", at=(line.number, len(said) + 1))
    cells = said.split(",")
    if len(cells) == len(COLUMNS) and not cells[-1].strip():
        cells.pop()
    columns = _columns(cells)
    if not _fits(cells, line, text):
        return None
    values = [cell.strip() for cell in cells]
    index = _index(values[1], line.number, columns[1], text)
    flags = [
        _flag(name, value, line.number, column, text)
        for name, value, column in zip(COLUMNS[2:], values[2:], columns[2:], strict=False)
    ]
    wrong = offence(values[0])
    if wrong:
        text.add(pages.HOST, "host", wrong.message, wrong.hint, at=(line.number, columns[0]))
    if wrong or index is None or None in flags:
        return None
    infer = bool(flags[1]) if len(flags) > 1 else False
    return Node(values[0], index, bool(flags[0]), infer, line.number, columns)


def _columns(cells: list[str]) -> tuple[int, ...]:
    """Where the value of each cell begins in its line, from 1."""
    starts, start = [], 0
    for cell in cells:
        starts.append(start + len(cell) - len(cell.lstrip()) + 1)
        start += len(cell) + 1
    return tuple(starts)


def _fits(cells: list[str], line: Line, text: ClusterText) -> bool:
    if [cell.strip() for cell in cells[:2]] == ["host", "index"]:
        message, hint = "the names of the columns are no row", "put # before them"
        text.add(pages.ROW, "host", message, hint, at=(line.number, 1))
        return False
    if len(cells) in (3, 4):
        return True
    found = "1 value" if len(cells) == 1 else f"{len(cells)} values"
    hint = f"write {ROW}, e.g. 192.0.2.10,0,1,1"
    if "\uff0c" in line.text:
        hint = "write the comma of ASCII (,), not that of Chinese text (U+FF0C)"
    text.add(pages.ROW, "host", f"{found}; a row has three or four: {ROW}", hint, at=(line.number, 1))
    return False


def _index(value: str, line: int, column: int, text: ClusterText) -> int | None:
    if value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS:
        return int(value)
    message = f"{value[:40]!r} is no index; the rows are numbered 0, 1, 2, ..."
    text.add(pages.INDEX, "index", message, "write the number of the row, from 0", at=(line, column))
    return None


def _flag(name: str, value: str, line: int, column: int, text: ClusterText) -> bool | None:
    if value in ("0", "1"):
        return value == "1"
    hint = "write 1 if this node starts it, otherwise 0"
    text.add(pages.FLAG, name, f"{value[:40]!r} is neither 0 nor 1", hint, at=(line, column))
    return None


def _relate(nodes: tuple[Node, ...], whole: bool, text: ClusterText) -> None:
    """What is wrong between the rows; that something is missing is said only where all of them could be read."""
    _check_hosts(nodes, text)
    repeated = _check_repeated_indexes(nodes, text)
    masters = [node for node in nodes if node.train_master]
    for node in masters[1:]:
        message = f"train_master_index is 1 on lines {masters[0].line} and {node.line}; exactly one node starts the job"
        place = node.line, node.column("train_master_index")
        text.add(pages.TRAIN_MASTER, "train_master_index", message, "write 0 on all other rows", at=place)
    if not whole:
        return
    if not repeated:
        _check_order(nodes, text)
    if not masters:
        message = "train_master_index is 0 in every row; exactly one node starts the training job"
        place = nodes[-1].line, nodes[-1].column("train_master_index")
        text.add(pages.TRAIN_MASTER, "train_master_index", message, "write 1 on the training node's row", at=place)


def _check_hosts(nodes: tuple[Node, ...], text: ClusterText) -> None:
    first: dict[str, Node] = {}
    for node in nodes:
        other = first.setdefault(canonical(node.host), node)
        place = node.line, node.column("host")
        if other is not node:
            message = f"{node.host} stands on lines {other.line} and {node.line}; one machine has one row"
            text.add(pages.HOST_TWICE, "host", message, "remove one of the rows, or correct the address", at=place)
        elif is_loopback(node.host) and len(nodes) > 1:
            message = f"{node.host} is every machine's own address; with {len(nodes)} nodes it names none of them"
            text.add(pages.HOST, "host", message, "write the address by which the other nodes reach this one", at=place)


def _check_repeated_indexes(nodes: tuple[Node, ...], text: ClusterText) -> bool:
    first: dict[int, Node] = {}
    repeated = False
    for node in nodes:
        other = first.setdefault(node.index, node)
        if other is not node:
            repeated = True
            message = f"index {node.index} stands on lines {other.line} and {node.line}; every node has its own"
            hint = "number the rows 0, 1, 2, ..."
            text.add(pages.INDEX, "index", message, hint, at=(node.line, node.column("index")))
    return repeated


def _check_order(nodes: tuple[Node, ...], text: ClusterText) -> None:
    for row, node in enumerate(nodes):
        if node.index == row:
            continue
        if sorted(other.index for other in nodes) == list(range(len(nodes))):
            rule = "the rows must stand in the order of their indexes: launchers find the master by its row"
            hint = f"move the row of index {row} here"
        else:
            rule, hint = "the rows are numbered 0, 1, 2, ... without gaps", f"write {row}"
        message = f"index {node.index} in row {row + 1}; {rule}"
        text.add(pages.INDEX, "index", message, hint, at=(node.line, node.column("index")))
        return
