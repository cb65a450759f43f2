"""`retable …`: every command in the picture of docs/concepts/flow.md, for a person at a terminal or a script."""

import io
import os
import sys

from retable.cli.app import app


def main() -> None:
    """Run the command line. Results on stdout are UTF-8 in every locale."""
    # No command multiplies matrices. When numpy is imported, its library for that starts a busy thread for each core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    app(prog_name="retable")
