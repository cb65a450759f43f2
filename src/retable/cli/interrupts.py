"""Ctrl-C and SIGTERM: what a command does before it ends, and its exit code."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """A signal asked this process to end; no `except Exception` catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)

    @property
    def code(self) -> int:
        """The exit code that shells give to a process that a signal ended."""
        return 128 + self.signal


@contextmanager
def before_interrupts(act: Callable[[], None] = lambda: None) -> Iterator[None]:
    """In the `with` block, raise Interrupted on SIGINT or SIGTERM, after a call of `act`.

    `act` ends what the main thread may be waiting for. Outside of the main thread, this does nothing.
    """

    def end(number: int, _: FrameType | None) -> None:
        act()
        raise Interrupted(number)

    if current_thread() is not main_thread():
        yield
        return
    before = [(number, signal.signal(number, end)) for number in _SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
