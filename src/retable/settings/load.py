"""Loads the settings from a TOML file, a folder of such files, or an S3 object, and checks their types.

Only this module reads environment variables. An unknown key is an error that names the most similar setting. Relative
paths start at the folder of the settings file. Settings contain no secrets.
"""

import json
import os
import re
import sys
import tomllib
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self, get_args
from urllib.parse import unquote

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from retable.errors import EnvironmentFault, InvalidSetting, NotFound, UnknownSetting
from retable.formats.options import nearest
from retable.formats.registry import FORMATS
from retable.model.event import TableName
from retable.printable import without_passwords
from retable.settings.address import SettingsAddress, read_texts
from retable.settings.airflow import AirflowSettings
from retable.settings.fingerprint import digest, typing_facts, value_facts
from retable.settings.lake import LakeSettings
from retable.settings.sources import KINDS, KafkaAccess, Retention, Source, SourceSettings
from retable.settings.storage import S3Settings, check_host
from retable.settings.tables import TableRules
from retable.settings.types import ChangeRules

CATALOG = "lake"
"""The catalog's name in Spark and in pyiceberg. It cannot change: a SQL catalog stores it in every row."""


def _specificity(glob: str) -> tuple[bool, int, int]:
    """Return a rank for a glob; a greater rank is more specific.

    A name without wildcards has the greatest rank. Then the number of literal characters decides, then the number of
    `?` and `[…]`.
    """
    bare = re.sub(r"\[[^]]+\]", "?", glob)
    return not re.search(r"[*?]", bare), len(re.sub(r"[*?]", "", bare)), bare.count("?")


class Settings(BaseModel, frozen=True, extra="forbid"):
    """All settings of a lake. `sources` has sources by name. `tables` has rules by a glob pattern over table names."""

    lake: LakeSettings
    sources: dict[str, Annotated[Source, Field(discriminator="kind")]] = Field(default_factory=dict)
    tables: dict[str, TableRules] = Field(default_factory=dict)
    airflow: AirflowSettings = AirflowSettings()

    @model_validator(mode="before")
    @classmethod
    def _name_sources(cls, data: dict[str, object]) -> dict[str, object]:
        sources = data.get("sources")
        if not isinstance(sources, Mapping):
            return data
        for name, body in sources.items():
            if isinstance(body, Mapping) and body.get("name", name) != name:
                raise ValueError(f"sources.{name}.name is not a setting; the name of a source is in the brackets")
        lake = data.get("lake")
        given = {"s3": lake["s3"]} if isinstance(lake, Mapping) and "s3" in lake else {}
        named = {
            name: {**(given if body.get("kind") == "files" else {}), **body, "name": name}
            if isinstance(body, Mapping)
            else body
            for name, body in sources.items()
        }
        return {**data, "sources": named}

    def source(self, name: str) -> Source:
        """Return the settings of the source with this name. NotFound if there is no such source."""
        if name not in self.sources:
            known = f"; the sources are {', '.join(sorted(self.sources))}" if self.sources else "; there are no sources"
            raise NotFound(f"no source is called {name!r}{nearest(name, self.sources)}{known}", source=name)
        return self.sources[name]

    @model_validator(mode="after")
    def _agree_on_targets(self) -> Self:
        for glob, rules in self.tables.items():
            first = next((other for other, each in self.tables.items() if rules.to and each.to == rules.to), glob)
            if rules != self.tables[first]:
                raise ValueError(
                    f'[tables."{first}"] and [tables."{glob}"] have the same `to`, {rules.to}, but other settings '
                    f"differ: write the same settings in both"
                )
        return self

    def target(self, table: TableName) -> TableName | None:
        """Return the table into which the setting `to` puts the rows of a source table; None if `to` is not set."""
        return self._matching(table).to if self._targets else None

    def rules(self, table: TableName) -> TableRules:
        """Return the settings of a table: those of its most specific pattern, or the defaults if no pattern matches.

        `table` may also be a table that `to` names. InvalidSetting if two patterns match equally: `a.b*` and `a.*b`.
        """
        return self._targets.get(table) or self._matching(table)

    def unmatched(self, tables: Collection[TableName]) -> list[str]:
        """Return the patterns of `[tables]` that match none of the given tables."""
        return [glob for glob in self.tables if not any(fnmatchcase(str(table), glob) for table in tables)]

    def feeds(self, source: SourceSettings, table: TableName, is_sharded: bool) -> bool:
        """Return whether, with these settings, an existing gold table still gets rows from a source.

        If `is_sharded`, the gold table has the rows of several source tables, and `table` is the name that the setting
        `to` gives it. Otherwise `table` is the source table; if it is excluded, or has a `to` now, the result is False.
        """
        if is_sharded:
            return table in self._targets
        return source.takes(table) and self.target(table) is None

    @cached_property
    def _targets(self) -> dict[TableName, TableRules]:
        return {rules.to: rules for rules in self.tables.values() if rules.to is not None}

    @cached_property
    def _matched(self) -> dict[TableName, TableRules]:
        """The cache of `_matching`."""
        return {}

    def _matching(self, table: TableName) -> TableRules:
        """Return the settings of the most specific matching pattern. Settings of several patterns are not merged."""
        if table not in self._matched:
            self._matched[table] = self._match(table)
        return self._matched[table]

    def _match(self, table: TableName) -> TableRules:
        matching = [glob for glob in self.tables if fnmatchcase(str(table), glob)]
        best = max(map(_specificity, matching), default=None)
        winners = [glob for glob in matching if _specificity(glob) == best]
        if len(winners) > 1:
            raise InvalidSetting(
                f"{table}: the patterns {' and '.join(map(repr, winners))} of [tables] are equally specific; "
                f'write [tables."{table}"] for this table, or make one pattern more specific',
                table=str(table),
            )
        return self.tables[winners[0]] if winners else TableRules()

    def fingerprint(self, source: str, table: TableName) -> str:
        """Return a digest of the settings that decide how a table is decoded. If it changes, decode windows again."""
        settings, rules = self.source(source), self.rules(table)
        is_taken = table in self._targets or settings.takes(table)
        return digest(value_facts(settings, rules, is_taken=is_taken, case=self.lake.case))

    def typing(self, source: str, table: TableName) -> str:
        """Return a digest of the settings that decide the gold type of a column that no DDL statement declares."""
        return digest(typing_facts(self.source(source), self.rules(table)))


