"""Decisions of people about statements and rows that stopped the replay of a table (`retable hold release`).

They are applied each time the history of a table is built from its statements.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from retable.model.policies import Destructive, Policies
from retable.model.sequence import Sequence

BEHIND = "what came behind the horizon up to "
"""Beginning of `Decision.statement` if a person decided to skip late rows, from before rows that silver has dropped.

The text ends with the last window of these late rows.
"""

DecisionKind = Literal["skip", "replace", "approve"]
DecisionPlace = tuple[Sequence, str | None]

REMEDY_STATEMENT = (
    "give a statement that says what this statement means for this table: retable hold release TABLE --as 'ALTER ...' "
    "--reason ...; or use --skip, if it means nothing for this table; or --retry, after a change of the settings or of "
    "the version of Retable"
)
REMEDY_ROW = (
    "correct the settings, then: retable hold release TABLE --retry --reason ...; or use --skip to ignore this row"
)
REMEDY_BEHIND = (
    "retable hold release TABLE --skip --reason ... ignores such late rows; or take a baseline of the table, then: "
    "retable rebuild TABLE --reason ..."
)
REMEDY_ALL_ROWS = (
    "take a baseline of the table after this statement, then: retable rebuild TABLE --reason ...; or retable hold "
    "release TABLE --reason ... with --skip, if gold should ignore the statement, or with --as 'ALTER ...'"
)
REMEDY_APPROVAL = "retable hold release TABLE --approve --reason ..., or --reject to ignore the statement"
NO_OTHER = "no other statement can stand in its place"
"""The end of the remedy of a hold whose statement a person cannot replace (`--as`). Stored holds contain this text."""
REMEDY_DATABASE = f"{REMEDY_APPROVAL} for this table; {NO_OTHER}"
REMEDY_PARTITIONS = (
    "apply the removed or added rows to this table by hand, or keep the existing rows: "
    'retable hold release TABLE --skip --reason ..., or on.drop_partition = "keep_rows" in the settings, then --retry'
)
REMEDY_POLICY = (
    "the settings require this hold: retable hold release TABLE --approve --reason ... applies this statement; "
    "or --reject, or --as 'ALTER ...'; or change the settings, then --retry"
)
_ASKED: dict[Destructive, str] = {
    "drop_table": "the statement drops the table",
    "truncate": "the statement removes all rows",
    "drop_column": "the statement drops a column",
}


def is_row(stands: str | None) -> bool:
    """Return whether `stands`, the text at which a table stopped, is a row's image (JSON) and not a DDL statement.

    If there is no text (None), return False.
    """
    return stands is not None and stands.startswith("{")


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of a person about one statement or row of a table.

    `identity` is the table's. `position` and `part` (the source partition) say where the statement or row is. If `kind`
    is `skip`, it is ignored, and the field `statement` is its text or the beginning of the row's image. If `kind` is
    `replace`, the field `statement`, in the source's dialect, is applied instead. If `kind` is `approve`, the statement
    is applied, although the settings hold the table at such statements.
    """

    identity: str
    position: Sequence
    part: str | None
    kind: DecisionKind
    statement: str | None = None

    @property
    def is_of_row(self) -> bool:
        return is_row(self.statement)


class Decisions:
    """The decisions about the tables of one source. If a table has several for one position, the last is used."""

    def __init__(self, decisions: Iterable[Decision] = ()) -> None:
        self._of: dict[str, dict[DecisionPlace, Decision]] = defaultdict(dict)
        for decision in decisions:
            self._of[decision.identity][decision.position, decision.part] = decision
        self._places = {place for places in self._of.values() for place in places}

    def concerns(self, position: Sequence, part: str | None) -> bool:
        """Return whether there is a decision about any table at this position of this source partition."""
        return (position, part) in self._places

    def of(self, identity: str, position: Sequence, part: str | None) -> Decision | None:
        return self._of[identity].get((position, part)) if identity in self._of else None

    def skipped(self, identity: str) -> frozenset[tuple[Sequence, str | None, str | None]]:
        """Return the statements and rows that a table ignores because a person decided so.

        Each item has the position, the source partition, and the text: the statement or the start of the row's image.
        """
        found = self._of.get(identity, {})
        return frozenset((*place, decision.statement) for place, decision in found.items() if decision.kind == "skip")


def asks_first(policies: Policies, what: Destructive) -> str | None:
    """Return the reason why a destructive change must wait for a person's approval, or None if it need not wait."""
    if what not in policies.approve:
        return None
    return f"{_ASKED[what]}; the settings require that a person approves this"


def approved(policies: Policies, decision: Decision | None) -> Policies:
    """Return the policies for a statement. If a person approved or replaced it, the policies do not hold the table."""
    if decision is None or decision.kind == "skip":
        return policies
    columns = "follow" if policies.columns == "frozen" else policies.columns
    renames = "follow" if policies.rename_table == "hold" else policies.rename_table
    return replace(policies, columns=columns, rename_table=renames, approve=())
