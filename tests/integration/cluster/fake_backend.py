"""Stands in for the trainer of verl in the tests of launching: a job that only uses the cluster that it was given.

`AGENTIC_RL_FAKE` says what it does: `finish`, `wait` (until a signal), `die` (the first start is killed after a step).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from agentic_rl.backends.base import Plan, Trainer, TrainResult
from agentic_rl.backends.run_folder import run_path
from agentic_rl.config.diagnostics import Report
from agentic_rl.config.load import Loaded

METADATA = "Metadata-Version: 2.1\nName: agentic-rl\nVersion: 0\n"
POINTS = "[agentic_rl.backends]\nverl = fake_backend:FakeTrainer\n"


class FakeTrainer(Trainer):
    def __init__(self, loaded: Loaded, instance: str) -> None:
        super().__init__(loaded)
        self.instance = instance

    def check(self) -> Report:
        return Report()

    def plan(self) -> Plan:
        return Plan("fake", [])

    def evaluate(self) -> dict[str, float]:
        return {}

    def fit(self) -> TrainResult:
        run = run_path("instances", "one_step_off")
        run.mkdir(parents=True, exist_ok=True)
        seen = cluster()
        done = len(list(run.glob("global_step_*")))
        with (run / "metrics.jsonl").open("a") as file:
            file.write(json.dumps({"step": done + 1}) + "\n")
        (run / f"global_step_{done + 1}").mkdir()
        (run / "seen.json").write_text(json.dumps(seen))
        how = os.environ["AGENTIC_RL_FAKE"]
        if how == "die" and not done:
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "wait":
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
            time.sleep(600)
        return TrainResult(done + 1, "finished")


def cluster() -> dict[str, object]:
    """What the job sees: each role's address by a task there, and how many nodes infer."""
    import ray

    ray.init(address=os.environ["RAY_ADDRESS"], log_to_driver=False, logging_level="ERROR")
    try:
        where = ray.remote(_address)
        tasks = {
            role: where.options(num_cpus=0, resources={f"agentic_rl_{role}": 0.01}).remote()
            for role in ("training", "inference")
        }
        return {
            **{role: ray.get(task, timeout=60) for role, task in tasks.items()},
            "nodes": sum(node["Alive"] for node in ray.nodes()),
            "infer": os.environ["AGENTIC_RL_INFERENCE_NODES"],
        }
    finally:
        ray.shutdown()


def _address() -> str:
    import ray

    return str(ray.util.get_node_ip_address())


def install(folder: Path) -> dict[str, str]:
    """Put this backend before the real one: the variables with which processes find it."""
    info = folder / "agentic_rl-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(POINTS)
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parent)])}
