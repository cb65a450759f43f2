"""Compares a schema with earlier imports, and plans the rows that an import of the schema would store."""

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
"""The word that means, on the command line, the position before all changes of the source."""

_AT = re.compile(r"(\d{1,9}):(-?\d{1,38})(?::(-?\d{1,18}))?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan:
    """What the import of a schema would change. `plan_import` makes it, and nothing is stored yet.

    - `added`: tables without an earlier import. `changed`: for each changed table, the differences from its earlier
      import, as texts. `same`: the number of unchanged tables.
    - `gone`: tables of earlier imports that the schema does not have; their imports stay.
    - `left_out`: the number of tables that the settings do not select.
    - `unread`: statements of the schema that Retable does not understand.
    - `rows`: the new rows to store. `is_first`: whether the source has no earlier import.
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
    """Parse a position that a person wrote: `start`, or `epoch:hi[:lo]` as in the gold column `_retable_sequence`.

    `start` means before all changes. A missing `lo` is 0. InvalidSetting for any other text.
    """
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
    """Parse the position where a table starts: `start`, or `epoch:hi`, that is, after all changes with this `hi`.

    InvalidSetting for `epoch:hi:lo`, because a table cannot start between two changes with the same `hi`, and for any
    other text.
    """
    if (found := _AT.match(text)) and found[3] is not None:
        raise InvalidSetting(
            f"the position {text} has a third number, but a table starts after all changes of one hi (the second "
            f"number), so write {found[1]}:{found[2]}; if the copy may lack some of these changes, write an earlier "
            "hi: changes that the copy already contains do no harm"
        )
    return read_position(text)


def format_position(position: Sequence) -> str:
    """Return a position as text that `read_position` parses: `start` or `epoch:hi:lo`."""
    return START if position == LOWEST else ":".join(map(str, position))


def position_of(schema: Schema, source: SourceSettings, imported: str | None) -> Sequence:
    """Return the position of a schema in the order of a source's changes.

    `imported` is the position that a person gave on the command line. If it is None, the log position in the schema
    (`schema.place`) is used. InvalidSetting if there is neither, or if the source's changes are not ordered by that log
    position.
    """
    if imported is not None:
        return read_position(imported)
    found = ""
    if schema.place is not None:
        file, at = schema.place
        place = find_format(source.format).binlog_position(file, at)
        if place is not None:
            return Sequence(source.source_epoch, place, -1)
        found = (
            f"the dump names the log position {file}:{at}, but changes of {source.format} are not ordered by such "
            f"positions; "
        )
    raise InvalidSetting(
        f"the position of the schema is not known: {found}give it with --at epoch:hi[:lo], or with --at {START} if the "
        f"tables have had this schema since before the first change of {source.name}"
    )


def plan_import(
    lake: Lake, source: SourceSettings, schema: Schema, position: Sequence, origin: str, now: datetime
) -> ImportPlan:
    """Return what an import of a schema at `position` would change. Nothing is written.

    `origin` names the dump or database, and `now` is the time of the import; both are stored with each table.
    """
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
    """Return, as texts, how a table differs from its last import at or before `position`.

    `before` are the table's earlier imports, ordered by position. Return None if there are none.
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
