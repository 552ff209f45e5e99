"""One node's part in a run: Ray, an inference server, the job on the training master; the others end with it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from importlib.util import find_spec

from agentic_rl.backends.errors import ClusterError
from agentic_rl.backends.verl.leftovers import Leftovers
from agentic_rl.cluster import ray_node
from agentic_rl.cluster.children import binary_output, received
from agentic_rl.cluster.exit_statuses import FAILED, FINISHED, INTERRUPTED, LOST, was_stopped
from agentic_rl.cluster.inference import Server
from agentic_rl.cluster.plan import NodePlan
from agentic_rl.cluster.programs import Program, StoppedError, is_healthy, require_free, wait_for
from agentic_rl.cluster.status import LEASE_SECONDS, Lease, NodeStatus, State, StatusFile
from agentic_rl.cluster.supervise import asked

LOOK_SECONDS = 0.2
NOTE_SECONDS = 5.0
"""How often it is remembered what runs in Ray: inference engines end long before it, and leave shared memory."""
GONE_SECONDS = LEASE_SECONDS
"""How long a node that lost the head waits for word of the training master."""
_STATES: dict[int, State] = {FINISHED: "finished", INTERRUPTED: "stopped"}
Say = Callable[[str], None]


class Launch:
    """This node, from its start to the end of the job."""

    def __init__(self, plan: NodePlan, say: Say) -> None:
        self._plan = plan
        self._say = say
        self._signals: list[int] = []
        self._job: Program | None = None
        self._leftovers: Leftovers | None = None
        self._noted = 0.0
        # Before anything is written: what lies there now is of an earlier launch.
        others = [node for node in plan.nodes if node != plan.node]
        self._leases = {node: Lease(plan.status_file(node)) for node in others}

    def run(self) -> int:
        """The exit status (see `statuses`).

        Raises:
            ClusterError: a part can't be started, or the other nodes do not come.
        """
        plan = self._plan
        said = NodeStatus(plan.node.index, plan.part)
        file = StatusFile(plan.status_file(plan.node), said)
        # What is entered first ends last: when Ray's end tells the other nodes, the status says why already.
        with file, received(self._signalled), contextlib.ExitStack() as ending:
            try:
                status = self._run(file, ending)
            except StoppedError:
                status = INTERRUPTED
            except ClusterError as error:
                file.update(state="failed", exit_status=FAILED, message=error.message)
                raise
            file.update(state=_STATES.get(status, "failed"), exit_status=status)
        return status

    def _run(self, file: StatusFile, ending: contextlib.ExitStack) -> int:
        plan = self._plan
        require_free(plan.ports)
        ray = None
        if plan.ray is not None:
            ray_node.set_here(ray_node.authentication(plan, os.environ, self._stopping))
            file.update(message="waits for Ray")
            if find_spec("psutil") is not None:  # verl and vLLM bring it
                self._leftovers = ending.enter_context(Leftovers())
                ending.callback(self._leftovers.remove)
            ray = ending.enter_context(ray_node.ray_on(plan, plan.ray, self._stopping))
            self._say(f"Ray is up, its head is {plan.ray.head_address}")
        server = ending.enter_context(self._server(plan.server)) if plan.server else None
        if plan.job:
            return self._train(file, ray)
        file.update(state="running", message="")
        return self._attend([one for one in (ray, server) if one is not None])

    def _signalled(self, number: int) -> None:
        self._signals.append(number)
        if self._job is not None:
            self._job.signal(signal.SIGKILL if len(self._signals) > 2 else asked(number))

    def _stopping(self) -> bool:
        return bool(self._signals)

    def _note(self) -> None:
        if self._leftovers is not None and time.monotonic() - self._noted > NOTE_SECONDS:
            self._leftovers.note()
            self._noted = time.monotonic()

    def _server(self, server: Server) -> Program:
        log = self._plan.states / f"server-{self._plan.node.index}.log"
        program = Program("server", server.command, log)
        try:
            self._say(f"waiting for {server.health}, log {log}")
            self._await_health(server, lambda: not program.runs)
            if not program.runs:
                raise ClusterError(f"the inference server ended: {program.last_words()}", f"{log} has all that it says")
        except BaseException:
            program.end()
            raise
        return program

    def _await_health(self, server: Server, given_up: Callable[[], bool]) -> None:
        seconds = self._plan.join_seconds
        if not wait_for(lambda: is_healthy(server.health) or given_up(), seconds, self._stopping):
            raise ClusterError(
                f"the inference server does not answer at {server.health} within {seconds:g} s",
                "its node's output says why; a large model may need a larger --wait",
            )

    # ------------------------------ the training master ------------------------------

    def _train(self, file: StatusFile, ray: Program | None) -> int:
        plan = self._plan
        if plan.ray is not None:
            self._say(f"waiting for {len(plan.nodes)} nodes")
            ray_node.await_nodes(plan, plan.ray, self._stopping)
        if plan.awaited is not None:
            self._await_health(plan.awaited, lambda: False)
        if self._stopping():
            raise StoppedError
        file.update(state="running", message="")
        log = plan.states / f"job-{plan.node.index}.log"
        with Program("job", plan.job, log, plan.environment, binary_output()) as job:
            self._job = job
            self._say(f"the job is started, log {log}")
            lost = self._watch(job, ray)
        self._job, status = None, FAILED if job.status is None else job.status
        if lost:
            raise ClusterError(lost, "the same command goes on from the newest checkpoint once the nodes are back")
        if (self._stopping() and status != FINISHED) or was_stopped(status):
            return INTERRUPTED
        return status if status <= FAILED else FAILED

    def _watch(self, job: Program, ray: Program | None) -> str:
        """Wait for the end of the job; why it was ended, if it was."""
        while job.runs:
            self._note()
            for node, lease in self._leases.items():
                lease.look()
                if lease.expired:
                    return f"node {node.index} ({node.host}) is dead: it has not said anything for {LEASE_SECONDS:g} s"
            if ray is not None and not ray.runs:
                return f"Ray ended on this node: {ray.last_words()}"
            time.sleep(LOOK_SECONDS)
        return ""

    # ------------------------------ the other nodes ------------------------------

    def _attend(self, programs: list[Program]) -> int:
        """Wait for the end of the training master's job; its status is ours."""
        master = self._leases[self._plan.master]
        gone: float | None = None
        while not self._stopping():
            self._note()
            said = master.look()
            if said is not None and said.state in ("finished", "failed", "stopped", "gave up"):
                return self._after(said)
            now = time.monotonic()
            ended = next((program for program in programs if not program.runs), None)
            if ended is not None and gone is None:
                gone = now
                self._say(f"{ended.name} ended on this node: {ended.last_words()}")
            if master.expired or (gone is not None and now - gone > GONE_SECONDS):
                self._say(f"the training master ({self._plan.master.host}) is gone without a word")
                return LOST
            time.sleep(LOOK_SECONDS)
        return INTERRUPTED

    def _after(self, said: NodeStatus) -> int:
        status = FAILED if said.exit_status is None else said.exit_status
        words = f": {said.message}" if said.message else ""
        self._say(f"the training master's job {said.state} (status {status}){words}")
        return status
