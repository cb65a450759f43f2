"""A job ends with the process that started it, and with its JVM."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

SRC = str(Path(__file__).resolve().parents[1] / "src")
JOB = """
import os, subprocess, sys
program = "import sys, time; sys.path.insert(0, sys.argv[1]); from retable.job import hold_lifeline; hold_lifeline(); "
program += "print(\\"held\\", flush=True); time.sleep(600)"
env = {**os.environ, "RETABLE_LIFELINE": sys.argv[2]}
child = subprocess.Popen([sys.executable, "-c", program, sys.argv[1]], env=env)
child.wait()
"""
"""What stands for the JVM: it starts the job, and waits for it."""


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    """What stands for the task runner."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.kill()


@pytest.fixture
def jvm(worker: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", JOB, SRC, f"{worker.pid},{os.getpid()}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def job_of(jvm: subprocess.Popen[str]) -> psutil.Process:
    (job,) = psutil.Process(jvm.pid).children()
    return job


def test_a_job_whose_task_runner_was_killed_ends_its_jvm_and_itself(
    worker: subprocess.Popen[bytes], jvm: subprocess.Popen[str]
) -> None:
    job = job_of(jvm)
    worker.kill()
    # It is not collected yet: an entry that nobody has collected is no process that lives.
    assert jvm.wait(60) == -signal.SIGKILL
    psutil.wait_procs([job], timeout=60)
    assert not job.is_running()


def test_a_job_whose_jvm_was_killed_ends_itself(jvm: subprocess.Popen[str]) -> None:
    job = job_of(jvm)
    jvm.kill()
    jvm.wait(60)
    psutil.wait_procs([job], timeout=60)
    assert not job.is_running()
