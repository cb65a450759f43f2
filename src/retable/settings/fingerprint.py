"""Computes digests of the settings that decide the contents of gold tables.

If such a setting changes, its digest changes. Windows that were decoded with the old digest must be decoded again.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict

from retable.formats.options import FormatOptions
from retable.settings.sources import SourceSettings
from retable.settings.tables import TableRules

KEEPS_GOLD = frozenset(
    {
        *("name", "kind", "path", "s3", "layout", "bootstrap", "topics", "kafka"),  # the location of messages
        *("every", "start", "delay", "hour", "paused"),  # the window that contains them
        *("max_message", "max_unpacked", "max_ratio", "max_lines"),  # messages over a limit go to quarantine
        *("quarantine_budget", "quarantine_limit", "retention"),
        *("applications", "spark_door", "sla", "sla_grade", "owner", "severity", "notify"),
        "source_epoch",  # the first number of positions in later windows; older windows keep their own
    }
)
"""The settings of a source that are not in the digest: if they change, the rows of a decoded window stay the same."""

_FIRST_OPTIONS: Mapping[str, Mapping[str, object]] = {
    "format_options": {"model": "sql", "database": None, "table": None, "tuple_schema": {}},
    "connector": {
        "decimal_mode": "precise",
        "time_mode": "adaptive",
        "unavailable_value": "__debezium_unavailable_value",
    },
}
"""The first format options, with their defaults. The digest of every source has these options and `canal_dialect`,
also if its format does not have them. The digest has later options only if they are set, so a new version of Retable
does not make existing tables stale."""


def value_facts(source: SourceSettings, rules: TableRules, *, is_taken: bool, case: str) -> dict[str, object]:
    """Return the settings that decide how the rows of a table are decoded and typed, by name, for `digest`.

    `is_taken` says whether `include` and `exclude` select the table, so that its rows are replayed. `case` is the
    setting `case` of the lake: whether names in gold have small letters (`lower`) or are as in the source (`source`).
    """
    return {
        **typing_facts(source, rules),
        "zones": [source.time_zone, source.timestamp_zone],
        "binary_encoding": source.binary_encoding,
        "taken": is_taken,
        "case": case,
        "keys": rules.keys,
        "policies": asdict(rules.policies),
        **({"shard_in_key": True} if rules.to is not None else {}),  # the setting itself only names a column
        **_later_options(source.options, source.options.KEEPS_GOLD),
    }


def typing_facts(source: SourceSettings, rules: TableRules) -> dict[str, object]:
    """Return the settings that decide the gold type of a column whose type no DDL statement declares, by name."""
    return {
        "format": source.format,
        "system": source.source_system,
        **_first_options(source.options),
        **_later_options(source.options, source.options.KEEPS_TYPES),
        "types": {name: str(kind) for name, kind in rules.types.items()},
        "zero_date": rules.zero_date,
        **({"far_date": rules.far_date} if rules.far_date != "reject" else {}),
    }


def digest(facts: Mapping[str, object]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of these settings, given by name."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _first_options(options: FormatOptions) -> dict[str, object]:
    dump = options.model_dump(mode="json")
    groups = {
        group: [dump.get(name, default) for name, default in defaults.items()]
        for group, defaults in _FIRST_OPTIONS.items()
    }
    return {**groups, "canal_dialect": dump.get("canal_dialect", [])}


def _later_options(options: FormatOptions, exempt: Collection[str]) -> dict[str, object]:
    first = {"canal_dialect", *(name for group in _FIRST_OPTIONS.values() for name in group)}
    changed = options.model_dump(mode="json", exclude_defaults=True)
    return {name: value for name, value in changed.items() if name not in first and name not in exempt}
