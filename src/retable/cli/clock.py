"""Reads the clock and the user's name, and makes names of runs. Other packages get these values as arguments."""

import getpass
import os
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class NewRun:
    """The name of a run and the moment at which it began."""

    id: str
    now: datetime


def now() -> datetime:
    """Return the present time, in UTC."""
    return datetime.now(UTC)


def new_run() -> NewRun:
    """Return the name and the start time of a new run.

    The name is the present time with a random part, because two runs may begin at the same time.
    """
    began = now()
    return NewRun(f"{began:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}", began)


def user() -> str:
    """Return the name of the user who runs the command. If the user has no name, return the numeric user ID.

    A user in a container often has no name.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
