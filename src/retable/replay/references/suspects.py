"""Suspects: rows of gold that the source cannot have, because of a foreign key. They are recorded in `ops.suspects`."""

import json
from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple, cast

import msgspec

from retable.fold.fold import Values
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_suspects
from retable.ledger.rows import SuspectRow, SuspectState
from retable.model.schema import GoldType
from retable.model.sequence import parse_sequence
from retable.schema_history.references import Moment

SuspectPlace = tuple[str, tuple[str, ...]]
"""The identity of a child table, and the identities of its columns in the foreign key to a parent table."""

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
    """Values that a row of a parent table no longer has, in the columns to which a foreign key refers.

    `event` says how the row lost them: it was deleted, or its values were updated. `moment` is the position of
    the event in the source, and `window` is the window with the event.
    """

    values: Values
    moment: Moment
    event: Literal["delete", "update"]
    window: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """Rows of gold that still refer to values that rows of their parent table lost in one `window`.

    The source cannot have these rows, because its foreign key deletes or changes them. `identity` is the identity of
    their table, and `gold` its name. `columns` are the identities of the columns of the foreign key. `lost` are the
    lost values, and `rows` is the number of rows. If several source tables go into one gold table, `label` names the
    source table of the rows. `constraint` is the foreign key as text.
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
        """Return whether `lost` is one of the losses of this suspect: same values, same position, same kind of event.

        `kinds` are the present types of the foreign key's columns in gold. The values of this suspect are converted to
        them first, because `ops.suspects` stores values as JSON.
        """
        mine = (each for each in self.lost if (each.moment, each.event) == (lost.moment, lost.event))
        return any(typed(each.values, kinds) == lost.values for each in mine)

    def is_same(self, other: "Suspect") -> bool:
        """Return whether another suspect has the same lost values, and the same number of rows that refer to them.

        The types in which the values were recorded do not matter.
        """
        return suspect_facts(self) == suspect_facts(other) and self.rows == other.rows

    def settled(self) -> "Suspect":
        """Return the same suspect in the state `settled`: gold has no such row any more."""
        return replace(self, rows=0, state="settled")


def typed(values: Values, kinds: Seq[GoldType]) -> Values | None:
    """Convert values to the Python types in which gold's columns are compared, such as int for a date.

    `kinds` has the column type of each value. Return None if a value does not fit its type.
    """
    try:
        return tuple(
            msgspec.convert(value, _PYTHON[kind.kind], strict=not isinstance(value, str))
            for value, kind in zip(values, kinds, strict=True)
        )
    except msgspec.ValidationError:
        return None


def suspect_facts(suspect: Suspect) -> str:
    """Return the lost values and the label (source table) of a suspect as JSON text, as `ops.suspects` stores them."""
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
