"""How much may stand in quarantine: none, a number a window, or a part of its messages."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.model.budget import QuarantineBudget, parse_budget


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("0", QuarantineBudget()),
        ("0/window", QuarantineBudget()),
        ("10/window", QuarantineBudget(count=10)),
        ("0.01%", QuarantineBudget(share=Decimal("0.0001"))),
        ("100%", QuarantineBudget(share=Decimal(1))),
    ],
)
def test_a_budget_is_a_number_a_window_or_a_part_of_it(text: str, budget: QuarantineBudget) -> None:
    assert parse_budget(text) == budget


@pytest.mark.parametrize("text", ["", "10", "-1/window", "101%", "1/hour", "1e3%", " 0", "٣/window", "0.1"])
def test_what_is_no_budget_is_not_read(text: str) -> None:
    assert parse_budget(text) is None


def test_a_window_may_have_what_its_budget_says_and_no_more() -> None:
    assert QuarantineBudget().allows(0, 10)
    assert not QuarantineBudget().allows(1, 10)
    assert QuarantineBudget(count=10).allows(10, 0)
    assert not QuarantineBudget(count=10).allows(11, 10**9)
    percent = QuarantineBudget(share=Decimal("0.0001"))
    assert percent.allows(1, 10_000)
    assert not percent.allows(1, 9_999)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**9), st.decimals(0, 1, places=6))
def test_fewer_in_quarantine_are_never_too_many(fewer: int, more: int, landed: int, share: Decimal) -> None:
    for budget in (QuarantineBudget(count=more), QuarantineBudget(share=share)):
        if budget.allows(fewer + more, landed):
            assert budget.allows(fewer, landed)


@pytest.mark.parametrize("text", ["0/window", "10/window", "0.01%", "12.5%"])
def test_a_budget_reads_back_as_it_is_shown(text: str) -> None:
    assert str(parse_budget(text)) == text
