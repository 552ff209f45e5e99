"""All rule pages, for `agentic-rl explain` and the documentation.

`python -m agentic_rl.cli.pages > docs/reference/findings.md` writes the latter; a test compares the two.
"""

from __future__ import annotations

from agentic_rl.config.rules import PAGES, Page

_INTRODUCTION = """\
# Findings

<!-- Made from the rules by `python -m agentic_rl.cli.pages`; do not edit. -->

Every code that `agentic-rl check` and the trainers report. `agentic-rl explain CODE` prints one of these pages.
Codes are stable: 0xx reading, 1xx single values, 2xx relations between keys, 3xx paths and files, 4xx the content of
files, 5xx backends, 6xx hosts.conf, base.conf and the YAML files that they belong to,
7xx serve mode.
"""


def all_pages() -> dict[str, Page]:
    """Every code with its page, in the order of the codes."""
    import agentic_rl.backends.findings
    import agentic_rl.backends.verl.findings
    import agentic_rl.backends.verl.instances.findings
    import agentic_rl.config.agent_file
    import agentic_rl.config.artifacts
    import agentic_rl.config.aura.bundle_rules
    import agentic_rl.config.aura.cluster_pages
    import agentic_rl.config.aura.files
    import agentic_rl.config.aura.loading
    import agentic_rl.config.batch
    import agentic_rl.config.flat.artifact_registry
    import agentic_rl.config.flat.mindspeed_rules
    import agentic_rl.config.secure_paths
    import agentic_rl.config.verl_native.native_rules
    import agentic_rl.data.pages
    import agentic_rl.serve.findings  # noqa: F401 - imported for the pages they register

    return dict(sorted(PAGES.items()))


def render() -> str:
    """The reference page of all codes, in Markdown."""
    pages = (
        f"## {page.code}: {page.title}\n\n*{page.severity}*\n\n{page.text.strip()}\n" for page in all_pages().values()
    )
    return "\n".join([_INTRODUCTION, *pages])


if __name__ == "__main__":
    print(render(), end="")
