"""Training jobs: started, watched and ended through the service."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.serve.jobs import Jobs, command_for
from agentic_rl.serve.metrics import Metrics
from agentic_rl.serve.settings import Settings, Train
from serve_doubles import Parts, Service, script, serving

PRINTS = "import sys; print('begun', *sys.argv[1:])"
WAITS = "import time; print('waits', flush=True); time.sleep(60)"
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
print('waits', os.getpid(), flush=True)
time.sleep(60)
"""


def parts(folder: Path, text: str = PRINTS, **more: Any) -> Parts:
    trains = [Train("seven", str(folder / "run")), Train("eight", str(folder / "other"))]
    return Parts(folder / "log", trains=trains, command=script(text), **more)


async def submitted(running: Service, name: str = "seven", **more: Any) -> dict[str, Any]:
    answer = await running.client.post("/jobs", json={"train_instance": name, **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def until(running: Service, job: dict[str, Any], *states: str) -> dict[str, Any]:
    for _ in range(500):
        stands = dict((await running.client.get(f"/jobs/{job['id']}")).json())
        if stands["state"] in states:
            return stands
        await asyncio.sleep(0.02)
    raise AssertionError(stands)


def test_a_job_runs_and_its_output_can_be_read(tmp_path: Path) -> None:
    async def body(running: Service) -> None:
        job = await submitted(running, overrides=["verl_conf.trainer.total_epochs=2"])
        assert job["state"] in ("waiting", "running")
        ended = await until(running, job, "succeeded")
        assert ended["exit_status"] == 0
        assert ended["submitted"] <= ended["started"] <= ended["ended"] <= time.time()
        logs = await running.client.get(f"/jobs/{job['id']}/logs")
        assert logs.text == "begun seven verl_conf.trainer.total_epochs=2\n"
        rest = await running.client.get(f"/jobs/{job['id']}/logs", params={"offset": 6})
        assert (rest.text, rest.headers["x-next-offset"]) == (logs.text[6:], str(len(logs.text)))
        assert b'jobs_total{instance="seven",state="succeeded"} 1.0' in running.metrics.text()

    serving(parts(tmp_path), body)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "log" / "jobs").iterdir()} == {0o640}


def test_a_job_that_fails_says_how(tmp_path: Path) -> None:
    async def body(running: Service) -> dict[str, Any]:
        return await until(running, await submitted(running), "failed")

    ended = serving(parts(tmp_path, "import sys; sys.exit('no luck')"), body)
    assert (ended["state"], ended["exit_status"], ended["error"]) == ("failed", 1, None)


def test_a_job_that_can_not_be_placed_fails_before_it_starts(tmp_path: Path) -> None:
    def place(train: Train) -> None:
        raise RuntimeError("the cluster has no NPU")

    async def body(running: Service) -> dict[str, Any]:
        return await until(running, await submitted(running), "failed")

    ended = serving(parts(tmp_path, place=place), body)
    assert (ended["started"], ended["error"]) == (None, "the cluster has no NPU")


def test_cancelling_asks_the_process_and_waits_for_its_end(tmp_path: Path) -> None:
    async def body(running: Service) -> None:
        job = await submitted(running)
        while "waits" not in (logs := (await running.client.get(f"/jobs/{job['id']}/logs")).text):
            await asyncio.sleep(0.02)
        ended = (await running.client.post(f"/jobs/{job['id']}/cancel")).json()
        assert (ended["state"], ended["exit_status"]) == ("cancelled", 3)
        with pytest.raises(ProcessLookupError):
            os.kill(int(logs.split()[1]), 0)
        assert (await running.client.post(f"/jobs/{job['id']}/cancel")).status_code == 409

    serving(parts(tmp_path, STUBBORN), body)


def test_cancelling_a_job_that_waits_for_its_place(tmp_path: Path) -> None:
    async def body(running: Service) -> str:
        job = await submitted(running)
        return str((await running.client.post(f"/jobs/{job['id']}/cancel")).json()["state"])

    assert serving(parts(tmp_path, place=lambda train: time.sleep(0.3)), body) == "cancelled"


def test_an_instance_has_one_job_at_a_time(tmp_path: Path) -> None:
    async def body(running: Service) -> None:
        job = await submitted(running)
        again = await running.client.post("/jobs", json={"train_instance": "seven"})
        assert again.status_code == 409
        assert job["id"] in again.json()["error"]["message"]
        other = await submitted(running, "eight")
        listed = (await running.client.get("/jobs")).json()["jobs"]
        assert [one["id"] for one in listed] == [other["id"], job["id"]]

    serving(parts(tmp_path, WAITS), body)


def test_jobs_end_with_the_service_and_are_known_to_the_next(tmp_path: Path) -> None:
    async def first(running: Service) -> str:
        job = await submitted(running)
        await until(running, job, "running")
        return str(job["id"])

    job_id = serving(parts(tmp_path, WAITS), first)
    lost = {"id": "gone", "instance": "nine", "overrides": [], "submitted": 1.0, "state": "running", "started": 1.0}
    (tmp_path / "log" / "jobs" / "gone.json").write_text(json.dumps(lost))
    (tmp_path / "log" / "jobs" / "torn.json").write_text('{"id": "t')

    async def second(running: Service) -> dict[str, str]:
        return {one["id"]: one["state"] for one in (await running.client.get("/jobs")).json()["jobs"]}

    assert serving(parts(tmp_path), second) == {job_id: "cancelled", "gone": "lost"}


def test_the_status_has_the_newest_measurements_of_this_job_alone(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    file = run / "metrics.jsonl"
    file.write_text('{"step": 9, "reward/mean": 0.1}\n')
    os.utime(file, (1, 1))

    async def body(running: Service) -> None:
        job = await until(running, await submitted(running), "running")
        assert job["metrics"] == {}
        file.write_text(
            '{"step": 1, "phase": "train", "reward/mean": 0.25, "policy/kl": null}\n'
            '{"step": 2, "phase": "train", "reward/mean": 0.5}\n{"step": 2, "phase": "eval", "eval/reward": 0.75}\n{"st'
        )
        stands = (await running.client.get(f"/jobs/{job['id']}")).json()
        assert stands["metrics"] == {"step": 2, "values": {"reward/mean": 0.5, "eval/reward": 0.75}}

    serving(parts(tmp_path, WAITS), body)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"train_instance": "nine"}, 404),
        ({"train_instance": "seven", "overrides": ["--instance"]}, 400),
        ({"train_instance": "seven", "overrides": ["a\u0000=1"]}, 400),
        ({"train_instance": "seven", "overrides": ["a=\ud800"]}, 422),
        ({"train_instance": "seven", "overrides": "a=1"}, 422),
        ({"instance": "seven"}, 422),
    ],
)
def test_wrong_submissions(tmp_path: Path, asked: Any, status: int) -> None:
    async def body(running: Service) -> int:
        headers = {"Content-Type": "application/json"}
        answer = await running.client.post("/jobs", content=json.dumps(asked), headers=headers)
        assert answer.json()["error"]["message"]
        return answer.status_code

    assert serving(parts(tmp_path), body) == status


def test_the_command_is_that_of_direct_mode(tmp_path: Path) -> None:
    settings = Settings("/c.yaml", ("a=1",), "127.0.0.1", 0, str(tmp_path))
    jobs = Jobs(settings, Metrics(), command_for(settings), lambda train: None)
    command = jobs.command(Train("seven", ""), ["b=2"])
    assert command[1:] == ["-m", "agentic_rl.cluster.entrypoint", "/c.yaml", "--instance", "seven", "a=1", "b=2"]
