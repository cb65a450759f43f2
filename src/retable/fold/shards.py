"""The rows of tables that go into one: each is folded by itself, and the whole has what lives in any of them.

A row that one of them deleted says nothing of a row of that key in another, so a key may move from one to the other, in
whatever order that comes. Where two of them have a row of one key in the end, the whole is held below the later one; it
goes on by itself when one of the two is gone.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from retable.fold.fold import Folded, Key, Winner
from retable.fold.images import TableReader
from retable.model.row_event import RowEvent, told_row
from retable.model.sequence import Sequence
from retable.schema_history.history import Hold
from retable.schema_history.shards.parts import SHARED_KEY, shard_of

REMEDY_SHARED = (
    "it goes on by itself once one of them no longer has it; where both keep theirs, shard_in_key = true in the "
    "settings, then: retable hold release TABLE --retry --reason ...; or --skip leaves this row out"
)


def join_folds(folds: Iterable[Folded], events: Iterable[RowEvent], reader: TableReader) -> Folded:
    """Make one fold of those of tables that go into one; `events` are all that were folded."""
    joined = Folded()
    winners: dict[Key, list[Winner]] = defaultdict(list)
    holds = []
    for folded in folds:
        joined.verdicts.update(folded.verdicts)
        joined.rejects += folded.rejects
        joined.pending += folded.pending
        joined.settled |= folded.settled
        joined.touched |= folded.touched
        holds += [] if folded.hold is None else [folded.hold]
        for key, winner in folded.winners.items():
            winners[key].append(winner)
    clashes: list[tuple[Sequence, str, Key]] = []
    for key, found in winners.items():
        last, *others = sorted(found, key=_rank, reverse=True)
        joined.winners[key] = replace(last, also=tuple(others)) if others else last
        living = sorted((winner.lives_since, winner.part or "") for winner in found if winner.row is not None)
        clashes += [(*place, key) for place in living[1:2]]
    joined.hold = min(holds, key=lambda hold: (hold.position, hold.part or ""), default=None)
    if joined.hold is None and clashes:
        at, part, key = min(clashes, key=lambda clash: clash[:2])
        labels = sorted(str(shard_of(winner.part)) for winner in winners[key] if winner.row is not None)
        joined.hold = _hold(at, part, key, labels, events, reader)
    return joined


def _rank(winner: Winner) -> tuple[bool, Sequence, str]:
    return winner.row is not None, winner.sequence, winner.part or ""


def _hold(
    at: Sequence, part: str, key: Key, labels: list[str], events: Iterable[RowEvent], reader: TableReader
) -> Hold:
    here = [event for event in events if (event.sequence, event.part or "") == (at, part)]
    row = next((told_row(event) for event in here if len(here) == 1 or reader.read(event).key == key), None)
    reason = f"{' and '.join(labels)} both have a row of the key {', '.join(map(str, key))}"
    return Hold(SHARED_KEY, reason, at, part or None, row, REMEDY_SHARED)
