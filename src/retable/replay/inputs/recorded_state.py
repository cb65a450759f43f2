"""The record of a source before a run: its windows, what was done with them, its tables."""

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
    """The past of one source.

    `ordinals` numbers the recorded windows by name: they are named by their start, so their names sort as they do.
    `replayed` gives, by window, what silver had for it when its record was whole, and `ledger` what was counted of gold
    tables. `tables` are the known tables by identity. `silver` digests the content of a window in silver, or of all
    windows for None: another digest means another content, and a window without a digest is empty. Retention may have
    dropped rows of windows before `kept_from`. `left_out` says whether some window was decoded without one of these
    tables, though the settings take it now. `decisions` are those of people about statements and rows, `imports` those
    of schema dumps, `baselines` the full copies, whose pieces are windows, too; `suspects` are rows that the source
    cannot have any more.

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
        """The content of a window in silver."""
        return self.silver({window}).get(window, NO_FILES)

    def replayed_content(self) -> dict[str, str]:
        """The content in silver of every window that was replayed."""
        files = self.silver(None)
        return {name: files.get(name, NO_FILES) for name in self.replayed}

    def records(self, silver: Mapping[str, str]) -> bool:
        """Whether the record of these windows is whole, and silver still has this content."""
        return all(self.replayed.get(window) == content for window, content in silver.items())

    def missing(
        self, names: Collection[str], there: Mapping[int, int], truncated_at: Sequence | None, *, everywhere: bool
    ) -> RetentionFloor | None:
        """What silver lacks of the rows from `truncated_at` on that were counted under names; None: nothing.

        `there` is how many rows silver has of each window, by ordinal. Rows may be missing if retention dropped some of
        a window, or `everywhere`, if not all tables of the rows are known.
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
        """The windows that a table of this state has: those that were replayed, and those that its state names."""
        return ({*self.replayed} | ({*state.applied} if state is not None else set())) & self.ordinals.keys()

    def visible(self, window: str) -> list[str]:
        """The decoded windows up to this one, or to the highest one ever replayed: those that gold may depend on."""
        last = max([window, *self.replayed])
        return sorted(name for name in self.decoded if name <= last)
