"""math-verify in a process of its own: it may take for ever or all memory, and its time-outs need a main thread."""

from __future__ import annotations

import atexit
import json
import logging
import os
import select
import subprocess
import sys
import threading
from pathlib import Path

_LOGGER = logging.getLogger(__name__)
_PROGRAM = Path(__file__).with_name("verifier_process.py")
_START_SECONDS, _SECONDS = 60.0, 10.0
"""Importing it takes a second, more on a busy machine; a comparison takes milliseconds, and is given up after six."""


class Verifier:
    """Compares answers, one at a time; the process starts with the first comparison, and anew when it was killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self.missing = False
        """math-verify is not installed."""

    def equal(self, answer: str, truth: str) -> bool:
        """Whether math-verify calls two answers equal; not, if it can't tell in time. Blocks; any thread may call."""
        with self._lock:
            process = None if self.missing else self._running()
            if process is None:
                return False
            reply = self._asked(process, json.dumps([answer, truth]), _SECONDS)
            if not reply:
                self._stop()
            return reply == "yes"

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop()

    def _running(self) -> subprocess.Popen[bytes] | None:
        if self._process is not None and self._owner == os.getpid() and self._process.poll() is None:
            return self._process
        if self._owner == os.getpid():
            self._stop()
        # A session of its own: an interrupt is for this process, whose end ends that one.
        command = [sys.executable, "-I", "-S", str(_PROGRAM)]
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self._owner = os.getpid()
        said = self._asked(self._process, json.dumps([str(folder) for folder in sys.path]), _START_SECONDS)
        if said == "ready":
            return self._process
        self._stop()
        if said == "missing":
            self.missing = True
            _LOGGER.warning(
                "math-verify is not installed, so answers are compared as text and as numbers only; "
                "pip install math-verify"
            )
        return None

    def _asked(self, process: subprocess.Popen[bytes], line: str, seconds: float) -> str:
        """The process's line of answer; empty where it gives none in time, or has ended."""
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        try:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        except OSError:
            return ""
        if not select.select([process.stdout], [], [], seconds)[0]:
            return ""
        return process.stdout.readline().decode().strip()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()


VERIFIER = Verifier()
"""The one of this process."""
atexit.register(VERIFIER.close)
