"""The laws of the fold, on the pure core."""

from collections.abc import Iterable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.errors import BadValue, ZeroDate
from retable.fold.bag import fold_bag
from retable.fold.bounds import Bounds
from retable.fold.fold import ABSENT, Folded, RowAction, fold_keys
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence

FREE = Bounds(None, None)


def event(position: int, op: str, before: str | None, after: str | None, ordinal: int = 0, part: str = "0") -> RowEvent:
    sequence = Sequence(0, position, 0)
    return RowEvent(op, before, after, None, ("k",), sequence, part, ordinal, "t", 0, position, 0, None, None, True)


def read(change: RowEvent) -> RowAction:
    """Images here are `key=value`; the whole image stands for the row."""

    def key(image: str | None) -> tuple[object, ...] | None:
        return None if image is None else (image.split("=")[0],)

    if change.after is not None and change.after.endswith("=bad"):
        raise BadValue("not a number")
    if change.after is not None and change.after.endswith("=zero"):
        raise ZeroDate("no date")
    old, new = key(change.before), key(change.after)
    row = None if change.after is None else (change.after,)
    return RowAction(old if old != new else None, new, row)


def read_bag(change: RowEvent) -> RowAction:
    before = None if change.before is None else (change.before,)
    return RowAction(before, None, None if change.after is None else (change.after,))


@st.composite
def changes(draw: st.DrawFn) -> list[RowEvent]:
    """A history of a small keyed table: inserts, updates, key changes and deletes, in their order."""
    rows: dict[str, str] = {}
    events = []
    for position in range(draw(st.integers(1, 25))):
        key, value = draw(st.sampled_from("abcd")), str(position)
        if key not in rows:
            events.append(event(position, "INSERT", None, f"{key}={value}"))
            rows[key] = value
        elif draw(st.booleans()):
            free = [other for other in "abcdef" if other not in rows or other == key]
            new = draw(st.sampled_from(free))
            events.append(event(position, "UPDATE", f"{key}={rows.pop(key)}", f"{new}={value}"))
            rows[new] = value
        else:
            events.append(event(position, "DELETE", f"{key}={rows.pop(key)}", None))
    return events


def truth(events: Iterable[RowEvent]) -> set[str]:
    """What the table holds after these changes, by a dict."""
    rows: dict[str, str] = {}
    for change in events:
        if change.before is not None:
            rows.pop(change.before.split("=")[0], None)
        if change.after is not None:
            rows[change.after.split("=")[0]] = change.after
    return set(rows.values())


def live(folded: Folded) -> set[str]:
    return {str(winner.row[0]) for winner in folded.winners.values() if winner.row is not None}


@given(changes(), st.randoms())
def test_the_order_of_arrival_does_not_matter(events: list[RowEvent], chance: Random) -> None:
    shuffled = list(events)
    chance.shuffle(shuffled)
    folded = fold_keys(shuffled, read, FREE)
    assert live(folded) == truth(events)
    assert folded.verdicts.total() == len(events)


@given(changes(), st.data())
def test_redelivery_changes_nothing(events: list[RowEvent], data: st.DataObject) -> None:
    again = [change._replace(ordinal=1) for change in data.draw(st.lists(st.sampled_from(events)))]
    folded = fold_keys([*again, *events], read, FREE)
    assert live(folded) == truth(events)
    assert sum(n for (_, verdict), n in folded.verdicts.items() if verdict == "duplicate") == len(again)


@given(changes(), st.lists(st.integers(0, 25)))
def test_any_cut_into_windows_gives_the_same_winners(events: list[RowEvent], cuts: list[int]) -> None:
    bounds = [0, *sorted(cut for cut in cuts if cut < len(events)), len(events)]
    rows: dict[object, object] = {}
    for start, end in pairwise(bounds):
        for key, winner in fold_keys(events[start:end], read, FREE).winners.items():
            rows[key] = winner.row
    assert {str(row[0]) for row in rows.values() if isinstance(row, tuple)} == truth(events)


@given(changes(), st.integers(0, 25))
def test_what_a_truncate_voids_never_comes_back(events: list[RowEvent], truncated_at: int) -> None:
    folded = fold_keys(events, read, Bounds(Sequence(0, truncated_at, -1), None))
    assert live(folded) == truth(change for change in events if change.sequence.hi >= truncated_at)


