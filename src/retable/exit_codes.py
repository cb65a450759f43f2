"""The exit codes that the command line and the jobs share."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from retable.errors import RetableError
from retable.printable import printable, without_passwords

EXIT_CODES = {
    0: "Done.",
    1: "Not done: a person must change something. The error says what.",
    2: "Done, but something is held, quarantined or late. Only the command line exits with this code, not a job.",
    3: "Not done: try again. Another run was faster, or a server did not answer.",
    4: "`retable verify` found differences.",
    70: "A bug of Retable. Please report it.",
}
"""The meaning of each exit code of a process."""

_CODES = {"RETRY": 3, "BUG": 70}


@contextmanager
def exiting() -> Iterator[None]:
    """Run the `with` block. If it raises, print the error to stderr and exit with the code for it.

    Errors that are not a RetableError are bugs of Retable: they are printed with a traceback, and the code is 70.
    """
    try:
        yield
    except RetableError as error:
        sys.stderr.write(f"{error.code}: {printable(without_passwords(str(error)))}\n")
        sys.exit(exit_code(error))
    except Exception:  # noqa: BLE001  # this is the outermost caller, so no other code can report the error
        lines = traceback.format_exc().splitlines()
        sys.stderr.write("\n".join(map(printable, map(without_passwords, lines))) + "\n")
        sys.exit(70)


def exit_code(error: RetableError) -> int:
    """Return the exit code with which a process ends after this error."""
    return _CODES.get(error.remedy, 1)
