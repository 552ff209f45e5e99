"""What a rollout phase takes with our agent loop inside verl, and with verl's own tool agent loop.

    python benchmarks/verl_agent_loop.py --model DIR --data FILE.parquet [--device gpu] [--out FILE.json]

One job of verl runs both, in the same processes, on the same weights, prompts and servers: first a phase of each that
does not count, then rounds of two phases, the one that comes first changing each time. A phase is what verl's trainer
does to sample one batch, from the submission of the prompts until every rollout lies in verl's TransferQueue. verl's
loop gets our calculator as an async function, its cheapest kind, and no reward is computed for it; ours judges the
answers itself. Wanted: at most 5 % more time a phase.

Needs verl, vLLM and Ray; `PYTHONPATH=src` is enough of this package.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import yaml

OURS, VERLS = "math", "tool_agent"
TITLES = {OURS: "ours", VERLS: "verl's"}
MAX_TURNS = 3
TOOLS = """
from agentic_rl.agents.tools import calculator as ours
from verl.tools.function_tool import function_tool


@function_tool("calculator", schema=ours.calculator.schema)
async def calculator(expression):
    return ours.calculate(expression)
"""
"""verl's calculator: what its prompts say is what ours say."""


@dataclass(frozen=True)
class Phase:
    """One rollout phase."""

    loop: str
    seconds: float
    worker_seconds: float
    """CPU time of the agent-loop workers, all together."""
    rollouts: int
    tokens: int
    """Written by the policy."""
    turns: int
    """Of the policy."""
    reward: float | None
    """Mean of the rollouts; None where none was computed."""

    @property
    def by_token(self) -> float:
        """Microseconds: how long the answers are is chance."""
        return 1e6 * self.seconds / self.tokens

    @property
    def by_rollout(self) -> float:
        """Milliseconds of the workers' CPU time."""
        return 1e3 * self.worker_seconds / self.rollouts


def main() -> None:
    """Measure, and print the table."""
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="verl-loops-") as folder:
        phases = [Phase(**one) for one in measured(options, Path(folder))]
    report(phases[2:])
    if options.out:
        options.out.write_text(json.dumps([asdict(phase) for phase in phases], indent=1) + "\n")


def arguments() -> argparse.Namespace:
    """The command line; without one there is nothing to measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="parquet file; its first rows are the prompts")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--n", type=int, default=8, help="rollouts of a prompt")
    parser.add_argument("--phases", type=int, default=10, help="of each loop")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--max-new", type=int, default=96, help="tokens of a rollout after its prompt")
    parser.add_argument("--profile", type=Path, help="folder for a cProfile of our phases in each worker")
    parser.add_argument("--out", type=Path, help="JSON of every phase")
    if len(sys.argv) == 1:
        parser.print_usage()
        sys.exit()
    return parser.parse_args()


def measured(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Run the job; give every phase, the first of each loop too."""
    from agentic_rl.backends.verl.cluster import Demand, connected
    from agentic_rl.backends.verl.environment import environment

    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)  # Ray's processes may stand in another folder
    os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(path).resolve()) for path in given if path)
    native = configuration(options, folder)
    device = native["trainer"]["device"]
    (folder / ".processes").mkdir()
    with connected(Demand(device, 1, 1), os.environ) as cluster:
        variables = environment(device, os.environ, folder)
        runner = cluster.ray.remote(Runner).options(num_cpus=1, runtime_env={"env_vars": variables}).remote()
        phases: list[dict[str, Any]] = cluster.ray.get(
            runner.run.remote(native, options.phases, options.profile and options.profile.absolute())
        )
    return phases


