"""How the whole file is run: `agentic_ai`, `serve_conf`, `direct_conf`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agentic_rl.config.aura.schema.section import Closed
from agentic_rl.config.types import AnyPath, Text

Mode = Literal["serve", "direct", "direct_with_serve"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
JobType = Literal["train", "verl_train", "msrl_train"]
Port = Annotated[int, Field(ge=1, le=65535)]


class AgenticAI(Closed):
    """`agentic_ai`: the mode of the run and its log."""

    mode: Annotated[Mode, Field(examples=["direct"])]
    """`serve` offers the instances as a service, `direct` runs the entrypoints; released since: `direct_with_serve`."""
    log_level: LogLevel = "INFO"
    """Least severity of what is logged."""
    log_dir: Annotated[AnyPath, Field(examples=["/tmp"])]  # noqa: S108 - stands in for a value that is missing
    """Folder of the log files; it has to be there, with write permission."""


class ServeConf(Closed):
    """`serve_conf`: where the service listens."""

    host: Annotated[Text, Field(min_length=1)] = "0.0.0.0"  # noqa: S104 - the documented default
    """Address that is listened on."""
    port: Port = 8030
    """Port that is listened on."""


class Entrypoint(Closed):
    """One job of `direct_conf.entrypoints`."""

    job_type: Annotated[JobType, Field(examples=["train"])]
    """Kind of job: `train`; released since: `verl_train`, `msrl_train`, which name the engine too."""
    job_name: Annotated[str, Field(examples=[""])]
    """Name of a train instance."""
    job_kwargs: dict[str, Any] = Field(default={})
    """Further arguments of the job."""


class DirectConf(Closed):
    """`direct_conf`: what direct mode runs."""

    entrypoints: list[Entrypoint] = Field(default=[])
    """The jobs, run at the same time where there are several."""
