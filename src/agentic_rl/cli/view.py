"""`agentic-rl view RUN`: look at a run's curves and conversations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agentic_rl.view import Run


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    *,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; any but loopback asks for a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="The port; 0: any free one.", show_default="8421 if free"),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE.html", help="Write one self-contained file instead of serving."),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option("--tokenizer", metavar="DIR", help="The tokenizer's folder, where the run's own is gone."),
    ] = None,
) -> None:
    """Show a run in the browser, while it trains or after."""
    from agentic_rl.view import ViewError, find_run

    try:
        found = find_run(run)
        if export is not None:
            _export(found, export, tokenizer)
        else:
            _serve(found, host, port, tokenizer, browser=not no_browser)
    except ViewError as error:
        typer.echo(f"error {error}", err=True)
        raise typer.Exit(1) from None
    except OSError as error:
        typer.echo(f"error {error.filename or export or run}: {error.strerror or error}", err=True)
        raise typer.Exit(1) from None


def _export(run: Run, file: Path, tokenizer: Path | None) -> None:
    from agentic_rl.view import export

    groups, total = export(run, file, tokenizer)
    rest = "" if groups == total else f", {groups} of {total} groups (as many of each step as fit)"
    typer.echo(f"wrote {file}: {file.stat().st_size / 1e6:.1f} MB{rest}")


def _serve(run: Run, host: str, port: int | None, tokenizer: Path | None, *, browser: bool) -> None:
    import webbrowser

    from agentic_rl.view import Server

    server = Server(run, host=host, port=port, tokenizer=tokenizer)
    typer.echo(f"{run.title}: {server.address}  (Ctrl-C ends it)")
    if browser:
        webbrowser.open(server.address)
    server.serve()
