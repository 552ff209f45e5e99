from __future__ import annotations

import pytest

from agentic_rl.backends.errors import FailedRolloutsError
from agentic_rl.backends.failed_rollouts import refuse_failures


def test_too_many_failures_stop_the_run_with_the_most_frequent_reason() -> None:
    no, late = "ValueError: no", "LateError: late"
    refuse_failures("step 3", ["", no], allowed=0.5)
    with pytest.raises(FailedRolloutsError) as caught:
        refuse_failures("step 3", [no, no, late, ""], allowed=0.5)
    assert "step 3: 3 of 4 rollouts failed, more than max_failed_fraction 0.5" in str(caught.value)
    assert "(2 times): ValueError: no" in str(caught.value)


def test_nothing_is_refused_where_nothing_was_rolled_out() -> None:
    refuse_failures("evaluation", [], allowed=0.0)
