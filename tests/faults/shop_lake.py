"""A lake of a simulated shop whose truth is known, and the command line on it, through one warm Spark."""

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from retable.cli.app import app
from retable.cli.look_after import holds, quarantine, shadow, upkeep
from retable.cli.run import baseline
from retable.cli.run import stages as run
from retable.ledger.lake import small_files
from retable.printable import printable_json
from retable.session import build_session
from retable.settings.load import Settings

HALF, WHOLE = "2026-03-01T04:00:00Z", "2026-03-01T06:00:00Z"
_DOORS = (run, baseline, holds, quarantine, shadow, upkeep)


@dataclass
class ShopLake:
    """A folder with settings, landed objects, a lake and the truth; the lake has the first four of six hours.

    `pristine` is a copy of it, which `restore` puts back at the same place.
    """

    folder: Path
    pristine: Path = field(init=False)

    def __post_init__(self) -> None:
        self.pristine = self.folder.with_name("pristine")

    @property
    def warehouse(self) -> Path:
        return self.folder / "var" / "lake"

    @property
    def catalog(self) -> Path:
        return self.warehouse / "catalog.db"

    def restore(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.pristine, self.folder)

    def call(self, *words: str, folder: Path | None = None, input: str | None = None) -> Result:
        """Call `retable` in this folder, as a person does: each call stands for a process, which keeps nothing."""
        small_files._kept.clear()
        before = Path.cwd()
        os.chdir(folder or self.folder)
        try:
            return CliRunner().invoke(app, words, input=input, prog_name="retable")
        finally:
            os.chdir(before)

    def run(self, to: str = WHOLE, code: int = 0, folder: Path | None = None) -> Result:
        result = self.call("run", "shop", "--to", to, folder=folder)
        assert result.exit_code == code, result.output
        return result

    def different(self, folder: Path | None = None) -> dict[str, tuple[list[str], list[str]]]:
        """The rows that only gold has and those that only the truth has, by table; empty where all are equal."""
        found = {}
        for truth in sorted(((folder or self.folder) / "truth").glob("*.jsonl")):
            # An older simulator wrote the truth without escapes of what a terminal obeys.
            wanted = sorted(map(printable_json, filter(None, truth.read_text("utf-8").split("\n"))))
            result = self.call("rows", truth.stem, folder=folder)
            assert result.exit_code == 0, result.output
            rows = sorted(filter(None, result.stdout.split("\n")))
            if rows != wanted:
                found[truth.stem] = (sorted(set(rows) - set(wanted)), sorted(set(wanted) - set(rows)))
        return found

    def age(self, days: int = 5, folder: Path | None = None) -> None:
        """Let all files of the lake be so many days old: upkeep takes none that is young."""
        moment = time.time() - days * 86_400
        for path in ((folder or self.folder) / "var").rglob("*"):
            os.utime(path, (moment, moment))

    def files(self, folder: Path | None = None) -> dict[str, int]:
        """The files of the warehouse with their sizes, without those of the catalog."""
        warehouse = (folder or self.folder) / "var" / "lake"
        found = (path for path in warehouse.rglob("*") if path.is_file() and not path.name.startswith("catalog.db"))
        return {str(path.relative_to(warehouse)): path.stat().st_size for path in found}

    def tables(self) -> dict[str, Path]:
        """The folder of every gold table, by name."""
        shown = self.call("tables", "--json")
        assert shown.exit_code == 0, shown.output
        names = {table["name"] for table in json.loads(shown.stdout)}
        return {name: folder for name, folder in self.named() if name in names}

    def folder_of(self, table: str) -> Path:
        """The folder of any table of the lake."""
        return dict(self.named())[table]

    def named(self) -> Iterator[tuple[str, Path]]:
        for folder in self.warehouse.glob("*/*"):
            if metadata := sorted(folder.glob("metadata/*.metadata.json")):
                yield json.loads(metadata[-1].read_text())["properties"]["retable.name"], folder


@contextmanager
def _warm(settings: Settings) -> Iterator[SparkSession]:
    yield build_session(settings, "retable tests")


def make_shop(folder: Path, patch: pytest.MonkeyPatch, hours: Sequence[str] = (HALF,)) -> ShopLake:
    """Make the lake, run up to each of these hours; the commands' Spark is the one that runs already.

    The catalog as it was after each of them is kept in `states`.
    """
    use_warm_spark(patch)
    shop = ShopLake(folder / "shop")
    told = ("--hours", "6", "--changes", "300", "--format", "canal_json", "--start", "2026-03-01T00:00:00Z")
    made = shop.call("simulate", "shop", *told, folder=folder)
    assert made.exit_code == 0, made.output
    for number, hour in enumerate(hours):
        shop.run(hour)
        (shop.folder / "states").mkdir(exist_ok=True)
        shutil.copy2(shop.catalog, shop.folder / "states" / f"{number}.db")
    shutil.copytree(shop.folder, shop.pristine)
    return shop


def use_warm_spark(patch: pytest.MonkeyPatch) -> None:
    for module in _DOORS:
        patch.setattr(module, "running_spark", _warm)
