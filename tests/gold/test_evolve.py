"""The way from gold's columns to those of the source, where a type is another one than gold has."""

import pytest

from retable.errors import LateChange
from retable.gold.evolve import plan_evolution
from retable.gold.state import GoldColumn
from retable.model.schema import GoldType
from retable.schema_history.history import Column

DOUBLE, EXACT, LONG, INT = GoldType("double"), GoldType("decimal", 30, 10), GoldType("long"), GoldType("int")


def column(kind: GoldType) -> Column:
    return Column(id="i:balance:0", name="balance", source_type=None, type=kind)


def known(kind: GoldType) -> GoldColumn:
    return GoldColumn("i:balance:0", 7, "balance", "balance", None, kind, None)


def test_a_column_of_a_type_that_gold_cannot_take_on_waits_for_a_rebuild() -> None:
    with pytest.raises(LateChange, match="'balance' has the type decimal"):
        plan_evolution([(7, "balance", DOUBLE)], (known(DOUBLE),), (column(EXACT),), {"i:balance:0": "balance"})


def test_a_rebuild_gives_such_a_column_a_field_of_its_own() -> None:
    names = {"i:balance:0": "balance"}
    evolution = plan_evolution([(7, "balance", DOUBLE)], (known(DOUBLE),), (column(EXACT),), names, by_name=True)
    assert (evolution.drops, [added.type for _, added in evolution.adds]) == (("balance",), [EXACT])
    assert evolution.promotions == ()


def test_a_wider_type_is_a_promotion() -> None:
    names = {"i:balance:0": "balance"}
    evolution = plan_evolution([(7, "balance", INT)], (known(INT),), (column(LONG),), names)
    assert evolution.promotions == (("balance", LONG),)
