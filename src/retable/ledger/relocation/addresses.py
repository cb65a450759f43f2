"""Translate addresses of files in a lake that was moved, and read and write its files as a whole."""

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
    """A move of a lake's folder from the address `old` to the address `new`. Call it to translate an address."""

    old: str
    new: str

    @classmethod
    def of(cls, old: str, new: str, inside: str) -> Self:
        """Return a checked move. `inside` is the address of any file under the new folder.

        Raise InvalidSetting if `inside` is not under the new folder. Also raise it if one of the folders contains the
        other folder, so that an address could belong to either folder.
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
        """Return the present address of a file. An address outside the old folder stays as it is."""
        rest = _rest(address, self.old)
        if rest is None or (_rest(self.new, self.old) and self.has_arrived(address)):
            return address
        scheme, _ = _split(address)
        return f"{scheme if self.new.startswith('/') else ''}{self.new}{rest}"

    def has_arrived(self, address: str) -> bool:
        """Return whether an address is under the new folder, so that it is already translated."""
        return _rest(address, self.new) is not None


def plain(address: str) -> str:
    """Return a local path without `file:` or `file://`. Any other address stays as it is."""
    return _split(address)[1]


def _rest(address: str, folder: str) -> str | None:
    """Return the part of an address after `folder`, with its first slash. Return None if it is not in the folder."""
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
    """Return the content of a file. Return None if the file is missing."""
    try:
        with io.new_input(address).open() as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def write_whole(io: FileIO, address: str, data: bytes) -> None:
    """Replace the content of a file atomically: a reader sees the old or the new content, also after a power loss.

    Hadoop's checksum file next to a local file would be wrong then, so it is removed. Hadoop can read the file without
    it.
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
    """Turn an error of the `with` block about the content of a file into EnvironmentFault, which names the file."""
    try:
        yield
    except RetableError:
        raise
    except Exception as error:
        raise EnvironmentFault(
            f"{address} cannot be understood ({type(error).__name__}: {error}); restore it from a backup of the lake",
            path=address,
        ) from error