_SECTIONS: dict[str, type[BaseModel]] = {"lake": LakeSettings, "sources": SourceSettings, "tables": TableRules}


def entry_of(option: FieldInfo) -> type[BaseModel] | None:
    """Return the pydantic class of the entries of a format option that is a list of TOML tables; None for others."""
    inside = get_args(option.annotation)
    return next((each for each in inside if isinstance(each, type) and issubclass(each, BaseModel)), None)


def _options() -> dict[str, FieldInfo]:
    """Return the options of all formats."""
    return {name: field for known in FORMATS.values() for name, field in known.options.model_fields.items()}


def _inside(name: str) -> type[BaseModel] | None:
    """Return the model of a setting that contains other settings; None if it contains none."""
    if name in _INSIDE:
        return _INSIDE[name]
    option = _options().get(name)
    return None if option is None else entry_of(option)


_INSIDE: dict[str, type[BaseModel]] = {
    "on": ChangeRules,
    "s3": S3Settings,
    "kafka": KafkaAccess,
    "retention": Retention,
}


def load_settings(address: SettingsAddress | None = None) -> Settings:
    """Load and check the settings at an address. If `address` is None, use $RETABLE_SETTINGS, or else ./retable.toml.

    SettingsError if the settings do not exist, cannot be read, or are wrong. The error names the first wrong setting.
    """
    texts, folder = read_texts(address or os.environ.get("RETABLE_SETTINGS") or "retable.toml")
    merged: dict[str, object] = {}
    origins: dict[tuple[str, ...], str] = {}
    for origin, text in texts:
        _merge(merged, _parsed(origin, text), origin, origins, ())
    lake = merged.get("lake")
    if not (isinstance(lake, dict) and lake.get("allow_link_local") is True):
        _check_hosts(merged, origins, ())
    try:
        return Settings.model_validate(merged, context={"folder": folder})
    except ValidationError as error:
        raise _explain(error.errors()[0], origins, texts[0][0]) from None


def read_variable(name: str) -> str:
    """Return the value of an environment variable that a setting names. EnvironmentFault if it is not set."""
    value = os.environ.get(name)
    if not value:
        raise EnvironmentFault(
            f"the settings name the environment variable {name}, but it is not set; set it for this process, for "
            f"example in the environment of Airflow's workers",
            variable=name,
        )
    return value


def jars_folder() -> Path:
    """Return the folder of Spark's pinned jars: $RETABLE_JARS, or else `jars` in this Python environment."""
    return Path(os.environ.get("RETABLE_JARS") or Path(sys.prefix) / "jars")


