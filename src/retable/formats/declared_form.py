"""How values stand in text by the type that a statement declares, in the words of the database that it was told to."""

from retable.values.encodings import ClockTime, Day, Truth, Untyped, WallClock, WireForm
from retable.values.mysql_form import base_type, mysql_form

_MYSQL = ("mysql", "mariadb")
_OTHERS: dict[str, dict[str, WireForm]] = {
    "oracle": {"date": WallClock(), "timestamp": WallClock(), "boolean": Truth(), "bool": Truth()},
    "sqlserver": {
        "date": Day(),
        "time": ClockTime(),
        "bit": Truth(),
        **dict.fromkeys(("datetime", "datetime2", "smalldatetime"), WallClock()),
    },
}


def declared_form(declared: str, system: str) -> WireForm:
    """Tell how values of a declared type stand; Untyped: in the form that its gold type usually has.

    A TIMESTAMP of SQL Server is a row's version, and one of Oracle a wall clock unless it has a zone.
    """
    if system in _MYSQL:
        return mysql_form(declared)
    zoned = system == "oracle" and "zone" in declared.lower()
    return Untyped() if zoned else _OTHERS.get(system, {}).get(base_type(declared), Untyped())
