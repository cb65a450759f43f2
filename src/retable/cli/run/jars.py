"""`retable get-jars`: downloads the jars that Spark needs."""

import typer

from retable.cli.output import say
from retable.jars import get_jars as get
from retable.settings.load import jars_folder

app = typer.Typer()


@app.command("get-jars")
def get_jars() -> None:
    """Get the jars that Spark needs, and compare them with their pinned digests.

    They go to $RETABLE_JARS, or to `jars` in this Python environment. Jars that are there are replaced. An installation
    from a clone by `make setup` has them already.
    """
    folder = jars_folder()
    say(f"getting Spark's jars (130 MB) into {folder}")
    say(f"{get(folder)} jars are in {folder}; `retable run SOURCE` uses them")
