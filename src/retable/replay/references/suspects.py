"""Suspects as they are recorded: rows of gold that the source cannot have any more."""

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
"""The identity of a table, and the identities of the columns by which its rows refer to a parent table."""

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
    """Values that rows of a parent table lost in columns to which other tables refer.

    `moment` and `event` say when and how the rows lost them. `window` is the window of silver that has this event.
    """

    values: Values
    moment: Moment
    event: Literal["delete", "update"]
    window: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """Rows of a table that still refer to values that rows of their parent table lost in one `window`.

    They refer by `columns`, which are identities of gold's columns. `lost` are the losses, and `rows` is the number of
    rows. If several source tables go into one gold table, `label` names the source table of the rows. `constraint` is
    the foreign key as text.
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
        """Return whether this suspect has a loss. `kinds` are the present types of the suspect's columns."""
        mine = (each for each in self.lost if (each.moment, each.event) == (lost.moment, lost.event))
        return any(typed(each.values, kinds) == lost.values for each in mine)

    def is_same(self, other: "Suspect") -> bool:
        """Return whether another suspect has the same losses and the same number of rows.

        The types in which the values were recorded do not matter.
        """
        return suspect_facts(self) == suspect_facts(other) and self.rows == other.rows

    def settled(self) -> "Suspect":
        """Return the same suspect as settled: no row of gold is suspect any more."""
        return replace(self, rows=0, state="settled")


def open_suspects(lake: Lake, source: SourceSettings) -> dict[str, list[SuspectRow]]:
    """Return the open suspects of a source, by table identity.

    Suspects of tables are left out if the settings now ignore them (`on.cascade`).
    """
    found: dict[str, list[SuspectRow]] = {}
    names = {row.identity: row.name for row in read_tables(lake, source.name)} if lake.find("ops.suspects") else {}
    for row in read_suspects(lake, source.name) if names else ():
        if row.state == "open" and lake.settings.rules(names[row.identity]).on.cascade == "suspect":
            found.setdefault(row.identity, []).append(row)
    return found


def words_of(rows: Seq[SuspectRow]) -> str:
    """Return a text that explains the suspect rows of a table to a person."""
    first = min(rows, key=lambda row: row.window)
    more = "" if len(rows) == 1 else f", and to rows of {len(rows) - 1} later deletes or changes"
    return (
        f"{sum(row.rows for row in rows):,} rows refer to rows that the source deleted or changed at {first.position} "
        f"in the window {first.window}{more}; the source then also deletes or changes the referring rows, but without "
        f"a message, because of the constraint {first.constraint}"
    )


def remedy_of(gold: str) -> str:
    """Return a text that says what a person can do about the suspect rows of a table."""
    return (
        f"messages that have not arrived yet may delete or change these rows; if not, `retable baseline {gold}` or "
        f"`retable resync {gold}` loads the rows as the source has them; if gold's rows are right, "
        f"`retable accept-rows {gold} --reason ...`"
    )


def typed(values: Values, kinds: Seq[GoldType]) -> Values | None:
    """Return values as the Python types in which columns of these types compare them.

    Return None if a value does not fit its type.
    """
    try:
        return tuple(
            msgspec.convert(value, _PYTHON[kind.kind], strict=not isinstance(value, str))
            for value, kind in zip(values, kinds, strict=True)
        )
    except msgspec.ValidationError:
        return None


def suspect_facts(suspect: Suspect) -> str:
    """Return the losses and the label of a suspect as JSON text."""
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
    """Return all suspects that were ever recorded for a source, each in its present state."""
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
