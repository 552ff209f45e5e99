"""What a user writes: agents, tools and rewards; and how they are found."""

from agentic_rl.agents.agent import Agent, ChatModel, ToolSpec
from agentic_rl.agents.environment import Environment, EnvironmentAgent, Observation
from agentic_rl.agents.errors import (
    AgentFileError,
    BudgetExhaustedError,
    DuplicateAgentError,
    HistoryEditedError,
    LateError,
    McpError,
    NotAnAgentError,
    PromptTooLongError,
    RolloutEndedError,
    StepLimitError,
    TrajectoryFieldError,
    UnknownAgentError,
)
from agentic_rl.agents.file_loader import load_agent_file
from agentic_rl.agents.mcp import McpServer
from agentic_rl.agents.memory import MemoryConfig, MemorySummary
from agentic_rl.agents.registry import agent_names, find_agent, register_agent
from agentic_rl.agents.rllm import RllmAgent
from agentic_rl.agents.task import Message, Task
from agentic_rl.agents.tool import Tool, ToolResult, tool
from agentic_rl.agents.tool_agent import ToolAgent
from agentic_rl.agents.tool_source import ToolSource
from agentic_rl.agents.trajectory import FinishReason, Step, StepTrajectory, Trajectory
from agentic_rl.agents.wrapper import BaseEngineWrapper

__all__ = [
    "Agent",
    "AgentFileError",
    "BaseEngineWrapper",
    "BudgetExhaustedError",
    "ChatModel",
    "DuplicateAgentError",
    "Environment",
    "EnvironmentAgent",
    "FinishReason",
    "HistoryEditedError",
    "LateError",
    "McpError",
    "McpServer",
    "MemoryConfig",
    "MemorySummary",
    "Message",
    "NotAnAgentError",
    "Observation",
    "PromptTooLongError",
    "RllmAgent",
    "RolloutEndedError",
    "Step",
    "StepLimitError",
    "StepTrajectory",
    "Task",
    "Tool",
    "ToolAgent",
    "ToolResult",
    "ToolSource",
    "ToolSpec",
    "Trajectory",
    "TrajectoryFieldError",
    "UnknownAgentError",
    "agent_names",
    "find_agent",
    "load_agent_file",
    "register_agent",
    "tool",
]
