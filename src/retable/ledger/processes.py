"""Which process of which machine this is, so that others on that machine can see that it is gone."""

import os
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def this_process() -> str | None:
    """Name this process so that no other one has its name, also after a restart; None where the system has no /proc."""
    with suppress(OSError):
        return f"{_machine()}/{os.getpid()}/{_began(os.getpid())}"
    return None


def is_gone(process: str | None) -> bool:
    """Whether a process has ended; nothing is known of one that is not named, or that is on another machine."""
    with suppress(OSError):
        machine, _, rest = (process or "").partition("/")
        number, _, began = rest.partition("/")
        return machine == _machine() and _began(int(number)) != began
    return False


def _machine() -> str:
    """Name this start of the machine, and the space in which processes have their numbers: a container has its own."""
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{(_PROC / 'self/ns/pid').stat().st_ino}"


def _began(number: int) -> str | None:
    """When a process began, in ticks since the machine did; None where it has ended, though nobody has collected it."""
    try:
        fields = (_PROC / str(number) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]