@given(changes())
def test_a_bag_counts_inserts_minus_deletes(events: list[RowEvent]) -> None:
    folded = fold_bag(events, read_bag, FREE)
    assert {str(image[0]) for image, count in folded.counts.items() if count} == truth(events)
    assert set(folded.counts.values()) <= {0, 1}


def test_a_delete_before_its_insert_in_a_bag_is_a_debt_that_the_insert_settles() -> None:
    delete, insert = event(2, "DELETE", "a=1", None), event(1, "INSERT", None, "a=1")
    assert fold_bag([delete], read_bag, FREE).counts == {("a=1",): -1}
    assert fold_bag([delete, insert], read_bag, FREE).counts == {("a=1",): 0}


@pytest.mark.parametrize("order", [(0, 1, 0, 1), (0, 0, 1, 1), (0, 1, 1, 0)])
def test_two_messages_of_an_update_at_one_place_count_once(order: tuple[int, ...]) -> None:
    before, after = event(2, "UPDATE", "a=1", None), event(2, "UPDATE", None, "a=2")
    update = [before._replace(half="before"), after._replace(half="after")]
    events = [event(1, "INSERT", None, "a=1"), *(update[at]._replace(offset=9 + n) for n, at in enumerate(order))]
    for folded in (fold_keys(events, read, FREE), fold_bag(events, read_bag, FREE)):
        assert folded.verdicts[0, "duplicate"] == 2
    assert live(fold_keys(events, read, FREE)) == {"a=2"}
    assert {image: count for image, count in fold_bag(events, read_bag, FREE).counts.items() if count} == {("a=2",): 1}


def test_a_row_that_cannot_be_read_leaves_the_state_before_it() -> None:
    events = [event(1, "INSERT", None, "a=1"), event(2, "UPDATE", "a=1", "a=bad")]
    folded = fold_keys(events, read, FREE)
    assert live(folded) == {"a=1"}
    assert [reject.code for reject in folded.rejects] == ["BAD_VALUE"]
    assert folded.verdicts == {(0, "applied"): 1, (0, "rejected"): 1}


def test_the_lowest_row_that_stops_the_table_is_where_it_holds() -> None:
    events = [event(3, "INSERT", None, "c=zero"), event(1, "INSERT", None, "a=1"), event(2, "INSERT", None, "b=zero")]
    hold = fold_keys(events, read, FREE).hold
    assert hold is not None
    assert hold.position == Sequence(0, 2, 0)
    held = fold_keys(events, read, Bounds(None, hold))
    assert live(held) == {"a=1"}
    assert held.verdicts == {(0, "applied"): 1, (0, "held"): 2}


def test_a_key_that_two_partitions_write_holds_the_table() -> None:
    events = [event(1, "INSERT", None, "a=1"), event(1, "UPDATE", None, "a=2", part="1")]
    hold = fold_keys(events, read, FREE).hold
    assert hold is not None
    assert hold.code == "ORDER_UNDEFINED"


def halves(change: RowEvent) -> list[RowEvent]:
    """An update as the two messages that some sources write, with phases 0 and 1."""
    hi = change.sequence.hi
    return [
        change._replace(after=None, sequence=Sequence(0, hi, 0), half="before"),
        change._replace(before=None, sequence=Sequence(0, hi, 1), half="after"),
    ]


def in_halves(events: list[RowEvent]) -> list[RowEvent]:
    return [
        half
        for change in (change._replace(sequence=Sequence(0, change.sequence.hi, 1)) for change in events)
        for half in (halves(change) if change.op == "UPDATE" else [change])
    ]


def read_half(change: RowEvent) -> RowAction:
    if change.half == "before" and change.before is not None:
        return RowAction((change.before.split("=")[0],), None, None)
    return read(change)


@given(changes(), st.randoms())
def test_an_update_in_two_halves_is_the_update_whichever_half_comes_first(
    events: list[RowEvent], chance: Random
) -> None:
    split = in_halves(events)
    chance.shuffle(split)
    folded = fold_keys(split, read_half, FREE)
    assert live(folded) == truth(events)
    assert folded.pending == []
    assert sum(folded.verdicts.values()) == len(split)


