from __future__ import annotations

import subprocess
import sys


def test_the_protocol_is_imported_without_torch() -> None:
    code = "import sys, agentic_rl.rollout.engines.base; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
