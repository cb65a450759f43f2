"""A baseline that ended before its end is said to be unfinished, with the command that goes on with it."""

import shlex
from datetime import UTC, datetime, timedelta

import pytest

from retable.ledger.baselines import NOTHING, piece_window, unfinished_baselines
from retable.ledger.rows import BaselineRow
from retable.model.sequence import LOWEST, Sequence

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def piece(
    number: int, last: bool = False, dump: str = "d", origin: str = "copy.csv", position: str = "0.7.0"
) -> BaselineRow:
    at = NOW + timedelta(minutes=number)
    window = piece_window(number + 1)
    return BaselineRow(
        source="erp",
        database="shop",
        schema=None,
        table="orders",
        position=position,
        part="",
        dump=dump,
        piece=number,
        window=window,
        rows=9,
        last=last,
        origin=origin,
        recorded_at=at,
    )


def windows(*rows: BaselineRow) -> set[str]:
    return {row.window for row in rows}


def test_one_that_broke_off_while_it_landed_counts_for_nothing_and_is_told() -> None:
    (found,) = unfinished_baselines([piece(0), piece(1)], set())
    assert (found.landed, str(found.table)) == (False, "shop.orders")
    assert found.words == "its baseline from copy.csv at 0:7 is not finished: it stopped after 2 pieces"
    assert found.command("gold_shop.orders") == (
        "`retable baseline gold_shop.orders --from copy.csv --at 0:7`, with the other options it had,"
    )


@pytest.mark.parametrize("origin", ["my copies/a;b.csv", "jdbc:mysql://h:3306/shop?user=reader&useSSL=false"])
def test_its_command_is_read_by_a_shell_as_it_was_given(origin: str) -> None:
    (found,) = unfinished_baselines([piece(0, origin=origin)], set())
    words = shlex.split(found.command("g.t").split("`")[1])
    assert words == ["retable", "baseline", "g.t", "--from", origin, "--at", "0:7"]


def test_one_whose_pieces_are_not_all_replayed_is_told_and_a_finished_one_is_not() -> None:
    rows = [piece(0), piece(1), piece(2, last=True)]
    (found,) = unfinished_baselines(rows, windows(*rows[:2]))
    assert found.landed
    assert found.words.endswith("2 of its 3 pieces are replayed")
    assert unfinished_baselines(rows, windows(*rows)) == []


def test_one_that_was_given_up_for_another_one_is_not_told() -> None:
    rows = [piece(0), piece(5, last=True, dump="e")]
    assert unfinished_baselines(rows, windows(*rows)) == []
    (found,) = unfinished_baselines([*rows, piece(7, dump="f", origin="other.csv")], windows(*rows))
    assert "other.csv" in found.words


def test_the_baseline_that_began_last_counts_whatever_the_clocks_said() -> None:
    rows = [piece(5, last=True, dump="e"), piece(0, dump="f", origin="other.csv")]
    (found,) = unfinished_baselines(rows, windows(rows[0]))
    assert "other.csv" in found.words


def test_a_table_that_was_to_start_anew_is_gone_on_with_by_the_same_command() -> None:
    whole = str(LOWEST._replace(epoch=2, lo=2**62))
    (found,) = unfinished_baselines([piece(0, last=True, origin=NOTHING, position=whole)], set())
    assert found.command("g.t") == "`retable resync g.t --reason …`"
    (found,) = unfinished_baselines([piece(0, last=True, origin=NOTHING, position=str(Sequence(1, 5, 2**62)))], set())
    assert found.command("g.t") == "`retable resync g.t --at 1:5 --reason …`"
