"""The lines of an object, whatever it is packed in: bounded in memory, and nothing left out without a word."""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import zstandard

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 18
# One block of zstd is at least 4 bytes and at most 128 KiB of content, so a slice unpacks to 8 MiB at most.
_ZSTD_SLICE = 256


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end, numbered from 0; `problem` says why `value` is not the whole of it."""

    number: int
    value: bytes
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Damage:
    """The place where an object's content ends before it should, for a reason."""

    reason: str


def read_lines(content: Iterable[bytes | Damage], longest: int) -> Iterator[Line]:
    """Split content at LF or CRLF; of a line over `longest` bytes the beginning is kept, and `problem` says so."""
    pending = _Pending(longest)
    for block in content:
        if isinstance(block, Damage):
            yield pending.cut(block.reason)
            return
        first, *others = block.split(b"\n")
        pending.add(first)
        for piece in others:
            yield pending.finish()
            pending.add(piece)
    if pending.length:
        yield pending.finish()


def read_content(file: BinaryIO, size: int) -> Iterator[bytes | Damage]:
    """Give the first `size` bytes of an object in blocks, unpacked where they begin as gzip or zstd does."""
    limited = io.BufferedReader(_Limited(file, size), _BLOCK)
    head = limited.peek(4)[:4]
    if head.startswith(_GZIP):
        yield from _gunzip(limited)
    elif head == _ZSTD:
        yield from _unzstd(limited)
    else:
        yield from iter(lambda: limited.read1(_BLOCK), b"")


def _gunzip(file: BinaryIO) -> Iterator[bytes | Damage]:
    with gzip.GzipFile(fileobj=file) as unpacked:
        try:
            yield from iter(lambda: unpacked.read1(_BLOCK), b"")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Damage(f"gzip: {error}")


def _unzstd(file: BinaryIO) -> Iterator[bytes | Damage]:
    frame = zstandard.ZstdDecompressor().decompressobj()
    try:
        for block in iter(lambda: file.read(_ZSTD_SLICE), b""):
            rest = block
            while rest:
                if frame.eof:
                    frame = zstandard.ZstdDecompressor().decompressobj()
                yield frame.decompress(rest)
                rest = frame.unused_data
    except zstandard.ZstdError as error:
        yield Damage(f"zstd: {error}")
        return
    if not frame.eof:
        yield Damage("zstd: the last frame is cut off")


class _Limited(io.RawIOBase):
    """The first `size` bytes of a file: what was appended since it was recorded is not there."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # BufferedReader passes no other
        block = self._file.read(min(len(buffer), self._left))
        buffer[: len(block)] = block
        self._left -= len(block)
        return len(block)


@dataclass(slots=True)
class _Pending:
    """The line that has begun: what is kept of it, its length so far, and where in the content it began."""

    longest: int
    number: int = 0
    start: int = 0
    length: int = 0
    kept: bytearray = field(default_factory=bytearray)

    def add(self, piece: bytes) -> None:
        self.kept += piece[: self.longest - len(self.kept)]
        self.length += len(piece)

    def finish(self) -> Line:
        value = bytes(self.kept)
        line = Line(self.number, value.removesuffix(b"\r"))
        if self.length > self.longest:
            problem = f"the line has {self.length} bytes and max_message is {self.longest}: the rest of it is not here"
            line = Line(self.number, value, f"{problem}; it begins at byte {self.start} of the content")
        self.start += self.length + 1
        self.number, self.length, self.kept = self.number + 1, 0, bytearray()
        return line

    def cut(self, reason: str) -> Line:
        at = self.start + self.length
        return Line(self.number, bytes(self.kept), f"the content breaks off after byte {at}: {reason}")
