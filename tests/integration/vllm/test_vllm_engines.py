"""Both ways to vLLM give the tokens' own log-probabilities, as a forward pass of transformers says."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.agents import Agent, ChatModel, Task
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from agentic_rl.rollout.engines.base import Completion, Engine, PromptTooLongError, SamplingParams
from agentic_rl.rollout.engines.http_engine import HttpEngine
from agentic_rl.rollout.engines.http_faults import ServerRefusedError
from agentic_rl.rollout.engines.vllm_engine import VllmEngine

pytestmark = [
    pytest.mark.integration,
    pytest.mark.verl,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),  # vLLM and what it imports
]
PROMPTS = [[5, 6, 7, 8], [100, 20, 3], [40] * 30]


def logprobs_by_transformers(folder: Path, prompt: Sequence[int], tokens: Sequence[int], temperature: float) -> Any:
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *tokens]])).logits[0, len(prompt) - 1 : -1].float()
    scores = torch.log_softmax(logits / temperature, -1)
    return scores.gather(1, torch.tensor(list(tokens))[:, None])[:, 0].tolist()


async def completions(engine: Engine, **sampling: Any) -> list[Completion]:
    calls = (
        engine.generate(prompt, SamplingParams(max_tokens=12, seed=seed, **sampling), session=str(seed))
        for seed, prompt in enumerate(PROMPTS)
    )
    return list(await asyncio.gather(*calls))


def assert_as_transformers(folder: Path, given: Sequence[Completion], temperature: float = 1.0) -> None:
    for prompt, completion in zip(PROMPTS, given, strict=True):
        expected = logprobs_by_transformers(folder, prompt, completion.tokens, temperature)
        assert completion.logprobs == pytest.approx(expected, abs=2e-3)
        assert len(completion.tokens) == 12 or completion.finish_reason == "stop"


async def assert_streams_say_the_same(engine: Engine, expected: Sequence[Completion]) -> None:
    for seed, (prompt, completion) in enumerate(zip(PROMPTS, expected, strict=True)):
        told: list[tuple[Sequence[int], Sequence[float]]] = []
        params = SamplingParams(max_tokens=12, seed=seed)
        whole = await engine.generate(prompt, params, on_tokens=lambda *news: told.append(news))  # noqa: B023 - awaited
        assert (whole.tokens, whole.finish_reason) == (completion.tokens, completion.finish_reason)
        assert whole.logprobs == pytest.approx(completion.logprobs, abs=1e-4)
        assert [token for tokens, _ in told for token in tokens] == whole.tokens
        assert [logprob for _, logprobs in told for logprob in logprobs] == whole.logprobs
        assert len(told) > 1

    def enough(tokens: Sequence[int], logprobs: Sequence[float]) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        await engine.generate(PROMPTS[0], SamplingParams(max_tokens=100), on_tokens=enough)


class Chats(Agent):
    """Two turns, whatever the policy says."""

    async def run(self, task: Task, model: ChatModel) -> float:
        messages = list(task.prompt)
        for _ in range(2):
            messages += [await model.chat(messages), {"role": "user", "content": "more"}]
        return 1.0


async def assert_rollouts_are_exact(engine: Engine, folder: Path) -> None:
    import transformers

    chat_format = ChatFormat(transformers.AutoTokenizer.from_pretrained(folder))
    limits = {"max_prompt_length": 200, "max_response_length": 200, "max_tokens": 16, "max_steps": 4}
    tasks = [Task([{"role": "user", "content": f"question {idx}"}], idx=idx, seed=idx) for idx in range(8)]
    for one in await Driver(engine, chat_format, **limits).run(Chats(), tasks):
        assert (one.error, one.metrics["turns"]) == ("", 2)
        expected = logprobs_by_transformers(folder, one.prompt_tokens, one.response_tokens, 1.0)
        own = [value for value, mask in zip(expected, one.response_masks, strict=True) if mask]
        recorded = [value for value, mask in zip(one.response_logprobs, one.response_masks, strict=True) if mask]
        assert recorded == pytest.approx(own, abs=2e-3)


@pytest.fixture(scope="module", params=["raw_logprobs", "processed_logprobs"])
def server(
    request: pytest.FixtureRequest, model_folder: Path, vllm_environment: dict[str, str], tmp_path_factory: Any
) -> Iterator[tuple[str, str]]:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    program = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model_folder)]
    options = ["--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port), "--max-model-len", "256"]
    options += ["--enforce-eager", "--dtype", "float32", "--logprobs-mode", request.param, "--api-key", "secret"]
    with (
        log.open("wb") as file,
        subprocess.Popen([*program, *options], stdout=file, stderr=subprocess.STDOUT, env=vllm_environment) as process,
    ):
        try:
            wait_until_well(f"http://127.0.0.1:{port}/health", process, log)
            yield f"127.0.0.1:{port}", request.param
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:  # it was still starting
                process.kill()


def wait_until_well(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if answers(url):
            return
        if process.poll() is not None:
            break
        time.sleep(1)
    raise AssertionError(log.read_text(errors="replace")[-3000:])


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except OSError:
        return False


def test_a_server_over_http(server: tuple[str, str], model_folder: Path) -> None:
    address, mode = server

    async def run() -> None:
        with pytest.raises(ServerRefusedError, match="status 401"):
            await HttpEngine.connect([address], api_key="wrong")
        engine = await HttpEngine.connect([f"http://{address}/v1"], model="tiny", api_key="secret")
        assert engine.max_model_len == 256
        first = await completions(engine)
        assert_as_transformers(model_folder, first)
        assert await completions(engine) == first  # equal seeds, equal tokens
        await assert_streams_say_the_same(engine, first)
        assert_as_transformers(model_folder, await completions(engine, temperature=0.0))
        if mode == "processed_logprobs":
            assert_as_transformers(model_folder, await completions(engine, temperature=0.6), 0.6)
        else:
            assert_as_transformers(model_folder, await completions(engine, top_k=5, top_p=0.9))
            with pytest.raises(ValueError, match=r"temperature 0\.6"):
                await completions(engine, temperature=0.6)
        with pytest.raises(ServerRefusedError, match="status 400"):
            await engine.generate([10**6], SamplingParams(max_tokens=1))
        with pytest.raises(PromptTooLongError):
            await engine.generate([5] * 256, SamplingParams(max_tokens=1))
        stop = first[0].tokens[3]
        short = await engine.generate(PROMPTS[0], SamplingParams(max_tokens=12, stop_token_ids=(stop,)), session="0")
        assert (short.finish_reason, short.tokens[-1]) == ("stop", stop)
        await assert_rollouts_are_exact(engine, model_folder)
        await engine.close()

    asyncio.run(run())


def test_vllm_in_process(model_folder: Path, vllm_environment: dict[str, str]) -> None:
    async def run() -> None:
        engine = VllmEngine.start(str(model_folder), max_model_len=256, enforce_eager=True, dtype="float32")
        try:
            assert engine.max_model_len == 256
            first = await completions(engine)
            assert_as_transformers(model_folder, first)
            assert await completions(engine) == first
            await assert_streams_say_the_same(engine, first)
            with pytest.raises(PromptTooLongError):
                await engine.generate([5] * 256, SamplingParams(max_tokens=1))
            with pytest.raises(ValueError, match="token id 1000000"):
                await engine.generate([10**6], SamplingParams(max_tokens=1))
            late = asyncio.ensure_future(engine.generate(PROMPTS[0], SamplingParams(max_tokens=200)))
            await asyncio.sleep(0.01)
            late.cancel()
            with pytest.raises(asyncio.CancelledError):
                await late
            await assert_rollouts_are_exact(engine, model_folder)
        finally:
            await engine.close()

    asyncio.run(run())
