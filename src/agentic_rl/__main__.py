"""`python -m agentic_rl` is the command `agentic-rl`."""

from agentic_rl.cli import main

main()
