"""What writers leave around their objects, and is none of a source's."""

_ENDINGS = (".tmp", ".crc", "._COPYING_")
_NAMES = ("_temporary", "_SUCCESS")


def is_unfinished(key: str) -> bool:
    """Whether a part of this name, between slashes, is hidden or is what a writer renames or removes when it is done.

    `.` and `..` are names like others where a name is no path.
    """
    return any(map(_is_unfinished, key.split("/")))


def _is_unfinished(part: str) -> bool:
    hidden = part.startswith(".") and part.strip(".") != ""
    return hidden or part in _NAMES or part.endswith(_ENDINGS)
