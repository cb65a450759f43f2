"""What the settings of a source say to its format alone."""

import difflib
from collections.abc import Iterable
from typing import Annotated, ClassVar, Self
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, Field

from retable.printable import printable


def nearest(name: str, known: Iterable[str]) -> str:
    """Name the nearest of the known names, in words to append; nothing where none is near."""
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _zone(value: str) -> str:
    if value not in available_timezones():
        raise ValueError(
            f"{value!r} is no time zone; write one as Asia/Shanghai{nearest(value, available_timezones())}"
        )
    return value


def _printable(value: str) -> str:
    if printable(value) != value:
        raise ValueError(f"'{printable(value)}' has characters that nobody sees; write it without them")
    return value


NonEmptyStr = Annotated[str, Field(min_length=1), AfterValidator(_printable)]
"""Text of a setting: some, and all of it can be seen."""


Zone = Annotated[str, AfterValidator(_zone)]
"""The name of a time zone."""


class FormatOptions(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """Settings of a source that only its format reads: a format's own model has one field for each of them.

    In TOML they stand among the other settings of `[sources.<name>]`. A field that is set makes gold stale, as all of
    them are part of the settings' fingerprint; those that cannot change a row are named in KEEPS_GOLD, and those that
    cannot change a type in KEEPS_TYPES.
    """

    KEEPS_GOLD: ClassVar[frozenset[str]] = frozenset()
    KEEPS_TYPES: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def of(cls, options: object) -> Self:
        """Give options as those of this format; where a caller has none at all (`NO_OPTIONS`), the defaults."""
        if isinstance(options, cls):
            return options
        if options is not None and options != NO_OPTIONS:
            raise TypeError(f"{type(options).__name__} are options of another format than {cls.__name__}")
        return cls()

    @property
    def leaves_empty_tables(self) -> bool:
        """Whether gold leaves out a table that only a snapshot declares, until its first row comes."""
        return True


NO_OPTIONS = FormatOptions()


def database_of(options: FormatOptions) -> str | None:
    """Give the database that options name for messages which name none."""
    found = getattr(options, "database", None)
    return found if isinstance(found, str) else None
