from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.artifacts import rendering
from artifact_doubles import TEMPLATE, read_artifacts, write_model

KEY = "tokenizer_name_or_path"
EACH = "{% for m in messages %}"
REFUSES = (
    EACH + "{% if m.role in ('user', 'assistant') %}{{ m.content }}"
    "{% else %}{{ raise_exception('Only user and assistant are supported') }}{% endif %}{% endfor %}"
)
COPIES = "{{ messages[0].role }}{% for n in range(9000) %}{{ '" + "x" * 200 + "' }}{% endfor %}"
ENDLESS = EACH + "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{% endfor %}"


def told(folder: Path, template: str, **paths: Path) -> list[str]:
    write_model(folder)
    (folder / "chat_template.jinja").write_text(template)
    findings = read_artifacts({KEY: folder, **paths}).findings
    return [f"{one.severity} {one.code} {one.message}" for one in findings]


BAD = [
    (REFUSES, "warning ARL445", "refuses a tool's message: Only user and assistant are supported"),
    (REFUSES.replace("raise_exception('Only", "nothing('Only"), "warning ARL445", "message: 'nothing' is undefined"),
    (REFUSES + "{% set roles = ['user', 'tool'] %}", "warning ARL445", "Only user and assistant"),
    (
        TEMPLATE + "{% if tools %}{{ raise_exception('no\ntools\x20') }}{% endif %}",
        "warning ARL445",
        "refuses a tool's message: no tools",
    ),
    (
        EACH + "{% if m.role in ('user', 'assistant') %}{{ m.content }}{% endif %}{% endfor %}",
        "warning ARL445",
        "leaves out what a tool's message says",
    ),
    (EACH + "{% if m.role == 'tool' %}{{ m.name }}{% else %}{{ m.content }}{% endif %}{% endfor %}", "warning", "out"),
    (TEMPLATE + "{{ 1 + }}", "error ARL444", "does not parse: "),
    (TEMPLATE + "{{ 1 | nonsense }}", "error ARL444", "does not parse: No filter named 'nonsense'"),
    (TEMPLATE + "{{ " + "(" * 5000 + ")" * 5000 + " }}", "error ARL444", "is nested too deep"),
    (ENDLESS, "warning ARL444", "needs more than 0.5 s of CPU time"),
    (TEMPLATE + "{{ 9 ** (9 ** 9) }}", "warning ARL444", "0.5 s of CPU time"),
    (TEMPLATE + "{{ 'x' * (messages | length) * 10 ** 12 }}", "warning ARL444", "512 MiB"),
    (COPIES, "warning ARL444", "1,000,000 characters for three short messages"),
]


@pytest.mark.parametrize(("template", "head", "message"), BAD)
def test_a_template_that_tools_do_not_get_through(template: str, head: str, message: str, tmp_path: Path) -> None:
    (found,) = told(tmp_path / "model", template)
    assert found.startswith(head)
    assert message in found


GOOD = [
    TEMPLATE,
    # arguments as text only, and tags that transformers adds
    EACH + "{% for c in m.tool_calls or [] %}{{ '(' + c.function.arguments + ')' }}{% endfor %}"
    "{% generation %}{{ m.content }}{% endgeneration %}{% if loop.last %}{% break %}{% endif %}{% endfor %}",
    # the arguments' parts, and a tool's schema as text
    EACH + "{{ m.content }}{% for c in m.tool_calls or [] %}{% for k, v in c.function.arguments.items() %}{{ k ~ v }}"
    "{% endfor %}{% endfor %}{% endfor %}{{ tools | tojson(indent=2) }}{{ strftime_now('%d %b %Y') }}",
    # nothing but a reply without calls before the result
    EACH + "{{ raise_exception('no calls') if m.tool_calls is defined else m.content }}{% endfor %}",
    TEMPLATE + "{{ bos_token + eos_token }}",
    # wants what the trial does not know: a question alone is refused too
    TEMPLATE + "{{ raise_exception('a system message is needed') if messages[0].role != 'system' }}",
    TEMPLATE + "{{ messages.__class__.__mro__ }}",
]


@pytest.mark.parametrize("template", GOOD)
def test_a_template_that_prints_what_a_tool_said(template: str, tmp_path: Path) -> None:
    assert told(tmp_path / "model", template) == []


