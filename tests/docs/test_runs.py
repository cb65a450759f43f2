"""The commands of *Start* and *Operations* work: each is run, in the order of its page, on a simulated shop."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from retable.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
_COMMAND = re.compile(r"^\s*(?:venv/bin/)?(retable [^\n#]*)", re.MULTILINE)
_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)

NEEDS_A_NETWORK = ("retable init --from-kafka", "retable get-jars")
NOT_HELD = "retable hold release gold_shop.orders --retry"
"""The shop's table is not held, and the command says so."""


def commands_of(page: str) -> Iterator[str]:
    """Give the commands of a page, in their order, without their notes."""
    for block in _BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8")):
        yield from (found.strip() for found in _COMMAND.findall(block))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RETABLE_SETTINGS", raising=False)
    return tmp_path


def call(line: str) -> Result:
    return CliRunner().invoke(app, shlex.split(line)[1:], input="y\n", prog_name="retable")


def test_the_commands_of_your_own_messages_end_well(folder: Path) -> None:
    lines = list(commands_of("start/own-messages.md"))
    assert len(lines) > 8
    for line in lines:
        if line.startswith(NEEDS_A_NETWORK):
            continue
        if line.startswith("retable init --from-files"):
            (folder / "began").mkdir()
            line = f"retable --settings began/retable.toml {line.removeprefix('retable ')}".replace("FOLDER", "landing")
        result = call(line)
        assert result.exit_code == 0, (line, result.output)
    assert "equal" in call("retable verify gold_shop.orders").output


def test_the_commands_of_operations_do_what_they_say(folder: Path) -> None:
    assert call("retable simulate . --hours 3 --changes 90 --start 2026-03-01T04:00:00Z").exit_code == 0
    settings = folder / "retable.toml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("[sources.shop]", "[sources.erp]"), "utf-8")
    unread = next(path for path in sorted((folder / "landing").rglob("*05*")) if path.is_file())
    with unread.open("a", encoding="utf-8") as file:
        file.write('{"topic":"shop","partition":0,"offset":999999,"timestamp":1772342000000,"key":null,"value":"?"}\n')
    assert call("retable run erp --to 2026-03-01T07:00:00Z").exit_code == 2
    shown = call("retable quarantine list").output
    address = re.search(r"erp/20260301T0500Z/decode/\S+", shown)
    assert address is not None, shown
    stand_for = {
        "SOURCE": "erp",
        "[SOURCE]": "erp",
        "ID": address[0],
        "T": "2026-03-01T04:30:00Z",
        "20260301T0000Z": "20260301T0400Z",
        "20260302T0000Z": "20260301T0700Z",
    }
    lines = list(commands_of("operations.md"))
    assert len(lines) > 20
    for line in lines:
        words = [stand_for.get(word, word) for word in shlex.split(line)]
        words = [str(folder / "backup") if word == "/backup/" else word for word in words]
        (folder / "backup").mkdir(exist_ok=True)
        result = call(shlex.join(words))
        if line.startswith(NOT_HELD):
            assert "is not held" in result.output
        else:
            assert result.exit_code in (0, 2), (words, result.exit_code, result.output)
        if line == "retable backup /backup/":
            shutil.rmtree(folder / "backup")