@given(changes(), st.randoms(), st.data())
def test_a_half_alone_is_pending_and_its_keys_keep_their_last_state(
    events: list[RowEvent], chance: Random, data: st.DataObject
) -> None:
    split = in_halves(events)
    lost = data.draw(st.sets(st.sampled_from([half for half in split if half.half] or [None])))
    there = [half for half in split if half not in lost]
    alone = {half.pair for half in lost if half is not None}
    folded = fold_keys(there, read_half, FREE)
    assert live(folded) == truth(half for half in there if half.half is None or half.pair not in alone)
    assert (
        folded.verdicts[0, "pending"]
        == len(folded.pending)
        == sum(half.half is not None and half.pair in alone for half in there)
    )


@given(changes())
def test_rows_of_a_full_load_share_one_sequence_and_none_is_lost(events: list[RowEvent]) -> None:
    rows = [f"{key}=loaded" for key in "abc"]
    load = [event(-1, "READ", None, row) for row in [*rows, "a=again"]]
    folded = fold_keys([*events, *load], read, FREE)
    untouched = {
        row for row in rows if not any(row[0] in f"{c.before or ' '}"[0] + f"{c.after or ' '}"[0] for c in events)
    }
    assert untouched <= live(folded)
    assert live(folded) - untouched <= truth(events)
    three = [load[0]._replace(offset=number) for number in range(3)]
    bag = fold_bag([*three, three[0]._replace(ordinal=1), three[2]._replace(ordinal=2)], read_bag, FREE)
    assert bag.counts == {("a=loaded",): 3}
    assert bag.verdicts == {(0, "applied"): 3, (1, "duplicate"): 1, (2, "duplicate"): 1}


@given(changes(), st.randoms(), st.data())
def test_partial_images_fold_column_by_column(events: list[RowEvent], chance: Random, data: st.DataObject) -> None:
    """Rows of two columns beside the key; an update may tell only one of them, and takes the other from before."""
    standing: dict[str, tuple[object, ...]] = {}
    told: list[RowEvent] = []
    rows: dict[int, tuple[object, ...]] = {}
    for change in events:
        old = None if change.before is None else standing.pop(change.before.split("=")[0])
        if change.after is None:
            told.append(change)
            continue
        key, number = change.after.split("=")[0], change.sequence.hi
        row = (key, f"x{number}", f"y{number}")
        if change.op == "UPDATE" and old is not None and data.draw(st.booleans()):
            kept = data.draw(st.sampled_from((1, 2)))
            rows[number] = tuple(ABSENT if at == kept else value for at, value in enumerate(row))
            row = tuple(old[at] if at == kept else value for at, value in enumerate(row))
        else:
            rows[number] = row
        told.append(change._replace(partial=ABSENT in rows[number]))
        standing[key] = row
    chance.shuffle(told)
    folded = fold_keys(told, lambda change: read(change)._replace(row=rows.get(change.sequence.hi)), FREE)
    assert {winner.row for winner in folded.winners.values() if winner.row is not None} == set(standing.values())
    assert folded.hold is None


def test_a_partial_image_of_a_row_that_only_gold_has_names_the_row_to_continue() -> None:
    change = event(7, "UPDATE", "a=1", "b=2")._replace(partial=True)
    folded = fold_keys([change], lambda change: read(change)._replace(row=("b", ABSENT, "new")), FREE)
    winner = folded.winners["b",]
    assert winner.base == ("a",)
    assert folded.touched == {("a",), ("b",)}
    assert winner.over(("a", "kept", "old")).row == ("b", "kept", "new")


def test_a_partial_image_of_a_deleted_row_holds_the_table() -> None:
    gone, change = event(6, "DELETE", "a=1", None), event(7, "UPDATE", "a=1", "a=2")._replace(partial=True)
    folded = fold_keys([gone, change], lambda each: read(each)._replace(row=each.after and ("a", ABSENT)), FREE)
    assert folded.hold is not None
    assert (folded.hold.code, folded.hold.position) == ("ROW_MISSING", change.sequence)


@given(
    st.permutations([("INSERT", None, "a=1", 1), ("UPDATE", "a=1", "b=1", 5), ("READ", None, "b=1", 5)]), st.booleans()
)
def test_a_full_load_at_the_position_of_a_move_does_not_keep_the_old_key(
    told: list[tuple[str, str | None, str, int]], has_insert: bool
) -> None:
    events = [event(place, op, old, new, ordinal=at) for at, (op, old, new, place) in enumerate(told)]
    folded = fold_keys([each for each in events if has_insert or each.op != "INSERT"], read, FREE)
    assert live(folded) == {"b=1"}
    assert folded.touched == {("a",), ("b",)}
    assert sum(folded.verdicts.values()) == 2 + has_insert
