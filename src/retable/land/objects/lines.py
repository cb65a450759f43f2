"""Read the lines of a plain, gzip or zstd object in bounded memory, and report every byte that is not read."""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import zstandard

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 18
# One block of zstd has at least 4 bytes and at most 128 KiB of content, so a slice unpacks to at most 8 MiB.
_ZSTD_SLICE = 256


@dataclass(frozen=True, slots=True)
class ObjectLine:
    """A line of an object, without its line end. `number` is its number, from 0.

    If `value` is not the whole line, `problem` says why; else it is None.
    """

    number: int
    value: bytes
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Damage:
    """Marks the point at which reading of an object's content stops too early. It comes instead of a block of bytes."""

    reason: str


@dataclass(frozen=True, slots=True)
class ObjectLimits:
    """The limits of one object, from the settings `max_unpacked`, `max_ratio` and `max_lines` of its source.

    - `unpacked`: the most bytes that a compressed object may have after it is unpacked.
    - `ratio`: the most unpacked bytes for each byte of a compressed object. It is checked only beyond the first GiB,
      because real messages can have a high ratio: 600 for Debezium JSON with schemas in zstd.
    - `lines`: the most lines of any object.

    There is one more limit, without a setting: a compressed object with more than 100,000 lines may have at most ten
    lines for each compressed byte. More lines cannot be messages: even if messages differ only in their time, each
    takes about seven bytes in zstd.
    """

    unpacked: int
    ratio: int
    lines: int

    def broken(self, size: int, unpacked: int, lines: int, packed: bool) -> str | None:
        """Return which limit an object of `size` bytes exceeds, and the setting for it; None if it exceeds none.

        `unpacked` and `lines` count what was read so far. `packed` says whether the object is compressed.
        """
        if lines > self.lines:
            return f"the object has more than {self.lines:,} lines; a greater max_lines allows more"
        if not packed:
            return None
        if unpacked > self.unpacked:
            return f"its {size:,} bytes unpack to over {self.unpacked:,} bytes; a greater max_unpacked allows more"
        if unpacked > max(_FREE_BYTES, size * self.ratio):
            return f"its {size:,} bytes unpack to over {self.ratio:,} times as many; a greater max_ratio allows more"
        if lines > max(_FREE_LINES, size * 10):
            return f"its {size:,} bytes unpack to over {max(_FREE_LINES, size * 10):,} lines: these are not messages"
        return None


_FREE_BYTES, _FREE_LINES = 1 << 30, 100_000


def read_lines(content: Iterable[bytes | Damage], longest: int) -> Iterator[ObjectLine]:
    """Yield the lines of an object's content, split at LF or CRLF. Keep only the first `longest` bytes of a line.

    If a line is longer, or the content ends too early, the `problem` of the line says so.
    """
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


def read_content(file: BinaryIO, size: int, bounds: ObjectLimits) -> Iterator[bytes | Damage]:
    """Yield the first `size` bytes of an object in blocks, unpacked if they begin like gzip or zstd.

    If the content is damaged or exceeds one of the limits `bounds`, yield a Damage, and end.
    """
    limited = io.BufferedReader(_Limited(file, size), _BLOCK)
    head = limited.peek(4)[:4]
    if head.startswith(_GZIP):
        yield from _bounded(_gunzip(limited), size, bounds, packed=True)
    elif head == _ZSTD:
        yield from _bounded(_unzstd(limited), size, bounds, packed=True)
    else:
        yield from _bounded(iter(lambda: limited.read1(_BLOCK), b""), size, bounds, packed=False)


def _bounded(
    blocks: Iterable[bytes | Damage], size: int, bounds: ObjectLimits, *, packed: bool
) -> Iterator[bytes | Damage]:
    """Yield blocks until a block exceeds a limit. Then yield a Damage instead of this block, and end."""
    unpacked = lines = 0
    for block in blocks:
        if isinstance(block, bytes):
            unpacked += len(block)
            lines += block.count(b"\n")
            if problem := bounds.broken(size, unpacked, lines, packed):
                yield Damage(problem)
                return
        yield block


def _gunzip(file: BinaryIO) -> Iterator[bytes | Damage]:
    with gzip.GzipFile(fileobj=file) as unpacked:
        try:
            yield from iter(lambda: unpacked.read1(_BLOCK), b"")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Damage(f"its gzip data cannot be unpacked: {error}")


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
        yield Damage(f"its zstd data cannot be unpacked: {error}")
        return
    if not frame.eof:
        yield Damage("its last zstd frame is cut off")


class _Limited(io.RawIOBase):
    """The first `size` bytes of a file, without bytes that were appended after the file was recorded."""

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
    """The current line: the kept bytes, its length so far, and where in the content it began."""

    longest: int
    number: int = 0
    start: int = 0
    length: int = 0
    kept: bytearray = field(default_factory=bytearray)

    def add(self, piece: bytes) -> None:
        self.kept += piece[: self.longest - len(self.kept)]
        self.length += len(piece)

    def finish(self) -> ObjectLine:
        value = bytes(self.kept)
        line = ObjectLine(self.number, value.removesuffix(b"\r"))
        if self.length > self.longest:
            problem = f"the line has {self.length} bytes, but max_message is {self.longest}, so its end is cut off"
            line = ObjectLine(
                self.number,
                value,
                f"{problem}; raise max_message and run `retable quarantine redecode` (the line begins at byte "
                f"{self.start} of the content)",
            )
        self.start += self.length + 1
        self.number, self.length, self.kept = self.number + 1, 0, bytearray()
        return line

    def cut(self, reason: str) -> ObjectLine:
        at = self.start + self.length
        return ObjectLine(self.number, bytes(self.kept), f"reading ends after byte {at} of the content: {reason}")
