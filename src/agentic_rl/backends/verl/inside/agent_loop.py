"""Our agents as an agent loop of verl, which makes one for each rollout."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput

from agentic_rl.agents.own_lines import with_own_line
from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.verl.inside.engine import Served
from agentic_rl.backends.verl.inside.outputs import Frame, Rollout, Sample, rollout_of
from agentic_rl.backends.verl.inside.records import FIELD, packed
from agentic_rl.backends.verl.inside.room import Rolled, RolloutRoom, room_of
from agentic_rl.backends.verl.inside.settings import RolloutSettings
from agentic_rl.backends.verl.inside.tasks import Sampling, task_of


class AgenticLoop(AgentLoopBase):
    """Runs one rollout in the room of its worker process.

    Args:
        settings: what `RolloutSettings.to_text` gives, from the entry in `agent_loops.yaml`.
        **verl: what verl gives to every agent loop.
    """

    def __init__(self, settings: str, **verl: Any) -> None:
        super().__init__(**verl)
        self._settings = RolloutSettings.from_text(settings)

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput | list[AgentLoopOutput]:
        """Run the rollout of a row of the data.

        Whatever goes wrong is in the output, as a masked one with the reason: an exception would only take the other
        rollouts of the prompt with it.

        Returns:
            One output; one for each turn with stepwise samples, and one for each part of a trajectory with several.
        """
        begun = time.perf_counter()
        served, record = Served(), b""
        try:
            rollout, served, record = await self._rolled(sampling_params, row)
        except (Exception, SystemExit) as error:  # the user's file, the chat template, a row that is no task
            rollout = rollout_of(_failed(error), self._frame(filler=0), [])
        outputs = _outputs(rollout, _versions(served, row), served.seconds, time.perf_counter() - begun)
        outputs[0].extra_fields[FIELD] = record
        return outputs if self._settings.stepwise or len(outputs) > 1 else outputs[0]

    async def _rolled(
        self, sampling_params: Mapping[str, Any], row: Mapping[str, Any]
    ) -> tuple[Rollout, Served, bytes]:
        room = self._room()
        sampling = Sampling.of(sampling_params)
        task = task_of(row, self._settings.seed, greedy=sampling.greedy)
        rolled = await room.rollout(task, sampling, str(row.get("uid")))
        frame = self._frame(filler=room.chat_format.end_of_turn)
        rollout = rollout_of(rolled.trajectory, frame, _opening(room, rolled, task))
        return rollout, rolled.served, packed(rolled.trajectory, task)

    def _frame(self, filler: int) -> Frame:
        settings = self._settings
        return Frame(settings.max_prompt_length, settings.max_response_length, settings.stepwise, filler)

    def _room(self) -> RolloutRoom:
        rollout = self.rollout_config
        context = rollout.max_model_len or rollout.prompt_length + rollout.response_length
        limit = self._settings.max_model_len
        return room_of(
            self._settings, self.server_manager, self.tokenizer, context if limit is None else min(context, limit)
        )


def _opening(room: RolloutRoom, rolled: Rolled, task: Task) -> list[int]:
    """The tokens of the task's messages; needed, and looked up, only where the rollout recorded none."""
    if len(rolled.trajectory.prompt_tokens) > 0:
        return []
    try:
        return list(room.chat_format.initial_ids(task.prompt))
    except ValueError:  # the template's, and then the reason why the rollout failed
        return []


def _failed(error: BaseException) -> Trajectory:
    return Trajectory([], [], [], finish_reason="error", error=with_own_line(error, None))


def _versions(served: Served, row: Mapping[str, Any]) -> dict[str, int]:
    """The training steps of the weights that generated; where nothing was, the weights that this step began with."""
    begun_with = max(int(row.get("global_steps") or 0) - 1, 0)
    oldest = begun_with if served.oldest is None else served.oldest
    return {"min_global_steps": oldest, "max_global_steps": oldest if served.newest is None else served.newest}


def _outputs(rollout: Rollout, versions: dict[str, int], generating: float, seconds: float) -> list[AgentLoopOutput]:
    metrics = AgentLoopMetrics(generate_sequences=generating, tool_calls=max(seconds - generating, 0.0))
    return [_output(rollout, sample, versions, metrics) for sample in rollout.samples]


def _output(rollout: Rollout, sample: Sample, versions: dict[str, int], metrics: AgentLoopMetrics) -> AgentLoopOutput:
    return AgentLoopOutput(
        prompt_ids=sample.prompt,
        response_ids=sample.response,
        response_mask=sample.mask,
        response_logprobs=sample.logprobs,
        reward_score=sample.reward,
        num_turns=rollout.messages,
        metrics=metrics,
        extra_fields={
            **versions,
            # verl leaves texts out of the numbers that it makes of these
            "reward_extra_info": {**rollout.counts, "error": rollout.error},
            "turn_scores": sample.turn_scores,
            "tool_rewards": [],
            "rollout": rollout.summary(),
            FIELD: b"",
        },
    )
