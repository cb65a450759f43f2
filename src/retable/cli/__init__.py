"""`retable …`: every command in the picture of docs/concepts/flow.md, for a person at a terminal or a script."""

import io
import sys

from retable.cli.app import app


def main() -> None:
    """Run the command line. Results on stdout are UTF-8 in every locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    app(prog_name="retable")
