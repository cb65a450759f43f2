"""Addresses of a lake that was moved, and atomic reads and writes of its files."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pyiceberg.io import FileIO

from retable.errors import EnvironmentFault, InvalidSetting, RetableError

_LOCAL = ("file://", "file:")
_BESIDE = ".relocating"


@dataclass(frozen=True, slots=True)
class Move:
    """The old and the new location of a lake's folder: `old/x` became `new/x`."""

    old: str
    new: str

    @classmethod
    def of(cls, old: str, new: str, inside: str) -> Self:
        """Make a move, and check it with a file under the new folder.

        If a folder was moved into or out of itself, and the tables' own folders repeat the name between the two, an
        address has two meanings: such a move is refused.
        """
        move = cls(old.rstrip("/"), new.rstrip("/"))
        if not move.has_arrived(inside):
            raise InvalidSetting(f"{inside} is not under {new}; name the folder in which the lake is now")
        rest = _rest(inside, move.new) or ""
        between = _rest(move.old, move.new) or _rest(move.new, move.old) or ""
        if between and (rest + "/").startswith(between + "/"):
            raise InvalidSetting(
                f"the files under {new}{between} could belong to {old} or to {new}; move the lake to another folder"
            )
        return move

    def __call__(self, address: str) -> str:
        """Give the present address of a file; an address outside the old folder stays."""
        rest = _rest(address, self.old)
        if rest is None or (_rest(self.new, self.old) and self.has_arrived(address)):
            return address
        scheme, _ = _split(address)
        return f"{scheme if self.new.startswith('/') else ''}{self.new}{rest}"

    def has_arrived(self, address: str) -> bool:
        """Whether an address is under the new folder."""
        return _rest(address, self.new) is not None


def plain(address: str) -> str:
    """Give a local path without `file:`; an address in object storage has one spelling already."""
    return _split(address)[1]


def _rest(address: str, folder: str) -> str | None:
    """The rest of an address after its folder, from the slash on; None if it is not in the folder."""
    path, start = plain(address), plain(folder)
    if path == start:
        return ""
    return path[len(start) :] if path.startswith(start + "/") else None


def _split(address: str) -> tuple[str, str]:
    """Split a local address into its scheme and its path."""
    for scheme in _LOCAL:
        if address.startswith(scheme + "/"):
            return scheme, address[len(scheme) :]
    return "", address


def read_whole(io: FileIO, address: str) -> bytes | None:
    """Read a file; None if it is missing."""
    try:
        with io.new_input(address).open() as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def write_whole(io: FileIO, address: str, data: bytes) -> None:
    """Replace a file atomically: after a power loss, or to a reader, it is either the old or the new file.

    Hadoop's checksum file next to a local file would be wrong, so it is removed; Hadoop reads a file without one too.
    """
    path = plain(address)
    if not path.startswith("/"):
        _write(io, address, data)
        return
    _write(io, address + _BESIDE, data)
    part = Path(path + _BESIDE)
    shutil.copymode(path, part)
    _sync(part)
    part.with_name(f".{Path(path).name}.crc").unlink(missing_ok=True)
    part.replace(path)
    _sync(part.parent)


def _write(io: FileIO, address: str, data: bytes) -> None:
    with io.new_output(address).create(overwrite=True) as stream:
        stream.write(data)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def understood(address: str) -> Iterator[None]:
    """Turn an error about a file's content into one that names the file."""
    try:
        yield
    except RetableError:
        raise
    except Exception as error:
        raise EnvironmentFault(
            f"{address} cannot be understood ({type(error).__name__}: {error}); restore it from a backup of the lake",
            path=address,
        ) from error
