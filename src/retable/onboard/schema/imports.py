"""A schema compared with earlier imports: what is new, gone and different, and what is then to be kept."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from retable.errors import InvalidSetting
from retable.formats.registry import find_format
from retable.ledger.lake.catalog import Lake
from retable.ledger.rows import ImportRow
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import DeclareTable
from retable.model.sequence import LOWEST, Sequence
from retable.onboard.schema.tables import Schema, UnreadStatement
from retable.replay.inputs.imports import Import, import_row, read_schema_imports, to_json
from retable.schema_history.columns import spelling
from retable.settings.sources import SourceSettings

START = "start"
"""The command line's spelling of a position before all changes of the source."""

_AT = re.compile(r"(\d{1,9}):(-?\d{1,38})(?::(-?\d{1,18}))?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan:
    """The result of an import of a schema.

    `changed` says in words, by table, what differs from before. `gone` are tables of an earlier import that this one
    does not have: they stay as they are. `left_out` are those that the settings do not select.
    """

    added: tuple[TableName, ...]
    changed: Mapping[TableName, tuple[str, ...]]
    gone: tuple[TableName, ...]
    same: int
    left_out: int
    unread: tuple[UnreadStatement, ...]
    rows: tuple[ImportRow, ...]
    is_first: bool


def read_position(text: str) -> Sequence:
    """Read a position of the command line: `start`, or `epoch:hi[:lo]` in the numbers of the source."""
    if text == START:
        return LOWEST
    found = _AT.match(text)
    if found is None:
        raise InvalidSetting(
            f"{text!r} is not a position; write {START}, or epoch:hi[:lo] in the numbers of the column "
            f"_retable_sequence, as 0:1620457642589000000"
        )
    return Sequence(int(found[1]), int(found[2]), int(found[3] or 0))


def read_start(text: str) -> Sequence:
    """Read the start of a table: `start`, or `epoch:hi`, which is after all changes of that `hi`.

    InvalidSetting for a position among the changes of one `hi`, at which a table cannot start.
    """
    if (found := _AT.match(text)) and found[3] is not None:
        raise InvalidSetting(
            f"{text}: a table starts after all changes of one hi, so write {found[1]}:{found[2]}; if the copy may lack "
            "one of them, write an earlier hi: changes that the copy contains already do no harm"
        )
    return read_position(text)


def format_position(position: Sequence) -> str:
    return START if position == LOWEST else ":".join(map(str, position))


def position_of(schema: Schema, source: SourceSettings, imported: str | None) -> Sequence:
    """The position of a schema in the order of a source: as a person declares it, else as the dump does.

    InvalidSetting if neither gives it in the numbers that order the source's changes.
    """
    if imported is not None:
        return read_position(imported)
    found = ""
    if schema.place is not None:
        file, at = schema.place
        place = find_format(source.format).binlog_position(file, at)
        if place is not None:
            return Sequence(source.source_epoch, place, -1)
        found = f"it says {file}:{at}, but {source.format} is not ordered by that; "
    raise InvalidSetting(
        f"the position of the schema is not known: {found}give it with --at epoch:hi[:lo], or with --at {START} if the "
        f"tables have been so since before the first change of {source.name}"
    )


def plan_import(
    lake: Lake, source: SourceSettings, schema: Schema, position: Sequence, origin: str, now: datetime
) -> ImportPlan:
    """Say what an import would change; nothing is written."""
    before = read_schema_imports(lake, source.name)
    known: dict[TableName, list[Import]] = {}
    for each in sorted(before.each, key=lambda each: each.position):
        known.setdefault(each.table.table, []).append(each)
    taken = {name: imported for name, imported in schema.tables.items() if source.takes(name)}
    added, changed, rows = [], {}, []
    for name, imported in taken.items():
        words = _differences(known.get(name, []), imported.table, position)
        if words is None:
            added.append(name)
        elif words:
            changed[name] = words
        else:
            continue
        entry = Import(imported.table, position, schema.dialect, imported.statement, "; ".join([origin, *schema.marks]))
        rows.append(import_row(source.name, entry, now))
    return ImportPlan(
        added=tuple(added),
        changed=changed,
        gone=tuple(sorted(known.keys() - schema.tables.keys(), key=str)),
        same=len(taken) - len(rows),
        left_out=len(schema.tables) - len(taken),
        unread=tuple(schema.unread),
        rows=tuple(rows),
        is_first=not before.each,
    )


def _differences(before: list[Import], now: DeclareTable, position: Sequence) -> tuple[str, ...] | None:
    """The differences from the import in force at a position, in words; None if the table had none yet.

    `before` are its imports in the order of their positions.
    """
    if not before:
        return None
    last = next((each for each in reversed(before) if each.position <= position), None)
    if last is None:
        return (f"as of {format_position(position)}, was {format_position(before[0].position)}",)
    if to_json(last.table) == to_json(now):
        return ()
    then = {column.name.lower(): column for column in last.table.columns}
    here = {column.name.lower(): column for column in now.columns}
    words = [f"column {here[name].name} {here[name].source_type}: added" for name in here if name not in then]
    words += [f"column {then[name].name}: gone" for name in then if name not in here]
    for name in here.keys() & then.keys():
        words += [f"column {here[name].name}: {what}" for what in _column_differences(then[name], here[name])]
    if last.table.keys != now.keys:
        words.append(f"key: ({', '.join(last.table.keys)}) became ({', '.join(now.keys)})")
    return tuple(words) or ("columns: another order",)


def _column_differences(then: ColumnSpec, now: ColumnSpec) -> list[str]:
    words = []
    if spelling(then.source_type) != spelling(now.source_type):
        words.append(f"{then.source_type} became {now.source_type}")
    if then.not_null != now.not_null:
        words.append("is NOT NULL now" if now.not_null else "may be null now")
    if (then.has_default, then.default, then.computed) != (now.has_default, now.default, now.computed):
        words.append("another default")
    if then.comment != now.comment:
        words.append("another comment")
    return words
