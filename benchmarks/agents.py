"""What a rollout over HTTP costs the client: our driver and engine beside peers, on one fake server.

    python benchmarks/agents.py [--quick] [--rounds 3] [--folder runs/benchmark-agents]

Each rollout has three turns and two calls of a tool; the server, a process of its own, answers after 50 ms with
prepared tokens. Clients keep token ids and log-probabilities, ours the mask and the conversation, too. Each runs in a
process and an environment of its own (made below `--folder`, versions pinned). Rollouts per CPU second of the client,
connecting included; memory is the peak over what the process held before its first rollout. Clients alternate; the
ratio to the bare loop is the median of those of the rounds, whose runs lie beside each other in time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CLIENTS = Path(__file__).parent / "clients"
SERVER = Path(__file__).parent.parent / "tests" / "fake_vllm.py"
PINNED = {
    "ours": [],
    "bare": ["aiohttp==3.14.5"],
    "openai": ["openai[aiohttp]==3.57.0", "aiohttp==3.14.5"],
    "art": ["openpipe-art==0.5.18", "openai==2.54.0"],  # its client takes none of openai 3
}
CALL = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "12*7"}}\n</tool_call><|im_end|>'
ANSWER = r"\boxed{84}<|im_end|>"


@dataclass(frozen=True)
class Client:
    """A program, its environment, its options, and the most agents that it is tried with."""

    name: str
    environment: str
    program: str
    options: tuple[str, ...] = ()
    most: int = 4096
    quick: bool = True


@dataclass
class Row:
    """What one client did with one number of agents."""

    rates: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    mib: float = 0.0
    problem: str = ""


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="without the slow peers, and fewer rollouts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--agents", type=int, nargs="*", default=[64, 256, 1024, 4096])
    parser.add_argument("--folder", type=Path, default=Path("runs") / "benchmark-agents")
    options = parser.parse_args()
    call, answer = spelled()
    clients = [client for client in all_clients(call) if client.quick or not options.quick]
    pythons = {name: installed(options.folder, name) for name in {client.environment for client in clients}}
    print(f"{'client':18}{'agents':>7}{'rollouts per CPU s':>20}{'of bare':>9}{'MiB':>6}", flush=True)
    with server(call, answer) as port:
        for agents in options.agents:
            rows: dict[str, Row] = {}
            for number in range(options.rounds):
                now = [client for client in clients if client.quick or number == 0]  # the slow ones once
                one_round(now, pythons, port, agents, rows)
            report(agents, rows)
    with server(call, answer, faults=0.05) as port:
        faulty(pythons["ours"], port, call)


def all_clients(call: str) -> list[Client]:
    """Return the bare loop, ours, and the peers."""
    return [
        Client("bare aiohttp", "bare", "bare.py"),
        Client("ours, ids ready", "ours", "ours.py", ("--tokens", "ready", "--call", call)),
        Client("ours, tokenizer", "ours", "ours.py", ("--tokens", "real")),
        Client("ours, gateway", "ours", "gateway.py", (), 1024),
        Client("openai, aiohttp", "openai", "openai_client.py", ("--transport", "aiohttp"), 1024),
        Client("openai", "openai", "openai_client.py", (), 1024, quick=False),
        Client("openpipe-art", "art", "art_client.py", (), 1024, quick=False),
    ]


def spelled() -> tuple[str, str]:
    """Return the two replies as the ids of the quickstart's tokenizer."""
    from agentic_rl.projects.quickstart.problems import every_text
    from agentic_rl.projects.quickstart.tokenizer import build_tokenizer

    encode = build_tokenizer(every_text()).encode
    call, answer = (",".join(map(str, encode(text, add_special_tokens=False))) for text in (CALL, ANSWER))
    return call, answer


def installed(folder: Path, name: str) -> str:
    """Return the interpreter of an environment; it is made unless it is there. Empty: it could not be made."""
    if name == "ours":
        return sys.executable
    python = folder / name / "bin" / "python"
    if not python.exists():
        venv.create(folder / name, with_pip=True)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", *PINNED[name]], check=False)
    return str(python) if done.returncode == 0 else ""


@contextmanager
def server(call: str, answer: str, faults: float = 0.0) -> Iterator[str]:
    """Run the fake server; gives its port."""
    command = [sys.executable, str(SERVER), "--latency", "0.05", "--call", call, "--answer", answer]
    with subprocess.Popen([*command, "--faults", str(faults)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def one_round(clients: list[Client], pythons: dict[str, str], port: str, agents: int, rows: dict[str, Row]) -> None:
    """Run every client once with so many agents."""
    bare = 0.0
    for client in clients:
        if agents > client.most:
            continue
        row = rows.setdefault(client.name, Row())
        if row.problem:
            continue
        slow = client.environment in ("openai", "art")
        rollouts = agents if slow else max(1024, 2 * agents)
        result = run(client, pythons[client.environment], port, agents, rollouts)
        if isinstance(result, str):
            row.problem = result
            continue
        rate = rollouts / result["cpu"]
        bare = rate if client.program == "bare.py" else bare
        row.rates.append(rate)
        row.ratios.append(rate / bare if bare else 0.0)
        row.mib = max(row.mib, result["mib"])


def run(client: Client, python: str, port: str, agents: int, rollouts: int) -> dict[str, float] | str:
    """Run a client; what it measured, or why it did not."""
    if not python:
        return "could not be installed"
    program = CLIENTS / client.program
    if not program.exists():
        return "is not there"
    command = [python, str(program), port, "--agents", str(agents), "--rollouts", str(rollouts), *client.options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "TQDM_DISABLE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:100]
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return (
        result if result["right"] == rollouts else f"only {result['right']:.0f} of {rollouts} rollouts came out right"
    )


def report(agents: int, rows: dict[str, Row]) -> None:
    """Print a line for each client."""
    for name, row in rows.items():
        if row.problem:
            print(f"{name:18}{agents:7}  {row.problem}", flush=True)
            continue
        rates = f"{statistics.median(row.rates):.0f} ({min(row.rates):.0f} to {max(row.rates):.0f})"
        print(f"{name:18}{agents:7}{rates:>20}{statistics.median(row.ratios):9.2f}{row.mib:6.0f}", flush=True)


def faulty(python: str, port: str, call: str) -> None:
    """Print how many rollouts are lost where one request in twenty meets a fault, a hang among them."""
    client = Client("ours", "ours", "ours.py", ("--tokens", "real", "--timeout", "3"))
    result = run(client, python, port, 1024, 4096)
    said = result if isinstance(result, str) else f"{result['right']:.0f} of 4096 rollouts came out right"
    print(f"5% of requests with errors, resets, hangs, half or wrong answers: {said}")


if __name__ == "__main__":
    main()
