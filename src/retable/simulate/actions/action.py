"""One possible action of a shop."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.simulate.database import Table
from retable.simulate.shop import Shop


def any_table(_: Table) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Action:
    """An action on a table that `fits`, and its frequency relative to others. False: it had no effect.

    If the shop has no table at all, the name is empty.
    """

    act: Callable[[Shop, str], bool | None]
    fits: Callable[[Table], bool] = any_table
    weight: int = 1
