"""Everything that can go wrong around an agent, each refining the standard exception it is a case of."""

from __future__ import annotations


class BudgetExhaustedError(RuntimeError):
    """The rollout has no tokens left for another turn. A normal end: the agent is judged on what is there."""


class StepLimitError(BudgetExhaustedError):
    """The rollout has had its `max_steps` turns. A normal end, too."""


class HistoryEditedError(ValueError):
    """`messages` do not continue the recorded conversation, so its tokens would not be those the policy saw."""


class PromptTooLongError(ValueError):
    """The first prompt has more than `max_prompt_length` tokens, and `truncation` is `error`."""


class RolloutEndedError(RuntimeError):
    """The model of a rollout was called after the rollout had ended, or twice at the same time."""


class LateError(TimeoutError):
    """Something took longer than its time-out allows."""


class McpError(RuntimeError):
    """An MCP server can't be started, is gone, or refuses what it is asked."""


class EscapedError(RuntimeError):
    """A function raised something that is meant for the whole program, such as SystemExit; the text says what."""


class UnknownAgentError(LookupError):
    """No agent has this name."""

    def __str__(self) -> str:
        return str(self.args[0])


class NotAnAgentError(TypeError):
    """What has an agent's name is something else."""


class DuplicateAgentError(ValueError):
    """Two agents claim one name."""


class TrajectoryFieldError(ValueError):
    """A trajectory of a user's wrapper has a field that can't be right."""


class AgentFileError(ImportError):
    """A user's agent file can't be used."""

    def __init__(self, file: str, line: int | None, problem: str) -> None:
        super().__init__(file, line, problem)
        self.file = file
        self.line = line
        """The file's own line that is nearest to the problem, counted from 1; None: the whole file."""
        self.problem = problem

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.problem}"
