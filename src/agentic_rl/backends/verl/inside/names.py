"""Names by which verl finds what runs inside it. Importable without verl."""

from __future__ import annotations

_INSIDE = __name__.rpartition(".")[0]

PLUGIN = f"{_INSIDE}.plugin"
"""The module that verl imports in every process."""
WORKER_EXTENSION = f"{_INSIDE}.vllm_worker.WorkerExtension"
CPU_WORKER_EXTENSION = f"{_INSIDE}.vllm_worker.CpuWorkerExtension"
"""What vLLM adds to its workers."""
AGENT_LOOP = f"{_INSIDE}.agent_loop.AgenticLoop"
TRAINER = "agentic_rl"
"""The name under which our trainer is registered with verl."""
STORE_FOLDER = "AGENTIC_RL_VERL_STORE_FOLDER"
"""Environment variable: the folder in which the processes of a job without accelerator meet."""
RUN = "AGENTIC_RL_VERL_RUN"
"""Environment variable: a short name that no other run on the machine has."""
