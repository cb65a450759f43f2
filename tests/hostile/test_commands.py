"""Hostile names, values, statements, arguments and settings go through every command."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from hostile.corpus import CANARY, NAMES, NOBODY, RENDERED, WORDS, is_obeyed, messages, settings
from retable.cli.app import app
from retable.cli.commands import COMMANDS, load_command
from retable.cli.look_after import holds, quarantine, shadow, upkeep
from retable.cli.run import baseline
from retable.cli.run import stages as run
from retable.land.kafka import positions
from retable.session import build_session
from retable.settings.load import Settings

HOUR, WINDOW = ("2026-03-01T05:00:00Z", "2026-03-01T06:00:00Z"), "20260301T0500Z"
TABLE = "gold_shop.values"
NAMED = ("--source", "bad")


@contextmanager
def _warm(settings: Settings) -> Iterator[SparkSession]:
    yield build_session(settings, "retable tests")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Path]:
    """Settings and landed objects; secrets stand in the environment."""
    made = tmp_path_factory.mktemp("hostile")
    (made / "in").mkdir()
    (made / "in" / "2026-03-01T05.jsonl").write_bytes(b"\n".join(messages()))
    (made / "retable.toml").write_text(settings(made), encoding="utf-8")
    (made / "rows.csv").write_text(f'id,c\n1,"{NAMES[1]}"\n', encoding="utf-8")
    (made / "one.json").write_bytes(next(messages()))
    (made / "script.sql").write_text("CREATE TABLE `a``b` (id int primary key);\nnonsense;\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        for name in ("HOSTILE_USER", "HOSTILE_PASSWORD", "RETABLE_TOKEN"):
            patch.setenv(name, CANARY)
        for module in (run, baseline, holds, quarantine, shadow, upkeep):
            patch.setattr(module, "running_spark", _warm)
        yield made


CALLS: dict[str, list[tuple[str, ...]]] = {
    "run": [("bad", "--to", HOUR[1]), (WORDS,)],
    "land": [("bad", "--window", WINDOW), ("bad", "--window", WORDS)],
    "decode": [("bad", "--window", WINDOW)],
    "replay": [("bad", "--window", WINDOW)],
    "get-jars": [("--help",)],
    "init": [("--from-files", "in")],
    "check": [("bad",), ("bad", "--json")],
    "rows": [*((TABLE, "--format", form) for form in ("jsonl", "table")), (WORDS,)],
    "tables": [(), ("--json",)],
    "schema": [(TABLE,), (TABLE, "--json"), (WORDS,)],
    "history": [(TABLE,), (TABLE, "--json"), ("gold_shop.t",), ("gold_shop.t", "--json")],
    "status": [(), ("--json",), ("--check",)],
    "why": [("bad",), (TABLE,), (WORDS,)],
    "fresh": [(TABLE, "--through", HOUR[1]), (WORDS, "--through", HOUR[1]), (TABLE, "--through", WORDS)],
    "plan": [(), ("--json",)],
    "verify": [(TABLE,), (TABLE, "--json"), (TABLE, "--against", "ledger"), (WORDS,)],
    "diff": [(TABLE, WINDOW, "now"), (TABLE, WORDS, "now")],
    "upkeep": [("--dry-run",), (), (WORDS,)],
    "recover": [("--yes",), ("--as", WORDS)],
    "migrate": [("--dry-run",), ()],
    "backup": [("saved.db",), (f"x{WORDS}".replace("\x00", ""),)],
    "copy": [("copied",), (f"y{WORDS}".replace("\x00", ""),)],
    "accept-rows": [(TABLE, "--reason", WORDS), (WORDS, "--reason", WORDS)],
    "accept-loss": [(TABLE, "--reason", WORDS), (WORDS, "--reason", WORDS)],
    "show-message": [(*NAMED, "one.json"), ("--format", WORDS, "one.json")],
    "show-ddl": [("--dialect", "mysql", f"CREATE TABLE `{NAMES[4]}` (id int)"), ("--dialect", "oracle", WORDS)],
    "simulate": [("made", "--hours", "1", "--changes", "5"), ("made", "--format", WORDS)],
    "schema import": [
        ("bad", "--from", "script.sql", "--database", "shop", "--at", "start", "--apply"),
        ("bad", "--from", f"mysql://u:{CANARY}@127.0.0.1:1/x"),
    ],
    "baseline": [
        (TABLE, "--from", "rows.csv", "--at", "start"),
        (TABLE, "--from", f"mysql://u:{CANARY}@127.0.0.1:1/x?{WORDS}"),
    ],
    "rebuild": [(WORDS, "--reason", WORDS, "--yes"), (TABLE, "--reason", WORDS, "--yes")],
    "resync": [(TABLE, "--reason", WORDS)],
    "hold list": [(), ("--json",)],
    "hold release": [
        ("gold_shop.t", "--retry", "--reason", WORDS, "--yes"),
        (WORDS, "--retry", "--reason", "x", "--yes"),
    ],
    "quarantine list": [(), ("--json",), ("--after", WORDS)],
    "quarantine show": [("FIRST",), (WORDS,)],
    "quarantine redecode": [(), ("--id", WORDS)],
    "quarantine accept": [("FIRST", "--reason", WORDS), (WORDS, "--reason", WORDS)],
    "shadow build": [("bad", "--tables", TABLE, "--from", WINDOW, "--to", "20260301T0600Z", "--reason", WORDS)],
    "shadow diff": [("bad",), ("bad", "--json"), (WORDS,)],
    "shadow promote": [("bad", "--reason", WORDS)],
    "shadow drop": [("bad", "--reason", WORDS)],
}
"""Calls of every command, in an order in which they have something to say."""
MAY_WRITE = {
    "saved.db",
    "copied",
    "made",
    "in",
    "lake",
    "rows.csv",
    "one.json",
    "script.sql",
    "retable.toml",
    "other.toml",
}


def commands() -> Iterator[str]:
    for name in COMMANDS:
        group = getattr(load_command(name), "commands", None)
        yield from [name] if group is None else (f"{name} {each}" for each in group)


def test_every_command_is_called_here() -> None:
    assert sorted(commands()) == sorted(CALLS)


def call(command: str, words: tuple[str, ...]) -> Result:
    if "FIRST" in words:
        listed = CliRunner().invoke(app, ["quarantine", "list", "--json", "--limit", "1"], prog_name="retable")
        words = tuple(json.loads(listed.stdout)[0]["id"] if word == "FIRST" else word for word in words)
    file = ["--settings", "other.toml"] if command == "init" else []
    return CliRunner().invoke(app, [*file, *command.split(), *words], prog_name="retable")


def test_every_command_says_nothing_that_a_terminal_obeys_and_leaves_nothing_behind(folder: Path) -> None:
    wrong = []
    for command, calls in CALLS.items():
        for words in calls:
            result = call(command, words)
            said = result.stdout + result.stderr
            if obeyed := sorted({char for char in said if is_obeyed(char)}):
                wrong.append(f"{command} {words!r} prints {obeyed}")
            if CANARY in said or RENDERED in said:
                wrong.append(f"{command} {words!r} shows a secret, or rendered a template")
            if result.exit_code not in (0, 1, 2, 3, 4):
                wrong.append(f"{command} {words!r} ends with {result.exit_code}: {result.exception!r}")
    assert wrong == []
    made = {path.name for path in folder.iterdir()} - MAY_WRITE
    assert {name for name in made if not name.startswith(("x{{", "y{{", "."))} == set()
    assert_clean(folder)


def assert_clean(folder: Path) -> None:
    """No secret is in a file or a command line, and no file of the lake has a name that a message told."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [str(path) for path in files if CANARY.encode() in path.read_bytes()] == []
    inside = [str(path.relative_to(folder / "lake")) for path in files if path.is_relative_to(folder / "lake")]
    assert len(inside) > 30
    assert [path for path in inside if not re.fullmatch(r"[\w./=-]+", path)] == []
    assert not Path("/tmp/elsewhere").exists()
    own = os.getpid()
    lines = [" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"]) if each.pid != own]
    assert [line for line in lines if CANARY in line] == []


