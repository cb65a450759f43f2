"""Identify a process on a machine, so that other processes there can see that it is gone."""

import os
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def this_process() -> str | None:
    """Return a name for this process that no other process ever gets, even after a restart of the machine.

    Return None if the system has no /proc.
    """
    with suppress(OSError):
        return f"{_machine()}/{os.getpid()}/{_began(os.getpid())}"
    return None


def is_gone(process: str | None) -> bool:
    """Return whether a process, given by its name from `this_process`, has ended.

    Return False if the name is None, or if the process ran on another machine.
    """
    with suppress(OSError):
        machine, _, rest = (process or "").partition("/")
        number, _, began = rest.partition("/")
        return machine == _machine() and _began(int(number)) != began
    return False


def _machine() -> str:
    """Return a name for this boot of the machine and this PID namespace; each container has its own PID namespace."""
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{(_PROC / 'self/ns/pid').stat().st_ino}"


def _began(number: int) -> str | None:
    """Return when a process began, in ticks since the boot. Return None if it has ended or is a zombie."""
    try:
        fields = (_PROC / str(number) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]
