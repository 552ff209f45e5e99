"""One job of direct mode: `python -m agentic_rl.cluster.entrypoint CONFIG --instance NAME [KEY=VALUE ...]`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from agentic_rl.cluster.parent import end_with_parent

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def main(arguments: Sequence[str] | None = None) -> int:
    """Train one instance; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m agentic_rl.cluster.entrypoint")
    parser.add_argument("config")
    parser.add_argument("--instance", required=True)
    parser.add_argument("overrides", nargs="*")
    options = parser.parse_intermixed_args(arguments)
    end_with_parent()
    try:
        return _train(options.config, options.instance, options.overrides)
    except KeyboardInterrupt:
        return 130


def _train(config: str, instance: str, overrides: Sequence[str]) -> int:
    from agentic_rl.backends import trainer_for
    from agentic_rl.backends.errors import TrainingError
    from agentic_rl.config.diagnostics import ConfigError, Report
    from agentic_rl.config.load import load

    try:
        loaded = load(config, overrides)
        logging.basicConfig(level=loaded.require_aura().agentic_ai.log_level, format=_FORMAT, stream=sys.stderr)
        trainer = trainer_for(loaded, instance)
        report = Report(trainer.check().findings, loaded.report.sources)
        if report.findings and report.verdict != "error":  # with an error `fit` raises the whole of it
            print(report.to_text(), file=sys.stderr)
        return trainer.fit().exit_status
    except ConfigError as error:
        print(error, file=sys.stderr)
    except TrainingError as error:
        print(f"error {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
