"""One thing that a shop can do."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.simulate.database import Table
from retable.simulate.shop import Shop


def any_table(_: Table) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Action:
    """What to do with a table that `fits`, and how often beside other actions. False: it came to nothing.

    Where the shop has no table at all the name is empty.
    """

    act: Callable[[Shop, str], bool | None]
    fits: Callable[[Table], bool] = any_table
    weight: int = 1
