"""A proxy between a client and a server that breaks a connection in a chosen way, at a chosen request."""

import re
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from types import TracebackType
from typing import Self

_BLOCK = 1 << 16
_RESET = struct.pack("ii", 1, 0)
_GO_ON = b"HTTP/1.1 100 "


@dataclass(slots=True)
class Fault:
    """What happens to the requests that match, `times` of them; `done` counts those to which it happened.

    `after` must match what came just before on the same connection. `lose`: the server does it, and its answer never
    arrives. `reset`: the connection breaks before the server sees it. `cut`: of the answer only so many bytes arrive.
    `status`: the proxy answers by itself. `asked` is called before the server sees it, `answered` when the server has
    done it, before its answer goes on.
    """

    match: re.Pattern[bytes]
    times: int = 1
    after: re.Pattern[bytes] | None = None
    asked: Callable[[], None] | None = None
    answered: Callable[[], None] | None = None
    lose: bool = False
    reset: bool = False
    cut: int | None = None
    status: int | None = None
    every: int = 1
    """Of so many that match, it happens to one."""
    matched: int = 0
    done: int = 0


@dataclass(slots=True)
class Proxy:
    """Listens on loopback and passes on what comes, but for its faults."""

    target: int
    faults: list[Fault] = field(default_factory=list)
    seen: list[bytes] = field(default_factory=list)
    """The first lines of requests, in the order of their arrival."""
    port: int = 0
    _listener: socket.socket = field(default_factory=socket.socket)
    _lock: Lock = field(default_factory=Lock)
    _open: list[socket.socket] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(64)
        self.port = self._listener.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for each in (self._listener, *self._open):
            _close(each)

    @contextmanager
    def doing(self, **fault: object) -> Iterator[Fault]:
        """Do this to requests for as long as it is asked for."""
        wanted = Fault(**fault)  # type: ignore[arg-type]  # the names are those of Fault
        self.faults.append(wanted)
        try:
            yield wanted
        finally:
            self.faults.remove(wanted)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
        except OSError:
            _close(client)
            return
        server.settimeout(None)
        self._open += [client, server]
        answer = _Answer(client, server)
        Thread(target=answer.pump, daemon=True).start()
        with suppress(OSError):
            self._pump(client, server, answer)
        _close(client)
        _close(server)

    def _pump(self, client: socket.socket, server: socket.socket, answer: "_Answer") -> None:
        before = b""
        while block := client.recv(_BLOCK):
            self.seen.append(block.partition(b"\r\n")[0][:200])
            fault = self._fault(block, before)
            before = block
            if fault is not None:
                answer.then = fault.answered
                if fault.asked is not None:
                    fault.asked()
            match fault:
                case Fault(reset=True):
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    return
                case Fault(status=int() as status):
                    client.sendall(b"HTTP/1.1 %d Fault\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
                    return
                case Fault(lose=True):
                    answer.left = 0
                case Fault(cut=int() as cut):
                    answer.left = cut
            server.sendall(block)

    def _fault(self, block: bytes, before: bytes) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.done < fault.times and fault.match.search(block) and _follows(fault, before):
                    fault.matched += 1
                    if fault.matched % fault.every == 0:
                        fault.done += 1
                        return fault
        return None


@dataclass(slots=True)
class _Answer:
    """Passes a server's answers on; where `left` is set, only so many bytes more, and then the connection breaks.

    `then` is called once, with the next answer that is more than leave to send the rest.
    """

    client: socket.socket
    server: socket.socket
    left: int | None = None
    then: Callable[[], None] | None = None

    def pump(self) -> None:
        with suppress(OSError):
            while block := self.server.recv(_BLOCK):
                if self.then is not None and not block.startswith(_GO_ON):
                    then, self.then = self.then, None
                    then()
                if self.left is not None and len(block) >= self.left:
                    self.client.sendall(block[: self.left])
                    break
                if self.left is not None:
                    self.left -= len(block)
                self.client.sendall(block)
        _close(self.client)
        _close(self.server)


def _follows(fault: Fault, before: bytes) -> bool:
    return fault.after is None or fault.after.search(before) is not None


def _close(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
