"""How the command line ends: exit codes, and words that say what to do."""

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Never

import pytest
from typer.testing import Result

from retable.cli.look import gold as look
from retable.cli.output import NeedsAttention
from retable.cli.progress import WindowProgress
from retable.cli.spark_log import spark_log
from retable.errors import BadValue, ConflictError, Fenced, NotFound, RetableError, Unbalanced
from retable.settings.load import Settings

Retable = Callable[..., Result]


@pytest.mark.parametrize(
    "args",
    [
        ["ru"],
        ["run"],
        ["run", "dump", "--form", "x"],
        ["rows", "gold_shop.t", "--format", "csv"],
        ["rows", "gold_shop.t", "--limit", "-1"],
        ["show-ddl", "ALTER"],
        ["hold", "release", "gold_shop.t", "--reason", "x"],
        ["hold"],
        [],
    ],
)
def test_an_error_of_usage_ends_with_1(retable: Retable, settings: Settings, args: list[str]) -> None:
    result = retable(*args)
    assert result.exit_code == 1
    assert result.stderr or "Usage" in result.output


def test_a_command_that_does_not_exist_gives_the_nearest(retable: Retable) -> None:
    assert "Did you mean 'tables'?" in retable("table").stderr


@pytest.mark.parametrize("time", ["2026-03-01T05:00", "2026-03-01", "20260301T0500"])
def test_a_time_without_a_zone_is_refused_and_says_how_to_write_it(retable: Retable, time: str) -> None:
    result = retable("run", "dump", "--from", time)
    assert result.exit_code == 1
    assert f"'{time}' has no time zone; write {time}Z" in " ".join(re.sub("[│\n]", " ", result.stderr).split())


def test_a_time_that_is_none_is_refused(retable: Retable) -> None:
    assert "'noon' is not a valid time; write it as" in retable("run", "dump", "--to", "noon").stderr


def test_an_empty_range_is_refused(retable: Retable, settings: Settings) -> None:
    result = retable("run", "dump", "--from", "2026-03-01T05:00Z", "--to", "2026-03-01T06:00+01:00")
    assert result.exit_code == 1
    assert "--from must be before --to" in result.stderr


def test_missing_settings_say_how_to_write_them(retable: Retable) -> None:
    result = retable("tables")
    assert result.exit_code == 1
    assert re.search(r"error: there is no settings file .*retable.toml\n +name one .* `retable init`\n", result.stderr)
    assert result.stdout == ""


def test_an_unknown_setting_names_the_nearest(retable: Retable, settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "retable.toml"
    path.write_text(path.read_text().replace("hour =", "huor ="))
    result = retable("tables")
    assert result.exit_code == 1
    assert "sources.dump.huor is not a setting\n       did you mean 'hour'?" in result.stderr


@pytest.mark.parametrize("args", [("--settings", "other/s.toml", "tables"), ("tables", "--settings=other/s.toml")])
def test_the_settings_may_be_named_before_or_behind_the_command(
    retable: Retable, settings: Settings, tmp_path: Path, args: tuple[str, ...]
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "retable.toml").rename(tmp_path / "other" / "s.toml")
    result = retable(*args, "--json")
    assert (result.exit_code, result.stdout) == (0, "[]\n")


def test_behind_two_dashes_nothing_is_an_option(retable: Retable) -> None:
    assert "--settings" in retable("show-ddl", "--dialect", "mysql", "--", "--settings").stdout


def _failing(error: Exception) -> Callable[..., Never]:
    def fail(*_: object) -> Never:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (NotFound("the lake is dry; fill it"), 1, "error: the lake is dry\n       fill it\n"),
        (ConflictError("the catalog is busy"), 3, "error: the catalog is busy\n       try again\n"),
        (Fenced("another run won"), 3, "error: another run won\n       try again\n"),
        (BadValue("x is no number"), 1, "error: x is no number\n       in a run, such a message goes to quarantine"),
        (Unbalanced("1 is not 2; report it"), 70, "error: 1 is not 2\n       report it\n"),
    ],
)
def test_an_error_ends_with_its_code_and_says_what_to_do(
    retable: Retable,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    error: RetableError,
    code: int,
    words: str,
) -> None:
    monkeypatch.setattr(look, "list_gold", _failing(error))
    result = retable("tables")
    assert result.exit_code == code
    assert result.stderr.startswith(words)
    assert result.stderr.endswith(f"\n       [{error.code}]\n")
    assert "Traceback" not in result.stderr
    assert "Traceback" in retable("tables", "--debug").stderr


