"""Whatever one fault is drawn: gold comes to the truth by what the commands say, or one of them names the file.

30 are drawn, or as many as $RETABLE_DRAWS says; a seed draws the same each time.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from faults.drawing import Fault, draw, live
from faults.shop_lake import WHOLE, ShopLake, make_shop, use_warm_spark

HOURS = [f"2026-03-01T{hour:02d}:00:00Z" for hour in range(1, 6)]
FIRST, COUNT = 1000, int(os.environ.get("RETABLE_DRAWS", "30"))
SEEDS = range(FIRST, FIRST + COUNT)

ends: Counter[str] = Counter()


@pytest.fixture(scope="module")
def drawn_shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShopLake]:
    """A lake with five of its six hours; at the end it is told what became of all draws."""
    with pytest.MonkeyPatch.context() as patch:
        yield make_shop(tmp_path_factory.mktemp("drawn"), patch, HOURS)
    print(f"draws: {dict(ends)}")


@pytest.fixture(scope="module")
def rows(drawn_shop: ShopLake) -> dict[str, list[str]]:
    """The rows of each table as they are there."""
    return {name: sorted(drawn_shop.call("rows", name).stdout.splitlines()) for name in drawn_shop.tables()}


def is_right(shop: ShopLake) -> bool:
    try:
        return shop.different() == {}
    except AssertionError:
        return False


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_fault_is_mended_or_named(
    seed: int, drawn_shop: ShopLake, rows: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_warm_spark(monkeypatch)
    monkeypatch.delenv("RETABLE_SETTINGS", raising=False)
    drawn_shop.restore()
    fault = draw(drawn_shop, seed)
    said = list(live(drawn_shop, fault, rows, WHOLE))
    assert 70 not in {result.exit_code for result in said}, (fault, [each.output for each in said])
    end = "right" if is_right(drawn_shop) else "named" if is_named(fault, said) else "neither"
    # No checksum covers a footer: what becomes of a flip in it is counted.
    ends[f"{end}, in a footer" if fault.in_footer else end] += 1
    print(f"{seed} {fault.words}: {end}", *([] if end == "right" else [each.output for each in said]), sep="\n")
    assert end != "neither" or fault.in_footer, (fault, [each.output for each in said])


def is_named(fault: Fault, said: list) -> bool:
    return any(result.exit_code not in (0, 2) and Path(fault.file).name in result.stderr for result in said)