def _parsed(origin: str, text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(f"{origin} is not TOML: {error}", path=origin) from error


def _merge(
    into: dict[str, object],
    more: Mapping[str, object],
    file: str,
    origins: dict[tuple[str, ...], str],
    place: tuple[str, ...],
) -> None:
    """Add the keys of one file to `into`, and their file to `origins`. InvalidSetting if a value is set twice."""
    for key, value in more.items():
        here, old = (*place, key), into.get(key)
        if key not in into:
            origins[here] = file
            old = into[key] = {} if isinstance(value, dict) else value
        elif not (isinstance(value, dict) and isinstance(old, dict)):
            raise InvalidSetting(
                f"{_format_place(here)} is set twice: in {origins[here]} and in {file}; keep one of them"
            )
        if isinstance(value, dict) and isinstance(old, dict):
            _merge(old, value, file, origins, here)


def _check_hosts(value: object, origins: Mapping[tuple[str, ...], str], place: tuple[str, ...]) -> None:
    """Check the host of every address in these settings (`check_host`). InvalidSetting names the setting."""
    if isinstance(value, dict):
        for key, each in value.items():
            _check_hosts(each, origins, (*place, key))
    elif isinstance(value, list):
        for each in value:
            _check_hosts(each, origins, place)
    elif isinstance(value, str):
        text = unquote(value)
        brokers = f",{text}" if place[-1] == "bootstrap" else ""
        for host in _HOST.findall(text) + _BROKER.findall(brokers):
            try:
                check_host(host)
            except ValueError as error:
                where = f"{_file_of(place, origins, '')}: {_format_place(place)}"
                raise InvalidSetting(f"{where}: {error}", setting=_format_place(place)) from None


def _explain(error: ErrorDetails, origins: Mapping[tuple[str, ...], str], first: str) -> Exception:
    place, kind = _place(error)
    file = _file_of(place, origins, first)
    where = f"{file}: {_format_place(place)}" if place else file
    match error["type"]:
        case "extra_forbidden":
            depth = 1 if place[0] == "lake" else 2
            inside = _inside(place[depth]) if len(place) > depth + 1 else None
            section = inside or kind or (_SECTIONS.get(place[0], Settings) if len(place) > 1 else Settings)
            if others := [] if inside else [name for name in KINDS if kind and place[-1] in KINDS[name].model_fields]:
                return InvalidSetting(
                    f"{where} belongs to a source of kind {others[0]!r}, but this source has another kind",
                    setting=_format_place(place),
                    file=file,
                )
            fields = section.model_fields
            known = {field.alias or name for name, field in fields.items()} - {"name"}
            known |= _options().keys() if kind and not inside else set()
            hint = (
                _elsewhere(place[-1])
                or nearest(place[-1], known)
                or f"; the settings here are {', '.join(sorted(known))}"
            )
            return UnknownSetting(f"{where} is not a setting{hint}", setting=_format_place(place), file=file)
        case "union_tag_not_found":
            return InvalidSetting(
                f"{where}.kind is missing; it has no default", setting=_format_place(place), file=file
            )
        case "union_tag_invalid":
            where += ".kind"
            reason = f"should be {' or '.join(map(repr, KINDS))}, not {error['ctx']['tag']!r}"
        case "option_missing" | "option_of_another":
            return InvalidSetting(f"{where} {error['msg']}", setting=_format_place(place), file=file)
        case "missing":
            return InvalidSetting(f"{where} is missing; it has no default", setting=_format_place(place), file=file)
        case "value_error":
            reason = error["msg"].removeprefix("Value error, ")
        case _:
            reason = error["msg"].removeprefix("Input ")
            if not any(map(_NAMES_A_SECRET.search, place)):
                reason += f", not {error['input']!r}"
    return InvalidSetting(f"{where}: {without_passwords(reason)}", setting=_format_place(place), file=file)


def _elsewhere(name: str) -> str:
    """The sections that have a setting of this name, in words to append; empty if there is none."""
    sections: dict[str, type[BaseModel]] = {
        "[lake]": LakeSettings,
        "[sources.NAME]": SourceSettings,
        '[tables."SCHEMA.TABLE"]': TableRules,
    }
    found = [
        section
        for section, model in sections.items()
        if name in {field.alias or each for each, field in model.model_fields.items()}
    ]
    return f"; it belongs to {' or '.join(found)}" if found else ""


def _file_of(place: tuple[str, ...], origins: Mapping[tuple[str, ...], str], first: str) -> str:
    return next((origins[place[:end]] for end in range(len(place), 0, -1) if place[:end] in origins), first)


def _place(error: ErrorDetails) -> tuple[tuple[str, ...], type[BaseModel] | None]:
    """Return the path of the wrong setting, and the model of its source's kind; None if it is not in a source."""
    place = tuple(str(part) for part in error["loc"])
    if place[:1] == ("sources",) and len(place) > 2 and place[2] in KINDS:
        return (*place[:2], *place[3:]), KINDS[place[2]]
    return place, None


_HOST = re.compile(r"//(?:[^/@\s]*@)?(\[[^\]]*\]|[^/:?#&,\s\[\]]+)")
_BROKER = re.compile(r",\s*(\[[^\]]*\]|[^/:?#&,\s\[\]]+)")
_NAMES_A_SECRET = re.compile(r"_env$|password|secret|token|credential", re.IGNORECASE)
"""Names of settings whose value is not shown, because a person may have written a secret there."""


def _format_place(place: tuple[str, ...]) -> str:
    return ".".join(part if re.fullmatch(r"[\w-]+", part) else json.dumps(part) for part in place)
