"""Recognize auxiliary files of writers, next to their objects. These files do not belong to a source."""

_ENDINGS = (".tmp", ".crc", "._COPYING_")
_NAMES = ("_temporary", "_SUCCESS")


def is_unfinished(key: str) -> bool:
    """Return whether a part of this path is hidden, or is a name that a writer renames or removes when it is done.

    `.` and `..` are ordinary names, because an object name is not always a path.
    """
    return any(map(_is_unfinished, key.split("/")))


def _is_unfinished(part: str) -> bool:
    hidden = part.startswith(".") and part.strip(".") != ""
    return hidden or part in _NAMES or part.endswith(_ENDINGS)
