"""What the text of a setting means, where TOML has no type for it; an error says how to write one."""

import difflib
import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationInfo

from retable.model.budget import QuarantineBudget, parse_budget
from retable.model.policies import OnDropPartition, OnDropTable, OnRenameTable, OnTypeChange
from retable.model.schema import GoldType, parse_gold_type

SQLITE = "sqlite:///"

_SOURCE_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_EVERY = re.compile(r"([1-9]\d{0,3})([mhd])\Z")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def _absolute(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, str | Path) or "://" in str(value):
        raise ValueError(f"{value!r} is no folder of this machine; this version reads and writes folders only")
    return _from_folder(value, info)


def _from_folder(path: str | Path, info: ValidationInfo) -> Path:
    folder = info.context["folder"] if info.context else Path()
    return Path(os.path.abspath(folder / Path(path).expanduser()))


def _catalog_file(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, str) or not value.startswith(SQLITE) or value == SQLITE:
        raise ValueError(f"{value!r} is no catalog of this version; write it as sqlite:///var/lake/catalog.db")
    file = str(_from_folder(value.removeprefix(SQLITE), info))
    if "?" in file or "%" in file:
        raise ValueError(f"{file!r} has a '?' or '%', which an address of SQLite cannot hold; use another folder")
    return SQLITE + file


def _zone(value: str) -> str:
    if value not in available_timezones():
        raise ValueError(
            f"{value!r} is no time zone; write one as Asia/Shanghai{nearest(value, available_timezones())}"
        )
    return value


def _interval(value: object) -> object:
    if isinstance(value, timedelta):
        return value
    match = _EVERY.match(value) if isinstance(value, str) else None
    interval = int(match[1]) * _UNITS[match[2]] if match else timedelta()
    if not interval or timedelta(days=1) % interval:
        raise ValueError(f"{value!r} is no interval; write one that divides a day, as 15m, 1h or 1d")
    return interval


def _start(value: object) -> object:
    if value is None or value == "earliest":
        return None
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        time = None
    if not isinstance(time, datetime) or time.tzinfo is None:
        raise ValueError(f'{value!r} is no start; write "earliest", or a time with its zone, as 2026-03-01T05:00:00Z')
    return time.astimezone(UTC)


def _source_name(value: str) -> str:
    if not _SOURCE_NAME.match(value):
        raise ValueError(f"{value!r} is no name of a source; write small letters, digits and _, a letter first")
    return value


def _hour_pattern(value: str) -> str:
    try:
        groups = re.compile(value).groups
    except re.error as error:
        raise ValueError(f"{value!r} is no regular expression: {error}") from error
    if not groups:
        raise ValueError(rf"{value!r} has no group; put the hour into ( ), as (\d{{4}}-\d{{2}}-\d{{2}}T\d{{2}})")
    return value


def _gold_namespace(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]*\{database\}[a-z0-9_]*", value):
        raise ValueError(f"{value!r} is no namespace; write small letters, digits and _ around {{database}}")
    return value


def _gold_type(value: object) -> object:
    parsed = parse_gold_type(value) if isinstance(value, str) else value
    if not isinstance(parsed, GoldType):
        raise ValueError(f"{value!r} is no type of a gold column; write one as decimal(18,4), long or timestamptz")
    return parsed


def _budget(value: object) -> object:
    parsed = parse_budget(value) if isinstance(value, str) else value
    if not isinstance(parsed, QuarantineBudget):
        raise ValueError(f'{value!r} is no budget; write "0", a number a window as "10/window", or a part as "0.01%"')
    return parsed


def nearest(name: str, known: Iterable[str]) -> str:
    """Name the nearest of the known names, in words to append; nothing where none is near."""
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


Folder = Annotated[Path, BeforeValidator(_absolute)]
CatalogAddress = Annotated[str, BeforeValidator(_catalog_file)]
GoldNamespace = Annotated[str, AfterValidator(_gold_namespace)]
Spelled = Annotated[str, Field(min_length=1)]
TupleType = Literal[
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "TIMESTAMP", "STRING"
]
Name = Annotated[str, AfterValidator(_source_name)]
Zone = Annotated[str, AfterValidator(_zone)]
HourPattern = Annotated[str, AfterValidator(_hour_pattern)]
Interval = Annotated[timedelta, BeforeValidator(_interval)]
Start = Annotated[datetime | None, BeforeValidator(_start)]
Budget = Annotated[QuarantineBudget, BeforeValidator(_budget)]
ColumnType = Annotated[GoldType, BeforeValidator(_gold_type)]


class ChangeRules(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """What a change of the source does to a gold table: `on` of `[tables."<glob>"]`."""

    type_change: OnTypeChange = "side_column"
    """A type that may cut values: keep the old column beside a new one, make the column text, or hold the table."""
    drop_table: OnDropTable = "empty"
    """A table that is dropped: empty gold's, keep its rows, or drop it from the catalog."""
    rename_table: OnRenameTable = "follow"
    """A table that is renamed: gold's is renamed too, keeps its name, or is held."""
    drop_partition: OnDropPartition = "hold"
    """Partitions that go, or come, without an event for each row: hold the table, or keep the rows that gold has."""
