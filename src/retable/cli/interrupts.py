"""Handles Ctrl-C and SIGTERM: what a command does before it ends, and its exit code."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """Raised when a signal, such as SIGTERM, asks the process to end. `number` is the number of the signal.

    It is no subclass of Exception, so that handlers of ordinary errors do not catch it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)

    @property
    def code(self) -> int:
        """The exit code that shells use for a process that this signal ended: 128 + the signal's number."""
        return 128 + self.signal


@contextmanager
def before_interrupts(act: Callable[[], None] = lambda: None) -> Iterator[None]:
    """In the `with` block, call `act` and raise Interrupted on SIGINT (Ctrl-C) or SIGTERM.

    `act` ends what the main thread may be waiting for, for example Spark's JVM. Python handles signals only in the main
    thread, so in any other thread this function changes nothing.
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
