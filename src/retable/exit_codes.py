"""How a process of Retable ends: the exit codes that the command line and the jobs share.

0 done · 1 the user's to solve · 2 done, but something is held or quarantined (the command line's own) ·
3 try again · 4 verify found differences (its own) · 70 a bug of ours.
"""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from retable.errors import RetableError
from retable.printable import printable, without_passwords

_CODES = {"RETRY": 3, "BUG": 70}


@contextmanager
def exiting() -> Iterator[None]:
    """Turn an error into its words on stderr and its exit code; only a bug of ours shows a traceback."""
    try:
        yield
    except RetableError as error:
        sys.stderr.write(f"{error.code}: {printable(without_passwords(str(error)))}\n")
        sys.exit(exit_code(error))
    except Exception:  # noqa: BLE001  # the outermost caller: nothing above it could say more
        lines = traceback.format_exc().splitlines()
        sys.stderr.write("\n".join(map(printable, map(without_passwords, lines))) + "\n")
        sys.exit(70)


def exit_code(error: RetableError) -> int:
    """Give the exit code that says what a person can do about this error."""
    return _CODES.get(error.remedy, 1)
