"""Gold's types: which holds the values of two."""

from hypothesis import given
from hypothesis import strategies as st

from retable.model.schema import GoldType

PLAIN = [GoldType(kind) for kind in ("boolean", "int", "long", "float", "double", "date", "timestamp", "string")]
DECIMALS = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda scale: GoldType("decimal", p, scale)))
TYPES = st.sampled_from(PLAIN) | DECIMALS


def holds(wide: GoldType, narrow: GoldType) -> bool:
    return narrow.widens_to(wide) or narrow.rewrites_to(wide)


@given(TYPES, TYPES)
def test_a_joined_type_holds_both_and_has_no_order(one: GoldType, other: GoldType) -> None:
    joined = one.joined(other)
    assert joined == other.joined(one)
    assert one.joined(one) == one
    if joined is not None:
        assert holds(joined, one)
        assert holds(joined, other)
        assert joined.joined(one) == joined


@given(DECIMALS, DECIMALS)
def test_two_decimals_join_where_38_digits_are_enough(one: GoldType, other: GoldType) -> None:
    digits = max(one.precision - one.scale, other.precision - other.scale) + max(one.scale, other.scale)
    assert (one.joined(other) is None) == (digits > 38)
