"""Writes the output of Spark's JVM to a file, so that a run prints only its own lines. An error names the file."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from retable.cli.output import NeedsAttention

LOG_NOTE = "the log of Spark is "


@contextmanager
def spark_log() -> Iterator[Path]:
    """Yield an empty file for the output of the JVM. Only this user can read the file.

    If an error ends the `with` block and the JVM has printed something, the file stays, and a note of the error names
    the file. Otherwise the file is removed.
    """
    handle, name = tempfile.mkstemp(prefix="retable-spark-", suffix=".log")
    os.close(handle)
    log, is_named = Path(name), False
    try:
        yield log
    except Exception as error:
        if not isinstance(error, NeedsAttention) and log.exists() and log.stat().st_size:
            error.add_note(f"{LOG_NOTE}{log}")
            is_named = True
        raise
    finally:
        if not is_named:
            log.unlink(missing_ok=True)
