"""Decisions of people about statements and rows that stopped a table. Each tracing takes them into account."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from retable.model.policies import Destructive, Policies
from retable.model.sequence import Sequence

BEHIND = "what came behind the horizon up to "
"""How the statement of a decision that leaves out undecidable late rows begins. It ends with their window."""

DecisionKind = Literal["skip", "replace", "approve"]
DecisionPlace = tuple[Sequence, str | None]

REMEDY_STATEMENT = (
    "say what the statement means for this table: retable hold release TABLE --as 'ALTER ...' --reason ...; or --skip, "
    "if it has no meaning; or --retry, after a change of the settings or of the version of Retable"
)
REMEDY_ROW = (
    "correct the settings, then: retable hold release TABLE --retry --reason ...; or --skip leaves this row out"
)
REMEDY_BEHIND = (
    "retable hold release TABLE --skip --reason ... leaves such rows out; or take a baseline of the table, then: "
    "retable rebuild TABLE --reason ..."
)
REMEDY_ALL_ROWS = (
    "take a baseline of the table after this statement, then: retable rebuild TABLE --reason ...; or "
    "--skip, if gold should ignore the statement; or --as 'ALTER ...'"
)
REMEDY_APPROVAL = "retable hold release TABLE --approve --reason ..., or --reject, which leaves it out"
NO_OTHER = "no other statement can stand in its place"
"""The end of the remedy of a statement that `--as` cannot replace; holds are stored with it."""
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
    """Say whether the recorded text is a row's image and not a statement."""
    return stands is not None and stands.startswith("{")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about a statement or a row of one table.

    `skip`: it is ignored; `statement` is the statement, or the beginning of the row. `replace`: `statement`, in the
    source's dialect, is used instead. `approve`: it is applied as it is, though the settings ask for an approval.
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
    """The decisions of one source. If there are several for one position, the last one counts."""

    def __init__(self, decisions: Iterable[Decision] = ()) -> None:
        self._of: dict[str, dict[DecisionPlace, Decision]] = defaultdict(dict)
        for decision in decisions:
            self._of[decision.identity][decision.position, decision.part] = decision
        self._places = {place for places in self._of.values() for place in places}

    def concerns(self, position: Sequence, part: str | None) -> bool:
        """Say whether there is a decision for this position, of any table."""
        return (position, part) in self._places

    def of(self, identity: str, position: Sequence, part: str | None) -> Decision | None:
        return self._of[identity].get((position, part)) if identity in self._of else None

    def skipped(self, identity: str) -> frozenset[tuple[Sequence, str | None, str | None]]:
        """Give the ignored positions, each with its statement or the beginning of its row."""
        found = self._of.get(identity, {})
        return frozenset((*place, decision.statement) for place, decision in found.items() if decision.kind == "skip")


def asks_first(policies: Policies, what: Destructive) -> str | None:
    """Say why a destructive change waits for a person. None: it does not wait."""
    if what not in policies.approve:
        return None
    return f"{_ASKED[what]}; the settings allow this only if a person approves"


def approved(policies: Policies, decision: Decision | None) -> Policies:
    """Give the policies for a statement. They need no approval if a person approved or replaced the statement."""
    if decision is None or decision.kind == "skip":
        return policies
    columns = "follow" if policies.columns == "frozen" else policies.columns
    renames = "follow" if policies.rename_table == "hold" else policies.rename_table
    return replace(policies, columns=columns, rename_table=renames, approve=())
