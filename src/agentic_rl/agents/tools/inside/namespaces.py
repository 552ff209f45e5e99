"""Namespaces: a root folder with hardly anything in it, no network, and processes that nobody else sees."""

from __future__ import annotations

import os
from pathlib import Path

from . import files, kernel
from .limits import Limits

FOLDER = "/sandbox"
"""The call's own folder: current folder, home and place of temporary files."""

_ALL = {
    "user": kernel.CLONE_NEWUSER,
    "mount": kernel.CLONE_NEWNS,
    "pid": kernel.CLONE_NEWPID,
    "network": kernel.CLONE_NEWNET,
    "ipc": kernel.CLONE_NEWIPC,
    "uts": kernel.CLONE_NEWUTS,
}
NOBODY = 65534


def enter(state: str) -> int | None:
    """Move this process into namespaces of its own; its next child is the first process of the new pid namespace.

    Args:
        state: an empty folder, over which the new root is mounted.

    Returns:
        The unprivileged user that a process of root is to become; None for an ordinary user.

    Raises:
        OSError: the kernel, or a security module, does not allow it; the text says what.
    """
    user, group = os.geteuid(), os.getegid()
    stranger = unprivileged_id() if user == 0 else None
    if stranger is None:
        _unshare()
        _map_itself("/proc/self", user, group)
    else:
        _with_helper(stranger)
    _build_root(state)
    return stranger


def unprivileged_id() -> int | None:
    """Return an id of user and group that owns nothing, None where the only ids are those of root."""
    uses = [_ids(f"/proc/self/{name}") for name in ("uid_map", "gid_map")]
    common = uses[0] & uses[1]
    return NOBODY if NOBODY in common else max(common - {0}, default=None)


def _ids(table: str) -> set[int]:
    """Return nobody's id and the last one of each range, as far as the table has them."""
    found = set()
    for line in Path(table).read_text(encoding="ascii").splitlines():
        first, _, count = map(int, line.split())
        found |= {min(first + count - 1, 2**31 - 1)} | ({NOBODY} if first <= NOBODY < first + count else set())
    return found


def _unshare() -> None:
    try:
        kernel.unshare(_combined(_ALL.values()))
    except OSError as error:
        raise OSError(error.errno, f"namespaces ({', '.join(_lacking()) or 'together'}): {error.strerror}") from error


def _combined(flags: object) -> int:
    total = 0
    for flag in flags:  # type: ignore[attr-defined]
        total |= flag
    return total


def _lacking() -> list[str]:
    """Name the namespaces that can't be had, each tried in a child."""
    lacking = []
    for name, flag in _ALL.items():
        child = os.fork()
        if child == 0:
            try:
                kernel.unshare(kernel.CLONE_NEWUSER | flag)
            except OSError:
                os._exit(1)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            lacking.append(name)
    return lacking


def _with_helper(stranger: int) -> None:
    """Enter as root, with root and `stranger` as users; only a process outside may write such a table."""
    ready_read, ready_write = os.pipe()
    process = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.close(ready_write)
        try:
            if os.read(ready_read, 1):
                _map_two(process, stranger)
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    os.close(ready_read)
    try:
        _unshare()
        os.write(ready_write, b"1")
    finally:
        os.close(ready_write)
        status = os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1])
    if status:
        raise OSError(status, f"user namespace of root: {os.strerror(status)}")


def _map_two(process: int, stranger: int) -> None:
    for table in ("uid_map", "gid_map"):
        _write(f"/proc/{process}/{table}", f"0 0 1\n{stranger} {stranger} 1\n")


def _map_itself(proc: str, user: int, group: int, at: int | None = None) -> None:
    _write(f"{proc}/setgroups", "deny", at)
    _write(f"{proc}/uid_map", f"{user} {user} 1\n", at)
    _write(f"{proc}/gid_map", f"{group} {group} 1\n", at)


def _write(path: str, text: str, at: int | None = None) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=at)
    try:
        os.write(handle, text.encode())
    except OSError as error:
        raise OSError(error.errno, f"user namespace: {error.strerror} ({Path(path).name})") from error
    finally:
        os.close(handle)


def _build_root(state: str) -> None:
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", state, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,mode=755")
    for path in files.readable():
        if Path(path).is_symlink() and Path(path).parent == Path("/"):  # /lib is usr/lib on most systems
            Path(state + path).symlink_to(Path(path).readlink())
            continue
        _bind(path, state)
        kernel.restrict_mount(state + path, kernel.READ_ONLY | kernel.NO_SETUID | kernel.NO_DEVICES, recursive=True)
    for path in files.devices():
        _bind(path, state)
        kernel.restrict_mount(state + path, kernel.NO_SETUID, recursive=False)
    Path(state + FOLDER).mkdir()
    for path in ("/tmp", "/dev/shm"):  # noqa: S108 - names inside the new root, which lead to the call's own folder
        if not Path(state + path).exists():
            Path(state + path).symlink_to(FOLDER)


def _bind(path: str, root: str) -> None:
    target = Path(root + path)
    if Path(path).is_dir():
        target.mkdir(parents=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    kernel.mount(path, str(target), None, kernel.MS_BIND | kernel.MS_REC)


def settle(state: str, stranger: int | None) -> None:
    """As the first process of the pid namespace: make the new root the only one, and give up being root."""
    kernel.become_root_folder(state)
    kernel.restrict_mount("/", kernel.READ_ONLY, recursive=False)
    if stranger is not None:
        become(stranger)
    kernel.drop_capabilities()


def become(user: int) -> None:
    """Give up root for a user that owns nothing."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def fork_for_call() -> int:
    """Fork into namespaces for one call: its child there is the first process, and its users are counted by themselves.

    Returns:
        0 in the child, which goes on with `settle_for_call`.
    """
    return kernel.fork_into_namespaces(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWPID)


def settle_for_call(proc: int, user: int, group: int, limits: Limits) -> None:
    """Give the namespaces of a call their user, and a folder of its own.

    Args:
        proc: an open handle of /proc; inside there is no such folder.
        user: the process's own id before the fork; inside it has none yet.
        group: likewise.
        limits: those of the call; they bound the folder.
    """
    kernel.set_dumpable(True)  # else its own folder in /proc is root's
    _map_itself("self", user, group, proc)
    kernel.set_dumpable(False)
    options = f"size={limits.folder_size},nr_inodes={limits.files},mode=700"
    kernel.mount("tmpfs", FOLDER, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
