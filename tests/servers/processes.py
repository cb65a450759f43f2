"""Servers of others as processes of the tests: started on loopback, waited for, stopped by their own number."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

_READY_SECONDS = 60

QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""The JVM's optimizing compiler would cost tests of seconds twice what it saves them."""


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return int(each.getsockname()[1])


@dataclass(slots=True)
class Process:
    """A server that may be stopped and started again on its port."""

    command: Sequence[str | Path]
    port: int
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    is_ready: Callable[[int], bool] | None = None
    _running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as out:
            self._running = subprocess.Popen(
                self.command,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )
        self._wait()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._running is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._running.pid, how)
        self._running.wait(timeout=_READY_SECONDS)
        self._running = None

    def kill(self) -> None:
        """Kill it and all that it started, as they stand: nobody says goodbye to anybody."""
        assert self._running is not None, f"{self.command[0]} does not run"
        itself = psutil.Process(self._running.pid)
        # Stopped first, it starts nobody whom the list has not. PostgreSQL does not start before all of them are gone.
        itself.suspend()
        children = itself.children(recursive=True)
        for each in (itself, *children):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self._running.wait(timeout=_READY_SECONDS)
        _, alive = psutil.wait_procs(children, timeout=_READY_SECONDS)
        assert not alive, f"{self.command[0]} was killed, but not {alive}"
        self._running = None

    @contextmanager
    def running(self) -> Iterator["Process"]:
        self.start()
        try:
            yield self
        finally:
            self.stop(signal.SIGKILL)

    def _wait(self) -> None:
        ready, ends = self.is_ready or listens, time.monotonic() + _READY_SECONDS
        while not ready(self.port):
            if self._running is None or self._running.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(f"{self.command[0]} did not start: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)


def listens(port: int) -> bool:
    """Whether somebody takes connections on this port of loopback."""
    with socket.socket() as each:
        return each.connect_ex(("127.0.0.1", port)) == 0
