"""A program: the tiny project with training and inference apart.

The flat format has no word for that, so its native configuration is changed on the way to verl, as the instances format
changes it. Arguments: the configuration, and a JSON object with further native values.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from agentic_rl.backends.errors import StopRequestedError, TrainingError
from agentic_rl.backends.verl import flat_run, trainer
from agentic_rl.backends.verl.separate import applied, settings
from agentic_rl.config.load import load

ONE_DEVICE = {"actor_rollout_ref.rollout.n_gpus_per_node": 1}


class SeparateRun(flat_run.FlatRun):
    more: dict[str, Any]

    def native(self) -> dict[str, Any]:
        native = applied(super().native(), {**ONE_DEVICE, **self.more})
        changes = settings(native, training_nodes=1, inference_nodes=1, written=self.more)
        assert changes.problems == []
        return applied(native, changes.values)


def main() -> int:
    SeparateRun.more = json.loads(sys.argv[2]) if sys.argv[2:] else {}
    trainer.run_of = lambda loaded, installation, *_: SeparateRun(loaded, installation)
    try:
        trainer.VerlTrainer(load(sys.argv[1])).fit()
    except (TrainingError, StopRequestedError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
