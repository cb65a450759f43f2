"""The settings of a source that only its message format reads."""

import ast
import difflib
from collections.abc import Iterable
from functools import cache
from inspect import get_annotations, getsource
from itertools import pairwise
from typing import Annotated, ClassVar, Self, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, BaseModel, Field

from retable.printable import printable

_OTHER_ZONES = frozenset({"posix", "right", "posixrules"})
"""Folders and files of a zone database that hold the zones once more, with and without leap seconds."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean …?` with the name in `known` that is most like `name`, or an empty text if none is."""
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


@cache
def _is_zone(value: str) -> bool:
    """Say whether a text names a time zone, without listing all zones of this machine, which reads a file for each."""
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        return False
    return value.partition("/")[0] not in _OTHER_ZONES


def _zone(value: str) -> str:
    if not _is_zone(value):
        near = nearest(value, available_timezones())
        raise ValueError(f"{value!r} is not a time zone; write a name such as Asia/Shanghai{near}")
    return value


def _printable(value: str) -> str:
    if printable(value) != value:
        raise ValueError(f"'{printable(value)}' has invisible characters; write it without them")
    return value


NonEmptyStr = Annotated[str, Field(min_length=1), AfterValidator(_printable)]
"""text that is not empty and has only printable characters"""


Zone = Annotated[str, AfterValidator(_zone)]
"""the name of a time zone: `UTC`, `Asia/Shanghai`"""


class FormatOptions(BaseModel, frozen=True, extra="forbid"):
    """The base of the models of settings that only one format reads; a model has a field for each setting.

    In TOML these settings are among the other settings of `[sources.<name>]`. They are part of the fingerprint of the
    settings, so a changed value makes gold stale. The exceptions are the fields in KEEPS_GOLD, which cannot change a
    row. KEEPS_TYPES names the fields that cannot change the type of a column.
    """

    KEEPS_GOLD: ClassVar[frozenset[str]] = frozenset()
    KEEPS_TYPES: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def of(cls, options: object) -> Self:
        """Return `options` if they are of this class, or the defaults if they are None or `NO_OPTIONS`.

        Raise TypeError for options of another format.
        """
        if isinstance(options, cls):
            return options
        if options is not None and options != NO_OPTIONS:
            raise TypeError(f"{type(options).__name__} are the options of another format; expected {cls.__name__}")
        return cls()

    @property
    def leaves_empty_tables(self) -> bool:
        """Whether gold has no table for a source table that only a snapshot declares, until its first row arrives."""
        return True


NO_OPTIONS = FormatOptions()


def docstring_of(model: type[BaseModel], field: str) -> str:
    """Return the docstring below a field of a model, on one line; an empty text if the field has none.

    Pydantic's `use_attribute_docstrings` would read the source of all models at each start of a command.
    """
    kind = next(each for each in model.__mro__ if field in get_annotations(each))
    body = cast(ast.ClassDef, ast.parse(getsource(kind)).body[0]).body
    for line, below in pairwise(body):
        match line, below:
            case ast.AnnAssign(target=ast.Name(id=n)), ast.Expr(value=ast.Constant(value=str(text))) if n == field:
                return " ".join(text.split())
    return ""


def database_of(options: FormatOptions) -> str | None:
    """Return the option `database`, for messages that name no database; None if the options do not have it."""
    found = getattr(options, "database", None)
    return found if isinstance(found, str) else None
