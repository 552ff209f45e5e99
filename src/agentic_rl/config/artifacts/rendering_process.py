"""The program that renders a chat template, in a process of its own: the template came with a file and may be hostile.

Jinja's sandbox keeps a template from Python's internals. It does not keep it from endless loops and texts of
gigabytes; the limits that the system puts on this process do. The environment is the one that transformers builds.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from datetime import datetime
from typing import Any


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """`syntax` if the template does not compile; otherwise for each conversation what `_render` says."""
    import jinja2
    from jinja2 import TemplateSyntaxError

    if tuple(map(int, jinja2.__version__.split(".")[:3])) < (3, 1, 6):
        sys.exit("the sandbox of this jinja2 has known holes")
    environment = _environment()
    _limit(request["cpu_seconds"], request["memory"])
    try:
        template = environment.from_string(request["template"])
    except TemplateSyntaxError as error:
        return {"syntax": f"does not parse: {error.message} (line {error.lineno})"}
    except RecursionError:
        return {"syntax": "is nested too deep"}
    characters = request["characters"]
    return {"errors": [_render(template, one, wanted, characters) for one, wanted in request["conversations"]]}


def _environment() -> Any:
    from jinja2 import TemplateError, nodes
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """The tag with which templates mark what the policy wrote; here its body is all that counts."""

        tags = {"generation"}  # noqa: RUF012 - as the base class declares it

        def parse(self, parser: Any) -> list[nodes.Node]:
            next(parser.stream)
            body: list[nodes.Node] = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return body

    def raise_exception(message: object) -> None:
        raise TemplateError(str(message))

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment


def _to_json(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **options)  # Jinja's own would escape HTML


def _limit(cpu_seconds: float, memory: int) -> None:
    """Let the system end this process where it takes too much; also within a single operation."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    memory = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)


def _render(template: Any, variables: dict[str, Any], wanted: str, characters: int) -> str | None:
    """The error that rendering ends in; empty if the text lacks `wanted`; None if all is well."""
    pieces: list[str] = []
    length = 0
    try:
        for piece in template.generate(**variables):
            length += len(piece)
            if length > characters:
                raise MemoryError
            pieces.append(piece)
    except MemoryError:
        raise
    except Exception as error:  # operators of a template raise whatever Python's do
        return " ".join(str(error).split())[:200] or type(error).__name__
    return None if wanted in "".join(pieces) else ""


def main() -> None:
    """Answer the request on standard input, both in JSON; signal 9 to itself stands for too much memory or text."""
    request = json.load(sys.stdin)
    sys.path += request["path"]  # behind the standard library: no file of the current folder stands in for it
    try:
        text = json.dumps(answer(request))
    except MemoryError:
        signal.raise_signal(signal.SIGKILL)
    else:
        print(text)


if __name__ == "__main__":
    main()
