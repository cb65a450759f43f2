"""Columns that no statement told: as wide as messages say, whatever came first, the key too."""

from itertools import permutations

import pytest

from laws.test_policies import ddl, row, run, seen

NARROW = [row(1, "INSERT", id=("1", "int"), n=("1.5", "decimal(4,1)")), row(2, "INSERT", id=("2", "int"), n=None)]
WIDE = [row(3, "INSERT", id=("5000000000", "bigint"), n=("2", "int")), row(4, "DELETE", id=("2", "bigint"))]
WIDEST = [
    row(5, "UPDATE", id=("1", "decimal(22,1)"), n=("1.25", "decimal(5,2)")),
    row(6, "INSERT", id=("7.5", "decimal(22,1)"), n=("0.01", "decimal(5,2)")),
]
GOLD = [{"id": "1.0", "n": "1.25"}, {"id": "5000000000.0", "n": "2.00"}, {"id": "7.5", "n": "0.01"}]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_numbers_widen_in_any_order_and_the_key_finds_its_rows(order: tuple[int, ...]) -> None:
    world = run([NARROW, WIDE, WIDEST], order)
    _, rows, hold = seen(world)
    assert (rows, hold, world.rejected) == (GOLD, None, {})
    world.rebuild("gold_shop.t")
    assert seen(world)[1:] == (GOLD, None)


def test_what_a_statement_told_stays_as_it_told_it() -> None:
    created = ddl(1, "create table t (id int primary key, n decimal(4,1))")
    narrow = row(2, "INSERT", id=("1", "int"), n=("1.5", "decimal(4,1)"))
    world = run([[created, narrow], [row(3, "INSERT", id=("2", "int"), n=("1.25", "decimal(5,2)"))]])
    assert seen(world)[1] == [{"id": 1, "n": "1.5"}]
    assert list(world.rejected.values()) == ["BAD_VALUE"]
