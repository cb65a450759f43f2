"""The command line, called as a person calls it, in a folder of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lakes import SettingsWriter
from retable.cli.app import app
from retable.ledger.lake.catalog import Lake, open_lake
from retable.settings.load import Settings

SOURCE = """
[sources.dump]
kind = "files"
format = "canal_json"
path = "dump"
layout = "kafka_dump"
hour = '(\\d{4}-\\d{2}-\\d{2}T\\d{2})'
"""


@pytest.fixture
def retable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call `retable` with these arguments; `input` is its stdin."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RETABLE_SETTINGS", raising=False)

    def call(*args: str, input: bytes | str | None = None) -> Result:
        return CliRunner().invoke(app, args, input=input, prog_name="retable")

    return call


@pytest.fixture
def settings(write_settings: SettingsWriter) -> Settings:
    """Settings with one source, `dump`, where the command line finds them."""
    return write_settings(SOURCE)


@pytest.fixture
def lake(settings: Settings) -> Lake:
    return open_lake(settings)