def configuration(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Make the configuration of verl, and in `folder` the files that it names."""
    from pyarrow import parquet

    from agentic_rl.backends.verl import agent_loops, render
    from agentic_rl.config.flat.schema import FlatConfig

    data, tools = folder / "prompts.parquet", folder / "tools.py"
    rows = parquet.read_table(options.data).slice(0, options.prompts)
    parquet.write_table(rows, data)
    tools.write_text(TOOLS)
    # Exactly the longest: verl lets a later turn have what the prompt leaves of its limit, ours does not.
    prompt = longest(options.model, rows.column("prompt").to_pylist())
    config = FlatConfig.model_validate(
        {
            "train_backend": "verl",
            "device": options.device,
            "tokenizer_name_or_path": str(options.model.absolute()),
            "agent_name": OURS,
            "num_gpus_per_node": 1,
            "infer_tensor_parallel_size": 1,
            "rollout_n": options.n,
            "max_steps": MAX_TURNS,
            "max_prompt_length": prompt,
            "max_tokens": options.max_new,
            "max_model_len": prompt + options.max_new,
            "max_num_seqs": options.prompts * options.n,
            "max_num_batched_tokens": 8192,
            "temperature": 1.0,
            "top_k": -1,
            "top_p": 1.0,
            "min_p": 0.0,
            "use_stepwise_advantage": False,
            "verl": {
                "train_files": str(data),
                "val_files": str(data),
                "train_batch_size": options.prompts,
                "ppo_mini_batch_size": options.prompts,
                "max_response_length": options.max_new,
                "total_epochs": 1,
            },
        }
    )
    native = render(config, folder=folder)
    (folder / "agent_loops.yaml").write_text(yaml.safe_dump(agent_loops(config), sort_keys=False))
    native["trainer"]["resume_mode"] = "disable"
    native["actor_rollout_ref"]["rollout"]["multi_turn"] |= {
        "enable": True,
        "function_tool_path": str(tools),
        "format": "hermes",
        "max_assistant_turns": MAX_TURNS,
    }
    return native


def longest(model: Path, prompts: Sequence[list[dict[str, Any]]]) -> int:
    """Tokens of the longest prompt, the description of the calculator included."""
    from transformers import AutoTokenizer

    from agentic_rl.agents import find_agent
    from agentic_rl.backends.local.data import without_nulls
    from agentic_rl.rollout.chat import ChatFormat

    chat_format = ChatFormat(AutoTokenizer.from_pretrained(str(model)))
    messages = [[without_nulls(dict(message)) for message in prompt] for prompt in prompts]
    tools = getattr(find_agent(OURS), "tools", ())
    return max(len(chat_format.initial_ids(prompt, tools)) for prompt in messages)


class Runner:
    """The process from which verl runs the job; like verl's own task runner, without training."""

    def run(self, config: Mapping[str, Any], rounds: int, profile: Path | None) -> list[dict[str, Any]]:
        """Start everything, then run the phases."""
        import transfer_queue as tq
        from omegaconf import OmegaConf
        from verl.trainer.ppo.v1 import PPOTrainerSync

        native = OmegaConf.create(dict(config))
        native.transfer_queue.enable = True
        tq.init(native.transfer_queue)
        try:
            trainer = PPOTrainerSync(config=native)
            trainer.init()
            trainer.agent_loop_manager = manager(native, trainer)
            trainer.global_steps = 1
            rows = next(iter(trainer.train_dataloader))
            order = [OURS, VERLS]
            orders = [order, *(order[:: 1 if place % 2 else -1] for place in range(rounds))]
            return [phase(trainer, rows, loop, profile) for pair in orders for loop in pair]
        finally:
            tq.close()


def manager(native: Any, trainer: Any) -> Any:
    """Make a manager of agent loops whose workers can be waited for. Without handles of it there is no reward."""
    import ray
    from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ

    plain: Any = AgentLoopWorkerTQ.__ray_metadata__.modified_class

    class Worker(plain):  # type: ignore[misc]
        """verl's; nothing that a rollout runs through is changed."""

        async def settled(self) -> float:
            """Wait for all rollouts; give the CPU time of this process until now."""
            import asyncio

            while self.background_tasks:
                await asyncio.wait(set(self.background_tasks))
            return time.process_time()

        async def profile(self, file: str | None) -> None:
            """Begin a profile, or with a name end it."""
            import cProfile

            if file is None:
                self.profiler = cProfile.Profile()
                self.profiler.enable()
            else:
                self.profiler.disable()
                self.profiler.dump_stats(file)

    class Manager(AgentLoopManagerTQ):  # type: ignore[misc]
        """Its parent's, with these workers."""

        def __init__(self, *args: Any, **keywords: Any) -> None:
            super().__init__(*args, **keywords)
            self.agent_loop_workers_class = ray.remote(Worker)

    return Manager.create(
        config=native, llm_client=trainer.get_llm_client(), teacher_client=None, reward_loop_worker_handles=None
    )


def phase(trainer: Any, rows: Mapping[str, Any], loop: str, profile: Path | None) -> dict[str, Any]:
    """Roll all prompts out once."""
    import numpy as np
    import ray
    import transfer_queue as tq
    from verl.utils import tensordict_utils

    prompts = len(rows["raw_prompt"])
    columns = {
        **rows,
        "uid": np.array([str(uuid.uuid4()) for _ in range(prompts)], dtype=object),
        "agent_name": np.array([loop] * prompts, dtype=object),
    }
    batch = tensordict_utils.get_tensordict(columns)
    tensordict_utils.assign_non_tensor_data(batch, "global_steps", trainer.global_steps)
    workers = trainer.agent_loop_manager.agent_loop_workers
    before = ray.get([worker.settled.remote() for worker in workers])
    if profile:
        ray.get([worker.profile.remote(None) for worker in workers])
    begun = time.perf_counter()
    trainer._submit_batch_to_rollout(batch)  # what a step of the trainer calls
    after = ray.get([worker.settled.remote() for worker in workers])
    seconds = time.perf_counter() - begun
    if profile:
        name = f"{loop}-{uuid.uuid4().hex[:8]}.prof"
        ray.get([worker.profile.remote(str(profile / f"{place}-{name}")) for place, worker in enumerate(workers)])
    counts = counted(loop, set(columns["uid"]))
    tq.kv_clear(keys=list(tq.kv_list("train")["train"]), partition_id="train")
    return {"loop": loop, "seconds": seconds, "worker_seconds": sum(after) - sum(before), **counts}


def counted(loop: str, uids: set[str]) -> dict[str, Any]:
    """What the rollouts in the TransferQueue came to.

    Raises:
        RuntimeError: one of them failed, so that the phase is no measurement.
    """
    import transfer_queue as tq

    from agentic_rl.backends.verl.inside.outputs import turns_of

    tags = tq.kv_list("train")["train"]
    failed = sum(tags[uid]["status"] != "finished" for uid in uids)
    if failed:
        raise RuntimeError(f"{TITLES[loop]}: the loop failed with {failed} of {len(uids)} prompts")
    keys = [key for key in tags if key not in uids]
    data = tq.kv_batch_get(keys=keys, partition_id="train")
    errors = [one["rollout"]["error"] for one in data["extra_fields"] if one.get("rollout", {}).get("error")]
    if errors:
        raise RuntimeError(f"{TITLES[loop]}: {len(errors)} of {len(keys)} rollouts failed: {errors[0]}")
    masks = [row.tolist() for row in data["response_mask"].unbind()]
    return {
        "rollouts": len(keys),
        "tokens": sum(map(sum, masks)),
        "turns": sum(len(turns_of(mask)) for mask in masks),
        "reward": float(sum(row.sum() for row in data["rm_scores"].unbind())) / len(keys) if loop == OURS else None,
    }


def report(phases: Sequence[Phase]) -> None:
    """Print medians and quartiles, and how ours compares."""
    of = {loop: [phase for phase in phases if phase.loop == loop] for loop in TITLES}
    print(f"{len(of[OURS])} phases each of {phases[0].rollouts} rollouts; median (quartiles)")
    print(f"{'loop':8}{'phase s':>24}{'us a token':>24}{'worker CPU ms a rollout':>28}{'tokens':>8}{'turns':>8}")
    for loop, ones in of.items():
        seconds, token, rollout = (spread([getattr(one, name) for one in ones]) for name in MEASURES)
        tokens, turns = (median(getattr(one, name) for one in ones) for name in ("tokens", "turns"))
        print(f"{TITLES[loop]:8}{seconds:>24}{token:>24}{rollout:>28}{tokens:8.0f}{turns:8.0f}")
    for name, title in MEASURES.items():
        ours, verls = ([getattr(one, name) for one in of[loop]] for loop in (OURS, VERLS))
        pairs = [mine / other for mine, other in zip(ours, verls, strict=True)]
        print(f"{title}: ours / verl's {median(ours) / median(verls):.3f}; of the rounds {spread(pairs)}")
    print(f"mean reward of ours: {median(one.reward or 0.0 for one in of[OURS]):.3f}")


MEASURES = {"seconds": "phase", "by_token": "by token", "by_rollout": "CPU of the workers"}


def spread(values: Sequence[float]) -> str:
    """Median and quartiles."""
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else (values[0],) * 3
    return f"{median(values):.3f} ({low:.3f} - {high:.3f})"


if __name__ == "__main__":
    main()
