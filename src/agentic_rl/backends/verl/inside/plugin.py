"""Imported by verl itself in every process (`VERL_USE_EXTERNAL_MODULES`), before anything of it is used."""

from __future__ import annotations

import os

from agentic_rl.backends.verl.inside.patches import EVERYWHERE, WITHOUT_ACCELERATOR

PLATFORM = "VERL_PLATFORM"
"""verl's environment variable that chooses a platform."""

for patch in EVERYWHERE:
    patch()
if os.environ.get(PLATFORM) == "cpu":
    from agentic_rl.backends.verl.inside import platform_cpu  # noqa: F401 - registers itself
    from agentic_rl.backends.verl.inside.node_address import listen_at_own_address

    listen_at_own_address(os.environ)
    for patch in WITHOUT_ACCELERATOR:
        patch()
