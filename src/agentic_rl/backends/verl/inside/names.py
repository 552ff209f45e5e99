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
"""The name under which our trainer is registered with verl; `trainer.v1.agentic_rl` has its options."""
SEPARATE_TRAINER = "agentic_rl_separate"
"""The same on devices of its own, apart from those of the inference servers."""
TRAINERS = {"sync": TRAINER, "separate_async": SEPARATE_TRAINER}
"""verl's trainer mode -> the name of our trainer for it."""
WEIGHT_CHANNEL = "agentic_rl"
"""The name under which our checkpoint engine is registered with verl."""
CHECKPOINT_ENGINE = f"{_INSIDE}.checkpoint_engine"
"""The module that registers it (`custom_backend_module`)."""
TRAINING_ROLE = "agentic_rl_training"
INFERENCE_ROLE = "agentic_rl_inference"
"""Resources of Ray by which a cluster says what a node is for: `ray start --resources '{"agentic_rl_training": 1}'`."""
STORE_FOLDER = "AGENTIC_RL_VERL_STORE_FOLDER"
"""Environment variable: the folder in which the processes of a job without accelerator meet on one machine."""
RUN = "AGENTIC_RL_VERL_RUN"
"""Environment variable: a short name that no other run on the machine has."""
