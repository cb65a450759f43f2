"""`retable …`: every command of docs/concepts/flow.md's picture, for a person at a terminal or a script."""

import io
import sys

from retable.cli.app import app


def main() -> None:
    """Run the command line; results are UTF-8 whatever the terminal's locale says."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    app(prog_name="retable")