def test_only_an_agent_with_tools_needs_them_printed(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text("class A(BaseEngineWrapper): ...")
    assert told(tmp_path / "model", REFUSES, agent_engine_wrapper_path=agent) == []
    agent.write_text("@tool\ndef f(): ...")
    (found,) = told(tmp_path / "model", REFUSES, agent_engine_wrapper_path=agent)
    assert "ARL445" in found


FORGETS = EACH + "{{ m.content if loop.last else m.content.split('</think>')[-1] }}{% endfor %}"


def test_a_template_that_forgets_thoughts_is_told_of(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    for text in ("@tool\ndef f(): ...", "class A(BaseEngineWrapper): ..."):
        agent.write_text(text)
        (found,) = told(tmp_path / "model", FORGETS, agent_engine_wrapper_path=agent)
        assert found.startswith("warning ARL469")
        assert "leaves out what earlier turns thought once a tool's result or the next question comes" in found
    kept = "{# <think> #}" + TEMPLATE
    assert told(tmp_path / "model", kept, agent_engine_wrapper_path=agent) == []
    refused = EACH + "{{ raise_exception('think once') if messages | length > 1 else m.content }}{% endfor %}"
    assert told(tmp_path / "model", refused, agent_engine_wrapper_path=agent) == []


def test_a_policy_that_does_not_think_has_nothing_to_forget(tmp_path: Path) -> None:
    model = tmp_path / "model"
    write_model(model)
    (model / "chat_template.jinja").write_text(FORGETS + "{# enable_thinking #}")
    for thinks, found in ((None, ["ARL469"]), (True, ["ARL469"]), (False, [])):
        artifacts = read_artifacts({KEY: model}, enable_thinking=thinks)
        assert [one.code for one in artifacts.findings] == found


SWITCHES = [
    (TEMPLATE, True, True),
    (TEMPLATE, False, False),
    (TEMPLATE, None, False),
    (TEMPLATE + "<think>", False, True),
    (TEMPLATE + "<think>", None, False),
    (TEMPLATE + "{{ '' if enable_thinking else '<think></think>' }}", True, False),
    (TEMPLATE + "{{ '' if enable_thinking else '<think></think>' }}", False, False),
]


@pytest.mark.parametrize(("template", "thinking", "dead"), SWITCHES)
def test_a_switch_that_the_template_lacks(template: str, thinking: bool | None, dead: bool, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    (model / "chat_template.jinja").write_text(template)
    found = read_artifacts({KEY: model}, enable_thinking=thinking).findings
    assert [(one.code, one.severity, one.key) for one in found] == [("ARL446", "warning", "enable_thinking")] * dead
    if dead:
        assert found[0].message.startswith(f"{str(thinking).lower()} has no effect: ")
    assert read_artifacts({KEY: model}, train_backend="mindspeed_rl", enable_thinking=thinking).findings == []


@pytest.mark.parametrize("name", ["qwen3", "qwen2.5", "llama3", "smollm2"])
@pytest.mark.parametrize(
    ("values", "asks_again"),
    [
        ({"agent_name": "gym"}, True),
        ({"agent_name": "their_own"}, True),
        ({"agent_name": "gym", "max_steps": 1}, False),
        ({"agent_name": "math"}, False),
    ],
)
def test_templates_of_the_field(name: str, values: dict[str, Any], asks_again: bool, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    template = (Path(__file__).parents[3] / "data" / "chat_templates" / f"{name}.jinja").read_text("utf-8")
    (model / "chat_template.jinja").write_text(template)
    codes = [one.code for one in read_artifacts({KEY: model}, **values).findings]
    assert codes == ["ARL469"] * (name == "qwen3" and asks_again)


def _without_jinja(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if not Path(folder, "jinja2").is_dir()])


def _without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_WALL_SECONDS", 0)


def _without_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")


@pytest.mark.parametrize("lacking", [_without_jinja, _without_time, _without_program])
def test_where_nothing_can_be_rendered_the_text_counts(
    lacking: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lacking(monkeypatch)
    rendering._try.cache_clear()
    (found,) = told(tmp_path / "model", REFUSES)
    assert "never mentions tool" in found
    assert told(tmp_path / "model", REFUSES + "{# tool #}") == []
    rendering._try.cache_clear()


def test_a_text_is_rendered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = TEMPLATE + "{# once #}"
    assert told(tmp_path / "model", template) == []
    monkeypatch.setattr(rendering, "_run", lambda request: pytest.fail("rendered again"))
    assert told(tmp_path / "again", template) == []
