"""Rows of gold that their source cannot have any more, as they are recorded."""

import json
from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple, cast

import msgspec

from retable.fold.fold import Values
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_suspects, read_tables
from retable.ledger.rows import SuspectRow, SuspectState
from retable.model.schema import GoldType
from retable.model.sequence import parse_sequence
from retable.schema_history.references import Moment
from retable.settings.sources import SourceSettings

SuspectPlace = tuple[str, tuple[str, ...]]
"""The identity of a table, and the identities of some of its columns."""

_PYTHON: dict[str, Any] = {
    **dict.fromkeys(("int", "long", "date", "timestamp", "timestamptz"), int),
    "boolean": bool,
    "float": float,
    "double": float,
    "decimal": Decimal,
    "string": str,
    "binary": bytes,
}


class Lost(NamedTuple):
    """Values that rows of a parent lost in the columns that other tables refer to, when, and by which event.

    `window` is the window of the parent's change in silver.
    """

    values: Values
    moment: Moment
    event: Literal["delete", "update"]
    window: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """Rows of a table that still refer, by its `columns`, to what their parent lost in one window.

    `columns` are identities of gold's columns; `label` names one of several tables that go into one; `lost` are the
    losses that these rows refer to.
    """

    identity: str
    columns: tuple[str, ...]
    gold: str
    label: str | None
    constraint: str
    window: str
    lost: tuple[Lost, ...]
    rows: int
    state: SuspectState = "open"

    @property
    def place(self) -> SuspectPlace:
        return self.identity, self.columns

    def has(self, lost: Lost, kinds: Seq[GoldType]) -> bool:
        """Whether a loss is recorded here; `kinds` are the present types of the columns."""
        mine = (each for each in self.lost if (each.moment, each.event) == (lost.moment, lost.event))
        return any(typed(each.values, kinds) == lost.values for each in mine)

    def is_same(self, other: "Suspect") -> bool:
        """Whether another suspect has the same content, whatever types the values had when it was recorded."""
        return suspect_facts(self) == suspect_facts(other) and self.rows == other.rows

    def settled(self) -> "Suspect":
        """The same suspect without any rows left."""
        return replace(self, rows=0, state="settled")


def open_suspects(lake: Lake, source: SourceSettings) -> dict[str, list[SuspectRow]]:
    """The open suspects of a source's tables, by identity, without those that the settings now ignore."""
    found: dict[str, list[SuspectRow]] = {}
    names = {row.identity: row.name for row in read_tables(lake, source.name)} if lake.find("ops.suspects") else {}
    for row in read_suspects(lake, source.name) if names else ():
        if row.state == "open" and lake.settings.rules(names[row.identity]).on.cascade == "suspect":
            found.setdefault(row.identity, []).append(row)
    return found


def words_of(rows: Seq[SuspectRow]) -> str:
    """A text for people about a table's suspect rows."""
    first = min(rows, key=lambda row: row.window)
    more = "" if len(rows) == 1 else f", and to rows of {len(rows) - 1} more such changes"
    return (
        f"{sum(row.rows for row in rows):,} rows refer to rows that the source deleted or changed at {first.position} "
        f"in the window {first.window}{more}; the source deletes or changes the referring rows without a message: "
        f"{first.constraint}"
    )


def remedy_of(gold: str) -> str:
    """A text about what a person can do about a table's suspect rows."""
    return (
        f"messages that have not arrived yet may settle it; if not, `retable baseline {gold}` or "
        f"`retable resync {gold}` gets the rows as the source has them; if gold's rows are right, "
        f"`retable accept-rows {gold} --reason ...`"
    )


def typed(values: Values, kinds: Seq[GoldType]) -> Values | None:
    """Values in the form in which columns of these types compare them; None if a value does not fit its type."""
    try:
        return tuple(
            msgspec.convert(value, _PYTHON[kind.kind], strict=not isinstance(value, str))
            for value, kind in zip(values, kinds, strict=True)
        )
    except msgspec.ValidationError:
        return None


def suspect_facts(suspect: Suspect) -> str:
    """The losses of a suspect, and its label among several tables, as JSON text."""
    lost = [
        [each.values, str(each.moment.sequence), each.moment.part, each.moment.time, each.event]
        for each in suspect.lost
    ]
    return msgspec.json.encode({"label": suspect.label, "lost": lost}).decode()


def suspect_row(source: str, suspect: Suspect, now: datetime) -> SuspectRow:
    first = suspect.lost[0].moment
    return SuspectRow(
        source=source,
        identity=suspect.identity,
        table=suspect.gold,
        columns=json.dumps(suspect.columns),
        constraint=suspect.constraint,
        window=suspect.window,
        position=str(first.sequence),
        part=first.part or "",
        rows=suspect.rows,
        lost=suspect_facts(suspect),
        state=suspect.state,
        recorded_at=now,
    )


def read_all_suspects(lake: Lake, source: str) -> tuple[Suspect, ...]:
    """All suspects that a source ever had, in their present state."""
    return tuple(map(_suspect, read_suspects(lake, source)))


def _suspect(row: SuspectRow) -> Suspect:
    facts: dict[str, Any] = json.loads(row.lost)
    lost = tuple(
        Lost(tuple(values), Moment(parse_sequence(at), part, time), cast(Any, event), row.window)
        for values, at, part, time, event in facts["lost"]
    )
    return Suspect(
        identity=row.identity,
        columns=tuple(json.loads(row.columns)),
        gold=row.table,
        label=facts["label"],
        constraint=row.constraint,
        window=row.window,
        lost=lost,
        rows=row.rows,
        state=row.state,
    )
