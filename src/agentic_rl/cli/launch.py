"""`agentic-rl launch`: this node's part of a run; the same command on every node."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentic_rl.cli.arguments import Overrides
from agentic_rl.cli.session import failures_reported, print_findings

HostsPath = Annotated[Path, typer.Option("--hosts", help="hosts.conf.", show_default=False)]
BasePath = Annotated[Path, typer.Option("--base", help="base.conf.", show_default=False)]
NodeIndex = Annotated[
    int | None,
    typer.Option("--node", metavar="INDEX", help="This machine's row; left out, found by its addresses.", min=0),
]


def launch(
    hosts: HostsPath,
    base: BasePath,
    overrides: Overrides = None,
    *,
    node: NodeIndex = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    ray_port: Annotated[int, typer.Option(min=1, max=65535, help="Port of Ray's head, on the training master.")] = 6344,
    wait: Annotated[float, typer.Option(min=0, help="Seconds that a node waits for the others.")] = 600.0,
    states: Annotated[
        Path | None,
        typer.Option(help="Folder for the status of nodes, on storage that all share (nodes/ in the run's folder)."),
    ] = None,
) -> None:
    """Do this node's part: Ray, an inference server where one is wanted, the job on the training master.

    The other nodes end with the job. Exit status: 0 finished, 1 refused or failed, 2 wrong usage, 4 training master
    lost, 130 stopped.
    """
    from agentic_rl.backends.disk import disk_errors
    from agentic_rl.cluster.launch import Launch
    from agentic_rl.cluster.node import own_node
    from agentic_rl.cluster.plan import Options, plan, plan_all
    from agentic_rl.config.aura.bundle import load_bundle
    from agentic_rl.config.aura.hosts import HostsFile
    from agentic_rl.config.diagnostics import ConfigError

    options = Options(ray_port, wait, states)
    with failures_reported():
        bundle = load_bundle(base, overrides or (), hosts_path=hosts, base_path=base)
        if bundle.report.verdict == "error":
            raise ConfigError(bundle.report)
        print_findings(bundle.report)
        if dry_run and node is None:
            typer.echo("\n".join(one.to_text() for one in plan_all(bundle, options, overrides or ())))
            return
        own = plan(bundle, own_node(bundle.hosts or HostsFile(str(hosts)), node), options, overrides or ())
        typer.echo(own.to_text(), err=not dry_run)
        if dry_run:
            return
        with disk_errors(own.states):
            status = Launch(own, lambda line: typer.echo(f"node {own.node.index}: {line}", err=True)).run()
    raise typer.Exit(status)
