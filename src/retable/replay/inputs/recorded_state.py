"""What the lake records about a source before a run: its windows, which of them were replayed, and its tables."""

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
    """What the lake records about one source before a run. The run decides with it what to replay.

    `ordinals` are the numbers of the recorded windows, by name. A window is named by its start, so names sort as the
    numbers do. `decoded` are the windows that were decoded. `replayed` are the windows that were completely replayed,
    each with the digest of its content in silver at that time. `tables` are the rows of ops.tables, by table identity.
    `ledger` has the numbers of rows that were counted for gold tables.

    `silver` is a function. It takes names of windows, or None for all windows, and returns a digest of the present
    content in silver for each of these windows. If the digest of a window changes, its content has changed. A window
    without a digest is empty. Retention may have dropped rows of windows before `kept_from`. `left_out` is a function,
    too. It takes tables, and returns whether a window was decoded without one of them, because the settings excluded
    the table then and include it now.

    `decisions` are those of people about statements and rows. `imports` are schema dumps. `baselines` are full copies
    of tables, which are in silver as windows. `suspects` are rows of gold that the source cannot have any more.

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
        """Return whether these windows were completely replayed, and silver still has the replayed content.

        `silver` has the windows, each with the digest of its present content in silver.
        """
        return all(self.replayed.get(window) == content for window, content in silver.items())

    def missing(
        self, names: Collection[str], there: Mapping[int, int], truncated_at: Sequence | None, *, everywhere: bool
    ) -> RetentionFloor | None:
        """Return which rows of the gold tables `names` silver no longer has, or None if it has all of them.

        A window lacks rows if silver has fewer of them than the ledger counted. `there` has the number of rows in
        silver, by window ordinal. Rows below the truncation point `truncated_at` do not matter. Only windows before
        `kept_from` are examined, because retention dropped no rows of later windows. If `everywhere`, all windows are
        examined. This is for a gold table of several source tables: one of them may no longer be known, and its rows
        are then not in `there`.
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
        """Return the windows whose rows a gold table has: the replayed windows, and those in its state (`applied`)."""
        return ({*self.replayed} | ({*state.applied} if state is not None else set())) & self.ordinals.keys()

    def visible(self, window: str) -> list[str]:
        """Return the decoded windows up to `window`, or up to the highest replayed window if that is later.

        Gold may depend on all of these windows.
        """
        last = max([window, *self.replayed])
        return sorted(name for name in self.decoded if name <= last)
