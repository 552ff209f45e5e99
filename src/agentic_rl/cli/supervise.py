"""`agentic-rl supervise`: run a job, and start it again when it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentic_rl.cli.arguments import Overrides
from agentic_rl.cli.session import failures_reported, print_findings

HostsPath = Annotated[Path | None, typer.Option("--hosts", help="hosts.conf.", show_default=False)]
BasePath = Annotated[Path | None, typer.Option("--base", help="base.conf.", show_default=False)]
NodeIndex = Annotated[
    int | None,
    typer.Option("--node", metavar="INDEX", help="This machine's row; left out, found by its addresses.", min=0),
]


def supervise(
    overrides: Overrides = None,
    *,
    config_path: Annotated[
        Path | None,
        typer.Option("--config-path", help="A YAML file; or give --hosts and --base.", show_default=False),
    ] = None,
    hosts: HostsPath = None,
    base: BasePath = None,
    node: NodeIndex = None,
    max_retries: Annotated[
        int | None, typer.Option(min=0, help="How often the job is started again (base.conf; 100).", show_default=False)
    ] = None,
    clean_old_ckpt: Annotated[
        int | None,
        typer.Option(min=0, max=1, help="1: empty the run's folder before the first start.", show_default=False),
    ] = None,
    first_wait: Annotated[float, typer.Option(min=0, help="Seconds before the first retry; they double.")] = 5.0,
    longest_wait: Annotated[float, typer.Option(min=0, help="Seconds that no wait exceeds.")] = 300.0,
) -> None:
    """Run a job to its end, starting it again from its newest checkpoint when it fails.

    Exit status: 0 finished, 1 refused or failed without retries, 2 wrong usage, 3 crash loop, 4 training master lost,
    75 retries used up while steps were made, 130 stopped.
    """
    from agentic_rl.backends.disk import disk_errors
    from agentic_rl.cluster.subject import Wishes, empty, of_config, of_set
    from agentic_rl.cluster.supervise import Supervisor

    if (config_path is None, hosts is None, base is None) not in ((False, True, True), (True, False, False)):
        raise typer.BadParameter("give --config-path FILE, or --hosts FILE and --base FILE")
    wishes = Wishes(max_retries, None if clean_old_ckpt is None else clean_old_ckpt == 1, first_wait, longest_wait)
    with failures_reported():
        if config_path is not None:
            subject = of_config(config_path, overrides or (), wishes)
        else:
            assert hosts is not None  # noqa: S101 - the condition above
            assert base is not None  # noqa: S101
            subject = of_set(hosts, base, node, overrides or (), wishes)
        print_findings(subject.report)
        with disk_errors(subject.job.states):
            for line in (*subject.notes, *empty(subject)):
                _say(line)
            status = Supervisor(subject.job, _say).run()
    raise typer.Exit(status)


def _say(line: str) -> None:
    typer.echo(f"supervisor: {line}", err=True)
