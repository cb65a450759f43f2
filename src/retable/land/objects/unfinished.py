"""Recognize auxiliary files that writers make next to their objects. These files are not objects of a source."""

_ENDINGS = (".tmp", ".crc", "._COPYING_")
_NAMES = ("_temporary", "_SUCCESS")


def is_unfinished(key: str) -> bool:
    """Return whether an object name (`key`) belongs to an auxiliary file of a writer.

    It does if a part of the path is hidden (begins with a dot), or is `_temporary`, `_SUCCESS`, `*.tmp`, `*.crc` or
    `*._COPYING_`. The parts `.` and `..` do not count as hidden: in a bucket, they can be parts of an ordinary name.
    """
    return any(map(_is_unfinished, key.split("/")))


def _is_unfinished(part: str) -> bool:
    hidden = part.startswith(".") and part.strip(".") != ""
    return hidden or part in _NAMES or part.endswith(_ENDINGS)