def test_what_needs_a_person_is_a_line_each(
    retable: Retable, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look, "list_gold", _failing(NeedsAttention("the first is late\nthe second is held")))
    result = retable("tables")
    assert (result.exit_code, result.stderr) == (2, "the first is late\nthe second is held\n")


def test_what_nobody_expected_ends_with_70_and_keeps_its_traceback_in_a_file(
    retable: Retable, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(look, "list_gold", _failing(KeyError("a\x1b[2J\nb")))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = retable("tables")
    assert result.exit_code == 70
    assert "error: unexpected KeyError: 'a\\x1b[2J\\nb'" in result.stderr
    assert "Traceback" not in result.stderr
    (file,) = tmp_path.glob("retable-*.txt")
    assert str(file) in result.stderr
    assert "KeyError" in file.read_text()
    assert "Traceback" in retable("--debug", "tables").stderr


def test_a_traceback_that_fits_nowhere_is_printed(
    retable: Retable, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(look, "list_gold", _failing(KeyError("x")))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "not there"))
    result = retable("tables")
    assert result.exit_code == 70
    assert "Traceback" in result.stderr


def test_a_full_disk_is_no_bug_whoever_finds_it(
    retable: Retable, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(look, "list_gold", _failing(RuntimeError(f"An error occurred while calling o9.sql: {full}")))
    result = retable("tables")
    assert result.exit_code == 1
    assert result.stderr == "error: a disk is full\n       free some space, then run again\n       [ENVIRONMENT]\n"


def test_a_reader_that_goes_away_ends_the_command_without_a_word() -> None:
    """As in `retable show-ddl … | head -1`, where the pipe closes before the last line."""
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-c", "from retable.cli import main; main()"]
    result = subprocess.run(
        [*program, "show-ddl", "--dialect", "mysql", "DROP TABLE t"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (result.returncode, result.stderr) == (1, b"")


def test_the_version_is_that_of_the_package(retable: Retable) -> None:
    assert re.fullmatch(r"retable \d+\.\d+\.\d+\n", retable("--version").stdout)


def test_a_command_that_needs_no_jvm_does_not_load_pyspark() -> None:
    program = "import sys, retable.cli; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("window", "stage", "at"), [("20260301T0000Z", "replay", "in replay of 20260301T0000Z"), ("all", "", "in all")]
)
def test_what_ends_a_command_notes_where_it_was(window: str, stage: str, at: str) -> None:
    def fail(progress: WindowProgress) -> Never:
        progress.begin(1, window, stage)
        raise ConflictError("busy")

    with pytest.raises(ConflictError) as caught, WindowProgress(1) as progress:
        fail(progress)
    assert caught.value.__notes__ == [at]


def logs(folder: Path) -> list[Path]:
    return sorted(folder.glob("retable-spark-*.log"))


def test_an_error_names_the_log_of_spark_and_a_command_that_ends_well_leaves_none(
    retable: Retable, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    ends: list[tuple[Exception | None, str]] = [
        (None, "a warning"),
        (NeedsAttention("done, but"), "a warning"),
        (NotFound("x"), ""),
        (NotFound("x"), "a warning"),
    ]
    for error, printed in ends:

        def command(*_: object, error: Exception | None = error, printed: str = printed) -> list[object]:
            with spark_log() as log:
                assert log.stat().st_mode & 0o077 == 0
                log.write_text(printed)
                if error is not None:
                    raise error
            return []

        monkeypatch.setattr(look, "list_gold", command)
        result = retable("tables")
        named = [line.split()[-1] for line in result.stderr.splitlines() if "the log of Spark is" in line]
        assert named == list(map(str, logs(folder))), error
    assert [log.read_text() for log in logs(folder)] == ["a warning"]
