"""Identify a process on a machine, so that other processes there can see that it is gone."""

import os
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def this_process() -> str | None:
    """Give this process a name that no other process has, even after a restart; None if the system has no /proc."""
    with suppress(OSError):
        return f"{_machine()}/{os.getpid()}/{_began(os.getpid())}"
    return None


def is_gone(process: str | None) -> bool:
    """Whether a process has ended; False for a process without a name, or on another machine."""
    with suppress(OSError):
        machine, _, rest = (process or "").partition("/")
        number, _, began = rest.partition("/")
        return machine == _machine() and _began(int(number)) != began
    return False


def _machine() -> str:
    """Name this boot of the machine and its PID namespace, because a container has a separate one."""
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{(_PROC / 'self/ns/pid').stat().st_ino}"


def _began(number: int) -> str | None:
    """When a process began, in ticks since the boot; None if it has ended, even if it is still a zombie."""
    try:
        fields = (_PROC / str(number) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]
