from __future__ import annotations

import asyncio

import pytest
import torch

from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.engines.generate import GenerateEngine
from agentic_rl.rollout.engines.ragged import RaggedEngine

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.parametrize(("kind", "name"), [(RaggedEngine, "qwen3"), (RaggedEngine, "llama"), (GenerateEngine, "gpt2")])
def test_a_cuda_device_generates_what_the_cpu_does(kind, name, fresh, prompts) -> None:
    requests = prompts(9, 3, 70, 17, 1, 9, 40, 40)

    async def talks(engine):
        async def talk(index: int, prompt: list[int]):
            first = await engine.generate(prompt, SamplingParams(40, seed=index, top_p=0.9), session=str(index))
            more = [*prompt, *first.tokens, 1, 2, 3]
            return first, await engine.generate(more, SamplingParams(8, temperature=0.0), session=str(index))

        return await asyncio.gather(*(talk(i, p) for i, p in enumerate(requests)))

    cpu, cuda = fresh(name), fresh(name).to("cuda")
    settings = {"max_model_len": 200, "max_num_seqs": 6, "max_num_batched_tokens": 64}
    on_cpu = asyncio.run(talks(kind(cpu, **settings)))
    on_cuda = asyncio.run(talks(kind(cuda, **settings)))
    for turns, others in zip(on_cpu, on_cuda, strict=True):
        for turn, other in zip(turns, others, strict=True):
            assert turn.tokens == other.tokens
            assert turn.logprobs == pytest.approx(other.logprobs, abs=1e-4)
