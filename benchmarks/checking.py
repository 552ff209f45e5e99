"""What it costs to check many files in one run, and what checkers of other projects find and cost.

`python benchmarks/checking.py` measures 1,000 copies of a file of 60 keys, and 1,000 of the quickstart's, whose model
and data are read. Wanted: at most 5 ms of CPU time for each file after the first. With a folder,
`python benchmarks/checking.py FOLDER [PEER ...]` also shows twelve planted faults to the peers, which it installs
below that folder from the package registry.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure import alternate
from peers.table import PACKAGES, compare, make_quickstart
from reading import sixty_keys

COUNT = 1000


def _copies(file: Path, folder: Path) -> Path:
    folder.mkdir(mode=0o750)
    for number in range(COUNT):
        copy = folder / f"{number:04}.yaml"
        copy.write_text(file.read_text())
        copy.chmod(0o640)
    return folder


def many_files() -> None:
    """Print the cost of one file and of a thousand, and of each after the first."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        root.chmod(0o750)
        files = {"60 keys": sixty_keys(root), "quickstart": make_quickstart(root / "made")}
        check = [sys.executable, "-m", "agentic_rl", "check"]
        commands = {f"{name}, one": [*check, str(file)] for name, file in files.items()}
        for name, file in files.items():
            commands[f"{name}, {COUNT}"] = [*check, str(_copies(file, root / name.replace(" ", "-")))]
        costs = alternate(commands, rounds=3)
    print(f"{'files':20}{'CPU s':>8}{'MiB':>8}{'ms each after the first':>26}")
    for name in files:
        one, many = costs[f"{name}, one"], costs[f"{name}, {COUNT}"]
        each = (many.cpu_seconds - one.cpu_seconds) / (COUNT - 1) * 1000
        print(f"{name + ', one':20}{one.cpu_seconds:8.2f}{one.peak_mib:8.0f}")
        print(f"{f'{name}, {COUNT}':20}{many.cpu_seconds:8.2f}{many.peak_mib:8.0f}{each:26.2f}")


def main() -> None:
    """Print the tables."""
    many_files()
    if len(sys.argv) > 1:
        compare(Path(sys.argv[1]).absolute(), sys.argv[2:] or tuple(PACKAGES))


if __name__ == "__main__":
    main()
