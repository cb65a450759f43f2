"""A command's time, run name and user name: other packages get them as arguments."""

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
    """Name a run by its moment, with a random part in case two begin at once."""
    began = now()
    return NewRun(f"{began:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}", began)


def user() -> str:
    """Name the user; by number if the system does not know the name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
