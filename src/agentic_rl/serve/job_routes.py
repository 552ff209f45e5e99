"""`/jobs`: training jobs of the train instances."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field, StrictStr, StringConstraints

from agentic_rl.rollout.gateway.faults import ApiError, InvalidError
from agentic_rl.serve.answers import Json, errors
from agentic_rl.serve.job_metrics import latest
from agentic_rl.serve.jobs import Job, Jobs
from agentic_rl.serve.settings import Train

router = APIRouter(prefix="/jobs", tags=["jobs"])
_MOST_LOG = 1 << 20
_OVERRIDE = re.compile(r"[A-Za-z_][^=\s\0]*=[^\0]*")


class Submission(BaseModel):
    """What is to be trained."""

    model_config = ConfigDict(extra="forbid")

    train_instance: Annotated[StrictStr, Field(description="The name of a train instance.")]
    overrides: Annotated[
        list[Annotated[StrictStr, StringConstraints(max_length=4096)]],
        Field(max_length=256, description="`key=value` each, for this job alone."),
    ] = Field(default_factory=list)


class JobAnswer(BaseModel):
    """A job; times in seconds since 1970."""

    id: str
    instance: str
    state: str
    overrides: list[str]
    submitted: float
    started: float | None = None
    ended: float | None = None
    exit_status: int | None = None
    error: str | None = None
    metrics: dict[str, Any] = Field(default_factory=dict)


class JobList(BaseModel):
    """The jobs, the newest first."""

    jobs: list[JobAnswer]


@router.post("", status_code=201, response_model=JobAnswer, responses=errors(400, 404, 408, 409, 413, 422))
async def submit(request: Request, submission: Submission) -> Json:
    """Start a training job. An instance has one job at a time."""
    jobs = _jobs(request)
    trains = {one.name: one for one in jobs.settings.trains}
    train = trains.get(submission.train_instance)
    if train is None:
        raise ApiError(
            404,
            f"there is no train instance {submission.train_instance[:100]!r}; known: {', '.join(trains) or 'none'}",
            param="train_instance",
            code="train_instance_not_found",
        )
    for one in submission.overrides:
        if not _OVERRIDE.fullmatch(one):
            raise InvalidError(f"the override {one[:100]!r} is not KEY=VALUE", param="overrides", code="override")
    return Json(_answer(jobs, jobs.submit(train, submission.overrides)), status_code=201)


@router.get("", response_model=JobList, responses=errors())
async def listed(request: Request) -> Json:
    """List the jobs, the newest first."""
    jobs = _jobs(request)
    return Json({"jobs": [_answer(jobs, job) for job in jobs.all()]})


@router.get("/{job_id}", response_model=JobAnswer, responses=errors(404, 422))
async def status(request: Request, job_id: str) -> Json:
    """Say how a job stands, with the newest value of everything that it measures."""
    jobs = _jobs(request)
    return Json(_answer(jobs, jobs.get(job_id)))


@router.post("/{job_id}/cancel", response_model=JobAnswer, responses=errors(404, 409, 422))
async def cancel(request: Request, job_id: str) -> Json:
    """End a job. The answer comes when it has ended; what trains writes a checkpoint first."""
    jobs = _jobs(request)
    return Json(_answer(jobs, await jobs.cancel(jobs.get(job_id))))


@router.get("/{job_id}/logs", response_class=PlainTextResponse, responses=errors(404, 422))
async def logs(
    request: Request,
    job_id: str,
    offset: Annotated[int, Query(ge=0, le=2**62, description="Bytes to pass over.")] = 0,
) -> PlainTextResponse:
    """Give the output of a job, at most 1 MiB at a time; the header X-Next-Offset says where to go on."""
    jobs = _jobs(request)
    text = _read(jobs.log(jobs.get(job_id)), offset)
    return PlainTextResponse(text, headers={"X-Next-Offset": str(offset + len(text)), "Cache-Control": "no-store"})


def _jobs(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs


def _answer(jobs: Jobs, job: Job) -> dict[str, Any]:
    train: Train | None = jobs.train(job)
    measured = latest(Path(train.folder), job.started) if train is not None and job.started is not None else {}
    return {**asdict(job), "metrics": measured}


def _read(path: Path, offset: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(_MOST_LOG)
    except FileNotFoundError:
        return b""  # it has not begun
