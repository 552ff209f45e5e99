"""All rule pages: imports every module that owns codes."""

from __future__ import annotations

from agentic_rl.config.rules import PAGES, Page


def all_pages() -> dict[str, Page]:
    """Every code with its page, in the order of the codes."""
    import agentic_rl.backends.findings
    import agentic_rl.config.agent_file
    import agentic_rl.config.load
    import agentic_rl.config.secure_paths  # noqa: F401 - imported for the pages they register

    return dict(sorted(PAGES.items()))
