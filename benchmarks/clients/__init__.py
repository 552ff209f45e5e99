"""Programs that benchmarks/agents.py runs: each is a client that makes the same rollouts."""
