"""The settings: one typed TOML file, or a folder of them; the only reader of the environment.

A key that no setting has is an error that names the nearest one. Relative paths start at the settings file's folder.
Secrets have no place here.
"""

import hashlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from retable.errors import InvalidSetting, NotFound, UnknownSetting
from retable.model.budget import QuarantineBudget
from retable.model.connector import UNAVAILABLE_VALUE, DecimalMode, TimeMode
from retable.model.event import TableName
from retable.model.policies import Destructive, OnColumns, Policies
from retable.setting_values import (
    SQLITE,
    Budget,
    CatalogAddress,
    ChangeRules,
    ColumnType,
    Folder,
    GoldNamespace,
    HourPattern,
    Interval,
    Name,
    Spelled,
    Start,
    TupleType,
    Zone,
    nearest,
)

CATALOG = "lake"
"""The catalog's name in Spark and in pyiceberg: it is part of every row of the catalog's own tables."""

BUSY_SECONDS = 30
"""How long either reader of a SQLite catalog waits for the other one's lock."""


class LakeSettings(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """Where the tables are: `[lake]`."""

    catalog: CatalogAddress
    """The catalog of all tables: a SQLite file, as `sqlite:///var/lake/catalog.db`."""
    warehouse: Folder
    """The folder under which all tables keep their files."""
    gold: GoldNamespace = "gold_{database}"
    """The namespace of a gold table; `__<schema>` follows where the source has schemas."""
    case: Literal["lower", "source"] = "lower"
    """Whether gold spells tables and columns in lower case, which every engine can read, or as the source does."""

    @property
    def catalog_file(self) -> Path:
        return Path(self.catalog.removeprefix(SQLITE))

    @property
    def jdbc_uri(self) -> str:
        """The catalog as Spark reads it."""
        return f"jdbc:sqlite:{self.catalog_file}?journal_mode=WAL&busy_timeout={BUSY_SECONDS * 1000}"

    @property
    def pyiceberg_uri(self) -> str:
        """The catalog as pyiceberg reads it."""
        return f"{self.catalog}?timeout={BUSY_SECONDS}"


class CanalDialect(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """Where rows stand in messages of DTS from an offset on: an entry of `canal_dialect`."""

    from_offset: Annotated[int, Field(strict=True, ge=0)]
    """The offset of the first message of the dialect."""
    dialect: Literal["community", "dts_pre_20220320"]
    """`dts_pre_20220320` is what instances of DTS write that nobody restarted since that day."""
    partition: Annotated[int, Field(strict=True, ge=0)] | None = None
    """The partition whose offset this is; none: every partition for which no entry is."""


class SourceSettings(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """A source of change messages: `[sources.<name>]`."""

    name: Name
    """Small letters, digits and `_`, a letter first; it stands in the brackets."""
    kind: Literal["files"]
    """What holds the messages: `files` is a folder of objects that grows."""
    format: str
    """The format of the messages: a name of docs/formats.md."""
    path: Folder
    """The folder of a `files` source; folders inside it are read too."""
    layout: Literal["kafka_dump", "lines"]
    """What a line of an object is: a dumped Kafka record with its address, or the message itself."""
    hour: HourPattern | None = None
    """A regular expression whose first group is the UTC hour in an object's name; else its modification time counts."""
    every: Interval = timedelta(hours=1)
    """The length of a window, as `1h`; fixed with the source's first window."""
    start: Start = None
    """Where to begin: `earliest`, or a time with its zone; objects before the window of that time are left out."""
    time_zone: Zone = "UTC"
    """The zone of wall-clock values that come without one."""
    timestamp_zone: Zone = ""
    """The zone in which the format writes zoned timestamps as text; `time_zone` where it is not set."""
    include: tuple[str, ...] = ("*",)
    """Tables to take, as globs over `database.[schema.]table`, case-sensitive."""
    exclude: tuple[str, ...] = ()
    """Tables to leave out of what `include` takes; their changes are counted, not stored."""
    source_system: str | None = None
    """The database behind the source, as `mysql`, where the messages do not say it."""
    source_epoch: Annotated[int, Field(strict=True, ge=0)] = 0
    """Raise it when a topic is made anew or its producer starts anew: it comes first in every sequence."""
    max_message: Annotated[int, Field(strict=True, ge=1024, le=1 << 30)] = 32 * 1024 * 1024
    """The longest line that is landed whole, in bytes."""
    canary: str | None = None
    """A small table that the source updates every minute, as `ops.retable_canary`: its rows prove how far the source
    is read, and it is not published."""
    binary_encoding: Literal["utf-8", "base64", "hex"] = "utf-8"
    """How text spells bytes in a column that `types` makes binary."""
    decimal_mode: DecimalMode = "precise"
    """debezium_json: the connector's decimal.handling.mode, which messages without schemas do not tell."""
    time_mode: TimeMode = "adaptive"
    """debezium_json: the connector's time.precision.mode, which messages without schemas do not tell."""
    unavailable_value: Spelled = UNAVAILABLE_VALUE
    """debezium_json: the connector's unavailable.value.placeholder."""
    model: Literal["sql", "hbase"] = "sql"
    """lindorm_debezium: the interface of the tables; `hbase` has the key `ROW` and base64 in every column."""
    database: Spelled | None = None
    """datahub_tuple, shareplex_json: the database of messages, which name none; debezium_json: where they name none."""
    table: Spelled | None = None
    """datahub_tuple, shareplex_json: the table of messages that name none; of the latter with its owner (`HR.EMP`)."""
    tuple_schema: dict[str, TupleType] = Field(default_factory=dict)
    """datahub_tuple: the columns of the topic, as `id = "BIGINT"`, where no header `tuple_schema` tells them."""
    canal_dialect: tuple[CanalDialect, ...] = ()
    """canal_json: where rows stand, as `[{from_offset = 0, dialect = "dts_pre_20220320"}]`; not set: as in Canal."""
    quarantine_budget: Budget = QuarantineBudget()
    """How much a table may have in quarantine and still count as complete: `0`, `10/window` or `0.01%` of a window."""

    @model_validator(mode="before")
    @classmethod
    def _default_zone(cls, data: object) -> object:
        return {"timestamp_zone": data.get("time_zone", "UTC"), **data} if isinstance(data, Mapping) else data

    @model_validator(mode="after")
    def _check_dialects(self) -> Self:
        starts = [(each.partition, each.from_offset) for each in self.canal_dialect]
        if len(set(starts)) != len(starts):
            raise ValueError("two entries of canal_dialect begin at one offset; keep one of them")
        return self

    def takes(self, table: TableName) -> bool:
        """Say whether `include` and `exclude` let this table in; the canary is never one of gold."""
        name = str(table)
        return (
            name != self.canary
            and any(fnmatchcase(name, glob) for glob in self.include)
            and not any(fnmatchcase(name, glob) for glob in self.exclude)
        )


class TableRules(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """What the settings say of a source table: `[tables."<glob>"]`."""

    keys: tuple[str, ...] = ()
    """The columns of the primary key, as the source spells them; empty: what the messages say."""
    types: dict[str, ColumnType] = Field(default_factory=dict)
    """The gold type of a column, as `price = "decimal(18,4)"`; it wins over every other origin of a type."""
    zero_date: Literal["hold", "null", "string"] = "hold"
    """What a date such as 0000-00-00 does: hold its table, become null (counted), or make its column a string."""
    on: ChangeRules = ChangeRules()
    """What changes of the source do, as `{ type_change = "string", drop_table = "keep" }`: see docs/statements.md."""
    columns: Annotated[OnColumns, Field(alias="schema")] = "follow"
    """`schema`: follow the source's columns; `additive`, which takes none away; or `frozen`, where a change holds."""
    approve: tuple[Destructive, ...] = ()
    """Changes that hold the table until a person approves them: `drop_table`, `truncate`, `drop_column`."""
    format_version: Literal[2, 3] = 3
    """The version of Iceberg's format in which the gold table is made; 2 for engines that cannot read 3."""

    @property
    def policies(self) -> Policies:
        """What all of these say of the changes of this table."""
        return Policies(**self.on.model_dump(), columns=self.columns, approve=self.approve)


def _specificity(glob: str) -> tuple[bool, int, int]:
    """Rank a glob: a plain name first, then by letters spelled out, then by letters only counted."""
    bare = re.sub(r"\[[^]]+\]", "?", glob)
    return not re.search(r"[*?]", bare), len(re.sub(r"[*?]", "", bare)), bare.count("?")


class Settings(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """All settings of a lake, its sources and its tables."""

    lake: LakeSettings
    sources: dict[str, SourceSettings] = Field(default_factory=dict)
    tables: dict[str, TableRules] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _name_sources(cls, data: dict[str, object]) -> dict[str, object]:
        sources = data.get("sources")
        if not isinstance(sources, Mapping):
            return data
        for name, body in sources.items():
            if isinstance(body, Mapping) and body.get("name", name) != name:
                raise ValueError(f"sources.{name}.name is no setting; a source's name stands in the brackets")
        named = {name: {**body, "name": name} if isinstance(body, Mapping) else body for name, body in sources.items()}
        return {**data, "sources": named}

    def source(self, name: str) -> SourceSettings:
        """Give the source of this name; NotFound names the nearest one."""
        if name not in self.sources:
            known = f"; there are {', '.join(sorted(self.sources))}" if self.sources else "; the settings have none"
            raise NotFound(f"no source is called {name!r}{nearest(name, self.sources)}{known}", source=name)
        return self.sources[name]

    def rules(self, table: TableName) -> TableRules:
        """Give the rules of the most specific pattern that matches, whole; two equally specific ones are an error."""
        matching = [glob for glob in self.tables if fnmatchcase(str(table), glob)]
        best = max(map(_specificity, matching), default=None)
        winners = [glob for glob in matching if _specificity(glob) == best]
        if len(winners) > 1:
            raise InvalidSetting(
                f"{table}: the patterns {' and '.join(map(repr, winners))} of [tables] are equally specific; "
                f'write [tables."{table}"] for it, or make one of them more specific',
                table=str(table),
            )
        return self.tables[winners[0]] if winners else TableRules()

    def fingerprint(self, source: str, table: TableName) -> str:
        """Digest what decides how this table is decoded and typed: another digest makes its windows stale."""
        settings, rules = self.source(source), self.rules(table)
        facts = {
            "format": settings.format,
            "zones": [settings.time_zone, settings.timestamp_zone],
            "system": settings.source_system,
            "epoch": settings.source_epoch,
            "format_options": [settings.model, settings.database, settings.table, settings.tuple_schema],
            "canal_dialect": [each.model_dump() for each in settings.canal_dialect],
            "connector": [settings.decimal_mode, settings.time_mode, settings.unavailable_value],
            "binary_encoding": settings.binary_encoding,
            "taken": settings.takes(table),
            "case": self.lake.case,
            "keys": rules.keys,
            "types": {name: str(kind) for name, kind in rules.types.items()},
            "zero_date": rules.zero_date,
            "policies": asdict(rules.policies),
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


_SECTIONS: dict[str, type[BaseModel]] = {"lake": LakeSettings, "sources": SourceSettings, "tables": TableRules}
_INSIDE: dict[str, type[BaseModel]] = {"canal_dialect": CanalDialect, "on": ChangeRules}


def load_settings(path: Path | None = None) -> Settings:
    """Read the settings from `path`, else $RETABLE_SETTINGS, else ./retable.toml: a file, or a folder of *.toml."""
    path = path or Path(os.environ.get("RETABLE_SETTINGS") or "retable.toml")
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    merged: dict[str, object] = {}
    origins: dict[tuple[str, ...], Path] = {}
    for file in files:
        _merge(merged, _read(file), file, origins, ())
    if not files:
        raise NotFound(f"the folder {path} holds no settings (*.toml)", path=str(path))
    try:
        return Settings.model_validate(merged, context={"folder": files[0].parent.absolute()})
    except ValidationError as error:
        raise _explain(error.errors()[0], origins, files) from None


def jars_folder() -> Path:
    """Give the folder of Spark's pinned jars: $RETABLE_JARS, else `jars` in this Python environment."""
    return Path(os.environ.get("RETABLE_JARS") or Path(sys.prefix) / "jars")


def _read(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise NotFound(
            f"no settings at {file.absolute()}; name them with --settings or $RETABLE_SETTINGS, or write them with "
            f"`retable init`",
            path=str(file),
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{file} is not TOML: {error}", path=str(file)) from error


def _merge(
    into: dict[str, object],
    more: Mapping[str, object],
    file: Path,
    origins: dict[tuple[str, ...], Path],
    place: tuple[str, ...],
) -> None:
    """Add one file's keys to those of the files before it; a value given twice is an error."""
    for key, value in more.items():
        here, old = (*place, key), into.get(key)
        if key not in into:
            origins[here] = file
            old = into[key] = {} if isinstance(value, dict) else value
        elif not (isinstance(value, dict) and isinstance(old, dict)):
            raise InvalidSetting(f"{_spell(here)} is set twice: in {origins[here]} and in {file}; keep one of them")
        if isinstance(value, dict) and isinstance(old, dict):
            _merge(old, value, file, origins, here)


def _explain(error: ErrorDetails, origins: Mapping[tuple[str, ...], Path], files: list[Path]) -> Exception:
    place = tuple(str(part) for part in error["loc"])
    file = next((origins[place[:end]] for end in range(len(place), 0, -1) if place[:end] in origins), files[0])
    where = f"{file}: {_spell(place)}" if place else str(file)
    match error["type"]:
        case "extra_forbidden":
            inside = _INSIDE.get(str(place[2])) if len(place) > 3 else None
            section = inside or (_SECTIONS.get(place[0], Settings) if len(place) > 1 else Settings)
            fields = section.model_fields
            known = {field.alias or name for name, field in fields.items()} - {"name"}
            hint = nearest(place[-1], known) or f"; there are {', '.join(sorted(known))}"
            return UnknownSetting(f"{where} is no setting{hint}", setting=_spell(place), file=str(file))
        case "missing":
            return InvalidSetting(f"{where} is missing; it has no default", setting=_spell(place), file=str(file))
        case "value_error":
            reason = error["msg"].removeprefix("Value error, ")
        case _:
            reason = f"{error['msg'].removeprefix('Input ')}, not {error['input']!r}"
    return InvalidSetting(f"{where}: {reason}", setting=_spell(place), file=str(file))


def _spell(place: tuple[str, ...]) -> str:
    return ".".join(part if re.fullmatch(r"[\w-]+", part) else json.dumps(part) for part in place)
