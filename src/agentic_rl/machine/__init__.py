"""What this machine is and whether a run can start on it: `agentic-rl doctor`. Imports no torch and starts no run.

Empty, so that `check` can ask for the memory of a device without loading the rest.
"""
