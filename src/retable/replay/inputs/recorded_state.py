"""What is recorded of a source before a run: its windows, what was replayed of them, and its tables."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from retable.gold.state import GoldState, RetentionFloor
from retable.ledger.baselines import NO_BASELINES, Baselines
from retable.ledger.counts import LedgerRows
from retable.ledger.rows import TableRow
from retable.ledger.windows.contents import NO_FILES
from retable.model.event import TableName
from retable.model.sequence import Sequence, parse_sequence
from retable.replay.inputs.imports import NO_IMPORTS, Imports
from retable.replay.references.suspects import Suspect
from retable.schema_history.decisions import Decision


def _none_left_out(_: Collection[TableName]) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class RecordedState:
    """What is recorded of one source before a run.

    `ordinals` are the numbers of the recorded windows, by name. A window is named by its start, so names sort as the
    numbers do. `decoded` are the windows that were decoded. `replayed` gives, by window, the digest of silver's content
    when the window's record was complete. `tables` are the rows of ops.tables, by table identity. `ledger` has what was
    counted of gold tables.

    `silver` returns digests of the content in silver, by window: of some windows or, for None, of all windows. If the
    digest of a window changes, its content has changed. A window without a digest is empty. Retention may have dropped
    rows of windows before `kept_from`. `left_out` returns whether a window was decoded without one of the given tables,
    although the settings take this table now.

    `decisions` are those of people about statements and rows. `imports` are schema dumps. `baselines` are full copies,
    whose pieces are windows too. `suspects` are rows that the source cannot have any more.

    Data that grows with the number of windows and tables is read only when it is needed.
    """

    ordinals: Mapping[str, int]
    decoded: frozenset[str]
    replayed: Mapping[str, str | None]
    tables: Mapping[str, TableRow]
    silver: Callable[[Collection[str] | None], Mapping[str, str]]
    ledger: LedgerRows
    kept_from: str = ""
    left_out: Callable[[Collection[TableName]], bool] = _none_left_out
    decisions: tuple[Decision, ...] = ()
    imports: Imports = NO_IMPORTS
    baselines: Baselines = NO_BASELINES
    suspects: tuple[Suspect, ...] = ()

    @cached_property
    def windows(self) -> dict[int, str]:
        """The recorded windows by number."""
        return {ordinal: name for name, ordinal in self.ordinals.items()}

    def content_of(self, window: str) -> str:
        """Return the digest of a window's content in silver."""
        return self.silver({window}).get(window, NO_FILES)

    def replayed_content(self) -> dict[str, str]:
        """Return the digest of the content in silver of every replayed window, by window."""
        files = self.silver(None)
        return {name: files.get(name, NO_FILES) for name in self.replayed}

    def records(self, silver: Mapping[str, str]) -> bool:
        """Return whether the record of these windows is complete, and silver still has the recorded content.

        `silver` has the present digest of each window.
        """
        return all(self.replayed.get(window) == content for window, content in silver.items())

    def missing(
        self, names: Collection[str], there: Mapping[int, int], truncated_at: Sequence | None, *, everywhere: bool
    ) -> RetentionFloor | None:
        """Return which rows silver lacks, of the rows that the ledger counted for the gold tables `names`.

        Only rows from `truncated_at` on count. Return None if silver lacks none. `there` is the number of rows that
        silver has of each window, by window ordinal. Only windows of which retention may have dropped rows are
        examined. If `everywhere`, all windows are examined. This is needed if not all tables of the rows are known.
        """
        dropped: dict[str, Sequence] = {}
        counted = [each for rows in self.ledger.of_tables(names).values() for each in rows.items()]
        for window, mine in counted:
            lacks = mine.counts.get("rows", 0) > there.get(self.ordinals.get(window, -1), 0)
            if lacks and (everywhere or window < self.kept_from):
                for part, text in mine.highest.items():
                    last = parse_sequence(text)
                    dropped[part] = max(last, dropped.get(part, last))
        return RetentionFloor(dropped, -1, partial=True).above(truncated_at)

    def in_gold(self, state: GoldState | None) -> set[str]:
        """Return the windows that a gold table has: the replayed windows, and those that its state names."""
        return ({*self.replayed} | ({*state.applied} if state is not None else set())) & self.ordinals.keys()

    def visible(self, window: str) -> list[str]:
        """Return the decoded windows up to `window`, or up to the highest replayed window if that is later.

        Gold may depend on all of these windows.
        """
        last = max([window, *self.replayed])
        return sorted(name for name in self.decoded if name <= last)
