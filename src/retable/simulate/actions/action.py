"""Describes one possible action of the simulated shop."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.simulate.database import Table
from retable.simulate.shop import Shop


def any_table(_: Table) -> bool:
    """Return True: the action is possible on every table."""
    return True


@dataclass(frozen=True, slots=True)
class Action:
    """An action that the shop can do with a table. `fits` returns whether the action is possible for a table.

    `act` does the action. It takes the shop and the name of the table, or "" if the shop has no table. It returns False
    if it did nothing. `weight` is the frequency of the action, relative to the other actions.
    """

    act: Callable[[Shop, str], bool | None]
    fits: Callable[[Table], bool] = any_table
    weight: int = 1
