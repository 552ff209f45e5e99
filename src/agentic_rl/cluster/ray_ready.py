"""Waits until a Ray cluster has all its nodes: `python -m agentic_rl.cluster.ray_ready ADDRESS COUNT SECONDS`.

In a process of its own, so that the one that launches never loads Ray.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

LOOK_SECONDS = 0.5


def main(arguments: Sequence[str]) -> int:
    """Wait; 1 where the nodes do not come in time, with a line that says how many did."""
    import ray

    address, count, seconds = arguments[0], int(arguments[1]), float(arguments[2])
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    end = time.monotonic() + seconds
    try:
        while (here := sum(node["Alive"] for node in ray.nodes())) < count:
            if time.monotonic() > end:
                print(f"{here} of {count} nodes joined Ray within {seconds:g} s", flush=True)
                return 1
            time.sleep(LOOK_SECONDS)
    finally:
        ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
