from __future__ import annotations

import subprocess
import sys


def test_the_trackers_are_importable_without_anything_heavy() -> None:
    code = (
        "import agentic_rl.tracking, sys; "
        "print([name for name in ('torch', 'matplotlib', 'rich', 'tensorboard') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
