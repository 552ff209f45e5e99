"""Clock, shared memory, limits of the process, room on the disk."""

from __future__ import annotations

import shutil
import time
from datetime import datetime, timezone
from pathlib import Path

from agentic_rl.config.memory import show_size
from agentic_rl.machine.observation import Observation

_SHARED = Path("/dev/shm")  # noqa: S108 - the file system, nothing is written there
_YEARS = (2025, 2100)


def check_clock() -> Observation:
    """Whether the clock shows a plausible year and goes forwards: certificates, logs and checkpoints depend on it."""
    rule = f"a year from {_YEARS[0]} to {_YEARS[1]}, going forwards"
    first = time.time()
    time.sleep(0.01)
    now = time.time()
    shown = datetime.fromtimestamp(now, timezone.utc)
    value = shown.strftime("%Y-%m-%d %H:%M:%S UTC")
    if now <= first or not _YEARS[0] <= shown.year <= _YEARS[1]:
        return Observation("clock", "warning", value, rule, "set the clock, best by NTP: timedatectl set-ntp true")
    return Observation("clock", "ok", value, rule)


def check_shared_memory(least: int) -> Observation:
    """The size of `/dev/shm`, where Ray and data loaders exchange tensors."""
    rule = f"at least {show_size(least)}"
    try:
        size = shutil.disk_usage(_SHARED).total
    except OSError as error:
        return Observation("shared memory", "unknown", f"{_SHARED} can't be asked: {error.strerror}", rule)
    if size < least:
        remedy = f"docker run --shm-size={least >> 30 or 1}g, or mount -o remount,size={least >> 30 or 1}G {_SHARED}"
        return Observation("shared memory", "warning", show_size(size), rule, remedy)
    return Observation("shared memory", "ok", show_size(size), rule)


def check_open_files(least: int) -> Observation:
    """How many files and sockets a process may have open."""
    rule = f"at least {least}"
    try:
        import resource
    except ImportError:
        return Observation("open files", "unknown", "this system has no such limit to ask for", rule)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= least:
        return Observation("open files", "ok", "no limit" if soft == resource.RLIM_INFINITY else str(soft), rule)
    raised = hard == resource.RLIM_INFINITY or hard >= least
    remedy = f"ulimit -n {least}" if raised else f"raise the hard limit, {hard}, in /etc/security/limits.conf"
    return Observation("open files", "warning", str(soft), rule, remedy)


def check_disk(folder: Path, checkpoint: int | None, kept: int) -> Observation:
    """Whether the file system of a run's folder holds the checkpoints that are kept, and the one being written."""
    rule = f"room for {kept + 1} checkpoints (those kept and the one being written)"
    existing = next((place for place in (folder, *folder.parents) if place.is_dir()), None)
    try:
        free = shutil.disk_usage(existing or "/").free
    except OSError as error:
        return Observation("disk", "unknown", f"{existing} can't be asked: {error.strerror}", rule)
    value = f"{show_size(free)} free below {existing}"
    if checkpoint is None:
        return Observation("disk", "unknown", f"{value}; the model's size is not known", rule)
    rule += f" of about {show_size(checkpoint)} each"
    if free < (kept + 1) * checkpoint:
        fits = max(0, free // checkpoint - 1) if checkpoint else 0
        remedy = f"keep_checkpoints: {fits}" if fits else "make room, or start where there is more"
        return Observation("disk", "error" if not fits else "warning", value, rule, remedy)
    return Observation("disk", "ok", value, rule)