def test_a_broker_that_does_not_answer_is_told_without_its_password(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions, "REQUEST_SECONDS", 2)
    (folder / "nobody.toml").write_text(settings(folder) + NOBODY, encoding="utf-8")
    result = CliRunner().invoke(app, ["--settings", "nobody.toml", "run", "nobody"], prog_name="retable")
    assert result.exit_code == 3
    assert CANARY not in result.stdout + result.stderr
    assert_clean(folder)


@pytest.mark.parametrize(
    "text",
    [
        f'catalog = "postgresql://u:{CANARY}@127.0.0.1/x"',
        f'catalog = "sqlite:///x{WORDS}"',
        f'warehouse = "s3a://KEY:{CANARY}@bucket"',
        f'gold = "{WORDS}"',
        f"[sources.a]\nowner = {json.dumps(WORDS)}",
        f'[sources."{WORDS}"]\nkind = "files"',
        f'[tables."{WORDS}"]\nkeys = 7',
        f"{WORDS} = 1",
    ],
)
def test_hostile_settings_are_refused_and_not_repeated(text: str, tmp_path: Path) -> None:
    (tmp_path / "retable.toml").write_text(f"[lake]\n{text}\n", encoding="utf-8")
    done = subprocess.run(
        [Path(sys.executable).with_name("retable"), "--settings", "retable.toml", "status"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert CANARY not in said
    assert RENDERED not in said
    assert [char for char in said if is_obeyed(char)] == []
    assert [path.name for path in tmp_path.iterdir()] == ["retable.toml"]
