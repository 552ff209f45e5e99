"""The numbered pages about agent files."""

from __future__ import annotations

from agentic_rl.config.rules import describe

SYNTAX = describe(
    "ARL410",
    "Agent file is not valid Python",
    "error",
    "The file is parsed by the Python that would run it, without being run. The place is in the agent file itself.",
)
NOT_TEXT = describe(
    "ARL411",
    "Agent file can't be read as Python text",
    "error",
    "An agent file is UTF-8 text (or names its encoding in a first-line comment) of at most 1 MiB, without NUL "
    "characters and without expressions nested so deep that Python gives up.",
)
NONE = describe(
    "ARL412",
    "No agent class in the file",
    "error",
    "The file must hold one class that training can make an object of: a subclass of `BaseEngineWrapper`, written at "
    "the top level of the file, as in `from agentic_rl import BaseEngineWrapper` and `class Mine(BaseEngineWrapper)`. "
    "A subclass of `Agent`, `ToolAgent` or `EnvironmentAgent` of this package is accepted as well, and so is one agent "
    "that the file makes at its top level, as in `agent = ToolAgent(...)`. A class with abstract methods left is a "
    "base, not an agent.",
)
SEVERAL = describe(
    "ARL413",
    "Several agent classes in one file",
    "error",
    "One file, one agent: nothing in the configuration says which class is meant. A class that another one of the file "
    "refines does not count, nor does one with abstract methods left. Move the others to files of their own.",
)
NO_METHOD = describe(
    "ARL414",
    "Agent class lacks its method",
    "error",
    "A subclass of `BaseEngineWrapper` must write `generate_trajectory(self, task)` (one task, one trajectory) or the "
    "older `generate_agent_trajectories_async(self, tasks)` (a batch of them); a subclass of `Agent` must write "
    "`async def run(self, task, model)`, and one of `EnvironmentAgent` the `__init__` that names its environment. What "
    "the base class itself has only says that it is missing.",
)
UNDECIDED = describe(
    "ARL415",
    "Base class can't be told without importing",
    "warning",
    "The class builds on one that another module defines, and reading one file can't tell what that is. The file is "
    "imported when training starts; what is missing is reported then.",
)
UNUSABLE = describe(
    "ARL416",
    "Agent file fails when it is used",
    "error",
    "Training imports the file and makes an object of its class. An exception in one of the two, or a file that turns "
    "out to hold no agent or several, ends the start; the place is the innermost line of the file itself that the "
    "exception passed. A check never runs the file, so this is told only by commands that train or evaluate.",
)
NO_AGENT = describe(
    "ARL417",
    "No agent at the place that agent_name names",
    "error",
    "`agent_name: package.module:Class` (ours) names an agent by its place: the module is found as Python finds it, in "
    "the installed packages and on the PYTHONPATH, and the class, object or function is one of its names. A check "
    "looks for both without importing anything.",
)
