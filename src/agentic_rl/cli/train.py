"""`agentic-rl train` (and `agentic-rl --config-path FILE`): check, then do what the file says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentic_rl.cli.arguments import ConfigPath, Overrides
from agentic_rl.cli.session import failures_reported, print_findings, trainer_of


def train(
    config_path: ConfigPath,
    overrides: Overrides = None,
    *,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="In serve mode: ask nobody for a token, whatever the host.")
    ] = False,
) -> None:
    """Check the file, then train with its backend; of the instances format, run its jobs or serve its instances."""
    from agentic_rl.cluster.parent import end_with_own_parent
    from agentic_rl.config.formats import detect
    from agentic_rl.config.load import read_document

    end_with_own_parent()
    with failures_reported():
        document, _ = read_document(config_path, files=False)
        if detect(document.tree) == "aura":
            raise typer.Exit(_run_instances(config_path, overrides or [], insecure=insecure))
        result = trainer_of(config_path, overrides).fit()
    raise typer.Exit(result.exit_status)


def _run_instances(path: Path, overrides: list[str], *, insecure: bool) -> int:
    """Do what `agentic_ai.mode` says; the exit status."""
    from agentic_rl.config.diagnostics import ConfigError
    from agentic_rl.config.load import load
    from agentic_rl.machine.devices import device_memory

    loaded = load(path, overrides, device_memory=device_memory())
    if loaded.report.verdict == "error":
        raise ConfigError(loaded.report)
    print_findings(loaded.report)
    if loaded.require_aura().agentic_ai.mode == "serve":
        from agentic_rl import serve

        return serve.run(loaded, overrides, insecure=insecure)
    from agentic_rl.cluster.direct import run_direct

    return run_direct(loaded, overrides)
