from __future__ import annotations

import io
import logging

from agentic_rl.tracking import log_lines_to
from agentic_rl.tracking.console import LineTracker


def test_warnings_of_this_program_become_notes_while_a_run_is_watched() -> None:
    stream = io.StringIO()
    logger = logging.getLogger("agentic_rl.backends.local.learner")
    with log_lines_to(LineTracker(stream)):
        logger.warning("step %d looks odd", 3)
        logger.info("not for people")
        logging.getLogger("another.program").warning("not ours")
    logger.warning("nobody watches")
    assert stream.getvalue() == "warning: step 3 looks odd\n"
