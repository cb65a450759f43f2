"""The encoding of values that are written as text, by the type that a statement declares for their column."""

from retable.values.encodings import ClockTime, Day, Encoding, Truth, Untyped, WallClock
from retable.values.mysql_encoding import base_type, mysql_encoding

_MYSQL = ("mysql", "mariadb")
_OTHERS: dict[str, dict[str, Encoding]] = {
    "oracle": {"date": WallClock(), "timestamp": WallClock(), "boolean": Truth(), "bool": Truth()},
    "sqlserver": {
        "date": Day(),
        "time": ClockTime(),
        "bit": Truth(),
        **dict.fromkeys(("datetime", "datetime2", "smalldatetime"), WallClock()),
    },
}


def declared_encoding_of(declared: str, system: str) -> Encoding:
    """Return the encoding of values of a type as a statement declares it, such as `int(8)`.

    `Untyped` means the usual encoding of the gold type. `system` is the database system of the source. A TIMESTAMP of
    SQL Server is a row version. A TIMESTAMP of Oracle is a wall clock unless it has a zone.
    """
    if system in _MYSQL:
        return mysql_encoding(declared)
    zoned = system == "oracle" and "zone" in declared.lower()
    return Untyped() if zoned else _OTHERS.get(system, {}).get(base_type(declared), Untyped())
