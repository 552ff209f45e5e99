"""openpipe-art: its model's own client, its trajectories and its gathering; groups of eight."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

import art
from measured import PROMPT, TOOL, TURNS, measure

GROUP = 8


async def run(options: argparse.Namespace) -> int:
    """Make the rollouts."""
    model: Any = art.Model(
        name="policy",
        project="benchmark",
        inference_api_key="none",
        inference_base_url=f"http://127.0.0.1:{options.port}/v1",
        inference_model_name="policy",
    )
    client = model.openai_client()
    slots = asyncio.Semaphore(options.agents)

    async def rollout(number: int) -> Any:
        async with slots:
            trajectory = art.Trajectory(
                messages_and_choices=[{"role": "user", "content": PROMPT.format(number=number // GROUP)}], reward=0.0
            )
            for _ in range(TURNS):
                answer = await client.chat.completions.create(
                    model="policy",
                    messages=trajectory.messages(),
                    tools=[TOOL],
                    max_tokens=64,
                    logprobs=True,
                    seed=number,
                    extra_body={"return_token_ids": True},
                )
                trajectory.messages_and_choices.append(answer.choices[0])
                calls = answer.choices[0].message.tool_calls or ()
                trajectory.messages_and_choices += [
                    {"role": "tool", "tool_call_id": call.id, "content": "84"} for call in calls
                ]
            trajectory.reward = float(answer.choices[0].message.content == r"\boxed{84}")
            return trajectory

    groups = (
        art.TrajectoryGroup(rollout(number) for number in range(first, min(first + GROUP, options.rollouts)))
        for first in range(0, options.rollouts, GROUP)
    )
    done = await art.gather_trajectory_groups(groups, pbar_desc=None)
    return sum(trajectory.reward == 1.0 for group in done for trajectory in group.trajectories)


if __name__ == "__main__":
    measure(run)
