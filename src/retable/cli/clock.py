"""The time, the run name and the user name of a command. Other packages get them as arguments."""

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
    return datetime.now(UTC)


def new_run() -> NewRun:
    """Return a new run. Its name is the present time with a random part, in case two runs begin at once."""
    began = now()
    return NewRun(f"{began:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}", began)


def user() -> str:
    """Return the name of the user. If the system has no name, as in a container, return the number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
