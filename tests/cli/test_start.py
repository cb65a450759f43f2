"""A command starts at once: the overview and each command import what they use, and no more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from retable.cli.commands import COMMANDS, load_command
from retable.settings.load import Settings

_LIBRARIES = {"pyiceberg", "pyarrow", "pydantic", "sqlalchemy", "sqlglot", "pyspark", "confluent_kafka", "boto3"}
_MODULES = """
import sys
from retable.cli import main
try:
    main()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


def imported(folder: Path, *words: str) -> set[str]:
    command = [sys.executable, "-c", _MODULES, *words]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return set(ended.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("words", ["--help", "--version"])
def test_the_overview_imports_no_command_and_no_large_library(tmp_path: Path, words: str) -> None:
    found = imported(tmp_path, words)
    assert not found & _LIBRARIES
    assert {name for name in found if name.startswith("retable.")} <= {
        *("retable.cli", "retable.errors", "retable.exit_codes", "retable.printable"),
        *(f"retable.cli.{name}" for name in ("app", "commands", "ending", "interrupts", "output", "spark_log")),
    }


def test_status_imports_what_it_reads_with_and_no_other_stage(tmp_path: Path, settings: Settings) -> None:
    found = imported(tmp_path, "status")
    assert not found & {"pyspark", "confluent_kafka", "boto3", "sqlalchemy", "sqlglot", "pandas"}
    rooms = {name.split(".")[1] for name in found if name.startswith("retable.")}
    assert not rooms & {"land", "migration", "onboard", "recovery", "shadow", "simulate", "upkeep", "verify"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_overview_says_of_a_command_what_its_own_help_begins_with(name: str) -> None:
    command = load_command(name)
    assert command.name == name
    assert COMMANDS[name].words == " ".join(command.help.split("\n\n")[0].split())


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("retable st", {"status"}),
        ("retable hold ", {"list", "release"}),
        ("retable hold release --re", {"--retry", "--reason"}),
    ],
)
def test_a_shell_completes_commands_and_options(tmp_path: Path, typed: str, offered: set[str]) -> None:
    at = len(typed.split()) - (not typed.endswith(" "))
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(at), "_RETABLE_COMPLETE": "complete_bash"}
    code = "import sys; sys.argv = ['retable']; from retable.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert offered <= set(ended.stdout.split()), ended.stderr
