"""Runs the simulated shop: chooses its actions at random and returns its history."""

from collections.abc import Collection, Iterable

from retable.errors import InvalidSetting
from retable.simulate.actions.action import Action
from retable.simulate.actions.columns import COLUMN_ACTIONS
from retable.simulate.actions.held import HELD_ACTIONS
from retable.simulate.actions.keys import KEY_ACTIONS
from retable.simulate.actions.rows import ROW_ACTIONS
from retable.simulate.actions.tables import TABLE_ACTIONS, create
from retable.simulate.chance import Chance, pick
from retable.simulate.designs import DESIGNS
from retable.simulate.history import History
from retable.simulate.shop import DATABASE, Clock, Shop

ROW_KINDS: tuple[str, ...] = tuple(ROW_ACTIONS)
DDL_KINDS: tuple[str, ...] = (*TABLE_ACTIONS, *COLUMN_ACTIONS, *KEY_ACTIONS)
HELD_KINDS: tuple[str, ...] = tuple(HELD_ACTIONS)
LOADED = ("customers", "stock")
DEFAULT_CLOCK = Clock()

_ACTIONS: dict[str, Action] = {**ROW_ACTIONS, **TABLE_ACTIONS, **COLUMN_ACTIONS, **KEY_ACTIONS, **HELD_ACTIONS}
_TRIES = 10


def simulate(
    chance: Chance,
    changes: int = 60,
    *,
    kinds: Iterable[str] = (*ROW_KINDS, *DDL_KINDS),
    loaded: Collection[str] = LOADED,
    rows: int = 4,
    clock: Clock = DEFAULT_CLOCK,
    database: str = DATABASE,
) -> History:
    """Run a simulated shop for `changes` actions, and return the history of its database.

    `chance` makes all random choices; the same seed gives the same history. `kinds` names the possible actions. An
    action that is named twice is chosen twice as often. The default does not name HELD_KINDS, the actions at which
    Retable may hold a table.

    The tables named in `loaded` exist before the log begins (they are the full load), with `rows` rows each. The log
    begins with the creation of all other tables. `clock` gives the times of the log. `database` is the name of the
    database. InvalidSetting for an unknown action.
    """
    names = list(kinds)
    for name in names:
        if name not in _ACTIONS:
            raise InvalidSetting(f"the simulator has no action {name!r}; `kinds` can name {', '.join(_ACTIONS)}")
    shop = Shop(chance, clock, loaded, rows, database)
    for name in DESIGNS:
        if name not in loaded:
            create(shop, name)
    weighted = [name for name in names for _ in range(_ACTIONS[name].weight)]
    for _ in range(changes):
        _act(shop, weighted)
    return shop.history()


def _act(shop: Shop, weighted: list[str]) -> None:
    """Choose up to ten random actions and run the first possible action. If none is possible, do nothing."""
    shop.tick()
    for _ in range(_TRIES):
        kind = pick(shop.chance, weighted)
        action = _ACTIONS[kind]
        name = shop.pick_table(action.fits)
        if name is None and (shop.tables or kind != "create_table"):
            continue
        if action.act(shop, name or "") is not False:
            shop.kinds[kind] += 1
            return
