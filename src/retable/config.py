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
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from retable.errors import InvalidSetting, NotFound, UnknownSetting
from retable.lake_settings import LakeSettings
from retable.model.event import TableName
from retable.setting_values import ChangeRules, nearest
from retable.source_settings import CanalDialect, SourceSettings
from retable.table_rules import TableRules

CATALOG = "lake"
"""The catalog's name in Spark and in pyiceberg: it is part of every row of the catalog's own tables."""


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
