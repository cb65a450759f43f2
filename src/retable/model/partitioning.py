"""The partition fields of a gold table: Iceberg transforms of its columns."""

import re
from dataclasses import dataclass
from typing import Literal

from retable.model.schema import TypeKind

Transform = Literal["identity", "year", "month", "day", "hour", "bucket", "truncate"]

_OF_TIME: dict[str, Transform] = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_OF_WIDTH: dict[str, Transform] = {"bucket": "bucket", "truncate": "truncate"}
_TIMES: frozenset[TypeKind] = frozenset({"timestamp", "timestamptz"})
_EXACT: frozenset[TypeKind] = frozenset({"int", "long", "decimal", "string"})
_KINDS: dict[Transform, frozenset[TypeKind]] = {
    "identity": _EXACT | {"boolean", "date"},
    "year": _TIMES | {"date"},
    "month": _TIMES | {"date"},
    "day": _TIMES | {"date"},
    "hour": _TIMES,
    "bucket": _EXACT | _TIMES | {"date", "binary"},
    "truncate": _EXACT,
}
_CALL = re.compile(r"(?P<name>[a-z]+)\(\s*(?:(?P<width>\d{1,9})\s*,\s*)?(?P<column>\S|\S.*\S)\s*\)\Z")


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A partition field of the settings: an Iceberg transform of one column.

    `column` is the column's name in the source. `width` is the number of buckets for `bucket`, the width for
    `truncate`, and None for other transforms.
    """

    transform: Transform
    column: str
    width: int | None = None

    @property
    def spelled(self) -> str:
        """The transform in the spelling of Iceberg's metadata, such as `day` or `bucket[16]`."""
        return self.transform if self.width is None else f"{self.transform}[{self.width}]"

    def __str__(self) -> str:
        inside = self.column if self.width is None else f"{self.width}, {self.column}"
        name = f"{self.transform}s" if self.transform in _OF_TIME.values() else self.transform
        return self.column if self.transform == "identity" else f"{name}({inside})"

    def repeats(self, other: "PartitionField") -> bool:
        """Return whether Iceberg rejects a table that is partitioned by this field and the field `other`.

        Iceberg rejects two fields of one column if their transforms are equal, or if both are `year`, `month`, `day` or
        `hour`.
        """
        of_time = {self.transform, other.transform} <= {*_OF_TIME.values()}
        return self.column.lower() == other.column.lower() and (of_time or self.transform == other.transform)

    def takes(self, kind: TypeKind) -> bool:
        """Return whether the transform is possible for a column of type `kind`."""
        return kind in _KINDS[self.transform]


def parse_partition(text: str) -> PartitionField:
    """Read a partition field of the settings, such as `column`, `days(column)` or `bucket(16, column)`.

    Raise ValueError if the text looks like a function but is not a known one.
    """
    call = _CALL.match(text)
    if call is None:
        return PartitionField("identity", text)
    name, width, column = call["name"], call["width"], call["column"]
    if width is None and name in _OF_TIME:
        return PartitionField(_OF_TIME[name], column)
    if width is not None and int(width) and name in _OF_WIDTH:
        return PartitionField(_OF_WIDTH[name], column, int(width))
    raise ValueError(
        f"{text!r} is not a valid partition field; write a column, years(column), months(column), days(column), "
        f"hours(column), bucket(16, column) or truncate(4, column)"
    )
