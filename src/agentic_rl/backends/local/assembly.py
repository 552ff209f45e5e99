"""Putting a run together: the policy, what rolls it out, and what it learns from."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from agentic_rl.agents import (
    AgentFileError,
    DuplicateAgentError,
    McpError,
    NotAnAgentError,
    UnknownAgentError,
    find_agent,
    load_agent_file,
)
from agentic_rl.agents.closing import close_agent
from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.errors import TrainingError
from agentic_rl.backends.interrupts import Interrupts
from agentic_rl.backends.local.data import TaskTable
from agentic_rl.backends.local.data_files import TASK_COLUMNS, DataFile
from agentic_rl.backends.local.policy import PolicyError, load_policy, resolve_device
from agentic_rl.backends.local.settings import local_section
from agentic_rl.backends.local.warmup import DemonstrationError
from agentic_rl.config.agent_file.pages import UNUSABLE
from agentic_rl.config.diagnostics import ConfigError, Finding, Report
from agentic_rl.config.secure_paths import PathChangedError
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver, Runnable
from agentic_rl.rollout.engines import engine_for
from agentic_rl.rollout.engines.base import Engine
from agentic_rl.rollout.errors import ChatTemplateError
from agentic_rl.rollout.leftovers import cancel_all

if TYPE_CHECKING:
    from agentic_rl.config.flat import FlatConfig
    from agentic_rl.config.load import Loaded

AGENT_KEY, MODEL_KEY, SEARCH_KEY = "agent_engine_wrapper_path", "tokenizer_name_or_path", "search"
EXPECTED = (
    ChatTemplateError,
    DemonstrationError,
    DuplicateAgentError,
    McpError,
    NotAnAgentError,
    PathChangedError,
    PolicyError,
    UnknownAgentError,
)
"""What can be wrong with the user's files without being a fault of this program."""


@dataclass(frozen=True)
class Policy:
    """The model that learns, with the tokenizer and the chat format that belong to it."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    chat_format: ChatFormat

    @property
    def pad_id(self) -> int:
        """A token to fill rows with; what stands there is never looked at."""
        return int(self.tokenizer.pad_token_id or 0)


@contextlib.contextmanager
def user_errors() -> Iterator[None]:
    """Turn what is wrong with the user's files into an exception that is shown without a traceback.

    Raises:
        ConfigError: the agent file can't be used; the finding has its own line.
        TrainingError: anything else.
    """
    try:
        yield
    except AgentFileError as error:
        raise ConfigError(Report([_unusable(error)])) from error
    except EXPECTED as error:
        raise TrainingError(str(error)) from error


def _unusable(error: AgentFileError) -> Finding:
    return Finding(
        UNUSABLE.code,
        UNUSABLE.severity,
        AGENT_KEY,
        error.problem,
        "correct the file; the packages, files and services that it uses must be there when training starts",
        error.file,
        error.line,
    )


def build_policy(loaded: Loaded) -> Policy:
    """Load the model that the configuration names, as it is before training.

    Raises:
        TrainingError: its files can't be used, or changed after they were checked.
    """
    config = loaded.require_flat()
    with user_errors():
        path = loaded.checked[MODEL_KEY].confirm()
        device = resolve_device(config.device)
        model, tokenizer = load_policy(path, device, trust_remote_code=config.trust_remote_code)
        chat_format = ChatFormat.configured(
            tokenizer, tool_parser=config.tool_parser, enable_thinking=config.enable_thinking
        )
        return Policy(model, tokenizer, chat_format)


def build_agent(loaded: Loaded) -> Runnable:
    """The agent: the user's own file where one is named, otherwise the one called `agent_name`.

    Raises:
        ConfigError: the file can't be used.
        TrainingError: the file, or the one that is searched, changed after it was checked, or no agent has the name.
    """
    config = loaded.require_flat()
    with user_errors():
        if SEARCH_KEY in loaded.checked:
            loaded.checked[SEARCH_KEY].confirm()
        if config.agent_engine_wrapper_path is None:
            return find_agent(config.agent_name)
        checked = loaded.checked[AGENT_KEY]
        with checked.open() as file:
            return load_agent_file(checked.path, file.read())


def read_tasks(loaded: Loaded, key: str) -> TaskTable:
    """The tasks of the data file that `key` names.

    Raises:
        DataError: it changed after it was checked.
    """
    return TaskTable(DataFile.of(loaded, key).table(TASK_COLUMNS))


class Roller:
    """Rolls tasks out with one agent, one policy and one event loop."""

    def __init__(self, config: FlatConfig, policy: Policy, agent: Runnable, interrupts: Interrupts) -> None:
        self._loop = asyncio.new_event_loop()
        self._interrupts = interrupts
        self._agent = agent
        self._engine = engine_for(
            policy.model,
            max_model_len=config.max_model_len,
            max_num_seqs=config.max_num_seqs,
            max_num_batched_tokens=config.max_num_batched_tokens,
        )
        self._driver = _driver(config, self._engine, policy.chat_format)

    def __call__(self, tasks: Sequence[Task]) -> list[Trajectory]:
        """The trajectories of `tasks`, in their order, from the policy as it is now.

        Raises:
            ConfigError: the user's wrapper can't be started.
            StopRequestedError: a stop was asked for.
        """
        self._engine.weights_changed()
        with user_errors():  # a wrapper is made in its first batch
            return self._interrupts.run(self._loop, self._driver.run(self._agent, tasks))

    def close(self) -> None:
        """Free the agent, the engine and the event loop."""
        if not isinstance(self._agent, type):
            self._loop.run_until_complete(close_agent(self._agent))
        self._loop.run_until_complete(self._driver.close())
        self._loop.run_until_complete(self._engine.close())
        cancel_all(self._loop)  # what agents left running
        self._loop.close()


def _driver(config: FlatConfig, engine: Engine, chat_format: ChatFormat) -> Driver:
    section = local_section(config)
    return Driver(
        engine,
        chat_format,
        max_prompt_length=config.max_prompt_length,
        max_response_length=section.max_response_length,
        max_tokens=config.max_tokens,
        max_steps=config.max_steps,
        temperature=config.temperature,
        top_k=config.top_k,
        top_p=config.top_p,
        min_p=config.min_p,
        n_parallel_agents=config.n_parallel_agents,
        agent_name=config.agent_name,
        turn_timeout=config.turn_timeout,
        trajectory_timeout=config.trajectory_timeout,
        truncation=section.truncation,
    )
