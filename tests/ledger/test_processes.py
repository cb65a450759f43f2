"""Whether the process that took something is still there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import retable
from retable.ledger.processes import is_gone, this_process

TELL = "import sys; from retable.ledger.processes import *; print(this_process(), flush=True); sys.stdin.read()"


@pytest.fixture
def other() -> Iterator["subprocess.Popen[str]"]:
    environment = {**os.environ, "PYTHONPATH": str(Path(retable.__file__).parents[1])}
    command = [sys.executable, "-c", TELL]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def test_a_process_is_there_until_it_is_killed_though_nobody_has_collected_it(other: "subprocess.Popen[str]") -> None:
    assert other.stdout is not None
    name = other.stdout.readline().strip()
    assert not is_gone(name)
    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert is_gone(name)
    other.wait()
    assert is_gone(name)


def test_another_process_that_got_its_number_is_not_it() -> None:
    name = this_process()
    assert name is not None
    assert not is_gone(name)
    assert is_gone(name.rpartition("/")[0] + "/1")


def test_of_a_process_elsewhere_nothing_is_known() -> None:
    assert not is_gone("another-machine:4026531836/1/1")
    assert not is_gone(None)
