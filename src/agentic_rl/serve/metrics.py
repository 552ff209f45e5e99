"""What the service measures, in Prometheus's text form."""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300, 1800)


class Metrics:
    """The counters of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self.requests = self._counter("requests", "Answered requests.", "route", "status")
        self.seconds = Histogram(
            "agentic_rl_request_seconds",
            "From a request's head to the last byte of its answer.",
            ["route"],
            registry=self._registry,
            buckets=_SECONDS,
        )
        self.in_flight = self._gauge("requests_in_flight", "Requests that are being answered.", "route")
        self.forwarded = self._counter("forwarded_bytes", "Bytes of answers of model servers.", "instance")
        self.faults = self._counter("server_faults", "Requests that a model server did not answer.", "instance")
        self.rollouts = self._counter("rollouts", "Rollouts of agents that ended.", "instance", "outcome")
        self.rollouts_in_flight = self._gauge("rollouts_in_flight", "Rollouts that run.", "instance")
        self.jobs = self._counter("jobs", "Training jobs that ended.", "instance", "state")
        self.jobs_running = self._gauge("jobs_running", "Training jobs that run.", "instance")

        self._tasks = Gauge("agentic_rl_tasks", "Tasks of the event loop.", registry=self._registry)

    def text(self) -> bytes:
        """Everything, as Prometheus reads it; called on the event loop."""
        self._tasks.set(len(asyncio.all_tasks()))
        return generate_latest(self._registry)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"agentic_rl_{name}", meaning, labels, registry=self._registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"agentic_rl_{name}", meaning, labels, registry=self._registry)
