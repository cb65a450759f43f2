"""How `retable run` ends when its Spark dies, or when it is told to end: in words, and with nothing left behind."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

RETABLE = [sys.executable, "-c", "from retable.cli import main; main()"]


class Ended(NamedTuple):
    """How a run ended, and what it said after the moment of the fault."""

    code: int
    said: str


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Two hours of a shop; the first is in gold."""
    command = "simulate shop --hours 2 --changes 60 --format canal_json --start 2026-03-01T00:00:00Z"
    subprocess.run([*RETABLE, *command.split()], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "shop"


@pytest.fixture
def fault_in_replay(shop: Path, tmp_path: Path) -> Iterator[Callable[[Callable[[int, int], None]], Ended]]:
    """Run the shop, and do this to the run and its JVM as soon as its first window is decoded."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary}"}
    environment.pop("PYSPARK_GATEWAY_PORT", None)

    def run(fault: Callable[[int, int], None]) -> Ended:
        command = [*RETABLE, "run", "shop", "--to", "2026-03-01T02:00:00Z"]
        with subprocess.Popen(command, cwd=shop, env=environment, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            while " decode " not in (line := process.stderr.readline()):
                assert line, "it ended before it had decoded a window"
            jvm = next(each for each in psutil.Process(process.pid).children() if each.name() == "java")
            fault(process.pid, jvm.pid)
            said = process.stderr.read()
            code = process.wait(60)
        _, alive = psutil.wait_procs([jvm], timeout=10)
        assert alive == []
        return Ended(code, said)

    yield run
    assert sorted(temporary.glob("spark-*")) + sorted(temporary.glob("blockmgr-*")) == []


def _assert_goes_on(shop: Path, ended: Ended) -> None:
    assert "Traceback" not in ended.said
    assert "WARN" not in ended.said
    assert "ERROR" not in ended.said
    assert len(ended.said.splitlines()) <= 4, ended.said
    again = subprocess.run(
        [*RETABLE, "run", "shop", "--to", "2026-03-01T02:00:00Z"], cwd=shop, capture_output=True, text=True, check=False
    )
    assert (again.returncode, "shop is complete through" in again.stderr) == (0, True), again.stderr


def test_a_run_whose_spark_was_killed_says_so_and_is_tried_again(
    shop: Path, fault_in_replay: Callable[..., Ended]
) -> None:
    ended = fault_in_replay(lambda _, jvm: os.kill(jvm, signal.SIGKILL))
    assert ended.code == 3, ended.said
    assert "error: Spark died" in ended.said
    assert "in replay of 20260301T0000Z" in ended.said
    assert "run the same command again" in ended.said
    _assert_goes_on(shop, ended)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_told_to_end_says_where_it_was_and_that_nothing_is_lost(
    shop: Path, fault_in_replay: Callable[..., Ended], number: signal.Signals
) -> None:
    ended = fault_in_replay(lambda run, _: os.kill(run, number))
    assert ended.code == 128 + number, ended.said
    # It is told as soon as the first window is decoded, which may be a moment before its replay begins.
    assert re.search(f"ended by {number.name} in (decode|replay) of 20260301T0000Z", ended.said)
    assert "nothing is lost" in ended.said
    _assert_goes_on(shop, ended)
